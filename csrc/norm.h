/* Declarations shared by the kernels that normalize planes. */

#ifndef FLAMBEAU_NORM_H
#define FLAMBEAU_NORM_H

#include "kernels.h"

#define SHARED (1 << 15) /* elements from which threads share the work */

/* A loop over `total` statistics, owners of them or planes, in parts. */
void run_planes(const PlaneNorm *norm, void (*loop)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop),
                ptrdiff_t total);

#endif
