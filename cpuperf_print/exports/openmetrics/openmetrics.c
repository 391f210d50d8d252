/*
 * The counts of a session (expose/exposition.h), and the calls of regions. OpenMetrics: the sums up
 * to each iteration, at its end. Prometheus's classic text: the sums over all, without a time.
 */
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "counts/latency.h"
#include "exports/exports.h"
#include "exports/openmetrics/points.h"
#include "exports/openmetrics/regions.h"
#include "expose/exposition.h"
#include "screen/format.h"
#include "sizes.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_BYTES = 33 };

struct openmetrics_export {
	struct job *j;
	const struct input *opened;
	struct exposition x;
	struct points points;
	bool is_classic;
	uint64_t nr_iterations;
	char session[ID_BYTES], boot[ID_BYTES];
	struct sizes_sums sizes;
	int error; /* of latencies */
};

static void add_trace(void *arg, const struct profile_trace *trace)
{
	struct openmetrics_export *o = arg;

	for (size_t i = 0; i < trace->nr_histograms && !o->error; i++)
		o->error = counts_latency_add(&o->x.latencies, &trace->histograms[i], true);
	sizes_add(&o->sizes, trace);
}

static int flush(void *arg, struct err *e)
{
	const struct openmetrics_export *o = arg;

	return output_flush(o->j->output, e);
}

static int begin(struct openmetrics_export *o, const struct table *t)
{
	const struct profile_facts *f = o->opened->facts;
	struct exposition_config config = {
	    .events = f->events, .has_no_times = o->is_classic, .is_of_iterations = !o->is_classic};
	int rc;

	str_hex16(f->head.session_id, o->session);
	str_hex16(f->head.boot_id, o->boot);
	config.session = (struct exposition_session){
	    .session_id = o->session,
	    .boot_id = o->boot,
	    .host = input_host(o->opened),
	    .machine = f->head.machine,
	    .config_name = o->opened->config_name,
	    .kernel = f->info ? f->info->kernel : NULL,
	    .cpu_model = f->info ? f->info->cpu_model : NULL,
	    .tool = f->info ? f->info->tool : NULL,
	};
	if (o->is_classic) {
		config.flush = flush;
		config.arg = o;
	}
	rc = exposition_init(&o->x, &config, t);
	if (!o->is_classic) {
		o->x.m.on_line = points_add;
		o->x.m.arg = &o->points;
	}
	return rc;
}

/* Lines that are added to the points leave the text of the output. */
static int put(struct openmetrics_export *o, const struct table *t, struct err *e)
{
	return exposition_put(&o->x, t, &o->j->output->text, o->is_classic, e);
}

static int add(struct openmetrics_export *o, const struct table *t, struct err *e)
{
	int rc = exposition_add(&o->x, t) ?: o->error;

	o->nr_iterations++;
	if (rc == 0 && !o->is_classic)
		rc = put(o, t, e);
	return rc ?: e->code;
}

static int read_all(struct openmetrics_export *o, struct tables *tables, struct err *e)
{
	int rc = begin(o, tables->t), got = 1;

	while (rc == 0 && (got = tables_next(tables, e)) == 1)
		rc = add(o, tables->t, e);
	if (rc == -EFBIG && !e->code)
		return err_set(e, rc, "too many events, CPUs and things for this format");
	if (rc && !e->code)
		return err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	return rc ?: got < 0 ? got : 0;
}

static void put_class(struct openmetrics_export *o, size_t part, uint32_t class)
{
	struct openmetrics *m = &o->x.m;
	char from[ID_BYTES], to[ID_BYTES];

	snprintf(from, sizeof(from), "%" PRIu64, sizes_low(class));
	snprintf(to, sizeof(to), "%" PRIu64, sizes_high(class));
	openmetrics_begin(m);
	openmetrics_label(m, "from_bytes", from);
	openmetrics_label(m, "to_bytes", to);
	openmetrics_value(m);
	buf_u64(m->out, o->sizes.of[part][class]);
	openmetrics_end(m, o->x.sums.end_realtime_ns);
}

/* Allocations by size. */
static void put_sizes(struct openmetrics_export *o)
{
	static const struct {
		enum openmetrics_type type;
		const char *name, *unit, *help;
	} families[SIZES_NR_PARTS] = {
	    {OPENMETRICS_COUNTER, "cpuperf_heap_size_calls", "",
	     "Sampled allocations of a size, from from_bytes to to_bytes; with a rate above 1 "
	     "estimated."},
	    {OPENMETRICS_COUNTER, "cpuperf_heap_size_bytes", "bytes", "Bytes of these."},
	    {OPENMETRICS_GAUGE, "cpuperf_heap_size_live_calls", "",
	     "Of these, live at the end of the last iteration."},
	    {OPENMETRICS_GAUGE, "cpuperf_heap_size_live_bytes", "bytes", "Bytes of these."},
	};

	for (size_t k = 0; k < SIZES_NR_PARTS; k++) {
		if (!o->sizes.has_part[k])
			continue;
		openmetrics_family(&o->x.m, families[k].type, families[k].name, families[k].unit,
				   families[k].help);
		for (uint32_t i = 0; i < SIZES_NR_CLASSES; i++)
			if (sizes_has_class(&o->sizes, i))
				put_class(o, k, i);
	}
}

/* What is known only when all is read. */
static int put_rest(struct openmetrics_export *o, struct err *e)
{
	struct openmetrics *m = &o->x.m;

	openmetrics_family(
	    m, OPENMETRICS_GAUGE, "cpuperf_session_unread_parts", "",
	    "Damaged or missing parts of the session's files; their content is in no "
	    "number here.");
	openmetrics_begin(m);
	openmetrics_value(m);
	buf_u64(m->out, o->j->output->problems.nr_losses);
	openmetrics_end(m, o->x.sums.end_realtime_ns);
	put_sizes(o);
	return openmetrics_put_regions(m, o->j, o->opened, o->x.sums.end_realtime_ns, e);
}

static int put_all(struct openmetrics_export *o, const struct table *t, struct err *e)
{
	struct output *out = o->j->output;
	int rc = o->is_classic || !o->nr_iterations ? put(o, t, e) : 0;

	rc = rc ?: put_rest(o, e);
	if (!o->is_classic) {
		rc = rc ?: points_put(&o->points, out, e);
		openmetrics_eof(&o->x.m);
	}
	return rc ?: flush(o, e);
}

static int export(struct job *j, bool is_classic, struct err *e)
{
	struct openmetrics_export o = {.j = j, .opened = job_input(j), .is_classic = is_classic};
	struct tables tables;
	int rc;

	/* its damage is among the unread parts */
	if (input_has_common(o.opened) && inputs_load_processes(&j->inputs->item[j->first]))
		return err_set(e, -ENOMEM, "out of memory");
	rc = tables_open(&tables, j, o.opened, e);
	if (rc == 0 && !is_classic)
		rc = points_init(&o.points, e);
	tables.on_trace = add_trace;
	tables.arg = &o;
	rc = rc ?: read_all(&o, &tables, e) ?: put_all(&o, tables.t, e);
	if (rc == 0)
		screen_warn_metrics(tables.t, o.x.sums.summary, problems_log, NULL);
	tables_close(&tables);
	exposition_fini(&o.x);
	points_fini(&o.points);
	return rc;
}

int export_openmetrics(struct job *j, struct err *e)
{
	return export(j, false, e);
}

int export_prometheus(struct job *j, struct err *e)
{
	return export(j, true, e);
}
