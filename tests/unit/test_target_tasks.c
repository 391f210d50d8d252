/*
 * The tasks of running processes: which are chosen, which are below them, and their threads; and
 * the end of processes.
 */
#include "kit.h"
#include "tree.h"

#include "target/tasks.h"
#include "target/watch.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

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

/* 10 is below 500, so the child's number is the smaller one. */
static struct root make_proc(void)
{
	struct root r = tree_make();

	put_process(&r, 1, "init", 0, 1);
	put_process(&r, 500, "server", 1, 2);
	put_process(&r, 10, "worker) S 9 (x", 500, 3);
	put_process(&r, 20, "leaf", 10, 1);
	put_process(&r, 700, "server", 1, 1);
	put_process(&r, 800, "other", 1, 1);
	put_process(&r, getpid(), "server", 800, 1);
	tree_text(&r, "/proc/uptime", "1 1\n");
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

	check(&r, (struct target_choice){.pids = "500", .has_children = true}, 1,
	      (pid_t[]){10, 11, 12, 20, 500, 501}, 6);
	check(&r, (struct target_choice){.pids = "500"}, 1, (pid_t[]){500, 501}, 2);
	check(&r, (struct target_choice){.pids = "20,10"}, 2, (pid_t[]){10, 11, 12, 20}, 4);
	check(&r, (struct target_choice){.comm = "serv*"}, 2, (pid_t[]){500, 501, 700}, 3);
	check(&r, (struct target_choice){.comm = "[lo]*", .pids = "700"}, 2, (pid_t[]){20, 700}, 2);
	check(&r, (struct target_choice){.comm = "worker) S 9 (x"}, 1, (pid_t[]){10, 11, 12}, 3);
	tree_remove(&r);
}

TEST(refused)
{
	static const struct {
		struct target_choice choice;
		int code;
		const char *text;
	} cases[] = {
	    {{.pids = "5000000"}, -ESRCH, "there is no process 5000000"},
	    {{.pids = "900"}, -ESRCH, "there is no process 900"},
	    {{.pids = "500,"}, -EINVAL, "\"\" is not a process number"},
	    {{.pids = "-1"}, -EINVAL, "\"-1\" is not a process number"},
	    {{.pids = "0"}, -EINVAL, "\"0\" is not a process number"},
	    {{.pids = "4294967796"}, -EINVAL, "is not a process number"},
	    {{.comm = "serve"}, -ESRCH, "no process has the name \"serve\""},
	    {{.comm = "init other"}, -ESRCH, "no process has the name"},
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

TEST(new_threads)
{
	const struct target_choice choice = {.pids = "500", .has_children = true};
	struct root r = make_proc();
	struct target_tasks before, now;
	struct err e = {0};

	assert_int_equal(target_tasks_find(&r, &choice, &before, &e), 0);
	put_process(&r, 30, "new", 20, 2);
	tree_drop(&r, "/proc/10/task/12");
	assert_int_equal(target_tasks_find(&r, &choice, &now, &e), 0);
	assert_int_equal(target_tasks_new(&before, &now), 2);
	assert_int_equal(target_tasks_new(&now, &before), 1);
	target_tasks_fini(&before);
	target_tasks_fini(&now);
	tree_remove(&r);
}

static int find_all(void *arg)
{
	const struct target_choice choice = {.pids = "500", .has_children = true};
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
