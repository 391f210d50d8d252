/*
 * What a trace holds, in memory: the same structures for the writer and the reader. The waist of
 * the project: recording and reporting meet here and nowhere else.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/clock.h"
#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of frames; the numbers are the file's: only append. */
enum trace_frame_kind {
	TRACE_FRAME_INFO = 1,       /* what was measured, by what, on what */
	TRACE_FRAME_EVENTS = 2,     /* the resolved events */
	TRACE_FRAME_CLOCKS = 3,     /* a clock triple */
	TRACE_FRAME_READINGS = 4,   /* raw readings of one boundary */
	TRACE_FRAME_NOTE = 5,       /* a warning in words */
	TRACE_FRAME_END = 6,        /* totals: the trace is whole */
	TRACE_FRAME_RECORDS = 7,    /* whole records as the kernel wrote them into a ring */
	TRACE_FRAME_IDS = 8,        /* which event a record's id means on this CPU */
	TRACE_FRAME_SAMPLING = 9,   /* what became of the samples of the iteration */
	TRACE_FRAME_KALLSYMS = 10,  /* lines of /proc/kallsyms */
	TRACE_FRAME_THINGS = 11,    /* what the instances of events of many things are called */
	TRACE_FRAME_WHERE = 12,     /* where the trace's CPU is */
	TRACE_FRAME_ITERATION = 13, /* of a segment: what follows is of that iteration */
	TRACE_FRAME_INDEX = 14,     /* of a segment: where its iterations begin */
	TRACE_FRAME_BUILD_ID = 15,  /* of a file that was mapped */
};

enum trace_boundary {
	TRACE_START = 0,
	TRACE_END = 1,
	TRACE_TICK = 2, /* between them, at the timebase's pace */
};

/* Of a segment, a file that holds many iterations of one trace: where one of them is. */
struct trace_part {
	uint32_t iteration;
	uint32_t head_bytes; /* of the segment: header, and the frames of all its iterations */
	uint64_t from, to;   /* its iteration frame, and what is behind its last byte */
};

/* The iteration and the trace number of a session's common file, which is of no CPU. */
enum { TRACE_COMMON = UINT32_MAX };

/* The header's fields, in host form. */
struct trace_head {
	uint8_t session_id[16];
	uint8_t boot_id[16];
	uint32_t iteration, trace, cpu, nr_traces;
	char host[65], machine[17];
};

/* Strings are borrowed; NULL is written as "" and never read back. */
struct trace_info {
	const char *tool;      /* "cpuperf 0.1.0" */
	const char *kernel;    /* release and version */
	const char *cpu_model; /* as the host tells it */
	const char *config_name, *model_name;
	const char *spec_json;   /* the spec as measured, defaults and overrides applied */
	uint64_t duration_ns;    /* asked for, per iteration */
	uint64_t num_iterations; /* asked for */
	uint32_t user_hz;        /* ticks per second of /proc/stat */
	uint32_t page_bytes;
};

/* What a spec asks for an event; the numbers are the file's, and those of enum spec_flag. */
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
	const char *reason; /* why it is not measured, in words; "" */
	/* The perf_event_attr as opened (its own size field says how long); of an event with
	 * several parts (types of core, boxes of memory) one behind the other. */
	const void *attr;
	uint32_t attr_bytes; /* 0: not a perf event */
	double scale; /* what is shown = count × scale; 0 stands for 1 (read back: 0 or above) */
	uint64_t frequency; /* of the spec, in Hz: the kernel adapts the period; 0: none */
	/* The fields of a tracepoint, as tracefs's format file has them ("\tfield:…" lines, the
	 * common ones too): what the raw bytes of its samples mean; "". */
	const char *format;
};

/* Of TRACE_FRAME_RECORDS: whose records they are. */
enum trace_ring {
	TRACE_RING_SAMPLES = 0, /* of the events of the trace's CPU */
	TRACE_RING_SIDE_BAND =
	    1,               /* tasks, mappings, kernel symbols: what became of them on a CPU */
	TRACE_RING_MADE = 2, /* the same, made by cpuperf from /proc for what was there before */
};

/* One perf event as opened on the trace's CPU; group by group, the leader first. */
struct trace_id {
	uint64_t id;       /* in the IDENTIFIER of samples and the id of other records */
	uint32_t event;    /* place in the events frame; UINT32_MAX: the side-band's */
	uint32_t instance; /* as in readings: which part of the event on this CPU */
	uint32_t attr;     /* which of the event's attrs, from 0 */
	uint32_t group;    /* on this CPU; members in the order of their counts in a sample */
};

/* What became of the samples of one perf event in the iteration. */
struct trace_sampled {
	uint32_t event, instance; /* as in readings */
	uint64_t samples;         /* taken and in the trace */
	uint64_t idle;            /* of them: of the idle task */
	uint64_t weight;          /* the sum of their periods */
	uint64_t lost;            /* by the kernel's count of the event; UINT64_MAX: not told */
	uint64_t throttled, unthrottled; /* so often the kernel paused and resumed it */
};

struct trace_sampling {
	uint64_t ring_bytes;                   /* 0: no ring */
	uint64_t max_rate_start, max_rate_end; /* kernel.perf_event_max_sample_rate; 0: not known */
	uint64_t idle_ns; /* of the CPU in the iteration, by /proc/stat; UINT64_MAX: not known */
	uint64_t lost;    /* records, by what the ring says */
	uint64_t ticks, ticks_missed; /* TRACE_TICK readings of the session: taken; passed by */
	const struct trace_sampled *item;
	size_t nr;
};

/* One of many things (a disk, a process …). */
struct trace_thing {
	uint32_t number;  /* the instance of its readings */
	const char *name; /* "sda", "1234 bash"; as it was called last */
};

/* Things that some events (of scope EVENT_SCOPE_THINGS) number alike. */
struct trace_things {
	const uint32_t *events; /* places in the events frame */
	size_t nr_events;
	const struct trace_thing *item;
	size_t nr;
};

/* Where the CPU of a trace is. */
enum { TRACE_TYPE_BYTES = 64 };
struct trace_where {
	int32_t package, node;       /* negative: not known */
	char type[TRACE_TYPE_BYTES]; /* of its core; "": all are alike, or not known */
};

/* A file, as mappings that tell no build-id have it; and the build-id that it had from one time to
 * the other. */
struct trace_build_id {
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	const uint8_t *id;
	uint32_t id_len;  /* 1 … 20 */
	const char *path; /* as records have it: not terminated, not cleaned */
	uint32_t path_len;
};

struct trace_note {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	const char *text; /* what a person should know of these numbers */
};

/* The totals of the end frame. */
struct trace_totals {
	uint64_t start_ns, end_ns; /* of the iteration, CLOCK_MONOTONIC */
	uint64_t nr_frames;        /* before the end frame */
	uint64_t nr_readings;
	uint64_t lost, throttled; /* records lost, pauses of events; 0 in tally mode */
	uint64_t bytes;           /* of the file before the end frame */
	bool is_cut;              /* the session was ended in this iteration */
	bool is_short;            /* there was no room for all of it */
};

/* An io_may_replace_fn: 1 if the file, read from its offset, begins as a trace does, else 0 or
 * -errno. */
int trace_is_trace(int fd);

#endif
