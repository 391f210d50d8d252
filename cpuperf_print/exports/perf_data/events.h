/*
 * The events of a perf.data file and their ids, gathered from the traces as they are read. Knows
 * nothing of records.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PERF_DATA_EVENTS_H
#define CPUPERF_PRINT_EXPORTS_PERF_DATA_EVENTS_H

#include "base/buf.h"
#include "base/dict.h"
#include "export/perf_data.h"
#include "export/perf_record.h"
#include "profile/session.h"
#include "trace/record.h"

enum {
	EVENTS_SIDE_BAND_ID =
	    0x63707500,              /* of the side band's event, which the traces do not tell */
	EVENTS_ONLY_ID = 0x63707501, /* of the only event, where the traces tell no ids */
};

struct events_id {
	uint64_t id;
	uint32_t event; /* of the list */
	/* Of its counts in samples: the last one, and what of it fell on samples that are told. */
	uint64_t count, told;
};

/* One perf_event_attr of an event of the session. */
struct events_one {
	uint32_t event, attr; /* as in struct trace_id */
	struct perf_data_event out;
	struct buf format; /* owned; of a tracepoint */
};

/* Zero-initialise by events_init. */
struct events {
	const struct profile_facts *facts;
	struct events_one *one; /* owned */
	size_t nr, room;
	struct dict ids;               /* struct events_id */
	struct perf_data_group *group; /* owned */
	size_t nr_groups, groups_room;
	uint64_t *sorted;             /* owned; the ids, event by event */
	struct perf_data_event *list; /* owned; after events_finish */
	bool has_branches;
};

void events_init(struct events *x, const struct profile_facts *facts);
void events_fini(struct events *x);
/* As it stands in the file, where 0 is no id. */
uint64_t events_id(const struct trace_id *id);
/* An id of a trace is met: it, and all others of the trace, are in the file. 0 or -ENOMEM. */
int events_meet(struct events *x, const struct profile_trace *t, const struct trace_id *id);
/* After the last: those of which no record came too, and the side band's event behind them. 0 or
 * -ENOMEM. list, nr, group, nr_groups hold then. */
int events_finish(struct events *x);

/* A sample has this count of that id, which was met: what of it fell on the samples that are told,
 * this one too unless it is left out. Readers take what came between two samples for the second's.
 */
uint64_t events_count(struct events *x, uint64_t id, uint64_t count, bool is_left_out);

struct perf_layout events_layout(const struct trace_layout *l);

#endif
