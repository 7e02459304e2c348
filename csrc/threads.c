/* The thread pool. Idle threads sleep. Work is taken in chunks, so that a thread that the system preempts delays one chunk
 * and not the whole.
 *
 * There is one job at a time. Under the lock, its owner publishes it with a number of seats; a worker takes a seat, works
 * until no chunk is left, and leaves. The owner works too, then closes the free seats and waits for those that are taken.
 * So a late worker finds nothing, and never sees a job that has ended.
 *
 * The chunks are divided into as many shares as there are threads. A thread takes those of its own share first, which are
 * adjacent and the same in the next job, so the data is likely to be in its cache. Then it helps others.
 */

#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MOST_WORKERS 255
#define WATCH_NANOSECONDS 50000 /* for how long one looks for news before one sleeps: calls follow each other closely */
#define CHUNKS_EACH 4

static atomic_int count = 1;
static int workers;
static pthread_t threads[MOST_WORKERS];
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* of the one piece of work */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* of all that follows */
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static Chunk the_chunk;
static const void *the_work;
static ptrdiff_t chunk_total;
static int sleeping;
static bool dismissed; /* whether workers are to end */
static atomic_int free_seats, taken_seats;
typedef struct {
    _Alignas(64) _Atomic ptrdiff_t next; /* chunk; in a line of the cache of its own */
} Share;

static Share shares[MOST_WORKERS + 1];
static int share_count;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Looks for a short while whether the number becomes positive, or zero. */
static void watch(atomic_int *number, bool positive)
{
    long long end = now() + WATCH_NANOSECONDS;
    do {
        for (int i = 0; i < 32; i++) {
            if ((atomic_load_explicit(number, memory_order_relaxed) > 0) == positive) {
                return;
            }
            relax();
        }
    } while (now() < end);
}

static ptrdiff_t start_of_share(int share, int count_of_shares, ptrdiff_t total)
{
    return total * share / count_of_shares;
}

static void deal_chunks(int helpers, ptrdiff_t total)
{
    share_count = helpers + 1;
    chunk_total = total;
    for (int i = 0; i < share_count; i++) {
        atomic_store(&shares[i].next, start_of_share(i, share_count, total));
    }
}

/* Those of a thread's own share, then those that others have left. */
static void take_chunks(Chunk chunk, const void *work, ptrdiff_t total, int own, int count_of_shares)
{
    for (int k = 0; k < count_of_shares; k++) {
        int share = (own + k) % count_of_shares;
        ptrdiff_t stop = start_of_share(share + 1, count_of_shares, total);
        for (ptrdiff_t i; (i = atomic_fetch_add(&shares[share].next, 1)) < stop;) {
            chunk(work, i);
        }
    }
}

/* `place`: of the thread among the workers, counted from 1. */
static void *attend(void *place)
{
    int own = (int)(intptr_t)place;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (atomic_load(&free_seats) == 0 && !dismissed) {
            pthread_mutex_unlock(&lock);
            watch(&free_seats, true);
            pthread_mutex_lock(&lock);
        }
        while (atomic_load(&free_seats) == 0 && !dismissed) {
            sleeping++;
            pthread_cond_wait(&arrived, &lock);
            sleeping--;
        }
        if (dismissed) {
            break;
        }
        atomic_fetch_sub(&free_seats, 1);
        atomic_fetch_add(&taken_seats, 1);
        Chunk chunk = the_chunk;
        const void *work = the_work;
        ptrdiff_t total = chunk_total;
        int dealt = share_count;
        pthread_mutex_unlock(&lock);
        take_chunks(chunk, work, total, own, dealt);
        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub(&taken_seats, 1) == 1) {
            pthread_cond_signal(&emptied);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- workers begin when they are first needed, and end before a fork: a child has none of its parent's threads, but all
 * of the locks that they may hold */

static void before_fork(void)
{
    pthread_mutex_lock(&owner); /* work that is under way ends first */
    pthread_mutex_lock(&lock);
    dismissed = true;
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
    for (; workers > 0; workers--) {
        pthread_join(threads[workers - 1], NULL);
    }
    dismissed = false;
}

static void after_fork(void)
{
    pthread_mutex_unlock(&owner);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* Has up to `wanted` workers; fewer where the system gives no more. */
static void hire(int wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of the program */
    while (workers < wanted && pthread_create(&threads[workers], NULL, attend, (void *)(intptr_t)(workers + 1)) == 0) {
        workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- what others call */

void run_chunks(Chunk chunk, const void *work, ptrdiff_t total)
{
    int most = count, helpers = (total < most ? (int)total : most) - 1;
    if (helpers < 1 || pthread_mutex_trylock(&owner) != 0) {
        run_all(chunk, work, total, true);
        return;
    }
    if (workers < helpers) {
        hire(helpers);
    }
    pthread_mutex_lock(&lock);
    the_chunk = chunk;
    the_work = work;
    deal_chunks(helpers, total);
    atomic_store(&free_seats, helpers);
    int asleep = sleeping;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < helpers && i < asleep; i++) {
        pthread_cond_signal(&arrived);
    }
    take_chunks(chunk, work, total, 0, helpers + 1);
    pthread_mutex_lock(&lock);
    atomic_store(&free_seats, 0);
    if (atomic_load(&taken_seats) > 0) {
        pthread_mutex_unlock(&lock);
        watch(&taken_seats, false);
        pthread_mutex_lock(&lock);
    }
    while (atomic_load(&taken_seats) > 0) {
        pthread_cond_wait(&emptied, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}

void run_all(Chunk chunk, const void *work, ptrdiff_t total, bool small)
{
    if (!small) {
        run_chunks(chunk, work, total);
        return;
    }
    for (ptrdiff_t i = 0; i < total; i++) {
        chunk(work, i);
    }
}

int thread_count(void)
{
    return count;
}

void set_thread_count(int wanted)
{
    count = wanted < 1 ? 1 : wanted > MOST_WORKERS + 1 ? MOST_WORKERS + 1 : wanted;
}

ptrdiff_t chunks_for(ptrdiff_t units, ptrdiff_t least)
{
    ptrdiff_t threads = count, most = threads == 1 ? 1 : threads * CHUNKS_EACH, n = units / least;
    return n < 1 ? 1 : n < most ? n : most;
}

void part_of(ptrdiff_t n, ptrdiff_t step, ptrdiff_t total, ptrdiff_t i, ptrdiff_t *start, ptrdiff_t *stop)
{
    ptrdiff_t steps = (n + step - 1) / step;
    *start = steps * i / total * step;
    *stop = steps * (i + 1) / total * step;
    *stop = *stop < n ? *stop : n;
}

/* ---- memory for chunks */

static pthread_key_t scratch_key;

static void make_scratch_key(void)
{
    pthread_key_create(&scratch_key, free); /* with the thread goes its memory */
}

void *scratch_of_thread(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_scratch_key);
    size_t *head = pthread_getspecific(scratch_key);
    if (head == NULL || *head < bytes) {
        free(head);
        head = aligned_alloc(64, (bytes + 127) / 64 * 64);
        pthread_setspecific(scratch_key, head);
        if (head == NULL) {
            return NULL;
        }
        *head = bytes;
    }
    return (char *)head + 64;
}
