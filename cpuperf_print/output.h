/*
 * The output formats of cpuperf_print, one row each, and what they are handed: the session's
 * facts, one trace at a time, and one table at a time.
 */
#ifndef CPUPERF_PRINT_OUTPUT_H
#define CPUPERF_PRINT_OUTPUT_H

#include "base/buf.h"
#include "metric/table.h"
#include "profile/session.h"
#include "screen/format.h"

/* What is being printed. The formats only append to out. */
struct print {
	const struct profile_facts *facts;
	const char *config_name; /* "" if unnamed */
	struct table *table;     /* the iteration in hand; its rows are the traces read so far */
	struct table_summary *summary;
	struct screen_state *screen;
	struct buf out;
	struct buf notes; /* what the iteration's traces have to say, a line each */
	uint64_t nr_records;
};

/* Any function may be NULL. */
struct output {
	const char *name;
	void (*begin)(struct print *p);
	/* A trace, when its row is in the table. */
	void (*trace)(struct print *p, const struct profile_trace *trace);
	/* An iteration, when all its rows are, and the totals. */
	void (*iteration)(struct print *p);
	void (*end)(struct print *p);
};

/* NULL if there is none of that name. */
const struct output *output_find(const char *name);

void out_text_begin(struct print *p);
void out_text_trace(struct print *p, const struct profile_trace *trace);
void out_text_iteration(struct print *p);
void out_text_end(struct print *p);

void out_raw_trace(struct print *p, const struct profile_trace *trace);
void out_raw_end(struct print *p);

#endif
