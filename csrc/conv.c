/* Convolutions in one to three dimensions, and their gradients for the input and the weight. */

#include "conv.h"

/* The integers of a tuple, at the end of those of a volume. */
static bool per_dimension(PyObject *x, int n, npy_intp least, ptrdiff_t missing, ptrdiff_t *values)
{
    for (int d = 0; d < CONV_DIMS - n; d++) {
        values[d] = missing;
    }
    if (x == NULL || !PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != n) {
        return false;
    }
    for (int d = 0; d < n; d++) {
        npy_intp value;
        if (!as_integer(PyTuple_GET_ITEM(x, d), &value) || value < least || value > NPY_MAX_INT32) {
            return false;
        }
        values[CONV_DIMS - n + d] = value;
    }
    return true;
}

static void spatial_of(PyArrayObject *x, int n, ptrdiff_t *sizes)
{
    for (int d = 0; d < CONV_DIMS; d++) {
        int own = d - (CONV_DIMS - n);
        sizes[d] = own < 0 ? 1 : PyArray_DIM(x, 2 + own);
    }
}

/* Two arrays of the same kind of float, of one to three dimensions besides samples and channels. */
static bool are_volumes(PyArrayObject *x, PyArrayObject *y)
{
    return x != NULL && y != NULL && loops_for(x) != NULL && PyArray_TYPE(x) == PyArray_TYPE(y)
           && PyArray_NDIM(x) == PyArray_NDIM(y) && PyArray_NDIM(x) > 2 && PyArray_NDIM(x) <= 2 + CONV_DIMS
           && PyArray_SIZE(x) > 0 && PyArray_SIZE(y) > 0;
}

/* stride, padding, dilation and groups, the arguments from `first` on. */
static bool read_settings(Geometry *g, PyObject *const *first)
{
    npy_intp groups;
    if (!per_dimension(first[0], g->n, 1, 1, g->stride) || !per_dimension(first[1], g->n, 0, 0, g->padding)
        || !per_dimension(first[2], g->n, 1, 1, g->dilation) || !as_integer(first[3], &groups) || groups < 1) {
        return false;
    }
    g->groups = groups;
    return true;
}

/* Whether the elements of all images with their padding, which some ways to convolve copy, can be counted. */
static bool is_countable(const Geometry *g)
{
    double elements = (double)g->samples * (double)(g->channels + g->results);
    for (int d = 0; d < CONV_DIMS; d++) {
        elements *= (double)(g->sizes[d] + 2 * g->padding[d]);
    }
    return elements < 0x1p56;
}

/* Planes of a kernel of one tap that touches nothing but them are rows. */
static void flatten(Geometry *g)
{
    for (int d = 0; d < CONV_DIMS; d++) {
        if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d] != 0 || g->sizes[d] != g->counts[d]) {
            return;
        }
    }
    g->sizes[2] = g->counts[2] = product_of(g->sizes);
    g->sizes[0] = g->sizes[1] = g->counts[0] = g->counts[1] = 1;
}

static PyArrayObject *new_volume(PyArrayObject *like, const Geometry *g, ptrdiff_t channels, const ptrdiff_t *sizes)
{
    npy_intp shape[2 + CONV_DIMS] = {g->samples, channels};
    for (int d = 0; d < g->n; d++) {
        shape[2 + d] = sizes[CONV_DIMS - g->n + d];
    }
    return new_array(like, 2 + g->n, shape);
}

static bool is_bias(PyObject *given, PyArrayObject *x, ptrdiff_t channels)
{
    PyArrayObject *bias = plain_array(given);
    return not_given(given)
           || (bias != NULL && PyArray_TYPE(bias) == PyArray_TYPE(x) && PyArray_NDIM(bias) == 1
               && PyArray_DIM(bias, 0) == channels);
}

static const char *bytes_of(PyObject *given)
{
    return not_given(given) ? NULL : PyArray_BYTES((PyArrayObject *)given);
}

/* The array, if the work was done. */
static PyObject *finished(PyArrayObject *out, bool good)
{
    if (good) {
        return (PyObject *)out;
    }
    Py_DECREF(out);
    return PyErr_NoMemory();
}

/* What is not finished as it is computed. */
static void finish_volume(const Geometry *g, const Loops *loops, const Finish *finish, ptrdiff_t channels,
                          const ptrdiff_t *sizes, char *x)
{
    if (finish != NULL) {
        finish_planes(finish, loops, x, x, g->samples * channels, channels, product_of(sizes));
    }
}

