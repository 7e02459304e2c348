/* Convolutions in one to three dimensions, and their transposes in the input and in the weight. */

#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "memory.h"
#include "threads.h"
#include "winograd.h"

typedef struct {
    int n;                                                                   /* dimensions of the arrays */
    ptrdiff_t samples, channels, results, groups;                            /* of all groups together */
    ptrdiff_t sizes[CONV_DIMS], counts[CONV_DIMS];                           /* of the input, of the result */
    ptrdiff_t kernel[CONV_DIMS], stride[CONV_DIMS], padding[CONV_DIMS], dilation[CONV_DIMS];
} Geometry;

static ptrdiff_t product_of(const ptrdiff_t *x)
{
    return x[0] * x[1] * x[2];
}

/* The integers of a tuple, at the end of those of a volume. */
static bool per_dimension(PyObject *x, int n, npy_intp least, ptrdiff_t missing, ptrdiff_t *values)
{
    for (int d = 0; d < CONV_DIMS - n; d++) {
        values[d] = missing;
    }
    if (x == NULL || !PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != n) {
        return false;
    }
    for (int d = 0; d < n; d++) {
        npy_intp value;
        if (!as_integer(PyTuple_GET_ITEM(x, d), &value) || value < least || value > NPY_MAX_INT32) {
            return false;
        }
        values[CONV_DIMS - n + d] = value;
    }
    return true;
}

static void spatial_of(PyArrayObject *x, int n, ptrdiff_t *sizes)
{
    for (int d = 0; d < CONV_DIMS; d++) {
        int own = d - (CONV_DIMS - n);
        sizes[d] = own < 0 ? 1 : PyArray_DIM(x, 2 + own);
    }
}

/* Two arrays of the same kind of float, of one to three dimensions besides samples and channels. */
static bool are_volumes(PyArrayObject *x, PyArrayObject *y)
{
    return x != NULL && y != NULL && loops_for(x) != NULL && PyArray_TYPE(x) == PyArray_TYPE(y)
           && PyArray_NDIM(x) == PyArray_NDIM(y) && PyArray_NDIM(x) > 2 && PyArray_NDIM(x) <= 2 + CONV_DIMS
           && PyArray_SIZE(x) > 0 && PyArray_SIZE(y) > 0;
}

/* stride, padding, dilation and groups, the arguments from `first` on. */
static bool read_settings(Geometry *g, PyObject *const *first)
{
    npy_intp groups;
    if (!per_dimension(first[0], g->n, 1, 1, g->stride) || !per_dimension(first[1], g->n, 0, 0, g->padding)
        || !per_dimension(first[2], g->n, 1, 1, g->dilation) || !as_integer(first[3], &groups) || groups < 1) {
        return false;
    }
    g->groups = groups;
    return true;
}

/* Where the last tap of a kernel lies in a dimension, counted from the first. */
static ptrdiff_t reach(const Geometry *g, int d)
{
    return (g->kernel[d] - 1) * g->dilation[d];
}

/* Planes of a kernel of one tap that touches nothing but them are rows. */
static void flatten(Geometry *g)
{
    for (int d = 0; d < CONV_DIMS; d++) {
        if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d] != 0 || g->sizes[d] != g->counts[d]) {
            return;
        }
    }
    g->sizes[2] = g->counts[2] = product_of(g->sizes);
    g->sizes[0] = g->sizes[1] = g->counts[0] = g->counts[1] = 1;
}

static PyArrayObject *new_volume(PyArrayObject *like, const Geometry *g, ptrdiff_t channels, const ptrdiff_t *sizes)
{
    npy_intp shape[2 + CONV_DIMS] = {g->samples, channels};
    for (int d = 0; d < g->n; d++) {
        shape[2 + d] = sizes[CONV_DIMS - g->n + d];
    }
    return new_array(like, 2 + g->n, shape);
}

