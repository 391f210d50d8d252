/*
 * The times at which the mappings of each process began, sorted. Between two of these times all its
 * addresses keep their meaning. Must not depend on where anything is mapped.
 */
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"

#include <errno.h>

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
		order_sort(begins_of(p, &p->lives[i]), p->lives[i].nr_mappings, sizeof(*p->begins),
			   order_numbers);
	return 0;
}

uint32_t profile_begins_until(const struct profile_processes *p, uint32_t life, uint64_t time_ns)
{
	const struct profile_life *l = &p->lives[life];
	const uint64_t *begins = begins_of(p, l);

	return (uint32_t)ORDER_FIRST(i, l->nr_mappings, begins[i] > time_ns);
}
