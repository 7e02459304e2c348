/* Sums of a few weighted elements each, as in interpolate and grid_sample. */

#include "kernels.h"

#include "threads.h"

#define FEW (1 << 14) /* products of an element and a weight below which a thread has too little to do */
#define FEW_CORNERS (1 << 9)

/* The indices and weights of taps, two arrays of one shape; false if they are of another kind or lead beyond `n`. */
static bool taps_of(PyObject *of_index, PyObject *of_weights, PyArrayObject *x, int ndim, npy_intp n, Taps *taps)
{
    PyArrayObject *index = plain_array(of_index), *weights = plain_array(of_weights);
    if (index == NULL || PyArray_TYPE(index) != NPY_INT64 || PyArray_NDIM(index) != ndim || PyArray_SIZE(index) == 0) {
        return false;
    }
    if (weights != NULL && (PyArray_TYPE(weights) != PyArray_TYPE(x) || !PyArray_SAMESHAPE(weights, index))) {
        return false;
    }
    const int64_t *values = PyArray_DATA(index);
    npy_intp size = PyArray_SIZE(index);
    uint64_t bits = 0; /* the first is set where an index is larger than the last */
    for (npy_intp i = 0; i < size; i++) {
        bits |= (uint64_t)(n - 1) - (uint64_t)values[i];
    }
    if (bits >> 63 != 0) {
        return false;
    }
    *taps = (Taps){values, weights == NULL ? NULL : PyArray_DATA(weights), PyArray_DIM(index, ndim - 2),
                   PyArray_DIM(index, ndim - 1)};
    return true;
}

/* Rows of x become rows of the result, of `from` and `to` elements each. */
typedef struct {
    const Loops *loops;
    Taps taps;
    const char *x, *g;
    char *out;
    ptrdiff_t rows, from, to, n, trail, channels, item, parts;
    void (*loop)(const void *x, void *out, const Taps *taps, ptrdiff_t channels, ptrdiff_t n);
} Rows;

static void run_rows(Chunk chunk, Rows *w, ptrdiff_t products)
{
    w->parts = chunks_for(products, FEW);
    w->parts = w->parts < w->rows ? w->parts : w->rows;
    BEGIN_WORK(products);
    run_chunks(chunk, w, w->parts);
    END_WORK;
}

static void resample_part(const void *work, ptrdiff_t part)
{
    const Rows *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->parts, part, &start, &stop);
    w->loops->resample(w->x + start * w->from * w->item, w->out + start * w->to * w->item, &w->taps, stop - start, w->n,
                       w->trail);
}

static PyObject *resampled(PyArrayObject *x, PyObject *const *arguments)
{
    Rows work = {.loops = loops_for(x)};
    int axis;
    if (work.loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[3], PyArray_NDIM(x), &axis)
        || !taps_of(arguments[1], arguments[2], x, 2, PyArray_DIM(x, axis), &work.taps) || work.taps.weights == NULL) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS];
    work.rows = 1;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == axis ? work.taps.size : PyArray_DIM(x, d);
        work.rows *= d < axis ? shape[d] : 1;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), shape);
    if (out != NULL) {
        work.x = PyArray_BYTES(x);
        work.out = PyArray_BYTES(out);
        work.item = PyArray_ITEMSIZE(x);
        work.n = PyArray_DIM(x, axis);
        work.from = PyArray_SIZE(x) / work.rows;
        work.trail = work.from / work.n;
        work.to = work.taps.size * work.trail;
        run_rows(resample_part, &work, PyArray_SIZE(out) * work.taps.count);
    }
    return (PyObject *)out;
}

/* ---- at places of each sample: x is (samples, channels, n), taps are (samples, count, places) */

static bool are_samples(PyArrayObject *x, PyObject *index)
{
    PyArrayObject *i = plain_array(index);
    return x != NULL && i != NULL && PyArray_NDIM(x) == 3 && PyArray_SIZE(x) > 0 && PyArray_NDIM(i) == 3
        && PyArray_DIM(i, 0) == PyArray_DIM(x, 0);
}

