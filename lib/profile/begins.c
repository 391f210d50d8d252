/*
 * The times at which the mappings of each process began, sorted. Between two of these times all its
 * addresses keep their meaning. Must not depend on where anything is mapped.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t *begins_of(const struct profile_processes *p, const struct profile_life *l)
{
	return p->begins + (l->nr_clusters ? p->clusters[l->first_cluster].first : 0);
}

int profile_begins_make(struct profile_processes *p)
{
	p->begins = mem_calloc(p->nr_mappings + 1, sizeof(*p->begins));
	if (!p->begins)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_mappings; i++)
		p->begins[i] = p->mappings[i].from_ns;
	for (size_t i = 0; i < p->nr_lives; i++)
		if (p->lives[i].nr_mappings)
			qsort(begins_of(p, &p->lives[i]), p->lives[i].nr_mappings,
			      sizeof(*p->begins), compare);
	return 0;
}

uint32_t profile_begins_until(const struct profile_processes *p, uint32_t life, uint64_t time_ns)
{
	const struct profile_life *l = &p->lives[life];
	const uint64_t *begins = begins_of(p, l);
	uint32_t low = 0, high = l->nr_mappings;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (begins[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
