/*
 * Reads OpenMetrics text line by line: what cpuperf --metrics-listen serves, or whatever else
 * listens at that address. Bounds all; the text is not changed.
 */
#ifndef PCP_TEXT_H
#define PCP_TEXT_H

#include <stddef.h>

enum { PCP_TEXT_MAX_LABELS = 16, PCP_TEXT_LINE_BYTES = 16384 };

enum pcp_text_type {
	PCP_TEXT_GAUGE,
	PCP_TEXT_COUNTER,
	PCP_TEXT_INFO,
	PCP_TEXT_HISTOGRAM,
	PCP_TEXT_NR_TYPES
};

struct pcp_text_label {
	const char *name, *value;
};

/* A line with a number, and its family. Texts are valid until the next line is read. */
struct pcp_text_line {
	const char *family, *unit, *help; /* "": none */
	enum pcp_text_type type;
	const char
	    *suffix; /* what the line's name has after the family's: "", "_total", "_sum" ... */
	struct pcp_text_label labels[PCP_TEXT_MAX_LABELS];
	size_t nr_labels;
	const char *value; /* as it was written */
};

/* All private. */
struct pcp_text {
	const char *at, *end;
	char family[PCP_TEXT_LINE_BYTES], unit[PCP_TEXT_LINE_BYTES], help[PCP_TEXT_LINE_BYTES];
	char line[PCP_TEXT_LINE_BYTES]; /* of the current line, with NULs */
	enum pcp_text_type type;
};

/* text: borrowed, of len bytes. */
void pcp_text_init(struct pcp_text *t, const char *text, size_t len);
/* Reads the next line with a number. 1: read; 0: the end that the format requires; -EINVAL:
 * invalid, truncated or beyond a limit. */
int pcp_text_next(struct pcp_text *t, struct pcp_text_line *out);
/* The value of a label; NULL: it has none of that name. */
const char *pcp_text_label(const struct pcp_text_line *line, const char *name);

#endif
