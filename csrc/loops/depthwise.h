/* Depthwise convolution: sums over kernel positions, one row of the result at a time.
 *
 * A plane is first copied with zero padding, and its columns are grouped by their index modulo the stride: a row of the
 * result then reads contiguous rows, whatever the stride.
 */

INLINE REAL *NAME(row_of_plane)(const PlaneSums *s, REAL *plane, ptrdiff_t z, ptrdiff_t y)
{
    return plane + (z * s->wide[1] + y) * s->row;
}

/* Copies a plane in, or the inner part of it out. */
INLINE void NAME(move_plane)(const PlaneSums *s, REAL *inner, REAL *plane, bool out)
{
    ptrdiff_t step = s->steps[2], length = s->row / step;
    for (ptrdiff_t z = 0; z < s->sizes[0]; z++) {
        for (ptrdiff_t y = 0; y < s->sizes[1]; y++, inner += s->sizes[2]) {
            ptrdiff_t to_z = z + s->margin[0], to_y = y + s->margin[1];
            bool inside = to_z >= 0 && to_z < s->wide[0] && to_y >= 0 && to_y < s->wide[1];
            REAL *row = NAME(row_of_plane)(s, plane, to_z, to_y);
            if (out && !inside) {
                memset(inner, 0, (size_t)s->sizes[2] * sizeof(REAL));
            }
            if (!inside) {
                continue;
            }
            if (step == 1 && s->margin[2] >= 0 && s->margin[2] + s->sizes[2] <= s->wide[2]) {
                memcpy(out ? inner : row + s->margin[2], out ? row + s->margin[2] : inner,
                       (size_t)s->sizes[2] * sizeof(REAL));
                continue;
            }
            if (out) {
                memset(inner, 0, (size_t)s->sizes[2] * sizeof(REAL)); /* a margin may be cut off */
            }
            for (ptrdiff_t phase = 0; phase < step; phase++) {
                REAL *line = row + phase * length, *at = inner + phase - s->margin[2];
                ptrdiff_t first = s->margin[2] > phase ? (s->margin[2] - phase + step - 1) / step : 0;
                ptrdiff_t wide = s->wide[2] < s->sizes[2] + s->margin[2] ? s->wide[2] : s->sizes[2] + s->margin[2];
                ptrdiff_t stop = wide > phase ? (wide - phase + step - 1) / step : 0;
                for (ptrdiff_t i = first; i < stop && out; i++) {
                    at[i * step] = line[i];
                }
                for (ptrdiff_t i = first; i < stop && !out; i++) {
                    line[i] = at[i * step];
                }
            }
        }
    }
}

/* One row of the result, `n` places. */
INLINE void NAME(row_sums)(const PlaneSums *s, const REAL *row, const REAL *w, REAL bias, ptrdiff_t n, REAL *out)
{
    ptrdiff_t x = 0;
    for (; x + 2 * LANES <= n; x += 2 * LANES) {
        VECTOR a = bias - (VECTOR){0}, b = a;
        for (ptrdiff_t t = 0; t < s->taps; t++) {
            const REAL *from = row + s->tap_offsets[t] + x;
            VECTOR each = w[t] - (VECTOR){0};
            a = NAME(vector_madd)(each, LOAD(from), a);
            b = NAME(vector_madd)(each, LOAD(from + LANES), b);
        }
        STORE(out + x, a);
        STORE(out + x + LANES, b);
    }
    while (x < n) {
        x = n >= LANES && x + LANES > n ? n - LANES : x; /* some of these once more */
        VECTOR a = bias - (VECTOR){0};
        for (ptrdiff_t t = 0; t < s->taps; t++) {
            a = NAME(vector_madd)(w[t] - (VECTOR){0}, LOAD(row + s->tap_offsets[t] + x), a);
        }
        if (n >= LANES) {
            STORE(out + x, a);
        } else {
            memcpy(out + x, &a, (size_t)n * sizeof(REAL));
        }
        x += LANES;
    }
}

