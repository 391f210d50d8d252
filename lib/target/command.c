/*
 * A command: a child that waits on a pipe before it calls exec, and writes to another one if exec
 * fails. Both are closed by exec. For several runs, that child makes a further child of this
 * process for each, which inherits what it inherited.
 */
#include "target/command.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/thread.h"
#include "target/command_child.h"
#include "target/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT_BYTES = 4 << 20 };

struct target_command {
	pid_t pid;         /* 0: reaped */
	pid_t maker;       /* of the processes of runs; 0: there is one run */
	int go_fd;         /* for orders; the end of file ends it */
	int result_fd;     /* see target_become; at the end of file exec has succeeded */
	char *const *argv; /* borrowed */
	const char *name;  /* argv[0] */
	bool is_started, has_waiter;
	pthread_t waiter;
	void (*on_end)(void *arg);
	void *arg;
	struct target_end end;
	struct rusage own;              /* of the process before exec */
	struct target_orphans *orphans; /* NULL: they are not waited for */
	struct rusage orphans_usage;
	atomic_bool is_released; /* from here on signals are the command's */
	atomic_bool has_ended;
};

static int make(const char *name, char *const *argv, struct target_command **out, struct err *e)
{
	struct target_command *c = mem_zalloc(sizeof(*c));
	int go[2] = {-1, -1}, result[2] = {-1, -1};

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->argv = argv;
	c->name = name;
	if (pipe2(go, O_CLOEXEC) || pipe2(result, O_CLOEXEC))
		goto no_process;
	c->pid = fork();
	if (c->pid < 0)
		goto no_process;
	if (c->pid == 0) {
		privilege_drop();
		close(go[1]); /* else it would never read the end of file */
		target_become(go[0], result[1], argv);
	}
	close(go[0]);
	close(result[1]);
	c->go_fd = go[1];
	c->result_fd = result[0];
	*out = c;
	return 0;
no_process:
	err_set_at(e, -errno, name, 0, 0, "no process can be made for it: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (result[i] >= 0)
			close(result[i]);
	}
	mem_free(c);
	return e->code;
}

int target_command_new(char *const *argv, struct target_command **out, struct err *e)
{
	return make(argv[0], argv, out, e);
}

int target_command_new_later(const char *name, struct target_command **out, struct err *e)
{
	return make(name, NULL, out, e);
}

