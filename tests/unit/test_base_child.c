/*
 * A process beside this one: a host with a handler and a wait of its own does not notice it; it has
 * nothing of ours; it works whatever locks other threads held when it was made; and it ends with
 * the process that made it, also if that is killed.
 */
#include "kit.h"

#include "base/child.h"
#include "base/root.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 20000 };

static void echo(int fd, const void *arg)
{
	char text[16];
	ssize_t n;

	while ((n = recv(fd, text, sizeof(text), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			text[i] ^= *(const char *)arg;
		send(fd, text, (size_t)n, MSG_NOSIGNAL);
	}
}

static void hang(int fd, const void *arg)
{
	(void)arg;
	send(fd, "h", 1, MSG_NOSIGNAL);
	for (;;)
		pause();
}

static bool answers(struct child *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char text[4] = "";

	return poll(&p, 1, PATIENCE_MS) == 1 && recv(c->fd, text, sizeof(text), 0) > 0;
}

/* Or is a zombie. */
static bool is_gone(pid_t pid)
{
	char path[64], line[256], *end;
	FILE *f;
	bool is = true;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (fgets(line, sizeof(line), f) && (end = strrchr(line, ')')))
		is = end[2] == 'Z';
	fclose(f);
	return is;
}

static bool goes(pid_t pid)
{
	for (int i = 0; i < PATIENCE_MS / 10 && !is_gone(pid); i++)
		usleep(10000);
	return is_gone(pid);
}

static volatile sig_atomic_t nr_signals;

static void count_signal(int number)
{
	(void)number;
	nr_signals++;
}

TEST(unnoticed)
{
	struct child c = CHILD_NONE;
	size_t nr_fds = inject_open_fds();
	char text[4] = "";

	nr_signals = 0;
	signal(SIGCHLD, count_signal);
	assert_int_equal(child_start(&c, SOCK_SEQPACKET, "other-name", echo, "\1"), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(send(c.fd, "abc", 3, MSG_NOSIGNAL), 3);
	assert_int_equal(recv(c.fd, text, sizeof(text), 0), 3);
	assert_string_equal(text, "`cb");
	child_end(&c, PATIENCE_MS);
	assert_int_equal(c.fd, -1);
	child_end(&c, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(nr_signals, 0);
	assert_int_equal(inject_open_fds(), nr_fds);
	signal(SIGCHLD, SIG_DFL);
}

/* One that is given up without waiting is reaped later. */
TEST(no_zombies)
{
	struct child c = CHILD_NONE;
	pid_t pid[10];

	for (size_t i = 0; i < NR(pid); i++) {
		assert_int_equal(child_start(&c, SOCK_STREAM, "x", hang, NULL), 0);
		assert_true(answers(&c));
		pid[i] = c.pid;
		child_end(&c, 0);
	}
	for (size_t i = 0; i < NR(pid); i++)
		assert_true(goes(pid[i]));
	assert_int_equal(child_start(&c, SOCK_STREAM, "x", echo, "\1"), 0);
	child_end(&c, PATIENCE_MS);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* One that was killed is there, until it is reaped. */
TEST(killed)
{
	struct child c = CHILD_NONE;
	siginfo_t info = {0};

	child_kill(&c); /* none */
	assert_int_equal(child_start(&c, SOCK_STREAM, "x", hang, NULL), 0);
	assert_true(answers(&c));
	child_kill(&c);
	assert_true(goes(c.pid));
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT | WNOHANG | __WALL),
			 0);
	assert_int_equal(info.si_pid, c.pid);
	child_end(&c, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* Started by a thread that ends: it goes on. By a process that is killed: it ends, though it does
 * not look at its socket. */
static void *start_one(void *arg)
{
	return (void *)(intptr_t)child_start(arg, SOCK_STREAM, "x", hang, NULL);
}

TEST(dies_with_process)
{
	struct child c = CHILD_NONE;
	pthread_t thread;
	int pipes[2];
	pid_t host, pid;
	void *rc;

	assert_int_equal(pthread_create(&thread, NULL, start_one, &c), 0);
	assert_int_equal(pthread_join(thread, &rc), 0);
	assert_null(rc);
	assert_true(answers(&c));
	usleep(50000);
	assert_false(is_gone(c.pid));
	child_end(&c, PATIENCE_MS);

	assert_int_equal(pipe(pipes), 0);
	host = fork();
	if (host == 0) {
		if (child_start(&c, SOCK_STREAM, "x", hang, NULL) || !answers(&c))
			_exit(1);
		(void)!write(pipes[1], &c.pid, sizeof(c.pid));
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &pid, sizeof(pid)), sizeof(pid));
	assert_false(is_gone(pid));
	kill(host, SIGKILL);
	assert_int_equal(waitpid(host, NULL, 0), host);
	assert_true(goes(pid));
	close(pipes[0]);
	close(pipes[1]);
}

static int count_entry(const char *name, void *arg)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

/* Uses all that a child may use. */
static void work(int fd, const void *arg)
{
	char *text = mem_alloc(100000);
	int nr = 0;

	(void)arg;
	text = text ? mem_resize(text, 300000) : NULL;
	if (!text || root_each(&root_live, "/proc/self/fd", count_entry, &nr))
		_exit(1);
	memset(text, nr, 300000);
	mem_free(text);
	send(fd, &nr, sizeof(nr), MSG_NOSIGNAL);
	(void)!recv(fd, &nr, 1, 0);
}

static atomic_bool is_over;

static void *use_heap(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over)) {
		FILE *f = fopen("/dev/null", "we");

		free(malloc(100000));
		if (f)
			fclose(f);
	}
	return NULL;
}

/* It has two sockets (and looks at a folder). */
TEST(locks_of_others)
{
	pthread_t thread[3];
	int other = dup2(1, 200);

	assert_int_equal(other, 200); /* also without O_CLOEXEC */
	for (size_t i = 0; i < NR(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use_heap, NULL), 0);
	for (int i = 0; i < 100; i++) {
		struct child c = CHILD_NONE;
		struct pollfd p;
		int nr = 0;

		assert_int_equal(child_start(&c, SOCK_SEQPACKET, "x", work, NULL), 0);
		p = (struct pollfd){.fd = c.fd, .events = POLLIN};
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		assert_int_equal(recv(c.fd, &nr, sizeof(nr), 0), sizeof(nr));
		assert_int_equal(nr, 3);
		child_end(&c, PATIENCE_MS);
	}
	atomic_store(&is_over, true);
	for (size_t i = 0; i < NR(thread); i++)
		pthread_join(thread[i], NULL);
	close(other);
}

static pid_t no_fork(void)
{
	return -EAGAIN;
}

static int nr_pairs;

static int few_pairs(int type, int fds[2])
{
	return nr_pairs-- > 0 ? child_kernel_ops.socketpair(type, fds) : -EMFILE;
}

TEST(none_to_be_had)
{
	struct child_ops ops = child_kernel_ops;
	struct child c = CHILD_NONE;
	size_t nr_fds = inject_open_fds();

	ops.socketpair = few_pairs;
	child_set_ops(&ops);
	for (int i = 0; i < 2; i++) {
		nr_pairs = i;
		assert_int_equal(child_start(&c, SOCK_STREAM, "x", echo, "\1"), -EMFILE);
	}
	nr_pairs = 2;
	ops.fork = no_fork;
	assert_int_equal(child_start(&c, SOCK_STREAM, "x", echo, "\1"), -EAGAIN);
	child_set_ops(NULL);
	assert_int_equal(c.fd, -1);
	assert_int_equal(inject_open_fds(), nr_fds);
}
