/*
 * The files of a session: finds those beside the manifest that belong to it, and their common
 * facts. Everything readable is used; what is missing, truncated, damaged or of another session is
 * reported, and never mixed in. profile/iterator.h reads traces. Independent of the manifest's
 * format and of output.
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
	PROFILE_MAX_FILES = 4 << 20, /* per session; beyond: -EFBIG */
	PROFILE_MAX_TRACES = 8192,   /* CPUs; files of higher numbers are strays */
	PROFILE_MAX_EVENTS = 1024,   /* per trace; one with more is not read */
	PROFILE_MAX_PARTS = 256,     /* per event and CPU; further ones are skipped, and reported */
	PROFILE_MAX_NOTES = 64,      /* per trace; further ones are dropped, and reported */
	PROFILE_NOTE_BYTES = 4096,
	PROFILE_MAX_HISTOGRAMS = 64 << 10, /* per trace; further ones are skipped, and reported */
	PROFILE_MAX_FUNCTIONS = 64 << 10,  /* the same */
	PROFILE_MAX_VALUES = 64 << 10,     /* the same */
	PROFILE_MAX_MEMORY = 8,            /* maps per trace; a recorder writes three at most */
};

/* The manifest; borrowed while the session is open. */
struct profile_manifest {
	const char *path;                    /* of the manifest; traces are beside it */
	const char *output_path_prefix;      /* only the part after its last slash is used */
	uint64_t num_iterations, num_traces; /* 0: not set, the numbers found are used */
	const char *session_id;              /* 32 hexadecimal digits; NULL or "": not set */
	bool is_recording;   /* the session has not ended, according to the manifest */
	bool is_in_progress; /* its recorder runs: files may be incomplete and grow */
	bool has_results;    /* beside traces, of which there may be none */
	uint64_t nr_removed; /* the first iterations, which retain removed */
	const char *removed_begin, *removed_end; /* their times; NULL or "": not known */
};

/* Receives each problem as it is found. is_loss: a part of the session is missing; else a file does
 * not belong to the session. */
typedef void profile_problem_fn(void *arg, bool is_loss, const struct err *problem);

/* Fixed after open. */
struct profile_facts {
	uint64_t nr_iterations, nr_traces; /* from the manifest, or as found */
	uint64_t nr_removed;               /* of these iterations, the first */
	char removed[160];                 /* the same in words; "": none */
	size_t max_rows;                   /* the most files of an iteration */
	struct trace_head head;            /* of the session's first trace */
	const struct trace_info *info;     /* NULL: lost in every trace */
	const struct trace_event *events;  /* the session's columns */
	size_t nr_events;
	bool has_paces; /* an event has a pace of its own: traces hold readings between the ends */
	bool is_sampling; /* an event is sampled: traces hold records, and there is a common file */
	bool has_memory;  /* maps of the target's memory were asked for */
	bool has_regions; /* marks of programs were received: there is a common file */
	bool is_in_progress; /* as in the manifest */
	bool is_unfinished;  /* in progress, or the recorder was killed */
};

/* The two readings of one event in one trace, and their offsets in the file. */
struct profile_pair {
	bool has_start, has_end;
	bool is_tick; /* the session was killed: the end is the last tick */
	struct reading start, end;
	uint64_t start_offset, end_offset;
};

/* One of many things (a disk, a process …), of one event; see EVENT_SCOPE_THINGS. */
struct profile_thing {
	uint32_t event, number;
	const char *name; /* safe to print; "" if the trace has none */
	struct profile_pair pair;
};

/* One trace, borrowed from what reads it: profile/iterator.h, profile/samples.h. */
struct profile_trace {
	const char *name; /* of the file */
	struct trace_head head;
	const struct trace_event *events; /* nr_events of the session, as described by this trace */
	const struct profile_pair *pairs; /* by event */
	/* Further parts of events (boxes of memory, instances 1 … of readings): PROFILE_MAX_PARTS -
	 * 1 for each event, event by event; NULL if there is none. */
	const struct profile_pair *further;
	const struct profile_thing *things; /* by event, in the order of profile_things_join */
	size_t nr_things;
	struct trace_where where;          /* of its CPU */
	const struct trace_target *target; /* NULL: the trace is of a CPU */
	const struct mapping_map
	    *memory; /* maps of the target's memory, in order of time; nr_memory of them */
	size_t nr_memory;
	const struct trace_window *window; /* of trace 0; NULL: no gap precedes the iteration */
	bool has_clocks;
	struct clock_triple clocks; /* the last in the file */
	uint64_t start_ns, end_ns;  /* of the iteration; of the readings if the end is lost */
	bool is_cut;                /* the session was ended, or killed, in this iteration */
	uint32_t cause;             /* why the iteration ended: enum cause */
	const char *notes[PROFILE_MAX_NOTES];
	size_t nr_notes;
	const struct trace_histogram *histograms; /* nr_histograms of them */
	size_t nr_histograms;
	const struct trace_histogram *sizes; /* the same, of the heap: amounts by size of block */
	size_t nr_sizes;
	const struct trace_function_owned *functions; /* nr_functions of them */
	size_t nr_functions;
	const struct trace_value_owned *values; /* of their calls; nr_values of them */
	size_t nr_values;
	/* A session that samples: */
	const struct trace_id *ids; /* the events of record ids; nr_ids of them */
	size_t nr_ids;
	const struct trace_sampling *sampling; /* totals of its samples; NULL: missing */
};

/*
 * Scans the folder once, and reports what is missing and what exceeds the session's numbers. If the
 * session file has no session id, it is that of the first readable file, by iteration and trace: a
 * session overwrites an older one in order of iterations. -ENOENT with *e: there is no trace of
 * this session. -errno.
 */
int profile_session_open(const struct profile_manifest *m, profile_problem_fn *problem, void *arg,
			 struct profile_session **out, struct err *e);
/* The same for traces that are not in a folder; the set is borrowed until the session is closed. */
int profile_session_open_set(const struct trace_set *set, profile_problem_fn *problem, void *arg,
			     struct profile_session **out, struct err *e);
void profile_session_close(struct profile_session *s);
/* From now on where times are in the files is kept, for profile_samples_within; a file may then be
 * read by one thread at a time. For sessions that are read again and again. 0 or -ENOMEM. */
int profile_session_keep_times(struct profile_session *s);
const struct profile_facts *profile_session_facts(const struct profile_session *s);
/* Whose the session is, by the owners of its files and of its manifest (uid): io_writer_of_both. */
uint32_t profile_session_writer(const struct profile_session *s, uint32_t uid);

/* Waits of all tasks that were found by records of switches, in ns. */
struct profile_waits {
	uint64_t blocked_ns;
	uint64_t queue_ns;   /* for a CPU */
	uint64_t both_ns;    /* blocked, and then for a CPU: in what shares is not known */
	uint64_t unknown_ns; /* records were lost: a task may have run */
	uint64_t seen_ns;    /* of these but queue_ns: of tasks that were seen blocked */
};
/* NULL: waits were not found in this way. */
const struct profile_waits *profile_session_waits(const struct profile_session *s);
/* Whether records of switches were read, for waits or for what a clock did not sample. */
bool profile_session_has_switches(const struct profile_session *s);

/* The records of the session's common file (tasks, mappings, and kernel symbols if has_kallsyms).
 * 1: close them with profile_records_close; 0: there are none, and why is reported; -ENOMEM. */
int profile_session_common(const struct profile_session *s, bool has_kallsyms,
			   struct profile_records **out);

#endif
