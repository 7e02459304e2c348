/* Depthwise convolution with channels in the vector lanes: for planes whose rows are too short to fill a vector, or for
 * strides.
 *
 * LANES planes of a sample (`count` of them used) are staged: their elements at a position are adjacent, with zero padding
 * for the input. The weights are arranged likewise, LANES of them for each tap.
 */

#define PLACES_AT_ONCE 4
#define TAPS_AT_ONCE 9
#define ROUNDED_PLACES 64 /* that are summed before they are added to the sums of the others */

INLINE ptrdiff_t NAME(volume)(const ptrdiff_t *x)
{
    return x[0] * x[1] * x[2];
}

/* Where a row of the input, or a place of the result, lies in a staged plane. */
INLINE ptrdiff_t NAME(staged_place)(const PlaneSums *s, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return ((z * s->wide[1] + y) * s->wide[2] + x) * LANES;
}

static void NAME(stage_planes)(const PlaneSums *s, const REAL *x, ptrdiff_t count, REAL *staged)
{
    ptrdiff_t plane = NAME(volume)(s->sizes), across = s->wide[2] - s->margin[2];
    across = across < s->sizes[2] ? across : s->sizes[2];
    for (ptrdiff_t z = 0; z < s->sizes[0] && z + s->margin[0] < s->wide[0]; z++) {
        for (ptrdiff_t y = 0; y < s->sizes[1] && y + s->margin[1] < s->wide[1]; y++) {
            NAME(transpose)(x + (z * s->sizes[1] + y) * s->sizes[2], plane, count, across,
                            staged + NAME(staged_place)(s, z + s->margin[0], y + s->margin[1], s->margin[2]), LANES);
        }
    }
}

/* The result at `n` places that lie a step apart. */
INLINE void NAME(sum_taps)(const PlaneSums *s, const REAL *staged, const REAL *w, VECTOR bias, const NAME(Ends) *ends,
                           const int n, REAL *out)
{
    VECTOR sum[PLACES_AT_ONCE];
    ptrdiff_t step = s->steps[2] * LANES;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        sum[i] = bias;
    }
    for (ptrdiff_t t = 0; t < s->taps; t++) {
        const REAL *from = staged + s->tap_offsets[t] * LANES;
        VECTOR each = LOAD(w + t * LANES);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            sum[i] = NAME(vector_madd)(each, LOAD(from + i * step), sum[i]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        STORE(out + i * LANES, ends == NULL ? sum[i] : NAME(cut_off)(ends, sum[i]));
    }
}

/* Rooms in scratch, each of whole vectors: planes of the input, of the result, the weights. */
INLINE REAL *NAME(room_of_result)(const PlaneSums *s, void *scratch)
{
    return (REAL *)scratch + NAME(volume)(s->wide) * LANES;
}

INLINE REAL *NAME(room_of_weights)(const PlaneSums *s, void *scratch)
{
    return NAME(room_of_result)(s, scratch) + NAME(volume)(s->counts) * LANES;
}

static void NAME(lanes_forward)(const PlaneSums *s, const void *x, const void *weight, const void *bias, void *out,
                                ptrdiff_t channel, ptrdiff_t count, void *scratch)
{
    REAL *staged = scratch, *result = NAME(room_of_result)(s, scratch), *w = NAME(room_of_weights)(s, scratch), *to = result;
    VECTOR shift = {0};
    NAME(Ends) some, *ends = NULL;
    if (s->finish != NULL) {
        some = NAME(ends_of_lanes)(s->finish, channel, count);
        ends = &some;
    }
    if (bias != NULL) {
        memcpy(&shift, bias, (size_t)count * sizeof(REAL));
    }
    NAME(stage_planes)(s, x, count, staged);
    NAME(transpose)(weight, s->taps, count, s->taps, w, LANES);
    for (ptrdiff_t z = 0; z < s->counts[0]; z++) {
        for (ptrdiff_t y = 0; y < s->counts[1]; y++) {
            const REAL *from = staged + NAME(staged_place)(s, z * s->steps[0], y * s->steps[1], 0);
            ptrdiff_t x = 0, step = s->steps[2] * LANES;
            for (; x + PLACES_AT_ONCE <= s->counts[2]; x += PLACES_AT_ONCE, to += PLACES_AT_ONCE * LANES) {
                NAME(sum_taps)(s, from + x * step, w, shift, ends, PLACES_AT_ONCE, to);
            }
            for (; x < s->counts[2]; x++, to += LANES) {
                NAME(sum_taps)(s, from + x * step, w, shift, ends, 1, to);
            }
        }
    }
    ptrdiff_t places = NAME(volume)(s->counts);
    if (s->finish != NULL) {
        NAME(bend)(s->finish, result, places * LANES);
    }
    NAME(transpose)(result, LANES, places, count, out, places);
}

