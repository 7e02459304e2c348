/* Sums, means and products of contiguous floating-point arrays; half precision accumulates in float. */

#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

/* ---- which dimensions are folded */

typedef struct {
    int ndim;
    bool folded[NPY_MAXDIMS];
    npy_intp count; /* how many elements go into each result */
    int runs;       /* of neighbours that are folded */
} Fold;

static bool note_axis(Fold *fold, PyObject *x)
{
    int axis;
    if (!as_axis(x, fold->ndim, &axis) || fold->folded[axis]) {
        return false;
    }
    fold->folded[axis] = true;
    return true;
}

static bool note_axes(Fold *fold, PyObject *axis)
{
    memset(fold->folded, not_given(axis), sizeof fold->folded);
    if (not_given(axis)) {
        return true;
    }
    if (!PyTuple_CheckExact(axis)) {
        return note_axis(fold, axis);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++) {
        if (!note_axis(fold, PyTuple_GET_ITEM(axis, i))) {
            return false;
        }
    }
    return PyTuple_GET_SIZE(axis) > 0;
}

static bool fold_of(PyArrayObject *x, PyObject *axis, Fold *fold)
{
    fold->ndim = PyArray_NDIM(x);
    fold->count = 1;
    fold->runs = 0;
    if (!note_axes(fold, axis)) {
        return false;
    }
    for (int d = 0; d < fold->ndim; d++) {
        if (fold->folded[d]) {
            fold->count *= PyArray_DIM(x, d);
            fold->runs += d == 0 || !fold->folded[d - 1];
        }
    }
    return true;
}

/* The result's shape; returns its number of dimensions. */
static int shape_left(PyArrayObject *x, const Fold *fold, bool keep, npy_intp *shape)
{
    int ndim = 0;
    for (int d = 0; d < fold->ndim; d++) {
        if (!fold->folded[d]) {
            shape[ndim++] = PyArray_DIM(x, d);
        } else if (keep) {
            shape[ndim++] = 1;
        }
    }
    return ndim;
}

/* ---- folds */

#define FEW ((npy_intp)1 << 16) /* elements below which a thread has too little to do */
#define MOST_PARTS 16           /* not by the number of threads: a sum is the same for any */
#define NARROW ((npy_intp)1 << 12) /* elements of half precision that are made floats at a time */

/* The middle one of three dimensions folded, by leaves: blocks of it, for each of the leading ones. */
typedef struct {
    FoldMiddle fold;
    Map widen; /* of half precision; NULL for others */
    NarrowSum narrow_sum;
    const char *from;
    char *to;
    npy_intp lead, n, trail, blocks, parts;
    npy_intp item, wide; /* bytes of an element of the input, and of the result */
} Middle;

/* Leaves that lie one after the other in memory, folded at once. */
static void fold_leaves(const Middle *w, npy_intp first, npy_intp leads, npy_intp n, npy_intp start)
{
    const char *from = w->from + (first / w->blocks * w->n + start) * w->trail * w->item;
    char *to = w->to + first * w->trail * w->wide;
    if (w->widen == NULL) {
        w->fold(from, to, leads, n, w->trail);
        return;
    }
    if (w->trail > 1) {
        float floats[NARROW];
        w->widen(from, floats, leads * n * w->trail);
        w->fold(floats, to, leads, n, w->trail);
        return;
    }
    for (npy_intp i = 0; i < leads; i++) {
        ((float *)to)[i] = w->narrow_sum(from + i * n * w->item, n);
    }
}

static void fold_part(const void *work, ptrdiff_t i)
{
    const Middle *w = work;
    ptrdiff_t leaf, stop, start, end;
    part_of(w->lead * w->blocks, 1, w->parts, i, &leaf, &stop);
    while (leaf < stop) {
        npy_intp most = w->blocks > 1 ? 1 : w->widen == NULL ? stop - leaf : NARROW / (w->n * w->trail);
        npy_intp leads = stop - leaf < most ? stop - leaf : most;
        part_of(w->n, 1, w->blocks, leaf % w->blocks, &start, &end);
        fold_leaves(w, leaf, leads, end - start, start);
        leaf += leads;
    }
}

