/*
 * Children are listed by /proc/self/task/TID/children. A helper process of ours is no orphan: it
 * sends no signal at its end, so wait4 without __WALL does not see it.
 */
#include "target/orphans.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/sys.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	POLL_MS = 20,  /* on kernels without pidfd_open(2), Linux 5.3 */
	REAP_MS = 100, /* while the command runs */
};

struct target_orphans {
	int stop_fd;   /* an eventfd: readable after target_orphans_stop */
	pid_t *before; /* children that this process had before */
	size_t nr_before;
};

struct children {
	pid_t *pid;
	size_t nr, room;
};

static int add_child(uint32_t pid, void *arg)
{
	struct children *all = arg;
	pid_t *new = MEM_ADD(all->pid, all->nr, all->room);

	if (!new)
		return -ENOMEM;
	*new = (pid_t)pid;
	return 0;
}

static int add_children_of(uint32_t tid, void *arg)
{
	int rc = proc_each_child(PROC_SELF(&root_live, .tid = tid), add_child, arg);

	return rc == -ENOENT ? 0 : rc; /* a thread that has ended */
}

static int list_children(struct children *out)
{
	*out = (struct children){0};
	return proc_each_thread(PROC_SELF(&root_live), add_children_of, out);
}

int target_orphans_new(struct target_orphans **out, struct err *e)
{
	struct target_orphans *o = mem_zalloc(sizeof(*o));
	struct children children = {0};
	int rc;

	if (!o)
		return err_set(e, -ENOMEM, "out of memory");
	o->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->stop_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		rc = -errno;
	else
		rc = access("/proc/thread-self/children", F_OK) ? -ENOTSUP
								: list_children(&children);
	o->before = children.pid;
	o->nr_before = children.nr;
	if (rc) {
		target_orphans_free(o);
		return err_set_at(e, rc, "--wait-children", 0, 0,
				  "children cannot be waited for: %s",
				  rc == -ENOTSUP ? "this kernel does not list them "
						   "(CONFIG_PROC_CHILDREN)"
						 : strerror(-rc));
	}
	*out = o;
	return 0;
}

void target_orphans_free(struct target_orphans *o)
{
	if (!o)
		return;
	if (o->stop_fd >= 0)
		close(o->stop_fd);
	mem_free(o->before);
	mem_free(o);
}

bool target_is_end(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) ||
	       (info.si_pid && target_is_end(&info));
}

/* Reaps the orphans that have ended; returns one that runs, or 0. */
static pid_t reap_orphans(const struct target_orphans *o, pid_t command, pid_t maker,
			  struct rusage *usage)
{
	struct children children;
	struct rusage used;
	pid_t alive = 0, ended;
	int status;

	(void)list_children(&children);
	for (size_t i = 0; i < children.nr; i++) {
		pid_t pid = children.pid[i];

		if (pid == command || pid == maker ||
		    ARRAY_ANY(x, o->before, o->nr_before, *x == pid))
			continue;
		/* a stop is waited for by who traces it, which may be a thread of ours */
		ended = has_ended(pid) ? wait4(pid, &status, WNOHANG, &used) : 0;
		if (ended == pid && !WIFSTOPPED(status))
			target_usage_add(usage, &used);
		else if (ended >= 0)
			alive = pid;
	}
	mem_free(children.pid);
	return alive;
}

/* A list may miss children while others come and go: it counts if nothing runs in two of them. */
static pid_t reap_all(const struct target_orphans *o, pid_t command, pid_t maker,
		      struct rusage *usage)
{
	pid_t alive = reap_orphans(o, command, maker, usage);

	return alive ? alive : reap_orphans(o, command, maker, usage);
}

/* Until the process has ended, or max_ms later; -1: without a limit. True: it has ended, though it
 * cannot be reaped while another process traces it. */
static bool wait_for(int stop_fd, pid_t pid, int max_ms)
{
	struct pollfd fd[] = {{.fd = stop_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};

	fd[1].fd = pid ? sys()->pidfd_open(pid) : -1;
	(void)poll(fd, 2, fd[1].fd < 0 && (max_ms < 0 || max_ms > POLL_MS) ? POLL_MS : max_ms);
	if (fd[1].fd >= 0)
		close(fd[1].fd);
	return fd[1].revents;
}

static bool is_stopped(const struct target_orphans *o)
{
	struct pollfd fd = {.fd = o->stop_fd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

uint64_t target_orphans_wait(struct target_orphans *o, pid_t command, pid_t maker,
			     struct rusage *usage)
{
	pid_t alive, ended = 0; /* ended: and still unreaped */
	bool command_ended;
	uint64_t end_ns;

	do {
		wait_for(-1, command, REAP_MS);
		command_ended = has_ended(command);
		end_ns = clock_monotonic_ns();
		(void)reap_orphans(o, command, maker, usage);
	} while (!command_ended);

	while ((alive = reap_all(o, command, maker, usage)) && !is_stopped(o)) {
		ended = wait_for(o->stop_fd, alive == ended ? 0 : alive, -1) ? alive : 0;
		end_ns = clock_monotonic_ns();
	}
	return end_ns;
}

void target_orphans_stop(struct target_orphans *o)
{
	const uint64_t one = 1;
	ssize_t n = write(o->stop_fd, &one, sizeof(one)); /* fails if it was stopped often */

	(void)n;
}

static void add_time(struct timeval *to, const struct timeval *from)
{
	struct timeval sum;

	timeradd(to, from, &sum);
	*to = sum;
}

void target_usage_add(struct rusage *to, const struct rusage *from)
{
	add_time(&to->ru_utime, &from->ru_utime);
	add_time(&to->ru_stime, &from->ru_stime);
	if (from->ru_maxrss > to->ru_maxrss)
		to->ru_maxrss = from->ru_maxrss;
	to->ru_minflt += from->ru_minflt;
	to->ru_majflt += from->ru_majflt;
	to->ru_inblock += from->ru_inblock;
	to->ru_oublock += from->ru_oublock;
	to->ru_nvcsw += from->ru_nvcsw;
	to->ru_nivcsw += from->ru_nivcsw;
}

static int64_t to_us(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

static struct timeval from_us(int64_t us)
{
	return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

static int64_t at_most(int64_t part, int64_t of)
{
	return part < of ? part : of;
}

/* The parts of user and system time may each be more than there is, but not both together. */
static void subtract_times(struct rusage *from, const struct rusage *part)
{
	int64_t user = to_us(&from->ru_utime), system = to_us(&from->ru_stime);
	int64_t own = to_us(&part->ru_utime), own_system = to_us(&part->ru_stime);
	int64_t of_user = at_most(own, user), rest = own - of_user + own_system;
	int64_t of_system = at_most(rest, system);

	of_user += at_most(rest - of_system, user - of_user);
	from->ru_utime = from_us(user - of_user);
	from->ru_stime = from_us(system - of_system);
}

void target_usage_subtract(struct rusage *from, const struct rusage *part)
{
	const struct {
		long *of, part;
	} counts[] = {{&from->ru_minflt, part->ru_minflt},   {&from->ru_majflt, part->ru_majflt},
		      {&from->ru_inblock, part->ru_inblock}, {&from->ru_oublock, part->ru_oublock},
		      {&from->ru_nvcsw, part->ru_nvcsw},     {&from->ru_nivcsw, part->ru_nivcsw}};

	subtract_times(from, part);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		*counts[i].of -= (long)at_most(counts[i].part, *counts[i].of);
}
