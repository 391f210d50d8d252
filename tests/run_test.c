/*
 * run_test LIMIT COSTS NAME COMMAND...: runs a test to its end, and all that it started.
 *
 * Writes the CPU seconds of the command and its descendants to COSTS/NAME. What the command leaves
 * running is killed, and so is everything after LIMIT seconds, at SIGTERM, SIGINT and SIGHUP, and
 * when who started it ends: nothing of a test outlives it. Returns the command's exit status; 124
 * beyond the limit, 128 + signal where a signal ended it.
 *
 * run_test --calibrate: prints the CPU seconds that a fixed work takes here: arithmetic, fresh
 * memory, system calls and processes, in about the shares that tests have of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended_by;

/* Once more in a second: this one may come just before a wait. */
static void take_signal(int signal)
{
	if (!ended_by)
		ended_by = signal;
	alarm(1);
}

static double cpu_s(int who)
{
	struct rusage use;

	getrusage(who, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static double work(void)
{
	double before = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN);
	uint64_t x = 1;

	for (int i = 0; i < 10000000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u + (x >> 33);
	for (int i = 0; i < 20; i++) {
		size_t len = 1 << 20;
		volatile char *p =
		    mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t at = 0; p != MAP_FAILED && at < len; at += 4096)
			p[at] = (char)x;
		munmap((void *)p, len);
	}
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN) - before;
}

/* The least of several is the one that others disturbed least. */
static int calibrate(void)
{
	double least = work();

	for (int i = 0; i < 8; i++) {
		double once = work();

		least = once < least ? once : least;
	}
	printf("%.4f\n", least);
	return 0;
}

/* Whether the process is our child: orphans of the test are. */
static bool is_child(const char *pid)
{
	char path[64], stat[512];
	const char *after;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return false;
	stat[len] = '\0';
	after = strrchr(stat, ')'); /* ") S PPID": the name before may hold anything */
	return after && strlen(after) > 4 && strtol(after + 4, NULL, 10) == getpid();
}

/* Kills children until there are none: those of a killed one become ours. */
static void kill_rest(void)
{
	while (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD) {
		DIR *all = opendir("/proc");
		struct dirent *entry;

		while (all && (entry = readdir(all))) {
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			    is_child(entry->d_name))
				kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
		}
		if (all)
			closedir(all);
		usleep(1000);
	}
}

/* By another name first: a reader finds a whole number or none. */
static void write_cost(const char *folder, const char *name)
{
	char part[4096], path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(part, sizeof(part), "%s/.%s.%d", folder, name, (int)getpid());
	f = fopen(part, "we");
	if (!f || fprintf(f, "%.2f\n", cpu_s(RUSAGE_CHILDREN)) < 0 || fclose(f) ||
	    rename(part, path))
		fprintf(stderr, "run_test: cannot write %s: %s\n", path, strerror(errno));
}

static int run(unsigned limit_s, char **command)
{
	struct sigaction end = {.sa_handler = take_signal};
	int status = 0;
	pid_t child;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* with ctest */
	sigaction(SIGALRM, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(command[0], command);
		fprintf(stderr, "run_test: cannot run %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	alarm(limit_s);
	/* Orphans that end meanwhile are taken, too: their CPU time counts. */
	for (pid_t got = 0; child > 0 && got != child && !ended_by;) {
		got = waitpid(-1, &status, 0);
		if (got < 0 && errno != EINTR)
			break;
	}
	alarm(0);
	kill_rest();
	if (ended_by == SIGALRM)
		fprintf(stderr, "run_test: ended after its limit of %u s\n", limit_s);
	if (ended_by || child < 0)
		return 124;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int code;

	if (argc == 2 && !strcmp(argv[1], "--calibrate"))
		return calibrate();
	if (argc < 5) {
		fprintf(stderr, "usage: run_test LIMIT COSTS NAME COMMAND...\n");
		return 2;
	}
	code = run((unsigned)strtoul(argv[1], NULL, 10), argv + 4);
	write_cost(argv[2], argv[3]);
	return code;
}
