/*
 * A process is in a tree if its pid is that of the root, or if the process that made it is in the
 * tree.
 */
#include "profile/choice.h"

#include "base/mem.h"
#include "profile/processes_internal.h"

#include <errno.h>

enum state { UNKNOWN, VISITED, OUTSIDE, INSIDE };

/* Walks from the life to a known ancestor, then marks what it passed. Crafted origins may form a
 * circle, which is in no tree. */
static void mark(const struct profile_processes *p, const struct profile_ranges *trees,
		 uint8_t *state, uint32_t life)
{
	enum state found = OUTSIDE;

	for (uint32_t i = life; i != PROFILE_NONE; i = p->lives[i].origin) {
		if (state[i] == UNKNOWN && profile_ranges_has(trees, p->lives[i].process.pid))
			state[i] = INSIDE;
		if (state[i] != UNKNOWN) {
			found = state[i] == INSIDE ? INSIDE : OUTSIDE;
			break;
		}
		state[i] = VISITED;
	}
	for (uint32_t i = life; i != PROFILE_NONE && state[i] == VISITED; i = p->lives[i].origin)
		state[i] = (uint8_t)found;
}

int profile_choice_make(struct profile_choice *c, const struct profile_filter *f,
			const struct profile_processes *p)
{
	MEM_AUTO uint8_t *state = NULL;
	MEM_AUTO bool *matches = NULL; /* by the number of the command line */

	*c = (struct profile_choice){.filter = f};
	if (!f->trees.nr && !f->cmdlines.nr)
		return 0;
	matches = mem_calloc(p->cmdlines.nr, sizeof(*matches));
	state = mem_calloc(p->nr_lives + 1, sizeof(*state));
	c->has = mem_calloc(p->nr_lives + 1, sizeof(*c->has));
	if (!state || !matches || !c->has) {
		profile_choice_fini(c);
		return -ENOMEM;
	}
	c->nr = p->nr_lives;
	for (uint32_t i = 0; i < p->cmdlines.nr; i++)
		matches[i] = !f->cmdlines.nr ||
			     (i && profile_globs_match(&f->cmdlines, profile_cmdline(p, i)));
	for (uint32_t i = 0; i < c->nr; i++) {
		mark(p, &f->trees, state, i);
		c->has[i] = state[i] == INSIDE && matches[p->lives[i].process.cmdline];
	}
	return 0;
}

void profile_choice_fini(struct profile_choice *c)
{
	mem_free(c->has);
	*c = (struct profile_choice){.nr = 0};
}

bool profile_choice_has(const struct profile_choice *c, const struct profile_process *process)
{
	if (!c->has)
		return true;
	if (process->number < c->nr)
		return c->has[process->number];
	return !c->filter->cmdlines.nr && profile_ranges_has(&c->filter->trees, process->pid);
}
