/* Rounded division and remainders.
 *
 * All but one are computed from the remainder of truncated division. It is exact, and fast where the quotient is small;
 * other elements of a block (zeros and infinities too) are computed one by one. The code uses explicit vectors, since some
 * compilers do not vectorize these loops.
 */

#define PIECE 256
#define MAGNET (2 * SMALL) /* from here to twice as far a number has no fraction: adding it rounds */

INLINE VECTOR NAME(either)(TYPE(ints) mask, VECTOR a, VECTOR b)
{
    return (VECTOR)((mask & (TYPE(ints))a) | (~mask & (TYPE(ints))b));
}

INLINE TYPE(ints) NAME(sign_bits)(VECTOR x)
{
    return (TYPE(ints))x & (TYPE(ints))(-(VECTOR){0});
}

/* The size of a number with the sign of another one. */
INLINE VECTOR NAME(with_sign)(VECTOR size, VECTOR sign)
{
    return (VECTOR)(((TYPE(ints))size & ~(TYPE(ints))(-(VECTOR){0})) | NAME(sign_bits)(sign));
}

/* Rounded towards zero. */
INLINE VECTOR NAME(toward_zero)(VECTOR x)
{
    VECTOR size = NAME(with_sign)(x, (VECTOR){0}), whole = size + MAGNET - MAGNET;
    whole -= (VECTOR)((whole > size) & (TYPE(ints))((VECTOR){0} + 1));
    return NAME(with_sign)(NAME(either)(size < MAGNET, whole, size), x);
}

/* ---- what is made of a, b and the remainder of a / b rounded towards zero */

INLINE VECTOR NAME(down)(VECTOR a, VECTOR b, VECTOR rest)
{
    const VECTOR zero = {0}, one = zero + 1;
    VECTOR direct = a / b, quotient = (a - rest) / b;
    quotient -= (VECTOR)((rest != 0) & ((b < 0) ^ (rest < 0)) & (TYPE(ints))one);
    VECTOR whole = NAME(toward_zero)(quotient);
    whole -= (VECTOR)((whole > quotient) & (TYPE(ints))one);
    whole += (VECTOR)((quotient - whole > (REAL)0.5) & (TYPE(ints))one);
    whole = NAME(either)(quotient == 0, NAME(with_sign)(zero, direct), whole);
    return NAME(either)(b == 0, direct, whole);
}

INLINE VECTOR NAME(left)(VECTOR a, VECTOR b, VECTOR rest)
{
    VECTOR moved = NAME(either)((b < 0) ^ (rest < 0), rest + b, rest);
    return NAME(either)(rest == 0, NAME(with_sign)((VECTOR){0}, a), moved);
}

INLINE VECTOR NAME(left_toward_zero)(VECTOR a, VECTOR b, VECTOR rest)
{
    (void)b;
    return NAME(either)(rest == 0, NAME(with_sign)(rest, a), rest);
}

INLINE VECTOR NAME(truncated)(VECTOR a, VECTOR b, VECTOR rest)
{
    (void)rest;
    return NAME(toward_zero)(a / b);
}

typedef VECTOR (*NAME(Finish))(VECTOR a, VECTOR b, VECTOR rest);

/* ---- of whole arrays */

/* The remainder, and where it is not what it should be. */
INLINE VECTOR NAME(remainder_of)(VECTOR a, VECTOR b, TYPE(ints) *hard)
{
    VECTOR quotient = NAME(toward_zero)(a / b), rest = NAME(vector_rest)(a, quotient, b);
    TYPE(ints) above = (rest != 0) & ((rest < 0) ^ (a < 0)); /* the quotient was rounded up */
    rest += (VECTOR)(above & (TYPE(ints))NAME(with_sign)(b, a));
    *hard = ~((NAME(with_sign)(quotient, (VECTOR){0}) < SMALL) & (rest == rest));
    return rest;
}

/* A piece of no more than PIECE elements: whole vectors of them may be written. */
INLINE void NAME(divide_piece)(const REAL *a, const REAL *b, REAL *out, ptrdiff_t n, NAME(Finish) finish, bool rests)
{
    TYPE(ints) any = {0}, hard;
    bool some = false;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        VECTOR x = LOAD(a + i), y = LOAD(b + i), rest = {0};
        if (rests) {
            rest = NAME(remainder_of)(x, y, &hard);
            any |= hard;
        }
        STORE(out + i, finish(x, y, rest));
    }
    for (int lane = 0; lane < LANES; lane++) {
        some = some || any[lane];
    }
    for (ptrdiff_t i = 0; some && i < n; i += LANES) {
        VECTOR x = LOAD(a + i), y = LOAD(b + i), rest = NAME(remainder_of)(x, y, &hard);
        for (int lane = 0; lane < LANES; lane++) {
            rest[lane] = hard[lane] ? NAME(fmod)(x[lane], y[lane]) : rest[lane];
        }
        STORE(out + i, finish(x, y, rest));
    }
}

INLINE void NAME(divided)(const REAL *x, const REAL *y, REAL *out, ptrdiff_t n, bool by_one, NAME(Finish) finish,
                          bool rests)
{
    REAL a[LANES], b[PIECE], to[LANES];
    for (ptrdiff_t i = 0; i < PIECE; i++) {
        b[i] = by_one ? *y : 1;
    }
    ptrdiff_t whole = n / LANES * LANES, rest = n - whole;
    for (ptrdiff_t i = 0; i < whole; i += PIECE) {
        NAME(divide_piece)(x + i, by_one ? b : y + i, out + i, whole - i < PIECE ? whole - i : PIECE, finish, rests);
    }
    if (rest > 0) {
        for (ptrdiff_t i = 0; i < LANES; i++) {
            a[i] = i < rest ? x[whole + i] : 1;
            b[i] = i < rest && !by_one ? y[whole + i] : b[i];
        }
        NAME(divide_piece)(a, b, to, LANES, finish, rests);
        memcpy(out + whole, to, (size_t)rest * sizeof(REAL));
    }
}

