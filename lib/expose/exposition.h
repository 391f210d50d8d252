/*
 * What was counted as families of metrics, in the text that Prometheus reads: one number for each
 * event and CPU (or thing), the sum over all iterations, or the value of a gauge in the last one.
 * Events without a number have no line; cpuperf_event_iterations has the number of iterations that
 * were counted.
 *
 * It is one text for two uses. While a session runs, cpuperf/metrics.c adds each iteration to the
 * sums, makes the text in both forms and exchanges it for the one before in serve/, whose thread
 * answers. Of files, cpuperf_print's openmetrics makes a text for each iteration and sorts the
 * lines by series (exports/openmetrics/points.h): a scrape after n iterations is the file's nth
 * points. The dashboard for Grafana (service/) takes families from Prometheus, so it has no list
 * of events.
 */
#ifndef EXPOSE_EXPOSITION_H
#define EXPOSE_EXPOSITION_H

#include "base/arena.h"
#include "export/openmetrics.h"
#include "expose/top.h"

struct err;
struct exposition_family;
struct trace_event;

/* Texts are any, and borrowed; NULL: unknown. */
struct exposition_session {
	const char *session_id, *boot_id, *host, *machine, *config_name, *kernel, *cpu_model, *tool;
};
struct exposition_config {
	const struct trace_event *events; /* borrowed; of each event of the table */
	struct exposition_session session;
	/* Lines have no time: each value is that of the last iteration. */
	bool has_no_times;
	/* A text is made after each iteration. It has metrics of that one, not their mean; with
	 * times, numbers of that one alone. */
	bool is_of_iterations;
	/* At most so many things of each event have a line of their own, and the others one line
	 * together; 0: all have. */
	size_t max_things;
	int (*flush)(void *arg, struct err *e); /* NULL: all remains in the buffer */
	void *arg;
};

/* All private but sums, latencies and m. */
struct exposition {
	struct exposition_config config;
	struct sums sums;           /* to which iterations are added by exposition_add */
	struct top top;             /* of things, if they are limited */
	struct latencies latencies; /* of all iterations, added by the caller */
	struct openmetrics m;       /* after exposition_init: its on_line and shared; after
				       exposition_put: for further families */
	struct arena arena;
	struct exposition_family *families; /* owned */
	size_t nr_families;
	uint32_t *family_of; /* owned; by column */
	bool *is_twin;       /* owned; another column has its label too */
};

/* Makes the names, of all columns of t. 0 or -ENOMEM; exposition_fini in any case. */
int exposition_init(struct exposition *x, const struct exposition_config *config,
		    const struct table *t);
void exposition_fini(struct exposition *x);
/* The name of a column's family, and the scale of its numbers. */
const char *exposition_family(const struct exposition *x, size_t column,
			      struct openmetrics_scale *scale);
/* Adds an iteration whose totals are filled. 0, or what sums_add returned. */
int exposition_add(struct exposition *x, const struct table *t);
/* Appends all families, without the end of the text. is_classic: see struct openmetrics. t: the
 * iteration that was added last; if is_of_iterations is false, any, for its columns. 0, -errno with
 * *e, or what flush returned; errors of out are its own. */
int exposition_put(struct exposition *x, const struct table *t, struct buf *out, bool is_classic,
		   struct err *e);

#endif
