/* Normals from uniforms, rounded exactly as in PyTorch's vectorized code, so that a seed gives its numbers to the last
 * bit. What is fused there is fused here; compilers must not fuse the rest (-ffp-contract=off). */

#define PAIRS 512

/* The logarithm of numbers in (0, 1], by Cephes' polynomial. */
INLINE float drawn_log(float x)
{
    int32_t bits = (int32_t)bits_of_float(x);
    int32_t exponent = (bits - 0x3F3504F3) >> 23; /* of x over a mantissa between the roots of 1/2 and of 2 */
    float m = float_of_bits((uint32_t)(bits - exponent * (1 << 23))) - 1.0f, e = (float)exponent;
    float square = m * m;
    float y = fmaf(m, 7.0376836292e-2f, -1.1514610310e-1f);
    y = fmaf(y, m, 1.1676998740e-1f);
    y = fmaf(y, m, -1.2420140846e-1f);
    y = fmaf(y, m, 1.4249322787e-1f);
    y = fmaf(y, m, -1.6668057665e-1f);
    y = fmaf(y, m, 2.0000714765e-1f);
    y = fmaf(y, m, -2.4999993993e-1f);
    y = fmaf(y, m, 3.3333331174e-1f);
    y *= m;
    y = fmaf(y, square, e * -2.12194440e-4f);
    y -= square * 0.5f;
    return m + y + e * 0.693359375f;
}

/* `radius` times cosine and sine of numbers in [0, 2 pi]; the quadrant swaps and negates them, on the bits. */
INLINE void drawn_point(float x, float radius, float *cosine, float *sine)
{
    int32_t octant = ((int32_t)(x * 1.27323954473516f) + 1) & -2;
    float turns = (float)octant;
    x = x - turns * 0.78515625f;
    x = x - turns * 2.4187564849853515625e-4f;
    x = fmaf(turns, -3.77489497744594108e-8f, x);
    float square = x * x;
    float s = fmaf(square, -1.9515295891e-4f, 8.3321608736e-3f);
    s = fmaf(s, square, -1.6666654611e-1f);
    s = fmaf(s * square, x, x);
    float c = fmaf(square, 2.443315711809948e-5f, -1.388731625493765e-3f);
    c = fmaf(c, square, 4.166664568298827e-2f);
    c = fmaf(c * square, square, square * -0.5f) + 1.0f;
    uint32_t sine_bits = bits_of_float(s), cosine_bits = bits_of_float(c), quadrant = (uint32_t)octant;
    uint32_t swap = (0u - ((quadrant >> 1) & 1u)) & (sine_bits ^ cosine_bits);
    *sine = float_of_bits(sine_bits ^ swap ^ ((quadrant & 4u) << 29)) * radius;
    *cosine = float_of_bits(cosine_bits ^ swap ^ (((quadrant + 2u) & 4u) << 29)) * radius;
}

/* In blocks of sixteen: eight first and eight second uniforms become eight cosine and eight sine normals. */
static void box_muller(float *x, ptrdiff_t blocks)
{
    float radius[PAIRS], angle[PAIRS];
    for (ptrdiff_t some; blocks > 0; blocks -= some, x += 16 * some) {
        some = blocks < PAIRS / 8 ? blocks : PAIRS / 8;
        for (ptrdiff_t b = 0; b < some; b++) {
            memcpy(radius + 8 * b, x + 16 * b, 8 * sizeof(float));
            memcpy(angle + 8 * b, x + 16 * b + 8, 8 * sizeof(float));
        }
        for (ptrdiff_t i = 0; i < 8 * some; i++) {
            float r = sqrtf(drawn_log(1.0f - radius[i]) * -2.0f);
            drawn_point(angle[i] * 6.283185307179586f, r, &radius[i], &angle[i]);
        }
        for (ptrdiff_t b = 0; b < some; b++) {
            memcpy(x + 16 * b, radius + 8 * b, 8 * sizeof(float));
            memcpy(x + 16 * b + 8, angle + 8 * b, 8 * sizeof(float));
        }
    }
}

#undef PAIRS
