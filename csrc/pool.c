/* Pooling in one to three dimensions. */

#include "kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

#define DIMS 3 /* sequences and images are volumes of one row or slice */

/* The array as planes of up to three dimensions after samples and channels; 0 if it has others. */
static int dims_of(PyArrayObject *x)
{
    int n = PyArray_NDIM(x) - 2;
    return n >= 1 && n <= DIMS && PyArray_SIZE(x) > 0 ? n : 0;
}

/* Boxes of one element in the dimensions that are missing, and room for `counts[d]` spans in the others. */
static bool start_boxes(Boxes *b, int n, const npy_intp *sizes, const npy_intp *counts)
{
    npy_intp total = DIMS;
    for (int d = 0; d < n; d++) {
        total += counts[d];
    }
    Span *room = malloc((size_t)total * sizeof *room);
    if (room == NULL) {
        PyErr_NoMemory();
        return false;
    }
    b->room = room;
    for (int d = 0; d < DIMS; d++) {
        int own = d - (DIMS - n);
        b->sizes[d] = own < 0 ? 1 : sizes[own];
        b->counts[d] = own < 0 ? 1 : counts[own];
        b->steps[d] = 1;
        b->spans[d] = room;
        room[0] = (Span){0, 1};
        room += b->counts[d];
    }
    b->stride = 0;
    return true;
}

/* n integers of a tuple, none less than `least`. */
static bool integers_of(PyObject *x, int n, npy_intp least, npy_intp *values)
{
    if (x == NULL || !PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != n) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!as_integer(PyTuple_GET_ITEM(x, i), &values[i]) || values[i] < least || values[i] > NPY_MAX_INT32) {
            return false;
        }
    }
    return true;
}

static void shape_of(PyArrayObject *x, int n, const npy_intp *spatial, npy_intp *shape)
{
    shape[0] = PyArray_DIM(x, 0);
    shape[1] = PyArray_DIM(x, 1);
    for (int d = 0; d < n; d++) {
        shape[2 + d] = spatial[d];
    }
}

/* ---- planes in parts, over the threads */

typedef struct {
    const Boxes *boxes;
    char *from, *to;
    int64_t *places; /* where those are wanted */
    void (*max_loop)(const void *from, void *to, int64_t *places, ptrdiff_t planes, const Boxes *boxes); /* then */
    void (*loop)(const void *from, void *to, ptrdiff_t planes, const Boxes *boxes); /* where they are not */
    ptrdiff_t planes, parts, from_plane, to_plane; /* the last two in bytes */
} PoolWork;

static void do_part(const void *work, ptrdiff_t i)
{
    const PoolWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->planes, 1, w->parts, i, &start, &stop);
    char *from = w->from + start * w->from_plane, *to = w->to + start * w->to_plane;
    if (w->places != NULL) {
        ptrdiff_t counts = w->boxes->counts[0] * w->boxes->counts[1] * w->boxes->counts[2];
        w->max_loop(from, to, w->places + start * counts, stop - start, w->boxes);
    } else {
        w->loop(from, to, stop - start, w->boxes);
    }
}

#define SHARED (1 << 14) /* elements from which threads share the work */

static void run_planes(PoolWork work, PyArrayObject *from, PyArrayObject *to)
{
    work.from = PyArray_BYTES(from);
    work.to = PyArray_BYTES(to);
    work.planes = PyArray_DIM(from, 0) * PyArray_DIM(from, 1);
    work.from_plane = PyArray_NBYTES(from) / work.planes;
    work.to_plane = PyArray_NBYTES(to) / work.planes;
    npy_intp size = PyArray_SIZE(from) > PyArray_SIZE(to) ? PyArray_SIZE(from) : PyArray_SIZE(to);
    ptrdiff_t parts = chunks_for(size, SHARED);
    work.parts = parts < work.planes ? parts : work.planes;
    BEGIN_WORK(size);
    run_chunks(do_part, &work, work.parts);
    END_WORK;
}

