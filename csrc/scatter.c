/* Gather, scatter and accumulation by index; cumulative sums, products and extrema. */

#include "kernels.h"

#include <stdatomic.h>
#include <string.h>

#include "threads.h"

#define FEW (1 << 15) /* elements below which a thread has too little to do */

/* ---- indices */

/* The argument as contiguous 64-bit integers, or NULL. */
static PyArrayObject *indices_of(PyObject *given)
{
    PyArrayObject *index = plain_array(given);
    return index != NULL && PyArray_TYPE(index) == NPY_INT64 ? index : NULL;
}

/* Whether all are in [0, size): the first bit is set in a number that is negative, or in what a larger one lacks of it. */
static bool are_in_bounds(const int64_t *places, npy_intp n, npy_intp size)
{
    uint64_t last = (uint64_t)size - 1, bits = 0;
    for (npy_intp i = 0; i < n; i++) {
        bits |= (uint64_t)places[i] | (last - (uint64_t)places[i]);
    }
    return n == 0 || (size > 0 && bits >> 63 == 0);
}

static bool in_bounds(PyArrayObject *index, npy_intp size)
{
    return are_in_bounds(PyArray_DATA(index), PyArray_SIZE(index), size);
}

/* Whether `out` may be written to, in another place than where indices and `from`, of the same dtype, are read. */
static bool is_apart(PyArrayObject *out, PyArrayObject *index, PyArrayObject *from)
{
    return PyArray_ISWRITEABLE(out) && PyArray_TYPE(out) == PyArray_TYPE(from) && !share_memory(out, from)
           && !share_memory(out, index);
}

/* ---- rows */

static PyObject *add_rows(PyObject *const *arguments)
{
    PyArrayObject *out = plain_array(arguments[0]), *index = indices_of(arguments[1]), *rows = plain_array(arguments[2]);
    const Loops *loops = out == NULL ? NULL : loops_for(out);
    if (loops == NULL || index == NULL || rows == NULL || PyArray_NDIM(index) != 1 || !is_apart(out, index, rows)) {
        DECLINE;
    }
    npy_intp count = PyArray_SIZE(index), size = PyArray_SIZE(rows);
    int ndim = PyArray_NDIM(rows);
    if (ndim == 0 || PyArray_NDIM(out) != ndim || size == 0 || PyArray_DIM(rows, 0) != count
        || !PyArray_CompareLists(PyArray_DIMS(out) + 1, PyArray_DIMS(rows) + 1, ndim - 1)
        || !in_bounds(index, PyArray_DIM(out, 0))) {
        DECLINE;
    }
    BEGIN_WORK(size);
    loops->add_rows(PyArray_DATA(out), PyArray_DATA(index), PyArray_DATA(rows), count, size / count);
    END_WORK;
    Py_RETURN_NONE;
}

/* ---- elements */

/* Whether the index has the shape of `x`, but for the axis and perhaps fewer elements in the first dimension: then both
 * are (lead, axis, trail). */
static bool fits(PyArrayObject *index, PyArrayObject *x, int axis)
{
    if (PyArray_NDIM(index) != PyArray_NDIM(x)) {
        return false;
    }
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        npy_intp n = PyArray_DIM(index, d), most = PyArray_DIM(x, d);
        if (d != axis && n != most && (d > 0 || n > most)) {
            return false;
        }
    }
    return true;
}

/* The indices are (lead, n, trail), what they are of is (lead, size, trail). */
typedef struct {
    npy_intp lead, n, size, trail;
} Lanes;

static Lanes lanes_of(PyArrayObject *index, PyArrayObject *x, int axis)
{
    Lanes lanes = {1, PyArray_DIM(index, axis), PyArray_DIM(x, axis), 1};
    for (int d = 0; d < PyArray_NDIM(index); d++) {
        if (d < axis) {
            lanes.lead *= PyArray_DIM(index, d);
        } else if (d > axis) {
            lanes.trail *= PyArray_DIM(index, d);
        }
    }
    return lanes;
}

static PyObject *scatter_add(PyObject *const *arguments)
{
    PyArrayObject *out = plain_array(arguments[0]), *index = indices_of(arguments[1]), *values = plain_array(arguments[2]);
    const Loops *loops = out == NULL ? NULL : loops_for(out);
    int axis;
    if (loops == NULL || index == NULL || values == NULL || !is_apart(out, index, values) || PyArray_SIZE(index) == 0
        || !PyArray_SAMESHAPE(index, values) || !as_axis(arguments[3], PyArray_NDIM(out), &axis) || !fits(index, out, axis)
        || !in_bounds(index, PyArray_DIM(out, axis))) {
        DECLINE;
    }
    Lanes lanes = lanes_of(index, out, axis);
    BEGIN_WORK(PyArray_SIZE(index));
    loops->scatter_add(PyArray_DATA(out), PyArray_DATA(index), PyArray_DATA(values), lanes.lead, lanes.n, lanes.size,
                       lanes.trail);
    END_WORK;
    Py_RETURN_NONE;
}

