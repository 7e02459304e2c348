/* Numbers from the words of a Mersenne Twister, converted as in PyTorch. */

#include "kernels.h"

#include <math.h>

#include "draws.h"

/* ---- words */

static inline uint32_t turned(uint32_t far, uint32_t own, uint32_t next)
{
    uint32_t y = (own & 0x80000000u) | (next & 0x7FFFFFFFu);
    return far ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908B0DFu);
}

static void turn(uint32_t *key)
{
    int i;
    for (i = 0; i < WORDS - 397; i++) {
        key[i] = turned(key[i + 397], key[i], key[i + 1]);
    }
    for (; i < WORDS - 1; i++) {
        key[i] = turned(key[i - (WORDS - 397)], key[i], key[i + 1]);
    }
    key[i] = turned(key[i - (WORDS - 397)], key[i], key[0]);
}

static void take_words(Twister *t, uint32_t *out, npy_intp n)
{
    for (npy_intp some; n > 0; n -= some, out += some, t->next += (int)some) {
        if (t->next >= WORDS) {
            turn(t->key);
            t->next = 0;
        }
        const uint32_t *key = t->key + t->next;
        some = n < WORDS - t->next ? n : WORDS - t->next;
        for (npy_intp i = 0; i < some; i++) {
            uint32_t y = key[i];
            y ^= y >> 11;
            y ^= (y << 7) & 0x9D2C5680u;
            y ^= (y << 15) & 0xEFC60000u;
            out[i] = y ^ (y >> 18);
        }
    }
}

/* Up to PAIRS words of 64 bits, the high half first. */
void take_wide_words(Twister *t, uint64_t *out, npy_intp n)
{
    uint32_t halves[2 * PAIRS];
    take_words(t, halves, 2 * n);
    for (npy_intp i = 0; i < n; i++) {
        out[i] = (uint64_t)halves[2 * i] << 32 | halves[2 * i + 1];
    }
}

/* ---- uniforms */

static void unit_floats(Twister *t, float *out, npy_intp n)
{
    uint32_t words[2 * PAIRS];
    for (npy_intp some; n > 0; n -= some, out += some) {
        some = n < 2 * PAIRS ? n : 2 * PAIRS;
        take_words(t, words, some);
        for (npy_intp i = 0; i < some; i++) {
            out[i] = (float)(int32_t)(words[i] & 0xFFFFFF) * 0x1p-24f;
        }
    }
}

void unit_doubles(Twister *t, double *out, npy_intp n)
{
    uint64_t words[PAIRS];
    for (npy_intp some; n > 0; n -= some, out += some) {
        some = n < PAIRS ? n : PAIRS;
        take_wide_words(t, words, some);
        for (npy_intp i = 0; i < some; i++) {
            out[i] = (double)(int64_t)(words[i] & 0x1FFFFFFFFFFFFF) * 0x1p-53;
        }
    }
}

/* x * scale + shift, rounded once. */
static void scale_floats(float *x, npy_intp n, double scale, double shift)
{
    float by = (float)scale, plus = (float)shift;
    for (npy_intp i = 0; i < n; i++) {
        x[i] = shift == 0 ? x[i] * by : (float)((double)x[i] * by + plus); /* the product is exact */
    }
}

void scale_doubles(double *x, npy_intp n, double scale, double shift)
{
    for (npy_intp i = 0; i < n; i++) {
        x[i] = shift == 0 ? x[i] * scale : fma(x[i], scale, shift);
    }
}

/* Rounding can carry a draw to the open end of the interval; PyTorch then takes the closed one. */
void uniform_floats(Twister *t, float *out, npy_intp n, double low, double high)
{
    unit_floats(t, out, n);
    if (low == 0 && high == 1) {
        return;
    }
    scale_floats(out, n, (float)high - (float)low, low);
    for (npy_intp i = 0; i < n && low != 0 && low != -high; i++) {
        out[i] = out[i] == (float)high ? (float)low : out[i];
    }
}

void uniform_doubles(Twister *t, double *out, npy_intp n, double low, double high)
{
    unit_doubles(t, out, n);
    if (low == 0 && high == 1) {
        return;
    }
    scale_doubles(out, n, high - low, low);
    for (npy_intp i = 0; i < n && low != 0 && low != -high; i++) {
        out[i] = out[i] == high ? low : out[i];
    }
}

