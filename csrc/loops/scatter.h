/* Additions at indices, which have been checked to be in bounds. */

/* Adds each of the rows to the row of `out` that its index names. */
static void NAME(add_rows)(void *to, const int64_t *index, const void *from, ptrdiff_t count, ptrdiff_t width)
{
    const REAL *restrict rows = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; i < count; i++, rows += width) {
        REAL *restrict row = out + index[i] * width;
        for (ptrdiff_t j = 0; j < width; j++) {
            row[j] += rows[j];
        }
    }
}

/* Adds values of shape (lead, n, trail) to `out` of shape (lead, size, trail), each at its own index of the middle. */
static void NAME(scatter_add)(void *to, const int64_t *index, const void *from, ptrdiff_t lead, ptrdiff_t n,
                              ptrdiff_t size, ptrdiff_t trail)
{
    const REAL *restrict values = from;
    REAL *restrict out = to;
    for (ptrdiff_t i = 0; trail == 1 && i < lead; i++, out += size, values += n, index += n) {
        for (ptrdiff_t j = 0; j < n; j++) {
            out[index[j]] += values[j];
        }
    }
    for (ptrdiff_t i = 0; trail > 1 && i < lead; i++, out += size * trail) {
        for (ptrdiff_t row = 0; row < n; row++, values += trail, index += trail) {
            for (ptrdiff_t j = 0; j < trail; j++) {
                out[index[j] * trail + j] += values[j];
            }
        }
    }
}
