/*
 * The content of a trace in memory: the same structures for the writer and the reader. The
 * recording and the reading side share nothing else.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/clock.h"
#include "base/mapping.h"
#include "base/range.h"
#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of frames. The numbers are stored in files: only append. */
enum trace_frame_kind {
	TRACE_FRAME_INFO = 1,         /* what was measured, by what, on what */
	TRACE_FRAME_EVENTS = 2,       /* the resolved events */
	TRACE_FRAME_CLOCKS = 3,       /* a clock triple */
	TRACE_FRAME_READINGS = 4,     /* raw readings of one boundary */
	TRACE_FRAME_NOTE = 5,         /* a warning in words */
	TRACE_FRAME_END = 6,          /* totals: the trace is whole */
	TRACE_FRAME_RECORDS = 7,      /* whole records of the kernel, from a ring */
	TRACE_FRAME_IDS = 8,          /* the ids of this CPU's perf events */
	TRACE_FRAME_SAMPLING = 9,     /* totals of the samples of the iteration */
	TRACE_FRAME_KALLSYMS = 10,    /* lines of /proc/kallsyms */
	TRACE_FRAME_THINGS = 11,      /* the names of instances of events of many things */
	TRACE_FRAME_WHERE = 12,       /* the place of the trace's CPU */
	TRACE_FRAME_ITERATION = 13,   /* of a segment: the start of an iteration */
	TRACE_FRAME_INDEX = 14,       /* of a segment: the offsets of its iterations */
	TRACE_FRAME_BUILD_ID = 15,    /* of a mapped file */
	TRACE_FRAME_TARGET = 16,      /* the target of the session, and its end */
	TRACE_FRAME_CMDLINE = 17,     /* the command line of a process */
	TRACE_FRAME_HELD = 18,        /* which samples a flight recorder held */
	TRACE_FRAME_WINDOW = 19,      /* the gap before the iteration, and its window */
	TRACE_FRAME_STACKS = 20,      /* samples that the kernel added up, by stack */
	TRACE_FRAME_HISTOGRAM = 21,   /* how long what an event counts took, in the iteration */
	TRACE_FRAME_MARK_NAME = 22,   /* the number and text of a name of marks */
	TRACE_FRAME_LONG_MARKS = 23,  /* marks as older recorders wrote them; only read */
	TRACE_FRAME_MARKS = 24,       /* marks of a thread: beginnings and ends of its regions */
	TRACE_FRAME_SWITCH = 25,      /* all events are disabled on request, or one is enabled */
	TRACE_FRAME_DIVISOR = 26,     /* by which the rates of the iteration were divided */
	TRACE_FRAME_THING_CLOCK = 27, /* a reading of the clock of a thing */
	TRACE_FRAME_FILE_PARTS = 28,  /* of a mapped file that will not be found: its symbols */
	TRACE_FRAME_MEMORY = 29,      /* a map of the target's memory */
	TRACE_FRAME_RANGE = 30,       /* the addresses in the frame of kallsyms that follows */
	TRACE_FRAME_FUNCTION = 31,    /* calls of a function in the iteration */
	TRACE_FRAME_VALUE = 32, /* those of them with a value of an argument, or of the result */
	TRACE_FRAME_CODE = 33,  /* what code of an interpreter is called, and its lines */
	TRACE_FRAME_COMPILED =
	    34,                  /* what code that a runtime compiled is called, and from when on */
	TRACE_FRAME_PLACES = 35, /* where the samples of the frame of stacks that follows stood */
};

enum trace_boundary {
	TRACE_START = 0,
	TRACE_END = 1,
	TRACE_TICK = 2, /* between them, at the timebase's period */
};

/* One iteration in a segment, a file of many iterations of one trace. */
struct trace_part {
	uint32_t iteration;
	uint32_t head_bytes; /* of the segment: header, and the frames that all iterations share */
	uint64_t from, to;   /* its iteration frame, and the end of its last frame */
};

/* The iteration and the trace number of a session's common file, which has no CPU. */
enum { TRACE_COMMON = UINT32_MAX };

/* The header's fields, in host form. */
struct trace_head {
	uint8_t session_id[16];
	uint8_t boot_id[16];
	uint32_t iteration, trace, cpu, nr_traces;
	char host[65], machine[17];
};

