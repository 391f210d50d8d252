/*
 * The floor of a reading of the system: bare preads of /proc/stat, /proc/meminfo and of stat and
 * inflight of each physical disk, kept open, beside our collectors of the same files, which also
 * parse them and look for disks that came or went. By turns, in one run; medians of one reading.
 *
 *   system_floor [READINGS]
 *   system_floor rate SECONDS
 *
 * The latter is the floor of the rows of system.cpspec 100 times a second: the bare preads of their
 * files at that pace, and waking up alone; CPU time, in percent of one CPU.
 */
#include "base/clock.h"
#include "base/err.h"
#include "collect/collect.h"
#include "collect/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FILES = 256, MAX_EVENTS = 64, TEXT_BYTES = 1 << 20 };

static int files[MAX_FILES];
static size_t nr_files;
static struct collect *system_rows;
static void *disks;

static void die(const char *what)
{
	fprintf(stderr, "system_floor: %s\n", what);
	exit(1);
}

static void open_system(void)
{
	static struct event events[MAX_EVENTS];
	static int states[MAX_EVENTS];
	size_t nr = 0;

	for (size_t i = 0; i < collect_misc_group.nr_rows && nr < MAX_EVENTS; i++) {
		const struct event_row *row = &collect_misc_group.rows[i];

		if (strcmp(row->source, "/proc/stat") == 0 ||
		    strcmp(row->source, "/proc/meminfo") == 0)
			events[nr++] = (struct event){&collect_misc_group, row};
	}
	if (collect_open(&root_live, events, NULL, nr, &system_rows, states))
		die("collect_open");
}

static void open_disks(void)
{
	static const struct things_choice physical = {0};
	struct err e = {0};

	if (collect_disk_source.open(&root_live, &physical, UINT32_MAX, &disks, &e))
		die(e.msg);
	if (collect_disk_source.read(disks))
		die("disks cannot be read");
}

static void open_file(const char *path)
{
	if (nr_files == MAX_FILES)
		die("too many disks");
	files[nr_files] = open(path, O_RDONLY | O_CLOEXEC);
	if (files[nr_files++] < 0)
		die(path);
}

static void open_disk_files(void)
{
	for (size_t i = 0; i < collect_disk_source.nr(disks); i++) {
		struct things_one t;
		char path[300];

		collect_disk_source.get(disks, i, &t);
		snprintf(path, sizeof(path), "/sys/block/%s/stat", t.name);
		open_file(path);
		snprintf(path, sizeof(path), "/sys/block/%s/inflight", t.name);
		open_file(path);
	}
}

static void open_files(void)
{
	open_file("/proc/stat");
	open_file("/proc/meminfo");
	open_disk_files();
}

static void open_rate_files(void)
{
	open_file("/proc/vmstat");
	open_file("/proc/loadavg");
	open_file("/proc/net/dev");
}

static void read_bare(void)
{
	static char text[TEXT_BYTES];

	for (size_t i = 0; i < nr_files; i++)
		if (pread(files[i], text, sizeof(text), 0) <= 0)
			die("pread");
}

static void read_ours(void)
{
	collect_read(system_rows);
	if (collect_disk_source.read(disks))
		die("disks cannot be read");
}

static uint64_t took(void (*fn)(void))
{
	uint64_t start_ns = clock_monotonic_ns();

	fn();
	return clock_monotonic_ns() - start_ns;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_us(uint64_t *ns, size_t nr)
{
	size_t middle = nr / 2;

	qsort(ns, nr, sizeof(*ns), by_size);
	return (double)ns[middle] / 1000;
}

static void rest(void)
{
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double share_of(void (*fn)(void), size_t seconds)
{
	enum { PERIOD_NS = 10000000, PER_S = 100 };
	uint64_t start_ns = cpu_ns(), due_ns = clock_monotonic_ns();

	for (size_t i = 0; i < seconds * PER_S; i++) {
		struct timespec t;

		due_ns += PERIOD_NS;
		t = (struct timespec){.tv_sec = (time_t)(due_ns / 1000000000),
				      .tv_nsec = (long)(due_ns % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		fn();
	}
	return (double)(cpu_ns() - start_ns) / (double)seconds / 1e7;
}

static int rate(size_t seconds)
{
	if (!seconds || seconds > 3600)
		return 2;
	open_disks();
	open_files();
	open_rate_files();
	printf("waking %.3f\n", share_of(rest, seconds));
	printf("bare %.3f\n", share_of(read_bare, seconds));
	return 0;
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	uint64_t *bare_ns, *ours_ns;
	double bare, ours;

	if (argc == 3 && strcmp(argv[1], "rate") == 0)
		return rate(strtoul(argv[2], NULL, 10));
	if (!nr || nr > 10000000)
		return 2;
	bare_ns = calloc(nr, sizeof(*bare_ns));
	ours_ns = calloc(nr, sizeof(*ours_ns));
	if (!bare_ns || !ours_ns)
		die("out of memory");
	open_system();
	open_disks();
	open_files();
	for (size_t i = 0; i < nr; i++) {
		bare_ns[i] = took(read_bare);
		ours_ns[i] = took(read_ours);
	}
	bare = median_us(bare_ns, nr);
	ours = median_us(ours_ns, nr);
	printf("CPUs, memory, %zu disks and what is in flight there; medians of %zu readings\n"
	       "bare preads %8.2f us\nours        %8.2f us\nours / bare %8.2f\n",
	       collect_disk_source.nr(disks), nr, bare, ours, ours / bare);
	return 0;
}