/* (the largest elements, their places) */
static PyObject *largest_of(PyArrayObject *x, const Loops *loops, int n, const npy_intp *counts, const Boxes *boxes)
{
    npy_intp shape[DIMS + 2];
    shape_of(x, n, counts, shape);
    PyArrayObject *best = new_array(x, n + 2, shape);
    PyArrayObject *places = new_places(n + 2, shape);
    if (best == NULL || places == NULL) {
        Py_XDECREF(best);
        Py_XDECREF(places);
        return NULL;
    }
    bool windows = boxes->stride > 0 && boxes->sizes[0] * boxes->sizes[1] * boxes->sizes[2] < NPY_MAX_INT32;
    run_planes((PoolWork){.max_loop = windows ? loops->max_windows : loops->max_boxes, .boxes = boxes,
                          .places = PyArray_DATA(places)}, x, best);
    return Py_BuildValue("NN", best, places);
}

/* ---- windows */

typedef struct {
    npy_intp kernel[DIMS], stride[DIMS], padding[DIMS], dilation[DIMS];
} Windows;

/* The boxes of windows on planes of n dimensions; false where one of them is empty. */
static bool fill_windows(Boxes *boxes, int n, const Windows *w)
{
    bool filled = true;
    for (int d = 0; d < n; d++) {
        int own = d + DIMS - n;
        boxes->steps[own] = w->dilation[d];
        for (npy_intp i = 0; i < boxes->counts[own]; i++) {
            npy_intp start = i * w->stride[d] - w->padding[d], stop = start + (w->kernel[d] - 1) * w->dilation[d] + 1;
            start += start < 0 ? (-start + w->dilation[d] - 1) / w->dilation[d] * w->dilation[d] : 0;
            stop = stop < boxes->sizes[own] ? stop : boxes->sizes[own];
            boxes->spans[own][i] = (Span){start, stop};
            filled = filled && start < stop;
        }
    }
    boxes->stride = w->stride[n - 1];
    boxes->margin = w->padding[n - 1];
    boxes->taps = w->kernel[n - 1];
    return filled;
}

static PyObject *max_pool_of_rows(PyArrayObject *x, PyObject *const *arguments)
{
    const Loops *loops = loops_for(x);
    int n = loops == NULL ? 0 : dims_of(x);
    Windows w;
    npy_intp counts[DIMS];
    if (n == 0 || !integers_of(arguments[1], n, 1, w.kernel) || !integers_of(arguments[2], n, 1, w.stride)
        || !integers_of(arguments[3], n, 0, w.padding) || !integers_of(arguments[4], n, 1, w.dilation)
        || !integers_of(arguments[5], n, 1, counts)) {
        DECLINE;
    }
    Boxes boxes;
    if (!start_boxes(&boxes, n, PyArray_DIMS(x) + 2, counts)) {
        return NULL;
    }
    bool filled = fill_windows(&boxes, n, &w);
    PyObject *result = filled ? largest_of(x, loops, n, counts, &boxes) : Py_NewRef(Py_NotImplemented);
    free(boxes.room);
    return result;
}

static PyObject *max_pool(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, max_pool_of_rows);
}

/* Sums over windows, or the transpose: `counts` windows on planes of `sizes`, of which x has one kind. */
static PyObject *add_windows(PyArrayObject *x, int n, PyObject *const *settings, const npy_intp *sizes,
                             const npy_intp *counts, bool spread)
{
    const Loops *loops = loops_for(x);
    Windows w = {.dilation = {1, 1, 1}};
    if (loops == NULL || !integers_of(settings[0], n, 1, w.kernel) || !integers_of(settings[1], n, 1, w.stride)
        || !integers_of(settings[2], n, 0, w.padding)) {
        DECLINE;
    }
    Boxes boxes;
    if (!start_boxes(&boxes, n, sizes, counts)) {
        return NULL;
    }
    npy_intp shape[DIMS + 2];
    shape_of(x, n, spread ? sizes : counts, shape);
    PyArrayObject *out = new_array(x, n + 2, shape);
    if (out != NULL) {
        fill_windows(&boxes, n, &w);
        memset(PyArray_DATA(out), 0, (size_t)PyArray_NBYTES(out));
        run_planes((PoolWork){.loop = spread ? loops->spread_windows : loops->sum_windows, .boxes = &boxes}, x, out);
    }
    free(boxes.room);
    return (PyObject *)out;
}

