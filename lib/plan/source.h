/*
 * What a session can measure: a row for each source. The kernel's own counters are the first one;
 * what comes after adds up by programs in the kernel, or in the target, and has the perf events of
 * the plan only as carriers, or reads values of files. The session reads this table, and names none
 * of its rows.
 *
 * The plan asks a row for what it needs to place an event (has it a group of its own, is it added
 * up in the target's programs, what is its highest rate), and has it check what the spec asks. A
 * session makes an instance (struct source_use) of each source of which it has events, opens it
 * before the perf events that carry these, and then calls its row in loops: begin, start, enable;
 * read, count, done at a boundary; look between two; next for stacks, histograms and regions for
 * the files; notes, end, close. A function that a row does not have is not called, nor is one of a
 * source that was refused. What a source asks of the session is struct source_core.
 *
 * One exception: waits. The sampler makes the samples of those that last, and they have a second
 * way, records of switches, for which plan_is_by_switches asks.
 */
#ifndef PLAN_SOURCE_H
#define PLAN_SOURCE_H

#include "bpf/selected.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aggregate;
struct aggregate_config;
struct aggregate_stack;
struct err;
struct interpreted;
struct notes;
struct plan;
struct plan_event;
struct pmu_count;
struct reading;
struct region_times_list;
struct spec_pos;
struct things_clock;
struct things_one;
struct things_sample;
struct trace_function;
struct trace_value;
struct trace_histogram;
struct trace_mark_name;
struct trace_marks;
struct trace_switch;
struct waits_lasting;

/* The file of a session that has what belongs to no CPU. Errors stick there, and are the session's.
 * Any thread calls these. */
struct source_file {
	void *file;
	void (*add_mark_name)(void *file, const struct trace_mark_name *name);
	void (*add_marks)(void *file, const struct trace_marks *marks);
	void (*add_switch)(void *file, const struct trace_switch *change);
};

/* What a source may ask of the session. Any thread calls these. */
struct source_core {
	/* Ends the iteration. False: none is ended on request. */
	bool (*end_iteration)(void *session);
	void *session;
	/* Where the kernel refuses its records of tasks and mappings: a process has begun, or
	 * still runs at a boundary. NULL: there are records. */
	void (*add_process)(void *sampling, uint32_t pid);
	/* What the samples of the kernel have of interpreters; NULL: nothing. Borrowed. */
	struct interpreted *interpreted;
	bool interprets_asleep; /* waits that last are of a process that may have one */
	/* Receives a sample of a wait that lasts. */
	void (*add_wait)(const struct waits_lasting *wait, void *sampling);
	void *sampling;
	struct source_file file; /* accepts nothing before start */
	bool wants_regions;      /* regions will be called */
};

/* A place among the stacks that a source has added up. All zero: before the first. */
struct source_at {
	size_t process;
	uint32_t stack;
	uint32_t life; /* a class of its samples */
};

/* What a session measures of a source: each source's own struct begins with it. */
struct source_use {
	const struct source *source;
	const struct plan *plan; /* borrowed, like core */
	const struct source_core *core;
	bool is_open;
	int error;                    /* the -errno with which it was refused; 0: it was not */
	struct event_support support; /* why, then */
};

/* Zeroes what is behind the use in the struct of its source, for close. */
void source_use_clear(struct source_use *u);

/*
 * What a source does whose events no perf event carries: it reads values, of the machine and its
 * CPUs, or of things that come and go (things/many.h). Events that share the numbers of their
 * things are a set; sets are numbered from 0, and have an event at least. event: of the plan. Of an
 * event that the machine lacks (row->missing) nothing is called. A source needs get and read, with
 * nr_sets also set, nr_things, get_thing and get_of_thing, with sample also every_ns and
 * get_of_sample; what else is NULL is not called.
 */
