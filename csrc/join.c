/* Concatenation of arrays along an axis. */

#include "kernels.h"

#include <string.h>

/* Whether `x` can be joined with `first` along `axis`, -1 for a new one: same dtype object, same shape elsewhere. */
static bool fits(PyArrayObject *x, PyArrayObject *first, int axis)
{
    int ndim = PyArray_NDIM(first);
    if (PyArray_DESCR(x) != PyArray_DESCR(first) || PyArray_NDIM(x) != ndim) {
        return false;
    }
    for (int d = 0; d < ndim; d++) {
        if (d != axis && PyArray_DIM(x, d) != PyArray_DIM(first, d)) {
            return false;
        }
    }
    return true;
}

#define PARTS 32

/* Copies the pieces, each divided into `outer` parts: the first parts of all, then the second ones, ... That is the order
 * of the result, which is new memory. Very many pieces come in groups. */
static void copy_pieces(PyObject *const *pieces, Py_ssize_t n, char *to, npy_intp outer)
{
    size_t sizes[PARTS], stride = 0;
    const char *from[PARTS];
    for (Py_ssize_t i = 0; i < n; i++) {
        stride += (size_t)(PyArray_NBYTES((PyArrayObject *)pieces[i]) / outer);
    }
    for (Py_ssize_t start = 0; start < n; start += PARTS) {
        Py_ssize_t count = n - start < PARTS ? n - start : PARTS;
        size_t offset = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyArrayObject *piece = (PyArrayObject *)pieces[start + i];
            sizes[i] = (size_t)(PyArray_NBYTES(piece) / outer);
            from[i] = PyArray_BYTES(piece);
        }
        for (npy_intp part = 0; part < outer; part++) {
            char *place = to + (size_t)part * stride;
            for (Py_ssize_t i = 0; i < count; i++) {
                memcpy(place, from[i], sizes[i]);
                place += sizes[i];
                from[i] += sizes[i];
            }
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            offset += sizes[i];
        }
        to += offset;
    }
}

/* The pieces one after the other along an axis, or, where they are stacked, along a new one. */
static PyObject *joined(PyObject *const *pieces, Py_ssize_t n, PyObject *along, bool stacked)
{
    PyArrayObject *first = n > 0 ? plain_array(pieces[0]) : NULL;
    int axis = 0;
    if (first == NULL || PyArray_NDIM(first) + stacked == 0 || PyDataType_REFCHK(PyArray_DESCR(first))) {
        DECLINE;
    }
    int ndim = PyArray_NDIM(first) + stacked;
    if (ndim > NPY_MAXDIMS || (along != NULL && !as_axis(along, ndim, &axis))) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS], outer = 1;
    for (int d = 0; d < ndim; d++) {
        shape[d] = stacked && d == axis ? n : PyArray_DIM(first, d - (stacked && d > axis));
    }
    for (Py_ssize_t i = 1; i < n; i++) {
        PyArrayObject *x = plain_array(pieces[i]);
        if (x == NULL || !fits(x, first, stacked ? -1 : axis)) {
            DECLINE;
        }
        if (!stacked && PyArray_DIM(x, axis) > NPY_MAX_INTP - shape[axis]) {
            DECLINE;
        }
        shape[axis] += stacked ? 0 : PyArray_DIM(x, axis);
    }
    for (int d = 0; d < axis; d++) {
        outer *= shape[d];
    }
    PyArrayObject *out = new_array(first, ndim, shape);
    if (out != NULL && outer > 0) {
        BEGIN_WORK(PyArray_SIZE(out));
        copy_pieces(pieces, n, PyArray_BYTES(out), outer);
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *join(PyObject *pieces, PyObject *along, bool stacked)
{
    if (pieces != NULL && PyTuple_CheckExact(pieces)) {
        return joined(PySequence_Fast_ITEMS(pieces), PyTuple_GET_SIZE(pieces), along, stacked);
    }
    if (pieces == NULL || !PyList_CheckExact(pieces)) {
        DECLINE;
    }
    /* Another thread may change the list during the work. */
    PyObject *held = PyList_AsTuple(pieces);
    if (held == NULL) {
        return NULL;
    }
    PyObject *out = joined(PySequence_Fast_ITEMS(held), PyTuple_GET_SIZE(held), along, stacked);
    Py_DECREF(held);
    return out;
}

static PyObject *concatenate(PyObject *const *arguments)
{
    return join(arguments[0], arguments[1], false);
}

static PyObject *stack(PyObject *const *arguments)
{
    return join(arguments[0], arguments[1], true);
}

const Row JOIN_ROWS[] = {
    {"concatenate", concatenate, {"xs", "axis"}},
    {"stack", stack, {"xs", "axis"}},
    {NULL, NULL, {NULL}},
};
