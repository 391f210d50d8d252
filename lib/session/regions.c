/*
 * Marks of programs.
 */
#include "session/regions.h"

#include "base/mem.h"
#include "session/common.h"
#include "session/tracefs.h"
#include "trace/trace.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 1 << 16 };

/* Of a region, while it is written to the tracer. */
struct name {
	uint32_t number; /* key */
	char text[TRACE_MARK_NAME_BYTES];
};

static const char *name_of(const struct session_regions *r, uint32_t number)
{
	const struct name *name = dict_at(&r->names, dict_find(&r->names, &number));

	return name ? name->text : "[unknown]";
}

static void trace_mark(const struct session_regions *r, const struct wire_marks *of,
		       const struct wire_mark *m)
{
	const struct tracefs_slice slice = {of->pid, of->tid, of->object, m->depth};

	switch (m->kind) {
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		tracefs_begin(r->tracefs, &slice, name_of(r, m->name));
		break;
	case TRACE_MARK_END:
		tracefs_end(r->tracefs, &slice);
		break;
	case TRACE_MARK_INSTANT:
		tracefs_instant(r->tracefs, of->pid, name_of(r, m->name));
		break;
	case TRACE_MARK_INT:
		tracefs_counter(r->tracefs, of->pid, name_of(r, m->name), (double)m->value);
		break;
	default:
		break;
	}
}

static void on_name(void *arg, uint32_t number, const char *text)
{
	struct session_regions *r = arg;
	struct trace_mark_name name = {.number = number};

	snprintf(name.text, sizeof(name.text), "%s", text);
	(void)common_add_mark_name(r->common, &name); /* an error sticks there */
	if (r->tracefs) {
		struct name *copy = dict_get(&r->names, &number);

		if (copy)
			memcpy(copy->text, name.text, sizeof(copy->text));
	}
}

static void on_marks(void *arg, const struct wire_marks *m)
{
	struct session_regions *r = arg;
	struct trace_marks marks = {
	    .pid = m->pid, .tid = m->tid, .object = m->object, .lost = m->lost, .nr = m->nr};
	struct trace_mark *copy = mem_calloc(m->nr + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < m->nr; i++)
		copy[i] = (struct trace_mark){.time_ns = m->mark[i].time_ns,
					      .value = (uint64_t)m->mark[i].value,
					      .name = m->mark[i].name,
					      .kind = m->mark[i].kind,
					      .depth = m->mark[i].depth};
	for (size_t i = 0; r->tracefs && i < m->nr; i++)
		trace_mark(r, m, &m->mark[i]);
	marks.mark = copy;
	if (copy)
		(void)common_add_marks(r->common, &marks);
	mem_free(copy);
}

int session_regions_open(struct session_regions *r, struct common *common, struct tracefs *tracefs,
			 struct err *e)
{
	const struct wire_config config = {.arg = r, .name = on_name, .marks = on_marks};

	r->common = common;
	r->tracefs = tracefs;
	dict_init(&r->names, sizeof(struct name), DICT_KEY(struct name, number), MAX_NAMES);
	return wire_open(&config, &r->wire, e);
}

const char *session_regions_name(const struct session_regions *r)
{
	return r->wire ? wire_name(r->wire) : NULL;
}

int session_regions_start(struct session_regions *r, struct err *e)
{
	int rc = r->wire ? wire_start(r->wire) : 0;

	return rc ? err_set(e, rc, "no thread can receive marks: %s", strerror(-rc)) : 0;
}

/* A text of its own for each kind of loss: those that did not occur are empty. */
static void note_losses(struct session_regions *r, const struct wire_totals *t)
{
	char(*note)[SESSION_REGIONS_NOTE_BYTES] = r->notes;
	const size_t size = sizeof(*note);

	if (t->lost)
		snprintf(note[0], size,
			 "%" PRIu64 " of %" PRIu64
			 " marks were lost: a thread wrote them faster than they "
			 "could be read, or in a signal handler; regions are missing",
			 t->lost, t->lost + t->marks);
	if (t->missed)
		snprintf(note[1], size,
			 "%" PRIu64
			 " marks were lost: there are too many threads, or they began while "
			 "the program connected",
			 t->missed);
	if (t->names_lost)
		snprintf(note[2], size, "%" PRIu64 " names of regions found no room",
			 t->names_lost);
	if (t->invalid)
		snprintf(note[3], size, "%" PRIu64 " marks are invalid: skipped", t->invalid);
	if (t->refused)
		snprintf(note[4], size, "the marks of %u programs or libraries were not received",
			 t->refused);
	if (t->old)
		snprintf(note[6], size,
			 "%u programs or libraries were built with another version of "
			 "cpuperf/mark.h: their marks were not received; build them again",
			 t->old);
	if (t->strangers)
		snprintf(note[7], size,
			 "%" PRIu64 " marks were lost: their threads, of another PID namespace, "
			 "were not found",
			 t->strangers);
	if (!t->connections && !t->refused && !t->old)
		snprintf(note[5], size,
			 "no program had marks: regions need cpuperf/mark.h in its source");
}

void session_regions_end(struct session_regions *r, const char *notes[SESSION_REGIONS_NR_NOTES])
{
	struct wire_totals totals;

	if (r->wire) {
		wire_stop(r->wire);
		wire_totals(r->wire, &totals);
		note_losses(r, &totals);
		wire_free(r->wire);
		r->wire = NULL;
	}
	dict_fini(&r->names);
	for (size_t i = 0; i < SESSION_REGIONS_NR_NOTES; i++)
		notes[i] = r->notes[i];
}
