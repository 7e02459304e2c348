/* Packed matrices, in strips or panels, and products of a few rows with panels of TILE_COLUMNS columns. */

#define AHEAD 64      /* elements of each line that are fetched before they are packed */
#define LINES_AHEAD 8 /* the same of lines that are packed one by one */

/* A line of a strip, as it lies. */
INLINE void NAME(pack_line)(const REAL *restrict from, ptrdiff_t step, REAL *restrict to, const ptrdiff_t width)
{
    for (ptrdiff_t j = 0; j < width; j += 64 / (ptrdiff_t)sizeof(REAL)) { /* a line of the cache */
        __builtin_prefetch(from + LINES_AHEAD * step + j, 0, 2);
    }
    memcpy(to, from, (size_t)width * sizeof(REAL));
}

/* A square of four lines of four numbers, with lines and columns exchanged. */
INLINE void NAME(exchange)(const REAL *restrict from, ptrdiff_t line_step, REAL *restrict to, ptrdiff_t width)
{
#if defined(__SSE2__)
    if (sizeof(REAL) == sizeof(float)) {
        __m128 a = _mm_loadu_ps((const float *)from), b = _mm_loadu_ps((const float *)(from + line_step));
        __m128 c = _mm_loadu_ps((const float *)(from + 2 * line_step));
        __m128 d = _mm_loadu_ps((const float *)(from + 3 * line_step));
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps((float *)to, a);
        _mm_storeu_ps((float *)(to + width), b);
        _mm_storeu_ps((float *)(to + 2 * width), c);
        _mm_storeu_ps((float *)(to + 3 * width), d);
        return;
    }
#endif
    for (ptrdiff_t j = 0; j < 4; j++) {
        for (ptrdiff_t k = 0; k < 4; k++) {
            to[k * width + j] = from[j * line_step + k];
        }
    }
}

/* Up to `width` lines of numbers, `line_step` apart, with `step` from a number to the next: as a strip. */
INLINE void NAME(pack_strip)(const REAL *restrict from, ptrdiff_t line_step, ptrdiff_t step, ptrdiff_t count,
                             ptrdiff_t depth, REAL *restrict to, const ptrdiff_t width)
{
    if (line_step == 1 && count == width) {
        for (ptrdiff_t k = 0; k < depth; k++) {
            NAME(pack_line)(from + k * step, step, to + k * width, width);
        }
        return;
    }
    ptrdiff_t fours = step == 1 ? count / 4 * 4 : 0, squares = depth / 4 * 4;
    for (ptrdiff_t first = 0; first < squares; first += 16) { /* a line of the cache of each */
        ptrdiff_t last = first + 16 < squares ? first + 16 : squares;
        for (ptrdiff_t j = 0; j < fours; j++) {
            __builtin_prefetch(from + j * line_step + first + AHEAD, 0, 2);
        }
        for (ptrdiff_t j = 0; j < fours; j += 4) {
            for (ptrdiff_t k = first; k < last; k += 4) {
                NAME(exchange)(from + j * line_step + k, line_step, to + k * width + j, width);
            }
        }
    }
    for (ptrdiff_t k = 0; k < depth; k++) {
        for (ptrdiff_t j = k < squares ? fours : 0; j < width; j++) {
            to[k * width + j] = j < count ? from[j * line_step + k * step] : 0;
        }
    }
}

/* Any number of lines, as strips one after the other. */
INLINE void NAME(pack_strips)(const REAL *from, ptrdiff_t line_step, ptrdiff_t step, ptrdiff_t count, ptrdiff_t depth,
                              REAL *to, const ptrdiff_t width)
{
    ptrdiff_t whole = line_step == 1 ? count / width * width : 0;
    for (ptrdiff_t k = 0; whole > width && k < depth; k++) { /* in the order in which they lie: pages are dear */
        for (ptrdiff_t j = 0; j < whole; j += width) {
            NAME(pack_line)(from + k * step + j, step, to + j * depth + k * width, width);
        }
    }
    for (ptrdiff_t j = whole > width ? whole : 0; j < count; j += width) {
        ptrdiff_t rest = count - j < width ? count - j : width;
        NAME(pack_strip)(from + j * line_step, line_step, step, rest, depth, to + j * depth, width);
    }
}

#undef AHEAD
#undef LINES_AHEAD

/* The element of row k and column j is w[k * row_step + j * column_step]; zeros beyond the last column. */
static void NAME(pack_matrix)(const void *w, void *out, ptrdiff_t depth, ptrdiff_t columns, ptrdiff_t row_step,
                              ptrdiff_t column_step)
{
    NAME(pack_strips)(w, column_step, row_step, columns, depth, out, TILE_COLUMNS);
}

/* `rows` rows of x times one panel of `count` columns: out = xy, to each row of which `bias` is added if there is one, or
 * out += xy where this is to `add`. The elements of a row of x lie side by side, or those of a column where it is `across`.
 * All but the places and the sizes are constants where this is inlined. */
INLINE void NAME(panel_of_rows)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, const REAL *bias,
                                REAL *out, ptrdiff_t out_step, ptrdiff_t count, const int rows, const bool across,
                                const bool add)
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
            VECTOR each = (across ? x[k * x_step + i] : x[i * x_step + k]) - (VECTOR){0};
            sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
            sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
        }
    }
    VECTOR first = bias == NULL ? (VECTOR){0} : LOAD(bias), second = bias == NULL ? first : LOAD(bias + LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, out += out_step) {
        REAL part[2 * WIDTH / sizeof(REAL)];
        REAL *to = count == TILE_COLUMNS ? out : part;
        if (add && to == part) {
            memcpy(part, out, (size_t)count * sizeof(REAL));
        }
        STORE(to, add ? LOAD(to) + sum[i][0] : sum[i][0] + first);
        STORE(to + LANES, add ? LOAD(to + LANES) + sum[i][1] : sum[i][1] + second);
        if (to == part) {
            memcpy(out, part, (size_t)count * sizeof(REAL));
        }
    }
}

#define ONE_OF(r, across, add) \
    case r: \
        if (r <= TILE_ROWS) { \
            NAME(panel_of_rows)(x, x_step, panel, depth, bias, out, out_step, count, r <= TILE_ROWS ? r : 1, across, add); \
        } \
        break;
#define EACH_OF(name, across, add) \
    static void NAME(name)(const REAL *x, ptrdiff_t x_step, const REAL *panel, ptrdiff_t depth, const REAL *bias, \
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
