/* Convolutions that are matrix products: kernels as large as the image, by BLAS, and kernels of size 1. */

#include "conv.h"

#include <string.h>

#include "blas.h"
#include "memory.h"
#include "threads.h"

#define LEAST_PART 16 /* rows or columns: BLAS prepares the other operand for each part */
#define LEAST_PRODUCTS ((ptrdiff_t)1 << 19)
#define LONG_TILE 64     /* bytes of its rows: two vectors of 32 */
#define LEAST_SHORTER 20 /* channels, on the side that has fewer */

/* The sum of `count` products of (m, k) and (k, n) matrices, cut by the rows of the result or by its columns. */
typedef struct {
    Matrix a, b;
    char *out;
    ptrdiff_t m, n, k, count, item;
    ptrdiff_t a_next, b_next; /* elements from the operands of a product to those of the next */
    bool add;                 /* to what is there already */
    ptrdiff_t parts;
} Products;

static Matrix moved(Matrix x, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t further, ptrdiff_t item)
{
    ptrdiff_t inner = x.transposed ? rows : columns, outer = x.transposed ? columns : rows;
    x.at = (const char *)x.at + (outer * x.step + inner + further) * item;
    return x;
}

static void multiply_part(const void *work, ptrdiff_t i)
{
    const Products *p = work;
    bool by_rows = p->m > p->n;
    ptrdiff_t start, stop;
    part_of(by_rows ? p->m : p->n, 1, p->parts, i, &start, &stop);
    ptrdiff_t row = by_rows ? start : 0, column = by_rows ? 0 : start;
    ptrdiff_t m = by_rows ? stop - start : p->m, n = by_rows ? p->n : stop - start;
    char *out = p->out + (row * p->n + column) * p->item;
    for (ptrdiff_t j = 0; j < p->count; j++) {
        (j == 0 && !p->add ? multiply_matrices : add_matrix_product)(
            p->item == sizeof(double), m, n, p->k, moved(p->a, row, 0, j * p->a_next, p->item),
            moved(p->b, 0, column, j * p->b_next, p->item), out, p->n);
    }
}

static void multiply(Products *p)
{
    ptrdiff_t longer = p->m > p->n ? p->m : p->n, most = longer / LEAST_PART;
    p->parts = chunks_for(p->count * p->m * p->n * p->k, LEAST_PRODUCTS);
    p->parts = most < 1 ? 1 : p->parts < most ? p->parts : most;
    begin_single_blas();
    run_chunks(multiply_part, p, p->parts);
    end_single_blas();
}

/* ---- kernels as large as the image: a result has one place, and its elements are those of a product with all of x */

static bool covers_image(const Geometry *g)
{
    return has_blas() && g->groups == 1 && product_of(g->counts) == 1
           && memcmp(g->kernel, g->sizes, sizeof g->sizes) == 0 && g->padding[0] + g->padding[1] + g->padding[2] == 0;
}

bool whole_forward(const Geometry *g, ptrdiff_t item, const char *x, const char *w, const char *bias, char *y)
{
    if (!covers_image(g)) {
        return false;
    }
    ptrdiff_t all = g->channels * product_of(g->kernel);
    Products p = {{x, all, false}, {w, all, true}, y, g->samples, g->results, all, 1, item, .add = bias != NULL};
    for (ptrdiff_t i = 0; i < g->samples && bias != NULL; i++) {
        memcpy(y + i * g->results * item, bias, (size_t)(g->results * item));
    }
    multiply(&p);
    return true;
}

bool whole_input(const Geometry *g, ptrdiff_t item, const char *gradient, const char *w, const char *bias, char *x)
{
    if (!covers_image(g) || bias != NULL) {
        return false;
    }
    ptrdiff_t all = g->channels * product_of(g->kernel);
    Products p = {{gradient, g->results, false}, {w, all, false}, x, g->samples, all, g->results, 1, item};
    multiply(&p);
    return true;
}

bool whole_weight(const Geometry *g, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    if (!covers_image(g)) {
        return false;
    }
    ptrdiff_t all = g->channels * product_of(g->kernel);
    Products p = {{gradient, g->results, true}, {x, all, false}, w, g->results, all, g->samples, 1, item};
    multiply(&p);
    return true;
}

