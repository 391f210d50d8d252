/*
 * Threads are stopped one by one, by PTRACE_SEIZE and an interruption, until a look at all of them
 * finds none that is new: what is stopped makes none.
 */
#include "attach/still.h"

#include "attach/thread.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/thread.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NS = 2000000000, PAUSE_NS = 1000000, CHILD_OF_VFORK = 1 << 14 /* CLONE_VFORK */ };

struct still {
	pid_t *pid; /* owned: processes with that memory */
	size_t nr_pids, pid_room;
	struct attach_thread *thread; /* owned; those without a state are in the kernel */
	size_t nr, room;
	uint64_t start_ns;
};

/* --- one thread */

static bool is_in_vfork(pid_t tid)
{
	struct proc_call c;

	if (proc_call_load(PROC(&root_live, (uint32_t)tid), &c) || c.is_running)
		return false;
#ifdef SYS_vfork
	if (c.number == SYS_vfork)
		return true;
#endif
	/* the flags of clone3 are in the memory that its argument points to */
	return c.number == SYS_clone3 || (c.number == SYS_clone && c.argument[0] & CHILD_OF_VFORK);
}

/* Of us: its next step would be a stop. */
struct seen {
	char state;
	bool is_ours;
};

static struct seen look_at(pid_t tid)
{
	uint64_t state = 0, tracer = 0;
	struct proc_key keys[] = {{"State", &state, .kind = PROC_LETTER}, {"TracerPid", &tracer}};

	if (proc_keys_load(PROC(&root_live, (uint32_t)tid), "status", keys, ARRAY_NR(keys)))
		return (struct seen){'X', false};
	return (struct seen){(char)state,
			     tracer == (uint64_t)getpid() || tracer == (uint64_t)gettid()};
}

/* 1: it executes nothing any more; 0: it is still to be stopped; -errno. */
static int halt(pid_t tid, struct attach_thread *out)
{
	int rc = attach_thread_halt(out, tid);
	struct seen seen;

	if (rc == 0)
		return 1;
	seen = look_at(tid);
	if (seen.state == 'Z' || seen.state == 'X')
		return 1;
	if (rc == -EAGAIN && seen.state == 'D' && seen.is_ours)
		return 1;
	return rc == -EAGAIN || rc == -ESRCH ? 0 : rc;
}

/* --- all of them */

static bool is_late(const struct still *s)
{
	return clock_monotonic_ns() - s->start_ns > MAX_NS;
}

static int add_thread(uint32_t tid, void *arg)
{
	const struct timespec pause = {0, PAUSE_NS};
	struct still *s = arg;
	struct attach_thread t, *to;
	int rc;

	if (ARRAY_ANY(x, s->thread, s->nr, x->tid == (pid_t)tid))
		return 0;
	if (is_late(s)) /* threads that need no stop are waited for, too */
		return -EAGAIN;
	while ((rc = halt((pid_t)tid, &t)) == 0 && !is_late(s))
		nanosleep(&pause, NULL);
	if (rc <= 0)
		return rc ?: -EAGAIN;
	to = MEM_ADD(s->thread, s->nr, s->room);
	if (!to) {
		attach_thread_release(&t);
		return -ENOMEM;
	}
	*to = t;
	return 0;
}

static int add_process(struct still *s, pid_t pid)
{
	pid_t *to = MEM_ADD(s->pid, s->nr_pids, s->pid_room);

	if (!to)
		return -ENOMEM;
	*to = pid;
	return 0;
}

struct parent {
	struct still *s;
	bool is_in_vfork;
};

/* Where the kernel does not compare memories any child of a thread within vfork may be meant: to
 * be stopped harms none. */
static int look_at_child(uint32_t pid, void *arg)
{
	const struct parent *p = arg;
	struct still *s = p->s;
	long rc = syscall(SYS_kcmp, s->pid[0], pid, KCMP_VM, 0, 0);

	if (rc > 0 || (rc < 0 && (!p->is_in_vfork || errno == ESRCH)) ||
	    ARRAY_ANY(x, s->pid, s->nr_pids, *x == (pid_t)pid))
		return 0;
	return add_process(s, (pid_t)pid);
}

/* -EAGAIN: the kernel does not list what the thread has made. */
static int look_at_children(struct still *s, const struct attach_thread *t)
{
	struct parent p = {s, !t->state && is_in_vfork(t->tid)};
	int rc = proc_each_child(PROC(&root_live, (uint32_t)t->tid, (uint32_t)t->tid),
				 look_at_child, &p);

	return rc != -ENOENT ? rc : p.is_in_vfork ? -EAGAIN : 0;
}

static int halt_all(struct still *s)
{
	size_t nr;
	int rc = 0;

	do {
		nr = s->nr + s->nr_pids;
		for (size_t i = 0; i < s->nr_pids && rc == 0; i++) {
			rc = proc_each_thread(PROC(&root_live, (uint32_t)s->pid[i]), add_thread, s);
			if (i && (rc == -ENOENT || rc == -ESRCH)) /* a child may have ended */
				rc = 0;
		}
		for (size_t i = 0; i < s->nr && rc == 0; i++)
			rc = look_at_children(s, &s->thread[i]);
	} while (rc == 0 && s->nr + s->nr_pids != nr);
	return rc;
}

/* --- the whole */

/* What has made it by vfork has its memory, and threads. */
static pid_t find_first(pid_t pid)
{
	uint64_t parent;

	while (proc_status_number(PROC(&root_live, (uint32_t)pid), "PPid", &parent) && parent &&
	       syscall(SYS_kcmp, pid, (pid_t)parent, KCMP_VM, 0, 0) == 0)
		pid = (pid_t)parent;
	return pid;
}

struct job {
	pid_t pid;
	void (*fn)(void *arg);
	void *arg;
	int rc;
};

static void *run(void *arg)
{
	struct job *j = arg;
	struct still s = {.start_ns = clock_monotonic_ns()};

	j->rc = add_process(&s, find_first(j->pid)) ?: halt_all(&s);
	if (j->rc == -ENOENT || (j->rc == 0 && !s.nr))
		j->rc = -ESRCH;
	if (j->rc == 0)
		j->fn(j->arg);
	for (size_t i = 0; i < s.nr; i++)
		attach_thread_release(&s.thread[i]);
	mem_free(s.thread);
	mem_free(s.pid);
	return NULL;
}

int attach_while_still_here(pid_t pid, void (*fn)(void *arg), void *arg)
{
	struct job j = {.pid = pid, .fn = fn, .arg = arg};

	(void)run(&j);
	return j.rc;
}

int attach_while_still(pid_t pid, void (*fn)(void *arg), void *arg)
{
	struct job j = {.pid = pid, .fn = fn, .arg = arg};
	pthread_t thread;
	int rc = thread_start_blocked(&thread, run, &j);

	if (rc)
		return rc;
	pthread_join(thread, NULL);
	return j.rc;
}
