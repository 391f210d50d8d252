/*
 * The functions that stand in front of the allocator's. What they call is found behind this library
 * in the order of the loader: the C library's, or those of another allocator.
 */
#include "agent/heap/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HOOK __attribute__((visibility("default"))) AGENT_ALIGNS

/* --- the functions behind */

enum { BOOT_BYTES = 64 << 10, BOOT_ALIGN = 64 };

/* Memory for what is allocated while the C library's functions are looked up. It is never freed. */
static _Alignas(BOOT_ALIGN) char boot[BOOT_BYTES];
static size_t boot_used;

static void *boot_malloc(size_t bytes);
static void *boot_calloc(size_t nr, size_t bytes);
static void *boot_realloc(void *p, size_t bytes);
static void boot_free(void *p);
static void *boot_memalign(size_t alignment, size_t bytes);

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(void *);
	int (*dlclose)(void *);
	uint32_t is_found, is_searched;
} real = {.malloc = boot_malloc,
	  .calloc = boot_calloc,
	  .realloc = boot_realloc,
	  .free = boot_free,
	  .memalign = boot_memalign};

static void *find(const char *name)
{
	return agent_find(name);
}

#define FIND(field, name)                                                                          \
	do {                                                                                       \
		void *found_ = find(name);                                                         \
                                                                                                   \
		if (found_)                                                                        \
			memcpy(&real.field, &found_, sizeof(found_));                              \
	} while (0)

/* One thread searches; others, and calls of the search itself, get memory of the boot. */
static bool find_all(void)
{
	if (__atomic_exchange_n(&real.is_searched, 1, __ATOMIC_ACQ_REL))
		return __atomic_load_n(&real.is_found, __ATOMIC_ACQUIRE);
	FIND(free, "free");
	FIND(realloc, "realloc");
	FIND(calloc, "calloc");
	FIND(memalign, "memalign");
	FIND(aligned_alloc, "aligned_alloc");
	FIND(posix_memalign, "posix_memalign");
	FIND(valloc, "valloc");
	FIND(pvalloc, "pvalloc");
	FIND(usable, "malloc_usable_size");
	FIND(malloc, "malloc");
	__atomic_store_n(&real.is_found, 1, __ATOMIC_RELEASE);
	return true;
}

void agent_hooks_find(void)
{
	(void)find_all();
}

static bool is_boot(const void *p)
{
	return (uintptr_t)p - (uintptr_t)boot < BOOT_BYTES;
}

