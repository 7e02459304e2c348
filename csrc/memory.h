/* A cache of large memory blocks: memory returned to the system would have to be zeroed again on reuse. */

#ifndef FLAMBEAU_MEMORY_H
#define FLAMBEAU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#define LARGE_BLOCK ((size_t)1 << 16) /* bytes from which blocks are used again */

/* Memory of so many bytes, aligned for vectors, for release_block; NULL if there is none. */
void *new_block(size_t bytes, bool zeroed);
void release_block(void *block);

/* Whether memory is such a block, and how many bytes it has at least. */
bool is_block(void *at);
size_t size_of_block(void *at);

/* Gives what is not in use back to the system; how many bytes that were. */
size_t give_back_blocks(void);

#endif
