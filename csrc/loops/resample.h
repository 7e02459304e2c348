/* Sums of a few weighted elements each. What a negative index names is outside: it reads as zero, whatever is inside,
   and is not written to. */

/* out[i, j] = sum over t of weights[t, j] * x[i, index[t, j]], of rows of `trail` elements. */
static void NAME(resample)(const void *from, void *to, const Taps *taps, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    const REAL *restrict x = from, *restrict weights = taps->weights;
    REAL *restrict out = to;
    ptrdiff_t m = taps->size;
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += m * trail) {
        for (ptrdiff_t t = 0; t < taps->count; t++) {
            const int64_t *restrict index = taps->index + t * m;
            const REAL *restrict w = weights + t * m;
            if (trail == 1) {
                for (ptrdiff_t j = 0; j < m; j++) {
                    out[j] = (t ? out[j] : 0) + w[j] * (index[j] < 0 ? 0 : x[index[j]]);
                }
                continue;
            }
            for (ptrdiff_t j = 0; j < m; j++) {
                REAL *restrict into = out + j * trail;
                if (index[j] < 0) {
                    memset(into, 0, t ? 0 : trail * sizeof(REAL));
                    continue;
                }
                const REAL *restrict row = x + index[j] * trail;
                for (ptrdiff_t k = 0; k < trail; k++) {
                    into[k] = (t ? into[k] : 0) + w[j] * row[k];
                }
            }
        }
    }
}

/* ---- by (taps, places): of one sample */

/* out[c, p] = sum over t of weights[t, p] * x[c, index[t, p]] */
static void NAME(sum_places)(const void *from, void *to, const Taps *taps, ptrdiff_t channels, ptrdiff_t n)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    ptrdiff_t m = taps->size;
    for (ptrdiff_t c = 0; c < channels; c++, x += n, out += m) {
        for (ptrdiff_t t = 0; t < taps->count; t++) {
            const int64_t *restrict index = taps->index + t * m;
            const REAL *restrict w = (const REAL *)taps->weights + t * m;
            for (ptrdiff_t p = 0; p < m; p++) {
                out[p] = (t ? out[p] : 0) + w[p] * (index[p] < 0 ? 0 : x[index[p]]);
            }
        }
    }
}

/* Zeros, and then out[c, index[t, p]] += weights[t, p] * g[c, p] */
static void NAME(spread_places)(const void *from, void *to, const Taps *taps, ptrdiff_t channels, ptrdiff_t n)
{
    const REAL *restrict g = from;
    REAL *restrict out = to;
    ptrdiff_t m = taps->size;
    memset(out, 0, (size_t)(channels * n) * sizeof(REAL));
    for (ptrdiff_t c = 0; c < channels; c++, g += m, out += n) {
        for (ptrdiff_t t = 0; t < taps->count; t++) {
            const int64_t *restrict index = taps->index + t * m;
            const REAL *restrict w = (const REAL *)taps->weights + t * m;
            for (ptrdiff_t p = 0; p < m; p++) {
                if (index[p] >= 0) {
                    out[index[p]] += w[p] * g[p];
                }
            }
        }
    }
}

/* out[p] = sum over c of g[c, p] * x[c, index[p]], for m places */
static void NAME(dot_places)(const void *of_g, const void *from, void *to, const int64_t *index, ptrdiff_t channels,
                             ptrdiff_t n, ptrdiff_t m)
{
    const REAL *restrict g = of_g, *restrict x = from;
    REAL *restrict out = to;
    for (ptrdiff_t c = 0; c < channels; c++, g += m, x += n) {
        for (ptrdiff_t p = 0; p < m; p++) {
            out[p] = (c ? out[p] : 0) + (index[p] < 0 ? 0 : g[p] * x[index[p]]);
        }
    }
}

/* ---- the taps of places in a grid: coordinates from -1 at one edge of an image to 1 at the other */

#define MOST_TAPS 4
#define OUTSIDE (-((int64_t)1 << 31)) /* far enough that indices which it is part of are negative */

typedef struct {
    int64_t index;
    REAL weight, slope; /* the latter by the coordinate */
} NAME(Tap);

/* A coordinate mirrored at the centers of the first and the last element (`align`), or at their edges. */
INLINE REAL NAME(reflected)(REAL at, ptrdiff_t n, bool align, REAL *sign)
{
    REAL low = align ? 0 : (REAL)-0.5, span = (REAL)(align ? n - 1 : n);
    if (span == 0) {
        *sign = 0;
        return 0;
    }
    REAL away = NAME(fabs)(at - low), turns = NAME(floor)(away / span), rest = away - turns * span;
    bool back = turns - 2 * NAME(floor)(turns / 2) == 1;
    *sign = (at < low) != back ? -1 : 1;
    return (back ? span - rest : rest) + low;
}

