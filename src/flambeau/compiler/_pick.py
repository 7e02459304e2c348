"""Items of lists by number."""

from __future__ import annotations

from operator import itemgetter


def picker(numbers):
    """A function that takes the items with these numbers from a list: what a run asks of thousands of tensors."""
    if len(numbers) < 2:
        return lambda found: [found[nr] for nr in numbers]
    return itemgetter(*numbers)
