/*
 * Marks that end by a key instead of in order: for the interfaces of other tools, whose ranges have
 * names or numbers (include/cpuperf/compat, lib/agent). Beside cpuperf/mark.h, with the same rules:
 * one header, no library, any thread.
 *
 *     cpuperf_keyed_begin(key, name);            begins a region of this thread
 *     cpuperf_keyed_begin_number(key, name, n);  the same, with a number
 *     cpuperf_keyed_end(key);                    ends the innermost region with that key
 *     cpuperf_keyed_end_anywhere(key);           the same; it may have begun in another thread
 *     cpuperf_keyed_drop(key);                   forgets it: the reader closes it, and says so
 *     cpuperf_keyed_begin_named(name), cpuperf_keyed_end_named(name),
 *     cpuperf_keyed_end_named_anywhere(name)     the name is the key
 *
 * Regions of a thread nest. One that ends while regions that began later are still open divides
 * them: they end with it, and begin again. One that ends in another thread remains open until the
 * next keyed mark of its own thread, where it is closed without an end of its own; the other thread
 * has an instant "end of a region of another thread" at the true time.
 *
 * A key is not 0, and of the object (program or library) that uses it. Of a thread's open regions
 * the outermost CPUPERF_KEYED_DEPTH have a key; deeper ones end in order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CPUPERF_MARK_KEYED_H
#define CPUPERF_MARK_KEYED_H

#include "cpuperf/mark.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CPUPERF_KEYED_DEPTH = 24, CPUPERF_KEYED_NR_ENDED = 256 };

#ifdef CPUPERF_MARK_IS_ON

struct cpuperf_keyed_open {
	uint32_t key;
	uint32_t name;  /* its number in the shared memory */
	uint32_t depth; /* of its mark */
};

struct cpuperf_keyed_thread {
	const struct cpuperf_mark_slot *slot; /* of the thread's connection when they began */
	uint32_t generation;
	uint32_t is_busy;  /* being rearranged: marks of signal handlers are dropped */
	uint32_t nr;       /* open regions; may exceed the array */
	uint32_t nr_ended; /* of the object, as last seen */
	struct cpuperf_keyed_open open[CPUPERF_KEYED_DEPTH];
};

/* What ended in threads where it had not begun. */
struct cpuperf_keyed_ended {
	uint32_t nr;
	uint32_t key[CPUPERF_KEYED_NR_ENDED];
};

CPUPERF_MARK_SHARED __thread struct cpuperf_keyed_thread cpuperf_keyed_thread_1;
CPUPERF_MARK_SHARED struct cpuperf_keyed_ended cpuperf_keyed_ended_1;

static inline uint32_t *cpuperf_keyed_ended_at(uint32_t key)
{
	return &cpuperf_keyed_ended_1.key[key % CPUPERF_KEYED_NR_ENDED];
}

/* The place of the innermost open region with the key, or nr. */
CPUPERF_MARK_OFTEN uint32_t cpuperf_keyed_find(const struct cpuperf_keyed_thread *k, uint32_t key)
{
	uint32_t i = k->nr < CPUPERF_KEYED_DEPTH ? k->nr : (uint32_t)CPUPERF_KEYED_DEPTH;

	while (i--)
		if (k->open[i].key == key)
			return i;
	return k->nr;
}

/* Closes what lies from there on without marks of its own. */
CPUPERF_MARK_RARE void cpuperf_keyed_leave_open(struct cpuperf_keyed_thread *k, uint32_t i)
{
	cpuperf_mark_thread_2.depth = k->open[i].depth;
	k->nr = i;
}

