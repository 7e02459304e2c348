/* Direct convolution: sums over taps, that is over source channels and kernel positions.
 *
 * A tile of the result is TILE_ROWS channels times TILE_COLUMNS positions, all of it in registers. Its weights are packed,
 * TILE_ROWS of them for each tap, and so is the source, TILE_COLUMNS of its elements for each tap. Taps are processed in
 * blocks of CONV_DEPTH, so that packed data stays in the cache. Positions are numbered through all samples: tiles of small
 * images span several of them.
 */

/* Places of a panel that lie side by side in one row of the result. */
typedef struct {
    ptrdiff_t first, count;              /* in the panel */
    ptrdiff_t sample, place[CONV_DIMS]; /* of the first */
} NAME(Run);

/* What of a panel comes from where in the source; zeros where `from` is negative. */
typedef struct {
    ptrdiff_t first, count, from;
} NAME(Piece);

INLINE ptrdiff_t NAME(channels_in_block)(const TapSums *s)
{
    ptrdiff_t most = s->taps == 0 ? s->sources : CONV_DEPTH / s->taps, blocks;
    most = most < 1 ? 1 : most;
    blocks = (s->sources + most - 1) / most;
    return (s->sources + blocks - 1) / blocks; /* of about the same size */
}

/* One tile of weights: for each block of channels, each tap and each channel, one weight for each row. */
static void NAME(pack_weights)(const TapSums *s, ptrdiff_t tile)
{
    const REAL *w = (const REAL *)s->weight + tile * TILE_ROWS * s->weight_result;
    REAL *out = (REAL *)s->packed + tile * TILE_ROWS * s->sources * s->taps;
    ptrdiff_t rows = s->results - tile * TILE_ROWS, most = NAME(channels_in_block)(s);
    rows = rows < TILE_ROWS ? rows : TILE_ROWS;
    if (s->taps == 1) {
        NAME(pack_strips)(w + s->tap_weights[0], s->weight_result, s->weight_source, rows, s->sources, out, TILE_ROWS);
        return;
    }
    for (ptrdiff_t start = 0; start < s->sources; start += most) {
        ptrdiff_t stop = start + most < s->sources ? start + most : s->sources;
        for (ptrdiff_t tap = 0; tap < s->taps; tap++) {
            for (ptrdiff_t c = start; c < stop; c++, out += TILE_ROWS) {
                const REAL *from = w + c * s->weight_source + s->tap_weights[tap];
                for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
                    out[i] = i < rows ? from[i * s->weight_result] : 0;
                }
            }
        }
    }
}

/* The runs of a panel of `count` places from `start` on; how many there are. */
INLINE int NAME(runs_of)(const TapSums *s, ptrdiff_t start, ptrdiff_t count, NAME(Run) *runs)
{
    int n = 0;
    for (ptrdiff_t done = 0; done < count; n++) {
        ptrdiff_t rest = start + done;
        NAME(Run) *r = &runs[n];
        r->first = done;
        for (int d = CONV_DIMS - 1; d >= 0; d--) {
            r->place[d] = rest % s->counts[d];
            rest /= s->counts[d];
        }
        r->sample = rest;
        r->count = s->counts[CONV_DIMS - 1] - r->place[CONV_DIMS - 1];
        r->count = r->count < count - done ? r->count : count - done;
        done += r->count;
    }
    return n;
}

