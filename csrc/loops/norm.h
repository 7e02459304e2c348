/* Normalization of rows by mean and standard deviation, with a weight and a bias for each column. */

/* The sum of (x - mean)**2 over a block, or over less. */
INLINE REAL NAME(square_block)(const REAL *x, ptrdiff_t n, REAL mean)
{
    VECTOR a = {0}, b = {0}, c = {0}, d = {0};
    ptrdiff_t i = 0;
    REAL rest = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        VECTOR p = LOAD(x + i) - mean, q = LOAD(x + i + LANES) - mean;
        VECTOR r = LOAD(x + i + 2 * LANES) - mean, s = LOAD(x + i + 3 * LANES) - mean;
        a += p * p;
        b += q * q;
        c += r * r;
        d += s * s;
    }
    for (; i + LANES <= n; i += LANES) {
        VECTOR p = LOAD(x + i) - mean;
        a += p * p;
    }
    for (; i < n; i++) {
        rest += (x[i] - mean) * (x[i] - mean);
    }
    return NAME(sum_small)(NAME(shrunk)((a + b) + (c + d))) + rest;
}

/* The sum of x - mean. */
INLINE REAL NAME(distances)(const REAL *x, ptrdiff_t n, REAL mean)
{
    REAL sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        sum += x[i] - mean;
    }
    return sum;
}

/* Whether elements differ so little that the last digit of their mean counts. */
INLINE bool NAME(hardly_differ)(REAL mean, REAL var)
{
    return var < (REAL)1e-4 * mean * mean;
}

INLINE void NAME(scaled)(const REAL *restrict x, const REAL *restrict w, const REAL *restrict b, REAL mean, REAL scale,
                         ptrdiff_t n, REAL *restrict out)
{
    if (w != NULL && b != NULL) {
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = (x[i] - mean) * scale * w[i] + b[i];
        }
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = (x[i] - mean) * scale;
    }
    for (ptrdiff_t i = 0; w != NULL && i < n; i++) {
        out[i] *= w[i];
    }
    for (ptrdiff_t i = 0; b != NULL && i < n; i++) {
        out[i] += b[i];
    }
}

static void NAME(normalize)(const void *from, const void *weight, const void *bias, void *to, void *means, void *vars,
                            ptrdiff_t rows, ptrdiff_t n, double eps)
{
    const REAL *x = from;
    REAL *out = to, *mean = means, *var = vars;
    for (ptrdiff_t row = 0; row < rows; row++, x += n, out += n) {
        REAL m = NAME(sum_row)(x, n) / (REAL)n;
        REAL v = NAME(pairwise)(x, n, m, NAME(square_block)) / (REAL)n;
        if (NAME(hardly_differ)(m, v)) {
            m += NAME(distances)(x, n, m) / (REAL)n;
            v = NAME(pairwise)(x, n, m, NAME(square_block)) / (REAL)n;
        }
        mean[row] = m;
        var[row] = v;
        NAME(scaled)(x, weight, bias, m, 1 / NAME(root)(v + (REAL)eps), n, out);
    }
}

/* The sums of gw and of gw * (x - mean), where gw = g * w. */
INLINE void NAME(gradient_sums)(const REAL *g, const REAL *w, const REAL *x, REAL mean, ptrdiff_t n, REAL *level, REAL *slope)
{
    VECTOR a = {0}, b = {0}, c = {0}, d = {0};
    ptrdiff_t i = 0;
    REAL first = 0, second = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        VECTOR p = LOAD(g + i), q = LOAD(g + i + LANES);
        if (w != NULL) {
            p *= LOAD(w + i);
            q *= LOAD(w + i + LANES);
        }
        a += p;
        b += q;
        c += p * (LOAD(x + i) - mean);
        d += q * (LOAD(x + i + LANES) - mean);
    }
    for (; i < n; i++) {
        REAL p = w == NULL ? g[i] : g[i] * w[i];
        first += p;
        second += p * (x[i] - mean);
    }
    *level = NAME(sum_small)(NAME(shrunk)(a + b)) + first;
    *slope = NAME(sum_small)(NAME(shrunk)(c + d)) + second;
}

INLINE void NAME(pull_parameters)(const REAL *restrict g, const REAL *restrict x, REAL mean, REAL scale, ptrdiff_t n,
                                  REAL *restrict g_weight, REAL *restrict g_bias)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        g_bias[i] += g[i];
        g_weight[i] += g[i] * ((x[i] - mean) * scale);
    }
}

INLINE void NAME(pull_input)(const REAL *restrict g, const REAL *restrict x, const REAL *restrict w, REAL mean,
                             REAL scale, REAL slope, REAL level, ptrdiff_t n, REAL *restrict out)
{
    if (w == NULL) {
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = g[i] * scale + ((x[i] - mean) * slope + level);
        }
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = g[i] * w[i] * scale + ((x[i] - mean) * slope + level);
    }
}

INLINE void NAME(add_and_clear)(REAL *restrict sum, REAL *restrict part, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        sum[i] += part[i];
        part[i] = 0;
    }
}

#define BLOCK_OF_ROWS 64 /* whose gradients of the weight are added in a row */

static void NAME(normalize_pull)(const NormPull *p)
{
    const REAL *mean = p->mean, *var = p->var, *g_mean = p->g_mean, *g_var = p->g_var;
    REAL *part_weight = p->scratch, *part_bias = part_weight + p->n;
    ptrdiff_t n = p->n;
    size_t size = (size_t)n * sizeof(REAL);
    memset(p->g_weight, 0, size);
    memset(p->g_bias, 0, size);
    memset(p->scratch, 0, 2 * size);
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        const REAL *g = (const REAL *)p->g + row * n, *x = (const REAL *)p->x + row * n;
        REAL m = mean[row], scale = 1 / NAME(root)(var[row] + (REAL)p->eps), level, slope;
        NAME(gradient_sums)(g, p->weight, x, m, n, &level, &slope);
        slope = (2 * g_var[row] - slope * scale * scale * scale) / (REAL)n;
        level = (g_mean[row] - level * scale) / (REAL)n;
        NAME(pull_input)(g, x, p->weight, m, scale, slope, level, n, (REAL *)p->out + row * n);
        NAME(pull_parameters)(g, x, m, scale, n, part_weight, part_bias);
        if (row % BLOCK_OF_ROWS == BLOCK_OF_ROWS - 1 || row == p->rows - 1) {
            NAME(add_and_clear)(p->g_weight, part_weight, n);
            NAME(add_and_clear)(p->g_bias, part_bias, n);
        }
    }
}

#undef BLOCK_OF_ROWS
