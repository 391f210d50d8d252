/*
 * The content of one file of a session in order of time: records of the kernel, and readings taken
 * between the boundaries. Streams the file: memory is one frame and what waits for its turn. Knows
 * nothing of the other files.
 */
#ifndef PROFILE_RECORDS_H
#define PROFILE_RECORDS_H

#include "profile/faults.h"
#include "trace/reader.h"
#include "trace/record.h"

struct profile_records;

enum profile_item_kind {
	PROFILE_RECORD = 1,
	PROFILE_READING,  /* TRACE_TICK, of an event of the session */
	PROFILE_KALLSYMS, /* this and the next have no time: they are returned in file order */
	PROFILE_CMDLINE,
};

/* Borrowed until the next. */
struct profile_item {
	enum profile_item_kind kind;
	uint64_t time_ns; /* a record without a time has the previous record's */
	uint64_t offset;  /* in the file */

	/* a record */
	uint64_t labels; /* of a sample: as profile_sample.labels */
	enum trace_ring ring;
	uint32_t cpu;                      /* UINT32_MAX: a surveyed record */
	const struct trace_id *id;         /* its event; NULL: none, or its id is unknown */
	const struct trace_layout *layout; /* the record's; NULL: unknown */
	struct trace_record
	    record; /* of an unknown id: as far as it can be decoded without a layout */

	struct reading reading; /* a reading; of any instance */

	const char *text; /* lines of /proc/kallsyms, not cleaned */
	size_t text_len;

	struct trace_cmdline cmdline; /* not cleaned */
};

/*
 * How late an item may follow newer ones in the file and still be sorted: the kernel takes the time
 * of a record before it reserves a place in the ring; and several threads or CPUs write into one
 * file by turns of at most 250 ms.
 */
enum { PROFILE_WINDOW_NS = 1000000, PROFILE_WINDOW_BY_TURNS_NS = 1000000000 };

struct profile_records_config {
	const struct trace_event *events; /* borrowed, like the ids */
	size_t nr_events;
	const struct trace_id *ids;
	size_t nr_ids;
	uint64_t window_ns; /* UINT64_MAX: all that memory holds is sorted */
	const char *late;   /* what is said of items out of order; NULL: they came too late */
	/* Receives problems. Damage is reported only if nothing else reads the file. */
	struct profile_faults faults;
	bool is_read_twice;
	bool has_kallsyms; /* else they are not unpacked, and are no items */
};

/* Takes ownership of the reader, also on failure. 0 or -ENOMEM. */
int profile_records_open(struct trace_reader *reader, const struct profile_records_config *config,
			 struct profile_records **out);
void profile_records_close(struct profile_records *r); /* NULL is fine */

/* The next item: 1; 0 after the last, when problems were reported; -ENOMEM. */
int profile_records_next(struct profile_records *r, struct profile_item *out);

struct profile_records_stats {
	uint64_t nr_records, nr_readings; /* returned */
	uint64_t nr_late;                 /* returned out of order: beyond the window */
	uint64_t nr_senseless;            /* invalid: records skipped, or the rest of a frame */
	uint64_t nr_foreign;              /* records of unknown ids, readings of unknown events */
	uint64_t max_disorder_ns;         /* the largest step back in time within one ring */
};
const struct profile_records_stats *profile_records_stats(const struct profile_records *r);
/* After the last item: there was nothing to report. */
bool profile_records_are_intact(const struct profile_records *r);

/* The perf event of count i of a record that has counts: by the id beside the count, else by the
 * record's group. NULL: unknown. */
const struct trace_id *profile_counted(const struct trace_id *ids, size_t nr_ids,
				       const struct profile_item *item, uint64_t i);
/* The perf event of count i in a sample of id: the leader of its group is at 0. NULL: unknown. */
const struct trace_id *profile_member(const struct trace_id *ids, size_t nr_ids,
				      const struct trace_id *id, uint64_t i);

#endif
