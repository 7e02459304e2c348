"""The steps of a loop, called one by one: slicing the arguments, and stacking the results."""

from ..functions.join import stack
from ._pytree import flatten, unflatten

NO_STEPS = "loop() takes tensors whose first dimension counts the steps, at least 1 and equally many, but got {sizes}"
OTHER_RESULTS = "loop() stacks the results of {name}, which must be alike at every step, but were {first} and {other}"


def split(nest, tensors):
    """(args, kwargs) of each step: slices of the tensors along the first dimension."""
    sizes = {t.shape[0] if t.dim() else 0 for t in tensors}
    if len(sizes) != 1 or sizes == {0}:
        raise ValueError(NO_STEPS.format(sizes=[list(t.shape) for t in tensors]))
    return [unflatten(nest, iter([t[i] for t in tensors])) for i in range(sizes.pop())]


def stack_results(name, results):
    """The stacked results of all steps, without history."""
    trees, tensors = [], []
    for result in results:
        found = []
        trees.append(flatten(result, found))
        tensors.append([t.detach() for t in found])
    for tree in trees[1:]:
        if tree != trees[0]:
            raise RuntimeError(OTHER_RESULTS.format(name=name, first=results[0], other=results[trees.index(tree)]))
    return unflatten(trees[0], iter([stack(parts) for parts in zip(*tensors, strict=True)]))
