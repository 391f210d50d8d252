/*
 * Samples of waits, written as frames of a trace in an unnamed file. A sample has the stack of the
 * thread's last recorded sample, and stands for one long wait or for successive ones with the same
 * stack.
 */
#ifndef PROFILE_WAIT_SAMPLES_H
#define PROFILE_WAIT_SAMPLES_H

#include "base/buf.h"
#include "profile/session.h"
#include "trace/record.h"

struct trace_ids;
struct trace_sampling;
struct trace_writer;

/* What a wait is made into. */
enum wait_samples_kind {
	WAIT_SAMPLES_BLOCKED,
	WAIT_SAMPLES_QUEUE,
	WAIT_SAMPLES_BOTH,
	WAIT_SAMPLES_UNKNOWN,
	WAIT_SAMPLES_NR,
};

/* Of a thread. Zeroes are fine. */
struct wait_samples_thread {
	uint64_t ns[WAIT_SAMPLES_NR], end_ns[WAIT_SAMPLES_NR]; /* waits without a sample yet: sum,
								  and last end */
	uint8_t *last; /* owned; its last sample; NULL: none */
	size_t last_bytes;
	const struct trace_layout *layout; /* of the sample */
	enum trace_reason reason;          /* of the current wait */
};

/* The clocks of which what has no sample is made: cpu_clock and task_clock. */
enum { WAIT_SAMPLES_CLOCKS = 2 };

/* One of the session's events of waits, or a clock. */
struct wait_samples_event {
	uint32_t event; /* index; UINT32_MAX: not sampled */
	struct trace_layout layout;
	uint64_t samples, ns; /* of the iteration */
};

struct wait_samples {
	struct wait_samples_event events[2]; /* by perf_abi_wait */
	bool has_waits;                      /* one of these */
	struct wait_samples_event clocks[WAIT_SAMPLES_CLOCKS];
	struct trace_layout *layouts; /* owned; of each event of the session: two, see unwound_of */
	/* A sample stands for waits until they add up to this: of a session with regions for one,
	 * as each has its own region. */
	uint64_t joined_ns;
	struct buf records;
	struct trace_writer *writer; /* owned */
	int fd;
	size_t bytes;      /* written */
	size_t last_bytes; /* of the last samples of all threads */
	struct profile_waits waits;
};

/* False: the session has no events of waits by switches and no clocks that they complete, or
 * nothing can be made of them; or there is no memory: *rc is -ENOMEM, else 0. Call
 * wait_samples_fini in each case. */
bool wait_samples_init(struct wait_samples *w, const struct profile_facts *facts, int *rc);
void wait_samples_fini(struct wait_samples *w);
/* Makes the file. 0 or -errno with *e. */
int wait_samples_open(struct wait_samples *w, struct err *e);

/* What is written from here on is of one trace: its ids precede its samples. 0 or -errno. */
int wait_samples_begin(struct wait_samples *w, const struct trace_ids *ids);
/* Writes what is left, and the sums as readings of this time. 0 or -errno. */
int wait_samples_end(struct wait_samples *w, uint64_t start_ns, uint64_t end_ns,
		     const struct trace_sampling *sampling);

/* A wait of the thread that ended then, or a part of it. 0 or -errno. */
int wait_samples_add(struct wait_samples *w, struct wait_samples_thread *t, uint32_t pid,
		     uint32_t tid, enum wait_samples_kind kind, uint64_t ns, uint64_t end_ns);
/* Makes samples of what is left of its waits. 0 or -errno. */
int wait_samples_make(struct wait_samples *w, struct wait_samples_thread *t, uint32_t pid,
		      uint32_t tid);
/* The stack of its next waits, of this event. 0 or -ENOMEM. */
int wait_samples_keep(struct wait_samples *w, struct wait_samples_thread *t,
		      const struct trace_record *r, uint32_t event);
void wait_samples_drop(struct wait_samples *w, struct wait_samples_thread *t);

/* The number of a clock that is made of, by its event; -1: another event. */
int wait_samples_clock(const struct wait_samples *w, uint32_t event);
/* The event of one of these; UINT32_MAX: there is none. */
uint32_t wait_samples_any_clock(const struct wait_samples *w);
/* Makes a sample of a clock, without a stack: the thread ran for so long. 0 or -errno. */
int wait_samples_rest(struct wait_samples *w, unsigned clock, uint32_t pid, uint32_t tid,
		      uint64_t ns, uint64_t time_ns);

#endif
