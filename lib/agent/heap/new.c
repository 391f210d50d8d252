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

/* In a name, size_t is unsigned int or unsigned long. */
#if __SIZEOF_SIZE_T__ == 4
#define SIZED(before, behind) before##j##behind
#else
#define SIZED(before, behind) before##m##behind
#endif

/* The operator that stands behind one here, and whether it is the allocator's own. */
struct behind {
	void *function;
	bool is_own;
};

static AGENT_RARE AGENT_ALIGNS void find(struct behind *b, const char *name)
{
	void *found = agent_find(name), *heap = agent_find("malloc");
	Dl_info of_found, of_heap;

	b->is_own = found && heap && dladdr(found, &of_found) && dladdr(heap, &of_heap) &&
		    of_found.dli_fbase == of_heap.dli_fbase;
	__atomic_store_n(&b->function, found, __ATOMIC_RELEASE);
}

#define BEHIND(name) (*(__typeof__(&(name)))behind##name.function)

/* The calls that malloc's hooks counted. An allocator calls its own operator for its tables, too:
 * what operators counted is not among them. */
static uint64_t other_calls(void)
{
	return agent_calls() - agent_local.of_operators;
}

/* The second function is reached by a jump, too: its return address is the program's. */
#define NEW(...) NEW_OF(__VA_ARGS__)
#define NEW_OF(name, arguments, ...)                                                               \
	HOOK void *name arguments;                                                                 \
	static struct behind behind##name;                                                         \
	static __attribute__((noinline)) void *own##name arguments                                 \
	{                                                                                          \
		const uint64_t others = other_calls();                                             \
		void *p = BEHIND(name)(__VA_ARGS__);                                               \
		const uint64_t before = agent_calls();                                             \
                                                                                                   \
		if (p && other_calls() == others) { /* it did not call malloc */                   \
			AGENT_ALLOCATED(p, bytes, 0);                                              \
			agent_local.of_operators += agent_calls() - before;                        \
		}                                                                                  \
		return p;                                                                          \
	}                                                                                          \
	void *name arguments                                                                       \
	{                                                                                          \
		if (AGENT_UNLIKELY(!behind##name.function))                                        \
			find(&behind##name, #name);                                                \
		return AGENT_UNLIKELY(behind##name.is_own) ? own##name(__VA_ARGS__)                \
							   : BEHIND(name)(__VA_ARGS__);            \
	}

#define DELETE(...) DELETE_OF(__VA_ARGS__)
#define DELETE_OF(name, arguments, ...)                                                            \
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

NEW(SIZED(_Znw, ), (size_t bytes), bytes)
NEW(SIZED(_Zna, ), (size_t bytes), bytes)
NEW(SIZED(_Znw, RKSt9nothrow_t), (size_t bytes, const struct nothrow *n), bytes, n)
NEW(SIZED(_Zna, RKSt9nothrow_t), (size_t bytes, const struct nothrow *n), bytes, n)
NEW(SIZED(_Znw, St11align_val_t), (size_t bytes, size_t alignment), bytes, alignment)
NEW(SIZED(_Zna, St11align_val_t), (size_t bytes, size_t alignment), bytes, alignment)
NEW(SIZED(_Znw, St11align_val_tRKSt9nothrow_t),
    (size_t bytes, size_t alignment, const struct nothrow *n), bytes, alignment, n)
NEW(SIZED(_Zna, St11align_val_tRKSt9nothrow_t),
    (size_t bytes, size_t alignment, const struct nothrow *n), bytes, alignment, n)
DELETE(_ZdlPv, (void *p), p)
DELETE(_ZdaPv, (void *p), p)
DELETE(SIZED(_ZdlPv, ), (void *p, size_t bytes), p, bytes)
DELETE(SIZED(_ZdaPv, ), (void *p, size_t bytes), p, bytes)
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const struct nothrow *n), p, n)
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const struct nothrow *n), p, n)
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t alignment), p, alignment)
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t alignment), p, alignment)
DELETE(SIZED(_ZdlPv, St11align_val_t), (void *p, size_t bytes, size_t alignment), p, bytes,
       alignment)
DELETE(SIZED(_ZdaPv, St11align_val_t), (void *p, size_t bytes, size_t alignment), p, bytes,
       alignment)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const struct nothrow *n), p,
       alignment, n)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const struct nothrow *n), p,
       alignment, n)
