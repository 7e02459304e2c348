/* Integer and rounded division, and remainders. */

#include "kernels.h"

#include "threads.h"

#define FEW (1 << 14) /* elements below which a thread has too little to do */

typedef struct {
    Division divide;
    IntegerDivision divide_ints; /* instead */
    bool *failed;
    const char *x, *y;
    char *out;
    npy_intp size, item, parts;
    bool by_one;
} Quotients;

static void do_quotients(const void *work, ptrdiff_t i)
{
    const Quotients *w = work;
    ptrdiff_t start, stop;
    part_of(w->size, 64, w->parts, i, &start, &stop);
    ptrdiff_t at = start * w->item;
    if (w->divide_ints != NULL) {
        if (!w->divide_ints(w->x + at, w->y + at, w->out + at, stop - start)) {
            __atomic_store_n(w->failed, true, __ATOMIC_RELAXED);
        }
        return;
    }
    w->divide(w->x + at, w->by_one ? w->y : w->y + at, w->out + at, stop - start, w->by_one);
}

static void run_quotients(Quotients *w, PyArrayObject *x, PyArrayObject *out)
{
    w->x = PyArray_BYTES(x);
    w->out = PyArray_BYTES(out);
    w->size = PyArray_SIZE(x);
    w->item = PyArray_ITEMSIZE(x);
    w->parts = chunks_for(w->size, FEW);
    BEGIN_WORK(w->size);
    run_chunks(do_quotients, w, w->parts);
    END_WORK;
}

/* Integers divided by as many others; what divides by zero is for the twin to refuse. */
static PyObject *divided_ints(PyArrayObject *x, PyArrayObject *y, size_t loop)
{
    npy_intp item = PyArray_ITEMSIZE(x);
    if (y == NULL || PyArray_TYPE(y) != PyArray_TYPE(x) || !PyArray_ISSIGNED(x) || (item != 4 && item != 8)
        || !PyArray_SAMESHAPE(x, y)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out == NULL) {
        return NULL;
    }
    bool failed = false;
    const Loops *loops = loops_of[item == 4 ? 0 : 1];
    Quotients work = {.divide_ints = *(const IntegerDivision *)((const char *)loops + loop), .y = PyArray_BYTES(y),
                      .failed = &failed};
    run_quotients(&work, x, out);
    if (failed) {
        Py_DECREF(out);
        DECLINE;
    }
    return (PyObject *)out;
}

/* An array divided by another one of its shape, or by one number. `loop` and `ints` are offsets in Loops. */
static PyObject *divided(PyObject *const *arguments, size_t loop, size_t ints)
{
    PyArrayObject *x = plain_array(arguments[0]), *y = plain_array(arguments[1]);
    if (x != NULL && PyArray_ISINTEGER(x)) {
        return divided_ints(x, y, ints);
    }
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    double number = 0;
    if (loops == NULL || (y == NULL && !as_number(arguments[1], &number))
        || (y != NULL && (PyArray_TYPE(y) != PyArray_TYPE(x) || (PyArray_NDIM(y) > 0 && !PyArray_SAMESHAPE(x, y))))) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        float short_number = (float)number;
        const void *by = PyArray_TYPE(x) == NPY_FLOAT ? (void *)&short_number : &number;
        Quotients work = {.divide = *(const Division *)((const char *)loops + loop),
                          .y = y != NULL ? PyArray_BYTES(y) : by, .by_one = y == NULL || PyArray_NDIM(y) == 0};
        run_quotients(&work, x, out);
    }
    return (PyObject *)out;
}

#define DIVISION(name) divided(arguments, offsetof(Loops, name), offsetof(Loops, name##_ints))

static PyObject *floor_divide(PyObject *const *arguments)
{
    return DIVISION(floor_divide);
}

static PyObject *remainder_(PyObject *const *arguments)
{
    return DIVISION(remainder);
}

static PyObject *fmod_(PyObject *const *arguments)
{
    return DIVISION(fmod);
}

static PyObject *div_trunc(PyObject *const *arguments)
{
    return DIVISION(div_trunc);
}

const Row DIVIDE_ROWS[] = {
    {"floor_divide", floor_divide, {"x", "y"}},
    {"remainder", remainder_, {"x", "y"}},
    {"fmod", fmod_, {"x", "y"}},
    {"div_trunc", div_trunc, {"x", "y"}},
    {NULL, NULL, {NULL}},
};