/* ---- kernels of one tap: products over the places of each sample, or over those of all samples, side by side */

#define LEAST_PLACES 128                  /* of a sample, below which its product is mostly reading and writing sums */
#define LEAST_SAMPLE ((ptrdiff_t)1 << 22) /* products of a sample, likewise waking threads */
#define COPIED_AT_ONCE ((ptrdiff_t)1 << 25) /* bytes of what is laid out anew, so that large batches need no more */

static bool is_pointwise(const Geometry *g)
{
    return g->groups == 1 && product_of(g->kernel) == 1 && g->padding[0] + g->padding[1] + g->padding[2] == 0;
}

/* Whether the kernel does not meet all of the input. */
static bool leaps(const Geometry *g)
{
    return memcmp(g->sizes, g->counts, sizeof g->sizes) != 0;
}

/* Planes of (outer, inner), each with the places of the result or all of the input's, into planes of the other kind: in
 * the same order, or in that of (inner, outer). */
typedef struct {
    const Geometry *g;
    const char *from;
    char *to;
    ptrdiff_t outer, inner, item, parts;
    bool turned, spread; /* whether places are picked from the input's, or spread over them */
} Planes;

#define COPY_ROW(T) \
    static void copy_row_##T(const void *from, void *to, ptrdiff_t from_step, ptrdiff_t to_step, ptrdiff_t n) \
    { \
        for (ptrdiff_t i = 0; i < n; i++) { \
            ((T *)to)[i * to_step] = ((const T *)from)[i * from_step]; \
        } \
    }
COPY_ROW(float)
COPY_ROW(double)
#undef COPY_ROW

static void move_plane(const Planes *p, const char *from, char *to)
{
    const Geometry *g = p->g;
    const ptrdiff_t *size = g->sizes, *count = g->counts, *step = g->stride;
    if (!leaps(g)) {
        memcpy(to, from, (size_t)(product_of(count) * p->item));
        return;
    }
    if (p->spread) {
        memset(to, 0, (size_t)(product_of(size) * p->item));
    }
    for (ptrdiff_t row = 0; row < count[0] * count[1]; row++) {
        ptrdiff_t y = row / count[1] * step[0] * size[1] + row % count[1] * step[1];
        ptrdiff_t own = row * count[2] * p->item, far = y * size[2] * p->item;
        (p->item == sizeof(float) ? copy_row_float : copy_row_double)(
            from + (p->spread ? own : far), to + (p->spread ? far : own), p->spread ? 1 : step[2], p->spread ? step[2] : 1,
            count[2]);
    }
}

static void move_some(const void *work, ptrdiff_t i)
{
    const Planes *p = work;
    ptrdiff_t start, stop, places = product_of(p->g->counts) * p->item, all = product_of(p->g->sizes) * p->item;
    part_of(p->outer * p->inner, 1, p->parts, i, &start, &stop);
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        ptrdiff_t to = p->turned ? plane % p->inner * p->outer + plane / p->inner : plane;
        move_plane(p, p->from + plane * (p->spread ? places : all), p->to + to * (p->spread ? all : places));
    }
}

static void move_planes(Planes p)
{
    ptrdiff_t planes = p.outer * p.inner;
    p.parts = chunks_for(planes * product_of(p.g->counts), LEAST_PRODUCTS >> 4);
    p.parts = p.parts < planes ? p.parts : planes;
    run_chunks(move_some, &p, p.parts);
}

/* The geometry of a kernel of one tap that meets each place of one row: those of a sample, or of all `beside` each other. */
static Geometry dense_geometry(const Geometry *g, bool beside)
{
    Geometry dense = *g;
    ptrdiff_t places = product_of(g->counts) * (beside ? g->samples : 1);
    dense.samples = beside ? 1 : g->samples;
    for (int d = 0; d < CONV_DIMS; d++) {
        dense.stride[d] = 1;
        dense.sizes[d] = dense.counts[d] = d == CONV_DIMS - 1 ? places : 1;
    }
    return dense;
}

