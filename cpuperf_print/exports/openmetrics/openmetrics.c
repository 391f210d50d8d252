/*
 * The counts of a session (expose/exposition.h), and the calls of regions. OpenMetrics: the sums up
 * to each iteration, at its end. Prometheus's classic text: the sums over all, without a time. Of a
 * job each line has its host.
 */
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "counts/latency.h"
#include "exports/exports.h"
#include "exports/lanes.h"
#include "exports/openmetrics/functions.h"
#include "exports/openmetrics/points.h"
#include "exports/openmetrics/regions.h"
#include "expose/exposition.h"
#include "screen/format.h"
#include "sizes.h"
#include "tables.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_BYTES = 33 };

/* The file. */
struct file {
	struct job *j;
	struct points points;
	bool is_classic;
	bool has_points; /* lines are sorted: those of a family must be adjacent */
	uint64_t end_ns; /* of the last session that ended */
};

/* A session in it. */
struct openmetrics_export {
	struct file *file;
	const struct export_lane *lane;
	struct job *j; /* of the lane */
	const struct input *opened;
	struct exposition x;
	bool is_classic;
	uint64_t nr_iterations;
	char rank[ID_BYTES];
	char session[ID_BYTES], boot[ID_BYTES];
	struct sizes_sums sizes;
	struct counts_functions functions; /* of all iterations */
	int error;                         /* of latencies and functions */
};

static void add_trace(void *arg, const struct profile_trace *trace)
{
	struct openmetrics_export *o = arg;

	for (size_t i = 0; i < trace->nr_histograms && !o->error; i++)
		o->error = counts_latency_add(&o->x.latencies, &trace->histograms[i], true);
	o->error = o->error ?: export_add_functions(&o->functions, trace);
	sizes_add(&o->sizes, trace);
}

static int flush(void *arg, struct err *e)
{
	const struct openmetrics_export *o = arg;

	return output_flush(o->j->output, e);
}

static void label_lines(struct openmetrics_export *o)
{
	const uint32_t rank = input_rank(o->opened);

	o->x.m.shared[0] = (struct openmetrics_shared){"host", input_host(o->opened)};
	if (rank == TRACE_UNKNOWN)
		return;
	snprintf(o->rank, sizeof(o->rank), "%" PRIu32, rank);
	o->x.m.shared[1] = (struct openmetrics_shared){"rank", o->rank};
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
	    .host = o->lane->name ? NULL : input_host(o->opened), /* each line has it */
	    .machine = f->head.machine,
	    .config_name = o->opened->config_name,
	    .kernel = f->info ? f->info->kernel : NULL,
	    .cpu_model = f->info ? f->info->cpu_model : NULL,
	    .tool = f->info ? f->info->tool : NULL,
	};
	if (!o->file->has_points) {
		config.flush = flush;
		config.arg = o;
	}
	rc = exposition_init(&o->x, &config, t);
	if (o->file->has_points) {
		o->x.m.on_line = points_add;
		o->x.m.arg = &o->file->points;
	}
	if (o->lane->name)
		label_lines(o);
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

/* As the clock of who started the job was then. */
static void correct_time(const struct openmetrics_export *o, struct table *t)
{
	if (o->lane->clock.is_compared && t->realtime_ns)
		t->realtime_ns -= (uint64_t)o->opened->part->clock_offset_ns;
}

static int read_all(struct openmetrics_export *o, struct tables *tables, struct err *e)
{
	int rc = begin(o, tables->t), got = 1;

	while (rc == 0 && (got = tables_next(tables, e)) == 1) {
		correct_time(o, tables->t);
		rc = add(o, tables->t, e);
	}
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
	    [SIZES_CALLS] =
		{OPENMETRICS_COUNTER, "cpuperf_heap_size_calls", "",
		 "Sampled allocations of a size, from from_bytes to to_bytes; with a rate above 1 "
		 "estimated."},
	    [SIZES_BYTES] = {OPENMETRICS_COUNTER, "cpuperf_heap_size_bytes", "bytes",
			     "Bytes of these."},
	    [SIZES_LIVE_CALLS] = {OPENMETRICS_GAUGE, "cpuperf_heap_size_live_calls", "",
				  "Of these, live at the end of the last iteration."},
	    [SIZES_LIVE_BYTES] = {OPENMETRICS_GAUGE, "cpuperf_heap_size_live_bytes", "bytes",
				  "Bytes of these."},
	};

	for (size_t k = 0; k < SIZES_NR_PARTS; k++) {
		if (!o->sizes.has_part[k] || !families[k].name)
			continue;
		openmetrics_family(&o->x.m, families[k].type, families[k].name, families[k].unit,
				   families[k].help);
		for (uint32_t i = 0; i < SIZES_NR_CLASSES; i++)
			if (sizes_has_class(&o->sizes, i))
				put_class(o, k, i);
	}
}

