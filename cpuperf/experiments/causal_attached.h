/*
 * Experiments in a process that runs already (--causal --pid): it and the processes below it have
 * the agent while they are measured. None is ended or signalled, and what ends it is its own.
 */
#ifndef CPUPERF_CAUSAL_ATTACHED_H
#define CPUPERF_CAUSAL_ATTACHED_H

#include "marks/marked.h"
#include "target/tasks.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum { CAUSAL_SUBJECT_BYTES = 64 };

/* Zeroes but for fd -1 are none. */
struct causal_attached {
	pid_t pid; /* 0: none */
	int fd;    /* readable when it has ended */
	char text[16];
	const char *pids[1];                /* text */
	char subject[CAUSAL_SUBJECT_BYTES]; /* "process 12 (name)", for messages */
	char library[PATH_MAX];
	struct target_tasks tasks; /* that have been found */
	pid_t *in;                 /* owned: those that have the agent; the first is pid */
	size_t nr_in;
	struct marked marked;
	bool has_marked;
};

/* text: of --pid. Looks at the process without touching it. 0, or -errno with *e: it cannot have
 * the agent. */
int causal_attached_open(struct causal_attached *a, const char *text, struct err *e);
void causal_attached_close(struct causal_attached *a);
/* Has them measure for the recorder with that number, and their objects with marks connect to it; a
 * warning names each process below that cannot. 0 or -errno with *e. */
int causal_attached_begin(struct causal_attached *a, uint32_t number, struct err *e);
/* They measure nothing any more; where that fails, a warning says why. */
void causal_attached_end(struct causal_attached *a);
/* True if the process has ended, by that time (CLOCK_MONOTONIC) or until a signal comes. */
bool causal_attached_has_ended(const struct causal_attached *a, uint64_t until_ns);
/* Whether the process is one of those that were found. */
bool causal_attached_has(const struct causal_attached *a, uint32_t pid);

#endif