/* ---- sums over taps, cut over the pool: by places, and by tiles of channels where there are few places */

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
static bool run_sums(const TapSums *sums, const Loops *loops, ptrdiff_t item)
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

static bool forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w, const char *bias,
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
        .weight_result = sources * count, .weight_source = count,
        .out_sample = g->results * places, .out_channel = places,
        .tap_places = taps.places, .tap_weights = taps.weights, .dense = true,
    };
    memcpy(s.sizes, g->sizes, sizeof s.sizes);
    memcpy(s.counts, g->counts, sizeof s.counts);
    memcpy(s.steps, g->stride, sizeof s.steps);
    fill_steps(g->counts, s.out_steps);
    bool good = true;
    for (ptrdiff_t i = 0; i < g->groups && good; i++) {
        s.source = x + i * sources * plane * item;
        s.source_size = (g->samples * g->channels - i * sources) * plane;
        s.weight = w + i * results * sources * count * item;
        s.bias = bias == NULL ? NULL : bias + i * results * item;
        s.out = y + i * results * places * item;
        good = run_sums(&s, loops, item);
    }
    free(taps.places);
    return good;
}

/* ---- backward to the input. Its places that are a stride apart meet the same taps, and these lie one place of the
 * result apart: for each remainder a convolution without a stride. */

/* The taps that meet the places with the given remainders; how many there are. */
static ptrdiff_t taps_of_phase(const Geometry *g, const ptrdiff_t *phase, Taps3 *taps)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < product_of(g->kernel); k++) {
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

static bool input_of_phase(const Geometry *g, const Loops *loops, ptrdiff_t item, const ptrdiff_t *phase, Taps3 *taps,
                           const char *gradient, const char *w, const char *bias, char *x)
{
    ptrdiff_t kernel = product_of(g->kernel), sources = g->results / g->groups, results = g->channels / g->groups;
    ptrdiff_t plane = product_of(g->counts), places = product_of(g->sizes), own[CONV_DIMS], offset = 0;
    fill_steps(g->sizes, own);
    TapSums s = {
        .samples = g->samples, .sources = sources, .results = results, .taps = taps_of_phase(g, phase, taps),
        .source_sample = g->results * plane, .source_channel = plane,
        .weight_result = kernel, .weight_source = results * kernel,
        .out_sample = g->channels * places, .out_channel = places,
        .tap_places = taps->places, .tap_weights = taps->weights, .dense = product_of(g->stride) == 1,
    };
    for (int d = 0; d < CONV_DIMS; d++) {
        s.sizes[d] = g->counts[d];
        s.counts[d] = (g->sizes[d] - phase[d] + g->stride[d] - 1) / g->stride[d];
        s.steps[d] = 1;
        s.out_steps[d] = own[d] * g->stride[d];
        offset += own[d] * phase[d];
    }
    bool good = true;
    for (ptrdiff_t i = 0; i < g->groups && good && product_of(s.counts) > 0; i++) {
        s.source = gradient + i * sources * plane * item;
        s.source_size = (g->samples * g->results - i * sources) * plane;
        s.weight = w + i * sources * results * kernel * item;
        s.bias = bias == NULL ? NULL : bias + i * results * item;
        s.out = x + (i * results * places + offset) * item;
        good = run_sums(&s, loops, item);
    }
    return good;
}

static bool input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                  const char *bias, char *x)
{
    Taps3 taps;
    if (!room_for_taps(&taps, g)) {
        return false;
    }
    bool good = true;
    ptrdiff_t phase[CONV_DIMS];
    for (phase[0] = 0; phase[0] < g->stride[0] && phase[0] < g->sizes[0]; phase[0]++) {
        for (phase[1] = 0; phase[1] < g->stride[1] && phase[1] < g->sizes[1]; phase[1]++) {
            for (phase[2] = 0; phase[2] < g->stride[2] && phase[2] < g->sizes[2]; phase[2]++) {
                good = good && input_of_phase(g, loops, item, phase, &taps, gradient, w, bias, x);
            }
        }
    }
    free(taps.places);
    return good;
}

