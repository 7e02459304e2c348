/* Batch norm fused with a piecewise linear activation: see Pieces. */

INLINE REAL NAME(on_pieces)(const Pieces *act, REAL y)
{
    REAL low = (REAL)act->low, high = (REAL)act->high, slope = (REAL)act->slope;
    y = y < low ? slope == 0 ? low : y * slope : y;
    return y > high ? high : y;
}

/* The gradient of y, from that of what it becomes. */
INLINE VECTOR NAME(pull_pieces)(const Pieces *act, VECTOR g, VECTOR y)
{
    REAL slope = (REAL)act->slope;
    g = slope == 0 ? NAME(chosen)((TYPE(ints))(y <= (REAL)act->low), (VECTOR){0}, g)
                   : NAME(chosen)((TYPE(ints))(y > (REAL)act->low), g, g * slope); /* a NaN has the slope, if any */
    return NAME(chosen)((TYPE(ints))(y >= (REAL)act->high), (VECTOR){0}, g);
}

static void NAME(normalize_act)(const PlaneNorm *p, ptrdiff_t start, ptrdiff_t stop)
{
    ptrdiff_t n = p->n;
    Pieces act = p->act;
    for (ptrdiff_t i = start; i < stop; i++) {
        REAL mean = ((REAL *)p->mean)[i], var = ((REAL *)p->var)[i];
        if (!p->known) {
            NAME(statistics_of_planes)(p, i, &mean, &var);
            ((REAL *)p->mean)[i] = mean;
            ((REAL *)p->var)[i] = var;
        }
        REAL scale = 1 / NAME(root)(var + (REAL)p->eps);
        REAL own = scale * ((const REAL *)p->weight)[i], shift = ((const REAL *)p->bias)[i];
        EACH_PLANE(p, i, plane) {
            const REAL *restrict from = (const REAL *)p->x + plane * n;
            REAL *restrict out = (REAL *)p->out + plane * n;
            for (ptrdiff_t j = 0; j < n; j++) {
                out[j] = NAME(on_pieces)(&act, (from[j] - mean) * own + shift);
            }
        }
    }
}

/* What the gradient of a channel is made of. */
typedef struct {
    Pieces act;
    REAL mean, own, shift, slope, level;
} NAME(ActPull);

/* The first `count` lanes at x less the mean into `away`; their part of the gradient at g, behind the activation. */
INLINE VECTOR NAME(part_behind)(const NAME(ActPull) *c, const REAL *g, const REAL *x, ptrdiff_t count, VECTOR *away)
{
    VECTOR own = {0}, from = c->mean - (VECTOR){0};
    if (count == LANES) {
        own = LOAD(g);
        from = LOAD(x);
    } else {
        memcpy(&own, g, (size_t)count * sizeof(REAL));
        memcpy(&from, x, (size_t)count * sizeof(REAL));
    }
    *away = from - c->mean;
    return NAME(pull_pieces)(&c->act, own, *away * c->own + c->shift);
}

INLINE void NAME(sums_behind)(const NAME(ActPull) *c, const REAL *g, const REAL *x, ptrdiff_t n, REAL *level, REAL *slope)
{
    VECTOR sums[2] = {{0}}, products[2] = {{0}}, away;
    ptrdiff_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        for (int half = 0; half < 2; half++) {
            VECTOR part = NAME(part_behind)(c, g + i + half * LANES, x + i + half * LANES, LANES, &away);
            sums[half] += part;
            products[half] += part * away;
        }
    }
    for (; i < n; i += LANES) {
        VECTOR part = NAME(part_behind)(c, g + i, x + i, n - i < LANES ? n - i : LANES, &away);
        sums[0] += part;
        products[0] += part * away;
    }
    *level += NAME(sum_small)(NAME(shrunk)(sums[0] + sums[1]));
    *slope += NAME(sum_small)(NAME(shrunk)(products[0] + products[1]));
}

static void NAME(normalize_act_pull)(const PlaneNorm *p, ptrdiff_t start, ptrdiff_t stop)
{
    ptrdiff_t n = p->n;
    REAL count = (REAL)(n * p->planes);
    for (ptrdiff_t i = start; i < stop; i++) {
        REAL scale = 1 / NAME(root)(((const REAL *)p->var)[i] + (REAL)p->eps), w = ((const REAL *)p->weight)[i];
        REAL sum = 0, product = 0;
        NAME(ActPull) c = {
            .act = p->act, .mean = ((const REAL *)p->mean)[i], .own = scale * w, .shift = ((const REAL *)p->bias)[i],
        };
        EACH_PLANE(p, i, plane) {
            NAME(sums_behind)(&c, (const REAL *)p->g + plane * n, (const REAL *)p->x + plane * n, n, &sum, &product);
        }
        ((REAL *)p->g_bias)[i] = sum;
        ((REAL *)p->g_weight)[i] = product * scale;
        c.slope = (2 * ((const REAL *)p->g_var)[i] - w * product * scale * scale * scale) / count;
        c.level = (((const REAL *)p->g_mean)[i] - w * sum * scale) / count;
        EACH_PLANE(p, i, plane) {
            const REAL *g = (const REAL *)p->g + plane * n, *x = (const REAL *)p->x + plane * n;
            REAL *out = (REAL *)p->out + plane * n;
            for (ptrdiff_t j = 0; j < n; j += LANES) {
                VECTOR away, part = NAME(part_behind)(&c, g + j, x + j, n - j < LANES ? n - j : LANES, &away);
                part = part * c.own + (away * c.slope + c.level);
                if (n - j >= LANES) {
                    STORE(out + j, part);
                } else {
                    memcpy(out + j, &part, (size_t)(n - j) * sizeof(REAL));
                }
            }
        }
    }
}

#undef EACH_PLANE
