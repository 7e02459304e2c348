/* Matrix products, split over the threads of the pool. */

#include "kernels.h"

#include <stdatomic.h>

#include "blas.h"
#include "memory.h"
#include "threads.h"

#define LEAST_WORK ((ptrdiff_t)1 << 19) /* multiplications below which waking a thread takes longer */
#define LEAST_SIDE 16                   /* rows or columns of a part */
#define GOOD_SIDE 256                   /* the same from where it matters little that BLAS packs the other operand anew */
#define LEAST_PACK ((ptrdiff_t)1 << 15) /* elements of an operand, likewise */
#define LONG_TILE 64                    /* bytes of its rows: two vectors of 32 */
#define LEAST_TILES ((ptrdiff_t)1 << 20) /* multiplications of a product by tiles */
#define LEAST_ROWS 8                     /* of one that is wide */
#define FEW_ROWS 256                     /* for which tiles pack a large matrix as fast as BLAS */
#define MOST_PACKED ((ptrdiff_t)1 << 21) /* elements of the operand with the longer side; BLAS has better caches of more */
#define LONGEST_SUM 192                  /* numbers that are added up one by one, in batches */
#define CACHE_PERIOD 4096                /* bytes between lines of memory that have the same few places in a cache */
#define MOST_ACROSS ((ptrdiff_t)1 << 19) /* bytes of the left operand of a product that is made transposed */

typedef struct {
    int64_t rows, columns;
    int64_t row_step, column_step; /* in elements */
    char *at;
} Operand;

typedef struct {
    bool doubles;
    int64_t m, n, k;
    Operand a, b;
    char *out;
    const char *bias;     /* a row to be added to each, or NULL */
    const Finish *finish; /* what becomes of the sums, without a scale; or NULL */
    /* of batches: how many there are, and where in each dimension the operands go on, in bytes */
    int dims;
    npy_intp count, shape[NPY_MAXDIMS], a_steps[NPY_MAXDIMS], b_steps[NPY_MAXDIMS];
    ptrdiff_t cuts; /* of each product: of its rows, or of its columns where it is wider than high */
} Product;

/* The last two dimensions of an array that BLAS can take as they lie: elements side by side in one of them. */
static bool is_operand(PyArrayObject *x, Operand *out)
{
    int ndim = PyArray_NDIM(x);
    if (ndim < 2 || !PyArray_ISBEHAVED_RO(x)) {
        return false;
    }
    npy_intp item = PyArray_ITEMSIZE(x), row = PyArray_STRIDE(x, ndim - 2), column = PyArray_STRIDE(x, ndim - 1);
    *out = (Operand){PyArray_DIM(x, ndim - 2), PyArray_DIM(x, ndim - 1), row / item, column / item, PyArray_BYTES(x)};
    if (out->rows < 1 || out->columns < 1 || row % item != 0 || column % item != 0) {
        return false;
    }
    if (out->rows == 1) { /* a step that is never made may be anything */
        out->row_step = out->column_step == 1 ? out->columns : 1;
    }
    if (out->columns == 1) {
        out->column_step = out->row_step == 1 ? out->rows : 1;
    }
    return (out->column_step == 1 && out->row_step >= out->columns)
           || (out->row_step == 1 && out->column_step >= out->rows);
}

/* The operand from a row and a column on, in the form that BLAS takes. */
static Matrix matrix_of(const Operand *x, const char *at, int64_t row, int64_t column, int64_t item)
{
    bool transposed = x->column_step != 1;
    return (Matrix){
        .at = at + (row * x->row_step + column * x->column_step) * item,
        .step = transposed ? x->column_step : x->row_step,
        .transposed = transposed,
    };
}

static void add_row_float(float *restrict out, const float *restrict row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] += row[i];
    }
}

static void add_row_double(double *restrict out, const double *restrict row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] += row[i];
    }
}

/* The rows and columns that are computed, from `out` on. */
static void finish_part(const Product *p, char *out, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; p->finish != NULL && r < rows; r++) {
        char *row = out + r * p->n * (p->doubles ? 8 : 4);
        loops_of[p->doubles]->finish_planes(p->finish, row, row, 0, 1, 1, columns);
    }
}

