/* Elements in the opposite order. */

#define BACKWARDS(type) \
    static void backwards_##type(const type *restrict x, type *restrict out, ptrdiff_t n) \
    { \
        for (ptrdiff_t i = 0; i < n; i++) { \
            out[i] = x[-i]; \
        } \
    }

BACKWARDS(uint8_t)
BACKWARDS(uint16_t)
BACKWARDS(uint32_t)
BACKWARDS(uint64_t)

#undef BACKWARDS

static void backwards(const void *x, void *out, ptrdiff_t n, ptrdiff_t size)
{
    switch (size) {
    case 1:
        backwards_uint8_t(x, out, n);
        break;
    case 2:
        backwards_uint16_t(x, out, n);
        break;
    case 4:
        backwards_uint32_t(x, out, n);
        break;
    default:
        backwards_uint64_t(x, out, n);
    }
}
