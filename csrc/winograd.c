/* Convolutions with 3x3 kernels: see loops/winograd.h. */

#include "conv.h"

#include <stdatomic.h>

#include "memory.h"
#include "threads.h"

#define BINS 24       /* products for each tile and pair of channels */
#define LEAST_TILES 32 /* below which the transforms of the weights take longer than they save */
#define LEAST_CHANNELS 16
#define FEW_TILES 2   /* times which there are channels of the result, for these to be summed panel by panel */
#define FEWER_TILES 4 /* the same for gradients of weights */
#define TILES_AT_ONCE 48
#define LONG_BLOCK 32 /* channels summed at once: no less exact than the long sums of other libraries */
#define SHORT_BLOCK 8 /* no less exact than their short ones, over few channels and in gradients */

/* Whether it takes less time than the direct sums. */
static bool wins(const Winograd *s)
{
    ptrdiff_t tiles = s->samples * s->high * s->wide, places = s->samples * s->counts[0] * s->counts[1];
    return tiles >= LEAST_TILES && s->sources >= LEAST_CHANNELS && s->results >= LEAST_CHANNELS && places * 2 >= tiles * 8;
}

/* Images that are convolved with kernels of 3x3 without steps: forward, or from the gradient to the input. */
static bool is_winograd(const Geometry *g, ptrdiff_t item, bool backward, Winograd *s)
{
    const ptrdiff_t *sizes = backward ? g->counts : g->sizes, *counts = backward ? g->sizes : g->counts;
    if (item != sizeof(float) || g->groups != 1 || sizes[0] != 1 || counts[0] != 1 || g->kernel[0] != 1
        || g->padding[0] != 0) {
        return false;
    }
    for (int d = 1; d < CONV_DIMS; d++) {
        if (g->kernel[d] != 3 || g->stride[d] != 1 || g->dilation[d] != 1 || g->padding[d] > 2) {
            return false;
        }
        s->sizes[d - 1] = sizes[d];
        s->counts[d - 1] = counts[d];
        s->margin[d - 1] = backward ? 2 - g->padding[d] : g->padding[d];
    }
    s->samples = g->samples;
    s->sources = backward ? g->results : g->channels;
    s->results = backward ? g->channels : g->results;
    s->source_channel = s->sizes[0] * s->sizes[1];
    s->source_sample = s->sources * s->source_channel;
    s->out_channel = s->counts[0] * s->counts[1];
    s->out_sample = s->results * s->out_channel;
    s->weight_result = backward ? 9 : 9 * g->channels;
    s->weight_source = backward ? 9 * g->channels : 9;
    s->flipped = backward;
    s->block = backward || s->sources <= LONG_BLOCK ? SHORT_BLOCK : LONG_BLOCK;
    s->high = (s->counts[0] + 3) / 4;
    s->wide = (s->counts[1] + 1) / 2;
    return wins(s);
}

/* ---- results, and gradients of inputs */

typedef struct {
    Winograd sums;
    const Loops *loops;
    ptrdiff_t rows, blocks;
    ptrdiff_t tiles; /* of all rows, and more to make them whole */
    void *source;    /* all of it transformed, where weights are more */
    size_t scratch;
    atomic_bool *failed;
} WinogradWork;

static void transform_weights(const void *work, ptrdiff_t i)
{
    const WinogradWork *w = work;
    float *to = (float *)w->sums.packed + i * BINS * bin_step(w->sums.sources, w->loops->tile_columns);
    w->loops->winograd_weights(&w->sums, i, to);
}

static void sum_rows(const void *work, ptrdiff_t i)
{
    const WinogradWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->blocks, i, &start, &stop);
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL || !w->loops->winograd_block(&w->sums, start, stop, room)) {
        atomic_store(w->failed, true);
    }
}

static void transform_source(const void *work, ptrdiff_t i)
{
    const WinogradWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->blocks, i, &start, &stop);
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL) {
        atomic_store(w->failed, true);
    } else {
        w->loops->winograd_source(&w->sums, start, stop, w->source, w->tiles, start * w->sums.wide, room);
    }
}

static void sum_panel(const void *work, ptrdiff_t i)
{
    const WinogradWork *w = work;
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL || !w->loops->winograd_panel(&w->sums, w->source, i, room)) {
        atomic_store(w->failed, true);
    }
}