/* Into how many blocks the middle dimension is cut: enough for the threads, and short enough to be widened. */
static npy_intp blocks_of(const Middle *w, npy_intp parts)
{
    npy_intp blocks = w->lead < parts ? (parts + w->lead - 1) / w->lead : 1;
    if (w->widen != NULL) {
        npy_intp rows = NARROW / w->trail, least = (w->n + rows - 1) / rows;
        blocks = blocks > least ? blocks : least;
    }
    return blocks < w->n ? blocks : w->n;
}

/* False if there is no memory for the sums of blocks. */
static bool fold_middle(Middle w)
{
    npy_intp parts = w.lead * w.n * w.trail / FEW;
    w.parts = parts < 1 ? 1 : parts < MOST_PARTS ? parts : MOST_PARTS;
    w.blocks = blocks_of(&w, w.parts);
    if (w.blocks == 1) {
        w.parts = w.parts < w.lead ? w.parts : w.lead;
        run_chunks(fold_part, &w, w.parts);
        return true;
    }
    char *out = w.to;
    w.to = malloc((size_t)(w.lead * w.blocks * w.trail * w.wide));
    if (w.to == NULL) {
        return false;
    }
    run_chunks(fold_part, &w, w.parts);
    w.fold(w.to, out, w.lead, w.blocks, w.trail);
    free(w.to);
    return true;
}

/* Folds the runs of neighbouring dimensions, the last one first, each as the middle one of three dimensions. What is
 * left between two of them lies in one half of a buffer and then in the other. False if there is no memory for it. */
static bool fold_runs(Middle w, PyArrayObject *x, const Fold *fold, char *out)
{
    npy_intp half = 0;
    char *buffer = NULL;
    bool done = true;
    int d = fold->ndim;
    w.from = PyArray_BYTES(x);
    w.lead = PyArray_SIZE(x);
    w.trail = 1;
    for (int runs = fold->runs; done && runs > 0; runs--) {
        w.n = 1;
        for (; !fold->folded[d - 1]; d--) {
            w.trail *= PyArray_DIM(x, d - 1);
            w.lead /= PyArray_DIM(x, d - 1);
        }
        for (; d > 0 && fold->folded[d - 1]; d--) {
            w.n *= PyArray_DIM(x, d - 1);
            w.lead /= PyArray_DIM(x, d - 1);
        }
        w.to = out;
        if (runs > 1) {
            if (buffer == NULL) {
                half = w.lead * w.trail * w.wide;
                buffer = malloc(2 * (size_t)half);
                if (buffer == NULL) {
                    return false;
                }
            }
            w.to = buffer + runs % 2 * half;
        }
        done = fold_middle(w);
        w.from = w.to;
        w.item = w.wide;
        w.widen = NULL;
    }
    free(buffer);
    return done;
}

typedef enum { SUM, MEAN, PRODUCT } How;

/* Whether rows of half precision are short enough to be made floats in the cache. */
static bool is_narrow_enough(PyArrayObject *x, const Fold *fold)
{
    npy_intp trail = 1;
    for (int d = fold->ndim - 1; d >= 0 && !fold->folded[d]; d--) {
        trail *= PyArray_DIM(x, d);
    }
    return trail <= NARROW;
}

static PyObject *folded(PyObject *const *arguments, How how)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyObject *keep = arguments[2], *dtype = arguments[3];
    Map widen = x == NULL || how == PRODUCT ? NULL : widening_of(PyArray_DESCR(x));
    const Loops *loops = x == NULL ? NULL : widen != NULL ? loops_of[0] : loops_for(x);
    Fold fold;
    if (loops == NULL || PyArray_SIZE(x) == 0 || (keep != NULL && !PyBool_Check(keep))) {
        DECLINE;
    }
    if (!not_given(dtype) && dtype != (PyObject *)PyArray_DESCR(x)) {
        DECLINE;
    }
    if (!fold_of(x, arguments[1], &fold) || (widen != NULL && (fold.ndim == 0 || !is_narrow_enough(x, &fold)))) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = shape_left(x, &fold, keep == Py_True, shape);
    PyArrayObject *out = widen != NULL ? new_floats(ndim, shape) : new_array(x, ndim, shape);
    if (out == NULL) {
        return NULL;
    }
    bool done = true;
    BEGIN_WORK(PyArray_SIZE(x));
    if (fold.ndim == 0) {
        memcpy(PyArray_DATA(out), PyArray_DATA(x), (size_t)PyArray_ITEMSIZE(x));
    } else {
        Middle work = {
            .fold = how == PRODUCT ? loops->prod_middle : loops->sum_middle, .widen = widen,
            .narrow_sum = PyArray_TYPE(x) == NPY_HALF ? loops->sum_halves : loops->sum_brains,
            .item = PyArray_ITEMSIZE(x), .wide = PyArray_ITEMSIZE(out),
        };
        done = fold_runs(work, x, &fold, PyArray_BYTES(out));
    }
    if (how == MEAN) {
        loops->divide(PyArray_DATA(out), PyArray_SIZE(out), (double)fold.count);
    }
    END_WORK;
    if (!done) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    return widen == NULL ? (PyObject *)out : narrowed(out, PyArray_DESCR(x));
}

