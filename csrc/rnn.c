/* Recurrent layers: the pointwise part of a step, and whole sequences. */

#include "kernels.h"

#include <stdlib.h>

#include "threads.h"

/* Whether `given` is an array of `rows` rows of `n` elements of the type of `like`. */
static bool is_matrix(PyObject *given, PyArrayObject *like, npy_intp rows, npy_intp n)
{
    PyArrayObject *x = plain_array(given);
    return x != NULL && PyArray_TYPE(x) == PyArray_TYPE(like) && PyArray_NDIM(x) == 2 && PyArray_DIM(x, 0) == rows
        && PyArray_DIM(x, 1) == n;
}

static PyObject *lstm_gates(PyObject *const *arguments)
{
    PyArrayObject *previous = plain_array(arguments[2]);
    const Loops *loops = previous == NULL || PyArray_NDIM(previous) != 2 ? NULL : loops_for(previous);
    if (loops == NULL) {
        DECLINE;
    }
    npy_intp rows = PyArray_DIM(previous, 0), n = PyArray_DIM(previous, 1);
    if (!is_matrix(arguments[0], previous, rows, 4 * n) || !is_matrix(arguments[1], previous, rows, 4 * n)) {
        DECLINE;
    }
    PyArrayObject *h = new_array(previous, 2, PyArray_DIMS(previous));
    PyArrayObject *c = new_array(previous, 2, PyArray_DIMS(previous));
    PyArrayObject *gates = new_array(previous, 2, (npy_intp[]){rows, 4 * n});
    if (h == NULL || c == NULL || gates == NULL) {
        Py_XDECREF(h);
        Py_XDECREF(c);
        Py_XDECREF(gates);
        return NULL;
    }
    LstmGates p = {
        .x = data_of(arguments[0]), .hidden = data_of(arguments[1]), .previous = PyArray_DATA(previous), .h = PyArray_DATA(h),
        .c = PyArray_DATA(c), .gates = PyArray_DATA(gates), .rows = rows, .n = n,
    };
    BEGIN_WORK(rows * n);
    loops->lstm_gates(&p);
    END_WORK;
    return Py_BuildValue("NNN", h, c, gates);
}

static PyObject *lstm_gates_pull(PyObject *const *arguments)
{
    PyArrayObject *c = plain_array(arguments[4]);
    const Loops *loops = c == NULL || PyArray_NDIM(c) != 2 ? NULL : loops_for(c);
    if (loops == NULL) {
        DECLINE;
    }
    npy_intp rows = PyArray_DIM(c, 0), n = PyArray_DIM(c, 1);
    if (!is_matrix(arguments[0], c, rows, n) || !is_matrix(arguments[1], c, rows, n)
        || !is_matrix(arguments[2], c, rows, 4 * n) || !is_matrix(arguments[3], c, rows, 4 * n)
        || !is_matrix(arguments[5], c, rows, n)) {
        DECLINE;
    }
    PyArrayObject *g_x = new_array(c, 2, (npy_intp[]){rows, 4 * n}), *g_previous = new_array(c, 2, PyArray_DIMS(c));
    if (g_x == NULL || g_previous == NULL) {
        Py_XDECREF(g_x);
        Py_XDECREF(g_previous);
        return NULL;
    }
    LstmGates p = {
        .g_h = data_of(arguments[0]), .g_c = data_of(arguments[1]), .g_gates = data_of(arguments[2]), .gates = data_of(arguments[3]),
        .c = PyArray_DATA(c), .previous = data_of(arguments[5]), .g_x = PyArray_DATA(g_x),
        .g_previous = PyArray_DATA(g_previous), .rows = rows, .n = n,
    };
    BEGIN_WORK(rows * n);
    loops->lstm_gates_pull(&p);
    END_WORK;
    return Py_BuildValue("NN", g_x, g_previous);
}

/* ---- whole sequences, whose rows have nothing to do with each other: a thread takes some of them through all times */

#define LEAST_WORK ((ptrdiff_t)1 << 19) /* multiplications below which waking a thread takes longer */

