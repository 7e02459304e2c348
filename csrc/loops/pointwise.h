/* Elementwise functions and their gradients: one expression each, of an element X of the array, an
 * element G of a gradient (or of a second array) and the numbers A, B and C. */

#define INV_SQRT_TAU (REAL)0.39894228040143267794
#define TANH_GELU (REAL)0.79788456080286535588
#define TANH_CUBE (REAL)0.044715

#define X x[i]
#define G g[i]

#define OF_EACH(name, ...) \
    static void NAME(name)(const void *gradient, const void *from, void *to, ptrdiff_t n, const double *numbers) \
    { \
        const double a = numbers[0], b = numbers[1], c = numbers[2]; \
        const REAL *g = gradient, *x = from, A = (REAL)a, B = (REAL)b, C = (REAL)c; \
        REAL *out = to; /* perhaps x itself */ \
        (void)g, (void)A, (void)B, (void)C; \
        _Pragma("GCC ivdep") \
        for (ptrdiff_t i = 0; i < n; i++) { \
            out[i] = (__VA_ARGS__); \
        } \
    }

INLINE REAL NAME(between)(REAL x, REAL low, REAL high)
{
    REAL above = x < low ? low : x;
    return above > high ? high : above;
}

INLINE REAL NAME(sigmoid_of)(REAL x)
{
    REAL e = NAME(exp_below)(x < 0 ? x : -x);
    return (x < 0 ? e : 1) / (1 + e);
}

/* log(1 + exp(x)) */
INLINE REAL NAME(softplus_of)(REAL x)
{
    return (x > 0 ? x : 0) + NAME(log1p_unit)(NAME(exp_below)(x < 0 ? x : -x));
}

INLINE REAL NAME(gelu_slope)(REAL x)
{
    REAL density = NAME(exp_below)((REAL)-0.5 * x * x), tail = NAME(normal_tail)(x, density);
    return (x < 0 ? tail : 1 - tail) + x * density * INV_SQRT_TAU;
}

/* The slope of x times its sigmoid s: s + x s (1 - s). */
INLINE REAL NAME(silu_slope)(REAL x)
{
    REAL e = NAME(exp_below)(x < 0 ? x : -x), by = 1 / (1 + e), above = x < 0 ? e : 1, rest = x < 0 ? 1 : e;
    return above * by * (1 + x * (rest * by));
}

/* tanh(log(1 + exp(x))), by the exponential of what is below zero. */
INLINE REAL NAME(mish_gate)(REAL x)
{
    REAL e = NAME(exp_below)(x < 0 ? x : -x), below = e * (e + 2), above = 1 + 2 * e;
    return x < 0 ? below / (below + 2) : above / (above + 2 * e * e);
}

/* The slope of x times that: where t is the gate, t + x (1 - t**2) sigmoid(x), without a difference that cancels. */
INLINE REAL NAME(mish_slope)(REAL x)
{
    REAL e = NAME(exp_below)(x < 0 ? x : -x), below = e * (e + 2) + 2, above = 1 + 2 * e + 2 * e * e;
    REAL away = x < 0 ? 4 * (below - 1) / (below * below) : 4 * e * e * (1 + e) * (1 + e) / (above * above);
    return NAME(mish_gate)(x) + x * away * ((x < 0 ? e : 1) / (1 + e));
}

INLINE REAL NAME(gelu_tanh_of)(REAL x)
{
    return (REAL)0.5 * x * (1 + NAME(tanh_of)(TANH_GELU * (x + TANH_CUBE * x * x * x)));
}

INLINE REAL NAME(gelu_tanh_slope)(REAL x)
{
    REAL t = NAME(tanh_of)(TANH_GELU * (x + TANH_CUBE * x * x * x));
    return (REAL)0.5 * (1 + t) + (REAL)0.5 * x * (1 - t * t) * (TANH_GELU * (1 + 3 * TANH_CUBE * x * x));
}

/* |d| up to a limit, times the rest of its way. */
INLINE REAL NAME(huber_of)(REAL d, REAL limit, REAL unit)
{
    REAL away = NAME(fabs)(d), near = away > limit ? limit : away;
    return near / unit * (away - (REAL)0.5 * near);
}

OF_EACH(erf_all, NAME(erf)(X))
OF_EACH(sign, X > 0 ? 1 : X < 0 ? -1 : 0)
OF_EACH(relu, X < 0 ? 0 : X)
OF_EACH(threshold_pull, X <= A ? 0 : G)
OF_EACH(leaky_relu, X > 0 ? X : A * X)
OF_EACH(leaky_relu_pull, X > 0 ? G : A * G)
OF_EACH(elu, X >= 0 ? B * X : (REAL)(a * b) * NAME(expm1_below)(C * (X >= 0 ? 0 : X)))
OF_EACH(elu_pull, X > 0 ? G * B : G * (REAL)(a * b * c) * NAME(exp_below)(C * (X >= 0 ? 0 : X)))
OF_EACH(sigmoid, NAME(sigmoid_of)(X))
OF_EACH(log_sigmoid, (X < 0 ? X : 0) - NAME(log1p_unit)(NAME(exp_below)(X < 0 ? X : -X)))
OF_EACH(softplus, X * A > B ? X : NAME(softplus_of)(X * A) / A)
OF_EACH(gelu, (REAL)0.5 * X * (1 + NAME(normal_balance)(X)))
OF_EACH(gelu_pull, G * NAME(gelu_slope)(X))
OF_EACH(tanh_all, NAME(tanh_of)(X))
OF_EACH(clip, NAME(between)(X, A, B))
OF_EACH(hardtanh_pull, (X <= A) | (X >= B) ? 0 : G)
OF_EACH(hardsigmoid, NAME(between)(X + 3, 0, 6) / 6)
OF_EACH(hardsigmoid_pull, (X > -3) & (X < 3) ? G / 6 : 0)
OF_EACH(hardswish, X * NAME(between)(X + 3, 0, 6) / 6)
OF_EACH(hardswish_pull, X <= -3 ? 0 : X < 3 ? G * (X / 3 + (REAL)0.5) : G)
OF_EACH(hardshrink, (X >= -A) & (X <= A) ? 0 : X)
OF_EACH(hardshrink_pull, (X > A) | (X < -A) ? G : 0)
OF_EACH(softshrink, X - NAME(between)(X, -A, A))
OF_EACH(silu, X * NAME(sigmoid_of)(X))
OF_EACH(silu_pull, G * NAME(silu_slope)(X))
OF_EACH(mish, X * NAME(mish_gate)(X))
OF_EACH(mish_pull, G * NAME(mish_slope)(X))
OF_EACH(gelu_tanh, NAME(gelu_tanh_of)(X))
OF_EACH(gelu_tanh_pull, G * NAME(gelu_tanh_slope)(X))
OF_EACH(smooth_l1, NAME(huber_of)(G - X, A, A))
OF_EACH(smooth_l1_slope, G - X >= A ? 1 : G - X <= -A ? -1 : (G - X) / A)
OF_EACH(huber, NAME(huber_of)(G - X, A, 1))
OF_EACH(huber_slope, NAME(between)(G - X, -A, A))
OF_EACH(replace_nonfinite, X != X ? A : X == (REAL)INFINITY ? B : X == -(REAL)INFINITY ? C : X)
OF_EACH(lerp, NAME(fabs)(A) < (REAL)0.5 ? G + A * (X - G) : X - (X - G) * (1 - A))

#undef X
#undef G
#undef OF_EACH
#undef INV_SQRT_TAU
#undef TANH_GELU
#undef TANH_CUBE
