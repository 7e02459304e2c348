/* Layer, batch and group normalization, and their gradients. */

#include "norm.h"

#include <stdlib.h>
#include <string.h>

#include "threads.h"

/* How many elements go into one mean, if `axes` are the last dimensions of `x`, in their order; otherwise 0. */
static npy_intp length_of_rows(PyArrayObject *x, PyObject *axes, Py_ssize_t *how)
{
    if (axes == NULL || !PyTuple_CheckExact(axes) || PyArray_SIZE(x) == 0) {
        return 0;
    }
    npy_intp n = 1;
    int ndim = PyArray_NDIM(x), axis;
    *how = PyTuple_GET_SIZE(axes);
    for (Py_ssize_t i = 0; i < *how; i++) {
        if (!as_axis(PyTuple_GET_ITEM(axes, i), ndim, &axis) || axis != ndim - *how + i) {
            return 0;
        }
        n *= PyArray_DIM(x, axis);
    }
    return *how > 0 ? n : 0;
}

/* Whether `given` is absent, or has one element for each of a row's. */
static bool fits_rows(PyObject *given, PyArrayObject *x, Py_ssize_t how)
{
    PyArrayObject *weight = plain_array(given);
    if (given == Py_None) {
        return true;
    }
    if (weight == NULL || PyArray_TYPE(weight) != PyArray_TYPE(x) || PyArray_NDIM(weight) != how) {
        return false;
    }
    return PyArray_CompareLists(PyArray_DIMS(weight), PyArray_DIMS(x) + PyArray_NDIM(x) - how, (int)how);
}

/* ---- statistics over planes */

static bool are_axes(PyObject *axes, int count, const int *wanted, int ndim)
{
    int axis;
    if (axes == NULL || !PyTuple_CheckExact(axes) || PyTuple_GET_SIZE(axes) != count) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!as_axis(PyTuple_GET_ITEM(axes, i), ndim, &axis) || axis != wanted[i]) {
            return false;
        }
    }
    return true;
}

/* The planes of x (samples, channels, ...) with statistics of each channel, or of x (samples, groups, channels of each,
 * elements) with statistics of each group; false if the axes are others. */
static bool planes_of(PyArrayObject *x, PyObject *axes, PlaneNorm *p)
{
    int ndim = PyArray_NDIM(x);
    const npy_intp *shape = PyArray_DIMS(x);
    int of_batch[NPY_MAXDIMS] = {0}, of_group[] = {2, 3};
    for (int d = 2; d < ndim; d++) {
        of_batch[d - 1] = d;
    }
    if (PyArray_SIZE(x) == 0 || ndim < 2) {
        return false;
    }
    if (are_axes(axes, ndim - 1, of_batch, ndim)) {
        p->channels = p->statistics = p->owners = p->step = shape[1];
        p->planes = shape[0];
        p->first = 1;
    } else if (ndim == 4 && are_axes(axes, 2, of_group, ndim)) {
        p->channels = shape[1] * shape[2];
        p->statistics = shape[0] * shape[1];
        p->planes = p->first = shape[2];
        p->step = 1;
        p->owners = shape[1];
        p->grouped = true;
    } else {
        return false;
    }
    p->n = PyArray_SIZE(x) / (p->statistics * p->planes);
    return true;
}

/* Whether `given` is absent, or has one element for each channel. */
static bool fits_channels(PyObject *given, PyArrayObject *x, const PlaneNorm *p)
{
    PyArrayObject *weight = plain_array(given);
    if (given == Py_None) {
        return true;
    }
    if (weight == NULL || PyArray_TYPE(weight) != PyArray_TYPE(x) || PyArray_NDIM(weight) != PyArray_NDIM(x)) {
        return false;
    }
    return PyArray_SIZE(weight) == p->channels && PyArray_DIM(weight, 1) == PyArray_DIM(x, 1);
}

/* The work on planes, in parts: of the statistics forward, of their owners backward. */
typedef struct {
    const PlaneNorm *norm;
    void (*loop)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop);
    ptrdiff_t total, parts;
} PlaneParts;

static void do_part(const void *work, ptrdiff_t i)
{
    const PlaneParts *w = work;
    ptrdiff_t start, stop;
    part_of(w->total, 1, w->parts, i, &start, &stop);
    w->loop(w->norm, start, stop);
}

