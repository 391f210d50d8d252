/*
 * A heap of files by their oldest item. The common file waits while the next iteration is opened,
 * because it spans them all. Must not use anything of a record but its time.
 */
#include "profile/merged.h"

#include "base/mem.h"
#include "profile/load.h"
#include "profile/samples.h"
#include "profile/session_internal.h"

#include <errno.h>

struct source {
	char name[NAME_MAX + 1];
	bool is_common;
	uint32_t place; /* orders files whose items have equal times */
	struct profile_load load;
	struct profile_records *records; /* owned */
	struct profile_item item;        /* the next item */
};

struct profile_merged {
	struct profile_session *session;
	struct trace_events events;   /* borrowed: the session's */
	struct profile_faults faults; /* receives the problems */
	size_t next_file;
	struct source **source; /* owned, like each; a heap */
	size_t nr, room, nr_traces;
	bool has_given; /* the first item was returned */
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

static bool is_before(const struct source *a, const struct source *b)
{
	return a->item.time_ns != b->item.time_ns ? a->item.time_ns < b->item.time_ns
						  : a->place < b->place;
}

/* Puts a source at the root of the heap and sifts it down. */
static void sink(struct profile_merged *m, struct source *s)
{
	size_t i = 0, below;

	for (; (below = 2 * i + 1) < m->nr; i = below) {
		if (below + 1 < m->nr && is_before(m->source[below + 1], m->source[below]))
			below++;
		if (!is_before(m->source[below], s))
			break;
		m->source[i] = m->source[below];
	}
	m->source[i] = s;
}

static int push(struct profile_merged *m, struct source *s)
{
	struct source **grown = mem_grow(m->source, m->nr, &m->room, sizeof(struct source *));
	size_t i = m->nr, above;

	if (!grown)
		return -ENOMEM;
	m->source = grown;
	for (; i && is_before(s, m->source[(i - 1) / 2]); i = above) {
		above = (i - 1) / 2;
		m->source[i] = m->source[above];
	}
	m->source[i] = s;
	m->nr++;
	m->nr_traces += !s->is_common;
	return 0;
}

/* Skips kernel symbols, which have no time. */
static int advance(struct source *s)
{
	int rc;

	do
		rc = profile_records_next(s->records, &s->item);
	while (rc == 1 && s->item.kind == PROFILE_KALLSYMS);
	return rc;
}

/* Takes ownership of the source. */
static int add(struct profile_merged *m, struct source *s)
{
	int rc = advance(s);

	if (rc == 1)
		rc = push(m, s) ? -ENOMEM : 1;
	if (rc == 1)
		return 0;
	source_free(s);
	return rc;
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
	int rc = s ? profile_session_common(m->session, &s->records) : -ENOMEM;

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

static int open_records(struct profile_merged *m, struct source *s, size_t i)
{
	const struct profile_trace *t = &s->load.trace;
	const struct profile_records_config config = {
	    .events = t->events,
	    .nr_events = m->events.nr,
	    .ids = t->ids,
	    .nr_ids = t->nr_ids,
	    .window_ns = profile_session_window_ns(m->session),
	    .faults = {.name = s->name, .problem = m->faults.problem, .arg = m->faults.arg},
	    .is_read_twice = true,
	};
	struct trace_reader *r;
	int rc = profile_session_open_file(m->session, i, &m->faults, s->name, &r);

	if (rc != 1)
		return rc;
	rc = profile_records_open(r, &config, &s->records);
	return rc ? rc : 1;
}

static int add_trace(struct profile_merged *m, size_t i)
{
	struct source *s = source_new(false, (uint32_t)i + 1);
	int rc = -ENOMEM;

	if (s && profile_load_init(&s->load, &m->events, m->faults.problem, m->faults.arg) == 0) {
		rc = load(m, s, i);
		if (rc == 1)
			rc = open_records(m, s, i);
		if (rc == 1)
			return add(m, s);
		source_free(s);
		return rc;
	}
	mem_free(s);
	return rc;
}

/* Opens all traces of the next iteration. */
static int open_iteration(struct profile_merged *m)
{
	size_t nr = profile_session_nr_files(m->session);
	uint32_t iteration = profile_session_file(m->session, m->next_file).iteration;
	int rc = 0;

	while (rc == 0 && m->next_file < nr &&
	       profile_session_file(m->session, m->next_file).iteration == iteration)
		rc = add_trace(m, m->next_file++);
	return rc;
}

static int open_iterations(struct profile_merged *m)
{
	int rc = 0;

	while (rc == 0 && !m->nr_traces && m->next_file < profile_session_nr_files(m->session))
		rc = open_iteration(m);
	return rc;
}

int profile_merged_open(struct profile_session *s, profile_problem_fn *problem, void *arg,
			struct profile_merged **out)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct profile_merged *m = mem_zalloc(sizeof(*m));
	int rc;

	if (!m)
		return -ENOMEM;
	m->session = s;
	m->events =
	    (struct trace_events){(struct trace_event *)facts->events, facts->nr_events, NULL};
	m->faults = (struct profile_faults){.problem = problem, .arg = arg};
	rc = add_common(m);
	if (rc == 0)
		rc = open_iterations(m);
	if (rc)
		profile_merged_close(m);
	else
		*out = m;
	return rc;
}

void profile_merged_close(struct profile_merged *m)
{
	if (!m)
		return;
	while (m->nr)
		source_free(m->source[--m->nr]);
	mem_free(m->source);
	mem_free(m);
}

uint64_t profile_merged_start_ns(const struct profile_merged *m)
{
	return m->start_ns;
}

static void drop_first(struct profile_merged *m)
{
	m->nr_traces -= !m->source[0]->is_common;
	source_free(m->source[0]);
	if (--m->nr)
		sink(m, m->source[m->nr]);
}

/* Advances the source of the item that was returned. */
static int go_on(struct profile_merged *m)
{
	int rc;

	m->has_given = false;
	rc = advance(m->source[0]);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		sink(m, m->source[0]);
		return 0;
	}
	drop_first(m);
	return open_iterations(m);
}

int profile_merged_next(struct profile_merged *m, struct profile_merged_item *out)
{
	int rc = m->has_given ? go_on(m) : 0;
	const struct source *s;

	if (rc)
		return rc;
	if (!m->nr)
		return 0;
	s = m->source[0];
	*out = (struct profile_merged_item){&s->item, s->is_common ? NULL : &s->load.trace};
	m->has_given = true;
	return 1;
}
