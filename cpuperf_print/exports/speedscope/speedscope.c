/*
 * speedscope's own format (file-format-schema.json of its package): a profile for each event and
 * thread. The format has no times, only an order, so adjacent samples of one stack are added up.
 */
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "base/order.h"
#include "exports/exports.h"
#include "exports/facts.h"
#include "exports/sorted.h"
#include "report/functions.h"
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES_BYTES = 1 << 30 };

struct frame {
	const struct report_function *function; /* the key begins here */
	const char *file;                       /* in files; NULL: unknown */
	uint32_t line;                          /* the end of the key */
};

struct speedscope {
	struct job *j;
	struct export_sorted sorted;
	struct json_writer json;
	struct dict frames; /* struct frame, in order of first use */
	struct dict files;  /* const char * */
	uint32_t *of_node;  /* owned; by stack: its frame's index plus 1 */
	uint32_t *way;      /* owned; frame indices of one stack */
	uint32_t depth;     /* depth of the deepest stack */
	uint32_t *order;    /* owned; order of the groups */
};

/* --- frames ---------------------------------------------------------------------------------- */

static int add_frame(struct speedscope *s, const struct report_frame *f, uint32_t *number)
{
	struct frame key = {.function = f->function, .line = f->line};

	if (f->file) {
		uint32_t file = dict_add(&s->files, f->file);

		if (file == DICT_NONE)
			return -ENOMEM;
		key.file = dict_text(&s->files, file);
	}
	*number = dict_add(&s->frames, &key);
	return *number == DICT_NONE ? -ENOMEM : 0;
}

/* If a stack is numbered, its callers are too. */
static int number_stack(struct speedscope *s, uint32_t stack)
{
	const struct report_stack_node *n = report_stacks_at(s->sorted.stacks, stack);
	int rc = 0;

	if (n->depth > s->depth)
		s->depth = n->depth;
	while (stack != REPORT_NO_STACK && !s->of_node[stack] && rc == 0) {
		uint32_t number;

		n = report_stacks_at(s->sorted.stacks, stack);
		rc = add_frame(s, &n->frame, &number);
		if (rc == 0)
			s->of_node[stack] = number + 1;
		stack = n->parent;
	}
	return rc;
}

static int number_group(struct speedscope *s, uint32_t group)
{
	size_t nr;
	const struct export_record *r = export_sorted_records(&s->sorted, group, &nr);
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		rc = number_stack(s, r[i].stack);
		export_spool_touch(s->sorted.spool);
	}
	return rc;
}

static int number_frames(struct speedscope *s)
{
	int rc = 0;

	s->of_node = mem_calloc(report_stacks_nr(s->sorted.stacks), sizeof(*s->of_node));
	if (!s->of_node)
		return -ENOMEM;
	for (size_t i = 0; i < s->sorted.nr_groups && rc == 0; i++)
		rc = number_group(s, s->order[i]);
	s->way = rc ? NULL : mem_calloc(s->depth + 1, sizeof(*s->way));
	return s->way ? 0 : -ENOMEM;
}

static int put_frames(struct speedscope *s, struct err *e)
{
	int rc = 0;

	JSONW_OBJECT(&s->json, "shared") {
		JSONW_ARRAY(&s->json, "frames") {
			for (uint32_t i = 0; i < s->frames.nr && rc == 0; i++) {
				const struct frame *f = dict_at(&s->frames, i);

				JSONW_OBJECT(&s->json, NULL) {
					jsonw_text(&s->json, "name", f->function->name);
					jsonw_text(&s->json, "file",
						   f->file ? f->file : f->function->object);
					if (f->line)
						jsonw_u64(&s->json, "line", f->line);
				}
				rc = output_flush(s->j->output, e);
			}
		}
	}
	return rc;
}

/* --- profiles -------------------------------------------------------------------------------- */

/* Profiles of one event are adjacent, the heaviest first: the viewer opens the first. */
static int compare_order(const void *x, const void *y, void *arg)
{
	const struct speedscope *s = arg;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const struct export_group *a = &s->sorted.groups[i], *b = &s->sorted.groups[k];

	return order_u64(a->key.event, b->key.event)
		   ?: order_u64(b->weight, a->weight) ?: order_u64(i, k);
}

static int put_in_order(struct speedscope *s)
{
	s->order = mem_calloc(s->sorted.nr_groups + 1, sizeof(*s->order));
	if (!s->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->sorted.nr_groups; i++)
		s->order[i] = i;
	qsort_r(s->order, s->sorted.nr_groups, sizeof(*s->order), compare_order, s);
	return 0;
}

