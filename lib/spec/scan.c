/*
 * Scans a text into tokens with positions. Comments and trailing commas become blanks, so that
 * offsets are those of the text for the parser that follows. On text that is not JSON the nodes are
 * meaningless, but nothing is read or written beyond it.
 */
#include "spec/scan.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "spec/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NO_COMMA = -1 };

/* An open object or array. */
struct frame {
	int node;
	bool is_object;
	unsigned nr_items;
	int member; /* of an object: the node whose value follows */
};

struct scanner {
	struct scan *s;
	const char *source;
	struct err *e;
	size_t at; /* the current byte, and its position */
	struct spec_pos pos;
	struct frame stack[SCAN_MAX_DEPTH + 1]; /* [0]: outside the root */
	size_t depth;
	bool after_value;
	ssize_t comma; /* offset of a comma after a value while nothing follows it */
};

static struct scan_node *node_at(const struct scan *s, int node)
{
	return (struct scan_node *)(void *)s->nodes.data + node;
}

const struct scan_node *scan_node(const struct scan *s, int node)
{
	return node_at(s, node);
}

size_t scan_nr_nodes(const struct scan *s)
{
	return s->nodes.len / sizeof(struct scan_node);
}

static int fail(struct scanner *x, size_t offset, struct spec_pos pos, const char *msg)
{
	x->s->len = offset;
	return err_set_at(x->e, -EINVAL, x->source, pos.line, pos.column, "%s", msg);
}

static bool is_bare(char c)
{
	return c && !strchr(" \t\r\n\"/#{}[]:,", c);
}

static size_t string_end(const char *text, size_t at, size_t len)
{
	for (at++; at < len && text[at] != '\n'; at++) {
		if (text[at] == '"')
			return at + 1;
		if (text[at] == '\\' && at + 1 < len && text[at + 1] != '\n')
			at++;
	}
	return 0;
}

static size_t comment_end(const char *text, size_t at, size_t len)
{
	const bool is_hash = text[at] == '#', is_line = is_hash || text[at + 1] == '/';

	for (at += is_hash ? 1 : 2; at < len; at++) {
		if (is_line && text[at] == '\n')
			return at;
		if (!is_line && text[at] == '*' && at + 1 < len && text[at + 1] == '/')
			return at + 2;
	}
	return is_line ? len : 0;
}

static bool is_comment(const char *text, size_t at, size_t len)
{
	return text[at] == '#' ||
	       (text[at] == '/' && at + 1 < len && (text[at + 1] == '/' || text[at + 1] == '*'));
}

/* The end of the token, comment or single blank at `at`; 0 if it is unterminated. */
static size_t token_end(const char *text, size_t at, size_t len)
{
	size_t end = at;

	if (text[at] == '"')
		return string_end(text, at, len);
	if (is_comment(text, at, len))
		return comment_end(text, at, len);
	while (end < len && is_bare(text[end]))
		end++;
	return end == at ? at + 1 : end;
}

