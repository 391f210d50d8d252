/*
 * A heap of files by their oldest item. The common file waits while the next iteration is opened,
 * because it spans them all. Must not use anything of a record but its time.
 */
#include "profile/merged.h"

#include "base/heap.h"
#include "profile/load.h"
#include "profile/samples.h"
#include "profile/session_internal.h"

#include <errno.h>

struct source {
	char name[NAME_MAX + 1];
	bool is_common;
	bool has_threads; /* also their readings */
	uint32_t place;   /* orders files whose items have equal times */
	struct profile_load load;
	struct profile_records *records; /* owned */
	struct profile_item item;        /* the next item */
};

struct profile_merged {
	struct profile_session *session;
	bool has_threads;
	struct trace_events events;   /* borrowed: the session's */
	struct profile_faults faults; /* receives the problems */
	size_t next_file;
	struct heap sources; /* struct source, owned; by their next item */
	size_t nr_traces;    /* of the sources */
	bool is_returned;    /* the first source's item was returned */
	uint64_t start_ns;
	uint64_t start_iteration; /* the iteration of start_ns, plus 1; 0: none yet */
};

static void source_free(struct source *s)
{
	profile_records_close(s->records);
	if (!s->is_common)
		profile_load_fini(&s->load);
	mem_free(s);
}

static bool is_before(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return x->item.time_ns != y->item.time_ns ? x->item.time_ns < y->item.time_ns
						  : x->place < y->place;
}

/* What has no time: kernel symbols, command lines. Readings of threads serve to divide waits. */
static bool is_skipped(const struct source *s)
{
	return s->item.kind >= PROFILE_KALLSYMS ||
	       (s->item.kind == PROFILE_READING && !s->has_threads &&
		s->item.reading.flags & READING_OF_THREAD);
}

static int advance(struct source *s)
{
	int rc;

	do
		rc = profile_records_next(s->records, &s->item);
	while (rc == 1 && is_skipped(s));
	return rc;
}

/* Takes ownership of the source. */
static int add(struct profile_merged *m, struct source *s)
{
	int rc = advance(s);

	if (rc == 1)
		rc = heap_push(&m->sources, s, is_before) ?: 1;
	if (rc != 1) {
		source_free(s);
		return rc;
	}
	m->nr_traces += !s->is_common;
	return 0;
}

static struct source *source_new(bool is_common, uint32_t place)
{
	struct source *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->is_common = is_common;
	s->place = place;
	return s;
}

static int add_common(struct profile_merged *m)
{
	struct source *s = source_new(true, 0);
	int rc = s ? profile_session_common(m->session, false, &s->records) : -ENOMEM;

	if (rc == 1)
		return add(m, s);
	mem_free(s);
	return rc;
}

/* Traces of the first iteration begin at nearly the same time; those without records count too. */
static void note_start(struct profile_merged *m, const struct profile_trace *t)
{
	if (!m->start_iteration)
		m->start_iteration = (uint64_t)t->head.iteration + 1;
	if (m->start_iteration == (uint64_t)t->head.iteration + 1 && t->start_ns &&
	    (!m->start_ns || t->start_ns < m->start_ns))
		m->start_ns = t->start_ns;
}

/* Reads everything in the file except its records. 1; 0: unusable (reported); -ENOMEM. */
static int load(struct profile_merged *m, struct source *s, size_t i)
{
	struct trace_reader *r;
	int rc = profile_session_open_file(m->session, i, &m->faults, s->name, &r);

	if (rc != 1)
		return rc;
	rc = profile_load_trace(&s->load, r, s->name);
	trace_reader_close(r);
	if (rc == 1)
		note_start(m, &s->load.trace);
	return rc;
}

static int add_trace(struct profile_merged *m, size_t i)
{
	struct source *s = source_new(false, (uint32_t)i + 1);
	int rc = -ENOMEM;

	if (s && profile_load_init(&s->load, &m->events, &m->faults) == 0) {
		s->has_threads = m->has_threads;
		rc = load(m, s, i);
		if (rc == 1)
			rc = profile_session_records(m->session, i, &s->load, &s->records);
		if (rc == 1)
			return add(m, s);
		source_free(s);
		return rc;
	}
	mem_free(s);
	return rc;
}

/* Opens all traces of the next iteration that has some. */
static int open_iterations(struct profile_merged *m)
{
	size_t nr = profile_session_nr_files(m->session), i;
	int rc = 0;

	while (rc == 0 && !m->nr_traces && m->next_file < nr)
		do {
			i = m->next_file++;
			rc = add_trace(m, i);
		} while (rc == 0 && m->next_file < nr &&
			 profile_session_file(m->session, i).iteration ==
			     profile_session_file(m->session, m->next_file).iteration);
	return rc;
}

static int open_merged(struct profile_session *s, bool has_threads, profile_problem_fn *problem,
		       void *arg, struct profile_merged **out)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct profile_merged *m = mem_zalloc(sizeof(*m));
	int rc;

	if (!m)
		return -ENOMEM;
	m->session = s;
	m->has_threads = has_threads;
	m->events =
	    (struct trace_events){(struct trace_event *)facts->events, facts->nr_events, NULL};
	m->faults = profile_session_faults(s, NULL);
	m->faults.problem = problem;
	m->faults.arg = arg;
	rc = add_common(m) ?: open_iterations(m);
	if (rc)
		profile_merged_close(m);
	else
		*out = m;
	return rc;
}

int profile_merged_open(struct profile_session *s, profile_problem_fn *problem, void *arg,
			struct profile_merged **out)
{
	return open_merged(s, false, problem, arg, out);
}

int profile_merged_open_all(struct profile_session *s, profile_problem_fn *problem, void *arg,
			    struct profile_merged **out)
{
	return open_merged(s, true, problem, arg, out);
}

void profile_merged_close(struct profile_merged *m)
{
	if (!m)
		return;
	while (m->sources.nr)
		source_free(m->sources.item[--m->sources.nr]);
	mem_free(m->sources.item);
	mem_free(m);
}

uint64_t profile_merged_start_ns(const struct profile_merged *m)
{
	return m->start_ns;
}

/* Advances the first source; one without a further item ends. */
static int advance_first(struct profile_merged *m)
{
	struct source *s = m->sources.item[0];
	int rc = advance(s);

	if (rc < 0)
		return rc;
	if (rc == 1) {
		heap_settle(&m->sources, is_before);
		return 0;
	}
	m->nr_traces -= !s->is_common;
	heap_pop(&m->sources, is_before);
	source_free(s);
	return open_iterations(m);
}

int profile_merged_next(struct profile_merged *m, struct profile_merged_item *out)
{
	int rc = m->is_returned ? advance_first(m) : 0;
	const struct source *s;

	m->is_returned = rc == 0 && m->sources.nr;
	if (!m->is_returned)
		return rc;
	s = m->sources.item[0];
	*out = (struct profile_merged_item){&s->item, s->is_common ? NULL : &s->load.trace};
	return 1;
}
