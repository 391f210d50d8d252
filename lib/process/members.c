/*
 * Trees and groups by parents and lists, names by the reader.
 */
#include "process/members.h"

#include "base/clock.h"
#include "base/order.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct process *process_members_find(struct process *const *list, size_t nr, uint32_t pid)
{
	size_t at = ORDER_FIRST(i, nr, list[i]->pid >= pid);

	return at < nr && list[at]->pid == pid ? list[at] : NULL;
}

struct process *process_members_known(const struct process_state *s, uint32_t pid)
{
	return process_members_find(s->next, s->nr_next, pid)
		   ?: process_members_find(s->list + s->at, s->nr - s->at, pid);
}

/* A process that has run since its name was read may be another program by now, or another process
 * of the same number. If its clock is unknown, or names are only labels, the name is read often at
 * first and seldom later, and not for all processes in the same reading. */
static bool is_due(const struct process_state *s, const struct process *p, uint64_t clock_ns)
{
	enum { SELDOM = 64, LONG_NS = 1000000000 };
	bool is_target = s->choice.tree || s->choice.group >= 0;
	bool is_label = (s->choice.all || is_target) && !s->choice.nr_globs;

	if (clock_ns && clock_ns == p->clock_ns)
		return false;
	if (clock_ns && (!is_label || clock_monotonic_ns() - p->looked_ns >= LONG_NS))
		return true;
	if (p->age < SELDOM)
		return (p->age & (p->age - 1)) == 0;
	return (p->age + p->pid) % SELDOM == 0;
}

/* True if the process or one of its ancestors is in the tree. Ancestors of this reading or the one
 * before have been looked at. */
static bool is_in_tree(struct process_state *s, uint32_t pid)
{
	enum { MAX_DEPTH = 1000 }; /* a parent may end, and its number be used again, meanwhile */

	for (unsigned depth = 0; pid && depth < MAX_DEPTH; depth++) {
		const struct process *p = process_members_known(s, pid);

		if (process_choice_is_root(&s->choice, pid) || (p && p->is_in_tree))
			return true;
		if ((p && p->age) || !s->choice.tree->has_children)
			return false;
		pid = s->reader->parent(s->source, pid);
	}
	return false;
}

static void put_in_tree(struct process_state *s, struct process *p)
{
	p->is_in_tree = true;
	if (s->ended.exits) /* it may have ended */
		(void)exits_add_process(s->ended.exits, (pid_t)p->pid);
}

static void find_in_tree(struct process_state *s, struct process *p)
{
	if (is_in_tree(s, p->pid))
		put_in_tree(s, p);
}

/* No group lists it any more. */
static bool is_zombie(const struct process_state *s, uint32_t pid)
{
	struct process_family f = {0};

	return s->reader->family(s->source, pid, NULL, &f) == 0 && f.is_zombie;
}

/* One that was there before, and moves, is looked at again: a thing from now on, or no more. */
static void find_in_group(struct process_state *s, struct process *p)
{
	bool is_in = process_group_has(&s->group, p->pid);

	if (is_in == p->is_in_tree || (!is_in && is_zombie(s, p->pid)))
		return;
	p->is_in_tree = is_in;
	if (p->age)
		p->age = p->born_ns = 0;
}

void process_members_place(struct process_state *s, struct process *p)
{
	if (s->choice.group >= 0)
		find_in_group(s, p);
	else if (s->choice.tree && !p->age)
		find_in_tree(s, p);
}

void process_members_look(struct process_state *s, struct process *p)
{
	char command[PROCESS_COMMAND_BYTES];
	bool is_known = s->reader->command(s->source, p->pid, command) == 0;

	snprintf(p->name, sizeof(p->name), "%" PRIu32 "%s%s", p->pid, is_known ? " " : "",
		 is_known ? command : "");
	str_clean(p->name, strlen(p->name));
	p->is_chosen =
	    p->is_in_tree || process_choice_has(&s->choice, p->pid, is_known ? command : NULL);
	if (p->is_chosen)
		return;
	process_state_detach(s, p);
	p->has_number = false;
}

void process_members_look_if_due(struct process_state *s, struct process *p, uint64_t clock_ns)
{
	if (p->age && !is_due(s, p, clock_ns))
		return;
	process_members_look(s, p);
	p->clock_ns = clock_ns;
	p->looked_ns = clock_monotonic_ns();
}

void process_members_mark_roots(struct process_state *s)
{
	const struct things_tree *tree = s->choice.tree;

	for (size_t i = 0; tree && i < *tree->nr; i++) {
		struct process *p = process_members_find(s->list, s->nr, (uint32_t)(*tree->ids)[i]);

		if (p && !p->is_in_tree)
			put_in_tree(s, p);
	}
}
