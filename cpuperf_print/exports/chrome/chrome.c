/*
 * Google's Trace Event Format, JSON object form: samples with stackFrames, and counters. Readers
 * use different parts: chrome's viewer all, speedscope the samples (each lasts until the next of
 * its thread), Perfetto names and counters. traceEvents comes first, as they require; so of a job
 * samples and stacks wait in temporary files until those of the last session are written.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "exports/chrome/later.h"
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

/* The file. */
struct file {
	struct job *j;
	struct json_writer json;
	struct later samples, nodes, hosts; /* of a job */
	uint32_t nr_nodes;                  /* of the sessions before */
	struct err *e;
};

/* A session in it. */
struct chrome {
	struct file *file;
	struct export_lane *lane;
	struct job *j; /* of the lane */
	const struct input *o;
	struct export_sorted sorted; /* all zero: the session only counts */
	struct export_series series;
	uint32_t *of_node; /* owned; by stack: its number, 0: none yet */
	uint32_t *node_of; /* owned; by number: the stack */
	uint32_t nr_nodes; /* in the file the numbers are beyond those of the sessions before */
	struct buf same;   /* the fields shared by the samples of a tag */
	uint32_t tag;      /* the tag of same */
	struct profile_lookup *lookup; /* NULL: nothing is known of tasks */
};

/* --- names ----------------------------------------------------------------------------------- */

void chrome_put_time(struct json_writer *json, const struct export_lane *lane, uint64_t time_ns)
{
	const uint64_t origin_ns = lane->name ? lane->origin_ns : job_input(&lane->j)->start_ns;

	jsonw_us(json, "ts", (int64_t)(export_lane_time(lane, time_ns) - origin_ns));
}

/* The format requires numbers; -1: unknown. */
static void put_task(struct json_writer *j, const struct export_lane *lane, uint32_t pid,
		     uint32_t tid)
{
	const struct {
		const char *key;
		uint32_t id;
	} ids[] = {{"pid", export_lane_task(lane, pid)}, {"tid", export_lane_task(lane, tid)}};

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
	struct json_writer *j = &c->file->json;

	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "ph", "M");
		jsonw_text(j, "name", what);
		put_task(j, c->lane, pid, tid);
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
	char text[EXPORT_LANE_NAME_BYTES];
	const char *cmdline;

	for (size_t i = first; i < c->sorted.nr_groups && g[i].key.pid == g[first].key.pid; i++)
		if (g[i].key.tid == g[i].key.pid)
			shown = i;
	cmdline = samples_cmdline(c->j, g[shown].key.cmdline);
	put_metadata(c, "process_name", g[first].key.pid, g[first].key.pid, "name",
		     export_lane_name(c->lane, name_of(c, shown, g[first].key.pid), text), 0);
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

/* Its number in the file. If a stack has a number, its callers have one too. */
static uint32_t number_stack(struct chrome *c, uint32_t stack)
{
	for (uint32_t at = stack; at != REPORT_NO_STACK && !c->of_node[at];
	     at = report_stacks_at(c->sorted.stacks, at)->parent) {
		c->of_node[at] = ++c->nr_nodes;
		c->node_of[c->nr_nodes] = at;
	}
	return c->file->nr_nodes + c->of_node[stack];
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
	put_task(&j, c->lane, key->pid, key->tid);
	jsonw_text(&j, "name", job_event(c->j, key->event)->label);
}

static void put_sample(struct chrome *c, struct json_writer *j, const struct export_record *r)
{
	const struct report_key *key = export_sorted_key(&c->sorted, r->tag);

	make_shared_fields(c, r->tag);
	JSONW_OBJECT(j, NULL) {
		buf_add(j->out, c->same.data, c->same.len);
		j->has_items = true;
		chrome_put_time(j, c->lane, r->time_ns);
		export_facts_put_weight(j, "weight", job_event(c->j, key->event), r->weight);
		if (r->stack != REPORT_NO_STACK)
			jsonw_u64(j, "sf", number_stack(c, r->stack));
	}
}

/* later: where the items are, if not in the output. */
static int flush(struct chrome *c, struct later *later)
{
	return later ? later_flush(later, c->file->e) : output_flush(c->j->output, c->file->e);
}

static int put_samples(struct chrome *c, struct json_writer *to, struct later *later)
{
	int rc = 0;

	for (size_t i = 0; i < c->sorted.nr_groups && rc == 0; i++) {
		size_t nr;
		const struct export_record *r = export_sorted_records(&c->sorted, i, &nr);

		for (size_t k = 0; k < nr && rc == 0; k++) {
			put_sample(c, to, &r[k]);
			export_spool_touch(c->sorted.spool);
			rc = flush(c, later);
		}
	}
	return rc ?: buf_error(&c->same);
}

/* With its line if lines are requested. */
static void put_frame_name(struct json_writer *to, const struct report_frame *f)
{
	BUF_AUTO(name, LINE_BYTES);

	if (!f->line) {
		jsonw_text(to, "name", f->function->name);
		return;
	}
	buf_printf(&name, "%s (%s:%" PRIu32 ")", f->function->name, f->file ? f->file : "?",
		   f->line);
	jsonw_text(to, "name", buf_str(&name));
}