/* ---- normals, in blocks of sixteen */

static void double_blocks(double *x, npy_intp blocks)
{
    for (; blocks > 0; blocks--, x += 16) {
        for (int i = 0; i < 8; i++) {
            double radius = sqrt(-2 * log(1 - x[i])), angle = TURN * x[i + 8];
            x[i] = radius * cos(angle);
            x[i + 8] = radius * sin(angle);
        }
    }
}

/* The last sixteen are drawn again, as a block, if some are left. */
void normal_floats(Twister *t, float *x, npy_intp n, double mean, double std)
{
    const Loops *loops = loops_of[0];
    unit_floats(t, x, n);
    loops->box_muller(x, n / 16);
    npy_intp whole = n % 16 == 0 ? n : n - 16;
    if (whole < n) {
        unit_floats(t, x + whole, 16);
        loops->box_muller(x + whole, 1);
    }
    if (mean != 0 || std != 1) {
        scale_floats(x, n, std, mean);
    }
}

void normal_doubles(Twister *t, double *x, npy_intp n, double mean, double std)
{
    unit_doubles(t, x, n);
    npy_intp whole = n % 16 == 0 ? n : n - 16;
    double_blocks(x, n / 16);
    if (whole < n) {
        unit_doubles(t, x + whole, 16);
        double_blocks(x + whole, 1);
    }
    if (mean != 0 || std != 1) {
        scale_doubles(x, n, std, mean);
    }
}

/* ---- integers */

/* The remainders of words; `by` is at least 2, so that quotients, which doubles divide exactly enough, fit 32 bits. */
static inline double remainder_of(uint32_t word, double by)
{
    return word - (double)(int32_t)(word / by) * by;
}

/* Up to PAIRS of them. */
static void some_integers(Twister *t, uint64_t *out, npy_intp n, uint64_t low, uint64_t count)
{
    uint32_t words[PAIRS];
    if (count >= WIDE) {
        take_wide_words(t, out, n);
        for (npy_intp i = 0; i < n; i++) {
            out[i] = low + out[i] % count;
        }
        return;
    }
    take_words(t, words, n);
    for (npy_intp i = 0; i < n; i++) {
        out[i] = low + (count < 2 ? 0 : (uint64_t)(int32_t)remainder_of(words[i], (double)count));
    }
}

void draw_integers(Twister *t, void *out, ptrdiff_t n, uint64_t low, uint64_t count, int type)
{
    uint64_t drawn[PAIRS];
    for (npy_intp start = 0, some; start < n; start += some) {
        some = n - start < PAIRS ? n - start : PAIRS;
        some_integers(t, drawn, some, low, count);
        for (npy_intp i = 0; i < some; i++) {
            int64_t integer = (int64_t)drawn[i];
            switch (type) {
            case NPY_FLOAT:
                ((float *)out)[start + i] = (float)integer;
                break;
            case NPY_DOUBLE:
                ((double *)out)[start + i] = (double)integer;
                break;
            case NPY_INT32:
                ((int32_t *)out)[start + i] = (int32_t)integer;
                break;
            default:
                ((int64_t *)out)[start + i] = integer;
            }
        }
    }
}

/* Fisher and Yates: each place is swapped with one among itself and those after it. */
void draw_order(Twister *t, int64_t *order, npy_intp n)
{
    uint32_t words[2 * PAIRS];
    for (npy_intp i = 0; i < n; i++) {
        order[i] = i;
    }
    for (npy_intp i = 0, some; i < n - 1; i += some) {
        some = n - 1 - i < 2 * PAIRS ? n - 1 - i : 2 * PAIRS;
        take_words(t, words, some);
        for (npy_intp j = 0; j < some; j++) {
            words[j] = (uint32_t)(int32_t)remainder_of(words[j], (double)(n - i - j));
        }
        for (npy_intp j = 0; j < some; j++) {
            int64_t *here = order + i + j, swapped = *here;
            *here = here[words[j]];
            here[words[j]] = swapped;
        }
    }
}
