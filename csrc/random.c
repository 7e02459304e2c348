/* Random numbers from a Mersenne Twister, consumed and converted as in PyTorch, so that a seed gives its numbers. */

#include "kernels.h"

#include <math.h>
#include <numpy/random/bitgen.h>

#include "draws.h"

enum { CAPSULE, UNTOUCHED, LOCK, NEXT_NORMAL, ACQUIRE, RELEASE, ATTRIBUTES };

/* The name of an attribute, as an interned string; NULL with an error. */
static PyObject *attribute(int which)
{
    static const char *const names[ATTRIBUTES] = {"_capsule", "_untouched", "_lock", "_next_normal", "acquire", "release"};
    static PyObject *interned[ATTRIBUTES];
    if (interned[which] == NULL) {
        interned[which] = PyUnicode_InternFromString(names[which]);
    }
    return interned[which];
}

static PyObject *read_attribute(PyObject *generator, int which)
{
    PyObject *name = attribute(which);
    return generator == NULL || name == NULL ? NULL : PyObject_GetAttr(generator, name);
}

static bool set_attribute(PyObject *generator, int which, PyObject *value)
{
    PyObject *name = attribute(which);
    return name != NULL && PyObject_SetAttr(generator, name, value) == 0;
}

/* The source of words of a flambeau Generator, which is noted as used; NULL, perhaps with an error, if it is not one.
 * The caller holds the generator's lock. */
static Twister *twister_of(PyObject *generator)
{
    PyObject *capsule = read_attribute(generator, CAPSULE);
    if (capsule == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Twister *t = NULL;
    if (PyCapsule_IsValid(capsule, "BitGenerator")) { /* it lives as long as the generator */
        t = ((bitgen_t *)PyCapsule_GetPointer(capsule, "BitGenerator"))->state;
    }
    Py_DECREF(capsule);
    if (t != NULL && t->next >= WORDS && !set_attribute(generator, UNTOUCHED, Py_False)) { /* it is only before a turn */
        return NULL;
    }
    return t;
}

/* Acquires a generator's lock, and returns it; NULL, perhaps with an error, if it has none. */
static PyObject *locked(PyObject *generator)
{
    PyObject *lock = read_attribute(generator, LOCK), *name = attribute(ACQUIRE);
    PyObject *done = lock == NULL || name == NULL ? NULL : PyObject_CallMethodNoArgs(lock, name);
    if (done == NULL) {
        Py_CLEAR(lock);
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        }
    }
    Py_XDECREF(done);
    return lock;
}

static bool unlocked(PyObject *lock)
{
    PyObject *type, *value, *trace; /* of an error so far */
    PyErr_Fetch(&type, &value, &trace);
    PyObject *name = attribute(RELEASE), *done = name == NULL ? NULL : PyObject_CallMethodNoArgs(lock, name);
    Py_DECREF(lock);
    if (done == NULL) {
        return false;
    }
    Py_DECREF(done);
    PyErr_Restore(type, value, trace);
    return true;
}

/* ---- normals */

/* One after the other in pairs, of which the second may have waited in the generator, or may be left there. */
static bool single_normals(PyObject *generator, Twister *t, double *out, npy_intp n)
{
    double next = 0, units[2];
    PyObject *before = read_attribute(generator, NEXT_NORMAL);
    bool waits = before != NULL && as_double(before, &next);
    Py_XDECREF(before);
    if (before == NULL) {
        return false;
    }
    for (npy_intp i = 0; i < n; i++, waits = !waits) {
        if (waits) {
            out[i] = next;
            continue;
        }
        unit_doubles(t, units, 2);
        double angle = TURN * units[0], radius = sqrt(-2 * log1p(-units[1]));
        next = radius * sin(angle);
        out[i] = radius * cos(angle);
    }
    PyObject *after = waits ? PyFloat_FromDouble(next) : Py_NewRef(Py_None);
    bool done = after != NULL && set_attribute(generator, NEXT_NORMAL, after);
    Py_XDECREF(after);
    return done;
}