static void put_node(struct chrome *c, struct json_writer *to, uint32_t number)
{
	const struct report_stack_node *n = report_stacks_at(c->sorted.stacks, c->node_of[number]);
	const uint32_t before = c->file->nr_nodes;
	char key[16];

	snprintf(key, sizeof(key), "%" PRIu32, before + number);
	JSONW_OBJECT(to, key) {
		put_frame_name(to, &n->frame);
		jsonw_text(to, "category", n->frame.function->object);
		if (n->parent != REPORT_NO_STACK)
			jsonw_u64(to, "parent", before + c->of_node[n->parent]);
	}
}

static int put_nodes(struct chrome *c, struct json_writer *to, struct later *later)
{
	int rc = 0;

	for (uint32_t i = 1; i <= c->nr_nodes && rc == 0; i++) {
		put_node(c, to, i);
		rc = flush(c, later);
	}
	return rc;
}

/* --- a session ------------------------------------------------------------------------------- */

static int put_events(struct chrome *c)
{
	struct json_writer *json = &c->file->json;
	struct err *e = c->file->e;

	return put_names(c, e) ?:
	       chrome_put_regions(c->lane, &c->sorted, json, e) ?:
	       export_series_put(&c->series, json, e);
}

static void put_facts(struct chrome *c, struct json_writer *to)
{
	export_facts_put(to, c->o);
	export_facts_put_losses(to, c->j, &c->sorted.stats);
	export_series_put_notes(&c->series, to);
}

static void put_exporter(struct file *f)
{
	jsonw_text(&f->json, "exporter", "cpuperf_print " CPUPERF_VERSION);
}

/* All of the file, in order. */
static int put_alone(struct chrome *c)
{
	struct json_writer *to = &c->file->json;
	int rc = 0;

	JSONW_ARRAY(to, "traceEvents")
		rc = put_events(c);
	if (rc == 0 && c->sorted.spool) {
		JSONW_ARRAY(to, "samples")
			rc = put_samples(c, to, NULL);
		if (rc == 0) {
			JSONW_OBJECT(to, "stackFrames")
				rc = put_nodes(c, to, NULL);
		}
	}
	JSONW_OBJECT(to, "otherData") {
		put_exporter(c->file);
		put_facts(c, to);
	}
	return rc;
}

static void put_clock(struct chrome *c, struct json_writer *to)
{
	char text[EXPORT_LANE_NAME_BYTES];

	jsonw_text(to, "name", c->lane->name);
	jsonw_u64(to, "first_pid", export_lane_task(c->lane, 0));
	jsonw_text(to, "clock", export_lane_clock(c->lane, text));
}

/* The events of a job are an open array of the file. */
static int put_lane(struct chrome *c)
{
	struct file *f = c->file;
	int rc = put_events(c);

	if (rc == 0 && c->sorted.spool)
		rc = put_samples(c, &f->samples.json, &f->samples)
			 ?: put_nodes(c, &f->nodes.json, &f->nodes);
	JSONW_OBJECT(&f->hosts.json, NULL) {
		put_clock(c, &f->hosts.json);
		put_facts(c, &f->hosts.json);
	}
	f->nr_nodes += c->nr_nodes;
	return rc ?: later_flush(&f->hosts, f->e);
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

static int put_session(void *arg, struct export_lane *lane, struct err *e)
{
	struct chrome c = {.file = arg, .lane = lane, .j = &lane->j, .o = job_input(&lane->j)};
	int rc = c.o->facts->is_sampling ? read_samples(&c, e) : 0;

	buf_init(&c.same, LINE_BYTES);
	if (rc == 0)
		export_has_counters(c.j, c.o);
	rc = rc ?: export_series_init(&c.series, lane, e);
	if (rc == 0)
		rc = lane->name ? put_lane(&c) : put_alone(&c);
	export_series_fini(&c.series);
	export_sorted_fini(&c.sorted);
	buf_fini(&c.same);
	profile_lookup_free(c.lookup);
	mem_free(c.of_node);
	mem_free(c.node_of);
	return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

static int put_job(struct file *f)
{
	struct output *out = f->j->output;
	struct json_writer *to = &f->json;
	int rc = 0;

	JSONW_ARRAY(to, "traceEvents")
		rc = export_lanes(f->j, put_session, f, f->e);
	if (rc == 0 && inputs_are_sampled(f->j->inputs))
		rc = later_put(&f->samples, to, "samples", out, f->e)
			 ?: later_put(&f->nodes, to, "stackFrames", out, f->e);
	JSONW_OBJECT(to, "otherData") {
		put_exporter(f);
		rc = rc ?: later_put(&f->hosts, to, "hosts", out, f->e);
	}
	return rc;
}

int export_chrome(struct job *j, struct err *e)
{
	struct file f = {.j = j, .e = e};
	int rc = export_lanes_check_tasks(j, e);

	jsonw_init(&f.json, &j->output->text, false);
	later_init(&f.samples, false);
	later_init(&f.nodes, true);
	later_init(&f.hosts, false);
	if (rc == 0) {
		JSONW_OBJECT(&f.json, NULL) {
			jsonw_text(&f.json, "displayTimeUnit", "ns");
			rc = j->nr > 1 ? put_job(&f) : export_lanes(j, put_session, &f, e);
		}
		buf_addc(f.json.out, '\n');
	}
	later_fini(&f.samples);
	later_fini(&f.nodes);
	later_fini(&f.hosts);
	return rc;
}
