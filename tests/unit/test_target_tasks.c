/*
 * The tasks of running processes: which are chosen, which are below them, and their threads; and
 * the end of processes.
 */
#include "kit.h"
#include "tree.h"

#include "target/tasks.h"
#include "target/watch.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static void put_process(const struct root *r, int pid, const char *name, int parent, int nr_threads)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1\n", pid, name, parent);
	tree_text(r, path, text);
	for (int i = 0; i < nr_threads; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, pid + i);
		tree_text(r, path, name);
	}
}

#define PIDS(...)                                                                                  \
	.pids = (const char *const[]){__VA_ARGS__},                                                \
	.nr_pids = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define COMM(glob) .comms = (const char *const[]){glob}, .nr_comms = 1

/* Children have smaller numbers than their parents, so a pass over the processes finds one
 * generation. */
static struct root make_proc(void)
{
	struct root r = tree_make();

	put_process(&r, 1, "init", 0, 1);
	put_process(&r, 500, "server", 1, 2);
	put_process(&r, 10, "worker)\n S 9 (x", 500, 3);
	put_process(&r, 5, "leaf", 10, 1);
	put_process(&r, 700, "server", 1, 1);
	put_process(&r, 800, "other", 1, 1);
	put_process(&r, getpid(), "server", 800, 1);
	tree_text(&r, "/proc/uptime", "1 1\n");
	put_process(&r, 901, "zombie", 1, 1);
	tree_text(&r, "/proc/901/stat", "901 (zombie) Z 1 1 1 0 -1\n");
	put_process(&r, 902, "zombie", 1, 2); /* its first thread has ended, another runs */
	tree_text(&r, "/proc/902/stat", "902 (zombie) Z 1 1 1 0 -1\n");
	tree_text(&r, "/proc/900/maps", ""); /* has ended: no stat */
	return r;
}

static void check(const struct root *r, struct target_choice choice, size_t nr_chosen,
		  const pid_t *threads, size_t nr)
{
	struct target_tasks t;
	struct err e = {0};

	assert_int_equal(target_tasks_find(r, &choice, &t, &e), 0);
	assert_int_equal(t.nr_chosen, nr_chosen);
	assert_int_equal(t.nr_threads, nr);
	assert_memory_equal(t.threads, threads, nr * sizeof(*threads));
	assert_int_equal(target_tasks_new(&t, &t), 0);
	target_tasks_fini(&t);
}

TEST(chosen)
{
	struct root r = make_proc();

	check(&r, (struct target_choice){PIDS("500"), .has_children = true}, 1,
	      (pid_t[]){5, 10, 11, 12, 500, 501}, 6);
	check(&r, (struct target_choice){PIDS("500")}, 1, (pid_t[]){500, 501}, 2);
	check(&r, (struct target_choice){PIDS("5", "10")}, 2, (pid_t[]){5, 10, 11, 12}, 4);
	check(&r, (struct target_choice){COMM("serv*")}, 2, (pid_t[]){500, 501, 700}, 3);
	check(&r, (struct target_choice){COMM("[lo]*"), PIDS("700")}, 2, (pid_t[]){5, 700}, 2);
	/* this process is a child of 800, and no part of what it measures */
	check(&r, (struct target_choice){PIDS("800"), .has_children = true}, 1, (pid_t[]){800}, 1);
	check(&r, (struct target_choice){PIDS("902")}, 1, (pid_t[]){902, 903}, 2);
	check(&r, (struct target_choice){COMM("worker)\n S 9 (x")}, 1, (pid_t[]){10, 11, 12}, 3);
	tree_remove(&r);
}

