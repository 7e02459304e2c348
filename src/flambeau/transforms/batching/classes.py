"""Batching rules for classes of ops, by how they treat the dimensions of their operands."""

from ...ops.shape import basic_index, reshape
from ..vmap import Batched, loop, with_batch_dim

# ---- settings that name dimensions, or sizes


def after_batch(axis, rank):
    """Shifts an axis, several, or None for all, by the batch dimension in front of `rank` others."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, tuple | list):
        return tuple([after_batch(a, rank) for a in axis])
    return axis + 1 if axis >= 0 else axis


MOVES = {
    "axis": lambda axis, rank, size: after_batch(axis, rank),
    "axes": lambda axes, rank, size: after_batch(axes, rank),
    "axis0": lambda axis, rank, size: after_batch(axis, rank),
    "axis1": lambda axis, rank, size: after_batch(axis, rank),
    "axis2": lambda axis, rank, size: after_batch(axis, rank),
    "shape": lambda shape, rank, size: (size, *shape),
    "pads": lambda pads, rank, size: ((0, 0), *pads),
    "key": lambda key, rank, size: (slice(None), *key) if isinstance(key, tuple) else (slice(None), key),
}


def move_settings(settings, rank, size):
    """The settings of an op, adjusted to a batch dimension in front of `rank` others."""
    return {name: MOVES[name](value, rank, size) if name in MOVES else value for name, value in settings.items()}


# ---- operands


def align(x, rank):
    """The tensor of an operand, reshaped to broadcast: with its batch dimension in front of `rank` others."""
    if not isinstance(x, Batched):
        return x
    missing = rank - len(x.shape)
    if not x.batched or not missing:
        return x.value
    return basic_index(x.value, key=(slice(None), *[None] * missing, ...), node="UnsqueezeBackward0")


def rank_of(operands):
    """The largest number of dimensions of a sample of any operand."""
    return max([len(x.shape) for x in operands if isinstance(x, Batched)])


def spread(x, size):
    """The tensor of an operand with the batch dimension, expanded if it is unbatched."""
    return with_batch_dim(x, size) if isinstance(x, Batched) else x


# ---- the rules

NEW_DIM = ("stack", "unsqueeze")  # their axis refers to the result


def aligned(op, operands, settings, size):
    """Ops whose operands broadcast, over all dimensions or all but the last ones."""
    rank = rank_of(operands)
    if settings:
        settings = move_settings(settings, rank, size)
    return op.function(*[align(x, rank) for x in operands], **settings)


def along(op, operands, settings, size):
    """Ops with an axis setting, whose operands have the same dimensions."""
    rank = rank_of(operands)
    tensors = [spread(x, size) for x in operands]
    if rank == 0 and settings.get("axis") not in (None, ()) and op.name not in NEW_DIM:
        return without_dims(op, tensors, settings, size)
    return op.function(*tensors, **move_settings(settings, rank, size))


def without_dims(op, tensors, settings, size):
    """``along`` for 0-dim samples, which are treated as vectors of one element."""
    tensors = [basic_index(t, key=(..., None), node="UnsqueezeBackward0") if hasattr(t, "dtype") else t
               for t in tensors]
    result = op.function(*tensors, **move_settings(settings, 1, size))
    return tuple(map(drop_dim, result)) if isinstance(result, tuple) else drop_dim(result)


def drop_dim(t):
    """Removes the dimension added by ``without_dims`` from a result, if present."""
    shape = t._a.shape
    return reshape(t, shape=(shape[0], *shape[2:])) if len(shape) > 1 else t


def scattered(op, operands, settings, size):
    """``along`` for gathers and scatters, where 0-dim and other tensors may mix."""
    ranks = {len(x.shape) for x in operands if isinstance(x, Batched)}
    return (loop if len(ranks) > 1 or settings.get("shape") == () else along)(op, operands, settings, size)


def flattened(op, operands, settings, size):
    """``along`` for ops that treat axis None as flattening."""
    (x,) = operands
    if settings["axis"] is not None:
        return along(op, operands, settings, size)
    result = op.function(reshape(x.value, shape=(size, x.size)), **settings | {"axis": 1})
    kept = settings.get("keepdims") and len(x.shape)
    return reshape(result, shape=(size, *[1] * len(x.shape))) if kept else result


def trailing(op, operands, settings, size):
    """Ops on the last dimensions, mostly matrices, with any number of leading dimensions."""
    return op.function(*[spread(x, size) for x in operands], **settings)


def folded(op, operands, settings, size):
    """Ops whose first dimension is a batch dimension anyway, which is enlarged."""
    result = op.function(*[fold(x, size) for x in operands], **settings)
    return tuple([unfold(t, size) for t in result]) if isinstance(result, tuple) else unfold(result, size)


def fold(x, size):
    """The tensor of an operand with the batch dimension folded into its first dimension."""
    if not isinstance(x, Batched):
        return x
    return reshape(with_batch_dim(x, size), shape=(size * x.shape[0], *x.shape[1:]))


def unfold(t, size):
    """The inverse of ``fold`` for a result."""
    shape = t._a.shape
    return reshape(t, shape=(size, shape[0] // size, *shape[1:]))


def names_in(text):
    return frozenset(text.split())


def table(rule, names):
    """A rule for all ops of these names."""
    return dict.fromkeys(names_in(names), rule)


# Pointwise ops that are not a single kernel.
POINTWISE = names_in("""
    isposinf isneginf isclose conj real imag complex polar angle keep where clamp clamp_numbers heaviside
    nan_to_num add_scaled sub_scaled rsub nextafter lerp addcmul addcdiv round_decimals frac rsqrt square
    pow_scalar rpow ldexp exp2 logaddexp xlogy logit deg2rad rad2deg sinc threshold threshold_pull hardshrink
    hardshrink_pull leaky_relu leaky_relu_pull rrelu_eval rrelu_train prelu elu elu_pull celu gelu gelu_pull
    leaky_relu_in_place rrelu_eval_in_place rrelu_train_in_place elu_in_place celu_in_place elu_pull_of_result
    gelu_tanh gelu_tanh_pull silu silu_pull mish mish_pull softplus log_sigmoid hardtanh hardtanh_pull hardsigmoid
    hardsigmoid_pull hardswish hardswish_pull softshrink smooth_l1_slope huber_slope ndtr special_entr
    special_xlog1py polygamma mvlgamma over masked_fill masked_keep finite bitwise_and bitwise_or bitwise_xor
    bitwise_not bitwise_left_shift bitwise_right_shift gcd lcm threshold_in_place
