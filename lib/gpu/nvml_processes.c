/*
 * A process may compute and draw: then it is in both lists, with the same memory, which counts
 * once. On a divided GPU (MIG) it is listed once for each part.
 */
#include "gpu/nvml_processes.h"

#include "base/array.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, TRIES = 4 };

/* One of the library's lists, of any version. */
struct lister {
	int (*list)(void *device, unsigned *nr, struct nvml_process *out);
	int (*list_v1)(void *device, unsigned *nr, struct nvml_process_v1 *out);
};

void nvml_processes_fini(struct nvml_processes *p)
{
	mem_free(p->list);
	mem_free(p->found);
	mem_free(p->samples);
	memset(p, 0, sizeof(*p));
}

/* Version 1 is a prefix of what later ones fill: it is widened in place, from the end. */
static int call(const struct lister *l, void *device, unsigned *nr, struct nvml_process *out)
{
	struct nvml_process_v1 *narrow = (void *)out;
	unsigned room = *nr;
	int rc = l->list ? l->list(device, nr, out) : l->list_v1(device, nr, narrow);

	for (unsigned i = rc || l->list || *nr > room ? 0 : *nr; i-- > 0;) {
		const struct nvml_process_v1 from = narrow[i];

		out[i] = (struct nvml_process){from.pid, from.memory, ~0u, ~0u};
	}
	return rc;
}

/* Room for nr of them; it grows. */
static int make_room(void **list, size_t *room, size_t nr, size_t size)
{
	void *new;

	if (nr <= *room)
		return NVML_SUCCESS;
	new = mem_calloc(nr, size);
	if (!new)
		return NVML_ERROR_MEMORY;
	mem_free(*list);
	*list = new;
	*room = nr;
	return NVML_SUCCESS;
}

static int make_found(struct nvml_processes *p, size_t nr)
{
	void *list = p->found;
	int rc = make_room(&list, &p->found_room, nr, sizeof(*p->found));

	p->found = list;
	return rc;
}

static int make_samples(struct nvml_processes *p, size_t nr)
{
	void *list = p->samples;
	int rc = make_room(&list, &p->samples_room, nr, sizeof(*p->samples));

	p->samples = list;
	return rc;
}

/* More may be there at each try. */
static int list(const struct lister *l, void *device, struct nvml_processes *p, unsigned *nr)
{
	size_t wanted = FIRST_ROOM;
	int rc = NVML_ERROR_INSUFFICIENT_SIZE;

	if (!l->list && !l->list_v1)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	for (int i = 0; i < TRIES && rc == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
		rc = make_found(p, wanted);
		if (rc)
			return rc;
		*nr = (unsigned)p->found_room;
		rc = call(l, device, nr, p->found);
		wanted =
		    *nr > NVML_PROCESSES_MAX - FIRST_ROOM ? NVML_PROCESSES_MAX : *nr + FIRST_ROOM;
	}
	if (rc == NVML_SUCCESS && *nr > p->found_room)
		rc = NVML_ERROR_UNKNOWN; /* more than it was allowed to fill */
	return rc;
}