#define FEW_NORMALS 16
#define EXACT_UP_TO 1024 /* doubles, whose last bit can be seen; of more, NumPy's functions are faster */

static bool has_normals(PyArrayObject *out)
{
    npy_intp n = PyArray_SIZE(out);
    return PyArray_TYPE(out) == NPY_FLOAT || (PyArray_TYPE(out) == NPY_DOUBLE && n <= EXACT_UP_TO);
}

static bool few_normals(PyObject *generator, Twister *t, PyArrayObject *out, double mean, double std)
{
    double normals[FEW_NORMALS];
    npy_intp n = PyArray_SIZE(out);
    if (!single_normals(generator, t, normals, n)) {
        return false;
    }
    if (mean != 0 || std != 1) {
        scale_doubles(normals, n, std, mean);
    }
    for (npy_intp i = 0; i < n; i++) {
        if (PyArray_TYPE(out) == NPY_FLOAT) {
            ((float *)PyArray_DATA(out))[i] = (float)normals[i];
        } else {
            ((double *)PyArray_DATA(out))[i] = normals[i];
        }
    }
    return true;
}

/* ---- kernels */

typedef struct {
    double low, high;      /* also mean and standard deviation; a probability and what its zeros and ones are divided by */
    uint64_t first, count; /* of integers */
} How;

/* Fills an array that is not empty; false with an error. */
typedef bool (*Fill)(PyObject *generator, Twister *t, PyArrayObject *out, const How *how);

static bool fill_uniforms(PyObject *generator, Twister *t, PyArrayObject *out, const How *how)
{
    (void)generator;
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    if (PyArray_TYPE(out) == NPY_FLOAT) {
        uniform_floats(t, PyArray_DATA(out), n, how->low, how->high);
    } else {
        uniform_doubles(t, PyArray_DATA(out), n, how->low, how->high);
    }
    END_WORK;
    return true;
}

static bool fill_gaussians(PyObject *generator, Twister *t, PyArrayObject *out, const How *how)
{
    npy_intp n = PyArray_SIZE(out);
    if (n < FEW_NORMALS) {
        return few_normals(generator, t, out, how->low, how->high);
    }
    BEGIN_WORK(n);
    if (PyArray_TYPE(out) == NPY_FLOAT) {
        normal_floats(t, PyArray_DATA(out), n, how->low, how->high);
    } else {
        normal_doubles(t, PyArray_DATA(out), n, how->low, how->high);
    }
    END_WORK;
    return true;
}

static bool fill_whole(PyObject *generator, Twister *t, PyArrayObject *out, const How *how)
{
    (void)generator;
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    draw_integers(t, PyArray_DATA(out), n, how->first, how->count, PyArray_TYPE(out));
    END_WORK;
    return true;
}

static bool fill_order(PyObject *generator, Twister *t, PyArrayObject *out, const How *how)
{
    (void)generator;
    (void)how;
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    draw_order(t, PyArray_DATA(out), n);
    END_WORK;
    return true;
}

static bool fill_chances(PyObject *generator, Twister *t, PyArrayObject *out, const How *how)
{
    (void)generator;
    npy_intp n = PyArray_SIZE(out);
    uint64_t limit = (uint64_t)ceil(how->low * 0x1p53), words[PAIRS];
    float *floats = PyArray_TYPE(out) == NPY_FLOAT ? PyArray_DATA(out) : NULL;
    double *doubles = PyArray_DATA(out);
    BEGIN_WORK(n);
    for (npy_intp start = 0, some; start < n; start += some) {
        some = n - start < PAIRS ? n - start : PAIRS;
        take_wide_words(t, words, some);
        for (npy_intp i = 0; i < some; i++) {
            words[i] = (words[i] & 0x1FFFFFFFFFFFFF) < limit;
        }
        for (npy_intp i = 0; i < some && floats != NULL; i++) {
            floats[start + i] = (float)(int32_t)words[i] * (1.0f / (float)how->high);
        }
        for (npy_intp i = 0; i < some && floats == NULL; i++) {
            doubles[start + i] = (double)(int32_t)words[i] * (1.0 / how->high);
        }
    }
    END_WORK;
    return true;
}

