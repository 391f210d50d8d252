/*
 * Scans JSON with comments and trailing commas: turns it into plain JSON without moving a byte, and
 * records the position of every key and value. The JSON parser checks the grammar.
 */
#ifndef SPEC_SCAN_H
#define SPEC_SCAN_H

#include "base/arena.h"
#include "base/buf.h"
#include "spec/spec.h"

#include <stddef.h>
#include <stdint.h>

enum {
	SCAN_MAX_DEPTH = 16,
	SCAN_MAX_NODES = 1 << 16,
	SCAN_NONE = -1, /* no such node */
};

/* A key with its value, an item of an array, or the root. */
struct scan_node {
	int parent;      /* node of the object or array; SCAN_NONE: a root */
	unsigned index;  /* in an array, from 0; members have 0 */
	const char *key; /* unescaped, in the arena; NULL if not a member */
	struct spec_pos key_pos, value_pos;
	size_t value_offset; /* in the text */
};

struct scan {
	char *text;         /* the plain JSON: comments are blanked; owned */
	size_t len;         /* after an error: of the text before it */
	struct buf nodes;   /* struct scan_node, in the order of the text */
	struct arena arena; /* keys */
	int *order;         /* nodes sorted by parent, index and key; owned */
};

/*
 * Scans len bytes. 0, or with *e set: -EINVAL (unterminated comment or string, bytes that are not
 * UTF-8 or NUL, too deep, too large) or -ENOMEM. Call scan_fini in any case; after -EINVAL the text
 * before the error may be parsed, but nodes may not be looked up. Time: n log n.
 */
int scan_init(struct scan *s, const char *text, size_t len, const char *source, struct err *e);
void scan_fini(struct scan *s);

size_t scan_nr_nodes(const struct scan *s);
const struct scan_node *scan_node(const struct scan *s, int node);
/* One step of a JSON pointer: the node of a member by its key, of an item by its index; SCAN_NONE.
 * The root is node 0. Of duplicate keys it is the last, as in the JSON parser. */
int scan_member(const struct scan *s, int parent, const char *key);
int scan_item(const struct scan *s, int parent, size_t index);
/* Calls fn for each duplicate key, with both nodes. */
typedef void scan_duplicate_fn(const struct scan_node *first, const struct scan_node *again,
			       void *arg);
void scan_each_duplicate(const struct scan *s, scan_duplicate_fn *fn, void *arg);

/* The start of the token at offset, or of the next one. */
size_t scan_token_start(const struct scan *s, size_t offset);
/* Line and column of an offset into text, as scan_init counts them. */
struct spec_pos scan_pos(const char *text, size_t offset);

#endif
