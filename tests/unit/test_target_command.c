/*
 * A command that is measured: when it starts, how it ends, what it inherits, what cannot be
 * executed.
 */
#include "kit.h"

#include "base/clock.h"
#include "target/command.h"
#include "target/orphans.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char sh[] = "/bin/sh", minus_c[] = "-c";

struct ended {
	sem_t sem;
	int nr;
};

static void on_end(void *arg)
{
	struct ended *ended = arg;

	ended->nr++;
	sem_post(&ended->sem);
}

/* Runs it with the shell, to its end. */
static struct target_end run(char *script, struct ended *ended)
{
	char *argv[] = {sh, minus_c, script, NULL};
	struct target_command *c;
	struct target_end end;
	struct err e = {0};

	sem_init(&ended->sem, 0, 0);
	ended->nr = 0;
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	assert_int_equal(target_command_check(c, &e), 0);
	assert_int_equal(target_command_start(c, on_end, ended, &e), 0);
	target_command_wait(c, &end);
	target_command_free(c);
	sem_destroy(&ended->sem);
	return end;
}

static struct rusage used(long user_us, long system_us, long minor, long major)
{
	return (struct rusage){.ru_utime = {user_us / 1000000, user_us % 1000000},
			       .ru_stime = {system_us / 1000000, system_us % 1000000},
			       .ru_minflt = minor,
			       .ru_majflt = major,
			       .ru_maxrss = 7};
}

/* User and system time of a part may be more than those of the whole, which were divided anew. */
TEST(usage_of_a_part)
{
	static const struct {
		long user, system, minor, major, own_user, own_system, own_minor, own_major;
		long left_user, left_system, left_minor, left_major;
	} rows[] = {
	    {3000000, 2000000, 90, 5, 1999999, 1, 40, 2, 1000001, 1999999, 50, 3},
	    {5, 2000000, 9, 9, 1000005, 1, 10, 9, 0, 999999, 0, 0},
	    {3000000, 5, 9, 9, 1, 1000000, 0, 0, 2000004, 0, 9, 9},
	    {3, 4, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct rusage all =
		    used(rows[i].user, rows[i].system, rows[i].minor, rows[i].major);
		struct rusage own = used(rows[i].own_user, rows[i].own_system, rows[i].own_minor,
					 rows[i].own_major);
		struct rusage left = used(rows[i].left_user, rows[i].left_system,
					  rows[i].left_minor, rows[i].left_major);

		target_usage_subtract(&all, &own);
		assert_memory_equal(&all, &left, sizeof(all));
	}
}

TEST(ends)
{
	static char seven[] = "exit 7", killed[] = "kill -9 $$",
		    burns[] = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done";
	uint64_t before_ns = clock_monotonic_ns();
	struct ended ended;
	struct target_end end = run(seven, &ended);

	assert_int_equal(ended.nr, 1);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 7);
	assert_in_range(end.start_ns, before_ns, end.end_ns);
	end = run(killed, &ended);
	assert_true(WIFSIGNALED(end.status));
	assert_int_equal(WTERMSIG(end.status), SIGKILL);
	end = run(burns, &ended);
	assert_true(end.end_ns > end.start_ns);
	assert_true(end.usage.ru_utime.tv_sec || end.usage.ru_utime.tv_usec);
}

/* Each run is a new process of this one, with an end of its own, and waits for its start. */
TEST(runs)
{
	static char script[] =
	    "read n < \"$0\"; echo $((n + 1)) > \"$0\"; ps -o ppid= $$ | grep -qx "
	    "\" *$1\" || exit 99; grep -q 'SigBlk:.*0$' /proc/self/status || exit 98; "
	    "exit $n";
	struct root root = tree_make();
	char path[sizeof(root.dir) + 8], parent[16];
	char *argv[] = {sh, minus_c, script, path, parent, NULL};
	struct target_command *c;
	struct target_end end;
	struct ended ended = {.nr = 0};
	struct err e = {0};
	pid_t last = 0;

	snprintf(parent, sizeof(parent), "%d", getpid());
	snprintf(path, sizeof(path), "%s/n", root.dir);
	tree_put(&root, "/n", "0\n", 2);
	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(target_command_next(c, &e), 0);
		assert_int_not_equal(target_command_pid(c), last);
		last = target_command_pid(c);
		assert_int_equal(waitpid(last, NULL, WNOHANG), 0);
		assert_false(target_command_is_started(c));
		assert_false(target_command_has_ended(c));
		assert_int_equal(target_command_start(c, on_end, &ended, &e), 0);
		target_command_wait(c, &end);
		assert_int_equal(ended.nr, i + 1);
		assert_int_equal(WEXITSTATUS(end.status), i);
	}
	assert_int_equal(target_command_next(c, &e), 0);
	target_command_free(c);
	assert_int_equal(waitpid(-1, NULL, WNOHANG),
			 -1); /* neither that one nor the maker is left */
	sem_destroy(&ended.sem);
	tree_remove(&root);
}

