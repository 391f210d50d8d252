/*
 * Saved sessions as iterations.
 */
#include "api/fail.h"
#include "api/iteration.h"
#include "api/saved.h"
#include "counts/tally.h"
#include "profile/iterator.h"
#include "spec/spec.h"

#include <errno.h>

/* One reading of a session. */
struct reader {
	struct api_feed feed;
	struct api_saved saved;
	struct table *table; /* owned */
};

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
		return api_fail(r->saved.e, &e);
	rc = api_feed_init(&r->feed, r->table, facts->max_rows) ?: read_traces(r, s);
	api_feed_fini(&r->feed);
	table_free(r->table);
	if (rc)
		return api_fail(r->saved.e, &(struct err){.code = rc, .msg = "out of memory"});
	return r->saved.is_damaged ? -EBADMSG : 0;
}

/* With the metrics of the spec that the traces hold. */
static int read_session(struct reader *r, struct profile_session *s)
{
	const struct profile_facts *facts = profile_session_facts(s);
	ERR_AUTO_LIST *errs = err_list_new();
	struct spec spec;
	int rc = 0;

	if (!errs)
		return api_fail_memory(r->saved.e);
	spec_init(&spec);
	if (facts->info)
		rc = spec_parse_stored(facts->info->spec_json, facts->nr_events, &spec, errs);
	if (rc)
		api_fail_list(r->saved.e, errs, rc);
	r->saved.is_damaged |= rc != 0;
	rc = read_tables(r, s, &spec);
	spec_fini(&spec);
	return rc;
}

int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
		 struct cpuperf_error *e)
{
	struct reader r = {.feed = {.fn = fn, .arg = arg}};
	int rc;

	api_fail_clear(e);
	rc = api_saved_open(&r.saved, cpsession_path, e) ?: read_session(&r, r.saved.session);
	api_saved_close(&r.saved);
	return rc;
}
