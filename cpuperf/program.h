/*
 * What the program's parts share. Each verb prints its results on stdout and returns the exit
 * status.
 */
#ifndef CPUPERF_PROGRAM_H
#define CPUPERF_PROGRAM_H

#include "base/err.h"
#include "options.h"

#include <limits.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
/* With a command, as env and timeout. EXIT_COMMAND + n: n is the exit status of the command. */
enum {
	EXIT_NOT_MEASURED = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNALLED = 128,
	EXIT_COMMAND = 256,
};

struct buf;
struct host;

/* list.c, describe.c */
struct catalogue;
int list_events(const struct options *o, const struct catalogue *c);
int describe_event(const struct options *o, const struct catalogue *c);
/* list_functions.c */
int list_functions(const struct options *o, const struct catalogue *c);
/* list_specs.c: those that are found by name, in an output format. */
int list_specs(const char *format);
/* specs.c: specs named without a folder are searched for. */
#define SPEC_SUFFIX ".cpspec"
/* Calls fn for each folder of the search path until it returns non-zero; returns that. */
int each_spec_folder(int (*fn)(const char *folder, void *arg), void *arg);
/* Writes the text of a spec to a file. 0 or -errno with *e. */
int save_spec(const char *path, const struct buf *text, struct err *e);
/* alerts.c: the same for the limits of its metrics, as alert rules of Prometheus. -ENOENT: it has
 * none. */
struct spec;
int save_alerts(const char *path, const struct spec *spec, struct err *e);
/* Opens the spec for reading ("-": standard input; without the extension, if there is none of
 * exactly this name): a descriptor, and its path in found (PATH_MAX bytes). -errno with *e: not
 * found, or an untrusted user could have written the one in the current folder. */
int open_spec(const char *name, char *found, struct err *e);
/* Why another user may have written the open file; NULL: none can have. */
const char *mistrust_spec(int fd);

/* choose.c: --event, --frequency, --period, --callgraph. */
/* True if one of them was used. */
bool chooses_events(const struct options *o);
/* Changes the events of the spec. 0, or -errno with at least one error in *errs. */
int choose_events(const struct options *o, const struct catalogue *c, struct spec *spec,
		  struct err_list *errs);

/* target.c: the key target of the spec. */
/* Replaces it as the options say. 0, or -errno with *e. */
int settle_target(const struct options *o, struct spec *spec, struct err *e);
/* If the target is the spec's command, makes it the one that is measured, or refuses to run it. fd:
 * of the spec's file; path: its name. 0, or -EPERM or -errno with *e. */
int take_spec_command(struct options *o, const struct spec *spec, int fd, const char *path,
		      struct err *e);

/* check.c: --check-spec. */
struct plan;
int check_spec(struct plan *plan, const struct catalogue *c, const struct options *o);

/* record.c: measuring. */
struct attached;
/* attached: the running processes that are measured; NULL: a command, or the machine. */
int record(struct plan *plan, const struct options *o, struct attached *attached);

/* answer.c */
struct answer {
	const char *session; /* the manifest */
	const char *folder;  /* of the session; NULL: the default one */
	const char *why;     /* it is not in the default one; NULL: it is, or a name was chosen */
	bool is_last;        /* cpuperf_print finds it without a name */
	const char *format;
	const char *report; /* NULL: the answer of a target */
	int fd; /* to print to; where the session is saved is printed on standard error */
	const char *after; /* what will be printed after it */
	bool has_samples;
	bool has_calls;               /* of functions */
	bool is_saved;                /* else nothing is printed of where it is */
	const char *full;             /* the folder without room for it; or NULL */
	void (*meanwhile)(void *arg); /* called while it is made; or NULL */
	void *arg;
};
/* Prints a session with cpuperf_print. False: it failed; warns if it cannot be executed. */
bool print_answer(const struct answer *a);
/* The path of cpuperf_print. 0 or -errno. */
int find_printer(char path[PATH_MAX]);
/* The same, for what cannot be done without: *e names the package if it is not there, or not of
 * this version, for which it is run. option: "--top: ". */
int require_printer(const char *option, char path[PATH_MAX], struct err *e);
enum { PRINTER_MAX_OPTIONS = 8 };
/* Runs it with these options, which end with NULL, and with its output to fd; what to print next it
 * writes to next, if that is not negative. Its exit status, or -errno: it cannot be executed. */
int ask_printer(const char *printer, char *const *options, int fd, int next);

/* result.c */
/* How many iterations, of what: "3 iteration(s) of 1 s", "2 run(s)". until_end: of the target. */
void add_length(struct buf *out, const struct spec *spec, bool until_end);
/* Writes all of out to stdout. Logs a failure; returns the exit status. */
int print_result(const struct buf *out);
/* Logs the error and returns status. */
int fail(int status, const struct err *e);
void log_errors(const struct err_list *errs);

#endif