static void NAME(floor_divide)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(down), true);
}

static void NAME(remainder)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(left), true);
}

static void NAME(fmod_all)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(left_toward_zero), true);
}

static void NAME(div_trunc)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one)
{
    NAME(divided)(x, y, out, n, by_one, NAME(truncated), false);
}

#undef PIECE
#undef MAGNET

/* ---- of integers as large as REAL, by others of which none is zero: false if one is */

INLINE int32_t NAME(int32_quotient)(int32_t a, int32_t b)
{
    double quotient = (double)a / (double)b; /* exact but for its fraction, and there are vectors of it */
    return (int32_t)(quotient > 2147483647.0 ? -2147483648.0 : quotient);
}

INLINE int64_t NAME(int64_quotient)(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

#define MANY 256
#define SHIFT 0x1.8p52 /* added to an integer below 2**51, it makes a double whose last bits it is */

/* Pieces of numbers below 2**51 are divided as doubles, whose quotients are off by less than what tells integers apart. */

INLINE bool NAME(are_small)(const int64_t *x, ptrdiff_t n)
{
    uint64_t some = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        some |= (uint64_t)x[i] + ((uint64_t)1 << 50);
    }
    return some >> 51 == 0;
}

INLINE double NAME(double_of)(int64_t x)
{
    union { int64_t bits; double number; } both = {.number = SHIFT};
    both.bits += x;
    return both.number - SHIFT;
}

INLINE int64_t NAME(integer_of)(double x)
{
    union { int64_t bits; double number; } both = {.number = x + SHIFT}, none = {.number = SHIFT};
    return both.bits - none.bits;
}

/* False if one of y is zero. */
INLINE bool NAME(divided_as_doubles)(const int64_t *restrict x, const int64_t *restrict y, int64_t *restrict out,
                                     ptrdiff_t n, WholeResult which)
{
    const bool floors = which == FLOOR_QUOTIENT || which == FLOOR_REST;
    int64_t zeros = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        zeros |= y[i] == 0;
        double a = NAME(double_of)(x[i]), b = NAME(double_of)(y[i] | (y[i] == 0));
        double nearest = (a / b + SHIFT) - SHIFT, rest = a - nearest * b;
        double like = floors ? b : a; /* whose sign the rest is to have */
        double one = floors || (rest < 0) != (b < 0) ? -1.0 : 1.0;
        double step = ((rest < 0) & (like > 0)) | ((rest > 0) & (like < 0)) ? one : 0.0;
        double result = which == FLOOR_QUOTIENT || which == QUOTIENT_TO_ZERO ? nearest + step : rest - step * b;
        out[i] = NAME(integer_of)(result);
    }
    return !zeros;
}

#define QUOTIENT(a, b) (TYPE(int))(sizeof(REAL) == 4 ? NAME(int32_quotient)((int32_t)(a), (int32_t)(b)) \
                                                     : NAME(int64_quotient)(a, b))

#define INTEGERS(name, which, result) \
    static bool NAME(name##_piece)(const TYPE(int) *restrict a, const TYPE(int) *restrict b, TYPE(int) *restrict to, \
                                   ptrdiff_t n) \
    { \
        TYPE(int) zeros = 0; \
        for (ptrdiff_t i = 0; i < n; i++) { \
            TYPE(int) by = b[i] == 0 ? 1 : b[i], quotient = QUOTIENT(a[i], by); \
            TYPE(int) rest = (TYPE(int))((uint64_t)a[i] - (uint64_t)quotient * (uint64_t)by); \
            TYPE(int) across = (rest != 0) & ((rest ^ by) < 0); /* without a branch, which would be guessed wrong */ \
            zeros |= b[i] == 0; \
            (void)across; \
            to[i] = result; \
        } \
        return !zeros; \
    } \
    static bool NAME(name)(const void *from, const void *by, void *out, ptrdiff_t n) \
    { \
        const TYPE(int) *x = from, *y = by; \
        TYPE(int) *to = out; \
        bool whole = true; \
        for (ptrdiff_t i = 0; i < n; i += MANY) { \
            ptrdiff_t count = n - i < MANY ? n - i : MANY; \
            const int64_t *a = (const void *)(x + i), *b = (const void *)(y + i); \
            if (sizeof(REAL) == 8 && NAME(are_small)(a, count) && NAME(are_small)(b, count)) { \
                whole &= NAME(divided_as_doubles)(a, b, (void *)(to + i), count, which); \
            } else { \
                whole &= NAME(name##_piece)(x + i, y + i, to + i, count); \
            } \
        } \
        return whole; \
    }

INTEGERS(floor_divide_ints, FLOOR_QUOTIENT, quotient - across)
INTEGERS(remainder_ints, FLOOR_REST, rest + (by & -across))
INTEGERS(fmod_ints, REST, rest)
INTEGERS(div_trunc_ints, QUOTIENT_TO_ZERO, quotient)

#undef INTEGERS
#undef QUOTIENT
#undef MANY
#undef SHIFT
