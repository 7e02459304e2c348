/* Convolutions with 3x3 kernels by Winograd's algorithm, F(4x2, 3x3): a tile of 4x2 positions of the result takes 24
 * products for each pair of channels instead of 72.
 *
 * Each of the three maps is y = A' [(G w) * (B' x)], in both dimensions, where * is elementwise: the elements of a
 * transformed tile are "bins", and in each bin a convolution is a matrix product over channels. The interpolation points
 * are 0, ±3/4, ±3/2 and infinity vertically, 0, ±1 and infinity horizontally, which keeps rounding errors at those of
 * direct convolution. Channels are in the vector lanes.
 */

#define BINS 24
#define DOWN 6   /* rows of a transformed tile */
#define ACROSS 4 /* and columns */

/* a b + c, rounded once where the processor can. */
INLINE VECTOR NAME(scaled_sum)(REAL a, VECTOR b, VECTOR c)
{
    return NAME(vector_madd)(a - (VECTOR){0}, b, c);
}

/* x (6) -> B' x, each element a vector. */
INLINE void NAME(down_source)(VECTOR *x)
{
    VECTOR x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5];
    VECTOR even_a = NAME(scaled_sum)((REAL)-2.25, x2, x4), odd_a = NAME(scaled_sum)((REAL)-2.25, x1, x3);
    VECTOR even_b = NAME(scaled_sum)((REAL)-0.5625, x2, x4), odd_b = NAME(scaled_sum)((REAL)-0.5625, x1, x3);
    x[0] = NAME(scaled_sum)((REAL)1.265625, x0, NAME(scaled_sum)((REAL)-2.8125, x2, x4));
    x[1] = NAME(scaled_sum)((REAL)0.75, odd_a, even_a);
    x[2] = NAME(scaled_sum)((REAL)-0.75, odd_a, even_a);
    x[3] = NAME(scaled_sum)((REAL)1.5, odd_b, even_b);
    x[4] = NAME(scaled_sum)((REAL)-1.5, odd_b, even_b);
    x[5] = NAME(scaled_sum)((REAL)1.265625, x1, NAME(scaled_sum)((REAL)-2.8125, x3, x5));
}

/* x (4) -> B' x */
INLINE void NAME(across_source)(const VECTOR *x, VECTOR *out)
{
    out[0] = x[2] - x[0];
    out[1] = x[1] + x[2];
    out[2] = x[2] - x[1];
    out[3] = x[3] - x[1];
}

/* Weights are few, and transformed in doubles: what is rounded is the result. */
typedef double NAME(Exact) __attribute__((vector_size(WIDTH / sizeof(REAL) * sizeof(double))));

/* w (3) -> G w: down to 6, across to 4 */
INLINE void NAME(down_weight)(const NAME(Exact) *w, NAME(Exact) *out)
{
    const double a = -1 / 1.8984375, b = 1 / 7.59375; /* 1 / (2 p² (p² - q²)) for p, q = 3/4, 3/2 */
    NAME(Exact) even_a = a * (w[0] + 0.5625 * w[2]), odd_a = (a * 0.75) * w[1];
    NAME(Exact) even_b = b * (w[0] + 2.25 * w[2]), odd_b = (b * 1.5) * w[1];
    out[0] = 1 / 1.265625 * w[0];
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = w[2];
}

