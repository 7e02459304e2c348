"""Types of the public API that cannot be determined from the running library: the tables of ``make_stubs.py``.

A parameter's type is looked up as "function.parameter" in EXCEPTIONS, then by its name in PARAMETERS; else it is the
type of its default. A result's type is looked up in RETURNS, then among the named results; else it is a Tensor.
Overloaded functions are written out in SIGNATURES. Types have the names in ALIASES (Int, Dims, ...), since ``int`` and
``dtype`` are names of tensor methods and dtypes in the stubs.
"""

ALIASES = {
    "Bool": "bool",
    "Int": "int",
    "Float": "float",
    "Number": "int | float | complex | np.number[Any] | np.bool_",
    "Dims": "int | Sequence[int]",
    "DType": "dtype",
    "Device": "device | str | int",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}


def by_name(table):
    """{type: "names"} inverted: {name: type}."""
    return {name: type for type, names in table.items() for name in names.split()}


def each(names, parameter):
    """"f g" and "x" as "f.x g.x"."""
    return " ".join(f"{name}.{parameter}" for name in names.split())


PARAMETERS = by_name({
    "Tensor": """_random_samples A B LD LU LU_data LU_pivots a abs angle append attn_mask aweights b b_hh b_ih batch1
        batch2 bias boundaries condition count fweights gradient grid hx imag index indices input input1 input2 input3
        k_proj_weight key key_padding_mask logits mask mat mat1 mat2 new_state offsets other_tensor out_proj_weight
        per_sample_weights pivots pos_weight prepend prob q_proj_weight query real running_mean running_var
        sorted_sequence sorter source src static_k static_v target tau tensor tensor1 tensor2 the_template theta
        v_proj_weight values vec vec1 vec2 w_hh w_ih weight weights window x x1 x2 y""",
    "Tensor | Number": "element elements exponent max min other test_element test_elements value",
    "Number": """alpha beta correction dx end fill_value from_ lambd max_val maxnorm mean median min_val nan neginf
        negative_slope posinf s sigma start std step threshold to""",
    "Float": """atol base d delta dropout_p eps label_smoothing lower max_norm momentum norm_type p rcond rtol scale tol
        upper""",
    "Int": """M N axis0 axis1 chunks col decimals diagonal dim dim0 dim1 dim2 dimension divisor_override
        downscale_factor embed_dim_to_check end_dim groups high hop_length ignore_index ind interpolation_mode k length
        low m minlength n n_fft niter num num_classes num_groups num_heads num_samples offset padding_idx r row seed
        start_dim steps storage_offset upscale_factor win_length window_length""",
    "Dims": """destination dilation dims kernel_size normalized_shape output_padding output_size pad padding
        physical_layout shape shifts size sizes split_size split_size_or_sections split_sizes stride""",
    "Bool": """add_zero_attn align_corners align_to_window keepdims mode onesided recompute_scale_factor requires_grad
        retain_graph return_complex size_average train unbiased""",
    "Float | Sequence[Float]": "scale_factor",
    "Sequence[Float]": "output_ratio",
    "str": "UPLO driver interpolation norm padding_mode precision reduce rounding_mode side",
    "Sequence[Tensor]": "tensors",
    "Tensor | Sequence[Tensor]": "inputs",
    "DType": "dtype out_dtype type1 type2",
    "Device": "device",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "generator",
    "Callable[..., Any]": "callable hook",
})

SEVERAL_DIMS = """all amax amin any count_nonzero fft2 fftn fftshift gradient hfft2 hfftn ifft2 ifftn ifftshift ihfft2
    ihfftn irfft2 irfftn logsumexp matrix_norm mean nanmean nansum norm rfft2 rfftn squeeze std std_mean sum var
    var_mean
    vector_norm"""
SEVERAL_SIGNALS = "fft2 fftn hfft2 hfftn ifft2 ifftn ihfft2 ihfftn irfft2 irfftn rfft2 rfftn"
FIRST_MAY_BE_NUMBER = """add bucketize div divide float_power floor_divide isin mul multiply pow remainder
    searchsorted sub subtract true_divide xlog1py xlogy zeta"""
SECOND_IS_TENSOR = """allclose cross dist equal expand_as inner is_same_size isclose kron matmul reshape_as type_as
    view_as"""
POLYNOMIALS = " ".join(
    f"{kind}_polynomial_{letter}"
    for kind, letters in {
        "chebyshev": "tuvw", "hermite": ("h", "he"), "laguerre": "l", "legendre": "p", "shifted_chebyshev": "tuvw",
    }.items() for letter in letters
)

