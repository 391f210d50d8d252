/*
 * Signals: end the session or its iteration, or are forwarded to its command.
 */
#include "signals.h"

#include "base/array.h"
#include "dashboard/terminal.h"
#include "session/session.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

static struct session *running;          /* used by the signal handler */
static struct target_command *commanded; /* the same; NULL: no command is measured */
static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t stopping; /* the signal after which no further run starts; 0: none */
static volatile sig_atomic_t early;    /* to be forwarded when the command is started; 0: none */
static bool lasts_until_stopped;       /* then a signal does not cut the iteration short */
static volatile sig_atomic_t is_out_of_time; /* SIGXCPU was received */
static volatile sig_atomic_t is_hung_up;
static bool had_terminal, stores_hangup; /* see signals_catch */
static const int caught[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU};
static const int requests[] = {SIGUSR1, SIGUSR2};

/* A closing terminal makes both the kernel and the shell send SIGHUP, and SIGXCPU comes every
 * second: a repeated one is no request to quit. The parent may want both ignored (nohup). */
static bool is_automatic(int number)
{
	return number == SIGHUP || number == SIGXCPU;
}

/* The terminal sends its signals to the command too. */
static bool is_forwarded(int number)
{
	return number == SIGTERM || number == SIGHUP;
}

/* The first signal ends the session; a second of the same kind kills, unless it is automatic. */
static void on_signal(int number)
{
	static volatile sig_atomic_t last;
	int saved = errno;

	if (commanded) {
		if (is_forwarded(number) && !target_command_signal(commanded, number))
			early = number;
		errno = saved;
		stopping = number;
		target_command_leave_children(commanded);
		if (number != SIGXCPU)
			return;
	}
	if (number == last && !is_automatic(number)) {
		terminal_restore();
		signal(number, SIG_DFL);
		raise(number); /* takes effect when this handler returns */
	}
	last = number;
	is_interrupted = 1;
	is_out_of_time |= number == SIGXCPU;
	if (lasts_until_stopped)
		session_finish(running);
	else
		session_stop(running);
	errno = saved;
}

/* Ends the iteration; SIGUSR2 also writes all that is held. */
static void on_request(int number)
{
	int saved = errno;

	session_request(running, CAUSE_REQUEST, number == SIGUSR2);
	errno = saved;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* When a terminal closes, its processes get SIGHUP when they have it no more. */
static void on_hangup(int number)
{
	int saved = errno;

	if (running && had_terminal && !has_terminal())
		on_signal(number);
	else
		is_hung_up = 1;
	errno = saved;
}

static void on_early(int number)
{
	(void)number;
}

void signals_ignore_early(void)
{
	struct sigaction action = {.sa_handler = on_early, .sa_flags = SA_RESTART}, old;

	for (size_t i = 0; i < ARRAY_NR(requests); i++)
		if (sigaction(requests[i], &action, &old) == 0 && old.sa_handler == SIG_IGN)
			sigaction(requests[i], &old, NULL);
}

/* Automatic signals that are ignored stay ignored. SIGINT and SIGQUIT do not: a script's background
 * job starts with both ignored. */
void signals_catch(struct session *s, struct target_command *command, bool is_until_stopped,
		   bool is_hangup_stored)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	struct rlimit limit;

	had_terminal = stores_hangup ? had_terminal : has_terminal();
	stores_hangup = is_hangup_stored;

	running = s;
	commanded = command;
	lasts_until_stopped = is_until_stopped;
	for (size_t i = 0; i < ARRAY_NR(caught); i++) {
		bool is_stored = caught[i] == SIGHUP && stores_hangup;

		action.sa_handler = is_stored ? on_hangup : on_signal;
		if (sigaction(caught[i], &action, &old) == 0 && is_automatic(caught[i]) &&
		    old.sa_handler == SIG_IGN)
			sigaction(caught[i], &old, NULL);
	}
	action.sa_handler = on_request;
	for (size_t i = 0; i < ARRAY_NR(requests); i++)
		(void)sigaction(requests[i], &action, NULL);

	/* At the hard limit, which ulimit -t sets too, the kernel kills without a SIGXCPU: reserve
	 * a second to end the session. */
	if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur == limit.rlim_max &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > 1) {
		limit.rlim_cur--;
		(void)setrlimit(RLIMIT_CPU, &limit);
	}
}

bool signals_take_hangup(void)
{
	bool was = is_hung_up;

	is_hung_up = 0;
	return was;
}

void signals_release(void)
{
	for (size_t i = 0; i < ARRAY_NR(caught); i++)
		if (caught[i] != SIGHUP || !stores_hangup)
			signal(caught[i], SIG_DFL);
	for (size_t i = 0; i < ARRAY_NR(requests); i++)
		signal(requests[i], SIG_IGN);
	running = NULL;
	commanded = NULL;
}

bool signals_have_interrupted(void)
{
	return is_interrupted;
}

bool signals_have_stopped_runs(void)
{
	return stopping;
}

bool signals_are_out_of_time(void)
{
	return is_out_of_time;
}

void signals_forward_early(struct target_command *command)
{
	if (early)
		(void)target_command_signal(command, early);
}
