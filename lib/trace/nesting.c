#include "trace/nesting.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>

void nesting_fini(struct nesting *n)
{
	mem_free(n->open);
	n->open = NULL;
	n->nr = n->room = 0;
}

int64_t nesting_deeper(int64_t depth, uint16_t marked)
{
	uint16_t more = (uint16_t)(marked - (uint64_t)depth);

	return more < 0x8000 ? more : more - 0x10000;
}

static void count_depth(struct nesting *n, size_t object, uint16_t marked)
{
	struct nesting_object *o = &n->objects[object];
	int64_t by = nesting_deeper(o->depth, marked);

	o->depth += by;
	n->level += by;
}

/* The outermost open region that is at least as deep; n->nr: there is none. */
static size_t find_open(const struct nesting *n)
{
	return ORDER_FIRST(i, n->nr, n->open[i].level >= n->level);
}

size_t nesting_begin(struct nesting *n, size_t object, uint16_t marked)
{
	size_t keep;

	count_depth(n, object, marked);
	keep = find_open(n);
	n->objects[object].depth++;
	n->level++;
	n->nr = keep;
	return keep;
}

int nesting_push(struct nesting *n, size_t object)
{
	struct nesting_open *o = n->nr < NESTING_MAX ? MEM_ADD(n->open, n->nr, n->room) : NULL;

	if (!o)
		return n->nr < NESTING_MAX ? -ENOMEM : -ENOSPC;
	*o = (struct nesting_open){object, n->objects[object].depth - 1, n->level - 1};
	return 0;
}

/* The mark ends a region of its own object with regions of others inside: these were left open (by
 * longjmp or dlclose: nothing ends them later), or their ends were lost. Else it ends the innermost
 * one, and the other object the one around it. */
static void skip_left_open(struct nesting *n, size_t own)
{
	int64_t depth = n->objects[own].depth, nr_own = 0;
	size_t first = n->nr;

	while (first && (n->open[first - 1].object != own || n->open[first - 1].depth != depth))
		first--;
	if (!first)
		return;
	for (size_t i = 0; i < first; i++)
		nr_own += n->open[i].object == own;
	for (size_t i = first; i < n->nr; i++) {
		const struct nesting_open *o = &n->open[i];

		if (o->object != own && !n->objects[o->object].has_lost && n->gets_to &&
		    (n->gets_to(n->arg, o->object, o->depth) ||
		     n->gets_to(n->arg, own, depth - nr_own)))
			return;
	}
	for (size_t i = first; i < n->nr; i++) {
		struct nesting_object *of = &n->objects[n->open[i].object];

		of->depth -= n->open[i].object != own && of->has_lost;
	}
	n->level = n->open[first - 1].level;
}

struct nesting_end nesting_end(struct nesting *n, size_t object, uint16_t marked)
{
	struct nesting_end end;
	size_t at;

	count_depth(n, object, marked);
	skip_left_open(n, object);
	at = find_open(n);
	end = (struct nesting_end){.keep = at,
				   .is_matched = at < n->nr && n->open[at].level == n->level};
	end.is_own = end.is_matched && n->open[at].object == object;
	n->nr = at;
	return end;
}

void nesting_reset(struct nesting *n)
{
	for (size_t i = 0; i < n->nr_objects; i++)
		n->objects[i].depth = 0;
	n->level = 0;
	n->nr = 0;
}