EXCEPTIONS = by_name({
    "Tensor": " ".join([
        each(SECOND_IS_TENSOR, "other"), each("multi_head_attention_forward scaled_dot_product_attention", "value"),
        "lerp.end lerp_.end svd_lowrank.M",
    ]),
    "Tensor | Number": " ".join([
        each(f"{FIRST_MAY_BE_NUMBER} {POLYNOMIALS}", "input"), each(POLYNOMIALS, "n"), each("lerp lerp_", "weight"),
        each("linspace logspace", "start"), each("linspace logspace", "end"), each("quantile nanquantile", "q"),
        each("scatter scatter_", "src"), each("normal", "mean"), each("normal", "std"),
        "arange.start bernoulli_.p full.fill_value",
    ]),
    "Tensor | None": " ".join([
        *[each("batch_norm instance_norm", name) for name in ("weight", "bias", "running_mean", "running_var")],
        *[f"multi_head_attention_forward.{name}"
          for name in ("in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_bias")],
    ]),
    "Tensor | Float": "matrix_rank.atol matrix_rank.rtol matrix_rank.tol pinv.atol pinv.rtol",
    "Tensor | Int": "narrow.start repeat_interleave.repeats",
    "Tensor | Dims": "tensor_split.indices tensor_split.sections tensor_split.tensor_indices_or_sections",
    "Number": " ".join([
        each("addcdiv addcdiv_ addcmul addcmul_ pad threshold threshold_", "value"), each("dist renorm renorm_", "p"),
        "histc.max histc.min",
    ]),
    "Number | str": "cond.p matrix_norm.ord norm.ord norm.p vector_norm.ord",
    "Float": "exponential.tau gumbel_softmax.tau local_response_norm.k",
    "Int": """frombuffer.count local_response_norm.size multigammaln.p mvlgamma.p mvlgamma_.p nonzero_static.fill_value
        nonzero_static.size pca_lowrank.q repeat_interleave.output_size select.index select_scatter.index
        slice_scatter.end slice_scatter.start slice_scatter.step svd_lowrank.q unfold.size unfold.step
        grid_sampler.padding_mode grid_sampler_2d.padding_mode grid_sampler_3d.padding_mode""",
    "Int | str": "set_deterministic_debug_mode.debug_mode",
    "Dims": " ".join([
        each(SEVERAL_DIMS, "dim"), each(SEVERAL_SIGNALS, "s"), each("moveaxis movedim", "source"),
        each("dsplit hsplit vsplit", "indices"), "sum.axis",
    ]),
    "Dims | str": each("conv1d conv2d conv3d", "padding"),
    "Int | Sequence[Int | None]": " ".join(
        f"adaptive_{kind}_pool{n}d{suffix}.output_size"
        for kind, suffix in (("avg", ""), ("max", ""), ("max", "_with_indices")) for n in (1, 2, 3)
    ),
    "Bool": " ".join([
        each("cholesky cholesky_ex cholesky_inverse cholesky_solve solve_triangular triangular_solve", "upper"),
        each("""binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss nll_loss
             smooth_l1_loss""", "reduce"),
        "asarray.copy from_dlpack.copy",
    ]),
    "str": each("embedding_bag grid_sample interpolate pad qr upsample", "mode"),
    "Sequence[Tensor | None]": "index_put.indices index_put_.indices",
    "DType": "can_cast.from_ can_cast.to set_default_dtype.d",
    "Device | None": "set_default_device.device",
    "Any": """general_cosine.a gradient.spacing histogram.bins histogramdd.bins histogramdd.range load.f new.other
        save.f save.obj set_.size set_.source set_.stride set_default_tensor_type.t tensordot.dims typename.obj
        where.self""",
})

STARRED = {"at": "Dims", "matrices": "Tensor", "shapes": "Dims", "tensors": "Tensor | Sequence[Tensor]"}

