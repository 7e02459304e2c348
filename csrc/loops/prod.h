/* Products of contiguous numbers. */

/* The halves of a vector multiplied, until it is a small one. */
INLINE TYPE(small) NAME(multiplied)(VECTOR v)
{
    TYPE(small) parts[WIDTH / 16];
    memcpy(parts, &v, WIDTH);
    for (int count = WIDTH / 32; count > 0; count /= 2) {
        for (int i = 0; i < count; i++) {
            parts[i] *= parts[i + count];
        }
    }
    return parts[0];
}

static void NAME(prod_rows)(const REAL *x, REAL *out, ptrdiff_t lead, ptrdiff_t n)
{
    for (ptrdiff_t row = 0; row < lead; row++, x += n) {
        REAL product = 1;
        ptrdiff_t i = 0;
        if (n >= 4 * LANES) {
            VECTOR a = LOAD(x), b = LOAD(x + LANES), c = LOAD(x + 2 * LANES), d = LOAD(x + 3 * LANES);
            for (i = 4 * LANES; i + 4 * LANES <= n; i += 4 * LANES) {
                a *= LOAD(x + i);
                b *= LOAD(x + i + LANES);
                c *= LOAD(x + i + 2 * LANES);
                d *= LOAD(x + i + 3 * LANES);
            }
            a = (a * b) * (c * d);
            for (; i + LANES <= n; i += LANES) {
                a *= LOAD(x + i);
            }
            TYPE(small) v = NAME(multiplied)(a);
            product = sizeof(REAL) == 8 ? v[0] * v[1] : (v[0] * v[2 % FEW]) * (v[1] * v[3 % FEW]);
        }
        for (; i < n; i++) {
            product *= x[i];
        }
        out[row] = product;
    }
}

/* The middle one of three dimensions folded. */
static void NAME(prod_middle)(const void *from, void *to, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail)
{
    const REAL *x = from;
    REAL *out = to;
    if (trail == 1) {
        NAME(prod_rows)(x, out, lead, n);
        return;
    }
    for (ptrdiff_t i = 0; i < lead; i++, out += trail) {
        memcpy(out, x, (size_t)trail * sizeof(REAL));
        x += trail;
        for (ptrdiff_t row = 1; row < n; row++, x += trail) {
            const REAL *restrict a = x;
            REAL *restrict b = out;
            for (ptrdiff_t j = 0; j < trail; j++) {
                b[j] *= a[j];
            }
        }
    }
}
