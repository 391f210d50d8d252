/*
 * Pushes the iterations of a session (--push): a child runs cpuperf_print, with a low
 * priority, on those that have ended. The recorder only says how many there are, and waits for
 * nobody before its end.
 *
 * The child has a low priority, no rights and no descriptors; one runs at a time, and meanwhile
 * further iterations are only a number. cpuperf_print makes each iteration a profile by the rows
 * of pprof or otlp (job.pushed: labels of few values, tables in order of ids, as Parca requires),
 * then a request (push/request.h), which is stored in the spool and sent (push/sender.h).
 *
 * A run that the end of the session overtakes is broken off by a signal when --push-wait has
 * passed; the signal is blocked while profiles are made. An iteration that `retain` removes before
 * it is read is counted. What became of profiles comes back as a row of csv, which the recorder
 * reads at the next iteration.
 */
#ifndef CPUPERF_PUSHING_H
#define CPUPERF_PUSHING_H

#include "base/child.h"
#include "push/spool.h"

struct openmetrics;
struct options;
struct plan;

enum { PUSHING_TEXT_BYTES = 512 };

struct pushing {
	struct child child; /* CHILD_NONE: nothing is pushed */
	const struct options *options;
	struct push_counts counts; /* so far */
	uint64_t nr;               /* of iterations */
	uint64_t nr_broken;        /* runs of cpuperf_print that failed */
	uint64_t cpu_ns;           /* of all runs */
	bool is_failing;           /* a message said so */
	char place[320];           /* the receiver, for messages */
	char why[PUSHING_TEXT_BYTES];
};

/* Checks the options. -EINVAL with *e. */
int pushing_open(struct pushing *p, const struct options *o, const struct plan *plan,
		 struct err *e);
/* When measuring begins, once; manifest: of the session. 0 or -errno with *e. */
int pushing_start(struct pushing *p, const char *manifest, struct err *e);
/* All iterations below nr have ended. has_names: their samples can be named; else they wait for a
 * later call, or for the end. True: text says once what became of earlier ones. Never waits. */
bool pushing_add(struct pushing *p, uint64_t nr, bool has_names, char text[PUSHING_TEXT_BYTES]);
/* Waits until all is sent, --push-wait has passed or the program is killed, and logs what became
 * of it. */
void pushing_finish(struct pushing *p);
/* Adds what became of the profiles, if any are pushed. */
void pushing_put_metrics(const struct pushing *p, struct openmetrics *m);

#endif
