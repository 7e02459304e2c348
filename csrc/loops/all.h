/* All loops, for both types, with vectors of WIDTH bytes; the including file also names their table. */

#include "../loops.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define LANES ((ptrdiff_t)(WIDTH / sizeof(REAL)))
#define FEW ((ptrdiff_t)(16 / sizeof(REAL)))
#define LOAD(p) ((TYPE(vector))*(const TYPE(loose) *)(p))
#define LOAD_SMALL(p) ((TYPE(small))*(const TYPE(loose_small) *)(p))
#define STORE(p, v) (*(TYPE(loose) *)(p) = (TYPE(loose))(v))

/* The part of a product of matrices that is held in registers. */
#if WIDTH == 64 || defined(__aarch64__)
#define TILE_ROWS 12 /* there are 32 registers */
#else
#define TILE_ROWS 6
#endif
#define TILE_COLUMNS (2 * LANES)

/* Vectors in registers, and the same anywhere in memory; small ones for what is left of a row. */
typedef float float_vector __attribute__((vector_size(WIDTH)));
typedef float float_loose __attribute__((vector_size(WIDTH), aligned(4), may_alias));
typedef float float_small __attribute__((vector_size(16)));
typedef float float_loose_small __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t float_int;
typedef int32_t float_ints __attribute__((vector_size(WIDTH)));
typedef double double_vector __attribute__((vector_size(WIDTH)));
typedef double double_loose __attribute__((vector_size(WIDTH), aligned(8), may_alias));
typedef double double_small __attribute__((vector_size(16)));
typedef double double_loose_small __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t double_int;
typedef int64_t double_ints __attribute__((vector_size(WIDTH)));

#include "functions.h"
#include "half.h"
#include "random.h"
#include "backwards.h"

#define REAL float
#define VECTOR float_vector
#define TYPE(kind) float_##kind
#define NAME(f) f##_float
#define SMALL 0x1p22f /* quotients up to here are exact but for the last integer */
#include "families.h"
static const Loops float_loops = TABLE_ROW;
#undef REAL
#undef VECTOR
#undef TYPE
#undef NAME
#undef SMALL

#define REAL double
#define VECTOR double_vector
#define TYPE(kind) double_##kind
#define NAME(f) f##_double
#define SMALL 0x1p51
#include "families.h"
static const Loops double_loops = TABLE_ROW;

const Loops *const TABLE[2] = {&float_loops, &double_loops};
