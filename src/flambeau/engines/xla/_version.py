"""The versions of jax that this engine is tested with."""

import re
import warnings

OLDEST, NEWEST = (0, 10), (0, 11)

TOO_OLD = "flambeau needs jax {oldest} or newer, but found {found}: pip install -U 'flambeau[xla]'"
TOO_NEW = (
    "flambeau is tested with jax {oldest} to {newest}, and found {found}. If something fails, install a tested "
    "version: pip install 'flambeau[xla]'"
)


def check_version(found):
    """Raises if jax is too old; warns if it is newer than the tested versions."""
    version = tuple(map(int, re.findall(r"\d+", found)[:2]))
    words = dict(oldest=".".join(map(str, OLDEST)), newest=".".join(map(str, NEWEST)), found=found)
    if version < OLDEST:
        raise ImportError(TOO_OLD.format(**words), name="jax")
    if version > NEWEST:
        warnings.warn(TOO_NEW.format(**words), RuntimeWarning, stacklevel=2)
