/*
 * Sums over the tree of stacks, in which callers have lower numbers than callees.
 */
#include "report/weights.h"

#include "base/mem.h"
#include "report/stacks.h"

#include <errno.h>
#include <string.h>

void report_weights_fini(struct report_weights *w)
{
	mem_free(w->self);
	mem_free(w->total);
}

/* Makes room for that number: stacks are added while samples are read. */
static int grow(struct report_weights *w, size_t nr)
{
	size_t room = nr > 2 * w->room ? nr : 2 * w->room;
	struct report_stack_weight *self = mem_resize(w->self, room * sizeof(*self));

	if (!self)
		return -ENOMEM;
	memset(self + w->room, 0, (room - w->room) * sizeof(*self));
	w->self = self;
	w->room = room;
	return 0;
}

int report_weights_add(struct report_weights *w, uint32_t stack, uint64_t samples, uint64_t weight)
{
	int rc = stack < w->room ? 0 : grow(w, (size_t)stack + 1024);

	if (rc)
		return rc;
	w->self[stack].samples += samples;
	w->self[stack].weight += weight;
	return 0;
}

int report_weights_add_up(struct report_weights *w, const struct report_stacks *stacks)
{
	size_t nr = report_stacks_nr(stacks);
	int rc = nr <= w->room ? 0 : grow(w, nr);

	w->total = rc ? NULL : mem_calloc(nr, sizeof(*w->total));
	if (!w->total)
		return -ENOMEM;
	for (size_t i = nr; --i;) {
		uint32_t parent = report_stacks_at(stacks, (uint32_t)i)->parent;

		w->total[i].samples += w->self[i].samples;
		w->total[i].weight += w->self[i].weight;
		w->total[parent].samples += w->total[i].samples;
		w->total[parent].weight += w->total[i].weight;
	}
	return 0;
}

/* The list of a stack's callees. */
struct links {
	uint32_t first, next; /* REPORT_NO_STACK: none */
};

static struct links *link_all(const struct report_stacks *stacks, size_t nr)
{
	struct links *l = mem_calloc(nr, sizeof(*l));

	for (uint32_t i = 1; i < nr && l; i++) {
		uint32_t parent = report_stacks_at(stacks, i)->parent;

		l[i].next = l[parent].first;
		l[parent].first = i;
	}
	return l;
}

/* Walks the tree, counting the functions on the current path. */
static void walk(const struct report_stacks *stacks, const struct links *l, uint32_t *on_way,
		 bool *out)
{
	uint32_t at = l[REPORT_NO_STACK].first;

	while (at != REPORT_NO_STACK) {
		const struct report_stack_node *n = report_stacks_at(stacks, at);

		out[at] = on_way[n->frame.function->number]++ > 0;
		if (l[at].first) {
			at = l[at].first;
			continue;
		}
		for (; at != REPORT_NO_STACK; at = n->parent) {
			n = report_stacks_at(stacks, at);
			on_way[n->frame.function->number]--;
			if (l[at].next)
				break;
		}
		at = at == REPORT_NO_STACK ? at : l[at].next;
	}
}

bool *report_weights_recursive(const struct report_stacks *stacks, size_t nr_functions)
{
	size_t nr = report_stacks_nr(stacks);
	uint32_t *on_way = mem_calloc(nr_functions + 1, sizeof(*on_way));
	struct links *l = link_all(stacks, nr);
	bool *out = mem_calloc(nr, sizeof(*out));

	if (out && l && on_way) {
		walk(stacks, l, on_way, out);
	} else {
		mem_free(out);
		out = NULL;
	}
	mem_free(l);
	mem_free(on_way);
	return out;
}
