"""Connectionist temporal classification: sums over all alignments, by a loop over time.

The states of an alignment are the labels with a blank before, between and after them: 2 S + 1 states for S labels.
"""

import numpy as np

from .. import NUMPY as engine


def states_of(xp, labels, blank):
    """The class of each state (N, 2 S + 1), and whether a path may enter it from two states before."""
    count, size = labels.shape
    blanks = xp.full((count, size, 1), blank, labels.dtype)
    pairs = xp.concatenate([blanks, labels[:, :, None]], axis=2).reshape(count, 2 * size)
    states = xp.concatenate([pairs, xp.full((count, 1), blank, labels.dtype)], axis=1)
    skips = xp.concatenate([xp.zeros((count, min(2, 2 * size + 1)), bool), states[:, 2:] != states[:, :-2]], axis=1)
    return states, skips


def shift(xp, x, by):
    """The states moved up (or down) by `by`, filled with minus infinity."""
    pad = xp.full((x.shape[0], min(abs(by), x.shape[1])), -xp.inf, x.dtype)
    return xp.concatenate([pad, x[:, :-by]] if by > 0 else [x[:, -by:], pad], axis=1)


def forward_step(xp, alpha, emission, skips):
    """The log-probabilities of all paths to each state, one step later."""
    two = xp.where(skips, shift(xp, alpha, 2), -xp.inf)
    return xp.logaddexp(xp.logaddexp(alpha, shift(xp, alpha, 1)), two) + emission


def backward_step(xp, beta, emission, skips):
    """The log-probabilities of all paths from each state, one step earlier, including the current emission."""
    two = shift(xp, xp.where(skips, beta, -xp.inf), -2)
    return xp.logaddexp(xp.logaddexp(beta, shift(xp, beta, -1)), two) + emission


def first_states(xp, emission, lengths):
    """A path starts with a blank or the first label."""
    place = xp.arange(emission.shape[1])
    return xp.where((place == 0) | ((place == 1) & (lengths[:, None] > 0)), emission, -xp.inf)


def last_states(xp, states, lengths):
    """The states in which a path may end: the last label, or the blank after it."""
    place, end = xp.arange(states.shape[1]), 2 * lengths[:, None]
    return (place == end) | ((place == end - 1) & (end > 0))


def total(xp, alphas, ends, times, lengths):
    """The negative log-likelihood of each label sequence, from the states at its last time step."""
    final = alphas[xp.maximum(times - 1, 0), xp.arange(times.shape[0])]
    final = xp.where(ends, final, -xp.inf)
    top = final.max(1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)
    found = -(xp.log(xp.exp(final - top).sum(1)) + top[:, 0])
    return xp.where(times > 0, found, xp.where(lengths > 0, xp.inf, 0)).astype(alphas.dtype)


@engine.kernel
def ctc_forward(log_probs, labels, times, lengths, blank):
    """(loss of each sample, log-probability of all paths to each state at each time)."""
    states, skips = states_of(np, labels, blank)
    emissions = np.take_along_axis(log_probs, np.broadcast_to(states, (len(log_probs), *states.shape)), 2)
    alphas = np.empty_like(emissions)
    alphas[0] = first_states(np, emissions[0], lengths)
    for t in range(1, len(alphas)):
        alphas[t] = forward_step(np, alphas[t - 1], emissions[t], skips)
    return total(np, alphas, last_states(np, states, lengths), times, lengths), alphas


@engine.kernel
def ctc_backward(log_probs, labels, times, lengths, loss, alphas, blank):
    """The derivative of each loss by scores whose log-softmax is `log_probs`."""
    states, skips = states_of(np, labels, blank)
    emissions = np.take_along_axis(log_probs, np.broadcast_to(states, alphas.shape), 2)
    ends = last_states(np, states, lengths)
    gradient = np.where(loss[:, None] == np.inf, np.nan, np.exp(log_probs)).astype(log_probs.dtype, order="C")
    flat = (np.arange(len(states))[:, None] * log_probs.shape[2] + states).reshape(-1)
    beta = np.full(states.shape, -np.inf, log_probs.dtype)
    for t in reversed(range(len(alphas))):
        beta = backward_step(np, beta, emissions[t], skips)
        beta = np.where((times == t + 1)[:, None], np.where(ends, emissions[t], -np.inf), beta)
        share = np.exp(alphas[t] + beta - emissions[t] + loss[:, None])
        gradient[t] -= np.bincount(flat, share.reshape(-1), gradient[t].size).reshape(gradient[t].shape)
        gradient[t, times <= t] = 0
    return gradient
