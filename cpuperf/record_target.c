/*
 * The target of a session: starts a command, describes a target and its end.
 */
#include "attached.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/root.h"
#include "base/str.h"
#include "collect/memory_map.h"
#include "guests.h"
#include "heap.h"
#include "host/host.h"
#include "preload.h"
#include "program.h"
#include "recorder.h"
#include "session/session.h"
#include "signals.h"
#include "target/failures.h"
#include "target/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_LEFT_NAMED = 8 };

static void on_end(void *arg)
{
	session_finish(arg);
}

static void on_processes(void *arg, const pid_t *pids, size_t nr)
{
	struct recorder *r = arg;

	memory_map_read(r->map, pids, nr);
}

/* Without memory or a thread for it there is no map, and the report says so. */
static void start_map(struct recorder *r, struct target_memory_config *config)
{
	memory_map_free(r->map); /* of the run before */
	r->map = NULL;
	if (memory_map_new(&root_live, MEMORY_MAP_WAIT_MS, &r->map))
		return;
	config->on_processes = on_processes;
	config->arg = r;
}

/* Without it, the peak of all processes is unknown. Switches are read where no event counts them,
 * and wait4 does not return them. */
static void start_memory(struct recorder *r)
{
	bool is_user_only = r->plan->target.is_user_only, until_end = r->plan->target.until_end;
	struct target_memory_config config = {.root = &root_live,
					      .pids = &r->pid,
					      .nr_pids = 1,
					      .has_children = r->plan->spec->target.has_children,
					      .cgroup = -1,
					      .period_ns = plan_pace_ns(r->plan),
					      .counts_all = !r->attached,
					      .has_switches =
						  is_user_only && (r->attached || !until_end),
					      .page_bytes = r->plan->host->page_bytes};
	int rc;

	if (r->attached)
		attached_set_memory(r->attached, &config);
	if (r->plan->spec->target.maps_memory)
		start_map(r, &config);
	rc = target_memory_new(&config, &r->memory);
	if (rc == 0 && r->attached) { /* what is used from here on is counted */
		target_memory_read(r->memory);
		target_memory_pass(r->memory);
	}
	rc = rc ?: target_memory_start(r->memory);
	if (rc)
		log_verbose(1, "memory of all processes is not read: %s", strerror(-rc));
}

static void list_hidden(struct recorder *r, struct trace_target *out)
{
	BUF_AUTO(names, sizeof(out->hidden));

	out->nr_hidden = (uint32_t)target_memory_hidden(r->memory, &names);
	snprintf(out->hidden, sizeof(out->hidden), "%s", buf_str(&names));
	str_disarm(out->hidden);
}

static void list_left(struct recorder *r, struct trace_target *out)
{
	BUF_AUTO(names, sizeof(out->left));

	out->nr_left = (uint32_t)target_memory_list(r->memory, target_command_pid(r->command),
						    NR_LEFT_NAMED, &names);
	snprintf(out->left, sizeof(out->left), "%s", buf_str(&names));
	str_disarm(out->left);
}

static uint64_t to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){.tv_sec = (time_t)(ns / 1000000000),
				.tv_usec = (suseconds_t)(ns % 1000000000 / 1000)};
}

static void take_used(struct recorder *r, struct trace_target *out)
{
	struct target_used used;
	struct rusage usage;

	if (!r->memory)
		return;
	target_memory_used(r->memory, &used);
	usage = (struct rusage){.ru_utime = to_timeval(used.user_ns),
				.ru_stime = to_timeval(used.system_ns),
				.ru_minflt = (long)used.minor_faults,
				.ru_majflt = (long)used.major_faults,
				.ru_nvcsw = (long)used.switches};
	if (r->command)
		target_command_subtract_own(r->command, &usage);
	out->user_ns = to_ns(&usage.ru_utime);
	out->system_ns = to_ns(&usage.ru_stime);
	out->minor_faults = (uint64_t)usage.ru_minflt;
	out->major_faults = (uint64_t)usage.ru_majflt;
	out->voluntary_switches = (uint64_t)usage.ru_nvcsw;
	out->flags |= used.are_switches_all ? TRACE_TARGET_SWITCHES_ARE_ALL : 0;
}

