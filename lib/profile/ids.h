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
	struct trace_place place;            /* where records contain their id */
	const struct trace_layout *any;      /* for other records than samples */
	struct trace_id made_id;             /* used if the trace's ids are lost */
	const struct profile_known_id *last; /* that of the last record; NULL: none */
};

/* Events and ids are borrowed. Without ids, records belong to the only sampled event, if there is
 * one. 0 or -ENOMEM; then nothing is owned. */
int profile_ids_init(struct profile_ids *k, const struct trace_event *events, size_t nr_events,
		     const struct trace_id *ids, size_t nr_ids);
void profile_ids_fini(struct profile_ids *k);
/* NULL: unknown. */
const struct profile_known_id *profile_ids_find(const struct profile_ids *k, uint64_t id);
/* The id of a record of len bytes at p; NULL: unknown. Consecutive records usually have the same.
 */
static inline const struct profile_known_id *profile_ids_of_record(struct profile_ids *k,
								   const uint8_t *p, size_t len)
{
	uint64_t id;

	if (k->only)
		return k->only;
	id = trace_record_word(&k->place, p, len);
	if (!k->last || k->last->id != id)
		k->last = profile_ids_find(k, id);
	return k->last;
}

#endif
