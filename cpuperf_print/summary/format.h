/*
 * The output formats of cpuperf_print, one row each, and what they are handed: the session's
 * facts, one trace at a time, and one table at a time.
 */
#ifndef CPUPERF_PRINT_SUMMARY_FORMAT_H
#define CPUPERF_PRINT_SUMMARY_FORMAT_H

#include "base/buf.h"
#include "metric/table.h"
#include "profile/session.h"
#include "screen/format.h"

struct profile_item;
struct raw;

/* What is being printed. The formats only append to out. */
struct print {
	const struct profile_facts *facts;
	const char *config_name; /* "" if unnamed */
	struct table *table;     /* the iteration in hand; its rows are the traces read so far */
	struct table_summary *summary;
	struct screen_state *screen;
	struct buf *out;  /* borrowed */
	struct buf notes; /* what the iteration's traces have to say, a line each */
	struct raw *raw;  /* owned; what the raw format remembers */
	uint64_t nr_records;
	bool is_brief; /* text: what all iterations come to, and notes, but not each by itself */
};

/* Any function may be NULL. */
struct summary_format {
	const char *name;
	bool is_for_programs; /* of tables; their warnings are not among the results */
	void (*begin)(struct print *p);
	/* A trace, when its row is in the table; before its records, and after them. */
	void (*head)(struct print *p, const struct profile_trace *trace);
	void (*trace)(struct print *p, const struct profile_trace *trace);
	/* The session's common file, after all traces: before its records. */
	void (*common)(struct print *p);
	/* One record of a trace, or of the common file (trace NULL), in the order of time. NULL:
	 * records are not read. */
	void (*item)(struct print *p, const struct profile_trace *trace,
		     const struct profile_item *item);
	/* An iteration, when all its rows are, and the totals. */
	void (*iteration)(struct print *p);
	void (*end)(struct print *p);
};

/* NULL if there is none of that name. */
const struct summary_format *summary_format_find(const char *name);

void out_text_begin(struct print *p);
void out_text_trace(struct print *p, const struct profile_trace *trace);
void out_text_iteration(struct print *p);
void out_text_end(struct print *p);

/* NULL without memory. */
struct raw *out_raw_new(const struct profile_facts *facts);
void out_raw_free(struct raw *raw); /* NULL is fine */
void out_raw_head(struct print *p, const struct profile_trace *trace);
void out_raw_trace(struct print *p, const struct profile_trace *trace);
void out_raw_common(struct print *p);
void out_raw_item(struct print *p, const struct profile_trace *trace,
		  const struct profile_item *item);
void out_raw_end(struct print *p);

#endif
