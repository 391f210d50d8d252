/*
 * What is not measured, in the header of the process's memory. So the recorder reads it however
 * the process ends (heap/missed.h), and no system call is made for it.
 */
#include "agent/heap/agent.h"

#include <string.h>

enum { FREE, WRITES, THERE };

static bool take(struct heap_missed *m, enum heap_miss why, const char *name)
{
	uint32_t is_free = FREE;
	size_t len = 0;

	if (!__atomic_compare_exchange_n(&m->state, &is_free, WRITES, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	m->why = why;
	for (; name[len] && len + 1 < sizeof(m->name); len++)
		m->name[len] = name[len];
	__atomic_store_n(&m->state, THERE, __ATOMIC_RELEASE);
	return true;
}

static bool is_of(const struct heap_missed *m, enum heap_miss why, const char *name)
{
	return __atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == THERE && m->why == why &&
	       (!name || strncmp(m->name, name, sizeof(m->name) - 1) == 0);
}

/* If there is no place for another name, it is counted under another one with the same reason. */
struct heap_missed *agent_missed(enum heap_miss why, const char *name)
{
	struct heap_missed *all = agent.shared ? agent.shared->missed : NULL, *found = NULL;

	for (int i = 0; all && i < HEAP_NR_MISSED && !found; i++)
		if (is_of(&all[i], why, name) || take(&all[i], why, name))
			found = &all[i];
	for (int i = 0; all && i < HEAP_NR_MISSED && !found; i++)
		if (is_of(&all[i], why, NULL))
			found = &all[i];
	if (found)
		__atomic_fetch_add(&found->nr, 1, __ATOMIC_RELAXED);
	return found;
}

void agent_not_missed(struct heap_missed *m)
{
	if (m)
		__atomic_fetch_sub(&m->nr, 1, __ATOMIC_RELAXED);
}