""")

CLASSES = {
    **dict.fromkeys(POINTWISE, aligned),
    **table(aligned, "frexp cast clone zeros_like alias zero "
                     "fill fill_in_place as_complex view_as_real view_as_complex"),
    # ops that broadcast over all but the last dimensions
    **table(aligned, "masked_softmax attention euclidean_distances ties equals"),
    **table(along, """
        sum mean nansum count_nonzero all any shift var std var_mean std_mean amax amin max min aminmax max_dim
        min_dim logsumexp softmax softmax_pull log_softmax log_softmax_pull cumsum cumprod nth_zero
        cummax cummin logcumsumexp sort topk argsort kthvalue median_dim nanmedian_dim mode vector_norm flip rot90
        repeat_interleave largest_difference
        cat stack split split_with_sizes unbind transpose unsqueeze basic_index embed
        diagonal embed_diagonal unfold fft_c2c fft_r2c fft_c2r middle_scaled linalg_cross constant_pad
        pad_edges fold_edges reshape reshape_alias reshape_copy view
    """),
    **table(scattered, "fold_windows place gather ungather scatter scatter_add scatter_multiply scatter_reduce "
                       "index_reduce"),
    **table(flattened, "argmax argmin prod"),
    **table(trailing, """
        piecewise_constant redrawn standard_gamma dirichlet tril triu linalg_inv_ex linalg_det cofactor linalg_slogdet
        linalg_solve_triangular linalg_cholesky_ex cholesky_solve cholesky_inverse linalg_lu_factor_ex linalg_qr
        linalg_svd linalg_svdvals linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals linalg_matrix_exp eye_like
        eye_from pixel_shuffle pixel_unshuffle
    """),
    **table(folded, """
        max_pool adaptive_max_pool avg_pool avg_pool_pull adaptive_avg_pool adaptive_avg_pool_pull max_unpool
        fractional_max_pool upsample upsample_pull im2col col2im channel_shuffle cross_map_norm grid_sample
        affine_grid_generator affine_grid_pull
    """),
}
