/*
 * Calls of functions that are added up in the program itself, by the agent of functions
 * (lib/agent/functions): those that the compiler has prepared, and those whose entries are patched.
 *
 * The agent counts what is called, by address, and knows no name. Here addresses become functions:
 * by what the program has mapped, and the places that are measured. Sums only grow, over all
 * processes of the session, also those that have ended: a boundary takes the difference.
 *
 * Replaced code also runs in processes that have not connected: a child by fork has its parent's
 * code, and connects at its first call. So at the end processes are also found by their
 * environment, and as children of others.
 *
 * Threads: one at a time uses it, but for hooks_leave_out and hooks_look; connections come in the
 * thread of its wire.
 */
#ifndef HOOKS_HOOKS_H
#define HOOKS_HOOKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct functions_place;
struct hooks;

enum { HOOKS_BITS = 4, HOOKS_BUCKETS = 624 }; /* as a trace's histogram */

/* The variable of a command that has the name of the socket. */
#define HOOKS_VARIABLE "CPUPERF_FUNCTIONS"

struct hooks_config {
	/* What is measured: path, address and size of each; borrowed. */
	const struct functions_place *const *place;
	size_t nr;
	bool has_times; /* else calls are counted, which costs a fourth */
	/* Also measures what is not prepared, by replacing instructions: with times where these are
	 * wanted and all ends of the function can be replaced, too. */
	bool patches;
	/* Whether the process is measured, as far as it connects; NULL: each is. */
	bool (*is_wanted)(void *arg, uint32_t pid);
	/* As wire_config.may_connect. */
	bool (*may_connect)(void *arg, uint32_t pid);
	void *arg;
};

/* 0 or -errno with *e. Where instructions are to be replaced a child of this process sleeps until
 * the end, as hooks/keeper.h says. */
int hooks_open(const struct hooks_config *config, struct hooks **out, struct err *e);
/* The programs count no longer, and go on: what was replaced in them is as it was before. A warning
 * says of which processes it is not. Nothing is read from then on. May be called again. */
void hooks_leave(struct hooks *h);
/* The same, and the end of it. NULL is fine. */
void hooks_close(struct hooks *h);
/* The value of the variable. */
const char *hooks_socket(const struct hooks *h);
/* Why a place that is not prepared is not measured; constant. NULL: it is. */
const char *hooks_refused(const struct hooks *h, size_t place);
/* Why calls of one that is measured by replacing instructions have no times; constant. NULL: they
 * have, or it is not measured so. */
const char *hooks_untimed(const struct hooks *h, size_t place);
/* Whether the programs take times, of any place. */
bool hooks_has_times(const struct hooks *h);

/* From now on the places for which is_out is true are measured no longer, and the others again; a
 * place that was first called since the last reading follows at the next one. One that is measured
 * by replacing instructions is counted on, without times. Any thread. */
void hooks_leave_out(struct hooks *h, const bool *is_out);

/* Of one place, by all processes, until the last reading. */
struct hooks_sums {
	uint64_t calls;                    /* that began */
	uint64_t ended;                    /* that have times: the sum of the buckets */
	uint64_t wall_ns, self_ns, max_ns; /* of these */
	uint64_t cost_ns;                  /* what measuring has added to wall_ns: an estimate */
};

/* Reads the memories of all processes. 0 or -ENOMEM, after which sums are as before. */
int hooks_read(struct hooks *h);
void hooks_sums(const struct hooks *h, size_t place, struct hooks_sums *out);
/* HOOKS_BUCKETS of them, borrowed until the next reading; NULL: no call has ended. */
const uint64_t *hooks_buckets(const struct hooks *h, size_t place);

/* Without a reading: the calls of each place until now, into as many numbers, and what one costs,
 * in ns, as the programs have tried it; 0: none has. 0 or -ENOMEM. Any thread. */
int hooks_look(struct hooks *h, uint64_t *calls, double *cost_ns);

/* What limits the numbers; cumulative. */
struct hooks_limits {
	uint32_t processes, refused; /* that have connected, and that found no room */
	uint32_t late;               /* that gave up before they were answered */
	uint32_t failed;             /* for which no memory could be made */
	int failed_error;            /* why, of the last one; 0: there was none */
	uint64_t missed;             /* calls that were not counted */
	uint64_t untimed;            /* calls whose end was not seen, or that were too deep */
	uint32_t joined;             /* threads whose calls have no times: too many at a time */
	uint32_t patched, unpatched; /* entries of NOPs, by the compiler */
	uint32_t placed, unplaced;   /* other places that the agent was to change */
	uint32_t timed, half;        /* of placed: with times; those that were to have some */
	int unplaced_error;          /* why not, of one of them: as errno; 0: not known */
	uint32_t large;              /* processes that said more than is read of them */
	uint64_t nameless; /* calls of what is no place: of others, or of no known mapping */
	double cost_ns;    /* of a call, the most that a program has tried; 0: none has */
};
void hooks_limits(const struct hooks *h, struct hooks_limits *out);

#endif
