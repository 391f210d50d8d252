/*
 * clone(2) without a signal to the parent. When the parent's end of a second socket closes, the
 * kernel sends SIGIO, which ends the child. (PR_SET_PDEATHSIG would act when the thread that
 * started the child exits.)
 */
#include "base/child.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_LEFT = 64,
	NS_PER_MS = 1000000,
	CLOSE_RANGE = 436, /* close_range(2) of Linux 5.9; older headers do not have it */
};

static int kernel_socketpair(int type, int fds[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) ? -errno : 0;
}

/* QEMU's user mode refuses clone without a signal. */
static pid_t kernel_fork(void)
{
	long pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);

	if (pid < 0 && errno == EINVAL)
		pid = fork();
	return pid < 0 ? -errno : (pid_t)pid;
}

const struct child_ops child_kernel_ops = {.socketpair = kernel_socketpair, .fork = kernel_fork};

static const struct child_ops *ops = &child_kernel_ops;

void child_set_ops(const struct child_ops *o)
{
	ops = o ? o : &child_kernel_ops;
}

/* --- in the child ---------------------------------------------------------------------------- */

/* A heap without locks: each allocation is a mapping that begins with its size. */
enum { HEAD_BYTES = 16 };

static void *heap_alloc(size_t size)
{
	size_t *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size += HEAD_BYTES;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	*p = size;
	return (char *)p + HEAD_BYTES;
}

static void heap_release(void *data)
{
	size_t *p = data ? (size_t *)((char *)data - HEAD_BYTES) : NULL;

	if (p)
		munmap(p, *p);
}

/* Memory from before the fork belongs to libc's heap, and is never freed. */
static void *heap_resize(void *data, size_t size)
{
	size_t *p = data ? (size_t *)((char *)data - HEAD_BYTES) : NULL;

	if (!p || size > SIZE_MAX / 2)
		return p ? NULL : heap_alloc(size);
	p = mremap(p, *p, size + HEAD_BYTES, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return NULL;
	*p = size + HEAD_BYTES;
	return (char *)p + HEAD_BYTES;
}

/* Signals of the terminal are for the parent, which kills the child when it is no longer needed. */
static void reset_signals(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
}

static void close_range_of(unsigned first, unsigned last)
{
	if (first <= last && syscall(CLOSE_RANGE, first, last, 0u))
		for (unsigned fd = first; fd <= last && fd < 1 << 16; fd++)
			close((int)fd);
}

static _Noreturn void be_child(int fd, int alive, const char *name, child_fn *run, const void *arg)
{
	static const struct mem_ops heap = {heap_alloc, heap_resize, heap_release};
	unsigned low = (unsigned)(fd < alive ? fd : alive), high = (unsigned)(fd + alive) - low;
	struct pollfd p = {.fd = alive, .events = POLLIN};
	sigset_t none;

	privilege_drop();
	reset_signals();

	/* All other descriptors: whoever reads from a pipe waits until every writer has closed it.
	 */
	if (low)
		close_range_of(0, low - 1);
	close_range_of(low + 1, high - 1);
	close_range_of(high + 1, ~0u);

	/* SIGIO when the parent has exited. */
	fcntl(alive, F_SETOWN, getpid());
	fcntl(alive, F_SETFL, O_ASYNC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (poll(&p, 1, 0)) /* before that */
		_exit(1);
	prctl(PR_SET_NAME, name);
	mem_set_ops(&heap);
	run(fd, arg);
	_exit(0);
}

/* --- in the parent --------------------------------------------------------------------------- */

/* Killed, but not yet reaped. */
static struct {
	pthread_mutex_t lock;
	pid_t pid[MAX_LEFT];
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Until then, no other process has this pid. */
static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG | __WALL) != 0;
}

/* Reaps those that have ended, and adds pid unless it is 0. False: the list is full. */
static bool reap(pid_t pid)
{
	bool has_room = false;

	pthread_mutex_lock(&left.lock);
	for (size_t i = 0; i < MAX_LEFT; i++) {
		if (left.pid[i] && has_ended(left.pid[i]))
			left.pid[i] = 0;
		if (!left.pid[i]) {
			left.pid[i] = pid;
			pid = 0;
			has_room = true;
		}
	}
	pthread_mutex_unlock(&left.lock);
	return has_room;
}

static pid_t start(const int talk[2], const int alive[2], const char *name, child_fn *run,
		   const void *arg)
{
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all); /* handlers of the parent must not run in the child */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = ops->fork();
	if (pid == 0)
		be_child(talk[1], alive[1], name, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

int child_start(struct child *c, int type, const char *name, child_fn *run, const void *arg)
{
	int talk[2], alive[2], rc;
	pid_t pid;

	if (!reap(0))
		return -EAGAIN;
	rc = ops->socketpair(type, talk);
	if (rc)
		return rc;
	rc = ops->socketpair(SOCK_STREAM, alive);
	pid = rc ? rc : start(talk, alive, name, run, arg);
	io_close(&talk[1]);
	if (pid < 0)
		io_close(&talk[0]);
	if (rc)
		return rc;
	io_close(&alive[1]);
	if (pid < 0) {
		io_close(&alive[0]);
		return pid;
	}
	*c = (struct child){.fd = talk[0], .alive = alive[0], .pid = pid};
	return 0;
}

/* It has been killed. The kernel may have no descriptor for it, or a signal may come: then it is
 * asked each ms. */
static bool wait_for_end(pid_t pid, unsigned ms)
{
	const struct timespec one = {.tv_nsec = NS_PER_MS};
	struct pollfd p = {.fd = ms ? sys()->pidfd_open(pid) : -1, .events = POLLIN};
	bool has;

	if (p.fd >= 0 && poll(&p, 1, (int)ms) >= 0)
		ms = 0;
	io_close(&p.fd);
	for (unsigned i = 0; !(has = has_ended(pid)) && i < ms; i++)
		nanosleep(&one, NULL);
	return has;
}

void child_kill(const struct child *c)
{
	if (c->fd >= 0)
		kill(c->pid, SIGKILL); /* it has not been reaped: the pid is its own */
}

void child_end(struct child *c, unsigned ms)
{
	bool has;

	if (c->fd < 0)
		return;
	has = has_ended(c->pid); /* then the pid may be another process's */
	if (!has)
		kill(c->pid, SIGKILL);
	io_close(&c->fd);
	io_close(&c->alive);
	has = has || wait_for_end(c->pid, ms);
	reap(has ? 0 : c->pid);
	*c = CHILD_NONE;
}
