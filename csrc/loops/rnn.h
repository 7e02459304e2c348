/* Recurrent layers: the gates of a cell, and whole sequences of some rows of a batch. */

/* ---- the gates of an LSTM: rows of n elements for each of input, forget, cell and output */

static void NAME(lstm_gates)(const LstmGates *p)
{
    ptrdiff_t n = p->n;
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * 4 * n, *restrict hidden = (const REAL *)p->hidden + row * 4 * n;
        const REAL *restrict before = (const REAL *)p->previous + row * n;
        REAL *restrict gates = (REAL *)p->gates + row * 4 * n;
        REAL *restrict c = (REAL *)p->c + row * n, *restrict h = (REAL *)p->h + row * n;
#pragma GCC ivdep
        for (ptrdiff_t j = 0; j < n; j++) {
            REAL input = NAME(sigmoid_of)(x[j] + hidden[j]), forget = NAME(sigmoid_of)(x[n + j] + hidden[n + j]);
            REAL cell = NAME(tanh_of)(x[2 * n + j] + hidden[2 * n + j]);
            gates[j] = input;
            gates[n + j] = forget;
            gates[2 * n + j] = cell;
            c[j] = forget * before[j] + input * cell;
        }
#pragma GCC ivdep
        for (ptrdiff_t j = 0; j < n; j++) {
            REAL output = gates[3 * n + j] = NAME(sigmoid_of)(x[3 * n + j] + hidden[3 * n + j]);
            h[j] = output * NAME(tanh_of)(c[j]);
        }
    }
}

static void NAME(lstm_gates_pull)(const LstmGates *p)
{
    ptrdiff_t n = p->n;
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        const REAL *restrict i = (const REAL *)p->gates + row * 4 * n, *restrict f = i + n, *restrict g = f + n,
                   *restrict o = g + n;
        const REAL *restrict of_i = (const REAL *)p->g_gates + row * 4 * n, *restrict of_f = of_i + n,
                   *restrict of_g = of_f + n, *restrict of_o = of_g + n;
        const REAL *restrict g_h = (const REAL *)p->g_h + row * n, *restrict g_c = (const REAL *)p->g_c + row * n;
        const REAL *restrict c = (const REAL *)p->c + row * n, *restrict before = (const REAL *)p->previous + row * n;
        REAL *restrict to_i = (REAL *)p->g_x + row * 4 * n, *restrict to_f = to_i + n, *restrict to_g = to_f + n,
             *restrict to_o = to_g + n, *restrict to_c = (REAL *)p->g_previous + row * n;
#pragma GCC ivdep
        for (ptrdiff_t j = 0; j < n; j++) {
            REAL t = NAME(tanh_of)(c[j]), now = g_c[j] + g_h[j] * o[j] * (1 - t * t);
            to_i[j] = (now * g[j] + of_i[j]) * i[j] * (1 - i[j]);
            to_f[j] = (now * before[j] + of_f[j]) * f[j] * (1 - f[j]);
            to_g[j] = (now * i[j] + of_g[j]) * (1 - g[j] * g[j]);
            to_o[j] = (g_h[j] * t + of_o[j]) * o[j] * (1 - o[j]);
            to_c[j] = now * f[j];
        }
    }
}

/* ---- sequences. `p` is about all times and all rows; these functions do the rows from `start` to `stop`. */

/* The index of a time, the first one to be done counting as 0. */
INLINE ptrdiff_t NAME(time_of)(const Sequence *p, ptrdiff_t i)
{
    return p->reverse ? p->times - 1 - i : i;
}

/* Where the rows of a state are that the i-th time begins with. */
INLINE const REAL *NAME(state_before)(const Sequence *p, const void *states, const void *first, ptrdiff_t i,
                                      ptrdiff_t start)
{
    return i == 0 ? (const REAL *)first + start * p->n
                  : (const REAL *)states + (NAME(time_of)(p, i - 1) * p->rows + start) * p->n;
}

/* Where the rows of the i-th time are in an array with `width` elements a row; NULL if there is no array. */
INLINE REAL *NAME(rows_at)(const Sequence *p, const void *x, ptrdiff_t i, ptrdiff_t start, ptrdiff_t width)
{
    return x == NULL ? NULL : (REAL *)x + (NAME(time_of)(p, i) * p->rows + start) * width;
}

