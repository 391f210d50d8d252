/*
 * From a running session to a table: what cpuperf and the public interface share. The only place
 * where all groups of events come together.
 */
#ifndef API_LIVE_H
#define API_LIVE_H

#include "metric/table.h"
#include "session/session.h"

/* All groups, in the order in which they are listed. */
extern const struct catalogue live_catalogue;

/* Fills the columns from an opened session of the plan. Strings are borrowed from both. */
void live_columns(struct table *t, const struct plan *plan, const struct session *s);
/* Fills cells, totals and times from an iteration; the table is of the plan's events and CPUs. */
void live_iteration(struct table *t, const struct session *s, const struct session_iteration *it);

#endif
