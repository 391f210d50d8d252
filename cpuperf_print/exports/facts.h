/*
 * What is known of a session, for formats in JSON that have a place for it.
 */
#ifndef CPUPERF_PRINT_EXPORTS_FACTS_H
#define CPUPERF_PRINT_EXPORTS_FACTS_H

#include "samples.h"

struct json_writer;

enum { EXPORT_NAME_BYTES = 4096 };

/* Fields of the object that is open: who recorded where, and when. */
void export_facts_put(struct json_writer *out, const struct input *o);
/* An array of texts: one for each event whose samples did not all come (if any were read), and
 * what of the files could not be read. */
void export_facts_put_losses(struct json_writer *out, const struct job *j,
			     const struct report_stats *stats);
/* In the event's unit: exact where its scale is whole. */
void export_facts_put_weight(struct json_writer *out, const char *key, const struct trace_event *e,
			     uint64_t weight);
/* "name; cycles: 12 records were lost: shares may be off": what viewers show on top. */
void export_facts_title(struct buf *b, const struct job *j, const struct report_stats *stats);

#endif
