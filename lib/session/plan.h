/*
 * The plan: a spec resolved for a machine. Which event is opened how, in which set of groups, on
 * which CPUs, and whether it can work here. Made without opening anything.
 */
#ifndef SESSION_PLAN_H
#define SESSION_PLAN_H

#include "base/arena.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "event/event.h"
#include "host/host.h"
#include "spec/spec.h"

/*
 * Events of one set share perf_event groups: first as many as fit into one group, the rest into
 * further groups. The kernel's software events are a set of their own: beside hardware events
 * they would be multiplexed with them.
 */
enum plan_set { PLAN_SOFTWARE, PLAN_HARDWARE, PLAN_NR_SETS, PLAN_NO_SET = PLAN_NR_SETS };

struct plan_event {
	struct event event;
	const struct spec_event *asked; /* borrowed from the spec */
	const char *label;              /* the column's heading */
	enum plan_set set;              /* PLAN_NO_SET: read by collect/ */
	struct event_support support;   /* as far as can be told without opening */
};

struct plan {
	const struct spec *spec; /* borrowed, like host: both outlive the plan */
	const struct host *host;
	struct arena arena;        /* owns labels that were made */
	struct plan_event *events; /* owned; in the spec's order */
	size_t nr_events, nr_perf;
	struct cpuset cpus; /* the CPUs measured: all that are online */
	uint32_t nr_cpus;
	bool is_sampling;
};

/* Resolves and checks. All errors are reported together, with their places in the spec. 0, or
 * -errno with at least one error in *errs. */
int plan_make(const struct spec *spec, const struct catalogue *catalogue, const struct host *host,
	      struct plan *out, struct err_list *errs);
void plan_fini(struct plan *p);

/* "software", "hardware"; "" for PLAN_NO_SET. */
const char *plan_set_name(enum plan_set set);

#endif
