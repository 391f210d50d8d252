/*
 * The texts of the warnings, and when each is due.
 */
#include "process/notes.h"

#include "base/str.h"
#include "host/host.h"
#include "process/tasks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NR_NAMED = 4, MIN_NOTES = 3 };

static const char *const field_names[PROCESS_NR_FIELDS] = {
    [PROCESS_CPU_TIME] = "CPU time",
    [PROCESS_RUN_DELAY] = "run delay",
    [PROCESS_RSS] = "resident memory",
    [PROCESS_VMS] = "virtual memory",
    [PROCESS_SHARED] = "shared memory",
    [PROCESS_READ_BYTES] = "bytes read",
    [PROCESS_WRITE_BYTES] = "bytes written",
    [PROCESS_THREADS] = "threads",
    [PROCESS_MINOR_FAULTS] = "minor faults",
    [PROCESS_MAJOR_FAULTS] = "major faults",
    [PROCESS_FAULTS] = "faults",
    [PROCESS_FDS] = "descriptors",
    [PROCESS_PEAK_RSS] = "peak of resident memory",
};

/* The note when a field is missing; is_of_each: naming processes, else once for all. */
static const struct {
	bool is_of_each;
	const char *text;
} troubles[PROCESS_NR_TROUBLES] = {
    [PROCESS_DENIED] = {true, "cannot be read"},
    [PROCESS_ABSENT] = {false, "not reported by this kernel"},
    [PROCESS_FAILED] = {true, "could not be read"},
    [PROCESS_PARTIAL] = {false,
			 "without threads that start and end between two readings: this /proc "
			 "belongs to another PID namespace"},
};

static void add_who(struct process_note *n, const char *name)
{
	size_t len = strlen(n->who);

	n->nr_processes++;
	if (n->nr_named == NR_NAMED || len + strlen(name) + 3 > sizeof(n->who))
		return;
	snprintf(n->who + len, sizeof(n->who) - len, "%s%s", len ? ", " : "", name);
	n->nr_named++;
}

void process_notes_add(struct process_state *s, struct process *p)
{
	for (int i = 0; i < PROCESS_NR_TROUBLES; i++) {
		uint32_t *noted = troubles[i].is_of_each ? p->noted : s->noted;
		uint32_t new = p->values.trouble[i] & ~noted[i];

		if (!new)
			continue;
		noted[i] |= new;
		s->notes[i].fields |= new;
		s->notes[i].error = p->values.error;
		add_who(&s->notes[i], p->name);
	}
}

static void write_trouble(struct process_state *s, enum process_trouble kind)
{
	const struct process_note *n = &s->notes[kind];
	struct buf *b = &s->text;

	for (int i = 0; i < PROCESS_NR_FIELDS; i++)
		if (n->fields & 1u << i)
			buf_printf(b, "%s%s", b->len ? ", " : "", field_names[i]);
	if (troubles[kind].is_of_each)
		buf_printf(b, " of %zu %sprocess%s (%s%s)", n->nr_processes,
			   n->nr_before ? "more " : "", n->nr_processes == 1 ? "" : "es", n->who,
			   n->nr_named < n->nr_processes ? ", …" : "");
	buf_printf(b, ": %s", troubles[kind].text);
	if (kind == PROCESS_DENIED)
		buf_adds(b, host_may_trace(&s->root) ? "; refused despite CAP_SYS_PTRACE"
						     : "; needs their user, or CAP_SYS_PTRACE");
	if (kind == PROCESS_FAILED)
		buf_printf(b, ": %s", strerror(-n->error));
}

void process_notes_add_absent(struct process_state *s, const char *fmt, ...)
{
	va_list ap;

	if (s->absent.len)
		buf_adds(&s->absent, ", ");
	va_start(ap, fmt);
	buf_vprintf(&s->absent, fmt, ap);
	va_end(ap);
}

/* Once, after the first reading of all processes. */
static void write_absent(struct process_state *s)
{
	for (size_t i = 0; i < s->choice.nr_globs; i++)
		if (!s->choice.has_hit[i])
			process_notes_add_absent(s, "\"name:%s\"", s->choice.globs[i]);
	s->has_noted_absent = true;
	if (s->absent.len)
		buf_printf(&s->text, "pids: there is no process %s: it is read once it starts",
			   buf_str(&s->absent));
}

/* When it has doubled. */
static bool note_missing(struct process_state *s)
{
	struct process_ended *d = &s->ended;
	uint64_t nr = d->exits ? d->nr_missing + exits_lost(d->exits) : 0;

	if (nr <= 2 * d->nr_noted)
		return false;
	d->nr_noted = nr;
	buf_printf(&s->text,
		   "%" PRIu64 " processes that ended are in no line: too many ended at a time", nr);
	return true;
}

static bool note_failed(struct process_state *s)
{
	if (!s->is_by_tasks || s->has_noted_failed || process_tasks_by(s->source))
		return false;
	s->has_noted_failed = true;
	buf_adds(&s->text, "the iterator over tasks fails: processes are read from /proc from now "
			   "on, which is slower");
	return true;
}

/* False if no note is due. */
static bool write_note(struct process_state *s)
{
	if (s->is_whole && !s->has_noted_absent)
		write_absent(s);
	if (s->text.len)
		return true;
	for (int i = 0; i < PROCESS_NR_TROUBLES; i++) {
		struct process_note *n = &s->notes[i];

		/* If processes come and go, each reading may add to a note: after the first notes,
		 * the next is due when it has as many processes as all before. */
		if (!n->fields || (n->nr_notes >= MIN_NOTES && n->nr_processes < n->nr_before))
			continue;
		write_trouble(s, (enum process_trouble)i);
		*n = (struct process_note){.nr_notes = n->nr_notes + 1,
					   .nr_before = n->nr_before + n->nr_processes};
		return true;
	}
	if (note_missing(s) || note_failed(s))
		return true;
	if (!s->nr_reopened || s->has_noted_reopened)
		return false;
	buf_printf(&s->text,
		   "half of the open-file limit is in use: the files of %zu of %zu processes are "
		   "reopened for each reading, which is slower; raise the limit (ulimit -n)",
		   s->nr_reopened, s->nr_things);
	s->has_noted_reopened = true;
	return true;
}

const char *process_notes_next(void *state)
{
	struct process_state *s = state;

	buf_reset(&s->text);
	if (!write_note(s) || !s->text.data)
		return NULL;
	str_disarm(s->text.data);
	return s->text.data;
}
