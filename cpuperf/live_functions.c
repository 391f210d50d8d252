/*
 * The process that shows functions has a low priority and no rights, and knows of the session what
 * its files contain.
 */
#include "live_functions.h"

#include "base/err.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/thread.h"
#include "plan/plan.h"
#include "program.h"
#include "rights.h"
#include "session/held.h"
#include "session/session.h"
#include "spec/spec.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	ITERATION_NS = NS_PER_S,
	LOW_PRIORITY = 10, /* at the lowest it would get nothing on a busy machine */
	STOP_S = 3,
};
/* Of spec_callgraphs. Who calls into libraries without frame pointers is on the first KiB of the
 * stack; of all CPUs of a machine that would cost the reader too much. */
enum { BY_POINTERS = 0, HYBRID = 2 };
/* Of a session that nobody limits: on the disk, and in memory. */
static const uint64_t max_bytes = (uint64_t)4 << 30, max_held_bytes = 256 << 20;

/* --- whether and what --------------------------------------------------------------------------
 */

static int check_options(const struct options *o, const struct plan *plan, struct err *e)
{
	int rc = 0;

	if (o->command) {
		rc = err_set(e, -EINVAL, "--top excludes a command");
		err_hint(e, "name processes by --pid or --comm; of a command, cpuperf prints the "
			    "functions at the end");
	} else if (strcmp(o->output_format, "text") != 0 || o->output_file) {
		rc = err_set(e, -EINVAL, "--top excludes --output-format and --output-file");
	} else if (plan->spec->runs || *plan->spec->windows || plan->spec->flight.span_ns) {
		rc = err_set(e, -EINVAL, "--top excludes runs, windows and a flight recorder");
	} else if (!spec_has_samples(plan->spec)) {
		rc = err_set(e, -EINVAL, "--top shows samples, and no event is sampled");
		err_hint(e, "use --frequency=997, or events with a rate; --live shows counts");
	} else if (!*plan->spec->session_result_spec_path || !*plan->spec->output_path_prefix) {
		rc = err_set(e, -EINVAL, "--top requires files: it shows what they contain");
		err_hint(e, "save the session in a folder: --output=NAME");
	} else if (!isatty(STDOUT_FILENO)) {
		rc = err_set(e, -EINVAL, "--top: standard output is not a terminal");
		err_hint(e, "record with --duration=10s instead, and print the functions: "
			    "cpuperf_print --report=flat");
	}
	return rc;
}

int live_functions_check(const struct options *o, const struct plan *plan, struct err *e)
{
	char printer[PATH_MAX];

	if (!o->top)
		return 0;
	return check_options(o, plan, e) ?: require_printer("--top: ", printer, e);
}

static bool is_in_foreground(void)
{
	pid_t foreground = tcgetpgrp(STDOUT_FILENO);

	return foreground < 0 || foreground == getpgrp();
}

/* Nobody has set an end, nor another place or form for results. */
static bool is_for_eyes(const struct options *o, const struct spec *spec)
{
	return !o->command && !o->later && !o->part && !o->rank && !o->is_silent && !o->live &&
	       !o->no_live && !o->check_spec && !o->save_spec && !o->save_alerts && !o->control &&
	       !o->output_file && !o->metrics_listen && !o->push.url && !o->std.log_file &&
	       !o->attach && !(o->output && strcmp(o->output, "-") == 0) &&
	       strcmp(o->output_format, "text") == 0 && !spec->duration_pos.line &&
	       !spec->iterations_pos.line && !options_override(o, "duration") &&
	       !options_override(o, "num_iterations") && !spec->runs && !*spec->windows &&
	       !spec->flight.span_ns && !spec->regions.is_wanted && !spec->target.command.nr;
}

void live_functions_choose(struct options *o, const struct spec *spec)
{
	const bool chooses =
	    chooses_events(o) || o->spec_file || spec->nr_events || spec->regions.is_wanted;

	if (!o->top && chooses && is_for_eyes(o, spec) &&
	    (spec_has_samples(spec) || o->frequency || o->period || o->callgraph))
		o->top = isatty(STDOUT_FILENO) && is_in_foreground();
	if (o->top && !o->spec_file && !o->events.nr && !o->callgraph && !spec->nr_events)
		o->callgraph = &spec_callgraphs[options_have_target(o) ? HYBRID : BY_POINTERS];
}

