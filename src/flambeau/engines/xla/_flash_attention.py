"""Attention with dropout in half precision, as GPU kernels that do not store the weights.

cuDNN's kernel draws dropout's numbers from a state of its own, which cannot be seeded. Here they are a function of a
key and of the position of a weight, so backward can compute the same ones.
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from ._lowering import lowering

try:
    from jax.experimental.pallas import triton
except ImportError:  # deprecated in jax 0.11
    triton = None  # type: ignore[assignment]

BLOCK = 64  # queries or keys per program of a kernel
WARPS = 4
NEVER = -1e30  # the score of a masked key
DEPTHS = (16, 32, 64, 128)  # supported head sizes
INTERPRETED = False  # whether jax interprets the kernels: for tests without a GPU


@functools.cache
def are_supported():
    """Whether jax can compile kernels for this GPU: it supports only those it knows by name.

    Otherwise attention with dropout uses the unfused formula, with factors drawn beforehand.
    """
    if triton is None:
        return False

    def copy(x, y):
        y[...] = x[...]

    form = jax.ShapeDtypeStruct((16, 16), jnp.float32)
    kernel = pl.pallas_call(copy, out_shape=form, compiler_params=triton.CompilerParams())
    try:
        with jax.default_device(jax.devices("gpu")[0]), lowering():
            jax.jit(kernel).lower(form)
    except (RuntimeError, NotImplementedError, ValueError):
        return False
    return True


# ---- which weights are dropped: a key is two random words, and how many in 2**32 are


def key_of(words, p, like=None):
    """The key, on the device of `like`."""
    return jnp.concatenate([words, jnp.asarray([round(p * 2**32)], jnp.uint32)])


def rest_scale(key):
    """The factor of weights that are not dropped."""
    return 1 / (1 - key[2:].astype(jnp.float32) * 2.0**-32)


def mix(x):
    """A permutation of 32-bit words in which every bit of the result depends on all bits."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def factors(key, scale, head, row, column, columns):
    """The dropout factors (zero or the scale) of weights at these rows and columns of a head."""
    place = row.astype(jnp.uint32) * jnp.uint32(columns) + column.astype(jnp.uint32)
    drawn = mix(mix(place ^ mix(key[0] + head.astype(jnp.uint32) * jnp.uint32(0x9E3779B9))) + key[1])
    return jnp.where(drawn >= key[2], scale[0], jnp.float32(0))


def all_factors(key, shape):
    """The factors of all weights, (samples, heads, queries, keys)."""
    samples, heads, queries, keys = shape
    head = jnp.arange(samples * heads, dtype=jnp.uint32).reshape(samples, heads, 1, 1)
    row, column = jnp.arange(queries, dtype=jnp.uint32)[:, None], jnp.arange(keys, dtype=jnp.uint32)
    return factors(key, rest_scale(key), head, row, column, keys)


# ---- what kernels compute


