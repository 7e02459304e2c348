/* Sums of a few weighted elements each, as in interpolate and grid_sample. */

#include "kernels.h"

#include <string.h>

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
    for (npy_intp i = 0; i < size; i++) {
        if (values[i] >= n) {
            return false;
        }
    }
    *taps = (Taps){values, weights == NULL ? NULL : PyArray_DATA(weights), PyArray_DIM(index, ndim - 2),
                   PyArray_DIM(index, ndim - 1)};
    return true;
}

static PyObject *resampled(PyArrayObject *x, PyObject *const *arguments)
{
    const Loops *loops = loops_for(x);
    int axis;
    Taps taps;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[3], PyArray_NDIM(x), &axis)
        || !taps_of(arguments[1], arguments[2], x, 2, PyArray_DIM(x, axis), &taps) || taps.weights == NULL) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS], lead = 1, n = PyArray_DIM(x, axis);
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == axis ? taps.size : PyArray_DIM(x, d);
        lead *= d < axis ? shape[d] : 1;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), shape);
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(out));
        loops->resample(PyArray_DATA(x), PyArray_DATA(out), &taps, lead, n, PyArray_SIZE(x) / (lead * n));
        END_WORK;
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

static PyObject *summed(PyArrayObject *x, PyObject *const *arguments)
{
    const Loops *loops = loops_for(x);
    Taps taps;
    if (loops == NULL || !are_samples(x, arguments[1])
        || !taps_of(arguments[1], arguments[2], x, 3, PyArray_DIM(x, 2), &taps) || taps.weights == NULL) {
        DECLINE;
    }
    npy_intp samples = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1);
    PyArrayObject *out = new_array(x, 3, (npy_intp[]){samples, channels, taps.size});
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(out));
        loops->sum_places(PyArray_DATA(x), PyArray_DATA(out), &taps, samples, channels, PyArray_DIM(x, 2));
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *spread(PyArrayObject *g, PyObject *const *arguments)
{
    const Loops *loops = loops_for(g);
    npy_intp size;
    Taps taps;
    if (loops == NULL || !are_samples(g, arguments[1]) || !as_integer(arguments[3], &size) || size < 1
        || !taps_of(arguments[1], arguments[2], g, 3, size, &taps) || taps.weights == NULL
        || taps.size != PyArray_DIM(g, 2)) {
        DECLINE;
    }
    npy_intp samples = PyArray_DIM(g, 0), channels = PyArray_DIM(g, 1);
    PyArrayObject *out = new_array(g, 3, (npy_intp[]){samples, channels, size});
    if (out != NULL) {
        memset(PyArray_DATA(out), 0, (size_t)PyArray_NBYTES(out));
        BEGIN_WORK(PyArray_SIZE(g));
        loops->spread_places(PyArray_DATA(g), PyArray_DATA(out), &taps, samples, channels, size);
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *multiplied(PyArrayObject *g, PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[1]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Taps taps;
    if (loops == NULL || PyArray_TYPE(g) != PyArray_TYPE(x) || !are_samples(x, arguments[2])
        || !taps_of(arguments[2], NULL, x, 3, PyArray_DIM(x, 2), &taps) || PyArray_NDIM(g) != 3
        || !PyArray_CompareLists(PyArray_DIMS(g), PyArray_DIMS(x), 2) || PyArray_DIM(g, 2) != taps.size) {
        DECLINE;
    }
    npy_intp samples = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1);
    PyArrayObject *out = new_array(x, 3, (npy_intp[]){samples, taps.count, taps.size});
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(g));
        loops->dot_places(PyArray_DATA(g), PyArray_DATA(x), PyArray_DATA(out), &taps, samples, channels,
                          PyArray_DIM(x, 2));
        END_WORK;
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
    const Loops *loops = loops_for(x);
    BEGIN_WORK(PyArray_SIZE(index));
    for (npy_intp sample = 0; sample < g.samples; sample++) {
        for (npy_intp place = 0; place < g.places; place++) {
            loops->grid_corners(&g, sample, place);
        }
    }
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
