/* The loops, compiled for AVX-512. */

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
#endif

#define WIDTH 64
#define TABLE AVX512_LOOPS
#include "loops/all.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int no_loops_here; /* a file must declare something */
#endif
