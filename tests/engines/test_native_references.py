"""The native kernels hold no references when they return, whether they did the work, failed, or left it to the twin."""

import gc
import math
import sys

import numpy as np
import pytest

import flambeau
from engines.test_native import needs_native


def ones(*shape):
    return np.ones(shape, np.float32)


def places(*shape):
    return np.zeros(shape, np.int64)


ACT = (0.0, math.nan, 0.0)
STEP = ([[ones(3, 4)], [ones(3, 4)], [ones(3, 4)]], [ones(3, 4)], [(0.1,) * 7], (False, False, False))
CALLS = {
    "cast": (ones(3, 4), np.dtype(np.float16)),
    "conv": (ones(2, 3, 4, 5), ones(2, 3, 2, 2), (1, 1), (0, 0), (1, 1), 1, None, ones(2), (ones(2), ones(2), "relu", ())),
    "conv_input": (ones(2, 2, 3, 4), ones(2, 3, 2, 2), (4, 5), (1, 1), (0, 0), (1, 1), 1, ones(3)),
    "conv_weight": (ones(2, 3, 4, 5), ones(2, 2, 3, 4), (2, 2), (1, 1), (0, 0), (1, 1), 1),
    "ctc_forward": (ones(5, 2, 4), places(2, 2), places(2) + 5, places(2) + 2, 3),
    "ctc_backward": (ones(5, 2, 4), places(2, 2), places(2) + 5, places(2) + 2, ones(2), ones(5, 2, 5), 3),
    "finish": (ones(2, 3, 4), (ones(3), ones(3), "elu", (1.0, 1.0, 1.0))),
    "floor_divide": (ones(3, 4), ones(3, 4)),
    "fused_attention": (ones(2, 3, 4), ones(2, 3, 4), ones(2, 3, 4), None, None, 0.5, True),
    "fused_attention_pull": (ones(2, 3, 4), ones(2, 3, 4), ones(2, 3, 4), ones(2, 3, 4), None, None, 0.5, False),
    "gather": (ones(3, 4), places(2, 4), 0),
    "grid_corners": (ones(2, 3, 4, 2), (5, 6), "bilinear", "zeros", False, True),
    "gru_sequence": (ones(3, 2, 12), ones(2, 4), ones(12, 4), ones(12), False),
    "gru_sequence_pull": (ones(3, 2, 4), ones(3, 2, 16), ones(3, 2, 16), ones(3, 2, 4), ones(2, 4), ones(12, 4), True),
    "linear": (ones(3, 4), ones(5, 4), ones(5), (None, None, "gelu", ())),
    "logaddexp": (ones(3, 4), ones(4)),
    "lstm_gates": (ones(2, 12), ones(2, 12), ones(2, 3)),
    "lstm_gates_pull": (ones(2, 3), ones(2, 3), ones(2, 12), ones(2, 12), ones(2, 3), ones(2, 3)),
    "lstm_sequence": (ones(3, 2, 16), ones(2, 4), ones(2, 4), ones(16, 4), False),
    "lstm_sequence_pull": (ones(3, 2, 4), ones(3, 2, 4), ones(3, 2, 16), ones(3, 2, 16), ones(3, 2, 4), ones(2, 4),
                           ones(16, 4), True),
    "matmul": (ones(2, 3, 4), ones(4, 5)),
    "max_pool": (ones(2, 3, 4, 5), (2, 2), (2, 2), (0, 0), (1, 1), (2, 2)),
    "nll_of_rows": (ones(3, 4), places(3), -100, "mean"),
    "nll_of_rows_pull": (ones(), places(3), -100, "mean", 4),
    "normalize": (ones(2, 3, 4), ones(4), ones(4), (2,), 1e-5),
    "normalize_pull": (ones(2, 3, 4), ones(2, 3, 4), ones(1, 3, 1), (0, 2), ones(3), ones(3), ones(3), ones(3), 1e-5),
    "normalize_act": (ones(2, 3, 4), ones(3), ones(3), 1e-5, ACT),
    "normalize_act_again": (ones(2, 3, 4), ones(3), ones(3), ones(3), ones(3), 1e-5, ACT),
    "normalize_act_pull": (ones(2, 3, 4), ones(2, 3, 4), ones(3), ones(3), ones(3), ones(3), ones(3), ones(3), 1e-5, ACT),
    "put_along": (ones(3, 4), places(3, 4), 1, (3, 6)),
    "ranges_spread": (ones(2, 3, 2), (((0, 2), (1, 4)),), (4,)),
    "replace_nonfinite": (ones(3, 4), 0.0, 1.0, 2.0),
    "rnn_sequence": (ones(3, 2, 4), ones(2, 4), ones(4, 4), True, False),
    "rnn_sequence_pull": (ones(3, 2, 4), ones(3, 2, 4), ones(4, 4), False, True),
    "running_min": (ones(3, 4), 0),
    "scale_shift": (ones(2, 3, 4), ones(1, 3, 1), ones(1, 3, 1)),
    "scatter": (ones(3, 4), places(2, 4), ones(2, 4), 0, "add", False),
    "softmax_pull": (ones(3, 4), ones(3, 4), 1),
    "spread_places": (ones(2, 3, 4), places(2, 5, 4), ones(2, 5, 4), 6),
    "sum": (ones(3, 4), (0,), True, None),
    "window_sum": (ones(2, 3, 4, 5), (2, 2), (2, 2), (0, 0), (2, 2)),
    "window_spread": (ones(2, 3, 2, 2), (2, 2), (2, 2), (0, 0), (4, 5)),
    "adam_step": STEP,
    "fill_normals": (flambeau.Generator(), ones(40), 0.0, 1.0),
    "fill_between": (flambeau.Generator(), ones(40), 0.5, 2.0),
    "new_normal": (flambeau.Generator(), (5,), np.dtype(np.float32), 0.0, 1.0),
    "new_permutation": (flambeau.Generator(), (5,), np.dtype(np.int64)),
    "plain_shape": ((2, 3),),
}


def turned(argument):
    """An array whose elements lie in the order of columns."""
    return np.asfortranarray(argument) if isinstance(argument, np.ndarray) and argument.flags.writeable else argument


@needs_native
@pytest.mark.parametrize("name", CALLS)
def test_references_balance(name):
    from flambeau import _kernels

    results = []
    kernel, arguments = _kernels.kernel(name, lambda *given: results.append("the twin's")), CALLS[name]
    wrong, others = object(), tuple(map(turned, arguments))
    held = [*arguments, *others, wrong, np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float16), None, True, False,
            NotImplemented]

    def call():
        kernel(*arguments)
        kernel(*others)
        kernel(*others[:-1])
        for i in range(len(arguments)):
            kernel(*others[:i], wrong, *others[i + 1:])

    kernel(*arguments)
    assert not results
    call()
    gc.collect()  # what other tests left behind would go meanwhile, and take its references along
    before = [sys.getrefcount(o) for o in held]
    for _ in range(100):
        results.clear()
        call()
    results.clear()
    after = [sys.getrefcount(o) for o in held]
    assert max(abs(a - b) for a, b in zip(before, after)) < 25
