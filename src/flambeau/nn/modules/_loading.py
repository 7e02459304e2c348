"""Error messages of load_state_dict: the likely cause first, then the keys."""

import difflib
from collections import Counter
from collections.abc import Mapping

from ..._tensor import Tensor
from ..parameter import is_lazy

AT_MOST = 10  # keys of a kind that a message lists
LOOKED_AT = 100  # keys that the search for renames compares

STRIP = (
    "The keys of the state_dict begin with {head!r}, those of the model do not. "
    "Strip it: {{k.removeprefix({head!r}): v for k, v in state_dict.items()}}."
)
ADD = (
    "The keys of the model begin with {head!r}, those of the state_dict do not. "
    "Add it: {{{head!r} + k: v for k, v in state_dict.items()}}."
)
INSIDE = "The state_dict is under the key {key!r} of the argument: pass that."
RENAMED = "Renamed since, as the shapes are equal? {pairs}."
TRANSPOSED = "Transposed: {keys} would fit as .T (other libraries keep weights as in x out)."


def explain(module, state, missing, unexpected, problems):
    """The error message of a failed load."""
    own = module.state_dict()
    lines = (_inside(state, missing, unexpected) or _prefix(missing, unexpected)
             or _renames(own, state, missing, unexpected))
    lines += _hint_of_transpose(own, state)
    if missing:
        lines.append(f"Missing key(s) in state_dict: {_list_keys(missing)}. ")
    if unexpected:
        lines.append(f"Unexpected key(s) in state_dict: {_list_keys(unexpected)}. ")
    lines += problems[:AT_MOST]
    if len(problems) > AT_MOST:
        lines.append(f"... and {len(problems) - AT_MOST} more that do not fit.")
    return f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(lines)


def _list_keys(keys):
    more = f" and {len(keys) - AT_MOST} more" if len(keys) > AT_MOST else ""
    return ", ".join(f'"{k}"' for k in keys[:AT_MOST]) + more


def _inside(state, missing, unexpected):
    """The key under which the state dict itself is found, in a checkpoint with other entries."""
    for key in unexpected:
        value = state.get(key)
        if isinstance(value, Mapping) and missing and sum(k in value for k in missing) * 2 >= len(missing):
            return [INSIDE.format(key=key)]
    return []


def _prefix(missing, unexpected):
    """A prefix, on either side, that explains the mismatch."""
    for short, long, message in ((missing, unexpected, STRIP), (unexpected, missing, ADD)):
        head, count = _common_head(set(short), long)
        if count and 2 * count >= len(short):
            return [message.format(head=head)]
    return []


def _common_head(short, long):
    """The prefix that maps the most short keys to long ones, and their number."""
    heads = Counter(key[:i + 1] for key in long for i, c in enumerate(key) if c == "." and key[i + 1:] in short)
    return heads.most_common(1)[0] if heads else ("", 0)


def _renames(own, state, missing, unexpected):
    """Missing keys that an unexpected key of equal shape and similar name may replace."""
    pairs, free = [], [k for k in unexpected if _is_known(state.get(k))][:LOOKED_AT]
    for key in missing[:LOOKED_AT]:
        if not _is_known(own.get(key)):
            continue
        fitting = [k for k in free if state[k].shape == own[key].shape]
        best = difflib.get_close_matches(key, fitting, 1, 0.5)
        if best:
            free.remove(best[0])
            pairs.append(f"{best[0]!r} -> {key!r}")
    if not pairs:
        return []
    more = f" and {len(pairs) - AT_MOST} more" if len(pairs) > AT_MOST else ""
    return [RENAMED.format(pairs=", ".join(pairs[:AT_MOST]) + more)]


def _hint_of_transpose(own, state):
    keys = [k for k, v in state.items() if _is_known(v) and _is_known(own.get(k)) and v.dim() > 1
            and v.shape != own[k].shape and tuple(v.shape) == tuple(own[k].shape)[::-1]]
    return [TRANSPOSED.format(keys=_list_keys(keys))] if keys else []


def _is_known(value):
    return isinstance(value, Tensor) and not is_lazy(value)