/* Strings are borrowed; NULL is written as "", and "" is read back. */
struct trace_info {
	const char *tool;      /* "cpuperf 0.1.0" */
	const char *kernel;    /* release and version */
	const char *cpu_model; /* of the host */
	const char *config_name, *model_name;
	const char *spec_json;   /* the spec as measured, with defaults and overrides */
	uint64_t duration_ns;    /* as requested, per iteration */
	uint64_t num_iterations; /* as requested; 0: until stopped */
	uint32_t user_hz;        /* ticks per second of /proc/stat */
	uint32_t page_bytes;
	uint64_t nr_cpus; /* online when the session began; 0: unknown */
};

/* Flags of an event in the spec. The numbers are stored in files, and equal enum spec_flag, except
 * the last ones. */
enum trace_event_flag {
	TRACE_EVENT_OS = 1 << 0,
	TRACE_EVENT_USER = 1 << 1,
	TRACE_EVENT_PC = 1 << 2,
	TRACE_EVENT_LAST_BRANCH = 1 << 3,
	TRACE_EVENT_TIMEBASE = 1 << 4,
	TRACE_EVENT_CALLCHAIN = 1 << 5,
	TRACE_EVENT_USER_STACK = 1 << 6,
	TRACE_EVENT_PRECISE = 1 << 7,
	TRACE_EVENT_PINNED = 1 << 8,
	TRACE_EVENT_NO_IDLE = 1 << 9,
	TRACE_EVENT_GUEST = 1 << 10,
	TRACE_EVENT_HOST = 1 << 11,
	TRACE_EVENT_OF_PROCESSES = 1 << 12, /* a value of processes: of the target's alone */
	TRACE_EVENT_AGGREGATED = 1 << 13,   /* its samples are in frames of stacks, too */
	TRACE_EVENT_IS_DIVIDED = 1 << 14,   /* its rate may be divided: TRACE_FRAME_DIVISOR */
	TRACE_EVENT_TOTAL_SHIFT = 15,       /* two bits: enum event_total */
	TRACE_EVENT_ADAPTIVE = 1 << 17,     /* of heap: its rate is the most that one had */
};

/* One resolved event. Strings as above. */
struct trace_event {
	uint32_t id;    /* group << 11 | number */
	uint32_t kind;  /* enum event_kind */
	uint32_t scope; /* enum event_scope */
	uint32_t flags; /* enum trace_event_flag */
	uint64_t rate;
	uint32_t state; /* enum reading_state at the start of the session: READING_OK or why not */
	uint32_t perf_group; /* which perf_event group on each CPU, from 0; UINT32_MAX: none */
	const char *group, *name, *label, *unit, *description;
	const char *source; /* kernel event ("PERF_COUNT_HW_INSTRUCTIONS") or file ("/proc/stat") */
	const char *reason; /* why it is not measured; "" */
	/* The perf_event_attr as opened (its size field is its length). An event with several
	 * parts (types of core, boxes of memory) has one for each, in order. */
	const void *attr;
	uint32_t attr_bytes; /* 0: not a perf event */
	double scale;       /* displayed value = count × scale; 0 means 1 (read back: 0 or more) */
	uint64_t frequency; /* of the spec, in Hz: the kernel adapts the period; 0: none */
	/* The fields of a tracepoint, as in tracefs's format file ("\tfield:…" lines, with the
	 * common ones): they describe the raw bytes of its samples; "". */
	const char *format;
	uint64_t every_ns; /* between two readings, also within an iteration; 0: no own pace */
};

/* An event with a pace is not read within such a part of it before a boundary, whose readings stand
 * for that one: between the two there would be an interval too short for a number. */
enum { TRACE_LATE_PART = 8 };

/* The origin of the records in a TRACE_FRAME_RECORDS. */
enum trace_ring {
	TRACE_RING_SAMPLES = 0,   /* the events of the trace's CPU */
	TRACE_RING_SIDE_BAND = 1, /* tasks, mappings, kernel symbols, from the kernel */
	TRACE_RING_MADE = 2,      /* the same, made by cpuperf from /proc for what existed before */
};

/* Precedes a record in a TRACE_FRAME_STACKS: how many samples it stands for. The record is a sample
 * as the event's ring would have it, with the time of the first of them. */
