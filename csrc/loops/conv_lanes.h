/* Direct convolution with output channels in the vector lanes: for small images, for strides, and for the phases of
 * gradients, where adjacent positions are too few or too far apart to fill a vector.
 *
 * The source is copied to a staging area: the channels of a position are adjacent, with zero padding around each image. So
 * all elements that a kernel row meets are adjacent, and nothing is packed for a tile: TILE_ROWS arbitrary positions times
 * TILE_COLUMNS channels of the result. The weights are packed in the same order, TILE_COLUMNS of them for each element.
 */

#define LANES_DEPTH (16384 / (TILE_COLUMNS * (ptrdiff_t)sizeof(REAL))) /* lines of weights that stay in the cache */

/* One row of a staged image: rows are counted through all samples and slices. */
static void NAME(stage_row)(const TapSums *s, ptrdiff_t row)
{
    ptrdiff_t y = row % s->wide[1] - s->margin[1], z = row / s->wide[1] % s->wide[0] - s->margin[0];
    ptrdiff_t sample = row / (s->wide[1] * s->wide[0]), width = s->wide[2], left = s->margin[2];
    ptrdiff_t count = width - left < s->sizes[2] ? width - left : s->sizes[2];
    REAL *out = (REAL *)s->staged + row * width * s->pixel;
    if (y < 0 || y >= s->sizes[1] || z < 0 || z >= s->sizes[0]) {
        memset(out, 0, (size_t)(width * s->pixel) * sizeof(REAL));
        return;
    }
    memset(out, 0, (size_t)(left * s->pixel) * sizeof(REAL));
    memset(out + (left + count) * s->pixel, 0, (size_t)((width - left - count) * s->pixel) * sizeof(REAL));
    const REAL *x = (const REAL *)s->source + sample * s->source_sample + (z * s->sizes[1] + y) * s->sizes[2];
    NAME(transpose)(x, s->source_channel, s->sources, count, out + left * s->pixel, s->pixel);
}

#define WEIGHTS_AT_ONCE 64

/* The weights of a panel of results: a line of TILE_COLUMNS for each tap and each channel of the source. The `kernel`
 * weights of a result and a channel lie side by side; where those of the next channel follow, several channels are taken
 * at once. */
static void NAME(pack_lanes)(const TapSums *s, ptrdiff_t panel)
{
    ptrdiff_t first = panel * TILE_COLUMNS, lanes = s->results - first < TILE_COLUMNS ? s->results - first : TILE_COLUMNS;
    ptrdiff_t most = s->weight_source == s->kernel && s->kernel < WEIGHTS_AT_ONCE ? WEIGHTS_AT_ONCE / s->kernel : 1;
    const REAL *w = (const REAL *)s->weight + first * s->weight_result;
    REAL *out = (REAL *)s->packed + panel * s->taps * s->sources * TILE_COLUMNS, lines[WEIGHTS_AT_ONCE * TILE_COLUMNS];
    memset(lines, 0, sizeof lines);
    for (ptrdiff_t c = 0, count; c < s->sources; c += count) {
        count = s->sources - c < most ? s->sources - c : most;
        for (ptrdiff_t from = 0; from < count * s->kernel; from += WEIGHTS_AT_ONCE) { /* once, but for large kernels */
            ptrdiff_t rest = count * s->kernel - from, now = rest < WEIGHTS_AT_ONCE ? rest : WEIGHTS_AT_ONCE;
            NAME(transpose)(w + c * s->weight_source + from, s->weight_result, lanes, now, lines, TILE_COLUMNS);
            for (ptrdiff_t tap = 0; tap < s->taps; tap++) {
                for (ptrdiff_t i = 0; i < count; i++) {
                    ptrdiff_t line = i * s->kernel + s->tap_weights[tap] - from;
                    if (line >= 0 && line < now) {
                        REAL *to = out + (tap * s->sources + c + i) * TILE_COLUMNS;
                        STORE(to, LOAD(lines + line * TILE_COLUMNS));
                        STORE(to + LANES, LOAD(lines + line * TILE_COLUMNS + LANES));
                    }
                }
            }
        }
    }
}

