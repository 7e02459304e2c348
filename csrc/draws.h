/* Numbers from the words of a Mersenne Twister. */

#ifndef FLAMBEAU_DRAWS_H
#define FLAMBEAU_DRAWS_H

#include <stdint.h>

#define WORDS 624
#define PAIRS 256 /* of words that are taken at once */
#define WIDE (1 << 28) /* integers from which words of 64 bits are drawn */
#define TURN 6.283185307179586

/* The state of NumPy's Mersenne Twister, as it lies in memory; flambeau's Generator reads it, too. */
typedef struct {
    uint32_t key[WORDS];
    int next;
} Twister;

/* Up to PAIRS words of 64 bits, the high half first. */
void take_wide_words(Twister *t, uint64_t *out, ptrdiff_t n);

void unit_doubles(Twister *t, double *out, ptrdiff_t n);
void uniform_floats(Twister *t, float *out, ptrdiff_t n, double low, double high);
void uniform_doubles(Twister *t, double *out, ptrdiff_t n, double low, double high);

/* Sixteen at least. */
void normal_floats(Twister *t, float *out, ptrdiff_t n, double mean, double std);
void normal_doubles(Twister *t, double *out, ptrdiff_t n, double mean, double std);

/* x * scale + shift, rounded once. */
void scale_doubles(double *x, ptrdiff_t n, double scale, double shift);

/* low + a word % count, for NumPy's number of a type; sums wrap around. */
void draw_integers(Twister *t, void *out, ptrdiff_t n, uint64_t low, uint64_t count, int type);

/* A permutation of 0, ..., n - 1 < 2^31. */
void draw_order(Twister *t, int64_t *order, ptrdiff_t n);

#endif