/* Regions of this thread that ended in others; those within open ones wait for these. */
CPUPERF_MARK_RARE void cpuperf_keyed_sweep(struct cpuperf_keyed_thread *k, uint32_t nr_ended)
{
	k->nr_ended = nr_ended;
	if (k->nr > CPUPERF_KEYED_DEPTH)
		return;
	k->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < k->nr; i++) {
		uint32_t *ended = cpuperf_keyed_ended_at(k->open[i].key);

		if (k->open[i].key && __atomic_load_n(ended, __ATOMIC_RELAXED) == k->open[i].key) {
			__atomic_store_n(ended, 0, __ATOMIC_RELAXED);
			k->open[i].key = 0;
		}
	}
	while (k->nr && !k->open[k->nr - 1].key)
		cpuperf_keyed_leave_open(k, k->nr - 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	k->is_busy = 0;
}

/* What was open before a connection, or before fork, is not open in it. */
CPUPERF_MARK_RARE void cpuperf_keyed_attach(struct cpuperf_keyed_thread *k,
					    struct cpuperf_mark_thread *t)
{
	if (!cpuperf_mark_is_ready(t))
		cpuperf_mark_attach_and_try(t);
	if (k->slot != t->slot || k->generation != t->generation)
		k->nr = 0;
	k->slot = t->slot;
	k->generation = t->generation;
}

