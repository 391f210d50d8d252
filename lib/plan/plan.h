/*
 * The plan: a spec resolved for a machine: how, in which set of groups and on which CPUs each event
 * is opened, and whether it can work here. Opens nothing.
 *
 * Groups: on each CPU software events and tracepoints form one group, hardware events as many as
 * needed: each joins the first group with room (else the kernel returns EINVAL), or leads a new
 * one. Software events stay apart, since a hardware group would multiplex them. Events of other
 * PMUs (memory, energy, msr) are opened alone, on the CPUs of the PMU's cpumask.
 *
 * A timebase is the event whose samples pace the readings of the others. A clock as the timebase
 * that this user may not open still sets the pace: if only misc events follow it, they are read
 * and nothing is sampled.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/arena.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "bpf/follow.h"
#include "event/catalogue.h"
#include "host/host.h"
#include "spec/spec.h"

#include <sys/types.h>

struct source;

/*
 * Events of one set share perf_event groups: first as many as fit into one group, the rest into
 * further groups. The kernel's software events are a set of their own: beside hardware events
 * they would be multiplexed with them. Events of other PMUs (memory, energy …) and pinned ones are
 * opened alone.
 */
enum plan_set {
	PLAN_SOFTWARE,
	PLAN_HARDWARE,
	PLAN_ALONE,
	PLAN_TIMEBASE, /* one group: the timebase leads, counted events are read in its samples */
	PLAN_SAMPLING, /* sampled at a rate of its own */
	PLAN_NR_SETS,
	PLAN_NO_SET = PLAN_NR_SETS /* read by collect/, or missing on this machine */
};

struct plan_event {
	struct event event;
	const struct source *source;    /* NULL: the event is unknown, and the plan in error */
	const struct spec_event *asked; /* borrowed from the spec */
	const char *label;              /* the column's heading */
	uint32_t id;                    /* in traces: group << 11 | number */
	uint32_t first_part, nr_parts;  /* of plan.parts; at least one */
	enum plan_set set;              /* PLAN_NO_SET: read by collect/ */
	struct event_support support;   /* as far as is known without opening */
};

/* A part of an event with its own reading on each CPU: one perf event per PMU that counts the event
 * or, for PLAN_NO_SET, a value that a collector reads. */
struct plan_part {
	uint32_t event;         /* index in the plan */
	struct event_part part; /* borrowed from the catalogue; empty without a set */
};

/* What is measured, if not the whole machine: tasks and what they create later, or a cgroup. */
struct plan_target {
	const pid_t *ids; /* borrowed: tasks, or the descriptor of a cgroup's folder */
	size_t nr_ids;    /* 0: the machine; of a cgroup 1 */
	bool is_cgroup;
	bool is_command;      /* it waits to be started: its events begin to count at exec */
	bool has_runs;        /* it is started for each iteration, as a new process */
	bool has_all_threads; /* of each process of ids, and its process itself */
	bool is_process_only; /* without the processes that the tasks create */
	bool until_end;       /* the iteration lasts until the target ends */
	bool is_user_only;    /* this user may not measure in the kernel */
	uint32_t languages; /* of a command, by what it is called; each 1 << enum trace_language */
	/* The agent of the heap will be loaded into these processes, though they run already. */
	bool has_agent;
	const pid_t *agents; /* borrowed */
	size_t nr_agents;
};

enum { PLAN_MAX_DIVISOR = 1024 }; /* as TRACE_MAX_DIVISOR */

/* The CPU of the last trace of a session with a target: counts of the target, wherever it runs. */
enum { PLAN_ANY_CPU = UINT32_MAX }; /* as TRACE_ANY_CPU */

struct plan {
	const struct spec *spec; /* borrowed, like host: both outlive the plan */
	const struct host *host;
	struct arena arena;        /* owns labels that were made */
	struct plan_event *events; /* owned; in the spec's order */
	size_t nr_events;
	struct plan_part *parts; /* owned; event by event: part k is event k while each has one */
	size_t nr_parts;
	struct cpuset cpus; /* the CPUs measured: those that are online, or some of them */
	uint32_t nr_cpus;
	bool has_all_cpus; /* cpus: all that are online */
	bool is_sampling;
	const struct plan_event *timebase; /* one of events; NULL: none */
	struct plan_target target;         /* set before the session is opened */
	struct spec_window *windows;       /* owned; NULL: one iteration follows the other */
	size_t nr_windows;
	/* Set before the session is opened: */
	bool has_control;     /* session_enable will be called: each event has its own group */
	bool starts_disabled; /* events wait for it */
	const char
	    *heap_refused; /* borrowed; why the target's heap cannot be measured; NULL: it can */
	/* Borrowed; why the agent cannot measure functions that the compiler has prepared; NULL: it
	 * can. */
	const char *compiled_refused;
	struct tracefs *tracefs; /* borrowed; regions are also written there; NULL: not */
	/* Set by the session: waits of the target are found by records of its switches, as no
	 * programs in the kernel can measure them. */
	bool records_switches;
	/* Set by the session: rates and frequencies are divided by this, a power of two. */
	uint32_t divisor;
};

