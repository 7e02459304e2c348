/* Additions by index, running sums and extrema. */

#include "kernels.h"

/* ---- indices */

/* The argument as contiguous 64-bit integers, or NULL. */
static PyArrayObject *indices_of(PyObject *given)
{
    PyArrayObject *index = plain_array(given);
    return index != NULL && PyArray_TYPE(index) == NPY_INT64 ? index : NULL;
}

/* Whether all are in [0, size): the first bit is set in a number that is negative, or in what a larger one lacks of it. */
static bool in_bounds(PyArrayObject *index, npy_intp size)
{
    const npy_uint64 *values = PyArray_DATA(index);
    npy_uint64 last = (npy_uint64)size - 1, bits = 0;
    npy_intp n = PyArray_SIZE(index);
    for (npy_intp i = 0; i < n; i++) {
        bits |= values[i] | (last - values[i]);
    }
    return n == 0 || (size > 0 && bits >> 63 == 0);
}

/* Whether the memory of two contiguous arrays overlaps. */
static bool share_memory(PyArrayObject *a, PyArrayObject *b)
{
    const char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    return x < y + PyArray_NBYTES(b) && y < x + PyArray_NBYTES(a);
}

/* Whether `out` may be written to, in another place than where `from`, of the same dtype, is read. */
static bool is_apart(PyArrayObject *out, PyArrayObject *from)
{
    return PyArray_ISWRITEABLE(out) && PyArray_TYPE(out) == PyArray_TYPE(from) && !share_memory(out, from);
}

/* ---- rows */

static PyObject *add_rows(PyObject *const *arguments)
{
    PyArrayObject *out = plain_array(arguments[0]), *index = indices_of(arguments[1]), *rows = plain_array(arguments[2]);
    const Loops *loops = out == NULL ? NULL : loops_for(out);
    if (loops == NULL || index == NULL || rows == NULL || PyArray_NDIM(index) != 1 || !is_apart(out, rows)) {
        DECLINE;
    }
    npy_intp count = PyArray_SIZE(index), size = PyArray_SIZE(rows);
    int ndim = PyArray_NDIM(rows);
    if (ndim == 0 || PyArray_NDIM(out) != ndim || size == 0 || PyArray_DIM(rows, 0) != count
        || !PyArray_CompareLists(PyArray_DIMS(out) + 1, PyArray_DIMS(rows) + 1, ndim - 1)
        || !in_bounds(index, PyArray_DIM(out, 0))) {
        DECLINE;
    }
    BEGIN_WORK(size);
    loops->add_rows(PyArray_DATA(out), PyArray_DATA(index), PyArray_DATA(rows), count, size / count);
    END_WORK;
    Py_RETURN_NONE;
}

/* ---- elements */

/* Whether the index has the shape of `x`, but for the axis and perhaps fewer elements in the first dimension: then both
 * are (lead, axis, trail). */
static bool fits(PyArrayObject *index, PyArrayObject *x, int axis)
{
    if (PyArray_NDIM(index) != PyArray_NDIM(x)) {
        return false;
    }
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        npy_intp n = PyArray_DIM(index, d), most = PyArray_DIM(x, d);
        if (d != axis && n != most && (d > 0 || n > most)) {
            return false;
        }
    }
    return true;
}

static PyObject *scatter_add(PyObject *const *arguments)
{
    PyArrayObject *out = plain_array(arguments[0]), *index = indices_of(arguments[1]), *values = plain_array(arguments[2]);
    const Loops *loops = out == NULL ? NULL : loops_for(out);
    int axis;
    if (loops == NULL || index == NULL || values == NULL || !is_apart(out, values) || PyArray_SIZE(index) == 0
        || !PyArray_SAMESHAPE(index, values) || !as_axis(arguments[3], PyArray_NDIM(out), &axis) || !fits(index, out, axis)
        || !in_bounds(index, PyArray_DIM(out, axis))) {
        DECLINE;
    }
    npy_intp lead = 1, trail = 1;
    for (int d = 0; d < PyArray_NDIM(out); d++) {
        if (d < axis) {
            lead *= PyArray_DIM(index, d);
        } else if (d > axis) {
            trail *= PyArray_DIM(index, d);
        }
    }
    BEGIN_WORK(PyArray_SIZE(index));
    loops->scatter_add(PyArray_DATA(out), PyArray_DATA(index), PyArray_DATA(values), lead, PyArray_DIM(index, axis),
                       PyArray_DIM(out, axis), trail);
    END_WORK;
    Py_RETURN_NONE;
}

/* ---- running sums and extrema */

static PyObject *cumsum(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    PyObject *dtype = arguments[2];
    int axis;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[1], PyArray_NDIM(x), &axis)
        || (!not_given(dtype) && dtype != (PyObject *)PyArray_DESCR(x))) {
        DECLINE;
    }
    npy_intp n = PyArray_DIM(x, axis), trail = 1;
    for (int d = axis + 1; d < PyArray_NDIM(x); d++) {
        trail *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(x));
        loops->cumsum(PyArray_DATA(x), PyArray_DATA(out), PyArray_SIZE(x) / n / trail, n, trail);
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *running(PyObject *const *arguments, size_t loop)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    int axis;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[1], PyArray_NDIM(x), &axis)) {
        DECLINE;
    }
    npy_intp n = PyArray_DIM(x, axis), trail = 1;
    for (int d = axis + 1; d < PyArray_NDIM(x); d++) {
        trail *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (out != NULL && places != NULL) {
        Running run = *(const Running *)((const char *)loops + loop);
        BEGIN_WORK(PyArray_SIZE(x));
        run(PyArray_DATA(x), PyArray_DATA(out), PyArray_DATA(places), PyArray_SIZE(x) / n / trail, n, trail);
        END_WORK;
    }
    PyObject *both = out != NULL && places != NULL ? PyTuple_Pack(2, out, places) : NULL;
    Py_XDECREF(out);
    Py_XDECREF(places);
    return both;
}

static PyObject *running_max(PyObject *const *arguments)
{
    return running(arguments, offsetof(Loops, running_max));
}

static PyObject *running_min(PyObject *const *arguments)
{
    return running(arguments, offsetof(Loops, running_min));
}

const Row SCATTER_ROWS[] = {
    {"add_rows", add_rows, {"out", "index", "rows"}},
    {"scatter_add", scatter_add, {"out", "index", "values", "axis"}},
    {"cumsum", cumsum, {"x", "axis", "dtype"}},
    {"running_max", running_max, {"x", "axis"}},
    {"running_min", running_min, {"x", "axis"}},
    {NULL, NULL, {NULL}},
};
