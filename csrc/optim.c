/* Optimizer steps: one call for a list of parameters, each updated with its state in one pass over memory. */

#include "kernels.h"

#include <stdlib.h>

#include "threads.h"

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

/* One parameter of a list, and what is done to it. */
typedef struct {
    Step step;
    char *own[MOST_OWN];
    PyArrayObject *gradient; /* a new reference, in the order of the parameter */
    npy_intp size, item, start; /* the last counts elements of all parameters before */
    double numbers[MOST_NUMBERS];
} Parameter;

/* The parameters as one row of elements, which is cut wherever it comes. */
typedef struct {
    Parameter *parameters;
    Py_ssize_t count;
    int kinds;
    const bool *flags;
    npy_intp size, parts;
} Parameters;

#define FEW (1 << 15) /* elements below which a thread has too little to do */

static void step_part(const void *work, ptrdiff_t i)
{
    const Parameters *w = work;
    ptrdiff_t start, stop;
    part_of(w->size, 64, w->parts, i, &start, &stop);
    for (Py_ssize_t j = 0; j < w->count; j++) {
        const Parameter *p = &w->parameters[j];
        ptrdiff_t first = start > p->start ? start - p->start : 0;
        ptrdiff_t last = stop - p->start < p->size ? stop - p->start : p->size;
        if (first >= last) {
            continue;
        }
        void *own[MOST_OWN] = {NULL};
        for (int kind = 0; kind < w->kinds; kind++) {
            own[kind] = p->own[kind] + first * p->item;
        }
        p->step(own, PyArray_BYTES(p->gradient) + first * p->item, last - first, p->numbers, w->flags);
    }
}

/* Reads parameter i; false with an error. */
static bool read_parameter(const Lists *lists, Py_ssize_t i, size_t loop, Parameter *out)
{
    PyArrayObject *p = item(lists->written[0], i), *g = item(lists->grads, i);
    if (!read_numbers(PyList_GET_ITEM(lists->numbers, i), out->numbers)) {
        return false;
    }
    for (int kind = 0; kind < lists->kinds; kind++) {
        out->own[kind] = PyArray_BYTES(item(lists->written[kind], i));
    }
    out->step = *(const Step *)((const char *)loops_for(p) + loop);
    out->size = PyArray_SIZE(p);
    out->item = PyArray_ITEMSIZE(p);
    out->gradient = lies_like(g, p) ? (PyArrayObject *)Py_NewRef(g) : (PyArrayObject *)PyArray_NewCopy(g, NPY_CORDER);
    return out->gradient != NULL;
}

/* Whether a parameter occurs twice: its steps must follow each other. */
static bool has_twice(const Parameter *parameters, Py_ssize_t count)
{
    for (Py_ssize_t i = 1; i < count; i++) {
        for (Py_ssize_t j = 0; j < i; j++) {
            if (parameters[i].own[0] == parameters[j].own[0]) {
                return true;
            }
        }
    }
    return false;
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
    Parameters work = {.kinds = lists.kinds, .flags = lists.flags};
    work.parameters = calloc((size_t)lists.count + 1, sizeof(Parameter));
    if (work.parameters == NULL) {
        return PyErr_NoMemory();
    }
    bool fine = true;
    for (; fine && work.count < lists.count; work.count++) {
        Parameter *p = &work.parameters[work.count];
        fine = read_parameter(&lists, work.count, loop, p);
        p->start = work.size;
        work.size += p->size;
    }
    if (fine) {
        work.parts = chunks_for(work.size, FEW);
        work.parts = work.parts > 1 && has_twice(work.parameters, work.count) ? 1 : work.parts;
        BEGIN_WORK(work.size);
        run_chunks(step_part, &work, work.parts);
        END_WORK;
    }
    for (Py_ssize_t i = 0; i < work.count; i++) {
        Py_XDECREF(work.parameters[i].gradient);
    }
    free(work.parameters);
    return fine ? Py_NewRef(arguments[0]) : NULL;
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
