/* Convolutions as sums over taps, forward and to the input. */

#include "conv.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "threads.h"

/* ---- sums, cut over the pool: by places, and by tiles of channels where there are few places */

typedef struct {
    TapSums sums;
    const Loops *loops;
    ptrdiff_t panels, tiles, tile_blocks;
    size_t scratch;
    int *failed; /* whether some thread had no memory */
} TapWork;

static void pack_tile(const void *work, ptrdiff_t i)
{
    const TapWork *w = work;
    w->loops->pack_weights(&w->sums, i);
}

static void sum_block(const void *work, ptrdiff_t i)
{
    const TapWork *w = work;
    ptrdiff_t start = i / w->tile_blocks * CONV_PANELS, top, bottom;
    part_of(w->tiles, 1, w->tile_blocks, i % w->tile_blocks, &top, &bottom);
    void *room = scratch_of_thread(w->scratch);
    if (room == NULL) {
        *w->failed = 1;
        return;
    }
    ptrdiff_t stop = start + CONV_PANELS < w->panels ? start + CONV_PANELS : w->panels;
    w->loops->sum_panels(&w->sums, start, stop, top, bottom, room);
}

/* Whether there was memory enough. */
static bool sum_unstaged(const TapSums *sums, const Loops *loops, ptrdiff_t item)
{
    int failed = 0;
    ptrdiff_t rows = loops->tile_rows, columns = loops->tile_columns;
    ptrdiff_t places = sums->samples * product_of(sums->counts);
    TapWork work = {*sums, loops, (places + columns - 1) / columns, (sums->results + rows - 1) / rows, 1, 0, &failed};
    size_t weights = (size_t)(work.tiles * rows * sums->sources * sums->taps * item);
    ptrdiff_t depth = sums->taps > CONV_DEPTH ? sums->taps : CONV_DEPTH;
    work.scratch = (size_t)((CONV_PANELS * depth + 1) * columns * item);
    work.sums.packed = new_block(weights + 64, false);
    if (work.sums.packed == NULL) {
        return false;
    }
    ptrdiff_t blocks = (work.panels + CONV_PANELS - 1) / CONV_PANELS, wanted = 2 * thread_count();
    if (thread_count() > 1 && blocks < wanted && work.tiles > 1) {
        work.tile_blocks = (wanted + blocks - 1) / blocks;
        work.tile_blocks = work.tile_blocks < work.tiles ? work.tile_blocks : work.tiles;
    }
    bool small = places * sums->results * sums->sources * sums->taps < 1 << 16;
    run_all(pack_tile, &work, work.tiles, small || weights < 1 << 16);
    run_all(sum_block, &work, blocks * work.tile_blocks, small);
    release_block(work.sums.packed);
    return !failed;
}

static bool run_sums(const TapSums *sums, const Loops *loops, ptrdiff_t item)
{
    return (sums->staged != NULL ? sum_staged : sum_unstaged)(sums, loops, item);
}

/* ---- forward */

typedef struct {
    ptrdiff_t *places, *weights; /* the taps, and where in a kernel their weights lie */
} Taps3;

static bool room_for_taps(Taps3 *t, const Geometry *g)
{
    t->places = malloc((size_t)(product_of(g->kernel) * (CONV_DIMS + 1)) * sizeof *t->places);
    t->weights = t->places + product_of(g->kernel) * CONV_DIMS;
    return t->places != NULL;
}

static void fill_steps(const ptrdiff_t *sizes, ptrdiff_t *steps)
{
    steps[2] = 1;
    steps[1] = sizes[2];
    steps[0] = sizes[2] * sizes[1];
}

bool direct_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w, const char *bias,
                    char *y)
{
    Taps3 taps;
    if (!room_for_taps(&taps, g)) {
        return false;
    }
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < product_of(g->kernel); k++, count++) {
        ptrdiff_t at[3] = {k / (g->kernel[2] * g->kernel[1]), k / g->kernel[2] % g->kernel[1], k % g->kernel[2]};
        for (int d = 0; d < CONV_DIMS; d++) {
            taps.places[CONV_DIMS * count + d] = at[d] * g->dilation[d] - g->padding[d];
        }
        taps.weights[count] = k;
    }
    ptrdiff_t sources = g->channels / g->groups, results = g->results / g->groups;
    ptrdiff_t plane = product_of(g->sizes), places = product_of(g->counts);
    TapSums s = {
        .samples = g->samples, .sources = sources, .results = results, .taps = count,
        .source_sample = g->channels * plane, .source_channel = plane,
        .weight_result = sources * count, .weight_source = count, .kernel = count,
        .out_sample = g->results * places, .out_channel = places,
        .tap_places = taps.places, .tap_weights = taps.weights, .dense = true,
    };
    memcpy(s.sizes, g->sizes, sizeof s.sizes);
    memcpy(s.counts, g->counts, sizeof s.counts);
    memcpy(s.steps, g->stride, sizeof s.steps);
    fill_steps(g->counts, s.out_steps);
    for (int d = 0; d < CONV_DIMS; d++) {
        s.margin[d] = g->padding[d];
        s.wide[d] = (g->counts[d] - 1) * g->stride[d] + reach(g, d) + 1;
    }
    bool good = true, staged = suits_lanes(&s, loops);
    for (ptrdiff_t i = 0; i < g->groups && good; i++) {
        s.source = x + i * sources * plane * item;
        s.source_size = (g->samples * g->channels - i * sources) * plane;
        s.weight = w + i * results * sources * count * item;
        s.bias = bias == NULL ? NULL : bias + i * results * item;
        s.out = y + i * results * places * item;
        good = (!staged || stage_source(&s, loops, item)) && run_sums(&s, loops, item);
        release_block(s.staged);
    }
    free(taps.places);
    return good;
}

