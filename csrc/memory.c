/* A training step needs blocks of the same sizes as the last one. Freed blocks are cached, in stacks by size, for the
 * next request of that size or a slightly smaller one. Cached and used blocks together never exceed the peak use by much,
 * so caching does not make a process much larger. Blocks that stay unused for long are returned to the system.
 */

#include "memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#ifndef __SANITIZE_ADDRESS__ /* which watches the ends of what malloc gives */
#define OWN_MAPPINGS
#endif
#endif

#define PAGE 4096
#define HEAD 64                           /* bytes before a block that say what it is; they begin a page */
#define SIGN 0x6d61656265616c66ULL        /* by which a head is known */
#define HUGE_PAGES ((size_t)1 << 22)      /* bytes from which large pages are asked for, as NumPy does */
#define MOST_WAITING ((size_t)1 << 30)    /* bytes */
#define ALWAYS_ROOM ((size_t)1 << 24)     /* bytes that may wait beside as many as were in use at once */
#define LONGEST_WAIT 5                    /* seconds */
#define LEAST_MAPPED ((size_t)1 << 18)    /* bytes of a mapping of its own: of a heap, gaps stay with the process */
#define STEPS 8                           /* sizes between a power of two and the next */
#define SIZES (STEPS * 64)
#define LARGER (STEPS / 2)                /* by how many sizes a block may be too large for a call */

typedef struct Block {
    unsigned long long sign;
    size_t size; /* without the head */
    void *start; /* as malloc gave it, or NULL for a mapping of its own */
    struct Block *below, *above;   /* in the stack of its size */
    struct Block *older, *younger; /* among all that wait */
    time_t since;
} Block;

_Static_assert(sizeof(Block) <= HEAD, "the head of a block has no room for what it says");

static atomic_flag taken = ATOMIC_FLAG_INIT; /* of all that follows; who finds it taken goes to malloc and free */
static Block *stacks[SIZES];
static Block *oldest, *youngest;
static size_t most_in_use, waiting;
static _Atomic size_t in_use;

static bool take_lock(void)
{
    return !atomic_flag_test_and_set_explicit(&taken, memory_order_acquire);
}

static void give_lock(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

/* The bytes rounded up to one of STEPS sizes for each power of two, and the number of that size. */
static size_t rounded(size_t bytes, int *number)
{
    int power = 63 - __builtin_clzll((unsigned long long)bytes);
    size_t step = ((size_t)1 << power) / STEPS, steps = (bytes + step - 1) / step;
    *number = power * STEPS + (int)(steps - STEPS);
    return steps * step;
}

static time_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void leave_row(Block *block)
{
    *(block->older != NULL ? &block->older->younger : &oldest) = block->younger;
    *(block->younger != NULL ? &block->younger->older : &youngest) = block->older;
    waiting -= block->size;
}

static void free_block(Block *block)
{
    block->sign = 0;
#ifdef OWN_MAPPINGS
    if (block->start == NULL) {
        munmap(block, block->size + HEAD);
        return;
    }
#endif
    free(block->start);
}

/* The oldest of a size lies at the bottom of its stack. */
static void give_back_oldest(void)
{
    Block *block = oldest;
    int number;
    rounded(block->size, &number);
    *(block->above != NULL ? &block->above->below : &stacks[number]) = NULL;
    leave_row(block);
    free_block(block);
}

static void give_back_above(size_t most)
{
    while (waiting > most) {
        give_back_oldest();
    }
}

size_t give_back_blocks(void)
{
    if (!take_lock()) {
        return 0;
    }
    size_t before = waiting;
    give_back_above(0);
    give_lock();
    return before;
}

/* How many bytes may wait beside those in use. */
static size_t room_for_waiting(size_t used)
{
    size_t most = most_in_use + most_in_use / 8 + ALWAYS_ROOM, room = most > used ? most - used : 0;
    return room < MOST_WAITING ? room : MOST_WAITING;
}

/* A block that waits; NULL if there is none of about that size. */
static Block *waiting_block(int number, size_t used)
{
    int last = number + LARGER < SIZES ? number + LARGER : SIZES - 1;
    while (number < last && stacks[number] == NULL) {
        number++;
    }
    Block *block = stacks[number];
    if (block != NULL) {
        stacks[number] = block->below;
        if (block->below != NULL) {
            block->below->above = NULL;
        }
        leave_row(block);
    }
    most_in_use = used > most_in_use ? used : most_in_use;
    give_back_above(room_for_waiting(used));
    return block;
}

/* Memory for a block, and what its `start` is to be; NULL if there is none. */
static Block *memory_for(size_t size, bool zeroed, void **start)
{
#ifdef OWN_MAPPINGS
    if (size >= LEAST_MAPPED) {
        void *at = mmap(NULL, size + HEAD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at != MAP_FAILED) { /* as it does where mappings are too many */
            *start = NULL;
            return at;
        }
    }
#endif
    size_t bytes = size + HEAD + PAGE;
    *start = zeroed ? calloc(1, bytes) : malloc(bytes);
    return *start == NULL ? NULL : (Block *)(((uintptr_t)*start + PAGE - 1) / PAGE * PAGE);
}

static Block *made_block(size_t size, bool zeroed)
{
    void *start;
    Block *block = memory_for(size, zeroed, &start);
    if (block == NULL && give_back_blocks() > 0) {
        block = memory_for(size, zeroed, &start);
    }
    if (block == NULL) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGES) {
        madvise(block, size, MADV_HUGEPAGE);
    }
#endif
    block->sign = SIGN;
    block->size = size;
    block->start = start;
    return block;
}