struct source_values {
	/* Whether the event was opened: 0 or -errno; *out says why not. */
	int (*check)(const struct source_use *u, size_t event, struct event_support *out);
	/* Reads once what the events need for which is_wanted is true, by event; NULL: all. */
	void (*read)(struct source_use *u, const bool *is_wanted);
	/* The next warning about what was read; NULL: no more. Valid until the next call. */
	const char *(*note)(struct source_use *u);
	/* Waits until the last values of what has ended are there. */
	void (*settle)(const struct source_use *u);
	/* The last reading on the CPU, without .event. READING_NONE: of many things, or the CPU is
	 * offline. */
	void (*get)(const struct source_use *u, size_t event, uint32_t cpu, struct reading *out);
	/* Where the event is read, if not from what its row names; NULL: from there. */
	const char *(*way)(const struct source_use *u, size_t event);
	/* The event's set; UINT32_MAX: it is not of many things. */
	uint32_t (*set)(const struct source_use *u, size_t event);
	/* Between two samples of an event that has a rate of its own; 0: it has none. */
	uint64_t (*every_ns)(const struct source_use *u, size_t event);
	/* The event's reading of a thing of its set, or in a sample, without .event. False: it has
	 * no such value. */
	bool (*get_of_thing)(const struct source_use *u, size_t event,
			     const struct things_one *thing, struct reading *out);
	bool (*get_of_sample)(const struct source_use *u, size_t event,
			      const struct things_sample *sample, struct reading *out);
	uint32_t (*nr_sets)(const struct source_use *u);
	/* The things of the last reading, in the order of their source. */
	size_t (*nr_things)(const struct source_use *u, uint32_t set);
	void (*get_thing)(const struct source_use *u, uint32_t set, size_t k,
			  struct things_one *out);
	/* Waits, but not long, until the samples up to the last reading are there. */
	void (*flush)(struct source_use *u);
	/* The next sample of the set up to that time, *out borrowed until the next call, or clock;
	 * false: none. */
	bool (*sample)(struct source_use *u, uint32_t set, uint64_t until_ns,
		       struct things_sample *out);
	bool (*clock)(struct source_use *u, uint32_t set, uint64_t until_ns,
		      struct things_clock *out);
};

struct source {
	const char *name;
	enum event_group_id groups[2]; /* whose events it measures; 0: none */
	/* Of these it measures those for which this is true; NULL: all. The first source of the
	 * table that measures an event has it. */
	bool (*is_own)(const struct plan *plan, const struct plan_event *p);
	bool is_alone; /* the perf event of each has a group of its own */
	/* It adds up in the memory of the target's programs: its perf events follow the target's
	 * tasks, on whichever CPU; they are read at boundaries alone, have no ring, and always the
	 * spec's rate. */
	bool is_in_target;
	bool stays_open;   /* when the target changes, which connects to it by itself */
	uint64_t max_rate; /* 0: any */
	/* A session has it without events if this is true; and does not work without it. */
	bool (*is_wanted)(const struct plan *plan);
	/* Refuses what the spec asks of an event, which may be another source's: of flags that are
	 * for events of this one. *pos: where, at first the event's name; of what an option has, *e
	 * has the place. 0 or -errno with *e. */
	int (*check)(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		     struct err *e);

	/* Whether, in place of what was refused, records of the switches of the target's tasks can
	 * measure an event of the plan; and adds to a refusal why not. */
	bool (*has_switches)(const struct plan *plan);
	void (*explain)(const struct plan *plan, const struct plan_event *p,
			struct event_support *out);

