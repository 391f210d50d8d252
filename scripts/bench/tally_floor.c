/*
 * The floor of a tally: 8 software events in one group per CPU, read on absolute deadlines and
 * nothing else; or only the files of an iteration, created, written and renamed. What bench-tally
 * holds cpuperf against.
 *
 *   tally_floor read  N PERIOD_MS
 *   tally_floor files N PERIOD_MS FOLDER BYTES
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 1024, NR_EVENTS = 8 };

static const uint64_t configs[NR_EVENTS] = {
    PERF_COUNT_SW_CPU_CLOCK,        PERF_COUNT_SW_TASK_CLOCK,       PERF_COUNT_SW_PAGE_FAULTS,
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,   PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ,  PERF_COUNT_SW_ALIGNMENT_FAULTS,
};

static void die(const char *what)
{
	fprintf(stderr, "tally_floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_group(int cpu)
{
	int leader = -1;

	for (int i = 0; i < NR_EVENTS; i++) {
		struct perf_event_attr a = {
		    .size = sizeof(a),
		    .type = PERF_TYPE_SOFTWARE,
		    .config = configs[i],
		    .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				   PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, leader, 0);

		if (fd < 0)
			die("perf_event_open");
		if (leader < 0)
			leader = fd;
	}
	return leader;
}

static void wait_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void write_file(const char *folder, const char *name, long i, const void *data, size_t len)
{
	char temporary[4096], final[4096];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s/.floor.tmp", folder);
	snprintf(final, sizeof(final), "%s/%s.%ld", folder, name, i);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) || rename(temporary, final))
		die(final);
}

/* As a session does: a trace per CPU of its own name, the manifest again and again. */
static void write_files(const char *folder, long i, long nr_cpus, size_t len)
{
	static char data[1 << 20];

	for (long cpu = 0; cpu < nr_cpus; cpu++) {
		char name[32];

		snprintf(name, sizeof(name), "trace%ld", cpu);
		write_file(folder, name, i, data, len);
	}
	write_file(folder, "manifest", 0, data, 100);
}

int main(int argc, char **argv)
{
	int groups[MAX_CPUS];
	uint64_t words[3 + NR_EVENTS], start;
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), n, period_ms;
	int files = argc == 6 && strcmp(argv[1], "files") == 0;

	if ((argc != 4 && !files) || nr_cpus > MAX_CPUS)
		return 2;
	n = strtol(argv[2], NULL, 10);
	period_ms = strtol(argv[3], NULL, 10);
	for (long cpu = 0; cpu < nr_cpus && !files; cpu++)
		groups[cpu] = open_group((int)cpu);
	start = now();
	for (long i = 0; i < n; i++) {
		wait_until(start + (uint64_t)(i + 1) * (uint64_t)period_ms * 1000000);
		if (files)
			write_files(argv[4], i, nr_cpus, (size_t)strtol(argv[5], NULL, 10));
		for (long cpu = 0; cpu < nr_cpus && !files; cpu++)
			if (read(groups[cpu], words, sizeof(words)) != sizeof(words))
				die("read");
	}
	return 0;
}
