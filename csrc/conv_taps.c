/* Direct convolution, forward and the gradient of the input: see loops/conv.h. */

#include "conv.h"

#include <stdatomic.h>
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
    atomic_bool *failed; /* whether some thread had no memory */
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
        atomic_store(w->failed, true);
        return;
    }
    ptrdiff_t stop = start + CONV_PANELS < w->panels ? start + CONV_PANELS : w->panels;
    w->loops->sum_panels(&w->sums, start, stop, top, bottom, room);
}

/* Whether there was memory enough. */
static bool sum_panels(const TapSums *sums, const Loops *loops, ptrdiff_t item)
{
    atomic_bool failed = false;
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
    return (sums->staged != NULL ? sum_lanes : sum_panels)(sums, loops, item);
}

/* ---- forward */

typedef struct {
    ptrdiff_t *places, *weights; /* the taps, and where in a kernel their weights lie; zeros beyond those that are used */
} Taps3;

static bool room_for_taps(Taps3 *t, const Geometry *g)
{
    t->places = calloc((size_t)(product_of(g->kernel) * (CONV_DIMS + 1)), sizeof *t->places);
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
                    const Finish *finish, char *y)
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
        .tap_places = taps.places, .tap_weights = taps.weights, .dense = true, .finish = finish,
    };
    memcpy(s.sizes, g->sizes, sizeof s.sizes);
    memcpy(s.counts, g->counts, sizeof s.counts);
    memcpy(s.steps, g->stride, sizeof s.steps);
    fill_steps(g->counts, s.out_steps);
    for (int d = 0; d < CONV_DIMS; d++) {
        s.margin[d] = g->padding[d];
        s.wide[d] = (g->counts[d] - 1) * g->stride[d] + reach(g, d) + 1;
    }
    bool good = true, in_lanes = suits_lanes(&s, loops);
    for (ptrdiff_t i = 0; i < g->groups && good; i++) {
        s.source = x + i * sources * plane * item;
        s.source_size = (g->samples * g->channels - i * sources) * plane;
        s.weight = w + i * results * sources * count * item;
        s.bias = bias == NULL ? NULL : bias + i * results * item;
        s.out = y + i * results * places * item;
        s.first_result = i * results;
        good = (!in_lanes || prepare_lanes(&s, loops, item)) && run_sums(&s, loops, item);
        release_lanes(&s);
    }
    free(taps.places);
    return good;
}

/* ---- backward to the input. Its places that are a stride apart meet the same taps, and these lie one place of the
 * result apart: for each remainder a convolution without a stride. */

/* The taps that meet the places with the given remainders, in the order in which they meet the gradient; how many there
 * are. */
static ptrdiff_t taps_of_phase(const Geometry *g, const ptrdiff_t *phase, ptrdiff_t *places, ptrdiff_t *weights)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = product_of(g->kernel) - 1; k >= 0; k--) {
        ptrdiff_t at[3] = {k / (g->kernel[2] * g->kernel[1]), k / g->kernel[2] % g->kernel[1], k % g->kernel[2]};
        ptrdiff_t place[CONV_DIMS];
        bool meets = true;
        for (int d = 0; d < CONV_DIMS; d++) {
            ptrdiff_t away = phase[d] + g->padding[d] - at[d] * g->dilation[d];
            meets = meets && away % g->stride[d] == 0;
            place[d] = away / g->stride[d];
        }
        if (meets) {
            memcpy(places + CONV_DIMS * count, place, sizeof place);
            weights[count++] = k;
        }
    }
    return count;
}

/* How many remainders places of the input have in a dimension: a stride may leap over all of it. */
static ptrdiff_t phases_in(const Geometry *g, int d)
{
    return g->stride[d] < g->sizes[d] ? g->stride[d] : g->sizes[d];
}

/* A phase by its number, the remainder of the last dimension counted first. */
static void phase_of(const Geometry *g, ptrdiff_t i, ptrdiff_t *phase)
{
    for (int d = CONV_DIMS - 1; d >= 0; d--) {
        phase[d] = i % phases_in(g, d);
        i /= phases_in(g, d);
    }
}

