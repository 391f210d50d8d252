/*
 * The options that both programs have: --help, --version, --verbose, --quiet, --log-file.
 */
#ifndef BASE_OPT_STD_H
#define BASE_OPT_STD_H

#include "base/opt.h"

#include <stdbool.h>

struct opt_std {
	bool help, version;
	int min_level;        /* of the log; 0: INFO; --verbose lowers it, --quiet raises it */
	const char *log_file; /* NULL: standard error */
};

int opt_std_set_verbose(const struct opt_row *row, const char *value, void *target, struct err *e);
int opt_std_set_quiet(const struct opt_row *row, const char *value, void *target, struct err *e);

#define OPT_STD_ROW(name_, arg_, metavar_, complete_, help_, set_, offset_)                        \
	{                                                                                          \
		.name = name_, .arg = arg_, .metavar = metavar_, .complete = complete_,            \
		.section = "Messages and help", .help = help_, .set = set_, .offset = offset_      \
	}

/* Rows for a table whose target is a `type` with a struct opt_std `member`. */
#define OPT_STD_ROWS(type, member)                                                                 \
	OPT_STD_ROW("verbose", OPT_OPTIONAL, "N", OPT_COMPLETE_NONE,                               \
		    "Print more messages to standard error; N (default 1) is the level.",          \
		    opt_std_set_verbose, offsetof(type, member.min_level)),                        \
	    OPT_STD_ROW(                                                                           \
		"quiet", OPT_OPTIONAL, "N", OPT_COMPLETE_NONE,                                     \
		"Print fewer messages: 1 (the default) keeps warnings and errors, 2 only errors.", \
		opt_std_set_quiet, offsetof(type, member.min_level)),                              \
	    OPT_STD_ROW("log-file", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE,                       \
			"Append messages to FILE instead of standard error.", opt_set_string,      \
			offsetof(type, member.log_file)),                                          \
	    OPT_STD_ROW("help", OPT_NONE, NULL, OPT_COMPLETE_NONE, "Print this help.",             \
			opt_set_flag, offsetof(type, member.help)),                                \
	    OPT_STD_ROW("version", OPT_NONE, NULL, OPT_COMPLETE_NONE, "Print the version.",        \
			opt_set_flag, offsetof(type, member.version))

/* For the start of a program: descriptors 0 to 2 are there (else the first file opened would get
 * what is printed), a closed stdout is an error of write and not the end, warnings are logged. */
void opt_std_prepare(const char *program);

/* Opens the log as the options say. program must outlive it. 0 or -errno with *e. */
int opt_std_open_log(const struct opt_std *o, const char *program, struct err *e);

/* Prints help or version if asked for: 1 (done), 0 (not asked for) or -errno. */
int opt_std_answer(const struct opt_std *o, const struct opt_table *t, const char *version);

/* Columns of the terminal behind stdout; 0 if it is none. */
unsigned opt_std_terminal_width(void);

#endif
