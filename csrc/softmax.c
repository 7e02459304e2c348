/* Softmax and log_softmax along the last dimension, and their gradients. */

#include "kernels.h"

#include "threads.h"

#define FEW (1 << 14) /* elements below which a thread has too little to do */

/* Rows of n elements, each for itself. */
typedef struct {
    void (*forward)(const void *x, void *out, ptrdiff_t rows, ptrdiff_t n);
    void (*pull)(const void *g, const void *y, void *out, ptrdiff_t rows, ptrdiff_t n);
    const char *g, *x;
    char *out;
    npy_intp rows, n, item, parts;
} Rows;

static void do_rows(const void *work, ptrdiff_t i)
{
    const Rows *w = work;
    ptrdiff_t start, stop;
    part_of(w->rows, 1, w->parts, i, &start, &stop);
    ptrdiff_t at = start * w->n * w->item;
    if (w->forward != NULL) {
        w->forward(w->x + at, w->out + at, stop - start, w->n);
    } else {
        w->pull(w->g + at, w->x + at, w->out + at, stop - start, w->n);
    }
}

static void run_rows(Rows *w, PyArrayObject *x, PyArrayObject *out)
{
    w->x = PyArray_BYTES(x);
    w->out = PyArray_BYTES(out);
    w->item = PyArray_ITEMSIZE(x);
    w->n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    w->rows = PyArray_SIZE(x) / w->n;
    w->parts = chunks_for(PyArray_SIZE(x), FEW);
    w->parts = w->parts < w->rows ? w->parts : w->rows;
    BEGIN_WORK(PyArray_SIZE(x));
    run_chunks(do_rows, w, w->parts);
    END_WORK;
}

/* The array, if it has elements and `along` is its last axis; its loops into `*loops`. */
static PyArrayObject *rows_of(PyObject *given, PyObject *along, const Loops **loops)
{
    PyArrayObject *x = plain_array(given);
    int axis;
    if (x == NULL || (*loops = loops_for(x)) == NULL || PyArray_SIZE(x) == 0 || PyArray_NDIM(x) == 0) {
        return NULL;
    }
    return as_axis(along, PyArray_NDIM(x), &axis) && axis == PyArray_NDIM(x) - 1 ? x : NULL;
}

static PyObject *forward(PyObject *const *arguments, bool logarithm)
{
    const Loops *loops = NULL;
    PyArrayObject *x = rows_of(arguments[0], arguments[1], &loops);
    if (x == NULL) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        Rows work = {.forward = logarithm ? loops->log_softmax : loops->softmax};
        run_rows(&work, x, out);
    }
    return (PyObject *)out;
}

static PyObject *backward(PyObject *const *arguments, bool logarithm)
{
    const Loops *loops = NULL;
    PyArrayObject *y = rows_of(arguments[1], arguments[2], &loops);
    PyArrayObject *g = y == NULL ? NULL : row_major(arguments[0], y);
    if (g == NULL) {
        return declined_or_failed();
    }
    PyArrayObject *out = new_array(y, PyArray_NDIM(y), PyArray_DIMS(y));
    if (out != NULL) {
        Rows work = {.pull = logarithm ? loops->log_softmax_pull : loops->softmax_pull, .g = PyArray_BYTES(g)};
        run_rows(&work, y, out);
    }
    Py_DECREF(g);
    return (PyObject *)out;
}

static PyObject *softmax(PyObject *const *arguments)
{
    return forward(arguments, false);
}

static PyObject *log_softmax(PyObject *const *arguments)
{
    return forward(arguments, true);
}

static PyObject *softmax_pull(PyObject *const *arguments)
{
    return backward(arguments, false);
}

static PyObject *log_softmax_pull(PyObject *const *arguments)
{
    return backward(arguments, true);
}

const Row SOFTMAX_ROWS[] = {
    {"softmax", softmax, {"x", "axis"}},
    {"log_softmax", log_softmax, {"x", "axis"}},
    {"softmax_pull", softmax_pull, {"g", "out", "axis"}},
    {"log_softmax_pull", log_softmax_pull, {"g", "out", "axis"}},
    {NULL, NULL, {NULL}},
};