INLINE void NAME(across_weight)(const NAME(Exact) *w, NAME(Exact) *out)
{
    NAME(Exact) even = 0.5 * (w[0] + w[2]), odd = 0.5 * w[1];
    out[0] = -w[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = w[2];
}

/* Where the source's part of a row of tiles begins: (sample, the first row of the result). */
INLINE void NAME(row_of_tiles)(const Winograd *s, ptrdiff_t row, ptrdiff_t *sample, ptrdiff_t *first)
{
    *sample = row / s->high;
    *first = row % s->high * 4;
}

/* Copies rows of LANES channels, of which there are `count`, into a margin of zeros: (rows, columns, LANES). */
INLINE void NAME(stage_rows)(const REAL *x, ptrdiff_t channel, ptrdiff_t count, const ptrdiff_t *sizes, ptrdiff_t top,
                             ptrdiff_t left, ptrdiff_t rows, ptrdiff_t columns, REAL *out)
{
    ptrdiff_t first = left < 0 ? -left : 0, stop = sizes[1] - left < columns ? sizes[1] - left : columns;
    for (ptrdiff_t r = 0; r < rows; r++, out += columns * LANES) {
        if (top + r < 0 || top + r >= sizes[0] || stop <= first) {
            memset(out, 0, (size_t)(columns * LANES) * sizeof(REAL));
            continue;
        }
        memset(out, 0, (size_t)(first * LANES) * sizeof(REAL));
        memset(out + stop * LANES, 0, (size_t)((columns - stop) * LANES) * sizeof(REAL));
        if (count < LANES) {
            memset(out + first * LANES, 0, (size_t)((stop - first) * LANES) * sizeof(REAL));
        }
        NAME(transpose)(x + (top + r) * sizes[1] + left + first, channel, count < LANES ? count : LANES, stop - first,
                        out + first * LANES, LANES);
    }
}

/* The transformed tiles of rows of tiles, all channels: (bins, panels of channels, tiles, TILE_COLUMNS). `tiles` is the
 * distance from a panel to the next, `place` where the first tile goes. */
static void NAME(winograd_source)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *to, ptrdiff_t tiles,
                                  ptrdiff_t place, void *scratch)
{
    ptrdiff_t columns = 2 * s->wide + 2, panels = (s->sources + TILE_COLUMNS - 1) / TILE_COLUMNS;
    REAL *stage = scratch;
    for (ptrdiff_t row = start; row < stop; row++, place += s->wide) {
        ptrdiff_t sample, first;
        NAME(row_of_tiles)(s, row, &sample, &first);
        for (ptrdiff_t c = 0; c < panels * TILE_COLUMNS; c += LANES) {
            const REAL *x = (const REAL *)s->source + sample * s->source_sample + c * s->source_channel;
            NAME(stage_rows)(x, s->source_channel, s->sources - c, s->sizes, first - s->margin[0], -s->margin[1], DOWN,
                             columns, stage);
            for (ptrdiff_t i = 0; i < columns; i++) {
                VECTOR x[DOWN];
#pragma GCC unroll 6
                for (int d = 0; d < DOWN; d++) {
                    x[d] = LOAD(stage + (d * columns + i) * LANES);
                }
                NAME(down_source)(x);
#pragma GCC unroll 6
                for (int d = 0; d < DOWN; d++) {
                    STORE(stage + (d * columns + i) * LANES, x[d]);
                }
            }
            REAL *out = (REAL *)to + (c / TILE_COLUMNS * tiles + place) * TILE_COLUMNS + c % TILE_COLUMNS;
            ptrdiff_t bin = bin_step(panels * TILE_COLUMNS, tiles);
            for (int d = 0; d < DOWN; d++) {
                const REAL *from = stage + d * columns * LANES;
                for (ptrdiff_t t = 0; t < s->wide; t++, from += 2 * LANES) {
                    VECTOR x[ACROSS] = {LOAD(from), LOAD(from + LANES), LOAD(from + 2 * LANES), LOAD(from + 3 * LANES)};
                    VECTOR y[ACROSS];
                    NAME(across_source)(x, y);
#pragma GCC unroll 4
                    for (int i = 0; i < ACROSS; i++) {
                        STORE(out + (d * ACROSS + i) * bin + t * TILE_COLUMNS, y[i]);
                    }
                }
            }
        }
    }
}

#define CHANNELS_AT_ONCE 8 /* whose weights are laid into lanes together, where they lie side by side */

