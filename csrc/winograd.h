/* Convolutions of 3x3 with fewer products: see loops/winograd.h. */

#ifndef FLAMBEAU_WINOGRAD_H
#define FLAMBEAU_WINOGRAD_H

#include "kernels.h"

/* Whether it takes less time than the direct sums. */
bool winograd_wins(const Winograd *s);

/* The result, or gradient of an input, of samples without gaps. False if there was no memory or if it is not finite:
 * tiles share what is not, so the direct sums have to say where it belongs. */
bool winograd_sums(const Winograd *s, const Loops *loops);

/* The gradient of the weights into `packed`, from the source and the gradient of the result in `out`; false as above. */
bool winograd_weight_sums(const Winograd *s, const Loops *loops);

#endif