/* The gradient of the input, spread from that of the result. */
static void NAME(lanes_input)(const PlaneSums *s, const void *g, const void *weight, void *out, ptrdiff_t count,
                              void *scratch)
{
    REAL *staged = scratch, *from = NAME(room_of_result)(s, scratch), *w = NAME(room_of_weights)(s, scratch);
    ptrdiff_t places = NAME(volume)(s->counts), plane = NAME(volume)(s->sizes);
    memset(staged, 0, (size_t)(NAME(volume)(s->wide) * LANES) * sizeof(REAL));
    NAME(transpose)(g, places, count, places, from, LANES);
    NAME(transpose)(weight, s->taps, count, s->taps, w, LANES);
    for (ptrdiff_t z = 0; z < s->counts[0]; z++) {
        for (ptrdiff_t y = 0; y < s->counts[1]; y++) {
            for (ptrdiff_t x = 0; x < s->counts[2]; x++, from += LANES) {
                REAL *to = staged + NAME(staged_place)(s, z * s->steps[0], y * s->steps[1], x * s->steps[2]);
                VECTOR each = LOAD(from);
                for (ptrdiff_t t = 0; t < s->taps; t++) {
                    REAL *at = to + s->tap_offsets[t] * LANES;
                    STORE(at, NAME(vector_madd)(each, LOAD(w + t * LANES), LOAD(at)));
                }
            }
        }
    }
    for (ptrdiff_t z = 0; z < s->sizes[0]; z++) {
        for (ptrdiff_t y = 0; y < s->sizes[1]; y++) {
            NAME(transpose)(staged + NAME(staged_place)(s, z + s->margin[0], y + s->margin[1], s->margin[2]), LANES,
                            s->sizes[2], count, (REAL *)out + (z * s->sizes[1] + y) * s->sizes[2], plane);
        }
    }
}

/* Adds the products of a row of the result's gradient with what `n` taps meet to the sums of these taps. */
INLINE void NAME(sum_row_of_taps)(const PlaneSums *s, const REAL *staged, const REAL *g, const ptrdiff_t *offsets,
                                  ptrdiff_t places, const int n, REAL *sums)
{
    VECTOR sum[TAPS_AT_ONCE];
    ptrdiff_t step = s->steps[2] * LANES;
#pragma GCC unroll 9
    for (int t = 0; t < n; t++) {
        sum[t] = LOAD(sums + t * LANES);
    }
    for (ptrdiff_t x = 0; x < places; x++, staged += step, g += LANES) {
        VECTOR each = LOAD(g);
#pragma GCC unroll 9
        for (int t = 0; t < n; t++) {
            sum[t] = NAME(vector_madd)(each, LOAD(staged + offsets[t] * LANES), sum[t]);
        }
    }
#pragma GCC unroll 9
    for (int t = 0; t < n; t++) {
        STORE(sums + t * LANES, sum[t]);
    }
}

/* Adds what some planes and the gradients of their results give to sums of shape (taps, LANES); the margin is zero. */
static void NAME(add_weights_of_planes)(const PlaneSums *s, const REAL *x, const REAL *gradient, REAL *sums, REAL *part,
                                        ptrdiff_t count, REAL *scratch)
{
    REAL *staged = scratch, *g = NAME(room_of_result)(s, scratch);
    ptrdiff_t places = NAME(volume)(s->counts), rows = s->counts[0] * s->counts[1], across = s->counts[2];
    ptrdiff_t most = ROUNDED_PLACES / across < 1 ? 1 : ROUNDED_PLACES / across;
    NAME(stage_planes)(s, x, count, staged);
    NAME(transpose)(gradient, places, count, places, g, LANES);
    for (ptrdiff_t start = 0; start < rows; start += most) {
        memset(part, 0, (size_t)(s->taps * LANES) * sizeof(REAL));
        for (ptrdiff_t row = start; row < rows && row < start + most; row++, g += across * LANES) {
            const REAL *from = staged + NAME(staged_place)(s, row / s->counts[1] * s->steps[0],
                                                           row % s->counts[1] * s->steps[1], 0);
            ptrdiff_t t = 0;
            for (; t + TAPS_AT_ONCE <= s->taps; t += TAPS_AT_ONCE) {
                NAME(sum_row_of_taps)(s, from, g, s->tap_offsets + t, across, TAPS_AT_ONCE, part + t * LANES);
            }
            for (; t < s->taps; t++) {
                NAME(sum_row_of_taps)(s, from, g, s->tap_offsets + t, across, 1, part + t * LANES);
            }
        }
        for (ptrdiff_t t = 0; t < s->taps; t++) {
            STORE(sums + t * LANES, LOAD(sums + t * LANES) + LOAD(part + t * LANES));
        }
    }
}

/* The gradient of the weights of `count` channels, from all samples, which have `channels`. */
static void NAME(lanes_weight)(const PlaneSums *s, const void *x, const void *g, void *weight, ptrdiff_t count,
                               ptrdiff_t samples, ptrdiff_t channels, void *scratch)
{
    REAL *part = NAME(room_of_weights)(s, scratch), *sums = part + s->taps * LANES;
    memset(sums, 0, (size_t)(s->taps * LANES) * sizeof(REAL));
    for (ptrdiff_t n = 0; n < samples; n++) {
        NAME(add_weights_of_planes)(s, (const REAL *)x + n * channels * NAME(volume)(s->sizes),
                                    (const REAL *)g + n * channels * NAME(volume)(s->counts), sums, part, count, scratch);
    }
    NAME(transpose)(sums, LANES, s->taps, count, weight, s->taps);
}

#undef PLACES_AT_ONCE
#undef TAPS_AT_ONCE
#undef ROUNDED_PLACES