static void take_memory(struct recorder *r, struct trace_target *out)
{
	struct target_peak peak;

	if (!r->memory)
		return;
	target_memory_take(r->memory, &peak);
	out->tree_peak_bytes = peak.bytes;
	out->tree_peak_processes = peak.nr_processes;
	out->flags |= (peak.is_of_cgroup ? TRACE_TARGET_PEAK_OF_CGROUP : 0) |
		      (peak.is_exact ? TRACE_TARGET_PEAK_IS_EXACT : 0);
	list_hidden(r, out);
	if (r->command && (r->plan->spec->num_iterations == 1 || !r->goes_on))
		list_left(r, out);
	if (!r->command || r->goes_on)
		return;
	target_memory_free(r->memory);
	r->memory = NULL;
}

static int set_variable(void *arg, const char *name, const char *value, struct err *e)
{
	return target_command_set_variable(arg, name, value, e);
}

int recorder_on_start(void *arg, struct err *e)
{
	struct recorder *r = arg;

	if (r->attached) {
		const char *socket = session_socket(r->session, "CPUPERF_HEAP");

		const struct plan_target *t = &r->plan->target;
		int rc;

		start_memory(r);
		rc = t->has_agent && socket ? heap_attach(t, socket, &r->heap, e) : 0;
		if (r->heap.nr)
			attached_add_agents(r->attached, r->heap.nr, t->nr_agents);
		return rc ?: attached_start(r->attached, on_end, r->session, e);
	}
	if (session_socket(r->session, "CPUPERF_MARKS")) {
		int rc = target_command_set_variable(r->command, "CPUPERF_MARKS",
						     session_socket(r->session, "CPUPERF_MARKS"), e)
			     ?: guests_set_variables(set_variable, r->command, e);

		if (rc)
			return rc;
	}
	r->exec_error = preload_set_variables(r->command, r->plan, r->session, e);
	if (r->exec_error)
		return r->exec_error;
	r->exec_error = target_command_start(r->command, on_end, r->session, e);
	if (!r->exec_error)
		start_memory(r);
	signals_forward_early(r->command);
	return r->exec_error;
}

int recorder_on_next(void *arg, struct err *e)
{
	struct recorder *r = arg;
	int rc = signals_have_stopped_runs() ? 1 : target_command_next(r->command, e);

	if (rc == 0)
		r->pid = target_command_pid(r->command);
	return rc;
}

void recorder_follow_failures(struct recorder *r)
{
	const struct spec *spec = r->plan->spec;
	struct err e = {0};

	if (!spec->flight.span_ns || spec->target.cgroups.nr || (!r->command && !r->attached))
		return;
	if (target_failures_new(spec->target.has_children, &r->failures, &e))
		log_info("a process that fails is no trigger: %s", e.msg);
}

void recorder_add_processes(struct recorder *r)
{
	const struct target_tasks *t = r->attached ? &r->attached->tasks : NULL;
	int rc = 0;

	if (!r->failures)
		return;
	if (r->command)
		rc = target_failures_add(r->failures, r->pid);
	for (size_t i = 0; t && i < t->nr_processes && rc == 0; i++)
		rc = target_failures_add(r->failures, t->processes[i]);
	if (rc)
		log_warning("processes that fail may be no triggers: %s", strerror(-rc));
}

/* The end of the command is a snapshot anyway. */
static void on_failure(struct recorder *r, const struct target_failure *f)
{
	const char *name = WIFSIGNALED(f->status) ? sigabbrev_np(WTERMSIG(f->status)) : NULL;
	char why[64];

	if ((r->command && f->pid == r->pid) ||
	    (!WIFSIGNALED(f->status) && !r->plan->spec->flight.has_exits))
		return;
	if (WIFSIGNALED(f->status))
		snprintf(why, sizeof(why), "process %d killed by %s%s", f->pid,
			 name ? "SIG" : "a signal", name ? name : "");
	else
		snprintf(why, sizeof(why), "process %d: exit status %d", f->pid,
			 WEXITSTATUS(f->status));
	session_trigger(r->session, why);
}

