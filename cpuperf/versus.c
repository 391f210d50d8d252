/*
 * The turns. At the end this program is run to record both sides, and cpuperf_print to compare the
 * recordings.
 */
#include "versus.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/str.h"
#include "base/words.h"
#include "options.h"
#include "program.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, TEXT_BYTES = 256, EXIT_OVER = 3, MAX_PAIRS = 1000000 };
#define FOLDER    "cpuperf.versus"
#define RUNS_FILE "runs.csv"
#define ERASE     "\r\033[K"
static const uint64_t default_at_most_ns = 60000000000;

static const char *const side_names[VERSUS_NR_SIDES] = {"old", "new"};

struct versus {
	const struct options *o;
	struct versus_runner *runner;
	char **words[VERSUS_NR_SIDES]; /* owned but for those of the program's own arguments */
	char *const *argv[VERSUS_NR_SIDES];
	char text[VERSUS_NR_SIDES][TEXT_BYTES];
	char **setup, **prepare, **cleanup; /* owned; NULL: none */
	struct versus_runs runs;
	struct versus_verdict verdict;
	bool is_strict; /* at_most was asked: also of the least number of pairs */
	uint64_t begin_ns;
};

static struct versus_runner *signalled;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	if (caught) /* the command does not end by the first */
		versus_runner_signal(signalled, SIGKILL);
	else if (number != SIGINT) /* which the terminal sends to all */
		versus_runner_signal(signalled, number);
	caught = number;
}

