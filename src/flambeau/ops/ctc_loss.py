"""The loss of connectionist temporal classification. The loop over time is inside the kernels."""

from __future__ import annotations

from ._op import op
from .shape import reshape

TWICE = "derivative for aten::_ctc_loss_backward is not implemented: ctc_loss can be differentiated once"


@op(constants="labels times lengths")
def ctc_loss(k, log_probs, labels, times, lengths, *, blank, zero_infinity):
    """The loss of each sample, and the log-probabilities of the states, which backward needs.

    With `zero_infinity` the gradients of infinite losses are zero.
    """
    return k.ctc_forward(log_probs, labels, times, lengths, blank)


@ctc_loss.joint_vjp
def _(g, log_probs, labels, times, lengths, out_0, out_1, blank, zero_infinity):
    slopes = ctc_loss_slopes(log_probs, labels, times, lengths, out_0, out_1, blank=blank, zero_infinity=zero_infinity)
    return reshape(g[0], shape=(1, -1, 1)) * slopes, None, None, None


@op
def ctc_loss_slopes(k, log_probs, labels, times, lengths, loss, alphas, *, blank, zero_infinity):
    """The derivative of each loss by scores whose log-softmax `log_probs` is."""
    slopes = k.ctc_backward(log_probs, labels, times, lengths, loss, alphas, blank)
    return k.where((loss == k.inf)[:, None], 0, slopes).astype(slopes.dtype) if zero_infinity else slopes


@ctc_loss_slopes.joint_vjp
def _(g):
    raise RuntimeError(TWICE)
