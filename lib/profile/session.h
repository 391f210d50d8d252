/*
 * The files of a session: which of those beside the session file belong to it, and what all of them
 * hold. Everything readable is used; what is missing, cut, damaged or of another session is
 * reported, and never mixed in. Traces are read by profile/iterator.h. Knows nothing of the
 * manifest's format or of output.
 */
#ifndef PROFILE_SESSION_H
#define PROFILE_SESSION_H

#include "trace/trace.h"

#include <stdbool.h>

struct err;
struct profile_session;
struct profile_records;
struct trace_set;

enum {
	PROFILE_MAX_FILES = 4 << 20, /* of one session; beyond: -EFBIG */
	PROFILE_MAX_TRACES = 8192,   /* CPUs; files of higher numbers are strays */
	PROFILE_MAX_EVENTS = 1024,   /* of a trace; with more it is not read */
	PROFILE_MAX_PARTS = 256,     /* of an event on one CPU; more are left out, and named */
	PROFILE_MAX_NOTES = 64,      /* of a trace; more are dropped, and that is said */
	PROFILE_NOTE_BYTES = 4096,
};

/* What the session file says; borrowed while the session is open. */
struct profile_manifest {
	const char *path;                    /* of the session file: traces are sought beside it */
	const char *output_path_prefix;      /* only what is behind its last slash is used */
	uint64_t num_iterations, num_traces; /* 0: not given, then what is found counts */
	const char *session_id;              /* 32 hexadecimal digits; NULL or "": not given */
	bool is_recording;                   /* it says that the session has not ended */
};

/* Told of each problem as it is found. is_loss: something of the session is not there; else
 * something that is not of the session (a stray file). */
typedef void profile_problem_fn(void *arg, bool is_loss, const struct err *problem);

/* Fixed after open. */
struct profile_facts {
	uint64_t nr_iterations, nr_traces; /* as the manifest has it, or as found */
	size_t max_rows;                   /* most files that one iteration has */
	struct trace_head head;            /* of the session's first trace */
	const struct trace_info *info;     /* NULL: lost in every trace */
	const struct trace_event *events;  /* the session's columns */
	size_t nr_events;
	bool is_sampling; /* an event is sampled: traces hold records, and there is a common file */
};

/* The two readings of one event in one trace, and where in the file they are. */
struct profile_pair {
	bool has_start, has_end;
	bool is_tick; /* the session was killed: the end is the last tick's */
	struct reading start, end;
	uint64_t start_offset, end_offset;
};

/* One of many things (a disk, a process …), of one event; see EVENT_SCOPE_THINGS. */
struct profile_thing {
	uint32_t event, number;
	const char *name; /* safe to show; "" if the trace does not say */
	struct profile_pair pair;
};

/* One trace, borrowed from what reads it: profile/iterator.h, profile/samples.h. */
struct profile_trace {
	const char *name; /* of the file */
	struct trace_head head;
	const struct trace_event *events; /* nr_events of the session, as this trace has them */
	const struct profile_pair *pairs; /* of each event */
	/* Further parts of events (boxes of memory, instances 1 … of readings): PROFILE_MAX_PARTS -
	 * 1 for each event, one event behind the other; NULL if there is none. */
	const struct profile_pair *further;
	const struct profile_thing *things; /* by event, then as profile_things_join has it */
	size_t nr_things;
	struct trace_where where; /* of its CPU */
	bool has_clocks;
	struct clock_triple clocks; /* the last in the file */
	uint64_t start_ns, end_ns;  /* of the iteration; of the readings if the end is lost */
	bool is_cut;                /* the session was ended, or killed, in this iteration */
	const char *notes[PROFILE_MAX_NOTES];
	size_t nr_notes;
	/* A session that samples: */
	const struct trace_id *ids; /* which event a record's id means; nr_ids of them */
	size_t nr_ids;
	const struct trace_sampling *sampling; /* what became of its samples; NULL: not there */
};

/*
 * Looks through the folder once and reports what is missing and what lies beyond the session's
 * numbers. Where the session file does not give the session's id, it is that of the first file, by
 * iteration and trace, whose header can be read: a session writes its iterations in order over
 * those of an older one. -ENOENT with *e: there is no trace of this session. -errno.
 */
int profile_session_open(const struct profile_manifest *m, profile_problem_fn *problem, void *arg,
			 struct profile_session **out, struct err *e);
/* The same of traces that are in no folder; the set is borrowed until it is closed. */
int profile_session_open_set(const struct trace_set *set, profile_problem_fn *problem, void *arg,
			     struct profile_session **out, struct err *e);
void profile_session_close(struct profile_session *s);
const struct profile_facts *profile_session_facts(const struct profile_session *s);

/* The records of the session's common file (tasks, mappings, kernel symbols). 1: close them with
 * profile_records_close; 0: there are none, and why is reported; -ENOMEM. */
int profile_session_common(const struct profile_session *s, struct profile_records **out);

#endif
