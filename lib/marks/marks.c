/*
 * Marks of programs: what the wire's thread passes on, and the thread that sets programs that run
 * already.
 */
#include "marks/marks.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "marks/marked.h"
#include "marks/region_counts.h"
#include "marks/region_live.h"
#include "marks/region_stream.h"
#include "marks/tracefs.h"
#include "plan/plan.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "trace/trace.h"
#include "wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_NAMES = 1 << 16,
	NR_NOTES = 15, /* and those of counts */
	NOTE_BYTES = 240,
	MAX_QUEUED = 1024,
};

struct marks {
	struct source_use use;
	struct wire *wire;           /* owned; NULL: it has ended */
	struct tracefs *tracefs;     /* NULL: regions are not written there */
	struct dict names;           /* of regions, by number; if they are written there */
	struct region_counts counts; /* of the wire's thread */
	struct region_stream stream; /* for the tracer and live */
	struct region_live *live;    /* owned; NULL: regions are not added up meanwhile */
	char notes[NR_NOTES][NOTE_BYTES];

	/* of the thread that sets programs */
	pthread_t thread;
	bool is_running;
	pthread_mutex_t marked_lock;
	struct marked marked;
	pthread_mutex_t lock; /* of all below; held only briefly */
	pthread_cond_t wake;
	uint32_t queue[MAX_QUEUED]; /* processes to look at */
	size_t nr_queued;
	bool looks_at_all, is_ending;
};

/* Of a region, while it is written to the tracer. */
struct name {
	uint32_t number; /* key */
	char text[TRACE_MARK_NAME_BYTES];
};

static const char *name_of(const struct marks *r, uint32_t number)
{
	const struct name *name = dict_at(&r->names, dict_find(&r->names, &number));

	return name ? name->text : "[unknown]";
}

static void trace_mark(const struct marks *r, uint32_t pid, uint32_t tid, const struct wire_mark *m)
{
	const struct tracefs_slice slice = {pid, tid, m->depth};

	switch (m->kind) {
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		tracefs_begin(r->tracefs, &slice, name_of(r, m->name));
		break;
	case TRACE_MARK_END:
		tracefs_end(r->tracefs, &slice);
		break;
	case TRACE_MARK_INSTANT:
		tracefs_instant(r->tracefs, pid, name_of(r, m->name));
		break;
	case TRACE_MARK_INT:
		tracefs_counter(r->tracefs, pid, name_of(r, m->name), (double)m->value);
		break;
	default:
		break;
	}
}

static void on_nested(void *arg, uint32_t pid, uint32_t tid, const struct wire_mark *m)
{
	struct marks *r = arg;

	if (r->tracefs)
		trace_mark(r, pid, tid, m);
	if (r->live)
		region_live_add(r->live, pid, tid, m);
}

static void on_passed(void *arg, uint64_t until_ns)
{
	struct marks *r = arg;

	if (r->tracefs || r->live)
		region_stream_pass(&r->stream, until_ns);
}

enum {
	MAX_ANCESTORS = 16,
	PATIENCE_NS = 50000000, /* a library that is being loaded is not whole yet */
};

static void on_name(void *arg, uint32_t number, const char *text)
{
	struct marks *r = arg;
	struct trace_mark_name name = {.number = number};

	snprintf(name.text, sizeof(name.text), "%s", text);
	r->use.core->file.add_mark_name(r->use.core->file.file, &name);
	if (r->live)
		region_live_name(r->live, number, text);
	if (r->tracefs) {
		struct name *copy = dict_get(&r->names, &number);

		if (copy)
			memcpy(copy->text, name.text, sizeof(copy->text));
	}
}

static void on_marks(void *arg, const struct wire_marks *m)
{
	struct marks *r = arg;
	struct trace_marks marks = {
	    .pid = m->pid, .tid = m->tid, .object = m->object, .lost = m->lost};
	struct trace_mark *copy = mem_calloc(m->nr * (1 + r->counts.nr) + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < m->nr; i++) {
		const struct wire_mark *mark = &m->mark[i];

		for (uint32_t k = 0; mark->counts && k < r->counts.nr; k++)
			copy[marks.nr++] = (struct trace_mark){.time_ns = mark->time_ns,
							       .value = mark->counts[k],
							       .name = k + 1,
							       .kind = TRACE_MARK_COUNT};
		copy[marks.nr++] = (struct trace_mark){.time_ns = mark->time_ns,
						       .value = (uint64_t)mark->value,
						       .name = mark->name,
						       .kind = mark->kind,
						       .depth = mark->depth};
	}
	if (r->tracefs || r->live)
		region_stream_add(&r->stream, m);
	marks.mark = copy;
	if (copy)
		r->use.core->file.add_marks(r->use.core->file.file, &marks);
	mem_free(copy);
}

