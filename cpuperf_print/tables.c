#include "tables.h"

#include "base/err.h"
#include "counts/tally.h"
#include "profile/iterator.h"

#include <errno.h>
#include <string.h>

enum { SLICE_NS = 100000000, FINE_NS = 1000000 };

void tables_add_row(struct job *j, struct table *t, const struct profile_trace *trace)
{
	size_t row = t->nr_rows, nr = counts_tally_add(t, trace);

	if (profile_ranges_has(&j->selection->filter.cpus, trace->head.cpu))
		j->output->nr_records += nr + 1; /* and the Time record */
	else if (row == 0)
		counts_tally_clear_cpu(t, row);
	else
		t->nr_rows--;
}

int tables_open(struct tables *x, struct job *j, const struct input *o, struct err *e)
{
	*x = (struct tables){.j = j,
			     .iterations = &job_filter(j, o)->iterations,
			     .iterator = profile_iterator_new(o->session)};
	return counts_tally_new(o->facts, &o->spec.metric_set, &x->t, e);
}

void tables_close(struct tables *x)
{
	table_free(x->t);
	profile_iterator_free(x->iterator);
}

static void add_trace(struct tables *x)
{
	tables_add_row(x->j, x->t, &x->trace);
	if (x->on_trace && profile_ranges_has(&x->j->selection->filter.cpus, x->trace.head.cpu))
		x->on_trace(x->arg, &x->trace);
}

/* Reads the rest of the iteration. 1: reached a trace of the next one; 0: the end. */
static int read_iteration(struct tables *x)
{
	int rc;

	while ((rc = profile_iterator_next(x->iterator, &x->trace)) == 1) {
		if (!profile_ranges_has(x->iterations, x->trace.head.iteration))
			continue;
		if (counts_tally_is_next(x->t, &x->trace))
			return 1;
		add_trace(x);
	}
	return rc;
}

int tables_next(struct tables *x, struct err *e)
{
	int rc;

	x->t->nr_rows = 0;
	if (x->has_trace)
		add_trace(x);
	rc = read_iteration(x);
	x->has_trace = rc == 1;
	if (rc < 0)
		return err_set(e, rc, "cannot read further: %s", strerror(-rc));
	if (!x->t->nr_rows)
		return 0;
	table_total(x->t);
	return 1;
}

int tables_series(const struct job *j, const struct input *o, counts_series_fn *point, void *arg,
		  struct err *e)
{
	const struct counts_series_config config = {.session = o->session,
						    .metrics = &o->spec.metric_set,
						    .filter = &j->selection->filter,
						    .slice_ns = SLICE_NS,
						    .has_totals = true,
						    .slices = o->slices,
						    .cancel = j->inputs->cancel,
						    .point = point,
						    .arg = arg};

	return counts_series(&config, e);
}

int tables_lines(const struct job *j, const struct input *o, bool each_cpu,
		 void (*trace)(void *arg, const struct profile_trace *trace), void *arg,
		 struct counts_lines **out, struct err *e)
{
	struct counts_lines *lines =
	    counts_lines_new(o->facts->nr_events, &o->spec.metric_set, each_cpu,
			     o->facts->info ? o->facts->info->nr_cpus : 0);
	const struct counts_series_config config = {.session = o->session,
						    .metrics = &o->spec.metric_set,
						    .filter = &j->selection->filter,
						    .has_all_events = true,
						    .slice_ns = FINE_NS,
						    .from_sample_to_sample = true,
						    .point = counts_lines_add,
						    .arg = lines,
						    .trace = trace,
						    .trace_arg = arg};
	int rc = lines ? counts_series(&config, e) ?: counts_lines_end(lines) : -ENOMEM;

	if (rc == 0)
		*out = lines;
	else
		counts_lines_free(lines);
	return rc == -ENOMEM && !e->code ? err_set(e, rc, "out of memory") : rc;
}
