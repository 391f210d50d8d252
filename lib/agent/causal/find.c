/*
 * Where the candidates are in this process: its objects that have some, by device and inode. The
 * table is made anew when another object may have been loaded, beside the one that signal handlers
 * may be reading; of what they find there each number is checked.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_MAPPED = CAUSAL_MEMORY_OBJECTS, NR_TABLES = 2 };

/* An object of the experiment that is mapped. */
struct mapped {
	uintptr_t bias, begin, end;
	uint32_t first, nr;
};

struct table {
	struct mapped mapped[MAX_MAPPED];
	uint32_t nr;
};

static struct table tables[NR_TABLES];
static uint32_t current;
static uint32_t is_changing;

static const struct causal_memory_object *find_object(const struct stat *st)
{
	const struct causal_memory_object *o = (const void *)(agent.shared + 1);

	for (uint32_t i = 0; i < agent.nr_objects; i++)
		if (o[i].device == (uint64_t)st->st_dev && o[i].inode == (uint64_t)st->st_ino)
			return &o[i];
	return NULL;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	const struct causal_memory_object *o;
	struct mapped m = {.bias = info->dlpi_addr, .begin = UINTPTR_MAX};
	struct table *t = arg;
	struct stat st;

	(void)size;
	if (t->nr == MAX_MAPPED || stat(path, &st) || !(o = find_object(&st)))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		m.begin = begin < m.begin ? begin : m.begin;
		m.end = begin + p->p_memsz > m.end ? begin + p->p_memsz : m.end;
	}
	m.first = o->first;
	m.nr = o->nr;
	t->mapped[t->nr++] = m;
	return 0;
}

/* What another thread loads meanwhile, it looks at itself, later. */
void agent_find_again(void)
{
	const uint32_t next = !__atomic_load_n(&current, __ATOMIC_RELAXED);
	const int error = errno;

	if (!agent.shared || __atomic_exchange_n(&is_changing, 1, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&agent.is_late, 0, __ATOMIC_RELAXED);
	tables[next].nr = 0;
	dl_iterate_phdr(add_object, &tables[next]);
	agent_regions_find_again();
	__atomic_store_n(&current, next, __ATOMIC_RELEASE);
	__atomic_store_n(&is_changing, 0, __ATOMIC_RELEASE);
	errno = error;
}

void agent_find_later(void)
{
	__atomic_store_n(&agent.is_late, 1, __ATOMIC_RELAXED);
}

/* What another thread was looking at is looked at again. */
void agent_find_forget(void)
{
	if (__atomic_exchange_n(&is_changing, 0, __ATOMIC_RELAXED))
		agent_find_later();
}

/* The last one that begins at or below the address, if it has it. */
static uint32_t find_range(const struct mapped *m, uint64_t address)
{
	const struct causal_memory_range *r =
	    (const void *)((const char *)agent.shared + causal_memory_ranges_at(agent.nr_objects));
	uint32_t low = m->first, high = m->first + m->nr, candidate;

	if (low > agent.nr_ranges || m->nr > agent.nr_ranges - low)
		return CAUSAL_MEMORY_NONE;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (r[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == m->first || address - r[low - 1].address >= r[low - 1].size)
		return CAUSAL_MEMORY_NONE;
	candidate = r[low - 1].candidate;
	return candidate < agent.nr_candidates ? candidate : CAUSAL_MEMORY_NONE;
}

uint32_t agent_find(uintptr_t address)
{
	const struct table *t = &tables[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct mapped m = t->mapped[i];

		if (address >= m.begin && address < m.end)
			return find_range(&m, address - m.bias);
	}
	return CAUSAL_MEMORY_NONE;
}