static PyObject *window_sum_of_rows(PyArrayObject *x, PyObject *const *arguments)
{
    int n = dims_of(x);
    npy_intp counts[DIMS];
    if (n == 0 || !integers_of(arguments[4], n, 1, counts)) {
        DECLINE;
    }
    return add_windows(x, n, arguments + 1, PyArray_DIMS(x) + 2, counts, false);
}

static PyObject *window_sum(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, window_sum_of_rows);
}

static PyObject *window_spread_of_rows(PyArrayObject *g, PyObject *const *arguments)
{
    int n = dims_of(g);
    npy_intp sizes[DIMS];
    if (n == 0 || !integers_of(arguments[4], n, 1, sizes)) {
        DECLINE;
    }
    return add_windows(g, n, arguments + 1, sizes, PyArray_DIMS(g) + 2, true);
}

static PyObject *window_spread(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, window_spread_of_rows);
}

/* ---- boxes given as a (start, stop) for each place, in a tuple for each dimension */

/* How many there are in each dimension; false if they are not given so. */
static bool counts_of(PyObject *ranges, int n, npy_intp *counts)
{
    if (ranges == NULL || !PyTuple_CheckExact(ranges) || PyTuple_GET_SIZE(ranges) != n) {
        return false;
    }
    for (int d = 0; d < n; d++) {
        PyObject *pairs = PyTuple_GET_ITEM(ranges, d);
        if (!PyTuple_CheckExact(pairs) || PyTuple_GET_SIZE(pairs) == 0) {
            return false;
        }
        counts[d] = PyTuple_GET_SIZE(pairs);
    }
    return true;
}

static bool fill_boxes(Boxes *boxes, PyObject *ranges, int n, const npy_intp *counts)
{
    for (int d = 0; d < n; d++) {
        int own = d + DIMS - n;
        PyObject *pairs = PyTuple_GET_ITEM(ranges, d);
        for (npy_intp i = 0; i < counts[d]; i++) {
            npy_intp span[2];
            if (!integers_of(PyTuple_GET_ITEM(pairs, i), 2, 0, span) || span[0] >= span[1]
                || span[1] > boxes->sizes[own]) {
                return false;
            }
            boxes->spans[own][i] = (Span){span[0], span[1]};
        }
    }
    return true;
}

typedef PyObject *(*OnBoxes)(PyArrayObject *x, const Loops *loops, int n, const npy_intp *counts, const Boxes *boxes);

/* What a function makes of x, whose boxes lie in planes of the given sizes. */
static PyObject *on_ranges(PyArrayObject *x, PyObject *ranges, const npy_intp *sizes, OnBoxes function)
{
    const Loops *loops = loops_for(x);
    int n = loops == NULL ? 0 : dims_of(x);
    npy_intp counts[DIMS];
    if (n == 0 || !counts_of(ranges, n, counts)) {
        DECLINE;
    }
    Boxes boxes;
    if (!start_boxes(&boxes, n, sizes == NULL ? PyArray_DIMS(x) + 2 : sizes, counts)) {
        return NULL;
    }
    bool filled = fill_boxes(&boxes, ranges, n, counts);
    PyObject *result = filled ? function(x, loops, n, counts, &boxes) : Py_NewRef(Py_NotImplemented);
    free(boxes.room);
    return result;
}

static PyObject *means_of(PyArrayObject *x, const Loops *loops, int n, const npy_intp *counts, const Boxes *boxes)
{
    npy_intp shape[DIMS + 2];
    shape_of(x, n, counts, shape);
    PyArrayObject *out = new_array(x, n + 2, shape);
    if (out != NULL) {
        run_planes((PoolWork){.loop = loops->mean_boxes, .boxes = boxes}, x, out);
    }
    return (PyObject *)out;
}

static PyObject *spread_of(PyArrayObject *g, const Loops *loops, int n, const npy_intp *counts, const Boxes *boxes)
{
    if (!PyArray_CompareLists(PyArray_DIMS(g) + 2, counts, n)) {
        DECLINE;
    }
    npy_intp shape[DIMS + 2];
    shape_of(g, n, boxes->sizes + DIMS - n, shape);
    PyArrayObject *out = new_array(g, n + 2, shape);
    if (out != NULL) {
        memset(PyArray_DATA(out), 0, (size_t)PyArray_NBYTES(out));
        run_planes((PoolWork){.loop = loops->spread_boxes, .boxes = boxes}, g, out);
    }
    return (PyObject *)out;
}

