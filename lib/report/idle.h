/*
 * Waits for work: blocked threads for which nothing is late, such as those of a server without
 * requests. Rules by place (why and in which function a thread waits) name the candidates; how the
 * threads live decides. What is in doubt is not idle.
 *
 * This is a sink between the engine and the table. It holds the entries that a rule matches until
 * all are read, and then passes on those that are no waits for work. What does not fit in memory
 * is passed on at once.
 */
#ifndef REPORT_IDLE_H
#define REPORT_IDLE_H

#include "base/buf.h"
#include "report/entry.h"

struct err;
struct report_functions;
struct report_idle;

enum { REPORT_MAX_IDLE_RULES = 64, REPORT_IDLE_RULES_BYTES = 64 << 10 };

/* Conditions of a rule, besides its place: bits. */
enum report_idle_need {
	/* The thread spends nearly all its blocked time at this place. */
	REPORT_IDLE_LOOP = 1 << 0,
	/* The thread is not the first one of its process. */
	REPORT_IDLE_THREAD = 1 << 1,
	/* The thread waits near the start of its stack, as between jobs. */
	REPORT_IDLE_NEAR = 1 << 2,
	/* The thread spends nearly all its time at this place; and half the time all threads that
	 * wait in this function do so at once, so that none of them holds what others wait for. */
	REPORT_IDLE_UNUSED = 1 << 3,
	/* Such waits last 10 ms and more on average: shorter naps may wait for what is due. */
	REPORT_IDLE_LONG = 1 << 4,
	/* A wait at this place is no wait for work: further rules are not tried. */
	REPORT_IDLE_NEVER = 1 << 5,
};

struct report_idle_rule {
	/* Globs for whole texts. reason: as the report waits prints it, or the kind of lock. */
	const char *reason;
	const char *function, *object; /* of a frame of the stack; NULL: any */
	unsigned needs;
};

/* Rules of the user, tried before those built in. Zero-initialise. */
struct report_idle_rules {
	struct report_idle_rule rule[REPORT_MAX_IDLE_RULES];
	size_t nr;
	struct buf text; /* of the strings */
};
/* Reads a file of lines "REASON:FUNCTION[@OBJECT]", which need nothing else, or "!…", which are no
 * waits for work; # begins a comment. 0 or -errno with *e. */
int report_idle_rules_load(struct report_idle_rules *r, const char *path, struct err *e);
void report_idle_rules_fini(struct report_idle_rules *r); /* zeroes are fine */

/* A sink that passes entries on to another one: those that may be waits for work only when
 * report_idle_end is called, if they are none. All waits must be of one event (REPORT_SUM_WAITS).
 * rules: borrowed. NULL without memory.
 */
struct report_idle *report_idle_new(struct report_functions *functions,
				    const struct report_idle_rules *rules,
				    const struct report_sink *to);
void report_idle_free(struct report_idle *i); /* NULL is fine */
const struct report_sink *report_idle_sink(const struct report_idle *i);
/* 0 or -errno, of the sink. */
int report_idle_end(struct report_idle *i);

/* After report_idle_end. */
struct report_idle_place {
	const char *reason;
	uint32_t function; /* of the program */
	struct report_weight weight;
};
struct report_idle_sum {
	struct report_weight weight; /* of waits for work; no samples: there are none */
	uint32_t event;              /* of waits */
	struct report_weight rest;   /* of the waits that were passed on */
	uint64_t nr_threads;
	const struct report_idle_place *places; /* most time first; owned by the report */
	size_t nr_places;
};
void report_idle_sum(const struct report_idle *i, struct report_idle_sum *out);

#endif
