/* Batch norm, where a channel is a plane of every sample, and group norm. */

/* ---- planes of one element: a batch of rows, a channel is a column */

/* Whether the elements of some column hardly differ. */
static bool NAME(variance_of_columns)(const PlaneNorm *p)
{
    const REAL *restrict mean = p->mean;
    REAL *restrict var = p->var;
    ptrdiff_t rows = p->planes, n = p->channels;
    bool near = false;
    memset(var, 0, (size_t)n * sizeof(REAL));
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n;
        for (ptrdiff_t c = 0; c < n; c++) {
            var[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
        }
    }
    for (ptrdiff_t c = 0; c < n; c++) {
        var[c] /= (REAL)rows;
        near |= NAME(hardly_differ)(mean[c], var[c]);
    }
    return near;
}

/* Adds what is missing in the means of such columns, from the distances of their elements; others may be infinite. */
static void NAME(correct_means)(const PlaneNorm *p)
{
    const REAL *restrict var = p->var;
    REAL *restrict mean = p->mean, *restrict away = p->scratch;
    ptrdiff_t rows = p->planes, n = p->channels;
    memset(away, 0, (size_t)n * sizeof(REAL));
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n;
        for (ptrdiff_t c = 0; c < n; c++) {
            away[c] += x[c] - mean[c];
        }
    }
    for (ptrdiff_t c = 0; c < n; c++) {
        mean[c] += NAME(hardly_differ)(mean[c], var[c]) ? away[c] / (REAL)rows : 0;
    }
}

static void NAME(normalize_columns)(const PlaneNorm *p)
{
    const REAL *restrict weight = p->weight, *restrict bias = p->bias;
    REAL *mean = p->mean, *var = p->var, *restrict scale = p->scratch;
    ptrdiff_t rows = p->planes, n = p->channels;
    memset(mean, 0, (size_t)n * sizeof(REAL));
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n;
        for (ptrdiff_t c = 0; c < n; c++) {
            mean[c] += x[c];
        }
    }
    for (ptrdiff_t c = 0; c < n; c++) {
        mean[c] /= (REAL)rows;
    }
    if (NAME(variance_of_columns)(p)) {
        NAME(correct_means)(p);
        NAME(variance_of_columns)(p);
    }
    for (ptrdiff_t c = 0; c < n; c++) {
        scale[c] = (weight == NULL ? 1 : weight[c]) / NAME(root)(var[c] + (REAL)p->eps);
    }
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n;
        REAL *restrict out = (REAL *)p->out + row * n;
        if (bias == NULL) {
            for (ptrdiff_t c = 0; c < n; c++) {
                out[c] = (x[c] - mean[c]) * scale[c];
            }
        } else {
            for (ptrdiff_t c = 0; c < n; c++) {
                out[c] = (x[c] - mean[c]) * scale[c] + bias[c];
            }
        }
    }
}

static void NAME(normalize_columns_pull)(const PlaneNorm *p)
{
    const REAL *restrict weight = p->weight, *restrict mean = p->mean, *restrict var = p->var;
    const REAL *restrict g_mean = p->g_mean, *restrict g_var = p->g_var;
    REAL *restrict g_weight = p->g_weight, *restrict g_bias = p->g_bias;
    ptrdiff_t rows = p->planes, n = p->channels;
    REAL *restrict direct = p->scratch, *restrict slope = direct + n, *restrict level = slope + n;
    memset(g_weight, 0, (size_t)n * sizeof(REAL));
    memset(g_bias, 0, (size_t)n * sizeof(REAL));
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n, *restrict g = (const REAL *)p->g + row * n;
        for (ptrdiff_t c = 0; c < n; c++) {
            g_bias[c] += g[c];
            g_weight[c] += g[c] * (x[c] - mean[c]);
        }
    }
    for (ptrdiff_t c = 0; c < n; c++) {
        REAL scale = 1 / NAME(root)(var[c] + (REAL)p->eps), w = weight == NULL ? 1 : weight[c];
        direct[c] = w * scale;
        slope[c] = (2 * g_var[c] - w * g_weight[c] * scale * scale * scale) / (REAL)rows;
        level[c] = (g_mean[c] - w * g_bias[c] * scale) / (REAL)rows;
        g_weight[c] *= scale;
    }
    for (ptrdiff_t row = 0; row < rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * n, *restrict g = (const REAL *)p->g + row * n;
        REAL *restrict out = (REAL *)p->out + row * n;
        for (ptrdiff_t c = 0; c < n; c++) {
            out[c] = g[c] * direct[c] + ((x[c] - mean[c]) * slope[c] + level[c]);
        }
    }
}

/* ---- planes of many elements */

#define EACH_PLANE(p, i, plane) \
    for (ptrdiff_t plane = (i) * (p)->first, _left = (p)->planes; _left > 0; _left--, plane += (p)->step)

INLINE REAL NAME(variance_of_planes)(const PlaneNorm *p, ptrdiff_t i, REAL mean)
{
    REAL sum = 0;
    EACH_PLANE(p, i, plane) {
        sum += NAME(pairwise)((const REAL *)p->x + plane * p->n, p->n, mean, NAME(square_block));
    }
    return sum / (REAL)(p->n * p->planes);
}

