"""Modules as functions of their parameters."""

from collections.abc import Sequence

from .._modes import no_grad
from ..functions.join import stack
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils import stateless

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

NO_MODELS = "stack_module_state: Expected at least one model, got 0."
CLASSES = "stack_module_state: Expected all models to be of the same class."
TRAINING = "stack_module_state: Expected all models to have the same training/eval mode."


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls ``module(*args, **kwargs)`` with its tensors replaced by those of a dict, or of several, by path.

    With ``tie_weights``, tensors that the module shares under several paths are replaced under all of them. With
    ``strict``, exactly the module's parameters and buffers must be given. The module is restored afterwards.

    Example::

        >>> linear = flambeau.nn.Linear(1, 1, bias=False)
        >>> functional_call(linear, {"weight": flambeau.full((1, 1), 3.0)}, flambeau.ones(1))
        tensor([3.])
    """
    tensors = _merge(parameter_and_buffer_dicts)
    return stateless.functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merge(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(f"Expected a dict of parameters and buffers, or a list/tuple of dicts, but got {type(dicts)}")
    merged = {}
    for d in dicts:
        if not isinstance(d, dict):
            raise ValueError(f"Expected a list/tuple of dicts of parameters and buffers, but found a {type(d)} in it")
        twice = sorted(merged.keys() & d.keys())
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(d)
    return merged


def stack_module_state(models):
    """(parameters, buffers) by path, each stacked over several models of the same class.

    ``vmap`` and ``functional_call`` run them as an ensemble.

    Example::

        >>> models = [flambeau.nn.Linear(2, 3) for _ in range(4)]
        >>> parameters, buffers = stack_module_state(models)
        >>> parameters["weight"].shape
        torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError(NO_MODELS)
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError(CLASSES)
    if any(model.training != models[0].training for model in models):
        raise RuntimeError(TRAINING)
    return _stack([dict(m.named_parameters()) for m in models]), _stack([dict(m.named_buffers()) for m in models])


def _stack(states):
    """Stacks tensors by path; the results require grad if all of their tensors did."""
    stacked = {}
    for path in states[0]:
        tensors = [state[path] for state in states]
        with no_grad():
            stacked[path] = stack(tensors)
        if all(t.requires_grad for t in tensors):
            stacked[path].requires_grad_()
    return stacked


def replace_all_batch_norm_modules_(root):
    """Makes all batch norms of a module use batch statistics only, without running statistics, which ``vmap`` could not
    update. Returns the module.

    Example::

        >>> replace_all_batch_norm_modules_(flambeau.nn.BatchNorm1d(2)).running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
