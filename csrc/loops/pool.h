/* Pooling windows: the range of elements of each window, for each dimension and each position of the result. */

/* The largest element of each box, and its flat place; nan counts as largest, and of several the last. */
static void NAME(max_boxes)(const void *from, void *to, int64_t *places, ptrdiff_t planes, const Boxes *b)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    ptrdiff_t height = b->sizes[1], width = b->sizes[2];
    for (ptrdiff_t plane = 0; plane < planes; plane++, x += b->sizes[0] * height * width) {
        for (ptrdiff_t i = 0; i < b->counts[0]; i++) {
            for (ptrdiff_t j = 0; j < b->counts[1]; j++) {
                for (ptrdiff_t k = 0; k < b->counts[2]; k++) {
                    const Span d = b->spans[0][i], h = b->spans[1][j], w = b->spans[2][k];
                    REAL best = -INFINITY;
                    int64_t place = (d.start * height + h.start) * width + w.start;
                    for (ptrdiff_t z = d.start; z < d.stop; z += b->steps[0]) {
                        for (ptrdiff_t y = h.start; y < h.stop; y += b->steps[1]) {
                            ptrdiff_t row = (z * height + y) * width;
                            for (ptrdiff_t at = row + w.start; at < row + w.stop; at += b->steps[2]) {
                                if (x[at] > best || x[at] != x[at]) {
                                    best = x[at];
                                    place = at;
                                }
                            }
                        }
                    }
                    *out++ = best;
                    *places++ = place;
                }
            }
        }
    }
}

/* The mean of each box. */
static void NAME(mean_boxes)(const void *from, void *to, ptrdiff_t planes, const Boxes *b)
{
    const REAL *restrict x = from;
    REAL *restrict out = to;
    ptrdiff_t height = b->sizes[1], width = b->sizes[2];
    for (ptrdiff_t plane = 0; plane < planes; plane++, x += b->sizes[0] * height * width) {
        for (ptrdiff_t i = 0; i < b->counts[0]; i++) {
            for (ptrdiff_t j = 0; j < b->counts[1]; j++) {
                for (ptrdiff_t k = 0; k < b->counts[2]; k++) {
                    const Span d = b->spans[0][i], h = b->spans[1][j], w = b->spans[2][k];
                    REAL total = 0;
                    for (ptrdiff_t z = d.start; z < d.stop; z++) {
                        for (ptrdiff_t y = h.start; y < h.stop; y++) {
                            ptrdiff_t row = (z * height + y) * width;
                            for (ptrdiff_t at = row + w.start; at < row + w.stop; at++) {
                                total += x[at];
                            }
                        }
                    }
                    *out++ = total / (REAL)((d.stop - d.start) * (h.stop - h.start) * (w.stop - w.start));
                }
            }
        }
    }
}

/* The transpose of mean_boxes: adds to `to` what each element of a box gets of its mean. */
static void NAME(spread_boxes)(const void *from, void *to, ptrdiff_t planes, const Boxes *b)
{
    const REAL *restrict g = from;
    REAL *restrict out = to;
    ptrdiff_t height = b->sizes[1], width = b->sizes[2];
    for (ptrdiff_t plane = 0; plane < planes; plane++, out += b->sizes[0] * height * width) {
        for (ptrdiff_t i = 0; i < b->counts[0]; i++) {
            for (ptrdiff_t j = 0; j < b->counts[1]; j++) {
                for (ptrdiff_t k = 0; k < b->counts[2]; k++) {
                    const Span d = b->spans[0][i], h = b->spans[1][j], w = b->spans[2][k];
                    REAL part = *g++ / (REAL)((d.stop - d.start) * (h.stop - h.start) * (w.stop - w.start));
                    for (ptrdiff_t z = d.start; z < d.stop; z++) {
                        for (ptrdiff_t y = h.start; y < h.stop; y++) {
                            ptrdiff_t row = (z * height + y) * width;
                            for (ptrdiff_t at = row + w.start; at < row + w.stop; at++) {
                                out[at] += part;
                            }
                        }
                    }
                }
            }
        }
    }
}

/* ---- windows: a row of them at once, tap by tap */

#define WINDOWS 128 /* that are worked on at once */

/* The windows from *start to before *stop that have an element for a tap, of those from `first` to before `last`; where the
 * element of window 0 would lie in its row. */