void *new_block(size_t bytes, bool zeroed)
{
    int number;
    if (bytes > SIZE_MAX / 4) {
        return NULL;
    }
    size_t size = rounded(bytes < LARGE_BLOCK ? LARGE_BLOCK : bytes, &number);
    size_t used = atomic_fetch_add(&in_use, size) + size;
    Block *block = NULL;
    if (take_lock()) {
        block = waiting_block(number, used);
        give_lock();
    }
    if (block != NULL) {
        atomic_fetch_add(&in_use, block->size - size);
    }
    if (block != NULL && zeroed) {
        memset((char *)block + HEAD, 0, bytes);
    }
    if (block == NULL) {
        block = made_block(size, zeroed);
    }
    if (block == NULL) {
        atomic_fetch_sub(&in_use, size);
        return NULL;
    }
    return (char *)block + HEAD;
}

static Block *head_of(void *at)
{
    return (Block *)((char *)at - HEAD);
}

__attribute__((no_sanitize_address)) /* what lies before memory that is not ours may be anything */
bool is_block(void *at)
{
    return (uintptr_t)at % PAGE == HEAD && head_of(at)->sign == SIGN; /* a head is on the page of its block */
}

size_t size_of_block(void *at)
{
    return head_of(at)->size;
}

/* Puts a block on the stack of its size; returns the time. */
static time_t wait_for_use(Block *block)
{
    int number;
    rounded(block->size, &number);
    block->below = stacks[number];
    block->above = NULL;
    if (block->below != NULL) {
        block->below->above = block;
    }
    stacks[number] = block;
    block->younger = NULL;
    block->older = youngest;
    *(youngest != NULL ? &youngest->younger : &oldest) = block;
    youngest = block;
    waiting += block->size;
    return block->since = now();
}

void release_block(void *at)
{
    if (at == NULL) {
        return;
    }
    Block *block = head_of(at);
    size_t used = atomic_fetch_sub(&in_use, block->size) - block->size;
    if (!take_lock()) {
        free_block(block);
        return;
    }
    time_t since = wait_for_use(block);
    give_back_above(room_for_waiting(used));
    while (oldest != NULL && since - oldest->since > LONGEST_WAIT) {
        give_back_oldest();
    }
    give_lock();
}