TENSORS = "tuple[Tensor, ...]"
RETURNS = by_name({
    "Any": "item load tolist __dlpack_device__ __reduce_ex__",
    "None": """__delitem__ __setitem__ __setstate__ backward record_stream retain_grad save set_anomaly_enabled
        set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode
        set_float32_matmul_precision set_num_interop_threads set_num_threads set_rng_state
        use_deterministic_algorithms""",
    "Bool": """__bool__ __contains__ allclose are_deterministic_algorithms_enabled can_cast equal
        is_anomaly_check_nan_enabled is_anomaly_enabled is_complex is_conj is_contiguous
        is_deterministic_algorithms_warn_only_enabled is_floating_point is_grad_enabled is_inference
        is_inference_mode_enabled is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed is_storage
        is_tensor _is_view""",
    "Int": """__hash__ __index__ __int__ __len__ data_ptr dense_dim dim element_size get_deterministic_debug_mode
        get_device get_num_interop_threads get_num_threads initial_seed ndimension nelement numel seed sparse_dim
        storage_offset""",
    "Float": "__float__",
    "complex": "__complex__",
    "str": "__format__ __repr__ get_float32_matmul_precision typename",
    "np.ndarray[Any, Any]": "numpy",
    "Size": "broadcast_shapes",
    "DType": "get_default_dtype promote_types result_type",
    "device": "get_default_device",
    "tuple[Int, ...]": "dim_order",
    "Iterator[Tensor]": "__iter__",
    "Generator": "manual_seed",
    "AbstractContextManager[None]": "fork_rng",
    "RemovableHandle": "register_hook register_post_accumulate_grad_hook",
    "TypedStorage": "storage",
    "type[TypedStorage]": "storage_type",
    "UntypedStorage": "untyped_storage",
    TENSORS: """broadcast_tensors chunk dsplit gradient hsplit lu meshgrid split split_with_sizes tensor_split unbind
        unravel_index vsplit""",
    "tuple[Tensor, Tensor]": """std_mean var_mean adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
        adaptive_max_pool3d_with_indices fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
        max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices""",
    "tuple[Tensor, Tensor | None]": "multi_head_attention_forward",
    "tuple[Tensor, Tensor, Tensor]": "pca_lowrank svd_lowrank",
})
FLAGS = {"as_tuple": TENSORS, "return_indices": "tuple[Tensor, Tensor]"}  # what a function returns when they are set
FIELDS = {"histogramdd.bin_edges": TENSORS}  # fields of named results that are not Tensors

PROPERTIES = by_name({
    "Bool": """is_cpu is_cuda is_ipu is_leaf is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse
        is_sparse_csr is_vulkan is_xla is_xpu requires_grad retains_grad""",
    "Int": "_version itemsize nbytes ndim output_nr",
    "Size": "shape",
    "DType": "dtype",
    "device": "device",
    "Layout": "layout",
    "Tensor": "H T data imag mH mT real",
    "Tensor | None": "_base grad",
    "str | None": "name",
    "Any": "grad_fn",
})
SLOTS = {
    "_a": "Any", "_grad": "Tensor | None", "_hooks": "Any", "_node": "Any", "_nr": "Int", "_rg": "Bool",
    "_storage": "Storage | None", "_view": "View | None",
}

OPERAND = "Tensor | Number"

# Special methods whose signatures differ from the library's function, or from those of other operators.
DUNDERS = {
    "__array__": "(self, dtype: Any = None, copy: Bool | None = None) -> Any",
    "__new__": "(cls, *args: Any, device: Device | None = None, data: Any = None) -> Self",
    "__repr__": "(self) -> str",
    "__format__": "(self, spec: str) -> str",
    "__eq__": "(self, other: Any) -> Tensor",
    "__ne__": "(self, other: Any) -> Tensor",
    "__getitem__": "(self, key: Any) -> Tensor",
    "__setitem__": "(self, key: Any, value: Any) -> None",
    "__contains__": "(self, element: Any) -> Bool",
    "__dlpack__": "(self, **kwargs: Any) -> Any",
    "__deepcopy__": "(self, memo: dict[Int, Any]) -> Self",
    "__matmul__": "(self, other: Tensor) -> Tensor",
    "__rmatmul__": "(self, other: Tensor) -> Tensor",
    "__hash__": "(self) -> Int",
}

# Functions and methods that take sizes as separate arguments, or a sequence of them under this name.
SPREAD = by_name({
    "size": "broadcast_to empty expand new_empty new_ones new_zeros ones rand randn resize_ sum_to_size view zeros",
    "shape": "reshape",
    "repeats": "repeat",
    "dims": "flip permute tile",
    "dim": "squeeze squeeze_",
    "sizes": "resize",
})

PAIR = "Sequence[Tensor] | None"
OUT = "out: Tensor | None = None"
MADE = ("dtype: DType | None = None, layout: Layout | None = None, device: Device | None = None, "
        "pin_memory: Bool = False, requires_grad: Bool = False")