static void NAME(lstm_sequence)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    for (ptrdiff_t i = 0; i < p->times; i++) {
        const REAL *h = NAME(state_before)(p, p->h, p->first_h, i, start);
        NAME(multiply_packed)(h, n, rows, p->packed, n, n, 4 * n, scratch, 4 * n);
        LstmGates gates = {
            .x = NAME(rows_at)(p, p->x, i, start, 4 * n), .hidden = scratch,
            .previous = NAME(state_before)(p, p->c, p->first_c, i, start), .h = NAME(rows_at)(p, p->h, i, start, n),
            .c = NAME(rows_at)(p, p->c, i, start, n), .gates = NAME(rows_at)(p, p->gates, i, start, 4 * n),
            .rows = rows, .n = n,
        };
        NAME(lstm_gates)(&gates);
    }
}

/* sum = a, or a + b where there is b */
INLINE void NAME(add_if)(const REAL *a, const REAL *b, REAL *sum, ptrdiff_t n)
{
    if (b == NULL) {
        memmove(sum, a, (size_t)n * sizeof(REAL));
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        sum[i] = a[i] + b[i];
    }
}

/* Backward, the gradients of the state before a time are carried in g_first_h and g_first_c. */
static void NAME(lstm_sequence_pull)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    REAL *g_h = (REAL *)p->g_first_h + start * n, *g_c = (REAL *)p->g_first_c + start * n;
    REAL *zeros = scratch, *g_now = zeros + rows * 4 * n;
    memset(g_h, 0, (size_t)(rows * n) * sizeof(REAL));
    memset(g_c, 0, (size_t)(rows * n) * sizeof(REAL));
    memset(zeros, 0, (size_t)(rows * 4 * n) * sizeof(REAL));
    for (ptrdiff_t i = p->times - 1; i >= 0; i--) {
        const REAL *given = NAME(rows_at)(p, p->g_gates, i, start, 4 * n);
        NAME(add_if)(g_h, NAME(rows_at)(p, p->g_h, i, start, n), g_h, rows * n);
        NAME(add_if)(g_c, NAME(rows_at)(p, p->g_c, i, start, n), g_now, rows * n);
        LstmGates gates = {
            .g_h = g_h, .g_c = g_now, .g_gates = given == NULL ? zeros : given,
            .gates = NAME(rows_at)(p, p->gates, i, start, 4 * n), .c = NAME(rows_at)(p, p->c, i, start, n),
            .previous = NAME(state_before)(p, p->c, p->first_c, i, start),
            .g_x = NAME(rows_at)(p, p->g_x, i, start, 4 * n), .g_previous = g_c, .rows = rows, .n = n,
        };
        NAME(lstm_gates_pull)(&gates);
        NAME(multiply_packed)(gates.g_x, 4 * n, rows, p->packed, 4 * n, 4 * n, n, g_h, n);
    }
}

/* ---- gated recurrent units: reset, update, new; kept are these and what the hidden state gives to the last */

INLINE void NAME(gru_gates)(const REAL *restrict x, REAL *restrict hidden, const REAL *restrict bias,
                            const REAL *restrict before, REAL *restrict h, REAL *restrict kept, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; bias != NULL && j < 3 * n; j++) {
        hidden[j] += bias[j];
    }
#pragma GCC ivdep
    for (ptrdiff_t j = 0; j < n; j++) {
        REAL reset = NAME(sigmoid_of)(x[j] + hidden[j]), update = NAME(sigmoid_of)(x[n + j] + hidden[n + j]);
        REAL own = hidden[2 * n + j], new = NAME(tanh_of)(x[2 * n + j] + reset * own);
        kept[j] = reset;
        kept[n + j] = update;
        kept[2 * n + j] = new;
        kept[3 * n + j] = own;
        h[j] = new + update * (before[j] - new);
    }
}

static void NAME(gru_sequence)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    REAL *hidden = scratch;
    for (ptrdiff_t i = 0; i < p->times; i++) {
        const REAL *before = NAME(state_before)(p, p->h, p->first_h, i, start);
        NAME(multiply_packed)(before, n, rows, p->packed, n, n, 3 * n, hidden, 3 * n);
        for (ptrdiff_t row = 0; row < rows; row++) {
            NAME(gru_gates)(NAME(rows_at)(p, p->x, i, start + row, 3 * n), hidden + row * 3 * n, p->bias,
                            before + row * n, NAME(rows_at)(p, p->h, i, start + row, n),
                            NAME(rows_at)(p, p->gates, i, start + row, 4 * n), n);
        }
    }
}

