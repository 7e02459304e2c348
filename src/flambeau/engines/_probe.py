"""Shapes of results by probing: a kernel runs at a few small sizes, and the sizes of its results are extrapolated.

The result sizes of almost all kernels are affine in the operand sizes, for steps that are multiples of the strides:
n, n + m, (n + 2p − k) // s + 1, or constants. This is assumed, and checked at further points; if a check fails, there
is no result.
"""

STEP = 48  # strides up to 4, and 6, 8, 12, 16, 24, 48 divide it


def extrapolate(run_at, shapes_of, sizes, least=0):
    """(the results at small sizes, the shapes at the real ones), or None if they do not follow the rule.

    Args:
        run_at: runs the kernel with each size n replaced by ``point[n]``.
        shapes_of: the shapes of its results, a list of tuples.
        sizes: the distinct sizes of the operands.
        least: no size may become smaller than this.
    """
    base = _small(sizes, least)
    big = [n for n in sizes if base[n] != n]
    results = run_at(base)
    start = shapes_of(results)

    def shapes_after(steps):
        return shapes_of(run_at({n: base[n] + steps.get(n, 0) * STEP for n in sizes}))

    slopes = {n: _growth(start, shapes_after({n: 1})) for n in big}
    if None in slopes.values():
        return None
    if not all(_is_regular(lambda t, n=n: shapes_of(run_at({**base, n: base[n] + t})), slopes[n]) for n in big):
        return None

    def predict(steps):
        return [
            tuple([d + sum([slopes[n][i][j] * steps[n] for n in steps]) for j, d in enumerate(shape)])
            for i, shape in enumerate(start)
        ]

    checks = [{n: 2} for n in big] + [dict.fromkeys(big, 1)]
    if any(shapes_after(steps) != predict(steps) for steps in checks):
        return None
    return results, predict({n: (n - base[n]) // STEP for n in big})


def _is_regular(shapes_after, slope):
    """Whether sizes grow regularly within a step: by integers, or by one per period that divides it."""
    growths = {abs(q) for shape in slope for q in shape if q % STEP}
    if any(STEP % q for q in growths):
        return False
    period = max((STEP // q for q in growths), default=1)
    shapes = [shapes_after(t) for t in range(2 * period)]
    expected = [tuple([q * period // STEP for q in shape]) for shape in slope]
    return all(_growth(shapes[t], shapes[t + period]) == expected for t in range(period))


def _small(sizes, least):
    """A smaller, distinct size for each one, which differs from it by a multiple of STEP."""
    base = {n: n for n in sizes if n < 2 * STEP}
    for n in sizes:
        if n not in base:
            small = STEP + n % STEP
            while small in base.values() or small < least:
                small += STEP
            base[n] = min(small, n)
    return base


def _growth(before, after):
    """How much each size of each result grew; None if the results do not correspond."""
    if list(map(len, before)) != list(map(len, after)):
        return None
    return [tuple([b - a for a, b in zip(x, y, strict=True)]) for x, y in zip(before, after, strict=True)]