TO = "non_blocking: Bool = False, copy: Bool = False, *, memory_format: MemoryFormat | None = None"
AT_LEAST = ["(input: Tensor, /) -> Tensor", f"(tensors: Sequence[Tensor], /) -> {TENSORS}",
            f"(*tensors: Tensor) -> {TENSORS}"]
CHOSEN = ["({x}) -> Tensor",
          "({x}, dim: Int, keepdim: Bool = False, *, out: " + PAIR + " = None) -> return_types.{name}"]
PICKED = [*CHOSEN, "({x}, other: Tensor, *, " + OUT + ") -> Tensor"]
FALSE = "Literal[False] = False"
UNIQUE = "return_inverse: {0}, return_counts: {0}, dim: Int | None = None"

# By name for functions and methods alike ({x} is the tensor), or by "Tensor.name" and "flambeau.name".
STACKED = "has_biases: Bool, num_layers: Int, dropout: Float, train: Bool, bidirectional: Bool"


def recurrent(states, returns):
    """The two overloads of a recurrent network: for batches, and for packed sequences."""
    return [f"(input: Tensor, hx: {states}, params: Sequence[Tensor], {STACKED}, batch_first: Bool) -> {returns}",
            f"(data: Tensor, batch_sizes: Tensor, hx: {states}, params: Sequence[Tensor], {STACKED}) -> {returns}"]


ONE_STATE = recurrent("Tensor", "tuple[Tensor, Tensor]")
SIGNATURES = {
    "flambeau.rnn_tanh": ONE_STATE, "flambeau.rnn_relu": ONE_STATE, "flambeau.gru": ONE_STATE,
    "flambeau.lstm": recurrent("Sequence[Tensor]", "tuple[Tensor, Tensor, Tensor]"),
    "flambeau.lstm_cell": [
        "(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, "
        "b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]",
    ],
    "max": PICKED, "min": PICKED, "median": CHOSEN, "nanmedian": CHOSEN,
    "unique": ["({x}, sorted: Bool = True, " + UNIQUE.format(FALSE) + ") -> Tensor",
               "({x}, sorted: Bool = True, " + UNIQUE.format("Bool = False") + ") -> Any"],
    "unique_consecutive": ["({x}, " + UNIQUE.format(FALSE) + ") -> Tensor",
                           "({x}, " + UNIQUE.format("Bool = False") + ") -> Any"],
    "flambeau.where": [f"(condition: Tensor) -> {TENSORS}",
                       f"(condition: Tensor, input: {OPERAND}, other: {OPERAND}, *, {OUT}) -> Tensor"],
    "flambeau.einsum": ["(equation: str, /, *operands: Tensor | Sequence[Tensor]) -> Tensor", "(*args: Any) -> Tensor"],
    "flambeau.atleast_1d": AT_LEAST, "flambeau.atleast_2d": AT_LEAST, "flambeau.atleast_3d": AT_LEAST,
    "flambeau.arange": [f"(end: {OPERAND}, *, {OUT}, {MADE}) -> Tensor",
                        f"(start: {OPERAND}, end: {OPERAND}, step: Number = 1, *, {OUT}, {MADE}) -> Tensor"],
    "flambeau.randint": [
        f"(high: Int, size: Sequence[Int], *, generator: Generator | None = None, {OUT}, {MADE}) -> Tensor",
        f"(low: Int, high: Int, size: Sequence[Int], *, generator: Generator | None = None, {OUT}, {MADE}) -> Tensor",
    ],
    "Tensor.count_nonzero": ["(self, dim: Dims | None = None) -> Tensor", "(self, *dims: Int) -> Tensor"],
    "Tensor.random_": ["(self, to: Int | None = None, *, generator: Generator | None = None) -> Self",
                       "(self, from_: Int, to: Int | None, /, *, generator: Generator | None = None) -> Self"],
    "Tensor.uniform_": ["(self, from_: Number = 0, to: Number = 1, *, generator: Generator | None = None) -> Self"],
    "Tensor.size": ["(self) -> Size", "(self, dim: Int) -> Int"],
    "Tensor.stride": ["(self) -> tuple[Int, ...]", "(self, dim: Int) -> Int"],
    "Tensor.to": [f"(self, dtype: DType, {TO}) -> Tensor",
                  f"(self, device: Device | None = None, dtype: DType | None = None, {TO}) -> Tensor",
                  f"(self, other: Tensor, {TO}) -> Tensor"],
    "Tensor.type": ["(self) -> str", "(self, dtype: Any, non_blocking: Bool = False) -> Tensor"],
    "Tensor.view": ["(self, dtype: DType) -> Tensor"],
}
