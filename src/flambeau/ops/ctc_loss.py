"""Connectionist temporal classification loss. The loop over time is in the kernels."""

import numpy as np

from ._op import op

TWICE = "derivative for aten::_ctc_loss_backward is not implemented: ctc_loss can be differentiated once"


@op(constants="labels times lengths")
def ctc_loss(k, log_probs, labels, times, lengths, *, blank, zero_infinity):
    """The loss of each sample, and the log-probabilities of the states, which backward needs.

    With `zero_infinity` the gradients of infinite losses are zero.
    """
    return k.ctc_forward(log_probs, labels, times, lengths, blank)


@ctc_loss.joint_vjp
def _(g, log_probs, labels, times, lengths, out_0, out_1, blank, zero_infinity):
    of_samples = (log_probs, labels, times, lengths, out_0, out_1)
    return ctc_loss_pull(g[0], *of_samples, blank=blank, zero_infinity=zero_infinity), None, None, None


@op(row_major=True)
def ctc_loss_pull(k, g, log_probs, labels, times, lengths, loss, alphas, *, blank, zero_infinity):
    """The gradient of scores whose log-softmax `log_probs` is; zero after the end of a sample, whatever `g` is."""
    slopes = k.ctc_backward(log_probs, labels, times, lengths, loss, alphas, blank)
    if zero_infinity:
        slopes = k.where((loss == k.inf)[:, None], 0, slopes).astype(slopes.dtype)
    return k.keep(g.reshape(1, -1, 1) * slopes, np.arange(len(log_probs))[:, None, None] < times[:, None])


@ctc_loss_pull.joint_vjp
def _(g):
    raise RuntimeError(TWICE)