/* Whether samples have so few places that tiles should span several, which they do best where these lie side by side. */
static bool should_lie_beside(const Geometry *g)
{
    return g->samples > 1 && product_of(g->counts) < LEAST_PLACES;
}

/* Some samples of those of `g`, from `first` on: all, if these take no more memory than they may. */
static Geometry samples_from(const Geometry *g, ptrdiff_t first, ptrdiff_t item)
{
    Geometry some = *g;
    ptrdiff_t most = COPIED_AT_ONCE / (product_of(g->counts) * (g->channels + g->results) * item), rest = g->samples - first;
    some.samples = most < 1 ? 1 : most < rest ? most : rest;
    return some;
}

/* Bytes of a sample of the input, and of the result. */
static ptrdiff_t input_bytes(const Geometry *g, ptrdiff_t item)
{
    return g->channels * product_of(g->sizes) * item;
}

static ptrdiff_t result_bytes(const Geometry *g, ptrdiff_t item)
{
    return g->results * product_of(g->counts) * item;
}

static bool forward_of_some(const Geometry *g, const Loops *loops, ptrdiff_t item, bool beside, const char *x, const char *w,
                            const char *bias, const Finish *finish, char *y)
{
    Geometry dense = dense_geometry(g, beside), all = dense_geometry(g, false);
    ptrdiff_t places = g->samples * product_of(g->counts);
    char *picked = new_block((size_t)(places * g->channels * item), false);
    char *out = beside ? new_block((size_t)(places * g->results * item), false) : y;
    bool good = picked != NULL && out != NULL;
    if (good) {
        move_planes((Planes){g, x, picked, g->samples, g->channels, item, .turned = beside});
    }
    if (good && beside && bias == NULL) { /* weights are many here: what packs all of them takes longer */
        good = sum_by_tiles(loops, (Gemm){.a = w, .b = picked, .out = out, .m = g->results, .n = places, .k = g->channels,
                                          .a_row = g->channels, .a_column = 1, .b_row = places, .b_column = 1});
    } else if (good) {
        good = direct_forward(&dense, loops, item, picked, w, bias, beside ? NULL : finish, out);
    }
    if (beside) {
        if (good) {
            move_planes((Planes){&all, out, y, g->results, g->samples, item, .turned = true});
            if (finish != NULL) {
                finish_planes(finish, loops, y, y, g->samples * g->results, g->results, product_of(g->counts));
            }
        }
        release_block(out);
    }
    release_block(picked);
    return good;
}

bool pointwise_forward(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *w,
                       const char *bias, const Finish *finish, char *y)
{
    bool beside = should_lie_beside(g), good = is_pointwise(g) && (leaps(g) || beside);
    for (ptrdiff_t first = 0; first < g->samples && good;) {
        Geometry some = samples_from(g, first, item);
        good = forward_of_some(&some, loops, item, beside, x + first * input_bytes(g, item), w, bias, finish,
                               y + first * result_bytes(g, item));
        first += some.samples;
    }
    return good;
}

static bool input_of_some(const Geometry *g, const Loops *loops, ptrdiff_t item, bool beside, const char *gradient,
                          const char *w, const char *bias, char *x)
{
    Geometry dense = dense_geometry(g, beside), all = dense_geometry(g, false);
    ptrdiff_t places = g->samples * product_of(g->counts);
    char *turned = beside ? new_block((size_t)(places * g->results * item), false) : NULL;
    char *out = new_block((size_t)(places * g->channels * item), false);
    bool good = out != NULL && (turned != NULL || !beside);
    if (good && beside) {
        move_planes((Planes){&all, gradient, turned, g->samples, g->results, item, .turned = true});
    }
    if (good && beside && bias == NULL) {
        good = sum_by_tiles(loops, (Gemm){.a = w, .b = turned, .out = out, .m = g->channels, .n = places, .k = g->results,
                                          .a_row = 1, .a_column = g->channels, .b_row = places, .b_column = 1});
    } else if (good) {
        good = direct_input(&dense, loops, item, beside ? turned : gradient, w, bias, out);
    }
    if (good) {
        move_planes(beside ? (Planes){g, out, x, g->channels, g->samples, item, .turned = true, .spread = true}
                           : (Planes){g, out, x, g->samples, g->channels, item, .spread = true});
    }
    release_block(turned);
    release_block(out);
    return good;
}

