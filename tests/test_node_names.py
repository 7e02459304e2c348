"""The results of every function have PyTorch's node names, ``grad_fn.name()``.

The operations and their inputs are PyTorch's own database, op_db.
"""

import itertools
import warnings

import pytest

pytestmark = pytest.mark.oracle

SAMPLES = 8  # of each operation
CALLS = 2400  # at least so many are compared
OF_OTHER_STEPS = """
    cholesky combinations cov cumulative_trapezoid diag diff dist einsum fft.ihfft fft.ihfft2 fft.ihfftn fft.rfft2
    fft.rfftn inner linalg.cond linalg.householder_product linalg.lu linalg.lu_solve linalg.matrix_norm
    linalg.matrix_power linalg.multi_dot linalg.solve linalg.solve_ex linalg.tensorinv linalg.vander
    linalg.vecdot lu_solve lu_unpack nn.functional.embedding_bag nn.functional.glu ormqr pca_lowrank stft svd
    svd_lowrank tensordot trapezoid trapz triangular_solve
"""
KNOWN = {
    **dict.fromkeys(OF_OTHER_STEPS.split(), "composed of other steps, of which the last one's node is seen"),
    **dict.fromkeys(("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "topk"),
                    "a tensor without dimensions is reduced as a vector of one element"),
    **dict.fromkeys([f"nn.functional.adaptive_{how}_pool{n}d" for how in ("avg", "max") for n in (2, 3)],
                    "an input without a batch is a batch of one"),
    **dict.fromkeys(("fft.fft2", "fft.fftn", "fft.ifft2", "fft.ifftn"), "along one axis: taken for fft and ifft"),
    "to_sparse": "PyTorch numbers its overloads",
    "round": "decimals=0 is the default, and PyTorch tells whether it was given",
    "sort": "stable=False is the default, and PyTorch tells whether it was given",
    "transpose": "of a dimension with itself: an alias",
}


def names(function, args, kwargs):
    """The names of the nodes of the results."""
    out = function(*args, **kwargs)
    nodes = [getattr(t, "grad_fn", None) for t in (out if isinstance(out, tuple | list) else (out,))]
    return [node and node.name() for node in nodes]


def calls(op, function):
    """(our names, PyTorch's) for the first samples."""
    import torch

    from _op_db import Unavailable, carry

    for sample in itertools.islice(op.sample_inputs_func(op, "cpu", torch.float64, True), SAMPLES):
        try:
            first, args, kwargs = carry((sample.input, tuple(sample.args), sample.kwargs))
            got = names(function, (first, *args), kwargs)
        except (Unavailable, AttributeError):  # there is no such function
            continue
        yield got, names(op.op, (sample.input, *sample.args), sample.kwargs)


def test_names():
    from torch import float64

    from _op_db import Unavailable, function_of, op_db

    differences, compared = {}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if not op.supports_autograd or float64 not in op.dtypes:
                continue
            try:
                function = function_of(op)
            except Unavailable:
                continue
            for got, want in calls(op, function):
                compared += 1
                if got != want:
                    differences[op.name] = f"{got} instead of {want}"
    unknown = {name: text for name, text in differences.items() if name not in KNOWN}
    assert not unknown
    assert not sorted(set(KNOWN) - set(differences)), "these have PyTorch's names now: strike them off the table"
    assert compared >= CALLS
