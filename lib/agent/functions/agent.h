/*
 * The agent of functions (libcpuperf-functions.so, preloaded): adds up the calls of functions that
 * the compiler has prepared for it. It is apart from the agent of the heap, whose hooks of malloc
 * would be a cost without use here.
 *
 * A guest, as agent/marks.h has it: no lock, no allocation from the program's heap, no output;
 * errno stays. Its entry points may be called in any thread, in signal handlers, before
 * constructors and after destructors, and in a child by fork or vfork.
 *
 * After fork the child's memory is a copy, but its view of the recorder's memory is the parent's.
 * A word in a page of MADV_WIPEONFORK says whether the connection is this process's. A child
 * connects at its first call, so that one which only executes another program costs nothing.
 *
 * Files: hooks.c (what each call passes), entries.c (calls in which no register may change),
 * connect.c (the recorder, slots of threads, what is mapped), patch.c (entries of NOPs), places.c
 * (begins and ends of functions that are not prepared).
 */
#ifndef AGENT_FUNCTIONS_AGENT_H
#define AGENT_FUNCTIONS_AGENT_H

#include "wire/functions_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define AGENT_EXPORTED    __attribute__((visibility("default")))
#define AGENT_RARE        __attribute__((noinline, cold))
#define AGENT_OFTEN       static inline __attribute__((always_inline))
#define AGENT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define AGENT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What a thread has at hand. In static thread-local storage, so it is small. */
struct agent_local {
	uint32_t generation; /* of the connection that the rest is of; never that of a page of 0 */
	uint8_t is_busy;     /* it connects */
	uint8_t is_joined;   /* its slot is that of several threads */
	uint8_t has_times, is_cycles; /* as the header's wants */
	uint8_t is_meeting;           /* it connects, called by a place */
	struct functions_row *rows;
	struct functions_frame *frames, *top, *end; /* top: the next one */
	struct functions_slot *slot;
	struct functions_octaves *octaves;
	struct functions_chunk *chunks;
};

struct agent_state {
	uint32_t is_off;       /* there is no recorder */
	const uint32_t *alive; /* the number of the connection; in a child by fork 0 */
	struct functions_header *shared;
	const struct functions_wanted *wanted; /* NULL: nothing is */
	bool has_places;                       /* instructions were replaced */
	uint64_t *places;
	const uint8_t *untimed;
	uint64_t factor;
	/* Where times are not those of the CPU's counter. Once there are places it is none. */
	int (*clock)(clockid_t id, struct timespec *out);
};

extern __thread struct agent_local agent_local;
/* The rows as words, for the code of places.c; NULL: the thread has none of its own, or has not
 * met any. */
extern __thread uint64_t *agent_words;
extern struct agent_state agent;

/* Connects the process and the thread as needed. False: the call is not measured. */
bool agent_attach(struct agent_local *t);
/* Whether it is measured, what is at the address. */
bool agent_is_wanted(uintptr_t function);
/* What is mapped there, as the recorder sees it, and what is measured of it. NULL: nothing. */
const struct functions_object *agent_find_object(uintptr_t address);
const struct functions_wanted_file *agent_find_wanted(const struct functions_object *o);
/* Before instructions are replaced, and after. False: the session has ended, and none may be. */
bool agent_placing_begin(void);
void agent_placing_end(void);
/* The number of a function that find did not find; FUNCTIONS_MEMORY_MAX: it has none. */
uint32_t agent_add(uintptr_t function);
/* As the two, for a caller whose registers stay, also those of vectors. The number. */
uint32_t agent_meet(uintptr_t where);
static inline const struct functions_wanted_place *agent_places_of(const struct functions_wanted *w)
{
	return (const void *)((const struct functions_wanted_file *)(const void *)(w + 1) +
			      w->nr_files);
}
static inline const struct functions_wanted_site *agent_exits_of(const struct functions_wanted *w)
{
	return (const void *)(agent_places_of(w) + w->nr_places);
}
/* What is called where a function begins, and changes no register. */
#if defined(__x86_64__)
#define AGENT_SAVES __attribute__((no_caller_saved_registers))
AGENT_SAVES void agent_entry(void);
/* The same, and what is called where it ends with the same stack pointer. */
AGENT_SAVES void agent_begin(void);
AGENT_SAVES void agent_end(void);
/* agent_meet, with all registers saved. */
AGENT_SAVES uint32_t agent_meet_saved(uintptr_t where);
/* Replaces what the recorder has planned. In the only thread. */
void agent_place_all(void);
/* Of a connection that is not the first one: the numbers are those in the code. */
void agent_place_again(void);
/* What is called by the code of places.c, with the number of the word in %ecx. Saves all but %rax,
 * %rcx and flags. */
void agent_placed(void);
/* The same where a function has times, with its number in the word above the return address, and in
 * %rcx the stack pointer of its begin, less PATCH_STACK_LESS. */
void agent_placed_begin(void);
void agent_placed_end(void);
/* A call of each, as that code does it, for the function of number 0. */
void agent_try_begin(void);
void agent_try_end(void);
/* Whether the thread has rows. For a caller whose registers stay. */
AGENT_SAVES bool agent_meet_placed(struct agent_local *t);
#endif

/* What the compiler calls. */
AGENT_EXPORTED void __cyg_profile_func_enter(void *function, void *site);
AGENT_EXPORTED void __cyg_profile_func_exit(void *function, void *site);

AGENT_OFTEN bool agent_is_ready(const struct agent_local *t)
{
	return AGENT_LIKELY(t->generation == *__atomic_load_n(&agent.alive, __ATOMIC_RELAXED)) &&
	       AGENT_LIKELY(!__atomic_load_n(&agent.shared->is_closed, __ATOMIC_RELAXED));
}

/* FUNCTIONS_MEMORY_MAX: it is not there; more: it is not measured. The words are found in order, as
 * agent_add adds them. */
AGENT_OFTEN uint32_t agent_find(uintptr_t function)
{
	const uint64_t *places = agent.places;

	for (uint32_t at = functions_memory_place(function);;
	     at = (at + 1) % FUNCTIONS_MEMORY_PLACES) {
		uint64_t word = __atomic_load_n(&places[at], __ATOMIC_RELAXED);

		if (AGENT_LIKELY(word >> FUNCTIONS_MEMORY_NUMBER_BITS == function))
			return word & ((1 << FUNCTIONS_MEMORY_NUMBER_BITS) - 1);
		if (!word)
			return FUNCTIONS_MEMORY_MAX;
	}
}

/* One instruction, as a signal handler may count between two. */
AGENT_OFTEN void agent_count(const struct agent_local *t, uint64_t *calls)
{
#if defined(__x86_64__)
	if (AGENT_LIKELY(!t->is_joined)) {
		__asm__ volatile("incq %0" : "+m"(*calls) : : "cc");
		return;
	}
#endif
	(void)t;
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

#endif
