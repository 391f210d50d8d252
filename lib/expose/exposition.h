/*
 * What was counted as families of metrics, in the text that Prometheus reads: one number for each
 * event and CPU (or thing), the sum over all iterations, or the last value of a gauge. Events
 * without a number have no line; cpuperf_event_iterations has the number of iterations that were
 * counted.
 */
#ifndef EXPOSE_EXPOSITION_H
#define EXPOSE_EXPOSITION_H

#include "base/arena.h"
#include "export/openmetrics.h"
#include "expose/sums.h"

struct err;
struct exposition_family;
struct trace_event;

/* Texts are any, and borrowed; NULL: unknown. */
struct exposition_session {
	const char *session_id, *boot_id, *host, *machine, *config_name, *kernel, *cpu_model, *tool;
	uint64_t nr_unread; /* parts of its files */
};
struct exposition_config {
	const struct trace_event *events; /* borrowed; of each event of the table */
	struct exposition_session session;
	bool is_live; /* lines have no times: they are those of whoever reads */
	int (*flush)(void *arg, struct err *e); /* NULL: all remains in the buffer */
	void *arg;
};

/* All private but sums, latencies and m. */
struct exposition {
	struct exposition_config config;
	struct sums sums;           /* to which iterations are added by sums_add */
	struct latencies latencies; /* of all iterations, added by the caller */
	struct openmetrics m;       /* after exposition_put: for further families */
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
/* Appends all families, without the end of the text. is_classic: see struct openmetrics. t: any
 * table of the session, for its columns. 0, -errno with *e, or what flush returned; errors of out
 * are its own. */
int exposition_put(struct exposition *x, const struct table *t, struct buf *out, bool is_classic,
		   struct err *e);

#endif