/* Where the elements of a panel come from for one tap; how many pieces there are. */
INLINE int NAME(pieces_of)(const TapSums *s, const NAME(Run) *runs, int run_count, const ptrdiff_t *tap,
                           NAME(Piece) *pieces)
{
    const int last = CONV_DIMS - 1;
    int n = 0;
    for (int i = 0; i < run_count; i++) {
        const NAME(Run) *r = &runs[i];
        ptrdiff_t from = r->sample * s->source_sample;
        ptrdiff_t row = 0;
        bool inside = true;
        for (int d = 0; d < last; d++) {
            ptrdiff_t at = r->place[d] * s->steps[d] + tap[d];
            inside = inside && at >= 0 && at < s->sizes[d];
            row = row * s->sizes[d] + at;
        }
        if (!inside) {
            pieces[n++] = (NAME(Piece)){r->first, r->count, -1};
            continue;
        }
        ptrdiff_t step = s->steps[last], column = r->place[last] * step + tap[last], size = s->sizes[last];
        ptrdiff_t before = column < 0 ? (-column + step - 1) / step : 0;
        ptrdiff_t upto = size > column ? (size - column + step - 1) / step : 0;
        upto = upto < r->count ? upto : r->count;
        before = before < upto ? before : upto;
        if (before > 0) {
            pieces[n++] = (NAME(Piece)){r->first, before, -1};
        }
        if (upto > before) {
            pieces[n++] = (NAME(Piece)){r->first + before, upto - before, from + row * size + column + before * step};
        }
        if (upto < r->count) {
            pieces[n++] = (NAME(Piece)){r->first + upto, r->count - upto, -1};
        }
    }
    return n;
}

/* Copies a piece. Whole vectors are written, past the end of the piece too: what belongs there is written later. */
INLINE void NAME(copy_piece)(const REAL *from, const REAL *end, ptrdiff_t step, ptrdiff_t count, REAL *out)
{
    if (step == 1 && end - from >= (count + LANES - 1) / LANES * LANES) {
        for (ptrdiff_t i = 0; i < count; i += LANES) {
            STORE(out + i, LOAD(from + i));
        }
    } else if (step == 2) {
        for (ptrdiff_t i = 0; i < count; i++) {
            out[i] = from[2 * i];
        }
    } else {
        for (ptrdiff_t i = 0; i < count; i++) {
            out[i] = from[i * step];
        }
    }
}

/* Packs the source for a panel and some channels: a row of TILE_COLUMNS for each tap and channel. */
static REAL *NAME(pack_panel)(const TapSums *s, const NAME(Run) *runs, int run_count, ptrdiff_t start, ptrdiff_t stop,
                              ptrdiff_t count, REAL *out)
{
    NAME(Piece) pieces[3 * TILE_COLUMNS + 1];
    const REAL *x = s->source, *end = x + s->source_size;
    ptrdiff_t step = s->steps[CONV_DIMS - 1];
    for (ptrdiff_t tap = 0; tap < s->taps; tap++) {
        int n = NAME(pieces_of)(s, runs, run_count, s->tap_places + CONV_DIMS * tap, pieces);
        if (count < TILE_COLUMNS) {
            pieces[n++] = (NAME(Piece)){count, TILE_COLUMNS - count, -1};
        }
        if (n == 1 && pieces[0].from >= 0 && step == 1) {
            const REAL *from = x + pieces[0].from + start * s->source_channel;
            for (ptrdiff_t c = start; c < stop; c++, out += TILE_COLUMNS, from += s->source_channel) {
                STORE(out, LOAD(from));
                STORE(out + LANES, LOAD(from + LANES));
            }
            continue;
        }
        for (ptrdiff_t c = start; c < stop; c++, out += TILE_COLUMNS) {
            for (int i = 0; i < n; i++) {
                if (pieces[i].from >= 0) {
                    NAME(copy_piece)(x + pieces[i].from + c * s->source_channel, end, step, pieces[i].count,
                                     out + pieces[i].first);
                    continue;
                }
                for (ptrdiff_t j = 0; j < pieces[i].count; j += LANES) {
                    STORE(out + pieces[i].first + j, (VECTOR){0});
                }
            }
        }
    }
    return out;
}

#define CHANNELS_AHEAD 8 /* whose elements are fetched while others are copied: they lie in other pages */

