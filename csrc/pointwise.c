/* Elementwise functions and their gradients. */

#include "kernels.h"

#include <math.h>

#include "threads.h"

/* Elements below which a thread has too little to do: of functions that compute, and of those that move memory. */
enum { COSTLY = 1 << 14, CHEAP = 1 << 17 };

/* What a kernel knows of its function: where in Loops it is, whether it takes a gradient (or a second array) before x,
 * how many numbers it takes after x, and whether it was written for these. */
typedef struct {
    size_t loop;
    bool pulls;
    int count;
    npy_intp few;
    bool (*suits)(const double *numbers);
} Function;

typedef struct {
    Curve curve;
    double numbers[CURVE_NUMBERS];
    const char *g, *x;
    char *out;
    npy_intp size, item, parts;
} Elements;

static void do_elements(const void *work, ptrdiff_t i)
{
    const Elements *w = work;
    ptrdiff_t start, stop;
    part_of(w->size, 64, w->parts, i, &start, &stop);
    ptrdiff_t at = start * w->item;
    w->curve(w->g == NULL ? NULL : w->g + at, w->x + at, w->out + at, stop - start, w->numbers);
}

static void run_elements(Elements *w, const Function *f, PyArrayObject *x, PyArrayObject *out)
{
    w->curve = *(const Curve *)((const char *)loops_for(x) + f->loop);
    w->x = PyArray_BYTES(x);
    w->out = PyArray_BYTES(out);
    w->size = PyArray_SIZE(x);
    w->item = PyArray_ITEMSIZE(x);
    w->parts = chunks_for(w->size, f->few);
    BEGIN_WORK(w->size);
    run_chunks(do_elements, w, w->parts);
    END_WORK;
}

static bool read_numbers(const Function *f, PyObject *const *given, double *numbers)
{
    for (int i = 0; i < f->count; i++) {
        if (given[i] == NULL || !as_number(given[i], &numbers[i])) {
            return false;
        }
    }
    return f->suits == NULL || f->suits(numbers);
}

/* A new array of f(g, x, numbers) or f(x, numbers). A gradient may lie in memory in any way. */
static PyObject *new_elements(PyObject *const *arguments, Function f)
{
    Elements work = {0};
    PyArrayObject *x = plain_array(arguments[f.pulls]), *g = NULL;
    if (x == NULL || loops_for(x) == NULL || !read_numbers(&f, arguments + f.pulls + 1, work.numbers)) {
        DECLINE;
    }
    if (f.pulls) {
        g = row_major(arguments[0], x);
        if (g == NULL) {
            return declined_or_failed();
        }
        work.g = PyArray_BYTES(g);
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        run_elements(&work, &f, x, out);
    }
    Py_XDECREF(g);
    return (PyObject *)out;
}

static bool are_no_nans(const double *numbers)
{
    return !isnan(numbers[0]) && !isnan(numbers[1]);
}

/* The exponentials of elu are those of numbers below zero. */
static bool grows(const double *numbers)
{
    return numbers[2] >= 0;
}

/* name, whether it pulls, how many numbers, cost, condition; then the parameters of the twin */
#define FUNCTIONS(EACH) \
    EACH(erf, false, 0, COSTLY, NULL, "x") \
    EACH(sign, false, 0, CHEAP, NULL, "x") \
    EACH(relu, false, 0, CHEAP, NULL, "x") \
    EACH(threshold_pull, true, 1, CHEAP, NULL, "g", "x", "threshold") \
    EACH(leaky_relu, false, 1, CHEAP, NULL, "x", "slope") \
    EACH(leaky_relu_pull, true, 1, CHEAP, NULL, "g", "x", "slope") \
    EACH(elu, false, 3, COSTLY, grows, "x", "alpha", "scale", "input_scale") \
    EACH(elu_pull, true, 3, COSTLY, grows, "g", "x", "alpha", "scale", "input_scale") \
    EACH(sigmoid, false, 0, COSTLY, NULL, "x") \
    EACH(log_sigmoid, false, 0, COSTLY, NULL, "x") \
    EACH(softplus, false, 2, COSTLY, NULL, "x", "beta", "threshold") \
    EACH(gelu, false, 0, COSTLY, NULL, "x") \
    EACH(gelu_pull, true, 0, COSTLY, NULL, "g", "x") \
    EACH(gelu_tanh, false, 0, COSTLY, NULL, "x") \
    EACH(gelu_tanh_pull, true, 0, COSTLY, NULL, "g", "x") \
    EACH(clip, false, 2, CHEAP, are_no_nans, "x", "low", "high") \
    EACH(hardtanh_pull, true, 2, CHEAP, NULL, "g", "x", "low", "high") \
    EACH(hardsigmoid, false, 0, CHEAP, NULL, "x") \
    EACH(hardsigmoid_pull, true, 0, CHEAP, NULL, "g", "x") \
    EACH(hardswish, false, 0, CHEAP, NULL, "x") \
    EACH(hardswish_pull, true, 0, CHEAP, NULL, "g", "x") \
    EACH(hardshrink, false, 1, CHEAP, NULL, "x", "lambd") \
    EACH(hardshrink_pull, true, 1, CHEAP, NULL, "g", "x", "lambd") \
    EACH(softshrink, false, 1, CHEAP, are_no_nans, "x", "lambd") \
    EACH(silu, false, 0, COSTLY, NULL, "x") \
    EACH(silu_pull, true, 0, COSTLY, NULL, "g", "x") \
    EACH(mish, false, 0, COSTLY, NULL, "x") \
    EACH(mish_pull, true, 0, COSTLY, NULL, "g", "x") \
    EACH(smooth_l1, true, 1, CHEAP, are_no_nans, "x", "y", "beta") \
    EACH(smooth_l1_slope, true, 1, CHEAP, are_no_nans, "x", "y", "beta") \
    EACH(huber, true, 1, CHEAP, are_no_nans, "x", "y", "delta") \
    EACH(huber_slope, true, 1, CHEAP, are_no_nans, "x", "y", "delta") \
    EACH(replace_nonfinite, false, 3, CHEAP, NULL, "x", "nan", "posinf", "neginf") \
    EACH(lerp, true, 1, CHEAP, NULL, "start", "end", "weight")

