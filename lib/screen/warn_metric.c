/*
 * Warnings about metrics beyond a limit of the spec: where and when.
 */
#include "base/buf.h"
#include "base/err.h"
#include "screen/format.h"

#include <errno.h>
#include <inttypes.h>

enum { MAX_TEXT_BYTES = 65536, MAX_CPUS_BYTES = 60 };

/* The list of CPUs, or their number if it is long. */
static void add_cpus(struct buf *out, const struct cpuset *cpus)
{
	size_t nr = cpuset_count(cpus);
	BUF_AUTO(list, MAX_TEXT_BYTES);

	cpuset_format(cpus, &list);
	if (list.len > MAX_CPUS_BYTES)
		buf_printf(out, " on %zu CPUs", nr);
	else
		buf_printf(out, " on CPU%s %s", nr == 1 ? "" : "s", buf_str(&list));
}

/* Nothing for a number of the whole machine. */
static void add_place(struct buf *out, const struct table_column *c, const struct cpuset *cpus)
{
	if (cpuset_count(cpus) && c->scope != EVENT_SCOPE_SYSTEM)
		add_cpus(out, cpus);
	else if (c->scope != EVENT_SCOPE_SYSTEM || c->is_total_only)
		buf_adds(out, " over all CPUs");
}

static void add_iterations(struct buf *out, const struct table_beyond *b)
{
	buf_adds(out, b->nr_iterations == 1 ? ", in iteration" : ", in iterations");
	for (size_t i = 0; i < b->nr_spans; i++) {
		buf_printf(out, "%s %" PRIu32, i ? "," : "", b->span[i].first);
		if (b->span[i].first < b->span[i].last)
			buf_printf(out, "-%" PRIu32, b->span[i].last);
	}
	if (b->nr_in_spans < b->nr_iterations)
		buf_printf(out, " and %" PRIu64 " more", b->nr_iterations - b->nr_in_spans);
}

static void warn_beyond(const struct table_column *c, const char *where,
			const struct metric_limit *limit, const struct table_beyond *b,
			screen_warn_fn *fn, void *arg)
{
	struct err e = {0};
	BUF_AUTO(text, MAX_TEXT_BYTES);

	if (!b->nr_iterations)
		return;
	add_place(&text, c, &b->cpus);
	add_iterations(&text, b);
	err_set(&e, -ERANGE, "%s: %s %s%s", c->label, where, limit->text, buf_str(&text));
	fn(arg, &e);
}

void screen_warn_metrics(const struct table *t, const struct table_summary *sum, screen_warn_fn *fn,
			 void *arg)
{
	for (size_t i = t->nr_events; i < t->nr_columns; i++) {
		const struct table_column *c = &t->columns[i];
		const struct column_summary *s = &sum->column[i];

		warn_beyond(c, "below", &c->metric->warn_below, &s->low, fn, arg);
		warn_beyond(c, "above", &c->metric->warn_above, &s->high, fn, arg);
	}
}