/* A number of /proc/PID/status; 0: there is none. */
static uint32_t read_status(const struct root *root, uint32_t pid, const char *key)
{
	uint64_t number;

	return proc_status_number(PROC(root, pid), key, &number) ? (uint32_t)number : 0;
}

/* A process that was set, or the command, or one below them: what it inherited made it connect. */
static bool may_connect(void *arg, uint32_t pid)
{
	struct marks *r = arg;
	const struct plan_target *t = &r->use.plan->target;
	bool found = false;

	for (int i = 0; i < MAX_ANCESTORS && pid > 1 && !found; i++) {
		pthread_mutex_lock(&r->marked_lock);
		found = marked_has(&r->marked, pid) ||
			(t->is_command && t->nr_ids && (pid_t)pid == t->ids[0]);
		pthread_mutex_unlock(&r->marked_lock);
		pid = read_status(r->marked.root, pid, "PPid");
	}
	return found;
}

static void queue_look(struct marks *r, uint32_t pid)
{
	bool is_known = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->nr_queued && !is_known; i++)
		is_known = r->queue[i] == pid;
	if (r->nr_queued == MAX_QUEUED)
		r->looks_at_all = true;
	else if (!is_known)
		r->queue[r->nr_queued++] = pid;
	if (!is_known && r->nr_queued == 1)
		pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

/* The recorder was too slow for it, and it is off: it is set again. */
static void on_gave_up(void *arg, uint32_t pid)
{
	queue_look(arg, pid);
}

static void *open_counters(void *arg, uint32_t pid, uint32_t tid, int *fds)
{
	(void)pid;
	return region_counts_open(&((struct marks *)arg)->counts, tid, fds);
}

static void close_counters(void *arg, void *counters)
{
	(void)arg;
	region_counts_close(counters);
}

static void look(struct marks *r, uint32_t pid)
{
	pthread_mutex_lock(&r->marked_lock);
	(void)marked_look(&r->marked, pid); /* it may have ended */
	pthread_mutex_unlock(&r->marked_lock);
}

static int look_at_process(uint32_t pid, void *arg)
{
	look(arg, pid);
	return 0;
}

/* The processes of the target, which is tasks; without one, all. */
static void look_at_all(struct marks *r)
{
	const struct plan_target *t = &r->use.plan->target;
	uint32_t last = 0;

	if (!t->nr_ids)
		(void)proc_each(r->marked.root, look_at_process, r);
	for (size_t i = 0; i < t->nr_ids; i++) {
		uint32_t pid = read_status(r->marked.root, (uint32_t)t->ids[i], "Tgid");

		if (pid && pid != last)
			look(r, pid);
		last = pid;
	}
}

