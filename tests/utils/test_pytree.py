"""Pytrees agree with PyTorch's."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from flambeau.utils import _pytree as ours

Point = namedtuple("Point", "x y")
TREES = [
    1, None, [], (), {}, [1, (2, None)], {"a": [1, (2, None)], "b": 3}, Point(1, [2, 3]), OrderedDict(b=1, a=(2,)),
    defaultdict(list, {"x": 1}), deque([1, [2]], maxlen=3), {"deep": {"er": [{"est": (1, 2)}]}},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_round_trip(tree):
    leaves, spec = ours.tree_flatten(tree)
    back = ours.tree_unflatten(leaves, spec)
    assert back == tree and type(back) is type(tree)
    assert spec == ours.tree_structure(back) and spec.num_leaves == len(leaves)
    assert [ours.key_get(tree, path) for path, _ in ours.tree_leaves_with_path(tree)] == leaves


@pytest.mark.oracle
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_as_torch(tree):
    import torch.utils._pytree as theirs

    def results(p):
        leaves, spec = p.tree_flatten(tree)
        paths = [(p.keystr(path), leaf) for path, leaf in p.tree_flatten_with_path(tree)[0]]
        doubled = p.tree_map(lambda x, y: (x, y), tree, tree)
        numbers = p.tree_map_only(int, lambda x: x * 2, tree)
        tests = [p.tree_all(bool, tree), p.tree_any(bool, tree), p.tree_any_only(int, lambda x: x > 2, tree)]
        outer = p.tree_leaves(tree, is_leaf=lambda x: isinstance(x, tuple))
        return leaves, repr(spec), spec.num_nodes, paths, doubled, numbers, tests, outer

    assert results(ours) == results(theirs)


def test_registered_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    ours.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    try:
        doubled = ours.tree_map(lambda x: 2 * x, [Pair(1, (2,))])[0]
        assert (doubled.a, doubled.b) == (2, (4,))
        with pytest.raises(ValueError, match="already registered"):
            ours.register_pytree_node(Pair, None, None)
    finally:
        del ours.SUPPORTED_NODES[Pair]


@pytest.mark.parametrize("call, kind", [
    (lambda: ours.tree_map(max, [1, 2], [1]), ValueError),
    (lambda: ours.tree_map(max, {"a": 1}, {"b": 1}), ValueError),
    (lambda: ours.tree_map(max, [1], (1,)), ValueError),
    (lambda: ours.tree_unflatten([1], ours.tree_structure([1, 2])), ValueError),
    (lambda: ours.tree_unflatten([1], [1]), TypeError),
])
def test_wrong_trees(call, kind):
    with pytest.raises(kind):
        call()