static ptrdiff_t rounded_up(ptrdiff_t n, ptrdiff_t step)
{
    return (n + step - 1) / step * step;
}

/* Blocks of rows of tiles: several for each thread, but not larger than the cache. */
static ptrdiff_t blocks_of(const Winograd *s, ptrdiff_t rows)
{
    ptrdiff_t each = TILES_AT_ONCE / s->wide, threads = thread_count();
    ptrdiff_t blocks = (rows + (each > 1 ? each : 1) - 1) / (each > 1 ? each : 1), least = threads == 1 ? 1 : 2 * threads;
    blocks = blocks < least ? least : blocks;
    return blocks < rows ? blocks : rows;
}

/* Block by block, with all weights transformed before. */
static bool sum_by_rows(WinogradWork *w, ptrdiff_t panels, ptrdiff_t stage)
{
    const Winograd *s = &w->sums;
    ptrdiff_t columns = w->loops->tile_columns;
    ptrdiff_t tiles = rounded_up(((w->rows + w->blocks - 1) / w->blocks) * s->wide, w->loops->tile_rows);
    ptrdiff_t held = bin_step(rounded_up(s->sources, columns), tiles) + bin_step(tiles, columns);
    w->scratch = (size_t)(BINS * held + stage) * sizeof(float);
    w->sums.packed = new_block((size_t)(panels * BINS * bin_step(s->sources, columns)) * sizeof(float), false);
    if (w->sums.packed == NULL) {
        return false;
    }
    run_chunks(transform_weights, w, panels);
    run_chunks(sum_rows, w, w->blocks);
    release_block(w->sums.packed);
    return true;
}

/* Panel by panel, with all of the source transformed before: transformed weights need not leave the cache. */
static bool sum_by_panels(WinogradWork *w, ptrdiff_t panels, ptrdiff_t stage)
{
    const Winograd *s = &w->sums;
    ptrdiff_t columns = w->loops->tile_columns;
    ptrdiff_t held = bin_step(s->sources, columns) + bin_step(w->tiles, columns);
    w->scratch = (size_t)(BINS * held + stage) * sizeof(float);
    w->source = new_block((size_t)(BINS * bin_step(rounded_up(s->sources, columns), w->tiles)) * sizeof(float), false);
    if (w->source == NULL) {
        return false;
    }
    run_chunks(transform_source, w, w->blocks);
    run_chunks(sum_panel, w, panels);
    release_block(w->source);
    return true;
}

static bool run_sums(const Winograd *s, const Loops *loops)
{
    atomic_bool failed = false;
    ptrdiff_t columns = loops->tile_columns, panels = rounded_up(s->results, columns) / columns;
    WinogradWork work = {.sums = *s, .loops = loops, .rows = s->samples * s->high, .failed = &failed};
    work.blocks = blocks_of(s, work.rows);
    work.tiles = rounded_up(work.rows * s->wide, loops->tile_rows);
    ptrdiff_t stage = 6 * (2 * s->wide + 2) * columns;
    bool few = work.tiles * FEW_TILES <= s->results && panels >= 2 * thread_count();
    return (few ? sum_by_panels : sum_by_rows)(&work, panels, stage) && !failed;
}

bool winograd_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w,
                      const char *bias, const Finish *finish, char *y)
{
    Winograd s = {.source = x, .weight = w, .bias = bias, .finish = finish, .out = y};
    return is_winograd(g, item, false, &s) && run_sums(&s, loops);
}

bool winograd_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                    const char *bias, char *x)
{
    Winograd s = {.source = gradient, .weight = w, .bias = bias, .out = x};
    return is_winograd(g, item, true, &s) && run_sums(&s, loops);
}

/* ---- gradients of weights */

#define TRANSFORMED_BYTES ((ptrdiff_t)1 << 20) /* of tiles that are held at once, for the cache */

typedef struct {
    Winograd sums;
    const Loops *loops;
    ptrdiff_t start, rows, parts; /* rows of tiles that are held, and how they are cut */
    ptrdiff_t source_wide, gradient_wide, panels; /* the first two in channels */
    float *source, *gradient, *totals;
    size_t scratch;
    atomic_bool *failed;
} WinogradWeights;

