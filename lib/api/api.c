/*
 * The public interface, over the rooms.
 */
#include "api/fail.h"
#include "api/owned_spec.h"
#include "base/mem.h"
#include "counts/tally.h"
#include "cpuperf/cpuperf.h"
#include "profile/iterator.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <errno.h>
#include <string.h>

/* What both directions need to hand a table out. */
struct client {
	cpuperf_iteration_fn *fn;
	void *arg;
	struct cpuperf_error *e;      /* or NULL */
	struct table *table;          /* owned */
	struct cpuperf_event *events; /* owned */
	struct cpuperf_cell *cells;   /* owned; the totals behind the rows */
	const struct session *session;
	bool lost;
};

const char *cpuperf_version(void)
{
	return CPUPERF_VERSION;
}

static int client_init(struct client *c, struct table *t, size_t max_rows)
{
	c->table = t;
	c->events = mem_calloc(t->nr_columns, sizeof(*c->events));
	c->cells = mem_calloc(t->nr_columns, (max_rows + 1) * sizeof(*c->cells));
	if (!c->events || !c->cells)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct table_column *col = &t->columns[i];

		c->events[i] = (struct cpuperf_event){
		    .size = sizeof(c->events[i]),
		    .group = col->group,
		    .name = col->name,
		    .label = col->label,
		    .unit = col->unit,
		    .kind = col->metric ? CPUPERF_METRIC : (enum cpuperf_kind)col->kind,
		    .description = "",
		    .works = !col->reason,
		    .reason = col->reason};
	}
	return 0;
}

static void client_fini(struct client *c)
{
	mem_free(c->events);
	mem_free(c->cells);
	table_free(c->table);
}

static void add_cell(struct cpuperf_cell *out, const struct cell *c, const struct sampled *s)
{
	*out = (struct cpuperf_cell){.has_value = cell_has_value(c),
				     .state = cell_is_partial(c) && c->state == CELL_OK
						  ? "partial"
						  : cell_state_name(c->state),
				     .value = c->value,
				     .raw = c->raw,
				     .enabled_ns = c->enabled_ns,
				     .running_ns = c->running_ns,
				     .span_ns = c->span_ns,
				     .coverage = -1};
	if (!s || s->claim == SAMPLED_NONE)
		return;
	out->samples = s->n.samples;
	out->lost = s->n.lost;
	out->residual = s->residual;
	out->coverage = sampled_coverage(s);
}

/* Passes the table to the client, as an iteration. */
static int pass(struct client *c)
{
	const struct table *t = c->table;
	size_t nr = t->nr_rows * t->nr_columns;
	struct cpuperf_iteration it = {.number = t->iteration,
				       .start_ns = t->start_ns,
				       .end_ns = t->end_ns,
				       .nr_events = t->nr_columns,
				       .nr_cpus = t->nr_rows,
				       .events = c->events,
				       .cpus = t->row_cpu,
				       .cells = c->cells,
				       .totals = c->cells + nr};

	for (size_t i = 0; i < nr; i++)
		add_cell(&c->cells[i], &t->cells[i], t->sampled ? &t->sampled[i] : NULL);
	for (size_t i = 0; i < t->nr_columns; i++)
		add_cell(&c->cells[nr + i], &t->totals[i],
			 t->sampled ? &t->sampled_totals[i] : NULL);
	return c->fn ? c->fn(&it, c->arg) : 0;
}

static int on_iteration(const struct session_iteration *it, void *arg)
{
	struct client *c = arg;

	api_table_fill(c->table, c->session, it);
	return pass(c);
}

static int record_session(struct client *c, const struct plan *plan, struct session *s)
{
	struct err e = {0};
	struct table *t;
	int rc = api_table_new(s, &t, &e);

	if (rc)
		return api_fail(c->e, &e);
	c->session = s;
	rc = client_init(c, t, plan->nr_cpus);
	if (rc)
		err_set(&e, rc, "out of memory");
	else if (session_nr_working(s) == 0)
		rc = err_set(&e, -ENOTSUP, "none of the %zu event(s) can be measured here: %s",
			     plan->nr_events, session_event(s, 0)->support.reason);
	else
		rc = session_run(s, &e);
	client_fini(c);
	return rc ? api_fail(c->e, &e) : 0;
}

