/*
 * One measured CPU: its perf_event groups and what they read at the two boundaries of an
 * iteration. Hotplug is handled here. Knows nothing of time, files or other CPUs.
 */
#ifndef SESSION_CPU_H
#define SESSION_CPU_H

#include "base/reading.h"
#include "pmu/group.h"
#include "session/plan.h"

struct perf_event_attr;

/* What a session measures with; shared by its CPUs. */
struct session_probe {
	const struct plan *plan;              /* borrowed */
	const struct pmu_ops *pmu;            /* borrowed */
	struct perf_event_attr *const *attrs; /* borrowed; one per part, NULL: not perf */
	bool shares_ring;                     /* several events sample: their samples name theirs */
};

struct session_cpu {
	const struct plan *plan; /* borrowed */
	uint32_t cpu;            /* or PLAN_ANY_CPU */
	uint32_t trace;
	bool is_open;             /* groups are there (or none are needed) */
	struct pmu_group *groups; /* owned */
	size_t nr_groups;
	int *errors;       /* owned; per event: 0 or the errno of its opening */
	uint32_t *refused; /* owned; per event: the READING_… state that this errno means, or 0 */
	uint32_t *group_of;    /* owned; per event: its group's number, UINT32_MAX: none */
	struct reading *start; /* owned; per part of the plan */
	struct reading *end;   /* owned; per part of the plan */
	uint64_t *lost;        /* owned; per part: what it lost, cumulative; UINT64_MAX: not told */
};

/* Memory only. 0 or -ENOMEM. */
int session_cpu_init(struct session_cpu *c, const struct plan *plan, uint32_t cpu, uint32_t trace);
void session_cpu_fini(struct session_cpu *c);

/* Opens the plan's events in groups, not yet counting. What cannot be opened is in errors. 0;
 * -ENODEV if the CPU is offline; -ENOMEM. */
int session_cpu_open(struct session_cpu *c, const struct session_probe *p);
/* Closes the groups. */
void session_cpu_close(struct session_cpu *c);
/* waits_for_exec: not those of the target, which the kernel enables when it calls exec. */
void session_cpu_enable(struct session_cpu *c, bool waits_for_exec);
/* Which part of its event the part is on this CPU, from 0: the instance of its readings. */
uint32_t session_cpu_instance(const struct session_cpu *c, size_t part);

/*
 * Reads all groups into out[nr_parts] (c->start or c->end). Of an event that is not open the first
 * part becomes READING_NONE or why it is not, the others READING_NONE; so do those that are read
 * elsewhere. Returns false if the CPU
 * went away: what its events had counted is in out as READING_OFFLINE, and the groups are closed.
 */
bool session_cpu_read(struct session_cpu *c, struct reading *out);

/* Reads the events that are opened alone and nothing else, between two boundaries, into
 * out[nr_parts]; the rest of it becomes READING_NONE. */
void session_cpu_read_alone(const struct session_cpu *c, struct reading *out);

/* What session_cpu_read does then; for a caller who learns otherwise that the CPU went away: the
 * readings in out become READING_OFFLINE, and the groups are closed. */
void session_cpu_leave(struct session_cpu *c, struct reading *out);

/* Enables again the pinned events that found no counter by the last readings, and makes their start
 * reading. Returns how many events they are. */
size_t session_cpu_restart(struct session_cpu *c);

/* A group that does not run for so long, though enabled, is stuck: others hold its counters. */
enum { SESSION_CPU_STUCK_NS = 100000000 };
/* True if some group of several events ran for less than all of the time between its last two
 * readings: it is multiplexed, or stuck. */
bool session_cpu_waits(const struct session_cpu *c);
/* Reads these groups between two boundaries, for session_cpu_split. */
void session_cpu_look(struct session_cpu *c);
/* Splits groups that are stuck by the last readings: opens each of their events alone, enables it
 * and makes its start reading. Returns how many events they are. */
size_t session_cpu_split(struct session_cpu *c, const struct session_probe *p);

#endif
