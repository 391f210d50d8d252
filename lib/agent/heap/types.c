/*
 * Names of the types of exceptions, in the arena: each once, by its text, as another module may be
 * loaded where one was.
 */
#include "agent/heap/resource.h"

#include <string.h>

/* struct std::type_info */
struct type {
	const void *functions;
	const char *name; /* of its own object alone: after a '*' */
};

enum { MAX_NAMES = 256 };

static uint64_t names[MAX_NAMES]; /* offsets */
static uint32_t nr_names, names_lock;

void agent_types_init(void)
{
	nr_names = names_lock = 0;
}

static uint64_t add_name(const char *name, size_t len)
{
	uint64_t at = nr_names < MAX_NAMES ? agent_blocks_take(HEAP_NAME_BYTES) : 0;

	if (!at)
		return 0;
	memcpy(agent_at(at), name, len);
	names[nr_names++] = at;
	return at;
}

uint64_t agent_type_name(const void *of)
{
	const struct type *type = of;
	const char *name = type ? type->name : NULL;
	uint64_t at = 0;
	size_t len;

	if (!name)
		return 0;
	name += *name == '*';
	len = strlen(name);
	if (!len || len >= HEAP_NAME_BYTES)
		return 0;
	agent_lock(&names_lock);
	for (uint32_t i = 0; i < nr_names && !at; i++)
		if (memcmp(agent_at(names[i]), name, len + 1) == 0)
			at = names[i];
	at = at ? at : add_name(name, len);
	agent_unlock(&names_lock);
	return at ? HEAP_TYPE | (at - agent.shared->arena) / HEAP_NAME_BYTES : 0;
}
