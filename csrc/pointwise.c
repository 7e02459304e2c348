/* Functions of each element, and their gradients. */

#include "kernels.h"

#include "threads.h"

/* Elements below which a thread has too little to do: of functions that compute, and of those that move memory. */
enum { FEW_COSTLY = 1 << 14, FEW_CHEAP = 1 << 17 };

#define MOST_NUMBERS 3

/* One function over all elements of an array, or of two. */
typedef struct {
    Map map;
    void (*pull)(const void *g, const void *x, void *out, ptrdiff_t n);
    Curve curve;
    double numbers[MOST_NUMBERS];
    const char *g, *x;
    char *out;
    npy_intp size, item, parts;
} Elements;

static void do_elements(const void *work, ptrdiff_t i)
{
    const Elements *w = work;
    ptrdiff_t start, stop;
    part_of(w->size, 64, w->parts, i, &start, &stop);
    ptrdiff_t at = start * w->item, n = stop - start;
    if (w->map != NULL) {
        w->map(w->x + at, w->out + at, n);
    } else if (w->pull != NULL) {
        w->pull(w->g + at, w->x + at, w->out + at, n);
    } else {
        w->curve(w->g == NULL ? NULL : w->g + at, w->x + at, w->out + at, n, w->numbers);
    }
}

static void run_elements(Elements *w, PyArrayObject *x, PyArrayObject *out, npy_intp few)
{
    w->x = PyArray_BYTES(x);
    w->out = PyArray_BYTES(out);
    w->size = PyArray_SIZE(x);
    w->item = PyArray_ITEMSIZE(x);
    w->parts = chunks_for(w->size, few);
    BEGIN_WORK(w->size);
    run_chunks(do_elements, w, w->parts);
    END_WORK;
}

/* `loop` is the offset of the function in Loops. */
static PyObject *mapped(PyObject *given, size_t loop, npy_intp few)
{
    PyArrayObject *x = plain_array(given);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    if (loops == NULL) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        Elements work = {.map = *(const Map *)((const char *)loops + loop)};
        run_elements(&work, x, out, few);
    }
    return (PyObject *)out;
}

static PyObject *relu(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, relu), FEW_CHEAP);
}

static PyObject *sigmoid(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, sigmoid), FEW_COSTLY);
}

static PyObject *log_sigmoid(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, log_sigmoid), FEW_COSTLY);
}

static PyObject *erf_(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, erf), FEW_COSTLY);
}

static PyObject *gelu(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, gelu), FEW_COSTLY);
}

static PyObject *sign(PyObject *const *arguments)
{
    return mapped(arguments[0], offsetof(Loops, sign), FEW_CHEAP);
}

/* The number in a Python number, of integers only those that a double holds. */
static bool as_number(PyObject *x, double *value)
{
    npy_intp integer;
    if (as_double(x, value)) {
        return true;
    }
    if (!as_integer(x, &integer) || integer > (npy_intp)1 << 53 || integer < -((npy_intp)1 << 53)) {
        return false;
    }
    *value = (double)integer;
    return true;
}

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
    w->parts = chunks_for(w->size, FEW_COSTLY);
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

/* Two arrays of one shape, of which the first, a gradient, may lie in memory in any way. */
typedef struct {
    const Loops *loops;
    PyArrayObject *g, *x, *out;
} Pair;

static bool pair_of(PyObject *const *arguments, Pair *pair)
{
    pair->x = plain_array(arguments[1]);
    pair->loops = pair->x == NULL ? NULL : loops_for(pair->x);
    pair->g = pair->loops == NULL ? NULL : row_major(arguments[0], pair->x);
    if (pair->g == NULL) {
        return false;
    }
    pair->out = new_array(pair->x, PyArray_NDIM(pair->x), PyArray_DIMS(pair->x));
    if (pair->out == NULL) {
        Py_DECREF(pair->g);
        return false;
    }
    return true;
}

