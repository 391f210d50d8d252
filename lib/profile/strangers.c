/*
 * Samples of pids that no record tells of: each has an entry, made when it is asked for. This is
 * the only part of the tables that changes, so it has a lock; who asks remembers the answer.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

#include <string.h>

struct profile_strangers *profile_strangers_new(void)
{
	struct profile_strangers *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->other = (struct profile_process){.pid = UINT32_MAX, .to_ns = UINT64_MAX};
	pthread_mutex_init(&s->lock, NULL);
	arena_init(&s->arena, (size_t)PROFILE_MAX_STRANGERS * 2 * sizeof(struct profile_process));
	return s;
}

void profile_strangers_free(struct profile_strangers *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	arena_fini(&s->arena);
	index_fini(&s->index);
	mem_free(s->item);
	mem_free(s);
}

static bool is_same(const void *arg, const void *key, uint32_t number)
{
	const struct profile_strangers *s = arg;
	const uint32_t *pid = key;

	return s->item[number]->pid == *pid;
}

static struct profile_process *add(struct profile_strangers *s, uint32_t pid, uint32_t number,
				   uint32_t hash)
{
	struct profile_process *p;
	void *grown;

	if (s->nr == PROFILE_MAX_STRANGERS)
		return NULL;
	grown = mem_grow(s->item, s->nr, &s->room, sizeof(struct profile_process *));
	if (!grown)
		return NULL;
	s->item = grown;
	p = arena_alloc(&s->arena, sizeof(*p));
	if (!p || index_add(&s->index, hash, (uint32_t)s->nr))
		return NULL;
	*p = (struct profile_process){.number = number, .pid = pid, .to_ns = UINT64_MAX};
	s->item[s->nr++] = p;
	return p;
}

const struct profile_process *profile_stranger(struct profile_strangers *s, uint32_t pid,
					       uint32_t number)
{
	uint32_t hash = index_hash(0, &pid, sizeof(pid)), found;
	const struct profile_process *p;

	pthread_mutex_lock(&s->lock);
	found = index_find(&s->index, hash, is_same, s, &pid);
	p = found == PROFILE_NONE ? add(s, pid, number, hash) : s->item[found];
	if (!p) {
		s->other.number = number;
		p = &s->other;
	}
	pthread_mutex_unlock(&s->lock);
	return p;
}