/* ---- elements of any type, as so many bytes */

/* Reads rows of the indices; writes columns of a lane, values or one value. False at an index out of bounds. */
typedef struct {
    bool (*take)(const char *x, const int64_t *index, char *out, const Lanes *lanes, npy_intp rows);
    bool (*put)(const char *values, const int64_t *index, char *out, const Lanes *lanes, npy_intp start, npy_intp stop,
                bool one);
} Mover;

#define MOVER(type) \
    static bool take_##type(const char *from, const int64_t *index, char *to, const Lanes *lanes, npy_intp rows) \
    { \
        const type *x = (const type *)from; \
        type *restrict out = (type *)to; \
        const uint64_t size = (uint64_t)lanes->size; \
        const npy_intp trail = lanes->trail; \
        for (npy_intp i = 0; trail == 1 && i < rows; i++) { \
            if ((uint64_t)index[i] >= size) { \
                return false; \
            } \
            out[i] = x[index[i]]; \
        } \
        for (; trail > 1 && rows > 0; rows--, index += trail, out += trail) { \
            for (npy_intp j = 0; j < trail; j++) { \
                if ((uint64_t)index[j] >= size) { \
                    return false; \
                } \
                out[j] = x[index[j] * trail + j]; \
            } \
        } \
        return true; \
    } \
    static bool put_##type(const char *from, const int64_t *index, char *to, const Lanes *lanes, npy_intp start, \
                           npy_intp stop, bool one) \
    { \
        const type *values = (const type *)from; \
        type *restrict out = (type *)to; \
        const uint64_t size = (uint64_t)lanes->size; \
        const npy_intp trail = lanes->trail, step = one ? 0 : 1; \
        for (npy_intp i = 0; trail == 1 && i < lanes->n; i++) { \
            if ((uint64_t)index[i] >= size) { \
                return false; \
            } \
            out[index[i]] = values[i * step]; \
        } \
        for (npy_intp row = 0; trail > 1 && row < lanes->n; row++, index += trail, values += step * trail) { \
            for (npy_intp j = start; j < stop; j++) { \
                if ((uint64_t)index[j] >= size) { \
                    return false; \
                } \
                out[index[j] * trail + j] = values[j * step]; \
            } \
        } \
        return true; \
    }

MOVER(uint8_t)
MOVER(uint16_t)
MOVER(uint32_t)
MOVER(uint64_t)

static const Mover MOVERS[] = {[1] = {take_uint8_t, put_uint8_t}, [2] = {take_uint16_t, put_uint16_t},
                               [4] = {take_uint32_t, put_uint32_t}, [8] = {take_uint64_t, put_uint64_t}};

/* NULL for elements that hold objects, or of another size. */
static const Mover *mover_of(PyArrayObject *x)
{
    npy_intp item = PyArray_ITEMSIZE(x);
    bool known = item > 0 && item <= 8 && MOVERS[item].take != NULL && !PyDataType_REFCHK(PyArray_DESCR(x));
    return known ? &MOVERS[item] : NULL;
}

typedef struct {
    const Mover *mover;
    const Loops *loops; /* to add; NULL to write */
    Lanes lanes;
    const int64_t *index;
    const char *from, *start; /* values, and what the result is before them: NULL if it is there */
    char *to;
    npy_intp item, parts;
    bool one;
    atomic_bool *wrong; /* an index is out of bounds */
} Moves;

static void take_part(const void *work, ptrdiff_t part)
{
    const Moves *w = work;
    const Lanes *lanes = &w->lanes;
    ptrdiff_t row, stop;
    part_of(lanes->lead * lanes->n, 1, w->parts, part, &row, &stop);
    while (row < stop) {
        npy_intp lane = row / lanes->n, end = (lane + 1) * lanes->n, rows = (end < stop ? end : stop) - row;
        const int64_t *index = w->index + row * lanes->trail;
        if (!w->mover->take(w->from + lane * lanes->size * lanes->trail * w->item, index,
                            w->to + row * lanes->trail * w->item, lanes, rows)) {
            atomic_store(w->wrong, true);
            return;
        }
        row += rows;
    }
}

