/* Elementwise binary arithmetic with broadcasting: add, subtract, multiply, divide and others. */

#include "kernels.h"

#include "threads.h"

#define FEW (1 << 17) /* elements below which a thread has too little to do */

/* Runs of neighbours in the result: in each, neighbours in x and y too, or one element of them. The runs are counted by
 * a few dimensions, along which the operands move by their steps, in bytes. */
typedef struct {
    Operation operation;
    const char *x, *y;
    char *out;
    npy_intp item, run, runs, parts;
    bool one_x, one_y;
    int ndim;
    npy_intp shape[NPY_MAXDIMS], steps_x[NPY_MAXDIMS], steps_y[NPY_MAXDIMS];
} Operands;

static void do_runs(const void *work, ptrdiff_t part)
{
    const Operands *w = work;
    ptrdiff_t start, stop;
    if (w->runs == 1) {
        part_of(w->run, 64, w->parts, part, &start, &stop);
        w->operation(w->x + (w->one_x ? 0 : start * w->item), w->y + (w->one_y ? 0 : start * w->item),
                     w->out + start * w->item, stop - start, w->one_x, w->one_y);
        return;
    }
    part_of(w->runs, 1, w->parts, part, &start, &stop);
    npy_intp at[NPY_MAXDIMS];
    const char *x = w->x, *y = w->y;
    ptrdiff_t rest = start;
    for (int d = w->ndim - 1; d >= 0; d--) {
        at[d] = rest % w->shape[d];
        rest /= w->shape[d];
        x += at[d] * w->steps_x[d];
        y += at[d] * w->steps_y[d];
    }
    for (ptrdiff_t i = start; i < stop; i++) {
        w->operation(x, y, w->out + i * w->run * w->item, w->run, w->one_x, w->one_y);
        for (int d = w->ndim - 1; d >= 0; d--) {
            x += w->steps_x[d];
            y += w->steps_y[d];
            if (++at[d] < w->shape[d]) {
                break;
            }
            x -= at[d] * w->steps_x[d];
            y -= at[d] * w->steps_y[d];
            at[d] = 0;
        }
    }
}

/* How many elements an operand has along dimension `d` of the result, and how far apart they are: 0 if it is one. */
static npy_intp along(PyArrayObject *x, int d, int ndim, npy_intp *step)
{
    int own = d - (ndim - PyArray_NDIM(x));
    npy_intp n = own < 0 ? 1 : PyArray_DIM(x, own);
    *step = n == 1 ? 0 : PyArray_STRIDE(x, own);
    return n;
}

/* Describes the operands with as few dimensions as possible, and their result; false where they do not broadcast. */
static bool describe(Operands *w, PyArrayObject *x, PyArrayObject *y, int ndim, npy_intp *shape)
{
    npy_intp sizes[NPY_MAXDIMS + 1], steps_x[NPY_MAXDIMS + 1], steps_y[NPY_MAXDIMS + 1];
    int count = 0; /* of merged dimensions, innermost first */
    for (int d = ndim - 1; d >= 0; d--) {
        npy_intp step_x, step_y, of_x = along(x, d, ndim, &step_x), of_y = along(y, d, ndim, &step_y);
        npy_intp n = shape[d] = of_x == 1 ? of_y : of_x;
        if (of_y != n && of_y != 1) {
            return false;
        }
        if (n == 1) {
            continue;
        }
        if (count > 0 && step_x == steps_x[count - 1] * sizes[count - 1]
            && step_y == steps_y[count - 1] * sizes[count - 1]) {
            sizes[count - 1] *= n;
            continue;
        }
        sizes[count] = n;
        steps_x[count] = step_x;
        steps_y[count] = step_y;
        count++;
    }
    w->run = count == 0 ? 1 : sizes[0];
    w->one_x = count == 0 || steps_x[0] == 0;
    w->one_y = count == 0 ? false : steps_y[0] == 0;
    w->ndim = count == 0 ? 0 : count - 1;
    w->runs = 1;
    for (int d = 0; d < w->ndim; d++) {
        int from = count - 1 - d;
        w->shape[d] = sizes[from];
        w->steps_x[d] = steps_x[from];
        w->steps_y[d] = steps_y[from];
        w->runs *= sizes[from];
    }
    return true;
}

/* `loop` is an offset in Loops. */
static PyObject *computed(PyObject *const *arguments, size_t loop)
{
    PyArrayObject *x = plain_array(arguments[0]), *y = plain_array(arguments[1]);
    const Loops *loops = x == NULL || y == NULL || PyArray_DESCR(x) != PyArray_DESCR(y) ? NULL : loops_for(x);
    if (loops == NULL) {
        DECLINE;
    }
    int ndim = PyArray_NDIM(x) > PyArray_NDIM(y) ? PyArray_NDIM(x) : PyArray_NDIM(y);
    npy_intp shape[NPY_MAXDIMS];
    Operands work;
    if (!describe(&work, x, y, ndim, shape) || (work.run < 4 && work.runs > 1024 && (work.one_x || work.one_y))) {
        DECLINE; /* the last: NumPy turns the loops */
    }
    PyArrayObject *out = new_array(x, ndim, shape);
    if (out == NULL || PyArray_SIZE(out) == 0) {
        return (PyObject *)out;
    }
    work.operation = *(const Operation *)((const char *)loops + loop);
    work.x = PyArray_BYTES(x);
    work.y = PyArray_BYTES(y);
    work.out = PyArray_BYTES(out);
    work.item = PyArray_ITEMSIZE(x);
    work.parts = chunks_for(PyArray_SIZE(out), FEW);
    BEGIN_WORK(PyArray_SIZE(out));
    run_chunks(do_runs, &work, work.parts);
    END_WORK;
    return (PyObject *)out;
}

#define KERNEL(name, loop) \
    static PyObject *name(PyObject *const *arguments) \
    { \
        return computed(arguments, offsetof(Loops, loop)); \
    }

KERNEL(add, add)
KERNEL(subtract, subtract)
KERNEL(multiply, multiply)
KERNEL(divide, divide_by)
KERNEL(hypot_of, hypot)
KERNEL(logaddexp, logaddexp)

const Row ARITHMETIC_ROWS[] = {
    {"add", add, {"x", "y"}},
    {"subtract", subtract, {"x", "y"}},
    {"multiply", multiply, {"x", "y"}},
    {"divide", divide, {"x", "y"}},
    {"hypot", hypot_of, {"x", "y"}},
    {"logaddexp", logaddexp, {"x", "y"}},
    {NULL, NULL, {NULL}},
};
