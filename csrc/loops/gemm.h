/* Tiled matrix products: strips of TILE_ROWS rows of a and of TILE_COLUMNS columns of b are packed, one line of a strip for
 * each k; `direct` rows of a are read in place. The operand with the shorter side is packed completely beforehand; each
 * part packs its strips of the other one itself, as many k at a time as fit in the caches.
 */

#define DEPTH 192   /* of strips: one of b stays in the nearest cache; and numbers that are added up one by one */
#define TOGETHER 16 /* strips of a that stay in the second cache, while those of b pass by */

/* Rows of a, or columns of b, of `depth` numbers from the k-th on. */
static void NAME(pack_rows)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t k, ptrdiff_t depth, REAL *to)
{
    const REAL *from = (const REAL *)p->a + start * p->a_row + k * p->a_column;
    NAME(pack_strips)(from, p->a_row, p->a_column, stop - start, depth, to, TILE_ROWS);
}

static void NAME(pack_columns)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t k, ptrdiff_t depth, REAL *to)
{
    const REAL *from = (const REAL *)p->b + start * p->b_column + k * p->b_row;
    NAME(pack_strips)(from, p->b_column, p->b_row, stop - start, depth, to, TILE_COLUMNS);
}

/* How many k are taken at a time: all alike, but for the last ones. */
INLINE ptrdiff_t NAME(depth_of)(ptrdiff_t k)
{
    ptrdiff_t times = (k + DEPTH - 1) / DEPTH, depth = (k + times - 1) / times;
    return (depth + 3) / 4 * 4;
}

static size_t NAME(gemm_scratch)(ptrdiff_t side)
{
    return (size_t)((side + TILE_ROWS + TILE_COLUMNS) * DEPTH) * sizeof(REAL); /* with the rest of its last strip */
}

/* Packs a strip of the operand with the shorter side. */
static void NAME(gemm_pack)(const Gemm *p, ptrdiff_t strip)
{
    ptrdiff_t width = p->wide ? TILE_ROWS : TILE_COLUMNS, side = p->wide ? p->m : p->n;
    ptrdiff_t start = strip * width, stop = start + width < side ? start + width : side;
    (p->wide ? NAME(pack_rows) : NAME(pack_columns))(p, start, stop, 0, p->k, (REAL *)p->packed + start * p->k);
}

/* Tile (i, j) of the result, or what the k-th and the next rows of b add to it. `x`: of a, `panel`: of b. */
INLINE void NAME(multiply_tile)(const Gemm *p, ptrdiff_t i, ptrdiff_t j, ptrdiff_t k, const REAL *x, const REAL *panel,
                                ptrdiff_t depth, ptrdiff_t rows)
{
    ptrdiff_t columns = p->n - j < TILE_COLUMNS ? p->n - j : TILE_COLUMNS, x_step = p->direct ? p->a_row : TILE_ROWS;
    REAL *out = (REAL *)p->out + i * p->n + j, row[2 * WIDTH / sizeof(REAL)];
    const REAL *bias = p->bias == NULL ? NULL : (const REAL *)p->bias + j;
    if (k > 0 || p->add) {
        (p->direct ? NAME(add_panel_of_some) : NAME(add_panel_across))(x, x_step, panel, depth, NULL, out, p->n,
                                                                       columns, (int)rows);
        return;
    }
    if (bias != NULL && columns < TILE_COLUMNS) {
        memset(row, 0, sizeof row);
        bias = memcpy(row, bias, (size_t)columns * sizeof(REAL));
    }
    (p->direct ? NAME(panel_of_some) : NAME(panel_across))(x, x_step, panel, depth, bias, out, p->n, columns, (int)rows);
}

