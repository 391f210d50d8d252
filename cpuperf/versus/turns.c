#include "versus/turns.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/self.h"
#include "base/str.h"
#include "base/words.h"
#include "options.h"
#include "program.h"
#include "screen/number.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, WHAT_BYTES = 256, MAX_ROUNDS = 1000000 };
static const uint64_t default_at_most_ns = 60000000000;

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

void turns_catch_signals(struct turns *t)
{
	const struct sigaction action = {.sa_handler = on_signal};

	signalled = t->runner;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int turns_caught(void)
{
	return caught;
}

/* --- options */

/* "1%", "1", "0.5%" as a part of 1. */
static int parse_percent(const char *option, const char *text, double *out, struct err *e)
{
	char *end;

	*out = strtod(text, &end) / 100;
	if (end == text || (*end && strcmp(end, "%") != 0) || !(*out > 0 && *out <= 10))
		return err_set(e, -EINVAL, "--%s=%s: must be above 0, to 1000 %%", option, text);
	return 0;
}

static int parse_rule(struct turns *t, struct err *e)
{
	const struct versus_options *o = &t->o->versus;
	static const struct {
		const char *option, *arm;
	} kinds[] = {{"versus", "side"}, {"sweep", "value"}, {"causal", "experiment"}};
	const size_t kind = o->old ? 0 : o->sweep ? 1 : 2;
	const char *runs = options_override(t->o, "runs");
	const char *at_most = o->at_most ?: options_override(t->o, "duration");
	struct versus_rule *rule = &t->rule;
	uint64_t nr = 0;

	*rule = (struct versus_rule){.at_most_ns = default_at_most_ns, .fail_over = -1};
	rule->by = o->by ? versus_measure_find(o->by) : VERSUS_WALL;
	if (rule->by == VERSUS_NR)
		return err_set(e, -EINVAL,
			       "--by=%s: not one of wall cpu_time peak_memory "
			       "page_faults",
			       o->by);
	if (at_most && (str_parse_duration_ns(at_most, &rule->at_most_ns) || !rule->at_most_ns))
		return err_set(e, -EINVAL, "--%s=%s: not a time, as 90s or 10m",
			       o->at_most ? "at-most" : "duration", at_most);
	t->is_strict = at_most;
	if (runs && (str_parse_u64(runs, &nr) || nr < 2 || nr > MAX_ROUNDS))
		return err_set(e, -EINVAL, "--runs=%s: must be 2 to %d, with --%s of each %s", runs,
			       MAX_ROUNDS, kinds[kind].option, kinds[kind].arm);
	if (nr && o->until)
		return err_set(e, -EINVAL, "--runs and --until are mutually exclusive");
	rule->nr_pairs = nr;
	if (nr && !at_most)
		rule->at_most_ns = UINT64_MAX;
	if (o->until && parse_percent("until", o->until, &rule->until, e))
		return e->code;
	return o->fail_over ? parse_percent("fail-over", o->fail_over, &rule->fail_over, e) : 0;
}

int turns_split(const char *option, const char *text, char ***out, struct err *e)
{
	struct err why = {0};

	if (!text || words_split(text, out, &why) == 0)
		return 0;
	err_set(e, why.code, "--%s: %s", option, why.msg);
	if (*why.hint)
		err_hint(e, "%s", why.hint);
	return e->code;
}

int turns_init(struct turns *t, const struct options *o, struct err *e)
{
	*t = (struct turns){.o = o, .runner = o->versus.runner};
	return parse_rule(t, e) ?: turns_split("setup", o->versus.setup, &t->setup, e)
				       ?: turns_split("prepare", o->versus.prepare, &t->prepare, e)
					      ?: turns_split("cleanup", o->versus.cleanup,
							     &t->cleanup, e);
}

void turns_fini(struct turns *t)
{
	mem_free(t->setup);
	mem_free(t->prepare);
	mem_free(t->cleanup);
	mem_free(t->run);
}

/* --- runs */

int turns_check_end(const struct turns *t, const char *program, const char *what, int status,
		    struct err *e)
{
	BUF_AUTO(line, MAX_TEXT);

	if (status == 0)
		return 0;
	versus_runner_last_line(t->runner, &line);
	err_set_at(e, -EIO, program, 0, 0, "%s %s %d%s%s", what,
		   WIFSIGNALED(status) ? "was ended by signal" : "ended with exit status",
		   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		   line.len ? ": " : "", buf_str(&line));
	return e->code;
}

static int run(struct turns *t, char *const *argv, const char *what, bool is_measured,
	       struct versus_run *out, struct err *e)
{
	int rc = versus_runner_run(t->runner, argv, is_measured, out, e);

	if (rc || caught || t->o->versus.ignores_status)
		return rc;
	rc = turns_check_end(t, argv[0], what, out->status, e);
	if (rc)
		err_hint(e, "what fails is not compared; if this is meant, use --ignore-status");
	return rc;
}

static int run_aside(struct turns *t, char *const *argv, const char *what, struct err *e)
{
	struct versus_run ignored;

	return argv && !caught ? run(t, argv, what, false, &ignored, e) : 0;
}

/* is_first: before the rounds; it is not measured. */
static int run_arm(struct turns *t, const struct turns_arm *arm, bool is_first,
		   struct versus_run *out, struct err *e)
{
	char what[WHAT_BYTES], prepares[WHAT_BYTES];
	int rc;

	if (is_first)
		snprintf(what, sizeof(what), "the first run of the %s command", arm->name);
	else
		snprintf(what, sizeof(what), "run %zu of the %s command", t->nr_rounds + 1,
			 arm->name);
	snprintf(prepares, sizeof(prepares), "the command of --prepare before %.200s", what);
	rc = run_aside(t, arm->prepare, prepares, e);
	if (rc || caught)
		return rc;
	return run(t, arm->argv, what, !is_first, out, e);
}

int turns_try(struct turns *t, size_t arm, struct err *e)
{
	struct versus_run ignored;

	return run_arm(t, &t->arm[arm], true, &ignored, e);
}

int turns_set_up(struct turns *t, struct err *e)
{
	return run_aside(t, t->setup, "the command of --setup", e);
}

int turns_prepare(struct turns *t, struct err *e)
{
	return run_aside(t, t->prepare, "the command of --prepare", e);
}

static size_t count_words(char *const *words)
{
	size_t nr = 0;

	while (words[nr])
		nr++;
	return nr;
}

int turns_run_self(struct turns *t, char *const *options, char *const *command,
		   struct versus_run *out, struct err *e)
{
	const size_t nr = count_words(options), nr_words = count_words(command);
	char self[PATH_MAX], dashes[] = "--";
	MEM_AUTO char **argv = mem_calloc(nr + nr_words + 3, sizeof(*argv));
	int rc = argv ? self_path(self) : -ENOMEM;

	if (rc)
		return err_set(e, rc, "the recording cannot start: %s", strerror(-rc));
	argv[0] = self;
	memcpy(argv + 1, options, nr * sizeof(*argv));
	argv[1 + nr] = dashes;
	memcpy(argv + nr + 2, command, nr_words * sizeof(*argv));
	return versus_runner_run(t->runner, argv, false, out, e);
}

/* Room for one more round. */
static int grow(struct turns *t)
{
	while (t->room < t->nr_runs + t->nr_arms) {
		void *moved = mem_grow(t->run, t->room, &t->room, sizeof(*t->run));

		if (!moved)
			return -ENOMEM;
		t->run = moved;
	}
	return 0;
}

static int run_round(struct turns *t, struct err *e)
{
	const bool is_back = t->nr_rounds % 2;
	int rc = grow(t) ? err_set(e, -ENOMEM, "out of memory") : 0;

	for (size_t i = 0; i < t->nr_arms && rc == 0 && !caught; i++) {
		const size_t arm = is_back ? t->nr_arms - 1 - i : i;
		struct versus_run *out = &t->run[t->nr_runs + arm];

		rc = t->begin ? t->begin(t, arm, t->arg, e) : 0;
		rc = rc ? rc : run_arm(t, &t->arm[arm], false, out, e);
		if (rc == 0 && t->end && !caught)
			rc = t->end(t, arm, out, t->arg, e);
	}
	if (rc || caught)
		return rc;
	t->nr_rounds++;
	t->nr_runs += t->nr_arms;
	return 0;
}

bool turns_show_progress(const struct turns *t)
{
	return isatty(STDERR_FILENO) && t->o->std.min_level <= LOG_INFO;
}

void turns_show(const struct turns *t)
{
	const unsigned columns = opt_std_width_of(STDERR_FILENO);
	BUF_AUTO(text, MAX_TEXT);

	if (!turns_show_progress(t))
		return;
	t->put_status(t, t->arg, &text);
	if (columns) /* what goes on in the next line cannot be erased */
		screen_cut(&text, 0, columns - 1);
	dprintf(STDERR_FILENO, TURNS_ERASE "%s", buf_str(&text));
}

/* Looking takes longer the more rounds there are: each 25th part more. Rounds of both orders are
 * looked at together. */
static bool is_look(const struct turns *t)
{
	const size_t nr = t->nr_rounds, step = 2 * (nr / 50);

	return nr == t->rule.nr_pairs || (nr % 2 == 0 && (step == 0 || nr % step == 0));
}

static bool is_over(const struct turns *t)
{
	const uint64_t ns = clock_monotonic_ns() - t->begin_ns;
	const struct versus_rule *rule = &t->rule;

	if (caught || t->nr_rounds == MAX_ROUNDS ||
	    (rule->nr_pairs && t->nr_rounds == rule->nr_pairs))
		return true;
	if (t->nr_rounds % 2)
		return false;
	return t->is_known ||
	       (ns >= rule->at_most_ns && t->nr_rounds >= (t->is_strict ? 2 : PAIRED_MIN));
}

static int look(struct turns *t, struct err *e)
{
	t->seconds = (double)(clock_monotonic_ns() - t->begin_ns) / 1e9;
	t->nr_looked = t->nr_rounds;
	return t->look(t, t->arg) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int turns_run(struct turns *t, struct err *e)
{
	int rc = turns_set_up(t, e);

	for (size_t i = 0; i < t->nr_arms && rc == 0 && !caught && !t->survey; i++)
		rc = turns_try(t, i, e); /* what is read first is slower */
	if (rc == 0 && t->survey && !caught)
		rc = t->survey(t, t->arg, e);
	t->begin_ns = clock_monotonic_ns();
	while (rc == 0 && !is_over(t)) {
		rc = run_round(t, e);
		if (rc == 0 && is_look(t)) {
			rc = look(t, e);
			turns_show(t);
		}
	}
	if (rc == 0 && t->nr_looked != t->nr_rounds)
		rc = look(t, e);
	if (turns_show_progress(t))
		dprintf(STDERR_FILENO, TURNS_ERASE);
	return rc;
}

/* Whatever came before, also a signal. */
void turns_clean_up(struct turns *t)
{
	struct versus_run ignored;
	struct err e = {0};

	if (t->cleanup && run(t, t->cleanup, "the command of --cleanup", false, &ignored, &e))
		log_err(LOG_WARNING, &e);
}

int turns_status(int printed)
{
	return caught                   ? EXIT_SIGNALLED + caught
	       : printed == EXIT_FAILED ? EXIT_NOT_MEASURED
					: printed;
}

int turns_status_of(const struct err *e)
{
	return e->code == -ENOENT   ? EXIT_NOT_FOUND
	       : e->code == -EACCES ? EXIT_NOT_EXECUTABLE
				    : EXIT_NOT_MEASURED;
}

/* --- the folder */

/* Whether the file of runs there is one of ours, or there is none. */
static bool may_replace_runs(int dir, const char *header)
{
	char text[WHAT_BYTES] = "";
	IO_AUTO_FD int fd =
	    openat(dir, TURNS_RUNS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT;
	return io_read_full(fd, text, strlen(header)) >= 0 && strcmp(text, header) == 0;
}

int turns_open_folder(const char *path, const char *header, struct err *e)
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
	else if (!may_replace_runs(fd, header))
		err_set_at(e, -EEXIST, path, 0, 0,
			   TURNS_RUNS_FILE " in it is no file of --versus or --sweep");
	if (!e->code)
		return fd;
	close(fd);
	err_hint(e, "name another folder: --output=FOLDER");
	return e->code;
}

void turns_save_runs(int dir, const char *folder, const struct buf *runs)
{
	struct err e = {0};
	int rc = buf_error(runs) ? err_set(&e, buf_error(runs), "out of memory")
				 : io_write_atomic(dir, TURNS_RUNS_FILE, folder, buf_str(runs),
						   runs->len, NULL, &e);

	if (rc)
		log_err(LOG_WARNING, &e);
}