static const char *unit_of(const struct trace_event *e)
{
	static const char *const units[][2] = {{"ns", "nanoseconds"},  {"us", "microseconds"},
					       {"ms", "milliseconds"}, {"msec", "milliseconds"},
					       {"s", "seconds"},       {"B", "bytes"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(e->unit, units[i][0]) == 0)
			return units[i][1];
	return "none";
}

/* The stack of a group's sample *i. Adds up the weights of the adjacent samples with that stack and
 * moves *i behind them. */
static uint32_t next(struct speedscope *s, const struct export_record *r, size_t nr, size_t *i,
		     uint64_t *weight)
{
	uint32_t stack = r[*i].stack;

	for (*weight = 0; *i < nr && r[*i].stack == stack; ++*i) {
		*weight += r[*i].weight;
		export_spool_touch(s->sorted.spool);
	}
	return stack;
}

static void put_stack(struct speedscope *s, uint32_t stack)
{
	size_t nr = 0;

	for (; stack != REPORT_NO_STACK; stack = report_stacks_at(s->sorted.stacks, stack)->parent)
		s->way[nr++] = s->of_node[stack] - 1;
	JSONW_ARRAY(&s->json, NULL) {
		while (nr)
			jsonw_u64(&s->json, NULL, s->way[--nr]);
	}
}

static int put_samples(struct speedscope *s, const struct export_record *r, size_t nr,
		       struct err *e)
{
	uint64_t weight;
	int rc = 0;

	JSONW_ARRAY(&s->json, "samples") {
		for (size_t i = 0; i < nr && rc == 0;) {
			put_stack(s, next(s, r, nr, &i, &weight));
			rc = output_flush(s->j->output, e);
		}
	}
	return rc;
}

static int put_weights(struct speedscope *s, const struct trace_event *event,
		       const struct export_record *r, size_t nr, struct err *e)
{
	uint64_t weight;
	int rc = 0;

	JSONW_ARRAY(&s->json, "weights") {
		for (size_t i = 0; i < nr && rc == 0;) {
			next(s, r, nr, &i, &weight);
			export_facts_put_weight(&s->json, NULL, event, weight);
			rc = output_flush(s->j->output, e);
		}
	}
	return rc;
}

static void put_known(struct buf *b, uint32_t id)
{
	if (id == TRACE_UNKNOWN)
		buf_addc(b, '-');
	else
		buf_u64(b, id);
}

static void put_name(struct speedscope *s, const struct trace_event *event,
		     const struct report_key *key)
{
	const char *cmdline = samples_cmdline(s->j, key->cmdline);
	BUF_AUTO(name, 4 * EXPORT_NAME_BYTES);

	buf_printf(&name, "%s — %s ", event->label,
		   report_functions_text(s->j->inputs->functions, key->comm));
	put_known(&name, key->pid);
	buf_addc(&name, '/');
	put_known(&name, key->tid);
	if (key->thread != TRACE_UNKNOWN)
		buf_printf(&name, " #%u", key->thread);
	if (s->j->nr > 1)
		buf_printf(&name, " of %s", s->j->inputs->item[key->session].path);
	if (cmdline)
		buf_printf(&name, ": %s", cmdline);
	jsonw_text(&s->json, "name", buf_str(&name));
}

static int put_profile(struct speedscope *s, uint32_t group, struct err *e)
{
	const struct export_group *g = &s->sorted.groups[group];
	const struct trace_event *event = job_event(s->j, g->key.event);
	size_t nr;
	const struct export_record *r = export_sorted_records(&s->sorted, group, &nr);
	int rc = 0;

	JSONW_OBJECT(&s->json, NULL) {
		jsonw_text(&s->json, "type", "sampled");
		put_name(s, event, &g->key);
		jsonw_text(&s->json, "unit", unit_of(event));
		jsonw_u64(&s->json, "startValue", 0);
		export_facts_put_weight(&s->json, "endValue", event, g->weight);
		rc = put_samples(s, r, nr, e) ?: put_weights(s, event, r, nr, e);
	}
	return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

static void put_head(struct speedscope *s)
{
	BUF_AUTO(title, EXPORT_NAME_BYTES);

	export_facts_title(&title, s->j, &s->sorted.stats);
	jsonw_text(&s->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	jsonw_text(&s->json, "exporter", "cpuperf_print " CPUPERF_VERSION);
	jsonw_text(&s->json, "name", buf_str(&title));
}

/* Facts that the format has no field for; other readers ignore them. */
static void put_facts(struct speedscope *s)
{
	const struct input *o = job_input(s->j);

	JSONW_ARRAY(&s->json, "cpuperf") {
		for (size_t i = 0; i < s->j->nr; i++) {
			JSONW_OBJECT(&s->json, NULL) {
				export_facts_put(&s->json, &o[i]);
			}
		}
	}
	export_facts_put_losses(&s->json, s->j, &s->sorted.stats);
}

static int put_all(struct speedscope *s, struct err *e)
{
	int rc = 0;

	jsonw_init(&s->json, &s->j->output->text, false);
	JSONW_OBJECT(&s->json, NULL) {
		put_head(s);
		put_facts(s);
		rc = put_frames(s, e);
		JSONW_ARRAY(&s->json, "profiles") {
			for (size_t i = 0; i < s->sorted.nr_groups && rc == 0; i++)
				rc = put_profile(s, s->order[i], e);
		}
	}
	buf_addc(s->json.out, '\n');
	return rc;
}

int export_speedscope(struct job *j, struct err *e)
{
	struct speedscope s = {.j = j};
	int rc = export_sorted_read(&s.sorted, j, true, e);

	dict_init(&s.frames, sizeof(struct frame), DICT_KEY(struct frame, line), DICT_MAX);
	dict_init_texts(&s.files, sizeof(const char *), DICT_MAX, MAX_FILES_BYTES);
	if (rc == 0 && (put_in_order(&s) || number_frames(&s)))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = put_all(&s, e);
	export_sorted_fini(&s.sorted);
	dict_fini(&s.frames);
	dict_fini(&s.files);
	mem_free(s.of_node);
	mem_free(s.way);
	mem_free(s.order);
	return rc;
}
