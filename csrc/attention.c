/* Fused attention, which never stores the full matrix of attention weights: see loops/attention.h. */

#include "kernels.h"

#include <stdatomic.h>

#include "threads.h"

#define LEAST_WORK ((ptrdiff_t)1 << 18) /* multiplications below which waking a thread takes longer */

enum { QUERY, KEY, VALUE, GRADIENT, OPERANDS };

/* Heads in batches: operands of equal leading dimensions, each head of which has its elements side by side in a row. */
typedef struct {
    Attention head; /* of the first */
    const Loops *loops;
    bool back;
    int dims;
    npy_intp heads, item, parts, shape[NPY_MAXDIMS];
    PyArrayObject *operands[OPERANDS]; /* new references */
    char *out, *g_q, *g_k, *g_v;
    atomic_int *failed; /* for want of memory */
} Heads;

static void release(Heads *p)
{
    for (int i = 0; i < OPERANDS; i++) {
        Py_CLEAR(p->operands[i]);
    }
}

/* An array whose rows have no gaps between their elements: itself or a copy (a new reference). */
static PyArrayObject *with_plain_rows(PyObject *given)
{
    PyArrayObject *x = (PyArrayObject *)given;
    if (given == NULL || !PyArray_CheckExact(given) || PyArray_NDIM(x) < 2 || !PyArray_ISBEHAVED_RO(x)) {
        return NULL;
    }
    int ndim = PyArray_NDIM(x);
    npy_intp item = PyArray_ITEMSIZE(x);
    bool plain = PyArray_STRIDE(x, ndim - 1) == item && PyArray_STRIDE(x, ndim - 2) % item == 0;
    return plain ? (PyArrayObject *)Py_NewRef(given) : in_rows(given);
}

static bool fits(PyArrayObject *x, PyArrayObject *q, npy_intp rows, npy_intp columns)
{
    int ndim = PyArray_NDIM(q);
    return PyArray_TYPE(x) == PyArray_TYPE(q) && PyArray_NDIM(x) == ndim
        && PyArray_CompareLists(PyArray_DIMS(x), PyArray_DIMS(q), ndim - 2)
        && (rows < 0 || PyArray_DIM(x, ndim - 2) == rows) && (columns < 0 || PyArray_DIM(x, ndim - 1) == columns);
}

static npy_intp dim_of(PyArrayObject *x, int from_end)
{
    return PyArray_DIM(x, PyArray_NDIM(x) - from_end);
}

static ptrdiff_t step_of(PyArrayObject *x)
{
    return x == NULL ? 0 : PyArray_STRIDE(x, PyArray_NDIM(x) - 2) / PyArray_ITEMSIZE(x);
}

/* Reads query, key, value, mask, dropped, scale and causal, after the gradient if there is one. */
static bool read_heads(PyObject *const *arguments, bool back, Heads *p)
{
    PyObject *const *rest = arguments + back + 3;
    double scale;
    if (!not_given(rest[0]) || !not_given(rest[1]) || !as_double(rest[2], &scale)
        || (rest[3] != Py_True && rest[3] != Py_False)) {
        return false;
    }
    for (int i = 0; i < 3 + back; i++) {
        p->operands[i] = with_plain_rows(i == GRADIENT ? arguments[0] : arguments[i + back]);
        if (p->operands[i] == NULL || PyArray_SIZE(p->operands[i]) == 0) {
            return false;
        }
    }
    PyArrayObject *q = p->operands[QUERY], *k = p->operands[KEY], *v = p->operands[VALUE], *g = p->operands[GRADIENT];
    if ((p->loops = loops_for(q)) == NULL || !fits(k, q, -1, dim_of(q, 1)) || !fits(v, q, dim_of(k, 2), -1)
        || (back && !fits(g, q, dim_of(q, 2), dim_of(v, 1)))) {
        return false;
    }
    p->back = back;
    p->item = PyArray_ITEMSIZE(q);
    p->dims = PyArray_NDIM(q) - 2;
    p->heads = 1;
    for (int d = 0; d < p->dims; d++) {
        p->shape[d] = PyArray_DIM(q, d);
        p->heads *= p->shape[d];
    }
    p->head = (Attention){
        .q_step = step_of(q), .k_step = step_of(k), .v_step = step_of(v), .g_step = step_of(g),
        .queries = dim_of(q, 2), .keys = dim_of(k, 2), .depth = dim_of(q, 1), .width = dim_of(v, 1),
        .scale = scale, .causal = rest[3] == Py_True,
    };
    return true;
}

