/* Matrix transposes: from planes to channels in lanes, and back. Floats are transposed in square blocks. */

#if defined(__clang__)
#define SHUFFLE(ints, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(ints, a, b, ...) __builtin_shuffle(a, b, (ints){__VA_ARGS__})
#endif
#define SHUFFLE_4(...) SHUFFLE(transpose_4_ints, __VA_ARGS__)
#define SHUFFLE_8(...) SHUFFLE(transpose_8_ints, __VA_ARGS__)

#ifndef TRANSPOSE_TYPES
#define TRANSPOSE_TYPES
typedef float transpose_4 __attribute__((vector_size(16)));
typedef float transpose_8 __attribute__((vector_size(32)));
typedef int32_t transpose_4_ints __attribute__((vector_size(16)));
typedef int32_t transpose_8_ints __attribute__((vector_size(32)));
#endif

/* out[j][i] = x[i][j] for i, j < 4; rows are `step` and `out_step` elements apart. */
INLINE void NAME(transpose_by_4)(const REAL *x, ptrdiff_t step, REAL *out, ptrdiff_t out_step)
{
    transpose_4 r[4], s[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        memcpy(&r[i], x + i * step, sizeof r[i]);
    }
    transpose_4 low = SHUFFLE_4(r[0], r[1], 0, 4, 1, 5), high = SHUFFLE_4(r[0], r[1], 2, 6, 3, 7);
    transpose_4 low_2 = SHUFFLE_4(r[2], r[3], 0, 4, 1, 5), high_2 = SHUFFLE_4(r[2], r[3], 2, 6, 3, 7);
    s[0] = SHUFFLE_4(low, low_2, 0, 1, 4, 5);
    s[1] = SHUFFLE_4(low, low_2, 2, 3, 6, 7);
    s[2] = SHUFFLE_4(high, high_2, 0, 1, 4, 5);
    s[3] = SHUFFLE_4(high, high_2, 2, 3, 6, 7);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        memcpy(out + i * out_step, &s[i], sizeof s[i]);
    }
}

/* The same for i, j < 8: pairs of rows, then fours, then all. */
INLINE void NAME(transpose_by_8)(const REAL *x, ptrdiff_t step, REAL *out, ptrdiff_t out_step)
{
    transpose_8 r[8], s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        memcpy(&r[i], x + i * step, sizeof r[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        s[i] = SHUFFLE_8(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = SHUFFLE_8(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = SHUFFLE_8(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 1] = SHUFFLE_8(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        r[i + 2] = SHUFFLE_8(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 3] = SHUFFLE_8(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        s[i] = SHUFFLE_8(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        s[i + 4] = SHUFFLE_8(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        memcpy(out + i * out_step, &s[i], sizeof s[i]);
    }
}

/* By squares of a size, the last ones of which overlap the others. */
#define BY_SQUARES(size, square) \
    for (ptrdiff_t i = 0; i < rows; i += size) { \
        ptrdiff_t r = i + size <= rows ? i : rows - size; \
        for (ptrdiff_t j = 0; j < columns; j += size) { \
            ptrdiff_t c = j + size <= columns ? j : columns - size; \
            square(x + r * step + c, step, out + c * out_step + r, out_step); \
        } \
    }

/* out[j][i] = x[i][j] for i < rows, j < columns */
INLINE void NAME(transpose)(const REAL *x, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t columns, REAL *out,
                            ptrdiff_t out_step)
{
    if (sizeof(REAL) == sizeof(float) && WIDTH >= 32 && rows >= 8 && columns >= 8) {
        BY_SQUARES(8, NAME(transpose_by_8))
    } else if (sizeof(REAL) == sizeof(float) && rows >= 4 && columns >= 4) {
        BY_SQUARES(4, NAME(transpose_by_4))
    } else {
        for (ptrdiff_t i = 0; i < rows; i++) {
            for (ptrdiff_t j = 0; j < columns; j++) {
                out[j * out_step + i] = x[i * step + j];
            }
        }
    }
}

#undef BY_SQUARES
#undef SHUFFLE_4
#undef SHUFFLE_8
#undef SHUFFLE
