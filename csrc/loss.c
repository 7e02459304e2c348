/* Negative log-likelihood: minus the score of the target class in each row. */

#include "kernels.h"

#include <string.h>

typedef enum { NONE, SUM, MEAN } Reduction;

/* Rows of scores for `classes` classes, with the number of the right one for each. */
typedef struct {
    const int64_t *target;
    npy_intp rows, classes, ignore;
    Reduction reduction;
    npy_intp counted; /* rows that are not to be ignored */
} Classes;

static bool read_classes(PyObject *of_target, PyObject *ignore, PyObject *reduction, npy_intp classes, Classes *c)
{
    PyArrayObject *target = plain_array(of_target);
    if (target == NULL || PyArray_TYPE(target) != NPY_INT64 || PyArray_NDIM(target) != 1 || classes < 1
        || !as_integer(ignore, &c->ignore) || reduction == NULL || !PyUnicode_Check(reduction)) {
        return false;
    }
    c->reduction = PyUnicode_CompareWithASCIIString(reduction, "mean") == 0   ? MEAN
                   : PyUnicode_CompareWithASCIIString(reduction, "sum") == 0 ? SUM
                                                                             : NONE;
    c->target = PyArray_DATA(target);
    c->rows = PyArray_SIZE(target);
    c->classes = classes;
    c->counted = 0;
    for (npy_intp i = 0; i < c->rows; i++) {
        bool counts = c->target[i] != c->ignore;
        if (counts && (c->target[i] < 0 || c->target[i] >= classes)) {
            return false; /* for the twin to refuse */
        }
        c->counted += counts;
    }
    return true;
}

static double number_at(const void *x, npy_intp i, bool doubles)
{
    return doubles ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void set_number(void *x, npy_intp i, bool doubles, double value)
{
    if (doubles) {
        ((double *)x)[i] = value;
    } else {
        ((float *)x)[i] = (float)value;
    }
}

static PyObject *nll_of_rows(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    Classes c;
    if (x == NULL || loops_for(x) == NULL || PyArray_NDIM(x) != 2
        || !read_classes(arguments[1], arguments[2], arguments[3], PyArray_DIM(x, 1), &c)
        || c.rows != PyArray_DIM(x, 0)) {
        DECLINE;
    }
    bool doubles = PyArray_TYPE(x) == NPY_DOUBLE, single = c.reduction != NONE;
    PyArrayObject *loss = new_array(x, single ? 0 : 1, &c.rows), *total = new_array(x, 0, NULL);
    if (loss == NULL || total == NULL) {
        Py_XDECREF(loss);
        Py_XDECREF(total);
        return NULL;
    }
    double sum = 0;
    for (npy_intp i = 0; i < c.rows; i++) {
        double each = 0;
        if (c.target[i] != c.ignore) {
            each = -number_at(PyArray_DATA(x), i * c.classes + c.target[i], doubles);
        }
        sum += each;
        if (!single) {
            set_number(PyArray_DATA(loss), i, doubles, each);
        }
    }
    if (single) {
        set_number(PyArray_DATA(loss), 0, doubles, c.reduction == MEAN ? sum / (double)c.counted : sum);
    }
    set_number(PyArray_DATA(total), 0, doubles, (double)c.counted);
    return Py_BuildValue("NN", loss, total);
}

static PyObject *nll_of_rows_pull(PyObject *const *arguments)
{
    PyArrayObject *g = plain_array(arguments[0]);
    npy_intp classes;
    Classes c;
    if (g == NULL || loops_for(g) == NULL || !as_integer(arguments[4], &classes)
        || !read_classes(arguments[1], arguments[2], arguments[3], classes, &c)
        || PyArray_SIZE(g) != (c.reduction == NONE ? c.rows : 1) || PyArray_NDIM(g) != (c.reduction == NONE)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(g, 2, (npy_intp[]){c.rows, classes});
    if (out == NULL) {
        return NULL;
    }
    bool doubles = PyArray_TYPE(g) == NPY_DOUBLE;
    double share = c.reduction == MEAN ? -1 / (double)c.counted : -1;
    memset(PyArray_DATA(out), 0, (size_t)PyArray_NBYTES(out));
    for (npy_intp i = 0; i < c.rows; i++) {
        if (c.target[i] != c.ignore) {
            double own = number_at(PyArray_DATA(g), c.reduction == NONE ? i : 0, doubles);
            set_number(PyArray_DATA(out), i * classes + c.target[i], doubles, own * share);
        }
    }
    return (PyObject *)out;
}

const Row LOSS_ROWS[] = {
    {"nll_of_rows", nll_of_rows, {"x", "target", "ignore", "reduction"}},
    {"nll_of_rows_pull", nll_of_rows_pull, {"g", "target", "ignore", "reduction", "classes"}},
    {NULL, NULL, {NULL}},
};
