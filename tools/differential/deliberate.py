"""Deliberate differences: they are not reported, and end the program, since what follows depends on them.

The key of an entry is a phrase of docs/differences.md, which gives the reason.
"""

import math
import re

import numpy as np

from .causes import (
    IS_GRADIENT,
    agree_as_bools,
    are_gradients_of_zeros,
    are_results_of_one_grad,
    arguments,
    both,
    concerns_gradients,
    differ_only_at_nan_of_leaf,
    differ_only_where,
    differ_only_where_tiny,
    differs_only_at_nan,
    dtype_of,
    fails_without_out,
    has_blank_target,
    has_lost_its_leaf,
    has_nan_instead,
    have_equals,
    have_nan_by_zeros_around,
    indexes_nothing,
    is_conjugate,
    is_fresh,
    is_leaf_passed_on,
    is_median_of_expanded,
    is_near_zero,
    is_of_grad,
    is_of_optimizer,
    is_one,
    is_passed_on,
    is_unique_of_nan,
    is_written_leaf_in_constant,
    is_zero,
    keeps_layout,
    names_an_equal,
    outgrows,
    overflows,
    overflows_in_product,
    overlap_each_other,
    overlaps_itself,
    raises,
    tensors,
    was_passed_as_gradient,
    writes,
)
from .compare import leaves
from .precision import decides_by_rounding


def is_deliberate(disagreement):
    return any(applies(disagreement) for applies in DIFFERENCES.values())