/* ---- kernels of 3x3 */

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
    s->high = (s->counts[0] + 3) / 4;
    s->wide = (s->counts[1] + 1) / 2;
    return winograd_wins(s);
}

static bool by_winograd(const Geometry *g, const Loops *loops, ptrdiff_t item, bool backward, const char *source,
                        const char *w, const char *bias, char *out)
{
    Winograd s = {.source = source, .weight = w, .bias = bias, .out = out};
    return is_winograd(g, item, backward, &s) && winograd_sums(&s, loops);
}

static bool weight_by_winograd(const Geometry *g, const Loops *loops, ptrdiff_t item, char *x, char *gradient, char *w)
{
    Winograd s = {.source = x, .out = gradient, .packed = w};
    return is_winograd(g, item, false, &s) && winograd_weight_sums(&s, loops);
}

/* ---- backward to the weight, cut over the pool: by channels of the source, and by samples where there are few */

typedef struct {
    WeightSums sums;
    const Loops *loops;
    void *parts;
    ptrdiff_t sample_parts, channel_parts, part_size; /* the last in bytes */
    size_t scratch;
    int *failed;
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
        *w->failed = 1;
        return;
    }
    w->loops->sum_weights(&w->sums, first, last, from, to, (char *)w->parts + part * w->part_size, room);
}

static void collect_part(const void *work, ptrdiff_t i)
{
    const WeightWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->sums.results, 1, w->sums.panels, i, &start, &stop);
    w->loops->collect_weights(&w->sums, w->parts, w->sample_parts, start, stop);
}

#define CHANNELS_BYTES (96 << 10) /* of source in its margin that are worked on at once */

static bool run_weights(const WeightSums *sums, const Loops *loops, ptrdiff_t item)
{
    int failed = 0;
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

/* ---- kernels of one tap: products of matrices, summed over the samples; cut by rows */

typedef struct {
    const char *x, *gradient;
    char *w;
    ptrdiff_t samples, channels, results, places, item, parts;
} PointWork;

static void multiply_rows(const void *work, ptrdiff_t i)
{
    const PointWork *p = work;
    ptrdiff_t start, stop;
    part_of(p->results, 1, p->parts, i, &start, &stop);
    for (ptrdiff_t n = 0; n < p->samples; n++) {
        Matrix g = {p->gradient + (n * p->results + start) * p->places * p->item, p->places, false};
        Matrix x = {p->x + n * p->channels * p->places * p->item, p->places, true};
        (n == 0 ? multiply_matrices : add_matrix_product)(p->item == sizeof(double), stop - start, p->channels, p->places, g,
                                                          x, p->w + start * p->channels * p->item, p->channels);
    }
}

#define LEAST_ROWS 16 /* of a part: BLAS prepares the other operand for each */

/* Whether the kernel has one tap, and takes every place. */
static bool weight_by_products(const Geometry *g, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    if (!has_blas() || g->groups != 1 || g->results < 2 * LEAST_ROWS || g->channels < 2 * LEAST_ROWS
        || product_of(g->kernel) != 1 || product_of(g->stride) != 1 || g->padding[0] + g->padding[1] + g->padding[2] > 0
        || memcmp(g->sizes, g->counts, sizeof g->sizes) != 0) {
        return false;
    }
    PointWork work = {x, gradient, w, g->samples, g->channels, g->results, product_of(g->sizes), item, 1};
    ptrdiff_t most = g->results / LEAST_ROWS;
    work.parts = chunks_for(g->samples * work.places * g->channels * g->results, (ptrdiff_t)1 << 19);
    work.parts = work.parts < most ? work.parts : most;
    begin_single_blas();
    run_chunks(multiply_rows, &work, work.parts);
    end_single_blas();
    return true;
}

static bool weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w)
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