static size_t code_point_bytes(const char *s)
{
	unsigned char c = (unsigned char)*s;

	return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static size_t bom_bytes(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static void count(struct spec_pos *pos, char c)
{
	if (c == '\n')
		*pos = (struct spec_pos){pos->line + 1, 1};
	else if (((unsigned char)c & 0xc0) != 0x80) /* columns are characters, not bytes */
		pos->column++;
}

struct spec_pos scan_pos(const char *text, size_t offset)
{
	struct spec_pos pos = {1, 1};

	for (size_t i = bom_bytes(text, offset); i < offset; i++)
		count(&pos, text[i]);
	return pos;
}

/* Advances to end, over text that must be UTF-8. */
static int advance(struct scanner *x, size_t end)
{
	const char *text = x->s->text;
	size_t start = x->at; /* the text before this token is valid */

	while (x->at < end) {
		size_t n = code_point_bytes(text + x->at);

		if (n > end - x->at || !str_is_utf8(text + x->at, n))
			return fail(x, start, x->pos,
				    text[x->at] ? "this byte is not UTF-8"
						: "a NUL byte: this is not text");
		count(&x->pos, text[x->at]);
		x->at += n;
	}
	return 0;
}

static void blank(char *text, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++)
		if (text[i] != '\n')
			text[i] = ' ';
}

/* The new node's number, or -errno with *x->e set. */
static int add_node(struct scanner *x, const struct scan_node *node)
{
	int nr = (int)scan_nr_nodes(x->s);

	buf_add(&x->s->nodes, node, sizeof(*node));
	if (buf_error(&x->s->nodes) == -ENOMEM)
		return err_set(x->e, -ENOMEM, "out of memory");
	if (buf_error(&x->s->nodes))
		return fail(x, node->value_offset, node->value_pos, "too many values");
	return nr;
}

/* A key: the string token [start, x->at). */
static int begin_member(struct scanner *x, size_t start, struct spec_pos pos)
{
	struct frame *f = &x->stack[x->depth];
	const char *quoted = x->s->text + start;
	size_t len = x->at - start;
	struct scan_node node = {.parent = f->node, .key_pos = pos};
	int rc = 0;

	node.value_pos = pos; /* until the value is scanned */
	node.value_offset = start;
	if (memchr(quoted, '\\', len))
		rc = json_unescape(quoted, len, &x->s->arena, &node.key);
	else
		node.key = arena_strndup(&x->s->arena, quoted + 1, len - 2);
	if (rc == -ENOMEM || !node.key)
		return err_set(x->e, -ENOMEM, "out of memory");
	f->member = add_node(x, &node);
	return f->member < 0 ? f->member : 0;
}

/* The node of a value that begins at start. */
static int begin_value(struct scanner *x, size_t start, struct spec_pos pos)
{
	struct frame *f = &x->stack[x->depth];
	int node = f->member;

	if (node == SCAN_NONE) /* an item, a root, or not JSON */
		return add_node(x, &(struct scan_node){.parent = f->node,
						       .index = f->nr_items++,
						       .value_pos = pos,
						       .value_offset = start});
	f->member = SCAN_NONE;
	node_at(x->s, node)->value_pos = pos;
	node_at(x->s, node)->value_offset = start;
	return node;
}

static int open_container(struct scanner *x, int node, bool is_object)
{
	if (x->depth == SCAN_MAX_DEPTH)
		return fail(x, node_at(x->s, node)->value_offset, node_at(x->s, node)->value_pos,
			    "nested too deep");
	x->stack[++x->depth] = (struct frame){node, is_object, 0, SCAN_NONE};
	x->after_value = false;
	return 0;
}

static void close_container(struct scanner *x)
{
	if (x->comma != NO_COMMA)
		x->s->text[x->comma] = ' ';
	if (x->depth)
		x->depth--;
	x->after_value = true;
}

static int value(struct scanner *x, size_t start, struct spec_pos pos)
{
	char c = x->s->text[start];
	int node;

	x->after_value = true;
	if (c == '"' && x->stack[x->depth].is_object && x->stack[x->depth].member == SCAN_NONE)
		return begin_member(x, start, pos);
	node = begin_value(x, start, pos);
	if (node < 0)
		return node;
	return c == '{' || c == '[' ? open_container(x, node, c == '{') : 0;
}

/* The token [start, x->at), which began at pos. */
static int take(struct scanner *x, size_t start, struct spec_pos pos)
{
	ssize_t comma = NO_COMMA;
	int rc = 0;

	switch (x->s->text[start]) {
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		return 0;
	case ',':
		comma = x->after_value ? (ssize_t)start : NO_COMMA;
		x->after_value = false;
		break;
	case ':':
		x->after_value = false;
		break;
	case '}':
	case ']':
		close_container(x);
		break;
	default:
		rc = value(x, start, pos);
	}
	x->comma = comma;
	return rc;
}

static int step(struct scanner *x)
{
	char *text = x->s->text;
	size_t start = x->at, end = token_end(text, start, x->s->len);
	struct spec_pos pos = x->pos;
	int rc;

	if (!end)
		return fail(x, start, pos,
			    text[start] == '"' ? "this string has no closing quote on its line"
					       : "this comment has no end");
	rc = advance(x, end);
	if (rc)
		return rc;
	if (!is_comment(text, start, end))
		return take(x, start, pos);
	blank(text, start, end);
	return 0;
}

/* Whether the node is before, at or after (parent, key, index). */
static int compare_to(const struct scan_node *n, int parent, const char *key, size_t index)
{
	return n->parent - parent
		   ?: !key - !n->key
		   ?: (key ? strcmp(n->key, key) : order_u64(n->index, index));
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	int na = *(const int *)pa, nb = *(const int *)pb;
	const struct scan_node *a = node_at(arg, na), *b = node_at(arg, nb);

	return compare_to(a, b->parent, b->key, b->index) ?: na - nb;
}

/* Sorted, not hashed, so that no choice of keys makes it slow. */
static int sort_nodes(struct scan *s, struct err *e)
{
	size_t nr = scan_nr_nodes(s);

	s->order = mem_calloc(nr, sizeof(*s->order));
	if (!s->order)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		s->order[i] = (int)i;
	qsort_r(s->order, nr, sizeof(*s->order), compare_nodes, s);
	return 0;
}

int scan_init(struct scan *s, const char *text, size_t len, const char *source, struct err *e)
{
	struct scanner x = {.s = s, .source = source, .e = e, .pos = {1, 1}, .comma = NO_COMMA};
	int rc = 0;

	*s = (struct scan){.len = len};
	buf_init(&s->nodes, SCAN_MAX_NODES * sizeof(struct scan_node));
	arena_init(&s->arena, 4 * SPEC_MAX_TEXT_BYTES);
	if (len > SPEC_MAX_TEXT_BYTES)
		return fail(&x, 0, (struct spec_pos){0, 0}, "larger than 4 MiB");
	s->text = mem_alloc(len + 1);
	if (!s->text)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(s->text, text, len);
	s->text[len] = '\0';
	x.stack[0] = (struct frame){.node = SCAN_NONE, .member = SCAN_NONE};
	x.at = bom_bytes(text, len);
	blank(s->text, 0, x.at);
	while (rc == 0 && x.at < s->len)
		rc = step(&x);
	return rc ? rc : sort_nodes(s, e);
}

void scan_fini(struct scan *s)
{
	mem_free(s->text);
	mem_free(s->order);
	buf_fini(&s->nodes);
	arena_fini(&s->arena);
	*s = (struct scan){.text = NULL};
}

/* The last of equal keys. */
static int find(const struct scan *s, int parent, const char *key, size_t index)
{
	size_t next = ORDER_FIRST(i, scan_nr_nodes(s),
				  compare_to(node_at(s, s->order[i]), parent, key, index) > 0);

	return next && compare_to(node_at(s, s->order[next - 1]), parent, key, index) == 0
		   ? s->order[next - 1]
		   : SCAN_NONE;
}

int scan_member(const struct scan *s, int parent, const char *key)
{
	return find(s, parent, key, 0);
}

int scan_item(const struct scan *s, int parent, size_t index)
{
	return find(s, parent, NULL, index);
}

void scan_each_duplicate(const struct scan *s, scan_duplicate_fn *fn, void *arg)
{
	for (size_t i = 1; i < scan_nr_nodes(s); i++) {
		const struct scan_node *a = node_at(s, s->order[i - 1]);
		const struct scan_node *b = node_at(s, s->order[i]);

		if (b->key && compare_to(a, b->parent, b->key, 0) == 0)
			fn(a, b, arg);
	}
}

size_t scan_token_start(const struct scan *s, size_t offset)
{
	size_t at = 0;

	while (at < s->len) {
		size_t end = token_end(s->text, at, s->len);

		if ((!end || offset < end) && !strchr(" \t\r\n", s->text[at]))
			return at;
		at = end;
	}
	return offset < s->len ? offset : s->len;
}
