/*
 * The sum of the ends of tasks less that of their beginnings, per life of an address space.
 */
#include "base/mem.h"
#include "profile/choice.h"
#include "profile/filter.h"
#include "profile/processes_internal.h"

#include <errno.h>

/* The kernel ends the events of a process that execs a program with more rights than its caller: it
 * records an end before the program has mapped anything. The survey may read it later. */
static bool has_hidden_end(const struct profile_life *l)
{
	return l->is_exec && !l->has_mapped && l->process.to_ns != UINT64_MAX;
}

const struct profile_process *profile_next_hidden(const struct profile_processes *p, size_t *at,
						  uint64_t from_ns)
{
	while (*at < p->nr_lives) {
		const struct profile_life *l = &p->lives[(*at)++];

		if (has_hidden_end(l) && l->process.from_ns >= from_ns)
			return &l->process;
	}
	return NULL;
}

/* A task that execs goes from one life to the next. */
static void add_life(const struct profile_life *l, uint64_t end_ns, struct profile_lifetime *out)
{
	uint64_t to_ns = l->process.to_ns < end_ns ? l->process.to_ns : end_ns;
	uint64_t nr_alive = 1 + l->nr_begun - l->nr_ended;

	out->nr_threads += l->nr_begun + !l->is_exec;
	if (to_ns > l->process.from_ns)
		out->ns += nr_alive * (to_ns - l->process.from_ns);
	out->ns += l->ended_ns - l->begun_ns;
}

int profile_lifetime(const struct profile_processes *p, uint32_t pid, uint64_t start_ns,
		     uint64_t end_ns, struct profile_lifetime *out)
{
	struct profile_filter *filter = mem_zalloc(sizeof(*filter));
	struct profile_choice tree;
	const struct profile_life *last = NULL;
	bool is_begun = false, is_made;
	int rc = -ENOMEM;

	*out = (struct profile_lifetime){.nr_threads = 1};
	if (filter) {
		filter->trees.item[0].first = filter->trees.item[0].last = pid;
		filter->trees.nr = 1;
		rc = profile_choice_make(&tree, filter, p);
	}
	is_made = rc == 0;
	for (size_t i = 0; i < p->nr_lives && rc == 0; i++) {
		const struct profile_life *l = &p->lives[i];

		if (l->process.from_ns < start_ns || !profile_choice_has(&tree, &l->process))
			continue;
		if (l->process.pid == pid && !is_begun)
			out->ns += l->process.from_ns - start_ns; /* until the exec */
		is_begun |= l->process.pid == pid;
		last = l->process.pid == pid ? l : last;
		add_life(l, end_ns, out);
		if (has_hidden_end(l))
			rc = -ENODATA;
	}
	if (rc == 0 && is_begun)
		rc = profile_turns_add(p, &tree, start_ns, end_ns, out);
	/* its end is recorded before the kernel frees its memory and files */
	if (last && last->process.to_ns < end_ns)
		out->ns += end_ns - last->process.to_ns;
	if (is_made)
		profile_choice_fini(&tree);
	mem_free(filter);
	return rc ? rc : is_begun ? 0 : -ENODATA;
}
