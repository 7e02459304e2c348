/* Functions of each element, and their gradients. */

#define INV_SQRT_TAU (REAL)0.39894228040143267794

static void NAME(relu)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] < 0 ? 0 : x[i];
    }
}

static void NAME(sigmoid)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL e = NAME(exp_below)(x[i] < 0 ? x[i] : -x[i]);
        out[i] = (x[i] < 0 ? e : 1) / (1 + e);
    }
}

static void NAME(log_sigmoid)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL below = x[i] < 0 ? x[i] : 0, away = x[i] < 0 ? x[i] : -x[i];
        out[i] = below - NAME(log1p_unit)(NAME(exp_below)(away));
    }
}

static void NAME(erf_all)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = NAME(erf)(x[i]);
    }
}

static void NAME(gelu)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = (REAL)0.5 * x[i] * (1 + NAME(normal_balance)(x[i]));
    }
}

static void NAME(sign)(const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0;
    }
}

static void NAME(gelu_pull)(const void *gradient, const void *from, void *to, ptrdiff_t n)
{
    const REAL *restrict g = gradient, *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL density = NAME(exp_below)((REAL)-0.5 * x[i] * x[i]), tail = NAME(normal_tail)(x[i], density);
        out[i] = g[i] * ((x[i] < 0 ? tail : 1 - tail) + x[i] * density * INV_SQRT_TAU);
    }
}

/* ---- with numbers of their own */

static void NAME(threshold_pull)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict g = gradient, *restrict x = from, limit = (REAL)numbers[0];
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] <= limit ? 0 : g[i];
    }
}

static void NAME(leaky_relu)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict x = from, slope = (REAL)numbers[0];
    REAL *restrict out = to;
    (void)gradient;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] > 0 ? x[i] : slope * x[i];
    }
}

static void NAME(leaky_relu_pull)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict g = gradient, *restrict x = from, slope = (REAL)numbers[0];
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] > 0 ? g[i] : slope * g[i];
    }
}

static void NAME(elu)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict x = from, scale = (REAL)numbers[1], low = (REAL)(numbers[0] * numbers[1]), inner = (REAL)numbers[2];
    REAL *restrict out = to;
    (void)gradient;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL below = low * NAME(expm1_below)(inner * (x[i] >= 0 ? 0 : x[i]));
        out[i] = x[i] >= 0 ? scale * x[i] : below;
    }
}

static void NAME(elu_pull)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict g = gradient, *restrict x = from, scale = (REAL)numbers[1], inner = (REAL)numbers[2];
    const REAL low = (REAL)(numbers[0] * numbers[1] * numbers[2]);
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL below = g[i] * low * NAME(exp_below)(inner * (x[i] >= 0 ? 0 : x[i]));
        out[i] = x[i] > 0 ? g[i] * scale : below;
    }
}

static void NAME(softplus)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers)
{
    const REAL *restrict x = from, beta = (REAL)numbers[0], limit = (REAL)numbers[1];
    REAL *restrict out = to;
    (void)gradient;
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL scaled = x[i] * beta, above = scaled > 0 ? scaled : 0, away = scaled < 0 ? scaled : -scaled;
        REAL smooth = (above + NAME(log1p_unit)(NAME(exp_below)(away))) / beta;
        out[i] = scaled > limit ? x[i] : smooth;
    }
}

#undef INV_SQRT_TAU