/* Fills an array for someone who holds the generator's lock. */
static PyObject *filled(PyObject *generator, PyArrayObject *out, Fill fill, const How *how)
{
    Twister *t = twister_of(generator);
    if (t == NULL) {
        return declined_or_failed();
    }
    return fill(generator, t, out, how) ? Py_NewRef(Py_None) : NULL;
}

/* Fills a new array, whose reference this takes over; without one, declines. */
static PyObject *drawn(PyObject *generator, PyArrayObject *out, Fill fill, const How *how)
{
    if (out == NULL || PyArray_SIZE(out) == 0) {
        return out == NULL ? declined_or_failed() : (PyObject *)out;
    }
    PyObject *lock = locked(generator);
    PyObject *done = lock == NULL ? declined_or_failed() : filled(generator, out, fill, how);
    if (lock != NULL && !unlocked(lock)) {
        Py_CLEAR(done);
    }
    if (done != Py_None) {
        Py_DECREF(out);
        return done;
    }
    Py_DECREF(done);
    return (PyObject *)out;
}

typedef enum { REALS, NUMBERS, PLACES } Kind;

static bool is_of(Kind kind, int type)
{
    if (type == NPY_FLOAT || type == NPY_DOUBLE) {
        return kind != PLACES;
    }
    return (type == NPY_INT64 && kind != REALS) || (type == NPY_INT32 && kind == NUMBERS);
}

/* An array with elements that can be written in the order in which they lie; NULL if the argument is none. */
static PyArrayObject *target_of(PyObject *given, Kind kind)
{
    PyArrayObject *out = plain_array(given);
    return out != NULL && PyArray_ISWRITEABLE(out) && PyArray_SIZE(out) > 0 && is_of(kind, PyArray_TYPE(out)) ? out : NULL;
}

/* A new array of a shape and a dtype; NULL, without an error, for others. */
static PyArrayObject *blank(PyObject *shape, PyObject *dtype, Kind kind)
{
    npy_intp sizes[NPY_MAXDIMS];
    if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS || dtype == NULL
        || !PyArray_DescrCheck(dtype) || !PyArray_ISNBO(((PyArray_Descr *)dtype)->byteorder)) {
        return NULL;
    }
    int ndim = (int)PyTuple_GET_SIZE(shape), number = ((PyArray_Descr *)dtype)->type_num;
    for (int i = 0; i < ndim; i++) {
        if (!as_integer(PyTuple_GET_ITEM(shape, i), &sizes[i]) || sizes[i] < 0) {
            return NULL;
        }
    }
    PyArrayObject *out = is_of(kind, number) ? new_array_of((PyArray_Descr *)dtype, ndim, sizes) : NULL;
    if (out == NULL) {
        PyErr_Clear(); /* the twin says how much memory there is not */
    }
    return out;
}

static PyObject *fill_between(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1], REALS);
    How how;
    if (out == NULL || !as_number(arguments[2], &how.low) || !as_number(arguments[3], &how.high)) {
        DECLINE;
    }
    return filled(arguments[0], out, fill_uniforms, &how);
}

static PyObject *new_uniform(PyObject *const *arguments)
{
    How how;
    if (!as_number(arguments[3], &how.low) || !as_number(arguments[4], &how.high) || how.low != 0 || how.high != 1) {
        DECLINE; /* other bounds have to be checked */
    }
    return drawn(arguments[0], blank(arguments[1], arguments[2], REALS), fill_uniforms, &how);
}

static PyObject *fill_normals(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1], REALS);
    How how;
    if (out == NULL || !has_normals(out) || !as_number(arguments[2], &how.low) || !as_number(arguments[3], &how.high)) {
        DECLINE;
    }
    return filled(arguments[0], out, fill_gaussians, &how);
}