/* ---- backward to the input. Its places that are a stride apart meet the same taps, and these lie one place of the
 * result apart: for each remainder a convolution without a stride. */

/* The taps that meet the places with the given remainders, in the order in which they meet the gradient; how many there
 * are. */
static ptrdiff_t taps_of_phase(const Geometry *g, const ptrdiff_t *phase, Taps3 *taps)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = product_of(g->kernel) - 1; k >= 0; k--) {
        ptrdiff_t at[3] = {k / (g->kernel[2] * g->kernel[1]), k / g->kernel[2] % g->kernel[1], k % g->kernel[2]};
        bool meets = true;
        for (int d = 0; d < CONV_DIMS; d++) {
            ptrdiff_t away = phase[d] + g->padding[d] - at[d] * g->dilation[d];
            meets = meets && away % g->stride[d] == 0;
            taps->places[CONV_DIMS * count + d] = away / g->stride[d];
        }
        taps->weights[count] = k;
        count += meets;
    }
    return count;
}

/* The places of the input with the given remainders; `all` is about all of them. */
static bool input_of_phase(const Geometry *g, const Loops *loops, ptrdiff_t item, const ptrdiff_t *phase, Taps3 *taps,
                           const TapSums *all)
{
    TapSums s = *all;
    ptrdiff_t own[CONV_DIMS], offset = 0;
    fill_steps(g->sizes, own);
    s.taps = taps_of_phase(g, phase, taps);
    for (int d = 0; d < CONV_DIMS; d++) {
        s.counts[d] = (g->sizes[d] - phase[d] + g->stride[d] - 1) / g->stride[d];
        s.out_steps[d] = own[d] * g->stride[d];
        offset += own[d] * phase[d];
    }
    s.out = (char *)all->out + offset * item;
    if (s.taps == 0 && s.bias == NULL) {
        return true; /* these are zeros already */
    }
    s.staged = s.taps == 0 ? NULL : s.staged;
    return product_of(s.counts) == 0 || run_sums(&s, loops, item);
}

/* Whether some places of the input may meet no tap. */
static bool leaves_gaps(const Geometry *g)
{
    for (int d = 0; d < CONV_DIMS; d++) {
        if (g->kernel[d] < g->stride[d] || (g->stride[d] > 1 && g->dilation[d] > 1)) {
            return true;
        }
    }
    return false;
}

static bool input_of_group(const Geometry *g, const Loops *loops, ptrdiff_t item, Taps3 *taps, TapSums *s)
{
    bool good = !suits_lanes(s, loops) || stage_source(s, loops, item);
    ptrdiff_t phase[CONV_DIMS];
    for (phase[0] = 0; phase[0] < g->stride[0] && phase[0] < g->sizes[0]; phase[0]++) {
        for (phase[1] = 0; phase[1] < g->stride[1] && phase[1] < g->sizes[1]; phase[1]++) {
            for (phase[2] = 0; phase[2] < g->stride[2] && phase[2] < g->sizes[2]; phase[2]++) {
                good = good && input_of_phase(g, loops, item, phase, taps, s);
            }
        }
    }
    release_block(s->staged);
    return good;
}

bool direct_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                  const char *bias, char *x)
{
    Taps3 taps;
    if (!room_for_taps(&taps, g)) {
        return false;
    }
    ptrdiff_t kernel = product_of(g->kernel), sources = g->results / g->groups, results = g->channels / g->groups;
    ptrdiff_t plane = product_of(g->counts), places = product_of(g->sizes);
    bool good = true;
    if (leaves_gaps(g) && bias == NULL) {
        memset(x, 0, (size_t)(g->samples * g->channels * places * item));
    }
    for (ptrdiff_t i = 0; i < g->groups && good; i++) {
        TapSums s = {
            .source = gradient + i * sources * plane * item, .source_size = (g->samples * g->results - i * sources) * plane,
            .weight = w + i * sources * results * kernel * item, .bias = bias == NULL ? NULL : bias + i * results * item,
            .out = x + i * results * places * item,
            .samples = g->samples, .sources = sources, .results = results, .taps = kernel,
            .source_sample = g->results * plane, .source_channel = plane,
            .weight_result = kernel, .weight_source = results * kernel, .kernel = kernel,
            .out_sample = g->channels * places, .out_channel = places, .steps = {1, 1, 1},
            .tap_places = taps.places, .tap_weights = taps.weights, .dense = product_of(g->stride) == 1,
        };
        for (int d = 0; d < CONV_DIMS; d++) {
            ptrdiff_t before = (reach(g, d) - g->padding[d]) / g->stride[d];
            ptrdiff_t last = (g->sizes[d] - 1 + g->padding[d]) / g->stride[d];
            s.sizes[d] = g->counts[d];
            s.counts[d] = (g->sizes[d] + g->stride[d] - 1) / g->stride[d];
            s.margin[d] = before > 0 ? before : 0;
            s.wide[d] = s.margin[d] + (last + 1 > g->counts[d] ? last + 1 : g->counts[d]);
        }
        good = input_of_group(g, loops, item, &taps, &s);
    }
    free(taps.places);
    return good;
}