/* A kernel on two arrays in row-major order: what lies otherwise, as channels-last images do, is copied. */
typedef PyObject *(*Kernel)(PyArrayObject *a, PyArrayObject *b, PyObject *const *arguments);

static PyObject *on_rows(Kernel kernel, PyObject *const *arguments)
{
    PyArrayObject *a = in_rows(arguments[0]), *b = a == NULL ? NULL : in_rows(arguments[1]);
    PyObject *result = b == NULL ? declined_or_failed() : kernel(a, b, arguments);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *conv_of_rows(PyArrayObject *x, PyArrayObject *w, PyObject *const *arguments)
{
    Geometry g;
    if (!are_volumes(x, w)) {
        DECLINE;
    }
    g.n = PyArray_NDIM(x) - 2;
    g.samples = PyArray_DIM(x, 0);
    g.channels = PyArray_DIM(x, 1);
    g.results = PyArray_DIM(w, 0);
    if (!read_settings(&g, arguments + 2) || PyArray_DIM(w, 1) * g.groups != g.channels || g.results % g.groups != 0
        || !is_bias(arguments[7], x, g.results)) {
        DECLINE;
    }
    spatial_of(x, g.n, g.sizes);
    spatial_of(w, g.n, g.kernel);
    for (int d = 0; d < CONV_DIMS; d++) {
        ptrdiff_t room = g.sizes[d] + 2 * g.padding[d] - reach(&g, d) - 1;
        g.counts[d] = room < 0 ? 0 : room / g.stride[d] + 1;
    }
    ptrdiff_t wanted[CONV_DIMS];
    if (!not_given(arguments[6])) {
        if (!per_dimension(arguments[6], g.n, 1, 1, wanted)) {
            DECLINE;
        }
        for (int d = 0; d < CONV_DIMS; d++) {
            if (wanted[d] > g.counts[d]) {
                DECLINE;
            }
            g.counts[d] = wanted[d];
        }
    }
    Finish how;
    const Finish *finish = not_given(arguments[8]) ? NULL : &how;
    if (!is_countable(&g) || product_of(g.counts) == 0
        || (finish != NULL && !read_finish(arguments[8], x, g.results, &how))) {
        DECLINE;
    }
    PyArrayObject *y = new_volume(x, &g, g.results, g.counts);
    if (y == NULL) {
        return NULL;
    }
    const Loops *loops = loops_for(x);
    const char *bias = bytes_of(arguments[7]), *from = PyArray_BYTES(x);
    char *kernels = PyArray_BYTES(w), *to = PyArray_BYTES(y);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good = true;
    BEGIN_WORK(PyArray_SIZE(y) + MANY / 2);
    if (is_depthwise(&g)) {
        good = depthwise(&g, loops, item, FORWARD, PyArray_BYTES(x), kernels, to, bias, finish);
    } else if (whole_forward(&g, item, from, kernels, bias, to)) {
        finish_volume(&g, loops, finish, g.results, g.counts, to);
    } else if (!winograd_forward(&g, loops, item, from, kernels, bias, finish, to)
               && !pointwise_forward(&g, loops, item, from, kernels, bias, finish, to)) {
        flatten(&g);
        good = direct_forward(&g, loops, item, from, kernels, bias, finish, to);
    }
    END_WORK;
    return finished(y, good);
}

static PyObject *input_of_rows(PyArrayObject *gradient, PyArrayObject *w, PyObject *const *arguments)
{
    Geometry g;
    Finish how;
    const Finish *finish = not_given(arguments[8]) ? NULL : &how;
    bool known = are_volumes(gradient, w);
    if (known) {
        g.n = PyArray_NDIM(gradient) - 2;
        g.samples = PyArray_DIM(gradient, 0);
        g.results = PyArray_DIM(gradient, 1);
        spatial_of(gradient, g.n, g.counts);
        spatial_of(w, g.n, g.kernel);
        known = per_dimension(arguments[2], g.n, 1, 1, g.sizes) && read_settings(&g, arguments + 3)
                && PyArray_DIM(w, 0) == g.results && g.results % g.groups == 0;
        g.channels = known ? PyArray_DIM(w, 1) * g.groups : 0;
        for (int d = 0; d < CONV_DIMS && known; d++) { /* all of it must have been met */
            known = (g.counts[d] - 1) * g.stride[d] + reach(&g, d) < g.sizes[d] + 2 * g.padding[d];
        }
        known = known && is_countable(&g) && is_bias(arguments[7], gradient, g.channels)
                && (finish == NULL || read_finish(arguments[8], gradient, g.channels, &how));
    }
    if (!known) {
        DECLINE;
    }
    PyArrayObject *x = new_volume(gradient, &g, g.channels, g.sizes);
    if (x == NULL) {
        return NULL;
    }
    const Loops *loops = loops_for(x);
    const char *bias = bytes_of(arguments[7]);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good;
    BEGIN_WORK(PyArray_SIZE(x) + MANY / 2);
    if (is_depthwise(&g) && bias == NULL) {
        good = depthwise(&g, loops, item, INPUT, PyArray_BYTES(x), PyArray_BYTES(w), PyArray_BYTES(gradient), NULL, NULL);
    } else if (whole_input(&g, item, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x))
               || winograd_input(&g, loops, item, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x))
               || pointwise_input(&g, loops, item, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x))) {
        good = true;
    } else {
        flatten(&g);
        good = direct_input(&g, loops, item, PyArray_BYTES(gradient), PyArray_BYTES(w), bias, PyArray_BYTES(x));
    }
    if (good) {
        finish_volume(&g, loops, finish, g.channels, g.sizes, PyArray_BYTES(x));
    }
    END_WORK;
    return finished(x, good);
}

