/* Depthwise convolutions. */

#include "conv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

typedef struct {
    PlaneSums sums;
    const Loops *loops;
    char *x, *g, *w; /* one of them is written to */
    const char *bias;
    ptrdiff_t samples, channels, item, taps, chunks;
    Direction which;
    atomic_bool *failed;
} PlaneWork;

/* Scratch memory whose margins, which all planes share, are zero; NULL, which is noted, where there is none. */
static void *room_with_margins(const PlaneWork *p)
{
    void *room = scratch_of_thread(p->sums.scratch);
    if (room == NULL) {
        atomic_store(p->failed, true);
    } else {
        memset(room, 0, p->sums.scratch);
    }
    return room;
}

/* Some planes forward or to the input, or the weights of some channels. */
static void do_planes(const void *work, ptrdiff_t i)
{
    const PlaneWork *p = work;
    void *room = room_with_margins(p);
    if (room == NULL) {
        return;
    }
    ptrdiff_t sizes = product_of(p->sums.sizes) * p->item, counts = product_of(p->sums.counts) * p->item, start, stop;
    part_of(p->which == WEIGHT ? p->channels : p->samples * p->channels, 1, p->chunks, i, &start, &stop);
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        ptrdiff_t channel = plane % p->channels;
        char *x = p->x + plane * sizes, *g = p->g + plane * counts, *w = p->w + channel * p->taps * p->item;
        if (p->which == FORWARD) {
            const char *bias = p->bias == NULL ? NULL : p->bias + channel * p->item;
            p->loops->plane_forward(&p->sums, x, w, bias, g, channel, room);
        } else if (p->which == INPUT) {
            p->loops->plane_input(&p->sums, g, w, x, room);
        } else {
            for (ptrdiff_t n = 0; n < p->samples; n++, x += p->channels * sizes, g += p->channels * counts) {
                p->loops->plane_weight(&p->sums, x, g, w, room);
            }
        }
    }
}

/* The same with channels in lanes: some groups of channels of some samples, or the weights of some groups. */
static void do_groups(const void *work, ptrdiff_t i)
{
    const PlaneWork *p = work;
    void *room = room_with_margins(p);
    if (room == NULL) {
        return;
    }
    ptrdiff_t sizes = product_of(p->sums.sizes) * p->item, counts = product_of(p->sums.counts) * p->item, start, stop;
    ptrdiff_t lanes = p->loops->tile_columns / 2, groups = (p->channels + lanes - 1) / lanes;
    part_of(p->which == WEIGHT ? groups : p->samples * groups, 1, p->chunks, i, &start, &stop);
    for (ptrdiff_t group = start; group < stop; group++) {
        ptrdiff_t channel = group % groups * lanes, plane = group / groups * p->channels + channel;
        ptrdiff_t count = p->channels - channel < lanes ? p->channels - channel : lanes;
        char *x = p->x + plane * sizes, *g = p->g + plane * counts, *w = p->w + channel * p->taps * p->item;
        if (p->which == FORWARD) {
            const char *bias = p->bias == NULL ? NULL : p->bias + channel * p->item;
            p->loops->lanes_forward(&p->sums, x, w, bias, g, channel, count, room);
        } else if (p->which == INPUT) {
            p->loops->lanes_input(&p->sums, g, w, x, count, room);
        } else {
            p->loops->lanes_weight(&p->sums, x, g, w, count, p->samples, p->channels, room);
        }
    }
}

/* Without a stride the gradient of the input is the forward of the kernel turned around. */
static bool turn_around(Geometry *g, PlaneWork *work)
{
    if (work->which != INPUT || product_of(g->stride) != 1) {
        return false;
    }
    for (int d = 0; d < CONV_DIMS; d++) {
        ptrdiff_t size = g->sizes[d];
        g->sizes[d] = g->counts[d];
        g->counts[d] = size;
        g->padding[d] = reach(g, d) - g->padding[d];
    }
    char *x = work->x;
    work->x = work->g;
    work->g = x;
    work->which = FORWARD;
    return true;
}

#define PLANES_WORK (1 << 15) /* products below which waking a thread takes longer */
#define STAGED_BYTES (1024 << 10) /* of planes in lanes that stay in the cache */

