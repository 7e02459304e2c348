/* The thread pool that all kernels share. */

#ifndef FLAMBEAU_THREADS_H
#define FLAMBEAU_THREADS_H

#include <stdbool.h>
#include <stddef.h>

typedef void (*Chunk)(const void *work, ptrdiff_t i);

/* chunk(work, i) for all i < count, each once and in any order, by the caller and by threads that have nothing else to
 * do. Where another thread of the program is at it, or a chunk asks for more, the caller does all of it alone. */
void run_chunks(Chunk chunk, const void *work, ptrdiff_t count);

/* The same; by the caller alone where the work is too small to be shared. */
void run_all(Chunk chunk, const void *work, ptrdiff_t count, bool small);

/* Memory for a chunk, no less than so many bytes, which belongs to the thread: what was there before is lost. NULL if
 * there is none. */
void *scratch_of_thread(size_t bytes);

/* How many threads may work at once, the caller among them. */
int thread_count(void);
void set_thread_count(int count);

/* Chunks of no less than `least` units of work, several for each thread: one that is late then delays the others less. */
ptrdiff_t chunks_for(ptrdiff_t units, ptrdiff_t least);

/* The part of `n` that belongs to chunk i of `count`: from *start to before *stop, both multiples of `step`, or n. */
void part_of(ptrdiff_t n, ptrdiff_t step, ptrdiff_t count, ptrdiff_t i, ptrdiff_t *start, ptrdiff_t *stop);

#endif
