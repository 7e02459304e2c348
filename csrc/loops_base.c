/* The loops, compiled for any processor, and the dispatch among all versions. */

#define WIDTH 16
#define TABLE BASE_LOOPS
#include "loops/all.h"

#include <stdbool.h>

const Loops *loops_of[2];

#if defined(__x86_64__)
#include <cpuid.h>

extern const Loops *const AVX2_LOOPS[2], *const AVX512_LOOPS[2];

static bool has_f16c(void) /* older compilers have no name for it */
{
    unsigned int a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
}
#endif

static int take(const Loops *const *loops, int width)
{
    loops_of[0] = loops[0];
    loops_of[1] = loops[1];
    return width;
}

int choose_loops(int widest)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
                  && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (widest >= 64 && avx2 && avx512) {
        return take(AVX512_LOOPS, 64);
    }
    if (widest >= 32 && avx2) {
        return take(AVX2_LOOPS, 32);
    }
#else
    (void)widest;
#endif
    return take(BASE_LOOPS, 16);
}