static PyObject *weight_of_rows(PyArrayObject *x, PyArrayObject *gradient, PyObject *const *arguments)
{
    Geometry g;
    bool known = are_volumes(x, gradient);
    if (known) {
        g.n = PyArray_NDIM(x) - 2;
        g.samples = PyArray_DIM(x, 0);
        g.channels = PyArray_DIM(x, 1);
        g.results = PyArray_DIM(gradient, 1);
        spatial_of(x, g.n, g.sizes);
        spatial_of(gradient, g.n, g.counts);
        known = per_dimension(arguments[2], g.n, 1, 1, g.kernel) && read_settings(&g, arguments + 3)
                && PyArray_DIM(gradient, 0) == g.samples && g.channels % g.groups == 0 && g.results % g.groups == 0;
        for (int d = 0; d < CONV_DIMS && known; d++) {
            known = (g.counts[d] - 1) * g.stride[d] + reach(&g, d) < g.sizes[d] + 2 * g.padding[d];
        }
        known = known && is_countable(&g);
    }
    if (!known) {
        DECLINE;
    }
    npy_intp shape[2 + CONV_DIMS] = {g.results, g.channels / g.groups};
    for (int d = 0; d < g.n; d++) {
        shape[2 + d] = g.kernel[CONV_DIMS - g.n + d];
    }
    PyArrayObject *w = new_array(x, 2 + g.n, shape);
    if (w == NULL) {
        return NULL;
    }
    const Loops *loops = loops_for(x);
    ptrdiff_t item = PyArray_ITEMSIZE(x);
    bool good;
    BEGIN_WORK(PyArray_SIZE(x) + MANY / 2);
    if (is_depthwise(&g)) {
        good = depthwise(&g, loops, item, WEIGHT, PyArray_BYTES(x), PyArray_BYTES(w), PyArray_BYTES(gradient), NULL, NULL);
    } else if (whole_weight(&g, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w))
               || winograd_weight(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w))
               || pointwise_weight(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w))) {
        good = true;
    } else {
        good = direct_weight(&g, loops, item, PyArray_BYTES(x), PyArray_BYTES(gradient), PyArray_BYTES(w));
    }
    END_WORK;
    return finished(w, good);
}

static PyObject *conv(PyObject *const *arguments)
{
    return on_rows(conv_of_rows, arguments);
}

static PyObject *conv_input(PyObject *const *arguments)
{
    return on_rows(input_of_rows, arguments);
}

static PyObject *conv_weight(PyObject *const *arguments)
{
    return on_rows(weight_of_rows, arguments);
}

const Row CONV_ROWS[] = {
    {"conv", conv, {"x", "weight", "stride", "padding", "dilation", "groups", "out", "bias", "finish"}},
    {"conv_input", conv_input, {"g", "weight", "spatial", "stride", "padding", "dilation", "groups", "bias", "finish"}},
    {"conv_weight", conv_weight, {"x", "g", "kernel", "stride", "padding", "dilation", "groups"}},
    {NULL, NULL, {NULL}},
};