/* ---- a kernel for each channel */

typedef struct {
    PlaneSums sums;
    const Loops *loops;
    char *x, *g, *w; /* one of them is written to */
    const char *bias;
    ptrdiff_t samples, channels, item, taps, chunks;
    enum { FORWARD, INPUT, WEIGHT } which;
    int *failed;
} PlaneWork;

/* Some planes forward or to the input, or the weights of some channels. */
static void do_planes(const void *work, ptrdiff_t i)
{
    const PlaneWork *p = work;
    void *room = scratch_of_thread(p->sums.scratch);
    if (room == NULL) {
        *p->failed = 1;
        return;
    }
    memset(room, 0, p->sums.scratch); /* the margins, which all planes share */
    ptrdiff_t sizes = product_of(p->sums.sizes) * p->item, counts = product_of(p->sums.counts) * p->item, start, stop;
    part_of(p->which == WEIGHT ? p->channels : p->samples * p->channels, 1, p->chunks, i, &start, &stop);
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        ptrdiff_t channel = plane % p->channels;
        char *x = p->x + plane * sizes, *g = p->g + plane * counts, *w = p->w + channel * p->taps * p->item;
        if (p->which == FORWARD) {
            p->loops->plane_forward(&p->sums, x, w, p->bias == NULL ? NULL : p->bias + channel * p->item, g, room);
        } else if (p->which == INPUT) {
            p->loops->plane_input(&p->sums, g, w, x, room);
        } else {
            for (ptrdiff_t n = 0; n < p->samples; n++, x += p->channels * sizes, g += p->channels * counts) {
                p->loops->plane_weight(&p->sums, x, g, w, room);
            }
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

static bool run_planes(const Geometry *given, PlaneWork *work)
{
    int failed = 0;
    Geometry turned = *given, *g = &turned;
    bool around = turn_around(g, work);
    ptrdiff_t kernel = product_of(g->kernel);
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
    }
    ptrdiff_t step = g->stride[2], length = (s->wide[2] + step - 1) / step;
    s->row = length * step;
    s->taps = work->taps = kernel;
    for (ptrdiff_t k = 0; k < kernel; k++) {
        ptrdiff_t z = k / (g->kernel[2] * g->kernel[1]), y = k / g->kernel[2] % g->kernel[1];
        ptrdiff_t column = k % g->kernel[2] * g->dilation[2];
        offsets[around ? kernel - 1 - k : k] = (z * g->dilation[0] * s->wide[1] + y * g->dilation[1]) * s->row
                                               + column % step * length + column / step;
    }
    s->tap_offsets = offsets;
    /* rows are read in whole vectors; a copy of the gradient has such rows */
    ptrdiff_t lanes = work->loops->tile_columns / 2, copied = g->counts[0] * g->counts[1] * (g->counts[2] + lanes);
    s->scratch = (size_t)((s->wide[0] * s->wide[1] * s->row + 4 * lanes + copied) * work->item);
    work->samples = g->samples;
    work->channels = g->channels;
    work->failed = &failed;
    ptrdiff_t planes = g->samples * g->channels, parts = work->which == WEIGHT ? g->channels : planes;
    work->chunks = chunks_for(planes * product_of(g->counts) * kernel, PLANES_WORK);
    work->chunks = work->chunks < parts ? work->chunks : parts;
    run_chunks(do_planes, work, work->chunks);
    free(offsets);
    return !failed;
}

static bool by_channel(const Geometry *g)
{
    return g->groups == g->channels && g->groups == g->results && g->groups > 1;
}

/* ---- the kernels */

static bool is_bias(PyObject *given, PyArrayObject *x, ptrdiff_t channels)
{
    PyArrayObject *bias = plain_array(given);
    return not_given(given)
           || (bias != NULL && PyArray_TYPE(bias) == PyArray_TYPE(x) && PyArray_NDIM(bias) == 1
               && PyArray_DIM(bias, 0) == channels);
}

static const char *bytes_of(PyObject *given)
{
    return not_given(given) ? NULL : PyArray_BYTES((PyArrayObject *)given);
}

/* The array, if the work was done. */
static PyObject *finished(PyArrayObject *out, bool good)
{
    if (good) {
        return (PyObject *)out;
    }
    Py_DECREF(out);
    return PyErr_NoMemory();
}

static PyObject *conv(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *w = plain_array(arguments[1]);
    Geometry g;
    if (!are_volumes(x, w)) {
        DECLINE;
    }
    g.n = PyArray_NDIM(x) - 2;
    g.samples = PyArray_DIM(x, 0);
    g.channels = PyArray_DIM(x, 1);
    g.results = PyArray_DIM(w, 0);
    if (!read_settings(&g, arguments + 2) || PyArray_DIM(w, 1) * g.groups != g.channels || g.results % g.groups != 0
        || !is_bias(arguments[7], x, g.results)) {
        DECLINE;
    }
    spatial_of(x, g.n, g.sizes);
    spatial_of(w, g.n, g.kernel);
    for (int d = 0; d < CONV_DIMS; d++) {
        ptrdiff_t room = g.sizes[d] + 2 * g.padding[d] - reach(&g, d) - 1;
        g.counts[d] = room < 0 ? 0 : room / g.stride[d] + 1;
    }
    ptrdiff_t wanted[CONV_DIMS];
    if (!not_given(arguments[6])) {
        if (!per_dimension(arguments[6], g.n, 1, 1, wanted)) {
            DECLINE;
        }
        for (int d = 0; d < CONV_DIMS; d++) {
            if (wanted[d] > g.counts[d]) {
                DECLINE;
            }
            g.counts[d] = wanted[d];
        }
    }
    if (product_of(g.counts) == 0) {
        DECLINE;
    }
    PyArrayObject *y = new_volume(x, &g, g.results, g.counts);
    if (y == NULL) {
        return NULL;
    }
    const Loops *loops = loops_for(x);
    const char *bias = bytes_of(arguments[7]);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good;
    BEGIN_WORK(PyArray_SIZE(y) + MANY / 2);
    if (by_channel(&g)) {
        PlaneWork work = {.loops = loops, .x = PyArray_BYTES(x), .w = PyArray_BYTES(w), .g = PyArray_BYTES(y),
                          .bias = bias, .item = item, .which = FORWARD};
        good = run_planes(&g, &work);
    } else if (by_winograd(&g, loops, item, false, PyArray_BYTES(x), PyArray_BYTES(w), bias, PyArray_BYTES(y))) {
        good = true;
    } else {
        flatten(&g);
        good = forward(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(w), bias, PyArray_BYTES(y));
    }
    END_WORK;
    return finished(y, good);
}

static PyObject *conv_input(PyObject *const *arguments)
{
    PyArrayObject *w = plain_array(arguments[1]), *gradient = in_rows(arguments[0]);
    Geometry g;
    if (gradient == NULL) {
        return declined_or_failed();
    }
    bool known = are_volumes(gradient, w);
    if (known) {
        g.n = PyArray_NDIM(gradient) - 2;
        g.samples = PyArray_DIM(gradient, 0);
        g.results = PyArray_DIM(gradient, 1);
        spatial_of(gradient, g.n, g.counts);
        spatial_of(w, g.n, g.kernel);
        known = per_dimension(arguments[2], g.n, 1, 1, g.sizes) && read_settings(&g, arguments + 3)
                && PyArray_DIM(w, 0) == g.results && g.results % g.groups == 0;
        g.channels = known ? PyArray_DIM(w, 1) * g.groups : 0;
        for (int d = 0; d < CONV_DIMS && known; d++) { /* all of it must have been met */
            known = (g.counts[d] - 1) * g.stride[d] + reach(&g, d) < g.sizes[d] + 2 * g.padding[d];
        }
        known = known && is_bias(arguments[7], gradient, g.channels);
    }
    if (!known) {
        Py_DECREF(gradient);
        DECLINE;
    }
    PyArrayObject *x = new_volume(gradient, &g, g.channels, g.sizes);
    if (x == NULL) {
        Py_DECREF(gradient);
        return NULL;
    }
    const Loops *loops = loops_for(x);
    const char *bias = bytes_of(arguments[7]);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good;
    BEGIN_WORK(PyArray_SIZE(x) + MANY / 2);
    if (by_channel(&g) && bias == NULL) {
        PlaneWork work = {.loops = loops, .x = PyArray_BYTES(x), .w = PyArray_BYTES(w), .g = PyArray_BYTES(gradient),
                          .item = item, .which = INPUT};
        good = run_planes(&g, &work);
    } else if (by_winograd(&g, loops, item, true, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x))) {
        good = true;
    } else {
        flatten(&g);
        good = input(&g, loops, item, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x));
    }
    END_WORK;
    Py_DECREF(gradient);
    return finished(x, good);
}

