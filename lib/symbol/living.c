/*
 * Mappings in the order of their objects, made when the finder first asks.
 */
#include "symbol/living.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "elf/finder.h"
#include "proc/proc.h"
#include "profile/processes.h"

#include <stdlib.h>
#include <string.h>

struct symbol_living {
	struct elf_living source;
	bool is_same_boot;
	const struct profile_processes *processes; /* borrowed */
	uint32_t *mapping; /* owned: numbers, by object, the newest first; NULL: not made */
	size_t nr;
};

static int by_object(const void *x, const void *y, void *processes)
{
	const struct profile_mapping *a = profile_mapping(processes, *(const uint32_t *)x),
				     *b = profile_mapping(processes, *(const uint32_t *)y);

	return order_u64(a->object->number, b->object->number)
		   ?: order_u64(b->from_ns, a->from_ns)
		   ?: order_u64(a->start, b->start);
}

static bool make_index(struct symbol_living *l)
{
	if (l->mapping)
		return true;
	l->nr = profile_nr_mappings(l->processes);
	l->mapping = mem_calloc(l->nr + 1, sizeof(*l->mapping));
	for (uint32_t i = 0; l->mapping && i < l->nr; i++)
		l->mapping[i] = i;
	if (l->mapping)
		qsort_r(l->mapping, l->nr, sizeof(*l->mapping), by_object,
			(void *)(uintptr_t)l->processes);
	return l->mapping;
}

static bool is_wanted(const struct profile_object *o, const struct elf_wanted *w)
{
	return strcmp(o->path, w->path) == 0 && o->build_id_len == w->build_id.len &&
	       memcmp(o->build_id, w->build_id.bytes, w->build_id.len) == 0 &&
	       o->inode == w->inode && o->major == w->major && o->minor == w->minor;
}

/* The i-th of them. */
static bool find_mapping(void *living, const struct elf_wanted *w, size_t i, struct elf_mapped *out)
{
	const struct symbol_living *l = living;
	const struct profile_object *last = NULL;
	bool is_of_file = false;
	uint32_t last_pid = 0;

	if (!l->is_same_boot || !make_index(living))
		return false;
	for (size_t k = 0; k < l->nr; k++) {
		const struct profile_mapping *m = profile_mapping(l->processes, l->mapping[k]);
		const bool is_next = m->object != last || m->pid != last_pid;

		if (m->object && m->object != last)
			is_of_file = is_wanted(m->object, w);
		last = m->object;
		last_pid = m->pid;
		if (!is_next || !is_of_file || !proc_is_there(PROC(&root_live, m->pid)) || i--)
			continue;
		*out = (struct elf_mapped){.pid = m->pid, .start = m->start, .end = m->end};
		return true;
	}
	return false;
}

static bool find_stored(void *living, const struct elf_wanted *w, struct elf_file_parts *out)
{
	const struct symbol_living *l = living;
	struct profile_object o = {.path = w->path,
				   .build_id_len = w->build_id.len,
				   .major = w->major,
				   .minor = w->minor,
				   .inode = w->inode};
	const struct profile_file_parts *p;

	memcpy(o.build_id, w->build_id.bytes, sizeof(o.build_id));
	p = profile_find_file_parts(l->processes, &o);
	if (p)
		*out = (struct elf_file_parts){
		    .part = p->part, .nr = p->nr, .bytes = p->bytes, .file_bytes = p->file_bytes};
	return p;
}

struct symbol_living *symbol_living_new(struct elf_finder *finder,
					const struct profile_processes *processes,
					bool is_same_boot)
{
	struct symbol_living *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->source = (struct elf_living){
	    .finder = finder, .find = find_mapping, .find_stored = find_stored, .arg = l};
	l->is_same_boot = is_same_boot;
	l->processes = processes;
	elf_finder_add_living(&l->source);
	return l;
}

void symbol_living_free(struct symbol_living *l)
{
	if (!l)
		return;
	elf_finder_remove_living(&l->source);
	mem_free(l->mapping);
	mem_free(l);
}