/* One part of one product of the batch. */
static void multiply_part(const void *work, ptrdiff_t i)
{
    const Product *p = work;
    int64_t item = p->doubles ? 8 : 4;
    npy_intp batch = i / p->cuts, rest = batch;
    const char *a = p->a.at, *b = p->b.at;
    for (int d = p->dims - 1; d >= 0; d--) {
        npy_intp at = rest % p->shape[d];
        rest /= p->shape[d];
        a += at * p->a_steps[d];
        b += at * p->b_steps[d];
    }
    bool wide = p->n > p->m;
    ptrdiff_t start, stop;
    part_of(wide ? p->n : p->m, LEAST_SIDE, p->cuts, i % p->cuts, &start, &stop);
    int64_t row = wide ? 0 : start, rows = wide ? p->m : stop - start;
    int64_t column = wide ? start : 0, columns = wide ? stop - start : p->n;
    char *out = p->out + ((batch * p->m + row) * p->n + column) * item;
    int64_t sums = p->count == 1 ? 1 : (p->k + LONGEST_SUM - 1) / LONGEST_SUM, depth = (p->k + sums - 1) / sums;
    for (int64_t k = 0; k < p->k; k += depth) {
        (k == 0 ? multiply_matrices : add_matrix_product)(
            p->doubles, rows, columns, p->k - k < depth ? p->k - k : depth, matrix_of(&p->a, a, row, k, item),
            matrix_of(&p->b, b, k, column, item), out, p->n);
    }
    for (int64_t r = 0; p->bias != NULL && r < rows; r++) {
        const char *bias = p->bias + column * item;
        if (p->doubles) {
            add_row_double((double *)(out + r * p->n * item), (const double *)bias, columns);
        } else {
            add_row_float((float *)(out + r * p->n * item), (const float *)bias, columns);
        }
    }
    finish_part(p, out, rows, columns);
}

/* Into how many parts the longer side of each product is cut so that there are `parts` in all: fewer, but no fewer than
 * threads, where these would be short. */
static ptrdiff_t cuts_of(const Product *p, ptrdiff_t parts)
{
    int64_t side = p->m > p->n ? p->m : p->n;
    ptrdiff_t threads = thread_count(), most = side / GOOD_SIDE / threads * threads;
    ptrdiff_t cuts = p->count >= parts ? 1 : (parts + p->count - 1) / p->count;
    most = most > threads ? most : threads;
    most = most < side / LEAST_SIDE ? most : side / LEAST_SIDE;
    return cuts < most ? cuts : most > 0 ? most : 1;
}

static ptrdiff_t work_of(const Product *p)
{
    double work = (double)p->m * (double)p->n * (double)p->k * (double)p->count;
    return work > 1e15 ? PTRDIFF_MAX : (ptrdiff_t)work;
}

static void multiply_by_blas(Product *p)
{
    ptrdiff_t parts = chunks_for(work_of(p), LEAST_WORK);
    p->cuts = cuts_of(p, parts);
    begin_single_blas();
    run_all(multiply_part, p, p->count * p->cuts, parts == 1);
    end_single_blas();
}

/* ---- by tiles of our own */

typedef struct {
    Gemm gemm;
    const Product *product; /* or NULL where there is nothing to be finished */
    const Loops *loops;
    ptrdiff_t side, step, parts; /* the longer side, cut into parts of whole tiles */
    ptrdiff_t strips, packs;     /* of the operand with the shorter one, and into how many parts these are cut */
    bool across;                 /* whether this is the transposed product */
    atomic_int *failed;          /* for want of memory */
} Tiles;

static void pack_tiles(const void *work, ptrdiff_t i)
{
    const Tiles *w = work;
    ptrdiff_t start, stop;
    part_of(w->strips, 1, w->packs, i, &start, &stop);
    for (; start < stop; start++) {
        w->loops->gemm_pack(&w->gemm, start);
    }
}

static void multiply_tiles(const void *work, ptrdiff_t i)
{
    const Tiles *w = work;
    const Product *p = w->product;
    ptrdiff_t start, stop;
    part_of(w->side, w->step, w->parts, i, &start, &stop);
    if (w->across) {
        w->loops->gemm_across(&w->gemm, start, stop);
    } else {
        void *scratch = scratch_of_thread(w->loops->gemm_scratch(stop - start));
        if (scratch == NULL) {
            *w->failed = 1;
            return;
        }
        w->loops->gemm_part(&w->gemm, start, stop, scratch);
    }
    if (p == NULL) {
        return;
    }
    bool columns = w->across || w->gemm.wide;
    char *out = p->out + start * (columns ? 1 : p->n) * (p->doubles ? 8 : 4);
    finish_part(p, out, columns ? p->m : stop - start, columns ? stop - start : p->n);
}

static atomic_bool tiles_always;

bool use_tiles_always(bool always)
{
    return atomic_exchange(&tiles_always, always);
}