typedef struct {
    Sequence sequence;
    SequenceLoop loop;
    const Loops *loops;
    npy_intp item, gates; /* bytes of an element; how many products of n elements there are for each row */
    ptrdiff_t parts;
    void *packed, *scratch; /* the latter is for all rows */
    PyArrayObject *w;
    PyArrayObject *g_h, *g_c, *g_gates; /* in row-major order; NULL where there is none */
} Layer;

/* Whether `given` is an array of the shape and the dtype of the layer. */
static bool is_like(PyObject *given, const Layer *p, int ndim, const npy_intp *shape)
{
    PyArrayObject *x = plain_array(given);
    return x != NULL && PyArray_TYPE(x) == PyArray_TYPE(p->w) && PyArray_NDIM(x) == ndim
        && PyArray_CompareLists(PyArray_DIMS(x), shape, ndim);
}

static bool is_state(PyObject *given, const Layer *p)
{
    return is_like(given, p, 2, (npy_intp[]){p->sequence.rows, p->sequence.n});
}

/* Whether `given` has `count` times n elements for each time and row. */
static bool is_over_time(PyObject *given, const Layer *p, npy_intp count)
{
    return is_like(given, p, 3, (npy_intp[]){p->sequence.times, p->sequence.rows, count * p->sequence.n});
}

/* A gradient over time in row-major order into `*out` (a new reference), NULL if there is none; false if it does not fit. */
static bool read_gradient(PyObject *given, const Layer *p, npy_intp count, PyArrayObject **out)
{
    PyArrayObject *x = (PyArrayObject *)given;
    npy_intp shape[] = {p->sequence.times, p->sequence.rows, count * p->sequence.n};
    *out = NULL;
    if (not_given(given)) {
        return true;
    }
    if (!PyArray_CheckExact(x) || PyArray_TYPE(x) != PyArray_TYPE(p->w) || PyArray_NDIM(x) != 3
        || !PyArray_CompareLists(PyArray_DIMS(x), shape, 3)) {
        return false;
    }
    *out = in_rows(given);
    return *out != NULL;
}

/* The sizes of a layer, from an array over time, of which `count` times n elements are for a time and a row. */
static bool read_layer(PyObject *over_time, npy_intp count, PyObject *weight, npy_intp gates, PyObject *reverse, Layer *p)
{
    PyArrayObject *x = plain_array(over_time);
    p->w = plain_array(weight);
    if (x == NULL || p->w == NULL || PyArray_NDIM(x) != 3 || PyArray_NDIM(p->w) != 2 || PyArray_SIZE(x) == 0
        || PyArray_TYPE(x) != PyArray_TYPE(p->w) || (p->loops = loops_for(x)) == NULL
        || (reverse != Py_True && reverse != Py_False)) {
        return false;
    }
    Sequence *s = &p->sequence;
    s->times = PyArray_DIM(x, 0);
    s->rows = PyArray_DIM(x, 1);
    s->n = PyArray_DIM(p->w, 1);
    s->reverse = reverse == Py_True;
    p->gates = gates;
    p->item = PyArray_ITEMSIZE(x);
    return PyArray_DIM(x, 2) == count * s->n && PyArray_DIM(p->w, 0) == gates * s->n;
}

static void run_part(const void *work, ptrdiff_t i)
{
    const Layer *p = work;
    ptrdiff_t start, stop;
    part_of(p->sequence.rows, 1, p->parts, i, &start, &stop);
    p->loop(&p->sequence, start, stop, (char *)p->scratch + start * SEQUENCE_SCRATCH * p->sequence.n * p->item);
}

/* One for each tile of rows, as less than a tile takes as long; no fewer than threads. */
static ptrdiff_t most_parts(const Layer *p)
{
    ptrdiff_t rows = p->sequence.rows, tiles = rows / p->loops->tile_rows, threads = thread_count();
    ptrdiff_t most = tiles / threads * threads > threads ? tiles / threads * threads : threads;
    return most < rows ? most : rows;
}

