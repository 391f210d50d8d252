/*
 * The code of functions with the weights of its lines and instructions: functions are loaded one
 * after the other.
 */
#ifndef CPUPERF_PRINT_REPORTS_ANNOTATED_H
#define CPUPERF_PRINT_REPORTS_ANNOTATED_H

#include "annotate/code.h"
#include "base/dict.h"
#include "elf/rights.h"
#include "report/addresses.h"
#include "samples.h"

struct annotate_sources;
struct annotate_source;

/* A line that has code, of the function or of one that was inlined. */
struct annotated_line {
	const char *inlined, *file; /* NULL: none, not known */
	uint32_t line;
	uint32_t call; /* where the function was inlined: the first of them */
	struct report_weight weight;
};

/* Lines of one file and function. */
struct annotated_group {
	size_t first, end;
	uint32_t call; /* where the function was inlined: the first of them */
	uint64_t weight;
};

/* Zero-initialise. */
struct annotated {
	struct job *j;
	bool is_to_be_read; /* by people: make_lines adds lines without code between two with, and
			       leaves out those with neither samples nor text */
	struct report_stats stats;
	struct report_addresses *addresses;
	const struct report_address_function *function; /* by event, those with the most first */
	size_t nr_functions;
	const struct report_address_row *rows;
	struct annotate_sources *sources;
	struct annotate_kernel *kernel; /* owned; NULL: not opened, or not there */
	bool has_tried_kernel;
	uint64_t *address; /* owned; scratch, of one function */
	size_t address_room;
	/* of the function that is shown */
	const struct report_address_function *f; /* set it, then load */
	struct annotate_code code;
	struct elf_rights rights;    /* of whoever named its sources */
	struct dict lines;           /* struct annotated_line; the key is all up to the line */
	struct annotated_line *line; /* owned; in groups */
	size_t nr_lines, line_room;
	struct annotated_group *group; /* owned */
	size_t nr_groups, group_room;
};

/* Reads the samples of the job's first input. 0 or -errno with *e; annotated_fini in any case. */
int annotated_read(struct annotated *a, struct job *j, struct err *e);
void annotated_fini(struct annotated *a);

/* Whether a->f is of a script, which has lines and no instructions. */
bool annotated_is_interpreted(const struct annotated *a);
/* The rows of a->f. *missing: why there are no instructions. 0 or -ENOMEM. */
int annotated_load(struct annotated *a, struct err *missing);
/* Then its lines, in groups. 0 or -ENOMEM. */
int annotated_make_lines(struct annotated *a);
/* Of a row of its code; NULL: it has no samples. */
const struct report_weight *annotated_weight(const struct annotated *a, size_t i);
/* NULL: it is not found. */
const struct annotate_source *annotated_source(const struct annotated *a, const char *path);
/* Then: why, as of annotate_sources_fault. */
const char *annotated_source_fault(const struct annotated *a, const char *path);

/* How exact the addresses of an event are. */
struct annotated_skid {
	const char *name, *note; /* note: a sentence; NULL: they are exact */
};
const struct annotated_skid *annotated_skid(const struct trace_event *ev);

#endif
