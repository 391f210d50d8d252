/*
 * Serves what the iterations of a session counted (--metrics-listen): after each, the text of all
 * so far is made, for readers that come at any time.
 */
#ifndef CPUPERF_METRICS_H
#define CPUPERF_METRICS_H

#include "base/buf.h"
#include "expose/exposition.h"
#include "serve/serve.h"

struct plan;
struct pushing;
struct session;
struct trace_event;

struct metrics {
	struct serve *serve; /* NULL: nothing is served */
	struct serve **kept; /* borrowed: where it is for the next session; NULL: there is none */
	const struct pushing *pushing; /* borrowed */
	const struct plan *plan;       /* borrowed; of the session */
	struct exposition exposition;
	struct trace_event *events; /* owned */
	struct buf text[SERVE_NR_FORMS];
	bool has_failed; /* a message said so */
};

/* Listens. address NULL: nothing is served, and the other functions do nothing. kept: *kept listens
 * already, or is set to what does, which metrics_close leaves open; NULL: it is closed.
 * pushing is borrowed. 0 or -errno with *e. */
int metrics_open(struct metrics *m, const char *address, struct serve **kept,
		 const struct pushing *pushing, struct err *e);
/* t has the columns of the session's iterations; max_things: see struct exposition_config. 0 or
 * -errno with *e. */
int metrics_begin(struct metrics *m, const struct session *s, const struct table *t,
		  size_t max_things, struct err *e);
/* Adds an iteration whose totals are filled. Without memory the text of the last one remains, and a
 * message says so. */
void metrics_add(struct metrics *m, const struct table *t);
void metrics_close(struct metrics *m);

#endif
