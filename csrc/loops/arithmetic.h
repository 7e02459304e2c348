/* Functions of x and y, either of which may be a single number (`one_x`, `one_y`): one expression each, of a and b. */

#define OPERATION(name, ...) \
    INLINE REAL NAME(name##_of)(REAL a, REAL b) \
    { \
        return __VA_ARGS__; \
    } \
    static void NAME(name)(const void *of_x, const void *of_y, void *to, ptrdiff_t n, bool one_x, bool one_y) \
    { \
        const REAL *x = of_x, *y = of_y; \
        REAL *restrict out = to; \
        if (one_x) { \
            const REAL a = *x; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = NAME(name##_of)(a, y[i]); \
            } \
        } else if (one_y) { \
            const REAL b = *y; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = NAME(name##_of)(x[i], b); \
            } \
        } else { \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = NAME(name##_of)(x[i], y[i]); \
            } \
        } \
    }

/* The length of a vector, of which one infinite part is enough; doubles hold the squares of all floats. */
INLINE REAL NAME(length_of)(REAL a, REAL b)
{
    if (sizeof(REAL) == 8) {
        return (REAL)hypot(a, b);
    }
    double p = (double)a, q = (double)b;
    REAL length = (REAL)sqrt(p * p + q * q);
    return (NAME(fabs)(a) == (REAL)INFINITY) | (NAME(fabs)(b) == (REAL)INFINITY) ? (REAL)INFINITY : length;
}

/* log(exp(a) + exp(b)), by how far the smaller one is below the larger; equal infinities have no distance. */
INLINE REAL NAME(log_of_sum)(REAL a, REAL b)
{
    REAL away = a == b ? 0 : a - b, larger = a > b ? a : b;
    return larger + NAME(log1p_unit)(NAME(exp_below)(away > 0 ? -away : away));
}

OPERATION(add, a + b)
OPERATION(subtract, a - b)
OPERATION(multiply, a * b)
OPERATION(divide_by, a / b)
OPERATION(hypot_all, NAME(length_of)(a, b))
OPERATION(logaddexp, NAME(log_of_sum)(a, b))

#undef OPERATION
