"""Reading and writing by index and by mask."""

from engines.xla_row import R, V, known, row, rows

MASK = [[True, False, True], [False, True, True]]
ROWS = V([2, 0, 2])
GRID = V([[0, 2, 1], [1, 1, 0]])
INTEGERS = V([[1, 2, 3], [4, 5, 6]])

INDEXING = [
    row("index", R(3, 4), ROWS, dims=(0,)),
    row("index", R(3, 4), V([-1, 0]), dims=(1,)),
    row("index", R(3, 4, 2), ROWS, V([[1], [3]]), dims=(0, 1)),
    row("index", R(3, 4, 2), ROWS, V([1, 0, 1]), dims=(0, 2)),
    row("index", R(2, 3), known(V(MASK)), dims=(0,)),
    row("unindex", R(3, 4), ROWS, dims=(0,), shape=(3, 4)),
    row("unindex", R(4), known(V(MASK)), dims=(0,), shape=(2, 3)),
    row("index_put", R(3, 4), R(3, 4), ROWS, dims=(0,), accumulate=True),
    row("index_put", R(3, 4), R(2, 1), V([2, 0]), dims=(0,), accumulate=False),
    row("index_put", R(2, 3), R(), V(MASK), dims=(0,), accumulate=False),
    row("index_put", R(2, 3), 0.5, V(MASK), dims=(0,), accumulate=False),
    row("index_put", R(2, 3), R(4), known(V(MASK)), dims=(0,), accumulate=True),
    row("index_select", R(3, 4), ROWS, axis=1),
    row("index_select", R(), V([0]), axis=0),
    row("index_add", R(3, 4), R(3, 4), ROWS, axis=0, alpha=1),
    row("index_add", R(3, 4), R(3, 2), V([1, 1]), axis=1, alpha=2),
    row("index_copy", R(3, 4), R(2, 4), V([2, 0]), axis=0),
    row("index_fill", R(3, 4), 0.5, ROWS, axis=1),
    row("index_fill", R(3, 4), R(), ROWS, axis=0),
    row("take", R(2, 3), V([[0, 5], [5, 2]])),
    row("untake", R(2, 2), V([[0, 5], [5, 2]]), shape=(2, 3)),
    row("put", R(2, 3), R(3), V([0, 5, 2]), accumulate=False),
    row("put", R(2, 3), R(3), V([0, 5, 5]), accumulate=True),
    row("masked_fill", R(2, 3), 0.5, V(MASK)),
    row("masked_fill", R(2, 3), R(), V(MASK)),
    row("masked_keep", R(2, 3), V(MASK)),
    row("masked_select", R(2, 3), known(V(MASK))),
    row("masked_select", R(2, 3), known(V(MASK[0]))),
    row("masked_select_pull", R(4), V(MASK), shape=(2, 3)),
    row("masked_scatter", R(2, 3), R(6), V(MASK)),
    row("masked_scatter", R(2, 3), R(2, 2), V(MASK)),
    row("masked_pack", R(2, 3), V(MASK), shape=(5,)),
    row("fill_diagonal", R(3, 4), value=0.5, wrap=False),
    row("fill_diagonal", R(5, 2), value=0.5, wrap=True),
    # along an axis
    row("gather", R(2, 3), GRID, axis=1),
    row("gather", R(2, 3), V([[0, 1, 1]]), axis=0),
    row("gather", R(), V(0), axis=0),
    row("ungather", R(2, 3), GRID, axis=1, shape=(2, 4)),
    row("scatter", R(2, 3), R(2, 3), V([[0, 2], [1, 0]]), axis=1),
    row("scatter", R(2, 3), 0.5, GRID, axis=1),
    row("scatter_add", R(2, 3), R(3, 4), GRID, axis=1),
    row("scatter_multiply", R(2, 3), R(2, 3), GRID, axis=1).without_gradient(),
    *[row("scatter_reduce", R(2, 3), R(2, 3), GRID, axis=1, reduce=how, include_self=keep)
      for how in ("sum", "mean", "prod", "amax", "amin") for keep in (True, False)],
    row("scatter_reduce", INTEGERS, INTEGERS, GRID, axis=1, reduce="mean", include_self=True),
    row("scatter_reduce", INTEGERS, INTEGERS, GRID, axis=1, reduce="amax", include_self=False),
    *rows("index_reduce", R(2, 3), R(2, 3), GRID, axis=1, reduce="prod", include_self=True),
]
