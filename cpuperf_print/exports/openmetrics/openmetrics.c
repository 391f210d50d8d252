/*
 * The counts of a session as OpenMetrics, the sums over all iterations (expose/exposition.h), and
 * the calls of regions.
 */
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "counts/latency.h"
#include "exports/exports.h"
#include "exports/openmetrics/regions.h"
#include "expose/exposition.h"
#include "screen/format.h"
#include "tables.h"

#include <errno.h>
#include <string.h>

enum { ID_BYTES = 33 };

struct openmetrics_export {
	struct job *j;
	const struct input *opened;
	struct exposition x;
	char session[ID_BYTES], boot[ID_BYTES];
	int error; /* of latencies */
};

static void add_latencies(void *arg, const struct profile_trace *trace)
{
	struct openmetrics_export *o = arg;

	for (size_t i = 0; i < trace->nr_histograms && !o->error; i++)
		o->error = counts_latency_add(&o->x.latencies, &trace->histograms[i], true);
}

static int flush(void *arg, struct err *e)
{
	const struct openmetrics_export *o = arg;

	return output_flush(o->j->output, e);
}

static int begin(struct openmetrics_export *o, const struct table *t)
{
	const struct profile_facts *f = o->opened->facts;
	struct exposition_config config = {.events = f->events, .flush = flush, .arg = o};

	str_hex16(f->head.session_id, o->session);
	str_hex16(f->head.boot_id, o->boot);
	config.session = (struct exposition_session){
	    .session_id = o->session,
	    .boot_id = o->boot,
	    .host = f->head.host,
	    .machine = f->head.machine,
	    .config_name = o->opened->config_name,
	    .kernel = f->info ? f->info->kernel : NULL,
	    .cpu_model = f->info ? f->info->cpu_model : NULL,
	    .tool = f->info ? f->info->tool : NULL,
	};
	return exposition_init(&o->x, &config, t);
}

static int read_all(struct openmetrics_export *o, struct tables *tables, struct err *e)
{
	int rc = begin(o, tables->t), got = 1;

	while (rc == 0 && (got = tables_next(tables, e)) == 1)
		rc = sums_add(&o->x.sums, tables->t) ?: o->error;
	if (rc == -EFBIG)
		return err_set(e, rc, "too many events, CPUs and things for this format");
	if (rc)
		return err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	return got < 0 ? got : 0;
}

static int put_all(struct openmetrics_export *o, const struct table *t, struct err *e)
{
	int rc;

	o->x.config.session.nr_unread = o->j->output->problems.nr_losses;
	rc = exposition_put(&o->x, t, &o->j->output->text, false, e)
		 ?: openmetrics_put_regions(&o->x.m, o->j, o->opened, o->x.sums.end_realtime_ns, e);
	openmetrics_eof(&o->x.m);
	return rc ?: flush(o, e);
}

int export_openmetrics(struct job *j, struct err *e)
{
	struct openmetrics_export o = {.j = j, .opened = job_input(j)};
	struct tables tables;
	int rc;

	/* its damage is among the unread parts */
	if (input_has_common(o.opened) && inputs_load_processes(&j->inputs->item[j->first]))
		return err_set(e, -ENOMEM, "out of memory");
	rc = tables_open(&tables, j, o.opened, e);
	tables.on_trace = add_latencies;
	tables.arg = &o;
	rc = rc ?: read_all(&o, &tables, e) ?: put_all(&o, tables.t, e);
	if (rc == 0)
		screen_warn_metrics(tables.t, o.x.sums.summary, problems_log, NULL);
	tables_close(&tables);
	exposition_fini(&o.x);
	return rc;
}
