/* Branch-free functions of one number, so that loops over them are vectorized.
 *
 * The polynomials come from tools/kernel_polynomials.py.
 */

INLINE float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE double double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* a * b + c: rounded once where the processor can, twice elsewhere. */
INLINE float madd_float(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

INLINE double madd_double(double a, double b, double c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* The same of vectors. */
INLINE float_vector vector_madd_float(float_vector a, float_vector b, float_vector c)
{
#if defined(__FMA__) && WIDTH == 64
    return (float_vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__) && WIDTH == 32
    return (float_vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (float_vector)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

INLINE double_vector vector_madd_double(double_vector a, double_vector b, double_vector c)
{
#if defined(__FMA__) && WIDTH == 64
    return (double_vector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__) && WIDTH == 32
    return (double_vector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    return (double_vector)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

INLINE float root_float(float x)
{
    return sqrtf(x);
}

INLINE double root_double(double x)
{
    return sqrt(x);
}

/* exp(x) = 2**k exp(r) with |r| < log(2) / 2. Adding 1.5 * 2**23 (or 2**52) rounds to an integer k, which then stands in
 * the last bits. */

/* p of exp(r) = 1 + p r, and r */
INLINE float exp_factor_float(float x, float *shifted, float *rest)
{
    *shifted = madd_float(x, 1.44269504f, 12582912.0f);
    float k = *shifted - 12582912.0f;
    float r = madd_float(k, -0.693359375f, x); /* exact: log(2) to a few bits; the others follow */
    r = madd_float(k, 2.12194440e-4f, r);
    float p = 0.0001989108046f;
    p = madd_float(p, r, 0.001393373072f);
    p = madd_float(p, r, 0.008333310845f);
    p = madd_float(p, r, 0.0416664642f);
    p = madd_float(p, r, 0.1666666668f);
    p = madd_float(p, r, 0.5000000014f);
    *rest = r;
    return madd_float(p, r, 1.0f);
}

INLINE float exp_reduced_float(float x, float *shifted)
{
    float r, p = exp_factor_float(x, shifted, &r);
    return madd_float(p, r, 1.0f);
}

INLINE double exp_factor_double(double x, double *shifted, double *rest)
{
    *shifted = madd_double(x, 1.4426950408889634, 6755399441055744.0);
    double k = *shifted - 6755399441055744.0;
    double r = madd_double(k, -6.93147180369123816490e-01, x);
    r = madd_double(k, -1.90821492927058770002e-10, r);
    double p = 2.09147553258932022e-9;
    p = madd_double(p, r, 2.51053127296221018e-8);
    p = madd_double(p, r, 2.75572734787185805e-7);
    p = madd_double(p, r, 2.75572551700008874e-6);
    p = madd_double(p, r, 0.0000248015873256774619);
    p = madd_double(p, r, 0.000198412698750022788);
    p = madd_double(p, r, 0.00138888888888837112);
    p = madd_double(p, r, 0.00833333333332608312);
    p = madd_double(p, r, 0.0416666666666666698);
    p = madd_double(p, r, 0.16666666666666671);
    p = madd_double(p, r, 0.5);
    *rest = r;
    return madd_double(p, r, 1.0);
}

INLINE double exp_reduced_double(double x, double *shifted)
{
    double r, p = exp_factor_double(x, shifted, &r);
    return madd_double(p, r, 1.0);
}

/* exp(x) of x <= 0, or of what is not a number. 2**k comes in two factors, as it may be less than the least normal
 * number; the upper bits of `shifted` fall out. */
INLINE float exp_below_float(float x)
{
    float shifted, y = exp_reduced_float(x, &shifted);
    uint32_t tiny = x < -87.0f ? 64u : 0u;
    y *= float_of_bits((bits_of_float(shifted) + 127u + tiny) << 23);
    y *= x < -87.0f ? 0x1p-64f : 1.0f;
    return x < -104.0f ? 0.0f : y;
}

INLINE double exp_below_double(double x)
{
    double shifted, y = exp_reduced_double(x, &shifted);
    uint64_t tiny = x < -708.0 ? 64u : 0u;
    y *= double_of_bits((bits_of_double(shifted) + 1023u + tiny) << 52);
    y *= x < -708.0 ? 0x1p-64 : 1.0;
    return x < -746.0 ? 0.0 : y;
}

/* exp(x) - 1 of x <= 0, or of what is not a number. */
INLINE float expm1_below_float(float x)
{
    float shifted, r, p = exp_factor_float(x, &shifted, &r), power = float_of_bits((bits_of_float(shifted) + 127u) << 23);
    return x < -18.0f ? -1.0f : madd_float(power, p * r, power - 1.0f);
}

INLINE double expm1_below_double(double x)
{
    double shifted, r, p = exp_factor_double(x, &shifted, &r);
    double power = double_of_bits((bits_of_double(shifted) + 1023u) << 52);
    return x < -38.0 ? -1.0 : madd_double(power, p * r, power - 1.0);
}

/* log(1 + u) of 0 <= u <= 1: 2 atanh(s) with s = u / (2 + u), which is at most 1 / 3, by its series. */
INLINE float log1p_unit_float(float u)
{
    float s = u / (2.0f + u), z = s * s;
    float p = 1.0f / 15.0f;
    p = madd_float(p, z, 1.0f / 13.0f);
    p = madd_float(p, z, 1.0f / 11.0f);
    p = madd_float(p, z, 1.0f / 9.0f);
    p = madd_float(p, z, 1.0f / 7.0f);
    p = madd_float(p, z, 1.0f / 5.0f);
    p = madd_float(p, z, 1.0f / 3.0f);
    p = madd_float(p, z, 1.0f);
    return 2.0f * s * p;
}

INLINE double log1p_unit_double(double u)
{
    double s = u / (2.0 + u), z = s * s;
    double p = 1.0 / 31.0;
    p = madd_double(p, z, 1.0 / 29.0);
    p = madd_double(p, z, 1.0 / 27.0);
    p = madd_double(p, z, 1.0 / 25.0);
    p = madd_double(p, z, 1.0 / 23.0);
    p = madd_double(p, z, 1.0 / 21.0);
    p = madd_double(p, z, 1.0 / 19.0);
    p = madd_double(p, z, 1.0 / 17.0);
    p = madd_double(p, z, 1.0 / 15.0);
    p = madd_double(p, z, 1.0 / 13.0);
    p = madd_double(p, z, 1.0 / 11.0);
    p = madd_double(p, z, 1.0 / 9.0);
    p = madd_double(p, z, 1.0 / 7.0);
    p = madd_double(p, z, 1.0 / 5.0);
    p = madd_double(p, z, 1.0 / 3.0);
    p = madd_double(p, z, 1.0);
    return 2.0 * s * p;
}

/* A polynomial up to 1, where 1 - exp(-2 |x|) would lose digits. */
INLINE float tanh_of_float(float x)
{
    float z = x * x, e = exp_below_float(x < 0 ? x + x : -x - x);
    float near = -0.00042069549386f;
    near = madd_float(near, z, 0.0025104593252f);
    near = madd_float(near, z, -0.0082189218978f);
    near = madd_float(near, z, 0.021660115375f);
    near = madd_float(near, z, -0.053934788851f);
    near = madd_float(near, z, 0.13333128521f);
    near = madd_float(near, z, -0.33333331252f);
    near = madd_float(near * z, x, x);
    float far = 1.0f - (e + e) / (1.0f + e);
    far = x < 0 ? -far : far;
    return z < 1.0f ? near : far;
}

INLINE double tanh_of_double(double x)
{
    return tanh(x); /* one by one, but exact */
}

/* A polynomial near zero; further away 1 - exp(-q(|x|)), which is 1 from about 4 on. */
INLINE float erf_float(float x)
{
    float t = x < 0 ? -x : x, s = x * x;
    float near = 7.875875063e-5f;
    near = madd_float(near, s, -0.0008016864287f);
    near = madd_float(near, s, 0.005189087423f);
    near = madd_float(near, s, -0.02685421201f);
    near = madd_float(near, s, 0.1128359472f);
    near = madd_float(near, s, -0.3761262667f);
    near = madd_float(near, s, 0.1283791658f); /* and 1, which would take the digits of the rest */
    near = madd_float(near, x, x);
    float u = t > 4.05f ? 4.05f : t;
    float q = -1.622679171e-6f;
    q = madd_float(q, u, 4.5786247e-5f);
    q = madd_float(q, u, -0.0005946317951f);
    q = madd_float(q, u, 0.004749935118f);
    q = madd_float(q, u, -0.02639505451f);
    q = madd_float(q, u, 0.1100362846f);
    q = madd_float(q, u, 0.6318707643f);
    q = madd_float(q, u, 1.13020803f);
    q = madd_float(q, u, -0.0003139770934f);
    float shifted, y = exp_reduced_float(-q, &shifted);
    float far = 1.0f - y * float_of_bits((bits_of_float(shifted) + 127u) << 23);
    far = x < 0 ? -far : far;
    return t < 1.0f ? near : far;
}

INLINE double erf_double(double x)
{
    return erf(x); /* one by one, but exact */
}

/* How much more probable a normal number is below x than above: erf(x / sqrt(2)), as a quotient of polynomials of x**2. */
INLINE float normal_balance_float(float x)
{
    float s = x * x;
    float p = -1.262375398e-10f;
    p = madd_float(p, s, 9.637187115e-8f);
    p = madd_float(p, s, 1.623680129e-5f);
    p = madd_float(p, s, 0.0003352750861f);
    p = madd_float(p, s, 0.009541565203f);
    p = madd_float(p, s, 0.065284546f);
    p = madd_float(p, s, 0.7978845618f);
    float q = 1.877826691e-6f;
    q = madd_float(q, s, 7.999439447e-5f);
    q = madd_float(q, s, 0.001913177054f);
    q = madd_float(q, s, 0.02837327746f);
    q = madd_float(q, s, 0.248488738f);
    q = madd_float(q, s, 1.0f);
    float far = x < 0 ? -1.0f : 1.0f;
    return s < 28.09f ? x * p / q : far;
}

INLINE double normal_balance_double(double x)
{
    return erf(x * 0.70710678118654752440); /* one by one, but exact */
}

/* The probability that a normal number is above |x|, given exp(-x**2 / 2): a polynomial of 1 / (1 + 0.23 |x|) times it. */
INLINE float normal_tail_float(float x, float density)
{
    float t = 1.0f / madd_float(x < 0 ? -x : x, 0.23f, 1.0f);
    float p = -0.07770252f;
    p = madd_float(p, t, 0.28679179f);
    p = madd_float(p, t, -0.27084707f);
    p = madd_float(p, t, 0.29338044f);
    p = madd_float(p, t, -0.02748898f);
    p = madd_float(p, t, 0.11726397f);
    p = madd_float(p, t, 0.086324293f);
    p = madd_float(p, t, 0.092301356f);
    p = madd_float(p, t, -2.3296253e-5f);
    return p * density;
}

INLINE double normal_tail_double(double x, double density)
{
    (void)density;
    return 0.5 * erfc(fabs(x) * 0.70710678118654752440);
}

/* ---- for divisions */

/* a - quotient * b, without an error if the quotient of a and b is small; not a number where that would take long. */
INLINE float_vector vector_rest_float(float_vector a, float_vector quotient, float_vector b)
{
#if defined(__FMA__) || defined(__aarch64__)
    return vector_madd_float(-quotient, b, a);
#else
    typedef double wide __attribute__((vector_size(2 * WIDTH)));
#define WIDE(x) __builtin_convertvector(x, wide)
    return __builtin_convertvector(WIDE(a) - WIDE(quotient) * WIDE(b), float_vector);
#undef WIDE
#endif
}

INLINE double_vector vector_rest_double(double_vector a, double_vector quotient, double_vector b)
{
#if defined(__FMA__) || defined(__aarch64__)
    return vector_madd_double(-quotient, b, a);
#else
    return (void)a, (void)quotient, (void)b, (double_vector){0} + (double)NAN;
#endif
}

#define FOR_BOTH(name) \
    INLINE float name##_float(float x) { return name##f(x); } \
    INLINE double name##_double(double x) { return name(x); }
#define OF_TWO_FOR_BOTH(name) \
    INLINE float name##_float(float x, float y) { return name##f(x, y); } \
    INLINE double name##_double(double x, double y) { return name(x, y); }

FOR_BOTH(trunc)
FOR_BOTH(floor)
FOR_BOTH(rint)
FOR_BOTH(fabs)
OF_TWO_FOR_BOTH(copysign)
OF_TWO_FOR_BOTH(fmod)
