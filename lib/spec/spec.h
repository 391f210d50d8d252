/*
 * The model of a .cpspec, checked by the rules that do not depend on the machine. Independent of
 * the events that exist, of CPUs and of files.
 *
 * Options edit the model after the text is read and before it is checked (override.c: events; the
 * program's target.c: the target). From there on nothing distinguishes them from keys of a file,
 * and only the spec says what is measured.
 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/arena.h"
#include "base/err.h"
#include "estimate/metric.h"
#include "spec/when.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_flag {
	SPEC_OS = 1u << 0,
	SPEC_USER = 1u << 1,
	SPEC_PC = 1u << 2,
	SPEC_LAST_BRANCH = 1u << 3,
	SPEC_TIMEBASE = 1u << 4,
	/* beyond the original */
	SPEC_CALLCHAIN = 1u << 5,
	SPEC_USER_STACK = 1u << 6,
	SPEC_PRECISE = 1u << 7,
	SPEC_PINNED = 1u << 8,
	SPEC_NO_IDLE = 1u << 9,
	SPEC_GUEST = 1u << 10, /* virtual machines only; with host, or without either: all */
	SPEC_HOST = 1u << 11,
	SPEC_WAKER = 1u << 12,    /* of sched:off_cpu_time: the stack of who woke the task */
	SPEC_UNSAFE = 1u << 13,   /* of usdt: also where it may break the program */
	SPEC_ADAPTIVE = 1u << 14, /* of heap: more samples than by rate while they cost little */
	SPEC_OPTIONAL = 1u << 15, /* one that is not there is no error */
};

/* Which branches last_branch records: bits of branch_filter, in the order of the words. */
enum spec_branch {
	SPEC_BRANCH_ANY = 1u << 0,
	SPEC_BRANCH_ANY_CALL = 1u << 1,
	SPEC_BRANCH_ANY_RETURN = 1u << 2,
	SPEC_BRANCH_INDIRECT_CALL = 1u << 3,
	SPEC_BRANCH_INDIRECT_JUMP = 1u << 4,
	SPEC_BRANCH_CONDITIONAL = 1u << 5,
	SPEC_BRANCH_CALL = 1u << 6,
	SPEC_BRANCH_CALL_STACK = 1u << 7,
};

/* A position in the text; line 0: not from a text. */
struct spec_pos {
	unsigned line, column;
};

/* Which things an event of many things reads, by the key that selects them. */
struct spec_choice {
	const char *key;          /* "devices", "pids" or "cgroups"; NULL: the default */
	const char *const *words; /* in the spec's arena; a number is its digits */
	size_t nr_words;
	struct spec_pos pos; /* of the key's value */
};

struct spec_event {
	const char *group_name, *event_name;
	const char *label; /* NULL: the event's name */
	uint64_t rate;
	uint64_t frequency;     /* Hz, in place of a rate; 0: none */
	uint64_t max_frequency; /* Hz, of a CPU; 0: any number of samples */
	uint64_t stack_bytes;   /* of user_stack; a multiple of 8; 0: as there is room */
	uint64_t every_ns;      /* of misc and gpu: between two readings; 0: no pace of its own */
	uint64_t longer_ns;     /* of function: only calls that lasted longer; 0: all */
	const char *when;       /* of function: only calls that meet it (spec/when.h); NULL: all */
	unsigned branch_filter; /* enum spec_branch; 0: absent, as SPEC_BRANCH_ANY */
	struct spec_choice choice;
	const char *paced_by; /* the option that set rate or frequency; NULL: the spec's text did */
	const char *when_source; /* the option that has the condition; NULL: the spec's text has */
	unsigned when_column;    /* in the option */
	bool is_named;           /* an option names it, with its rate or frequency */
	bool is_sampled;         /* the text says only that; false once its defaults are set */
	bool is_aggregated;      /* the kernel adds its samples up by stack */
	bool is_unwound;         /* the recorder unwinds its stacks, and drops their bytes */
	bool when_has_escapes;   /* offsets in it are not offsets in the file */
	unsigned flags; /* enum spec_flag; neither os nor user means both, and both are set then */
	struct spec_pos pos;       /* of the event's object */
	struct spec_pos group_pos; /* of the value of group_name */
	struct spec_pos name_pos;
	/* of the values; line 0: absent */
	struct spec_pos rate_pos, flags_pos, label_pos, frequency_pos, stack_pos, branch_pos;
	struct spec_pos aggregate_pos, unwind_pos, max_frequency_pos, every_pos, longer_pos,
	    when_pos;
};