/* The transformed weights of one channel: `lines` has TILE_COLUMNS of each of its taps. */
INLINE void NAME(transform_weight)(const REAL *lines, bool flipped, REAL *out, ptrdiff_t bin)
{
    for (ptrdiff_t half = 0; half < TILE_COLUMNS; half += LANES) {
        NAME(Exact) columns[3][3], down[3][DOWN], across[ACROSS];
#pragma GCC unroll 9
        for (int i = 0; i < 9; i++) {
            VECTOR tap = LOAD(lines + (flipped ? 8 - i : i) * TILE_COLUMNS + half);
            columns[i % 3][i / 3] = __builtin_convertvector(tap, NAME(Exact));
        }
        for (int i = 0; i < 3; i++) {
            NAME(down_weight)(columns[i], down[i]);
        }
        for (int d = 0; d < DOWN; d++) {
            NAME(Exact) row[3] = {down[0][d], down[1][d], down[2][d]};
            NAME(across_weight)(row, across);
            for (int i = 0; i < ACROSS; i++) {
                STORE(out + (d * ACROSS + i) * bin + half, __builtin_convertvector(across[i], VECTOR));
            }
        }
    }
}

/* The transformed weights of a panel of results: (bins, channels of the source, TILE_COLUMNS). */
static void NAME(winograd_weights)(const Winograd *s, ptrdiff_t panel, void *to)
{
    ptrdiff_t bin = bin_step(s->sources, TILE_COLUMNS);
    REAL *out = to;
    REAL lines[9 * CHANNELS_AT_ONCE * (2 * WIDTH / sizeof(REAL))];
    ptrdiff_t first = panel * TILE_COLUMNS, lanes = s->results - first < TILE_COLUMNS ? s->results - first : TILE_COLUMNS;
    ptrdiff_t most = s->weight_source == 9 ? CHANNELS_AT_ONCE : 1;
    memset(lines, 0, sizeof lines);
    for (ptrdiff_t c = 0, count; c < s->sources; c += count) {
        const REAL *from = (const REAL *)s->weight + first * s->weight_result + c * s->weight_source;
        count = s->sources - c < most ? s->sources - c : most;
        NAME(transpose)(from, s->weight_result, lanes, 9 * count, lines, TILE_COLUMNS);
        for (ptrdiff_t i = 0; i < count; i++) {
            NAME(transform_weight)(lines + 9 * i * TILE_COLUMNS, s->flipped, out + (c + i) * TILE_COLUMNS, bin);
        }
    }
}

#undef CHANNELS_AT_ONCE

/* Adds the products of TILE_ROWS tiles and a panel of results, over channels from `start` to `stop`, to `sums`, or begins
 * them. */
