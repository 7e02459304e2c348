/* The allocator of large NumPy arrays: see memory.h. */

#include "kernels.h"

#include <string.h>

#include "memory.h"

static PyDataMemAllocator others; /* NumPy's own, for small arrays */

static void *allocate(void *unused, size_t bytes)
{
    (void)unused;
    return bytes < LARGE_BLOCK ? others.malloc(others.ctx, bytes) : new_block(bytes, false);
}

static void *allocate_zeros(void *unused, size_t count, size_t item)
{
    (void)unused;
    size_t bytes;
    if (__builtin_mul_overflow(count, item, &bytes)) {
        return NULL;
    }
    return bytes < LARGE_BLOCK ? others.calloc(others.ctx, count, item) : new_block(bytes, true);
}

static void release(void *unused, void *at, size_t bytes)
{
    (void)unused;
    if (is_block(at)) {
        release_block(at);
    } else {
        others.free(others.ctx, at, bytes);
    }
}

static void *reallocate(void *unused, void *at, size_t bytes)
{
    if (at == NULL || !is_block(at)) {
        return others.realloc(others.ctx, at, bytes);
    }
    void *to = allocate(unused, bytes);
    if (to != NULL) {
        memcpy(to, at, size_of_block(at) < bytes ? size_of_block(at) : bytes);
        release_block(at);
    }
    return to;
}

static PyDataMem_Handler handler = {
    "flambeau", 1, {NULL, allocate, allocate_zeros, reallocate, release},
};
static PyObject *capsule; /* of the handler */

bool prepare_arrays(void)
{
    PyObject *before = PyDataMem_GetHandler();
    PyDataMem_Handler *own = before == NULL ? NULL : PyCapsule_GetPointer(before, "mem_handler");
    if (own == NULL) {
        Py_XDECREF(before);
        return false;
    }
    others = own->allocator; /* `before` stays: its functions are called for as long as there are arrays */
    capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    return capsule != NULL;
}

PyObject *exchange_handler(PyObject *module, PyObject *given)
{
    (void)module;
    if (given != Py_None && !PyCapsule_IsValid(given, "mem_handler")) {
        PyErr_SetString(PyExc_TypeError, "exchange_handler(handler) takes one that it returned before, or None");
        return NULL;
    }
    return PyDataMem_SetHandler(given == Py_None ? capsule : given);
}

/* Takes over the reference to the dtype. */
static PyArrayObject *allocate_array(PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    PyObject *before = NULL;
    if (PyArray_OverflowMultiplyList(shape, ndim) >= (npy_intp)LARGE_BLOCK / PyDataType_ELSIZE(dtype)) {
        before = PyDataMem_SetHandler(capsule);
        if (before == NULL) {
            Py_DECREF(dtype);
            return NULL;
        }
    }
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
    if (before != NULL) {
        Py_XDECREF(PyDataMem_SetHandler(before));
        Py_DECREF(before);
    }
    return (PyArrayObject *)out;
}

PyArrayObject *new_array_of(PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    Py_INCREF(dtype);
    return allocate_array(dtype, ndim, shape);
}

PyArrayObject *new_array(PyArrayObject *like, int ndim, const npy_intp *shape)
{
    return new_array_of(PyArray_DESCR(like), ndim, shape);
}

PyArrayObject *new_places(int ndim, const npy_intp *shape)
{
    return allocate_array(PyArray_DescrFromType(NPY_INT64), ndim, shape);
}

PyArrayObject *new_floats(int ndim, const npy_intp *shape)
{
    return allocate_array(PyArray_DescrFromType(NPY_FLOAT), ndim, shape);
}
