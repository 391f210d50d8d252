/*
 * Google's Trace Event Format, JSON object form: samples with stackFrames, and counters. Readers
 * use different parts: chrome's viewer all, speedscope the samples (each lasts until the next of
 * its thread), Perfetto names and counters. traceEvents comes first, as they require.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "exports/chrome/regions.h"
#include "exports/exports.h"
#include "exports/facts.h"
#include "exports/lines.h"
#include "exports/series.h"
#include "exports/sorted.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 1 << 16 };

struct chrome {
	struct job *j;
	const struct input *o;
	struct export_sorted sorted; /* all zero: the session only counts */
	struct json_writer json;
	uint32_t *of_node; /* owned; by stack: its number in the file, 0: none yet */
	uint32_t *node_of; /* owned; by number in the file: the stack */
	uint32_t nr_nodes;
	struct buf same;               /* the fields shared by the samples of a tag */
	uint32_t tag;                  /* the tag of same */
	struct profile_lookup *lookup; /* NULL: nothing is known of tasks */
};

/* --- names ----------------------------------------------------------------------------------- */

/* The format requires numbers; -1: unknown. */
static void put_task(struct json_writer *j, uint32_t pid, uint32_t tid)
{
	const struct {
		const char *key;
		uint32_t id;
	} ids[] = {{"pid", pid}, {"tid", tid}};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (ids[i].id == TRACE_UNKNOWN)
			jsonw_raw(j, ids[i].key, "-1");
		else
			jsonw_u64(j, ids[i].key, ids[i].id);
	}
}

/* text NULL: the argument is the number. */
static void put_metadata(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
			 const char *arg, const char *text, uint32_t number)
{
	struct json_writer *j = &c->json;

	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "ph", "M");
		jsonw_text(j, "name", what);
		put_task(j, pid, tid);
		JSONW_OBJECT(j, "args") {
			if (text)
				jsonw_text(j, arg, text);
			else
				jsonw_u64(j, arg, number);
		}
	}
}

/* The last name of the group's thread, or of another one of its process. */
static const char *name_of(struct chrome *c, size_t group, uint32_t tid)
{
	const struct report_key *key = &c->sorted.groups[group].key;
	const char *name = NULL;
	size_t nr;

	if (c->lookup && tid != TRACE_UNKNOWN) {
		const struct export_record *r = export_sorted_records(&c->sorted, group, &nr);

		name = profile_lookup_last_name(c->lookup, key->pid, tid, r[nr - 1].time_ns);
	}
	return name ?: report_functions_text(c->j->inputs->functions, key->comm);
}

/* Groups are by process. */
static void put_process(struct chrome *c, size_t first)
{
	const struct export_group *g = c->sorted.groups;
	size_t shown = first;
	const char *cmdline;

	for (size_t i = first; i < c->sorted.nr_groups && g[i].key.pid == g[first].key.pid; i++)
		if (g[i].key.tid == g[i].key.pid)
			shown = i;
	cmdline = samples_cmdline(c->j, g[shown].key.cmdline);
	put_metadata(c, "process_name", g[first].key.pid, g[first].key.pid, "name",
		     name_of(c, shown, g[first].key.pid), 0);
	if (cmdline)
		put_metadata(c, "process_labels", g[first].key.pid, g[first].key.pid, "labels",
			     cmdline, 0);
}

static int put_names(struct chrome *c, struct err *e)
{
	const struct export_group *g = c->sorted.groups;
	int rc = 0;

	c->lookup = c->o->processes ? profile_lookup_new(c->o->processes) : NULL;
	for (size_t i = 0; i < c->sorted.nr_groups && rc == 0; i++) {
		if (!i || g[i].key.pid != g[i - 1].key.pid)
			put_process(c, i);
		put_metadata(c, "thread_name", g[i].key.pid, g[i].key.tid, "name",
			     name_of(c, i, g[i].key.tid), 0);
		if (g[i].key.thread != TRACE_UNKNOWN)
			put_metadata(c, "thread_sort_index", g[i].key.pid, g[i].key.tid,
				     "sort_index", NULL, g[i].key.thread);
		rc = output_flush(c->j->output, e);
	}
	return rc;
}

/* --- samples --------------------------------------------------------------------------------- */

/* If a stack has a number, its callers have one too. */
static uint32_t number_stack(struct chrome *c, uint32_t stack)
{
	for (uint32_t at = stack; at != REPORT_NO_STACK && !c->of_node[at];
	     at = report_stacks_at(c->sorted.stacks, at)->parent) {
		c->of_node[at] = ++c->nr_nodes;
		c->node_of[c->nr_nodes] = at;
	}
	return c->of_node[stack];
}

static void make_shared_fields(struct chrome *c, uint32_t tag)
{
	const struct report_key *key = export_sorted_key(&c->sorted, tag);
	struct json_writer j;

	if (c->same.len && c->tag == tag)
		return;
	c->tag = tag;
	buf_reset(&c->same);
	jsonw_init(&j, &c->same, false);
	if (key->cpu != TRACE_UNKNOWN)
		jsonw_u64(&j, "cpu", key->cpu);
	put_task(&j, key->pid, key->tid);
	jsonw_text(&j, "name", job_event(c->j, key->event)->label);
}