INLINE void NAME(add_channels)(const REAL *x, const REAL *w, ptrdiff_t tiles, ptrdiff_t start, ptrdiff_t stop, bool begins,
                               REAL *sums)
{
    VECTOR sum[TILE_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++) {
        sum[i][0] = sum[i][1] = (VECTOR){0};
    }
    for (ptrdiff_t c = start, next; c < stop; c = next) {
        ptrdiff_t panel = c / TILE_COLUMNS * TILE_COLUMNS;
        const REAL *from = x + panel * tiles - panel;
        next = panel + TILE_COLUMNS < stop ? panel + TILE_COLUMNS : stop;
        for (ptrdiff_t k = c; k < next; k++) {
            VECTOR a = LOAD(w + k * TILE_COLUMNS), b = LOAD(w + k * TILE_COLUMNS + LANES);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_ROWS; i++) {
                VECTOR each = from[i * TILE_COLUMNS + k] - (VECTOR){0};
                sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
                sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++, sums += TILE_COLUMNS) {
        STORE(sums, begins ? sum[i][0] : LOAD(sums) + sum[i][0]);
        STORE(sums + LANES, begins ? sum[i][1] : LOAD(sums + LANES) + sum[i][1]);
    }
}

#define BLOCKS 4 /* of channels that are summed before they are added to the others */

/* TILE_ROWS tiles times a panel of results in one bin, summed over all channels: sums of sums round less than long sums. */
INLINE void NAME(bin_products)(const Winograd *s, const REAL *x, const REAL *w, ptrdiff_t tiles, REAL *out)
{
    REAL some[TILE_ROWS * TILE_COLUMNS];
    for (ptrdiff_t start = 0; start < s->sources; start += BLOCKS * s->block) {
        ptrdiff_t stop = start + BLOCKS * s->block < s->sources ? start + BLOCKS * s->block : s->sources;
        REAL *sums = start == 0 ? out : some;
        for (ptrdiff_t c = start; c < stop; c += s->block) {
            NAME(add_channels)(x, w, tiles, c, c + s->block < stop ? c + s->block : stop, c == start, sums);
        }
        for (ptrdiff_t i = 0; i < TILE_ROWS * TILE_COLUMNS && sums == some; i += LANES) {
            STORE(out + i, LOAD(out + i) + LOAD(some + i));
        }
    }
}

#undef BLOCKS

/* The 4x2 places of each tile of a row, from its bins: (4, columns, TILE_COLUMNS). Adds to *wrong what is not finite. */
INLINE void NAME(winograd_results)(const Winograd *s, const REAL *bins, ptrdiff_t bin, const REAL *bias, REAL *out,
                                   VECTOR *wrong)
{
    ptrdiff_t line = 2 * s->wide * TILE_COLUMNS;
    for (ptrdiff_t t = 0; t < s->wide; t++, bins += TILE_COLUMNS, out += 2 * TILE_COLUMNS) {
        for (int half = 0; half < 2; half++) {
            VECTOR y[DOWN][2], shift = LOAD(bias + half * LANES);
#pragma GCC unroll 6
            for (int d = 0; d < DOWN; d++) {
                const REAL *from = bins + d * ACROSS * bin + half * LANES;
                VECTOR m1 = LOAD(from + bin), m2 = LOAD(from + 2 * bin);
                y[d][0] = LOAD(from) + m1 + m2;
                y[d][1] = m1 - m2 + LOAD(from + 3 * bin);
            }
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                VECTOR sum_a = y[1][i] + y[2][i], away_a = y[1][i] - y[2][i];
                VECTOR sum_b = y[3][i] + y[4][i], away_b = y[3][i] - y[4][i];
                VECTOR first = shift + y[0][i], last = shift + y[5][i];
                VECTOR r[4] = {
                    first + sum_a + sum_b,
                    NAME(scaled_sum)((REAL)1.5, away_b, NAME(scaled_sum)((REAL)0.75, away_a, shift)),
                    NAME(scaled_sum)((REAL)2.25, sum_b, NAME(scaled_sum)((REAL)0.5625, sum_a, shift)),
                    NAME(scaled_sum)((REAL)3.375, away_b, NAME(scaled_sum)((REAL)0.421875, away_a, last)),
                };
#pragma GCC unroll 4
                for (int d = 0; d < 4; d++) {
                    STORE(out + d * line + i * TILE_COLUMNS + half * LANES, r[d]);
                    *wrong += r[d] * 0;
                }
            }
        }
    }
}

/* Stores a row of tiles of a panel of results where it belongs. */
INLINE void NAME(store_row)(const Winograd *s, const REAL *stage, ptrdiff_t row, ptrdiff_t panel)
{
    ptrdiff_t sample, first, line = 2 * s->wide * TILE_COLUMNS;
    NAME(row_of_tiles)(s, row, &sample, &first);
    ptrdiff_t rows = s->counts[0] - first < 4 ? s->counts[0] - first : 4, columns = s->counts[1];
    ptrdiff_t count = s->results - panel * TILE_COLUMNS < TILE_COLUMNS ? s->results - panel * TILE_COLUMNS : TILE_COLUMNS;
    REAL *out = (REAL *)s->out + sample * s->out_sample + panel * TILE_COLUMNS * s->out_channel + first * columns;
    for (ptrdiff_t r = 0; r < rows; r++) {
        NAME(transpose)(stage + r * line, TILE_COLUMNS, columns, count, out + r * columns, s->out_channel);
    }
}

