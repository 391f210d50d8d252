/*
 * operator new and delete of C++. Those of libstdc++ and libc++ call malloc and free, where they
 * are measured: here they are only passed on, by a jump, so that no path contains this library.
 * Other allocators (jemalloc, tcmalloc, mimalloc) have operators of their own, which call neither:
 * those are measured here.
 */
#include "agent/heap/agent.h"

#include <dlfcn.h>

#define HOOK __attribute__((visibility("default")))

struct nothrow;

/* The operator that stands behind one here, and whether it is the allocator's own. */
struct behind {
	void *function;
	bool is_own;
};

static void find(struct behind *b, const char *name)
{
	void *found = agent_find(name), *heap = agent_find("malloc");
	Dl_info of_found, of_heap;

	b->is_own = found && heap && dladdr(found, &of_found) && dladdr(heap, &of_heap) &&
		    of_found.dli_fbase == of_heap.dli_fbase;
	__atomic_store_n(&b->function, found, __ATOMIC_RELEASE);
}

#define BEHIND(name) (*(__typeof__(&(name)))behind##name.function)

/* The second function is reached by a jump, too: its return address is the program's. */
#define NEW(name, arguments, ...)                                                                  \
	HOOK void *name arguments;                                                                 \
	static struct behind behind##name;                                                         \
	static __attribute__((noinline)) void *own##name arguments                                 \
	{                                                                                          \
		uint64_t before = agent_calls();                                                   \
		void *p = BEHIND(name)(__VA_ARGS__);                                               \
                                                                                                   \
		if (p && agent_calls() == before) /* it did not call malloc */                     \
			AGENT_ALLOCATED(p, bytes, 0);                                              \
		return p;                                                                          \
	}                                                                                          \
	void *name arguments                                                                       \
	{                                                                                          \
		if (AGENT_UNLIKELY(!behind##name.function))                                        \
			find(&behind##name, #name);                                                \
		return AGENT_UNLIKELY(behind##name.is_own) ? own##name(__VA_ARGS__)                \
							   : BEHIND(name)(__VA_ARGS__);            \
	}

#define DELETE(name, arguments, ...)                                                               \
	HOOK void name arguments;                                                                  \
	static struct behind behind##name;                                                         \
	void name arguments                                                                        \
	{                                                                                          \
		if (AGENT_UNLIKELY(!behind##name.function))                                        \
			find(&behind##name, #name);                                                \
		if (AGENT_UNLIKELY(behind##name.is_own) && p)                                      \
			agent_freed(p);                                                            \
		BEHIND(name)(__VA_ARGS__);                                                         \
	}

NEW(_Znwm, (size_t bytes), bytes)
NEW(_Znam, (size_t bytes), bytes)
NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const struct nothrow *n), bytes, n)
NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const struct nothrow *n), bytes, n)
NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), bytes, alignment)
NEW(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), bytes, alignment)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const struct nothrow *n),
    bytes, alignment, n)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const struct nothrow *n),
    bytes, alignment, n)
DELETE(_ZdlPv, (void *p), p)
DELETE(_ZdaPv, (void *p), p)
DELETE(_ZdlPvm, (void *p, size_t bytes), p, bytes)
DELETE(_ZdaPvm, (void *p, size_t bytes), p, bytes)
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const struct nothrow *n), p, n)
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const struct nothrow *n), p, n)
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t alignment), p, alignment)
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t alignment), p, alignment)
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), p, bytes, alignment)
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), p, bytes, alignment)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const struct nothrow *n), p,
       alignment, n)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const struct nothrow *n), p,
       alignment, n)