static PyObject *ranges_max_of_rows(PyArrayObject *x, PyObject *const *arguments)
{
    return on_ranges(x, arguments[1], NULL, largest_of);
}

static PyObject *ranges_max(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, ranges_max_of_rows);
}

static PyObject *ranges_mean_of_rows(PyArrayObject *x, PyObject *const *arguments)
{
    return on_ranges(x, arguments[1], NULL, means_of);
}

static PyObject *ranges_mean(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, ranges_mean_of_rows);
}

static PyObject *ranges_spread_of_rows(PyArrayObject *g, PyObject *const *arguments)
{
    npy_intp sizes[DIMS];
    if (dims_of(g) == 0 || !integers_of(arguments[2], dims_of(g), 1, sizes)) {
        DECLINE;
    }
    return on_ranges(g, arguments[1], sizes, spread_of);
}

static PyObject *ranges_spread(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, ranges_spread_of_rows);
}

/* ---- the gradient of maxima: rows of zeros with some elements set */

typedef struct {
    const char *g;
    const int64_t *index;
    char *out;
    ptrdiff_t rows, count, size, item, parts;
    atomic_bool *outside; /* whether an index is not in its row */
} PutWork;

static void put_rows(const void *work, ptrdiff_t i)
{
    const PutWork *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->parts, i, &start, &stop);
    memset(w->out + start * w->size * w->item, 0, (size_t)((stop - start) * w->size * w->item));
    for (ptrdiff_t row = start; row < stop; row++) {
        const int64_t *index = w->index + row * w->count;
        for (ptrdiff_t j = 0; j < w->count; j++) {
            ptrdiff_t from = row * w->count + j, to = row * w->size + index[j];
            if ((uint64_t)index[j] >= (uint64_t)w->size) {
                atomic_store(w->outside, true);
            } else if (w->item == 4) {
                ((uint32_t *)w->out)[to] = ((const uint32_t *)w->g)[from];
            } else {
                ((uint64_t *)w->out)[to] = ((const uint64_t *)w->g)[from];
            }
        }
    }
}

/* Along the second of two axes. */
static PyObject *put_along_rows(PyArrayObject *g, PyObject *const *arguments)
{
    PyArrayObject *index = plain_array(arguments[1]);
    npy_intp axis, shape[2];
    if (loops_for(g) == NULL || PyArray_NDIM(g) != 2 || index == NULL || PyArray_TYPE(index) != NPY_INT64
        || !PyArray_SAMESHAPE(index, g) || !as_integer(arguments[2], &axis) || axis != 1
        || !integers_of(arguments[3], 2, 1, shape) || shape[0] != PyArray_DIM(g, 0)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(g, 2, shape);
    if (out == NULL) {
        return NULL;
    }
    atomic_bool outside = false;
    PutWork work = {PyArray_BYTES(g), PyArray_DATA(index), PyArray_BYTES(out), shape[0], PyArray_DIM(g, 1), shape[1],
                    PyArray_ITEMSIZE(g), 1, &outside};
    ptrdiff_t parts = chunks_for(PyArray_SIZE(out), SHARED);
    work.parts = parts < work.rows ? parts : work.rows;
    BEGIN_WORK(PyArray_SIZE(out));
    run_chunks(put_rows, &work, work.parts);
    END_WORK;
    if (outside) {
        Py_DECREF(out);
        DECLINE;
    }
    return (PyObject *)out;
}

static PyObject *put_along(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, put_along_rows);
}

const Row POOL_ROWS[] = {
    {"max_pool", max_pool, {"x", "kernel", "stride", "padding", "dilation", "out"}},
    {"window_sum", window_sum, {"x", "kernel", "stride", "padding", "out"}},
    {"window_spread", window_spread, {"g", "kernel", "stride", "padding", "spatial"}},
    {"put_along", put_along, {"g", "index", "axis", "shape"}},
    {"ranges_max", ranges_max, {"x", "ranges"}},
    {"ranges_mean", ranges_mean, {"x", "ranges"}},
    {"ranges_spread", ranges_spread, {"g", "ranges", "spatial"}},
    {NULL, NULL, {NULL}},
};