bool pointwise_input(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *gradient, const char *w,
                     const char *bias, char *x)
{
    bool beside = should_lie_beside(g), good = is_pointwise(g) && (leaps(g) ? bias == NULL : beside);
    for (ptrdiff_t first = 0; first < g->samples && good;) {
        Geometry some = samples_from(g, first, item);
        good = input_of_some(&some, loops, item, beside, gradient + first * result_bytes(g, item), w, bias,
                             x + first * input_bytes(g, item));
        first += some.samples;
    }
    return good;
}

/* Whether tiles of our own are faster than BLAS: their vectors are long, and most of a tile is used. */
static bool suits_tiles(const Geometry *g, const Loops *loops, ptrdiff_t item)
{
    ptrdiff_t shorter = g->results < g->channels ? g->results : g->channels;
    return loops->tile_columns * item >= LONG_TILE && shorter >= LEAST_SHORTER;
}

static bool weight_by_tiles(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient,
                            bool beside, bool add, char *w)
{
    ptrdiff_t places = product_of(g->counts), depth = beside ? g->samples * places : places;
    Gemm p = {.a = gradient, .b = x, .out = w, .m = g->results, .n = g->channels, .k = depth,
              .a_row = depth, .a_column = 1, .b_row = 1, .b_column = depth, .add = add};
    for (ptrdiff_t sample = 0; sample < (beside ? 1 : g->samples); sample++) {
        if (!sum_by_tiles(loops, p)) {
            return false;
        }
        p.a = (const char *)p.a + g->results * places * item;
        p.b = (const char *)p.b + g->channels * places * item;
        p.add = true;
    }
    return true;
}

/* What some samples give, or what they `add` to what others gave. */
static bool weight_of_some(const Geometry *g, const Loops *loops, ptrdiff_t item, bool tiles, bool beside, const char *x,
                           const char *gradient, bool add, char *w)
{
    ptrdiff_t places = product_of(g->counts), all = g->samples * places;
    char *picked = leaps(g) || beside ? new_block((size_t)(all * g->channels * item), false) : NULL;
    char *turned = beside ? new_block((size_t)(all * g->results * item), false) : NULL;
    bool good = (picked != NULL || !(leaps(g) || beside)) && (turned != NULL || !beside);
    if (good && picked != NULL) {
        move_planes((Planes){g, x, picked, g->samples, g->channels, item, .turned = beside});
        x = picked;
    }
    if (good && beside) {
        Geometry own = dense_geometry(g, false);
        move_planes((Planes){&own, gradient, turned, g->samples, g->results, item, .turned = true});
        gradient = turned;
    }
    if (good && tiles) {
        good = weight_by_tiles(g, loops, item, x, gradient, beside, add, w);
    } else if (good) {
        Products p = {{gradient, places, false}, {x, places, true}, w, g->results, g->channels, places, g->samples, item,
                      .a_next = g->results * places, .b_next = g->channels * places, .add = add};
        multiply(&p);
    }
    release_block(picked);
    release_block(turned);
    return good;
}

bool pointwise_weight(const Geometry *g, const Loops *loops, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    ptrdiff_t places = product_of(g->counts);
    bool tiles = suits_tiles(g, loops, item), good = (has_blas() || tiles) && is_pointwise(g);
    bool beside = tiles && g->samples > 1 && (places < LEAST_PLACES || places * g->results * g->channels < LEAST_SAMPLE);
    for (ptrdiff_t first = 0; first < g->samples && good;) {
        Geometry some = leaps(g) || beside ? samples_from(g, first, item) : *g;
        good = weight_of_some(&some, loops, item, tiles, beside, x + first * input_bytes(g, item),
                              gradient + first * result_bytes(g, item), first > 0, w);
        first += some.samples;
    }
    return good;
}
