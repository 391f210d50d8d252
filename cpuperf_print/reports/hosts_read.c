/*
 * Reads the counts of a job's parts, one after the other.
 */
#include "reports/hosts_read.h"

#include "base/err.h"
#include "base/mem.h"
#include "estimate/unit.h"
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A part that is being read. */
struct commands {
	double wall_ns, cpu_ns; /* of its commands that ended */
	bool has_ended;
};

static void add_target(void *arg, const struct profile_trace *trace)
{
	const struct trace_target *t = trace->target;
	struct commands *r = arg;

	if (!t || !(t->flags & TRACE_TARGET_IS_COMMAND) || !(t->flags & TRACE_TARGET_HAS_ENDED))
		return;
	r->has_ended = true;
	r->wall_ns += t->end_ns > t->start_ns ? (double)(t->end_ns - t->start_ns) : 0;
	r->cpu_ns += (double)t->user_ns + (double)t->system_ns;
}

static double total_of(const struct column_summary *c)
{
	return (double)c->sum + c->real_sum;
}

/* Of a sum: what varied from iteration to iteration; at least what varies where things are counted,
 * and what was not counted while other events had the counter. Waits differ in length: each is one
 * thing, however long. */
static double variance_of(const struct table_column *column, const struct column_summary *c)
{
	const double total = total_of(c), deviation = spread_deviation(&c->spread);
	const double running = c->min_running > 0 ? c->min_running : 1;
	const double samples = (double)c->sampled.n.samples;
	double least = total > 0 ? total + total * (1 - running) / running : 0;

	if (strcmp(column->group, "sched") == 0 && strcmp(column->unit, "ns") == 0)
		least = 2 * total * total / fmax(samples, 1);

	return fmax(deviation * deviation * (double)c->spread.nr, least);
}

static struct outliers_item item_of(const struct table_column *column,
				    const struct column_summary *c, double seconds)
{
	const double deviation = spread_deviation(&c->spread), nr = (double)c->spread.nr;
	const struct unit u = unit_shown(column->kind, column->unit);
	struct outliers_item item = {.value = NAN};

	if (!c->spread.nr)
		return item;
	if (column->metric || column->kind != EVENT_COUNT) {
		item.value = c->spread.mean;
		item.variance = deviation * deviation / nr;
	} else if (seconds > 0) {
		item.value = total_of(c) / seconds / u.divisor;
		item.variance =
		    variance_of(column, c) / (seconds * seconds * u.divisor * u.divisor);
	}
	return item;
}

/* Of a target that went on: what its clock counted. */
static double cpu_of(const struct table *t, const struct table_summary *s)
{
	for (size_t i = 0; i < t->nr_events; i++)
		if (strcmp(t->columns[i].group, "software") == 0 &&
		    strcmp(t->columns[i].name, "task_clock") == 0 && s->column[i].spread.nr)
			return total_of(&s->column[i]);
	return NAN;
}

static int set_part(struct hosts_read_part *p, const struct table *t, const struct table_summary *s,
		    const struct commands *r)
{
	const double seconds = (double)s->measured_ns / 1e9;

	p->wall_ns = r->has_ended ? r->wall_ns : (double)s->measured_ns;
	p->cpu_ns = r->has_ended ? r->cpu_ns : cpu_of(t, s);
	p->columns = mem_calloc(t->nr_columns + 1, sizeof(*p->columns));
	if (!p->columns)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_columns; i++)
		p->columns[i] = item_of(&t->columns[i], &s->column[i], seconds);
	return 0;
}

static int read_tables(struct tables *x, struct table_summary *s, struct err *e)
{
	int rc;

	while ((rc = tables_next(x, e)) == 1)
		table_summary_add(s, x->t);
	return rc;
}

static int read_part(struct job *j, const struct input *o, struct hosts_read *h,
		     struct hosts_read_part *p, struct err *e)
{
	struct table_summary *s = NULL;
	struct commands r = {.has_ended = false};
	struct tables x;
	int rc = tables_open(&x, j, o, e);

	x.on_trace = add_target;
	x.arg = &r;
	if (rc == 0) {
		s = table_summary_new(x.t->nr_columns);
		rc = s ? read_tables(&x, s, e) : err_set(e, -ENOMEM, "out of memory");
	}
	if (s && rc == 0 && set_part(p, x.t, s, &r))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && !h->table) {
		h->table = x.t;
		x.t = NULL;
	}
	table_summary_free(s);
	tables_close(&x);
	return rc;
}

int hosts_read_all(struct job *j, struct hosts_read *out, struct err *e)
{
	int rc = 0;

	*out = (struct hosts_read){.nr = j->nr};
	out->part = mem_calloc(j->nr + 1, sizeof(*out->part));
	if (!out->part)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < j->nr && rc == 0; i++)
		rc = read_part(j, &j->inputs->item[j->first + i], out, &out->part[i], e);
	return rc;
}

void hosts_read_free(struct hosts_read *h)
{
	for (size_t i = 0; i < h->nr && h->part; i++)
		mem_free(h->part[i].columns);
	mem_free(h->part);
	table_free(h->table);
}