/* What is idle has no function that anybody could improve. */
static void omit_idle(const struct options *o, struct spec *spec)
{
	if (o->spec_file || o->events.nr || options_have_target(o))
		return;
	for (size_t i = 0; i < spec->nr_events; i++)
		if (strcmp(spec->events[i].event_name, "cpu_clock") == 0)
			spec->events[i].flags |= SPEC_NO_IDLE;
}

bool live_functions_hold(const struct options *o, const struct spec *spec)
{
	return o->top && !o->output && !o->spec_file && spec_has_samples(spec) &&
	       spec_has_default_paths(spec);
}

void live_functions_limit(struct spec *spec, const struct held *held)
{
	const uint64_t half = held_room_bytes(held) / 2, least = 1 << 20,
		       room = half > least ? half : least;

	if (spec->retain.bytes == max_bytes)
		spec->retain.bytes = room < max_held_bytes ? room : max_held_bytes;
}

void live_functions_settle(struct options *o, struct spec *spec, bool has_times)
{
	const uint64_t each_ns = spec->duration_ns;

	if (!o->top)
		return;
	omit_idle(o, spec);
	if (!has_times) {
		spec->duration_ns = ITERATION_NS;
		spec->num_iterations = 0;
		if (!spec_has_retain(spec))
			spec->retain.bytes = max_bytes;
	} else if (each_ns > ITERATION_NS && each_ns % ITERATION_NS == 0) {
		spec->duration_ns = ITERATION_NS;
		spec->num_iterations *= each_ns / ITERATION_NS;
	}
}

/* --- the process -------------------------------------------------------------------------------
 */

static _Noreturn void become_printer(const char *printer, char *session, pid_t parent)
{
	char live[] = "--live", quiet[] = "--quiet=2";
	char *argv[] = {(char *)printer, session, live, quiet, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	privilege_drop();
	execve(printer, argv, rights_environment());
	_exit(EXIT_NOT_FOUND);
}

/* Its end, which the user asked for there, ends the session. If it was killed, only one that would
 * last for ever: another has the end that the user asked for. */
static void *wait_for_end(void *arg)
{
	struct live_functions *l = arg;

	while (waitpid(l->pid, &l->status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSIGNALED(l->status) || !session_plan(l->session)->spec->num_iterations)
		session_stop(l->session);
	return NULL;
}

int live_functions_start(struct live_functions *l, struct session *s, const char *manifest,
			 struct err *e)
{
	char printer[PATH_MAX], session[PATH_MAX + 32];
	const pid_t self = getpid();
	int rc = find_printer(printer);

	if (rc)
		return err_set(e, rc, "--top: cpuperf_print is not found: %s", strerror(-rc));
	snprintf(session, sizeof(session), "--session=%s", manifest);
	l->session = s;
	terminal_lend(STDOUT_FILENO, &l->terminal);
	l->pid = fork();
	if (l->pid == 0)
		become_printer(printer, session, self);
	if (l->pid < 0) {
		l->pid = 0;
		return err_set(e, -errno, "--top: no process can be made: %s", strerror(errno));
	}
	rc = thread_start(&l->waiter, wait_for_end, l);
	if (rc == 0)
		return 0;
	(void)kill(l->pid, SIGKILL);
	(void)waitpid(l->pid, NULL, 0);
	l->pid = 0;
	return err_set(e, rc, "--top: no thread can be made: %s", strerror(-rc));
}

void live_functions_stop(struct live_functions *l)
{
	struct timespec until;

	if (!l->pid)
		return;
	(void)kill(l->pid, SIGTERM);
	(void)kill(l->pid, SIGCONT); /* it may be stopped */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	if (pthread_timedjoin_np(l->waiter, NULL, &until)) {
		(void)kill(l->pid, SIGKILL);
		pthread_join(l->waiter, NULL);
	}
	l->pid = 0;
	if (WIFSIGNALED(l->status)) {
		terminal_take_back(&l->terminal);
		log_warning("the screen of functions ended by signal %d: the session is whole",
			    WTERMSIG(l->status));
	} else if (WEXITSTATUS(l->status) == EXIT_NOT_FOUND) {
		log_error("--top: cpuperf_print cannot be executed");
	}
}