/* Packs several panels at once, if they are the elements of one sample as they lie: all of a channel, then of the next. */
INLINE bool NAME(pack_rows_as_they_lie)(const TapSums *s, ptrdiff_t place, ptrdiff_t panels, ptrdiff_t start, ptrdiff_t stop,
                                        REAL *out)
{
    ptrdiff_t plane = s->sizes[2], depth = stop - start;
    bool rows = s->taps == 1 && s->sizes[0] * s->sizes[1] == 1 && plane == s->counts[2] && s->counts[0] * s->counts[1] == 1
                && s->steps[2] == 1;
    for (int d = 0; d < CONV_DIMS && rows; d++) {
        rows = s->tap_places[d] == 0;
    }
    if (!rows || place / plane != (place + panels * TILE_COLUMNS - 1) / plane || place / plane >= s->samples) {
        return false;
    }
    const REAL *from = (const REAL *)s->source + place / plane * s->source_sample + place % plane + start * s->source_channel;
    for (ptrdiff_t c = 0; c < depth; c++, from += s->source_channel) {
        const REAL *ahead = from + CHANNELS_AHEAD * s->source_channel;
        for (ptrdiff_t p = 0; p < panels; p++) {
            REAL *to = out + (p * depth + c) * TILE_COLUMNS;
            STORE(to, LOAD(from + p * TILE_COLUMNS));
            STORE(to + LANES, LOAD(from + p * TILE_COLUMNS + LANES));
            if (c + CHANNELS_AHEAD < depth) {
                __builtin_prefetch(ahead + p * TILE_COLUMNS);
                __builtin_prefetch(ahead + p * TILE_COLUMNS + TILE_COLUMNS - 1);
            }
        }
    }
    return true;
}

/* The products of `depth` packed weights and elements, plus a bias for each row (or NULL), in `rows` rows that lie `step`
 * apart; added to what is there where this is to `add`; finished, unless `finish` is NULL, as channels from `channel` on.
 * Those from `high` on, a constant where this is inlined, are none of these rows. */