INLINE void NAME(statistics_of_planes)(const PlaneNorm *p, ptrdiff_t i, REAL *mean, REAL *var)
{
    REAL count = (REAL)(p->n * p->planes), sum = 0, away = 0;
    EACH_PLANE(p, i, plane) {
        sum += NAME(sum_row)((const REAL *)p->x + plane * p->n, p->n);
    }
    *mean = sum / count;
    *var = NAME(variance_of_planes)(p, i, *mean);
    if (NAME(hardly_differ)(*mean, *var)) {
        EACH_PLANE(p, i, plane) {
            away += NAME(distances)((const REAL *)p->x + plane * p->n, p->n, *mean);
        }
        *mean += away / count;
        *var = NAME(variance_of_planes)(p, i, *mean);
    }
}

static void NAME(normalize_planes)(const PlaneNorm *p, ptrdiff_t start, ptrdiff_t stop)
{
    const REAL *x = p->x, *weight = p->weight, *bias = p->bias;
    ptrdiff_t n = p->n;
    if (n == 1 && !p->grouped) {
        NAME(normalize_columns)(p);
        return;
    }
    for (ptrdiff_t i = start; i < stop; i++) {
        REAL mean, var;
        NAME(statistics_of_planes)(p, i, &mean, &var);
        REAL scale = 1 / NAME(root)(var + (REAL)p->eps);
        EACH_PLANE(p, i, plane) {
            const REAL *restrict from = x + plane * n;
            REAL *restrict out = (REAL *)p->out + plane * n;
            ptrdiff_t channel = plane % p->channels;
            REAL own = weight == NULL ? scale : scale * weight[channel], shift = bias == NULL ? 0 : bias[channel];
            for (ptrdiff_t j = 0; j < n; j++) {
                out[j] = (from[j] - mean) * own + shift;
            }
        }
        ((REAL *)p->mean)[i] = mean;
        ((REAL *)p->var)[i] = var;
    }
}

/* The gradient of the planes of one statistic; what they give to weight and bias is added there. */
INLINE void NAME(pull_statistic)(const PlaneNorm *p, ptrdiff_t i)
{
    const REAL *x = p->x, *g = p->g, *weight = p->weight;
    REAL *g_weight = p->g_weight, *g_bias = p->g_bias;
    ptrdiff_t n = p->n;
    REAL count = (REAL)(n * p->planes);
    REAL mean = ((const REAL *)p->mean)[i], scale = 1 / NAME(root)(((const REAL *)p->var)[i] + (REAL)p->eps);
    REAL level = 0, slope = 0, sum, away;
    EACH_PLANE(p, i, plane) {
        ptrdiff_t channel = plane % p->channels;
        REAL w = weight == NULL ? 1 : weight[channel];
        NAME(gradient_sums)(g + plane * n, NULL, x + plane * n, mean, n, &sum, &away);
        g_bias[channel] += sum;
        g_weight[channel] += away * scale;
        level += w * sum;
        slope += w * away;
    }
    slope = (2 * ((const REAL *)p->g_var)[i] - slope * scale * scale * scale) / count;
    level = (((const REAL *)p->g_mean)[i] - level * scale) / count;
    EACH_PLANE(p, i, plane) {
        const REAL *restrict from = x + plane * n, *restrict gradient = g + plane * n;
        REAL *restrict out = (REAL *)p->out + plane * n;
        REAL own = weight == NULL ? scale : scale * weight[plane % p->channels];
        for (ptrdiff_t j = 0; j < n; j++) {
            out[j] = gradient[j] * own + ((from[j] - mean) * slope + level);
        }
    }
}

/* Of the channels or groups from `start` to `stop`, in all samples: nobody else adds to their weights. */
static void NAME(normalize_planes_pull)(const PlaneNorm *p, ptrdiff_t start, ptrdiff_t stop)
{
    if (p->n == 1 && !p->grouped) {
        NAME(normalize_columns_pull)(p);
        return;
    }
    ptrdiff_t each = p->channels / p->owners;
    memset((REAL *)p->g_weight + start * each, 0, (size_t)((stop - start) * each) * sizeof(REAL));
    memset((REAL *)p->g_bias + start * each, 0, (size_t)((stop - start) * each) * sizeof(REAL));
    for (ptrdiff_t own = start; own < stop; own++) {
        for (ptrdiff_t i = own; i < p->statistics; i += p->owners) {
            NAME(pull_statistic)(p, i);
        }
    }
}

/* ---- with a scale and a shift for each channel */

static void NAME(scale_planes)(const PlaneNorm *p, ptrdiff_t start, ptrdiff_t stop)
{
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        REAL scale = ((const REAL *)p->weight)[plane % p->channels], shift = ((const REAL *)p->bias)[plane % p->channels];
        const REAL *restrict x = (const REAL *)p->x + plane * p->n;
        REAL *restrict out = (REAL *)p->out + plane * p->n;
        for (ptrdiff_t j = 0; j < p->n; j++) {
            out[j] = x[j] * scale + shift;
        }
    }
}
