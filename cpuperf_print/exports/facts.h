/*
 * Facts of a session, for JSON formats that have a place for them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_FACTS_H
#define CPUPERF_PRINT_EXPORTS_FACTS_H

#include "samples.h"

struct json_writer;

enum { EXPORT_NAME_BYTES = 4096 };

/* Writes fields of the open object: host, recorder, start. */
void export_facts_put(struct json_writer *out, const struct input *o);
/* Writes an array of texts: one for each event with missing samples, and one for each part of the
 * files that cannot be read. */
void export_facts_put_losses(struct json_writer *out, const struct job *j,
			     const struct report_stats *stats);
/* Writes a weight in the event's unit: exact if its scale is an integer. */
void export_facts_put_weight(struct json_writer *out, const char *key, const struct trace_event *e,
			     uint64_t weight);
/* Appends the title that viewers show: "name; cycles: 12 records were lost: shares may be off". */
void export_facts_title(struct buf *b, const struct job *j, const struct report_stats *stats);

#endif
