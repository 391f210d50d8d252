/*
 * Command line options as rows of a table, for parsing, help, completion and man page. Accepts
 * --name, --name=value, and --name value if a value is required. No abbreviations. Rows may
 * have a letter: -o value, -ovalue, -o=value.
 *
 * One table makes the parser, the environment variables, the help, the completions and the man
 * page; getopt_long only parses. Options that exclude each other are named in their rows
 * (`excludes`): two on the command line are an error, and one there makes the variable of the
 * other be ignored.
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
	OPT_COMPLETE_COMMAND, /* the values that the program prints, one per line, with these
				 arguments */
	OPT_COMPLETE_PIDS,    /* numbers of processes, separated by commas */
	OPT_COMPLETE_COMMS,   /* names of processes */
};

/* A value that an option accepts, with its meaning. */
struct opt_choice {
	const char *name, *help;
};

struct opt_row {
	const char *name; /* without the dashes */
	char letter;      /* the short form; 0: none */
	enum opt_arg arg;
	const char *metavar;        /* "FILE", "N"; NULL without an argument */
	enum opt_complete complete; /* of the argument */
	/* WORDS: the words; COMMAND: the arguments; FILE: globs of the files that are offered,
	 * NULL: all; separated by spaces */
	const char *words;
	const char
	    *printed; /* FILE: also what the program prints with these arguments, as COMMAND */
	const char *section; /* heading in the help; rows of a section are adjacent */
	const char *help;    /* one or more sentences, wrapped when printed */
	/* Stores the value (NULL: none), which points into argv. 0 or -errno with *e. */
	int (*set)(const struct opt_row *row, const char *value, void *target, struct err *e);
	size_t offset; /* for set: of the field in target */
	/* CHOICES: sets *out to choice i; false: no more. Listed in the help. */
	bool (*choice)(size_t i, struct opt_choice *out);
	bool has_no_variable;
	/* Names, separated by spaces: this option and one of these are an error. On the command
	 * line, each makes the variable of the other be ignored. */
	const char *excludes;
};

/* A line of the short help: a row by its name, with what it does in few words. */
struct opt_brief {
	const char *name; /* NULL: text is a heading */
	const char *text;
};

enum { OPT_MAX_ROWS = 128 };

struct opt_table {
	const char *program;
	const char *summary; /* one line */
	const char *usage;   /* lines "  cpuperf --spec-file=FILE …" */
	const struct opt_row *rows;
	size_t nr_rows;     /* at most OPT_MAX_ROWS */
	const char *footer; /* examples, exit status */
	/* The short help has these; without any, it is the whole help. */
	const struct opt_brief *brief;
	size_t nr_brief;
	const char *brief_footer;
	/* For an argument that is none: a command follows "--"; NULL: options only. */
	const char *plain_hint;
	/* Words and options of other programs ("stat", "-a"), with what does the same here, as
	 * hints for arguments that are refused. */
	const struct opt_choice *foreign;
	size_t nr_foreign;
	const char *plain; /* the row that takes arguments that are no options; NULL: none does */
	/* "PROG_": --some-name may also be the environment's PROG_SOME_NAME; NULL: none may. */
	const char *variables;
};

/*
 * Parses argv[1..] up to the first error: an unknown option (with the nearest name as hint), a
 * missing or unexpected value, an argument that is no option, two that exclude each other. 0 or
 * -EINVAL.
 *
 * Before that, sets the options that have a variable and are not in argv. An empty variable is as
 * none; an option without a value is set by 1 and not set by 0. A program with more rights than its
 * caller (AT_SECURE) ignores them.
 */
int opt_parse(const struct opt_table *t, int argc, char **argv, void *target, struct err *e);

/* The first of argv[1..] that is neither an option nor the value of one. argc: there is none, or an
 * option before it is wrong. */
int opt_end(const struct opt_table *t, int argc, char **argv);

/* The value of an option in argv[1..], the last if there are several. NULL: it is not there, or an
 * option before it is wrong. */
const char *opt_value(const struct opt_table *t, const char *name, int argc, char **argv);

/* Copies those of argv[1..], with their values, that are of no row for which is_left_out, to out
 * (room for argc); returns how many words. argv was parsed without an error. */
size_t opt_copy(const struct opt_table *t, int argc, char **argv,
		bool (*is_left_out)(const struct opt_row *row), char **out);

/* The row of the first option of argv[1..] for which is_one. NULL: there is none. argv was parsed
 * without an error. */
const struct opt_row *opt_first(const struct opt_table *t, int argc, char **argv,
				bool (*is_one)(const struct opt_row *row));

/* Where the value of an option is from, for messages: "--some-name", or the name of the variable if
 * it is the variable's text (not a copy). */
enum { OPT_MAX_ORIGIN = 64 };
const char *opt_origin(const struct opt_table *t, const char *name, const char *value,
		       char origin[OPT_MAX_ORIGIN]);

/* Text generated from the rows. width: of the terminal. */
void opt_help(const struct opt_table *t, unsigned width, struct buf *out);
/* Of at most a screen of 80 columns. */
void opt_brief_help(const struct opt_table *t, struct buf *out);
void opt_man_text(struct buf *out, const char *text); /* escaped for man(7) */
void opt_man_section(const struct opt_table *t, struct buf *out);
void opt_complete_bash(const struct opt_table *t, struct buf *out);
void opt_complete_zsh(const struct opt_table *t, struct buf *out);

/* Setters for the field at row->offset. */
int opt_set_string(const struct opt_row *row, const char *value, void *target,
		   struct err *e); /* const char * */
/* const char *; -EINVAL: it is none of the row's words */
int opt_set_word(const struct opt_row *row, const char *value, void *target, struct err *e);
int opt_set_flag(const struct opt_row *row, const char *value, void *target,
		 struct err *e); /* bool */

/* For options that may be repeated. */
enum { OPT_MAX_STRINGS = 64 };
struct opt_strings {
	const char *item[OPT_MAX_STRINGS]; /* point into argv */
	size_t nr;
};
int opt_add_string(const struct opt_row *row, const char *value, void *target,
		   struct err *e); /* struct opt_strings; -E2BIG */

#endif
