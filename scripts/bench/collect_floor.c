/*
 * The floors of reading processes, and ours beside them in one run, reading by reading: by the
 * iterator in the kernel, where it is permitted, and from /proc. Bare: the same files kept open,
 * one pread each, nothing parsed; /proc listed and each task/ asked for its links, so that new
 * processes and threads would be found; of the iterator: its records, not looked at. Prints a line
 * "WHAT NUMBER" for each reading: its CPU time in ns; "processes": how many there are; "woken": how
 * many of them are ours to wake.
 *
 *   collect_floor PROCESSES READINGS
 *
 * Sleeping processes are added until there are PROCESSES. Without readings it only keeps them.
 */
#include "base/err.h"
#include "base/root.h"
#include "bpf/tasks.h"
#include "process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATM, IO, SCHEDSTAT, TASK, NR_FILES, MAX_PROCESSES = 65536, ENTRIES_BYTES = 32768 };

static const char *const names[NR_FILES] = {"statm", "io", "schedstat", "task"};
static int proc, files[MAX_PROCESSES][NR_FILES];
static long nr_files; /* processes in it */

static void die(const char *what)
{
	fprintf(stderr, "collect_floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Calls fn, if there is one, with each process of /proc; how many there are. */
static long list(void (*fn)(const char *pid))
{
	static _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
	long nr = 0;
	ssize_t n;

	if (lseek(proc, 0, SEEK_SET))
		die("/proc");
	while ((n = getdents64(proc, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(entries + at);

			at += d->d_reclen;
			if (d->d_name[0] < '0' || d->d_name[0] > '9')
				continue;
			nr++;
			if (fn)
				fn(d->d_name);
		}
	return nr;
}

static void open_one(const char *pid)
{
	char path[300];

	for (int i = 0; i < NR_FILES && nr_files < MAX_PROCESSES; i++) {
		snprintf(path, sizeof(path), "%s/%s", pid, names[i]);
		files[nr_files][i] = openat(proc, path, O_RDONLY | O_CLOEXEC);
	}
	nr_files += nr_files < MAX_PROCESSES;
}

static void read_bare(void *unused)
{
	char text[2048];
	struct stat st;

	(void)unused;
	list(NULL);
	for (long i = 0; i < nr_files; i++) {
		(void)fstat(files[i][TASK], &st);
		for (int k = 0; k < TASK; k++)
			(void)!pread(files[i][k], text, sizeof(text), 0); /* it may have ended */
	}
}

static void read_ours(void *state)
{
	if (process_source.read(state))
		die("the source of processes");
}

/* NULL: the kernel does not read them. */
static void *open_ours(uint32_t fields, bool is_by_kernel)
{
	static const struct things_choice all;
	struct err why = {0};
	void *state;

	if (process_source.open(&root_live, &all, fields, &state, NULL))
		die("the source of processes");
	if (is_by_kernel && process_source.use_kernel(state, &why)) {
		fprintf(stderr, "collect_floor: without the iterator: %s\n", why.msg);
		process_source.close(state);
		return NULL;
	}
	read_ours(state);
	return state;
}

static int ignore_record(const struct bpf_tasks_process *process,
			 const struct bpf_tasks_thread *thread, void *unused)
{
	(void)process;
	(void)thread;
	(void)unused;
	return 0;
}

static void iterate(void *tasks)
{
	if (tasks_read(tasks, ignore_record, NULL))
		die("the iterator");
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void measure(const char *what, void (*fn)(void *arg), void *arg)
{
	uint64_t start = cpu_ns();

	fn(arg);
	printf("%s %llu\n", what, (unsigned long long)(cpu_ns() - start));
}

static void ignore(int signal)
{
	(void)signal;
}

/* They sleep, and wake for a moment at a signal; in a group of their own. How many were made. */
static long add_processes(long nr, pid_t *group)
{
	long made = 0;

	for (*group = 0; list(NULL) < nr; made++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (child == 0) {
			signal(SIGUSR1, ignore);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		*group = *group ? *group : child;
		if (setpgid(child, *group))
			die("setpgid");
	}
	return made;
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		die("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Longer than the source takes for falling asleep. */
static void rest(void)
{
	const struct timespec pause_40_ms = {.tv_nsec = 40000000};

	nanosleep(&pause_40_ms, NULL);
}

int main(int argc, char **argv)
{
	const uint32_t fields = 1u << PROCESS_CPU_TIME | 1u << PROCESS_RUN_DELAY |
				1u << PROCESS_RSS | 1u << PROCESS_VMS | 1u << PROCESS_SHARED |
				1u << PROCESS_READ_BYTES | 1u << PROCESS_WRITE_BYTES;
	const struct tasks_config config = {true, true, true};
	long nr, readings, woken;
	struct tasks *tasks = NULL;
	void *by_files, *kernel;
	struct err why = {0};
	pid_t group;

	if (argc != 3)
		return 2;
	nr = strtol(argv[1], NULL, 10);
	readings = strtol(argv[2], NULL, 10);
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		die("/proc");
	raise_limit();
	woken = add_processes(nr, &group);
	printf("processes %ld\nwoken %ld\n", list(open_one), woken);
	fflush(stdout);
	if (!readings)
		pause();
	by_files = open_ours(fields, false);
	kernel = open_ours(fields, true);
	if (kernel && tasks_open(&config, &tasks, &why))
		die(why.msg);
	for (; readings; readings--) {
		if (group)
			kill(-group, SIGUSR1);
		rest();
		measure("awake", read_ours, by_files);
		measure("awake-again", read_ours, by_files);
		rest();
		measure("bare", read_bare, NULL);
		measure("bare-again", read_bare, NULL);
		rest();
		measure("asleep", read_ours, by_files);
		measure("asleep-again", read_ours, by_files);
		if (!kernel)
			continue;
		if (group)
			kill(-group, SIGUSR1);
		rest();
		measure("kernel", read_ours, kernel);
		measure("kernel-again", read_ours, kernel);
		rest();
		measure("kernel-bare", iterate, tasks);
		measure("kernel-bare-again", iterate, tasks);
	}
	return 0;
}
