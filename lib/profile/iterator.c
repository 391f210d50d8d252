/*
 * A position in the list of a session's files, and the trace that was read there.
 */
#include "profile/iterator.h"

#include "base/mem.h"
#include "base/order.h"
#include "profile/load.h"
#include "profile/records.h"
#include "profile/samples.h"
#include "profile/session_internal.h"

#include <errno.h>

struct profile_iterator {
	const struct profile_session *session;
	size_t at; /* next file */
	char name[NAME_MAX + 1];
	struct trace_events session_events; /* borrowed */
	struct profile_load load;
	struct trace_sampling counted; /* of a trace without an end */
	struct trace_sampled *sums;    /* owned, as its items; by event; NULL: not needed so far */
};

struct profile_iterator *profile_iterator_new(const struct profile_session *s)
{
	const struct profile_facts *facts = profile_session_facts(s);
	const struct profile_faults faults = profile_session_faults(s, NULL);
	struct profile_iterator *it = mem_zalloc(sizeof(*it));

	if (!it)
		return NULL;
	it->session = s;
	it->session_events.item = (struct trace_event *)facts->events;
	it->session_events.nr = facts->nr_events;
	if (profile_load_init(&it->load, &it->session_events, &faults) == 0)
		return it;
	mem_free(it);
	return NULL;
}

void profile_iterator_free(struct profile_iterator *it)
{
	if (!it)
		return;
	profile_load_fini(&it->load);
	mem_free(it->sums);
	mem_free(it);
}

/* What is wrong with the file is reported already. */
static void ignore(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

static void add_sample(struct profile_iterator *it, const struct profile_sample *s)
{
	struct profile_trace *t = &it->load.trace;
	struct trace_sampled *sum;

	if (s->id->event >= it->session_events.nr)
		return;
	sum = &it->sums[s->id->event];
	sum->samples += s->samples;
	sum->weight += s->weight;
	sum->idle += s->record.tid == 0 ? s->samples : 0;
	if (s->end_ns > t->end_ns)
		t->end_ns = s->end_ns;
}

/* The totals that the recorder writes at the end, of a trace that it did not end: of a session that
 * was killed. What was lost is not known. */
static int count_samples(struct profile_iterator *it)
{
	const size_t nr = it->session_events.nr;
	struct profile_samples *samples;
	struct profile_sample sample;
	int rc;

	if (!it->sums)
		it->sums = mem_calloc(nr, sizeof(*it->sums));
	if (!it->sums)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		it->sums[i] = (struct trace_sampled){.event = (uint32_t)i, .lost = UINT64_MAX};
	rc = profile_samples_open(it->session, it->at - 1, ignore, NULL, &samples);
	if (rc != 1)
		return rc;
	while ((rc = profile_samples_next(samples, &sample)) == 1)
		add_sample(it, &sample);
	profile_samples_close(samples);
	it->counted = (struct trace_sampling){.item = it->sums, .nr = nr, .idle_ns = UINT64_MAX};
	it->load.trace.sampling = &it->counted;
	return rc;
}

static bool is_without_end(const struct profile_iterator *it)
{
	const struct profile_trace *t = &it->load.trace;

	return !it->load.has_totals && t->nr_ids && !t->sampling &&
	       !profile_session_facts(it->session)->is_in_progress;
}

int profile_iterator_next(struct profile_iterator *it, struct profile_trace *out)
{
	int rc = it ? 0 : -ENOMEM;

	while (rc == 0 && it->at < profile_session_nr_files(it->session)) {
		struct profile_times **times = profile_session_times(it->session, it->at);
		struct trace_reader *r;

		it->load.times = times ? *times : NULL;
		rc = profile_session_open_file(it->session, it->at++, &it->load.faults, it->name,
					       &r);
		if (rc != 1)
			continue;
		rc = profile_load_trace(&it->load, r, it->name);
		trace_reader_close(r);
	}
	if (rc == 1 && is_without_end(it) && count_samples(it))
		return -ENOMEM;
	if (rc == 1)
		*out = it->load.trace;
	return rc;
}

void profile_iterator_seek(struct profile_iterator *it, uint32_t iteration)
{
	const struct profile_session *s = it->session;

	it->at = ORDER_FIRST(i, profile_session_nr_files(s),
			     profile_session_file(s, i).iteration >= iteration);
}

uint32_t profile_iterator_ahead(const struct profile_iterator *it)
{
	return it->at < profile_session_nr_files(it->session)
		   ? profile_session_file(it->session, it->at).iteration
		   : UINT32_MAX;
}

int profile_iterator_records(struct profile_iterator *it, struct profile_records **out)
{
	return profile_session_records(it->session, it->at - 1, &it->load, out);
}
