/* Attention of one head: out = softmax(q kT scale) v, one block of queries at a time, so that only the weights of one
 * block are in memory. Backward recomputes them.
 */

#define QUERIES 36 /* of a block, at most: whole tiles of either height */

/* How the scratch of a head is laid out: matrices that lie packed for all keys, and blocks of queries. */
typedef struct {
    REAL *keys_across, *values;            /* kT and v; packed */
    REAL *values_across, *keys;            /* vT and k, likewise, for the gradient */
    REAL *queries, *weights;               /* of a block: q scale, and the weights that it has for all keys */
    REAL *g_weights, *packed_q, *packed_g; /* for the gradient, the last two packed */
    ptrdiff_t step;                        /* from a row of weights to the next */
} NAME(HeadRoom);

INLINE ptrdiff_t NAME(packed_size)(ptrdiff_t depth, ptrdiff_t columns)
{
    return (columns + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS * depth;
}

/* Lays out the scratch, or only counts its elements where there is none yet. */
static ptrdiff_t NAME(lay_out)(const Attention *a, REAL *scratch, bool back, NAME(HeadRoom) *room)
{
    ptrdiff_t n = 0;
    room->step = (a->keys + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS + TILE_COLUMNS; /* no power of two */
#define PLACE(name, size) (room->name = scratch + n, n += (size))
    PLACE(keys_across, NAME(packed_size)(a->depth, a->keys));
    PLACE(queries, QUERIES * a->depth);
    PLACE(weights, QUERIES * room->step);
    if (!back) {
        PLACE(values, NAME(packed_size)(a->keys, a->width));
        return n;
    }
    PLACE(values_across, NAME(packed_size)(a->width, a->keys));
    PLACE(keys, NAME(packed_size)(a->keys, a->depth));
    PLACE(g_weights, QUERIES * room->step);
    PLACE(packed_q, NAME(packed_size)(QUERIES, a->depth));
    PLACE(packed_g, NAME(packed_size)(QUERIES, a->width));
#undef PLACE
    return n;
}

static size_t NAME(attention_scratch)(const Attention *a, bool back)
{
    NAME(HeadRoom) room;
    return (size_t)NAME(lay_out)(a, NULL, back, &room) * sizeof(REAL);
}

/* How many keys query `row` sees. */
INLINE ptrdiff_t NAME(visible)(const Attention *a, ptrdiff_t row)
{
    return a->causal && row + 1 < a->keys ? row + 1 : a->keys;
}

/* exp(score - the largest) of the keys that a query sees, zeros for the others; 1 / the sum of them. A query whose scores
 * are all minus infinity looks at nothing: its factor is zero. */
INLINE REAL NAME(exponentials)(REAL *x, ptrdiff_t visible, ptrdiff_t n)
{
    REAL top = NAME(largest)(x, visible);
    bool nothing = top == -INFINITY; /* also where all others are not numbers */
    for (ptrdiff_t j = 0; nothing && j < visible; j++) {
        nothing = x[j] == -INFINITY;
    }
    for (ptrdiff_t j = 0; j < visible; j++) {
        x[j] = nothing ? 0 : NAME(exp_below)(x[j] - top);
    }
    for (ptrdiff_t j = visible; j < n; j++) {
        x[j] = 0;
    }
    return nothing ? 0 : 1 / NAME(sum_row)(x, visible);
}

/* The weights of the queries from `start` to `stop` for the first `seen` keys, but for a factor each. */
static void NAME(weigh)(const Attention *a, const NAME(HeadRoom) *room, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t seen,
                        REAL *factors)
{
    REAL scale = (REAL)a->scale;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *restrict q = (const REAL *)a->q + i * a->q_step;
        REAL *restrict to = room->queries + (i - start) * a->depth;
        for (ptrdiff_t j = 0; j < a->depth; j++) {
            to[j] = q[j] * scale;
        }
    }
    NAME(multiply_packed)(room->queries, a->depth, stop - start, room->keys_across, a->depth, a->depth, seen,
                          room->weights, room->step);
    for (ptrdiff_t i = start; i < stop; i++) {
        factors[i - start] = NAME(exponentials)(room->weights + (i - start) * room->step, NAME(visible)(a, i), seen);
    }
}

INLINE void NAME(scale_row)(REAL *x, ptrdiff_t n, REAL by)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        x[j] *= by;
    }
}