static void catch_signals(struct versus_runner *r)
{
	const struct sigaction action = {.sa_handler = on_signal};

	signalled = r;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* --- options */

static int check_usage(const struct options *o, struct err *e)
{
	const struct versus_options *v = &o->versus;

	if (!v->old)
		return err_set(e, -EINVAL,
			       "--until, --at-most, --by, --setup, --prepare, --cleanup, "
			       "--input, --ignore-status, --verdict-only and --fail-over "
			       "require --versus");
	if (strcmp(o->output_format, OPTIONS_FORMAT_NAMES) == 0)
		return err_set(e, -EINVAL, "--output-format=%s requires --list-events",
			       o->output_format);
	if (!o->command_argv)
		return err_set(e, -EINVAL,
			       "--versus requires the new command: cpuperf --versus='OLD' -- NEW");
	return 0;
}

/* "1%", "1", "0.5%" as a part of 1. */
static int parse_percent(const char *option, const char *text, double *out, struct err *e)
{
	char *end;

	*out = strtod(text, &end) / 100;
	if (end == text || (*end && strcmp(end, "%") != 0) || !(*out > 0 && *out <= 10))
		return err_set(e, -EINVAL, "--%s=%s: must be above 0, to 1000 %%", option, text);
	return 0;
}

static int parse_rule(struct versus *v, struct err *e)
{
	const struct versus_options *o = &v->o->versus;
	const char *pairs = options_override(v->o, "runs");
	struct versus_rule *rule = &v->verdict.rule;
	uint64_t nr = 0;

	*rule = (struct versus_rule){.at_most_ns = default_at_most_ns, .fail_over = -1};
	rule->by = o->by ? versus_measure_find(o->by) : VERSUS_WALL;
	if (rule->by == VERSUS_NR)
		return err_set(e, -EINVAL,
			       "--by=%s: not one of wall cpu_time peak_memory "
			       "page_faults",
			       o->by);
	if (o->at_most &&
	    (str_parse_duration_ns(o->at_most, &rule->at_most_ns) || !rule->at_most_ns))
		return err_set(e, -EINVAL, "--at-most=%s: not a time, as 90s or 10m", o->at_most);
	v->is_strict = o->at_most;
	if (pairs && (str_parse_u64(pairs, &nr) || nr < 2 || nr > MAX_PAIRS))
		return err_set(e, -EINVAL, "--runs=%s: must be 2 to %d, with --versus of each side",
			       pairs, MAX_PAIRS);
	if (nr && o->until)
		return err_set(e, -EINVAL, "--runs and --until are mutually exclusive");
	rule->nr_pairs = nr;
	if (nr && !o->at_most)
		rule->at_most_ns = UINT64_MAX;
	if (o->until && parse_percent("until", o->until, &rule->until, e))
		return e->code;
	return o->fail_over ? parse_percent("fail-over", o->fail_over, &rule->fail_over, e) : 0;
}

static int split(const char *option, const char *text, char ***out, struct err *e)
{
	struct err why = {0};

	if (!text || words_split(text, out, &why) == 0)
		return 0;
	err_set(e, why.code, "--%s: %s", option, why.msg);
	if (*why.hint)
		err_hint(e, "%s", why.hint);
	return e->code;
}

static int parse_commands(struct versus *v, struct err *e)
{
	const struct versus_options *o = &v->o->versus;
	const bool is_self = strcmp(o->old, VERSUS_SELF) == 0;

	v->argv[VERSUS_NEW] = v->o->command_argv;
	if (!is_self && split("versus", o->old, &v->words[VERSUS_OLD], e))
		return e->code;
	v->argv[VERSUS_OLD] = is_self ? v->argv[VERSUS_NEW] : v->words[VERSUS_OLD];
	for (int side = 0; side < VERSUS_NR_SIDES; side++) {
		target_command_quote(v->argv[side], v->text[side], TEXT_BYTES);
		v->verdict.name[side] = v->text[side];
	}
	v->verdict.is_self = is_self;
	return split("setup", o->setup, &v->setup, e)
	       ?: split("prepare", o->prepare, &v->prepare, e)
	       ?: split("cleanup", o->cleanup, &v->cleanup, e);
}

/* --- runs */

/* What did not end well, in words. 0, or -EIO with *e. */
static int check_end(const struct versus *v, const char *program, const char *what, int status,
		     struct err *e)
{
	BUF_AUTO(line, MAX_TEXT);

	if (status == 0)
		return 0;
	versus_runner_last_line(v->runner, &line);
	err_set_at(e, -EIO, program, 0, 0, "%s %s %d%s%s", what,
		   WIFSIGNALED(status) ? "was ended by signal" : "ended with exit status",
		   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		   line.len ? ": " : "", buf_str(&line));
	return e->code;
}

static int run(struct versus *v, char *const *argv, const char *what, bool is_measured,
	       struct versus_run *out, struct err *e)
{
	int rc = versus_runner_run(v->runner, argv, is_measured, out, e);

	if (rc || caught || v->o->versus.ignores_status)
		return rc;
	rc = check_end(v, argv[0], what, out->status, e);
	if (rc)
		err_hint(e, "what fails is not compared; if this is meant, use --ignore-status");
	return rc;
}

static int run_aside(struct versus *v, char *const *argv, const char *what, struct err *e)
{
	struct versus_run ignored;

	return argv && !caught ? run(v, argv, what, false, &ignored, e) : 0;
}

/* is_first: before the pairs; it is not measured. */
static int run_side(struct versus *v, int side, bool is_first, struct versus_run *out,
		    struct err *e)
{
	char what[TEXT_BYTES];
	int rc = run_aside(v, v->prepare, "the command of --prepare", e);

	if (rc || caught)
		return rc;
	if (is_first)
		snprintf(what, sizeof(what), "the first run of the %s command", side_names[side]);
	else
		snprintf(what, sizeof(what), "run %zu of the %s command", v->runs.nr + 1,
			 side_names[side]);
	return run(v, v->argv[side], what, !is_first, out, e);
}

static int run_pair(struct versus *v, struct err *e)
{
	const int first = v->runs.nr % 2 ? VERSUS_NEW : VERSUS_OLD;
	struct versus_pair pair, *to;
	int rc = run_side(v, first, false, &pair.of[first], e)
		     ?: run_side(v, !first, false, &pair.of[!first], e);

	if (rc || caught)
		return rc;
	to = MEM_ADD(v->runs.pair, v->runs.nr, v->runs.room);
	if (!to)
		return err_set(e, -ENOMEM, "out of memory");
	*to = pair;
	return 0;
}

static bool shows_progress(const struct versus *v)
{
	return isatty(STDERR_FILENO) && v->o->std.min_level <= LOG_INFO;
}

static void show_progress(const struct versus *v)
{
	BUF_AUTO(text, MAX_TEXT);

	if (!shows_progress(v))
		return;
	versus_verdict_status(&v->verdict, &text);
	dprintf(STDERR_FILENO, ERASE "%s", buf_str(&text));
}

/* Looking takes longer the more pairs there are: each 25th part more. Pairs of both orders are
 * looked at together. */
static bool is_look(const struct versus *v)
{
	const size_t nr = v->runs.nr, step = 2 * (nr / 50);

	return nr == v->verdict.rule.nr_pairs || (nr % 2 == 0 && (step == 0 || nr % step == 0));
}

static bool is_over(const struct versus *v)
{
	const uint64_t ns = clock_monotonic_ns() - v->begin_ns;
	const struct versus_rule *rule = &v->verdict.rule;

	if (caught || v->runs.nr == MAX_PAIRS || (rule->nr_pairs && v->runs.nr == rule->nr_pairs))
		return true;
	if (v->runs.nr % 2)
		return false;
	return v->verdict.is_known ||
	       (ns >= rule->at_most_ns && v->runs.nr >= (v->is_strict ? 2 : PAIRED_MIN));
}

static int look(struct versus *v, struct err *e)
{
	v->verdict.seconds = (double)(clock_monotonic_ns() - v->begin_ns) / 1e9;
	return versus_verdict_make(&v->runs, &v->verdict) ? err_set(e, -ENOMEM, "out of memory")
							  : 0;
}

static int run_all(struct versus *v, struct err *e)
{
	struct versus_run ignored;
	int rc = run_aside(v, v->setup, "the command of --setup", e);

	for (int side = 0; side < VERSUS_NR_SIDES && rc == 0 && !caught; side++)
		rc = run_side(v, side, true, &ignored, e); /* what is read first is slower */
	v->begin_ns = clock_monotonic_ns();
	while (rc == 0 && !is_over(v)) {
		rc = run_pair(v, e);
		if (rc == 0 && is_look(v)) {
			rc = look(v, e);
			show_progress(v);
		}
	}
	if (rc == 0 && v->verdict.nr_pairs != v->runs.nr)
		rc = look(v, e);
	if (shows_progress(v))
		dprintf(STDERR_FILENO, ERASE);
	v->verdict.is_cut = caught;
	return rc;
}

/* --- the recordings */

/* Whether the file of runs there is one of ours, or there is none. */
static bool may_replace_runs(int dir)
{
	char text[sizeof(VERSUS_RUNS_HEADER)] = "";
	IO_AUTO_FD int fd = openat(dir, RUNS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT;
	return io_read_full(fd, text, sizeof(text) - 1) >= 0 &&
	       strcmp(text, VERSUS_RUNS_HEADER) == 0;
}

static int open_folder(const char *path, struct err *e)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return err_set_at(e, -errno, path, 0, 0, "%s", strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set_at(e, -errno, path, 0, 0, "%s", strerror(errno));
	if (fstat(fd, &st) || st.st_uid != geteuid())
		err_set_at(e, -EPERM, path, 0, 0, "the folder is another user's");
	else if (!may_replace_runs(fd))
		err_set_at(e, -EEXIST, path, 0, 0, RUNS_FILE " in it is no file of --versus");
	if (!e->code)
		return fd;
	close(fd);
	err_hint(e, "name another folder: --output=FOLDER");
	return e->code;
}

static bool is_left_out(const struct opt_row *row)
{
	static const char *const names[] = {"runs",          "output", "output-file",
					    "output-format", "quiet",  "verbose"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(row->name, names[i]) == 0)
			return true;
	return strcmp(row->section, VERSUS_SECTION) == 0;
}

/* Half as many as the verdict took, so that what makes the difference is found as well. */
static size_t nr_recorded(const struct versus *v)
{
	enum { LEAST = 5, MOST = 30 };
	const size_t nr = v->runs.nr / 2;

	return nr < LEAST ? LEAST : nr > MOST ? MOST : nr;
}

enum step { CHECKS, RECORDS };

/* Records runs of one side into its folder below folder; or checks that they could be, for the
 * events and the spec that are asked. */
static int record_side(struct versus *v, int side, enum step step, const char *folder, int nr_args,
		       char **args, struct err *e)
{
	char self[PATH_MAX] = "", runs[32], output[PATH_MAX + 16];
	char nowhere[] = "--output-file=/dev/null", quiet[] = "--quiet=2", dashes[] = "--";
	char check[] = "--check-spec";
	size_t nr = 0, nr_words = 0;
	struct versus_run ended;
	MEM_AUTO char **argv = NULL;
	int rc;

	while (v->argv[side][nr_words])
		nr_words++;
	argv = mem_calloc((size_t)nr_args + nr_words + 8, sizeof(*argv));
	if (!argv || readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return err_set(e, argv ? -errno : -ENOMEM, "the recording cannot start");
	snprintf(runs, sizeof(runs), "--runs=%zu", nr_recorded(v));
	snprintf(output, sizeof(output), "--output=%s/%s", folder, side_names[side]);
	argv[nr++] = self;
	nr += opt_copy(cpuperf_options(), nr_args, args, is_left_out, argv + nr);
	argv[nr++] = runs;
	argv[nr++] = quiet;
	if (step == CHECKS) {
		argv[nr++] = check;
	} else {
		argv[nr++] = output;
		argv[nr++] = nowhere;
	}
	argv[nr++] = dashes;
	memcpy(argv + nr, v->argv[side], nr_words * sizeof(*argv));
	if (shows_progress(v) && step == RECORDS)
		dprintf(STDERR_FILENO, ERASE "recording %zu runs of the %s command", nr_recorded(v),
			side_names[side]);
	rc = versus_runner_run(v->runner, argv, false, &ended, e);
	/* the recording has the status of the command, which may be one that is ignored */
	if (rc || caught ||
	    (step == RECORDS && v->o->versus.ignores_status && WIFEXITED(ended.status) &&
	     WEXITSTATUS(ended.status) != EXIT_NOT_MEASURED))
		return rc;
	return check_end(v, "cpuperf",
			 step == CHECKS ? "the check of what is to be recorded" : "the recording",
			 ended.status, e);
}

static int print_difference(const char *folder)
{
	char printer[PATH_MAX], session[PATH_MAX + 16], diff[PATH_MAX + 16];
	char counts[] = "--counts", totals[] = "--no-totals", top[] = "--top=10",
	     quiet[] = "--quiet", no_pager[] = "--no-pager";
	char *const options[] = {session, diff, counts, totals, top, quiet, no_pager, NULL};

	snprintf(session, sizeof(session), "--session=%s/new", folder);
	snprintf(diff, sizeof(diff), "--diff=%s/old", folder);
	return find_printer(printer) ?: ask_printer(printer, options, STDOUT_FILENO, -1);
}

/* What differs, by function. The verdict is printed: a failure is said, and no more. */
static void explain(struct versus *v, const char *folder, int nr_args, char **args)
{
	struct err e = {0};
	int rc = 0;

	for (int side = 0; side < VERSUS_NR_SIDES && rc == 0 && !caught; side++)
		rc = record_side(v, side, RECORDS, folder, nr_args, args, &e);
	if (shows_progress(v))
		dprintf(STDERR_FILENO, ERASE);
	if (rc)
		log_err(LOG_WARNING, &e);
	if (rc || caught)
		return;
	printf("\nWhere it is, by %zu further runs of each, recorded:\n", nr_recorded(v));
	rc = print_difference(folder);
	if (rc < 0)
		log_warning("cpuperf_print cannot be executed: where the difference is, is not "
			    "printed");
	else
		dprintf(STDERR_FILENO,
			"\nSaved in %s. More: cpuperf_print %s/new --diff=%s/old "
			"--counts (--help)\n",
			folder, folder, folder);
}

/* --- the whole */

static int print_verdict(const struct versus *v)
{
	BUF_AUTO(out, MAX_TEXT);
	int rc =
	    versus_verdict_write(&v->verdict, v->o->output_format, opt_std_terminal_width(), &out);

	if (rc) {
		log_error("the verdict cannot be printed: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	return print_result(&out);
}

static int save_runs(const struct versus *v, int dir, const char *folder, struct err *e)
{
	BUF_AUTO(out, 256u << 20);

	versus_runs_write(&v->runs, &out);
	return buf_error(&out)
		   ? err_set(e, buf_error(&out), "out of memory")
		   : io_write_atomic(dir, RUNS_FILE, folder, buf_str(&out), out.len, NULL, e);
}

/* What prepares runs is not known to a recording, which would be of other work. */
static bool may_record(const struct versus *v)
{
	const struct versus_options *o = &v->o->versus;

	return !(v->o->output && strcmp(v->o->output, "-") == 0) && !o->is_verdict_only &&
	       !o->prepare && !v->verdict.is_self && strcmp(v->o->output_format, "text") == 0;
}

/* The exit status. */
static int print_all(struct versus *v, int dir, const char *folder, int nr_args, char **args)
{
	const int status = print_verdict(v);
	struct err e = {0};

	if (dir >= 0 && save_runs(v, dir, folder, &e))
		log_err(LOG_WARNING, &e);
	if (status == EXIT_DONE && !caught && may_record(v) &&
	    versus_verdict_is_explicable(&v->verdict))
		explain(v, folder, nr_args, args);
	return status == EXIT_DONE && versus_verdict_fails(&v->verdict) ? EXIT_OVER : status;
}

/* Whatever came before, also a signal. */
static void clean_up(struct versus *v)
{
	struct versus_run ignored;
	struct err e = {0};

	if (v->cleanup && run(v, v->cleanup, "the command of --cleanup", false, &ignored, &e))
		log_err(LOG_WARNING, &e);
}

/* A command that cannot be executed has a status of its own, as without --versus. */
static int status_of(const struct err *e)
{
	return e->code == -ENOENT   ? EXIT_NOT_FOUND
	       : e->code == -EACCES ? EXIT_NOT_EXECUTABLE
				    : EXIT_NOT_MEASURED;
}

static int measure_and_print(struct versus *v, int nr_args, char **args)
{
	const char *folder = v->o->output ? v->o->output : FOLDER;
	struct err e = {0};
	IO_AUTO_FD int dir = -1;
	int status = EXIT_DONE, rc = 0;

	if (strcmp(folder, "-") != 0) {
		dir = open_folder(folder, &e);
		if (dir < 0)
			return fail(EXIT_NOT_MEASURED, &e);
	}
	if (may_record(v) && record_side(v, VERSUS_NEW, CHECKS, folder, nr_args, args, &e))
		return fail(EXIT_NOT_MEASURED, &e);
	rc = run_all(v, &e);
	if (rc == 0 && (v->runs.nr || !caught))
		status = print_all(v, dir, folder, nr_args, args);
	clean_up(v);
	if (rc)
		return fail(status_of(&e), &e);
	return caught                  ? EXIT_SIGNALLED + caught
	       : status == EXIT_FAILED ? EXIT_NOT_MEASURED
				       : status;
}

int versus(struct options *o, int nr_args, char **args)
{
	struct versus v = {.o = o, .runner = o->versus.runner};
	struct err e = {0};
	int status;

	if (check_usage(o, &e)) {
		status = fail(EXIT_USAGE, &e);
	} else if (parse_rule(&v, &e) || parse_commands(&v, &e)) {
		status = fail(EXIT_NOT_MEASURED, &e);
	} else {
		catch_signals(v.runner);
		status = measure_and_print(&v, nr_args, args);
	}
	mem_free(v.words[VERSUS_OLD]);
	mem_free(v.setup);
	mem_free(v.prepare);
	mem_free(v.cleanup);
	mem_free(v.runs.pair);
	return status;
}
