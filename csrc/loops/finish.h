/* Epilogues of sums: see Finish. */

/* `low` where the mask is set, x elsewhere. */
INLINE VECTOR NAME(chosen)(TYPE(ints) mask, VECTOR low, VECTOR x)
{
    return (VECTOR)(((TYPE(ints))low & mask) | ((TYPE(ints))x & ~mask));
}

/* The bounds of a Finish, and the scale and the shift that change nothing. */
typedef struct {
    VECTOR low, high, scale, shift;
} NAME(Ends);

INLINE NAME(Ends) NAME(ends_of)(const Finish *f)
{
    return (NAME(Ends)){
        (REAL)f->low - (VECTOR){0}, (REAL)f->high - (VECTOR){0}, 1 - (VECTOR){0}, (VECTOR){0} * -1 /* x - 0 is x, also of -0 */
    };
}

/* The same with the scale and the shift of one channel. */
INLINE NAME(Ends) NAME(ends_of_channel)(const Finish *f, ptrdiff_t channel)
{
    NAME(Ends) e = NAME(ends_of)(f);
    if (f->scale != NULL) {
        e.scale = ((const REAL *)f->scale)[channel] - (VECTOR){0};
        e.shift = ((const REAL *)f->shift)[channel] - (VECTOR){0};
    }
    return e;
}

/* Or of `count` channels, one a lane. */
INLINE NAME(Ends) NAME(ends_of_lanes)(const Finish *f, ptrdiff_t channel, ptrdiff_t count)
{
    NAME(Ends) e = NAME(ends_of)(f);
    if (f->scale != NULL && count > 0) {
        size_t bytes = (size_t)(count < LANES ? count : LANES) * sizeof(REAL);
        memcpy(&e.scale, (const REAL *)f->scale + channel, bytes);
        memcpy(&e.shift, (const REAL *)f->shift + channel, bytes);
    }
    return e;
}

INLINE VECTOR NAME(cut_off)(const NAME(Ends) *e, VECTOR x)
{
    x = x * e->scale + e->shift;
    x = NAME(chosen)((TYPE(ints))(x < e->low), e->low, x);
    return NAME(chosen)((TYPE(ints))(x > e->high), e->high, x);
}

INLINE void NAME(bend)(const Finish *f, REAL *x, ptrdiff_t n)
{
    if (f->curve != NULL) {
        f->curve(NULL, x, x, n, f->numbers);
    }
}

/* n elements of one channel; `out` may be x. */
static void NAME(finish_row)(const Finish *f, ptrdiff_t channel, const REAL *x, REAL *out, ptrdiff_t n)
{
    NAME(Ends) e = NAME(ends_of_channel)(f, channel);
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        STORE(out + i, NAME(cut_off)(&e, LOAD(x + i)));
    }
    if (i < n) {
        VECTOR last = {0};
        memcpy(&last, x + i, (size_t)(n - i) * sizeof(REAL));
        last = NAME(cut_off)(&e, last);
        memcpy(out + i, &last, (size_t)(n - i) * sizeof(REAL));
    }
    NAME(bend)(f, out, n);
}

static void NAME(finish_planes)(const Finish *f, const void *x, void *out, ptrdiff_t start, ptrdiff_t stop,
                                ptrdiff_t channels, ptrdiff_t n)
{
    for (ptrdiff_t plane = start; plane < stop; plane++) {
        NAME(finish_row)(f, plane % channels, (const REAL *)x + plane * n, (REAL *)out + plane * n, n);
    }
}

/* Rows of TILE_COLUMNS elements, whose channels are those from `channel` on to before `channels`. */
INLINE void NAME(finish_lanes)(const Finish *f, ptrdiff_t channel, ptrdiff_t channels, REAL *x, ptrdiff_t rows)
{
    NAME(Ends) a = NAME(ends_of_lanes)(f, channel, channels - channel);
    NAME(Ends) b = NAME(ends_of_lanes)(f, channel + LANES, channels - channel - LANES);
    for (ptrdiff_t i = 0; i < rows; i++) {
        STORE(x + i * TILE_COLUMNS, NAME(cut_off)(&a, LOAD(x + i * TILE_COLUMNS)));
        STORE(x + i * TILE_COLUMNS + LANES, NAME(cut_off)(&b, LOAD(x + i * TILE_COLUMNS + LANES)));
    }
    NAME(bend)(f, x, rows * TILE_COLUMNS);
}
