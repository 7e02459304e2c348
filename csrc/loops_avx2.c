/* The loops, compiled for AVX2. */

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#define WIDTH 32
#define TABLE AVX2_LOOPS
#include "loops/all.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int no_loops_here; /* a file must declare something */
#endif
