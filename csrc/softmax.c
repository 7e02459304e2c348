/* Softmax and log_softmax along the last dimension, and their gradients. */

#include "kernels.h"

/* The array, if it has elements and `along` is its last axis; its loops into `*loops`. */
static PyArrayObject *rows_of(PyObject *given, PyObject *along, const Loops **loops)
{
    PyArrayObject *x = plain_array(given);
    int axis;
    if (x == NULL || (*loops = loops_for(x)) == NULL || PyArray_SIZE(x) == 0 || PyArray_NDIM(x) == 0) {
        return NULL;
    }
    return as_axis(along, PyArray_NDIM(x), &axis) && axis == PyArray_NDIM(x) - 1 ? x : NULL;
}

static npy_intp length_of_rows(PyArrayObject *x)
{
    return PyArray_DIM(x, PyArray_NDIM(x) - 1);
}

static PyObject *forward(PyObject *const *arguments, bool logarithm)
{
    const Loops *loops = NULL;
    PyArrayObject *x = rows_of(arguments[0], arguments[1], &loops);
    if (x == NULL) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        npy_intp n = length_of_rows(x), rows = PyArray_SIZE(x) / n;
        BEGIN_WORK(PyArray_SIZE(x));
        (logarithm ? loops->log_softmax : loops->softmax)(PyArray_DATA(x), PyArray_DATA(out), rows, n);
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *backward(PyObject *const *arguments, bool logarithm)
{
    const Loops *loops = NULL;
    PyArrayObject *y = rows_of(arguments[1], arguments[2], &loops);
    PyArrayObject *g = y == NULL ? NULL : row_major(arguments[0], y);
    if (g == NULL) {
        return declined_or_failed();
    }
    PyArrayObject *out = new_array(y, PyArray_NDIM(y), PyArray_DIMS(y));
    if (out != NULL) {
        npy_intp n = length_of_rows(y), rows = PyArray_SIZE(y) / n;
        void (*pull)(const void *, const void *, void *, ptrdiff_t, ptrdiff_t) =
            logarithm ? loops->log_softmax_pull : loops->softmax_pull;
        BEGIN_WORK(PyArray_SIZE(y));
        pull(PyArray_DATA(g), PyArray_DATA(y), PyArray_DATA(out), rows, n);
        END_WORK;
    }
    Py_DECREF(g);
    return (PyObject *)out;
}

static PyObject *softmax(PyObject *const *arguments)
{
    return forward(arguments, false);
}

static PyObject *log_softmax(PyObject *const *arguments)
{
    return forward(arguments, true);
}

static PyObject *softmax_pull(PyObject *const *arguments)
{
    return backward(arguments, false);
}

static PyObject *log_softmax_pull(PyObject *const *arguments)
{
    return backward(arguments, true);
}

const Row SOFTMAX_ROWS[] = {
    {"softmax", softmax, {"x", "axis"}},
    {"log_softmax", log_softmax, {"x", "axis"}},
    {"softmax_pull", softmax_pull, {"g", "out", "axis"}},
    {"log_softmax_pull", log_softmax_pull, {"g", "out", "axis"}},
    {NULL, NULL, {NULL}},
};
