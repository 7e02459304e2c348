"""Joining, splitting, repeating and turning; conversions."""

from .writer import rows

JOINS = [
    *rows("fibc", "torch.NAME([{x}, {same}], dim={dim})", "cat concat concatenate stack"),
    *rows("fibc", "torch.NAME([{x}, {peer}])", "cat stack hstack vstack dstack column_stack row_stack"),
    *rows("fibc", "torch.block_diag({x}, {peer})"),
    *rows("fibc", "torch.cartesian_prod({x}, {same})", x="vector"),
    *rows("fibc", "torch.combinations({x}, {count}, with_replacement={flag})", x="vector"),
    *rows("fibc", "torch.meshgrid({x}, {same}, indexing='NAME')", "ij xy", x="vector"),
]
PARTS = [
    *rows("fibc", "torch.NAME({x}, 2, dim={dim})", "chunk split tensor_split"),
    *rows("fibc", "torch.tensor_split({x}, (1, 2), {dim})"),
    *rows("fibc", "torch.NAME({x}, [1, {x}.shape[0] - 1])", "split split_with_sizes"),
    *rows("fibc", "torch.NAME({x}, {positive_count})", "hsplit vsplit dsplit"),
    *rows("fibc", "torch.unbind({x}, {dim})"),
    *rows("fibc", "torch.NAME({x}, {index})", "tril triu diag diagonal diagflat diag_embed"),
    *rows("fibc", "torch.diagonal({x}, {index}, {dim1}, {dim2})"),
    *rows("fibc", "{x}.as_strided_((1,), (1,), 0)"),
    *rows("fibc", "torch.NAME({x})", "trace diag diagflat diag_embed"),
]
TURNS = [
    *rows("fibc", "torch.roll({x}, {index}, dims={dim})"),
    *rows("fibc", "torch.roll({x}, {index})"),
    *rows("fibc", "torch.flip({x}, {dims})"),
    *rows("fibc", "torch.NAME({x})", "fliplr flipud"),
    *rows("fibc", "torch.rot90({x}, {index}, (0, 1))"),
    *rows("fibc", "torch.NAME({x}, {dim1}, {dim2})", "transpose swapaxes swapdims movedim moveaxis flatten"),
    *rows("fibc", "torch.pixel_shuffle({x}, 2)"),
    *rows("fibc", "torch.pixel_unshuffle({x}, 2)"),
    *rows("fibc", "torch.NAME({x}, 2)", "channel_shuffle native_channel_shuffle"),
]
REPEATS = [
    *rows("fibc", "torch.repeat_interleave({x}, {count}, dim={dim})"),
    *rows("fibc", "torch.repeat_interleave({x}, {positive_count})"),
    *rows("fibc", "torch.tile({x}, (2, 1))"),
    *rows("fibc", "{x}.repeat({larger})"),
    *rows("fibc", "{x}.sum_to_size({smaller})", mild=True),
    *rows("fibc", "{x}.NAME({same})", "expand_as reshape_as view_as"),
]
CONVERSIONS = [
    *rows("fibc", "{x}.to({any_dtype})", mild=True),
    *rows("fibc", "{x}.type({any_dtype})", mild=True),
    *rows("fibc", "{x}.NAME()", """bool byte char short int long half bfloat16 float double cfloat cdouble""",
          mild=True),
    *rows("fibc", "{x}.NAME()", """clone contiguous tolist item cpu numel nelement ndimension dim size stride
          storage_offset element_size is_complex is_floating_point is_signed is_contiguous is_nonzero type is_inference
          dim_order get_device is_conj is_neg is_pinned is_shared"""),
    *rows("fibc", "{x}.to(torch.float32, memory_format=torch.contiguous_format)"),
    *rows("fibc", "torch.NAME({x})", """is_tensor is_complex is_floating_point is_conj is_neg is_nonzero is_signed
          is_inference numel"""),
    *rows("fibc", "torch.is_same_size({x}, {peer})"),
    *rows("fibc", "{x}.is_set_to({same})"),
    *rows("fibc", "torch.result_type({x}, {other})"),
    *rows("fibc", "torch.can_cast({dtype}, {any_dtype})"),
    *rows("fibc", "torch.promote_types({dtype}, {any_dtype})"),
    *rows("fibc", "torch.broadcast_shapes({x}.shape, {larger})"),
    *rows("f", "torch.view_as_complex({x})"),
]
SHAPES = [*JOINS, *PARTS, *TURNS, *REPEATS, *CONVERSIONS]