static int record_plan(struct client *c, struct plan *plan)
{
	struct session_config config = {.plan = plan,
					.tool = "libcpuperf " CPUPERF_VERSION,
					.on_iteration = on_iteration,
					.arg = c};
	struct err e = {0};
	struct session *s;
	int rc = session_open(&config, &s, &e);

	if (rc)
		return api_fail(c->e, &e);
	rc = record_session(c, plan, s);
	session_close(s);
	return rc;
}

int cpuperf_record(const char *spec_path, cpuperf_iteration_fn *fn, void *arg,
		   struct cpuperf_error *e)
{
	struct client c = {.fn = fn, .arg = arg, .e = e};
	struct cpuperf_spec *spec;
	struct plan plan;
	int rc = cpuperf_spec_load(&spec, spec_path, e);

	if (rc)
		return rc;
	rc = api_spec_plan(spec, &plan, e);
	if (rc == 0) {
		rc = record_plan(&c, &plan);
		plan_fini(&plan);
	}
	cpuperf_spec_free(spec);
	return rc;
}

static void add_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct client *c = arg;

	c->lost |= is_loss;
	if (is_loss)
		api_fail(c->e, problem);
}

static int end_iteration(struct client *c)
{
	int stop = 0;

	if (c->table->nr_rows) {
		table_total(c->table);
		stop = pass(c);
	}
	c->table->nr_rows = 0;
	return stop;
}

static int read_traces(struct client *c, struct profile_session *s)
{
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace trace;
	bool is_stopped = false;
	int rc;

	while ((rc = profile_iterator_next(it, &trace)) == 1 && !is_stopped) {
		is_stopped = counts_tally_is_next(c->table, &trace) && end_iteration(c);
		if (!is_stopped)
			counts_tally_add(c->table, &trace);
	}
	profile_iterator_free(it);
	if (rc == 0 && !is_stopped)
		end_iteration(c);
	return is_stopped ? 0 : rc;
}

static int read_tables(struct client *c, struct profile_session *s, const struct spec *spec)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct err e = {0};
	struct table *t;
	int rc = counts_tally_new(facts, &spec->metric_set, &t, &e);

	if (rc)
		return api_fail(c->e, &e);
	rc = client_init(c, t, facts->max_rows) ?: read_traces(c, s);
	client_fini(c);
	if (rc)
		return api_fail(c->e, &(struct err){.code = rc, .msg = "out of memory"});
	return c->lost ? -EBADMSG : 0;
}

/* With the metrics of the spec that the traces hold. */
static int read_session(struct client *c, struct profile_session *s)
{
	const struct profile_facts *facts = profile_session_facts(s);
	ERR_AUTO_LIST *errs = err_list_new();
	struct spec spec;
	int rc = 0;

	if (!errs)
		return api_fail_memory(c->e);
	spec_init(&spec);
	if (facts->info)
		rc = spec_parse_metrics(facts->info->spec_json, facts->nr_events, &spec, errs);
	if (rc)
		api_fail_list(c->e, errs, rc);
	c->lost |= rc != 0;
	rc = read_tables(c, s, &spec);
	spec_fini(&spec);
	return rc;
}

static int read_manifest(struct client *c, const char *path, const struct cpsession *m)
{
	struct profile_manifest manifest = {.path = path,
					    .output_path_prefix = m->output_path_prefix,
					    .num_iterations = m->num_iterations,
					    .num_traces = m->num_traces,
					    .session_id = m->session_id,
					    .is_recording = *m->state != '\0'};
	struct profile_session *s;
	struct err e = {0};
	int rc = profile_session_open(&manifest, add_problem, c, &s, &e);

	if (rc)
		return api_fail(c->e, &e);
	rc = read_session(c, s);
	profile_session_close(s);
	return rc;
}

int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
		 struct cpuperf_error *e)
{
	struct client c = {.fn = fn, .arg = arg, .e = e};
	ERR_AUTO_LIST *errs = err_list_new();
	struct cpsession manifest;
	int rc;

	api_fail_clear(e);
	if (!errs)
		return api_fail_memory(e);
	cpsession_init(&manifest);
	rc = cpsession_load(cpsession_path, &manifest, errs);
	rc = rc ? api_fail_list(c.e, errs, rc) : read_manifest(&c, cpsession_path, &manifest);
	cpsession_fini(&manifest);
	return rc;
}
