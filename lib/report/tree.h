/*
 * The call tree: from callers to callees, or inverted, from the sampled functions to their callers.
 * Each node is a path by which a function was reached. Independent of output.
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "report/entry.h"

struct report_tree;

enum { REPORT_NO_NODE = UINT32_MAX };

struct report_node {
	const struct report_function *function; /* NULL: the root of an event (and a session) */
	uint32_t event, session;
	uint32_t parent, first_child, next; /* indices of nodes, or REPORT_NO_NODE */
	struct report_weight self, total;   /* self of an inverted node: stacks that end there */
};

/* parts: REPORT_BY_SESSION or 0. NULL without memory. */
struct report_tree *report_tree_new(bool is_inverted, unsigned parts);
void report_tree_free(struct report_tree *t); /* NULL is fine */
const struct report_sink *report_tree_sink(struct report_tree *t);

/* Call after the last entry. Sorts siblings by total, the largest first, equal ones by name. 0 or
 * -ENOMEM. */
int report_tree_finish(struct report_tree *t);
/* A node; roots start at report_tree_root and are linked by next; REPORT_NO_NODE: none. */
const struct report_node *report_tree_node(const struct report_tree *t, uint32_t place);
uint32_t report_tree_root(const struct report_tree *t);
size_t report_tree_nr(const struct report_tree *t);

#endif