/* The result of one plane; the margin is zero already. */
static void NAME(plane_forward)(const PlaneSums *s, const void *from, const void *weight, const void *bias, void *to,
                                ptrdiff_t channel, void *scratch)
{
    REAL *plane = scratch, *out = to;
    NAME(move_plane)(s, (REAL *)from, plane, false);
    for (ptrdiff_t z = 0; z < s->counts[0]; z++) {
        for (ptrdiff_t y = 0; y < s->counts[1]; y++, out += s->counts[2]) {
            NAME(row_sums)(s, NAME(row_of_plane)(s, plane, z * s->steps[0], y * s->steps[1]), weight,
                           bias == NULL ? 0 : *(const REAL *)bias, s->counts[2], out);
            if (s->finish != NULL) {
                NAME(finish_row)(s->finish, channel, out, out, s->counts[2]);
            }
        }
    }
}

/* The gradient of one plane from that of its result. */
static void NAME(plane_input)(const PlaneSums *s, const void *from, const void *weight, void *to, void *scratch)
{
    REAL *plane = scratch;
    const REAL *g = from, *w = weight;
    memset(plane, 0, s->scratch);
    for (ptrdiff_t z = 0; z < s->counts[0]; z++) {
        for (ptrdiff_t y = 0; y < s->counts[1]; y++, g += s->counts[2]) {
            REAL *row = NAME(row_of_plane)(s, plane, z * s->steps[0], y * s->steps[1]);
            for (ptrdiff_t t = 0; t < s->taps; t++) {
                REAL *restrict into = row + s->tap_offsets[t];
                for (ptrdiff_t x = 0; x < s->counts[2]; x++) {
                    into[x] = NAME(madd)(w[t], g[x], into[x]);
                }
            }
        }
    }
    NAME(move_plane)(s, to, plane, true);
}

/* All ones for the first `n` lanes, zero for the others. */
INLINE TYPE(ints) NAME(first_lanes)(ptrdiff_t n)
{
    TYPE(ints) mask = {0};
    for (ptrdiff_t i = 0; i < LANES; i++) {
        mask[i] = i < n ? -1 : 0;
    }
    return mask;
}

#define BLOCK_PLACES 1024 /* whose rows stay in the cache for all taps */

/* Adds to the gradient of the weights what one plane and the gradient of its result give; the margin is zero already.
 * The gradient is copied, with rows of whole vectors. */
static void NAME(plane_weight)(const PlaneSums *s, const void *from, const void *gradient, void *to, void *scratch)
{
    REAL *plane = scratch, *sums = to, *padded = plane + s->wide[0] * s->wide[1] * s->row + 2 * LANES;
    ptrdiff_t n = s->counts[2], rows = s->counts[0] * s->counts[1], across = (n + LANES - 1) / LANES * LANES;
    ptrdiff_t most = BLOCK_PLACES / across < 1 ? 1 : BLOCK_PLACES / across;
    TYPE(ints) mask = NAME(first_lanes)(n - (across - LANES));
    NAME(move_plane)(s, (REAL *)from, plane, false);
    for (ptrdiff_t row = 0; row < rows; row++) {
        memcpy(padded + row * across, (const REAL *)gradient + row * n, (size_t)n * sizeof(REAL));
        for (ptrdiff_t x = n; x < across; x++) {
            padded[row * across + x] = 0;
        }
    }
    for (ptrdiff_t start = 0; start < rows; start += most) {
        ptrdiff_t stop = start + most < rows ? start + most : rows;
        for (ptrdiff_t t = 0; t < s->taps; t++) {
            VECTOR a = {0}, b = {0};
            for (ptrdiff_t row = start; row < stop; row++) {
                ptrdiff_t z = row / s->counts[1], y = row % s->counts[1];
                const REAL *at = NAME(row_of_plane)(s, plane, z * s->steps[0], y * s->steps[1]) + s->tap_offsets[t];
                const REAL *g = padded + row * across;
                for (ptrdiff_t x = 0; x < across - LANES; x += LANES) {
                    a = NAME(vector_madd)(LOAD(g + x), LOAD(at + x), a);
                }
                g += across - LANES;
                at += across - LANES;
                b = NAME(vector_madd)(LOAD(g), (VECTOR)((TYPE(ints))LOAD(at) & mask), b);
            }
            sums[t] += NAME(sum_small)(NAME(shrunk)(a + b));
        }
    }
}

#undef BLOCK_PLACES
