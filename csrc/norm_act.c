/* Batch norm fused with a piecewise linear activation, and the gradient of both. */

#include "norm.h"

static bool is_of_channels(PyObject *given, PyArrayObject *x)
{
    PyArrayObject *v = plain_array(given);
    return v != NULL && PyArray_TYPE(v) == PyArray_TYPE(x) && PyArray_SIZE(v) == PyArray_DIM(x, 1);
}

/* What is known of a call: x, some vectors of channels, eps and (low, high, slope); NULL where that is for the twin to do. */
static const Loops *read_norm(PyArrayObject *x, PyObject *const *vectors, int count, PyObject *eps, PyObject *act,
                              PlaneNorm *p)
{
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    if (loops == NULL || PyArray_NDIM(x) < 3 || PyArray_SIZE(x) == 0 || !as_double(eps, &p->eps)
        || act == NULL || !PyTuple_CheckExact(act) || PyTuple_GET_SIZE(act) != 3
        || !as_double(PyTuple_GET_ITEM(act, 0), &p->act.low) || !as_double(PyTuple_GET_ITEM(act, 1), &p->act.high)
        || !as_double(PyTuple_GET_ITEM(act, 2), &p->act.slope)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (!is_of_channels(vectors[i], x)) {
            return NULL;
        }
    }
    p->x = PyArray_DATA(x);
    p->channels = p->statistics = p->owners = p->step = PyArray_DIM(x, 1);
    p->planes = PyArray_DIM(x, 0);
    p->first = 1;
    p->n = PyArray_SIZE(x) / (p->channels * p->planes);
    p->grouped = true; /* a channel has nothing to do with the next, whatever the size of its planes */
    return loops;
}

static PyObject *normalize_act(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PlaneNorm p = {0};
    const Loops *loops = read_norm(x, arguments + 1, 2, arguments[3], arguments[4], &p);
    if (loops == NULL) {
        DECLINE;
    }
    int ndim = PyArray_NDIM(x);
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == 1 ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *y = new_array(x, ndim, PyArray_DIMS(x));
    PyArrayObject *mean = new_array(x, ndim, shape), *var = new_array(x, ndim, shape);
    if (y == NULL || mean == NULL || var == NULL) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(var);
        return NULL;
    }
    p.weight = data_of(arguments[1]);
    p.bias = data_of(arguments[2]);
    p.out = PyArray_DATA(y);
    p.mean = PyArray_DATA(mean);
    p.var = PyArray_DATA(var);
    BEGIN_WORK(PyArray_SIZE(x));
    run_planes(&p, loops->normalize_act, p.statistics);
    END_WORK;
    return Py_BuildValue("NNN", y, mean, var);
}

static PyObject *normalize_act_again(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]);
    PlaneNorm p = {.known = true};
    const Loops *loops = read_norm(x, arguments + 1, 4, arguments[5], arguments[6], &p);
    if (loops == NULL) {
        DECLINE;
    }
    PyArrayObject *y = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (y != NULL) {
        p.weight = data_of(arguments[1]);
        p.bias = data_of(arguments[2]);
        p.mean = data_of(arguments[3]);
        p.var = data_of(arguments[4]);
        p.out = PyArray_DATA(y);
        BEGIN_WORK(PyArray_SIZE(x));
        run_planes(&p, loops->normalize_act, p.statistics);
        END_WORK;
    }
    return (PyObject *)y;
}

static PyObject *normalize_act_pull(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[1]);
    PlaneNorm p = {0};
    const Loops *loops = read_norm(x, arguments + 2, 6, arguments[8], arguments[9], &p);
    PyArrayObject *g = loops == NULL ? NULL : row_major(arguments[0], x);
    if (g == NULL) {
        return declined_or_failed();
    }
    npy_intp channels = PyArray_DIM(x, 1);
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *g_weight = new_array(x, 1, &channels), *g_bias = new_array(x, 1, &channels);
    PyObject *result = NULL;
    if (out != NULL && g_weight != NULL && g_bias != NULL) {
        p.g = PyArray_DATA(g);
        p.weight = data_of(arguments[2]);
        p.bias = data_of(arguments[3]);
        p.mean = data_of(arguments[4]);
        p.var = data_of(arguments[5]);
        p.g_mean = data_of(arguments[6]);
        p.g_var = data_of(arguments[7]);
        p.out = PyArray_DATA(out);
        p.g_weight = PyArray_DATA(g_weight);
        p.g_bias = PyArray_DATA(g_bias);
        BEGIN_WORK(PyArray_SIZE(x));
        run_planes(&p, loops->normalize_act_pull, p.statistics);
        END_WORK;
        result = PyTuple_Pack(3, out, g_weight, g_bias);
    }
    Py_DECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(g_weight);
    Py_XDECREF(g_bias);
    return result;
}

const Row NORM_ACT_ROWS[] = {
    {"normalize_act", normalize_act, {"x", "weight", "bias", "eps", "act"}},
    {"normalize_act_again", normalize_act_again, {"x", "weight", "bias", "mean", "var", "eps", "act"}},
    {"normalize_act_pull", normalize_act_pull,
     {"g", "x", "weight", "bias", "mean", "var", "g_mean", "g_var", "eps", "act"}},
    {NULL, NULL, {NULL}},
};
