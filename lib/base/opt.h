/*
 * Command line options as rows of a table: parsing, help, completion and the man
 * page's option list come from the same rows.
 * --name, --name=value, and --name value where a value is required. No abbreviations.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum opt_arg { OPT_NONE, OPT_REQUIRED, OPT_OPTIONAL };
enum opt_complete {
	OPT_COMPLETE_NONE,
	OPT_COMPLETE_FILE,
	OPT_COMPLETE_DIR,
	OPT_COMPLETE_WORDS,
	OPT_COMPLETE_CHOICES,
	OPT_COMPLETE_COMMAND, /* what the program prints, a value per line, with these arguments */
};

/* A value that an option accepts, and what it means. */
struct opt_choice {
	const char *name, *help;
};

struct opt_row {
	const char *name; /* without the dashes */
	enum opt_arg arg;
	const char *metavar;        /* "FILE", "N"; NULL without an argument */
	enum opt_complete complete; /* of the argument */
	const char *words;          /* WORDS: they; COMMAND: the arguments; separated by spaces */
	const char *section;        /* help heading; rows of a section stand together */
	const char *help;           /* one or more sentences, wrapped when printed */
	/* Takes the value (NULL if there is none); value points into argv. 0 or -errno with *e. */
	int (*set)(const struct opt_row *row, const char *value, void *target, struct err *e);
	size_t offset; /* for set's use: where in target */
	/* CHOICES: fills *out with choice i; false: there are fewer. The help lists them. */
	bool (*choice)(size_t i, struct opt_choice *out);
};

struct opt_table {
	const char *program;
	const char *summary; /* one line */
	const char *usage;   /* lines "  cpuperf --spec-file=FILE …" */
	const struct opt_row *rows;
	size_t nr_rows;
	const char *footer; /* examples, exit status */
};

/* Parses argv[1..]; the first error wins: unknown option (with the nearest one), value missing or
 * not wanted, an argument that is not an option. 0 or -EINVAL. */
int opt_parse(const struct opt_table *t, int argc, char **argv, void *target, struct err *e);

/* Text made from the rows. width is the terminal's (80 if unknown). */
void opt_help(const struct opt_table *t, unsigned width, struct buf *out);
void opt_man_text(struct buf *out, const char *text); /* as man(7) prints it */
void opt_man_section(const struct opt_table *t, struct buf *out);
void opt_complete_bash(const struct opt_table *t, struct buf *out);
void opt_complete_zsh(const struct opt_table *t, struct buf *out);

/* Ready-made setters for fields at row->offset. */
int opt_set_string(const struct opt_row *row, const char *value, void *target,
		   struct err *e); /* const char * */
int opt_set_flag(const struct opt_row *row, const char *value, void *target,
		 struct err *e); /* bool */

/* Of an option that may be given several times. */
enum { OPT_MAX_STRINGS = 64 };
struct opt_strings {
	const char *item[OPT_MAX_STRINGS]; /* point into argv */
	size_t nr;
};
int opt_add_string(const struct opt_row *row, const char *value, void *target,
		   struct err *e); /* struct opt_strings; -E2BIG */

#endif
