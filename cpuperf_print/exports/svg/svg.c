/*
 * A flame graph as a picture, for documents and tickets: SVG 1.1 without scripts, one graph for
 * each event, below each other. Boxes tell what they stand for where a reader shows titles.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/tree.h"
#include "numbers.h"
#include "report/functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In pixels, which are tenths in the file. */
enum { WIDTH = 1200, MARGIN = 10, ROW = 16, HEAD = 28, CHARACTER = 7, MIN_CHARACTERS = 3 };
/* Narrower boxes are not drawn. */
static const double min_width = 0.3;

struct svg {
	struct job *j;
	struct report_tree *tree;
	struct report_stats stats;
	/* The path of the walk: nodes, and where the next box of each depth begins. */
	uint32_t way[EXPORT_MAX_FRAMES];
	double x[EXPORT_MAX_FRAMES + 1];
};

/* By object, so that libraries can be told apart; the kernel has one of its own. */
static const char *color_of(const struct report_function *f)
{
	static const char *const colors[] = {"#f4b183", "#f7cb6b", "#f08a6c", "#e8c468", "#f2a65a",
					     "#eeb4a0", "#dfae5b", "#f5d08c", "#e89a7a"};

	if (f->is_kernel)
		return "#b9c4d6";
	return colors[hash_bytes(0, f->object, strlen(f->object)) %
		      (sizeof(colors) / sizeof(colors[0]))];
}

static void put_pixels(struct buf *b, const char *name, double pixels)
{
	buf_printf(b, " %s=\"%s\"", name, DECIMAL(pixels, 1));
}

/* As much of the name as fits. */
static void put_name(struct buf *b, const char *name, double width)
{
	const size_t room = (size_t)((width - CHARACTER) / CHARACTER), len = strlen(name);
	char cut[WIDTH / CHARACTER * 4 + sizeof("…")];
	size_t at = 0, nr = 0, n;

	for (; nr + (len > room) < room && (n = str_character(name + at, len - at)); nr++)
		at += n;
	snprintf(cut, sizeof(cut), "%.*s%s", (int)at, name, name[at] ? "…" : "");
	buf_xml(b, cut);
}

static void put_title(const struct svg *s, struct buf *b, const struct report_node *n,
		      uint64_t whole)
{
	buf_adds(b, "<title>");
	buf_xml(b, n->function->name);
	if (*n->function->object) {
		buf_adds(b, " (");
		buf_xml(b, n->function->object);
		buf_addc(b, ')');
	}
	buf_printf(b, "\n%s %%, ", DECIMAL(100.0 * (double)n->total.weight / (double)whole, 2));
	export_add_amount(s->j, n->event, n->total.weight, b);
	if (n->self.samples) {
		buf_adds(b, ", of its own ");
		export_add_amount(s->j, n->event, n->self.weight, b);
	}
	buf_adds(b, "</title>");
}

static void put_box(const struct svg *s, const struct report_node *n, double x, double y,
		    double width, uint64_t whole)
{
	struct buf *b = &s->j->output->text;

	buf_adds(b, "<g>");
	put_title(s, b, n, whole);
	buf_adds(b, "<rect");
	put_pixels(b, "x", x);
	put_pixels(b, "y", y);
	put_pixels(b, "width", width);
	buf_printf(b, " height=\"%d\" fill=\"%s\"/>", ROW - 1, color_of(n->function));
	if (width >= (MIN_CHARACTERS + 1) * CHARACTER) {
		buf_adds(b, "<text");
		put_pixels(b, "x", x + CHARACTER / 2.0);
		put_pixels(b, "y", y + ROW - 5);
		buf_addc(b, '>');
		put_name(b, n->function->name, width);
		buf_adds(b, "</text>");
	}
	buf_adds(b, "</g>\n");
}

/* Walks an event's tree, callers before callees, without what is too narrow, and sets how deep it
 * is. base: the lower edge of the graph; 0: it is not drawn. 0 or -errno with *e. */
static int walk(struct svg *s, const struct report_node *root, double base, size_t *deepest,
		struct err *e)
{
	const uint64_t whole = root->total.weight;
	const double scale = whole ? (WIDTH - 2.0 * MARGIN) / (double)whole : 0;
	uint32_t at = root->first_child;
	size_t depth = 0;
	int rc;

	s->x[0] = MARGIN;
	*deepest = 0;
	while (at != REPORT_NO_NODE || depth) {
		const struct report_node *n;
		double width;

		if (at == REPORT_NO_NODE) {
			n = report_tree_node(s->tree, s->way[--depth]);
			s->x[depth] += (double)n->total.weight * scale;
			at = n->next;
			continue;
		}
		n = report_tree_node(s->tree, at);
		width = (double)n->total.weight * scale;
		if (width < min_width) { /* and so are those after it: the largest are first */
			at = REPORT_NO_NODE;
			continue;
		}
		if (base > 0)
			put_box(s, n, s->x[depth], base - (double)(depth + 1) * ROW, width, whole);
		rc = base > 0 ? output_flush(s->j->output, e) : 0;
		if (rc)
			return rc;
		s->way[depth++] = at;
		s->x[depth] = s->x[depth - 1];
		*deepest = depth > *deepest ? depth : *deepest;
		at = n->first_child;
	}
	return 0;
}

static void put_heading(struct svg *s, const struct report_node *root, double y)
{
	struct buf *b = &s->j->output->text;
	BUF_AUTO(title, EXPORT_TITLE_BYTES);

	export_title(s->j, &s->stats, root->event, &title);
	buf_printf(b, "<text class=\"event\" x=\"%d\"", MARGIN);
	put_pixels(b, "y", y);
	buf_addc(b, '>');
	buf_xml(b, buf_str(&title));
	buf_adds(b, "</text>\n");
}

static void put_head(const struct svg *s, double height)
{
	struct buf *b = &s->j->output->text;

	buf_printf(b,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\"",
		   WIDTH);
	put_pixels(b, "height", height);
	buf_printf(b, " viewBox=\"0 0 %d %s\" font-family=\"monospace\" font-size=\"11\">\n", WIDTH,
		   DECIMAL(height, 1));
	buf_adds(b, "<style>.event{font:bold 13px sans-serif}</style>\n"
		    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

static double height_of(struct svg *s, const struct report_node *root)
{
	size_t depth;

	(void)walk(s, root, 0, &depth, NULL);
	return HEAD + (double)depth * ROW;
}

static int put_all(struct svg *s, struct err *e)
{
	double height = MARGIN, y = MARGIN;
	const struct report_node *root;
	size_t depth;
	int rc = 0;

	for (uint32_t at = report_tree_root(s->tree); at != REPORT_NO_NODE; at = root->next) {
		root = report_tree_node(s->tree, at);
		height += height_of(s, root) + MARGIN;
	}
	put_head(s, height);
	for (uint32_t at = report_tree_root(s->tree); at != REPORT_NO_NODE && rc == 0;
	     at = root->next) {
		root = report_tree_node(s->tree, at);
		put_heading(s, root, y + HEAD / 2.0);
		y += height_of(s, root);
		rc = walk(s, root, y, &depth, e);
		y += MARGIN;
	}
	buf_adds(&s->j->output->text, "</svg>\n");
	return rc ?: output_flush(s->j->output, e);
}

int export_svg(struct job *j, struct err *e)
{
	struct svg *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->j = j;
	rc = export_tree_read(j, &s->tree, &s->stats, e) ?: put_all(s, e);
	report_tree_free(s->tree);
	report_stats_fini(&s->stats);
	mem_free(s);
	return rc;
}
