/* Views with PyTorch's strides, also for dimensions of size 1. */

#include "kernels.h"

#include <string.h>

/* The memory of `x` by another shape and strides, from its first element on. */
static PyObject *view_of(PyArrayObject *x, int ndim, const npy_intp *shape, const npy_intp *strides)
{
    Py_INCREF(PyArray_DESCR(x));
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(x), ndim, shape, strides, PyArray_DATA(x), PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    if (out != NULL && PyArray_SetBaseObject(out, Py_NewRef((PyObject *)x)) < 0) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

/* The argument as an array with elements; NULL if it is anything else. */
static PyArrayObject *some_array(PyObject *x)
{
    return x != NULL && PyArray_CheckExact(x) && PyArray_SIZE((PyArrayObject *)x) > 0 ? (PyArrayObject *)x : NULL;
}

static PyObject *expand_dims(PyObject *const *arguments)
{
    PyArrayObject *x = some_array(arguments[0]);
    npy_intp axis, shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (x == NULL || !as_integer(arguments[1], &axis) || axis < 0 || axis > PyArray_NDIM(x)
        || PyArray_NDIM(x) == NPY_MAXDIMS) {
        DECLINE;
    }
    int ndim = PyArray_NDIM(x);
    for (int d = 0; d < ndim; d++) {
        shape[d + (d >= axis)] = PyArray_DIM(x, d);
        strides[d + (d >= axis)] = PyArray_STRIDE(x, d);
    }
    shape[axis] = 1;
    strides[axis] = axis < ndim ? PyArray_DIM(x, (int)axis) * PyArray_STRIDE(x, (int)axis) : PyArray_ITEMSIZE(x);
    return view_of(x, ndim + 1, shape, strides);
}

static PyObject *broadcast_to(PyObject *const *arguments)
{
    PyArrayObject *x = some_array(arguments[0]);
    PyObject *target = arguments[1];
    if (x == NULL || target == NULL || !PyTuple_CheckExact(target) || PyTuple_GET_SIZE(target) > NPY_MAXDIMS) {
        DECLINE;
    }
    int ndim = (int)PyTuple_GET_SIZE(target), lead = ndim - PyArray_NDIM(x);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], step = PyArray_ITEMSIZE(x), bytes = step;
    for (int d = ndim - 1; d >= 0; d--) {
        if (lead < 0 || !as_integer(PyTuple_GET_ITEM(target, d), &shape[d]) || shape[d] < 0) {
            DECLINE;
        }
        bool is_new = d < lead;
        npy_intp size = is_new ? 1 : PyArray_DIM(x, d - lead);
        if ((size != 1 && size != shape[d]) || (shape[d] && bytes > NPY_MAX_INTP / shape[d])) {
            DECLINE;
        }
        bytes *= shape[d] ? shape[d] : 1;
        strides[d] = size != shape[d] ? 0 : is_new ? step : PyArray_STRIDE(x, d - lead);
        step = strides[d] * shape[d];
    }
    return view_of(x, ndim, shape, strides);
}

/* x[key] for a key with None in it. NumPy gives the new dimensions no strides. */
static PyObject *new_dims(PyObject *const *arguments)
{
    PyArrayObject *x = some_array(arguments[0]);
    if (x == NULL || arguments[1] == NULL) {
        DECLINE;
    }
    PyObject *found = PyObject_GetItem((PyObject *)x, arguments[1]);
    PyArrayObject *out = some_array(found);
    if (out == NULL) {
        Py_XDECREF(found);
        PyErr_Clear(); /* the twin says what is wrong */
        DECLINE;
    }
    npy_intp step = PyArray_ITEMSIZE(out);
    for (int d = PyArray_NDIM(out) - 1; d >= 0; d--) {
        if (PyArray_STRIDE(out, d) == 0 && PyArray_DIM(out, d) == 1) {
            PyArray_STRIDES(out)[d] = step;
        }
        step = PyArray_STRIDE(out, d) * PyArray_DIM(out, d);
    }
    return found;
}

/* Whether the strides are those of a new array, also where a dimension has the size one. */
static bool has_own_strides(PyArrayObject *x)
{
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int d = PyArray_NDIM(x) - 1; d >= 0; d--) {
        if (PyArray_STRIDE(x, d) != step) {
            return false;
        }
        step *= PyArray_DIM(x, d);
    }
    return true;
}

static PyObject *view_contiguous(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyObject *target = arguments[1];
    if (x == NULL || target == NULL || !PyTuple_Check(target) || PyTuple_GET_SIZE(target) > NPY_MAXDIMS
        || some_array(arguments[0]) == NULL || !has_own_strides(x)) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], rest = PyArray_SIZE(x), step = PyArray_ITEMSIZE(x);
    int ndim = (int)PyTuple_GET_SIZE(target), inferred = -1;
    for (int d = 0; d < ndim; d++) {
        if (!as_integer(PyTuple_GET_ITEM(target, d), &shape[d])) {
            DECLINE;
        }
        if (shape[d] == -1 && inferred < 0) {
            inferred = d;
        } else if (shape[d] <= 0 || rest % shape[d] != 0) {
            DECLINE;
        } else {
            rest /= shape[d];
        }
    }
    if (inferred >= 0) {
        shape[inferred] = rest;
    } else if (rest != 1) {
        DECLINE;
    }
    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= shape[d];
    }
    return view_of(x, ndim, shape, strides);
}

/* The shape in a tuple of sizes, or of one tuple or list of them. */
static PyObject *plain_shape(PyObject *const *arguments)
{
    PyObject *sizes = arguments[0];
    npy_intp size;
    if (sizes == NULL || !PyTuple_CheckExact(sizes)) {
        DECLINE;
    }
    PyObject *first = PyTuple_GET_SIZE(sizes) == 1 ? PyTuple_GET_ITEM(sizes, 0) : NULL;
    sizes = first != NULL && (PyTuple_Check(first) || PyList_CheckExact(first)) ? first : sizes;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sizes); i++) {
        if (!as_integer(PySequence_Fast_GET_ITEM(sizes, i), &size) || size < 0) {
            DECLINE;
        }
    }
    return PyList_Check(sizes) ? PyList_AsTuple(sizes) : PyTuple_GetSlice(sizes, 0, PyTuple_GET_SIZE(sizes));
}

const Row SHAPE_ROWS[] = {
    {"plain_shape", plain_shape, {"args"}},
    {"expand_dims", expand_dims, {"x", "axis"}},
    {"broadcast_to", broadcast_to, {"x", "shape"}},
    {"new_dims", new_dims, {"x", "key"}},
    {"view_contiguous", view_contiguous, {"x", "shape"}},
    {NULL, NULL, {NULL}},
};
