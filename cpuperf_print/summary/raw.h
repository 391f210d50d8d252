/*
 * What the raw format remembers of a trace while its records go by. Private to out_raw*.c.
 */
#ifndef CPUPERF_PRINT_SUMMARY_RAW_H
#define CPUPERF_PRINT_SUMMARY_RAW_H

#include "profile/records.h"
#include "summary/format.h"

/* The reading that a count was last told from. */
struct raw_last {
	bool is_there;
	uint64_t raw;
};

struct raw {
	bool has_time;
	uint64_t time_ns;                    /* of the Time record printed last */
	uint64_t *told;                      /* owned; what records have said of each event */
	struct raw_last *last;               /* owned; PROFILE_MAX_PARTS of each event */
	uint64_t nr_symbols, symbols_offset; /* lines of /proc/kallsyms, and where they begin */
};

/* "0a50: Kind: " of an item. */
void raw_line(struct print *p, uint64_t offset, const char *kind);
/* The same with the event; NULL: of none. */
void raw_event_line(struct print *p, uint64_t offset, const char *kind,
		    const struct trace_event *event);
/* What happened to an event since its last record: amount joins what was told of it. */
void raw_tell(struct print *p, uint32_t event, uint64_t amount);
/* A Count record: the difference since the last reading of the event's part; nothing at its
 * first. */
void raw_count(struct print *p, uint64_t offset, uint32_t event, uint32_t instance, uint64_t raw);

/* All lines of a record; trace NULL: of the common file. */
void raw_record(struct print *p, const struct profile_trace *trace,
		const struct profile_item *item);

#endif
