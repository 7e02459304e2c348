/* Sums of contiguous numbers.
 *
 * Rounding errors grow with the number of sequential additions, so these are few: the lanes of four vectors accumulate in
 * parallel, each BLOCK / 4 / LANES numbers, and the sums of blocks are added pairwise, as in NumPy.
 */

#define BLOCK (64 * LANES)
#define DEEP 128
#define TILE 960 /* not a power of two: rows so far apart would share the same lines of the cache */

/* The sum of a block, or of less. */
INLINE REAL NAME(sum_block)(const REAL *x, ptrdiff_t n, REAL unused)
{
    (void)unused;
    TYPE(small) few = {0};
    ptrdiff_t i = 0;
    REAL rest = 0;
    if (n >= LANES) {
        VECTOR a = {0}, b = {0}, c = {0}, d = {0};
        for (; i + 4 * LANES <= n; i += 4 * LANES) {
            a += LOAD(x + i);
            b += LOAD(x + i + LANES);
            c += LOAD(x + i + 2 * LANES);
            d += LOAD(x + i + 3 * LANES);
        }
        for (; i + LANES <= n; i += LANES) {
            a += LOAD(x + i);
        }
        few = NAME(shrunk)((a + b) + (c + d));
    }
    for (; i + FEW <= n; i += FEW) {
        few += LOAD_SMALL(x + i);
    }
    for (; i < n; i++) {
        rest += x[i];
    }
    return NAME(sum_small)(few) + rest;
}

/* The sum over a row of what `block` sums over a part of it, to which it also gets the number `along`. */
INLINE REAL NAME(pairwise)(const REAL *x, ptrdiff_t n, REAL along, REAL (*block)(const REAL *, ptrdiff_t, REAL))
{
    if (n < BLOCK) {
        return block(x, n, along);
    }
    REAL halves[64]; /* sums of 1, 2, 4, ... blocks that wait for one of their size, the last the smallest */
    int waiting = 0;
    ptrdiff_t head = (ptrdiff_t)(-(uintptr_t)x % 64 / sizeof(REAL)); /* up to a line of the cache */
    ptrdiff_t blocks = (n - head) / BLOCK, tail = head + blocks * BLOCK;
    for (ptrdiff_t i = 0; i < blocks; i++) {
        REAL sum = block(x + head + i * BLOCK, BLOCK, along);
        for (ptrdiff_t pairs = i; pairs & 1; pairs >>= 1) {
            sum = halves[--waiting] + sum;
        }
        halves[waiting++] = sum;
    }
    REAL sum = block(x, head, along) + block(x + tail, n - tail, along);
    while (waiting > 0) {
        sum = halves[--waiting] + sum;
    }
    return sum;
}

INLINE REAL NAME(sum_row)(const REAL *x, ptrdiff_t n)
{
    return NAME(pairwise)(x, n, 0, NAME(sum_block));
}

/* Each of `lead` rows of n numbers into one. */
static void NAME(sum_rows)(const REAL *x, REAL *out, ptrdiff_t lead, ptrdiff_t n)
{
    for (ptrdiff_t row = 0; row < lead; row++) {
        out[row] = NAME(sum_row)(x + row * n, n);
    }
}

/* `width` columns of n <= DEEP rows, which are `stride` apart, into one row. */
static void NAME(sum_shallow)(const REAL *x, REAL *restrict out, ptrdiff_t n, ptrdiff_t width, ptrdiff_t stride)
{
    ptrdiff_t row = n % 8;
    for (ptrdiff_t j = 0; j < width; j++) {
        out[j] = 0;
    }
    for (ptrdiff_t i = 0; i < row; i++) {
        const REAL *restrict a = x + i * stride;
        for (ptrdiff_t j = 0; j < width; j++) {
            out[j] += a[j];
        }
    }
    for (; row < n; row += 8) { /* eight at a time, or the way of `out` to the cache and back would be the longest */
        const REAL *restrict a = x + row * stride;
        const REAL *restrict b = a + stride, *restrict c = b + stride, *restrict d = c + stride;
        const REAL *restrict e = d + stride, *restrict f = e + stride, *restrict g = f + stride;
        const REAL *restrict h = g + stride;
        for (ptrdiff_t j = 0; j < width; j++) {
            out[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]));
        }
    }
}

static void NAME(sum_columns)(const REAL *x, REAL *out, ptrdiff_t n, ptrdiff_t width, ptrdiff_t stride);

/* Narrow columns without gaps: several rows side by side count as one wide row, whose halves are added in the end. */
static void NAME(sum_narrow)(const REAL *x, REAL *out, ptrdiff_t n, ptrdiff_t width)
{
    REAL wide[TILE];
    ptrdiff_t beside = n / 8 < TILE / width ? n / 8 : TILE / width, rest = n % beside;
    NAME(sum_columns)(x + rest * width, wide, n / beside, beside * width, beside * width);
    for (ptrdiff_t j = 0; j < rest * width; j++) {
        wide[j] += x[j];
    }
    for (ptrdiff_t half; beside > 1; beside -= half) {
        half = beside / 2;
        const REAL *other = wide + (beside - half) * width;
        for (ptrdiff_t j = 0; j < half * width; j++) {
            wide[j] += other[j];
        }
    }
    memcpy(out, wide, (size_t)width * sizeof(REAL));
}

/* Columns of any depth, no more than TILE of them: half of the rows and the other half, added. */
static void NAME(sum_columns)(const REAL *x, REAL *out, ptrdiff_t n, ptrdiff_t width, ptrdiff_t stride)
{
    if (n >= 16 && width == stride && width <= TILE / 4) {
        NAME(sum_narrow)(x, out, n, width);
        return;
    }
    if (n <= DEEP) {
        NAME(sum_shallow)(x, out, n, width, stride);
        return;
    }
    REAL other[TILE];
    ptrdiff_t half = n / 2 / 8 * 8;
    NAME(sum_columns)(x, out, half, width, stride);
    NAME(sum_columns)(x + half * stride, other, n - half, width, stride);
    for (ptrdiff_t j = 0; j < width; j++) {
        out[j] += other[j];
    }
}

/* The middle one of three dimensions folded. */
static void NAME(sum_middle)(const void *from, void *to, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    const REAL *x = from;
    REAL *out = to;
    if (trail == 1) {
        NAME(sum_rows)(x, out, lead, n);
        return;
    }
    for (ptrdiff_t i = 0; i < lead; i++, x += n * trail, out += trail) {
        for (ptrdiff_t j = 0; j < trail; j += TILE) {
            NAME(sum_columns)(x + j, out + j, n, trail - j < TILE ? trail - j : TILE, trail);
        }
    }
}

static void NAME(divide)(void *out, ptrdiff_t n, double by)
{
    REAL *x = out;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] /= (REAL)by;
    }
}

#undef BLOCK
#undef DEEP
#undef TILE
