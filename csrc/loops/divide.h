/* Quotients rounded down, and what they leave.
 *
 * Both come from the remainder of the quotient rounded towards zero. It is exact, and quickly found, where that quotient
 * is a small number; what else there is in a piece (also zeros, infinities) is done again, one by one.
 */

#define PIECE 256

INLINE REAL NAME(down)(REAL a, REAL b, REAL rest)
{
    REAL quotient = (a - rest) / b;
    quotient -= rest != 0 && (b < 0) != (rest < 0) ? 1 : 0;
    REAL whole = NAME(floor)(quotient);
    whole += quotient - whole > (REAL)0.5 ? 1 : 0;
    REAL direct = a / b;
    return b == 0 ? direct : quotient == 0 ? NAME(copysign)(0, direct) : whole;
}

INLINE REAL NAME(left)(REAL a, REAL b, REAL rest)
{
    return rest == 0 ? NAME(copysign)(0, a) : (b < 0) != (rest < 0) ? rest + b : rest;
}

INLINE void NAME(divided)(const REAL *x, const REAL *y, REAL *out, ptrdiff_t n, bool by_one,
                          REAL (*finish)(REAL, REAL, REAL))
{
    REAL same[PIECE];
    for (ptrdiff_t i = 0; by_one && i < PIECE; i++) {
        same[i] = *y;
    }
    for (ptrdiff_t start = 0; start < n; start += PIECE) {
        const REAL *restrict a = x + start, *restrict b = by_one ? same : y + start;
        REAL *restrict to = out + start;
        ptrdiff_t count = n - start < PIECE ? n - start : PIECE;
        TYPE(int) hard = 0;
        for (ptrdiff_t i = 0; i < count; i++) {
            REAL quotient = NAME(trunc)(a[i] / b[i]), rest = NAME(rest)(a[i], quotient, b[i]);
            rest += rest != 0 && (rest < 0) != (a[i] < 0) ? NAME(copysign)(b[i], a[i]) : 0; /* it was rounded up */
            hard |= NAME(fabs)(quotient) < SMALL && rest == rest ? 0 : 1;
            to[i] = finish(a[i], b[i], rest);
        }
        for (ptrdiff_t i = 0; hard && i < count; i++) {
            REAL quotient = NAME(trunc)(a[i] / b[i]), rest = NAME(rest)(a[i], quotient, b[i]);
            if (!(NAME(fabs)(quotient) < SMALL && rest == rest)) {
                to[i] = finish(a[i], b[i], NAME(fmod)(a[i], b[i]));
            }
        }
    }
}

static void NAME(floor_divide)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(down));
}

static void NAME(remainder)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(left));
}

#undef PIECE