INLINE ptrdiff_t NAME(windows_of_tap)(const Boxes *b, ptrdiff_t tap, ptrdiff_t first, ptrdiff_t last, ptrdiff_t *start,
                                      ptrdiff_t *stop)
{
    ptrdiff_t offset = tap * b->steps[2] - b->margin, inside = b->sizes[2] - offset;
    *start = offset < 0 ? (-offset + b->stride - 1) / b->stride : 0;
    *start = *start > first ? *start : first;
    *stop = inside <= 0 ? 0 : (inside + b->stride - 1) / b->stride;
    *stop = *stop < last ? *stop : last;
    return offset;
}

INLINE void NAME(max_tap)(const REAL *restrict x, ptrdiff_t step, ptrdiff_t n, TYPE(int) place, REAL *restrict best,
                          TYPE(int) *restrict places)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL value = x[i * step];
        bool wins = (value > best[i]) | (value != value);
        best[i] = wins ? value : best[i];
        places[i] = wins ? place + (TYPE(int))(i * step) : places[i];
    }
}

/* The maxima of n windows of 2x2 side by side, the most common ones, from two rows that begin at flat places. */
INLINE void NAME(max_of_four)(const REAL *restrict upper, const REAL *restrict lower, TYPE(int) place, TYPE(int) below,
                              ptrdiff_t n, REAL *restrict best, int64_t *restrict places)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        TYPE(int) at = place + (TYPE(int))(2 * i), under = below + (TYPE(int))(2 * i), winner = at;
        REAL most = upper[2 * i], value = upper[2 * i + 1];
        bool wins = (value > most) | (value != value);
        most = wins ? value : most;
        winner = wins ? at + 1 : winner;
        value = lower[2 * i];
        wins = (value > most) | (value != value);
        most = wins ? value : most;
        winner = wins ? under : winner;
        value = lower[2 * i + 1];
        wins = (value > most) | (value != value);
        best[i] = wins ? value : most;
        places[i] = wins ? under + 1 : winner;
    }
}

/* n, or as many as whole vectors have, if there is room for those: loops that leave no rest are faster. */
INLINE ptrdiff_t NAME(whole_vectors)(ptrdiff_t n, ptrdiff_t room)
{
    ptrdiff_t whole = (n + LANES - 1) / LANES * LANES;
    return whole <= room ? whole : n;
}

/* The windows of a row from `k` to before `last`, whose places are already those of their first elements; x ends at `end`. */
INLINE void NAME(max_row)(const REAL *plane, const REAL *end, Span d, Span h, ptrdiff_t k, ptrdiff_t last, const Boxes *b,
                          REAL *best, TYPE(int) *place)
{
    ptrdiff_t height = b->sizes[1], width = b->sizes[2], stride = b->stride, start, stop;
    for (ptrdiff_t z = d.start; z < d.stop; z += b->steps[0]) {
        for (ptrdiff_t y = h.start; y < h.stop; y += b->steps[1]) {
            for (ptrdiff_t tap = 0; tap < b->taps; tap++) {
                ptrdiff_t at = (z * height + y) * width + NAME(windows_of_tap)(b, tap, k, last, &start, &stop);
                at += start * stride;
                ptrdiff_t n = stop < last ? stop - start : NAME(whole_vectors)(stop - start, (end - plane - at) / stride);
                if (stride == 1) {
                    NAME(max_tap)(plane + at, 1, n, (TYPE(int))at, best + start - k, place + start - k);
                } else if (stride == 2) {
                    NAME(max_tap)(plane + at, 2, n, (TYPE(int))at, best + start - k, place + start - k);
                } else {
                    NAME(max_tap)(plane + at, stride, n, (TYPE(int))at, best + start - k, place + start - k);
                }
            }
        }
    }
}

