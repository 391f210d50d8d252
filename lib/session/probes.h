/*
 * The events of the group usdt: their program in the kernel, and the breakpoints.
 */
#ifndef SESSION_PROBES_H
#define SESSION_PROBES_H

#include "bpf/probes.h"
#include "session/plan.h"

struct session_probes {
	const struct plan *plan;      /* borrowed */
	struct probes *programs;      /* owned; NULL: not needed, or refused */
	struct event_support support; /* why, then */
	int error;                    /* errno, then */
	size_t nr_events;
	uint32_t events[PROBES_MAX_EVENTS]; /* of the plan, by the program's number */
};

/* Zeroes are fine. */
void session_probes_fini(struct session_probes *p);
/* Loads the program and sets the breakpoints, if the plan has such events, once. 0, also if they
 * are refused, or -ENOMEM. */
int session_probes_open(struct session_probes *p, const struct plan *plan);
/* Unloads it: the target has changed. */
void session_probes_close(struct session_probes *p);
/* Whether probes work here: loads the program, and unloads it. */
void session_probes_check(const struct host *h, struct event_support *out);
/* Sends the samples of the CPU to the event bpf_output. 0 or -errno. event: of the plan. */
int session_probes_connect(const struct session_probes *p, size_t event, uint32_t cpu, int fd);
void session_probes_switch(struct session_probes *p, size_t event, bool is_enabled);
/* Hits on the CPU up to now; *lost: samples that could not be sent. */
uint64_t session_probes_count(const struct session_probes *p, size_t event, uint32_t cpu,
			      uint64_t *lost);

#endif
