"""Temporarily swaps the parameters and state of an optimizer."""

import contextlib
from collections import defaultdict
from itertools import chain

__all__ = ["swap_in_optimizer_params_and_state"]

NO_STATE = (
    "swap_in_optimizer_params_and_state requires initialized optimizer state. Take a step first, or load a state dict."
)
NO_DICT = (
    "swap_in_optimizer_params_and_state requires swapin_optim_state['state'] to be a dict mapping packed parameter ids "
    "to per-param state dicts, got {kind}. Pass what optimizer.state_dict() returns, with other tensors in it."
)
OTHER_COUNT = (
    "swap_in_optimizer_params_and_state got {given} parameters for the {own} of the optimizer. Pass one for each, in "
    "their order."
)


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Lets the optimizer work on other parameters and state within a ``with`` block.

    Args:
        optimizer: an optimizer with initialised state.
        swapin_parameters: {name: tensor}, in the order of the optimizer's parameters.
        swapin_optim_state: their state, in the format of ``optimizer.state_dict()``; its tensors are updated in place.
    """
    if not optimizer.state:
        raise RuntimeError(NO_STATE)
    state = swapin_optim_state.get("state")
    if not isinstance(state, dict):
        raise RuntimeError(NO_DICT.format(kind=type(state).__name__))
    groups = optimizer.param_groups
    own, given = sum(len(group["params"]) for group in groups), list(swapin_parameters.values())
    if len(given) != own:
        raise RuntimeError(OTHER_COUNT.format(given=len(given), own=own))
    before = optimizer.state, groups
    saved = swapin_optim_state.get("param_groups") or [{}] * len(groups)
    numbers = list(chain.from_iterable(group.get("params", ()) for group in saved)) or range(own)
    following = iter(given)
    optimizer.param_groups = [{**group, **new, "params": [next(following) for _ in group["params"]]}
                              for group, new in zip(groups, saved, strict=True)]
    optimizer.state = defaultdict(dict, {p: dict(state.get(nr, {})) for nr, p in zip(numbers, given, strict=True)})
    try:
        yield
    finally:
        optimizer.state, optimizer.param_groups = before