	/* The rest is of a session that has such events, or wants it; one thread calls it. NULL:
	 * nothing to do. But for open, it is called only while the source is open. */
	size_t bytes; /* of its struct; 0: the kernel counts the events by itself */
	/* Prepares to measure the plan's target. 0; -ENOMEM; -errno with *e: it does not work here,
	 * or, of one that is wanted or has values, the session cannot be opened. */
	int (*open)(struct source_use *u, struct err *e);
	/* Has only the struct source_use left, and can be opened again. */
	void (*close)(struct source_use *u);
	/* Of the event of the plan, on the CPU, which the perf event fd carries: 0 or -errno. */
	int (*connect)(const struct source_use *u, size_t event, uint32_t cpu, int fd);
	/* The program that selects the samples of a command's tasks from those of a CPU's event,
	 * where the plan has such (plan_is_selected). */
	struct selected_program (*selected)(const struct source_use *u);
	/* Opens what adds up the samples of the event by stack. 0 or -errno with *e. */
	int (*open_aggregate)(struct source_use *u, size_t event,
			      const struct aggregate_config *config, struct aggregate **out,
			      struct err *e);
	/* All events are connected: begins to measure, once. 0 or -errno, which ends the session.
	 */
	int (*begin)(struct source_use *u);
	/* The files are open, and all events count: begins to receive. 0 or -errno with *e. */
	int (*start)(struct source_use *u, struct err *e);
	/* The process has mapped an object. From any thread; does not wait for anything. */
	void (*look_at)(struct source_use *u, uint32_t pid);
	/* All events are disabled on request, or one is enabled again. */
	void (*pass_switch)(struct source_use *u, uint64_t time_ns, bool is_on);
	/* Enables or disables the event. All are enabled at first. */
	void (*enable)(struct source_use *u, size_t event, bool is_enabled);
	/* At a boundary, before the counts of all CPUs; and after them. */
	void (*read)(struct source_use *u, uint64_t now_ns);
	void (*done)(struct source_use *u);
	/* Between two boundaries, before the counts. */
	void (*look)(struct source_use *u);
	/* What the event counted on the CPU: sets what the perf event does not have. 0; -ENODATA:
	 * there is no number. */
	int (*count)(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out);
	/* The next stack of the event's samples in the iteration that ended with the last reading.
	 * True, or false after the last. Its callers are borrowed until the next call. */
	bool (*next)(struct source_use *u, size_t event, struct source_at *at,
		     struct aggregate_stack *out);
	/* What was added between the last two boundaries, or looks. Returns the number; *out is
	 * borrowed until the next call. */
	size_t (*histograms)(struct source_use *u, bool is_look,
			     const struct trace_histogram **out);
	/* The same of functions; of the last two boundaries alone. */
	size_t (*functions)(struct source_use *u, const struct trace_function **out);
	/* And of values of their arguments and results. */
	size_t (*call_values)(struct source_use *u, const struct trace_value **out);
	/* What happened by region since the last call. False: regions are not added up. */
	bool (*regions)(struct source_use *u, uint64_t now_ns, struct region_times_list *out);
	/* To which processes of the target connect, for this variable of a command. */
	const char *variable;
	const char *(*socket)(const struct source_use *u);
	/* Adds what a user needs to judge the numbers of the iteration. */
	void (*notes)(struct source_use *u, struct notes *notes);
	/* Ends after the last iteration; may be called again. What was lost, in words, borrowed: at
	 * most room of them. Returns the number. */
	size_t (*end)(struct source_use *u, const char **notes, size_t room);
	/* The session has ended, and the target goes on: takes back what was set in its programs.
	 * Nothing is read from then on; close follows. May be called again. */
	void (*leave)(struct source_use *u);
	const struct source_values *values; /* NULL: perf events carry its events */
};

/* The first one measures what no other does; the last is NULL. Whoever measures defines it
 * (session/source_uses.c): a plan includes no row. */
extern const struct source *const source_table[];
/* Whose event it is. */
const struct source *source_of(const struct plan *plan, const struct plan_event *p);

/* What several checks say. Each returns -EINVAL. */
int source_refuse_sampling(const struct plan_event *p, const char *hint, struct err *e);
int source_refuse_timebase(const struct plan_event *p, struct err *e);
/* -EINVAL if the event is sampled twice, else 0. */
int source_check_once(const struct plan *plan, const struct plan_event *p, struct err *e);

/* Why programs in the kernel do not work. */
void source_explain(int error, const struct err *e, struct event_support *out);

#endif
