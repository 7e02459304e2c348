/* The steps of recurrent layers, between their products. */

#include "kernels.h"

/* Whether `given` is an array of `rows` rows of `n` elements of the type of `like`. */
static bool is_matrix(PyObject *given, PyArrayObject *like, npy_intp rows, npy_intp n)
{
    PyArrayObject *x = plain_array(given);
    return x != NULL && PyArray_TYPE(x) == PyArray_TYPE(like) && PyArray_NDIM(x) == 2 && PyArray_DIM(x, 0) == rows
        && PyArray_DIM(x, 1) == n;
}

static void *data(PyObject *x)
{
    return PyArray_DATA((PyArrayObject *)x);
}

static PyObject *lstm_gates(PyObject *const *arguments)
{
    PyArrayObject *previous = plain_array(arguments[2]);
    const Loops *loops = previous == NULL || PyArray_NDIM(previous) != 2 ? NULL : loops_for(previous);
    if (loops == NULL) {
        DECLINE;
    }
    npy_intp rows = PyArray_DIM(previous, 0), n = PyArray_DIM(previous, 1);
    if (!is_matrix(arguments[0], previous, rows, 4 * n) || !is_matrix(arguments[1], previous, rows, 4 * n)) {
        DECLINE;
    }
    PyArrayObject *h = new_array(previous, 2, PyArray_DIMS(previous));
    PyArrayObject *c = new_array(previous, 2, PyArray_DIMS(previous));
    PyArrayObject *gates = new_array(previous, 2, (npy_intp[]){rows, 4 * n});
    if (h == NULL || c == NULL || gates == NULL) {
        Py_XDECREF(h);
        Py_XDECREF(c);
        Py_XDECREF(gates);
        return NULL;
    }
    LstmGates p = {
        .x = data(arguments[0]), .hidden = data(arguments[1]), .previous = PyArray_DATA(previous), .h = PyArray_DATA(h),
        .c = PyArray_DATA(c), .gates = PyArray_DATA(gates), .rows = rows, .n = n,
    };
    BEGIN_WORK(rows * n);
    loops->lstm_gates(&p);
    END_WORK;
    return Py_BuildValue("NNN", h, c, gates);
}

static PyObject *lstm_gates_pull(PyObject *const *arguments)
{
    PyArrayObject *c = plain_array(arguments[4]);
    const Loops *loops = c == NULL || PyArray_NDIM(c) != 2 ? NULL : loops_for(c);
    if (loops == NULL) {
        DECLINE;
    }
    npy_intp rows = PyArray_DIM(c, 0), n = PyArray_DIM(c, 1);
    if (!is_matrix(arguments[0], c, rows, n) || !is_matrix(arguments[1], c, rows, n)
        || !is_matrix(arguments[2], c, rows, 4 * n) || !is_matrix(arguments[3], c, rows, 4 * n)
        || !is_matrix(arguments[5], c, rows, n)) {
        DECLINE;
    }
    PyArrayObject *g_x = new_array(c, 2, (npy_intp[]){rows, 4 * n}), *g_previous = new_array(c, 2, PyArray_DIMS(c));
    if (g_x == NULL || g_previous == NULL) {
        Py_XDECREF(g_x);
        Py_XDECREF(g_previous);
        return NULL;
    }
    LstmGates p = {
        .g_h = data(arguments[0]), .g_c = data(arguments[1]), .g_gates = data(arguments[2]), .gates = data(arguments[3]),
        .c = PyArray_DATA(c), .previous = data(arguments[5]), .g_x = PyArray_DATA(g_x),
        .g_previous = PyArray_DATA(g_previous), .rows = rows, .n = n,
    };
    BEGIN_WORK(rows * n);
    loops->lstm_gates_pull(&p);
    END_WORK;
    return Py_BuildValue("NN", g_x, g_previous);
}

const Row RNN_ROWS[] = {
    {"lstm_gates", lstm_gates, {"x", "hidden", "c"}},
    {"lstm_gates_pull", lstm_gates_pull, {"g_h", "g_c", "g_gates", "gates", "c", "previous"}},
    {NULL, NULL, {NULL}},
};
