/* Sums over the alignments of labels with time, in logarithms, for one sample. Their states are the labels with a blank
 * before, between and behind them. */

/* What a sample reads: the class of each state; 0 for those to which a path may come from the last but one, minus
 * infinity for others and for two behind them; what the states emit at one time; two rows with two more elements each. */
typedef struct {
    int64_t *places;
    REAL *closed, *emitted, *row, *other;
} TYPE(Alignment);

INLINE TYPE(Alignment) NAME(alignment_of)(const Ctc *c, ptrdiff_t sample, void *scratch)
{
    ptrdiff_t n = c->states;
    TYPE(Alignment) a = {.places = scratch, .closed = (REAL *)((int64_t *)scratch + n)};
    const int64_t *labels = c->labels + sample * (n / 2);
    a.emitted = a.closed + n + 2;
    a.row = a.emitted + n;
    a.other = a.row + n + 2;
    for (ptrdiff_t s = 0; s < n; s++) {
        a.places[s] = s % 2 ? labels[s / 2] : c->blank;
        a.closed[s] = s % 2 && s > 1 && labels[s / 2] != labels[s / 2 - 1] ? 0 : -(REAL)INFINITY;
    }
    for (ptrdiff_t s = 0; s < 2; s++) {
        a.closed[n + s] = a.row[s] = a.row[n + s] = -(REAL)INFINITY;
    }
    return a;
}

INLINE void NAME(read_emitted)(const Ctc *c, const TYPE(Alignment) *a, ptrdiff_t place)
{
    const REAL *scores = (const REAL *)c->scores + place * c->classes;
    for (ptrdiff_t s = 0; s < c->states; s++) {
        a->emitted[s] = scores[a->places[s]];
    }
}

/* What is in three rows, summed for each state: the third where it is not closed. */
INLINE void NAME(sum_ways)(const REAL *x, const REAL *y, const REAL *z, const REAL *closed, const REAL *emitted,
                           REAL *restrict out, ptrdiff_t n)
{
    for (ptrdiff_t s = 0; s < n; s++) {
        out[s] = NAME(log_of_sum)(NAME(log_of_sum)(x[s], y[s]), z[s] + closed[s]) + emitted[s];
    }
}

static void NAME(ctc_forward)(const Ctc *c, ptrdiff_t sample, void *scratch)
{
    ptrdiff_t n = c->states, last = 2 * c->lengths[sample];
    TYPE(Alignment) a = NAME(alignment_of)(c, sample, scratch);
    REAL *alphas = c->alphas, loss = last > 0 ? (REAL)INFINITY : 0;
    for (ptrdiff_t time = 0; time < c->times; time++) {
        REAL *out = alphas + (time * c->samples + sample) * n;
        NAME(read_emitted)(c, &a, time * c->samples + sample);
        if (time == 0) {
            for (ptrdiff_t s = 0; s < n; s++) {
                out[s] = s == 0 || (s == 1 && last > 0) ? a.emitted[s] : -(REAL)INFINITY;
            }
        } else {
            NAME(sum_ways)(a.row + 2, a.row + 1, a.row, a.closed, a.emitted, out, n);
        }
        memcpy(a.row + 2, out, (size_t)n * sizeof(REAL));
        if (time == c->durations[sample] - 1) {
            loss = -(last > 0 ? NAME(log_of_sum)(out[last], out[last - 1]) : out[last]);
        }
    }
    ((REAL *)c->loss)[sample] = loss;
}

/* The log-probabilities of all ways from each state, of which those one step later are in `row`. */
INLINE void NAME(step_back)(const Ctc *c, const TYPE(Alignment) *a, bool is_end, ptrdiff_t last)
{
    ptrdiff_t n = c->states;
    if (is_end) {
        for (ptrdiff_t s = 0; s < n; s++) {
            a->row[s] = s == last || s == last - 1 ? a->emitted[s] : -(REAL)INFINITY;
        }
    } else {
        NAME(sum_ways)(a->row, a->row + 1, a->row + 2, a->closed + 2, a->emitted, a->other, n);
        memcpy(a->row, a->other, (size_t)n * sizeof(REAL));
    }
}

INLINE void NAME(exp_of_scores)(const REAL *x, REAL *restrict out, ptrdiff_t n)
{
    REAL top = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        top = x[i] > top ? x[i] : top;
        out[i] = NAME(exp_below)(x[i]);
    }
    for (ptrdiff_t i = 0; i < n && top > 0; i++) { /* they are no log-probabilities */
        out[i] = (REAL)exp((double)x[i]);
    }
}

static void NAME(ctc_backward)(const Ctc *c, ptrdiff_t sample, void *scratch)
{
    ptrdiff_t n = c->states, last = 2 * c->lengths[sample], duration = c->durations[sample];
    TYPE(Alignment) a = NAME(alignment_of)(c, sample, scratch);
    const REAL *scores = c->scores, *alphas = c->alphas, loss = ((const REAL *)c->loss)[sample];
    for (ptrdiff_t time = c->times - 1; time >= 0; time--) {
        ptrdiff_t place = time * c->samples + sample;
        REAL *slopes = (REAL *)c->gradient + place * c->classes;
        if (time >= duration || loss == (REAL)INFINITY) {
            for (ptrdiff_t i = 0; i < c->classes; i++) {
                slopes[i] = time < duration ? (REAL)NAN : 0;
            }
            continue;
        }
        NAME(read_emitted)(c, &a, place);
        NAME(step_back)(c, &a, time == duration - 1, last);
        const REAL *alpha = alphas + place * n;
        for (ptrdiff_t s = 0; s < n; s++) {
            a.other[s] = NAME(exp_below)(alpha[s] + a.row[s] - a.emitted[s] + loss);
        }
        NAME(exp_of_scores)(scores + place * c->classes, slopes, c->classes);
        for (ptrdiff_t s = 0; s < n; s++) {
            slopes[a.places[s]] -= a.other[s];
        }
    }
}