/* From the gradient of h to those of x, of what the hidden state gives, and of the part of h that goes on as it is. */
INLINE void NAME(gru_gates_pull)(REAL *restrict g_h, const REAL *restrict given, const REAL *restrict kept,
                                 const REAL *restrict before, REAL *restrict g_x, REAL *restrict g_hidden, ptrdiff_t n)
{
    const REAL *restrict r = kept, *restrict z = kept + n, *restrict new = kept + 2 * n, *restrict own = kept + 3 * n;
#pragma GCC ivdep
    for (ptrdiff_t j = 0; j < n; j++) {
        REAL g_new = (g_h[j] * (1 - z[j]) + given[2 * n + j]) * (1 - new[j] * new[j]);
        REAL g_r = (g_new * own[j] + given[j]) * r[j] * (1 - r[j]);
        REAL g_z = (g_h[j] * (before[j] - new[j]) + given[n + j]) * z[j] * (1 - z[j]);
        g_x[j] = g_hidden[j] = g_r;
        g_x[n + j] = g_hidden[n + j] = g_z;
        g_x[2 * n + j] = g_new;
        g_hidden[2 * n + j] = g_new * r[j] + given[3 * n + j];
        g_h[j] *= z[j];
    }
}

static void NAME(gru_sequence_pull)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    REAL *g_h = (REAL *)p->g_first_h + start * n, *zeros = scratch, *through = zeros + rows * 4 * n;
    memset(g_h, 0, (size_t)(rows * n) * sizeof(REAL));
    memset(zeros, 0, (size_t)(rows * 4 * n) * sizeof(REAL));
    for (ptrdiff_t i = p->times - 1; i >= 0; i--) {
        const REAL *before = NAME(state_before)(p, p->h, p->first_h, i, start);
        const REAL *given = NAME(rows_at)(p, p->g_gates, i, start, 4 * n);
        REAL *g_hidden = NAME(rows_at)(p, p->g_hidden, i, start, 3 * n);
        given = given == NULL ? zeros : given;
        NAME(add_if)(g_h, NAME(rows_at)(p, p->g_h, i, start, n), g_h, rows * n);
        for (ptrdiff_t row = 0; row < rows; row++) {
            NAME(gru_gates_pull)(g_h + row * n, given + row * 4 * n,
                                 NAME(rows_at)(p, p->gates, i, start + row, 4 * n), before + row * n,
                                 NAME(rows_at)(p, p->g_x, i, start + row, 3 * n), g_hidden + row * 3 * n, n);
        }
        NAME(multiply_packed)(g_hidden, 3 * n, rows, p->packed, 3 * n, 3 * n, n, through, n);
        NAME(add_if)(g_h, through, g_h, rows * n);
    }
}

/* ---- plain units: h = tanh(x + hidden), or relu */

static void NAME(rnn_sequence)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    const REAL *restrict hidden = scratch;
    for (ptrdiff_t i = 0; i < p->times; i++) {
        const REAL *restrict x = NAME(rows_at)(p, p->x, i, start, n);
        REAL *restrict h = NAME(rows_at)(p, p->h, i, start, n);
        NAME(multiply_packed)(NAME(state_before)(p, p->h, p->first_h, i, start), n, rows, p->packed, n, n, n, scratch, n);
        for (ptrdiff_t j = 0; p->relu && j < rows * n; j++) {
            REAL sum = x[j] + hidden[j];
            h[j] = sum < 0 ? 0 : sum;
        }
        for (ptrdiff_t j = 0; !p->relu && j < rows * n; j++) {
            h[j] = NAME(tanh_of)(x[j] + hidden[j]);
        }
    }
}

static void NAME(rnn_sequence_pull)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch)
{
    ptrdiff_t n = p->n, rows = stop - start;
    REAL *restrict g_h = (REAL *)p->g_first_h + start * n;
    (void)scratch;
    memset(g_h, 0, (size_t)(rows * n) * sizeof(REAL));
    for (ptrdiff_t i = p->times - 1; i >= 0; i--) {
        const REAL *restrict h = NAME(rows_at)(p, p->h, i, start, n);
        REAL *restrict g_x = NAME(rows_at)(p, p->g_x, i, start, n);
        NAME(add_if)(g_h, NAME(rows_at)(p, p->g_h, i, start, n), g_x, rows * n);
        for (ptrdiff_t j = 0; p->relu && j < rows * n; j++) {
            g_x[j] = h[j] <= 0 ? 0 : g_x[j]; /* nan goes on */
        }
        for (ptrdiff_t j = 0; !p->relu && j < rows * n; j++) {
            g_x[j] *= 1 - h[j] * h[j];
        }
        NAME(multiply_packed)(g_x, n, rows, p->packed, n, n, n, g_h, n);
    }
}
