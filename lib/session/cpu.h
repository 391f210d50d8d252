/*
 * One measured CPU: its perf_event groups and their readings at the two boundaries of an iteration.
 * Handles hotplug. Independent of time, files and other CPUs.
 *
 * A group that does not run for 100 ms, though enabled, is reopened event by event, with a
 * warning: a pinned event, the NMI watchdog or another program holds a counter. Each reading
 * decides anew, and 100 ms into an iteration those groups are read that did not run in all of the
 * one before. A pinned event without a counter is in the kernel's error state: its read returns
 * the end of file, its readings are `failed`, and it is enabled again at each boundary.
 *
 * Hotplug: when a CPU goes offline the kernel detaches the members of its groups, and the group's
 * read returns fewer values. Each member is then read once alone (its count so far, state
 * `offline`) and closed. Each later iteration tries to open new groups; the trace notes the gap.
 *
 * Tasks that run already: a thread created meanwhile may inherit a group in part, which cannot be
 * read; it is opened again (complete_group). So events of software are each a group of their own.
 * Rings of tasks are on an event of the session's own thread, because poll reports the end of a
 * ring's own task as an error.
 */
#ifndef SESSION_CPU_H
#define SESSION_CPU_H

#include "base/reading.h"
#include "bpf/aggregate.h"
#include "bpf/selected.h"
#include "plan/plan.h"
#include "pmu/group.h"

struct interpreters;
struct perf_event_attr;
struct source_use;

/* What a session opens events with; shared by its CPUs. */
struct kernel_probe {
	const struct plan *plan;              /* borrowed */
	const struct pmu_ops *pmu;            /* borrowed */
	struct perf_event_attr *const *attrs; /* borrowed; one per part, NULL: not perf */
	bool shares_ring; /* several events sample: samples contain their event's id */
	struct source_use *const *uses;    /* borrowed; per event of the plan, or NULL */
	struct interpreters *interpreters; /* borrowed; NULL: nothing interprets */
	struct selected_program selected;  /* of tasks */
	/* Borrowed; one per part: adds its samples up; NULL: nothing does, or it does not work. */
	struct aggregate *const *aggregates;
	int aggregate_error; /* errno, then */
	uint64_t in_step;    /* the number of the row of clocks that are in step: base/place.h */
};

/* The row of the event's clocks, if those of all CPUs are in step; 0: each has its own. */
uint64_t session_cpu_row(const struct kernel_probe *p, const struct plan_event *ev);

struct session_cpu {
	const struct plan *plan;        /* borrowed */
	struct source_use *const *uses; /* the same */
	uint32_t cpu;                   /* or PLAN_ANY_CPU */
	uint32_t trace;
	const bool *is_off;       /* borrowed; per event: it stays disabled; NULL: none does */
	bool is_open;             /* groups are open (or none are needed) */
	struct pmu_group *groups; /* owned */
	size_t nr_groups, group_room;
	int *errors;       /* owned; per event: 0 or the errno of its opening */
	uint32_t *refused; /* owned; per event: the READING_… state that this errno means, or 0 */
	uint32_t *group_of;    /* owned; per event: its group's number, UINT32_MAX: none */
	struct reading *start; /* owned; per part of the plan */
	struct reading *end;   /* owned; per part of the plan */
	uint64_t *lost; /* owned; per part: its lost samples, cumulative; UINT64_MAX: unknown */
};

/* Memory only. 0 or -ENOMEM. */
int session_cpu_init(struct session_cpu *c, const struct plan *plan, uint32_t cpu, uint32_t trace);
void session_cpu_fini(struct session_cpu *c);

/* Opens the plan's events in groups, not yet counting; errors contains failures. 0; -ENODEV if the
 * CPU is offline; -ENOMEM. */
int session_cpu_open(struct session_cpu *c, const struct kernel_probe *p);
/* The group is a clock of the CPU that samples the target's tasks (event_attr_sampling), and counts
 * nothing of theirs. */
bool session_cpu_samples_for_tasks(const struct session_cpu *c, const struct pmu_group *g);
/* Closes the groups. */
void session_cpu_close(struct session_cpu *c);
/* waits_for_exec: skips the target's events, which the kernel enables at exec. */
void session_cpu_enable(struct session_cpu *c, bool waits_for_exec);
/* Enables or disables one event, with those that it leads. */
void session_cpu_switch(struct session_cpu *c, size_t event, bool is_enabled);
/* Stops all events until session_cpu_enable. Their counts stay. */
void session_cpu_pause(struct session_cpu *c);
/* The number of the part among its event's parts on this CPU, from 0: the instance of its readings.
 */
uint32_t session_cpu_instance(const struct session_cpu *c, size_t part);

/*
 * Reads all groups into out[nr_parts] (c->start or c->end). For an event that is not open, the
 * first part gets the reason or READING_NONE, the others READING_NONE; so do events that are read
 * elsewhere. False if the CPU is offline: out contains its last counts as READING_OFFLINE, and the
 * groups are closed.
 */
bool session_cpu_read(struct session_cpu *c, struct reading *out);

/* Reads between two boundaries, into out[nr_parts]; if the CPU is offline, the groups stay open. */
void session_cpu_peek(const struct session_cpu *c, struct reading *out);
/* Sets READING_DISABLED in out for the events that are off, and were not enabled since the readings
 * before. session_cpu_read does so for c->end. */
void session_cpu_mark_disabled(const struct session_cpu *c, const struct reading *before,
			       struct reading *out);
/* session_cpu_peek of those events that are opened alone and wanted, by event of the plan; the rest
 * of it becomes READING_NONE. */
void session_cpu_read_alone(const struct session_cpu *c, const bool *is_wanted,
			    struct reading *out);

/* For a caller who learns otherwise that the CPU is offline: the readings in out become
 * READING_OFFLINE, and the groups are closed. */
void session_cpu_leave(struct session_cpu *c, struct reading *out);

/* Enables pinned events again that had no counter at the last readings, and makes their start
 * readings. Returns their number. */
size_t session_cpu_restart(struct session_cpu *c);

/* A group that is enabled but does not run for this long is stuck: others use its counters. */
enum { SESSION_CPU_STUCK_NS = 100000000 };
/* True if a group of several events did not run all the time between its last two readings: it is
 * multiplexed, or stuck. */
bool session_cpu_waits(const struct session_cpu *c);
/* Reads these groups between two boundaries, for session_cpu_split. */
void session_cpu_look(struct session_cpu *c);
/* Splits groups that are stuck by the last readings: opens each of their events alone, enables it
 * and makes its start reading. Returns the number of events. */
size_t session_cpu_split(struct session_cpu *c, const struct kernel_probe *p);

#endif
