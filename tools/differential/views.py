"""Programs of views: chains of them, writes through them and through their bases, aliasing, versions."""

from .writer import Over, rows

VIEWS = [
    *rows("fibc", "{x}[{basic_key}]"),
    *rows("fibc", "{x}.NAME({dim1}, {dim2})", "transpose swapaxes movedim"),
    *rows("fibc", "{x}.permute({order})"),
    *rows("fibc", "{x}.NAME({shape})", "view reshape"),
    *rows("fibc", "{x}.expand({larger})"),
    *rows("fibc", "{x}.NAME({dim})", "unsqueeze squeeze"),
    *rows("fibc", "{x}.NAME()", "squeeze t flatten ravel contiguous detach clone view_as_real adjoint diagonal"),
    *rows("fibc", "{x}.NAME", "T mT data real"),
    *rows("fibc", "{x}.select({dim}, {index})"),
    *rows("fibc", "{x}.narrow({dim}, {count1}, {count2})"),
    *rows("fibc", "{x}.diagonal({index})"),
    *rows("fibc", "{x}.unfold({dim}, 2, 1)"),
    *rows("fibc", "{x}.unflatten({dim}, (-1, 1))"),
    *rows("fibc", "{x}.flatten({dim1}, {dim2})"),
    *rows("fibc", "torch.NAME({x}, 2, dim={dim})", "chunk split tensor_split"),
    *rows("fibc", "{x}.unbind({dim})"),
    *rows("fibc", "torch.broadcast_to({x}, {larger})"),
    *rows("fibc", "torch.broadcast_tensors({x}, {peer})"),
    *rows("fibc", "torch.atleast_NAME({x})", "1d 2d 3d"),
    *rows("fibc", "{x}.as_strided((2,), (1,), {count})"),
    *rows("fibc", "{x}.view({any_dtype})"),
    *rows("fibc", "{x}.to({any_dtype})", mild=True),
    *rows("fibc", "{x}.view_as({same})"),
    *rows("fibc", "{x}.contiguous(memory_format=torch.channels_last)"),
    *rows("fibc", "{x}.type_as({peer})", mild=True),
]
WRITES = [
    *rows("fibc", "{x}.NAME_({other})", "add mul copy", mild=True),
    *rows("fibc", "{x}.fill_({number})", mild=True),
    *rows("fibc", "{x}.zero_()"),
    *rows("f", "{x}.NAME_()", "neg exp relu sin"),
    *rows("fibc", "{x}[{key}] = {number}", mild=True),
    *rows("fibc", "{x}[{key}] = {peer}", mild=True),
    *rows("fibc", "{x}[{key}] += {number}", mild=True),
    *rows("fibc", "{x} NAME= {other}", "+ *", mild=True),
    *rows("fibc", "{x}.NAME_({dim1}, {dim2})", "transpose swapaxes"),
    *rows("fibc", "{x}.NAME_({dim})", "unsqueeze squeeze"),
    *rows("fibc", "{x}.t_()"),
    *rows("fibc", "{x}.masked_fill_({mask}, {number})", mild=True),
    *rows("fibc", "{x}.index_copy_(0, torch.tensor([0]), {x}[:1].clone())"),
    *rows("fibc", "{x}.index_add_(0, torch.tensor([0]), {x}[:1].clone())", mild=True),
    *rows("fibc", "{x}.diagonal().fill_({number})", mild=True),
    *rows("fi", "torch.add({x}, {number}, out={out})", mild=True),
    *rows("fibc", "torch.neg({x}, out={x}[{basic_key}])", mild=True),
]
STATEMENT = (" = ", "+= ", "*= ")


def write(writer):
    """A base, views of it, writes to some of them."""
    writer.special = False
    writer.new(writer.shape(least=1), "fibc")
    while not writer.seldom(6):
        table = writer.pick((VIEWS, WRITES, VIEWS))
        row = writer.pick(table)
        writer.apply(row, target="" if table is WRITES else None)
        unpack(writer)
        if len(writer.pair.steps) > 10:
            raise Over


def unpack(writer):
    """Gives one of several results a name of its own."""
    name, value = list(writer.pair.oracle.items())[-1]
    if isinstance(value, (tuple, list)) and value and name not in ("log",):
        writer.do("{several}[{i}]", several=name, i=str(writer.integer(0, len(value) - 1)))