void run_planes(const PlaneNorm *norm, void (*loop)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop),
                ptrdiff_t total)
{
    bool columns = norm->n == 1 && !norm->grouped; /* all channels of a row at once */
    ptrdiff_t parts = chunks_for(norm->statistics * norm->planes * norm->n, SHARED);
    PlaneParts work = {norm, loop, total, columns ? 1 : parts < total ? parts : total};
    run_chunks(do_part, &work, work.parts);
}

static PyObject *normalize_planes(PyArrayObject *x, PyObject *const *arguments)
{
    const Loops *loops = loops_for(x);
    PlaneNorm p = {.x = PyArray_DATA(x)};
    if (loops == NULL || !planes_of(x, arguments[3], &p) || !fits_channels(arguments[1], x, &p)
        || !fits_channels(arguments[2], x, &p) || !as_double(arguments[4], &p.eps)) {
        DECLINE;
    }
    int ndim = PyArray_NDIM(x);
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == 1 || (d == 0 && p.grouped) ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *y = new_array(x, ndim, PyArray_DIMS(x));
    PyArrayObject *mean = new_array(x, ndim, shape), *var = new_array(x, ndim, shape);
    p.scratch = malloc((size_t)p.channels * (size_t)PyArray_ITEMSIZE(x));
    if (y == NULL || mean == NULL || var == NULL || p.scratch == NULL) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(var);
        free(p.scratch);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    p.weight = data_of(arguments[1]);
    p.bias = data_of(arguments[2]);
    p.out = PyArray_DATA(y);
    p.mean = PyArray_DATA(mean);
    p.var = PyArray_DATA(var);
    BEGIN_WORK(PyArray_SIZE(x));
    run_planes(&p, loops->normalize_planes, p.statistics);
    END_WORK;
    free(p.scratch);
    return Py_BuildValue("NNN", y, mean, var);
}

static PyObject *scale_shift(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *scale = plain_array(arguments[1]), *shift = plain_array(arguments[2]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    if (loops == NULL || scale == NULL || shift == NULL || PyArray_NDIM(x) < 3 || PyArray_SIZE(x) == 0) {
        DECLINE;
    }
    PlaneNorm p = {.x = PyArray_DATA(x), .channels = PyArray_DIM(x, 1), .weight = PyArray_DATA(scale),
                   .bias = PyArray_DATA(shift), .planes = PyArray_DIM(x, 0), .statistics = PyArray_DIM(x, 1)};
    if (!fits_channels(arguments[1], x, &p) || !fits_channels(arguments[2], x, &p)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out == NULL) {
        return NULL;
    }
    p.out = PyArray_DATA(out);
    p.n = PyArray_SIZE(x) / (p.planes * p.channels);
    p.grouped = true; /* a plane has nothing to do with the next */
    BEGIN_WORK(PyArray_SIZE(x));
    run_planes(&p, loops->scale_planes, p.planes * p.channels);
    END_WORK;
    return (PyObject *)out;
}

/* ---- statistics over rows */

typedef struct {
    const Loops *loops;
    const char *x;
    const void *weight, *bias;
    char *y, *mean, *var;
    npy_intp rows, n, parts, item;
    double eps;
} RowParts;

static void do_rows(const void *work, ptrdiff_t i)
{
    const RowParts *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->parts, i, &start, &stop);
    ptrdiff_t at = start * w->n * w->item;
    w->loops->normalize(w->x + at, w->weight, w->bias, w->y + at, w->mean + start * w->item, w->var + start * w->item,
                        stop - start, w->n, w->eps);
}