/* Channels of all samples. */
static void do_channels(const void *work, ptrdiff_t part)
{
    const Rows *w = work;
    ptrdiff_t row, stop;
    part_of(w->rows, 1, w->parts, part, &row, &stop);
    while (row < stop) {
        ptrdiff_t sample = row / w->channels, end = (sample + 1) * w->channels, count = (end < stop ? end : stop) - row;
        ptrdiff_t before = sample * w->taps.count * w->taps.size;
        Taps own = {w->taps.index + before, (const char *)w->taps.weights + before * w->item, w->taps.count, w->taps.size};
        w->loop(w->x + row * w->from * w->item, w->out + row * w->to * w->item, &own, count, w->n);
        row += count;
    }
}

/* A new array of rows of `to` elements, from those of x. */
static PyObject *by_channels(PyArrayObject *x, Rows *work, ptrdiff_t to)
{
    work->channels = PyArray_DIM(x, 1);
    work->rows = PyArray_DIM(x, 0) * work->channels;
    work->from = PyArray_DIM(x, 2);
    work->to = to;
    PyArrayObject *out = new_array(x, 3, (npy_intp[]){PyArray_DIM(x, 0), work->channels, to});
    if (out != NULL) {
        work->x = PyArray_BYTES(x);
        work->out = PyArray_BYTES(out);
        work->item = PyArray_ITEMSIZE(x);
        run_rows(do_channels, work, work->rows * work->taps.count * work->taps.size);
    }
    return (PyObject *)out;
}

static PyObject *summed(PyArrayObject *x, PyObject *const *arguments)
{
    Rows work = {.loops = loops_for(x)};
    if (work.loops == NULL || !are_samples(x, arguments[1])
        || !taps_of(arguments[1], arguments[2], x, 3, PyArray_DIM(x, 2), &work.taps) || work.taps.weights == NULL) {
        DECLINE;
    }
    work.loop = work.loops->sum_places;
    work.n = PyArray_DIM(x, 2);
    return by_channels(x, &work, work.taps.size);
}

static PyObject *spread(PyArrayObject *g, PyObject *const *arguments)
{
    Rows work = {.loops = loops_for(g)};
    npy_intp size;
    if (work.loops == NULL || !are_samples(g, arguments[1]) || !as_integer(arguments[3], &size) || size < 1
        || !taps_of(arguments[1], arguments[2], g, 3, size, &work.taps) || work.taps.weights == NULL
        || work.taps.size != PyArray_DIM(g, 2)) {
        DECLINE;
    }
    work.loop = work.loops->spread_places;
    work.n = size;
    return by_channels(g, &work, size);
}

/* Some of the taps of all samples. */
static void dot_part(const void *work, ptrdiff_t part)
{
    const Rows *w = work;
    ptrdiff_t tap, stop;
    part_of(w->rows, 1, w->parts, part, &tap, &stop);
    for (; tap < stop; tap++) {
        ptrdiff_t before = tap / w->taps.count * w->channels;
        w->loops->dot_places(w->g + before * w->to * w->item, w->x + before * w->n * w->item, w->out + tap * w->to * w->item,
                             w->taps.index + tap * w->to, w->channels, w->n, w->to);
    }
}

static PyObject *multiplied(PyArrayObject *g, PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[1]);
    Rows work = {.loops = x == NULL ? NULL : loops_for(x)};
    if (work.loops == NULL || PyArray_TYPE(g) != PyArray_TYPE(x) || !are_samples(x, arguments[2])
        || !taps_of(arguments[2], NULL, x, 3, PyArray_DIM(x, 2), &work.taps) || PyArray_NDIM(g) != 3
        || !PyArray_CompareLists(PyArray_DIMS(g), PyArray_DIMS(x), 2) || PyArray_DIM(g, 2) != work.taps.size) {
        DECLINE;
    }
    work.rows = PyArray_DIM(x, 0) * work.taps.count;
    PyArrayObject *out = new_array(x, 3, (npy_intp[]){PyArray_DIM(x, 0), work.taps.count, work.taps.size});
    if (out != NULL) {
        work.channels = PyArray_DIM(x, 1);
        work.n = PyArray_DIM(x, 2);
        work.to = work.taps.size;
        work.g = PyArray_BYTES(g);
        work.x = PyArray_BYTES(x);
        work.out = PyArray_BYTES(out);
        work.item = PyArray_ITEMSIZE(x);
        run_rows(dot_part, &work, work.rows * work.to * work.channels);
    }
    return (PyObject *)out;
}

/* ---- which elements a place of a grid reads */