static void *run(void *arg)
{
	struct marks *r = arg;
	uint32_t pids[MAX_QUEUED];
	size_t nr;
	bool all;

	pthread_mutex_lock(&r->lock);
	while (!r->is_ending) {
		all = r->looks_at_all;
		nr = r->nr_queued;
		memcpy(pids, r->queue, nr * sizeof(*pids));
		r->nr_queued = 0;
		r->looks_at_all = false;
		pthread_mutex_unlock(&r->lock);
		if (all)
			look_at_all(r);
		for (size_t i = 0; i < nr; i++)
			look(r, pids[i]);
		pthread_mutex_lock(&r->lock);
		while (!r->is_ending && !r->nr_queued && !r->looks_at_all)
			(void)thread_cond_wait(&r->wake, &r->lock, UINT64_MAX);
		if (!r->is_ending)
			(void)thread_cond_wait(&r->wake, &r->lock,
					       clock_monotonic_ns() + PATIENCE_NS);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Also of a command: what it starts with another environment does not connect by itself. */
static void look_at(struct source_use *u, uint32_t pid)
{
	struct marks *r = (struct marks *)u;

	if (r->is_running)
		queue_look(r, pid);
}

static int start(struct source_use *u, struct err *e)
{
	struct marks *r = (struct marks *)u;
	int rc = r->wire ? wire_start(r->wire) : 0;

	if (rc == 0 && r->wire) {
		r->looks_at_all = !r->use.plan->target.is_command;
		rc = thread_start_blocked(&r->thread, run, r);
		r->is_running = rc == 0;
	}
	return rc ? err_set(e, rc, "no thread can receive marks: %s", strerror(-rc)) : 0;
}

/* A text of its own for each kind of loss: those that did not occur are empty. */
static void note_losses(struct marks *r, const struct wire_totals *t)
{
	const struct marked *m = &r->marked;
	char(*note)[NOTE_BYTES] = r->notes;
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
			 " marks were lost: more than %d threads had marks at a time, or they "
			 "began while the program connected%s",
			 t->missed, WIRE_MAX_THREADS,
			 t->narrow ? "; a limit of the address space (RLIMIT_AS) leaves room for "
				     "fewer threads"
				   : "");
	if (t->names_lost)
		snprintf(note[2], size, "%" PRIu64 " names of regions found no room",
			 t->names_lost);
	if (t->invalid)
		snprintf(note[3], size, "%" PRIu64 " marks are invalid: skipped", t->invalid);
	if (t->refused)
		snprintf(
		    note[4], size,
		    "marks of programs and libraries were not received (of %u)%s%s%s", t->refused,
		    t->refused_why ? ": " : "", t->refused_why ? strerror(-t->refused_why) : "",
		    t->refused_why == -ENOMEM ? ", within cpuperf (see RLIMIT_AS: ulimit -v)" : "");
	if (t->old)
		snprintf(note[6], size,
			 "marks of programs and libraries built with another version of "
			 "cpuperf/mark.h were not received (%u of them): build them again",
			 t->old);
	if (t->strangers)
		snprintf(note[7], size,
			 "%" PRIu64 " marks were lost: their threads, of another PID namespace, "
			 "were not found",
			 t->strangers);
	if (t->unmapped)
		snprintf(note[14], size,
			 "marks of programs and libraries were not received (of %u): the limit of "
			 "their address space (RLIMIT_AS) is too low",
			 t->unmapped);
	if (!t->connections && !t->refused && !t->old && !t->unmapped && !m->nr_old &&
	    !m->nr_busy && !m->nr_denied && !m->nr_apart)
		snprintf(note[5], size, "%s",
			 r->use.plan->target.is_command
			     ? "no program wrote marks: regions need cpuperf/mark.h in its source, "
			       "the variable CPUPERF_MARKS of its parent, and this network "
			       "namespace"
			     : "no program wrote marks: regions need cpuperf/mark.h in its source");
}

static void note_marked(struct marks *r)
{
	const struct marked *m = &r->marked;
	char(*note)[NOTE_BYTES] = r->notes + 8;
	const size_t size = sizeof(*note);

	if (m->nr_old)
		snprintf(note[0], size,
			 "marks of running programs and libraries built with another version of "
			 "cpuperf/mark.h are not received (%u of them): build them again",
			 m->nr_old);
	if (m->nr_busy)
		snprintf(note[1], size,
			 "another cpuperf receives marks of running programs and libraries (of %u)",
			 m->nr_busy);
	if (m->nr_denied)
		snprintf(note[2], size,
			 "marks of running programs and libraries are not received (of %u): this "
			 "user may not write to their memory",
			 m->nr_denied);
	if (m->nr_apart)
		snprintf(note[3], size,
			 "%u running programs or libraries with marks are in another network "
			 "namespace, from where they cannot connect",
			 m->nr_apart);
}

static void note_counts(struct marks *r, const struct wire_totals *t)
{
	if (r->counts.nr_failed)
		snprintf(r->notes[12], sizeof(r->notes[12]),
			 "the regions of %" PRIu64 " threads have no counts: %s",
			 r->counts.nr_failed, strerror(r->counts.error));
	if (t->uncounted)
		snprintf(r->notes[13], sizeof(r->notes[13]),
			 "the later regions of %" PRIu64
			 " %s no counts: the program closed its descriptors, as closefrom and "
			 "daemon do, or the counters failed",
			 t->uncounted, str_plural(t->uncounted, "thread have", "threads have"));
}

static void end_marked(struct marks *r)
{
	if (!r->is_running)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_ending = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->is_running = false;
}

static void pass_switch(struct source_use *u, uint64_t time_ns, bool is_on)
{
	const struct trace_switch change = {.time_ns = time_ns, .is_on = is_on};

	u->core->file.add_switch(u->core->file.file, &change);
}

static bool take_regions(struct source_use *u, uint64_t now_ns, struct region_times_list *out)
{
	const struct marks *r = (const struct marks *)u;

	if (r->live)
		region_live_take(r->live, now_ns, out);
	return r->live;
}

static void end_wire(struct marks *r)
{
	struct wire_totals totals;

	end_marked(r);
	if (!r->wire)
		return;
	wire_stop(r->wire);
	marked_end(&r->marked);
	note_marked(r);
	marked_fini(&r->marked);
	wire_totals(r->wire, &totals);
	note_losses(r, &totals);
	note_counts(r, &totals);
	wire_free(r->wire);
	r->wire = NULL;
}

static size_t end(struct source_use *u, const char **notes, size_t room)
{
	struct marks *r = (struct marks *)u;
	size_t nr = 0;

	end_wire(r);
	for (size_t i = 0; i < NR_NOTES; i++)
		if (*r->notes[i] && nr < room)
			notes[nr++] = r->notes[i];
	for (size_t i = 0; i < REGION_COUNTS_MAX; i++)
		if (*r->counts.notes[i] && nr < room)
			notes[nr++] = r->counts.notes[i];
	return nr;
}

static void close_marks(struct source_use *u)
{
	struct marks *r = (struct marks *)u;

	end_wire(r);
	if (r->live)
		region_live_fini(r->live);
	mem_free(r->live);
	region_stream_fini(&r->stream);
	dict_fini(&r->names);
	source_use_clear(u);
}

/* Without traces nothing receives marks: no program is asked for them. */
static bool is_wanted(const struct plan *plan)
{
	return plan->spec->regions.is_wanted && *plan->spec->output_path_prefix;
}

static int watch(struct marks *r)
{
	r->live = mem_zalloc(sizeof(*r->live));
	return r->live ? region_live_init(r->live) : -ENOMEM;
}

static int open_wire(struct marks *r, struct err *e)
{
	const struct spec *spec = r->use.plan->spec;
	const uint64_t every = spec->regions.every;
	const struct wire_config config = {
	    .arg = r,
	    .name = on_name,
	    .marks = on_marks,
	    .passed = on_passed,
	    .may_connect = may_connect,
	    .gave_up = on_gave_up,
	    .nr_counts = r->counts.nr,
	    .count_names = r->counts.names,
	    .names_threads = !spec_has_samples(spec),
	    .chance = every > 1 ? (uint32_t)((UINT64_C(1) << 32) / every) : 0,
	    .counters_open = open_counters,
	    .counters_close = close_counters};
	int rc = wire_open(&config, &r->wire, e);

	if (rc == 0)
		marked_init(&r->marked, &r->use.plan->host->root, wire_number(r->wire));
	return rc;
}

static int open_marks(struct source_use *u, struct err *e)
{
	struct marks *r = (struct marks *)u;
	int rc = region_counts_init(&r->counts, u->plan, e);

	if (rc)
		return rc;
	r->tracefs = u->plan->tracefs;
	dict_init(&r->names, sizeof(struct name), DICT_KEY(struct name, number), MAX_NAMES);
	region_stream_init(&r->stream, on_nested, r);
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->marked_lock, NULL);
	rc = thread_cond_init(&r->wake);
	if (rc)
		err_set(e, rc, "marks cannot be received: %s", strerror(-rc));
	rc = rc ?: u->core->wants_regions ? watch(r) : 0;
	rc = rc ?: open_wire(r, e);
	if (rc)
		close_marks(u);
	return rc;
}

static const char *socket_of(const struct source_use *u)
{
	const struct marks *r = (const struct marks *)u;

	return r->wire ? wire_name(r->wire) : NULL;
}

const struct source marks_source = {
    .name = "marks",
    .stays_open = true,
    .is_wanted = is_wanted,
    .bytes = sizeof(struct marks),
    .open = open_marks,
    .close = close_marks,
    .start = start,
    .look_at = look_at,
    .pass_switch = pass_switch,
    .regions = take_regions,
    .variable = "CPUPERF_MARKS",
    .socket = socket_of,
    .end = end,
};