struct trace_added {
	uint64_t samples; /* at least 1, at most TRACE_MAX_ADDED */
	uint64_t weight;  /* the sum of their periods, at most TRACE_MAX_ADDED_WEIGHT */
	uint64_t end_ns;  /* of the last of them; not before the first */
};
#define TRACE_MAX_ADDED        ((uint64_t)1 << 40)
#define TRACE_MAX_ADDED_WEIGHT ((uint64_t)1 << 63)

/* Of ids of samples that a reader made: those of the kernel are smaller. */
#define TRACE_MADE_ID ((uint64_t)1 << 63)

/* One perf event as opened on the trace's CPU; group by group, the leader first. */
struct trace_id {
	uint64_t id; /* in the IDENTIFIER of samples and the id of other records */
	/* Index in the events frame; UINT32_MAX: the side-band event; TRACE_INTERPRETED: samples
	 * with it are of trace/interpreted.h. */
	uint32_t event;
	uint32_t instance; /* as in readings: the part of the event on this CPU */
	uint32_t attr;     /* index among the event's attrs */
	uint32_t group;    /* on this CPU; members in the order of their counts in a sample */
};

enum { TRACE_INTERPRETED = UINT32_MAX - 1 };

/* Totals of the samples of one perf event in the iteration. */
struct trace_sampled {
	uint32_t event, instance; /* as in readings */
	uint64_t samples;         /* in the trace */
	uint64_t idle;            /* of them: of the idle task */
	uint64_t weight;          /* the sum of their periods */
	uint64_t lost; /* as counted by the kernel for the event; UINT64_MAX: not known */
	uint64_t throttled, unthrottled; /* how often the kernel paused and resumed it */
};

/* The samples of a flight recorder's ring at a snapshot, the end of the iteration. The trace has
 * all that were taken after from_ns, up to to_ns, except those of pauses. */
enum { TRACE_TRIGGER_BYTES = 64 };
struct trace_held {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	uint64_t wanted_ns;      /* of the spec; 0: not a flight recorder's */
	uint64_t paused;         /* samples not taken while an earlier one was copied */
	uint32_t is_full;        /* 1: the ring had no room for all since wanted_ns before to_ns */
	char trigger[TRACE_TRIGGER_BYTES]; /* what caused the snapshot; "": a request, or the end */
};

enum { TRACE_MAX_DIVISOR = 1024 };
struct trace_sampling {
	uint64_t ring_bytes;                   /* 0: no ring */
	uint64_t max_rate_start, max_rate_end; /* kernel.perf_event_max_sample_rate; 0: not known */
	uint64_t idle_ns; /* of the CPU in the iteration, by /proc/stat; UINT64_MAX: not known */
	uint64_t lost;    /* records, according to the ring */
	uint64_t ticks, ticks_missed; /* TRACE_TICK readings of the session: read; missed */
	const struct trace_sampled *item;
	size_t nr;
	struct trace_held held; /* a frame of its own */
	/* The same: rates and frequencies were those of the events divided by this, as the attrs
	 * have them. A power of two, at most TRACE_MAX_DIVISOR; 0: the session never divides. */
	uint32_t divisor;
};

/* One of many things (a disk, a process …). */
struct trace_thing {
	uint32_t number;  /* the instance of its readings */
	const char *name; /* "sda", "1234 bash"; its last name */
};

/* Things that share their numbers among some events (of scope EVENT_SCOPE_THINGS). */
struct trace_things {
	const uint32_t *events; /* indices in the events frame */
	size_t nr_events;
	const struct trace_thing *item;
	size_t nr;
};

/* A clock that a thing has of its own (a GPU), and CLOCK_MONOTONIC before and after it was read.
 * The times of readings between boundaries of its set were converted by neighbouring pairs of the
 * clock and the middle of the two. The flags are stored in files. */
enum trace_thing_clock_flag {
	/* No reading of the clock, which is not known: the newest sample, and when it came. */
	TRACE_THING_CLOCK_IS_ARRIVAL = 1 << 0,
};
struct trace_thing_clock {
	uint32_t event; /* index in the events frame: one of the thing's set */
	uint32_t instance;
	uint32_t flags;
	uint64_t clock_ns, before_ns, after_ns;
};

/* The place of a trace's CPU. */
enum { TRACE_TYPE_BYTES = 64 };
struct trace_where {
	int32_t package, node;       /* negative: not known */
	char type[TRACE_TYPE_BYTES]; /* of its core; "": all are alike, or it is not known */
};