/* A tile of `rows` rows as columns of `out`, whose rows are `step` apart. */
INLINE void NAME(store_across)(const REAL *tile, REAL *out, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t columns)
{
    ptrdiff_t fours = rows / 4 * 4, squares = columns / 4 * 4;
    for (ptrdiff_t r = 0; r < fours; r += 4) {
        for (ptrdiff_t c = 0; c < squares; c += 4) {
            NAME(exchange)(tile + r * TILE_COLUMNS + c, TILE_COLUMNS, out + c * step + r, step);
        }
    }
    for (ptrdiff_t c = 0; c < columns; c++) {
        for (ptrdiff_t r = c < squares ? fours : 0; r < rows; r++) {
            out[c * step + r] = tile[r * TILE_COLUMNS + c];
        }
    }
}

/* The rows of the result from `start` to `stop`, which are columns of `out`. */
static void NAME(gemm_across)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop)
{
    REAL tile[TILE_ROWS * 2 * WIDTH / sizeof(REAL)];
    ptrdiff_t step = NAME(depth_of)(p->k);
    for (ptrdiff_t i = start; i < stop; i += TILE_ROWS) {
        ptrdiff_t rows = stop - i < TILE_ROWS ? stop - i : TILE_ROWS;
        const REAL *x = (const REAL *)p->a + i * p->a_row, *panel = p->packed;
        for (ptrdiff_t j = 0; j < p->n; j += TILE_COLUMNS, panel += p->k * TILE_COLUMNS) {
            for (ptrdiff_t r = 0; r < rows; r++) {
                VECTOR bias = (p->bias == NULL ? 0 : ((const REAL *)p->bias)[i + r]) - (VECTOR){0};
                STORE(tile + r * TILE_COLUMNS, bias);
                STORE(tile + r * TILE_COLUMNS + LANES, bias);
            }
            for (ptrdiff_t k = 0; k < p->k; k += step) {
                NAME(add_panel_of_some)(x + k, p->a_row, panel + k * TILE_COLUMNS, p->k - k < step ? p->k - k : step, NULL,
                                        tile, TILE_COLUMNS, TILE_COLUMNS, (int)rows);
            }
            NAME(store_across)(tile, (REAL *)p->out + j * p->m + i, p->m, rows,
                               p->n - j < TILE_COLUMNS ? p->n - j : TILE_COLUMNS);
        }
    }
}

/* The part of the result from `start` to `stop`, of its columns where it is wide, or of its rows: multiples of a tile. */
static void NAME(gemm_part)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t top = p->wide ? 0 : start, bottom = p->wide ? p->m : stop;
    ptrdiff_t left = p->wide ? start : 0, right = p->wide ? stop : p->n;
    ptrdiff_t step = NAME(depth_of)(p->k);
    for (ptrdiff_t k = 0; k < p->k; k += step) {
        ptrdiff_t depth = p->k - k < step ? p->k - k : step;
        if (p->wide) {
            NAME(pack_columns)(p, start, stop, k, depth, scratch);
        } else if (!p->direct) {
            NAME(pack_rows)(p, start, stop, k, depth, scratch);
        }
        for (ptrdiff_t first = top; first < bottom; first += TOGETHER * TILE_ROWS) {
            ptrdiff_t last = first + TOGETHER * TILE_ROWS < bottom ? first + TOGETHER * TILE_ROWS : bottom;
            for (ptrdiff_t j = left; j < right; j += TILE_COLUMNS) {
                const REAL *b = p->wide ? (REAL *)scratch + (j - left) * depth
                                        : (REAL *)p->packed + j * p->k + k * TILE_COLUMNS;
                for (ptrdiff_t i = first; i < last; i += TILE_ROWS) {
                    const REAL *a = p->direct ? (const REAL *)p->a + i * p->a_row + k
                                    : p->wide ? (REAL *)p->packed + i * p->k + k * TILE_ROWS
                                              : (REAL *)scratch + (i - top) * depth;
                    NAME(multiply_tile)(p, i, j, k, a, b, depth, last - i < TILE_ROWS ? last - i : TILE_ROWS);
                }
            }
        }
    }
}

#undef DEPTH
#undef TOGETHER
