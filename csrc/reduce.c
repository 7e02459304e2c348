/* Sums, means and products of contiguous floating-point arrays. */

#include "kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- which dimensions are folded */

typedef struct {
    int ndim;
    bool folded[NPY_MAXDIMS];
    npy_intp count; /* how many elements go into each result */
    int runs;       /* of neighbours that are folded */
} Fold;

static bool note_axis(Fold *fold, PyObject *x)
{
    int axis;
    if (!as_axis(x, fold->ndim, &axis) || fold->folded[axis]) {
        return false;
    }
    fold->folded[axis] = true;
    return true;
}

static bool note_axes(Fold *fold, PyObject *axis)
{
    memset(fold->folded, not_given(axis), sizeof fold->folded);
    if (not_given(axis)) {
        return true;
    }
    if (!PyTuple_CheckExact(axis)) {
        return note_axis(fold, axis);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++) {
        if (!note_axis(fold, PyTuple_GET_ITEM(axis, i))) {
            return false;
        }
    }
    return PyTuple_GET_SIZE(axis) > 0;
}

static bool fold_of(PyArrayObject *x, PyObject *axis, Fold *fold)
{
    fold->ndim = PyArray_NDIM(x);
    fold->count = 1;
    fold->runs = 0;
    if (!note_axes(fold, axis)) {
        return false;
    }
    for (int d = 0; d < fold->ndim; d++) {
        if (fold->folded[d]) {
            fold->count *= PyArray_DIM(x, d);
            fold->runs += d == 0 || !fold->folded[d - 1];
        }
    }
    return true;
}

/* The result's shape; returns its number of dimensions. */
static int shape_left(PyArrayObject *x, const Fold *fold, bool keep, npy_intp *shape)
{
    int ndim = 0;
    for (int d = 0; d < fold->ndim; d++) {
        if (!fold->folded[d]) {
            shape[ndim++] = PyArray_DIM(x, d);
        } else if (keep) {
            shape[ndim++] = 1;
        }
    }
    return ndim;
}

/* ---- folds */

/* Folds the runs of neighbouring dimensions, the last one first, each as the middle one of three dimensions. What is
 * left between two of them lies in one half of a buffer and then in the other. False if there is no memory for it. */
static bool fold_runs(FoldMiddle fold_middle, PyArrayObject *x, const Fold *fold, char *out)
{
    npy_intp lead = PyArray_SIZE(x), trail = 1, half = 0;
    const char *from = PyArray_BYTES(x);
    char *buffer = NULL;
    int d = fold->ndim;
    for (int runs = fold->runs; runs > 0; runs--) {
        npy_intp n = 1;
        for (; !fold->folded[d - 1]; d--) {
            trail *= PyArray_DIM(x, d - 1);
            lead /= PyArray_DIM(x, d - 1);
        }
        for (; d > 0 && fold->folded[d - 1]; d--) {
            n *= PyArray_DIM(x, d - 1);
            lead /= PyArray_DIM(x, d - 1);
        }
        char *to = out;
        if (runs > 1) {
            if (buffer == NULL) {
                half = lead * trail * PyArray_ITEMSIZE(x);
                buffer = malloc(2 * (size_t)half);
                if (buffer == NULL) {
                    return false;
                }
            }
            to = buffer + runs % 2 * half;
        }
        fold_middle(from, to, lead, n, trail);
        from = to;
    }
    free(buffer);
    return true;
}

typedef enum { SUM, MEAN, PRODUCT } How;

static PyObject *folded(PyObject *const *arguments, How how)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyObject *keep = arguments[2], *dtype = arguments[3];
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    Fold fold;
    if (loops == NULL || PyArray_SIZE(x) == 0 || (keep != NULL && !PyBool_Check(keep))) {
        DECLINE;
    }
    if (!not_given(dtype) && dtype != (PyObject *)PyArray_DESCR(x)) {
        DECLINE;
    }
    if (!fold_of(x, arguments[1], &fold)) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = shape_left(x, &fold, keep == Py_True, shape);
    PyArrayObject *out = new_array(x, ndim, shape);
    if (out == NULL) {
        return NULL;
    }
    bool done = true;
    BEGIN_WORK(PyArray_SIZE(x));
    if (fold.ndim == 0) {
        memcpy(PyArray_DATA(out), PyArray_DATA(x), (size_t)PyArray_ITEMSIZE(x));
    } else {
        done = fold_runs(how == PRODUCT ? loops->prod_middle : loops->sum_middle, x, &fold, PyArray_BYTES(out));
    }
    if (how == MEAN) {
        loops->divide(PyArray_DATA(out), PyArray_SIZE(out), (double)fold.count);
    }
    END_WORK;
    if (!done) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    return (PyObject *)out;
}

static PyObject *sum(PyObject *const *arguments)
{
    return folded(arguments, SUM);
}

static PyObject *mean(PyObject *const *arguments)
{
    return folded(arguments, MEAN);
}

static PyObject *prod(PyObject *const *arguments)
{
    return folded(arguments, PRODUCT);
}

static PyObject *total(PyObject *const *arguments)
{
    PyObject *all[] = {arguments[0], NULL, NULL, NULL};
    return folded(all, SUM);
}

const Row REDUCE_ROWS[] = {
    {"sum", sum, {"x", "axis", "keepdims", "dtype"}},
    {"mean", mean, {"x", "axis", "keepdims", "dtype"}},
    {"prod", prod, {"x", "axis", "keepdims", "dtype"}},
    {"total", total, {"x"}},
    {NULL, NULL, {NULL}},
};