/* The target of a session, in the trace that has no CPU (TRACE_ANY_CPU). The numbers of the flags
 * are stored in files. */
enum trace_target_flag {
	TRACE_TARGET_IS_COMMAND = 1 << 0,     /* started by the session */
	TRACE_TARGET_HAS_ENDED = 1 << 1,      /* of a command: what follows end_ns is known */
	TRACE_TARGET_IS_ATTACHED = 1 << 2,    /* ran already: processes, or a cgroup */
	TRACE_TARGET_PEAK_OF_CGROUP = 1 << 3, /* tree_peak_bytes: as the control group counts */
	TRACE_TARGET_PEAK_IS_EXACT = 1 << 4,  /* tree_peak_bytes is no lower bound */
	TRACE_TARGET_PROCESS_PEAK_IS_LIMIT = 1 << 5, /* peak_bytes is an upper bound */
	TRACE_TARGET_SWITCHES_ARE_ALL = 1 << 6,      /* of /proc; else they are a lower bound */
	TRACE_TARGET_IS_DIVIDED = 1 << 7, /* some events were disabled while others were not */
	TRACE_TARGET_IS_EMPTY = 1 << 8,   /* a control group that no process entered */
};
enum { TRACE_TARGET_BYTES = 512 };
struct trace_target {
	uint32_t flags, pid;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end_ns 0: not known */
	/* Of wait4: of the command and of all that was waited for. */
	uint32_t status;
	uint64_t user_ns, system_ns;
	uint64_t peak_bytes; /* of resident memory; of the largest process */
	uint64_t minor_faults, major_faults, read_blocks, written_blocks; /* blocks of 512 bytes */
	uint64_t voluntary_switches, involuntary_switches;
	uint64_t tree_peak_bytes;      /* of all processes at a time: sum of RSS; 0: not known */
	uint32_t tree_peak_processes;  /* that had them; 0: of a cgroup by its own numbers */
	char text[TRACE_TARGET_BYTES]; /* the command line, or what ran; cut if it is longer */
	/* Of a command: the other processes that ran when it, or the measuring, ended; at least. */
	uint32_t nr_left;
	char left[TRACE_TARGET_BYTES]; /* "12 (sleep), 13 (sh)": the first of them */
	/* Processes with more rights than the user, which have no events; those that were seen. */
	uint32_t nr_hidden;
	char hidden[TRACE_TARGET_BYTES]; /* as left */
	uint64_t disabled_ns; /* of all iterations so far: all events were disabled by --control */
};

/* The cpu of the trace that counts a target wherever it runs: the session's last trace. */
enum { TRACE_ANY_CPU = UINT32_MAX };

/* A file, identified as in mappings without a build-id, and its build-id during an interval. */
struct trace_build_id {
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	const uint8_t *id;
	uint32_t id_len;  /* 1 … 20 */
	const char *path; /* as in records: not terminated, not cleaned */
	uint32_t path_len;
};

/* Parts of a mapped file: what names its functions, and what stacks are unwound with. Of a file
 * that its path does not lead to. */
enum { TRACE_MAX_FILE_PARTS = 64 };
struct trace_file_parts {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t file_bytes;
	const uint8_t *id; /* the build-id */
	uint32_t id_len;   /* 0: none */
	const char *path;  /* as in records: not terminated, not cleaned */
	uint32_t path_len;
	const struct range *part; /* ascending, in the file */
	size_t nr;
	const uint8_t *bytes; /* of the parts, one after the other */
	size_t len;
};

/* The command line of a process, as /proc/PID/cmdline. It is that of the program that the process
 * ran from from_ns to to_ns; if the process exec'd in between, it is that of no program. The flags
 * are stored in files. */
enum trace_cmdline_flag {
	TRACE_CMDLINE_IS_CUT = 1 << 0, /* longer than TRACE_CMDLINE_BYTES */
	/* The command of the session: that of the first program that the process exec'd. The times
	 * are 0. */
	TRACE_CMDLINE_IS_COMMAND = 1 << 1,
};
enum { TRACE_CMDLINE_BYTES = 4096 };
struct trace_cmdline {
	uint32_t pid, flags;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, before and after it was read */
	const char *text;        /* arguments, each ended by a NUL; any bytes */
	uint32_t len;
};