/* Runs the loop, with the weights packed for products from the state to the gates, or `back`. False without memory. */
static bool run_layer(Layer *p, size_t loop, bool back)
{
    Sequence *s = &p->sequence;
    npy_intp wide = p->gates * s->n, depth = back ? wide : s->n, columns = back ? s->n : wide;
    npy_intp panel = p->loops->tile_columns, panels = (columns + panel - 1) / panel;
    s->packed = p->packed = malloc((size_t)(panels * panel * depth * p->item));
    p->scratch = malloc((size_t)(s->rows * SEQUENCE_SCRATCH * s->n * p->item));
    bool enough = p->packed != NULL && p->scratch != NULL;
    if (enough) {
        p->loop = *(const SequenceLoop *)((const char *)p->loops + loop);
        p->parts = chunks_for(s->times * s->rows * s->n * wide, LEAST_WORK);
        p->parts = p->parts < most_parts(p) ? p->parts : most_parts(p);
        BEGIN_WORK(s->times * s->rows * wide);
        p->loops->pack_matrix(PyArray_DATA(p->w), p->packed, depth, columns, back ? s->n : 1, back ? 1 : s->n);
        run_chunks(run_part, p, p->parts);
        END_WORK;
    }
    free(p->packed);
    free(p->scratch);
    return enough;
}

/* A new array of `count` times n elements for each time and row, or for each row alone. */
static PyArrayObject *new_over_time(const Layer *p, npy_intp count)
{
    return new_array(p->w, 3, (npy_intp[]){p->sequence.times, p->sequence.rows, count * p->sequence.n});
}

static PyArrayObject *new_state(const Layer *p)
{
    return new_array(p->w, 2, (npy_intp[]){p->sequence.rows, p->sequence.n});
}

static void release_gradients(Layer *p)
{
    Py_CLEAR(p->g_h);
    Py_CLEAR(p->g_c);
    Py_CLEAR(p->g_gates);
}

static PyObject *without_gradients(Layer *p)
{
    release_gradients(p);
    return declined_or_failed();
}

/* The layer run, with up to three new arrays as its results; `to` says where their elements go. */
static PyObject *results_of(Layer *p, size_t loop, bool back, int count, PyArrayObject *const *arrays, void **const *to)
{
    bool enough = true;
    for (int i = 0; i < count; i++) {
        enough = enough && arrays[i] != NULL;
    }
    for (int i = 0; enough && i < count; i++) {
        *to[i] = PyArray_DATA(arrays[i]);
    }
    p->sequence.g_h = p->g_h == NULL ? NULL : PyArray_DATA(p->g_h);
    p->sequence.g_c = p->g_c == NULL ? NULL : PyArray_DATA(p->g_c);
    p->sequence.g_gates = p->g_gates == NULL ? NULL : PyArray_DATA(p->g_gates);
    PyObject *result = enough && run_layer(p, loop, back) ? PyTuple_New(count) : NULL;
    release_gradients(p);
    if (result == NULL) {
        for (int i = 0; i < count; i++) {
            Py_XDECREF(arrays[i]);
        }
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int i = 0; i < count; i++) {
        PyTuple_SET_ITEM(result, i, (PyObject *)arrays[i]);
    }
    return result;
}

static PyObject *lstm_sequence(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[0], 4, arguments[3], 4, arguments[4], &p) || !is_state(arguments[1], &p)
        || !is_state(arguments[2], &p)) {
        DECLINE;
    }
    s->x = data_of(arguments[0]);
    s->first_h = data_of(arguments[1]);
    s->first_c = data_of(arguments[2]);
    PyArrayObject *arrays[] = {new_over_time(&p, 1), new_over_time(&p, 1), new_over_time(&p, 4)};
    return results_of(&p, offsetof(Loops, lstm_sequence), false, 3, arrays, (void **const[]){&s->h, &s->c, &s->gates});
}

static PyObject *lstm_sequence_pull(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[3], 4, arguments[6], 4, arguments[7], &p) || !is_over_time(arguments[4], &p, 1)
        || !is_state(arguments[5], &p)) {
        DECLINE;
    }
    if (!read_gradient(arguments[0], &p, 1, &p.g_h) || !read_gradient(arguments[1], &p, 1, &p.g_c)
        || !read_gradient(arguments[2], &p, 4, &p.g_gates)) {
        return without_gradients(&p);
    }
    s->gates = data_of(arguments[3]);
    s->c = data_of(arguments[4]);
    s->first_c = data_of(arguments[5]);
    PyArrayObject *arrays[] = {new_over_time(&p, 4), new_state(&p), new_state(&p)};
    return results_of(&p, offsetof(Loops, lstm_sequence_pull), true, 3, arrays,
                      (void **const[]){&s->g_x, &s->g_first_h, &s->g_first_c});
}

