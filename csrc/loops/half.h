/* Half precision: conversion of float16 and bfloat16 to float and back, rounding to nearest even.
 *
 * Branch-free bit operations; most current processors have an instruction for float16.
 */

INLINE float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t finite = bits_of_float(float_of_bits(rest) * 0x1p112f); /* the exponents differ by 112 */
    return float_of_bits(sign | (rest < 0x0f800000u ? finite : rest | 0x7f800000u));
}

INLINE uint16_t half_of_float(float x)
{
    uint32_t bits = bits_of_float(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t normal = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    /* Added to 1/2, a number below the least normal one loses the bits that a half has no room for. */
    uint32_t tiny = bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000u;
    uint32_t large = rest > 0x7f800000u ? 0x7e00u | (rest >> 13 & 0x3ffu) : 0x7c00u;
    return (uint16_t)(sign | (rest < 0x38800000u ? tiny : rest < 0x47800000u ? normal : large));
}

static void halves_to_floats(const void *from, void *to, ptrdiff_t n)
{
    const uint16_t *restrict x = from;
    float *restrict out = to;
    ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
    }
#endif
    for (; i < n; i++) {
        out[i] = float_of_half(x[i]);
    }
}

static void floats_to_halves(const void *from, void *to, ptrdiff_t n)
{
    const float *restrict x = from;
    uint16_t *restrict out = to;
    ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; i++) {
        out[i] = half_of_float(x[i]);
    }
}

/* A bfloat16 is the upper half of a float. */

static void brains_to_floats(const void *from, void *to, ptrdiff_t n)
{
    const uint16_t *restrict x = from;
    float *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = float_of_bits((uint32_t)x[i] << 16);
    }
}

static void floats_to_brains(const void *from, void *to, ptrdiff_t n)
{
    const float *restrict x = from;
    uint16_t *restrict out = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_float(x[i]), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        out[i] = (uint16_t)(is_nan ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
    }
}

/* ---- sums, in floats: of so few numbers that the lanes of four vectors may add them in a row */

typedef uint16_t narrow_loose __attribute__((vector_size(WIDTH / 2), aligned(2), may_alias));
typedef uint32_t wide_bits __attribute__((vector_size(WIDTH)));

INLINE float_vector vector_of_brains(const uint16_t *x)
{
    return (float_vector)(__builtin_convertvector(*(const narrow_loose *)x, wide_bits) << 16);
}

INLINE float_vector vector_of_halves(const uint16_t *x)
{
#if WIDTH == 64 && defined(__AVX512F__)
    return (float_vector)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)x));
#elif WIDTH == 32 && defined(__F16C__)
    return (float_vector)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
#else
    float wide[WIDTH / sizeof(float)];
    halves_to_floats(x, wide, WIDTH / sizeof(float));
    return *(const float_loose *)wide;
#endif
}

INLINE float narrow_sum(const uint16_t *x, ptrdiff_t n, float_vector (*vector_of)(const uint16_t *),
                        void (*widen)(const void *, void *, ptrdiff_t))
{
    const ptrdiff_t lanes = WIDTH / sizeof(float);
    float_vector a = {0}, b = {0}, c = {0}, d = {0};
    ptrdiff_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a += vector_of(x + i);
        b += vector_of(x + i + lanes);
        c += vector_of(x + i + 2 * lanes);
        d += vector_of(x + i + 3 * lanes);
    }
    float rest[4 * WIDTH / sizeof(float)], sum = 0;
    a = (a + b) + (c + d);
    widen(x + i, rest, n - i);
    for (ptrdiff_t j = 0; j < n - i; j++) {
        sum += rest[j];
    }
    for (ptrdiff_t j = 0; j < lanes; j++) {
        sum += a[j];
    }
    return sum;
}

static float sum_halves(const void *x, ptrdiff_t n)
{
    return narrow_sum(x, n, vector_of_halves, halves_to_floats);
}

static float sum_brains(const void *x, ptrdiff_t n)
{
    return narrow_sum(x, n, vector_of_brains, brains_to_floats);
}

/* ---- arithmetic, in floats that do not leave the cache */

#define PIECE 512

INLINE void combined(const uint16_t *x, const uint16_t *y, uint16_t *out, ptrdiff_t n, Arithmetic how, Map widen,
                     Map narrow)
{
    float a[PIECE], b[PIECE];
    for (ptrdiff_t start = 0; start < n; start += PIECE) {
        ptrdiff_t count = n - start < PIECE ? n - start : PIECE;
        widen(x + start, a, count);
        widen(y + start, b, count);
        for (ptrdiff_t i = 0; i < count; i++) {
            a[i] = how == ADD ? a[i] + b[i] : how == SUBTRACT ? a[i] - b[i] : how == MULTIPLY ? a[i] * b[i]
                : a[i] / b[i];
        }
        narrow(a, out + start, count);
    }
}

#if defined(__F16C__)
INLINE __m256 eight_halves(const uint16_t *x)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}

/* As many as vectors have; returns how many. */
INLINE ptrdiff_t combined_vectors(const uint16_t *x, const uint16_t *y, uint16_t *out, ptrdiff_t n, Arithmetic how)
{
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 a = eight_halves(x + i), b = eight_halves(y + i);
        a = how == ADD ? a + b : how == SUBTRACT ? a - b : how == MULTIPLY ? a * b : a / b;
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}
#endif

static void combine_halves(const void *first, const void *second, void *to, ptrdiff_t n, Arithmetic how)
{
    const uint16_t *x = first, *y = second;
    uint16_t *out = to;
#if defined(__F16C__)
    ptrdiff_t whole = how == ADD ? combined_vectors(x, y, out, n, ADD)
        : how == SUBTRACT ? combined_vectors(x, y, out, n, SUBTRACT)
        : how == MULTIPLY ? combined_vectors(x, y, out, n, MULTIPLY) : combined_vectors(x, y, out, n, DIVIDE);
    x += whole, y += whole, out += whole, n -= whole;
#endif
    combined(x, y, out, n, how, halves_to_floats, floats_to_halves);
}

static void combine_brains(const void *x, const void *y, void *out, ptrdiff_t n, Arithmetic how)
{
    combined(x, y, out, n, how, brains_to_floats, floats_to_brains);
}

#undef PIECE
