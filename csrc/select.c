/* The top elements of rows, and rows reversed. */

#include "kernels.h"

/* Of rows that lie in memory as such; the order among equals is the one they come in. */
static PyObject *top_order(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    PyObject *largest = arguments[3];
    npy_intp count, shape[NPY_MAXDIMS];
    int axis;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_integer(arguments[1], &count)
        || !as_axis(arguments[2], PyArray_NDIM(x), &axis) || axis != PyArray_NDIM(x) - 1
        || largest == NULL || !PyBool_Check(largest) || arguments[4] == NULL) {
        DECLINE;
    }
    npy_intp n = PyArray_DIM(x, axis);
    if (count < 1 || count > n || count > MOST_FOUND) {
        DECLINE;
    }
    for (int d = 0; d < axis; d++) {
        shape[d] = PyArray_DIM(x, d);
    }
    shape[axis] = count;
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(axis + 1, shape, NPY_INT64);
    if (places != NULL) {
        BEGIN_WORK(PyArray_SIZE(x));
        loops->top(PyArray_DATA(x), PyArray_DATA(places), PyArray_SIZE(x) / n, n, count, largest == Py_True);
        END_WORK;
    }
    return (PyObject *)places;
}

/* ---- rows backwards */

/* Whether the elements fill their memory in rows, of which the last dimension runs backwards, others as they like. */
static bool is_backwards(PyArrayObject *x)
{
    npy_intp step = PyArray_ITEMSIZE(x);
    if (PyArray_NDIM(x) == 0 || PyArray_SIZE(x) == 0 || PyArray_STRIDE(x, PyArray_NDIM(x) - 1) != -step) {
        return false;
    }
    for (int d = PyArray_NDIM(x) - 1; d >= 0; d--) {
        if (PyArray_STRIDE(x, d) != step && PyArray_STRIDE(x, d) != -step) {
            return false;
        }
        step *= PyArray_DIM(x, d);
    }
    return true;
}

static void copy_backwards(PyArrayObject *x, char *to)
{
    int last = PyArray_NDIM(x) - 1;
    npy_intp n = PyArray_DIM(x, last), at[NPY_MAXDIMS] = {0};
    const char *from = PyArray_BYTES(x);
    for (npy_intp rows = PyArray_SIZE(x) / n; rows > 0; rows--, to += n * PyArray_ITEMSIZE(x)) {
        loops_of[0]->backwards(from, to, n, PyArray_ITEMSIZE(x));
        for (int d = last - 1; d >= 0; d--) {
            from += PyArray_STRIDE(x, d);
            if (++at[d] < PyArray_DIM(x, d)) {
                break;
            }
            from -= at[d] * PyArray_STRIDE(x, d);
            at[d] = 0;
        }
    }
}

static PyObject *copy(PyObject *const *arguments)
{
    PyArrayObject *x = (PyArrayObject *)arguments[0];
    npy_intp size = x == NULL || !PyArray_CheckExact(x) ? 0 : PyArray_ITEMSIZE(x);
    if (size == 0 || !is_backwards(x) || !PyArray_ISALIGNED(x)
        || PyDataType_REFCHK(PyArray_DESCR(x)) || size > 8 || (size & (size - 1)) != 0) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(x));
        copy_backwards(x, PyArray_BYTES(out));
        END_WORK;
    }
    return (PyObject *)out;
}

const Row SELECT_ROWS[] = {
    {"top_order", top_order, {"x", "count", "axis", "largest", "sorted"}},
    {"copy", copy, {"x"}},
    {NULL, NULL, {NULL}},
};
