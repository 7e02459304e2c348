/* Connectionist temporal classification: sums over all alignments of labels with time steps. */

#include "kernels.h"

#include "threads.h"

#define FEW (1 << 11) /* states at all times below which a thread has too little to do */

/* The vector of `n` integers from 0 to `most`, or NULL. */
static const int64_t *integers_to(PyObject *given, npy_intp n, npy_intp most)
{
    PyArrayObject *x = plain_array(given);
    if (x == NULL || PyArray_TYPE(x) != NPY_INT64 || PyArray_SIZE(x) != n) {
        return NULL;
    }
    const int64_t *values = PyArray_DATA(x);
    for (npy_intp i = 0; i < n; i++) {
        if (values[i] < 0 || values[i] > most) {
            return NULL;
        }
    }
    return values;
}

/* From the arguments that both kernels begin with, of which `scores` is the first in row-major order. */
static bool read_ctc(PyArrayObject *scores, PyObject *labels, PyObject *durations, PyObject *lengths, PyObject *blank,
                     Ctc *c)
{
    PyArrayObject *rows = plain_array(labels);
    npy_intp blank_class;
    if (loops_for(scores) == NULL || PyArray_NDIM(scores) != 3 || PyArray_SIZE(scores) == 0 || rows == NULL
        || PyArray_NDIM(rows) != 2 || PyArray_DIM(rows, 0) != PyArray_DIM(scores, 1)
        || !as_integer(blank, &blank_class)) {
        return false;
    }
    c->blank = blank_class;
    c->times = PyArray_DIM(scores, 0);
    c->samples = PyArray_DIM(scores, 1);
    c->classes = PyArray_DIM(scores, 2);
    c->states = 2 * PyArray_DIM(rows, 1) + 1;
    c->scores = PyArray_DATA(scores);
    c->labels = integers_to(labels, PyArray_SIZE(rows), c->classes - 1);
    c->durations = integers_to(durations, c->samples, c->times);
    c->lengths = integers_to(lengths, c->samples, PyArray_DIM(rows, 1));
    return c->labels != NULL && c->durations != NULL && c->lengths != NULL && c->blank >= 0 && c->blank < c->classes;
}

static void run_sample(const void *work, ptrdiff_t sample)
{
    const Ctc *c = work;
    c->loop(c, sample, c->scratch + c->scratch_each * (size_t)sample);
}

/* Room for what each sample needs, in one piece. */
static bool run_samples(Ctc *c, CtcLoop loop)
{
    npy_intp size = c->times * c->samples * c->states;
    c->loop = loop;
    c->scratch_each = (size_t)(c->states * 5 + 6) * sizeof(double);
    c->scratch = PyMem_RawMalloc(c->scratch_each * (size_t)c->samples);
    if (c->scratch == NULL) {
        return false;
    }
    BEGIN_WORK(size);
    run_all(run_sample, c, c->samples, size < FEW);
    END_WORK;
    PyMem_RawFree(c->scratch);
    return true;
}

static PyObject *losses(PyArrayObject *scores, PyObject *const *arguments)
{
    Ctc c;
    if (!read_ctc(scores, arguments[1], arguments[2], arguments[3], arguments[4], &c)) {
        DECLINE;
    }
    PyArrayObject *loss = new_array(scores, 1, &c.samples);
    PyArrayObject *alphas = new_array(scores, 3, (npy_intp[]){c.times, c.samples, c.states});
    if (loss == NULL || alphas == NULL) {
        Py_XDECREF(loss);
        Py_XDECREF(alphas);
        return NULL;
    }
    c.loss = PyArray_DATA(loss);
    c.alphas = PyArray_DATA(alphas);
    if (!run_samples(&c, loops_for(scores)->ctc_forward)) {
        Py_DECREF(loss);
        Py_DECREF(alphas);
        return PyErr_NoMemory();
    }
    return Py_BuildValue("NN", loss, alphas);
}

static PyObject *slopes(PyArrayObject *scores, PyObject *const *arguments)
{
    PyArrayObject *loss = plain_array(arguments[4]), *alphas = plain_array(arguments[5]);
    Ctc c;
    if (!read_ctc(scores, arguments[1], arguments[2], arguments[3], arguments[6], &c) || loss == NULL || alphas == NULL
        || PyArray_TYPE(loss) != PyArray_TYPE(scores) || PyArray_TYPE(alphas) != PyArray_TYPE(scores)
        || PyArray_SIZE(loss) != c.samples || PyArray_SIZE(alphas) != c.times * c.samples * c.states) {
        DECLINE;
    }
    PyArrayObject *gradient = new_array(scores, 3, PyArray_DIMS(scores));
    if (gradient == NULL) {
        return NULL;
    }
    c.loss = PyArray_DATA(loss);
    c.alphas = PyArray_DATA(alphas);
    c.gradient = PyArray_DATA(gradient);
    if (!run_samples(&c, loops_for(scores)->ctc_backward)) {
        Py_DECREF(gradient);
        return PyErr_NoMemory();
    }
    return (PyObject *)gradient;
}

static PyObject *ctc_forward(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, losses);
}

static PyObject *ctc_backward(PyObject *const *arguments)
{
    return on_first_in_rows(arguments, slopes);
}

const Row CTC_ROWS[] = {
    {"ctc_forward", ctc_forward, {"log_probs", "labels", "times", "lengths", "blank"}},
    {"ctc_backward", ctc_backward, {"log_probs", "labels", "times", "lengths", "loss", "alphas", "blank"}},
    {NULL, NULL, {NULL}},
};