/* A metric as written in the spec. */
struct spec_metric {
	const char *name, *expr, *unit;
	struct metric_limit warn_below, warn_above;
	struct spec_pos pos;                 /* of the metric's object */
	struct spec_pos name_pos, below_pos; /* of the values */
	struct spec_pos expr_pos;
	bool has_escapes; /* expr has escapes: offsets in it are not offsets in the file */
};

struct spec_list {
	const char *const *item; /* in the spec's arena; a number is its digits */
	size_t nr;
};

/* What is measured, if not the machine: a command, processes or a control group. */
struct spec_target {
	struct spec_list command, pids, comms, cgroups;
	const char *cpus;        /* "0,2-5"; "": all. Never NULL */
	bool has_children;       /* with the processes that the target starts */
	bool waits_for_children; /* of a command: until they have ended too */
	bool attaches;           /* the agent of the heap is loaded into what runs already */
	bool has_short_tasks;    /* the clocks of CPUs sample it, not one that each task has */
	bool tries_short_tasks;  /* so, if it can be; set by programs */
	bool maps_memory;        /* reads which memory its processes have mapped */
};

/* A recorder whose samples stay in memory until a snapshot. */
struct spec_flight {
	uint64_t span_ns;  /* before the snapshot; 0: samples are written as they come */
	uint64_t mib;      /* of memory for each CPU, at most */
	uint64_t after_ns; /* from a trigger to its snapshot */
	bool has_exits;    /* an exit status other than 0 is a trigger, not only a signal */
};

/* How much of a session remains on the disk; each limit 0: any. */
struct spec_retain {
	uint64_t iterations, span_ns, bytes;
};

/* What programs say about themselves. */
struct spec_regions {
	bool is_wanted;          /* marks are received; the first member: see key_row.is_switch */
	struct spec_list counts; /* events read at both ends of each region */
	uint64_t every;          /* of so many regions one, by chance; at least 1 */
	struct spec_pos counts_pos;
};

/* Which functions of events of function are measured, of those that their names mean: all of these
 * hold. Patterns are as those of the events, [OBJECT:]GLOB. */
struct spec_functions {
	struct spec_list include, exclude, callers_of;
	uint64_t min_instructions, min_size; /* 0: any */
	bool has_loops;
	uint64_t depth; /* of callers_of: at most so many calls away; 0: any number */
	struct spec_pos include_pos, exclude_pos, callers_pos, depth_pos;
};

enum spec_clock { SPEC_REALTIME, SPEC_PROCESS_CPUTIME };

/* Cycles of waiting and measuring, on a clock. */
struct spec_window {
	enum spec_clock clock;
	uint64_t delay_ns, capture_ns, cycles;
};

struct spec {
	struct arena arena;                   /* owns every string, the events and the metrics */
	const char *source;                   /* the file's name, for messages */
	const char *config_name, *model_name; /* never NULL */
	struct spec_event *events;
	size_t nr_events, max_events; /* max_events: that fit into events */
	size_t nr_broken;             /* after them in events: named, but with errors */
	struct spec_event sampling;   /* defaults, which the events have */
	struct spec_target target;
	struct spec_flight flight;
	struct spec_retain retain;
	struct spec_metric *metrics;
	size_t nr_metrics;
	struct metric_set metric_set; /* the same; operands are indices of events */
	uint64_t buffer_size_in_mb;
	uint64_t duration_ns;
	uint64_t num_iterations; /* 0: until stopped; see spec_max_iterations */
	uint64_t runs;           /* of a command, each an iteration; 0: iterations are times */
	const char *windows;     /* as spec_windows reads it; "": none. Never NULL */
	uint64_t delay_ns;
	struct spec_regions regions;
	struct spec_functions functions;
	uint64_t sync_period_ns; /* 0: nothing is synced */
	uint64_t flush_interval_ns;
	uint64_t max_own_cpu;           /* of a CPU, in 1e-9 percent; 0: any */
	const char *dump_file;          /* whose writing ends an iteration; "": none */
	const char *untouched;          /* "pages" or "pattern"; never NULL */
	const char *function_way;       /* "any", "kernel", "program" or "count"; never NULL */
	const char *compression;        /* "none", "zstd" or "zstd:LEVEL"; never NULL */
	const char *output_path_prefix; /* "": save nothing */
	const char *session_result_spec_path; /* "": no manifest */
	const char *manifest;                 /* "whole" or "strict"; never NULL */
	/* of the values; line 0: absent */
	struct spec_pos duration_pos, iterations_pos, runs_pos, windows_pos, delay_pos;
	struct spec_pos model_pos, events_pos, metrics_pos, manifest_pos, target_pos;
	struct spec_pos flight_pos, retain_pos, untouched_pos, manifest_kind_pos, functions_pos;
};