static void put_sample(struct chrome *c, const struct export_record *r)
{
	const struct report_key *key = export_sorted_key(&c->sorted, r->tag);
	struct json_writer *j = &c->json;

	make_shared_fields(c, r->tag);
	JSONW_OBJECT(j, NULL) {
		buf_add(j->out, c->same.data, c->same.len);
		j->has_items = true;
		jsonw_us(j, "ts", (int64_t)(r->time_ns - c->o->start_ns));
		export_facts_put_weight(j, "weight", job_event(c->j, key->event), r->weight);
		if (r->stack != REPORT_NO_STACK)
			jsonw_u64(j, "sf", number_stack(c, r->stack));
	}
}

static int put_samples(struct chrome *c, struct err *e)
{
	int rc = 0;

	JSONW_ARRAY(&c->json, "samples") {
		for (size_t i = 0; i < c->sorted.nr_groups && rc == 0; i++) {
			size_t nr;
			const struct export_record *r = export_sorted_records(&c->sorted, i, &nr);

			for (size_t k = 0; k < nr && rc == 0; k++) {
				put_sample(c, &r[k]);
				export_spool_touch(c->sorted.spool);
				rc = output_flush(c->j->output, e);
			}
		}
	}
	return rc ?: buf_error(&c->same);
}

/* With its line if lines are requested. */
static void put_frame_name(struct chrome *c, const struct report_frame *f)
{
	BUF_AUTO(name, LINE_BYTES);

	if (!f->line) {
		jsonw_text(&c->json, "name", f->function->name);
		return;
	}
	buf_printf(&name, "%s (%s:%" PRIu32 ")", f->function->name, f->file ? f->file : "?",
		   f->line);
	jsonw_text(&c->json, "name", buf_str(&name));
}

static void put_node(struct chrome *c, uint32_t number)
{
	const struct report_stack_node *n = report_stacks_at(c->sorted.stacks, c->node_of[number]);
	char key[16];

	snprintf(key, sizeof(key), "%" PRIu32, number);
	JSONW_OBJECT(&c->json, key) {
		put_frame_name(c, &n->frame);
		jsonw_text(&c->json, "category", n->frame.function->object);
		if (n->parent != REPORT_NO_STACK)
			jsonw_u64(&c->json, "parent", c->of_node[n->parent]);
	}
}

static int put_nodes(struct chrome *c, struct err *e)
{
	int rc = 0;

	JSONW_OBJECT(&c->json, "stackFrames") {
		for (uint32_t i = 1; i <= c->nr_nodes && rc == 0; i++) {
			put_node(c, i);
			rc = output_flush(c->j->output, e);
		}
	}
	return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

static int put_events(struct chrome *c, struct export_series *series, struct err *e)
{
	int rc = 0;

	JSONW_ARRAY(&c->json, "traceEvents") {
		rc = put_names(c, e) ?: chrome_put_regions(c->j, c->o, &c->sorted, &c->json, e) ?:
				       export_series_put(series, &c->json, e);
	}
	return rc;
}

static void put_other(struct chrome *c, const struct export_series *series)
{
	JSONW_OBJECT(&c->json, "otherData") {
		jsonw_text(&c->json, "exporter", "cpuperf_print " CPUPERF_VERSION);
		export_facts_put(&c->json, c->o);
		export_facts_put_losses(&c->json, c->j, &c->sorted.stats);
		export_series_put_notes(series, &c->json);
	}
}

static int put_all(struct chrome *c, struct err *e)
{
	struct export_series series;
	int rc = export_series_init(&series, c->j, c->o, e);

	jsonw_init(&c->json, &c->j->output->text, false);
	JSONW_OBJECT(&c->json, NULL) {
		jsonw_text(&c->json, "displayTimeUnit", "ns");
		if (rc == 0)
			rc = put_events(c, &series, e);
		if (rc == 0 && c->sorted.spool)
			rc = put_samples(c, e);
		if (rc == 0 && c->sorted.spool)
			rc = put_nodes(c, e);
		if (rc == 0)
			put_other(c, &series);
	}
	buf_addc(c->json.out, '\n');
	export_series_fini(&series);
	return rc;
}

static int read_samples(struct chrome *c, struct err *e)
{
	int rc = export_sorted_read(&c->sorted, c->j, false, e);
	size_t nr;

	if (rc)
		return rc;
	nr = report_stacks_nr(c->sorted.stacks);
	c->of_node = mem_calloc(nr, sizeof(*c->of_node));
	c->node_of = mem_calloc(nr + 1, sizeof(*c->node_of));
	return c->of_node && c->node_of ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int export_chrome(struct job *j, struct err *e)
{
	struct chrome c = {.j = j, .o = job_input(j)};
	int rc = c.o->facts->is_sampling ? read_samples(&c, e) : 0;

	buf_init(&c.same, LINE_BYTES);
	if (rc == 0)
		export_has_counters(j, c.o);
	if (rc == 0)
		rc = put_all(&c, e);
	export_sorted_fini(&c.sorted);
	buf_fini(&c.same);
	profile_lookup_free(c.lookup);
	mem_free(c.of_node);
	mem_free(c.node_of);
	return rc;
}