#define FUNCTION(name, pulls, count, few, suits) {offsetof(Loops, name), pulls, count, few, suits}

#define KERNEL(name, pulls, count, few, suits, ...) \
    static PyObject *new_##name(PyObject *const *arguments) \
    { \
        return new_elements(arguments, (Function)FUNCTION(name, pulls, count, few, suits)); \
    }
FUNCTIONS(KERNEL)

/* The function of one array that has this name, if it was written for these numbers, a tuple; NULL if there is none. */
static const Function *function_named(PyObject *name, PyObject *given, double *numbers)
{
#define NAMED(name, pulls, count, few, suits, ...) {#name, FUNCTION(name, pulls, count, few, suits)},
    static const struct {
        const char *name;
        Function function;
    } named[] = {FUNCTIONS(NAMED) {"tanh", FUNCTION(tanh, false, 0, COSTLY, NULL)}};
    if (name == NULL || !PyUnicode_Check(name) || given == NULL || !PyTuple_CheckExact(given)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const Function *f = &named[i].function;
        if (PyUnicode_CompareWithASCIIString(name, named[i].name) == 0) {
            bool fits = !f->pulls && PyTuple_GET_SIZE(given) == f->count
                        && read_numbers(f, PySequence_Fast_ITEMS(given), numbers);
            return fits ? f : NULL;
        }
    }
    return NULL;
}

Curve curve_named(const Loops *loops, PyObject *name, PyObject *given, double *numbers)
{
    const Function *f = function_named(name, given, numbers);
    return f == NULL ? NULL : *(const Curve *)((const char *)loops + f->loop);
}

/* Stores f(x, numbers) in the memory of x, where f is given by its name. */
static PyObject *overwrite(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    Elements work = {0};
    const Function *f = function_named(arguments[1], arguments[2], work.numbers);
    if (f == NULL || x == NULL || loops_for(x) == NULL || !PyArray_ISWRITEABLE(x)) {
        DECLINE;
    }
    run_elements(&work, f, x, x);
    return Py_NewRef(arguments[0]);
}

/* A number, or an array of one without dimensions and of the dtype of x. */
static bool read_bound(PyObject *given, PyArrayObject *x, double *bound)
{
    PyArrayObject *y = plain_array(given);
    if (y == NULL) {
        return as_number(given, bound);
    }
    if (PyArray_NDIM(y) > 0 || PyArray_TYPE(y) != PyArray_TYPE(x) || loops_for(y) == NULL) {
        return false;
    }
    *bound = PyArray_TYPE(y) == NPY_FLOAT ? (double)*(float *)PyArray_DATA(y) : *(double *)PyArray_DATA(y);
    return true;
}

/* Extrema with a number: a clip that is open on one side. */
static PyObject *extreme(PyObject *const *arguments, bool largest)
{
    double bound;
    PyArrayObject *x = plain_array(arguments[0]);
    if (x == NULL || arguments[1] == NULL || !read_bound(arguments[1], x, &bound)) {
        DECLINE;
    }
    Function f = FUNCTION(clip, false, 2, CHEAP, NULL);
    if (loops_for(x) == NULL || isnan(bound)) {
        DECLINE;
    }
    Elements work = {.numbers = {largest ? bound : -INFINITY, largest ? INFINITY : bound}};
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        run_elements(&work, &f, x, out);
    }
    return (PyObject *)out;
}

static PyObject *maximum(PyObject *const *arguments)
{
    return extreme(arguments, true);
}

static PyObject *minimum(PyObject *const *arguments)
{
    return extreme(arguments, false);
}

#define ROW(name, pulls, count, few, suits, ...) {#name, new_##name, {__VA_ARGS__}},

const Row POINTWISE_ROWS[] = {
    FUNCTIONS(ROW)
    {"overwrite", overwrite, {"x", "name", "numbers"}},
    {"maximum", maximum, {"x", "y"}},
    {"minimum", minimum, {"x", "y"}},
    {NULL, NULL, {NULL}},
};