/* Each run may be of another command, also after one that cannot be executed. */
TEST(runs_of_several_commands)
{
	static char exit_3[] = "exit 3", exit_4[] = "exit 4", absent[] = "/nowhere/x";
	char *three[] = {sh, minus_c, exit_3, NULL}, *four[] = {sh, minus_c, exit_4, NULL};
	char *none[] = {absent, NULL};
	const struct {
		char **argv;
		int status; /* -1: it cannot be executed */
	} turns[] = {{three, 3}, {four, 4},  {none, -1}, {three, 3},
		     {none, -1}, {none, -1}, {four, 4}};
	struct target_command *c;
	struct target_end end;
	struct ended ended = {.nr = 0};
	struct err e = {0};

	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new_later("later", &c, &e), 0);
	for (size_t i = 0; i < NR(turns); i++) {
		int rc;

		assert_int_equal(target_command_set(c, turns[i].argv, &e), 0);
		assert_int_equal(target_command_next(c, &e), 0);
		rc = target_command_start(c, on_end, &ended, &e);
		assert_int_equal(rc, turns[i].status < 0 ? -ENOENT : 0);
		if (rc)
			continue;
		target_command_wait(c, &end);
		assert_int_equal(WEXITSTATUS(end.status), turns[i].status);
	}
	target_command_free(c);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	sem_destroy(&ended.sem);
}

/* A run that is killed before it takes its order has ended by that, and the next one runs. */
TEST(killed_runs)
{
	static char exit_3[] = "exit 3";
	char *argv[] = {sh, minus_c, exit_3, NULL};
	struct target_command *c;
	struct target_end end;
	struct ended ended = {.nr = 0};
	struct err e = {0};

	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	for (int i = 0; i < 4; i++) {
		bool is_killed = i % 2 == 0;
		siginfo_t info;

		assert_int_equal(target_command_next(c, &e), 0);
		if (is_killed) {
			pid_t pid = target_command_pid(c);

			assert_int_equal(kill(pid, SIGKILL), 0);
			assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
		}
		assert_int_equal(target_command_start(c, on_end, &ended, &e), 0);
		target_command_wait(c, &end);
		assert_int_equal(ended.nr, i + 1);
		assert_int_equal(WIFSIGNALED(end.status), is_killed);
		assert_int_equal(is_killed ? WTERMSIG(end.status) : WEXITSTATUS(end.status),
				 is_killed ? SIGKILL : 3);
	}
	target_command_free(c);
	sem_destroy(&ended.sem);
}

/* Without its maker there is no further run; a command that cannot be executed has none. */
TEST(no_runs)
{
	static char absent[] = "cpuperf-no-such-program";
	char *argv[] = {absent, NULL};
	struct target_command *c;
	struct ended ended = {.nr = 0};
	struct err e = {0};

	assert_int_equal(target_command_new(argv, &c, &e), 0);
	assert_int_equal(target_command_next(c, &e), 0);
	assert_int_equal(target_command_start(c, on_end, &ended, &e), -ENOENT);
	assert_int_equal(ended.nr, 0);
	target_command_free(c);
	e = (struct err){0};
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	kill(target_command_pid(c), SIGKILL);
	signal(SIGPIPE, SIG_IGN); /* as in programs: it may have ended already */
	assert_true(target_command_next(c, &e) < 0);
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(e.code < 0, 1);
	target_command_free(c);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Nothing of it runs before the start; without a start it ends, and is reaped. */
TEST(waits)
{
	static char script[] = "touch \"$0\"";
	struct root root = tree_make();
	char path[sizeof(root.dir) + 8];
	char *argv[] = {sh, minus_c, script, path, NULL};
	struct target_command *c;
	struct err e = {0};
	pid_t pid;

	snprintf(path, sizeof(path), "%s/ran", root.dir);
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	pid = target_command_pid(c);
	usleep(20000);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_false(target_command_is_started(c));
	target_command_free(c);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(access(path, F_OK), -1);
	tree_remove(&root);
}

static volatile sig_atomic_t nr_urgent;

static void on_urgent(int number)
{
	(void)number;
	nr_urgent++;
}

/* Signals before the start and after a failed one reach nothing: neither what waits for its start,
 * nor, as process 0, this process. */
TEST(signals_to_none)
{
	static char exit_3[] = "exit 3", nowhere[] = "/nowhere/x";
	char *argv[] = {sh, minus_c, exit_3, NULL}, *absent[] = {nowhere, NULL};
	struct target_command *c;
	struct target_end end;
	struct ended ended = {.nr = 0};
	struct err e = {0};

	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	target_command_signal(c, SIGKILL);
	assert_int_equal(target_command_start(c, on_end, &ended, &e), 0);
	target_command_wait(c, &end);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 3);
	target_command_free(c);
	signal(SIGURG, on_urgent); /* others of the process group ignore it */
	assert_int_equal(target_command_new(absent, &c, &e), 0);
	assert_int_equal(target_command_start(c, on_end, &ended, &e), -ENOENT);
	target_command_signal(c, SIGURG);
	assert_int_equal(nr_urgent, 0);
	signal(SIGURG, SIG_DFL);
	target_command_free(c);
	sem_destroy(&ended.sem);
}

