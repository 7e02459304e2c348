"""Version strings that compare by number."""

import re

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version such as "2.13.0", compared by its numbers with strings and tuples.

    Example::

        >>> TorchVersion("2.13.0") >= "2.6", TorchVersion("2.13.0+cpu") > (2, 9)
        (True, True)
    """

    __slots__ = ()

    def __lt__(self, other):
        return _numbers(self) < _numbers(other)

    def __le__(self, other):
        return _numbers(self) <= _numbers(other)

    def __gt__(self, other):
        return _numbers(self) > _numbers(other)

    def __ge__(self, other):
        return _numbers(self) >= _numbers(other)

    def __eq__(self, other):
        return str.__eq__(self, other) or _numbers(self) == _numbers(other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def _numbers(version):
    """The numbers of a release without trailing zeros, or those in a tuple."""
    parts = re.match(r"[\d.]*", version)[0].split(".") if isinstance(version, str) else version
    numbers = [int(part) for part in parts if str(part).isdigit()]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers
