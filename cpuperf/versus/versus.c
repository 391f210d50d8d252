/*
 * The commands, the recordings and the exit status. At the end this program is run to record both
 * sides, and cpuperf_print to compare the recordings.
 */
#include "versus/versus.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "experiments/causal.h"
#include "options.h"
#include "program.h"
#include "target/command.h"
#include "versus/comparison.h"
#include "versus/sweep.h"
#include "versus/turns.h"
#include "wanted.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, TEXT_BYTES = 256, EXIT_OVER = 3 };
#define FOLDER "cpuperf.versus"

struct versus {
	const struct options *o;
	struct turns turns;
	char **words; /* of the old side; owned; NULL: it is the new command */
	struct turns_arm arm[VERSUS_NR_SIDES];
	char text[VERSUS_NR_SIDES][TEXT_BYTES];
	struct versus_verdict verdict;
};

/* --- options */

/* The option by which nothing is recorded; NULL: there is none. What prepares runs is not known to
 * a recording, which would be of other work. */
static const char *records_nothing(const struct options *o)
{
	const struct versus_options *v = &o->versus;

	return v->sweep                                     ? "--sweep"
	       : v->prepare                                 ? "--prepare"
	       : v->is_verdict_only                         ? "--verdict-only"
	       : o->output && strcmp(o->output, "-") == 0   ? "--output=-"
	       : v->old && strcmp(v->old, VERSUS_SELF) == 0 ? "--versus=self"
							    : NULL;
}

/* The page is of recordings. */
static int check_page(const struct options *o, struct err *e)
{
	const char *why = records_nothing(o);

	return why && !o->versus.is_causal &&
		       comparison_recording(o->output_format) == COMPARISON_PAGE
		   ? err_set(e, -EINVAL,
			     "--output-format=%s is of what --versus records: %s records nothing",
			     o->output_format, why)
		   : 0;
}

static bool is_of_recordings(const struct opt_row *row)
{
	static const char *const others[] = {"runs", "output", "output-format", "duration", "pid"};

	return strcmp(row->section, VERSUS_SECTION) != 0 &&
	       strcmp(row->section, OPT_STD_SECTION) != 0 &&
	       !ARRAY_ANY(name, others, ARRAY_NR(others), strcmp(*name, row->name) == 0);
}

/* What says how to record has no effect where nothing is recorded. */
static int check_recording(const struct options *o, int nr_args, char **args, struct err *e)
{
	const bool is_causal = o->versus.is_causal;
	const char *why = is_causal ? "--causal" : records_nothing(o);
	const struct opt_row *row =
	    why ? opt_first(cpuperf_options(), nr_args, args, is_of_recordings) : NULL;

	if (!row)
		return 0;
	err_set(e, -EINVAL, "--%s is of what is recorded: %s records %s", row->name, why,
		is_causal ? "what it needs" : "nothing");
	err_hint(e, "omit --%s", row->name);
	return e->code;
}

static int check_causal(const struct options *o, struct err *e)
{
	static const char *const of_commands[] = {"setup", "prepare", "cleanup", "input",
						  "ignore-status"};
	const struct versus_options *v = &o->versus;
	const bool is_given[] = {v->setup, v->prepare, v->cleanup, v->input, v->ignores_status};

	if (o->pids && o->command_argv)
		return err_set(e, -EINVAL, "--pid and a command are mutually exclusive");
	if (o->pids && !v->progress) {
		err_set(e, -EINVAL, "--causal --pid requires --progress=POINT");
		err_hint(e, "whole runs of a command are measured without it; of what runs already "
			    "it is measured how often it passes a point");
		return e->code;
	}
	for (size_t i = 0; o->pids && i < ARRAY_NR(of_commands); i++)
		if (is_given[i])
			return err_set(e, -EINVAL,
				       "--%s is of a command, and --pid of what runs already",
				       of_commands[i]);
	return options_override(o, "duration") && !o->versus.progress
		   ? err_set(e, -EINVAL, "--duration requires --progress, with --causal")
		   : 0;
}

