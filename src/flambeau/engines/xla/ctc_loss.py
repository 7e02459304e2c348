"""The XLA twins of the kernels in ``engines/numpy/ctc_loss.py``: the loop over time is a scan."""

import jax
import jax.numpy as jnp

from ..numpy.ctc_loss import backward_step, first_states, forward_step, last_states, states_of, total
from . import engine


def emissions_of(log_probs, states):
    return jnp.take_along_axis(log_probs, jnp.broadcast_to(states, (log_probs.shape[0], *states.shape)), 2)


@engine.kernel
def ctc_forward(log_probs, labels, times, lengths, blank):
    states, skips = states_of(jnp, labels, blank)
    emissions = emissions_of(log_probs, states)

    def step(alpha, emission):
        alpha = forward_step(jnp, alpha, emission, skips)
        return alpha, alpha

    first = first_states(jnp, emissions[0], lengths)
    _, later = jax.lax.scan(step, first, emissions[1:])
    alphas = jnp.concatenate([first[None], later])
    return total(jnp, alphas, last_states(jnp, states, lengths), times, lengths), alphas


@engine.kernel
def ctc_backward(log_probs, labels, times, lengths, loss, alphas, blank):
    states, skips = states_of(jnp, labels, blank)
    emissions = emissions_of(log_probs, states)
    ends, rows = last_states(jnp, states, lengths), jnp.arange(states.shape[0])[:, None]

    def step(beta, at):
        t, emission, alpha, log_prob = at
        beta = backward_step(jnp, beta, emission, skips)
        beta = jnp.where((times == t + 1)[:, None], jnp.where(ends, emission, -jnp.inf), beta)
        share = jnp.exp(alpha + beta - emission + loss[:, None])
        probabilities = jnp.where(loss[:, None] == jnp.inf, jnp.nan, jnp.exp(log_prob))
        gradient = probabilities.at[rows, states].add(-share)
        return beta, jnp.where((times > t)[:, None], gradient, 0)

    start = jnp.full(states.shape, -jnp.inf, log_probs.dtype)
    along = jnp.arange(log_probs.shape[0]), emissions, alphas, log_probs
    return jax.lax.scan(step, start, along, reverse=True)[1]
