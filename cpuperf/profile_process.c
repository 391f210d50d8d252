/*
 * The second session samples the clock, which takes no counter from the first. All is driven by the
 * thread that draws: measuring does nothing for it, and no file of the first session is touched.
 */
#include "profile_process.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/root.h"
#include "proc/proc.h"
#include "program.h"
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	STOP_MS = 1000,
	MAX_VARIABLES = 4096,
	LOG_BYTES = 4 << 10,
	TRIES = 100,
	NAME_BYTES = 64, /* of comm: of a kernel thread more than 16 */
};

/* --- processes ---------------------------------------------------------------------------------
 */

/* What a process is made of, complete before the fork: other threads may hold locks of libc. */
struct program {
	const char *path;
	char **argv, **environment;
	int input, output, errors; /* its standard descriptors */
	bool has_no_rights;
};

/* The user's, without options of cpuperf: they are of the first session. The second one is nowhere
 * remembered as the last. NULL without memory. */
static char **make_environment(char *inner)
{
	static char state[] = "XDG_STATE_HOME=/dev/null";

	char **from = rights_environment(), **to = mem_calloc(MAX_VARIABLES + 1, sizeof(*to));
	size_t nr = 0;

	for (size_t i = 0; to && from && from[i] && nr < MAX_VARIABLES - 2; i++)
		if (strncmp(from[i], "CPUPERF_", 8) != 0 &&
		    strncmp(from[i], "XDG_STATE_HOME=", 15) != 0)
			to[nr++] = from[i];
	if (to) {
		to[nr++] = state;
		to[nr] = inner;
	}
	return to;
}

static _Noreturn void become(const struct program *p, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || dup2(p->input, STDIN_FILENO) < 0 ||
	    dup2(p->output, STDOUT_FILENO) < 0 || dup2(p->errors, STDERR_FILENO) < 0)
		_exit(EXIT_FAILED);
	if (p->has_no_rights)
		privilege_drop();
	execve(p->path, p->argv, p->environment);
	_exit(EXIT_NOT_FOUND);
}

static int start(struct profile_process *p, const struct program *program, struct err *e)
{
	const pid_t self = getpid();
	pid_t pid = fork();

	if (pid == 0)
		become(program, self);
	if (pid < 0)
		return err_set(e, -errno, "no process can be made: %s", strerror(errno));
	p->pid = pid;
	return 0;
}

/* Whether it has ended; then *status is how. */
static bool has_ended(struct profile_process *p, int *status)
{
	if (!p->pid)
		return false;
	if (waitpid(p->pid, status, WNOHANG) == 0)
		return false;
	p->pid = 0;
	return true;
}

static void end_process(struct profile_process *p)
{
	int status;

	if (!p->pid)
		return;
	(void)kill(p->pid, SIGTERM);
	(void)kill(p->pid, SIGCONT); /* it may be stopped */
	for (int i = 0; i < TRIES && !has_ended(p, &status); i++)
		(void)poll(NULL, 0, STOP_MS / TRIES);
	if (!p->pid)
		return;
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, &status, 0);
	p->pid = 0;
}

/* --- recording ---------------------------------------------------------------------------------
 */

static int start_recorder(struct profile_process *p, uint32_t pid, struct err *e)
{
	char of[24], seconds[32], folder[PATH_MAX + 24];
	char event[] = "--event=software:cpu_clock", frequency[] = "--frequency=997";
	char callgraph[] = "--callgraph=hybrid", duration[] = "--duration=1", live[] = "--no-live";
	char quiet[] = "--quiet=2", name[] = "cpuperf";
	char *argv[] = {name,    of,     event, frequency, callgraph, duration,
			seconds, folder, live,  quiet,     NULL};
	struct program program = {.path = "/proc/self/exe", .argv = argv};
	int rc = -ENOMEM;

	snprintf(of, sizeof(of), "--pid=%" PRIu32, pid);
	snprintf(seconds, sizeof(seconds), "--num-iterations=%d", PROFILE_PROCESS_S);
	snprintf(folder, sizeof(folder), "--output=%s", p->held.path);
	program.environment = make_environment(p->inner);
	program.input = program.output = open("/dev/null", O_RDWR | O_CLOEXEC);
	program.errors = fcntl(p->log_fd, F_DUPFD_CLOEXEC, 3);
	if (program.environment && program.input >= 0 && program.errors >= 0)
		rc = start(p, &program, e);
	else
		err_set(e, rc, "no profile: %s", strerror(errno));
	io_close(&program.input);
	io_close(&program.errors);
	mem_free((void *)program.environment);
	return rc;
}

