/*
 * Calls of functions in programs, counted and timed by programs in the kernel (uprobes): counts per
 * event and CPU, sums and a histogram per function, and every nth call as a sample. Only this room
 * sees libbpf.
 *
 * Why not a perf event for each function (bpf/probes.h): each would need two, and thousands of
 * functions would take minutes. The kernel sets the breakpoints of a file at once (uprobe_multi),
 * and one program sees entry and return where the kernel has uprobe sessions; what works is found
 * by trying it on functions of ours, which also finds what a call costs here. Everything is read
 * from mapped memory.
 *
 * Breakpoints vanish with their descriptors: nothing stays if the recorder is killed.
 */
#ifndef BPF_HITS_H
#define BPF_HITS_H

#include "bpf/follow.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpuset;
struct err;
struct hits;

enum {
	HITS_MAX_EVENTS = 64,
	HITS_OF_PLACE = 8, /* events that have the same function */
	HITS_MAX_PLACES = 1 << 16,
	HITS_MAX_CAPTURES = 1024, /* functions whose arguments or results are taken */
	HITS_MAX_FIELDS = 8,
	HITS_MAX_TERMS = 32,   /* of a function, of all events that have it */
	HITS_TEXT_BYTES = 118, /* of a text that another one is compared with */
	HITS_MAX_PERF = 256,   /* where breakpoints are set one by one: removing one takes 0.1 s */
};

/* A function. The path is borrowed until it is closed. */
struct hits_place {
	const char *path;
	uint64_t offset; /* of the breakpoint, in the file */
	uint64_t events; /* a bit for each, at most HITS_OF_PLACE of them */
	bool is_timed;
	uint32_t cost_ns; /* of a call, on the machine where hits_price was measured */
	uint32_t capture; /* what is taken of its calls: a number from 1; 0: nothing */
	uint32_t when; /* of hits_config.whens, from 1, if an event of hits_config.ended has it */
};

/* A value of a call: an argument of the calling convention, by its number among those in registers
 * or in words of the stack; or the result. */
enum hits_field_type { HITS_UNSIGNED, HITS_SIGNED, HITS_POINTER, HITS_STRING };
enum hits_field_where { HITS_REGISTER, HITS_STACK, HITS_RESULT };
struct hits_field {
	enum hits_field_type type;
	enum hits_field_where where;
	uint32_t number; /* of a register: below 6 on x86-64, below 8 on arm64 */
	uint32_t bytes;  /* 1, 2, 4 or 8 */
};
/* A word w is meant if w - low <= span, without a sign. */
struct hits_range {
	uint64_t low, span;
};
struct hits_capture {
	uint64_t events; /* calls that count for one of them are counted by value */
	uint64_t wanted; /* events whose samples, or conditions, have the values as well */
	struct hits_field field[HITS_MAX_FIELDS];
	size_t nr;
};

/* A text, which is borrowed until it is opened, and has no 0. */
struct hits_pattern {
	const char *text;
	size_t len;    /* at most HITS_TEXT_BYTES */
	bool is_begin; /* what begins with it is like it, too */
};

enum { HITS_DURATION = HITS_MAX_FIELDS, HITS_MEANT = 0x80 };
/* A comparison of the duration in ns, or of a field of the function's capture as its type has 64
 * bits. What could not be read is in no range. */
struct hits_term {
	uint32_t event;
	uint32_t field;   /* or HITS_DURATION */
	uint32_t pattern; /* from 1: 1 is compared if the field's text is like it, and else 0 */
	/* By whether it holds: the number of the term that decides next, or with HITS_MEANT, if
	 * the call counts, or without it, if it does not, of the next event's first one. */
	uint8_t next[2];
	bool is_result; /* the field is the result; of a pattern */
	struct hits_range range;
};
/* Of each event of hits_config.ended that has the function, in turn; each term leads to those
 * behind it alone, and the first of each event is one that the event before leads to. */
struct hits_when {
	struct hits_term term[HITS_MAX_TERMS];
	size_t nr;
};

/* How entries and returns are seen. */
enum hits_way { HITS_SESSION, HITS_MULTI, HITS_PERF };

struct hits_config {
	size_t nr_events;
	const uint64_t *rates; /* per event: calls per sample; 0: not sampled */
	/* A bit for each event that counts calls when they end, those that meet its terms; their
	 * samples have the data of PERF_ABI_ENDED. Of others all count, when they begin. */
	uint64_t ended;
	const struct hits_when *whens;
	size_t nr_whens;
	const struct hits_pattern *patterns;
	size_t nr_patterns;
	bool has_returns;                /* samples have the return addresses that are replaced */
	const struct hits_place *places; /* no two of one file and offset; borrowed, as above */
	size_t nr_places;
	const struct hits_capture *captures;
	size_t nr_captures;
	pid_t process; /* the breakpoints are in this process alone; 0: in all that map the file */
	uint32_t pmu;  /* the type of the PMU "uprobe"; 0: none */
	uint32_t cpu;  /* one that is online */
	uint32_t first_way; /* enum hits_way: those before it are not tried */
	struct follow_config follow;
	const struct cpuset
	    *cpus; /* calls that begin on other CPUs are not measured; NULL: all are */
};

