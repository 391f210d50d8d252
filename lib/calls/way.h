/*
 * Who measures calls: programs in the kernel, or the agent in the program. A row for each way,
 * which the source asks in loops. Private to calls/.
 */
#ifndef CALLS_WAY_H
#define CALLS_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct functions_place;
struct functions_signature;
struct host;
struct notes;
struct plan;
struct plan_event;
struct source;

enum {
	CALLS_MAX_EVENTS = 64,
	CALLS_MAX_OF_FUNCTION = 8, /* events that have it */
};

/* A word w is meant if w - low <= span. */
struct calls_range {
	uint64_t low, span;
};

/* A function of the plan; each once. */
struct calls_function {
	const struct functions_place *place; /* borrowed from the plan */
	uint64_t events;                     /* a bit for each, by its number in the list */
	bool is_kept;                        /* an event that has it asks for it at any cost */
	const struct functions_signature *signature; /* what of its calls is recorded; or NULL */
	size_t signed_by;                            /* the event that asks for it */
	uint32_t way;                                /* set by the way; 0: the way's number */
	bool is_timed;                               /* set by the way: its calls have times */
	/* Set by the way: left out, it is counted on, without times, and a call costs counted_ns.
	 */
	bool is_counted_on;
	uint32_t counted_ns;
	_Atomic bool is_untimed; /* it is left out so */
	/* Set by the way: what a call costs, which may be known later, and how much of that lies in
	 * its wall time. */
	_Atomic uint32_t cost_ns;
	uint32_t inside_ns;
};

struct calls_list {
	struct calls_function *function; /* owned */
	size_t nr, room;
	uint32_t event[CALLS_MAX_EVENTS]; /* of the plan */
	uint64_t rate[CALLS_MAX_EVENTS];  /* calls per sample; 0: not sampled */
	/* A bit for each that counts calls when they end, those that meet its condition. */
	uint64_t ended;
	size_t nr_events;
};

/* Finds those of the source's events; empty at first. 0; -ENOMEM; -ENOTSUP with *e. */
int calls_list_make(struct calls_list *l, const struct plan *plan, const struct source *source,
		    struct err *e);
void calls_list_fini(struct calls_list *l);

/* Of one function, since it was opened. */
struct calls_sums {
	uint64_t calls, wall_ns, self_ns, cpu_ns, cost_ns, max_ns;
	uint64_t skipped; /* calls without times: too many were open, or the stack was another */
	uint64_t left;    /* calls without times: they did not return */
};

/* A value that a field of a function's signature has had; cumulative. */
struct calls_value {
	size_t function;
	uint32_t field;
	uint32_t kind; /* enum trace_value_kind */
	uint64_t number;
	const char *text; /* borrowed until the way is closed */
	uint64_t calls, timed, wall_ns, max_ns, sum;
};

struct calls_way {
	uint32_t number; /* enum trace_function_way */
	bool has_cpu;    /* times on a CPU are known, too */
	/* Measures the list's functions for the plan's target, both borrowed: 0 or -errno with *e.
	 */
	int (*open)(const struct plan *plan, struct calls_list *list, void **out, struct err *e);
	void (*close)(void *way);
	/* Takes back what was set in the target's programs, which go on; before close. Nothing is
	 * read from then on. May be called again. */
	void (*leave)(void *way);
	/* Then, when leave_rest is done, too: warns of what could not be taken back. NULL: leave
	 * does. */
	void (*look_back)(const void *way);
	/* Events are named by their number in the list. NULL: none is sampled; boundaries alone
	 * divide what is counted. */
	int (*connect)(void *way, size_t event, uint32_t cpu, int fd);
	void (*enable)(void *way, size_t event, bool is_enabled);
	/* As hits_leave_out, but for is_counted_on. NULL: all are measured until the end. */
	int (*leave_out)(void *way, const bool *is_out);
	/* As hits_leave_rest. NULL: there is none. */
	void (*leave_rest)(void *way);
	/* Before calls is asked for, in the thread that leaves out: reads them, and what a call
	 * costs. NULL: both are known at any time. 0 or -ENOMEM. */
	int (*look)(void *way);
	/* Reads what is counted until now; NULL: what follows does so by itself. 0 or -ENOMEM. */
	int (*refresh)(void *way);
	/* In the thread that leaves out, also what is disabled: */
	uint64_t (*calls)(const void *way, size_t function);
	/* From any thread, but for a way that refreshes: */
	uint64_t (*count)(const void *way, size_t event, uint32_t cpu, uint64_t *lost);
	void (*read)(const void *way, size_t function, struct calls_sums *out);
	/* Calls of a bucket, which was before at the last call: never less. From one boundary to
	 * the next it may grow by 2^32 - 1 in the kernel. */
	uint64_t (*bucket)(const void *way, size_t function, uint32_t i, uint64_t before);
	/* As hits_bits and hits_nr_buckets. */
	uint32_t (*bits)(const void *way);
	uint32_t (*nr_buckets)(const void *way);
	/* Values by number, each once: the numbers of those that are there stay. False: no call has
	 * had it so far. NULL: values are not recorded. */
	size_t (*nr_values)(const void *way);
	bool (*value)(const void *way, size_t number, struct calls_value *out);
	/* Adds what limits the numbers; NULL: nothing else. */
	void (*notes)(void *way, struct notes *notes);
	/* As a source's; NULL: nobody connects. */
	const char *(*socket)(const void *way);
};

extern const struct calls_way calls_kernel_way, calls_agent_way;
/* Whether it works on this host: 0 or -errno with *e. */
int calls_kernel_try(const struct host *h, struct err *e);
/* Whether the agent measures the event. */
bool calls_agent_has(const struct plan *plan, const struct plan_event *p);

#endif