TEST(signals)
{
	static char script[] = "trap 'exit 9' TERM; while :; do sleep 0.01; done";
	char *argv[] = {sh, minus_c, script, NULL};
	struct target_command *c;
	struct target_end end;
	struct ended ended = {.nr = 0};
	struct err e = {0};

	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new(argv, &c, &e), 0);
	assert_false(target_command_signal(c, SIGTERM)); /* not started */
	assert_int_equal(target_command_start(c, on_end, &ended, &e), 0);
	assert_false(target_command_has_ended(c));
	usleep(100000); /* it may be killed before its trap is set */
	assert_true(target_command_signal(c, SIGTERM));
	target_command_wait(c, &end);
	assert_true(target_command_has_ended(c));
	target_command_signal(c, SIGTERM); /* reaped: its pid may be another's */
	assert_true(WIFSIGNALED(end.status) || WEXITSTATUS(end.status) == 9);
	target_command_free(c);
	sem_destroy(&ended.sem);
}

static int refused(char *name, bool is_started, struct err *e)
{
	char *argv[] = {name, NULL};
	struct target_command *c;
	struct ended ended = {.nr = 0};
	int rc;

	*e = (struct err){0};
	sem_init(&ended.sem, 0, 0);
	assert_int_equal(target_command_new(argv, &c, e), 0);
	rc = is_started ? target_command_start(c, on_end, &ended, e) : target_command_check(c, e);
	assert_int_equal(ended.nr, 0);
	target_command_free(c);
	sem_destroy(&ended.sem);
	return rc;
}

/* Before the start and, where only exec finds it, by it. */
TEST(refused)
{
	static char absent[] = "cpuperf-no-such-program", nowhere[] = "/nowhere/x", folder[] = "/";
	struct root root = tree_make();
	char path[sizeof(root.dir) + 8];
	struct err e;

	for (int started = 0; started < 2; started++) {
		assert_int_equal(refused(absent, started, &e), -ENOENT);
		assert_string_equal(e.source, absent);
		assert_non_null(strstr(e.hint, "PATH"));
		assert_int_equal(refused(nowhere, started, &e), -ENOENT);
		assert_string_equal(e.hint, "");
		assert_int_equal(refused(folder, started, &e), -EACCES);
		tree_put(&root, "/plain", "x", 1);
		snprintf(path, sizeof(path), "%s/plain", root.dir);
		assert_int_equal(refused(path, started, &e), -EACCES);
	}
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(refused(path, false, &e), 0); /* no format that the kernel knows */
	tree_remove(&root);
}

/* The first program of that name in the folders of PATH that may be executed, as execvp. An empty
 * part is the current folder. */
TEST(path)
{
	static char name[] = "program";
	static const struct {
		const char *parts; /* of the folders below */
		int rc;
	} cases[] = {
	    {"bin", 0},      {"plain", -EACCES},      {"none", -ENOENT},       {"plain:bin", 0},
	    {"none:bin", 0}, {"none:plain", -EACCES}, {"plain:none", -EACCES}, {"none:", 0},
	    {":none", 0},    {"folder:bin", 0},       {"folder", -EACCES}};
	struct root root = tree_make();
	char was[PATH_MAX], *old = strdup(getenv("PATH"));
	struct err e;

	assert_non_null(getcwd(was, sizeof(was)));
	tree_text(&root, "/plain/program", "x");
	tree_text(&root, "/bin/program", "#!/bin/sh\n");
	tree_text(&root, "/program", "#!/bin/sh\n");
	tree_put(&root, "/folder/program", NULL, 0);
	assert_int_equal(chdir(root.dir), 0);
	assert_int_equal(chmod("bin/program", 0755), 0);
	assert_int_equal(chmod("program", 0755), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		assert_int_equal(setenv("PATH", cases[i].parts, 1), 0);
		assert_int_equal(refused(name, false, &e), cases[i].rc);
	}
	assert_int_equal(setenv("PATH", old, 1), 0);
	assert_int_equal(chdir(was), 0);
	free(old);
	tree_remove(&root);
}

TEST(text)
{
	static char echo[] = "echo", a[] = "a 'b'", c[] = "c", empty[] = "", blank[] = "d e";
	char *argv[] = {echo, a, c, empty, blank, NULL}, text[64], shorter[7];
	struct target_command *command;
	struct err e = {0};

	assert_int_equal(target_command_new(argv, &command, &e), 0);
	target_command_text(command, text, sizeof(text));
	assert_string_equal(text, "echo 'a '\\''b'\\''' c '' 'd e'");
	target_command_text(command, shorter, sizeof(shorter));
	assert_string_equal(shorter, "echo '");
	target_command_free(command);
}