/* Of an iteration that follows a gap, in which nothing was measured. In trace 0. */
enum { TRACE_NO_WINDOW = UINT32_MAX };
struct trace_window {
	uint32_t window; /* its place in the spec's windows; TRACE_NO_WINDOW: a delay alone, or
			  * a gap in which rates were changed */
	uint32_t clock;  /* enum spec_clock */
	uint64_t cycle;  /* of the window, from 0 */
	uint64_t gap_ns; /* from the end of the iteration before, or from the start */
	uint64_t start_late_ns; /* how far the clock was beyond the start that was due */
	uint64_t end_late_ns;   /* the same at the end; 0 if the iteration ended before */
	uint64_t clock_ns;      /* from start to end, on this clock */
};

/* On request (--control) all events were disabled, or the first of them is enabled again. In the
 * common file of a session that receives marks, in order of time. */
struct trace_switch {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t is_on;
};

/* The lowest and the highest address of the lines of the next frame of kallsyms: who looks for
 * others need not unpack it. */
struct trace_symbol_range {
	uint64_t first, last;
};

/* What a thread wrote through cpuperf/mark.h. In the common file: a name before the marks with it.
 */
enum { TRACE_MARK_NAME_BYTES = 256 };
struct trace_mark_name {
	uint32_t number; /* from 1 */
	char text[TRACE_MARK_NAME_BYTES];
};
enum trace_mark_kind { /* as enum cpuperf_mark_kind */
		       TRACE_MARK_BEGIN = 1,
		       TRACE_MARK_BEGIN_NUMBER = 2, /* value: the number of the region */
		       TRACE_MARK_END = 3,          /* of the innermost region */
		       TRACE_MARK_INSTANT = 4,
		       TRACE_MARK_INT = 5,
		       TRACE_MARK_THREAD_NAME = 6,
		       TRACE_MARK_PAUSE = 7, /* of the process */
		       TRACE_MARK_RESUME = 8,
		       TRACE_MARK_PAUSE_THREAD = 9,
		       TRACE_MARK_RESUME_THREAD = 10,
		       /* Before a beginning or an end: value is the count, name the event. */
		       TRACE_MARK_COUNT = 11,
		       /* Its process has ended. By the recorder. */
		       TRACE_MARK_THREAD_END = 12,
		       TRACE_NR_MARK_KINDS,
};
struct trace_mark {
	uint64_t time_ns, value; /* value: of an int64_t */
	uint32_t name;           /* 0: none */
	uint32_t kind;
	uint32_t
	    depth; /* of a beginning and an end: open regions around it, of thread and object */
};
/* Marks of a thread in one object (program or library), in order of time. */
struct trace_marks {
	uint32_t pid, tid;
	uint32_t object; /* a number of the object, unique in the session */
	uint64_t lost;   /* marks of the thread and object since the frame before */
	const struct trace_mark *mark;
	size_t nr;
};

/* Code that an interpreter interprets, in the common file: numbers of it are in samples
 * (trace/interpreted.h). */
enum { TRACE_CODE_NAME_BYTES = 256, TRACE_CODE_FILE_BYTES = 1024, TRACE_CODE_LINES_BYTES = 16384 };
enum trace_language {
	TRACE_LANGUAGE_PYTHON = 1,
	TRACE_LANGUAGE_JAVASCRIPT = 2,
	TRACE_LANGUAGE_PHP = 3,
	TRACE_LANGUAGE_RUBY = 4,
	TRACE_LANGUAGE_PERL = 5,
	TRACE_LANGUAGE_GO = 6, /* labels of goroutines */
	TRACE_LANGUAGE_JAVA = 8,
};
/* "python"; of a number that has none: "interpreted". */
const char *trace_language_name(uint32_t language);
enum trace_line_table {
	TRACE_LINES_NONE = 0,
	TRACE_LINES_LOCATIONS = 1, /* co_linetable of CPython 3.11 and later */
	TRACE_LINES_STEPS = 2,     /* co_lnotab of 3.6 to 3.9 */
	TRACE_LINES_RANGES = 3,    /* co_linetable of 3.10 */
	TRACE_LINES_OF_FRAMES = 4, /* what a frame has as its instruction is the line; 0: none */
	TRACE_LINES_BYTES = 8,     /* as STEPS, by single bytes of instructions */
};
struct trace_code {
	uint64_t number; /* unique in the session */
	uint32_t pid;
	uint32_t language;   /* enum trace_language */
	uint32_t first_line; /* of the file */
	uint32_t table;      /* enum trace_line_table */
	char name[TRACE_CODE_NAME_BYTES], file[TRACE_CODE_FILE_BYTES];
	const uint8_t *lines; /* as in the program's memory; it may be truncated */
	uint32_t lines_bytes;
	uint32_t owner; /* the user of the process, and 1; 0: not known */
};

