/* Convolutions that are products of matrices, by BLAS: kernels as large as the image, and the weights of one tap. */

#include "conv.h"

#include <string.h>

#include "blas.h"
#include "memory.h"
#include "threads.h"

#define LEAST_PART 16 /* rows or columns: BLAS prepares the other operand for each part */
#define LEAST_PRODUCTS ((ptrdiff_t)1 << 19)

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

/* ---- the weights of one tap: products over the places of each sample */

typedef struct {
    const Geometry *g;
    const char *x;
    char *out;
    ptrdiff_t item, parts;
} Picking;

/* The elements of some planes that the tap meets. */
static void pick_places(const void *work, ptrdiff_t i)
{
    const Picking *p = work;
    const Geometry *g = p->g;
    const ptrdiff_t *size = g->sizes, *count = g->counts, *step = g->stride;
    ptrdiff_t start, stop;
    part_of(g->samples * g->channels, 1, p->parts, i, &start, &stop);
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        char *out = p->out + plane * product_of(count) * p->item;
        for (ptrdiff_t row = 0; row < count[0] * count[1]; row++) {
            ptrdiff_t y = row / count[1] * step[0] * size[1] + row % count[1] * step[1];
            const char *x = p->x + (plane * product_of(size) + y * size[2]) * p->item;
            if (p->item == sizeof(float)) {
                for (ptrdiff_t c = 0; c < count[2]; c++) {
                    ((float *)out)[c] = ((const float *)x)[c * step[2]];
                }
            } else {
                for (ptrdiff_t c = 0; c < count[2]; c++) {
                    ((double *)out)[c] = ((const double *)x)[c * step[2]];
                }
            }
            out += count[2] * p->item;
        }
    }
}

bool pointwise_weight(const Geometry *g, ptrdiff_t item, const char *x, const char *gradient, char *w)
{
    if (!has_blas() || g->groups != 1 || product_of(g->kernel) != 1 || g->padding[0] + g->padding[1] + g->padding[2] > 0) {
        return false;
    }
    ptrdiff_t places = product_of(g->counts), planes = g->samples * g->channels;
    char *picked = NULL;
    if (memcmp(g->sizes, g->counts, sizeof g->sizes) != 0) {
        picked = new_block((size_t)(planes * places * item), false);
        if (picked == NULL) {
            return false;
        }
        ptrdiff_t parts = chunks_for(planes * places, LEAST_PRODUCTS >> 4);
        Picking work = {g, x, picked, item, parts < planes ? parts : planes};
        run_chunks(pick_places, &work, work.parts);
    }
    Products p = {{gradient, places, false}, {picked != NULL ? picked : x, places, true}, w, g->results, g->channels,
                  places, g->samples, item, .a_next = g->results * places, .b_next = g->channels * places};
    multiply(&p);
    release_block(picked);
    return true;
}
