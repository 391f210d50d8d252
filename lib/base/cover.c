/*
 * Nodes are filled by the usual walk from both ends of a range to the root.
 */
#include "base/cover.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Counts the entries of each node or, with entries, stores them. */
static void enter(struct cover *c, uint32_t from, uint32_t to, uint32_t what, uint32_t *entries)
{
	uint32_t *at = c->firsts;

	for (from += c->nr_pieces, to += c->nr_pieces; from < to; from /= 2, to /= 2) {
		if (from & 1) {
			if (entries)
				entries[at[from]] = what;
			at[from++]++;
		}
		if (to & 1) {
			if (entries)
				entries[at[to - 1]] = what;
			at[--to]++;
		}
	}
}

static uint32_t find_piece(const struct cover *c, uint64_t address)
{
	return (uint32_t)ORDER_FIRST(i, c->nr_pieces, c->bounds[i + 1] > address);
}

static int make_bounds(struct cover *c, size_t nr, cover_range_fn *range, const void *arg)
{
	uint32_t kept = 0;

	c->bounds = mem_calloc(2 * nr, sizeof(*c->bounds));
	if (!c->bounds)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		range(arg, i, &c->bounds[2 * i], &c->bounds[2 * i + 1]);
	order_sort(c->bounds, 2 * nr, sizeof(*c->bounds), order_numbers);
	for (size_t i = 0; i < 2 * nr; i++)
		if (!kept || c->bounds[kept - 1] != c->bounds[i])
			c->bounds[kept++] = c->bounds[i];
	c->nr_pieces = kept ? kept - 1 : 0;
	return 0;
}

static void enter_all(struct cover *c, size_t nr, cover_range_fn *range, const void *arg,
		      uint32_t *entries)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t start, end;

		range(arg, i, &start, &end);
		enter(c, find_piece(c, start), find_piece(c, end - 1) + 1, (uint32_t)i, entries);
	}
}

static int make_entries(struct cover *c, size_t nr, cover_range_fn *range, const void *arg)
{
	size_t nr_nodes = 2 * (size_t)c->nr_pieces;
	uint32_t sum = 0;

	c->firsts = mem_calloc(nr_nodes + 1, sizeof(*c->firsts));
	if (!c->firsts)
		return -ENOMEM;
	enter_all(c, nr, range, arg, NULL);
	for (size_t i = 0; i <= nr_nodes; i++) {
		uint32_t of_node = c->firsts[i];

		c->firsts[i] = sum;
		sum += of_node;
	}
	c->entries = mem_calloc(sum, sizeof(*c->entries));
	if (!c->entries)
		return -ENOMEM;
	enter_all(c, nr, range, arg, c->entries); /* this moves each first to the next node's */
	memmove(c->firsts + 1, c->firsts, nr_nodes * sizeof(*c->firsts));
	c->firsts[0] = 0;
	return 0;
}

int cover_make(struct cover *c, size_t nr, cover_range_fn *range, const void *arg)
{
	return nr ? make_bounds(c, nr, range, arg) ?: make_entries(c, nr, range, arg) : 0;
}

void cover_fini(struct cover *c)
{
	mem_free(c->bounds);
	mem_free(c->firsts);
	mem_free(c->entries);
	*c = (struct cover){.bounds = NULL};
}

/* The last entry of a node below nr, or COVER_NONE. */
static uint32_t find_in_node(const struct cover *c, uint32_t node, uint32_t nr)
{
	const uint32_t *entry = c->entries + c->firsts[node];
	size_t nr_below = ORDER_FIRST(i, c->firsts[node + 1] - c->firsts[node], entry[i] >= nr);

	return nr_below ? entry[nr_below - 1] : COVER_NONE;
}

/* Outside of all ranges. */
static uint32_t find_none(const struct cover *c, uint64_t address, uint64_t *start, uint64_t *end)
{
	const bool is_before = c->nr_pieces && address < c->bounds[0];

	*start = c->nr_pieces && !is_before ? c->bounds[c->nr_pieces] : 0;
	*end = is_before ? c->bounds[0] : UINT64_MAX;
	return COVER_NONE;
}

uint32_t cover_find(const struct cover *c, uint32_t nr, uint64_t address, uint64_t *start,
		    uint64_t *end)
{
	uint32_t piece, best = COVER_NONE;

	if (!c->nr_pieces || address < c->bounds[0] || address >= c->bounds[c->nr_pieces])
		return find_none(c, address, start, end);
	piece = find_piece(c, address);
	*start = c->bounds[piece];
	*end = c->bounds[piece + 1];
	for (uint32_t node = c->nr_pieces + piece; node; node /= 2) {
		uint32_t of_node = find_in_node(c, node, nr);

		if (of_node != COVER_NONE && (best == COVER_NONE || of_node > best))
			best = of_node;
	}
	return best;
}
