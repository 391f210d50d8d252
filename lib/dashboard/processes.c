/*
 * What identifies processes: a table of answers, which is emptied when it is full.
 */
#include "dashboard/processes.h"

#include "base/hash.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NR_PLACES = 1 << 14, NAME_BYTES = 32 };

_Static_assert(NR_PLACES > 2 * PROCESSES_MAX, "searches end at an empty place");

struct processes_entry {
	char name[NAME_BYTES]; /* another one: the process has executed another program */
	bool is_known;
	struct processes_one one;
};

static void empty(struct processes *p)
{
	for (size_t i = 0; p->entries && i < NR_PLACES; i++) {
		mem_free(p->entries[i]);
		p->entries[i] = NULL;
	}
	p->nr = 0;
}

void processes_fini(struct processes *p)
{
	empty(p);
	mem_free((void *)p->entries);
	*p = (struct processes){.nr = 0};
}

uint32_t processes_pid(const char *name)
{
	char *end;
	unsigned long pid = isdigit((unsigned char)*name) ? strtoul(name, &end, 10) : 0;

	return pid && pid <= INT32_MAX && *end == ' ' ? (uint32_t)pid : 0;
}

static size_t find_place(const struct processes *p, const char *name)
{
	size_t at = hash_bytes(0, name, strnlen(name, NAME_BYTES - 1)) % NR_PLACES;

	while (p->entries[at] && strncmp(p->entries[at]->name, name, NAME_BYTES - 1) != 0)
		at = (at + 1) % NR_PLACES;
	return at;
}

const struct processes_one *processes_find(struct processes *p, const char *name)
{
	uint32_t pid = processes_pid(name);
	struct processes_entry *e;
	size_t at;

	if (!pid || !p->source.describe)
		return NULL;
	if (!p->entries)
		p->entries = mem_calloc(NR_PLACES, sizeof(*p->entries));
	if (!p->entries)
		return NULL;
	if (p->nr == PROCESSES_MAX)
		empty(p);
	at = find_place(p, name);
	e = p->entries[at];
	if (!e) {
		e = p->entries[at] = mem_zalloc(sizeof(*e));
		if (!e)
			return NULL;
		p->nr++;
		memcpy(e->name, name, strnlen(name, NAME_BYTES - 1));
		e->is_known = p->source.describe(p->source.arg, pid, &e->one);
	}
	return e->is_known ? &e->one : NULL;
}
