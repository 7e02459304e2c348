/* Normalisation over the last dimensions, and its gradient. */

#include "kernels.h"

#include <stdlib.h>

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

static void *data_of(PyObject *x)
{
    return x == Py_None ? NULL : PyArray_DATA((PyArrayObject *)x);
}

static PyObject *normalize(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Py_ssize_t how;
    double eps;
    npy_intp n = loops == NULL ? 0 : length_of_rows(x, arguments[3], &how);
    if (n == 0 || !fits_rows(arguments[1], x, how) || !fits_rows(arguments[2], x, how) || !as_double(arguments[4], &eps)) {
        DECLINE;
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
    loops->normalize(PyArray_DATA(x), data_of(arguments[1]), data_of(arguments[2]), PyArray_DATA(y), PyArray_DATA(mean),
                     PyArray_DATA(var), PyArray_SIZE(x) / n, n, eps);
    END_WORK;
    return Py_BuildValue("NNN", y, mean, var);
}

/* Whether `given` is an array with one element for each row of `x`. */
static bool is_statistic(PyObject *given, PyArrayObject *x, npy_intp rows)
{
    PyArrayObject *s = plain_array(given);
    return s != NULL && PyArray_TYPE(s) == PyArray_TYPE(x) && PyArray_SIZE(s) == rows;
}

static PyObject *layer_norm_pull(PyObject *const *arguments)
{
    PyObject *const *statistics = arguments + 4; /* mean, var and their gradients */
    PyArrayObject *x = plain_array(arguments[1]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Py_ssize_t how;
    double eps;
    npy_intp n = loops == NULL ? 0 : length_of_rows(x, arguments[3], &how);
    if (n == 0 || !fits_rows(arguments[2], x, how) || !as_double(arguments[8], &eps)) {
        DECLINE;
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
    void *scratch = malloc(2 * (size_t)n * (size_t)PyArray_ITEMSIZE(x));
    PyObject *result = NULL;
    if (scratch == NULL) {
        PyErr_NoMemory();
    } else if (out != NULL && g_weight != NULL && g_bias != NULL) {
        NormPull pull = {
            .g = PyArray_DATA(g), .x = PyArray_DATA(x), .weight = data_of(arguments[2]),
            .mean = data_of(statistics[0]), .var = data_of(statistics[1]),
            .g_mean = data_of(statistics[2]), .g_var = data_of(statistics[3]),
            .out = PyArray_DATA(out), .g_weight = PyArray_DATA(g_weight), .g_bias = PyArray_DATA(g_bias),
            .scratch = scratch, .rows = rows, .n = n, .eps = eps,
        };
        BEGIN_WORK(PyArray_SIZE(x));
        loops->normalize_pull(&pull);
        END_WORK;
        result = PyTuple_Pack(3, out, g_weight, g_bias);
    }
    free(scratch);
    Py_DECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(g_weight);
    Py_XDECREF(g_bias);
    return result;
}

const Row NORM_ROWS[] = {
    {"normalize", normalize, {"x", "weight", "bias", "axes", "eps"}},
    {"layer_norm_pull", layer_norm_pull, {"g", "x", "weight", "axes", "mean", "var", "g_mean", "g_var", "eps"}},
    {NULL, NULL, {NULL}},
};
