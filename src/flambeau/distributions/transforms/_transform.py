"""The base class of transforms, inverses, and combinators."""

import math
import weakref

from ...functions.like import zeros_like
from .. import constraints
from ..utils import lazy_property, sum_rightmost

TWO_EVENT_DIMS = (
    "Please use either .domain.event_dim or .codomain.event_dim: {transform} maps events of {domain} dimensions to "
    "events of {codomain}."
)
TOO_FEW_DIMENSIONS = "Too few dimensions on input: {transform} needs {wanted}, got {found}."


class Transform:
    """A tensor function; if bijective, with an inverse and a Jacobian.

    A subclass declares `domain` and `codomain`, and implements `_call`, `_inverse` and `log_abs_det_jacobian`.

    Args:
        cache_size: 1 caches the last input and output: the inverse of an output then is the exact input, without
            rounding.

    Attributes:
        bijective: whether the transform is one-to-one.
    """

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._cached_x_y = None, None
        self._inverse_transform = None  # a weak reference, as transform and inverse refer to each other

    def __getstate__(self):
        return {**vars(self), "_inverse_transform": None, "_cached_x_y": (None, None)}

    @constraints.dependent_property
    def domain(self):
        """The constraint of inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define domain")

    @constraints.dependent_property
    def codomain(self):
        """The constraint of outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define codomain")

    @property
    def event_dim(self):
        """The number of trailing dimensions that form an event, if it is the same for inputs and outputs."""
        domain, codomain = self.domain.event_dim, self.codomain.event_dim
        if domain != codomain:
            raise ValueError(TWO_EVENT_DIMS.format(transform=type(self).__name__, domain=domain, codomain=codomain))
        return domain

    @property
    def inv(self):
        """The inverse transform."""
        inverse = self._inverse_transform and self._inverse_transform()
        if inverse is None:
            inverse = self._make_inverse()
            self._inverse_transform = weakref.ref(inverse)
        return inverse

    def _make_inverse(self):
        return _InverseTransform(self)

    @property
    def sign(self):
        """For a monotonic transform of scalars, whether it is increasing (1) or decreasing (-1)."""
        raise NotImplementedError(f"{type(self).__name__} has no sign: it is not a monotonic function of numbers")

    def with_cache(self, cache_size=1):
        """The same transform with the given cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        cls = next((cls for cls in type(self).__mro__ if "_parameters" in vars(cls)), None)
        if cls is None:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return cls(*[getattr(self, name) for name in cls._parameters], cache_size=cache_size)

    def __eq__(self, other):
        return self is other

    def __call__(self, x):
        """Computes the output for `x`."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        """Computes the input for the output `y`."""
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} does not define _inverse")

    def log_abs_det_jacobian(self, x, y):
        """The logarithm of ``|det dy/dx|``, for an input and its output."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """The output shape for an input shape."""
        return shape

    def inverse_shape(self, shape):
        """The input shape for an output shape."""
        return shape


class _InverseTransform(Transform):
    """The inverse of another transform."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """A composition of transforms.

    Args:
        parts: the transforms, in order of application.
        cache_size: the size of the caches, 0 or 1.

    Example::

        >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(flambeau.zeros(1))
        tensor([1.])
    """

    _parameters = ("parts",)

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self):
        """Whether the transform is one-to-one."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        """Whether it is increasing (1) or decreasing (-1)."""
        return math.prod((part.sign for part in self.parts), start=1)

    def _make_inverse(self):
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._inverse_transform = weakref.ref(self)
        return inverse

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        return self.inv(y)

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        total, event_dim = 0, self.domain.event_dim
        for part, start, end in zip(self.parts, points[:-1], points[1:]):
            term = part.log_abs_det_jacobian(start, end)
            total = total + sum_rightmost(term, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _with_event_dim(constraint, event_dim):
    """The constraint, extended to events of more dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Reinterprets the last batch dimensions of a transform as event dimensions.

    Args:
        base_transform: the base transform.
        reinterpreted_batch_ndims: the number of dimensions.
        cache_size: the size of the cache, 0 or 1.
    """

    _parameters = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        self._check_dimensions(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y):
        self._check_dimensions(y, self.codomain)
        return self.base_transform.inv(y)

    def _check_dimensions(self, value, constraint):
        if value.dim() < constraint.event_dim:
            message = TOO_FEW_DIMENSIONS.format(transform=self, wanted=constraint.event_dim, found=value.dim())
            raise ValueError(message)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)