/* NULL: the mark is of a signal handler, and dropped. */
static inline struct cpuperf_keyed_thread *cpuperf_keyed_enter(void)
{
	struct cpuperf_keyed_thread *k = &cpuperf_keyed_thread_1;
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;
	uint32_t nr_ended = __atomic_load_n(&cpuperf_keyed_ended_1.nr, __ATOMIC_ACQUIRE);

	if (__builtin_expect(k->is_busy, 0)) {
		if (t->slot)
			__atomic_fetch_add(&t->slot->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (__builtin_expect(!cpuperf_mark_is_ready(t) || k->generation != t->generation, 0))
		cpuperf_keyed_attach(k, t);
	if (__builtin_expect(nr_ended != k->nr_ended, 0))
		cpuperf_keyed_sweep(k, nr_ended);
	return k;
}

/* number: NULL: it has none. The place is taken first: a signal handler's regions lie above it. */
CPUPERF_MARK_OFTEN void cpuperf_keyed_write_begin(uint32_t key, const char *name,
						  const int64_t *number)
{
	struct cpuperf_keyed_thread *k = cpuperf_keyed_enter();
	struct cpuperf_keyed_open open = {key, 0, cpuperf_mark_thread_2.depth};
	uint32_t at, *ended = cpuperf_keyed_ended_at(key);
	uint64_t site = 0;

	if (!k)
		return;
	/* an end elsewhere of one that had ended before, with the same key */
	if (__builtin_expect(__atomic_load_n(ended, __ATOMIC_RELAXED) == key, 0))
		__atomic_store_n(ended, 0, __ATOMIC_RELAXED);
	at = k->nr++;
	if (number)
		cpuperf_mark_write_value(CPUPERF_MARK_BEGIN_NUMBER, &site, name, *number);
	else
		cpuperf_mark_write(CPUPERF_MARK_BEGIN, &site, name);
	open.name = (uint32_t)site;
	if (at < CPUPERF_KEYED_DEPTH)
		k->open[at] = open;
}

/* Begins it again, as it was without its number. */
CPUPERF_MARK_RARE void cpuperf_keyed_begin_again(struct cpuperf_keyed_open *open)
{
	uint64_t site = (uint64_t)cpuperf_mark_thread_2.generation << 32 | open->name;

	open->depth = cpuperf_mark_thread_2.depth;
	cpuperf_mark_write(CPUPERF_MARK_BEGIN, open->name ? &site : NULL, "[unknown]");
}

/* Ends the region there, also if the thread marked others by itself within it. */
static inline void cpuperf_keyed_write_end(const struct cpuperf_keyed_thread *k, uint32_t i)
{
	if (i < CPUPERF_KEYED_DEPTH)
		cpuperf_mark_thread_2.depth = k->open[i].depth + 1;
	cpuperf_mark_write(CPUPERF_MARK_END_REGION, NULL, NULL);
}

/* Ends the region there, between others. All of them have keys. */
CPUPERF_MARK_RARE void cpuperf_keyed_divide(struct cpuperf_keyed_thread *k, uint32_t i)
{
	uint32_t nr = k->nr;

	k->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (nr-- > i)
		cpuperf_keyed_write_end(k, nr);
	k->nr--;
	for (; i < k->nr; i++) {
		k->open[i] = k->open[i + 1];
		cpuperf_keyed_begin_again(&k->open[i]);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	k->is_busy = 0;
}

/* 0: no region of this thread has the key. */
CPUPERF_MARK_OFTEN int cpuperf_keyed_write_end_of(uint32_t key)
{
	struct cpuperf_keyed_thread *k = cpuperf_keyed_enter();
	uint32_t i;

	if (!k)
		return 1;
	i = k->nr > CPUPERF_KEYED_DEPTH ? k->nr - 1 : cpuperf_keyed_find(k, key);
	if (i == k->nr)
		return 0;
	if (i + 1 == k->nr) {
		cpuperf_keyed_write_end(k, i);
		k->nr = i;
	} else {
		cpuperf_keyed_divide(k, i);
	}
	return 1;
}

CPUPERF_MARK_RARE void cpuperf_keyed_note_end(uint32_t key)
{
	__atomic_store_n(cpuperf_keyed_ended_at(key), key, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cpuperf_keyed_ended_1.nr, 1, __ATOMIC_RELEASE);
	cpuperf_mark_write(CPUPERF_MARK_INSTANT, NULL, "end of a region of another thread");
}

CPUPERF_MARK_CALLED void cpuperf_keyed_begin(uint32_t key, const char *name)
{
	if (CPUPERF_MARK_IS_ON)
		cpuperf_keyed_write_begin(key, name, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_keyed_begin_number(uint32_t key, const char *name, int64_t number)
{
	if (CPUPERF_MARK_IS_ON)
		cpuperf_keyed_write_begin(key, name, &number);
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end(uint32_t key)
{
	if (CPUPERF_MARK_IS_ON)
		cpuperf_keyed_write_end_of(key);
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_anywhere(uint32_t key)
{
	if (CPUPERF_MARK_IS_ON && !cpuperf_keyed_write_end_of(key))
		cpuperf_keyed_note_end(key);
}

CPUPERF_MARK_CALLED void cpuperf_keyed_drop(uint32_t key)
{
	struct cpuperf_keyed_thread *k = &cpuperf_keyed_thread_1;
	uint32_t i = CPUPERF_MARK_IS_ON ? cpuperf_keyed_find(k, key) : k->nr;

	if (i < k->nr)
		cpuperf_keyed_leave_open(k, i);
}

/* The key of a text. */
CPUPERF_MARK_CALLED uint32_t cpuperf_keyed_of(const char *text)
{
	uint32_t hash = cpuperf_mark_hash(text, cpuperf_mark_length(text));

	return hash ? hash : 1;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_begin_named(const char *name)
{
	if (CPUPERF_MARK_IS_ON)
		cpuperf_keyed_write_begin(cpuperf_keyed_of(name), name, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_named(const char *name)
{
	if (CPUPERF_MARK_IS_ON)
		cpuperf_keyed_write_end_of(cpuperf_keyed_of(name));
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_named_anywhere(const char *name)
{
	cpuperf_keyed_end_anywhere(CPUPERF_MARK_IS_ON ? cpuperf_keyed_of(name) : 1);
}

#else

CPUPERF_MARK_CALLED void cpuperf_keyed_begin(uint32_t key, const char *name)
{
	(void)key, (void)name;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_begin_number(uint32_t key, const char *name, int64_t number)
{
	(void)key, (void)name, (void)number;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end(uint32_t key)
{
	(void)key;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_anywhere(uint32_t key)
{
	(void)key;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_drop(uint32_t key)
{
	(void)key;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_begin_named(const char *name)
{
	(void)name;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_named(const char *name)
{
	(void)name;
}

CPUPERF_MARK_CALLED void cpuperf_keyed_end_named_anywhere(const char *name)
{
	(void)name;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