class Head:
    """One head in a kernel; the refs contain all heads, of which it accesses its own.

    Args:
        dropped: refs of the dropout key and of the scale of the rest.
        bias: the ref of a bias for the scores, or None.
        heads: the number of heads per sample.
        sizes: the numbers of queries and keys.
    """

    def __init__(self, dropped, bias, *, heads, sizes, scale, causal):
        self.dropped = dropped
        self.bias = bias
        self.queries, self.keys = sizes
        self.scale = scale
        self.causal = causal
        self.index = pl.program_id(0)
        self.place = self.index // heads, self.index % heads

    def load(self, ref, at, size):
        """Rows of a matrix; zeros beyond its end."""
        return triton.load(ref.at[self.index, at[:, None], columns_of(ref)], mask=(at < size)[:, None], other=0)

    def load_numbers(self, ref, at):
        """One number per query, as a column."""
        return triton.load(ref.at[self.index, at], mask=at < self.queries, other=0)[:, None]

    def store(self, ref, at, size, values):
        place = self.index, at[:, None], columns_of(ref)
        triton.store(ref.at[place], values.astype(ref.dtype), mask=(at < size)[:, None])

    def scores(self, query, key, row, column):
        """The scores of queries (rows) and keys (columns); NEVER where a key is masked."""
        visible = (row < self.queries) & (column < self.keys)
        if self.causal:
            visible &= row >= column
        found = triton.dot(query, key.T).astype(jnp.float32) * jnp.float32(self.scale)
        if self.bias is not None:
            at = [i if n > 1 else i * 0 for i, n in zip((*self.place, row, column), self.bias.shape)]
            found += triton.load(self.bias.at[tuple(at)], mask=visible, other=0).astype(jnp.float32)
        return jnp.where(visible, jnp.maximum(found, NEVER), NEVER)

    def factors(self, row, column):
        return factors(*self.dropped, self.index, row, column, self.keys)

    def pull_scores(self, query, key, value, g, sums, inner, row, column):
        """(the dropped weights, the gradients of the scores)."""
        scores, factors = self.scores(query, key, row, column), self.factors(row, column)
        weights = jnp.where(scores > NEVER, jnp.exp(scores - sums), jnp.float32(0))
        slopes = weights * (triton.dot(g, value.T).astype(jnp.float32) * factors - inner)
        return (weights * factors).astype(key.dtype), slopes.astype(key.dtype)

    @property
    def last(self):
        """The end of the blocks of keys that this block of queries sees."""
        count = pl.cdiv(self.keys, BLOCK)
        return jnp.minimum(pl.program_id(1) + 1, count) if self.causal else count


def columns_of(ref):
    return jnp.arange(ref.shape[-1], dtype=jnp.int32)[None]


def places(block):
    return block * BLOCK + jnp.arange(BLOCK, dtype=jnp.int32)


def zeros(*shape):
    return jnp.zeros(shape, jnp.float32)


def loop(first, last, body, *start):
    return jax.lax.fori_loop(jnp.int32(first), jnp.int32(last), body, start)


# ---- kernels: each program of them is for a block of queries, or of keys, of a head


def average(head, q, k, v, out, sums):
    """The weighted averages of the values, and the logarithms of the sums of exponentials of the scores."""
    at = places(pl.program_id(1))
    query = head.load(q, at, head.queries)

    def look(block, state):
        highest, total, found = state
        there = places(block)
        scores = head.scores(query, head.load(k, there, head.keys), at[:, None], there[None])
        new = jnp.maximum(highest, jnp.max(scores, 1, keepdims=True))
        weights, shrink = jnp.where(scores > NEVER, jnp.exp(scores - new), jnp.float32(0)), jnp.exp(highest - new)
        dropped = (weights * head.factors(at[:, None], there[None])).astype(query.dtype)
        more = triton.dot(dropped, head.load(v, there, head.keys)).astype(jnp.float32)
        return new, total * shrink + jnp.sum(weights, 1, keepdims=True), found * shrink + more

    start = zeros(BLOCK, 1) + NEVER, zeros(BLOCK, 1), zeros(BLOCK, v.shape[-1])
    highest, total, found = loop(0, head.last, look, *start)
    total = jnp.where(total > 0, total, jnp.float32(1))
    head.store(out, at, head.queries, found / total)
    triton.store(sums.at[head.index, at], (highest + jnp.log(total))[:, 0], mask=at < head.queries)


def pull_queries(head, q, k, v, g, sums, inner, g_q):
    at = places(pl.program_id(1))
    own = head.load(q, at, head.queries), head.load(g, at, head.queries)
    of_rows = head.load_numbers(sums, at), head.load_numbers(inner, at)

    def look(block, state):
        there = places(block)
        key, value = head.load(k, there, head.keys), head.load(v, there, head.keys)
        _, slopes = head.pull_scores(own[0], key, value, own[1], *of_rows, at[:, None], there[None])
        return (state[0] + triton.dot(slopes, key).astype(jnp.float32),)

    total, = loop(0, head.last, look, zeros(BLOCK, q.shape[-1]))
    head.store(g_q, at, head.queries, total * jnp.float32(head.scale))


