/* Pooling in one to three dimensions. */

#include "kernels.h"

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
    const Loops *loops;
    const Boxes *boxes;
    char *from, *to;
    int64_t *places; /* where those are wanted */
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
        w->loops->max_boxes(from, to, w->places + start * counts, stop - start, w->boxes);
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
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(n + 2, shape, NPY_INT64);
    if (best == NULL || places == NULL) {
        Py_XDECREF(best);
        Py_XDECREF(places);
        return NULL;
    }
    run_planes((PoolWork){.loops = loops, .boxes = boxes, .places = PyArray_DATA(places)}, x, best);
    return Py_BuildValue("NN", best, places);
}

static PyObject *max_pool(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    int n = loops == NULL ? 0 : dims_of(x);
    npy_intp kernel[DIMS], stride[DIMS], padding[DIMS], dilation[DIMS], counts[DIMS];
    if (n == 0 || !integers_of(arguments[1], n, 1, kernel) || !integers_of(arguments[2], n, 1, stride)
        || !integers_of(arguments[3], n, 0, padding) || !integers_of(arguments[4], n, 1, dilation)
        || !integers_of(arguments[5], n, 1, counts)) {
        DECLINE;
    }
    Boxes boxes;
    const npy_intp *sizes = PyArray_DIMS(x) + 2;
    if (!start_boxes(&boxes, n, sizes, counts)) {
        return NULL;
    }
    bool filled = true;
    for (int d = 0; d < n; d++) {
        int own = d + DIMS - n;
        boxes.steps[own] = dilation[d];
        for (npy_intp i = 0; i < counts[d]; i++) {
            npy_intp start = i * stride[d] - padding[d], stop = start + (kernel[d] - 1) * dilation[d] + 1;
            start += start < 0 ? (-start + dilation[d] - 1) / dilation[d] * dilation[d] : 0;
            stop = stop < sizes[d] ? stop : sizes[d];
            boxes.spans[own][i] = (Span){start, stop};
            filled = filled && start < stop;
        }
    }
    PyObject *result = filled ? largest_of(x, loops, n, counts, &boxes) : Py_NewRef(Py_NotImplemented);
    free(boxes.room);
    return result;
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
    const Loops *loops = x == NULL ? NULL : loops_for(x);
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

static PyObject *ranges_max(PyObject *const *arguments)
{
    return on_ranges(plain_array(arguments[0]), arguments[1], NULL, largest_of);
}

static PyObject *ranges_mean(PyObject *const *arguments)
{
    return on_ranges(plain_array(arguments[0]), arguments[1], NULL, means_of);
}

static PyObject *ranges_spread(PyObject *const *arguments)
{
    PyArrayObject *g = in_rows(arguments[0]); /* a gradient may be broadcast */
    if (g == NULL) {
        return declined_or_failed();
    }
    npy_intp sizes[DIMS];
    bool known = dims_of(g) > 0 && integers_of(arguments[2], dims_of(g), 1, sizes);
    PyObject *result = known ? on_ranges(g, arguments[1], sizes, spread_of) : Py_NewRef(Py_NotImplemented);
    Py_DECREF(g);
    return result;
}

const Row POOL_ROWS[] = {
    {"max_pool", max_pool, {"x", "kernel", "stride", "padding", "dilation", "out"}},
    {"ranges_max", ranges_max, {"x", "ranges"}},
    {"ranges_mean", ranges_mean, {"x", "ranges"}},
    {"ranges_spread", ranges_spread, {"g", "ranges", "spatial"}},
    {NULL, NULL, {NULL}},
};