enum {
	SPEC_MAX_PERF_EVENTS = 32,
	SPEC_MAX_MISC_EVENTS = 256,
	SPEC_MAX_METRICS = 64,
	SPEC_MAX_WINDOWS = 64,
	SPEC_MAX_TEXT_BYTES = 4 << 20,
	SPEC_MAX_UNSIZED_STACK = 32 << 10, /* bytes */
	SPEC_MAX_ITERATIONS = 1000000000,
};

/* For programs of our own, before they have threads: the JSON parser of this process allocates
 * through base/mem.h from now on. The library in another's program does not call it. */
void spec_use_own_heap(void);

/* All defaults, no events. */
void spec_init(struct spec *s);
void spec_fini(struct spec *s);

/*
 * Reads len bytes of JSON with comments and trailing commas into *s (initialised by spec_init).
 * A syntax error stops the parser; all other errors are reported together, in the order of the
 * text. 0; -EINVAL with at least one error in *errs: *s has what could be read, for finding further
 * errors only, not for measuring; or -ENOMEM …, with *s as after spec_init.
 * source names the text in messages. Opens nothing.
 */
int spec_parse(const char *text, size_t len, const char *source, struct spec *s,
	       struct err_list *errs);
/* spec_parse of a file, by its path or open. */
int spec_load(const char *path, struct spec *s, struct err_list *errs);
int spec_load_fd(int fd, const char *path, struct spec *s, struct err_list *errs);
/*
 * Reads the metrics and the target of a spec that spec_to_json wrote into a trace, perhaps by a
 * later version: any duration is accepted, and unknown keys are skipped. A text without both is not
 * parsed. nr_events: of the trace, of which operands are indices. 0; -EINVAL or -ENOMEM, reported,
 * with *s as after spec_init.
 */
int spec_parse_stored(const char *json, size_t nr_events, struct spec *s, struct err_list *errs);

/* Sets the scalar key (as in the file: "duration") from an option's text, with the key's own
 * bounds. duration also takes units ("10ms"). source names the option in messages.
 * 0, -EINVAL (also for a key no option sets), -ERANGE or -ENOMEM, with *e set. */
int spec_override(struct spec *s, const char *key, const char *value, const char *source,
		  struct err *e);

/* An event as the option --event spells it: NAME, NAME@997Hz, NAME@10000, NAME@0.1s, NAME@>10ms
 * or NAME@size>=4096. */
struct spec_spelled {
	const char *name; /* len bytes of the list; not terminated */
	size_t len;
	unsigned column;          /* in the list, from 1 */
	uint64_t rate, frequency; /* both 0: it is counted */
	uint64_t every_ns;        /* 0: no pace of its own */
	uint64_t longer_ns;       /* 0: calls of any duration */
	const char *when;         /* when_len bytes of the list; NULL: all calls */
	size_t when_len;
	unsigned when_column; /* in the list, from 1 */
};

/* Reads the event at list[*at] of a list separated by commas, and advances *at. 1: read; 0: end;
 * -EINVAL with *e: no name, or no rate, frequency, time or condition after "@". source names the
 * option. */
int spec_scan_event(const char *list, size_t *at, const char *source, struct spec_spelled *out,
		    struct err *e);

/* Samples the events of that name in this way, or counts them (both 0). If some are sampled and
 * some counted, those that differ in this are unchanged, and so are those that were named before.
 * If there is none it is added, and its samples have the program counter. Borrows group and name.
 * 0, -E2BIG, -ENOMEM, or -EEXIST: it was named before, in the same way. */