static void NAME(attention)(const Attention *a, void *scratch)
{
    NAME(HeadRoom) room;
    REAL factors[QUERIES];
    NAME(lay_out)(a, scratch, false, &room);
    NAME(pack_matrix)(a->k, room.keys_across, a->depth, a->keys, 1, a->k_step);
    NAME(pack_matrix)(a->v, room.values, a->keys, a->width, a->v_step, 1);
    ptrdiff_t blocks = (a->queries + QUERIES - 1) / QUERIES;
    for (ptrdiff_t b = 0; b < blocks; b++) {
        ptrdiff_t start = a->queries * b / blocks, stop = a->queries * (b + 1) / blocks;
        ptrdiff_t seen = NAME(visible)(a, stop - 1);
        REAL *out = (REAL *)a->out + start * a->width;
        NAME(weigh)(a, &room, start, stop, seen, factors);
        NAME(multiply_packed)(room.weights, room.step, stop - start, room.values, seen, a->keys, a->width, out,
                              a->width);
        for (ptrdiff_t i = 0; i < stop - start; i++) {
            NAME(scale_row)(out + i * a->width, a->width, factors[i]);
        }
    }
}

/* From the gradient of weights to that of scores: w * (g - sum(g * w)). */
INLINE void NAME(pull_scores)(REAL *restrict g, const REAL *restrict w, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        g[j] *= w[j];
    }
    REAL sum = NAME(sum_row)(g, n);
    for (ptrdiff_t j = 0; j < n; j++) {
        g[j] -= w[j] * sum;
    }
}

static void NAME(attention_pull)(const Attention *a, void *scratch)
{
    NAME(HeadRoom) room;
    REAL factors[QUERIES];
    NAME(lay_out)(a, scratch, true, &room);
    NAME(pack_matrix)(a->k, room.keys_across, a->depth, a->keys, 1, a->k_step);
    NAME(pack_matrix)(a->k, room.keys, a->keys, a->depth, a->k_step, 1);
    NAME(pack_matrix)(a->v, room.values_across, a->width, a->keys, 1, a->v_step);
    memset(a->g_k, 0, (size_t)(a->keys * a->depth) * sizeof(REAL));
    memset(a->g_v, 0, (size_t)(a->keys * a->width) * sizeof(REAL));
    ptrdiff_t blocks = (a->queries + QUERIES - 1) / QUERIES;
    for (ptrdiff_t b = 0; b < blocks; b++) {
        ptrdiff_t start = a->queries * b / blocks, stop = a->queries * (b + 1) / blocks, rows = stop - start;
        ptrdiff_t seen = NAME(visible)(a, stop - 1);
        const REAL *g = (const REAL *)a->g + start * a->g_step;
        REAL *g_q = (REAL *)a->g_q + start * a->depth;
        NAME(weigh)(a, &room, start, stop, seen, factors);
        NAME(multiply_packed)(g, a->g_step, rows, room.values_across, a->width, a->width, seen, room.g_weights,
                              room.step);
        for (ptrdiff_t i = 0; i < rows; i++) {
            NAME(scale_row)(room.weights + i * room.step, seen, factors[i]);
            NAME(pull_scores)(room.g_weights + i * room.step, room.weights + i * room.step, seen);
        }
        NAME(multiply_packed)(room.g_weights, room.step, rows, room.keys, seen, a->keys, a->depth, g_q,
                              a->depth);
        NAME(scale_row)(g_q, rows * a->depth, (REAL)a->scale);
        NAME(pack_matrix)(room.queries, room.packed_q, rows, a->depth, a->depth, 1);
        NAME(pack_matrix)(g, room.packed_g, rows, a->width, a->g_step, 1);
        NAME(add_transposed)(room.g_weights, room.step, seen, room.packed_q, rows, a->depth, a->g_k, a->depth);
        NAME(add_transposed)(room.weights, room.step, seen, room.packed_g, rows, a->width, a->g_v, a->width);
    }
}

#undef QUERIES
