/* Products of a few rows with a matrix that lies packed: panels of TILE_COLUMNS columns, zeros beyond the last. */

/* The element of row k and column j is w[k * row_step + j * column_step]. */
static void NAME(pack_matrix)(const void *from, void *to, ptrdiff_t depth, ptrdiff_t columns, ptrdiff_t row_step,
                              ptrdiff_t column_step)
{
    const REAL *w = from;
    REAL *out = to;
    for (ptrdiff_t first = 0; first < columns; first += TILE_COLUMNS, w += TILE_COLUMNS * column_step) {
        ptrdiff_t count = columns - first < TILE_COLUMNS ? columns - first : TILE_COLUMNS;
        for (ptrdiff_t k = 0; k < depth; k++, out += TILE_COLUMNS) {
            for (ptrdiff_t j = 0; j < count; j++) {
                out[j] = w[k * row_step + j * column_step];
            }
            for (ptrdiff_t j = count; j < TILE_COLUMNS; j++) {
                out[j] = 0;
            }
        }
    }
}

/* `rows` rows of x, a constant where this is inlined, times one panel of `count` columns. */
INLINE void NAME(panel_of_rows)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, REAL *out,
                                ptrdiff_t out_step, ptrdiff_t count, const int rows)
{
    VECTOR sum[TILE_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        sum[i][0] = sum[i][1] = (VECTOR){0};
    }
    for (ptrdiff_t k = 0; k < depth; k++, panel += TILE_COLUMNS) {
        VECTOR a = LOAD(panel), b = LOAD(panel + LANES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            VECTOR each = x[i * x_step + k] - (VECTOR){0};
            sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
            sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, out += out_step) {
        if (count == TILE_COLUMNS) {
            STORE(out, sum[i][0]);
            STORE(out + LANES, sum[i][1]);
        } else {
            memcpy(out, sum[i], (size_t)count * sizeof(REAL));
        }
    }
}

static void NAME(panel_of_some)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, REAL *out,
                                ptrdiff_t out_step, ptrdiff_t count, int rows)
{
#define CASE(r) \
    case r: \
        if (r <= TILE_ROWS) { \
            NAME(panel_of_rows)(x, x_step, panel, depth, out, out_step, count, r <= TILE_ROWS ? r : 1); \
        } \
        break;
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    }
#undef CASE
}

/* out = x times the packed matrix. */
static void NAME(multiply_packed)(const REAL *x, ptrdiff_t x_step, ptrdiff_t rows, const REAL *packed, ptrdiff_t depth,
                                  ptrdiff_t columns, REAL *out, ptrdiff_t out_step)
{
    ptrdiff_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (ptrdiff_t j = 0; j < columns; j += TILE_COLUMNS, packed += depth * TILE_COLUMNS) {
        ptrdiff_t count = columns - j < TILE_COLUMNS ? columns - j : TILE_COLUMNS;
        for (ptrdiff_t i = 0; i < tiles; i++) { /* of about the same height */
            ptrdiff_t start = rows * i / tiles, stop = rows * (i + 1) / tiles;
            NAME(panel_of_some)(x + start * x_step, x_step, packed, depth, out + start * out_step + j, out_step, count,
                                (int)(stop - start));
        }
    }
}