INLINE ptrdiff_t NAME(whole_tiles)(ptrdiff_t tiles)
{
    return (tiles + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

INLINE ptrdiff_t NAME(source_bin)(const Winograd *s, ptrdiff_t tiles)
{
    return bin_step((s->sources + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS, tiles);
}

/* A panel of the result in some rows of tiles, from the transformed tiles `x` and weights `w`; adds to *wrong what is not
 * finite. */
static void NAME(panel_of_results)(const Winograd *s, const REAL *x, const REAL *w, ptrdiff_t panel, ptrdiff_t start,
                                   ptrdiff_t stop, REAL *bins, VECTOR *wrong)
{
    ptrdiff_t tiles = (stop - start) * s->wide, whole = NAME(whole_tiles)(tiles), out_bin = bin_step(whole, TILE_COLUMNS);
    REAL *stage = bins + BINS * out_bin, bias[TILE_COLUMNS];
    VECTOR own = {0}; /* in a register, while *wrong may be what is stored to */
    for (int bin = 0; bin < BINS; bin++, x += NAME(source_bin)(s, whole), w += bin_step(s->sources, TILE_COLUMNS)) {
        for (ptrdiff_t t = 0; t < tiles; t += TILE_ROWS) {
            NAME(bin_products)(s, x + t * TILE_COLUMNS, w, whole, bins + bin * out_bin + t * TILE_COLUMNS);
        }
    }
    for (ptrdiff_t i = 0; i < TILE_COLUMNS; i++) {
        ptrdiff_t k = panel * TILE_COLUMNS + i;
        bias[i] = s->bias != NULL && k < s->results ? ((const REAL *)s->bias)[k] : 0;
    }
    for (ptrdiff_t row = start; row < stop; row++) {
        NAME(winograd_results)(s, bins + (row - start) * s->wide * TILE_COLUMNS, out_bin, bias, stage, &own);
        if (s->finish != NULL) {
            NAME(finish_lanes)(s->finish, panel * TILE_COLUMNS, s->results, stage, 4 * 2 * s->wide);
        }
        NAME(store_row)(s, stage, row, panel);
    }
    *wrong += own;
}

INLINE bool NAME(is_finite)(VECTOR wrong)
{
    return NAME(sum_small)(NAME(shrunk)(wrong)) == 0;
}

/* Some rows of tiles of the result; whether all of it is finite. */
static bool NAME(winograd_block)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t whole = NAME(whole_tiles)((stop - start) * s->wide), results = (s->results + TILE_COLUMNS - 1) / TILE_COLUMNS;
    REAL *x = scratch, *bins = x + BINS * NAME(source_bin)(s, whole);
    const REAL *w = s->packed;
    VECTOR wrong = {0};
    NAME(winograd_source)(s, start, stop, x, whole, 0, bins);
    for (ptrdiff_t panel = 0; panel < results; panel++, w += BINS * bin_step(s->sources, TILE_COLUMNS)) {
        NAME(panel_of_results)(s, x, w, panel, start, stop, bins, &wrong);
    }
    return NAME(is_finite)(wrong);
}

/* A panel of the result in all rows of tiles, whose weights are transformed for it; whether it is finite. */
static bool NAME(winograd_panel)(const Winograd *s, const void *x, ptrdiff_t panel, void *scratch)
{
    VECTOR wrong = {0};
    REAL *w = scratch, *bins = w + BINS * bin_step(s->sources, TILE_COLUMNS);
    NAME(winograd_weights)(s, panel, w);
    NAME(panel_of_results)(s, x, w, panel, 0, s->samples * s->high, bins, &wrong);
    return NAME(is_finite)(wrong);
}

/* ---- gradients of weights: in each bin, transformed tiles of the gradient times those of the source, summed over tiles */

/* y (4) -> A y, down to 6 */
INLINE void NAME(down_gradient)(VECTOR y0, VECTOR y1, VECTOR y2, VECTOR y3, VECTOR *out)
{
    VECTOR even_a = y0 + (REAL)0.5625 * y2, odd_a = (REAL)0.75 * y1 + (REAL)0.421875 * y3;
    VECTOR even_b = y0 + (REAL)2.25 * y2, odd_b = (REAL)1.5 * y1 + (REAL)3.375 * y3;
    out[0] = y0;
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = y3;
}

/* The transformed tiles of the gradient, laid out as winograd_source lays out those of the source. */
static void NAME(winograd_gradient)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *to, ptrdiff_t tiles,
                                    ptrdiff_t place, void *scratch)
{
    ptrdiff_t columns = 2 * s->wide, panels = (s->results + TILE_COLUMNS - 1) / TILE_COLUMNS;
    ptrdiff_t bin = bin_step(panels * TILE_COLUMNS, tiles);
    REAL *stage = scratch;
    for (ptrdiff_t row = start; row < stop; row++, place += s->wide) {
        ptrdiff_t sample, first;
        NAME(row_of_tiles)(s, row, &sample, &first);
        for (ptrdiff_t k = 0; k < panels * TILE_COLUMNS; k += LANES) {
            const REAL *g = (const REAL *)s->gradient + sample * s->out_sample + k * s->out_channel;
            NAME(stage_rows)(g, s->out_channel, s->results - k, s->counts, first, 0, 4, columns, stage);
            REAL *out = (REAL *)to + (k / TILE_COLUMNS * tiles + place) * TILE_COLUMNS + k % TILE_COLUMNS;
            for (ptrdiff_t t = 0; t < s->wide; t++, out += TILE_COLUMNS) {
                VECTOR y[2][DOWN];
#pragma GCC unroll 2
                for (int i = 0; i < 2; i++) {
                    const REAL *from = stage + (2 * t + i) * LANES;
                    NAME(down_gradient)(LOAD(from), LOAD(from + columns * LANES), LOAD(from + 2 * columns * LANES),
                                        LOAD(from + 3 * columns * LANES), y[i]);
                }
#pragma GCC unroll 6
                for (int d = 0; d < DOWN; d++) {
                    REAL *at = out + d * ACROSS * bin;
                    STORE(at, y[0][d]);
                    STORE(at + bin, y[0][d] + y[1][d]);
                    STORE(at + 2 * bin, y[0][d] - y[1][d]);
                    STORE(at + 3 * bin, y[1][d]);
                }
            }
        }
    }
}

/* Adds one bin's products of tiles from `t` on, as many as are taken at once, for a panel of the source and TILE_ROWS
 * results from `k` on: to rows of `out`. */
INLINE void NAME(add_tiles)(const Winograd *s, const REAL *source, const REAL *gradient, ptrdiff_t tiles, ptrdiff_t t,
                            ptrdiff_t panel, ptrdiff_t k, REAL *out, ptrdiff_t out_step)
{
    const REAL *x = source + (panel * tiles + t) * TILE_COLUMNS, *at[TILE_ROWS];
    NAME(Patch) p = {.samples = 1, .rows = 1, .columns = tiles - t < CONV_DEPTH ? tiles - t : CONV_DEPTH,
                     .x_column = TILE_COLUMNS};
    ptrdiff_t count = s->results - k < TILE_ROWS ? s->results - k : TILE_ROWS;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        ptrdiff_t own = i < count ? k + i : k;
        at[i] = gradient + (own / TILE_COLUMNS * tiles + t) * TILE_COLUMNS + own % TILE_COLUMNS;
    }
    NAME(add_places)(at, x, &p, out, out_step, count);
}