static PyObject *gather(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *index = indices_of(arguments[1]);
    const Mover *mover = x == NULL ? NULL : mover_of(x);
    int axis;
    if (mover == NULL || index == NULL || PyArray_SIZE(index) == 0 || !as_axis(arguments[2], PyArray_NDIM(x), &axis)
        || !fits(index, x, axis)) {
        DECLINE;
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(index), PyArray_DIMS(index));
    if (out == NULL) {
        return NULL;
    }
    atomic_bool wrong = false;
    Moves work = {
        .mover = mover, .lanes = lanes_of(index, x, axis), .index = PyArray_DATA(index), .from = PyArray_BYTES(x),
        .to = PyArray_BYTES(out), .item = PyArray_ITEMSIZE(x), .parts = chunks_for(PyArray_SIZE(index), FEW),
        .wrong = &wrong,
    };
    BEGIN_WORK(PyArray_SIZE(index));
    run_chunks(take_part, &work, work.parts);
    END_WORK;
    if (wrong) {
        Py_DECREF(out);
        DECLINE; /* the twin says which */
    }
    return (PyObject *)out;
}

/* A part of the lanes, which nobody else writes to; of a single one a part of its columns. */
static void put_part(const void *work, ptrdiff_t part)
{
    const Moves *w = work;
    const Lanes *lanes = &w->lanes;
    npy_intp moved = lanes->n * lanes->trail, held = lanes->size * lanes->trail;
    ptrdiff_t lane = 0, stop = 1, start = 0, end = lanes->trail;
    if (lanes->lead > 1) {
        part_of(lanes->lead, 1, w->parts, part, &lane, &stop);
    } else if (w->loops == NULL) {
        part_of(lanes->trail, 64, w->parts, part, &start, &end);
    }
    for (; lane < stop; lane++) {
        const int64_t *index = w->index + lane * moved;
        const char *from = w->one ? w->from : w->from + lane * moved * w->item;
        char *to = w->to + lane * held * w->item;
        bool right = true;
        if (w->start != NULL) {
            memcpy(to, w->start + lane * held * w->item, (size_t)(held * w->item));
        }
        if (w->loops == NULL) {
            right = w->mover->put(from, index, to, lanes, start, end, w->one);
        } else if ((right = are_in_bounds(index, moved, lanes->size))) {
            w->loops->scatter_add(to, index, from, 1, lanes->n, lanes->size, lanes->trail);
        }
        if (!right) {
            atomic_store(w->wrong, true);
            return;
        }
    }
}

/* A Python number as an element of a floating dtype, or an integer of one of integers, into `*value`. */
static bool as_element(PyArrayObject *x, PyObject *number, uint64_t *value)
{
    bool fitting = loops_for(x) != NULL ? PyFloat_CheckExact(number) || PyLong_CheckExact(number)
                                        : PyArray_ISINTEGER(x) && PyLong_CheckExact(number);
    if (fitting && PyArray_SETITEM(x, (char *)value, number) < 0) {
        PyErr_Clear();
        return false;
    }
    return fitting;
}

/* Whether `how`, as it was given, is to write, or to add what there are loops for. */
static bool is_known(PyObject *how, const Loops *loops, PyArrayObject *values)
{
    return not_given(how) || (PyUnicode_Check(how) && PyUnicode_CompareWithASCIIString(how, "add") == 0 && loops != NULL
                              && values != NULL);
}