/* Of all that was read. */
static void put_unread(struct openmetrics *m, const struct job *j, uint64_t time_ns)
{
	openmetrics_family(
	    m, OPENMETRICS_GAUGE, "cpuperf_session_unread_parts", "",
	    "Damaged or missing parts of the session's files; their content is in no "
	    "number here.");
	openmetrics_begin(m);
	openmetrics_value(m);
	buf_u64(m->out, j->output->problems.nr_losses);
	openmetrics_end(m, time_ns);
}

/* What is known only when all is read. */
static int put_rest(struct openmetrics_export *o, struct err *e)
{
	struct openmetrics *m = &o->x.m;

	if (!o->lane->name)
		put_unread(m, o->j, o->x.sums.end_realtime_ns);
	put_sizes(o);
	return openmetrics_put_functions(m, o->j, o->opened, &o->functions,
					 o->x.sums.end_realtime_ns, e)
		   ?: openmetrics_put_regions(m, o->j, o->opened, o->x.sums.end_realtime_ns, e);
}

static int put_lane(void *arg, struct export_lane *lane, struct err *e)
{
	struct file *f = arg;
	struct openmetrics_export o = {.file = f,
				       .lane = lane,
				       .j = &lane->j,
				       .opened = job_input(&lane->j),
				       .is_classic = f->is_classic};
	struct input *input = &lane->j.inputs->item[lane->j.first];
	struct tables tables;
	int rc;

	/* its damage is among the unread parts */
	if (input_has_common(o.opened) && inputs_load_processes(input))
		return err_set(e, -ENOMEM, "out of memory");
	rc = tables_open(&tables, o.j, o.opened, e);
	tables.on_trace = add_trace;
	tables.arg = &o;
	rc = rc ?: read_all(&o, &tables, e);
	if (rc == 0 && (o.is_classic || !o.nr_iterations))
		rc = put(&o, tables.t, e);
	rc = rc ?: put_rest(&o, e);
	if (rc == 0)
		screen_warn_metrics(tables.t, o.x.sums.summary, problems_log, NULL);
	if (o.x.sums.end_realtime_ns > f->end_ns)
		f->end_ns = o.x.sums.end_realtime_ns;
	tables_close(&tables);
	exposition_fini(&o.x);
	counts_functions_fini(&o.functions);
	inputs_end_names(lane->j.inputs, input);
	return rc ?: output_flush(f->j->output, e);
}

static int export(struct job *j, bool is_classic, struct err *e)
{
	struct file f = {.j = j, .is_classic = is_classic, .has_points = !is_classic || j->nr > 1};
	struct openmetrics end = {.out = &j->output->text,
				  .is_classic = is_classic,
				  .has_no_times = is_classic,
				  .on_line = points_add,
				  .arg = &f.points};
	int rc = f.has_points ? points_init(&f.points, e) : 0;

	rc = rc ?: export_lanes(j, put_lane, &f, e);
	if (rc == 0 && j->nr > 1)
		put_unread(&end, j, f.end_ns);
	if (rc == 0 && f.has_points)
		rc = points_put(&f.points, j->output, e);
	if (rc == 0 && !is_classic)
		openmetrics_eof(&end);
	points_fini(&f.points);
	return rc ?: output_flush(j->output, e);
}

int export_openmetrics(struct job *j, struct err *e)
{
	return export(j, false, e);
}

int export_prometheus(struct job *j, struct err *e)
{
	return export(j, true, e);
}