static int check_usage(const struct options *o, int nr_args, char **args, struct err *e)
{
	const struct versus_options *v = &o->versus;

	if (!v->old && (v->fail_over || v->is_verdict_only))
		return err_set(e, -EINVAL, "--verdict-only and --fail-over require --versus");
	if ((v->speedup || v->progress) && !v->is_causal)
		return err_set(e, -EINVAL, "--speedup and --progress require --causal");
	if (v->is_causal && check_causal(o, e))
		return e->code;
	if (v->by && !v->old && !v->sweep)
		return err_set(e, -EINVAL, "--by requires --versus or --sweep");
	if (!v->old && !v->sweep && !v->is_causal)
		return err_set(e, -EINVAL,
			       "--until, --at-most, --setup, --prepare, --cleanup, --input and "
			       "--ignore-status require --versus, --sweep or --causal");
	if (!comparison_has_format(o->output_format))
		return err_set(e, -EINVAL, "--output-format=%s requires --list-events",
			       o->output_format);
	if (v->is_causal && comparison_is_of_cases(o->output_format))
		return err_set(e, -EINVAL, "--output-format=%s requires --versus or --sweep",
			       o->output_format);
	if (comparison_needs_limit(o->output_format) && !v->fail_over)
		return err_set(e, -EINVAL,
			       "--output-format=%s requires --versus and --fail-over=PERCENT",
			       o->output_format);
	if (!o->command_argv && v->old)
		return err_set(e, -EINVAL,
			       "--versus requires the new command: cpuperf --versus='OLD' -- NEW");
	if (!o->command_argv && v->is_causal && !o->pids)
		return err_set(e, -EINVAL,
			       "--causal requires a command: cpuperf --causal -- COMMAND");
	if (!o->command_argv && !v->is_causal)
		return err_set(
		    e, -EINVAL,
		    "--sweep requires a command: cpuperf --sweep=n=1,2,4 -- COMMAND {n}");
	return check_page(o, e) ?: check_recording(o, nr_args, args, e);
}

static int parse_commands(struct versus *v, struct err *e)
{
	const struct versus_options *o = &v->o->versus;
	const bool is_self = strcmp(o->old, VERSUS_SELF) == 0;

	if (!is_self && turns_split("versus", o->old, &v->words, e))
		return e->code;
	v->arm[VERSUS_NEW].argv = v->o->command_argv;
	v->arm[VERSUS_OLD].argv = is_self ? v->o->command_argv : v->words;
	for (int side = 0; side < VERSUS_NR_SIDES; side++) {
		v->arm[side].prepare = v->turns.prepare;
		snprintf(v->arm[side].name, TURNS_NAME_BYTES, "%s", versus_side_names[side]);
		target_command_quote(v->arm[side].argv, v->text[side], TEXT_BYTES);
		v->verdict.name[side] = v->text[side];
	}
	v->verdict.rule = v->turns.rule;
	v->verdict.is_self = is_self;
	v->verdict.old = o->old;
	v->verdict.new_argv = v->o->command_argv;
	return 0;
}

/* --- runs */

static struct versus_runs pairs_of(const struct turns *t)
{
	return (struct versus_runs){t->run, t->nr_rounds, t->nr_arms};
}

static int look(struct turns *t, void *arg)
{
	const struct versus_runs runs = pairs_of(t);
	struct versus *v = arg;
	int rc;

	v->verdict.seconds = t->seconds;
	rc = versus_verdict_make(&runs, &v->verdict);
	t->is_known = v->verdict.is_known;
	return rc;
}

static void put_status(const struct turns *t, const void *arg, struct buf *out)
{
	(void)t;
	versus_verdict_status(&((const struct versus *)arg)->verdict, out);
}

/* --- the recordings */

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
	const size_t nr = v->turns.nr_rounds / 2;

	return nr < LEAST ? LEAST : nr > MOST ? MOST : nr;
}

enum step { CHECKS, RECORDS };

/* Functions by what they allocate are recorded where the peak of memory differs by some percent,
 * and nothing else is asked for. */
static bool is_of_memory(const struct versus *v)
{
	const double some = 0.05;
	const struct paired *p = &v->verdict.of[VERSUS_PEAK_MEMORY];

	return p->nr && (p->low > some || p->high < -some) && !chooses_events(v->o) &&
	       !v->o->spec_file;
}

/* Records runs of one side into its folder below folder; or checks that they could be, for the
 * events and the spec that are asked. */
static int record_side(struct versus *v, int side, enum step step, const char *folder, int nr_args,
		       char **args, struct err *e)
{
	char runs[32], output[PATH_MAX + 16], spec[PATH_MAX + 16], check[] = "--check-spec";
	char nowhere[] = "--output-file=/dev/null", quiet[] = "--quiet=2";
	char allocated[] = "--event=heap:allocated@65536";
	MEM_AUTO char **options = mem_calloc((size_t)nr_args + 8, sizeof(*options));
	struct versus_run ended;
	size_t nr;
	int rc;

	if (!options)
		return err_set(e, -ENOMEM, "the recording cannot start");
	snprintf(runs, sizeof(runs), "--runs=%zu", nr_recorded(v));
	snprintf(output, sizeof(output), "--output=%s/%s", folder, versus_side_names[side]);
	snprintf(spec, sizeof(spec), "--spec-file=%s", wanted_spec(v->o));
	nr = opt_copy(cpuperf_options(), nr_args, args, is_left_out, options);
	options[nr++] = runs;
	options[nr++] = quiet;
	if (step == RECORDS && is_of_memory(v)) {
		options[nr++] = spec;
		options[nr++] = allocated;
	}
	if (step == CHECKS) {
		options[nr++] = check;
	} else {
		options[nr++] = output;
		options[nr++] = nowhere;
	}
	if (turns_show_progress(&v->turns) && step == RECORDS)
		dprintf(STDERR_FILENO, TURNS_ERASE "recording %zu runs of the %s command",
			nr_recorded(v), versus_side_names[side]);
	rc = turns_run_self(&v->turns, options, v->arm[side].argv, &ended, e);
	/* the recording has the status of the command, which may be one that is ignored */
	if (rc || turns_caught() ||
	    (step == RECORDS && v->o->versus.ignores_status && WIFEXITED(ended.status) &&
	     WEXITSTATUS(ended.status) != EXIT_NOT_MEASURED))
		return rc;
	return turns_check_end(&v->turns, "cpuperf",
			       step == CHECKS ? "the check of what is to be recorded"
					      : "the recording",
			       ended.status, e);
}

static int record_both(struct versus *v, const char *folder, int nr_args, char **args)
{
	struct err e = {0};
	int rc = 0;

	for (int side = 0; side < VERSUS_NR_SIDES && rc == 0 && !turns_caught(); side++)
		rc = record_side(v, side, RECORDS, folder, nr_args, args, &e);
	if (turns_show_progress(&v->turns))
		dprintf(STDERR_FILENO, TURNS_ERASE);
	if (rc)
		log_err(LOG_WARNING, &e);
	if (rc == 0 && !turns_caught())
		v->verdict.folder = folder;
	return v->verdict.folder ? 0 : -1;
}

static int say(int status, const char *folder)
{
	if (status < 0)
		log_warning("cpuperf_print cannot be executed: where the difference is, is not "
			    "printed");
	else
		dprintf(STDERR_FILENO,
			"\nSaved in %s. More: cpuperf_print %s/new --diff=%s/old "
			"--counts (--help)\n",
			folder, folder, folder);
	return status;
}

/* What differs, by function, behind the verdict: a failure is said, and no more. */
static void explain(struct versus *v, const char *folder)
{
	printf("\nWhere it is, by %zu further runs of each, recorded:\n", nr_recorded(v));
	(void)say(versus_compare(folder, v->o->output_format, true, STDOUT_FILENO), folder);
}

/* --- the whole */

