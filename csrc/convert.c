/* Conversion between half precision and float, which NumPy does one element at a time. */

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
    return a == HALF && b == FLOAT ? loops->halves_to_floats : a == FLOAT && b == HALF ? loops->floats_to_halves
        : a == BRAIN && b == FLOAT ? loops->brains_to_floats : a == FLOAT && b == BRAIN ? loops->floats_to_brains : NULL;
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

const Row CONVERT_ROWS[] = {
    {"cast", cast, {"x", "dtype"}},
    {"write", write_, {"into", "x"}},
    {NULL, NULL, {NULL}},
};
