/* Declarations shared by the convolution algorithms. Each takes arrays in row-major order, with elements of `item` bytes,
 * and returns false if it could not allocate memory; those with conditions also return false if they do not apply.
 * `finish` and the bias may be NULL. */

#ifndef FLAMBEAU_CONV_H
#define FLAMBEAU_CONV_H

#include "kernels.h"

typedef struct {
    int n;                                                                   /* dimensions of the arrays */
    ptrdiff_t samples, channels, results, groups;                            /* of all groups together */
    ptrdiff_t sizes[CONV_DIMS], counts[CONV_DIMS];                           /* of the input, of the result */
    ptrdiff_t kernel[CONV_DIMS], stride[CONV_DIMS], padding[CONV_DIMS], dilation[CONV_DIMS];
} Geometry;

static inline ptrdiff_t product_of(const ptrdiff_t *x)
{
    return x[0] * x[1] * x[2];
}

/* Where the last tap of a kernel lies in a dimension, counted from the first. */
static inline ptrdiff_t reach(const Geometry *g, int d)
{
    return (g->kernel[d] - 1) * g->dilation[d];
}

/* The sums as they are defined. */
bool direct_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w, const char *bias,
                    const Finish *finish, char *y);
bool direct_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                  const char *bias, char *x);
bool direct_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w);

/* Sums with the channels of the result in lanes: whether that takes less time; the source, with the given margins, and the
 * weights of all taps prepared for it (or later, if `packed` stays NULL); the sums over these taps, or over some of them at
 * some places. */
bool suits_lanes(const TapSums *s, const Loops *loops);
bool prepare_lanes(TapSums *s, const Loops *loops, ptrdiff_t item);
void release_lanes(TapSums *s);
bool sum_lanes(const TapSums *s, const Loops *loops, ptrdiff_t item);

/* Kernels as large as the image, by BLAS. */
bool whole_forward(const Geometry *g, ptrdiff_t item, const char *x, const char *w, const char *bias, char *y);
bool whole_input(const Geometry *g, ptrdiff_t item, const char *gradient, const char *w, const char *bias, char *x);
bool whole_weight(const Geometry *g, ptrdiff_t item, const char *x, const char *gradient, char *w);

/* Kernels of one tap: the first two where the input, or samples of few places, have to be laid out anew for it. */
bool pointwise_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w,
                       const char *bias, const Finish *finish, char *y);
bool pointwise_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                     const char *bias, char *x);
bool pointwise_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient,
                      char *w);

/* Kernels of 3x3 on images, with fewer products. False also where the result is not finite: tiles share what is not, so
 * the direct sums have to say where it belongs. */
bool winograd_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w,
                      const char *bias, const Finish *finish, char *y);
bool winograd_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                    const char *bias, char *x);
bool winograd_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w);

/* A kernel for each channel: one of x, w and the result g (or its gradient) is written to. Bias and finish are for FORWARD. */
typedef enum { FORWARD, INPUT, WEIGHT } Direction;
bool is_depthwise(const Geometry *g);
bool depthwise(const Geometry *g, const Loops *loops, ptrdiff_t item, Direction which, char *x, char *w, char *gradient,
               const char *bias, const Finish *finish);

#endif