/* Code that a runtime compiled while the process ran, in the common file: from a time on, what is
 * at addresses of the process. Its kind says how its frames lead to their callers. */
enum {
	TRACE_COMPILED_NAME_BYTES = 512,
	TRACE_COMPILED_FILE_BYTES = 256,
	TRACE_COMPILED_BYTES = 1 << 20
};
enum trace_compiled_kind {
	TRACE_COMPILED_UNKNOWN = 0,
	TRACE_COMPILED_METHOD = 1,
	TRACE_COMPILED_INTERPRETER = 2, /* of HotSpot */
	TRACE_COMPILED_STUB = 3,
	/* No code: at the addresses is what describes a method that is interpreted, to which its
	 * frames point. Its data is a table of lines. */
	TRACE_COMPILED_INTERPRETED = 4,
	/* Of V8: a function that was optimised, in which others are inlined. Its data is the first
	 * line of each function of its scopes, a u32; function 0 is that one. No name: code that
	 * was there is gone. */
	TRACE_COMPILED_SCRIPT = 5,
};
enum trace_compiled_point {
	TRACE_POINT_RETURN = 0, /* a call returns here */
	/* from here on the frame is whole, but for its frame pointer before frame_from; it is its
	 * frame pointer and the return address; it is the return address alone */
	TRACE_POINT_WHOLE = 1,
	TRACE_POINT_POINTER = 2,
	TRACE_POINT_ADDRESS = 3,
};
struct trace_compiled {
	uint64_t time_ns, start, end;
	uint32_t pid;
	char name[TRACE_COMPILED_NAME_BYTES]; /* "": not known, and no older name applies */
	uint32_t kind;                        /* enum trace_compiled_kind */
	uint32_t frame_bytes;                 /* with the return address; 0: not known */
	uint32_t frame_from;  /* how far from the start on instructions have the frame */
	uint32_t codes_bytes; /* of bytecodes; 0: none */
	uint64_t codes;       /* where they are */
	uint32_t first_line;
	char file[TRACE_COMPILED_FILE_BYTES];
	/* Points of the code in ascending order, each a u32: how far from the start, times 4, and
	 * enum trace_compiled_point; or, as pairs of bytes: so many bytecodes later the line is so
	 * many (int8_t) further. */
	const uint8_t *data;
	uint32_t data_bytes;
	/* Of a method: which ones are inlined where (trace/scopes.h). */
	const uint8_t *scopes;
	uint32_t scopes_bytes; /* 0: not known */
};

/* Latencies that ended in the iteration, over all CPUs; in trace 0. Of an event of the heap:
 * amounts (the part says which) by the bytes of a block instead, each in the first bucket of its
 * power of two. Adds up over histograms, over iterations and over sessions. Buckets are log-linear:
 * number i below 2^bits holds i ns; number
 * ((k + 1) << bits) + j holds what is at least (2^bits + j) << k ns, up to the next bucket. */
struct trace_bucket {
	uint32_t number;
	uint64_t count;
};
enum { TRACE_HISTOGRAM_BYTES = 64, TRACE_HISTOGRAM_BITS = 4, TRACE_HISTOGRAM_BUCKETS = 624 };
struct trace_histogram {
	uint32_t event; /* index in the events frame */
	uint32_t bits;
	uint64_t sum_ns; /* exact */
	uint64_t max_ns; /* since the start of the session; what lies outside of the last bucket
			  * with a count is of another iteration */
	char what[TRACE_HISTOGRAM_BYTES];  /* "1234 bash", "vda read", "3 net_rx"; "": all */
	char part[TRACE_HISTOGRAM_BYTES];  /* "queue", "device"; "": the event has no parts */
	const struct trace_bucket *bucket; /* those with a count, by number */
	size_t nr;
};

/* Calls of a function in the iteration, by all tasks measured; in trace 0. Numbers add up over
 * frames, iterations and sessions, but for max_ns. */
