/*
 * Warnings of a job.
 */
#include "job.h"

#include "base/array.h"
#include "base/err.h"
#include "registry.h"

#include <errno.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

static void add_option(struct buf *b, bool is_given, const char *option)
{
	if (is_given)
		buf_printf(b, "%s%s", b->len ? ", " : "", option);
}

void job_warn_ignored(struct job *j, unsigned ignored)
{
	const struct profile_filter *f = &j->selection->filter;
	const struct report_rules *r = &j->selection->rules;
	struct err problem = {0};
	BUF_AUTO(b, LINE_BYTES);

	if (ignored & REGISTRY_IGNORES_TASKS) {
		add_option(&b, f->pids.nr, "--pid");
		add_option(&b, f->tids.nr, "--tid");
		add_option(&b, f->trees.nr, "--tree-of");
		add_option(&b, f->comms.nr, "--comm");
		add_option(&b, f->cmdlines.nr, "--cmdline");
		add_option(&b, f->regions.nr, "--region");
		add_option(&b, r->nr_only, "--only");
	}
	add_option(&b, ignored & REGISTRY_IGNORES_EVENTS && f->events.nr, "--event");
	add_option(&b, ignored & REGISTRY_IGNORES_TIMES && f->from_ns, "--from");
	add_option(&b, ignored & REGISTRY_IGNORES_TIMES && f->to_ns, "--to");
	if (b.len) {
		err_set(&problem, -ENOTSUP, "--%s=%s: counts are not filtered by %s",
			registry_option(j->row), j->row->name, buf_str(&b));
		problems_add(&j->output->problems, false, &problem);
	}
	buf_reset(&b);
	if (ignored & REGISTRY_IGNORES_NAMES) {
		add_option(&b, r->nr_merge, "--merge");
		add_option(&b, r->merge_object, "--merge-object");
		add_option(&b, r->nr_split, "--split");
		add_option(&b, r->nr_hide, "--hide");
		add_option(&b, j->selection->root, "--group-by");
		add_option(&b, j->selection->with_wakers, "--wakers");
		add_option(&b, r->nr_only, "--only");
	}
	if (b.len) {
		err_set(&problem, -ENOTSUP,
			"--output-format=%s ignores %s: it holds samples as they were recorded",
			j->row->name, buf_str(&b));
		problems_add(&j->output->problems, false, &problem);
	}
}

void job_warn_aggregated(struct job *j)
{
	const struct profile_facts *f = job_input(j)->facts;
	const struct registry_row *row =
	    j->output->format->lists_samples ? j->output->format : j->row;
	struct err problem = {0};
	size_t i = 0;

	while (i < f->nr_events && !(f->events[i].flags & TRACE_EVENT_AGGREGATED))
		i++;
	if (i == f->nr_events || !row->lists_samples)
		return;
	err_set(&problem, -ENOTSUP,
		"%s: its samples were added up by stack: --%s=%s shows none of these",
		f->events[i].label, registry_option(row), row->name);
	problems_add(&j->output->problems, false, &problem);
}

static bool omits_latencies(const struct registry_row *row)
{
	return row->omits_latencies;
}

static bool omits_functions(const struct registry_row *row)
{
	return row->omits_latencies || row->omits_functions;
}

static bool prints_latencies(const struct registry_row *row)
{
	return row->kind == REGISTRY_EXPORT && !omits_latencies(row) && row->diff != REGISTRY_DIFF;
}

static bool prints_functions(const struct registry_row *row)
{
	return prints_latencies(row) && !omits_functions(row);
}

/* Groups of events that not each format prints. */
static const struct omitted {
	const char *group, *what, *report;
	bool (*omits)(const struct registry_row *row);
	registry_match_fn *prints;
} omitted[] = {
    {"latency", "latencies", "latency", omits_latencies, prints_latencies},
    {"function", "functions", "functions", omits_functions, prints_functions},
};

static void warn_omitted(struct job *j, const struct omitted *o)
{
	const struct profile_facts *f = job_input(j)->facts;
	const struct registry_row *row = o->omits(j->output->format) ? j->output->format : j->row;
	char names[REGISTRY_NAMES_BYTES];
	struct err problem = {0};

	if (!o->omits(row) ||
	    !ARRAY_ANY(ev, f->events, f->nr_events, strcmp(ev->group, o->group) == 0))
		return;
	err_set(&problem, -ENOTSUP, "--%s=%s omits %s: --report=%s prints them",
		registry_option(row), row->name, o->what, o->report);
	err_hint(&problem, "formats with %s: %s", o->what, registry_names(names, o->prints));
	problems_add(&j->output->problems, false, &problem);
}

void job_warn_omitted(struct job *j)
{
	for (size_t i = 0; i < ARRAY_NR(omitted); i++)
		warn_omitted(j, &omitted[i]);
}
