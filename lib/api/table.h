/*
 * From a running session to a table, for cpuperf and the public interface; and the catalogue of all
 * groups of events.
 *
 * cpuperf uses this file, names.h and works.h, and nothing else of the room.
 */
#ifndef API_TABLE_H
#define API_TABLE_H

#include "base/arena.h"
#include "estimate/table.h"
#include "session/session.h"

/* All groups in the order of lists, and the memory of made rows. Must not move between init and
 * fini. */
struct api_catalogue {
	struct catalogue catalogue;
	struct arena arena;
};

/* host: borrowed; NULL: the tables alone. model: the CPU model as the spec names it; borrowed;
 * NULL, "" and "default": this CPU. Allocates nothing until events are looked up. */
void api_catalogue_init(struct api_catalogue *c, const struct host *host, const char *model);
void api_catalogue_fini(struct api_catalogue *c);

/* Checks that the spec's model_name, for which c was made, is this machine's: 0, or -ENOTSUP with
 * an error that names the detected one. plan_make rejects unknown names. */
int api_check_model(const struct api_catalogue *c, const struct spec *spec, struct err_list *errs);

/* A table for the iterations of an opened session: its events and the metrics of its spec, a row
 * for each CPU. Borrows from the plan and the session. 0; -ENOMEM, -EFBIG with *e. */
int api_table_new(const struct session *s, struct table **out, struct err *e);
/* The metrics of the spec and what else can be derived from the events that work. In the arena. 0;
 * -ENOMEM with *e. */
int api_table_metrics(const struct session *s, struct arena *a, struct metric_set *out,
		      struct err *e);
/* Fills cells, totals and times of the table from an iteration. */
void api_table_fill(struct table *t, const struct session *s, const struct session_iteration *it);

#endif