TEST(refused)
{
	const struct {
		struct target_choice choice;
		int code;
		const char *text;
	} cases[] = {
	    {{PIDS("5000000")}, -ESRCH, "there is no process 5000000"},
	    {{PIDS("900")}, -ESRCH, "there is no process 900"},
	    {{PIDS("901")}, -ESRCH, "process 901 has ended"},
	    {{PIDS("500", "")}, -EINVAL, "\"\" is not a process number"},
	    {{PIDS("-1")}, -EINVAL, "\"-1\" is not a process number"},
	    {{PIDS("0")}, -EINVAL, "\"0\" is not a process number"},
	    {{PIDS("4294967796")}, -EINVAL, "is not a process number"},
	    {{COMM("serve")}, -ESRCH, "no process has the name \"serve\""},
	    {{COMM("init other")}, -ESRCH, "no process has the name"},
	};
	struct root r = make_proc();

	for (size_t i = 0; i < NR(cases); i++) {
		struct target_tasks t;
		struct err e = {0};

		assert_int_equal(target_tasks_find(&r, &cases[i].choice, &t, &e), cases[i].code);
		assert_non_null(strstr(e.msg, cases[i].text));
		assert_null(t.threads);
	}
	tree_remove(&r);
}

/* An answer for each process of make_proc. */
static bool is_odd_or_worker(pid_t pid)
{
	return pid % 2 || pid == 10;
}

/* What may not be measured is in a list of its own; what is below it is measured. */
TEST(not_to_be_measured)
{
	const struct {
		struct target_choice choice;
		pid_t chosen[4], processes[4], refused[4]; /* up to the first 0 */
		int code;
		const char *text;
	} cases[] = {
	    {{COMM("serv*"), .has_children = true}, {10}, {5, 10}, {500, 700}, 0, NULL},
	    {{COMM("serv*")},
	     {0},
	     {0},
	     {0},
	     -EACCES,
	     "all processes with the name \"serv*\" (2) belong to"},
	    {{COMM("[izs]*")}, {901}, {901}, {500, 700, 902}, 0, NULL},
	    {{PIDS("10", "500")}, {0}, {0}, {0}, -EACCES, "process 500 belongs to another user"},
	    {{PIDS("10"), COMM("server")}, {10}, {10}, {500, 700}, 0, NULL},
	    {{COMM("nothing")}, {0}, {0}, {0}, -ESRCH, "no process has the name"},
	};
	struct root r = make_proc();

	for (size_t i = 0; i < NR(cases); i++) {
		struct target_choice choice = cases[i].choice;
		struct target_tasks t;
		struct err e = {0};
		size_t nr[3] = {0};

		choice.may_measure = is_odd_or_worker;
		assert_int_equal(target_tasks_find(&r, &choice, &t, &e), cases[i].code);
		if (cases[i].code) {
			assert_non_null(strstr(e.msg, cases[i].text));
			assert_null(t.refused);
			continue;
		}
		while (cases[i].chosen[nr[0]])
			nr[0]++;
		while (cases[i].processes[nr[1]])
			nr[1]++;
		while (cases[i].refused[nr[2]])
			nr[2]++;
		assert_int_equal(t.nr_chosen, nr[0]);
		assert_int_equal(t.nr_processes, nr[1]);
		assert_int_equal(t.nr_refused, nr[2]);
		assert_memory_equal(t.chosen, cases[i].chosen, nr[0] * sizeof(pid_t));
		assert_memory_equal(t.processes, cases[i].processes, nr[1] * sizeof(pid_t));
		assert_memory_equal(t.refused, cases[i].refused, nr[2] * sizeof(pid_t));
		for (size_t k = 0; k < t.nr_threads; k++)
			assert_true(t.threads[k] < 500 || t.threads[k] > 900);
		target_tasks_fini(&t);
	}
	tree_remove(&r);
}

TEST(new_threads)
{
	const struct target_choice choice = {PIDS("500"), .has_children = true};
	struct root r = make_proc();
	struct target_tasks before, now;
	struct err e = {0};

	assert_int_equal(target_tasks_find(&r, &choice, &before, &e), 0);
	put_process(&r, 30, "new", 5, 2);
	tree_drop(&r, "/proc/10/task/12");
	assert_int_equal(target_tasks_find(&r, &choice, &now, &e), 0);
	assert_int_equal(target_tasks_new(&before, &now), 2);
	assert_int_equal(target_tasks_new(&now, &before), 1);
	assert_int_equal(target_tasks_new(&(struct target_tasks){0}, &now), now.nr_threads);
	target_tasks_fini(&before);
	target_tasks_fini(&now);
	tree_remove(&r);
}

