"""Conditional effects: what a program does and then undoes under a condition, such as an optimizer step."""

from .._modes import no_grad
from .._tensor import wrap
from ..engines import is_traced
from ..engines._views import value_of
from ..functions.pointwise import where
from ._lifted import XLA, slot_a

MORE_THAN_TENSORS = (
    "{name} cannot be compiled: it changes {what} in a step that may have to be undone, such as one that a GradScaler "
    "skips. Only writes to tensors can be undone; do the rest after the step."
)


@no_grad()
def do_unless(trace, condition, function):
    """Runs ``function()`` and returns its result; if the condition holds, tensors that it has written to are unchanged.
    """
    before, others_before = arrays_of(trace), other_changes(trace)
    result = function()
    others = other_changes(trace)
    for key in others_before | others:
        if others.get(key) != others_before.get(key):
            label, *_ = others.get(key) or others_before[key]
            raise trace.refuse(RuntimeError(MORE_THAN_TENSORS.format(name=trace.name, what=label)))
    for key, (t, now) in arrays_of(trace).items():
        lifted = trace.lifted.get(key)
        old = before[key][1] if key in before else now if lifted is None else lifted.tracer
        if now is not old:
            old = wrap(XLA.with_layout(old if is_traced(old) else trace.on_device(old), t.stride()), t.device)
            t.copy_(where(condition.to(t.device), old, t))
    return result


def arrays_of(trace):
    """{id: (tensor, its array)} of all tensors that a trace knows."""
    found = {key: (x.tensor, value_of(x.current)) for key, x in trace.lifted.items()}
    created = [(key, reference()) for key, reference in list(trace.inside.items())]
    return found | {key: (t, value_of(slot_a.__get__(t))) for key, t in created if t is not None}


def other_changes(trace):
    """{key: (label, identities of the values)} of places, containers, gradients and generators that changed."""
    places, containers = trace.watch.changes()
    found = {place.key: (f"the attribute or name {place.name!r}", id(value)) for place, value in places}
    found |= {id(container): (f"a {type(now.container).__name__}", *map(id, (*now.keys, *now.values)))
              for container, now in containers}
    found |= {(key, "grad"): ("which tensors have gradients", id(now)) for key, (_, was, now) in trace.grads.items()
              if now is not was}
    return found | {"draws": ("the state of a random number generator", len(trace.draws))}