/* Where the elements of a head begin. */
static const char *start_of(const Heads *p, int operand, npy_intp head)
{
    PyArrayObject *x = p->operands[operand];
    const char *at = PyArray_BYTES(x);
    for (int d = p->dims - 1; d >= 0; d--) {
        at += head % p->shape[d] * PyArray_STRIDE(x, d);
        head /= p->shape[d];
    }
    return at;
}

static void do_heads(const void *work, ptrdiff_t part)
{
    const Heads *p = work;
    Attention a = p->head;
    ptrdiff_t start, stop;
    void *scratch = scratch_of_thread(p->loops->attention_scratch(&a, p->back));
    part_of(p->heads, 1, p->parts, part, &start, &stop);
    if (scratch == NULL) {
        *p->failed = 1;
        return;
    }
    for (ptrdiff_t i = start; i < stop; i++) {
        a.q = start_of(p, QUERY, i);
        a.k = start_of(p, KEY, i);
        a.v = start_of(p, VALUE, i);
        if (!p->back) {
            a.out = p->out + i * a.queries * a.width * p->item;
            p->loops->attention(&a, scratch);
            continue;
        }
        a.g = start_of(p, GRADIENT, i);
        a.g_q = p->g_q + i * a.queries * a.depth * p->item;
        a.g_k = p->g_k + i * a.keys * a.depth * p->item;
        a.g_v = p->g_v + i * a.keys * a.width * p->item;
        p->loops->attention_pull(&a, scratch);
    }
}

/* Runs all heads; false, with an error, without the memory for it. */
static bool run_heads(Heads *p)
{
    const Attention *a = &p->head;
    atomic_int failed = 0;
    p->failed = &failed;
    ptrdiff_t each = a->queries * a->keys * (a->depth + a->width) * (p->back ? 3 : 1);
    p->parts = chunks_for(p->heads * each, LEAST_WORK);
    p->parts = p->parts < p->heads ? p->parts : p->heads;
    BEGIN_WORK(p->heads * each);
    run_chunks(do_heads, p, p->parts);
    END_WORK;
    if (failed) {
        PyErr_NoMemory();
    }
    return !failed;
}

/* A new array for all heads, with `rows` rows of `columns` elements each. */
static PyArrayObject *new_for_heads(const Heads *p, npy_intp rows, npy_intp columns)
{
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < p->dims; d++) {
        shape[d] = p->shape[d];
    }
    shape[p->dims] = rows;
    shape[p->dims + 1] = columns;
    return new_array(p->operands[QUERY], p->dims + 2, shape);
}

static PyObject *fused_attention(PyObject *const *arguments)
{
    Heads p = {.back = false};
    PyArrayObject *out = NULL;
    bool can = read_heads(arguments, false, &p);
    if (can && (out = new_for_heads(&p, p.head.queries, p.head.width)) != NULL) {
        p.out = PyArray_BYTES(out);
        if (!run_heads(&p)) {
            Py_CLEAR(out);
        }
    }
    release(&p);
    return can ? (PyObject *)out : declined_or_failed();
}

static PyObject *fused_attention_pull(PyObject *const *arguments)
{
    Heads p = {.back = true};
    if (!read_heads(arguments, true, &p)) {
        release(&p);
        return declined_or_failed();
    }
    const Attention *a = &p.head;
    PyArrayObject *g_q = new_for_heads(&p, a->queries, a->depth), *g_k = new_for_heads(&p, a->keys, a->depth);
    PyArrayObject *g_v = new_for_heads(&p, a->keys, a->width);
    if (g_q == NULL || g_k == NULL || g_v == NULL) {
        Py_XDECREF(g_q);
        Py_XDECREF(g_k);
        Py_XDECREF(g_v);
        release(&p);
        return NULL;
    }
    p.g_q = PyArray_BYTES(g_q);
    p.g_k = PyArray_BYTES(g_k);
    p.g_v = PyArray_BYTES(g_v);
    bool ran = run_heads(&p);
    release(&p);
    PyObject *result = ran ? Py_BuildValue("OOOO", g_q, g_k, g_v, Py_None) : NULL;
    Py_DECREF(g_q);
    Py_DECREF(g_k);
    Py_DECREF(g_v);
    return result;
}

const Row ATTENTION_ROWS[] = {
    {"fused_attention", fused_attention, {"query", "key", "value", "mask", "dropped", "scale", "causal"}},
    {"fused_attention_pull", fused_attention_pull,
     {"g", "query", "key", "value", "mask", "dropped", "scale", "causal"}},
    {NULL, NULL, {NULL}},
};