enum trace_function_flags {
	TRACE_FUNCTION_HAS_TIMES = 1 << 0, /* wall_ns, self_ns, max_ns, buckets */
	TRACE_FUNCTION_HAS_CPU = 1 << 1,   /* cpu_ns */
	TRACE_FUNCTION_IS_PART = 1 << 2,   /* it cost too much: some of the calls are missing */
	/* Times cost too much: from some time on calls are counted alone. */
	TRACE_FUNCTION_IS_TIMED_IN_PART = 1 << 3,
};
enum trace_function_way {
	TRACE_FUNCTION_KERNEL = 1,   /* a breakpoint (uprobe) */
	TRACE_FUNCTION_PATCHED = 2,  /* the agent in the program, which replaced instructions */
	TRACE_FUNCTION_COMPILED = 3, /* the agent, called by what the compiler has put there */
};
struct trace_function {
	uint32_t event;   /* index in the events frame */
	uint32_t flags;   /* enum trace_function_flags */
	uint32_t way;     /* enum trace_function_way; readers accept others */
	uint32_t bits;    /* as of a histogram */
	uint64_t address; /* of the symbol, in its file */
	uint64_t calls;   /* that began */
	/* Of the calls that ended, whose number is the sum of the buckets: time from entry to
	 * return; that without the other functions measured that it calls; and the time on a CPU.
	 */
	uint64_t wall_ns, self_ns, cpu_ns;
	uint64_t max_ns;    /* the longest since the start of the session */
	uint64_t cost_ns;   /* what measuring has added to wall_ns: an estimate; 0: not known */
	const char *name;   /* as in the table of symbols: mangled */
	const char *object; /* the path of its file */
	const struct trace_bucket *bucket; /* of wall_ns, as of a histogram */
	size_t nr;
};

/* Calls of a function in the iteration whose argument, or whose result, had the value. Numbers add
 * up, but for max_ns. */
enum trace_value_type {
	TRACE_VALUE_UNSIGNED,
	TRACE_VALUE_SIGNED,
	TRACE_VALUE_POINTER,
	TRACE_VALUE_STRING,
};
enum trace_value_kind {
	TRACE_VALUE_NUMBER,
	TRACE_VALUE_RANGE, /* number, signed: n > 0: from 2^(n-1) and below 2^n; 0; n < 0: the
			    * same of negative ones */
	TRACE_VALUE_TEXT,
	TRACE_VALUE_LONG_TEXT, /* its begin */
	TRACE_VALUE_NULL,      /* a pointer to text that is 0 */
	TRACE_VALUE_UNREADABLE,
	TRACE_VALUE_OTHERS, /* more values than are told apart */
	TRACE_VALUE_NR_KINDS
};
struct trace_value {
	uint32_t event; /* as of its function, like address, name and object */
	uint32_t field; /* its place in the signature, from 0 */
	uint32_t type;  /* enum trace_value_type */
	uint32_t kind;  /* enum trace_value_kind */
	uint64_t address;
	uint64_t number;
	uint64_t calls;                  /* of a result: those that have returned */
	uint64_t timed, wall_ns, max_ns; /* calls whose return was seen; as of a function */
	uint64_t sum;                    /* of the numbers, modulo 2^64 */
	const char *name, *object;
	const char *field_name; /* "size", "result" */
	const char *text;
};

struct trace_note {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	const char *text; /* a warning for readers of these numbers */
};

/* The totals of the end frame. */
struct trace_totals {
	uint64_t start_ns, end_ns; /* of the iteration, CLOCK_MONOTONIC */
	uint64_t nr_frames;        /* before the end frame */
	uint64_t nr_readings;
	uint64_t lost, throttled; /* records lost, pauses of events; 0 in tally mode */
	uint64_t bytes;           /* of the file before the end frame */
	bool is_cut;              /* the session ended in this iteration */
	bool is_short;            /* there was no room for all of it */
	uint32_t cause;           /* why the iteration ended: enum cause */
};

/* An io_may_replace_fn: 1 if the file, from its offset, begins as a trace, else 0 or -errno. */
int trace_is_trace(int fd);
/* 1 if the file, from its offset, begins as a trace of the session with this id, else 0 or -errno.
 */
int trace_is_of_session(int fd, const uint8_t id[16]);

#endif
