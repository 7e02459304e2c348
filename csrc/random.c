/* Random numbers from a Mersenne Twister, consumed and converted as in PyTorch, so that a seed gives its numbers. */

#include "kernels.h"

#include <numpy/random/bitgen.h>

/* The source of words of a flambeau Generator, which is noted as used; NULL, perhaps with an error, if it is not one.
 * The caller holds the generator's lock. */
static bitgen_t *words_of(PyObject *generator)
{
    static PyObject *capsule_name = NULL, *untouched_name = NULL;
    if (capsule_name == NULL) {
        capsule_name = PyUnicode_InternFromString("_capsule");
        untouched_name = PyUnicode_InternFromString("_untouched");
    }
    if (generator == NULL || capsule_name == NULL || untouched_name == NULL) {
        return NULL;
    }
    PyObject *capsule = PyObject_GetAttr(generator, capsule_name);
    if (capsule == NULL) {
        PyErr_Clear();
        return NULL;
    }
    bitgen_t *words = NULL;
    if (PyCapsule_IsValid(capsule, "BitGenerator") && PyObject_SetAttr(generator, untouched_name, Py_False) == 0) {
        words = PyCapsule_GetPointer(capsule, "BitGenerator"); /* it lives as long as the generator */
    }
    Py_DECREF(capsule);
    return words;
}

static uint32_t word32(bitgen_t *words)
{
    return words->next_uint32(words->state);
}

static uint64_t word64(bitgen_t *words)
{
    uint64_t high = word32(words);
    return high << 32 | word32(words);
}

/* An array with elements that can be written in the order in which they lie; NULL if the argument is none. */
static PyArrayObject *target_of(PyObject *given)
{
    PyArrayObject *out = plain_array(given);
    return out != NULL && PyArray_ISWRITEABLE(out) && PyArray_SIZE(out) > 0 ? out : NULL;
}

static void unit_floats(bitgen_t *words, float *out, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        out[i] = (float)(int32_t)(word32(words) & 0xFFFFFF) * 0x1p-24f;
    }
}

static void unit_doubles(bitgen_t *words, double *out, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        out[i] = (double)(int64_t)(word64(words) & 0x1FFFFFFFFFFFFF) * 0x1p-53;
    }
}

static PyObject *fill_units(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1]);
    if (out == NULL || loops_for(out) == NULL) {
        DECLINE;
    }
    bitgen_t *words = words_of(arguments[0]);
    if (words == NULL) {
        return declined_or_failed();
    }
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    if (PyArray_TYPE(out) == NPY_FLOAT) {
        unit_floats(words, PyArray_DATA(out), n);
    } else {
        unit_doubles(words, PyArray_DATA(out), n);
    }
    END_WORK;
    Py_RETURN_NONE;
}

static PyObject *fill_normals(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1]);
    if (out == NULL || PyArray_TYPE(out) != NPY_FLOAT || PyArray_SIZE(out) < 16) {
        DECLINE;
    }
    bitgen_t *words = words_of(arguments[0]);
    if (words == NULL) {
        return declined_or_failed();
    }
    const Loops *loops = loops_for(out);
    npy_intp n = PyArray_SIZE(out);
    float *x = PyArray_DATA(out);
    BEGIN_WORK(n);
    unit_floats(words, x, n);
    loops->box_muller(x, n / 16);
    if (n % 16 != 0) { /* the last sixteen are drawn again, as a block */
        unit_floats(words, x + n - 16, 16);
        loops->box_muller(x + n - 16, 1);
    }
    END_WORK;
    Py_RETURN_NONE;
}

/* low + word % count, with words of 64 bits if `wide`; sums wrap around. */
static PyObject *fill_integers(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1]);
    npy_intp low, count;
    PyObject *wide = arguments[4];
    if (out == NULL || PyArray_TYPE(out) != NPY_INT64 || !as_integer(arguments[2], &low)
        || !as_integer(arguments[3], &count) || count <= 0 || wide == NULL || !PyBool_Check(wide)) {
        DECLINE;
    }
    bitgen_t *words = words_of(arguments[0]);
    if (words == NULL) {
        return declined_or_failed();
    }
    uint64_t *values = PyArray_DATA(out);
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    for (npy_intp i = 0; i < n; i++) {
        uint64_t word = wide == Py_True ? word64(words) : word32(words);
        values[i] = (uint64_t)low + word % (uint64_t)count;
    }
    END_WORK;
    Py_RETURN_NONE;
}

/* Fisher and Yates: each place is swapped with one among itself and those after it. */
static PyObject *fill_permutation(PyObject *const *arguments)
{
    PyArrayObject *out = target_of(arguments[1]);
    if (out == NULL || PyArray_TYPE(out) != NPY_INT64 || PyArray_SIZE(out) < 2 || PyArray_SIZE(out) > UINT32_MAX) {
        DECLINE;
    }
    bitgen_t *words = words_of(arguments[0]);
    if (words == NULL) {
        return declined_or_failed();
    }
    int64_t *order = PyArray_DATA(out);
    npy_intp n = PyArray_SIZE(out);
    BEGIN_WORK(n);
    for (npy_intp i = 0; i < n; i++) {
        order[i] = i;
    }
    for (npy_intp i = 0; i < n - 1; i++) {
        npy_intp other = i + word32(words) % (uint32_t)(n - i);
        int64_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    END_WORK;
    Py_RETURN_NONE;
}

const Row RANDOM_ROWS[] = {
    {"fill_units", fill_units, {"generator", "out"}},
    {"fill_normals", fill_normals, {"generator", "out"}},
    {"fill_integers", fill_integers, {"generator", "out", "low", "count", "wide"}},
    {"fill_permutation", fill_permutation, {"generator", "out"}},
    {NULL, NULL, {NULL}},
};
