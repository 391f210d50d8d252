/*
 * Folded stacks, a line each: "comm;outermost;…;sampled_[k] 1234", the input of flame graphs. The
 * number is what the samples stand for, in the event's unit (ns of a clock).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/tree.h"
#include "report/functions.h"

#include <errno.h>
#include <string.h>

struct folded {
	struct job *j;
	struct report_tree *tree;
	size_t ends[EXPORT_MAX_FRAMES + 1]; /* lengths of the line, by depth */
	struct buf line;
	bool has_events; /* several events: their names are the outermost frames */
};

/* A semicolon would end the frame, a newline the stack. A task may have no name, and an empty one
 * would make no frame. */
static void add_name(struct buf *b, const char *name)
{
	if (!*name)
		buf_adds(b, "[no name]");
	for (; *name; name++)
		buf_addc(b, *name == ';' || *name == '\n' ? ':' : *name);
}

static void add_frame(struct folded *f, const struct report_function *function)
{
	if (f->line.len)
		buf_addc(&f->line, ';');
	add_name(&f->line, function->name);
	if (function->is_kernel)
		buf_adds(&f->line, "_[k]");
}

static int put_line(struct folded *f, const struct report_node *n, struct err *e)
{
	if (!n->self.samples)
		return 0;
	buf_add(&f->j->output->text, f->line.data, f->line.len);
	buf_addc(&f->j->output->text, ' ');
	buf_u64(&f->j->output->text, n->self.weight);
	buf_addc(&f->j->output->text, '\n');
	return output_flush(f->j->output, e);
}

/* Walks the tree; the line always holds the current path. */
static int put_below(struct folded *f, const struct report_node *root, struct err *e)
{
	uint32_t at = root->first_child, way[EXPORT_MAX_FRAMES];
	size_t depth = 0;
	int rc = 0;

	while (rc == 0 && (at != REPORT_NO_NODE || depth)) {
		const struct report_node *n;

		if (at == REPORT_NO_NODE) {
			depth--;
			buf_cut(&f->line, f->ends[depth]);
			at = report_tree_node(f->tree, way[depth])->next;
			continue;
		}
		n = report_tree_node(f->tree, at);
		f->ends[depth] = f->line.len;
		way[depth++] = at;
		add_frame(f, n->function);
		rc = put_line(f, n, e);
		at = n->first_child;
	}
	return rc;
}

static int put_event(struct folded *f, const struct report_node *root, struct err *e)
{
	buf_reset(&f->line);
	if (f->has_events)
		add_name(&f->line, job_event(f->j, root->event)->label);
	return put_below(f, root, e);
}

/* Depends on the options, not on the data: the same options yield lines of the same shape. */
static bool has_events(const struct folded *f)
{
	const struct profile_facts *facts = job_input(f->j)->facts;
	size_t nr = 0;

	for (uint32_t i = 0; i < facts->nr_events; i++)
		nr += export_is_sampled(job_event(f->j, i)) &&
		      profile_filter_has_event(&f->j->selection->filter, &facts->events[i]);
	return nr > 1;
}

static int put_all(struct folded *f, struct err *e)
{
	uint32_t at = report_tree_root(f->tree);
	int rc = 0;

	f->has_events = has_events(f);
	while (at != REPORT_NO_NODE && rc == 0) {
		rc = put_event(f, report_tree_node(f->tree, at), e);
		at = report_tree_node(f->tree, at)->next;
	}
	return rc == 0 && buf_error(&f->line) ? err_set(e, buf_error(&f->line), "out of memory")
					      : rc;
}

int export_folded(struct job *j, struct err *e)
{
	struct folded *f = mem_zalloc(sizeof(*f));
	struct report_stats stats = {.nr_events = 0};
	int rc;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->j = j;
	buf_init(&f->line, 64 << 20);
	rc = export_tree_read(j, &f->tree, &stats, e) ?: put_all(f, e);
	report_tree_free(f->tree);
	report_stats_fini(&stats);
	buf_fini(&f->line);
	mem_free(f);
	return rc;
}