static PyObject *scatter(PyObject *const *arguments)
{
    PyArrayObject *x = plain_array(arguments[0]), *index = indices_of(arguments[1]), *values = plain_array(arguments[2]);
    const Mover *mover = x == NULL ? NULL : mover_of(x);
    PyObject *how = arguments[4], *into = arguments[5];
    bool in_place = into == Py_True;
    uint64_t value = 0;
    int axis;
    if (mover == NULL || index == NULL || arguments[2] == NULL || PyArray_SIZE(index) == 0
        || (into != NULL && !PyBool_Check(into)) || !as_axis(arguments[3], PyArray_NDIM(x), &axis)
        || !fits(index, x, axis) || !is_known(how, loops_for(x), values)
        || (in_place && !in_bounds(index, PyArray_DIM(x, axis)))) {
        DECLINE;
    }
    if (values != NULL ? !PyArray_SAMESHAPE(index, values) || PyArray_TYPE(values) != PyArray_TYPE(x)
                       : !as_element(x, arguments[2], &value)) {
        DECLINE;
    }
    if (in_place && (!PyArray_ISWRITEABLE(x) || share_memory(x, index) || (values != NULL && share_memory(x, values)))) {
        DECLINE;
    }
    PyArrayObject *out = in_place ? (PyArrayObject *)Py_NewRef(x) : new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out == NULL) {
        return NULL;
    }
    atomic_bool wrong = false;
    Moves work = {
        .mover = mover, .loops = not_given(how) ? NULL : loops_for(x), .lanes = lanes_of(index, x, axis),
        .index = PyArray_DATA(index), .from = values == NULL ? (const char *)&value : PyArray_BYTES(values),
        .to = PyArray_BYTES(out), .item = PyArray_ITEMSIZE(x), .one = values == NULL,
        .wrong = &wrong,
    };
    bool by_lanes = !in_place && work.lanes.lead * work.lanes.size * work.lanes.trail == PyArray_SIZE(x)
                    && work.lanes.lead > 1;
    work.start = by_lanes ? PyArray_BYTES(x) : NULL;
    npy_intp most = work.lanes.lead > 1 ? work.lanes.lead : work.loops == NULL ? (work.lanes.trail + 63) / 64 : 1;
    work.parts = chunks_for(PyArray_SIZE(index), FEW);
    work.parts = work.parts < most ? work.parts : most;
    BEGIN_WORK(PyArray_SIZE(x));
    if (!in_place && !by_lanes) {
        memcpy(PyArray_DATA(out), PyArray_DATA(x), (size_t)PyArray_NBYTES(x));
    }
    run_chunks(put_part, &work, work.parts);
    END_WORK;
    if (wrong) {
        Py_DECREF(out);
        DECLINE;
    }
    return (PyObject *)out;
}

/* ---- running sums, products and extrema */

static PyObject *scanned(PyObject *const *arguments, size_t loop)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    PyObject *dtype = arguments[2];
    int axis;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[1], PyArray_NDIM(x), &axis)
        || (!not_given(dtype) && dtype != (PyObject *)PyArray_DESCR(x))) {
        DECLINE;
    }
    npy_intp n = PyArray_DIM(x, axis), trail = 1;
    for (int d = axis + 1; d < PyArray_NDIM(x); d++) {
        trail *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (out != NULL) {
        Scan scan = *(const Scan *)((const char *)loops + loop);
        BEGIN_WORK(PyArray_SIZE(x));
        scan(PyArray_DATA(x), PyArray_DATA(out), PyArray_SIZE(x) / n / trail, n, trail);
        END_WORK;
    }
    return (PyObject *)out;
}

static PyObject *cumsum(PyObject *const *arguments)
{
    return scanned(arguments, offsetof(Loops, cumsum));
}

static PyObject *cumprod(PyObject *const *arguments)
{
    return scanned(arguments, offsetof(Loops, cumprod));
}

static PyObject *running(PyObject *const *arguments, size_t loop)
{
    PyArrayObject *x = plain_array(arguments[0]);
    const Loops *loops = x == NULL ? NULL : loops_for(x);
    int axis;
    if (loops == NULL || PyArray_SIZE(x) == 0 || !as_axis(arguments[1], PyArray_NDIM(x), &axis)) {
        DECLINE;
    }
    npy_intp n = PyArray_DIM(x, axis), trail = 1;
    for (int d = axis + 1; d < PyArray_NDIM(x); d++) {
        trail *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = new_array(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (out != NULL && places != NULL) {
        Running run = *(const Running *)((const char *)loops + loop);
        BEGIN_WORK(PyArray_SIZE(x));
        run(PyArray_DATA(x), PyArray_DATA(out), PyArray_DATA(places), PyArray_SIZE(x) / n / trail, n, trail);
        END_WORK;
    }
    PyObject *both = out != NULL && places != NULL ? PyTuple_Pack(2, out, places) : NULL;
    Py_XDECREF(out);
    Py_XDECREF(places);
    return both;
}

static PyObject *running_max(PyObject *const *arguments)
{
    return running(arguments, offsetof(Loops, running_max));
}

static PyObject *running_min(PyObject *const *arguments)
{
    return running(arguments, offsetof(Loops, running_min));
}

const Row SCATTER_ROWS[] = {
    {"add_rows", add_rows, {"out", "index", "rows"}},
    {"scatter_add", scatter_add, {"out", "index", "values", "axis"}},
    {"gather", gather, {"x", "index", "axis"}},
    {"scatter", scatter, {"x", "index", "src", "axis", "how", "into"}},
    {"cumsum", cumsum, {"x", "axis", "dtype"}},
    {"cumprod", cumprod, {"x", "axis", "dtype"}},
    {"running_max", running_max, {"x", "axis"}},
    {"running_min", running_min, {"x", "axis"}},
    {NULL, NULL, {NULL}},
};