/* What of the source a place meets: `count` runs of `length` elements each. */
typedef struct {
    ptrdiff_t count, length;
} NAME(Reach);

/* Where in a staged image a tap is, counted from the place in it that a place of the result begins at. */
INLINE ptrdiff_t NAME(staged_tap)(const TapSums *s, ptrdiff_t tap)
{
    const ptrdiff_t *at = s->tap_places + CONV_DIMS * tap, *low = s->margin;
    return (((at[0] + low[0]) * s->wide[1] + at[1] + low[1]) * s->wide[2] + at[2] + low[2]) * s->pixel;
}

/* Taps that lie side by side make one run, if all rows of the kernel have as many. */
INLINE NAME(Reach) NAME(reach_of)(const TapSums *s)
{
    ptrdiff_t beside = 1;
    while (beside < s->taps && NAME(staged_tap)(s, beside) - NAME(staged_tap)(s, 0) == beside * s->sources) {
        beside++;
    }
    bool even = s->taps % beside == 0;
    for (ptrdiff_t tap = 0; tap < s->taps && even; tap++) {
        ptrdiff_t own = tap / beside * beside;
        even = NAME(staged_tap)(s, tap) - NAME(staged_tap)(s, own) == (tap - own) * s->sources;
    }
    beside = even ? beside : 1;
    return (NAME(Reach)){s->taps / beside, beside * s->sources};
}

/* Adds the products of `runs` runs of `length` elements and as many lines of weights to a tile, or begins it. */
INLINE void NAME(add_runs)(const REAL *const *places, const ptrdiff_t *offsets, ptrdiff_t runs, ptrdiff_t length,
                           const REAL *w, const REAL *bias, REAL *out)
{
    VECTOR sum[TILE_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++) {
        sum[i][0] = sum[i][1] = (VECTOR){0}; /* sums of sums round less than long sums */
    }
    for (ptrdiff_t r = 0; r < runs; r++) {
        const REAL *at[TILE_ROWS];
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i++) {
            at[i] = places[i] + offsets[r];
        }
        for (ptrdiff_t k = 0; k < length; k++, w += TILE_COLUMNS) {
            VECTOR a = LOAD(w), b = LOAD(w + LANES);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_ROWS; i++) {
                VECTOR each = at[i][k] - (VECTOR){0};
                sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
                sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++) {
        const REAL *old = bias != NULL ? bias : out + i * TILE_COLUMNS;
        STORE(out + i * TILE_COLUMNS, LOAD(old) + sum[i][0]);
        STORE(out + i * TILE_COLUMNS + LANES, LOAD(old + LANES) + sum[i][1]);
    }
}

/* All tiles of some places and one panel: first all of them for a few lines of weights, then for the next. */
static void NAME(sum_tiles_of_places)(const TapSums *s, const REAL *const *places, ptrdiff_t tiles, ptrdiff_t panel,
                                      REAL *sums)
{
    NAME(Reach) reach = NAME(reach_of)(s);
    ptrdiff_t beside = s->taps / (reach.count > 0 ? reach.count : 1), offsets[2 * LANES_DEPTH];
    ptrdiff_t parts = (reach.length + LANES_DEPTH - 1) / LANES_DEPTH; /* of a long run; short ones are taken together */
    ptrdiff_t blocks = (s->taps * s->sources + LANES_DEPTH / 2) / LANES_DEPTH, most = 1;
    if (parts == 1) {
        most = blocks > 1 ? (reach.count + blocks - 1) / blocks : reach.count;
    }
    const REAL *w = (const REAL *)s->packed + (panel * s->kernel + s->first_tap) * s->sources * TILE_COLUMNS;
    REAL bias[2 * WIDTH / sizeof(REAL)];
    for (ptrdiff_t i = 0; i < TILE_COLUMNS; i++) {
        ptrdiff_t k = panel * TILE_COLUMNS + i;
        bias[i] = s->bias != NULL && k < s->results ? ((const REAL *)s->bias)[k] : 0;
    }
    for (ptrdiff_t run = 0; run < reach.count; run += most) {
        ptrdiff_t runs = reach.count - run < most ? reach.count - run : most;
        for (ptrdiff_t part = 0; part < parts; part++) {
            ptrdiff_t start = reach.length * part / parts, length = reach.length * (part + 1) / parts - start;
            for (ptrdiff_t r = 0; r < runs; r++) {
                offsets[r] = NAME(staged_tap)(s, (run + r) * beside) + start;
            }
            for (ptrdiff_t tile = 0; tile < tiles; tile++) {
                NAME(add_runs)(places + tile * TILE_ROWS, offsets, runs, length, w, run + part == 0 ? bias : NULL,
                               sums + tile * TILE_ROWS * TILE_COLUMNS);
            }
            w += runs * length * TILE_COLUMNS;
        }
    }
}