/* Loads the programs, by the first way that works here. 0 or -errno with *e: -EPERM: not permitted;
 * -ENOTSUP: this kernel, or this build, cannot do it; -ENOMEM. One thread. */
int hits_open(const struct hits_config *config, struct hits **out, struct err *e);
/* Takes the breakpoints back, for good; what was counted stays. Of a hits_leave_out beside it, they
 * are gone when hits_leave_rest returns. The kernel waits at each until nobody runs its programs,
 * on a busy machine for seconds. */
void hits_stop(struct hits *h);
void hits_close(struct hits *h); /* the same, and the end of it; NULL is fine */
enum hits_way hits_way(const struct hits *h);

/* What a call that is timed costs here, and how much of that lies between its two readings of the
 * clock: ns; by the instruction at the breakpoint: one that the kernel emulates (push), or another,
 * which is single-stepped. 0: it could not be measured. */
enum hits_kind { HITS_CHEAP, HITS_STEPPED, HITS_NR_KINDS };
struct hits_price {
	uint32_t cost_ns, inside_ns;
	uint32_t entry_ns; /* of a call whose return is not seen; only for hits_set_price */
};
struct hits_price hits_price(const struct hits *h, enum hits_kind kind);
/* Sets what calls of the function are said to cost, before hits_start. */
void hits_set_price(struct hits *h, size_t place, struct hits_price price);

/* A process of the target, which exists already, or has ended, or is a thread. 0 or -errno. */
int hits_add_process(struct hits *h, pid_t process);
/* Sends the samples of the CPU to this event of type software:bpf_output, in place of an older one.
 * Borrows fd until the event is closed. 0 or -errno. */
int hits_add_output(struct hits *h, size_t event, uint32_t cpu, int fd);
/* Sets the breakpoints. 0 or -errno with *e, which names the file. */
int hits_start(struct hits *h, struct err *e);
/* Sets them without those of some functions, whose number is nr_places: calls that begin from now
 * on do not count. Not by two threads at once; beside all other functions. 0 or -errno: all is as
 * before. */
int hits_leave_out(struct hits *h, const bool *is_out);
/* After that removes the breakpoints that were there before, which may take 0.1 s: calls that are
 * open then have no times. By the same thread. */
void hits_leave_rest(struct hits *h);

/* Enables or disables an event: calls that begin while it is disabled do not count. All are enabled
 * at first. */
void hits_switch(struct hits *h, size_t event, bool is_enabled);
/* Calls on the CPU up to now, and samples that could not be sent. Any thread. */
uint64_t hits_count(const struct hits *h, size_t event, uint32_t cpu, uint64_t *lost);

/* Of one function, on all CPUs, up to now. */
struct hits_sums {
	uint64_t calls; /* that began */
	uint64_t wall_ns, self_ns, cpu_ns, cost_ns, max_ns;
	uint64_t skipped; /* calls without times: too many were open, or the stack was another */
	uint64_t left;    /* calls without times: they were left by no return */
};
void hits_read(const struct hits *h, size_t place, struct hits_sums *out);
uint64_t hits_calls(const struct hits *h, size_t place); /* of these the calls alone */
/* The histogram of wall_ns, log-linear with this many bits: the numbers begin again at 0. */
const volatile uint32_t *hits_buckets(const struct hits *h, size_t place);
uint32_t hits_bits(const struct hits *h);
uint32_t hits_nr_buckets(const struct hits *h);

/* Values that fields have had, each once, by a number below hits_nr_values, which only grows. */
enum hits_value_kind {
	HITS_VALUE_NUMBER,
	HITS_VALUE_RANGE, /* number: n > 0: from 2^(n-1) and below 2^n; 0; n < 0: of negative ones
			   */
	HITS_VALUE_TEXT,
	HITS_VALUE_LONG_TEXT, /* its begin */
	HITS_VALUE_NULL,      /* of a text */
	HITS_VALUE_UNREADABLE,
	HITS_VALUE_OTHERS, /* beyond the limit of values */
	HITS_NR_VALUE_KINDS,
};
struct hits_value {
	uint32_t capture, field; /* from 0 */
	enum hits_value_kind kind;
	uint64_t number;
	const char *text; /* borrowed until it is closed; any bytes; "" */
	uint64_t calls;   /* that had it */
	uint64_t timed, wall_ns,
	    max_ns;   /* of those that have returned, and whose return was seen */
	uint64_t sum; /* of the numbers */
};
size_t hits_nr_values(const struct hits *h);
/* False: no call has had it so far. */
bool hits_value(const struct hits *h, size_t number, struct hits_value *out);
/* Values of calls that found no room. */
uint64_t hits_values_lost(const struct hits *h);

#endif
