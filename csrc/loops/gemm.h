/* Products of matrices by tiles: strips of TILE_ROWS rows of a and of TILE_COLUMNS columns of b lie packed, a line of a
 * strip for each k. The strips of the operand with the shorter side are packed before, whole; those of the other one by
 * each part for itself, as many k at a time as the caches hold.
 */

#define DEPTH (28672 / (TILE_COLUMNS * (ptrdiff_t)sizeof(REAL))) /* of strips: one of b stays in the nearest cache */
#define TOGETHER 16 /* strips of a that stay in the second cache, while those of b pass by */

/* Up to `width` lines of numbers, `line_step` apart, with `step` from a number to the next: as a strip. */
INLINE void NAME(pack_strip)(const REAL *restrict from, ptrdiff_t line_step, ptrdiff_t step, ptrdiff_t count,
                             ptrdiff_t depth, REAL *restrict to, const ptrdiff_t width)
{
    if (line_step == 1 && count == width) {
        for (ptrdiff_t k = 0; k < depth; k++) {
            memcpy(to + k * width, from + k * step, (size_t)width * sizeof(REAL));
        }
        return;
    }
    for (ptrdiff_t first = 0; first < depth; first += 16) { /* a line of the cache of each, as far as they have one */
        ptrdiff_t last = first + 16 < depth ? first + 16 : depth;
        for (ptrdiff_t j = 0; j < count; j++) {
            for (ptrdiff_t k = first; k < last; k++) {
                to[k * width + j] = from[j * line_step + k * step];
            }
        }
    }
    for (ptrdiff_t k = 0; count < width && k < depth; k++) {
        for (ptrdiff_t j = count; j < width; j++) {
            to[k * width + j] = 0;
        }
    }
}

static void NAME(pack_rows)(const Gemm *p, ptrdiff_t row, ptrdiff_t k, ptrdiff_t depth, REAL *to)
{
    const REAL *from = (const REAL *)p->a + row * p->a_row + k * p->a_column;
    ptrdiff_t count = p->m - row < TILE_ROWS ? p->m - row : TILE_ROWS;
    NAME(pack_strip)(from, p->a_row, p->a_column, count, depth, to, TILE_ROWS);
}

static void NAME(pack_columns)(const Gemm *p, ptrdiff_t column, ptrdiff_t k, ptrdiff_t depth, REAL *to)
{
    const REAL *from = (const REAL *)p->b + column * p->b_column + k * p->b_row;
    ptrdiff_t count = p->n - column < TILE_COLUMNS ? p->n - column : TILE_COLUMNS;
    NAME(pack_strip)(from, p->b_column, p->b_row, count, depth, to, TILE_COLUMNS);
}

static size_t NAME(gemm_scratch)(ptrdiff_t side)
{
    return (size_t)((side + TILE_COLUMNS) * DEPTH) * sizeof(REAL);
}

/* Packs a strip of the operand with the shorter side. */
static void NAME(gemm_pack)(const Gemm *p, ptrdiff_t strip)
{
    ptrdiff_t width = p->wide ? TILE_ROWS : TILE_COLUMNS;
    REAL *to = (REAL *)p->packed + strip * width * p->k;
    (p->wide ? NAME(pack_rows) : NAME(pack_columns))(p, strip * width, 0, p->k, to);
}

/* Rows and columns of the result to begin with: zeros, or the bias. */
static void NAME(gemm_start)(const Gemm *p, ptrdiff_t top, ptrdiff_t bottom, ptrdiff_t left, ptrdiff_t right)
{
    size_t size = (size_t)(right - left) * sizeof(REAL);
    for (ptrdiff_t i = top; i < bottom; i++) {
        REAL *to = (REAL *)p->out + i * p->n + left;
        if (p->bias == NULL) {
            memset(to, 0, size);
        } else {
            memcpy(to, (const REAL *)p->bias + left, size);
        }
    }
}

/* The part of the result from `start` to `stop`, of its columns where it is wide, or of its rows: multiples of a tile. */
static void NAME(gemm_part)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t top = p->wide ? 0 : start, bottom = p->wide ? p->m : stop;
    ptrdiff_t left = p->wide ? start : 0, right = p->wide ? stop : p->n;
    NAME(gemm_start)(p, top, bottom, left, right);
    for (ptrdiff_t k = 0; k < p->k; k += DEPTH) {
        ptrdiff_t depth = p->k - k < DEPTH ? p->k - k : DEPTH, width = p->wide ? TILE_COLUMNS : TILE_ROWS;
        for (ptrdiff_t i = start; i < stop; i += width) {
            (p->wide ? NAME(pack_columns) : NAME(pack_rows))(p, i, k, depth, (REAL *)scratch + (i - start) * depth);
        }
        for (ptrdiff_t first = top; first < bottom; first += TOGETHER * TILE_ROWS) {
            ptrdiff_t last = first + TOGETHER * TILE_ROWS < bottom ? first + TOGETHER * TILE_ROWS : bottom;
            for (ptrdiff_t j = left; j < right; j += TILE_COLUMNS) {
                const REAL *b = p->wide ? (REAL *)scratch + (j - left) * depth
                                        : (REAL *)p->packed + j * p->k + k * TILE_COLUMNS;
                ptrdiff_t columns = right - j < TILE_COLUMNS ? right - j : TILE_COLUMNS;
                for (ptrdiff_t i = first; i < last; i += TILE_ROWS) {
                    const REAL *a = p->wide ? (REAL *)p->packed + i * p->k + k * TILE_ROWS
                                            : (REAL *)scratch + (i - top) * depth;
                    ptrdiff_t rows = last - i < TILE_ROWS ? last - i : TILE_ROWS;
                    NAME(add_panel_across)(a, TILE_ROWS, b, depth, (REAL *)p->out + i * p->n + j, p->n, columns,
                                           (int)rows);
                }
            }
        }
    }
}

#undef DEPTH
#undef TOGETHER
