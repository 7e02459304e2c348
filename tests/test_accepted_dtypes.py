"""Every operation accepts the dtypes that PyTorch's does, and refuses the others with the same type of exception.

The operations and their inputs are PyTorch's own database, op_db. Half precision is left out where PyTorch has no
kernel for it on the CPU: here it works for all floating-point functions.
"""

import inspect
import itertools
import re
import warnings

import pytest

pytestmark = pytest.mark.oracle

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
SAMPLES = 2  # of each operation and dtype
CALLS = 9000  # at least so many are compared
NO_KERNEL = re.compile("not implemented for '(Half|BFloat16)'")
KNOWN = {
    "complex": "there is no complex dtype for Half",
    "view_as_complex": "there is no complex dtype for Half",
    "svd_lowrank": "composed in another way: integers and halves are refused by another step, with its exception",
    "pca_lowrank": "composed in another way: integers and halves are refused by another step, with its exception",
    "nn.functional.multi_head_attention_forward": "bool: PyTorch has no kernel for the projection, here dtypes differ first",
    "round": "decimals=0 is the default, and PyTorch tells integers that were given it from those that were not",
    "einsum": "bool: PyTorch multiplies without a kernel for products",
    "tensordot": "bool: PyTorch multiplies without a kernel for products",
    "polar": "there is no complex dtype for Half",
    "histogram": "half precision: PyTorch accepts it where no edges are to be found",
    "histogramdd": "half precision: PyTorch accepts it where no edges are to be found",
    "linalg.svd": "half precision: PyTorch computes it in a wider one",
    "svd": "half precision: PyTorch computes it in a wider one",
}


def calls(op, function):
    """(dtype, PyTorch's exception or None, ours) of the first samples of each dtype."""
    import torch

    from _op_db import Unavailable, carry, outcome_of, tensors_in

    for name in DTYPES:
        try:
            samples = list(itertools.islice(op.sample_inputs_func(op, "cpu", getattr(torch, name), False), SAMPLES))
        except Exception:  # the database has no inputs of this dtype
            continue
        for sample in samples:
            inputs = (sample.input, tuple(sample.args), sample.kwargs)
            if not all(t.numel() for t in tensors_in(inputs)):
                continue  # PyTorch does not reach its kernel then
            try:
                first, args, kwargs = carry(inputs)
            except Unavailable:
                continue
            want = outcome_of(op.op, (sample.input, *sample.args), sample.kwargs)
            got = outcome_of(function, (first, *args), kwargs)
            if not is_missing(got):
                yield name, want, got


def is_missing(error):
    """Whether flambeau does not have what the database's function calls."""
    return isinstance(error, AttributeError) and (inspect.ismodule(error.obj) or not hasattr(type(error.obj), error.name))


def agree(want, got):
    """Whether both accept a call, or ours is refused with the type of PyTorch's exception (or a subclass)."""
    if want is None:
        return got is None
    return isinstance(got, type(want)) or (got is None and NO_KERNEL.search(str(want)) is not None)


def test_dtypes():
    from _op_db import Unavailable, function_of, op_db

    differences, compared = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            try:
                function = function_of(op)
            except Unavailable:
                continue
            for dtype, want, got in calls(op, function):
                compared += 1
                if not agree(want, got) and op.name not in KNOWN:
                    differences.append(f"{op.name} {op.variant_test_name} {dtype}: PyTorch {want!r}, here {got!r}")
    assert not differences, "\n".join(differences)
    assert compared > CALLS
