/* The top elements of a row in order, without a full sort. NaN counts as larger than every number. */

#define BLOCK 64

INLINE bool NAME(precedes)(REAL a, REAL b, bool largest)
{
    return largest ? a > b || (a != a && b == b) : a < b || (b != b && a == a);
}

/* Whether a, at place i, comes before b: of equals the one whose place is first. */
INLINE bool NAME(comes_before)(REAL a, int64_t i, REAL b, int64_t j, bool largest)
{
    return NAME(precedes)(a, b, largest) || (i < j && !NAME(precedes)(b, a, largest));
}

INLINE void NAME(top_row)(const REAL *x, int64_t *places, ptrdiff_t n, ptrdiff_t count, bool largest)
{
    REAL found[MOST_FOUND];
    ptrdiff_t have = 0;
    for (ptrdiff_t start = 0; start < n; start += BLOCK) {
        ptrdiff_t stop = n - start < BLOCK ? n : start + BLOCK;
        if (have == count) { /* most blocks have nothing to add */
            REAL last = found[count - 1];
            TYPE(int) any = 0;
            for (ptrdiff_t i = start; i < stop; i++) {
                any |= (largest ? x[i] <= last : x[i] >= last) ? 0 : 1;
            }
            if (!any) {
                continue;
            }
        }
        for (ptrdiff_t i = stop - 1; i >= start; i--) { /* from the end: in rows that are sorted, it has what is kept */
            if (have == count && !NAME(comes_before)(x[i], i, found[count - 1], places[count - 1], largest)) {
                continue;
            }
            ptrdiff_t place = have < count ? have++ : count - 1;
            for (; place > 0 && NAME(comes_before)(x[i], i, found[place - 1], places[place - 1], largest); place--) {
                found[place] = found[place - 1];
                places[place] = places[place - 1];
            }
            found[place] = x[i];
            places[place] = i;
        }
    }
}

static void NAME(top)(const void *from, int64_t *places, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t count, bool largest)
{
    const REAL *x = from;
    for (ptrdiff_t row = 0; row < rows; row++, x += n, places += count) {
        if (largest) {
            NAME(top_row)(x, places, n, count, true);
        } else {
            NAME(top_row)(x, places, n, count, false);
        }
    }
}

#undef BLOCK
