/* Gradients of the weights of convolutions. */

#include "conv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "threads.h"

/* ---- sums over places, cut over the pool: by channels of the source, and by samples where there are few */

typedef struct {
    WeightSums sums;
    const Loops *loops;
    void *parts;
    ptrdiff_t sample_parts, channel_parts, part_size; /* the last in bytes */
    size_t scratch;
    atomic_bool *failed;
} WeightWork;

static void pack_gradient(const void *work, ptrdiff_t i)
{
    const WeightWork *w = work;
    w->loops->pack_results(&w->sums, i / w->sums.panels, i % w->sums.panels);
}

static void sum_part(const void *work, ptrdiff_t i)
{
    const WeightWork *w = work;
    ptrdiff_t part = i % w->sample_parts, first, last, from, to;
    part_of(w->sums.samples, 1, w->sample_parts, part, &first, &last);
    part_of(w->sums.sources, 1, w->channel_parts, i / w->sample_parts, &from, &to);
    void *room = w->sums.margins ? scratch_of_thread(w->scratch) : NULL;
    if (w->sums.margins && room == NULL) {
        atomic_store(w->failed, true);
        return;
    }
    w->loops->sum_weights(&w->sums, first, last, from, to, (char *)w->parts + part * w->part_size, room);
}

static void collect_part(const void *work, ptrdiff_t i)
{
    const WeightWork *w = work;
    w->loops->collect_weights(&w->sums, w->parts, w->sample_parts, i);
}

#define CHANNELS_BYTES (96 << 10) /* of source in its margin that are worked on at once */

static bool run_weights(const WeightSums *sums, const Loops *loops, ptrdiff_t item)
{
    atomic_bool failed = false;
    WeightWork work = {.sums = *sums, .loops = loops, .failed = &failed};
    ptrdiff_t columns = loops->tile_columns, panels = (sums->results + columns - 1) / columns;
    ptrdiff_t wide = product_of(sums->wide) * item, rows = sums->sources * sums->taps;
    ptrdiff_t wanted = thread_count() == 1 ? 1 : 4 * thread_count(), beside = CONV_DEPTH / sums->places;
    work.sums.beside = beside < 1 || !sums->margins ? 1 : beside < sums->samples ? beside : sums->samples;
    wide *= work.sums.beside;
    ptrdiff_t most = sums->margins ? CHANNELS_BYTES / wide : sums->sources;
    most = most < 1 ? 1 : most > loops->tile_rows ? most / loops->tile_rows * loops->tile_rows : most;
    work.channel_parts = (sums->sources + most - 1) / most;
    work.channel_parts = work.channel_parts < wanted && wanted <= sums->sources ? wanted : work.channel_parts;
    work.sample_parts = work.channel_parts < wanted ? (wanted + work.channel_parts - 1) / work.channel_parts : 1;
    work.sample_parts = work.sample_parts < sums->samples ? work.sample_parts : sums->samples;
    work.sums.panels = panels;
    work.part_size = rows * panels * columns * item;
    ptrdiff_t channels = (sums->sources + work.channel_parts - 1) / work.channel_parts;
    work.scratch = (size_t)(channels * wide);
    work.sums.packed = new_block((size_t)(sums->samples * panels * sums->places * columns * item), false);
    work.parts = new_block((size_t)(work.sample_parts * work.part_size), true);
    bool good = work.sums.packed != NULL && work.parts != NULL;
    if (good) {
        bool small = sums->samples * sums->places * rows * sums->results < 1 << 16;
        run_all(pack_gradient, &work, sums->samples * panels, small);
        run_all(sum_part, &work, work.sample_parts * work.channel_parts, small);
        run_all(collect_part, &work, panels, small || work.part_size < 1 << 16);
    }
    release_block(work.sums.packed);
    release_block(work.parts);
    return good && !failed;
}

bool direct_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    ptrdiff_t kernel = product_of(g->kernel), sources = g->channels / g->groups, results = g->results / g->groups;
    ptrdiff_t plane = product_of(g->sizes), places = product_of(g->counts);
    WeightSums s = {
        .samples = g->samples, .sources = sources, .results = results, .taps = kernel, .places = places,
        .source_sample = g->channels * plane, .source_channel = plane, .g_sample = g->results * places,
    };
    for (int d = 0; d < CONV_DIMS; d++) {
        s.sizes[d] = g->sizes[d];
        s.counts[d] = g->counts[d];
        s.steps[d] = g->stride[d];
        s.margin[d] = g->padding[d];
        s.wide[d] = (g->counts[d] - 1) * g->stride[d] + reach(g, d) + 1;
        s.margins = s.margins || g->padding[d] > 0 || s.wide[d] > g->sizes[d];
    }
    if (!s.margins) {
        memcpy(s.wide, s.sizes, sizeof s.wide);
    }
    ptrdiff_t *offsets = malloc((size_t)kernel * sizeof *offsets);
    if (offsets == NULL) {
        return false;
    }
    for (ptrdiff_t k = 0; k < kernel; k++) {
        ptrdiff_t z = k / (g->kernel[2] * g->kernel[1]), y = k / g->kernel[2] % g->kernel[1], c = k % g->kernel[2];
        offsets[k] = (z * g->dilation[0] * s.wide[1] + y * g->dilation[1]) * s.wide[2] + c * g->dilation[2];
    }
    s.tap_offsets = offsets;
    bool good = true;
    for (ptrdiff_t i = 0; i < g->groups && good; i++) {
        s.source = x + i * sources * plane * item;
        s.g = gradient + i * results * places * item;
        s.out = w + i * results * sources * kernel * item;
        good = run_weights(&s, loops, item);
    }
    free(offsets);
    return good;
}
