/*
 * Text of OpenMetrics 1.0, line by line, into a buffer: names, units, labels, values. What is
 * measured is the caller's. Failures are the buffer's.
 *
 *	openmetrics_family(&m, OPENMETRICS_COUNTER, "cpuperf_fixed_cycles", "cycles", "Cycles");
 *	openmetrics_begin(&m), openmetrics_label(&m, "cpu", "0"), openmetrics_value(&m);
 *	buf_u64(m.out, 17), openmetrics_end(&m, realtime_ns);
 */
#ifndef EXPORT_OPENMETRICS_H
#define EXPORT_OPENMETRICS_H

#include <stddef.h>
#include <stdint.h>

struct buf;

enum openmetrics_type { OPENMETRICS_GAUGE, OPENMETRICS_COUNTER, OPENMETRICS_INFO };

/* Zero-initialise but for out. */
struct openmetrics {
	struct buf *out;  /* borrowed */
	const char *name; /* of the family in hand, borrowed */
	enum openmetrics_type type;
	size_t nr_labels; /* of the line in hand */
};

/* Appends text as a part of a name: "INST_RETIRED.ANY" is "inst_retired_any", "" stays so. */
void openmetrics_add_name(struct buf *b, const char *text);
/* The unit of the format for one of ours, and what a number of ours is to be multiplied by, as a
 * power of ten: "ns" is "seconds" and -9, "°C" is "celsius" and 0. A word ("switches") is a unit of
 * what is called by it (base: "cpuperf_context_switches"; NULL: of anything), else none: then
 * nothing is appended. */
int openmetrics_add_unit(struct buf *b, const char *unit, const char *base);
/* Appends base as the name of a family of that unit ("": none): the unit is its end, but not twice,
 * and no end looks like the suffix of a type. */
void openmetrics_add_family(struct buf *b, const char *base, const char *unit);

/* Begins a family: its name is valid, of no family before, and ends in _unit; help may be any text.
 * Infos have no unit. */
void openmetrics_family(struct openmetrics *m, enum openmetrics_type type, const char *name,
			const char *unit, const char *help);
/* A line: the labels, whose names are valid and whose values are any text; then the caller appends
 * the number. time_ns: since 1970, 0: none. */
void openmetrics_begin(struct openmetrics *m);
void openmetrics_label(struct openmetrics *m, const char *name, const char *value);
void openmetrics_label_u64(struct openmetrics *m, const char *name, uint64_t value);
void openmetrics_value(struct openmetrics *m);
void openmetrics_end(struct openmetrics *m, uint64_t time_ns);
/* After all families. */
void openmetrics_eof(struct openmetrics *m);

#endif