/* Stores the sums of a row of places, or of several that have no gap between them. */
INLINE void NAME(store_places)(const TapSums *s, const REAL *sums, ptrdiff_t panel, ptrdiff_t count, REAL *out)
{
    ptrdiff_t lanes = s->results - panel * TILE_COLUMNS, step = s->out_steps[CONV_DIMS - 1];
    lanes = lanes < TILE_COLUMNS ? lanes : TILE_COLUMNS;
    out += panel * TILE_COLUMNS * s->out_channel;
    if (step == 1) {
        NAME(transpose)(sums, TILE_COLUMNS, count, lanes, out, s->out_channel);
        return;
    }
    for (ptrdiff_t lane = 0; lane < lanes; lane++, out += s->out_channel) {
        for (ptrdiff_t i = 0; i < count; i++) {
            out[i * step] = sums[i * TILE_COLUMNS + lane];
        }
    }
}

/* The rows of the result from `start` to `stop`, counted through all samples and slices, and the panels from `from` to
 * `to` of its channels. */
static void NAME(sum_lanes)(const TapSums *s, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t from, ptrdiff_t to, void *scratch)
{
    ptrdiff_t width = s->counts[2], height = s->counts[1], slices = s->counts[0], total = (stop - start) * width;
    ptrdiff_t tiles = (total + TILE_ROWS - 1) / TILE_ROWS;
    const REAL **places = scratch;
    REAL *sums = (REAL *)(places + tiles * TILE_ROWS);
    for (ptrdiff_t row = start, i = 0; row < stop; row++) {
        ptrdiff_t y = row % height, z = row / height % slices, sample = row / (height * slices);
        ptrdiff_t at = ((sample * s->wide[0] + z * s->steps[0]) * s->wide[1] + y * s->steps[1]) * s->wide[2];
        for (ptrdiff_t x = 0; x < width; x++, i++) {
            places[i] = (const REAL *)s->staged + (at + x * s->steps[2]) * s->pixel;
        }
    }
    for (ptrdiff_t i = total; i < tiles * TILE_ROWS; i++) {
        places[i] = places[0];
    }
    for (ptrdiff_t panel = from; panel < to; panel++) {
        NAME(sum_tiles_of_places)(s, places, tiles, panel, sums);
        if (s->finish != NULL) {
            ptrdiff_t channel = s->first_result + panel * TILE_COLUMNS;
            NAME(finish_lanes)(s->finish, channel, s->first_result + s->results, sums, total);
        }
        for (ptrdiff_t row = start, next; row < stop; row = next) {
            ptrdiff_t y = row % height, z = row / height % slices, sample = row / (height * slices);
            ptrdiff_t whole = row - y - z * height + height * slices; /* where the next sample begins */
            next = !s->dense ? row + 1 : whole < stop ? whole : stop;
            REAL *out = (REAL *)s->out + sample * s->out_sample + z * s->out_steps[0] + y * s->out_steps[1];
            NAME(store_places)(s, sums + (row - start) * width * TILE_COLUMNS, panel, (next - row) * width, out);
        }
    }
}

#undef LANES_DEPTH
#undef WEIGHTS_AT_ONCE
