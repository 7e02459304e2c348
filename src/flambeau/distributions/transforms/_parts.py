"""Transforms of slices of a tensor along a dimension."""

from itertools import accumulate

from ...functions.join import cat, stack
from .. import constraints
from ..utils import sum_rightmost
from ._transform import Transform


class _PartsTransform(Transform):
    """Base class for transforms that apply a different one to each slice."""

    def __init__(self, tseq, dim=0, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    def _split(self, value):
        """Splits a tensor into slices."""
        raise NotImplementedError

    def _join(self, parts):
        """Joins slices to a tensor."""
        raise NotImplementedError

    def _call(self, x):
        return self._join([t(part) for t, part in zip(self.transforms, self._split(x))])

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._split(y))])


class CatTransform(_PartsTransform):
    """Transforms of successive slices of different lengths.

    Args:
        tseq: the transforms.
        dim: the dimension of the slices.
        lengths: the lengths of the slices; 1 each by default.
        cache_size: the size of the caches, 0 or 1.

    Example::

        >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(flambeau.zeros(3))
        tensor([1., 0., 0.])
    """

    _parameters = ("transforms", "dim", "lengths")

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"Expected {len(self.transforms)} lengths, one a transform, got {len(self.lengths)}")

    @property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size of the dimension."""
        return sum(self.lengths)

    def _split(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is out of range for {value.dim()} dimensions")
        if value.size(self.dim) != self.length:
            raise AssertionError(f"Expected a size of {self.length} along dim {self.dim}, got {value.size(self.dim)}")
        starts = accumulate(self.lengths, initial=0)
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _join(self, parts):
        return cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, start, end in zip(self.transforms, self._split(x), self._split(y)):
            term = t.log_abs_det_jacobian(start, end)
            terms.append(sum_rightmost(term, self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """Transforms of the elements along a dimension.

    Args:
        tseq: the transforms, one per element.
        dim: the dimension.
        cache_size: the size of the caches, 0 or 1.

    Example::

        >>> StackTransform([ExpTransform(), identity_transform], dim=1)(flambeau.zeros(2, 2))
        tensor([[1., 0.],
                [1., 0.]])
    """

    _parameters = ("transforms", "dim")

    def _split(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is out of range for {value.dim()} dimensions")
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(f"Expected {len(self.transforms)} elements along dim {self.dim}, one a transform")
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _join(self, parts):
        return stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._split(x), self._split(y))
        return stack([t.log_abs_det_jacobian(start, end) for t, start, end in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