INLINE void NAME(products_of_rows)(const REAL *w, const REAL *x, ptrdiff_t depth, const REAL *bias, ptrdiff_t rows, bool add,
                                   const Finish *finish, ptrdiff_t channel, REAL *out, ptrdiff_t step, const int high)
{
    VECTOR sum[TILE_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < high; i++) {
        sum[i][0] = sum[i][1] = (VECTOR){0};
    }
    for (ptrdiff_t k = 0; k < depth; k++, w += TILE_ROWS, x += TILE_COLUMNS) {
        VECTOR a = LOAD(x), b = LOAD(x + LANES);
#pragma GCC unroll 16
        for (int i = 0; i < high; i++) {
            VECTOR each = w[i] - (VECTOR){0};
            sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
            sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < high; i++, out += step) {
        if (i < rows) {
            VECTOR shift = (bias == NULL ? 0 : bias[i]) - (VECTOR){0};
            VECTOR a = sum[i][0] + (add ? LOAD(out) : shift), b = sum[i][1] + (add ? LOAD(out + LANES) : shift);
            if (finish != NULL) {
                NAME(Ends) e = NAME(ends_of_channel)(finish, channel + i);
                a = NAME(cut_off)(&e, a);
                b = NAME(cut_off)(&e, b);
            }
            STORE(out, a);
            STORE(out + LANES, b);
            if (finish != NULL) {
                NAME(bend)(finish, out, TILE_COLUMNS);
            }
        }
    }
}

#define THIRD (TILE_ROWS / 3)

/* For one height; a function of its own, as registers are too few for anything beside the sums. */
#define PRODUCTS_OF(name, high) \
    __attribute__((noinline)) static void NAME(name)( \
        const REAL *w, const REAL *x, ptrdiff_t depth, const REAL *bias, ptrdiff_t rows, bool add, const Finish *finish, \
        ptrdiff_t channel, REAL *out, ptrdiff_t step) \
    { \
        NAME(products_of_rows)(w, x, depth, bias, rows, add, finish, channel, out, step, high); \
    }
PRODUCTS_OF(products_of_third, THIRD)
PRODUCTS_OF(products_of_thirds, 2 * THIRD)
PRODUCTS_OF(products_of_all, TILE_ROWS)

/* The same by a tile no higher than it must be. */
INLINE void NAME(tile_products)(const REAL *w, const REAL *x, ptrdiff_t depth, const REAL *bias, ptrdiff_t rows, bool add,
                                const Finish *finish, ptrdiff_t channel, REAL *out, ptrdiff_t step)
{
    (rows <= THIRD       ? NAME(products_of_third)
     : rows <= 2 * THIRD ? NAME(products_of_thirds)
                         : NAME(products_of_all))(w, x, depth, bias, rows, add, finish, channel, out, step);
}

#undef PRODUCTS_OF
#undef THIRD

/* Stores `rows` rows of a tile at the places of runs; adds to what is there unless it is the first block of taps. The last
 * one is finished. */
static void NAME(store_runs)(const TapSums *s, REAL *sums, ptrdiff_t row, ptrdiff_t rows, const NAME(Run) *runs,
                             int run_count, bool first, bool last_block)
{
    const int last = CONV_DIMS - 1;
    for (ptrdiff_t i = 0; i < rows; i++, sums += TILE_COLUMNS) {
        REAL *out = (REAL *)s->out + (row + i) * s->out_channel;
        for (int j = 0; j < run_count; j++) {
            const NAME(Run) *r = &runs[j];
            REAL *to = out + r->sample * s->out_sample;
            for (int d = 0; d < CONV_DIMS; d++) {
                to += r->place[d] * s->out_steps[d];
            }
            ptrdiff_t step = s->out_steps[last];
            REAL *from = sums + r->first;
            for (ptrdiff_t k = 0; k < r->count && !first; k++) {
                from[k] += to[k * step];
            }
            if (last_block && s->finish != NULL) {
                NAME(finish_row)(s->finish, s->first_result + row + i, from, from, r->count);
            }
            for (ptrdiff_t k = 0; k < r->count; k++) {
                to[k * step] = from[k];
            }
        }
    }
}

/* One tile of the result from one block of taps. */
INLINE void NAME(tile_of)(const TapSums *s, const REAL *w, const REAL *x, ptrdiff_t depth, ptrdiff_t row,
                          const NAME(Run) *runs, int run_count, REAL *whole, bool first, bool last)
{
    const REAL *bias = first && s->bias != NULL ? (const REAL *)s->bias + row : NULL;
    ptrdiff_t rows = s->results - row < TILE_ROWS ? s->results - row : TILE_ROWS;
    if (whole != NULL) {
        NAME(tile_products)(w, x, depth, bias, rows, !first, last ? s->finish : NULL, s->first_result + row,
                            whole + row * s->out_channel, s->out_channel);
        return;
    }
    REAL tile[TILE_ROWS * (2 * WIDTH / sizeof(REAL))];
    NAME(tile_products)(w, x, depth, bias, rows, false, NULL, 0, tile, TILE_COLUMNS);
    NAME(store_runs)(s, tile, row, rows, runs, run_count, first, last);
}

/* Where a panel's part of the first channel lies, if it lies there without gaps; NULL otherwise. */
INLINE REAL *NAME(whole_of)(const TapSums *s, const NAME(Run) *runs, int run_count, ptrdiff_t start, ptrdiff_t count)
{
    if (!s->dense || count < TILE_COLUMNS || runs[0].sample != runs[run_count - 1].sample) {
        return NULL;
    }
    ptrdiff_t places = s->counts[0] * s->counts[1] * s->counts[2];
    return (REAL *)s->out + runs[0].sample * s->out_sample + start % places;
}

/* The panels of TILE_COLUMNS places from `start` to `stop`, of tiles from `top` to `bottom`. */
static void NAME(sum_panels)(const TapSums *s, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t top, ptrdiff_t bottom,
                             void *scratch)
{
    NAME(Run) runs[CONV_PANELS][2 * LANES];
    int run_counts[CONV_PANELS];
    ptrdiff_t panels = stop - start, total = s->samples * s->counts[0] * s->counts[1] * s->counts[2];
    ptrdiff_t most = NAME(channels_in_block)(s), k = 0;
    for (ptrdiff_t p = 0; p < panels; p++) {
        ptrdiff_t place = (start + p) * TILE_COLUMNS, count = total - place;
        run_counts[p] = NAME(runs_of)(s, place, count < TILE_COLUMNS ? count : TILE_COLUMNS, runs[p]);
    }
    ptrdiff_t channel = 0;
    do { /* also once where there are no taps */
        ptrdiff_t upto = channel + most < s->sources ? channel + most : s->sources;
        ptrdiff_t depth = (upto - channel) * s->taps;
        REAL *x = scratch;
        bool packed = NAME(pack_rows_as_they_lie)(s, start * TILE_COLUMNS, panels, channel, upto, x);
        for (ptrdiff_t p = 0; p < panels && !packed; p++) {
            ptrdiff_t count = total - (start + p) * TILE_COLUMNS;
            NAME(pack_panel)(s, runs[p], run_counts[p], channel, upto, count < TILE_COLUMNS ? count : TILE_COLUMNS,
                             x + p * depth * TILE_COLUMNS);
        }
        for (ptrdiff_t p = 0; p < panels; p++) {
            ptrdiff_t place = (start + p) * TILE_COLUMNS, count = total - place;
            REAL *whole = NAME(whole_of)(s, runs[p], run_counts[p], place, count);
            for (ptrdiff_t tile = top; tile < bottom; tile++) {
                const REAL *w = (const REAL *)s->packed + (tile * s->sources * s->taps + k) * TILE_ROWS;
                NAME(tile_of)(s, w, x + p * depth * TILE_COLUMNS, depth, tile * TILE_ROWS, runs[p], run_counts[p], whole,
                              channel == 0, upto == s->sources);
            }
        }
        k += depth;
        channel = upto;
    } while (channel < s->sources);
}

/* ---- gradients of weights: tiles of TILE_ROWS weights of one result times TILE_COLUMNS results, summed over places
 *
 * The gradient of the results lies packed: for each sample and each panel of TILE_COLUMNS results, that many numbers for
 * each place. The elements of the source that meet them lie one step apart, so they need no packing, only a margin.
 */

/* One sample and one panel of results. */
static void NAME(pack_results)(const WeightSums *s, ptrdiff_t sample, ptrdiff_t panel)
{
    ptrdiff_t first = panel * TILE_COLUMNS, count = s->results - first, places = s->places;
    const REAL *g = (const REAL *)s->g + sample * s->g_sample + first * places;
    REAL *out = (REAL *)s->packed + (sample * s->panels + panel) * places * TILE_COLUMNS;
    count = count < TILE_COLUMNS ? count : TILE_COLUMNS;
    if (count < TILE_COLUMNS) {
        memset(out, 0, (size_t)(places * TILE_COLUMNS) * sizeof(REAL));
    }
    for (ptrdiff_t p = 0; p < places; p += 64) { /* whose lines stay in the cache */
        NAME(transpose)(g + p, places, count, places - p < 64 ? places - p : 64, out + p * TILE_COLUMNS, TILE_COLUMNS);
    }
}

/* Places of some samples that are summed over at once: rows of them, in the source and in the packed gradient. */
typedef struct {
    ptrdiff_t samples, rows, columns;
    ptrdiff_t x_sample, x_row, x_column, g_sample;
} NAME(Patch);

/* Adds products over a patch to `count` rows of a tile; x[i] is where the elements of row i begin. */
INLINE void NAME(add_places)(const REAL *const *x, const REAL *g, const NAME(Patch) *p, REAL *out, ptrdiff_t out_step,
                             ptrdiff_t count)
{
    VECTOR sum[TILE_ROWS][2];
    const REAL *at[TILE_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++) {
        sum[i][0] = sum[i][1] = (VECTOR){0};
        at[i] = x[i];
    }
    ptrdiff_t step = p->x_column, columns = p->columns;
    for (ptrdiff_t n = 0; n < p->samples; n++, g += p->g_sample - p->rows * columns * TILE_COLUMNS) {
        for (ptrdiff_t r = 0; r < p->rows; r++) {
            for (ptrdiff_t c = 0; c < columns; c++, g += TILE_COLUMNS) {
                VECTOR a = LOAD(g), b = LOAD(g + LANES);
#pragma GCC unroll 16
                for (int i = 0; i < TILE_ROWS; i++) {
                    VECTOR each = at[i][c * step] - (VECTOR){0};
                    sum[i][0] = NAME(vector_madd)(each, a, sum[i][0]);
                    sum[i][1] = NAME(vector_madd)(each, b, sum[i][1]);
                }
            }
#pragma GCC unroll 16
            for (int i = 0; i < TILE_ROWS; i++) {
                at[i] += p->x_row;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i++) {
            at[i] += p->x_sample - p->rows * p->x_row;
        }
    }
    for (ptrdiff_t i = 0; i < count; i++, out += out_step) {
        STORE(out, LOAD(out) + sum[i][0]);
        STORE(out + LANES, LOAD(out + LANES) + sum[i][1]);
    }
}

/* Copies channels of a sample into a margin of zeros. */
static void NAME(copy_with_margin)(const WeightSums *s, const REAL *x, ptrdiff_t channels, REAL *out)
{
    const ptrdiff_t *size = s->sizes, *wide = s->wide, *low = s->margin;
    memset(out, 0, (size_t)(channels * wide[0] * wide[1] * wide[2]) * sizeof(REAL));
    ptrdiff_t first = low[2] < 0 ? -low[2] : 0; /* a margin may also be cut off */
    ptrdiff_t stop = wide[2] - low[2] < size[2] ? wide[2] - low[2] : size[2];
    for (ptrdiff_t c = 0; c < channels; c++, x += size[0] * size[1] * size[2]) {
        for (ptrdiff_t z = 0; z < size[0]; z++) {
            for (ptrdiff_t y = 0; y < size[1]; y++) {
                ptrdiff_t to_z = z + low[0], to_y = y + low[1];
                if (to_z >= 0 && to_z < wide[0] && to_y >= 0 && to_y < wide[1] && stop > first) {
                    memcpy(out + ((c * wide[0] + to_z) * wide[1] + to_y) * wide[2] + low[2] + first,
                           x + (z * size[1] + y) * size[2] + first, (size_t)(stop - first) * sizeof(REAL));
                }
            }
        }
    }
}

/* All tiles of one panel over the same patch: `weights` rows, for each channel and each tap one. */
INLINE void NAME(sum_tiles)(const WeightSums *s, const REAL *x, const REAL *g, const NAME(Patch) *patch,
                            ptrdiff_t weights, REAL *out)
{
    ptrdiff_t plane = s->wide[0] * s->wide[1] * s->wide[2], out_step = s->panels * TILE_COLUMNS;
    for (ptrdiff_t row = 0; row < weights; row += TILE_ROWS, out += TILE_ROWS * out_step) {
        const REAL *at[TILE_ROWS];
        ptrdiff_t count = weights - row < TILE_ROWS ? weights - row : TILE_ROWS;
        for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
            ptrdiff_t own = i < count ? row + i : row;
            at[i] = x + own / s->taps * plane + s->tap_offsets[own % s->taps];
        }
        NAME(add_places)(at, g, patch, out, out_step, count);
    }
}

/* Some samples, some channels of the source: their part of the sums, added to `sums` of shape (channels * taps, panels *
 * TILE_COLUMNS). */
static void NAME(sum_weights)(const WeightSums *s, ptrdiff_t from_sample, ptrdiff_t to_sample, ptrdiff_t from,
                              ptrdiff_t to, void *sums, void *scratch)
{
    ptrdiff_t columns = s->counts[2], height = s->counts[1], out_step = s->panels * TILE_COLUMNS;
    ptrdiff_t across = columns < CONV_DEPTH ? columns : CONV_DEPTH, down = CONV_DEPTH / across; /* taken at once */
    ptrdiff_t plane = s->wide[0] * s->wide[1] * s->wide[2];
    for (ptrdiff_t n = from_sample; n < to_sample; n += s->beside) {
        const REAL *x = (const REAL *)s->source + n * s->source_sample + from * s->source_channel;
        NAME(Patch) p = {
            .samples = to_sample - n < s->beside ? to_sample - n : s->beside,
            .x_sample = (to - from) * plane, .x_row = s->steps[1] * s->wide[2], .x_column = s->steps[2],
            .g_sample = s->panels * s->places * TILE_COLUMNS,
        };
        for (ptrdiff_t i = 0; i < p.samples && s->margins; i++) {
            NAME(copy_with_margin)(s, x + i * s->source_sample, to - from, (REAL *)scratch + i * p.x_sample);
        }
        x = s->margins ? scratch : x;
        for (ptrdiff_t z = 0; z < s->counts[0]; z++) {
            for (ptrdiff_t y = 0; y < height; y += down) {
                for (ptrdiff_t c = 0; c < columns; c += across) {
                    ptrdiff_t place = (z * height + y) * columns + c;
                    ptrdiff_t start = (z * s->steps[0] * s->wide[1] + y * s->steps[1]) * s->wide[2] + c * s->steps[2];
                    p.rows = height - y < down ? height - y : down;
                    p.columns = columns - c < across ? columns - c : across;
                    for (ptrdiff_t panel = 0; panel < s->panels; panel++) {
                        const REAL *g = (const REAL *)s->packed
                                        + ((n * s->panels + panel) * s->places + place) * TILE_COLUMNS;
                        NAME(sum_tiles)(s, x + start, g, &p, (to - from) * s->taps,
                                        (REAL *)sums + from * s->taps * out_step + panel * TILE_COLUMNS);
                    }
                }
            }
        }
    }
}

#define LINES_AT_ONCE 64

/* The sums of `parts` parts as weights of shape (results, channels * taps): those of one panel of results. */
static void NAME(collect_weights)(const WeightSums *s, const void *sums, ptrdiff_t parts, ptrdiff_t panel)
{
    ptrdiff_t rows = s->sources * s->taps, wide = s->panels * TILE_COLUMNS, first = panel * TILE_COLUMNS;
    ptrdiff_t results = s->results - first < TILE_COLUMNS ? s->results - first : TILE_COLUMNS;
    REAL lines[LINES_AT_ONCE * TILE_COLUMNS];
    for (ptrdiff_t row = 0; row < rows; row += LINES_AT_ONCE) {
        ptrdiff_t count = rows - row < LINES_AT_ONCE ? rows - row : LINES_AT_ONCE;
        for (ptrdiff_t i = 0; i < count; i++) {
            const REAL *from = (const REAL *)sums + (row + i) * wide + first;
            VECTOR a = LOAD(from), b = LOAD(from + LANES);
            for (ptrdiff_t p = 1; p < parts; p++) {
                a += LOAD(from + p * rows * wide);
                b += LOAD(from + p * rows * wide + LANES);
            }
            STORE(lines + i * TILE_COLUMNS, a);
            STORE(lines + i * TILE_COLUMNS + LANES, b);
        }
        NAME(transpose)(lines, TILE_COLUMNS, count, results, (REAL *)s->out + first * rows + row, rows);
    }
}

#undef LINES_AT_ONCE