/* Whether tiles are faster than BLAS: where vectors are long, most of a tile is used, and packing is little of the work. */
static bool suits_tiles(const Product *p, const Loops *loops)
{
    ptrdiff_t item = p->doubles ? 8 : 4, panel = loops->tile_columns, panels = (p->n + panel - 1) / panel;
    bool wide = p->n > p->m, few = wide && p->m <= FEW_ROWS;
    bool full = wide ? p->m >= LEAST_ROWS : panels * panel <= p->n + p->n / 4;
    bool small = (wide ? p->n : p->m) * p->k <= MOST_PACKED;
    bool suits = panel * item >= LONG_TILE && full && (small || few) && work_of(p) >= LEAST_TILES;
    return p->count == 1 && (tiles_always || suits);
}

/* The product in the form that tiles take. Of a wide one with the columns of b side by side, as linear layers have their weights,
 * the transposed one is made, which has these as rows and need not pack them, if the second cache holds all of a. */
static Gemm gemm_of(const Product *p, bool *across)
{
    const Operand *a = &p->a, *b = &p->b;
    ptrdiff_t item = p->doubles ? 8 : 4;
    bool wide = p->n > p->m;
    *across = wide && b->row_step == 1 && p->m * p->k * item <= MOST_ACROSS;
    if (*across) {
        return (Gemm){
            .a = b->at, .b = a->at, .bias = p->bias, .out = p->out, .m = p->n, .n = p->m, .k = p->k,
            .a_row = b->column_step, .a_column = 1, .b_row = a->column_step, .b_column = a->row_step, .direct = true,
        };
    }
    bool apart = a->row_step * item % CACHE_PERIOD != 0;
    return (Gemm){
        .a = a->at, .b = b->at, .bias = p->bias, .out = p->out, .m = p->m, .n = p->n, .k = p->k,
        .a_row = a->row_step, .a_column = a->column_step, .b_row = b->row_step, .b_column = b->column_step, .wide = wide,
        .direct = a->column_step == 1 && apart,
    };
}

/* Cuts the product that `w` says over the pool; false without the memory for it. */
static bool run_tiles(Tiles *w)
{
    atomic_int failed = 0;
    Gemm *g = &w->gemm;
    const Loops *loops = w->loops;
    double all = (double)g->m * (double)g->n * (double)g->k;
    ptrdiff_t width = g->wide ? loops->tile_rows : loops->tile_columns, shorter = g->wide ? g->m : g->n;
    ptrdiff_t item = loops == loops_of[1] ? 8 : 4, work = all > 1e15 ? PTRDIFF_MAX : (ptrdiff_t)all;
    w->failed = &failed;
    w->step = g->wide ? loops->tile_columns : loops->tile_rows;
    w->side = g->wide ? g->n : g->m;
    w->strips = (shorter + width - 1) / width;
    ptrdiff_t parts = chunks_for(work, LEAST_WORK), least = (w->side + GOOD_SIDE - 1) / GOOD_SIDE;
    ptrdiff_t most = (w->side + w->step - 1) / w->step;
    w->parts = parts > least ? parts : least;
    w->parts = w->parts < most ? w->parts : most;
    if (!g->wide || !g->direct) {
        w->packs = chunks_for(w->strips * width * g->k, LEAST_PACK);
        g->packed = new_block((size_t)(w->strips * width * g->k * item), false);
        if (g->packed == NULL) {
            return false;
        }
        run_chunks(pack_tiles, w, w->packs);
    }
    run_all(multiply_tiles, w, w->parts, parts == 1);
    release_block(g->packed);
    return !failed;
}

bool sum_by_tiles(const Loops *loops, Gemm g)
{
    ptrdiff_t item = loops == loops_of[1] ? 8 : 4;
    g.wide = g.n > g.m;
    g.direct = g.a_column == 1 && g.a_row * item % CACHE_PERIOD != 0;
    Tiles w = {.gemm = g, .loops = loops};
    return run_tiles(&w);
}

/* False without the memory for it. */
static bool multiply_by_tiles(const Product *p, const Loops *loops)
{
    Tiles w = {.product = p, .loops = loops};
    w.gemm = gemm_of(p, &w.across);
    return run_tiles(&w);
}

/* False, with an error, without the memory for it. */
static bool multiply(Product *p)
{
    const Loops *loops = loops_of[p->doubles];
    bool done = true;
    BEGIN_WORK(work_of(p));
    if (suits_tiles(p, loops)) {
        done = multiply_by_tiles(p, loops);
    } else {
        multiply_by_blas(p);
    }
    END_WORK;
    if (!done) {
        PyErr_NoMemory();
    }
    return done;
}

/* Two arrays of the same kind of float that BLAS can take. */
static bool are_operands(PyObject *x, PyObject *y, Operand *a, Operand *b)
{
    if (!has_blas() || x == NULL || y == NULL || !PyArray_CheckExact(x) || !PyArray_CheckExact(y)) {
        return false;
    }
    PyArrayObject *p = (PyArrayObject *)x, *q = (PyArrayObject *)y;
    int type = PyArray_TYPE(p);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_TYPE(q) == type && is_operand(p, a) && is_operand(q, b);
}