/* "CPUPERF_INNER=python3 (17)": what the screen calls it. */
static void name_process(struct profile_process *p, uint32_t pid)
{
	char name[NAME_BYTES] = "process";

	(void)proc_load_line(PROC(&root_live, pid), "comm", name, sizeof(name));
	snprintf(p->inner, sizeof(p->inner), "CPUPERF_INNER=%.*s (%" PRIu32 ")",
		 (int)strcspn(name, "\n"), name, pid);
}

int profile_process_start(void *arg, uint32_t pid, struct err *e)
{
	struct profile_process *p = arg;
	char printer[PATH_MAX];
	int rc = require_printer("", printer, e) ?: held_open(&p->held, e);

	if (rc)
		return rc;
	name_process(p, pid);
	p->is_shown = false;
	p->begun_ns = clock_monotonic_ns();
	p->log_fd = memfd_create("cpuperf-profile", MFD_CLOEXEC);
	if (p->log_fd < 0)
		rc = err_set(e, -errno, "no profile: %s", strerror(errno));
	rc = rc ?: start_recorder(p, pid, e);
	if (rc)
		profile_process_stop(p);
	return rc;
}

/* The recorder's first error, without its program's name. */
static void read_error(const struct profile_process *p, struct err *e)
{
	static const char mark[] = "error: ";
	char text[LOG_BYTES] = "";
	ssize_t len = pread(p->log_fd, text, sizeof(text) - 1, 0);
	const char *at;

	text[len > 0 ? len : 0] = '\0';
	at = strstr(text, mark);
	at = at ? at + strlen(mark) : "the recorder ended";
	err_set(e, -EPERM, "no profile: %.*s", (int)strcspn(at, "\n"), at);
}

/* --- showing -----------------------------------------------------------------------------------
 */

static int start_printer(struct profile_process *p, struct err *e)
{
	char printer[PATH_MAX], session[PATH_MAX + 32];
	char live[] = "--live", quiet[] = "--quiet=2", name[] = "cpuperf_print";
	char *argv[] = {name, session, live, quiet, NULL};
	struct program program = {.path = printer,
				  .argv = argv,
				  .input = p->terminal.fd,
				  .output = p->terminal.fd,
				  .has_no_rights = true};
	int rc = find_printer(printer);

	if (rc)
		return err_set(e, rc, "cpuperf_print is not found: %s", strerror(-rc));
	snprintf(session, sizeof(session), "%s", p->held.path);
	program.environment = make_environment(p->inner);
	program.errors = open("/dev/null", O_WRONLY | O_CLOEXEC);
	rc = -ENOMEM;
	if (program.environment && program.errors >= 0)
		rc = start(p, &program, e);
	else
		err_set(e, rc, "the profile cannot be shown: %s", strerror(errno));
	io_close(&program.errors);
	mem_free((void *)program.environment);
	return rc;
}

int profile_process_show(void *arg, struct err *e)
{
	struct profile_process *p = arg;
	int rc;

	terminal_lend(p->terminal.fd, &p->terminal);
	rc = start_printer(p, e);
	p->is_shown = rc == 0;
	return rc;
}

/* --- both --------------------------------------------------------------------------------------
 */

static enum dashboard_profile end_recording(const struct profile_process *p, int status,
					    struct err *e)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE)
		return DASHBOARD_PROFILE_READY;
	read_error(p, e);
	return DASHBOARD_PROFILE_ENDED;
}

static enum dashboard_profile end_showing(const struct profile_process *p, int status,
					  struct err *e)
{
	if (WIFSIGNALED(status)) {
		terminal_take_back(&p->terminal);
		err_set(e, -EIO, "the screen of the profile ended by signal %d", WTERMSIG(status));
	} else if (WEXITSTATUS(status) != EXIT_DONE) {
		err_set(e, -EIO, "the profile cannot be shown: it has no samples");
	}
	return DASHBOARD_PROFILE_ENDED;
}

enum dashboard_profile profile_process_step(void *arg, unsigned *left_s, struct err *e)
{
	struct profile_process *p = arg;
	uint64_t passed_s = (clock_monotonic_ns() - p->begun_ns) / NS_PER_S;
	int status = 0;

	*left_s = passed_s < PROFILE_PROCESS_S ? PROFILE_PROCESS_S - (unsigned)passed_s : 0;
	if (!has_ended(p, &status))
		return p->is_shown ? DASHBOARD_PROFILE_SHOWN : DASHBOARD_PROFILE_RECORDING;
	return p->is_shown ? end_showing(p, status, e) : end_recording(p, status, e);
}

void profile_process_stop(void *arg)
{
	struct profile_process *p = arg;
	const bool was_shown = p->is_shown && p->pid;

	end_process(p);
	if (was_shown)
		terminal_take_back(&p->terminal);
	p->is_shown = false;
	io_close(&p->log_fd);
	held_close(&p->held);
}
