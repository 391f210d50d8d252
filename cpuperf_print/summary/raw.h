/*
 * The raw format: its state, and the lines of its records.
 */
#ifndef CPUPERF_PRINT_SUMMARY_RAW_H
#define CPUPERF_PRINT_SUMMARY_RAW_H

#include "profile/records.h"
#include "summary/summary.h"

/* What a Count record has; the base is printed of a share only. */
struct raw_amount {
	uint64_t raw, base;
};

/* The last reading of an event's part. */
struct raw_last {
	bool is_there;
	struct raw_amount at;
};

struct raw_state {
	bool has_time;
	uint64_t time_ns;                    /* of the Time record printed last */
	struct raw_amount *printed;          /* owned; per event, what its records had */
	struct raw_last *last;               /* owned; PROFILE_MAX_PARTS of each event */
	uint64_t nr_symbols, symbols_offset; /* lines of /proc/kallsyms, and where they begin */
};

/* raw_line.c: "0a50: " of a record; with "Kind: "; an event, NULL: not known; all three. */
void raw_start(struct summary *s, uint64_t offset);
void raw_line(struct summary *s, uint64_t offset, const char *kind);
void raw_event(struct summary *s, const struct trace_event *event);
void raw_event_line(struct summary *s, uint64_t offset, const char *kind,
		    const struct trace_event *event);
/* A Time record, unless the last one has that time. */
void raw_time_line(struct summary *s, uint64_t offset, uint64_t time_ns);
/* A Count record. It may be below zero. */
void raw_count_line(struct summary *s, uint64_t offset, uint32_t event,
		    const struct raw_amount *count);
/* Adds to what the event's records had. */
void raw_add(struct summary *s, uint32_t event, const struct raw_amount *amount);
/* The difference, modulo 2^64. */
struct raw_amount raw_less(const struct raw_amount *a, const struct raw_amount *b);
/* A Count record: the difference from the last reading of the event's part, if there was one. */
void raw_count(struct summary *s, uint64_t offset, uint32_t event, uint32_t instance,
	       const struct raw_amount *at);
struct raw_last *raw_last(struct summary *s, uint32_t event, uint32_t instance);

/* raw_record.c: all lines of a record; trace NULL: of the common file. */
void raw_record(struct summary *s, const struct profile_trace *trace,
		const struct profile_item *item);

#endif