def pull_keys(head, q, k, v, g, sums, inner, g_k, g_v):
    there = places(pl.program_id(1))
    key, value = head.load(k, there, head.keys), head.load(v, there, head.keys)

    def look(block, state):
        at = places(block)
        query, own = head.load(q, at, head.queries), head.load(g, at, head.queries)
        of_rows = head.load_numbers(sums, at), head.load_numbers(inner, at)
        weights, slopes = head.pull_scores(query, key, value, own, *of_rows, at[:, None], there[None])
        return (state[0] + triton.dot(slopes.T, query).astype(jnp.float32),
                state[1] + triton.dot(weights.T, own).astype(jnp.float32))

    first = pl.program_id(1) if head.causal else 0  # the first block of queries that sees these keys
    of_key, of_value = loop(first, pl.cdiv(head.queries, BLOCK), look, zeros(BLOCK, k.shape[-1]),
                            zeros(BLOCK, v.shape[-1]))
    head.store(g_k, there, head.keys, of_key * jnp.float32(head.scale))
    head.store(g_v, there, head.keys, of_value)


# ---- attention of (samples, heads, length, depth)


@functools.partial(jax.custom_vjp, nondiff_argnums=(5, 6))
def attend(query, key, value, bias, dropped, scale, causal):
    """Attention. The bias has 4 dimensions, some of which may be 1, or is None; it gets no gradient.

    Args:
        dropped: the dropout key.
    """
    return attend_forward(query, key, value, bias, dropped, scale, causal)[0]


def attend_forward(query, key, value, bias, dropped, scale, causal):
    q, k, v = [flatten(x) for x in (query, key, value)]
    run = Run(query, key, bias, dropped, scale, causal)
    results = [form((*q.shape[:2], v.shape[-1]), q.dtype), form(q.shape[:2], jnp.float32)]
    out, sums = run(average, q.shape[1], [q, k, v], results)
    return out.reshape(*query.shape[:3], -1), (query, key, value, bias, dropped, out, sums)


def attend_backward(scale, causal, saved, g):
    query, key, value, bias, dropped, out, sums = saved
    q, k, v, g = [flatten(x) for x in (query, key, value, g)]
    run = Run(query, key, bias, dropped, scale, causal)
    inner = jnp.sum(g.astype(jnp.float32) * out.astype(jnp.float32), -1)
    operands = [q, k, v, g, sums, inner]
    g_q, = run(pull_queries, q.shape[1], operands, [form(q.shape, q.dtype)])
    g_k, g_v = run(pull_keys, k.shape[1], operands, [form(x.shape, x.dtype) for x in (k, v)])
    return g_q.reshape(query.shape), g_k.reshape(key.shape), g_v.reshape(value.shape), None, None


attend.defvjp(attend_forward, attend_backward)

form = jax.ShapeDtypeStruct


def flatten(x):
    """Heads and samples merged to one dimension."""
    return x.reshape(-1, *x.shape[2:])


class Run:
    """Runs kernels on some operands."""

    def __init__(self, query, key, bias, dropped, scale, causal):
        self.more = [dropped, rest_scale(dropped), *([] if bias is None else [bias])]
        self.settings = {"heads": query.shape[1], "sizes": (query.shape[2], key.shape[2]), "scale": scale,
                         "causal": causal}

    def __call__(self, kernel, count, operands, results):
        """Args:
            count: of the queries, or keys, that each program takes a block of.
        """
        return pl.pallas_call(
            functools.partial(self.enter, kernel), out_shape=results, name=f"attention_{kernel.__name__}",
            grid=(operands[0].shape[0], pl.cdiv(count, BLOCK)), interpret=INTERPRETED,
            compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=2),
        )(*self.more, *operands)

    def enter(self, kernel, *refs):
        more, refs = refs[:len(self.more)], refs[len(self.more):]
        kernel(Head(more[:2], more[2] if len(more) > 2 else None, **self.settings), *refs)
