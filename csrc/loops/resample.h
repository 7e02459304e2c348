/* Weighted sums of a few elements each. */

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
                    out[j] = (t ? out[j] : 0) + w[j] * x[index[j]];
                }
                continue;
            }
            for (ptrdiff_t j = 0; j < m; j++) {
                const REAL *restrict row = x + index[j] * trail;
                REAL *restrict into = out + j * trail;
                for (ptrdiff_t k = 0; k < trail; k++) {
                    into[k] = (t ? into[k] : 0) + w[j] * row[k];
                }
            }
        }
    }
}

/* ---- by (samples, taps, places): each sample of `channels` rows has indices and weights of its own */

/* out[i, c, p] = sum over t of weights[i, t, p] * x[i, c, index[i, t, p]] */
static void NAME(sum_places)(const void *from, void *to, const Taps *taps, ptrdiff_t samples, ptrdiff_t channels,
                             ptrdiff_t n)
{
    ptrdiff_t m = taps->size;
    for (ptrdiff_t i = 0; i < samples; i++) {
        for (ptrdiff_t c = 0; c < channels; c++) {
            const REAL *restrict x = (const REAL *)from + (i * channels + c) * n;
            REAL *restrict out = (REAL *)to + (i * channels + c) * m;
            for (ptrdiff_t t = 0; t < taps->count; t++) {
                const int64_t *restrict index = taps->index + (i * taps->count + t) * m;
                const REAL *restrict w = (const REAL *)taps->weights + (i * taps->count + t) * m;
                for (ptrdiff_t p = 0; p < m; p++) {
                    out[p] = (t ? out[p] : 0) + w[p] * x[index[p]];
                }
            }
        }
    }
}

/* out[i, c, index[i, t, p]] += weights[i, t, p] * g[i, c, p] */
static void NAME(spread_places)(const void *from, void *to, const Taps *taps, ptrdiff_t samples, ptrdiff_t channels,
                                ptrdiff_t n)
{
    ptrdiff_t m = taps->size;
    for (ptrdiff_t i = 0; i < samples; i++) {
        for (ptrdiff_t c = 0; c < channels; c++) {
            const REAL *restrict g = (const REAL *)from + (i * channels + c) * m;
            REAL *restrict out = (REAL *)to + (i * channels + c) * n;
            for (ptrdiff_t t = 0; t < taps->count; t++) {
                const int64_t *restrict index = taps->index + (i * taps->count + t) * m;
                const REAL *restrict w = (const REAL *)taps->weights + (i * taps->count + t) * m;
                for (ptrdiff_t p = 0; p < m; p++) {
                    out[index[p]] += w[p] * g[p];
                }
            }
        }
    }
}

/* out[i, t, p] = sum over c of g[i, c, p] * x[i, c, index[i, t, p]] */
static void NAME(dot_places)(const void *of_g, const void *from, void *to, const Taps *taps, ptrdiff_t samples,
                             ptrdiff_t channels, ptrdiff_t n)
{
    ptrdiff_t m = taps->size;
    for (ptrdiff_t i = 0; i < samples; i++) {
        for (ptrdiff_t t = 0; t < taps->count; t++) {
            const int64_t *restrict index = taps->index + (i * taps->count + t) * m;
            REAL *restrict out = (REAL *)to + (i * taps->count + t) * m;
            for (ptrdiff_t c = 0; c < channels; c++) {
                const REAL *restrict g = (const REAL *)of_g + (i * channels + c) * m;
                const REAL *restrict x = (const REAL *)from + (i * channels + c) * n;
                for (ptrdiff_t p = 0; p < m; p++) {
                    out[p] = (c ? out[p] : 0) + g[p] * x[index[p]];
                }
            }
        }
    }
}
