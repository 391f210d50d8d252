/*
 * Any text as each of the files that tell of the machine, its disks, network interfaces, cgroups
 * and GPUs; and, cut at lines of "%", as what /proc/net/dev says at one reading after the other.
 * Shares are no more than their whole; a thing keeps its number, and no number is given twice.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/sys.h"
#include "collect/disk.h"
#include "collect/machine_keyed.h"
#include "collect/machine_pressure.h"
#include "collect/net.h"
#include "gpu/metrics.h"
#include "things/cgroup.h"
#include "things/cgroup_text.h"
#include "things/machine_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NR_CPUS = 4, MAX_READINGS = 8, MAX_NUMBERS = 256 };

static void require(int holds)
{
	if (!holds)
		abort();
}

static const struct {
	const struct collect_source *source;
	uint16_t nr_fields;
	uint32_t nr_cpus;
} sources[] = {
    {&machine_stat_source, MACHINE_STAT_PROCS_BLOCKED + 1, NR_CPUS},
    {&machine_meminfo_source, MACHINE_MEMINFO_SWAP_USED + 1, 1},
    {&machine_vmstat_source, MACHINE_VMSTAT_PSWPOUT + 1, 1},
    {&machine_pressure_cpu_source, MACHINE_PRESSURE_FULL + 1, 1},
};

static void check_source(size_t i, const char *text, size_t len)
{
	const struct collect_source *s = sources[i].source;
	void *state = calloc(1, s->state_bytes + NR_CPUS * s->cpu_bytes);
	int rc;

	require(state != NULL);
	rc = s->parse(text, len, state, NR_CPUS);
	require(rc == 0 || rc == -EINVAL || rc == -ERANGE);
	for (uint16_t field = 0; field < sources[i].nr_fields; field++)
		for (uint32_t cpu = 0; cpu < sources[i].nr_cpus; cpu++) {
			struct collect_value v = {0};

			if (s->get(state, field, cpu, &v))
				require(!v.base || v.raw <= v.base);
		}
	free(state);
}

static const struct {
	int (*parse)(const char *text, size_t len, uint64_t *values, uint32_t *has);
	unsigned nr_fields;
} files[] = {
    {disk_parse_stat, DISK_NR_FIELDS},    {disk_parse_inflight, DISK_NR_FIELDS},
    {cgroup_parse_cpu, CGROUP_NR_FIELDS}, {cgroup_parse_memory, CGROUP_NR_FIELDS},
    {cgroup_parse_io, CGROUP_NR_FIELDS},  {gpu_metrics_parse, GPU_NR_FIELDS},
};

static void check_file(size_t i, const char *text, size_t len)
{
	uint64_t *values = calloc(files[i].nr_fields, sizeof(*values));
	uint32_t has = 0;
	int rc = files[i].parse(text, len, values, &has);

	require(rc == 0 || rc == -EINVAL || rc == -ERANGE);
	require(has >> files[i].nr_fields == 0);
	free(values);
}

/* What is noted of a table of metrics is short, and nothing where it has a field. */
static void check_explained(const char *text, size_t len)
{
	uint64_t values[GPU_NR_FIELDS];
	uint32_t has = 0;
	BUF_AUTO(why, 256);

	gpu_metrics_explain(text, len, &why);
	require(!buf_error(&why));
	require(!why.len || gpu_metrics_parse(text, len, values, &has) || !has);
}

static void check_mount(const char *text, size_t len)
{
	char mount[16];
	int rc = cgroup_find_mount(text, len, mount, sizeof(mount));

	require(rc == -ENOENT || (rc == 0 && strnlen(mount, sizeof(mount)) < sizeof(mount)));
}

/* What the next reading of a file gives. */
static const char *now;
static size_t now_len;

static int open_nothing(int dirfd, const char *path, int flags, mode_t mode)
{
	(void)dirfd;
	(void)path;
	(void)flags;
	(void)mode;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static ssize_t read_now(int fd, void *buf, size_t len, off_t at)
{
	size_t n = (size_t)at < now_len ? now_len - (size_t)at : 0;

	(void)fd;
	n = n < len ? n : len;
	if (n)
		memcpy(buf, now + at, n);
	return (ssize_t)n;
}

/* The next part of the text, up to a line of "%" or the end; false behind it. */
static int next_part(const char **text, const char *end)
{
	const char *line, *stop;

	if (*text == end)
		return 0;
	now = *text;
	now_len = 0;
	while ((line = str_next_line(text, end, &stop)) && !(stop - line == 1 && *line == '%'))
		now_len = (size_t)(*text - now);
	return 1;
}

static char *names[MAX_NUMBERS]; /* by number; taken over from reading to reading */

static void check_things(void *state)
{
	uint32_t least = 0;

	for (size_t i = 0; i < collect_net_source.nr(state); i++) {
		struct things_one t;

		collect_net_source.get(state, i, &t);
		require(t.number >= least && t.time_ns && t.has == 0xff);
		least = t.number + 1;
		if (t.number >= MAX_NUMBERS)
			continue;
		if (names[t.number])
			require(strcmp(names[t.number], t.name) == 0);
		else
			names[t.number] = strdup(t.name);
	}
}

static void check_readings(const char *text, const char *end)
{
	static const struct things_choice all = {0};
	struct err e = {0};
	void *state;

	if (!next_part(&text, end))
		return;
	if (collect_net_source.open(&root_live, &all, 0xff, &state, &e)) {
		require(e.code != 0);
		return;
	}
	for (int i = 0; i < MAX_READINGS && next_part(&text, end); i++) {
		int rc = collect_net_source.read(state);

		require(rc == 0 || collect_net_source.nr(state) == 0);
		check_things(state);
	}
	collect_net_source.close(state);
	for (size_t i = 0; i < MAX_NUMBERS; i++) {
		free(names[i]);
		names[i] = NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sys_ops ops;
	const char *text = (const char *)data, *end = text + size;

	ops = sys_kernel_ops;
	ops.openat = open_nothing;
	ops.pread = read_now;
	sys_set_ops(&ops);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		check_source(i, text, size);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check_file(i, text, size);
	check_explained(text, size);
	check_mount(text, size);
	check_readings(text, end);
	return 0;
}