/* The dimensions before the last two, broadcast; false where they do not fit. */
static bool batches_of(PyArrayObject *x, PyArrayObject *y, Product *p)
{
    int mine = PyArray_NDIM(x) - 2, theirs = PyArray_NDIM(y) - 2;
    p->dims = mine > theirs ? mine : theirs;
    p->count = 1;
    for (int d = 0; d < p->dims; d++) {
        int i = d - (p->dims - mine), j = d - (p->dims - theirs);
        npy_intp a = i < 0 ? 1 : PyArray_DIM(x, i), b = j < 0 ? 1 : PyArray_DIM(y, j);
        if (a != b && a != 1 && b != 1) {
            return false;
        }
        p->shape[d] = a == 1 ? b : a;
        p->a_steps[d] = a == 1 ? 0 : PyArray_STRIDE(x, i);
        p->b_steps[d] = b == 1 ? 0 : PyArray_STRIDE(y, j);
        p->count *= p->shape[d];
    }
    return p->count > 0;
}

static PyObject *matmul(PyObject *const *arguments)
{
    Product p = {.bias = NULL};
    if (!are_operands(arguments[0], arguments[1], &p.a, &p.b) || p.a.columns != p.b.rows) {
        DECLINE;
    }
    PyArrayObject *x = (PyArrayObject *)arguments[0], *y = (PyArrayObject *)arguments[1];
    bool gram = p.a.at == p.b.at && p.a.row_step == p.b.column_step && p.a.rows == p.b.columns;
    if (gram || !batches_of(x, y, &p)) { /* NumPy makes half of a symmetric product and mirrors it */
        DECLINE;
    }
    p.doubles = PyArray_TYPE(x) == NPY_DOUBLE;
    p.m = p.a.rows;
    p.n = p.b.columns;
    p.k = p.a.columns;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < p.dims; d++) {
        shape[d] = p.shape[d];
    }
    shape[p.dims] = p.m;
    shape[p.dims + 1] = p.n;
    PyArrayObject *out = new_array(x, p.dims + 2, shape);
    if (out == NULL) {
        return NULL;
    }
    p.out = PyArray_BYTES(out);
    if (!multiply(&p)) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

static PyObject *linear(PyObject *const *arguments)
{
    Product p = {.dims = 0, .count = 1};
    Operand weight;
    PyArrayObject *bias = plain_array(arguments[2]);
    bool biased = !not_given(arguments[2]);
    if (!are_operands(arguments[0], arguments[1], &p.a, &weight) || PyArray_NDIM((PyArrayObject *)arguments[1]) != 2
        || p.a.columns != weight.columns || PyArray_SIZE((PyArrayObject *)arguments[0]) == 0) {
        DECLINE;
    }
    Finish finish;
    if (!not_given(arguments[3])) {
        if (!read_finish(arguments[3], (PyArrayObject *)arguments[0], weight.rows, &finish) || finish.scale != NULL) {
            DECLINE;
        }
        p.finish = &finish;
    }
    if (biased && (bias == NULL || PyArray_TYPE(bias) != PyArray_TYPE((PyArrayObject *)arguments[0])
                   || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != weight.rows)) {
        DECLINE;
    }
    PyArrayObject *x = in_rows(arguments[0]);
    if (x == NULL) {
        return declined_or_failed();
    }
    int ndim = PyArray_NDIM(x);
    p.doubles = PyArray_TYPE(x) == NPY_DOUBLE;
    p.k = weight.columns;
    p.n = weight.rows;
    p.m = p.a.rows = PyArray_SIZE(x) / p.k;
    p.a.row_step = p.k;
    p.a.column_step = 1;
    p.a.at = PyArray_BYTES(x);
    p.b = (Operand){weight.columns, weight.rows, weight.column_step, weight.row_step, weight.at};
    p.bias = biased ? PyArray_BYTES(bias) : NULL;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; d++) {
        shape[d] = d < ndim - 1 ? PyArray_DIM(x, d) : p.n;
    }
    PyArrayObject *out = new_array(x, ndim, shape);
    if (out != NULL) {
        p.out = PyArray_BYTES(out);
        if (!multiply(&p)) {
            Py_CLEAR(out);
        }
    }
    Py_DECREF(x);
    return (PyObject *)out;
}

const Row PRODUCT_ROWS[] = {
    {"matmul", matmul, {"a", "b"}},
    {"linear", linear, {"x", "weight", "bias", "finish"}},
    {NULL, NULL, {NULL}},
};
