/* Softmax and log_softmax of rows, and their gradients.
 *
 * Rows are processed in groups that fit in the L1 cache: exponentials run over a whole group, which is faster than row by
 * row for short rows. Infinities and NaNs propagate through their row by arithmetic.
 */

#define GROUP 2048
#define LONG 64

/* The largest element that is a number. */
INLINE REAL NAME(largest)(const REAL *x, ptrdiff_t n)
{
    REAL top = (REAL)-INFINITY;
    ptrdiff_t i = 0;
    if (n >= LANES) {
        VECTOR most = LOAD(x);
        for (i = LANES; i + LANES <= n; i += LANES) {
            VECTOR v = LOAD(x + i);
            TYPE(ints) more = v > most;
            most = (VECTOR)((more & (TYPE(ints))v) | (~more & (TYPE(ints))most));
        }
        REAL lanes[WIDTH / sizeof(REAL)];
        STORE(lanes, most);
        for (ptrdiff_t j = 0; j < LANES; j++) {
            top = lanes[j] > top ? lanes[j] : top;
        }
    }
    for (; i < n; i++) {
        top = x[i] > top ? x[i] : top;
    }
    return top;
}

INLINE void NAME(exp_all)(REAL *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = NAME(exp_below)(x[i]);
    }
}

/* exp(x - top) of rows, with the largest element of each as its top. */
INLINE void NAME(exp_rows)(const REAL *restrict x, REAL *restrict out, REAL *tops, ptrdiff_t rows, ptrdiff_t n)
{
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *from = x + row * n;
        REAL *to = out + row * n, top = tops[row] = NAME(largest)(from, n);
        if (n >= LONG) {
            for (ptrdiff_t i = 0; i < n; i++) {
                to[i] = NAME(exp_below)(from[i] - top);
            }
        } else {
            for (ptrdiff_t i = 0; i < n; i++) {
                to[i] = from[i] - top;
            }
        }
    }
    if (n < LONG) {
        NAME(exp_all)(out, rows * n);
    }
}

static void NAME(softmax)(const void *from, void *to, ptrdiff_t rows, ptrdiff_t n)
{
    const REAL *x = from;
    REAL *out = to, tops[GROUP];
    for (ptrdiff_t group = GROUP / n > 0 ? GROUP / n : 1; rows > 0; rows -= group) {
        group = group < rows ? group : rows;
        NAME(exp_rows)(x, out, tops, group, n);
        x += group * n;
        for (ptrdiff_t row = 0; row < group; row++, out += n) {
            REAL scale = 1 / NAME(sum_row)(out, n); /* the sum lies between 1 and n */
            for (ptrdiff_t i = 0; i < n; i++) {
                out[i] *= scale;
            }
        }
    }
}

/* x - top - log(sum of exponentials) */
INLINE void NAME(lowered)(const REAL *restrict x, REAL *restrict out, ptrdiff_t n, REAL top, REAL sum)
{
    REAL shift = (REAL)log((double)sum);
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = (x[i] - top) - shift;
    }
}

/* The sum of exp(x - top) of a long row. */
INLINE REAL NAME(sum_of_exp)(const REAL *x, ptrdiff_t n, REAL top)
{
    REAL part[GROUP];
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i += GROUP) {
        ptrdiff_t m = n - i < GROUP ? n - i : GROUP;
        for (ptrdiff_t j = 0; j < m; j++) {
            part[j] = NAME(exp_below)(x[i + j] - top);
        }
        sum += (double)NAME(sum_row)(part, m);
    }
    return (REAL)sum;
}

static void NAME(log_softmax)(const void *from, void *to, ptrdiff_t rows, ptrdiff_t n)
{
    const REAL *x = from;
    REAL *out = to, exps[GROUP], tops[GROUP];
    if (n > GROUP) {
        for (ptrdiff_t row = 0; row < rows; row++, x += n, out += n) {
            REAL top = NAME(largest)(x, n);
            NAME(lowered)(x, out, n, top, NAME(sum_of_exp)(x, n, top));
        }
        return;
    }
    for (ptrdiff_t group = GROUP / n; rows > 0; rows -= group) {
        group = group < rows ? group : rows;
        NAME(exp_rows)(x, exps, tops, group, n);
        for (ptrdiff_t row = 0; row < group; row++, x += n, out += n) {
            NAME(lowered)(x, out, n, tops[row], NAME(sum_row)(exps + row * n, n));
        }
    }
}

/* y * (g - sum(g * y)) */
static void NAME(softmax_pull)(const void *gradient, const void *result, void *to, ptrdiff_t rows, ptrdiff_t n)
{
    const REAL *restrict g = gradient, *restrict y = result;
    REAL *restrict out = to;
    for (ptrdiff_t row = 0; row < rows; row++, g += n, y += n, out += n) {
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = g[i] * y[i];
        }
        REAL sum = NAME(sum_row)(out, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] -= y[i] * sum;
        }
    }
}

/* g - exp(y) * sum(g) */
static void NAME(log_softmax_pull)(const void *gradient, const void *result, void *to, ptrdiff_t rows, ptrdiff_t n)
{
    const REAL *restrict g = gradient, *restrict y = result;
    REAL *restrict out = to;
    for (ptrdiff_t group = GROUP / n > 0 ? GROUP / n : 1; rows > 0; rows -= group) {
        group = group < rows ? group : rows;
        for (ptrdiff_t i = 0; i < group * n; i++) {
            out[i] = NAME(exp_below)(y[i]);
        }
        y += group * n;
        for (ptrdiff_t row = 0; row < group; row++, g += n, out += n) {
            REAL sum = NAME(sum_row)(g, n);
            for (ptrdiff_t i = 0; i < n; i++) {
                out[i] = g[i] - out[i] * sum;
            }
        }
    }
}

#undef GROUP
#undef LONG
