/* A child that is stopped, and made to call a function of its own. */
#include "kit.h"

#include "attach/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shared with the child. */
static struct {
	atomic_int is_ready, is_done, nr_calls, nr_signals;
	uint64_t argument[3];
	char text[64];
	int result, error;
	atomic_int is_blocked; /* a signal, within the call */
} * shared;

/* What is called. */
static void record(uint64_t a, uint64_t b, uint64_t c)
{
	sigset_t mask;

	shared->argument[0] = a;
	shared->argument[1] = b;
	shared->argument[2] = c;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	shared->is_blocked = sigismember(&mask, SIGUSR1);
	getppid(); /* a system call that waits for nothing */
	shared->nr_calls++;
}

static void record_text(const char *text)
{
	strncpy(shared->text, text, sizeof(shared->text) - 1);
	shared->nr_calls++;
}

static void on_signal(int sig)
{
	(void)sig;
	shared->nr_signals++;
}

static void wait_for_time(void)
{
	const struct timespec t = {1, 500000000};

	atomic_store(&shared->is_ready, 1);
	shared->result = nanosleep(&t, NULL);
	shared->error = errno;
}

static void wait_for_signal(void)
{
	signal(SIGUSR1, on_signal);
	atomic_store(&shared->is_ready, 1);
	shared->result = pause();
	shared->error = errno;
}

static int to_go_on[2]; /* a pipe, or sockets */

/* With a limit, so that the kernel does not repeat it after an interruption. */
static void wait_for_packet(void)
{
	const struct timeval limit = {.tv_sec = 600};
	char byte;

	(void)setsockopt(to_go_on[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	atomic_store(&shared->is_ready, 1);
	shared->result = (int)recv(to_go_on[0], &byte, 1, 0);
	shared->error = errno;
}

/* Its parent sleeps where nothing wakes it, until the child ends: when it is told to go on. */
static void wait_for_child(void)
{
	pid_t pid;

	atomic_store(&shared->is_ready, 1);
	pid = vfork();
	if (pid == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(syscall(SYS_read, to_go_on[0], &byte, 1) != 1);
	}
	shared->result = 0;
}

static void go_on(void)
{
	assert_int_equal(write(to_go_on[1], "", 1), 1);
}

/* As /proc says: S, or D where nothing wakes it. */
static char state_of(pid_t pid)
{
	char path[32], text[256] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	assert_true(f && fgets(text, sizeof(text), f));
	fclose(f);
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : '\0';
}

/* Once it waits. */
static pid_t start(void (*run)(void))
{
	pid_t pid;

	if (!shared)
		shared =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		atomic_store(&shared->is_done, 1);
		_exit(0);
	}
	while (!atomic_load(&shared->is_ready) ||
	       state_of(pid) != (run == wait_for_child ? 'D' : 'S'))
		usleep(1000);
	return pid;
}

static void end_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(atomic_load(&shared->is_done), 1);
}

struct called {
	struct attach_space space;
	struct attach_ways ways;
	struct attach_thread thread;
};

static void stop(struct called *c, pid_t pid)
{
	assert_int_equal(attach_space_open(&c->space, pid), 0);
	assert_true(attach_find_ways(&c->space, &c->ways));
	while (attach_thread_stop(&c->thread, pid))
		usleep(1000);
}

static int call(struct called *c, const struct attach_call *what)
{
	return attach_thread_call(&c->thread, &c->space, &c->ways, what);
}

/* Two calls while it sleeps; the sleep lasts as long as it would, and does not end by EINTR. */
TEST(calls)
{
	struct called c;
	struct timespec before, after;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &before);
	pid = start(wait_for_time);
	stop(&c, pid);
	assert_int_equal(
	    call(&c, &(struct attach_call){.function = (uint64_t)record, .argument = {11, 22, 33}}),
	    0);
	assert_int_equal(shared->argument[0], 11);
	assert_int_equal(shared->argument[1], 22);
	assert_int_equal(shared->argument[2], 33);
	assert_int_equal(shared->is_blocked, 1);
	assert_int_equal(
	    call(&c, &(struct attach_call){.function = (uint64_t)record_text, .text = "a text"}),
	    0);
	assert_string_equal(shared->text, "a text");
	attach_thread_release(&c.thread);
	attach_space_close(&c.space);
	end_well(pid);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(shared->nr_calls, 2);
	assert_int_equal(shared->result, 0);
	assert_true(after.tv_sec > before.tv_sec);
}

/* A signal that comes while it is stopped is delivered afterwards, and ends its wait. */
TEST(signals)
{
	struct called c;
	pid_t pid = start(wait_for_signal);
	int rc;

	stop(&c, pid);
	kill(pid, SIGUSR1);
	rc = call(&c, &(struct attach_call){.function = (uint64_t)record});
#if defined(__aarch64__) /* the wait has to begin again first, and the signal comes then */
	assert_true(rc == 0 || rc == -EINTR);
#else
	assert_int_equal(rc, 0);
	assert_int_equal(shared->nr_signals, 0);
#endif
	attach_thread_release(&c.thread);
	attach_space_close(&c.space);
	end_well(pid);
	assert_int_equal(shared->nr_signals, 1);
	assert_int_equal(shared->result, -1);
	assert_int_equal(shared->error, EINTR);
}

/* One that is not called at all waits on. */
TEST(released)
{
	struct called c;
	pid_t pid = start(wait_for_signal);

	stop(&c, pid);
	attach_thread_release(&c.thread);
	attach_space_close(&c.space);
	usleep(20000);
	assert_int_equal(atomic_load(&shared->is_done), 0);
	kill(pid, SIGUSR1);
	end_well(pid);
}

/* The kernel would end its wait by EINTR. */
TEST(released_in_a_wait_with_a_limit)
{
	struct called c;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to_go_on), 0);
	pid = start(wait_for_packet);
	stop(&c, pid);
	attach_thread_release(&c.thread);
	attach_space_close(&c.space);
	go_on();
	end_well(pid);
	assert_int_equal(shared->result, 1);
	close(to_go_on[0]);
	close(to_go_on[1]);
}

static void *stop_late(void *arg)
{
	struct attach_thread t;

	*(int *)arg = attach_thread_stop(&t, *(int *)arg);
	return NULL;
}

static pid_t start_with_child(void)
{
	assert_int_equal(pipe2(to_go_on, O_CLOEXEC), 0);
	return start(wait_for_child);
}

static void end_with_child(pid_t pid)
{
	end_well(pid);
	close(to_go_on[0]);
	close(to_go_on[1]);
}

/* A thread that cannot stop is left when the tracing thread ends: it does not stand still later. */
TEST(late)
{
	pid_t pid = start_with_child();
	pthread_t thread;
	int rc = pid;

	assert_int_equal(pthread_create(&thread, NULL, stop_late, &rc), 0);
	pthread_join(thread, NULL);
	assert_int_equal(rc, -EAGAIN);
	go_on();
	end_with_child(pid);
}

/* The same thread tries again: it is not refused as one that is traced. */
TEST(late_again)
{
	pid_t pid = start_with_child();
	struct attach_thread t;
	int rc;

	for (int i = 0; i < 3; i++)
		assert_int_equal(attach_thread_stop(&t, pid), -EAGAIN);
	go_on();
	while ((rc = attach_thread_stop(&t, pid)) == -EAGAIN)
		usleep(1000);
	assert_true(rc == 0 || rc == -ESRCH);
	if (rc == 0)
		attach_thread_release(&t);
	end_with_child(pid);
}
