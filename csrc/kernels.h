/* Declarations shared by all families of native kernels.
 *
 * A kernel does the common case of the NumPy kernel of its name: it checks its arguments, and returns NotImplemented for
 * any that it does not support. The NumPy kernel, which handles all cases, then takes over: a kernel here has to be
 * correct and fast, not general, and it never reports a wrong argument itself.
 */

#ifndef FLAMBEAU_KERNELS_H
#define FLAMBEAU_KERNELS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL flambeau_kernels_array_api
#ifndef FLAMBEAU_KERNELS_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdbool.h>
#include <stddef.h>

#include "loops.h"

#define MOST_PARAMETERS 10

typedef PyObject *(*Native)(PyObject *const *arguments); /* NULL where an argument was not given */

typedef struct {
    const char *name; /* also of the twin */
    Native native;
    const char *parameters[MOST_PARAMETERS]; /* the twin's, in its order */
} Row;

/* Each ends with a row without a name. */
extern const Row JOIN_ROWS[], REDUCE_ROWS[], SOFTMAX_ROWS[], NORM_ROWS[], NORM_ACT_ROWS[], POINTWISE_ROWS[],
    FINISH_ROWS[], DIVIDE_ROWS[], SCATTER_ROWS[], RANDOM_ROWS[], CONVERT_ROWS[], SELECT_ROWS[], OPTIM_ROWS[],
    POOL_ROWS[], RESAMPLE_ROWS[], PRODUCT_ROWS[], CONV_ROWS[], RNN_ROWS[], ATTENTION_ROWS[], LOSS_ROWS[], CTC_ROWS[],
    SHAPE_ROWS[], ARITHMETIC_ROWS[];

#define DECLINE Py_RETURN_NOTIMPLEMENTED

/* Elements from which other threads may run meanwhile; letting go of the interpreter costs as much as some hundreds. */
#define MANY 16384

#define BEGIN_WORK(elements) PyThreadState *others = (elements) >= MANY ? PyEval_SaveThread() : NULL
#define END_WORK do { if (others != NULL) PyEval_RestoreThread(others); } while (0)

/* The argument as an array whose elements lie in row-major order as C would have them; NULL if it is anything else. */
static inline PyArrayObject *plain_array(PyObject *x)
{
    if (x == NULL || !PyArray_CheckExact(x) || !PyArray_ISCARRAY_RO((PyArrayObject *)x)) {
        return NULL;
    }
    return (PyArrayObject *)x;
}

/* Whether the memory of two contiguous arrays overlaps. */
static inline bool share_memory(PyArrayObject *a, PyArrayObject *b)
{
    const char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    return x < y + PyArray_NBYTES(b) && y < x + PyArray_NBYTES(a);
}

/* The elements of an array, or NULL of None. */
static inline void *data_of(PyObject *x)
{
    return x == Py_None ? NULL : PyArray_DATA((PyArrayObject *)x);
}

static inline bool not_given(PyObject *x)
{
    return x == NULL || x == Py_None;
}

/* A new array of the given shape with the dtype of `like`; a large one in memory that is used again. */
PyArrayObject *new_array(PyArrayObject *like, int ndim, const npy_intp *shape);
PyArrayObject *new_array_of(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
PyArrayObject *new_places(int ndim, const npy_intp *shape); /* of 64-bit integers */
PyArrayObject *new_floats(int ndim, const npy_intp *shape);

/* The loop from a dtype of half precision to float; NULL for others. */
Map widening_of(PyArray_Descr *dtype);

/* Floats in a dtype of half precision; takes over the reference to them. NULL with an error. */
PyObject *narrowed(PyArrayObject *x, PyArray_Descr *dtype);

/* Before the first array; false, with an error, if NumPy's own memory was not to be had. */
bool prepare_arrays(void);

/* The product, or what it adds to what is there, by tiles of our own; says itself whether it is wide and direct. False
 * without the memory for it. */
bool sum_by_tiles(const Loops *loops, Gemm g);

/* Makes single products by tiles even where BLAS would be faster, for tests; whether that was so before. */
bool use_tiles_always(bool always);

/* For Python: who gives memory to NumPy's arrays in this context; None stands for what was said above. */
PyObject *exchange_handler(PyObject *module, PyObject *given);

/* The loops for the elements of `x`; NULL if there are none for its dtype. */
static inline const Loops *loops_for(const PyArrayObject *x)
{
    int type = PyArray_TYPE(x);
    return type == NPY_FLOAT ? loops_of[0] : type == NPY_DOUBLE ? loops_of[1] : NULL;
}

/* `x` in row-major order, itself or a copy (a new reference), if it has the shape and the dtype of `like`, as a gradient
 * has that may be broadcast. NULL, perhaps without an error, if it is anything else: see declined_or_failed. */
PyArrayObject *row_major(PyObject *x, PyArrayObject *like);

/* `x` in row-major order, itself or a copy (a new reference); NULL, perhaps without an error, as above. */
PyArrayObject *in_rows(PyObject *x);

static inline PyObject *declined_or_failed(void)
{
    if (PyErr_Occurred()) {
        return NULL;
    }
    DECLINE;
}

/* A kernel whose first array, `x`, may lie in memory as it likes, as gradients do. */
typedef PyObject *(*OnFirst)(PyArrayObject *x, PyObject *const *arguments);

static inline PyObject *on_first_in_rows(PyObject *const *arguments, OnFirst function)
{
    PyArrayObject *x = in_rows(arguments[0]);
    if (x == NULL) {
        return declined_or_failed();
    }
    PyObject *result = function(x, arguments);
    Py_DECREF(x);
    return result;
}

/* The integer in `x` into `*value`; false, without an error, if there is none or if it is too large. */
bool as_integer(PyObject *x, npy_intp *value);

/* The number in a Python float into `*value`. */
bool as_double(PyObject *x, double *value);

/* The same of a Python number, of integers only of those that a double holds. */
bool as_number(PyObject *x, double *value);

/* An axis counted from the front into `*axis`, as given by an integer that may count from the end. */
bool as_axis(PyObject *x, int ndim, int *axis);

/* A function of each element by its name, with its numbers, a tuple, into `numbers`; NULL where there is none for them. */
Curve curve_named(const Loops *loops, PyObject *name, PyObject *given, double *numbers);

/* What a tuple (scale, shift, name of a function, its numbers) says about sums of so many channels and the dtype of x; false
 * where that is for the twin to do. The first two may be None, and so may the name. */
bool read_finish(PyObject *given, PyArrayObject *x, npy_intp channels, Finish *f);

/* x finished into `out`, which it may be: planes of n elements each, their channels in turns. */
void finish_planes(const Finish *f, const Loops *loops, const char *x, char *out, ptrdiff_t planes, ptrdiff_t channels,
                   ptrdiff_t n);

#endif