static PyObject *normalize(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Py_ssize_t how;
    double eps;
    npy_intp n = loops == NULL ? 0 : length_of_rows(x, arguments[3], &how);
    if (n == 0 || !fits_rows(arguments[1], x, how) || !fits_rows(arguments[2], x, how) || !as_double(arguments[4], &eps)) {
        return x == NULL ? Py_NewRef(Py_NotImplemented) : normalize_planes(x, arguments);
    }
    int ndim = PyArray_NDIM(x);
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        shape[d] = d < ndim - how ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *y = new_array(x, ndim, PyArray_DIMS(x));
    PyArrayObject *mean = new_array(x, ndim, shape), *var = new_array(x, ndim, shape);
    if (y == NULL || mean == NULL || var == NULL) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(var);
        return NULL;
    }
    BEGIN_WORK(PyArray_SIZE(x));
    RowParts work = {
        loops, PyArray_BYTES(x), data_of(arguments[1]), data_of(arguments[2]), PyArray_BYTES(y), PyArray_BYTES(mean),
        PyArray_BYTES(var), PyArray_SIZE(x) / n, n, chunks_for(PyArray_SIZE(x), SHARED), PyArray_ITEMSIZE(x), eps,
    };
    work.parts = work.parts < work.rows ? work.parts : work.rows;
    run_chunks(do_rows, &work, work.parts);
    END_WORK;
    return Py_BuildValue("NNN", y, mean, var);
}

/* Whether `given` is an array with one element for each row of `x`. */
static bool is_statistic(PyObject *given, PyArrayObject *x, npy_intp rows)
{
    PyArrayObject *s = plain_array(given);
    return s != NULL && PyArray_TYPE(s) == PyArray_TYPE(x) && PyArray_SIZE(s) == rows;
}

static PyObject *normalize_planes_pull(PyArrayObject *x, PyObject *const *arguments)
{
    PyObject *const *statistics = arguments + 4; /* mean, var and their gradients */
    const Loops *loops = loops_for(x);
    PlaneNorm p = {.x = PyArray_DATA(x)};
    if (loops == NULL || !planes_of(x, arguments[3], &p) || !fits_channels(arguments[2], x, &p)
        || !as_double(arguments[8], &p.eps)) {
        DECLINE;
    }
    for (int i = 0; i < 4; i++) {
        if (!is_statistic(statistics[i], x, p.statistics)) {
            DECLINE;
        }
    }
    PyArrayObject *g = row_major(arguments[0], x);
    if (g == NULL) {
        return declined_or_failed();
    }
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == 1 || (d == 2 && p.grouped) ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *g_weight = new_array(x, PyArray_NDIM(x), shape), *g_bias = new_array(x, PyArray_NDIM(x), shape);
    p.scratch = malloc(3 * (size_t)p.channels * (size_t)PyArray_ITEMSIZE(x));
    PyObject *result = NULL;
    if (p.scratch == NULL) {
        PyErr_NoMemory();
    } else if (out != NULL && g_weight != NULL && g_bias != NULL) {
        p.g = PyArray_DATA(g);
        p.weight = data_of(arguments[2]);
        p.mean = data_of(statistics[0]);
        p.var = data_of(statistics[1]);
        p.g_mean = data_of(statistics[2]);
        p.g_var = data_of(statistics[3]);
        p.out = PyArray_DATA(out);
        p.g_weight = PyArray_DATA(g_weight);
        p.g_bias = PyArray_DATA(g_bias);
        BEGIN_WORK(PyArray_SIZE(x));
        run_planes(&p, loops->normalize_planes_pull, p.owners);
        END_WORK;
        result = PyTuple_Pack(3, out, g_weight, g_bias);
    }
    free(p.scratch);
    Py_DECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(g_weight);
    Py_XDECREF(g_bias);
    return result;
}

#define MOST_PARTS 16 /* not by the number of threads: the gradients of weights are the same for any */

/* Rows in parts, each of which adds up the gradients of weights for itself. */
typedef struct {
    NormPull whole;
    const Loops *loops;
    char *sums; /* for each part: gradients of the weight and of the bias, and scratch for both */
    npy_intp parts, item;
} RowPulls;

static char *sums_of(const RowPulls *w, ptrdiff_t i)
{
    return w->sums + i * 4 * w->whole.n * w->item;
}

