/* Half precision, which NumPy converts one element at a time: conversion to and from float, and arithmetic in float. */

#include "kernels.h"

#include <string.h>

#include "threads.h"

typedef enum { OTHER, FLOAT, HALF, BRAIN } Kind;

static Kind kind_of(PyArray_Descr *dtype)
{
    static int brain = -1; /* the number of bfloat16, which is not NumPy's own */
    int type = dtype->type_num;
    if (type == NPY_FLOAT || type == NPY_HALF) {
        return !PyArray_ISNBO(dtype->byteorder) ? OTHER : type == NPY_FLOAT ? FLOAT : HALF;
    }
    if (brain < 0 && type >= NPY_USERDEF && strcmp(dtype->typeobj->tp_name, "ml_dtypes.bfloat16") == 0) {
        brain = type;
    }
    return type == brain ? BRAIN : OTHER;
}

/* The loop that converts; NULL if there is none. */
static Map loop_between(PyArray_Descr *from, PyArray_Descr *to)
{
    const Loops *loops = loops_of[0];
    Kind a = kind_of(from), b = kind_of(to);
    return a == HALF && b == FLOAT ? loops->halves_to_floats
        : a == FLOAT && b == HALF ? loops->floats_to_halves
        : a == BRAIN && b == FLOAT ? loops->brains_to_floats
        : a == FLOAT && b == BRAIN ? loops->floats_to_brains : NULL;
}

#define FEW ((npy_intp)1 << 17) /* elements below which a thread has too little to do */

/* One loop over all elements: of one array into another, or of two into a third. */
typedef struct {
    Map map;
    Combination combine;
    Arithmetic how;
    const char *x, *y;
    char *out;
    npy_intp size, x_item, out_item, parts;
} Elements;

static void do_elements(const void *work, ptrdiff_t i)
{
    const Elements *w = work;
    ptrdiff_t start, stop;
    part_of(w->size, 64, w->parts, i, &start, &stop);
    const char *x = w->x + start * w->x_item;
    char *out = w->out + start * w->out_item;
    if (w->map != NULL) {
        w->map(x, out, stop - start);
    } else {
        w->combine(x, w->y + start * w->x_item, out, stop - start, w->how);
    }
}

static void run_elements(Elements w, PyArrayObject *x, PyArrayObject *out)
{
    w.x = PyArray_BYTES(x);
    w.out = PyArray_BYTES(out);
    w.size = PyArray_SIZE(x);
    w.x_item = PyArray_ITEMSIZE(x);
    w.out_item = PyArray_ITEMSIZE(out);
    w.parts = chunks_for(w.size, FEW);
    BEGIN_WORK(w.size);
    run_chunks(do_elements, &w, w.parts);
    END_WORK;
}

Map widening_of(PyArray_Descr *dtype)
{
    Kind kind = kind_of(dtype);
    return kind == HALF ? loops_of[0]->halves_to_floats : kind == BRAIN ? loops_of[0]->brains_to_floats : NULL;
}

static PyArrayObject *converted(PyArrayObject *x, PyArray_Descr *dtype, Map loop)
{
    PyArrayObject *out = new_array_of(dtype, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        run_elements((Elements){.map = loop}, x, out);
    }
    return out;
}

PyObject *narrowed(PyArrayObject *x, PyArray_Descr *dtype)
{
    PyArrayObject *out = converted(x, dtype, loop_between(PyArray_DESCR(x), dtype));
    Py_DECREF(x);
    return (PyObject *)out;
}

static PyObject *cast(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyArray_Descr *dtype = (PyArray_Descr *)arguments[1];
    Map loop = x != NULL && arguments[1] != NULL && PyArray_DescrCheck(arguments[1])
                   ? loop_between(PyArray_DESCR(x), dtype) : NULL;
    if (loop == NULL) {
        DECLINE;
    }
    return (PyObject *)converted(x, dtype, loop);
}

static PyObject *write_(PyObject *const *arguments)
{
    PyArrayObject *into = plain_array(arguments[0]), *x = plain_array(arguments[1]);
    Map loop = into != NULL && x != NULL ? loop_between(PyArray_DESCR(x), PyArray_DESCR(into)) : NULL;
    if (loop == NULL || !PyArray_ISWRITEABLE(into) || !PyArray_SAMESHAPE(into, x) || share_memory(into, x)) {
        DECLINE;
    }
    run_elements((Elements){.map = loop}, x, into);
    return Py_NewRef((PyObject *)into);
}

static bool as_arithmetic(PyObject *name, Arithmetic *how)
{
    static const char *const NAMES[] = {"add", "subtract", "multiply", "divide"}; /* in the order of the enum */
    for (int i = 0; name != NULL && PyUnicode_Check(name) && i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(name, NAMES[i]) == 0) {
            *how = (Arithmetic)i;
            return true;
        }
    }
    return false;
}

static PyObject *combine_narrow(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *y = plain_array(arguments[1]);
    Arithmetic how;
    if (x == NULL || y == NULL || PyArray_DESCR(x) != PyArray_DESCR(y) || !PyArray_SAMESHAPE(x, y)
        || !as_arithmetic(arguments[2], &how)) {
        DECLINE;
    }
    Kind kind = kind_of(PyArray_DESCR(x));
    if (kind != HALF && kind != BRAIN) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        Combination combine = kind == HALF ? loops_of[0]->combine_halves : loops_of[0]->combine_brains;
        run_elements((Elements){.combine = combine, .how = how, .y = PyArray_BYTES(y)}, x, out);
    }
    return (PyObject *)out;
}

const Row CONVERT_ROWS[] = {
    {"cast", cast, {"x", "dtype"}},
    {"write", write_, {"into", "x"}},
    {"combine_narrow", combine_narrow, {"x", "y", "how"}},
    {NULL, NULL, {NULL}},
};