/* Channels in lanes: where rows are short, or have a stride, or are summed over. */
static bool planes_in_lanes(const PlaneWork *work, ptrdiff_t lanes)
{
    const PlaneSums *s = &work->sums;
    return (s->counts[2] < 4 * lanes || s->steps[2] > 1 || work->which == WEIGHT) && s->margin[0] >= 0 && s->margin[1] >= 0
           && s->margin[2] >= 0 && product_of(s->wide) * lanes * work->item <= STAGED_BYTES;
}

/* Where in a plane the taps lie, counted from the first; rows have `length` elements for each column of a step. */
static void fill_offsets(const Geometry *g, const PlaneSums *s, ptrdiff_t step, ptrdiff_t length, bool around,
                         ptrdiff_t *offsets)
{
    ptrdiff_t kernel = product_of(g->kernel);
    for (ptrdiff_t k = 0; k < kernel; k++) {
        ptrdiff_t z = k / (g->kernel[2] * g->kernel[1]), y = k / g->kernel[2] % g->kernel[1];
        ptrdiff_t column = k % g->kernel[2] * g->dilation[2];
        offsets[around ? kernel - 1 - k : k] = (z * g->dilation[0] * s->wide[1] + y * g->dilation[1]) * s->row
                                               + column % step * length + column / step;
    }
}

static bool run_planes(const Geometry *given, PlaneWork *work)
{
    atomic_bool failed = false;
    Geometry turned = *given, *g = &turned;
    bool around = turn_around(g, work);
    ptrdiff_t kernel = product_of(g->kernel), lanes = work->loops->tile_columns / 2, planes = g->samples * g->channels;
    PlaneSums *s = &work->sums;
    ptrdiff_t *offsets = malloc((size_t)kernel * sizeof *offsets);
    if (offsets == NULL) {
        return false;
    }
    for (int d = 0; d < CONV_DIMS; d++) {
        s->sizes[d] = g->sizes[d];
        s->counts[d] = g->counts[d];
        s->steps[d] = g->stride[d];
        s->margin[d] = g->padding[d];
        s->wide[d] = (g->counts[d] - 1) * g->stride[d] + reach(g, d) + 1;
        if (work->which == INPUT && s->wide[d] < s->margin[d] + s->sizes[d]) {
            s->wide[d] = s->margin[d] + s->sizes[d]; /* some elements have no part in the result */
        }
    }
    bool in_lanes = planes_in_lanes(work, lanes);
    ptrdiff_t step = in_lanes ? 1 : g->stride[2], length = (s->wide[2] + step - 1) / step;
    s->row = length * step;
    s->taps = work->taps = kernel;
    fill_offsets(g, s, step, length, around, offsets);
    s->tap_offsets = offsets;
    if (in_lanes) {
        s->scratch = (size_t)((product_of(s->wide) + product_of(s->counts) + 2 * kernel) * lanes * work->item);
    } else { /* rows are read in whole vectors; a copy of the gradient has such rows */
        ptrdiff_t copied = g->counts[0] * g->counts[1] * (g->counts[2] + lanes);
        s->scratch = (size_t)((s->wide[0] * s->wide[1] * s->row + 4 * lanes + copied) * work->item);
    }
    work->samples = g->samples;
    work->channels = g->channels;
    work->failed = &failed;
    ptrdiff_t channels = in_lanes ? (g->channels + lanes - 1) / lanes : g->channels;
    ptrdiff_t parts = work->which == WEIGHT ? channels : g->samples * channels;
    work->chunks = chunks_for(planes * product_of(g->counts) * kernel, PLANES_WORK);
    work->chunks = work->chunks < parts ? work->chunks : parts;
    run_chunks(in_lanes ? do_groups : do_planes, work, work->chunks);
    free(offsets);
    return !failed;
}

bool is_depthwise(const Geometry *g)
{
    return g->groups == g->channels && g->groups == g->results && g->groups > 1;
}

bool depthwise(const Geometry *g, const Loops *loops, ptrdiff_t item, Direction which, char *x, char *w, char *gradient,
               const char *bias, const Finish *finish)
{
    PlaneWork work = {.sums = {.finish = finish}, .loops = loops, .x = x, .g = gradient, .w = w, .bias = bias, .item = item, .which = which};
    if (which == WEIGHT) { /* planes are added to it */
        memset(w, 0, (size_t)(g->channels * product_of(g->kernel) * item));
    }
    return run_planes(g, &work);
}