static void pull_rows(const void *work, ptrdiff_t i)
{
    const RowPulls *w = work;
    NormPull p = w->whole;
    ptrdiff_t start, stop;
    part_of(p.rows, 1, w->parts, i, &start, &stop);
    ptrdiff_t row = start * w->item, elements = row * p.n, size = p.n * w->item;
    p.rows = stop - start;
    p.g = (const char *)p.g + elements;
    p.x = (const char *)p.x + elements;
    p.out = (char *)p.out + elements;
    p.mean = (const char *)p.mean + row;
    p.var = (const char *)p.var + row;
    p.g_mean = (const char *)p.g_mean + row;
    p.g_var = (const char *)p.g_var + row;
    p.g_weight = sums_of(w, i);
    p.g_bias = sums_of(w, i) + size;
    p.scratch = sums_of(w, i) + 2 * size;
    w->loops->normalize_pull(&p);
}

/* False without the memory for it. */
static bool pull_all_rows(const NormPull *whole, const Loops *loops, npy_intp item)
{
    npy_intp parts = whole->rows * whole->n / SHARED, most = whole->rows < MOST_PARTS ? whole->rows : MOST_PARTS;
    RowPulls w = {.whole = *whole, .loops = loops, .item = item, .parts = parts < 1 ? 1 : parts < most ? parts : most};
    w.sums = malloc((size_t)(w.parts * 4 * whole->n * item));
    if (w.sums == NULL) {
        return false;
    }
    run_chunks(pull_rows, &w, w.parts);
    for (npy_intp i = 0; i < w.parts; i++) { /* side by side, as sum_middle takes them */
        memmove(w.sums + i * 2 * whole->n * item, sums_of(&w, i), (size_t)(2 * whole->n * item));
    }
    void *both = w.sums + 2 * w.parts * whole->n * item;
    loops->sum_middle(w.sums, both, 1, w.parts, 2 * whole->n);
    memcpy(whole->g_weight, both, (size_t)(whole->n * item));
    memcpy(whole->g_bias, (char *)both + whole->n * item, (size_t)(whole->n * item));
    free(w.sums);
    return true;
}

static PyObject *normalize_pull(PyObject *const *arguments)
{
    PyObject *const *statistics = arguments + 4; /* mean, var and their gradients */
    PyArrayObject *x = plain_array(arguments[1]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Py_ssize_t how;
    double eps;
    npy_intp n = loops == NULL ? 0 : length_of_rows(x, arguments[3], &how);
    if (n == 0 || !fits_rows(arguments[2], x, how) || !as_double(arguments[8], &eps)) {
        return x == NULL ? Py_NewRef(Py_NotImplemented) : normalize_planes_pull(x, arguments);
    }
    npy_intp rows = PyArray_SIZE(x) / n;
    for (int i = 0; i < 4; i++) {
        if (!is_statistic(statistics[i], x, rows)) {
            DECLINE;
        }
    }
    PyArrayObject *g = row_major(arguments[0], x);
    if (g == NULL) {
        return declined_or_failed();
    }
    const npy_intp *row_shape = PyArray_DIMS(x) + PyArray_NDIM(x) - how;
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *g_weight = new_array(x, (int)how, row_shape), *g_bias = new_array(x, (int)how, row_shape);
    PyObject *result = NULL;
    if (out != NULL && g_weight != NULL && g_bias != NULL) {
        NormPull pull = {
            .g = PyArray_DATA(g), .x = PyArray_DATA(x), .weight = data_of(arguments[2]),
            .mean = data_of(statistics[0]), .var = data_of(statistics[1]),
            .g_mean = data_of(statistics[2]), .g_var = data_of(statistics[3]),
            .out = PyArray_DATA(out), .g_weight = PyArray_DATA(g_weight), .g_bias = PyArray_DATA(g_bias),
            .rows = rows, .n = n, .eps = eps,
        };
        BEGIN_WORK(PyArray_SIZE(x));
        bool done = pull_all_rows(&pull, loops, PyArray_ITEMSIZE(x));
        END_WORK;
        result = done ? PyTuple_Pack(3, out, g_weight, g_bias) : PyErr_NoMemory();
    }
    Py_DECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(g_weight);
    Py_XDECREF(g_bias);
    return result;
}

const Row NORM_ROWS[] = {
    {"normalize", normalize, {"x", "weight", "bias", "axes", "eps"}},
    {"normalize_pull", normalize_pull, {"g", "x", "weight", "axes", "mean", "var", "g_mean", "g_var", "eps"}},
    {"scale_shift", scale_shift, {"x", "scale", "shift"}},
    {NULL, NULL, {NULL}},
};