static int find_all(void *arg)
{
	const struct target_choice choice = {PIDS("500"), .has_children = true};
	struct target_tasks t;
	struct err e = {0};
	int rc = target_tasks_find(arg, &choice, &t, &e);

	target_tasks_fini(&t);
	return rc == -ESRCH ? 0 : rc; /* what cannot be read has ended */
}

TEST(everything_fails_once)
{
	struct root r = make_proc();

	inject_every(find_all, &r, 4, 1);
	tree_remove(&r);
}

static void on_end(void *arg)
{
	sem_post(arg);
}

/* Waits so long at most. */
static bool has_ended_in(sem_t *sem, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return sem_timedwait(sem, &until) == 0;
}

static pid_t make_child(int *fd)
{
	int pipes[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		_exit(read(pipes[0], &c, 1) != 0);
	}
	close(pipes[0]);
	*fd = pipes[1];
	return pid;
}

/* The end is that of the last one. */
TEST(ends)
{
	struct target_watch *w;
	struct err e = {0};
	pid_t pids[2];
	sem_t sem;
	int fd[2];

	sem_init(&sem, 0, 0);
	/* the second child inherits the first one's pipe: end it first */
	pids[0] = make_child(&fd[0]);
	pids[1] = make_child(&fd[1]);
	assert_int_equal(target_watch_new(pids, 2, &w, &e), 0);
	assert_int_equal(target_watch_start(w, on_end, &sem, &e), 0);
	close(fd[1]);
	waitpid(pids[1], NULL, 0);
	assert_false(has_ended_in(&sem, 50));
	assert_false(target_watch_has_ended(w));
	close(fd[0]);
	waitpid(pids[0], NULL, 0);
	sem_wait(&sem);
	assert_true(target_watch_has_ended(w));
	target_watch_free(w);
	assert_int_equal(target_watch_new(pids, 2, &w, &e), -ESRCH);
	/* one that has ended is no error */
	assert_int_equal(target_watch_new((pid_t[]){pids[0], getpid()}, 2, &w, &e), 0);
	target_watch_free(w);
	target_watch_free(NULL);
}

/* Freed before the end: the thread is woken. */
TEST(given_up)
{
	struct target_watch *w;
	struct err e = {0};
	sem_t sem;
	pid_t pid;
	int fd;

	sem_init(&sem, 0, 0);
	pid = make_child(&fd);
	assert_int_equal(target_watch_new(&pid, 1, &w, &e), 0);
	assert_int_equal(target_watch_start(w, on_end, &sem, &e), 0);
	target_watch_free(w);
	assert_int_equal(sem_trywait(&sem), -1);
	close(fd);
	waitpid(pid, NULL, 0);
}

/* Makes pidfd_open fail as in kernels before 5.3, for this process. */
static int hide_pidfd(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {.len = NR(code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* 0, or the number of what is wrong; -1: not possible here. */
static int follow_without_pidfd(void)
{
	struct target_watch *w;
	struct err e = {0};
	sem_t sem;
	pid_t pid;
	int fd;

	if (hide_pidfd())
		return -1;
	sem_init(&sem, 0, 0);
	pid = make_child(&fd);
	if (target_watch_new(&pid, 1, &w, &e) || target_watch_start(w, on_end, &sem, &e))
		return 1;
	if (has_ended_in(&sem, 150))
		return 2;
	close(fd);
	waitpid(pid, NULL, 0);
	if (!has_ended_in(&sem, 20000) || !target_watch_has_ended(w))
		return 3;
	target_watch_free(w);
	return target_watch_new(&pid, 1, &w, &e) != -ESRCH;
}

TEST(without_pidfd)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(follow_without_pidfd() & 0xff);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 0xff)
		puts("skip: without_pidfd: system calls cannot be filtered here");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
}

struct other {
	sem_t is_known, may_end;
	pid_t tid;
};

static void *run_other(void *arg)
{
	struct other *o = arg;

	o->tid = gettid();
	sem_post(&o->is_known);
	sem_wait(&o->may_end);
	return NULL;
}

TEST(thread_is_no_process)
{
	struct target_watch *w;
	struct err e = {0};
	struct other o;
	pthread_t thread;

	sem_init(&o.is_known, 0, 0);
	sem_init(&o.may_end, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, run_other, &o), 0);
	sem_wait(&o.is_known);
	assert_int_equal(target_watch_new(&o.tid, 1, &w, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "is a thread"));
	sem_post(&o.may_end);
	pthread_join(thread, NULL);
}

