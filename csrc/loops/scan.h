/* Running sums, in double precision, as PyTorch has them; running extrema. */

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

/* The extreme so far, and where it was met last. What is not a number is the extreme from then on. */
INLINE void NAME(running)(const REAL *x, REAL *out, int64_t *places, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail,
                          bool least)
{
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += n * trail, places += n * trail) {
        memcpy(out, x, (size_t)trail * sizeof(REAL));
        memset(places, 0, (size_t)trail * sizeof(int64_t));
        if (trail == 1) {
            REAL so_far = *x;
            int64_t place = 0;
            for (ptrdiff_t row = 1; row < n; row++) {
                /* As a branch, which is seldom taken: the next row need not wait for the result. */
                if ((least ? x[row] <= so_far : x[row] >= so_far) || x[row] != x[row]) {
                    so_far = x[row];
                    place = row;
                }
                out[row] = so_far;
                places[row] = place;
            }
            continue;
        }
        for (ptrdiff_t row = 1; row < n; row++) {
            const REAL *restrict a = x + row * trail, *restrict so_far = out + (row - 1) * trail;
            const int64_t *restrict before = places + (row - 1) * trail;
            REAL *restrict b = out + row * trail;
            int64_t *restrict p = places + row * trail;
            for (ptrdiff_t j = 0; j < trail; j++) {
                bool here = (least ? a[j] <= so_far[j] : a[j] >= so_far[j]) | (a[j] != a[j]);
                b[j] = here ? a[j] : so_far[j];
                p[j] = here ? row : before[j];
            }
        }
    }
}

static void NAME(running_max)(const void *x, void *out, int64_t *places, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    NAME(running)(x, out, places, lead, n, trail, false);
}

static void NAME(running_min)(const void *x, void *out, int64_t *places, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    NAME(running)(x, out, places, lead, n, trail, true);
}
