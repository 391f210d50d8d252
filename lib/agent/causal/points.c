/*
 * Progress points of programs that were built with coz's coz.h, which looks for _coz_get_counter in
 * what is loaded, and counts in the memory that it returns: here the recorder's, which reads it at
 * any time. (Without experiments agent/coz.c does it.)
 */
#include "agent/causal/agent.h"

#include <string.h>

enum { MAX_LOOKS = 1 << 20 };

static struct causal_memory_point *all_points(void)
{
	return (void *)((char *)agent.shared + causal_memory_points_at(agent.nr_objects,
								       agent.nr_ranges,
								       agent.nr_candidates));
}

/* Another thread, or process, writes the name: it has little to do. */
static uint32_t kind_of(const struct causal_memory_point *p)
{
	uint32_t kind = __atomic_load_n(&p->kind, __ATOMIC_ACQUIRE);

	for (int i = 0; kind == CAUSAL_MEMORY_TAKEN && i < MAX_LOOKS; i++)
		kind = __atomic_load_n(&p->kind, __ATOMIC_ACQUIRE);
	return kind;
}

static bool take(struct causal_memory_point *p)
{
	uint32_t none = CAUSAL_MEMORY_FREE;

	return __atomic_compare_exchange_n(&p->kind, &none, CAUSAL_MEMORY_TAKEN, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* type: as of coz.h, 1 to 3. */
AGENT_EXPORTED struct causal_memory_point *_coz_get_counter(int type, const char *name);
AGENT_EXPORTED struct causal_memory_point *_coz_get_counter(int type, const char *name)
{
	const uint32_t kind = CAUSAL_MEMORY_TAKEN + (uint32_t)type;
	size_t len;

	if (!agent.shared || !name || kind < CAUSAL_MEMORY_POINT || kind > CAUSAL_MEMORY_END)
		return NULL;
	len = strlen(name);
	len = len < CAUSAL_MEMORY_NAME_BYTES ? len : CAUSAL_MEMORY_NAME_BYTES - 1;
	for (uint32_t i = 0; i < CAUSAL_MEMORY_POINTS; i++) {
		struct causal_memory_point *p = &all_points()[i];

		if (take(p)) {
			memcpy(p->name, name, len);
			__atomic_store_n(&p->kind, kind, __ATOMIC_RELEASE);
			return p;
		}
		if (kind_of(p) == kind && strncmp(p->name, name, len) == 0 && !p->name[len])
			return p;
	}
	return NULL;
}