/* Where the text stands among `count` words; -1 if it is none of them. */
static int place_of(PyObject *text, const char *const *words, int count)
{
    for (int i = 0; text != NULL && PyUnicode_Check(text) && i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(text, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool read_grid(PyObject *const *arguments, Grid *g)
{
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    PyArrayObject *x = plain_array(arguments[0]);
    int mode = place_of(arguments[2], modes, 3), padding = place_of(arguments[3], paddings, 3);
    PyObject *sizes = arguments[1];
    if (x == NULL || loops_for(x) == NULL || PyArray_SIZE(x) == 0 || sizes == NULL || !PyTuple_CheckExact(sizes)
        || mode < 0 || padding < 0) {
        return false;
    }
    int ndim = PyArray_NDIM(x);
    g->dims = (int)PyTuple_GET_SIZE(sizes);
    if (g->dims < 2 || g->dims > GRID_DIMS || ndim != g->dims + 2 || PyArray_DIM(x, ndim - 1) != g->dims) {
        return false;
    }
    for (int d = 0; d < g->dims; d++) {
        npy_intp size;
        if (!as_integer(PyTuple_GET_ITEM(sizes, d), &size) || size < 1) {
            return false;
        }
        g->sizes[d] = size;
    }
    g->grid = PyArray_DATA(x);
    g->samples = PyArray_DIM(x, 0);
    g->places = PyArray_SIZE(x) / g->samples / g->dims;
    g->mode = (GridMode)mode;
    g->padding = (GridPadding)padding;
    g->align = arguments[4] == Py_True;
    return true;
}

typedef struct {
    const Grid *grid;
    const Loops *loops;
    ptrdiff_t places, parts;
} Corners;

static void find_corners(const void *work, ptrdiff_t part)
{
    const Corners *w = work;
    ptrdiff_t start, stop;
    part_of(w->places, 1, w->parts, part, &start, &stop);
    w->loops->grid_corners(w->grid, start, stop);
}

static PyObject *grid_corners(PyObject *const *arguments)
{
    Grid g = {.grid = NULL};
    if (!read_grid(arguments, &g)) {
        DECLINE;
    }
    PyArrayObject *x = (PyArrayObject *)arguments[0], *slopes = NULL;
    npy_intp each = g.mode == NEAREST ? 1 : g.mode == BILINEAR ? 2 : 4, corners = 1;
    for (int d = 0; d < g.dims; d++) {
        corners *= each;
    }
    bool wanted = arguments[5] == Py_True;
    npy_intp shape[] = {g.dims, g.samples, corners, g.places};
    PyArrayObject *index = (PyArrayObject *)PyArray_SimpleNew(3, shape + 1, NPY_INT64);
    PyArrayObject *weights = new_array(x, 3, shape + 1);
    if (index == NULL || weights == NULL || (wanted && (slopes = new_array(x, 4, shape)) == NULL)) {
        Py_XDECREF(index);
        Py_XDECREF(weights);
        return NULL;
    }
    g.index = PyArray_DATA(index);
    g.weights = PyArray_DATA(weights);
    g.slopes = wanted ? PyArray_DATA(slopes) : NULL;
    Corners work = {&g, loops_for(x), g.samples * g.places, chunks_for(g.samples * g.places, FEW_CORNERS)};
    BEGIN_WORK(PyArray_SIZE(index));
    run_chunks(find_corners, &work, work.parts);
    END_WORK;
    return wanted ? Py_BuildValue("NNN", index, weights, slopes) : Py_BuildValue("NNO", index, weights, Py_None);
}

/* ---- the kernels */

static PyObject *resample_axis(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, resampled);
}

static PyObject *sum_places(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, summed);
}

static PyObject *spread_places(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, spread);
}

static PyObject *dot_places(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, multiplied);
}

const Row RESAMPLE_ROWS[] = {
    {"resample_axis", resample_axis, {"x", "index", "weights", "axis"}},
    {"sum_places", sum_places, {"x", "index", "weights"}},
    {"spread_places", spread_places, {"g", "index", "weights", "size"}},
    {"dot_places", dot_places, {"g", "x", "index"}},
    {"grid_corners", grid_corners, {"grid", "spatial", "mode", "padding", "align", "with_slopes"}},
    {NULL, NULL, {NULL}},
};
