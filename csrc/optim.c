/* Steps of optimizers: one call for a list of parameters, each of them and its state in one pass over memory. */

#include "kernels.h"

#define MOST_OWN 4 /* a parameter and its state */
#define MOST_NUMBERS 8
#define MOST_FLAGS 3

/* What one call works on. The lists belong to the caller. */
typedef struct {
    PyObject *written[MOST_OWN], *grads, *numbers;
    int kinds; /* of lists that are written to */
    Py_ssize_t count;
    bool flags[MOST_FLAGS];
} Lists;

static bool read_lists(PyObject *const *arguments, Lists *lists)
{
    PyObject *written = arguments[0], *flags = arguments[3];
    *lists = (Lists){.grads = arguments[1], .numbers = arguments[2]};
    if (written == NULL || !PyList_CheckExact(written) || PyList_GET_SIZE(written) > MOST_OWN
        || lists->grads == NULL || !PyList_CheckExact(lists->grads)
        || lists->numbers == NULL || !PyList_CheckExact(lists->numbers)
        || flags == NULL || !PyTuple_CheckExact(flags) || PyTuple_GET_SIZE(flags) > MOST_FLAGS) {
        return false;
    }
    lists->kinds = (int)PyList_GET_SIZE(written);
    lists->count = PyList_GET_SIZE(lists->grads);
    for (int kind = 0; kind < lists->kinds; kind++) {
        lists->written[kind] = PyList_GET_ITEM(written, kind);
        if (!PyList_CheckExact(lists->written[kind]) || PyList_GET_SIZE(lists->written[kind]) != lists->count) {
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(flags); i++) {
        lists->flags[i] = PyTuple_GET_ITEM(flags, i) == Py_True;
    }
    return lists->kinds > 0 && PyList_GET_SIZE(lists->numbers) == lists->count;
}

/* Whether the elements fill their memory, in whatever order of the dimensions. */
static bool is_dense(PyArrayObject *a)
{
    npy_stride_sort_item order[NPY_MAXDIMS];
    npy_intp step = PyArray_ITEMSIZE(a);
    int ndim = PyArray_NDIM(a);
    if (PyArray_IS_C_CONTIGUOUS(a)) {
        return true;
    }
    PyArray_CreateSortedStridePerm(ndim, PyArray_STRIDES(a), order);
    for (int d = ndim - 1; d >= 0; d--) {
        if (order[d].stride != step) {
            return false;
        }
        step *= PyArray_DIM(a, order[d].perm);
    }
    return true;
}

/* Whether corresponding elements lie at the same distance from the first. */
static bool lies_like(PyArrayObject *a, PyArrayObject *p)
{
    return PyArray_CheckExact(a) && PyArray_TYPE(a) == PyArray_TYPE(p) && PyArray_ISBEHAVED_RO(a)
        && PyArray_SAMESHAPE(a, p)
        && ((PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(p))
            || PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(p), PyArray_NDIM(p)));
}

static PyArrayObject *item(PyObject *list, Py_ssize_t i)
{
    return (PyArrayObject *)PyList_GET_ITEM(list, i);
}

/* Whether a parameter and all that goes with it is of the kind that loops are for. */
static bool can_step(const Lists *lists, Py_ssize_t i)
{
    PyArrayObject *p = item(lists->written[0], i);
    if (!PyArray_CheckExact(p) || loops_for(p) == NULL || !is_dense(p)) {
        return false;
    }
    for (int kind = 0; kind < lists->kinds; kind++) {
        PyArrayObject *a = item(lists->written[kind], i);
        if (!lies_like(a, p) || !PyArray_ISWRITEABLE(a)) {
            return false;
        }
    }
    PyArrayObject *g = item(lists->grads, i);
    return lies_like(g, p)
        || (PyArray_CheckExact(g) && PyArray_TYPE(g) == PyArray_TYPE(p) && PyArray_SAMESHAPE(g, p)
            && PyArray_ISBEHAVED_RO(g) && PyArray_IS_C_CONTIGUOUS(p));
}

/* The numbers of a formula; false with an error where one is none. */
static bool read_numbers(PyObject *row, double *numbers)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); i++) {
        numbers[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(row, i));
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

static bool step_one(const Lists *lists, Py_ssize_t i, const double *numbers, size_t loop)
{
    PyArrayObject *p = item(lists->written[0], i), *g = item(lists->grads, i);
    void *own[MOST_OWN] = {NULL};
    for (int kind = 0; kind < lists->kinds; kind++) {
        own[kind] = PyArray_DATA(item(lists->written[kind], i));
    }
    if (lies_like(g, p)) {
        Py_INCREF(g);
    } else {
        g = (PyArrayObject *)PyArray_NewCopy(g, NPY_CORDER);
        if (g == NULL) {
            return false;
        }
    }
    Step step = *(const Step *)((const char *)loops_for(p) + loop);
    BEGIN_WORK(PyArray_SIZE(p));
    step(own, PyArray_DATA(g), PyArray_SIZE(p), numbers, lists->flags);
    END_WORK;
    Py_DECREF(g);
    return true;
}

/* `loop` is the offset of the formula in Loops. */
static PyObject *stepped(PyObject *const *arguments, size_t loop)
{
    Lists lists;
    if (!read_lists(arguments, &lists)) {
        DECLINE;
    }
    for (Py_ssize_t i = 0; i < lists.count; i++) { /* all or none: what was changed cannot be done again */
        PyObject *row = PyList_GET_ITEM(lists.numbers, i);
        if (!can_step(&lists, i) || !PyTuple_CheckExact(row) || PyTuple_GET_SIZE(row) > MOST_NUMBERS) {
            DECLINE;
        }
    }
    PyObject *known = NULL; /* a row of numbers often serves many parameters */
    double numbers[MOST_NUMBERS];
    for (Py_ssize_t i = 0; i < lists.count; i++) {
        PyObject *row = PyList_GET_ITEM(lists.numbers, i);
        if (row != known && !read_numbers(row, numbers)) {
            return NULL;
        }
        known = row;
        if (!step_one(&lists, i, numbers, loop)) {
            return NULL;
        }
    }
    return Py_NewRef(arguments[0]);
}

#define STEPPED(name) \
    static PyObject *name##_step(PyObject *const *arguments) \
    { \
        return stepped(arguments, offsetof(Loops, name##_step)); \
    }

STEPPED(sgd)
STEPPED(adam)
STEPPED(adamax)
STEPPED(nadam)
STEPPED(radam)
STEPPED(rmsprop)
STEPPED(rprop)
STEPPED(adagrad)
STEPPED(adadelta)
STEPPED(asgd)

#define STEP_ROW(name) {#name "_step", name##_step, {"written", "grads", "numbers", "flags"}}

const Row OPTIM_ROWS[] = {
    STEP_ROW(sgd), STEP_ROW(adam), STEP_ROW(adamax), STEP_ROW(nadam), STEP_ROW(radam), STEP_ROW(rmsprop),
    STEP_ROW(rprop), STEP_ROW(adagrad), STEP_ROW(adadelta), STEP_ROW(asgd),
    {NULL, NULL, {NULL}},
};
