/* Epilogues of sums: a scale and a shift for each channel, and an activation. */

#include "kernels.h"

#include <math.h>

#include "threads.h"

/* Elements below which a thread has too little to do. */
enum { COSTLY = 1 << 14, CHEAP = 1 << 17 };

static bool is_vector(PyObject *given, PyArrayObject *x, npy_intp channels)
{
    PyArrayObject *v = plain_array(given);
    return v != NULL && PyArray_TYPE(v) == PyArray_TYPE(x) && PyArray_NDIM(v) == 1 && PyArray_DIM(v, 0) == channels;
}

bool read_finish(PyObject *given, PyArrayObject *x, npy_intp channels, Finish *f)
{
    const Loops *loops = loops_for(x);
    if (loops == NULL || !PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 4) {
        return false;
    }
    PyObject *scale = PyTuple_GET_ITEM(given, 0), *shift = PyTuple_GET_ITEM(given, 1), *name = PyTuple_GET_ITEM(given, 2);
    *f = (Finish){.low = -INFINITY, .high = INFINITY};
    if (scale != Py_None) {
        if (!is_vector(scale, x, channels) || !is_vector(shift, x, channels)) {
            return false;
        }
        f->scale = PyArray_DATA((PyArrayObject *)scale);
        f->shift = PyArray_DATA((PyArrayObject *)shift);
    }
    if (name == Py_None) {
        return true;
    }
    f->curve = curve_named(loops, name, PyTuple_GET_ITEM(given, 3), f->numbers);
    if (f->curve == NULL) {
        return false;
    }
    if (f->curve == loops->relu || f->curve == loops->clip) {
        f->low = f->curve == loops->relu ? 0 : f->numbers[0];
        f->high = f->curve == loops->relu ? INFINITY : f->numbers[1];
        f->curve = NULL;
    }
    return true;
}

typedef struct {
    const Finish *finish;
    const Loops *loops;
    const char *x;
    char *out;
    ptrdiff_t planes, channels, n, parts;
} Planes;

static void do_planes(const void *work, ptrdiff_t i)
{
    const Planes *w = work;
    ptrdiff_t start, stop;
    part_of(w->planes, 1, w->parts, i, &start, &stop);
    w->loops->finish_planes(w->finish, w->x, w->out, start, stop, w->channels, w->n);
}

void finish_planes(const Finish *f, const Loops *loops, const char *x, char *out, ptrdiff_t planes, ptrdiff_t channels,
                   ptrdiff_t n)
{
    Planes w = {f, loops, x, out, planes, channels, n, chunks_for(planes * n, f->curve == NULL ? CHEAP : COSTLY)};
    w.parts = w.parts < planes ? w.parts : planes;
    run_chunks(do_planes, &w, w.parts);
}

static PyObject *finish(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    Finish f;
    if (x == NULL || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0 || arguments[1] == NULL
        || !read_finish(arguments[1], x, PyArray_DIM(x, 1), &f)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        ptrdiff_t channels = PyArray_DIM(x, 1), planes = PyArray_DIM(x, 0) * channels;
        BEGIN_WORK(PyArray_SIZE(x));
        finish_planes(&f, loops_for(x), PyArray_BYTES(x), PyArray_BYTES(out), planes, channels, PyArray_SIZE(x) / planes);
        END_WORK;
    }
    return (PyObject *)out;
}

const Row FINISH_ROWS[] = {
    {"finish", finish, {"x", "how"}},
    {NULL, NULL, {NULL}},
};
