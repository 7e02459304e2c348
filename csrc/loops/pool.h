/* Pooling over boxes: for each place of the result and each dimension, which elements the box has there. */

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