/* As max_boxes; planes have fewer elements than TYPE(int) can count. */
static void NAME(max_windows)(const void *from, void *to, int64_t *places, ptrdiff_t planes, const Boxes *b)
{
    const REAL *x = from, *end = x + planes * b->sizes[0] * b->sizes[1] * b->sizes[2];
    REAL *out = to, best[WINDOWS + LANES] = {0};
    TYPE(int) place[WINDOWS + LANES] = {0};
    ptrdiff_t height = b->sizes[1], width = b->sizes[2], rows = b->counts[0] * b->counts[1], n = b->counts[2];
    bool pairs = b->margin == 0 && n * 2 <= width && b->stride == 2 && b->taps == 2 && b->steps[2] == 1 && b->steps[1] == 1;
    for (ptrdiff_t row = 0; row < planes * rows; row++) {
        const Span d = b->spans[0][row % rows / b->counts[1]], h = b->spans[1][row % b->counts[1]];
        const REAL *plane = x + row / rows * b->sizes[0] * height * width;
        if (pairs && d.stop - d.start == 1 && h.stop - h.start == 2) { /* what is beyond a row is overwritten by the next one */
            ptrdiff_t at = (d.start * height + h.start) * width, below = at + width;
            ptrdiff_t room = (end - plane - below) / 2, rest = (planes * rows - row) * n;
            NAME(max_of_four)(plane + at, plane + below, (TYPE(int))at, (TYPE(int))below,
                              NAME(whole_vectors)(n, room < rest ? room : rest), out, places);
            out += n;
            places += n;
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k += WINDOWS) {
            ptrdiff_t last = k + WINDOWS < n ? k + WINDOWS : n;
            for (ptrdiff_t i = k; i < last; i++) {
                best[i - k] = -INFINITY;
                place[i - k] = (TYPE(int))((d.start * height + h.start) * width + b->spans[2][i].start);
            }
            NAME(max_row)(plane, end, d, h, k, last, b, best, place);
            for (ptrdiff_t i = 0; i < last - k; i++) {
                *out++ = best[i];
                *places++ = place[i];
            }
        }
    }
}

INLINE void NAME(add_tap)(const REAL *restrict x, ptrdiff_t step, REAL *restrict out, ptrdiff_t out_step, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i * out_step] += x[i * step];
    }
}

/* The rows of a window's plane and its taps, one after the other: adds between them and the windows, either way. */
INLINE void NAME(add_windows)(REAL *plane, REAL *windows, ptrdiff_t row, bool spread, const Boxes *b)
{
    const Span d = b->spans[0][row / b->counts[1]], h = b->spans[1][row % b->counts[1]];
    ptrdiff_t height = b->sizes[1], width = b->sizes[2], stride = b->stride, start, stop;
    for (ptrdiff_t z = d.start; z < d.stop; z++) {
        for (ptrdiff_t y = h.start; y < h.stop; y++) {
            for (ptrdiff_t tap = 0; tap < b->taps; tap++) {
                ptrdiff_t offset = NAME(windows_of_tap)(b, tap, 0, b->counts[2], &start, &stop);
                REAL *elements = plane + (z * height + y) * width + offset + start * stride;
                if (spread && stride == 1) {
                    NAME(add_tap)(windows + start, 1, elements, 1, stop - start);
                } else if (spread) {
                    NAME(add_tap)(windows + start, 1, elements, stride, stop - start);
                } else if (stride == 1) {
                    NAME(add_tap)(elements, 1, windows + start, 1, stop - start);
                } else if (stride == 2) {
                    NAME(add_tap)(elements, 2, windows + start, 1, stop - start);
                } else {
                    NAME(add_tap)(elements, stride, windows + start, 1, stop - start);
                }
            }
        }
    }
}

/* The sum of each window; `to` is zeros. */
static void NAME(sum_windows)(const void *from, void *to, ptrdiff_t planes, const Boxes *b)
{
    ptrdiff_t rows = b->counts[0] * b->counts[1], plane = b->sizes[0] * b->sizes[1] * b->sizes[2];
    for (ptrdiff_t row = 0; row < planes * rows; row++) {
        NAME(add_windows)((REAL *)from + row / rows * plane, (REAL *)to + row * b->counts[2], row % rows, false, b);
    }
}

/* Its transpose. */
static void NAME(spread_windows)(const void *from, void *to, ptrdiff_t planes, const Boxes *b)
{
    ptrdiff_t rows = b->counts[0] * b->counts[1], plane = b->sizes[0] * b->sizes[1] * b->sizes[2];
    for (ptrdiff_t row = 0; row < planes * rows; row++) {
        NAME(add_windows)((REAL *)to + row / rows * plane, (REAL *)from + row * b->counts[2], row % rows, true, b);
    }
}

#undef WINDOWS
