/* Half precision, which NumPy converts one element at a time: to float and back, and arithmetic by way of floats. */

#include "kernels.h"

#include <string.h>

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

static PyObject *cast(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyArray_Descr *dtype = (PyArray_Descr *)arguments[1];
    Map loop = x != NULL && arguments[1] != NULL && PyArray_DescrCheck(arguments[1])
                   ? loop_between(PyArray_DESCR(x), dtype) : NULL;
    if (loop == NULL) {
        DECLINE;
    }
    Py_INCREF(dtype);
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(x), PyArray_DIMS(x), NULL, NULL, 0, NULL);
    if (out != NULL) {
        BEGIN_WORK(PyArray_SIZE(x));
        loop(PyArray_DATA(x), PyArray_DATA((PyArrayObject *)out), PyArray_SIZE(x));
        END_WORK;
    }
    return out;
}

static bool overlap(PyArrayObject *a, PyArrayObject *b)
{
    const char *from = PyArray_BYTES(a), *other = PyArray_BYTES(b);
    return from < other + PyArray_NBYTES(b) && other < from + PyArray_NBYTES(a);
}

static PyObject *write_(PyObject *const *arguments)
{
    PyArrayObject *into = plain_array(arguments[0]), *x = plain_array(arguments[1]);
    Map loop = into != NULL && x != NULL ? loop_between(PyArray_DESCR(x), PyArray_DESCR(into)) : NULL;
    if (loop == NULL || !PyArray_ISWRITEABLE(into) || !PyArray_SAMESHAPE(into, x) || overlap(into, x)) {
        DECLINE;
    }
    BEGIN_WORK(PyArray_SIZE(x));
    loop(PyArray_DATA(x), PyArray_DATA(into), PyArray_SIZE(x));
    END_WORK;
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
        BEGIN_WORK(PyArray_SIZE(x));
        combine(PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(out), PyArray_SIZE(x), how);
        END_WORK;
    }
    return (PyObject *)out;
}

const Row CONVERT_ROWS[] = {
    {"cast", cast, {"x", "dtype"}},
    {"write", write_, {"into", "x"}},
    {"combine_narrow", combine_narrow, {"x", "y", "how"}},
    {NULL, NULL, {NULL}},
};