static int compare_found(const void *a, const void *b)
{
	const struct nvml_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* By time within a process. */
static int compare_samples(const void *a, const void *b)
{
	const struct nvml_process_sample *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_us < y->time_us ? -1 : x->time_us > y->time_us;
}

static int compare_use(const void *a, const void *b)
{
	const struct nvml_process_use *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static struct nvml_process_use *find_use(struct nvml_processes *p, size_t nr, uint32_t pid)
{
	const struct nvml_process_use key = {.pid = pid};

	return nr ? bsearch(&key, p->list, nr, sizeof(key), compare_use) : NULL;
}

/* A process of one list: its parts added up. */
static int add_use(struct nvml_processes *p, size_t nr_before, struct nvml_process_use use)
{
	struct nvml_process_use *known = find_use(p, nr_before, use.pid), *new;

	if (known) {
		if (use.has_memory && (!known->has_memory || use.memory > known->memory))
			known->memory = use.memory;
		known->has_memory |= use.has_memory;
		return NVML_SUCCESS;
	}
	if (p->nr == NVML_PROCESSES_MAX)
		return NVML_SUCCESS;
	new = MEM_ADD(p->list, p->nr, p->room);
	if (!new)
		return NVML_ERROR_MEMORY;
	*new = use;
	return NVML_SUCCESS;
}

static int add_list(struct nvml_processes *p, unsigned nr)
{
	size_t nr_before = p->nr;
	int rc = NVML_SUCCESS;

	qsort(p->found, nr, sizeof(*p->found), compare_found);
	for (unsigned i = 0, next; i < nr && rc == NVML_SUCCESS; i = next) {
		struct nvml_process_use use = {.pid = p->found[i].pid};
		bool is_sum = true;

		for (next = i; next < nr && p->found[next].pid == use.pid; next++) {
			uint64_t memory = p->found[next].memory;

			if (memory == NVML_NOT_AVAILABLE)
				continue;
			is_sum &= !__builtin_add_overflow(use.memory, memory, &use.memory);
			use.has_memory = true;
		}
		use.has_memory &= is_sum;
		rc = add_use(p, nr_before, use);
	}
	if (p->nr)
		qsort(p->list, p->nr, sizeof(*p->list), compare_use);
	return rc;
}

/* Of each process the last sample. Without samples there is nothing to say. */
static int add_samples(const struct nvml *nvml, void *device, struct nvml_processes *p)
{
	uint64_t after = p->seen_us;
	unsigned nr = 0;
	int rc = nvml->process_samples ? nvml->process_samples(device, NULL, &nr, after)
				       : NVML_ERROR_FUNCTION_NOT_FOUND;

	if (rc != NVML_ERROR_INSUFFICIENT_SIZE || nr == 0)
		return nvml_errno(rc) == -ENODEV ? rc : NVML_SUCCESS;
	nr = nr > NVML_PROCESSES_MAX ? NVML_PROCESSES_MAX : nr;
	rc = make_samples(p, nr);
	if (rc)
		return rc;
	nr = (unsigned)p->samples_room;
	rc = nvml->process_samples(device, p->samples, &nr, after);
	if (rc || nr > p->samples_room)
		return nvml_errno(rc) == -ENODEV ? rc : NVML_SUCCESS;
	qsort(p->samples, nr, sizeof(*p->samples), compare_samples);
	for (unsigned i = 0; i < nr; i++) {
		const struct nvml_process_sample *s = &p->samples[i];
		struct nvml_process_use *use = find_use(p, p->nr, s->pid);

		if (use) { /* a later one of the process follows, if there is one */
			use->has_busy = s->sm <= 100; /* else it is no percentage */
			use->busy = s->sm;
		}
		if (s->time_us > p->seen_us)
			p->seen_us = s->time_us;
	}
	return NVML_SUCCESS;
}

int nvml_processes_read(const struct nvml *nvml, void *device, struct nvml_processes *p)
{
	const struct lister listers[] = {
	    {nvml->compute_v3 ?: nvml->compute_v2, nvml->compute_v1},
	    {nvml->graphics_v3 ?: nvml->graphics_v2, nvml->graphics_v1},
	};
	bool is_any = false;
	int rc = NVML_SUCCESS;

	p->nr = 0;
	for (size_t i = 0; i < ARRAY_NR(listers) && rc == NVML_SUCCESS; i++) {
		unsigned nr = 0;

		rc = list(&listers[i], device, p, &nr);
		if (rc == NVML_SUCCESS) {
			is_any = true;
			rc = add_list(p, nr);
		} else if (nvml_errno(rc) == -ENOTSUP) {
			rc = NVML_SUCCESS; /* what computes only has no list of what draws */
		}
	}
	if (rc == NVML_SUCCESS && !is_any)
		rc = NVML_ERROR_NOT_SUPPORTED;
	rc = rc ?: add_samples(nvml, device, p);
	if (rc)
		p->nr = 0;
	return rc;
}
