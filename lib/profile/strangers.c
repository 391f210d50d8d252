/*
 * Entries for samples of pids without records, created on demand. This is the only part of the
 * tables that changes, so it has a lock; callers cache the answer.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

#include <string.h>

struct stranger {
	uint32_t pid;
	struct profile_process *process; /* in the arena; NULL: no memory */
};

struct profile_strangers *profile_strangers_new(void)
{
	struct profile_strangers *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->other = (struct profile_process){.pid = UINT32_MAX, .to_ns = UINT64_MAX};
	pthread_mutex_init(&s->lock, NULL);
	dict_init(&s->items, sizeof(struct stranger), sizeof(uint32_t), PROFILE_MAX_STRANGERS);
	arena_init(&s->arena, (size_t)PROFILE_MAX_STRANGERS * 2 * sizeof(struct profile_process));
	return s;
}

void profile_strangers_free(struct profile_strangers *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	arena_fini(&s->arena);
	dict_fini(&s->items);
	mem_free(s);
}

const struct profile_process *profile_stranger(struct profile_strangers *s, uint32_t pid,
					       uint32_t number)
{
	const struct profile_process *p = &s->other;
	struct stranger *one;

	pthread_mutex_lock(&s->lock);
	s->other.number = number;
	one = dict_get(&s->items, &pid);
	if (one && !one->process) {
		one->process = arena_alloc(&s->arena, sizeof(*one->process));
		if (one->process)
			*one->process = (struct profile_process){
			    .number = number, .pid = pid, .to_ns = UINT64_MAX};
	}
	if (one && one->process)
		p = one->process;
	pthread_mutex_unlock(&s->lock);
	return p;
}