static PyObject *gelu_pull(PyObject *const *arguments)
{
    Pair pair;
    if (!pair_of(arguments, &pair)) {
        return declined_or_failed();
    }
    Elements work = {.pull = pair.loops->gelu_pull, .g = PyArray_BYTES(pair.g)};
    run_elements(&work, pair.x, pair.out, FEW_COSTLY);
    Py_DECREF(pair.g);
    return (PyObject *)pair.out;
}

/* A function with `count` numbers after its arrays: x, and before it a gradient if it has one. */
static PyObject *curved(PyObject *const *arguments, size_t loop, bool pulls, int count, npy_intp few)
{
    Elements work = {0};
    Pair pair = {.g = NULL};
    for (int i = 0; i < count; i++) {
        PyObject *number = arguments[i + (pulls ? 2 : 1)];
        if (number == NULL || !as_number(number, &work.numbers[i])) {
            DECLINE;
        }
    }
    if (pulls) {
        if (!pair_of(arguments, &pair)) {
            return declined_or_failed();
        }
        work.g = PyArray_BYTES(pair.g);
    } else {
        pair.x = plain_array(arguments[0]);
        pair.loops = pair.x == NULL ? NULL : loops_for(pair.x);
        if (pair.loops == NULL) {
            DECLINE;
        }
        pair.out = new_array(pair.x, PyArray_NDIM(pair.x), PyArray_DIMS(pair.x));
        if (pair.out == NULL) {
            return NULL;
        }
    }
    work.curve = *(const Curve *)((const char *)pair.loops + loop);
    run_elements(&work, pair.x, pair.out, few);
    Py_XDECREF(pair.g);
    return (PyObject *)pair.out;
}

static PyObject *threshold_pull(PyObject *const *arguments)
{
    return curved(arguments, offsetof(Loops, threshold_pull), true, 1, FEW_CHEAP);
}

static PyObject *leaky_relu(PyObject *const *arguments)
{
    return curved(arguments, offsetof(Loops, leaky_relu), false, 1, FEW_CHEAP);
}

static PyObject *leaky_relu_pull(PyObject *const *arguments)
{
    return curved(arguments, offsetof(Loops, leaky_relu_pull), true, 1, FEW_CHEAP);
}

/* The exponentials are those of numbers below zero. */
static bool grows(PyObject *input_scale)
{
    double number;
    return input_scale != NULL && as_number(input_scale, &number) && number >= 0;
}

static PyObject *elu(PyObject *const *arguments)
{
    if (!grows(arguments[3])) {
        DECLINE;
    }
    return curved(arguments, offsetof(Loops, elu), false, 3, FEW_COSTLY);
}

static PyObject *elu_pull(PyObject *const *arguments)
{
    if (!grows(arguments[4])) {
        DECLINE;
    }
    return curved(arguments, offsetof(Loops, elu_pull), true, 3, FEW_COSTLY);
}

static PyObject *softplus(PyObject *const *arguments)
{
    return curved(arguments, offsetof(Loops, softplus), false, 2, FEW_COSTLY);
}

const Row POINTWISE_ROWS[] = {
    {"relu", relu, {"x"}},
    {"sigmoid", sigmoid, {"x"}},
    {"log_sigmoid", log_sigmoid, {"x"}},
    {"erf", erf_, {"x"}},
    {"gelu", gelu, {"x"}},
    {"sign", sign, {"x"}},
    {"floor_divide", floor_divide, {"x", "y"}},
    {"remainder", remainder_, {"x", "y"}},
    {"fmod", fmod_, {"x", "y"}},
    {"div_trunc", div_trunc, {"x", "y"}},
    {"gelu_pull", gelu_pull, {"g", "x"}},
    {"threshold_pull", threshold_pull, {"g", "x", "threshold"}},
    {"leaky_relu", leaky_relu, {"x", "slope"}},
    {"leaky_relu_pull", leaky_relu_pull, {"g", "x", "slope"}},
    {"elu", elu, {"x", "alpha", "scale", "input_scale"}},
    {"elu_pull", elu_pull, {"g", "x", "alpha", "scale", "input_scale"}},
    {"softplus", softplus, {"x", "beta", "threshold"}},
    {NULL, NULL, {NULL}},
};