static int write_all(int fd, const void *from, size_t len)
{
	for (const char *at = from; len;) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int target_command_set(struct target_command *c, char *const *argv, struct err *e)
{
	const char order = TARGET_ARGV;
	size_t len = 0;
	int rc;

	c->argv = argv;
	c->name = argv[0];
	for (char *const *arg = argv; *arg; arg++)
		len += strlen(*arg) + 1;
	rc = write_all(c->go_fd, &order, 1) ?: write_all(c->go_fd, &len, sizeof(len));
	for (; *argv && rc == 0; argv++)
		rc = write_all(c->go_fd, *argv, strlen(*argv) + 1);
	return rc ? err_set_at(e, rc, c->name, 0, 0, "cannot be started: %s", strerror(-rc)) : 0;
}

int target_command_set_variable(struct target_command *c, const char *name, const char *value,
				struct err *e)
{
	const char order = TARGET_VARIABLE;
	size_t len = strlen(name) + 1 + strlen(value);
	int rc = write_all(c->go_fd, &order, 1)
		     ?: write_all(c->go_fd, &len, sizeof(len))
		     ?: write_all(c->go_fd, name, strlen(name))
		     ?: write_all(c->go_fd, "=", 1)
		     ?: write_all(c->go_fd, value, strlen(value));

	return rc ? err_set_at(e, rc, c->name, 0, 0, "cannot be started: %s", strerror(-rc)) : 0;
}

static void reap(pid_t pid, struct target_end *end)
{
	while (wait4(pid, &end->status, 0, &end->usage) < 0 && errno == EINTR)
		;
}

static int order(const struct target_command *c, char what)
{
	return write(c->go_fd, &what, 1) == 1 ? 0 : -errno;
}

/* The end of file reads as 0. */
static int result(const struct target_command *c)
{
	int value = 0;

	return target_read(c->result_fd, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value
											  : 0;
}

int target_command_next(struct target_command *c, struct err *e)
{
	int rc = order(c, TARGET_FORK), pid = rc ? rc : result(c);

	if (pid <= 0)
		return err_set_at(e, pid ? pid : -ECHILD, c->name, 0, 0,
				  "no process can be made for it: %s",
				  strerror(pid ? -pid : ECHILD));
	c->maker = c->maker ? c->maker : c->pid;
	c->pid = pid;
	c->is_started = false;
	c->end = (struct target_end){0};
	c->orphans_usage = (struct rusage){0};
	atomic_store(&c->is_released, false);
	atomic_store(&c->has_ended, false);
	return 0;
}

/* That a tracer stops it, as a search of its heap does, is told as an end is. */
static void wait_for_exit(pid_t pid)
{
	const struct timespec pause = {0, 1000000};

	for (;;) {
		siginfo_t info = {.si_code = CLD_EXITED};

		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0 ? target_is_end(&info)
									    : errno != EINTR)
			return;
		nanosleep(&pause, NULL);
	}
}

/* Does not reap: until target_command_wait does, its pid means this process and no other. */
static void *wait_for_end(void *arg)
{
	struct target_command *c = arg;

	if (c->orphans)
		c->end.end_ns =
		    target_orphans_wait(c->orphans, c->pid, c->maker, &c->orphans_usage);
	wait_for_exit(c->pid);
	if (!c->orphans)
		c->end.end_ns = clock_monotonic_ns();
	atomic_store(&c->has_ended, true);
	c->on_end(c->arg);
	return NULL;
}

/* Signals are for the other threads. */
static int start_waiter(struct target_command *c)
{
	int rc = thread_start_blocked(&c->waiter, wait_for_end, c);

	c->has_waiter = rc == 0;
	return rc;
}

static int explain_exec(const struct target_command *c, int error, struct err *e)
{
	struct stat st;

	if (error == EACCES && stat(c->name, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set_at(e, -error, c->name, 0, 0, "cannot be executed: it is a folder");
		err_hint(e, "name the program itself, and its arguments after it");
		return -error;
	}
	err_set_at(e, -error, c->name, 0, 0, "cannot be executed: %s", strerror(error));
	if (error == ENOENT && !strchr(c->name, '/'))
		err_hint(e, "there is no program of that name in the folders of PATH");
	return -error;
}

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -EACCES;
	return 0;
}

/* In the folders of PATH: one that may be executed, else whether there is one. */
static int search_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	int rc = -ENOENT;

	if (!*name)
		return rc;
	if (!path)
		path = "/bin:/usr/bin"; /* confstr(_CS_PATH), as execvp */
	for (;; path++) {
		size_t len = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)len, path, len ? "/" : "", name) <
		    (int)sizeof(file)) {
			int one = check_executable(file);

			if (one == 0)
				return 0;
			if (one == -EACCES)
				rc = one;
		}
		path += len;
		if (!*path)
			return rc;
	}
}

int target_command_find(const char *name)
{
	return strchr(name, '/') ? check_executable(name) : search_path(name);
}

int target_command_check(const struct target_command *c, struct err *e)
{
	int rc = target_command_find(c->name);

	return rc ? explain_exec(c, -rc, e) : 0;
}

/* Whether exec failed, and why. A signal may end the process before: then no usage comes, but the
 * end of file or, of a run, the maker's word, that it is gone. */
static int started(struct target_command *c)
{
	if (target_read(c->result_fd, &c->own, sizeof(c->own)) == sizeof(c->own))
		return result(c);
	c->own = (struct rusage){0};
	return 0;
}