static PyObject *new_normal(PyObject *const *arguments)
{
    How how;
    if (!as_number(arguments[3], &how.low) || !as_number(arguments[4], &how.high) || !(how.high >= 0)) {
        DECLINE;
    }
    PyArrayObject *out = blank(arguments[1], arguments[2], REALS);
    if (out != NULL && !has_normals(out)) {
        Py_CLEAR(out);
    }
    return drawn(arguments[0], out, fill_gaussians, &how);
}

/* low + word % count, with words of 64 bits if `wide`; sums wrap around. */
static PyObject *fill_integers(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1], NUMBERS);
    npy_intp low, count;
    if (out == NULL || !as_integer(arguments[2], &low) || !as_integer(arguments[3], &count) || count <= 0
        || arguments[4] != (count >= WIDE ? Py_True : Py_False)) {
        DECLINE;
    }
    How how = {.first = (uint64_t)low, .count = (uint64_t)count};
    return filled(arguments[0], out, fill_whole, &how);
}

#define EXACT_IN_FLOATS (1 << 24)

static bool has_wide_integers(PyObject *dtype)
{
    return dtype != NULL && PyArray_DescrCheck(dtype) && ((PyArray_Descr *)dtype)->type_num == NPY_INT64;
}

static PyObject *new_random(PyObject *const *arguments)
{
    npy_intp low, high;
    if (!as_integer(arguments[3], &low) || !as_integer(arguments[4], &high) || low >= high) {
        DECLINE;
    }
    How how = {.first = (uint64_t)low, .count = (uint64_t)high - (uint64_t)low};
    if ((low < -EXACT_IN_FLOATS || high > EXACT_IN_FLOATS) && !has_wide_integers(arguments[2])) {
        DECLINE; /* the twin checks bounds */
    }
    return drawn(arguments[0], blank(arguments[1], arguments[2], NUMBERS), fill_whole, &how);
}

static bool is_short_order(PyArrayObject *out)
{
    return PyArray_NDIM(out) == 1 && PyArray_SIZE(out) != 1 && PyArray_SIZE(out) < UINT32_MAX / 20;
}

static PyObject *fill_permutation(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1], PLACES);
    if (out == NULL || !is_short_order(out)) {
        DECLINE;
    }
    return filled(arguments[0], out, fill_order, NULL);
}

static PyObject *new_permutation(PyObject *const *arguments)
{
    PyArrayObject *out = blank(arguments[1], arguments[2], PLACES);
    if (out != NULL && !is_short_order(out)) {
        Py_CLEAR(out);
    }
    return drawn(arguments[0], out, fill_order, NULL);
}

/* With probability p one, divided by a number, and zero otherwise. */
static PyObject *fill_successes(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1], REALS);
    How how;
    if (out == NULL || !as_number(arguments[2], &how.low) || !as_number(arguments[3], &how.high)) {
        DECLINE;
    }
    return filled(arguments[0], out, fill_chances, &how);
}

const Row RANDOM_ROWS[] = {
    {"fill_between", fill_between, {"generator", "out", "low", "high"}},
    {"new_uniform", new_uniform, {"generator", "shape", "dtype", "low", "high"}},
    {"fill_normals", fill_normals, {"generator", "out", "mean", "std"}},
    {"new_normal", new_normal, {"generator", "shape", "dtype", "mean", "std"}},
    {"fill_integers", fill_integers, {"generator", "out", "low", "count", "wide"}},
    {"new_random", new_random, {"generator", "shape", "dtype", "low", "high"}},
    {"fill_permutation", fill_permutation, {"generator", "out"}},
    {"new_permutation", new_permutation, {"generator", "shape", "dtype"}},
    {"fill_successes", fill_successes, {"generator", "out", "p", "by"}},
    {NULL, NULL, {NULL}},
};