INLINE NAME(Tap) NAME(tap_at)(REAL place, REAL weight, REAL slope, ptrdiff_t n, GridPadding padding, bool align)
{
    REAL last = (REAL)(n - 1), sign;
    if (padding == REFLECTION) {
        place = NAME(reflected)(place, n, align, &sign);
    }
    if (padding == ZEROS && !(place >= 0 && place <= last)) {
        return (NAME(Tap)){OUTSIDE, weight * 0, slope * 0};
    }
    REAL index = place > 0 ? place < last ? place : last : 0;
    return (NAME(Tap)){(int64_t)index, weight, slope};
}

/* The neighbours of a coordinate along a dimension of n elements; returns how many there are. */
INLINE int NAME(taps_along)(const Grid *grid, REAL coordinate, ptrdiff_t n, NAME(Tap) *taps)
{
    bool align = grid->align;
    GridPadding padding = grid->padding;
    REAL scale = (REAL)(align ? (double)(n - 1) / 2 : (double)n / 2), slope = 1, last = (REAL)(n - 1);
    REAL at = (coordinate + 1) * scale - (align ? 0 : (REAL)0.5);
    if (grid->mode != BICUBIC && padding != ZEROS) {
        if (padding == REFLECTION) {
            at = NAME(reflected)(at, n, align, &slope);
        }
        slope = at > 0 && at < last ? slope : 0;
        at = at > 0 ? at < last ? at : last : 0;
        padding = ZEROS;
    }
    slope *= scale;
    if (grid->mode == NEAREST) {
        taps[0] = NAME(tap_at)(NAME(rint)(at), 1, 0, n, padding, align);
        return 1;
    }
    REAL low = NAME(floor)(at), t = at - low;
    if (grid->mode == BILINEAR) {
        taps[0] = NAME(tap_at)(low, 1 - t, -slope, n, padding, align);
        taps[1] = NAME(tap_at)(low + 1, t, slope, n, padding, align);
        return 2;
    }
    const REAL a = (REAL)-0.75, far[] = {t + 1, 2 - t}, near[] = {t, 1 - t};
    for (int i = 0; i < 2; i++) { /* the outer and the inner neighbour on either side */
        REAL x = far[i], y = near[i], sign = i == 0 ? slope : -slope;
        REAL outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, inner = ((a + 2) * y - (a + 3)) * y * y + 1;
        taps[i * 3] = NAME(tap_at)(low - 1 + (REAL)(i * 3), outer, ((3 * a * x - 10 * a) * x + 8 * a) * sign, n, padding,
                                   align);
        taps[1 + i] = NAME(tap_at)(low + (REAL)i, inner, (3 * (a + 2) * y - 2 * (a + 3)) * y * sign, n, padding, align);
    }
    return MOST_TAPS;
}

/* The taps of all dimensions combined: index, weight, and its slopes by each coordinate unless NULL. */
INLINE void NAME(corners_of)(const Grid *grid, ptrdiff_t sample, ptrdiff_t place)
{
    NAME(Tap) taps[GRID_DIMS][MOST_TAPS];
    int dims = grid->dims, each = 1, total = 1;
    const REAL *coordinates = (const REAL *)grid->grid + (sample * grid->places + place) * dims;
    for (int d = 0; d < dims; d++) { /* the last dimension comes first in a grid */
        each = NAME(taps_along)(grid, coordinates[dims - 1 - d], grid->sizes[d], taps[d]);
        total *= each;
    }
    ptrdiff_t all = grid->samples * total * grid->places, at = sample * total * grid->places + place;
    for (int corner = 0; corner < total; corner++, at += grid->places) {
        int64_t index = 0;
        REAL weight = 1, slopes[GRID_DIMS] = {1, 1, 1};
        for (int d = 0, left = total; d < dims; d++) {
            left /= each;
            const NAME(Tap) *tap = &taps[d][corner / left % each];
            index = index * grid->sizes[d] + tap->index;
            weight *= tap->weight;
            for (int e = 0; e < dims; e++) {
                slopes[e] *= d == e ? tap->slope : tap->weight;
            }
        }
        grid->index[at] = index;
        ((REAL *)grid->weights)[at] = weight;
        for (int e = 0; grid->slopes != NULL && e < dims; e++) {
            ((REAL *)grid->slopes)[e * all + at] = slopes[e];
        }
    }
}

/* The corners of places from `start` to before `stop`, counted through all samples. */
static void NAME(grid_corners)(const Grid *grid, ptrdiff_t start, ptrdiff_t stop)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        NAME(corners_of)(grid, i / grid->places, i % grid->places);
    }
}

#undef MOST_TAPS
#undef OUTSIDE