static int print_verdict(const struct versus *v)
{
	BUF_AUTO(out, MAX_TEXT);
	int rc = versus_verdicts_write(&v->verdict, 1, v->o->output_format,
				       opt_std_terminal_width(), &out);

	if (rc) {
		log_error("the verdict cannot be printed: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	return print_result(&out);
}

static void save_runs(const struct versus *v, int dir, const char *folder)
{
	const struct versus_runs runs = pairs_of(&v->turns);
	BUF_AUTO(out, 256u << 20);

	versus_runs_write(&runs, &out);
	turns_save_runs(dir, folder, &out);
}

static bool may_record(const struct versus *v)
{
	return !records_nothing(v->o) &&
	       comparison_recording(v->o->output_format) != COMPARISON_NO_RECORDING;
}

static bool is_to_be_recorded(const struct versus *v, enum comparison_recording how)
{
	return !turns_caught() && may_record(v) &&
	       (how == COMPARISON_PAGE || versus_verdict_is_explicable(&v->verdict));
}

/* A page of both, and beside it, as it has no place for it, the verdict. */
static int print_page(struct versus *v, const char *folder)
{
	BUF_AUTO(head, MAX_TEXT);

	versus_put_conclusion(&v->verdict, &head);
	dprintf(STDERR_FILENO, "%s\n", buf_str(&head));
	return v->verdict.folder &&
		       say(versus_compare(folder, v->o->output_format, false, STDOUT_FILENO),
			   folder) == 0
		   ? EXIT_DONE
		   : EXIT_FAILED;
}

/* The exit status. */
static int print_all(struct versus *v, int dir, const char *folder, int nr_args, char **args)
{
	const enum comparison_recording how = comparison_recording(v->o->output_format);
	const bool is_recorded = is_to_be_recorded(v, how);
	BUF_AUTO(differences, MAX_TEXT);
	int status = EXIT_DONE;

	if (how == COMPARISON_REPORT)
		status = print_verdict(v); /* at once: recording takes its time */
	if (dir >= 0)
		save_runs(v, dir, folder);
	if (status == EXIT_DONE && is_recorded && record_both(v, folder, nr_args, args) == 0 &&
	    how == COMPARISON_ROWS) {
		versus_read_differences(folder, &differences);
		v->verdict.differences = buf_str(&differences);
	}
	if (how == COMPARISON_REPORT && v->verdict.folder)
		explain(v, folder);
	else if (how == COMPARISON_PAGE)
		status = print_page(v, folder);
	else if (how != COMPARISON_REPORT)
		status = print_verdict(v);
	return status == EXIT_DONE && versus_verdict_fails(&v->verdict) ? EXIT_OVER : status;
}

static int measure_and_print(struct versus *v, int nr_args, char **args)
{
	const char *folder = v->o->output ? v->o->output : FOLDER;
	struct turns *t = &v->turns;
	struct err e = {0};
	IO_AUTO_FD int dir = -1;
	int status = EXIT_DONE, rc = 0;

	if (strcmp(folder, "-") != 0) {
		dir = turns_open_folder(folder, VERSUS_RUNS_HEADER, &e);
		if (dir < 0)
			return fail(EXIT_NOT_MEASURED, &e);
	}
	if (may_record(v) && record_side(v, VERSUS_NEW, CHECKS, folder, nr_args, args, &e))
		return fail(EXIT_NOT_MEASURED, &e);
	rc = turns_run(t, &e);
	v->verdict.is_cut = turns_caught();
	if (rc == 0 && (t->nr_rounds || !turns_caught()))
		status = print_all(v, dir, folder, nr_args, args);
	turns_clean_up(t);
	return rc ? fail(turns_status_of(&e), &e) : turns_status(status);
}

int versus(struct options *o, int nr_args, char **args)
{
	struct versus v = {.o = o};
	struct err e = {0};
	int status;

	if (turns_init(&v.turns, o, &e) || parse_commands(&v, &e)) {
		status = fail(EXIT_NOT_MEASURED, &e);
	} else {
		v.turns.arm = v.arm;
		v.turns.nr_arms = VERSUS_NR_SIDES;
		v.turns.look = look;
		v.turns.put_status = put_status;
		v.turns.arg = &v;
		turns_catch_signals(&v.turns);
		status = measure_and_print(&v, nr_args, args);
	}
	mem_free(v.words);
	turns_fini(&v.turns);
	return status;
}

int versus_or_sweep(struct options *o, int nr_args, char **args)
{
	struct err e = {0};

	if (check_usage(o, nr_args, args, &e))
		return fail(EXIT_USAGE, &e);
	return o->versus.is_causal ? causal(o)
	       : o->versus.sweep   ? sweep(o)
				   : versus(o, nr_args, args);
}