/* The places of the input with the given remainders, from their taps on; `all` is about all of them. */
static bool input_of_phase(const Geometry *g, const Loops *loops, ptrdiff_t item, const ptrdiff_t *phase, ptrdiff_t first,
                           ptrdiff_t taps, const TapSums *all)
{
    TapSums s = *all;
    ptrdiff_t own[CONV_DIMS], offset = 0;
    fill_steps(g->sizes, own);
    for (int d = 0; d < CONV_DIMS; d++) {
        s.counts[d] = (g->sizes[d] - phase[d] + g->stride[d] - 1) / g->stride[d];
        s.out_steps[d] = own[d] * g->stride[d];
        offset += own[d] * phase[d];
    }
    s.first_tap = first;
    s.taps = taps;
    s.tap_places += CONV_DIMS * first;
    s.tap_weights += first;
    s.out = (char *)all->out + offset * item;
    if (taps == 0 && s.bias == NULL) {
        return true; /* these are zeros already */
    }
    s.staged = taps == 0 ? NULL : s.staged;
    return run_sums(&s, loops, item);
}

static bool input_of_group(const Geometry *g, const Loops *loops, ptrdiff_t item, Taps3 *taps, TapSums *s)
{
    ptrdiff_t phases = phases_in(g, 0) * phases_in(g, 1) * phases_in(g, 2), phase[CONV_DIMS], first = 0, count;
    for (ptrdiff_t i = 0; i < phases; i++) { /* each tap meets the places of one phase, or none */
        phase_of(g, i, phase);
        first += taps_of_phase(g, phase, taps->places + CONV_DIMS * first, taps->weights + first);
    }
    bool good = !suits_lanes(s, loops) || prepare_lanes(s, loops, item);
    first = 0;
    for (ptrdiff_t i = 0; i < phases && good; i++, first += count) {
        phase_of(g, i, phase);
        count = taps_of_phase(g, phase, taps->places + CONV_DIMS * first, taps->weights + first);
        good = input_of_phase(g, loops, item, phase, first, count, s);
    }
    release_lanes(s);
    return good;
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

/* ---- the same for few channels, which would leave most of a tile empty: the products of all taps and channels are rows of
 * one product of matrices, and are added up where they belong */

#define LEAST_SOURCES 16
#define MOST_COLUMNS ((ptrdiff_t)1 << 26)    /* bytes of one sample */
#define COLUMNS_AT_ONCE ((ptrdiff_t)1 << 22) /* bytes of some samples, for the cache */

typedef struct {
    const Geometry *g;
    const char *columns, *bias;
    char *x;
    ptrdiff_t item;
} Columns;

/* The places of the gradient, from *first to before *stop, whose products with tap k belong to places of the input. */
static void places_inside(const Geometry *g, int d, ptrdiff_t k, ptrdiff_t *first, ptrdiff_t *stop)
{
    ptrdiff_t away = g->padding[d] - k * g->dilation[d], step = g->stride[d];
    *first = away > 0 ? (away + step - 1) / step : 0;
    *stop = g->sizes[d] + away > 0 ? (g->sizes[d] + away + step - 1) / step : 0;
    *stop = *stop < g->counts[d] ? *stop : g->counts[d];
}

#define ADD_ROW(T) \
    static void add_row_##T(const void *from, void *to, ptrdiff_t step, ptrdiff_t n) \
    { \
        const T *x = from; \
        T *out = to; \
        for (ptrdiff_t i = 0; i < n && step == 1; i++) { \
            out[i] += x[i]; \
        } \
        for (ptrdiff_t i = 0; i < n && step != 1; i++) { \
            out[i * step] += x[i]; \
        } \
    }
ADD_ROW(float)
ADD_ROW(double)
#undef ADD_ROW

/* Adds the products of one tap to a plane of the input. */
static void add_tap(const Columns *w, const ptrdiff_t *tap, const char *products, char *x)
{
    const Geometry *g = w->g;
    ptrdiff_t first[CONV_DIMS], stop[CONV_DIMS], at[CONV_DIMS];
    for (int d = 0; d < CONV_DIMS; d++) {
        places_inside(g, d, tap[d], &first[d], &stop[d]);
    }
    for (ptrdiff_t z = first[0]; z < stop[0]; z++) {
        for (ptrdiff_t y = first[1]; y < stop[1]; y++) {
            const ptrdiff_t place[CONV_DIMS] = {z, y, first[2]};
            for (int d = 0; d < CONV_DIMS; d++) {
                at[d] = place[d] * g->stride[d] + tap[d] * g->dilation[d] - g->padding[d];
            }
            (w->item == sizeof(float) ? add_row_float : add_row_double)(
                products + ((z * g->counts[1] + y) * g->counts[2] + first[2]) * w->item,
                x + ((at[0] * g->sizes[1] + at[1]) * g->sizes[2] + at[2]) * w->item, g->stride[2], stop[2] - first[2]);
        }
    }
}

static void add_columns(const void *work, ptrdiff_t plane)
{
    const Columns *w = work;
    const Geometry *g = w->g;
    ptrdiff_t size = product_of(g->sizes), places = product_of(g->counts), kernel = product_of(g->kernel);
    char *x = w->x + plane * size * w->item;
    if (w->bias == NULL) {
        memset(x, 0, (size_t)(size * w->item));
    }
    for (ptrdiff_t i = 0; i < size && w->bias != NULL; i++) {
        memcpy(x + i * w->item, w->bias + plane % g->channels * w->item, (size_t)w->item);
    }
    for (ptrdiff_t k = 0; k < kernel; k++) {
        ptrdiff_t tap[CONV_DIMS] = {k / (g->kernel[2] * g->kernel[1]), k / g->kernel[2] % g->kernel[1], k % g->kernel[2]};
        add_tap(w, tap, w->columns + (plane * kernel + k) * places * w->item, x);
    }
}

static bool suits_columns(const Geometry *g, const Loops *loops, ptrdiff_t item)
{
    ptrdiff_t kernel = product_of(g->kernel);
    return g->groups == 1 && kernel > 1 && g->channels * 2 < loops->tile_columns && g->results >= LEAST_SOURCES
           && g->channels * kernel * product_of(g->counts) * item <= MOST_COLUMNS;
}

static bool input_by_columns(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                             const char *bias, char *x)
{
    ptrdiff_t rows = g->channels * product_of(g->kernel), places = product_of(g->counts);
    const ptrdiff_t nowhere[CONV_DIMS] = {0}, first = 0;
    ptrdiff_t most = COLUMNS_AT_ONCE / (rows * places * item), held = most < 1 ? 1 : most < g->samples ? most : g->samples;
    char *columns = new_block((size_t)(held * rows * places * item), false);
    TapSums s = {
        .weight = w, .out = columns, .sources = g->results, .results = rows, .taps = 1,
        .source_sample = g->results * places, .source_channel = places,
        .weight_result = 1, .weight_source = rows, .kernel = 1, .out_sample = rows * places, .out_channel = places,
        .sizes = {1, 1, places}, .counts = {1, 1, places}, .steps = {1, 1, 1}, .out_steps = {places, places, 1},
        .tap_places = nowhere, .tap_weights = &first, .dense = true,
    };
    bool good = columns != NULL;
    for (ptrdiff_t sample = 0; sample < g->samples && good; sample += held) {
        s.samples = g->samples - sample < held ? g->samples - sample : held;
        s.source = gradient + sample * s.source_sample * item;
        s.source_size = s.samples * s.source_sample;
        Columns work = {g, columns, bias, x + sample * g->channels * product_of(g->sizes) * item, item};
        good = sum_panels(&s, loops, item);
        if (good) {
            run_all(add_columns, &work, s.samples * g->channels, s.samples * rows * places < 1 << 16);
        }
    }
    release_block(columns);
    return good;
}

bool direct_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                  const char *bias, char *x)
{
    if (suits_columns(g, loops, item)) {
        return input_by_columns(g, loops, item, gradient, w, bias, x);
    }
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
