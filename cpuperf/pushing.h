/*
 * Pushes the iterations of a session (--push): a child runs cpuperf_print, with a low
 * priority, on those that have ended. The recorder only says how many there are, and waits for
 * nobody before its end.
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
/* All iterations below nr have ended; has_names: their samples can be named, else they wait for a
 * later call, or the end. True: text says what became of earlier ones, once. Never waits. */
bool pushing_add(struct pushing *p, uint64_t nr, bool has_names, char text[PUSHING_TEXT_BYTES]);
/* Waits until all is sent, --push-wait has passed or the program is killed, and logs what became
 * of it. */
void pushing_finish(struct pushing *p);
/* Adds what became of the profiles, if any are pushed. */
void pushing_put_metrics(const struct pushing *p, struct openmetrics *m);

#endif
