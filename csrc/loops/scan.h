/* Running sums, in double precision, as PyTorch has them. */

#define ABREAST 8 /* rows at a time: each sum waits for the one before it */
#define TILE 512

static void NAME(cumsum_rows)(const REAL *x, REAL *out, ptrdiff_t rows, ptrdiff_t n)
{
    ptrdiff_t row = 0;
    for (; row + ABREAST <= rows; row += ABREAST, x += ABREAST * n, out += ABREAST * n) {
        double sums[ABREAST] = {0};
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t r = 0; r < ABREAST; r++) {
                sums[r] += (double)x[r * n + i];
                out[r * n + i] = (REAL)sums[r];
            }
        }
    }
    for (; row < rows; row++, x += n, out += n) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            sum += (double)x[i];
            out[i] = (REAL)sum;
        }
    }
}

/* Along the middle one of three dimensions. */
static void NAME(cumsum)(const void *from, void *to, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    double sums[TILE];
    if (trail == 1) {
        NAME(cumsum_rows)(x, out, lead, n);
        return;
    }
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += n * trail) {
        for (ptrdiff_t start = 0; start < trail; start += TILE) {
            ptrdiff_t width = trail - start < TILE ? trail - start : TILE;
            memset(sums, 0, sizeof sums);
            for (ptrdiff_t row = 0; row < n; row++) {
                const REAL *restrict a = x + row * trail + start;
                REAL *restrict b = out + row * trail + start;
                for (ptrdiff_t j = 0; j < width; j++) {
                    sums[j] += (double)a[j];
                    b[j] = (REAL)sums[j];
                }
            }
        }
    }
}

#undef ABREAST
#undef TILE
