/*
 * What the page needs to know of the sessions before it asks.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_FACTS_H
#define CPUPERF_PRINT_NAVIGATOR_FACTS_H

#include "inputs.h"
#include "serve/http.h"

struct json_writer;

enum { FACTS_MAX_ARGUMENTS = 2 };

/* A report that the sessions have data for. */
struct facts_report {
	const char *name;
	/* What the page asks with; after the last a name is NULL. */
	struct http_argument argument[FACTS_MAX_ARGUMENTS + 1];
	bool is_ahead; /* made before it is asked for; a request interrupts its reading */
	bool is_view;  /* the page shows it as a table */
};

/* The report number i of those that the sessions have data for; NULL: there are fewer. */
const struct facts_report *facts_report(const struct inputs *in, size_t i);
/* Whether an event samples the time of threads. */
bool facts_has_states(const struct inputs *in);
/* The fields sessions and events. */
void facts_put_inputs(struct json_writer *json, const struct inputs *in);
/* Appends one line of ndjson. notes: lines. */
void facts_put(const struct inputs *in, const struct buf *notes, struct buf *out);

#endif
