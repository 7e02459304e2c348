/* The gates of an LSTM, between its products: rows of n elements for each of input, forget, cell and output. */

static void NAME(lstm_gates)(const LstmGates *p)
{
    ptrdiff_t n = p->n;
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        const REAL *restrict x = (const REAL *)p->x + row * 4 * n, *restrict hidden = (const REAL *)p->hidden + row * 4 * n;
        const REAL *restrict before = (const REAL *)p->previous + row * n;
        REAL *restrict gates = (REAL *)p->gates + row * 4 * n;
        REAL *restrict c = (REAL *)p->c + row * n, *restrict h = (REAL *)p->h + row * n;
        for (ptrdiff_t j = 0; j < 4 * n; j++) {
            gates[j] = x[j] + hidden[j];
        }
        NAME(sigmoid)(gates, gates, 2 * n);
        NAME(sigmoid)(gates + 3 * n, gates + 3 * n, n);
        for (ptrdiff_t j = 0; j < n; j++) {
            REAL g = gates[2 * n + j] = NAME(tanh_of)(gates[2 * n + j]);
            c[j] = gates[n + j] * before[j] + gates[j] * g;
        }
        for (ptrdiff_t j = 0; j < n; j++) {
            h[j] = gates[3 * n + j] * NAME(tanh_of)(c[j]);
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
