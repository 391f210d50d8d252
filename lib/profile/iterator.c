/*
 * A position in the list of a session's files, and the trace that was read there.
 */
#include "profile/iterator.h"

#include "base/mem.h"
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
	if (profile_load_init(&it->load, &it->session_events, faults.problem, faults.arg) == 0)
		return it;
	mem_free(it);
	return NULL;
}

void profile_iterator_free(struct profile_iterator *it)
{
	if (!it)
		return;
	profile_load_fini(&it->load);
	mem_free(it);
}

/* Opens the file before the next. */
static int open_last(struct profile_iterator *it, struct trace_reader **out)
{
	const struct profile_faults faults = profile_session_faults(it->session, it->name);

	return profile_session_open_file(it->session, it->at - 1, &faults, it->name, out);
}

int profile_iterator_next(struct profile_iterator *it, struct profile_trace *out)
{
	int rc = it ? 0 : -ENOMEM;

	while (rc == 0 && it->at < profile_session_nr_files(it->session)) {
		struct trace_reader *r;

		it->at++;
		rc = open_last(it, &r);
		if (rc != 1)
			continue;
		rc = profile_load_trace(&it->load, r, it->name);
		trace_reader_close(r);
	}
	if (rc == 1)
		*out = it->load.trace;
	return rc;
}

void profile_iterator_seek(struct profile_iterator *it, uint32_t iteration)
{
	size_t low = 0, high = profile_session_nr_files(it->session);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile_session_file(it->session, middle).iteration < iteration)
			low = middle + 1;
		else
			high = middle;
	}
	it->at = low;
}

uint32_t profile_iterator_ahead(const struct profile_iterator *it)
{
	return it->at < profile_session_nr_files(it->session)
		   ? profile_session_file(it->session, it->at).iteration
		   : UINT32_MAX;
}

int profile_iterator_records(struct profile_iterator *it, struct profile_records **out)
{
	const struct profile_trace *t = &it->load.trace;
	const struct profile_records_config config = {
	    .events = t->events,
	    .nr_events = it->session_events.nr,
	    .ids = t->ids,
	    .nr_ids = t->nr_ids,
	    .window_ns = profile_session_window_ns(it->session),
	    .faults = profile_session_faults(it->session, it->name),
	    .is_read_twice = true,
	};
	struct trace_reader *r;
	int rc = open_last(it, &r);

	if (rc != 1)
		return rc;
	rc = profile_records_open(r, &config, out);
	return rc ? rc : 1;
}
