/* Finds NumPy's OpenBLAS in the process, and calls it: see blas.h. */

#include "blas.h"

#include <dlfcn.h>
#include <pthread.h>

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

typedef void (*Gemm32)(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t,
                       float, void *, int64_t);
typedef void (*Gemm64)(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
                       double, void *, int64_t);

static Gemm32 gemm32;
static Gemm64 gemm64;
static void (*set_threads)(int);
static int (*get_threads)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;  /* the last call, or a fork */
static int depth;    /* how many of our calls are under way */
static int others;   /* the number of threads to go back to after the last of them; 0 if there is none */
static bool forking; /* whether calls have to wait */
static _Thread_local int own_depth;

/* A fork waits until nobody is in OpenBLAS, or the child would find OpenBLAS's own lock taken for ever. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    forking = true;
    while (depth > own_depth) {
        pthread_cond_wait(&ended, &lock);
    }
}

static void in_parent(void)
{
    forking = false;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

/* A child has only the thread that forked. */
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&ended, NULL);
    forking = false;
}

bool use_blas(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        return false;
    }
    Gemm32 single = (Gemm32)dlsym(library, "scipy_cblas_sgemm64_");
    gemm64 = (Gemm64)dlsym(library, "scipy_cblas_dgemm64_");
    set_threads = (void (*)(int))dlsym(library, "scipy_openblas_set_num_threads64_");
    get_threads = (int (*)(void))dlsym(library, "scipy_openblas_get_num_threads64_");
    if (single == NULL || gemm64 == NULL || set_threads == NULL || get_threads == NULL) {
        dlclose(library);
        return false;
    }
    if (gemm32 == NULL) {
        pthread_atfork(before_fork, in_parent, in_child);
    }
    gemm32 = single;
    return true;
}

bool has_blas(void)
{
    return gemm32 != NULL;
}

void begin_single_blas(void)
{
    pthread_mutex_lock(&lock);
    while (forking && own_depth == 0) { /* a call within another one does not wait: the fork waits for that */
        pthread_cond_wait(&ended, &lock);
    }
    own_depth++;
    if (depth++ == 0 && others == 0) {
        int count = get_threads();
        if (count > 1) {
            others = count;
            set_threads(1);
        }
    }
    pthread_mutex_unlock(&lock);
}

void end_single_blas(void)
{
    pthread_mutex_lock(&lock);
    own_depth--;
    if (--depth == 0 && others > 0) {
        set_threads(others);
        others = 0;
    }
    if (forking) {
        pthread_cond_broadcast(&ended);
    }
    pthread_mutex_unlock(&lock);
}

void set_blas_threads(int count)
{
    pthread_mutex_lock(&lock);
    if (depth > 0) {
        others = count;
        set_threads(1);
    } else {
        others = 0;
        set_threads(count);
    }
    pthread_mutex_unlock(&lock);
}

/* out = a b + rest out */
static void gemm(bool doubles, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, int rest, void *out, int64_t step)
{
    int how_a = a.transposed ? TRANSPOSED : AS_IT_IS, how_b = b.transposed ? TRANSPOSED : AS_IT_IS;
    if (doubles) {
        gemm64(ROW_MAJOR, how_a, how_b, m, n, k, 1.0, a.at, a.step, b.at, b.step, rest, out, step);
    } else {
        gemm32(ROW_MAJOR, how_a, how_b, m, n, k, 1.0f, a.at, a.step, b.at, b.step, (float)rest, out, step);
    }
}

void multiply_matrices(bool doubles, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, void *out, int64_t step)
{
    gemm(doubles, m, n, k, a, b, 0, out, step);
}

void add_matrix_product(bool doubles, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, void *out, int64_t step)
{
    gemm(doubles, m, n, k, a, b, 1, out, step);
}
