/* Direct convolution with output channels in the vector lanes: see loops/conv_lanes.h. */

#include "conv.h"

#include <stdatomic.h>

#include "memory.h"
#include "threads.h"

typedef struct {
    TapSums sums;
    const Loops *loops;
    ptrdiff_t rows, parts;          /* of the staged source, or of the result */
    ptrdiff_t panels, panel_blocks; /* of channels of the result */
    ptrdiff_t item;
    size_t scratch;
    atomic_bool *failed;
} LanesWork;

#define LEAST_WORK (1 << 16) /* products from which threads share them */

static void stage_rows(const void *work, ptrdiff_t i)
{
    const LanesWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->parts, i, &start, &stop);
    for (ptrdiff_t row = start; row < stop; row++) {
        w->loops->stage_row(&w->sums, row);
    }
}

static void pack_panel(const void *work, ptrdiff_t i)
{
    const LanesWork *w = work;
    w->loops->pack_lanes(&w->sums, i);
}

static ptrdiff_t panels_of(const TapSums *s, const Loops *loops)
{
    return (s->results + loops->tile_columns - 1) / loops->tile_columns;
}

#define PANEL_BYTES (1024 << 10) /* of weights that stay in the cache of a thread */

/* Whether each panel of weights is packed just before its sums, and never leaves the cache: where weights are more than the
 * `staged` elements of the source, and panels enough for all threads. */
static bool packs_in_turn(const TapSums *s, const Loops *loops, ptrdiff_t item, ptrdiff_t staged)
{
    ptrdiff_t panel = loops->tile_columns * s->sources * s->taps, panels = panels_of(s, loops), threads = thread_count();
    return s->dense && panels * panel > staged && panel * item <= PANEL_BYTES && (threads == 1 || panels >= 2 * threads);
}

bool prepare_lanes(TapSums *s, const Loops *loops, ptrdiff_t item)
{
    s->pixel = s->sources * item % 4096 == 0 ? s->sources + 64 / item : s->sources; /* places in one set of the cache */
    ptrdiff_t rows = s->samples * s->wide[0] * s->wide[1], size = rows * s->wide[2] * s->pixel;
    ptrdiff_t panels = panels_of(s, loops), weights = panels * loops->tile_columns * s->sources * s->taps;
    bool in_turn = packs_in_turn(s, loops, item, size);
    s->staged = new_block((size_t)(size * item), false);
    s->packed = in_turn ? NULL : new_block((size_t)(weights * item), false);
    if (s->staged == NULL || (s->packed == NULL && !in_turn)) {
        release_lanes(s);
        return false;
    }
    LanesWork work = {.sums = *s, .loops = loops, .rows = rows};
    work.parts = chunks_for(size, LEAST_WORK);
    work.parts = work.parts < rows ? work.parts : rows;
    run_chunks(stage_rows, &work, work.parts);
    if (!in_turn) {
        run_all(pack_panel, &work, panels, weights < LEAST_WORK);
    }
    return true;
}

void release_lanes(TapSums *s)
{
    release_block(s->staged);
    release_block(s->packed);
    s->staged = s->packed = NULL;
}

#define MOST_STAGED 64 /* places of the staged source for each one of the image and of the result */

/* Whether the staged source holds its first margin, which it does not where a stride leaps over the image, and is not far
 * larger than the image. */
static bool has_small_margin(const TapSums *s)
{
    double places = 1;
    for (int d = 0; d < CONV_DIMS; d++) {
        if (s->margin[d] > s->wide[d]) {
            return false;
        }
        places *= (double)s->wide[d];
    }
    return places <= MOST_STAGED * (double)(product_of(s->sizes) + product_of(s->counts));
}

bool suits_lanes(const TapSums *s, const Loops *loops)
{
    return s->taps > 1 && s->results * 2 >= loops->tile_columns && s->sources * s->taps >= 16 && has_small_margin(s)
           && s->samples * product_of(s->counts) >= loops->tile_rows;
}

static void sum_rows(const void *work, ptrdiff_t i)
{
    const LanesWork *w = work;
    ptrdiff_t start, stop, from, to;
    part_of(w->rows, 1, w->parts, i / w->panel_blocks, &start, &stop);
    part_of(w->panels, 1, w->panel_blocks, i % w->panel_blocks, &from, &to);
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL) {
        atomic_store(w->failed, true);
        return;
    }
    w->loops->sum_lanes(&w->sums, start, stop, from, to, room);
}

/* All rows of one panel, as if there were no other. */
static void sum_panel(const void *work, ptrdiff_t i)
{
    const LanesWork *w = work;
    TapSums s = w->sums;
    ptrdiff_t columns = w->loops->tile_columns, first = i * columns, start, stop;
    char *room = scratch_of_thread(w->scratch + (size_t)(columns * s.sources * s.taps * w->item));
    if (room == NULL) {
        atomic_store(w->failed, true);
        return;
    }
    s.results -= first;
    s.first_result += first;
    s.weight = (const char *)s.weight + first * s.weight_result * w->item;
    s.bias = s.bias == NULL ? NULL : (const char *)s.bias + first * w->item;
    s.out = (char *)s.out + first * s.out_channel * w->item;
    s.packed = room + w->scratch;
    w->loops->pack_lanes(&s, 0);
    for (ptrdiff_t part = 0; part < w->parts; part++) {
        part_of(w->rows, 1, w->parts, part, &start, &stop);
        w->loops->sum_lanes(&s, start, stop, 0, 1, room);
    }
}

#define TILES_AT_ONCE 16

/* How many rows of the result are taken at once: about TILES_AT_ONCE tiles, with little waste in the last. */
static ptrdiff_t rows_at_once(const TapSums *s, ptrdiff_t rows, ptrdiff_t tile)
{
    ptrdiff_t width = s->counts[2], most = TILES_AT_ONCE * tile / width, best = 1;
    double least = 2;
    for (ptrdiff_t n = most < 1 ? 1 : most; n <= rows && n > most / 2; n--) {
        double waste = (double)((n * width + tile - 1) / tile * tile) / (double)(n * width);
        if (waste < least) {
            least = waste;
            best = n;
        }
    }
    return most >= rows ? rows : best;
}

bool sum_lanes(const TapSums *s, const Loops *loops, ptrdiff_t item)
{
    atomic_bool failed = false;
    ptrdiff_t columns = loops->tile_columns, tile = loops->tile_rows;
    LanesWork work = {.sums = *s, .loops = loops, .failed = &failed, .panel_blocks = 1, .item = item};
    work.rows = s->samples * s->counts[0] * s->counts[1];
    work.panels = panels_of(s, loops);
    ptrdiff_t once = rows_at_once(s, work.rows, tile), wanted = 2 * thread_count();
    work.parts = (work.rows + once - 1) / once;
    if (thread_count() > 1 && work.parts < wanted) {
        work.panel_blocks = (wanted + work.parts - 1) / work.parts;
        work.panel_blocks = work.panel_blocks < work.panels ? work.panel_blocks : work.panels;
    }
    ptrdiff_t most = ((once * s->counts[2] + tile - 1) / tile) * tile;
    work.scratch = ((size_t)most * (sizeof(void *) + (size_t)(columns * item)) + 63) / 64 * 64;
    ptrdiff_t products = work.rows * s->counts[2] * s->results * s->sources * s->taps;
    if (s->packed == NULL) {
        run_all(sum_panel, &work, work.panels, products < LEAST_WORK);
    } else {
        run_all(sum_rows, &work, work.parts * work.panel_blocks, products < LEAST_WORK);
    }
    return !failed;
}
