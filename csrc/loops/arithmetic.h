/* Sums, differences, products and quotients of x and y, of which there is only one where `one_x` or `one_y`. */

#define OPERATION(name, sign) \
    static void NAME(name)(const void *of_x, const void *of_y, void *to, ptrdiff_t n, bool one_x, bool one_y) \
    { \
        const REAL *x = of_x, *y = of_y; \
        REAL *restrict out = to; \
        if (one_x) { \
            const REAL a = *x; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = a sign y[i]; \
            } \
        } else if (one_y) { \
            const REAL b = *y; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = x[i] sign b; \
            } \
        } else { \
            for (ptrdiff_t i = 0; i < n; i++) { \
                out[i] = x[i] sign y[i]; \
            } \
        } \
    }

OPERATION(add, +)
OPERATION(subtract, -)
OPERATION(multiply, *)
OPERATION(divide_by, /)

#undef OPERATION