/* A part of the rows of the source, or of the gradient. */
static void transform_rows(const void *work, ptrdiff_t i)
{
    const WinogradWeights *w = work;
    ptrdiff_t start, stop, tiles = w->rows * w->sums.wide;
    part_of(w->rows, 1, w->parts, i / 2, &start, &stop);
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL) {
        atomic_store(w->failed, true);
    } else if (i % 2 == 0) {
        w->loops->winograd_source(&w->sums, w->start + start, w->start + stop, w->source, tiles, start * w->sums.wide, room);
    } else {
        w->loops->winograd_gradient(&w->sums, w->start + start, w->start + stop, w->gradient, tiles, start * w->sums.wide,
                                    room);
    }
}

static void sum_bin(const void *work, ptrdiff_t i)
{
    const WinogradWeights *w = work;
    ptrdiff_t bin = i / w->panels, tiles = w->rows * w->sums.wide;
    w->loops->winograd_bin(&w->sums, w->source + bin * bin_step(w->source_wide, tiles),
                           w->gradient + bin * bin_step(w->gradient_wide, tiles), tiles, i % w->panels,
                           w->totals + bin * bin_step(w->sums.results, w->source_wide));
}

static void collect_taps(const void *work, ptrdiff_t i)
{
    const WinogradWeights *w = work;
    ptrdiff_t start, stop;
    part_of(w->sums.results, 1, w->parts, i, &start, &stop);
    if (!w->loops->winograd_taps(&w->sums, w->totals, start, stop)) {
        atomic_store(w->failed, true);
    }
}

/* A part of the results, of one panel of the source. */
static void weigh_panel(const void *work, ptrdiff_t i)
{
    const WinogradWeights *w = work;
    ptrdiff_t start, stop, tile = w->loops->tile_rows;
    part_of(w->sums.results, tile, w->parts, i % w->parts, &start, &stop);
    void *room = scratch_of_thread((size_t)(BINS * bin_step(tile, w->loops->tile_columns)) * sizeof(float));
    if (room == NULL || !w->loops->winograd_panel_taps(&w->sums, w->source, w->gradient, w->rows * w->sums.wide, i / w->parts,
                                                       start, stop, room)) {
        atomic_store(w->failed, true);
    }
}

static bool run_weights(const Winograd *s, const Loops *loops)
{
    atomic_bool failed = false;
    ptrdiff_t columns = loops->tile_columns, item = sizeof(float), all = s->samples * s->high, threads = thread_count();
    WinogradWeights work = {.sums = *s, .loops = loops, .failed = &failed};
    work.source_wide = rounded_up(s->sources, columns);
    work.gradient_wide = rounded_up(s->results, columns);
    work.panels = work.source_wide / columns;
    ptrdiff_t row = BINS * s->wide * (work.source_wide + work.gradient_wide) * item;
    /* but so many that adding them up takes longer than reading the sums */
    ptrdiff_t most = TRANSFORMED_BYTES / row, least = 4 * s->sources * s->results / (s->sources + s->results) / s->wide;
    ptrdiff_t held = most > least ? most : least;
    held = held < 1 ? 1 : held < all ? held : all;
    bool at_once = held == all && all * s->wide * FEWER_TILES <= s->results;
    work.scratch = (size_t)(6 * (2 * s->wide + 2) * columns * item);
    work.source = new_block((size_t)(held * row + BINS * 2 * bin_step(0, 0) * item), false);
    work.totals = at_once ? NULL : new_block((size_t)(BINS * bin_step(s->results, work.source_wide) * item), true);
    bool good = work.source != NULL && (at_once || work.totals != NULL);
    for (; good && work.start < all; work.start += work.rows) {
        work.rows = all - work.start < held ? all - work.start : held;
        work.gradient = work.source + BINS * bin_step(work.source_wide, work.rows * s->wide);
        work.parts = work.rows < 4 * threads ? work.rows : 4 * threads;
        run_chunks(transform_rows, &work, 2 * work.parts);
        work.parts = threads == 1 ? 1 : (4 * threads + work.panels - 1) / work.panels;
        run_chunks(at_once ? weigh_panel : sum_bin, &work, work.panels * (at_once ? work.parts : BINS));
    }
    if (good && !at_once) {
        work.parts = s->results < 4 * threads ? s->results : 4 * threads;
        run_chunks(collect_taps, &work, work.parts);
    }
    release_block(work.source);
    release_block(work.totals);
    return good && !failed;
}

bool winograd_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    Winograd s = {.source = x, .gradient = gradient, .packed = w};
    return is_winograd(g, item, false, &s) && run_weights(&s, loops);
}
