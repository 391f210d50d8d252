/*
 * The events of a perf.data file and their ids, collected from the traces.
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
	EVENTS_SIDE_BAND_ID = 0x63707500, /* of the side band's event, which is not in the traces */
	EVENTS_ONLY_ID = 0x63707501,      /* of the only event, if the traces have no ids */
};

struct events_id {
	uint64_t id;
	uint32_t event; /* place in the list */
	/* In samples: its last count, and the part of it that was written. */
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
	bool has_periods; /* each sample has its own, as the session may have divided its rates */
};

void events_init(struct events *x, const struct profile_facts *facts);
void events_fini(struct events *x);
/* The id in the file. 0 is not valid there and is replaced. */
uint64_t events_id(const struct trace_id *id);
/* Adds an id, and all others of its trace. 0 or -ENOMEM. */
int events_meet(struct events *x, const struct profile_trace *t, const struct trace_id *id);
/* At a count in a sample of that layout: its event, which may have no samples of its own. 0 or
 * -ENOMEM. */
int events_meet_counted(struct events *x, const struct trace_id *id, const struct trace_layout *of);
/* Call after the last record. Adds events without records and the side band's, and fills list, nr,
 * group and nr_groups. 0 or -ENOMEM. */
int events_finish(struct events *x);

/* Passes the count of an added id in a sample and returns the count to write: readers attribute the
 * difference between two samples to the second, so the counts of skipped samples are subtracted. */
uint64_t events_count(struct events *x, uint64_t id, uint64_t count, bool is_left_out);
/* The same for an event whose samples have what it counted as their period: adds the count to what
 * is written. */
uint64_t events_add(struct events *x, uint64_t id, uint64_t count);

struct perf_layout events_layout(const struct events *x, const struct trace_layout *l);

#endif
