/*
 * Writes OpenMetrics 1.0 text, or the classic text of Prometheus, into a buffer, line by line:
 * names, units, labels, values. Errors are the buffer's.
 *
 *	openmetrics_family(&m, OPENMETRICS_COUNTER, "cpuperf_fixed_cycles", "cycles", "Cycles");
 *	openmetrics_begin(&m), openmetrics_label(&m, "cpu", "0"), openmetrics_value(&m);
 *	buf_u64(m.out, 17), openmetrics_end(&m, realtime_ns);
 */
#ifndef EXPORT_OPENMETRICS_H
#define EXPORT_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum openmetrics_type {
	OPENMETRICS_GAUGE,
	OPENMETRICS_COUNTER,
	OPENMETRICS_INFO,
	OPENMETRICS_HISTOGRAM
};

struct openmetrics_shared {
	const char *name, *value; /* NULL: no label */
};

/* Zero-initialise but for out. */
struct openmetrics {
	struct buf *out;                /* borrowed */
	const char *name, *unit, *help; /* of the current family, borrowed */
	enum openmetrics_type type;
	bool has_begun; /* its metadata is written */
	/* The text format 0.0.4 of Prometheus, which OpenMetrics comes from: no units, infos are
	 * gauges, and a counter's family is named as its lines are. */
	bool is_classic;
	bool has_no_times;                   /* lines are without */
	size_t nr_labels;                    /* of the current line */
	struct openmetrics_shared shared[2]; /* labels that all lines begin with */
	/* Called at the end of each line, before its time, instead of writing the end; NULL: the
	 * end is written. */
	void (*on_line)(void *arg, const struct openmetrics *m);
	void *arg;
	/* For on_line, places in out: the metadata before the family's first line, else the line;
	 * the line; its labels; the end of those that all lines of a histogram have; the number. */
	size_t family_at, line_at, labels_at, shared_end, value_at;
	uint64_t time_ns; /* the same; 0: none */
};

/* Appends text as a part of a name: "INST_RETIRED.ANY" as "inst_retired_any". */
void openmetrics_add_name(struct buf *b, const char *text);
/* Our numbers × times × 10^exponent are theirs. */
struct openmetrics_scale {
	uint64_t times;
	int exponent; /* at most 0 */
};

/* Appends the OpenMetrics unit for one of ours, always a base unit, and returns its scale:
 * "seconds" and 10^-9 for "ns", "bytes_per_second" and 1024 for "KiB/s". A word ("switches") is a
 * unit only if base ends in it ("cpuperf_context_switches") or is NULL, and only if it is no suffix
 * of a type ("total"); else nothing is appended. */
struct openmetrics_scale openmetrics_add_unit(struct buf *b, const char *unit, const char *base);
double openmetrics_scaled(double number, struct openmetrics_scale scale);
/* Appends base as the name of a family with that unit ("": none). The name ends in the unit, once,
 * and never in something that looks like the suffix of a type. */
void openmetrics_add_family(struct buf *b, const char *base, const char *unit);

/* Begins a family, which is written with its first line; one without lines is not. The name must be
 * valid and new and end in _unit; help is any text. Infos have no unit. */
void openmetrics_family(struct openmetrics *m, enum openmetrics_type type, const char *name,
			const char *unit, const char *help);
/* A line: begin; labels, with valid names and any text as values; value; the number, which the
 * caller appends; end. time_ns: since 1970; 0: none. */
void openmetrics_begin(struct openmetrics *m);
/* The same for a line of a histogram: "_bucket", in ascending order of the label le up to "+Inf",
 * then "_count" and "_sum". */
void openmetrics_begin_part(struct openmetrics *m, const char *suffix);
void openmetrics_label(struct openmetrics *m, const char *name, const char *value);
void openmetrics_label_u64(struct openmetrics *m, const char *name, uint64_t value);
void openmetrics_value(struct openmetrics *m);
void openmetrics_end(struct openmetrics *m, uint64_t time_ns);
/* What openmetrics_end appends for a time. */
void openmetrics_add_time(struct buf *b, uint64_t time_ns);
/* Appends a whole text of OpenMetrics whose lines have no times in the classic form. */
void openmetrics_to_classic(const struct buf *from, struct buf *out);
/* After all families. */
void openmetrics_eof(struct openmetrics *m);

#endif