static PyObject *gru_sequence(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[0], 3, arguments[2], 3, arguments[4], &p) || !is_state(arguments[1], &p)
        || !(not_given(arguments[3]) || is_like(arguments[3], &p, 1, (npy_intp[]){3 * s->n}))) {
        DECLINE;
    }
    s->x = data_of(arguments[0]);
    s->first_h = data_of(arguments[1]);
    s->bias = not_given(arguments[3]) ? NULL : data_of(arguments[3]);
    PyArrayObject *arrays[] = {new_over_time(&p, 1), new_over_time(&p, 4)};
    return results_of(&p, offsetof(Loops, gru_sequence), false, 2, arrays, (void **const[]){&s->h, &s->gates});
}

static PyObject *gru_sequence_pull(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[2], 4, arguments[5], 3, arguments[6], &p) || !is_over_time(arguments[3], &p, 1)
        || !is_state(arguments[4], &p)) {
        DECLINE;
    }
    if (!read_gradient(arguments[0], &p, 1, &p.g_h) || !read_gradient(arguments[1], &p, 4, &p.g_gates)) {
        return without_gradients(&p);
    }
    s->gates = data_of(arguments[2]);
    s->h = data_of(arguments[3]);
    s->first_h = data_of(arguments[4]);
    PyArrayObject *arrays[] = {new_over_time(&p, 3), new_over_time(&p, 3), new_state(&p)};
    return results_of(&p, offsetof(Loops, gru_sequence_pull), true, 3, arrays,
                      (void **const[]){&s->g_x, &s->g_hidden, &s->g_first_h});
}

static PyObject *rnn_sequence(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[0], 1, arguments[2], 1, arguments[4], &p) || !is_state(arguments[1], &p)) {
        DECLINE;
    }
    s->x = data_of(arguments[0]);
    s->first_h = data_of(arguments[1]);
    s->relu = arguments[3] == Py_True;
    PyArrayObject *arrays[] = {new_over_time(&p, 1)};
    return results_of(&p, offsetof(Loops, rnn_sequence), false, 1, arrays, (void **const[]){&s->h});
}

static PyObject *rnn_sequence_pull(PyObject *const *arguments)
{
    Layer p = {.loop = NULL};
    Sequence *s = &p.sequence;
    if (!read_layer(arguments[1], 1, arguments[2], 1, arguments[4], &p)) {
        DECLINE;
    }
    if (!read_gradient(arguments[0], &p, 1, &p.g_h)) {
        return without_gradients(&p);
    }
    s->h = data_of(arguments[1]);
    s->relu = arguments[3] == Py_True;
    PyArrayObject *arrays[] = {new_over_time(&p, 1), new_state(&p)};
    return results_of(&p, offsetof(Loops, rnn_sequence_pull), true, 2, arrays,
                      (void **const[]){&s->g_x, &s->g_first_h});
}

const Row RNN_ROWS[] = {
    {"lstm_gates", lstm_gates, {"x", "hidden", "c"}},
    {"lstm_gates_pull", lstm_gates_pull, {"g_h", "g_c", "g_gates", "gates", "c", "previous"}},
    {"lstm_sequence", lstm_sequence, {"x", "h", "c", "w", "reverse"}},
    {"lstm_sequence_pull", lstm_sequence_pull, {"g_h", "g_c", "g_gates", "gates", "cells", "c", "w", "reverse"}},
    {"gru_sequence", gru_sequence, {"x", "h", "w", "b", "reverse"}},
    {"gru_sequence_pull", gru_sequence_pull, {"g_h", "g_saved", "saved", "states", "h", "w", "reverse"}},
    {"rnn_sequence", rnn_sequence, {"x", "h", "w", "is_relu", "reverse"}},
    {"rnn_sequence_pull", rnn_sequence_pull, {"g_h", "states", "w", "is_relu", "reverse"}},
    {NULL, NULL, {NULL}},
};
