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

/* `rows` rows of x times one panel of `count` columns: out = xy, to each row of which `start` is added if there is one, or
 * out += xy where this is to `add`. The elements of a row of x lie side by side, or those of a column where it is `across`.
 * All but the places and the sizes are constants where this is inlined. */
INLINE void NAME(panel_of_rows)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, const REAL *start,
                                REAL *out, ptrdiff_t out_step, ptrdiff_t count, const int rows, const bool across,
                                const bool add)
{
    VECTOR sum[TILE_ROWS][2];
    VECTOR first = start == NULL ? (VECTOR){0} : LOAD(start), second = start == NULL ? first : LOAD(start + LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        sum[i][0] = first;
        sum[i][1] = second;
    }
    for (ptrdiff_t k = 0; k < depth; k++, panel += TILE_COLUMNS) {
        VECTOR a = LOAD(panel), b = LOAD(panel + LANES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            VECTOR each = (across ? x[k * x_step + i] : x[i * x_step + k]) - (VECTOR){0};
            sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
            sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, out += out_step) {
        REAL part[2 * WIDTH / sizeof(REAL)];
        REAL *to = count == TILE_COLUMNS ? out : part;
        if (add && to == part) {
            memcpy(part, out, (size_t)count * sizeof(REAL));
        }
        STORE(to, add ? LOAD(to) + sum[i][0] : sum[i][0]);
        STORE(to + LANES, add ? LOAD(to + LANES) + sum[i][1] : sum[i][1]);
        if (to == part) {
            memcpy(out, part, (size_t)count * sizeof(REAL));
        }
    }
}

#define ONE_OF(r, across, add) \
    case r: \
        if (r <= TILE_ROWS) { \
            NAME(panel_of_rows)(x, x_step, panel, depth, start, out, out_step, count, r <= TILE_ROWS ? r : 1, across, add); \
        } \
        break;
#define EACH_OF(name, across, add) \
    static void NAME(name)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, const REAL *start, \
                           REAL *out, ptrdiff_t out_step, ptrdiff_t count, int rows) \
    { \
        switch (rows) { \
            ONE_OF(1, across, add) ONE_OF(2, across, add) ONE_OF(3, across, add) ONE_OF(4, across, add) \
            ONE_OF(5, across, add) ONE_OF(6, across, add) ONE_OF(7, across, add) ONE_OF(8, across, add) \
            ONE_OF(9, across, add) ONE_OF(10, across, add) ONE_OF(11, across, add) ONE_OF(12, across, add) \
        } \
    }

EACH_OF(panel_of_some, false, false)
EACH_OF(panel_across, true, false)
EACH_OF(add_panel_of_some, false, true)
EACH_OF(add_panel_across, true, true)

#undef ONE_OF
#undef EACH_OF

/* out = x times the packed matrix; or out += xT times it. */
INLINE void NAME(by_panels)(const REAL *x, ptrdiff_t x_step, ptrdiff_t rows, const REAL *packed, ptrdiff_t depth,
                            ptrdiff_t panel_depth, ptrdiff_t columns, REAL *out, ptrdiff_t out_step, bool add_across)
{
    ptrdiff_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (ptrdiff_t j = 0; j < columns; j += TILE_COLUMNS, packed += panel_depth * TILE_COLUMNS) {
        ptrdiff_t count = columns - j < TILE_COLUMNS ? columns - j : TILE_COLUMNS;
        for (ptrdiff_t i = 0; i < tiles; i++) { /* of about the same height */
            ptrdiff_t start = rows * i / tiles, stop = rows * (i + 1) / tiles;
            const REAL *from = x + start * (add_across ? 1 : x_step);
            (add_across ? NAME(add_panel_across) : NAME(panel_of_some))(
                from, x_step, packed, depth, NULL, out + start * out_step + j, out_step, count, (int)(stop - start));
        }
    }
}

/* The first `depth` columns of x times the first rows of a matrix that lies packed in panels of `panel_depth` rows. */
static void NAME(multiply_packed)(const REAL *x, ptrdiff_t x_step, ptrdiff_t rows, const REAL *packed, ptrdiff_t depth,
                                  ptrdiff_t panel_depth, ptrdiff_t columns, REAL *out, ptrdiff_t out_step)
{
    NAME(by_panels)(x, x_step, rows, packed, depth, panel_depth, columns, out, out_step, false);
}

/* Adds the product of xT, whose `rows` rows are columns of x, and a packed matrix to `out`. */
static void NAME(add_transposed)(const REAL *x, ptrdiff_t x_step, ptrdiff_t rows, const REAL *packed, ptrdiff_t depth,
                                 ptrdiff_t columns, REAL *out, ptrdiff_t out_step)
{
    NAME(by_panels)(x, x_step, rows, packed, depth, depth, columns, out, out_step, true);
}
