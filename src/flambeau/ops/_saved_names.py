"""The saved attributes of PyTorch's nodes, and their values here.

Each line has the name of a node and those of its attributes, without ``_saved_``. A name stands for what our op calls
the same or, in ``USUAL``, otherwise. ``name=...`` says it in an expression: of inputs (those that were saved; None if
not), of ``out`` and ``out_1``, of settings, of ``x_shape``, ``x_strides`` and ``x_leaf`` of an input ``x``, and of what
``_saved.py`` has in FUNCTIONS and DERIVED.
"""

USUAL = {
    "C": "x_shape[1]", "N": "x_shape[0]", "align_corners": "align", "dim": "axis", "dim0": "axis0", "dim1": "axis1",
    "dims": "axes", "ignore_index": "ignore", "indices": "out_1", "input": "x", "keepdim": "keepdims",
    "kernel_size": "kernel", "mat1": "a", "mat2": "y", "other": "y", "output_size": "sizes", "p": "ord",
    "result": "out", "result1": "out_1", "result2": "out_2", "self": "x", "self_sym_numel": "prod(x_shape)",
    "self_sym_sizes": "x_shape", "tensor1": "a", "tensor2": "b",
}

SAVED = """
AbsBackward0 self
AdaptiveAvgPool2DBackward0 self
AdaptiveAvgPool3DBackward0 self
AdaptiveMaxPool2DBackward0 result1 self
AdaptiveMaxPool3DBackward0 result1 self
AddBackward0 alpha
AddbmmBackward0 alpha batch1=a batch1_sym_argsize_0=a_shape[0] batch1_sym_argsize_1=a_shape[1] batch2=b
    batch2_sym_argsize_2=b_shape[2] beta
AddcdivBackward0 tensor1 tensor2 value
AddcmulBackward0 tensor1 tensor2 value
AddmmBackward0 alpha beta mat1 mat1_sym_sizes=a_shape mat1_sym_strides=a_strides mat2=b mat2_sym_sizes=b_shape
    mat2_sym_strides=b_strides
AddmvBackward0 alpha beta mat=a vec=b
AffineGridGeneratorBackward0 align_corners size
AmaxBackward0 dim=as_tuple(axis) keepdim result self
AminBackward0 dim=as_tuple(axis) keepdim result self
Atan2Backward0 other self
AtanBackward0 self
AvgPool2DBackward0 ceil_mode count_include_pad=include_pad divisor_override=override kernel_size padding self stride
AvgPool3DBackward0 ceil_mode count_include_pad=include_pad divisor_override=override kernel_size padding self stride
BaddbmmBackward0 alpha batch1=a batch2=b beta
BinaryCrossEntropyBackward0 reduction=number_of(reduction) self target=y weight
BinaryCrossEntropyWithLogitsBackward0 pos_weight=positive reduction=number_of(reduction) self target=y weight
BmmBackward0 mat2 self
CatBackward0 dim
CeluBackward0 alpha self
CeluBackward1 alpha result
ChannelShuffleBackward0 groups
ClampBackward1 max=high min=low self
ClampMaxBackward0 max=plain(y) self
ClampMinBackward0 min=plain(y) self
Col2ImBackward0 dilation kernel_size padding stride
ConstantPadNdBackward0 pad=flat_pads(pads)
ConvolutionBackward0 bias_sym_sizes_opt=or_else(bias_shape,(0,)) dilation groups input output_padding padding stride
    transposed=op_name.endswith("transposed") weight
CosBackward0 self
CoshBackward0 self
CtcLossBackward0 blank input_lengths=tuple(times.tolist()) log_probs result0=out_0 result1=out_1
    target_lengths=tuple(lengths.tolist()) targets=labels zero_infinity
CumprodBackward0 dim result self
CumsumBackward0 dim
DiagEmbedBackward0 dim1=axis1 dim2=axis2 offset
DiagonalBackward0 dim1=axis1 dim2=axis2 offset self_sym_sizes
DivBackward0 other self
DivBackward1 other=plain(y)
DotBackward0 self tensor=y
EluBackward0 alpha input_scale scale self
EluBackward1 alpha input_scale scale result
EmbeddingBackward0 indices=index padding_idx=or_else(padding,-1) scale_grad_by_freq=by_frequency sparse
    weight_sym_argsize_0=weight_shape[0]
ErfBackward0 self
ExpBackward0 result
ExpandBackward0 self_sym_sizes
Expm1Backward0 result
FlipBackward0 dims
GatherBackward0 dim index self sparse_grad
GeluBackward0 approximate=or_else(op_name[5:],"none") self
GridSampler2DBackward0 align_corners grid input interpolation_mode=["bilinear","nearest","bicubic"].index(mode)
    padding_mode=["zeros","border","reflection"].index(padding)
GridSampler3DBackward0 align_corners grid input interpolation_mode=["bilinear","nearest","bicubic"].index(mode)
    padding_mode=["zeros","border","reflection"].index(padding)
HardshrinkBackward0 lambd self
HardsigmoidBackward0 self
HardswishBackward0 self
HardtanhBackward0 max_val=high min_val=low self
HuberLossBackward0 delta reduction=number_of(reduction) self target=y
HypotBackward0 other result self
Im2ColBackward0 dilation kernel_size padding self_sym_argsize_minus_1=x_shape[-1] self_sym_argsize_minus_2=x_shape[-2]
    stride
IndexAddBackward0 alpha dim index source source_dim=len(source_shape)
IndexBackward0 indices=at_dims(indices,dims) self_sym_sizes
IndexPutBackward0 accumulate indices=at_dims(indices,dims)
IndexSelectBackward0 dim index self_sym_sizes
LeakyReluBackward0 negative_slope self
LeakyReluBackward1 negative_slope result
LerpBackward0 weight=plain(weight)
LgammaBackward0 self
LinalgCrossBackward0 dim other self
LinalgDetBackward0 A LU pivots result
LinalgInvExBackward0 inverse=out_0
LinalgSolveExBackward0 A LU left pivots result=out_0
LinalgVectorNormBackward0 dim=as_tuple(axis) keepdim ord result self
Log10Backward0 self
Log1PBackward0 self
Log2Backward0 self
LogBackward0 self
LogSigmoidBackward0 buffer self
LogSoftmaxBackward0 dim result
LogaddexpBackward0 other self
LogcumsumexpBackward0 dim result self
LogsumexpBackward0 dim=as_tuple(axis) keepdim result self
MaskedFillBackward0 mask
MaskedSelectBackward0 mask self
MaxBackward0 dim indices keepdim self_sym_sizes
MaxBackward1 result self
MaxPool2DWithIndicesBackward0 ceil_mode dilation kernel_size padding result1 self stride
MaxPool3DWithIndicesBackward0 ceil_mode dilation kernel_size padding result1 self stride
MaximumBackward0 other self
MeanBackward0 self_sym_numel self_sym_sizes
MeanBackward1 dim=as_tuple(axis) keepdim self_sym_numel self_sym_sizes
MedianBackward0 result self
MinBackward0 dim indices keepdim self_sym_sizes
MinBackward1 result self
MinimumBackward0 other self
MishBackward0 self
MmBackward0 mat2 mat2_sym_sizes=y_shape mat2_sym_strides=y_strides self self_sym_sizes self_sym_strides=x_strides
MseLossBackward0 reduction=number_of(reduction) self target=y
MulBackward0 other self
MulBackward1 other=plain(y)
MultiMarginLossBackward0 margin p=p reduction=number_of(reduction) self target weight
MultilabelMarginLossBackward0 is_target reduction=number_of(reduction) self target
MvBackward0 self vec=y
NanToNumBackward0 self
NativeBatchNormBackward0 eps input result1=flat(out_1) result2=flat(rstd(out_2,eps)) running_mean=mean running_var=var
    training=mean==None weight
NativeGroupNormBackward0 C HxW=prod(x_shape[2:]) N eps group=how input result1=grouped(out_1)
    result2=grouped(rstd(out_2,eps)) weight
NativeLayerNormBackward0 bias=bias_leaf input normalized_shape=x_shape[-how:] result1 result2=rstd(out_2,eps) weight
NllLoss2DBackward0 ignore_index reduction=number_of(reduction) self target total_weight=out_1 weight
NllLossBackward0 ignore_index reduction=number_of(reduction) self target total_weight=out_1 weight
NormBackward1 dim=as_tuple(axis) keepdim p result self
PermuteBackward0 dims
PixelShuffleBackward0 upscale_factor=factor
PixelUnshuffleBackward0 downscale_factor=factor
PowBackward0 exponent=or_else(plain(y),2) self
PowBackward1 exponent=y result self
PowBackward2 exponent=x result self=plain(y)
PreluKernelBackward0 self weight
ProdBackward0 result self
ProdBackward1 dim keepdim result self
ReciprocalBackward0 result
ReflectionPad1DBackward0 padding=flat_pads(pads) self
ReflectionPad2DBackward0 padding=flat_pads(pads) self
ReflectionPad3DBackward0 padding=flat_pads(pads) self
ReluBackward0 result
RepeatBackward0 repeats=counts self_sym_sizes
ReplicationPad1DBackward0 padding=flat_pads(pads) self
ReplicationPad2DBackward0 padding=flat_pads(pads) self
ReplicationPad3DBackward0 padding=flat_pads(pads) self
ReshapeAliasBackward0 self_sym_sizes
RollBackward0 dims shifts
RsqrtBackward0 result
RsubBackward1 alpha
ScaledDotProductFlashAttentionForCpuBackward0 attn_mask=mask dropout_p is_causal=causal key logsumexp=out_1
    output=out_0 query scale value
ScatterAddBackward0 dim index
ScatterBackward0 dim index
ScatterBackward1 dim index
SelectBackward0 dim=dim_of(key,x_shape) index=entry_of(key) self_sym_sizes
SigmoidBackward0 result
SiluBackward0 self
SinBackward0 self
SinhBackward0 self
SliceBackward0 dim=dim_of(key,x_shape) end=slice_of(key)[1] self_sym_sizes start=slice_of(key)[0]
    step=slice_of(key)[2]
SmoothL1LossBackward0 beta reduction=number_of(reduction) self target=y
SoftMarginLossBackward0 reduction=number_of(reduction) self target
SoftmaxBackward0 dim result
SoftplusBackward0 beta self threshold
SoftshrinkBackward0 lambd self
SortBackward0 dim indices self_sym_sizes
SplitBackward0 dim self_sym_sizes split_size=sizes[0]
SplitWithSizesBackward0 dim self_sym_sizes split_sizes=sizes
SqrtBackward0 result
SqueezeBackward0 self_sym_sizes
SqueezeBackward1 dim=axis[0] self_sym_sizes
SqueezeBackward2 dim self_sym_sizes
SqueezeBackward4 dim=axis[0] self_sym_sizes
StackBackward0 dim
StdBackward0 correction dim=as_tuple(axis) keepdim result self
SubBackward0 alpha
SumBackward0 self_sym_sizes
SumBackward1 dim=as_tuple(axis) keepdim self_sym_sizes
TakeBackward0 index self
TanBackward0 result
TanhBackward0 result
ThresholdBackward0 self threshold
TopkBackward0 dim indices self_sym_sizes
TraceBackward0 self_sym_sizes
TransposeBackward0 dim0 dim1
TransposeBackward1 dim0 dim1
TrilBackward0 diagonal
TriuBackward0 diagonal
UnbindBackward0 dim
UnsafeSplitBackward0 dim self_sym_sizes split_size=sizes[0]
UnsafeViewBackward0 self_sym_sizes
UnsqueezeBackward0 dim=or_else(axis,dim_of(key,x_shape))
UpsampleBicubic2DBackward0 align_corners output_size scales_h=scales[0] scales_w=scales[1] self_sym_sizes
UpsampleBilinear2DBackward0 align_corners output_size scales_h=scales[0] scales_w=scales[1] self_sym_sizes
UpsampleLinear1DBackward0 align_corners output_size scales=scales[0] self_sym_sizes
UpsampleNearest1DBackward0 output_size scales=scales[0] self_sym_sizes
UpsampleNearest2DBackward0 output_size scales_h=scales[0] scales_w=scales[1] self_sym_sizes
VarBackward0 correction dim=as_tuple(axis) keepdim self
VarMeanBackward0 correction dim=as_tuple(axis) keepdim self
ViewBackward0 self_sym_sizes
WhereBackward0 condition
"""
