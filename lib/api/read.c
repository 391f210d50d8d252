/*
 * Saved sessions as iterations.
 */
#include "api/fail.h"
#include "api/iteration.h"
#include "counts/tally.h"
#include "profile/iterator.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <errno.h>

/* One reading of a session. */
struct reader {
	struct api_feed feed;
	struct cpuperf_error *e; /* or NULL */
	struct table *table;     /* owned */
	bool lost;               /* a part is missing */
};

static void add_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct reader *r = arg;

	r->lost |= is_loss;
	if (is_loss)
		api_fail(r->e, problem);
}

static int end_iteration(struct reader *r)
{
	int stop = 0;

	if (r->table->nr_rows) {
		table_total(r->table);
		stop = api_feed_pass(&r->feed);
	}
	r->table->nr_rows = 0;
	return stop;
}

static int read_traces(struct reader *r, struct profile_session *s)
{
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace trace;
	bool is_stopped = false;
	int rc;

	while ((rc = profile_iterator_next(it, &trace)) == 1 && !is_stopped) {
		is_stopped = counts_tally_is_next(r->table, &trace) && end_iteration(r);
		if (!is_stopped)
			counts_tally_add(r->table, &trace);
	}
	profile_iterator_free(it);
	if (rc == 0 && !is_stopped)
		end_iteration(r);
	return is_stopped ? 0 : rc;
}

static int read_tables(struct reader *r, struct profile_session *s, const struct spec *spec)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct err e = {0};
	int rc = counts_tally_new(facts, &spec->metric_set, &r->table, &e);

	if (rc)
		return api_fail(r->e, &e);
	rc = api_feed_init(&r->feed, r->table, facts->max_rows) ?: read_traces(r, s);
	api_feed_fini(&r->feed);
	table_free(r->table);
	if (rc)
		return api_fail(r->e, &(struct err){.code = rc, .msg = "out of memory"});
	return r->lost ? -EBADMSG : 0;
}

/* With the metrics of the spec that the traces hold. */
static int read_session(struct reader *r, struct profile_session *s)
{
	const struct profile_facts *facts = profile_session_facts(s);
	ERR_AUTO_LIST *errs = err_list_new();
	struct spec spec;
	int rc = 0;

	if (!errs)
		return api_fail_memory(r->e);
	spec_init(&spec);
	if (facts->info)
		rc = spec_parse_metrics(facts->info->spec_json, facts->nr_events, &spec, errs);
	if (rc)
		api_fail_list(r->e, errs, rc);
	r->lost |= rc != 0;
	rc = read_tables(r, s, &spec);
	spec_fini(&spec);
	return rc;
}

static int read_manifest(struct reader *r, const char *path, const struct cpsession *m)
{
	struct profile_manifest manifest = {.path = path,
					    .output_path_prefix = m->output_path_prefix,
					    .num_iterations = m->num_iterations,
					    .num_traces = m->num_traces,
					    .session_id = m->session_id,
					    .is_recording = *m->state != '\0'};
	struct profile_session *s;
	struct err e = {0};
	int rc = profile_session_open(&manifest, add_problem, r, &s, &e);

	if (rc)
		return api_fail(r->e, &e);
	rc = read_session(r, s);
	profile_session_close(s);
	return rc;
}

int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
		 struct cpuperf_error *e)
{
	struct reader r = {.feed = {.fn = fn, .arg = arg}, .e = e};
	ERR_AUTO_LIST *errs = err_list_new();
	struct cpsession manifest;
	int rc;

	api_fail_clear(e);
	if (!errs)
		return api_fail_memory(e);
	cpsession_init(&manifest);
	rc = cpsession_load(cpsession_path, &manifest, errs);
	rc = rc ? api_fail_list(r.e, errs, rc) : read_manifest(&r, cpsession_path, &manifest);
	cpsession_fini(&manifest);
	return rc;
}