static PyObject *conv_weight(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *gradient = in_rows(arguments[1]);
    Geometry g;
    if (gradient == NULL) {
        return declined_or_failed();
    }
    bool known = are_volumes(x, gradient);
    if (known) {
        g.n = PyArray_NDIM(x) - 2;
        g.samples = PyArray_DIM(x, 0);
        g.channels = PyArray_DIM(x, 1);
        g.results = PyArray_DIM(gradient, 1);
        spatial_of(x, g.n, g.sizes);
        spatial_of(gradient, g.n, g.counts);
        known = per_dimension(arguments[2], g.n, 1, 1, g.kernel) && read_settings(&g, arguments + 3)
                && PyArray_DIM(gradient, 0) == g.samples && g.channels % g.groups == 0 && g.results % g.groups == 0;
        for (int d = 0; d < CONV_DIMS && known; d++) {
            known = (g.counts[d] - 1) * g.stride[d] + reach(&g, d) < g.sizes[d] + 2 * g.padding[d];
        }
    }
    if (!known) {
        Py_DECREF(gradient);
        DECLINE;
    }
    npy_intp shape[2 + CONV_DIMS] = {g.results, g.channels / g.groups};
    for (int d = 0; d < g.n; d++) {
        shape[2 + d] = g.kernel[CONV_DIMS - g.n + d];
    }
    PyArrayObject *w = new_array(x, 2 + g.n, shape);
    if (w == NULL) {
        Py_DECREF(gradient);
        return NULL;
    }
    const Loops *loops = loops_for(x);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good;
    BEGIN_WORK(PyArray_SIZE(x) + MANY / 2);
    if (by_channel(&g)) {
        memset(PyArray_BYTES(w), 0, (size_t)PyArray_NBYTES(w));
        PlaneWork work = {.loops = loops, .x = PyArray_BYTES(x), .w = PyArray_BYTES(w), .g = PyArray_BYTES(gradient),
                          .item = item, .which = WEIGHT};
        good = run_planes(&g, &work);
    } else if (weight_by_winograd(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w))
               || weight_by_products(&g, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w))) {
        good = true;
    } else {
        good = weight(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w));
    }
    END_WORK;
    Py_DECREF(gradient);
    return finished(w, good);
}

const Row CONV_ROWS[] = {
    {"conv", conv, {"x", "weight", "stride", "padding", "dilation", "groups", "out", "bias"}},
    {"conv_input", conv_input, {"g", "weight", "spatial", "stride", "padding", "dilation", "groups", "bias"}},
    {"conv_weight", conv_weight, {"x", "g", "kernel", "stride", "padding", "dilation", "groups"}},
    {NULL, NULL, {NULL}},
};