void recorder_read_failures(struct recorder *r)
{
	struct target_failure f;
	char text[128];
	int rc = 0;

	while (r->failures && (rc = target_failures_next(r->failures, &f)) == 1)
		on_failure(r, &f);
	if (rc == 0 || rc == -EAGAIN || (rc == -ENOBUFS && r->has_lost_failures))
		return;
	snprintf(text, sizeof(text), "processes that fail may be no triggers: %s", strerror(-rc));
	if (recorder_must_log(r, text))
		log_warning("%s", text);
	r->has_lost_failures = true;
	if (rc == -ENOBUFS)
		return;
	target_failures_free(r->failures);
	r->failures = NULL;
}

void recorder_on_target(void *arg, struct trace_target *out)
{
	struct recorder *r = arg;
	const struct rusage *u = &r->end.usage;

	if (r->attached) {
		attached_describe(r->attached, out);
		take_used(r, out);
		take_memory(r, out);
		return;
	}
	r->goes_on = !target_command_has_ended(r->command);
	*out = (struct trace_target){.flags = TRACE_TARGET_IS_COMMAND,
				     .pid = (uint32_t)target_command_pid(r->command)};
	target_command_text(r->command, out->text, sizeof(out->text));
	if (r->goes_on)
		take_used(r, out);
	take_memory(r, out);
	if (r->goes_on)
		return;
	target_command_wait(r->command, &r->end);
	r->wait_status = r->wait_status ? r->wait_status : r->end.status;
	out->flags |= TRACE_TARGET_HAS_ENDED |
		      (r->end.is_peak_limit ? TRACE_TARGET_PROCESS_PEAK_IS_LIMIT : 0);
	out->status = (uint32_t)r->end.status;
	out->start_ns = r->end.start_ns;
	out->end_ns = r->end.end_ns;
	out->user_ns = to_ns(&u->ru_utime);
	out->system_ns = to_ns(&u->ru_stime);
	out->peak_bytes = (uint64_t)u->ru_maxrss << 10;
	out->minor_faults = (uint64_t)u->ru_minflt;
	out->major_faults = (uint64_t)u->ru_majflt;
	out->read_blocks = (uint64_t)u->ru_inblock;
	out->written_blocks = (uint64_t)u->ru_oublock;
	out->voluntary_switches = (uint64_t)u->ru_nvcsw;
	out->involuntary_switches = (uint64_t)u->ru_nivcsw;
}

size_t recorder_on_memory(void *arg, const struct mapping_map **out)
{
	struct recorder *r = arg;

	if (!r->map)
		return 0;
	if (r->memory) { /* the target goes on */
		memory_map_end_pause(r->map);
		target_memory_pass(r->memory);
	}
	return memory_map_take(r->map, out);
}

int recorder_exec_status(int rc)
{
	return EXIT_COMMAND + (rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* How a command ended that was measured only in part. */
static void print_later_end(const struct target_end *end)
{
	bool is_killed = WIFSIGNALED(end->status);

	dprintf(STDERR_FILENO,
		"The command went on unmeasured: %s %d after %.3f s, of which %.3f s user, %.3f s "
		"system\n",
		is_killed ? "killed by signal" : "exit status",
		is_killed ? WTERMSIG(end->status) : WEXITSTATUS(end->status),
		(double)(end->end_ns - end->start_ns) / 1e9,
		(double)to_ns(&end->usage.ru_utime) / 1e9,
		(double)to_ns(&end->usage.ru_stime) / 1e9);
}

/* A full disk ends the session, which has what was measured until then. */
static bool is_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

int recorder_finish_command(struct recorder *r, int rc, struct err *e)
{
	int status;

	if (!target_command_is_started(r->command)) {
		log_err(LOG_ERROR, e);
		return r->exec_error ? recorder_exec_status(r->exec_error) : EXIT_FAILED;
	}
	target_command_wait(r->command, &r->end);
	if (is_full(rc)) {
		log_err(LOG_ERROR, e);
		rc = 0;
	}
	if (rc == 0)
		recorder_answer(r);
	if (rc == 0 && r->goes_on)
		print_later_end(&r->end);
	recorder_warn_never_counted(r);
	if (rc) {
		log_err(LOG_ERROR, e);
		return EXIT_FAILED;
	}
	status = r->wait_status ? r->wait_status : r->end.status;
	return EXIT_COMMAND +
	       (WIFSIGNALED(status) ? EXIT_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status));
}