int target_command_start(struct target_command *c, void (*on_end)(void *arg), void *arg,
			 struct err *e)
{
	int error, rc;

	c->on_end = on_end;
	c->arg = arg;
	c->end.start_ns = clock_monotonic_ns();
	atomic_store(&c->is_released, true);
	rc = order(c, TARGET_EXEC);
	if (rc)
		return err_set_at(e, rc, c->name, 0, 0, "cannot be started: %s", strerror(-rc));
	error = started(c);
	if (error) {
		reap(c->pid, &c->end);
		if (c->maker)
			(void)result(c); /* its word that the process is gone */
		c->pid = 0;
		return explain_exec(c, error, e);
	}
	c->is_started = true;
	rc = start_waiter(c);
	return rc ? err_set(e, rc, "no thread can wait for %s: %s", c->name, strerror(-rc)) : 0;
}

int target_command_wait_children(struct target_command *c, struct err *e)
{
	return target_orphans_new(&c->orphans, e);
}

void target_command_leave_children(struct target_command *c)
{
	if (c->orphans)
		target_orphans_stop(c->orphans);
}

pid_t target_command_pid(const struct target_command *c)
{
	return c->pid;
}

bool target_command_signal(struct target_command *c, int number)
{
	return atomic_load(&c->is_released) && c->pid && !atomic_load(&c->has_ended) &&
	       kill(c->pid, number) == 0;
}

bool target_command_is_started(const struct target_command *c)
{
	return c->is_started;
}

bool target_command_has_ended(const struct target_command *c)
{
	return atomic_load(&c->has_ended);
}

void target_command_quote(char *const *argv, char *buf, size_t size)
{
	BUF_AUTO(text, MAX_TEXT_BYTES);

	for (char *const *arg = argv; *arg; arg++) {
		if (arg > argv)
			buf_addc(&text, ' ');
		buf_shell_word(&text, *arg);
	}
	snprintf(buf, size, "%s", buf_error(&text) ? argv[0] : buf_str(&text));
}

void target_command_text(const struct target_command *c, char *buf, size_t size)
{
	target_command_quote(c->argv, buf, size);
}

/*
 * How far the peak at exec may be from what the process reported just before: execvp touches pages,
 * and Linux (from 6.2) counts resident pages of each of three types by CPU in batches of 32, or two
 * for each CPU of the machine, of which the last may not be added up yet. The process may have run
 * on two CPUs.
 */
static long slack_kib(void)
{
	enum { EXEC_KIB = 256, BATCHES = 3 * 2, MIN_BATCH = 32 };
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), page_kib = sysconf(_SC_PAGESIZE) >> 10;

	return EXEC_KIB + BATCHES * page_kib * (nr_cpus * 2 > MIN_BATCH ? nr_cpus * 2 : MIN_BATCH);
}

void target_command_subtract_own(const struct target_command *c, struct rusage *usage)
{
	target_usage_subtract(usage, &c->own);
}

void target_command_wait(struct target_command *c, struct target_end *end)
{
	if (c->has_waiter)
		pthread_join(c->waiter, NULL);
	c->has_waiter = false;
	if (c->pid && c->is_started) {
		reap(c->pid, &c->end);
		target_usage_add(&c->end.usage, &c->orphans_usage);
		c->end.is_peak_limit = c->end.usage.ru_maxrss <= c->own.ru_maxrss + slack_kib();
		target_command_subtract_own(c, &c->end.usage);
	}
	c->pid = 0;
	*end = c->end;
}

void target_command_free(struct target_command *c)
{
	if (!c)
		return;
	close(c->go_fd);
	close(c->result_fd);
	if (c->pid && !c->is_started)
		reap(c->pid, &c->end);
	if (c->maker)
		reap(c->maker, &c->end);
	target_orphans_free(c->orphans);
	mem_free(c);
}
