/*
 * Where printed text goes: standard output, a pager or a file; and in which form.
 */
#ifndef CPUPERF_PRINT_OUTPUT_H
#define CPUPERF_PRINT_OUTPUT_H

#include "base/arena.h"
#include "base/buf.h"
#include "conclusion.h"
#include "document.h"
#include "pager.h"
#include "problems.h"
#include "screen/grid.h"

struct options;
struct registry_row;

struct output {
	const struct options *options;
	const struct registry_row *format; /* of --output-format */
	enum grid_form form;               /* of tables; of exports ndjson: for programs */
	bool is_terminal, has_color;       /* standard output */
	unsigned width;                    /* of the terminal; 0: none */
	struct buf text;                   /* not yet written */
	size_t nr_final;                   /* of Markdown and json: bytes of text that are its */
	struct document *document;         /* of json: owned; else NULL */
	bool has_header;                   /* the header of the report's table is in the text */
	struct arena columns;              /* of grids */
	struct problems problems;
	uint64_t nr_records; /* printed */
	uint64_t nr_written; /* bytes of text */
	struct conclusion conclusion;
	bool has_target; /* the answer is about one */
	bool is_over;    /* a change is beyond --fail-over */
	bool is_held;    /* the text remains: nothing is written */
	struct buf
	    *about; /* the columns of the report's table, as grid_describe; NULL: not wanted */

	const char *name; /* in messages */
	int fd;
	struct pager pager;
};

/* format and options are borrowed. */
void output_init(struct output *o, const struct registry_row *format,
		 const struct options *options);
void output_fini(struct output *o);
/* Opens --output-file, or starts the pager. 0 or -errno with *e; output_close after success. */
int output_open(struct output *o, struct err *e);
/* The columns at which sentences are broken; UINT_MAX: in no place. */
unsigned output_columns(const struct output *o);
/* It is the answer as a document: tables are collected, and printed at the end. */
bool output_is_answer(const struct output *o);
/* Output goes to a file of its own, not to standard output or a descriptor. */
bool output_is_file(const struct output *o);
/* is_whole: a file appears under its name. 0 or -errno with *e. */
int output_close(struct output *o, bool is_whole, struct err *e);
/* Of Markdown: makes the text since the last table a block of code; call before and after a table
 * is appended. Of json: makes the lines since then items of the report's array. */
void output_end_text(struct output *o);
void output_end_table(struct output *o);
/* The text is part of the document, and no row. */
void output_end_frame(struct output *o);
/* Writes the text; flush: if there is much of it. 0 or -errno with *e. */
int output_write(struct output *o, struct err *e);
int output_flush(struct output *o, struct err *e);

#endif