DIFFERENCES = {
    "passes its input the gradient of the elements that are kept": lambda d: (
        d.kind == "values" and concerns_gradients(d) and "as_strided_scatter" in d.pair.text
    ),
    "Counts have no gradient": lambda d: (
        d.kind in ("requires_grad", "is_leaf") and re.search("histogram|bincount", d.step.template)
    ),
    "Gradients between real and complex tensors": lambda d: (
        raises(d, "input_is_complex == grad_is_complex") and d.ours == "no exception"
    ),
    "The second derivative of complex `logcumsumexp`": lambda d: (
        d.kind == "values" and "logcumsumexp" in d.pair.text and "create_graph=True" in d.pair.text
        and both(d)[1].dtype.kind == "c" and concerns_gradients(d) and differs_only_at_nan(d)
    ),
    "Gradients that PyTorch refuses": lambda d: (
        d.kind == "exception" and d.ours == "no exception" and re.search(
            "Scatter(Add|Reduce)?Backward0 returned an invalid gradient|adaptive_avg_pool2d_backward.*non-zero size|"
            "(_scatter|pack_padded_sequence) does not support automatic differentiation for outputs with complex|"
            r"Value of groups:0|cannot reshape tensor of 0 elements into shape \[0, -1\]|unknown ivalue tag", d.theirs)
    ) or (re.search("max_unpool|MaxUnpool", d.pair.text) and raises(d, "with size 0") and d.ours == "no exception"),
    "The gradient of `index_reduce` with `include_self=False`": lambda d: (
        d.kind == "values" and concerns_gradients(d)
        and re.search(r"(index|scatter)_reduce.*'am(in|ax)', include_self=False", d.pair.text)
    ),
    "Functions whose own in-place writes break their gradient": lambda d: (
        raises(d, "modified by an inplace operation") and d.ours == "no exception"
        and re.search(r"vander\(|linalg\.cond\(", d.pair.text)
    ),
    "Operands of different strides": lambda d: (
        d.kind == "strides" and ((is_fresh(d) and not keeps_layout(d)) or "autograd.grad(" in d.step.template)
    ),
    "copies with a part replaced": lambda d: (
        d.kind == "offset" and re.search("(select|slice|diagonal|as_strided)_scatter", d.step.template) and is_fresh(d)
    ),
    "a view may be written to after a write through another view": lambda d: (
        raises(d, "a leaf Variable that requires grad is being used in an in-place operation")
        and d.ours == "no exception" and re.search("] [+*]=", d.step.template) and arguments(d)[0]._is_view()
    ),
    "Conjugates are computed eagerly": lambda d: (
        d.kind in ("aliasing", "identity", "is_view", "strides", "offset", "version") and is_conjugate(d)
    ),
    "Overlapping memory": lambda d: (
        (raises(d, "the written-to tensor refer to a single memory location") and d.ours == "no exception")
        or (d.kind == "values" and writes(d) and (any(map(overlaps_itself, arguments(d))) or overlap_each_other(d)))
    ),
    "a write to an expanded tensor": lambda d: (
        d.kind == "exception" and "more than one element of the written-to" in d.ours and d.theirs == "no exception"
    ),
    "A tensor that outgrows its memory": lambda d: (
        (d.kind in ("offset", "is_view") and "out=" in d.step.template) or (d.kind != "exception" and outgrows(d))
    ),
    "Lazy parameters": lambda d: (
        raises(d, "Attempted to use an uninitialized parameter") and d.ours == "no exception"
        and "requires_grad_" in d.step.template
    ),
    "Half precision works everywhere": lambda d: (
        d.kind == "exception" and d.ours == "no exception" and re.search(
            "not implemented for '(Half|BFloat16)'|expected scalar type (Half|BFloat16) but found Float|"
            r"mixed dtype \(CPU\): expect parameter to have scalar type of Float", d.theirs)
    ),
    "If a call has two errors": lambda d: (
        d.kind == "exception"
        and (
            {error.partition(":")[0] for error in (d.ours, d.theirs)} == {"RuntimeError", "NotImplementedError"}
            or (d.theirs.startswith("NotImplementedError") and re.match("TypeError|ValueError|IndexError", d.ours))
            or ("is not a valid value for reduction" in d.ours and "must match" in d.theirs)
            or ("out=" in d.step.template and fails_without_out(d))
            or (re.search("index( is out of bounds for dimension with| 0 out of range for tensor of) size .?0",
                          d.theirs)
                and re.search("dtypes match|mixed dtype", d.ours))
            or ("indexing tensors could not be broadcast" in d.theirs and "dtypes match" in d.ours)
            or (re.search("Dimension out of range|must be tuple of ints", d.theirs)
                and "support complex inputs" in d.ours)
            or ("more than one element of the written-to" in d.ours and d.theirs.startswith("TypeError"))
            or ("cannot be `True` together" in d.ours and d.theirs.startswith("TypeError"))
            or (d.ours.startswith("ValueError") and "Unsupported memory format" in d.theirs)
            or ("RNN input dtype" in d.ours
                and re.search("have the same dtype|_pack_padded_sequence does not", d.theirs))
            or ("the written-to tensor refer to a single memory location" in d.theirs and d.ours != "no exception")
            or ("running_mean and running_var must either" in d.theirs and "mixed dtype" in d.ours)
        )
    ),
    "Invalid calls are refused for empty tensors too": lambda d: (
        d.kind == "exception" and d.theirs == "no exception"
        and re.search("not implemented for|is out of bounds for dimension|Specify the reduction dim|"
                      "Expected a floating point|"
                      "cannot be converted to|does not support complex|type .* should be the same|mixed dtype|"
                      r"expects to return a \[from, to\) range|is a continuous probability distribution", d.ours)
        and (any(t.numel() == 0 for t in arguments(d)) or indexes_nothing(d))
    ),
    "a transformed distribution can be copied and pickled": lambda d: raises(d, "_inv must not be None"),
    "The generic `entropy` of an `ExponentialFamily`": lambda d: (
        "distributions." in d.pair.text and d.ours == "no exception"
        and raises(d, "backward through the graph a second time")
    ),
    "`Kumaraswamy.mode` and the KL divergence": lambda d: (
        d.kind == "values"
        and (("Kumaraswamy" in d.pair.text and ".mode" in d.step.template and differs_only_at_nan(d))
             or ("ContinuousBernoulli" in d.pair.text and "kl_divergence" in d.step.template))
    ),
    "An infinite KL divergence": lambda d: (
        d.kind == "shape" and "kl_divergence(" in d.step.template and np.isinf(both(d)[0]).all()
    ),
    "Second derivatives": lambda d: (
        d.kind == "exception" and d.ours == "no exception" and "grad" in d.pair.text
        and re.search("derivative for .* is not implemented|don't support automatic differentiation", d.theirs)
    ),
    "Functions work on any strides": lambda d: (
        d.ours == "no exception"
        and ((raises(d, "view size is not compatible") and "view" not in d.step.template)
             or raises(d, "currently only supported for contiguous inputs")
             or raises(d, "Unsupported memory format. Supports only") or raises(d, "grad_input must be contiguous"))
    ),
    "`detach_` does not affect saved tensors": lambda d: (
        raises(d, "has been detached in-place") and d.ours == "no exception"
    ),
    "Only what backward needs is saved": lambda d: (
        re.search(r"torch\.(prod|cummax|c?dist)\(|(_pool|Pool|Pad)[123]d\(|\bpad\(", d.pair.text)
        and (
            (d.kind == "exception" and d.ours == "no exception"
             and re.search("modified by an inplace operation|backward through the graph a second time", d.theirs))
            or (d.kind in ("requires_grad", "is_leaf") and re.search("avg_pool|AvgPool", d.pair.text)
                and re.search("grad|backward", d.step.template))
        )
    ),
    "`kron` notices writes to its operands": lambda d: (
        d.kind == "exception" and "modified by an inplace operation" in d.ours and d.theirs == "no exception"
        and "torch.kron(" in d.pair.text
    ),
    "A vector-matrix product is one node": lambda d: (
        d.kind == "exception"
        and re.search("backward through the graph a second time|modified by an inplace operation", d.ours)
        and d.theirs == "no exception" and "@" in d.pair.text and "inputs=[" in d.pair.text
    ),
    "Whether a gradient of zeros requires grad": lambda d: (
        d.kind in ("requires_grad", "is_leaf") and "grad" in d.step.template
        and not dict(leaves(d.pair.oracle))[d.where].count_nonzero()
    ),
    "`(-inf) ** 0.5` is inf in PyTorch for float16": lambda d: (
        d.kind == "values" and "0.5" in d.step.arguments.values() and "float16" in {dtype_of(t) for t in arguments(d)}
        and any(bool((t == -math.inf).any()) for t in arguments(d))
    ),
    "`avg_pool2d` of too few dimensions": lambda d: (
        raises(d, "-3") and "avg_pool2d" in d.step.template and d.ours.startswith("RuntimeError")
    ),
    "at least once for `out=`": lambda d: (
        d.kind == "version" and "out=" in d.step.template and d.ours > 0
    ),
    "once per optimizer step for a parameter": lambda d: (
        d.kind == "version" and any(".step(" in step.template for step in d.pair.steps) and is_of_optimizer(d)
    ),
    "once for a gradient that is unscaled or clipped": lambda d: (
        d.kind == "version" and d.where.endswith(".grad") and d.ours > 0
        and any(re.search("clip_grad|GradScaler", step.template) for step in d.pair.steps)
    ),
    "`fill_diagonal_` of": lambda d: d.kind == "version" and "fill_diagonal_" in d.step.template and d.ours > 0,
    "PyTorch skips adding some gradients of zeros": lambda d: (
        (d.kind == "version" and d.where.endswith(".grad") and d.ours > d.theirs)  # the values are the same
        or (d.kind == "structure" and not d.theirs and are_gradients_of_zeros(d))
    ),
    "whenever running statistics are updated": lambda d: d.kind == "version" and "running_" in d.where,
    "A gradient that is passed on unchanged": lambda d: (
        is_passed_on(d)
        or (d.kind == "structure" and is_leaf_passed_on(d))
        or (d.kind in ("identity", "aliasing") and concerns_gradients(d) and d.ours.endswith(d.where))
        or (d.kind in ("identity", "aliasing") and are_results_of_one_grad(d))
        or (d.kind == "version" and was_passed_as_gradient(d))
    ),
    "The strides of a gradient": lambda d: (
        d.kind == "offset" and (concerns_gradients(d) or "torch.func." in d.step.template)
    ),
    "Views of `x` keep the old memory in both": lambda d: (
        d.kind == "version" and "state_dict" in d.pair.text and "[" in d.where
        and any(re.search(r"\.(double|float|half|to)\(", step.template) for step in d.pair.steps)
    ),
    "a view of a leaf stays connected to it": lambda d: (
        d.kind in ("version", "values", "structure") and IS_GRADIENT.search(d.where or ".grad")
        and any(is_written_leaf_in_constant(v) for v in tensors(d))
    ),
    "A view of a leaf that is detached and written to stays connected": lambda d: (
        (re.search(r"\.grad\b|\blog\b", d.where or ".grad") if d.kind in ("version", "values", "structure")
         else raises(d, "to not have been used in the graph") and d.ours == "no exception")
        and any(has_lost_its_leaf(v) for v in tensors(d))
    ),
    "Remainders are exact": lambda d: (
        d.kind == "values" and re.search("%|remainder|fmod", d.step.template) and "nan" in str(d.theirs)
        and differs_only_at_nan(d)
    ),
    "Tensors loaded together share a counter": lambda d: (
        d.kind == "version" and any("torch.load" in step.template for step in d.pair.steps)
    ),
    "Zero to the power of zero": lambda d: (
        d.kind == "values" and re.search(r"pow|\*\*", d.step.template) and differs_only_at_nan(d, is_one)
        and any(t.is_complex() for t in arguments(d))
    ),
    "a length greater than that of the padded input": lambda d: (
        d.kind == "exception" and "does not fit in a padded input" in d.ours
        and (d.theirs == "no exception" or "RNN input dtype" in d.theirs)
    ),
    "PyTorch has immutable zeros": lambda d: (
        d.ours == "no exception" and (raises(d, "ZeroTensors are immutable") or raises(d, "DispatchKey ZeroTensor"))
    ),
    "`bessel_j0`, `bessel_j1` and `airy_ai`": lambda d: (
        d.kind == "values" and re.search("bessel_j|airy_ai", d.step.template)
        and np.allclose(d.ours, d.theirs, rtol=0, atol=1e-6)
    ),
    "The gradient of `hardsigmoid`": lambda d: (
        d.kind == "values" and re.search("[hH]ardsigmoid", d.pair.text) and np.allclose(d.ours, d.theirs, rtol=1e-7)
    ),
    "The `gelu` of infinity": lambda d: (
        d.kind == "values" and re.search("gelu|GELU", d.step.template)
        and (differs_only_at_nan(d, np.isposinf) or overflows(d))
    ),
    "The gradient of `prod`": lambda d: (
        d.kind == "values" and concerns_gradients(d) and overflows_in_product(d)
        and (differs_only_at_nan(d, np.ones_like) or overflows(d))
    ),
    "Which of equal elements": lambda d: (
        d.kind == "values" and d.where.endswith("[1]") and names_an_equal(d)
    ),
    "The order of rows with nan": lambda d: d.kind in ("values", "shape") and is_unique_of_nan(d),
    "Bool bytes": lambda d: d.kind == "values" and "view(torch.bool)" in d.pair.text and agree_as_bools(d),
    "The median of an expanded tensor": lambda d: (
        d.kind == "values" and is_median_of_expanded(d)
    ),
    "a dimension with one element": lambda d: (
        raises(d, "must be 1 to view") and d.ours == "no exception" and arguments(d)[0].shape[-1] == 1
    ),
    "The gradient of `elu` at nan": lambda d: (
        d.kind == "values" and re.search(r"\b([cs]?elu_?|[CS]?ELU)\(", d.pair.text) and IS_GRADIENT.search(d.where)
        and has_nan_instead(d)
    ),
    "Rounding": lambda d: d.kind == "structure" and "LBFGS" in d.pair.text and decides_by_rounding(d.pair),
    "The second gradient of `cosine_similarity`": lambda d: (
        d.kind == "values" and re.search(r"cosine_similarity|Cosine|functional\.normalize", d.pair.text)
        and "create_graph=True" in d.pair.text and IS_GRADIENT.search(d.where) and differs_only_at_nan(d)
    ),
    "The gradient of `hardtanh` at nan": lambda d: (
        d.kind == "values" and re.search("hardtanh|Hardtanh|relu6|ReLU6|[hH]ardshrink|[sS]oftshrink", d.pair.text)
        and differ_only_at_nan_of_leaf(d)
    ),
    "The second derivative of `sinc`": lambda d: (
        d.kind == "values" and "sinc(" in d.pair.text and "create_graph=True" in d.pair.text
        and IS_GRADIENT.search(d.where) and differs_only_at_nan(d, is_near_zero)
    ),
    "A vector as the weight of `linear`": lambda d: (
        d.kind == "exception" and "functional.linear(" in d.step.template
        and any(t.ndim == 1 for t in arguments(d)[1:2]) and "no exception" in (d.ours, d.theirs)
    ),
    "A transposed convolution with non-finite weights": lambda d: (
        d.kind == "values" and re.search("[cC]onv_?[tT]ranspose|conv_tbc", d.pair.text) and have_nan_by_zeros_around(d)
    ),
    "A non-finite gradient of `interpolate`": lambda d: (
        d.kind == "values" and re.search("interpolate|[uU]psampl", d.pair.text) and IS_GRADIENT.search(d.where)
        and differs_only_at_nan(d, np.ones_like)
    ),
    "The gradient of `soft_margin_loss`": lambda d: (
        d.kind == "values" and re.search("soft_margin_loss|SoftMarginLoss", d.pair.text) and IS_GRADIENT.search(d.where)
        and differs_only_at_nan(d, np.ones_like)
    ),
    "The gradient of `huber_loss`": lambda d: (
        raises(d, "Found dtype") and d.ours == "no exception" and re.search("huber_loss|HuberLoss", d.pair.text)
    ),
    "The second gradient of `weight_norm`": lambda d: (
        d.kind == "values" and re.search(r"utils\.(parametrizations\.)?weight_norm\(", d.pair.text)
        and "create_graph=True" in d.pair.text
        and IS_GRADIENT.search(d.where)
    ),
    "Keys masked for every query": lambda d: (
        d.kind == "values" and "is_causal=True" in d.pair.text and IS_GRADIENT.search(d.where)
        and differs_only_at_nan(d, is_zero)
    ),
    "`scale_grad_by_freq`": lambda d: (
        d.kind == "values" and "scale_grad_by_freq=True" in d.pair.text and concerns_gradients(d)
        and re.search("EmbeddingBag|create_graph=True", d.pair.text)
    ),
    "last offset that is not the end": lambda d: (
        d.kind == "values" and "include_last_offset=True" in d.pair.text
        and not re.search(r"mode='sum'|\[0, 1, 4\]|\[0, 0, 4\]", d.pair.text)
    ),
    "A parameter that an optimizer has twice": lambda d: (
        d.kind == "values" and "parameters()) * 2" in d.pair.text and re.search("foreach=True|fused=True", d.pair.text)
    ),
    "Gradients in an optimizer step with `foreach=True`": lambda d: (
        d.kind in ("values", "version") and d.where.endswith(".grad") and ".step(" in d.step.template
        and re.search(r"optim\.SGD\(.*nesterov=True.*foreach=True", d.pair.text)
    ),
    "Clipping without gradients": lambda d: (
        raises(d, "Expected !nested_tensorlist[0].empty()") and d.ours == "no exception"
    ),
    "`complex32`": lambda d: (
        (d.kind == "dtype" and d.theirs == "torch.complex32")
        or (raises(d, "not implemented for 'ComplexHalf'") and d.ours == "no exception")
        or (d.kind == "exception" and re.search("no complex dtype for Half|view_as_complex .* but got Half", d.ours)
            and d.theirs == "no exception")
    ),
    "`pixel_shuffle` and `pixel_unshuffle` of an empty tensor": lambda d: (
        (d.kind == "shape" and re.search(r"\bpixel_", d.step.template) and any(t.numel() == 0 for t in arguments(d)))
        or (d.kind == "exception" and re.search("Pixel(Uns|S)huffleBackward0 returned an invalid", d.theirs))
    ),
    "A Fourier transform of an empty batch": lambda d: raises(d, "Inconsistent configuration parameters"),
    "`normal` of a tensor and a number": lambda d: (
        raises(d, "must match the size of tensor b") and d.ours == "no exception"
        and re.search(r"normal\(\{x.*out=", d.step.template)
    ),
    "A tensor as the `dim` of `max` or `min`": lambda d: (
        re.search(r"\b(max|min)\(", d.step.template) and "tensor" in d.step.arguments.get("dim", "")
    ),
    "The `lerp` of the largest numbers": lambda d: (
        d.kind == "values" and "lerp" in d.step.template and differ_only_where(d, np.isinf)
    ),
    "The poles of `polygamma`": lambda d: (
        d.kind == "values" and re.search("polygamma|zeta", d.step.template)
        and (differ_only_where(d, np.isposinf) or differs_only_at_nan(d, is_zero))
    ),
    "Subnormal numbers": lambda d: (
        d.kind == "values" and re.search("bessel_[yk]", d.step.template) and differ_only_where_tiny(d)
    ),
    "The derivative of `fmax` and `fmin` in forward mode": lambda d: (
        d.kind == "values" and re.search("fm(ax|in)", d.step.template) and have_equals(d)
        and re.search("jvp|jacfwd|hessian|hvp|forward-mode", d.step.template)
    ),
    "an empty tensor.": lambda d: (
        any(t.numel() == 0 for t in arguments(d))
        and (
            (d.kind == "exception" and re.search("stride|storage_offset", d.ours + d.theirs))
            or (d.kind in ("identity", "version") and "channels_last" in d.step.template)
            or (d.kind == "object" and ".stride()" in d.step.template)
        )
    ),
    "Whether a new result is a view": lambda d: (
        (d.kind == "is_view" and (
            is_fresh(d) or is_of_grad(d) or "grad" in d.step.template or IS_GRADIENT.search(d.where)))
        or (raises(d, "Can't detach views in-place") and d.ours == "no exception" and "autograd.grad(" in d.pair.text)
    ),
    "Transforms of all functions": lambda d: (
        re.search(r"torch\.(autograd\.)?func", d.step.template)
        and (
            d.kind in ("is_view", "identity", "aliasing", "version")
            or (d.kind == "exception" and d.ours == "no exception" and re.search(
                "Batching rule not implemented|We do not support batching operators|does not yet have a batching rule|"
                "INTERNAL ASSERT FAILED at .*functorch|has_fw_view.. INTERNAL ASSERT FAILED|"
                "forward AD with .* that does not support it|"
                "the written-to tensor refers? to a single memory location", d.theirs))
            or raises(d, "Expected all inputs to be real")
            or (raises(d, "must match the size of tensor b") and d.ours == "no exception"
                and re.search(r"vmap\(.*vmap\(.*(mse|huber)_loss", d.step.template))
            or (d.ours == "no exception" and d.kind == "exception"
                and re.search(r"expanded size of the tensor \(\d{9,}\)", d.theirs))  # of an empty one: not initialised
            or (d.kind == "exception" and d.theirs == "no exception"
                and re.search("output dynamic shape|data-dependent control|of a tensor that is mapped over", d.ours))
        )
    ),
    "`vmap` of `trapezoid` of nothing": lambda d: (
        d.kind == "shape" and re.search(r"vmap\(.*trap(z|ezoid)\(", d.step.template)
        and any(t.numel() == 0 for t in arguments(d))
    ),
    "assigning to a parametrized tensor": lambda d: (
        (d.kind == "version" and ("parametrizations." in d.where or "register_parametrization" in d.step.template
                                  or "utils.parametrizations." in d.step.template))
        or (raises(d, "modified by an inplace operation") and d.ours == "no exception"
            and re.search(r"utils\.parametriz(.|\n)*functional_call", d.pair.text))
        or (d.kind == "exception" and "must match the size" in d.ours and d.theirs == "no exception"
            and "functional_call" in d.step.template and "spectral_norm" in d.pair.text)
    ),
    "Targets that are the blank": lambda d: (
        d.kind == "values" and IS_GRADIENT.search(d.where) and has_blank_target(d)
    ),
    "`matmul` keeps the layout of `out=`": lambda d: (
        "matmul" in d.step.template and "out=" in d.step.template
        and (raises(d, "must match the size of tensor b") or (d.kind == "strides" and d.theirs == [1]))
    ),
}