static void *boot_take(size_t alignment, size_t bytes)
{
	size_t wanted = (bytes + 2 * BOOT_ALIGN - 1) & ~(size_t)(BOOT_ALIGN - 1), at;

	if (bytes > BOOT_BYTES || alignment > BOOT_ALIGN) {
		errno = ENOMEM;
		return NULL;
	}
	at = __atomic_fetch_add(&boot_used, wanted, __ATOMIC_RELAXED);
	if (at + wanted > BOOT_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	return boot + at;
}

static void *boot_malloc(size_t bytes)
{
	return find_all() ? real.malloc(bytes) : boot_take(1, bytes);
}

static void *boot_calloc(size_t nr, size_t bytes)
{
	size_t all;

	if (find_all())
		return real.calloc(nr, bytes);
	return __builtin_mul_overflow(nr, bytes, &all) ? NULL : boot_take(1, all);
}

static void boot_free(void *p)
{
	if (p && !is_boot(p) && find_all())
		real.free(p);
}

static void *boot_memalign(size_t alignment, size_t bytes)
{
	return find_all() ? real.memalign(alignment, bytes) : boot_take(alignment, bytes);
}

/* Its size is not known: what follows it belongs to the boot, too. */
static void *boot_move(const void *p, size_t bytes)
{
	size_t most = (size_t)(boot + BOOT_BYTES - (const char *)p);
	void *to = real.malloc(bytes);

	if (to)
		memcpy(to, p, bytes < most ? bytes : most);
	return to;
}

static void *boot_realloc(void *p, size_t bytes)
{
	if (find_all())
		return p && is_boot(p) ? boot_move(p, bytes) : real.realloc(p, bytes);
	return p ? boot_move(p, bytes) : boot_take(1, bytes);
}

/* --- what is live, by the allocator's sizes */

/* By the allocator's function, which may allocate itself: tcmalloc's does when it is first called.
 * That is not the program's, and is not asked for its size in turn. */
static size_t ask_usable(void *p)
{
	struct agent_local *t = &agent_local;
	const uint16_t before = t->is_busy;
	size_t bytes;

	if (before == AGENT_ASKS)
		return 0;
	t->is_busy = AGENT_ASKS;
	bytes = real.usable(p);
	t->is_busy = before;
	return bytes;
}

/* How many blocks in a row have the same size by both ways. */
static uint32_t nr_alike;

enum { ENOUGH_ALIKE = 64 };

/* What is freed may be no block at all: of glibc's nothing but what is before it is read, as free
 * does. */
uint64_t agent_usable(void *p, bool is_freed)
{
	uint64_t bytes, chunk;

	if (is_boot(p))
		return 0;
	chunk = is_freed && nr_alike <= ENOUGH_ALIKE ? agent_chunk_bytes(p) : 0;
	if (chunk)
		return chunk;
	bytes = ask_usable(p);
	if (agent.is_live_counted == AGENT_COUNTS_BY_CHUNK || nr_alike > ENOUGH_ALIKE)
		return bytes;
	chunk = agent_chunk_bytes(p);
	if (chunk && chunk != bytes)
		nr_alike = UINT32_MAX;
	else if (chunk && ++nr_alike == ENOUGH_ALIKE)
		agent.is_live_counted = AGENT_COUNTS_BY_CHUNK;
	return bytes;
}

/* In glibc only. */
extern int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
    __attribute__((weak));

/* In a program that is not position independent the address may be of a stub, which is no
 * definition and calls the first. */
bool agent_hooks_are_first(void)
{
	const void *first = agent.is_beside ? NULL : dlsym(RTLD_DEFAULT, "malloc");
	const ElfW(Sym) *symbol = NULL;
	Dl_info of_first, own;

	if (!first || !dladdr1 || !dladdr(&real, &own) ||
	    !dladdr1(first, &of_first, (void **)&symbol, RTLD_DL_SYMENT))
		return true;
	return of_first.dli_fbase == own.dli_fbase || (symbol && symbol->st_shndx == SHN_UNDEF);
}

void agent_hooks_count_live(bool is_wanted)
{
	agent.is_live_counted = 0;
	if (!is_wanted || !find_all() || !agent_are_of_one_object("malloc_usable_size", "malloc"))
		return;
	/* of others what is before a block may not be there */
	nr_alike = agent_are_of_one_object("gnu_get_libc_version", "malloc") ? 0 : UINT32_MAX;
	agent.is_live_counted = AGENT_COUNTS_BY_FUNCTION;
}

/* --- samples */

/* The stack of a call, by the thread's level; 0: no room. */
static uint32_t stack_of(struct agent_local *t, const struct agent_frame *from)
{
	uint32_t node = agent.has_stacks ? agent_capture(t->own, from) : 0;
	uint32_t stack = node || !agent.has_stacks ? agent_tree_stack_at(node, t->level) : 0;

	if (stack)
		return stack;
	agent_count(&agent.shared->no_node);
	return agent_tree_stack_at(0, t->level);
}

/* Another thread may have seen a coarser level: then it is that of the stack. */
static bool is_sample_of(struct agent_local *t, uint64_t bytes, uint32_t stack)
{
	const struct heap_stack *stacks = agent_at(agent.shared->stacks);

	return agent_is_sample_at(t, bytes, agent_stack_level(&stacks[stack - 1]));
}

static void free_block(struct agent_local *t, uint64_t address, struct agent_block block,
		       uint64_t untouched)
{
	struct agent_end end = {.is_temporary = t->last == ~address, .untouched = untouched};

	if (!agent_may(AGENT_MAY_READ_CLOCK))
		block.born = 0; /* when it ends is not known */
	if (block.born)
		end.lived_ns = agent_life_ns(block.born);
	t->last = 0;
	agent_sums_freed(block, &end);
}

/* Its end was not seen, nor when it was. */
static void free_unseen(struct agent_block block)
{
	block.born = 0;
	agent_sums_freed(block, &(struct agent_end){0});
}

/* True: it is in what is live, with the bytes that were requested. */
static bool sample(struct agent_local *t, uint64_t address, uint64_t bytes, uint64_t kept,
		   const struct agent_frame *from)
{
	struct agent_block old, block = {.size = heap_pack_size(bytes)};
	uint64_t usable = 0;
	bool is_exact;

	block.stack = stack_of(t, from);
	if (!block.stack || !is_sample_of(t, bytes, block.stack))
		return false;
	is_exact = t->level == HEAP_EXACT;
	if (agent.has_overhead && real.usable)
		usable = ask_usable((void *)(uintptr_t)address);
	agent_sums_allocated(block, usable > bytes ? usable - bytes : 0);
	if (t->level)
		agent_adapt_count(t, 1, is_exact && agent.has_blocks);
	if (!agent.has_blocks)
		return is_exact;
	block.born = agent.has_lives ? agent_life_now() : 0;
	block.is_filled = agent.has_pattern && agent_fill(address, bytes, kept);
	if (!agent_blocks_add(address, block, &old))
		agent_count(&agent.shared->no_block);
	else if (!old.stack)
		agent_filter_add(address);
	if (old.stack)
		free_unseen(old);
	t->last = ~address;
	return is_exact;
}

bool agent_slow_allocated(void *p, size_t bytes, size_t kept, struct agent_frame from)
{
	struct agent_local *t = &agent_local;
	int error = errno;
	bool is_new = t->generation != agent_alive() || !t->generation, is_live = false;

	if (t->is_busy) {
		if (!is_new && t->is_busy != AGENT_ASKS)
			agent_count(&agent.shared->nested);
		return false;
	}
	t->is_busy = 1;
	if (agent_attach(t) && !agent.shared->is_closed) {
		if (is_new) {
			agent_count_call(t->slot, bytes);
			t->left -= (int64_t)(bytes + !bytes);
		}
		if (t->left < 0) {
			is_live = agent_is_sample_at(t, bytes, agent_level()) &&
				  sample(t, (uintptr_t)p, bytes, kept, &from);
			t->left = agent_distance(t);
		}
	}
	agent_leave(t);
	errno = error;
	return is_live;
}

/* What is known of a block that is to be freed; it is tracked no more. By a thread that is inside.
 */
static struct agent_block take(const void *p)
{
	struct agent_block block = agent_blocks_remove((uintptr_t)p);

	block.is_exact = block.stack && agent_is_exact(block.stack);
	if (block.is_exact)
		agent_adapt_count(&agent_local, 0, -1);
	if (block.stack)
		agent_filter_remove((uintptr_t)p);
	else if (agent.is_every)
		agent_count(&agent.shared->unknown);
	return block;
}

/* Begins to free: the thread is inside until it leaves. False: nothing of it is measured. */
static bool enter(struct agent_local *t)
{
	if (!agent_alive()) /* a child by fork: what it frees is the parent's */
		return false;
	if (t->is_busy) {
		if (t->is_busy != AGENT_ASKS)
			agent_count(&agent.shared->nested);
		return false;
	}
	t->is_busy = 1;
	if (t->is_ended ? agent_stay(t) : agent_attach(t))
		return true;
	agent_leave(t);
	return false;
}

static struct agent_block take_block(const void *p)
{
	struct agent_local *t = &agent_local;
	struct agent_block block = {0};

	if (enter(t)) {
		block = take(p);
		agent_leave(t);
	}
	return block;
}

/* Attaches the thread if it is not. */
static void count_free(void)
{
	struct agent_local *t = &agent_local;

	if (t->is_busy)
		return;
	t->is_busy = 1;
	if (agent_alive() && agent_attach(t))
		agent_plus_at_once(&t->slot->frees, 1);
	agent_leave(t);
}

static void end_block(const void *p, struct agent_block block, uint64_t untouched)
{
	struct agent_local *t = &agent_local;

	t->is_busy = 1;
	if (agent_stay(t))
		free_block(t, (uintptr_t)p, block, untouched);
	agent_leave(t);
}

/* Whether it is not filled, by its size. */
static bool is_by_pages(uint32_t packed_size)
{
	return agent.has_untouched &&
	       (!agent.has_pattern || heap_size(packed_size) > HEAP_FILL_MAX);
}

/* Bytes of a live block that were never touched. */
static uint64_t untouched_of(const void *p, struct agent_block block)
{
	if (is_by_pages(block.size))
		return agent_untouched((uintptr_t)p, block.size);
	return block.is_filled ? agent_unwritten((uintptr_t)p, heap_size(block.size)) : 0;
}

/* By realloc. Pages that are still untouched where the block is now (at the same place, or moved by
 * mremap) are seen when it is freed there; what realloc copied is touched. So is all that was there
 * before of a block that is filled (agent_fill). */
static void end_moved(const void *p, struct agent_block block, uint64_t untouched, const void *q,
		      size_t bytes)
{
	uint32_t size = heap_pack_size(bytes);
	uint64_t still = 0;

	if (heap_size(size) > heap_size(block.size))
		size = block.size;
	if (q && untouched && is_by_pages(heap_pack_size(bytes)))
		still = agent_untouched((uintptr_t)q, size);
	end_block(p, block, untouched > still ? untouched - still : 0);
}

static void keep_block(const void *p, struct agent_block block)
{
	struct agent_local *t = &agent_local;
	struct agent_block old;

	t->is_busy = 1;
	if (!agent_stay(t))
		;
	else if (agent_blocks_add((uintptr_t)p, block, &old))
		agent_filter_add((uintptr_t)p);
	else
		agent_count(&agent.shared->no_block);
	agent_leave(t);
}

/* --- hooks */

HOOK void *malloc(size_t bytes)
{
	void *p = real.malloc(bytes);

	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, bytes, 0);
	return p;
}

