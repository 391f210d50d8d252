/*
 * The options of both programs: --help, --version, --verbose, --quiet, --log-file, --log-format.
 */
#ifndef BASE_OPT_STD_H
#define BASE_OPT_STD_H

#include "base/opt.h"

#include <stdbool.h>

enum opt_std_help { OPT_STD_HELP_NONE, OPT_STD_HELP_BRIEF, OPT_STD_HELP_ALL };

struct opt_std {
	enum opt_std_help help;
	bool version;
	int min_level;        /* of the log; 0: INFO; --verbose lowers it, --quiet raises it */
	const char *log_file; /* NULL: standard error */
};

int opt_std_set_verbose(const struct opt_row *row, const char *value, void *target, struct err *e);
int opt_std_set_quiet(const struct opt_row *row, const char *value, void *target, struct err *e);

int opt_std_set_help(const struct opt_row *row, const char *value, void *target, struct err *e);
int opt_std_set_log_format(const struct opt_row *row, const char *value, void *target,
			   struct err *e);

#define OPT_STD_SECTION "Messages and help"

/* --help and --version have no value and no variable. */
#define OPT_STD_ROW(name_, arg_, metavar_, complete_, help_, set_, offset_)                        \
	{                                                                                          \
		.name = name_, .arg = arg_, .metavar = metavar_, .complete = complete_,            \
		.section = OPT_STD_SECTION, .help = help_, .set = set_, .offset = offset_,         \
		.has_no_variable = (arg_) == OPT_NONE                                              \
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
	    {.name = "log-format",                                                                 \
	     .arg = OPT_REQUIRED,                                                                  \
	     .metavar = "FORMAT",                                                                  \
	     .complete = OPT_COMPLETE_WORDS,                                                       \
	     .words = "text json",                                                                 \
	     .section = OPT_STD_SECTION,                                                           \
	     .help =                                                                               \
		 "Format of messages: text (the default), or json: each line is an object with "   \
		 "time (UTC), level (verbose, info, warning, error, fatal), program, message, "    \
		 "and where there is one, hint; with --verbose also file and line of the source.", \
	     .set = opt_std_set_log_format},                                                       \
	    {.name = "help",                                                                       \
	     .arg = OPT_OPTIONAL,                                                                  \
	     .metavar = "all",                                                                     \
	     .complete = OPT_COMPLETE_WORDS,                                                       \
	     .words = "all",                                                                       \
	     .section = OPT_STD_SECTION,                                                           \
	     .help = "Print the options that are used most; --help=all prints all, with all that " \
		     "there is to say of them.",                                                   \
	     .set = opt_std_set_help,                                                              \
	     .offset = offsetof(type, member.help),                                                \
	     .has_no_variable = true},                                                             \
	    OPT_STD_ROW("version", OPT_NONE, NULL, OPT_COMPLETE_NONE, "Print the version.",        \
			opt_set_flag, offsetof(type, member.version))

/* Prepares a program: opens missing descriptors 0 to 2 (else the first opened file would receive
 * the output), ignores SIGPIPE, and logs to standard error; in the format that argv or a variable
 * of the table requests, so that errors in options have it too. */
void opt_std_prepare(const struct opt_table *t, int argc, char *const *argv);

/* Opens the log by the options. program must outlive it. 0 or -errno with *e. */
int opt_std_open_log(const struct opt_std *o, const char *program, struct err *e);

/* Prints help or version if requested. 1: printed; 0: not requested; -errno. */
int opt_std_answer(const struct opt_std *o, const struct opt_table *t, const char *version);

/* The width of a terminal; 0: it is none. */
unsigned opt_std_width_of(int fd);
/* That on stdout. */
unsigned opt_std_terminal_width(void);
/* The terminal shows UTF-8, by the name of the locale. */
bool opt_std_has_utf8(void);
/* Standard output is a terminal, and NO_COLOR is unset or empty: no-color.org. */
bool opt_std_has_color(void);

#endif
