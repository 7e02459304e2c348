"""Pruning: multiplies a parameter by a mask of zeros and ones before each call of its module."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..._device import contiguous_format
from ...functions.join import cat
from ...functions.like import ones_like, zeros_like
from ...functions.linalg.norm import vector_norm
from ...functions.random import rand, rand_like
from ...functions.sort import kthvalue, topk

OTHER_SHAPE = "importance_scores should have the same shape as {what}, got {got} vs {expected}"
NOT_PRUNED = (
    "Module {module} has to be pruned before pruning can be removed: there is no mask of its parameter {name!r}"
)
AMOUNT_TYPE = "Invalid type for amount: {amount}. Must be int or float."
AMOUNT_RANGE = "amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
AMOUNT_TOO_LARGE = "amount={amount} should be smaller than the number of parameters to prune={size}"
ONE_DIMENSION = (
    "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {shape} with {ndim} dims"
)
NOT_GLOBAL = (
    'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {method} of type {kind}'
)
OTHER_NAME = (
    "Can only add pruning methods acting on the parameter named '{name}' to PruningContainer {container}. "
    "Found '{other}'"
)


class BasePruningMethod(ABC):
    """Base of pruning methods. A subclass sets ``PRUNING_TYPE`` and defines ``compute_mask``.

    ``PRUNING_TYPE`` determines what a method selects from if the parameter is already pruned: ``"unstructured"`` from
    the remaining elements, ``"structured"`` from the remaining channels, ``"global"`` from all elements.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The new mask: zeros where ``default_mask`` is zero, and where this method prunes ``t``."""

    def apply_mask(self, module):
        """The parameter times its mask."""
        name = self._tensor_name
        if not hasattr(module, f"{name}_mask"):
            raise AssertionError(f"Module {module} has to be pruned: there is no mask of its parameter {name!r}")
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter, also one that is already pruned, now and before each call of the module."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        previous = _pop_hook(module, name)
        original = getattr(module, name) if previous is None else getattr(module, f"{name}_orig")
        # Elements that are already pruned have a score of zero.
        scores = getattr(module, name) if importance_scores is None else importance_scores
        _check_shape(scores, original, f"parameter {name} of {module}")
        if previous is None:
            mask = method.compute_mask(scores, ones_like(original))
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        else:
            method = _chain(previous, method)
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask"))
        module.register_buffer(f"{name}_mask", mask.to(dtype=original.dtype))
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        _check_shape(scores, t, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """Makes the pruned tensor the parameter; the original values are lost."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _pop_hook(module, name):
    """Removes and returns the pruning hook of a parameter."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return module._forward_pre_hooks.pop(key)
    return None


def _chain(previous, method):
    container = previous if isinstance(previous, PruningContainer) else PruningContainer(previous)
    container.add_pruning_method(method)
    return container


def _check_shape(scores, t, what):
    if scores.shape != t.shape:
        raise AssertionError(OTHER_SHAPE.format(what=what, got=scores.shape, expected=t.shape))


class PruningContainer(BasePruningMethod):
    """Several methods that prune the same parameter in sequence."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Appends a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(OTHER_NAME.format(name=self._tensor_name, container=self, other=method._tensor_name))
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask after the last method, which selects from what ``default_mask`` keeps."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left = _unpruned_index(mask, method)
        new = mask.clone()
        new[left] = method.compute_mask(t[left], mask[left]).to(new.dtype)
        return new


def _unpruned_index(mask, method):
    """The index of the elements that a method may select from."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                "Pruning methods of PRUNING_TYPE \"structured\" need to have the attribute `dim` defined."
            )
        dim = method.dim % mask.dim()
        channels = mask.sum(dim=[d for d in range(mask.dim()) if d != dim]) != 0
        return [slice(None)] * dim + [channels]
    if method.PRUNING_TYPE == "global":
        return [slice(None)] * mask.dim()
    raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes nothing; the parameter gets a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class _Unstructured(BasePruningMethod):
    """Base of methods that prune an amount of elements."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_Unstructured):
    """Prunes an amount of elements at random."""

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.nelement())
        return _without(default_mask, rand_like(t), count, largest=True) if count else default_mask.clone()

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values."""

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.nelement())
        return _without(default_mask, t.abs(), count, largest=False) if count else default_mask.clone()

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Base of methods that prune an amount of channels; ``_keep`` selects those that stay."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        channels = _channels(t, self.dim)
        count = _count(self.amount, channels)
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[(slice(None),) * (self.dim % t.dim()) + (self._keep(t, channels, count),)] = 1
        return mask * default_mask.to(dtype=t.dtype)


class RandomStructured(_Structured):
    """Prunes an amount of channels along a dimension at random."""

    def _keep(self, t, channels, count):
        draws = rand(channels)
        return draws > kthvalue(draws, k=count).values

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels along a dimension with the smallest norms."""

    def __init__(self, amount, n, dim=-1):
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _keep(self, t, channels, count):
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return topk(vector_norm(t, float(self.n), dim=others), k=channels - count, largest=True).indices

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


def identity(module, name):
    """Adds a mask of ones to a parameter."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes a number (int) or fraction (float) of the elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the elements of a parameter with the smallest absolute values, or scores.

    Example::

        >>> from flambeau.nn.utils.prune import l1_unstructured
        >>> m = nn.Linear(2, 1)
        >>> nn.utils.vector_to_parameters(flambeau.tensor([0.1, -2.0, 3.0]), m.parameters())
        >>> l1_unstructured(m, "weight", amount=1).weight
        tensor([[ 0., -2.]], grad_fn=<MulBackward0>)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes channels of a parameter along a dimension at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the channels of a parameter along a dimension with the smallest norms of order ``n``."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes an amount of the elements of all ``(module, name)`` pairs together."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    tensors = [getattr(module, name) for module, name in parameters]
    masks = [getattr(module, f"{name}_mask", None) for module, name in parameters]
    all_scores = cat([scores.get(key, t).reshape(-1) for key, t in zip(parameters, tensors)])
    all_masks = cat([(ones_like(t) if m is None else m).reshape(-1) for m, t in zip(masks, tensors)])
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(NOT_GLOBAL.format(method=pruning_method, kind=pruning_method.PRUNING_TYPE))
    method = pruning_method(**kwargs)
    method._tensor_name = "all"
    mask = PruningContainer(method).compute_mask(all_scores, all_masks)
    for (module, name), t, part in zip(parameters, tensors, mask.split([t.numel() for t in tensors])):
        custom_from_mask(module, name, part.view_as(t))


def custom_from_mask(module, name, mask):
    """Prunes a parameter where a mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Makes the pruned tensor the parameter again; the original values are lost."""
    hook = _pop_hook(module, name)
    if hook is None:
        raise ValueError(NOT_PRUNED.format(module=module, name=name))
    hook.remove(module)
    return module


def is_pruned(module):
    """Whether a module has a pruned parameter."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(AMOUNT_TYPE.format(amount=amount))
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(AMOUNT_RANGE.format(amount=amount))


def _count(amount, size):
    """The number of elements that an amount means: an int itself, a float as a fraction of `size`."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(AMOUNT_TOO_LARGE.format(amount=amount, size=size))
    return amount


def _channels(t, dim):
    if t.dim() <= 1:
        raise ValueError(ONE_DIMENSION.format(shape=t.shape, ndim=t.dim()))
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return t.shape[dim]


def _without(mask, scores, count, largest):
    """A mask with zeros at the `count` largest or smallest scores."""
    mask = mask.clone(memory_format=contiguous_format)
    mask.view(-1)[topk(scores.reshape(-1), k=count, largest=largest).indices] = 0
    return mask