HOOK void *calloc(size_t nr, size_t bytes)
{
	void *p = real.calloc(nr, bytes);

	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, nr * bytes, AGENT_KEEPS_ALL);
	return p;
}

/* Of a block that may be tracked, or by a thread that is not attached: it may only free. True: it
 * is no more in what is live. */
static __attribute__((noinline)) bool slow_freed(const void *p)
{
	struct agent_local *t = &agent_local;
	struct agent_block block;
	int error = errno;

	if (!enter(t))
		return false;
	if (!t->is_ended)
		agent_plus_at_once(&t->slot->frees, 1);
	block = take(p);
	if (block.stack)
		free_block(t, (uintptr_t)p, block, untouched_of(p, block));
	agent_leave(t);
	errno = error;
	return block.is_exact;
}

/* True if nothing is to be done but to count it. */
static inline __attribute__((always_inline)) bool is_untracked(const struct agent_local *t,
							       const void *p)
{
	return AGENT_LIKELY(t->generation == agent_alive()) &&
	       (!t->generation || AGENT_LIKELY(!*agent_filter((uintptr_t)p)));
}

static inline __attribute__((always_inline)) void ends(void *p)
{
	struct agent_local *t = &agent_local;

	if (is_untracked(t, p)) {
		if (t->generation)
			agent_plus_at_once(&t->slot->frees, 1);
	} else if (slow_freed(p)) {
		return;
	}
	agent_count_live(p, -1);
}

