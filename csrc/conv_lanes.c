/* Sums over taps with the channels of the result in the lanes of vectors: see loops/conv_lanes.h. */

#include "conv.h"

#include "memory.h"
#include "threads.h"

typedef struct {
    TapSums sums;
    const Loops *loops;
    ptrdiff_t rows, parts;          /* of the staged source, or of the result */
    ptrdiff_t panels, panel_blocks; /* of channels of the result */
    size_t scratch;
    int *failed;
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

bool prepare_lanes(TapSums *s, const Loops *loops, ptrdiff_t item)
{
    s->pixel = s->sources * item % 4096 == 0 ? s->sources + 64 / item : s->sources; /* places in one set of the cache */
    ptrdiff_t rows = s->samples * s->wide[0] * s->wide[1], size = rows * s->wide[2] * s->pixel;
    ptrdiff_t panels = (s->results + loops->tile_columns - 1) / loops->tile_columns;
    ptrdiff_t weights = panels * loops->tile_columns * s->sources * s->taps;
    s->staged = new_block((size_t)(size * item), false);
    s->packed = new_block((size_t)(weights * item), false);
    if (s->staged == NULL || s->packed == NULL) {
        release_lanes(s);
        return false;
    }
    LanesWork work = {.sums = *s, .loops = loops, .rows = rows};
    work.parts = chunks_for(size, LEAST_WORK);
    work.parts = work.parts < rows ? work.parts : rows;
    run_chunks(stage_rows, &work, work.parts);
    run_all(pack_panel, &work, panels, weights < LEAST_WORK);
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
        *w->failed = 1;
        return;
    }
    w->loops->sum_lanes(&w->sums, start, stop, from, to, room);
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
    int failed = 0;
    ptrdiff_t columns = loops->tile_columns, tile = loops->tile_rows;
    LanesWork work = {.sums = *s, .loops = loops, .failed = &failed, .panel_blocks = 1};
    work.rows = s->samples * s->counts[0] * s->counts[1];
    work.panels = (s->results + columns - 1) / columns;
    ptrdiff_t once = rows_at_once(s, work.rows, tile), wanted = 2 * thread_count();
    work.parts = (work.rows + once - 1) / once;
    if (thread_count() > 1 && work.parts < wanted) {
        work.panel_blocks = (wanted + work.parts - 1) / work.parts;
        work.panel_blocks = work.panel_blocks < work.panels ? work.panel_blocks : work.panels;
    }
    ptrdiff_t most = ((once * s->counts[2] + tile - 1) / tile) * tile;
    work.scratch = (size_t)most * (sizeof(void *) + (size_t)(columns * item));
    ptrdiff_t products = work.rows * s->counts[2] * s->results * s->sources * s->taps;
    run_all(sum_rows, &work, work.parts * work.panel_blocks, products < LEAST_WORK);
    return !failed;
}
