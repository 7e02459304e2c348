/* Cumulative sums and products, in double precision as in PyTorch; cumulative extrema. */

#define ABREAST 8 /* rows at a time: each result waits for the one before it */
#define TILE 512

INLINE double NAME(joined)(double so_far, double next, bool product)
{
    return product ? so_far * next : so_far + next;
}

INLINE void NAME(scan_rows)(const REAL *x, REAL *out, ptrdiff_t rows, ptrdiff_t n, bool product)
{
    ptrdiff_t row = 0;
    for (; row + ABREAST <= rows; row += ABREAST, x += ABREAST * n, out += ABREAST * n) {
        double so_far[ABREAST];
        for (ptrdiff_t r = 0; r < ABREAST; r++) {
            so_far[r] = product;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t r = 0; r < ABREAST; r++) {
                so_far[r] = NAME(joined)(so_far[r], (double)x[r * n + i], product);
                out[r * n + i] = (REAL)so_far[r];
            }
        }
    }
    for (; row < rows; row++, x += n, out += n) {
        double so_far = product;
        for (ptrdiff_t i = 0; i < n; i++) {
            so_far = NAME(joined)(so_far, (double)x[i], product);
            out[i] = (REAL)so_far;
        }
    }
}

/* Along the middle one of three dimensions. */
INLINE void NAME(scan)(const void *from, void *to, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail, bool product)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    double so_far[TILE];
    if (trail == 1) {
        NAME(scan_rows)(x, out, lead, n, product);
        return;
    }
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += n * trail) {
        for (ptrdiff_t start = 0; start < trail; start += TILE) {
            ptrdiff_t width = trail - start < TILE ? trail - start : TILE;
            for (ptrdiff_t j = 0; j < width; j++) {
                so_far[j] = product;
            }
            for (ptrdiff_t row = 0; row < n; row++) {
                const REAL *restrict a = x + row * trail + start;
                REAL *restrict b = out + row * trail + start;
                for (ptrdiff_t j = 0; j < width; j++) {
                    so_far[j] = NAME(joined)(so_far[j], (double)a[j], product);
                    b[j] = (REAL)so_far[j];
                }
            }
        }
    }
}

static void NAME(cumsum)(const void *x, void *out, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    NAME(scan)(x, out, lead, n, trail, false);
}

static void NAME(cumprod)(const void *x, void *out, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    NAME(scan)(x, out, lead, n, trail, true);
}

#undef ABREAST
#undef TILE

#define BLOCK 32

/* Of one row. Most blocks have nothing as extreme as what came before. */
INLINE void NAME(running_row)(const REAL *x, REAL *out, int64_t *places, ptrdiff_t n, bool least)
{
    REAL so_far = *x;
    int64_t place = 0;
    for (ptrdiff_t start = 0; start < n; start += BLOCK) {
        ptrdiff_t stop = n - start < BLOCK ? n : start + BLOCK;
        TYPE(int) any = stop - start < BLOCK;
        for (ptrdiff_t i = 0; i < BLOCK && stop - start == BLOCK; i++) {
            any |= (least ? x[start + i] > so_far : x[start + i] < so_far) ? 0 : 1; /* one for NaN, too */
        }
        if (!any) {
            for (ptrdiff_t i = 0; i < BLOCK; i++) {
                out[start + i] = so_far;
                places[start + i] = place;
            }
            continue;
        }
        for (ptrdiff_t i = start; i < stop; i++) {
            if ((least ? x[i] <= so_far : x[i] >= so_far) || x[i] != x[i]) {
                so_far = x[i];
                place = i;
            }
            out[i] = so_far;
            places[i] = place;
        }
    }
}

#undef BLOCK

/* The extreme so far, and where it was met last. What is not a number is the extreme from then on. */
INLINE void NAME(running)(const REAL *x, REAL *out, int64_t *places, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail,
                          bool least)
{
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += n * trail, places += n * trail) {
        memcpy(out, x, (size_t)trail * sizeof(REAL));
        memset(places, 0, (size_t)trail * sizeof(int64_t));
        if (trail == 1) {
            NAME(running_row)(x, out, places, n, least);
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