void agent_freed(void *p)
{
	ends(p);
}

HOOK void free(void *p)
{
	if (!p || AGENT_UNLIKELY(is_boot(p)))
		return;
	ends(p);
	real.free(p);
}

/* What realloc has to leave as it is: all that the program may have used. */
static size_t kept_of(void *p)
{
	if (!p)
		return 0;
	/* has_pattern: as far as is known so early */
	return agent.has_pattern && real.usable ? ask_usable(p) : AGENT_KEEPS_ALL;
}

/* A realloc is a free and an allocation, which the hook records. The block is tracked no more
 * before it moves: another thread may get its place at once. */
static inline __attribute__((always_inline)) void *move(void *p, size_t bytes, size_t *kept)
{
	struct agent_local *t = &agent_local;
	struct agent_block block = {0};
	uint64_t untouched = 0;
	void *q;

	*kept = AGENT_KEEPS_ALL;
	if (AGENT_UNLIKELY(is_boot(p)))
		return boot_move(p, bytes);
	if (p && AGENT_UNLIKELY(!is_untracked(t, p)))
		block = take_block(p);
	if (block.stack)
		untouched = untouched_of(p, block);
	*kept = kept_of(p);
	if (p && !block.is_exact)
		agent_count_live(p, -1);
	q = real.realloc(p, bytes);
	if (p && (q || !bytes))
		count_free();
	else if (p && !block.is_exact)
		agent_count_live(p, 1);
	if (block.stack && !q && bytes)
		keep_block(p, block);
	else if (block.stack)
		end_moved(p, block, untouched, q, bytes);
	return q;
}