static PyObject *sum(PyObject *const *arguments)
{
    return folded(arguments, SUM);
}

static PyObject *mean(PyObject *const *arguments)
{
    return folded(arguments, MEAN);
}

static PyObject *prod(PyObject *const *arguments)
{
    return folded(arguments, PRODUCT);
}

static PyObject *total(PyObject *const *arguments)
{
    PyObject *all[] = {arguments[0], NULL, NULL, NULL};
    return folded(all, SUM);
}

/* ---- moments of few elements, where NumPy's calls would take longer than the arithmetic */

#define FEW_OF_MOMENTS 512

static double element(PyArrayObject *x, npy_intp i)
{
    return PyArray_TYPE(x) == NPY_FLOAT ? (double)((float *)PyArray_DATA(x))[i] : ((double *)PyArray_DATA(x))[i];
}

/* The mean of squared distances from the mean of n elements, or its root; `freedom` is what to divide by. */
static double moment_of(PyArrayObject *x, npy_intp from, npy_intp n, npy_intp step, double freedom, bool root)
{
    double mean = 0, total = 0;
    for (npy_intp i = 0; i < n; i++) {
        mean += element(x, from + i * step);
    }
    mean /= (double)n;
    for (npy_intp i = 0; i < n; i++) {
        double away = element(x, from + i * step) - mean;
        total += away * away;
    }
    total /= freedom;
    return root ? sqrt(total) : total;
}

static PyObject *moment(PyObject *const *arguments, bool root)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PyObject *keep = arguments[2];
    Fold fold;
    double correction;
    if (x == NULL || loops_for(x) == NULL || PyArray_SIZE(x) == 0 || PyArray_SIZE(x) > FEW_OF_MOMENTS || keep == NULL
        || !PyBool_Check(keep) || arguments[1] == NULL || arguments[3] == NULL || !as_number(arguments[3], &correction)
        || !fold_of(x, arguments[1], &fold) || fold.runs != 1) {
        DECLINE;
    }
    npy_intp shape[NPY_MAXDIMS], trail = 1, n = fold.count, at = 0;
    PyArrayObject *out = new_array(x, shape_left(x, &fold, keep == Py_True, shape), shape);
    if (out == NULL) {
        return NULL;
    }
    for (int d = fold.ndim - 1; !fold.folded[d]; d--) {
        trail *= PyArray_DIM(x, d);
    }
    double freedom = (double)n > correction ? (double)n - correction : 0;
    for (npy_intp start = 0; start < PyArray_SIZE(x); start += n * trail) {
        for (npy_intp j = 0; j < trail; j++, at++) {
            double found = moment_of(x, start + j, n, trail, freedom, root);
            if (PyArray_TYPE(x) == NPY_FLOAT) {
                ((float *)PyArray_DATA(out))[at] = (float)found;
            } else {
                ((double *)PyArray_DATA(out))[at] = found;
            }
        }
    }
    return (PyObject *)out;
}

static PyObject *variance(PyObject *const *arguments)
{
    return moment(arguments, false);
}

static PyObject *deviation(PyObject *const *arguments)
{
    return moment(arguments, true);
}

const Row REDUCE_ROWS[] = {
    {"variance", variance, {"x", "axis", "keepdims", "correction"}},
    {"deviation", deviation, {"x", "axis", "keepdims", "correction"}},
    {"sum", sum, {"x", "axis", "keepdims", "dtype"}},
    {"mean", mean, {"x", "axis", "keepdims", "dtype"}},
    {"prod", prod, {"x", "axis", "keepdims", "dtype"}},
    {"total", total, {"x"}},
    {NULL, NULL, {NULL}},
};
