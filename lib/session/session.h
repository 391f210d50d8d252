/*
 * A session: opens what the plan says, runs its iterations on absolute deadlines, hands each one
 * to the caller and writes it to its files. A session that samples drains its rings into the files
 * meanwhile.
 *
 * Threads: one thread opens, runs and closes a session; session_stop may come from anywhere. Calls
 * back from that thread alone, which measures: what waits in them is missing there.
 *
 * Nothing is reset at a boundary: the end readings of an iteration are the start readings of the
 * next one, so no count falls between two. Deadlines are absolute on CLOCK_MONOTONIC. A session
 * that is more than an iteration late skips the deadlines that it missed, with a warning, and
 * makes no empty iterations.
 *
 * The parts form no circle. counters.h (the opened events, with cpu.h and source_uses.h), notes.h
 * (warnings) and output.h (names, locks, files) do not depend on each other; record.h writes
 * traces from them; sampling.h adds the rings; session.c opens all of them, and run.c is the loop.
 *
 * A session with an answer is one long iteration. The dashboard, which wants a new row each
 * second, gets it from looks.h.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/cause.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/reading.h"
#include "base/region_times.h"
#include "plan/plan.h"
#include "pmu/ops.h"
#include "trace/trace.h"

struct session;
struct session_things;

/* One trace (CPU) of an iteration; readings per part of the plan, borrowed. */
struct session_trace {
	uint32_t cpu;
	const struct reading *start, *end;
	const struct trace_sampling *sampling; /* of the CPU; NULL: nothing is sampled */
};

/* Progress of a sampling session; cumulative. */
struct session_progress {
	uint64_t samples, lost, bytes_written;
	uint64_t elapsed_ns, left_ns; /* since its start, and to its end; UINT64_MAX: unknown */
};

/* Borrowed during the call. */
struct session_iteration {
	uint32_t iteration;
	const struct session_things *things_start, *things_end; /* see session/things.h */
	uint64_t start_ns, end_ns;         /* CLOCK_MONOTONIC, when reading began */
	struct clock_triple clocks;        /* at the end */
	const struct trace_target *target; /* NULL: there is none */
	const struct mapping_map *memory;  /* of the target; nr_memory of them */
	size_t nr_memory;
	const struct trace_window *window; /* NULL: it follows the one before without a gap */
	bool is_cut;                       /* the session was stopped before its end */
	bool is_snapshot;                  /* session_request: write all that is held */
	uint32_t cause;                    /* why it ended: enum cause */
	const char *trigger;               /* see session_trigger; "": none */
	const struct session_trace *traces;
	uint32_t nr_traces;
	const struct trace_histogram *histograms; /* nr_histograms of them; event: of the plan */
	size_t nr_histograms;
	const struct trace_function *functions; /* the same; not of a look */
	size_t nr_functions;
	const struct trace_value *values; /* of their arguments and results */
	size_t nr_values;
	/* NULL: none are received, or wants_regions is not set. With looks, theirs only. */
	const struct region_times_list *regions;
};

struct session_config {
	struct plan *plan;         /* borrowed; outlives the session, which sets records_switches */
	const struct pmu_ops *pmu; /* NULL: the kernel's */
	const char *tool;          /* "cpuperf 0.1.0"; for the traces */
	const char *folder;    /* where the spec's paths are, made for them; NULL: none is made */
	bool keeps_old_folder; /* see session_folder_make; and nobody named it: if it cannot be
				  used, a private one is; while another session uses it,
				  folder.2, and so on */
	/* Called after each iteration, when its files are written (or could not be). Non-zero ends
	 * the session. */
	int (*on_iteration)(const struct session_iteration *it, void *arg);
	/* Called every look_ns with the difference to the previous call, read without an end of the
	 * iteration; files contain nothing of it. May be NULL. */
	void (*on_look)(const struct session_iteration *it, void *arg);
	uint64_t look_ns;
	/* Receives a warning as it happens. is_essential: it states where the files are, if not
	 * where the spec says. May be NULL. */
	void (*on_note)(const char *text, bool is_essential, void *arg);
	/* Receives a warning that is known only at the end, and that no trace of an iteration has.
	 * May be NULL. */
	void (*on_late_note)(const char *text, void *arg);
	/* Called about once a second while sampling. May be NULL. */
	void (*on_progress)(const struct session_progress *p, void *arg);
	/* Called when all events are open and enabled: starts the target command. NULL: none. 0, or
	 * -errno with *e, which ends the session. */
	int (*on_start)(void *arg, struct err *e);
	/* Of a session with runs: called before the second run and each further one, without open
	 * events: makes its process, and sets the plan's target. 0; 1: there is no further run;
	 * -errno with *e. */
	int (*on_next)(void *arg, struct err *e);
	/* Called at the end of each iteration of a session with a target. Fills *out for its trace;
	 * a target that is attached to needs no start_ns and end_ns: they are the session's. */
	void (*on_target)(void *arg, struct trace_target *out);
	/* Called after it: maps of the target's memory for the same trace, borrowed until the next
	 * call. NULL: there are none. */
	size_t (*on_memory)(void *arg, const struct mapping_map **out);
	/* Called in the session's thread when control_fd is readable, between readings; it may
	 * call session_enable and session_trigger. 1: do not call it again. NULL: there is no such
	 * descriptor. */
	int (*on_control)(void *arg);
	int control_fd;     /* borrowed */
	bool wants_regions; /* adds up regions for on_look, or for on_iteration without looks */
	/* The CPU time that the spec's max_own_cpu limits. NULL: nothing does. */
	uint64_t (*own_cpu_ns)(void *arg);
	bool is_strict; /* refuse rings smaller than requested */
	void *arg;
};