/* A cgroup has ended when its last process has left, or it was removed: then its file cannot be
 * read. One that is empty has not begun. */
TEST(cgroups)
{
	static const struct {
		const char *before, *after; /* NULL: it cannot be read */
		bool has_begun, has_ended;
	} cases[] = {
	    {"populated 1\nfrozen 0\n", "populated 1\nfrozen 0\n", true, false},
	    {"populated 1\nfrozen 0\n", "populated 0\nfrozen 0\n", true, true},
	    {"populated 0\nfrozen 0\n", "populated 0\nfrozen 0\n", false, false},
	    {NULL, NULL, false, true},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct root r = tree_make();
		struct target_watch *w;
		struct err e = {0};
		sem_t sem;
		int fd = open(r.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const char *text = cases[i].before;

		sem_init(&sem, 0, 0);
		assert_int_equal(target_watch_new_cgroup(fd, &w, &e), -ENOENT);
		assert_string_equal(e.msg, "");
		tree_put(&r, "/cgroup.events", text, text ? strlen(text) : 0);
		assert_int_equal(target_watch_new_cgroup(fd, &w, &e), 0);
		assert_int_equal(target_watch_has_begun(w), cases[i].has_begun);
		if (cases[i].after)
			tree_text(&r, "/cgroup.events", cases[i].after);
		assert_int_equal(target_watch_start(w, on_end, &sem, &e), 0);
		assert_int_equal(has_ended_in(&sem, cases[i].has_ended ? 20000 : 50),
				 cases[i].has_ended);
		target_watch_free(w);
		close(fd);
		tree_remove(&r);
	}
}

/* In a process of another user, which reads the numbers of one of its own, of root's and of none.
 */
static int check_as_nobody(int fd, pid_t of_root)
{
	pid_t pid[3] = {getpid(), of_root, INT_MAX};
	int rc[3];

	for (size_t i = 0; i < NR(pid); i++) {
		struct target_tasks t = {.processes = &pid[i], .nr_processes = 1};
		struct err e = {0};

		rc[i] = target_tasks_check_own(&root_live, &t, &e);
	}
	return write(fd, rc, sizeof(rc)) != sizeof(rc);
}

/* Rights of others' processes, of one's own, and of one that has ended but was not waited for. */
TEST(own)
{
	pid_t ended = fork(), child;
	struct target_tasks t = {.processes = &ended, .nr_processes = 1};
	struct err e = {0};
	int talk[2], rc[3];
	siginfo_t info;

	if (ended == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(target_tasks_check_own(&root_live, &t, &e), 0);
	waitpid(ended, NULL, 0);
	assert_int_equal(target_tasks_check_own(&root_live, &t, &e), -ESRCH);
	if (geteuid() != 0) {
		print_message("skip: processes of another user: this is not root\n");
		return;
	}
	assert_int_equal(pipe(talk), 0);
	child = fork();
	if (child == 0) {
		pid_t parent = getppid();

		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534) || prctl(PR_SET_DUMPABLE, 1))
			_exit(2);
		_exit(check_as_nobody(talk[1], parent));
	}
	assert_int_equal(read(talk[0], rc, sizeof(rc)), sizeof(rc));
	assert_int_equal(rc[0], 0);
	assert_int_equal(rc[1], -EACCES);
	assert_int_equal(rc[2], -ESRCH);
	waitpid(child, NULL, 0);
	close(talk[0]);
	close(talk[1]);
}