/* Resolves and checks. All errors are reported together, with their places in the spec. 0, or
 * -errno with at least one error in *errs. */
int plan_make(const struct spec *spec, const struct catalogue *catalogue, const struct host *host,
	      struct plan *out, struct err_list *errs);
void plan_fini(struct plan *p);
/* Measures only these CPUs; call it before the session is opened. -EINVAL: one is not online. */
int plan_limit_cpus(struct plan *plan, const struct cpuset *cpus, struct err *e);
/* The rate or frequency at which the event is sampled now: the spec's and the divisor. Of the heap,
 * of resources, and of waits that are found by records of switches, it is always the spec's; and of
 * the former two a frequency is a rate, in ns. */
uint64_t plan_rate(const struct plan *plan, const struct plan_event *p);
uint64_t plan_frequency(const struct plan *plan, const struct plan_event *p);
/* The largest divisor; 1: no rate can be divided. */
uint32_t plan_max_divisor(const struct plan *plan);
/* True if events may be opened anew between two iterations. */
bool plan_can_divide(const struct plan *plan);
/* The time between two readings of the events that follow the timebase; at least 1 ms. */
uint64_t plan_pace_ns(const struct plan *plan);
/* The time between two readings of an event that has a pace of its own; 0: it has none. */
uint64_t plan_every_ns(const struct plan *plan, const struct plan_event *p);
/* Its samples are added up by stack, in the kernel: those that are unwound are added up here. */
static inline bool plan_adds_up_in_kernel(const struct plan_event *p)
{
	return p->asked->is_aggregated && !p->asked->is_unwound;
}

/* True: the event measures the target; false: the machine. */
bool plan_is_of_target(const struct plan *plan, const struct plan_event *p);
/* The same, and the target is tasks: the event follows them. */
bool plan_is_of_tasks(const struct plan *plan, const struct plan_event *p);
/* A clock of the target's tasks of which a program selects the samples of CPUs' clocks, if there is
 * one: a clock that each task inherits begins anew in each, and tasks that are shorter than its
 * period would have no samples. */
bool plan_is_selected(const struct plan *plan, const struct plan_event *p);
/* True for values of processes without the key pids: those of the target, and no others. */
bool plan_is_of_processes(const struct plan *plan, const struct plan_event *p);
/* True for a sampled wait of the target that is found by records of switches. */
bool plan_is_by_switches(const struct plan *plan, const struct plan_event *p);
/* True if nothing is measured for some time before the first iteration. */
bool plan_has_gap(const struct plan *plan);
/* True if events of the target are disabled and enabled again: exec must not enable them. */
bool plan_is_resumed(const struct plan *plan);
/* True if the target is tasks that run already. */
bool plan_is_attached(const struct plan *plan);
/* The tasks that programs in the kernel measure. */
struct follow_config plan_follow(const struct plan *plan);
/* The flags of the spec, as far as this user is permitted. */
unsigned plan_flags(const struct plan *plan, const struct plan_event *p);
/* Addresses of a stack that is added up, at most. */
uint64_t plan_aggregate_stack(const struct plan *plan);
/* Between two samples of a clock; 0: it is not sampled. */
uint64_t plan_interval_ns(const struct spec_event *asked);
/* True for an event that is not opened because it would silently count too little: one of the
 * kernel's own events that are counted where they occur, if only user mode is measured; but not
 * faults of which only those in user mode are requested. */
bool plan_is_refused(const struct plan *plan, const struct plan_event *p);
/* True if the part is opened on the CPU. Events that count tasks on all CPUs are opened on
 * PLAN_ANY_CPU, events that sample them on each CPU, since only those can have a ring. */
bool plan_part_is_on(const struct plan *plan, const struct plan_part *p, uint32_t cpu);
/* One trace per CPU and, with a target, one for PLAN_ANY_CPU. */
uint32_t plan_nr_traces(const struct plan *plan);
/* The numbers of the plan's CPUs, nr_cpus of them: to be freed; NULL without memory. */
uint32_t *plan_list_cpus(const struct plan *plan);
/* The plan's CPUs on which the event should be measured: those of its parts. */
void plan_event_cpus(const struct plan *plan, const struct plan_event *p, struct cpuset *out);

#endif
