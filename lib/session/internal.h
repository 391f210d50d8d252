/*
 * Shared by session.c, which opens and closes a session, and run.c, which measures its iterations.
 */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include "plan/notes.h"
#include "session/counters.h"
#include "session/looks.h"
#include "session/pace.h"
#include "session/paced.h"
#include "session/record.h"
#include "session/sampling.h"
#include "session/schedule.h"
#include "session/session.h"
#include "session/things.h"

#include <stdatomic.h>

#define REQUEST_SNAPSHOT (1u << 31)

struct session {
	struct session_config config;
	const struct plan *plan;
	struct counters counters;
	struct notes notes;
	struct recorder recorder;
	struct paced paced;        /* its lock protects what reads misc events and opens events */
	struct sampling *sampling; /* owned; NULL in tally mode */
	struct schedule schedule;
	struct session_trace *traces; /* owned; per CPU, for on_iteration */
	int stop_fd;                  /* eventfd: wakes the loop */
	int wake_fd;                  /* the same, or an epoll of it and the control's */
	atomic_bool stop;
	bool has_small_rings;
	atomic_bool is_complete; /* the iteration that the stop ends is complete */
	bool has_end;         /* is_complete before the last boundary: its iteration has the end */
	atomic_uint requests; /* a bit for each enum cause, and REQUEST_SNAPSHOT */
	uint64_t nr_done, nr_left;         /* iterations */
	char trigger[TRACE_TRIGGER_BYTES]; /* waits for its snapshot, or is that of the iteration */
	uint64_t trigger_due_ns;           /* UINT64_MAX: none waits */
	struct looks looks;
	struct session_pace pace;
	struct region_times_list regions; /* of the last look or iteration */
	struct source_histograms histograms;
	struct source_functions functions;

	/* while it runs */
	/* readings of things at the start and the end of the iteration */
	struct session_things things_start, things_end;
	bool is_paused;    /* between two windows: all events are disabled */
	uint64_t start_ns; /* of the first iteration */
	/* --control: in which all events were disabled, before the current span; its begin, 0: it
	 * is none; some were disabled while others were not */
	uint64_t disabled_ns, disabled_from_ns;
	bool is_divided;
	uint64_t boundary_ns;   /* the last one */
	bool noted_pinned;      /* a note reported pinned events without a counter */
	uint64_t noted_sync_ns; /* the slowest sync that a note reported */
	bool noted_common;      /* a note reported the size of the common file */
};

/* After a change of what is measured: the kernel's tracer gets nothing while nothing is. */
void session_pause_trace(struct session *s);
/* How long all events were disabled by session_enable, up to now_ns. */
uint64_t session_disabled_ns(const struct session *s, uint64_t now_ns);

#endif
