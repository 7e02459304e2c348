"""Reading and writing at indices."""

from .writer import rows

READS = [
    *rows("fibc", "{x}[{key}]"),
    *rows("fibc", "torch.index_select({x}, 0, {positions})"),
    *rows("fibc", "torch.masked_select({x}, {mask})"),
    *rows("fibc", "torch.take({x}, {places})"),
    *rows("fibc", "torch.take_along_dim({x}, {indices}, {dim})"),
    *rows("fibc", "torch.take_along_dim({x}, {places})"),
    *rows("fibc", "torch.gather({x}, {dim}, {indices})"),
    *rows("fibc", "torch.NAME({x})", "nonzero argwhere"),
    *rows("fibc", "{x}.nonzero(as_tuple=True)"),
    *rows("fibc", "torch.nonzero_static({x}, size={count}, fill_value={index})"),
    *rows("i", "torch.unravel_index({x}.abs(), (400, 400))", mild=True),
]
WRITES = [
    *rows("fibc", "torch.masked_fill({x}, {mask}, {number})", mild=True),
    *rows("fibc", "torch.masked_scatter({x}, {mask}, {same})"),
    *rows("fibc", "torch.index_fill({x}, 0, {positions}, {number})", mild=True),
    *rows("fibc", "torch.index_add({x}, 0, {position}, {x}[:1].clone(), alpha={number})", mild=True),
    *rows("fibc", "torch.index_copy({x}, 0, {position}, {x}[:1].clone())"),
    *rows("fi", "torch.index_reduce({x}, 0, {position}, {x}[-1:].clone(), 'NAME', include_self={flag})",
          "prod mean amax amin", mild=True),
    *rows("fibc", "torch.index_put({x}, ({positions},), torch.tensor(1).to({x}.dtype), accumulate={flag})", mild=True),
    *rows("fibc", "torch.index_put({x}, ({mask},), torch.tensor(2).to({x}.dtype))"),
    *rows("fibc", "torch.put({x}, {place}, {same}.flatten()[:1], accumulate={flag})", mild=True),
    *rows("fibc", "torch.scatter({x}, {dim}, {indices}, {number})", mild=True),
    *rows("fibc", "torch.scatter({x}, {dim}, torch.zeros_like({x}, dtype=torch.int64)[:1], {same})"),
    *rows("fi", "torch.scatter({x}, {dim}, {indices}, {number}, reduce='NAME')", "add multiply", mild=True),
    *rows("fic", "torch.scatter_add({x}, {dim}, {indices}, {same})", mild=True),
    *rows("fi", "torch.scatter_reduce({x}, {dim}, {indices}, {same}, 'NAME', include_self={flag})",
          "sum prod mean amax amin", mild=True),
    *rows("fibc", "torch.select_scatter({x}, {x}.select({dim}, 0).clone(), {dim}, {index})"),
    *rows("fibc", "torch.slice_scatter({x}, {x}[1:].clone(), 0, 1)"),
    *rows("fibc", "torch.slice_scatter({x}, {x}[::2].clone(), 0, 0, None, 2)"),
    *rows("fibc", "torch.diagonal_scatter({x}, {x}.diagonal().clone() * 2)"),
    *rows("fibc", "torch.as_strided_scatter({x}, {x}.flatten()[:1].clone(), (1,), (1,), 0)"),
    *rows("fibc", "{x}.fill_diagonal_({number}, wrap={flag})", mild=True),
    *rows("fibc", "torch.fill({x}, {number})", mild=True),
]
INDEXING = [*READS, *WRITES]