/* Adds one bin's products of some tiles, for a panel of the source: to `sums` of shape (results, channels). */
static void NAME(winograd_bin)(const Winograd *s, const void *source, const void *gradient, ptrdiff_t tiles, ptrdiff_t panel,
                               void *sums)
{
    ptrdiff_t wide = (s->sources + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    for (ptrdiff_t t = 0; t < tiles; t += CONV_DEPTH) {
        for (ptrdiff_t k = 0; k < s->results; k += TILE_ROWS) {
            NAME(add_tiles)(s, source, gradient, tiles, t, panel, k, (REAL *)sums + k * wide + panel * TILE_COLUMNS, wide);
        }
    }
}

/* s (6) -> G' s, down to 3 */
INLINE void NAME(down_taps)(const VECTOR *s, VECTOR *out)
{
    const REAL a = (REAL)(-1 / 1.8984375), b = (REAL)(1 / 7.59375);
    VECTOR sum_a = a * (s[1] + s[2]), away_a = a * (s[1] - s[2]), sum_b = b * (s[3] + s[4]), away_b = b * (s[3] - s[4]);
    out[0] = (REAL)(1 / 1.265625) * s[0] + sum_a + sum_b;
    out[1] = (REAL)0.75 * away_a + (REAL)1.5 * away_b;
    out[2] = (REAL)0.5625 * sum_a + (REAL)2.25 * sum_b + s[5];
}

/* The weights of result `k` for the channels from `first` to before `stop`, at which the sums of each bin begin; adds to
 * *wrong what is not finite. */
INLINE void NAME(taps_of_result)(const Winograd *s, const REAL *sums, ptrdiff_t bin, ptrdiff_t k, ptrdiff_t first,
                                 ptrdiff_t stop, VECTOR *wrong)
{
    for (ptrdiff_t c = first; c < stop; c += LANES, sums += LANES) {
        VECTOR taps[ACROSS][3];
        REAL w[9 * (WIDTH / sizeof(REAL))];
        for (int i = 0; i < ACROSS; i++) {
            VECTOR bins[DOWN];
            for (int d = 0; d < DOWN; d++) {
                bins[d] = LOAD(sums + (d * ACROSS + i) * bin);
            }
            NAME(down_taps)(bins, taps[i]);
        }
        for (int d = 0; d < 3; d++) {
            VECTOR even = (REAL)0.5 * (taps[1][d] + taps[2][d]), odd = (REAL)0.5 * (taps[1][d] - taps[2][d]);
            VECTOR left = even - taps[0][d], right = even + taps[3][d];
            STORE(w + 3 * d * LANES, left);
            STORE(w + (3 * d + 1) * LANES, odd);
            STORE(w + (3 * d + 2) * LANES, right);
            *wrong += (left + odd + right) * 0;
        }
        NAME(transpose)(w, LANES, 9, stop - c < LANES ? stop - c : LANES, (REAL *)s->packed + (k * s->sources + c) * 9, 9);
    }
}

/* The weights of the results from `start` to `stop` from the sums of all bins; whether they are finite. */
static bool NAME(winograd_taps)(const Winograd *s, const void *sums, ptrdiff_t start, ptrdiff_t stop)
{
    ptrdiff_t wide = (s->sources + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS, bin = bin_step(s->results, wide);
    VECTOR wrong = {0};
    for (ptrdiff_t k = start; k < stop; k++) {
        NAME(taps_of_result)(s, (const REAL *)sums + k * wide, bin, k, 0, s->sources, &wrong);
    }
    return NAME(is_finite)(wrong);
}

/* The weights of the results from `start` to `stop` and a panel of the source, if these are all tiles: their sums need not
 * leave the cache. Whether they are finite. */
static bool NAME(winograd_panel_taps)(const Winograd *s, const void *source, const void *gradient, ptrdiff_t tiles,
                                      ptrdiff_t panel, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t first = panel * TILE_COLUMNS, last = s->sources - first < TILE_COLUMNS ? s->sources : first + TILE_COLUMNS;
    ptrdiff_t sums_bin = bin_step(TILE_ROWS, TILE_COLUMNS), source_bin = NAME(source_bin)(s, tiles);
    ptrdiff_t gradient_bin = bin_step((s->results + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS, tiles);
    REAL *sums = scratch;
    VECTOR wrong = {0};
    for (ptrdiff_t k = start; k < stop; k += TILE_ROWS) {
        memset(sums, 0, (size_t)(BINS * sums_bin) * sizeof(REAL));
        for (ptrdiff_t bin = 0; bin < BINS; bin++) {
            for (ptrdiff_t t = 0; t < tiles; t += CONV_DEPTH) {
                NAME(add_tiles)(s, (const REAL *)source + bin * source_bin, (const REAL *)gradient + bin * gradient_bin, tiles,
                                t, panel, k, sums + bin * sums_bin, TILE_COLUMNS);
            }
        }
        for (ptrdiff_t i = 0; i < TILE_ROWS && k + i < stop; i++) {
            NAME(taps_of_result)(s, sums + i * TILE_COLUMNS, sums_bin, k + i, first, last, &wrong);
        }
    }
    return NAME(is_finite)(wrong);
}