/* The result of opening an event. */
struct session_event {
	struct event_support support; /* READING_OK: works on some CPU; reason: of others */
	uint32_t nr_cpus;             /* on how many it works */
	uint32_t nr_wanted;           /* on how many it should */
	uint32_t perf_group;          /* its group on the first of them; UINT32_MAX: none */
};

/* Opens all events on all CPUs, not yet counting, and no files. 0 or -errno with *e. Events that
 * cannot be opened are no error: see session_event. */
int session_open(const struct session_config *config, struct session **out, struct err *e);
void session_close(struct session *s); /* NULL is fine */
/* After session_run: closes the events, rings and programs in the kernel. What is known of the
 * session and its events remains until session_close, which otherwise does it. */
void session_release(struct session *s);

const struct plan *session_plan(const struct session *s);
const struct session_event *session_event(const struct session *s, size_t i);
/* Event i as described in the session's traces, without its attr. Borrows from the session. */
void session_describe_event(const struct session *s, size_t i, struct trace_event *out);
/* The socket to which a command's processes connect, for its variable (CPUPERF_MARKS, of marks,
 * cpuperf/mark.h; CPUPERF_HEAP, of an agent). NULL: there is none. */
const char *session_socket(const struct session *s, const char *variable);
/* After session_run began: the path of the manifest, or "". */
const char *session_manifest(const struct session *s);
/* The other folder with the files in place of the folder of the configuration, and the reason;
 * NULL: they are where they should be. */
const char *session_moved(const struct session *s, const char **why);
/* How many events work on some CPU. */
size_t session_nr_working(const struct session *s);

/* Makes the files, measures and writes all iterations (or until stopped). 0 or -errno with *e. If
 * somebody takes a file's name during the session, that file is lost, and the end returns an error.
 */
int session_run(struct session *s, struct err *e);
/* After session_run, where the target goes on: takes back what was set in its programs, which
 * session_close does otherwise. */
void session_leave(struct session *s);

/* Ends the iteration in progress: it is read, reported and written, and is the last one.
 * Async-signal-safe, thread-safe. */
void session_stop(struct session *s);
/* True if rings are smaller than the plan asks for, because of the limit of locked memory. */
bool session_has_small_rings(const struct session *s);

/* The same, but the iteration is complete: its target has ended. Another run may follow it. */
void session_finish(struct session *s);

/*
 * Ends the iteration in progress before its time; the next one begins with its end, and lasts its
 * whole time. It is not among the iterations that the spec asks for. cause: CAUSE_REQUEST or
 * CAUSE_TRIGGER. is_snapshot: the iteration contains all that is held in memory. Requests before
 * the end is read are one, with the highest of their causes. A run of a command is not divided: the
 * request is ignored. Async-signal-safe, thread-safe.
 */
void session_request(struct session *s, enum cause cause, bool is_snapshot);

/* Enables or disables an event of a plan with has_control, or all. In the session's thread, within
 * on_control. Time enabled states for what part of an iteration it counted. 0; -EINVAL: it is no
 * perf event, or follows the timebase. */
int session_enable(struct session *s, size_t event, bool is_enabled);
void session_enable_all(struct session *s, bool is_enabled);

/* Requests a snapshot with CAUSE_TRIGGER, delayed by the time that the spec's flight recorder goes
 * on after a trigger. why: its name for readers of the snapshot, cut if it is long. Only a note
 * while another trigger waits for its snapshot. From on_look and on_control only. */
void session_trigger(struct session *s, const char *why);

/* Whether the files have what existed before the session: until then samples of complete iterations
 * may lack names. From on_iteration only. */
bool session_is_surveyed(const struct session *s);
/* How many iterations were completed. */
uint64_t session_nr_done(const struct session *s);

#endif
