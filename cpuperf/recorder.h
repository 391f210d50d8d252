/*
 * A session that is measured: what the files record*.c share.
 */
#ifndef CPUPERF_RECORDER_H
#define CPUPERF_RECORDER_H

#include "base/buf.h"
#include "control.h"
#include "dashboard_feed.h"
#include "dump_file.h"
#include "heap.h"
#include "metrics.h"
#include "notify.h"
#include "output.h"
#include "pushing.h"
#include "screen/format.h"
#include "status.h"
#include "target/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct recorder {
	struct plan *plan;
	const struct options *options;
	struct session *session;
	const struct screen_format *format;
	struct screen_state *screen;
	struct table *table;
	struct table_summary *summary;
	struct buf out;
	int results_fd; /* of --output-file, or standard output */
	struct output output;
	struct status status;
	struct dashboard_feed feed;
	struct metrics metrics;
	struct notify notify;
	struct pushing pushing;
	struct target_command *command; /* borrowed; NULL: none is measured */
	pid_t pid;                      /* of the command */
	struct attached *attached;      /* borrowed; NULL: what is measured did not run before */
	struct heap_attached heap;      /* owned: processes that run already, and have the agent */
	struct control control;
	struct dump_file dump_file;
	struct target_failures *failures; /* owned; of a flight recorder's target; NULL: unknown */
	bool has_lost_failures;           /* a message said so */
	int ready_fd;                 /* an epoll of control, dump_file and failures; -1: none */
	struct target_memory *memory; /* owned; of the target while it runs; or NULL */
	struct memory_map *map;       /* owned; of the same; NULL: not asked for */
	uint64_t look_ns;             /* between what a dashboard shows; 0: it shows iterations */
	uint64_t beyond;  /* of a flight recorder: a bit for each metric that is beyond its limit */
	bool is_full;     /* measuring ended because a held session used too much memory */
	bool is_answered; /* the answer of cpuperf_print replaces tables and warnings */
	bool serves_looks;     /* metrics are of looks: there is no iteration while it lasts */
	struct target_end end; /* of the last run */
	int wait_status;      /* of the first run that failed, as waitpid returns it; 0: none did */
	const char *saved_in; /* the folder of the session; NULL: the spec's paths are used */
	const char *folder;   /* of its session, if that is not the default one; else NULL */
	const char *why_moved; /* it is there; NULL: it was chosen, or is the default one */
	bool is_last;          /* cpuperf_print without arguments shows it */
	bool goes_on;          /* the measuring ended before it */
	bool is_answer_whole;  /* it was printed without an error */
	bool is_answer_lost;   /* an error: --output-file does not have it */
	int open_error;        /* of session_open, or 0 */
	int run_error;         /* of measuring, or 0 */
	int exec_error;        /* 0 or -errno of starting it */
	bool begun;
	bool was_live;    /* with a dashboard, results are printed only at the end */
	const char *hint; /* where to find iterations that were not printed; or "" */
	bool has_gap, has_logged_gap;
	struct screen_gap gap; /* iterations that were not printed, since the last one that was */
	int print_error;       /* 0, or -errno of writing to stdout */
};

/* Shows a message in the dashboard, if there is one. False: it did; true: it must be logged. */
bool recorder_must_log(struct recorder *r, const char *text);

/* record_events.c */
/* Warns of events that do not work on every CPU; returns their number. The answer lists them, if
 * there is one. */
size_t recorder_warn_events(const struct recorder *r, bool is_strict);
/* Says what breakpoints and prepared functions will cost whoever meets them. */
void recorder_log_costs(const struct plan *plan);
/* False: no event works. If the user may not open the events of his command, wait4 still counts
 * faults and switches. */
bool recorder_is_measurable(const struct recorder *r);
void recorder_log_groups(const struct recorder *r);
/* Warns of events that were open, but never on the PMU in the whole session. */
void recorder_warn_never_counted(const struct recorder *r);

/* record_ways.c */
/* Lines to type, if this user may not measure what the plan asks for. error: of opening it, or 0.
 */
struct buf;
void recorder_add_ways(const struct recorder *r, int error, struct buf *out);

/* record_target.c: callbacks of the session; arg is the recorder. */
int recorder_on_start(void *arg, struct err *e);
/* The process of a run. 1: there is no further one. */
int recorder_on_next(void *arg, struct err *e);
void recorder_on_target(void *arg, struct trace_target *out);
size_t recorder_on_memory(void *arg, const struct mapping_map **out);
/* A process of a flight recorder's target that fails is a trigger, if the kernel reports it. */
void recorder_follow_failures(struct recorder *r);
/* Adds the processes that the target has now. */
void recorder_add_processes(struct recorder *r);
void recorder_read_failures(struct recorder *r);
/* The exit status if the command cannot be executed. */
int recorder_exec_status(int rc);
/* Runs cpuperf_print on the session. */
void recorder_answer(struct recorder *r);
/* Whether functions precede the summary of a session without an answer: a person waits for it. */
bool recorder_shows_functions(const struct recorder *r);
/* Prints them, in the lines of the terminal that this text leaves. */
void recorder_print_functions(struct recorder *r, const char *summary);
/* Waits for the command; its exit status. */
int recorder_finish_command(struct recorder *r, int rc, struct err *e);

#endif
