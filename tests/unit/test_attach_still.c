/* A child that is still for a moment: its threads, what it has made by vfork, and its waits. */
#include "kit.h"

#include "attach/still.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, NR_COUNTERS = THREADS + 1, LOOKS = 200, TRIES = 10 };

/* Shared with the child. */
static struct {
	atomic_ulong counter[NR_COUNTERS];
	atomic_int has_ended, error, child;
} * shared;

static void *count(void *arg)
{
	while (!shared->has_ended)
		++*(atomic_ulong *)arg;
	return NULL;
}

/* Ends by a byte, not by an interruption. */
static void *wait_for_byte(void *arg)
{
	const int *from = arg;
	int fd = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};

	epoll_ctl(fd, EPOLL_CTL_ADD, *from, &event);
	shared->error = epoll_wait(fd, &event, 1, -1) == 1 ? 0 : errno;
	return NULL;
}

/* While it sleeps in the kernel, its child counts in its memory. */
static void *count_in_vfork(void *arg)
{
	pid_t pid = vfork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
		shared->child = getpid();
		while (!shared->has_ended)
			++*(atomic_ulong *)arg;
		_exit(0);
	}
	return NULL;
}

/* A thread within vfork does not stop as its process is stopped. */
static void live(int from, bool has_vfork)
{
	pthread_t thread[THREADS + 2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, count, &shared->counter[i]);
	pthread_create(&thread[THREADS], NULL, has_vfork ? count_in_vfork : count,
		       &shared->counter[THREADS]);
	pthread_create(&thread[THREADS + 1], NULL, wait_for_byte, &from);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	_exit(shared->error ? 9 : 6);
}

static void read_counters(unsigned long *to)
{
	for (int i = 0; i < NR_COUNTERS; i++)
		to[i] = shared->counter[i];
}

/* Until each has counted again. */
static void wait_for_all(void)
{
	unsigned long before[NR_COUNTERS];

	read_counters(before);
	for (int i = 0; i < NR_COUNTERS; i++)
		while (shared->counter[i] == before[i])
			usleep(1000);
}

static void look(void *arg)
{
	unsigned long before[NR_COUNTERS], now[NR_COUNTERS];

	read_counters(before);
	for (int i = 0; i < LOOKS; i++) {
		usleep(100);
		read_counters(now);
		for (int k = 0; k < NR_COUNTERS; k++)
			*(int *)arg += now[k] != before[k];
	}
	*(int *)arg += 1000;
}

/* On a busy machine it may take longer than is waited. */
static int look_while_still(pid_t pid, int *seen)
{
	int rc = -EAGAIN;

	*seen = 0;
	for (int i = 0; i < TRIES && rc == -EAGAIN; i++)
		rc = attach_while_still(pid, look, seen);
	return rc;
}

static pid_t start(int *to, bool has_vfork)
{
	int fds[2];
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		live(fds[0], has_vfork);
	*to = fds[1];
	return pid;
}

/* All of it, and it goes on; nobody but its parent has its end. */
TEST(nothing_runs)
{
	int to, status, seen;
	pid_t pid = start(&to, true);

	for (int i = 0; i < 3; i++) {
		wait_for_all();
		assert_int_equal(look_while_still(pid, &seen), 0);
		assert_int_equal(seen, 1000);
	}
	/* by the number of the child that has its memory, too */
	if (syscall(SYS_kcmp, pid, pid, KCMP_VM, 0, 0) == 0) {
		wait_for_all();
		assert_int_equal(look_while_still(shared->child, &seen), 0);
		assert_int_equal(seen, 1000);
	}
	wait_for_all();
	shared->has_ended = 1;
	assert_int_equal(write(to, "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 6);
	close(to);
}

/* One that is stopped stays so, and one that has ended is none. */
TEST(stopped_and_ended)
{
	int to, status, seen;
	pid_t pid = start(&to, false);

	wait_for_all();
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(look_while_still(pid, &seen), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	shared->has_ended = 1;
	assert_int_equal(attach_while_still(pid, look, &seen), -ESRCH);
	close(to);
}
