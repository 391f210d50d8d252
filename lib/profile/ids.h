/*
 * Finds the event and the layout of a record, from the ids and attrs of a trace. Independent of
 * frames.
 */
#ifndef PROFILE_IDS_H
#define PROFILE_IDS_H

#include "trace/record.h"
#include "trace/trace.h"

struct profile_known_id {
	uint64_t id;
	const struct trace_id *what;
	struct trace_layout layout;
	bool has_layout;
};

/* Must not be moved. */
struct profile_ids {
	struct profile_known_id *item; /* owned; by id */
	size_t nr;
	const struct profile_known_id *only; /* NULL: records contain their id */
	const struct profile_known_id
	    *sharing; /* of samples with an unknown id: the only event whose samples may carry the
			 id of another listener (trace_layout_shares_data); or NULL */
	struct trace_place place;       /* where records contain their id */
	const struct trace_layout *any; /* for other records than samples */
	struct trace_id made_id;        /* used if the trace's ids are lost */
};

/* Events and ids are borrowed. Without ids, records belong to the only sampled event, if there is
 * one. 0 or -ENOMEM; then nothing is owned. */
int profile_ids_init(struct profile_ids *k, const struct trace_event *events, size_t nr_events,
		     const struct trace_id *ids, size_t nr_ids);
void profile_ids_fini(struct profile_ids *k);
/* NULL: unknown. */
const struct profile_known_id *profile_ids_find(const struct profile_ids *k, uint64_t id);

#endif
