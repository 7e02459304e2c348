/* NumPy's OpenBLAS, called directly with one thread per call, as the pool splits large products itself. */

#ifndef FLAMBEAU_BLAS_H
#define FLAMBEAU_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* Uses the library at a path, if the process has loaded it; whether it was found, with all that is called. */
bool use_blas(const char *path);
bool has_blas(void);

/* Calls between these use one thread each. For the rest of the program the number is what it was. */
void begin_single_blas(void);
void end_single_blas(void);

/* How many threads all others' calls use. */
void set_blas_threads(int count);

typedef struct {
    const void *at;
    int64_t step; /* from a row to the next, or from a column where transposed */
    bool transposed;
} Matrix;

/* out = a b, of floats or doubles; `out` has rows of `step` elements. */
void multiply_matrices(bool doubles, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, void *out, int64_t step);

/* out += a b */
void add_matrix_product(bool doubles, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, void *out, int64_t step);

#endif