int spec_name_event(struct spec *s, const char *group, const char *name, uint64_t rate,
		    uint64_t frequency);
/* Names an event of misc or gpu, which is not sampled, as spec_name_event does. every_ns: 0 leaves
 * the pace of the spec's event. */
int spec_name_misc(struct spec *s, const char *group, const char *name, uint64_t every_ns);
/* Which calls are samples: those that lasted longer, or that meet the condition. All borrowed. */
struct spec_ended {
	uint64_t longer_ns;      /* 0: of any duration */
	const char *when;        /* NULL: any */
	const char *when_source; /* the option that has the condition, for messages */
	unsigned when_column;
};
/* Names an event of function, as spec_name_event does, with a sample for each of these calls. */
int spec_name_ended(struct spec *s, const char *group, const char *name,
		    const struct spec_ended *ended);

/* Sets how sampled clocks and cycles are sampled: key is "rate" or "frequency". If there are none,
 * group:name is added, borrowed. 0 or -errno with *e. */
int spec_sample_clock(struct spec *s, const char *key, const char *value, const char *source,
		      const char *group, const char *name, struct err *e);

/* What samples contain for their callers. */
struct spec_callgraph {
	const char *name;
	unsigned flags; /* enum spec_flag */
	uint64_t stack_bytes;
	bool is_aggregated; /* of events that can be */
	bool is_unwound;
};

extern const struct spec_callgraph spec_callgraphs[]; /* ends with the name NULL */
/* For all sampled events. */
void spec_set_callgraph(struct spec *s, const struct spec_callgraph *how);

/* Checks the final values: call it after the overrides. A spec that spec_parse accepts may
 * still have no event, or a session_result_spec_path with another suffix, which an option can
 * replace. 0, or -EINVAL with the errors in *errs. */
int spec_check(const struct spec *s, struct err_list *errs);
/* Groups whose events are read at the pace of others, and never sampled: misc and gpu. */
bool spec_group_is_misc(const char *group);

/* Reads the windows of the spec. Their number, or -EINVAL with *e, whose source is not set. */
int spec_windows(const struct spec *s, struct spec_window out[SPEC_MAX_WINDOWS], struct err *e);

struct buf;
/* The spec as compact JSON, all defaults spelled out, that spec_parse reads back to the same model.
 * Failures stick in *out. */
void spec_to_json(const struct spec *s, struct buf *out);
/* The spec as a file for people, an event per line, without defaults. has_time: with the duration
 * and the number of iterations, even if they are the defaults; else without both. */
void spec_to_file(const struct spec *s, bool has_time, struct buf *out);

/* True if the event is sampled: it has a rate or a frequency. */
bool spec_event_is_sampled(const struct spec_event *e);
/* The most bytes of the stack that its samples can have. */
uint64_t spec_event_max_stack(const struct spec_event *e);
/* True if all paths are the defaults: the user did not ask for files there. */
bool spec_has_default_paths(const struct spec *s);
bool spec_has_default_manifest(const struct spec *s); /* the path of the manifest alone */
/* How many iterations the session can have: num_iterations, or all that a manifest can count. */
uint64_t spec_max_iterations(const struct spec *s);
/* True if the spec limits what remains of the session on the disk. */
bool spec_has_retain(const struct spec *s);
/* True if the spec says what to measure in place of the machine. */
bool spec_has_target(const struct spec *s);
/* Allocations are filled with a pattern. */
bool spec_has_pattern(const struct spec *s);
bool spec_has_strict_manifest(const struct spec *s);

/* The zstd level of spec.compression; 0: none. */
int spec_zstd_level(const struct spec *s);
/* True if an event has a rate, a frequency or is a timebase: sampling mode. */
/* An event is sampled. */
bool spec_has_samples(const struct spec *s);
bool spec_is_sampling(const struct spec *s);
/* The name of one flag; "?" if it is not a flag. */
const char *spec_flag_name(enum spec_flag f);
/* The event counts calls when they end: those that a key chooses. */
bool spec_event_is_of_ended(const struct spec_event *e);
/* Where a byte of the event's condition is, in the spec's text or in the option that has it. */
struct spec_pos spec_when_pos(const struct spec_event *e, size_t offset);
/* The heading of the event's column: its label, else its name. */
const char *spec_event_column(const struct spec_event *e);

#endif