HOOK void *realloc(void *p, size_t bytes)
{
	size_t kept;
	void *q = move(p, bytes, &kept);

	if (AGENT_LIKELY(q))
		AGENT_ALLOCATED(q, bytes, kept);
	return q;
}

HOOK void *reallocarray(void *p, size_t nr, size_t bytes)
{
	size_t all, kept;
	void *q;

	if (__builtin_mul_overflow(nr, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	q = move(p, all, &kept);
	if (AGENT_LIKELY(q))
		AGENT_ALLOCATED(q, all, kept);
	return q;
}

HOOK void *memalign(size_t alignment, size_t bytes)
{
	void *p = real.memalign(alignment, bytes);

	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, bytes, 0);
	return p;
}

HOOK void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *p = real.aligned_alloc ? real.aligned_alloc(alignment, bytes)
				     : real.memalign(alignment, bytes);

	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, bytes, 0);
	return p;
}

HOOK int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	int rc;

	if (AGENT_UNLIKELY(!real.posix_memalign) && !find_all())
		return ENOMEM;
	rc = real.posix_memalign(out, alignment, bytes);
	if (AGENT_LIKELY(!rc && *out))
		AGENT_ALLOCATED(*out, bytes, 0);
	return rc;
}

HOOK void *valloc(size_t bytes)
{
	void *p;

	if (AGENT_UNLIKELY(!real.valloc) && !find_all())
		return NULL;
	p = real.valloc(bytes);
	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, bytes, 0);
	return p;
}

HOOK void *pvalloc(size_t bytes)
{
	void *p;

	if (AGENT_UNLIKELY(!real.pvalloc) && !find_all())
		return NULL;
	p = real.pvalloc(bytes);
	if (AGENT_LIKELY(p))
		AGENT_ALLOCATED(p, bytes, 0);
	return p;
}

/* What was loaded there may be replaced by something else: its addresses end with it. */
HOOK int dlclose(void *handle)
{
	const uint64_t since_ns = agent_now();
	int rc;

	if (AGENT_UNLIKELY(!real.dlclose))
		FIND(dlclose, "dlclose");
	if (AGENT_UNLIKELY(!real.dlclose))
		return -1;
	rc = real.dlclose(handle);
	agent_stack_epoch(since_ns);
	agent_look_at_objects();
	return rc;
}
