/*
 * The table of collectors, and the reading of those in use: the sources of many values, and the
 * files of one. Which sensors a machine has is known in sensors.c.
 */
#include "collect/collect.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "collect/proc_keyed.h"
#include "collect/proc_stat.h"
#include "collect/sensors.h"
#include "collect/value_file.h"

#include <errno.h>
#include <string.h>

enum collector { PROC_STAT, PROC_MEMINFO, PROC_VMSTAT, NR_COLLECTORS };

static const struct collect_source *const sources[NR_COLLECTORS] = {
    [PROC_STAT] = &proc_stat_source,
    [PROC_MEMINFO] = &proc_meminfo_source,
    [PROC_VMSTAT] = &proc_vmstat_source,
};

#define ROW(number_, name_, kind_, scope_, unit_, path, collector_, field_, text)                  \
	{                                                                                          \
		.name = name_, .number = number_, .kind = kind_, .scope = scope_, .unit = unit_,   \
		.source = path, .collector = collector_, .field = field_, .description = text      \
	}

/* clang-format off */
static const struct event_row misc_rows[] = {
	ROW(101, "cpu_utilization", EVENT_SHARE, EVENT_SCOPE_CPU, "%", "/proc/stat",
	    PROC_STAT, PROC_STAT_UTILIZATION,
	    "Share of time in which the CPU was busy: all but idle and waiting for disks."),
	ROW(102, "cpu_user", EVENT_SHARE, EVENT_SCOPE_CPU, "%", "/proc/stat",
	    PROC_STAT, PROC_STAT_USER,
	    "Share of time in user programs, nice ones and guests included."),
	ROW(103, "cpu_system", EVENT_SHARE, EVENT_SCOPE_CPU, "%", "/proc/stat",
	    PROC_STAT, PROC_STAT_SYSTEM,
	    "Share of time in the kernel, without interrupts."),
	ROW(104, "cpu_iowait", EVENT_SHARE, EVENT_SCOPE_CPU, "%", "/proc/stat",
	    PROC_STAT, PROC_STAT_IOWAIT,
	    "Share of time idle while a task of this CPU waited for a disk; a hint, no more."),
	ROW(105, "context_switches", EVENT_COUNT, EVENT_SCOPE_SYSTEM, "switches", "/proc/stat",
	    PROC_STAT, PROC_STAT_CTXT,
	    "Context switches of the whole machine."),
	ROW(120, "memory_used", EVENT_VALUE, EVENT_SCOPE_SYSTEM, "B", "/proc/meminfo",
	    PROC_MEMINFO, PROC_MEMINFO_USED,
	    "Memory in use: MemTotal - MemFree - Buffers - Cached."),
	ROW(121, "memory_available", EVENT_VALUE, EVENT_SCOPE_SYSTEM, "B", "/proc/meminfo",
	    PROC_MEMINFO, PROC_MEMINFO_AVAILABLE,
	    "Memory that programs can get without swapping, as the kernel estimates it."),
	ROW(130, "page_faults", EVENT_COUNT, EVENT_SCOPE_SYSTEM, "faults", "/proc/vmstat",
	    PROC_VMSTAT, PROC_VMSTAT_PGFAULT,
	    "Page faults of the whole machine, minor and major."),
};
/* clang-format on */

static const struct event_maker *const makers[] = {&event_uncore_maker, &event_energy_maker,
						   &collect_sensor_maker};

const struct event_group collect_misc_group = {
    .name = "misc",
    .description = "What /proc and sysfs tell of the machine: counts of its parts, sensors.",
    .id = EVENT_GROUP_MISC,
    .is_perf = false,
    .rows = misc_rows,
    .nr_rows = sizeof(misc_rows) / sizeof(misc_rows[0]),
    .makers = makers,
    .nr_makers = sizeof(makers) / sizeof(makers[0]),
};

/* One file in use. */
struct open_source {
	int fd;     /* -1: not in use or not to be opened */
	int status; /* of the last read: 0 or -errno */
	uint64_t time_ns;
	void *state; /* owned */
};

struct collect {
	struct root root;
	const struct event *events;
	size_t nr_events;
	uint32_t nr_cpus;
	struct buf text;
	struct open_source open[NR_COLLECTORS];
	struct value_files *values; /* of each event; zeroes where it has none; owned */
};

/* /proc/stat of 8,192 CPUs and their interrupts stays well below this. */
enum { MAX_TEXT_BYTES = 16 << 20 };

static size_t state_bytes(const struct collect *c, const struct collect_source *s)
{
	return s->state_bytes + (size_t)c->nr_cpus * s->cpu_bytes;
}

static int open_source(struct collect *c, enum collector which)
{
	struct open_source *o = &c->open[which];

	if (o->state)
		return o->status;
	o->state = mem_zalloc(state_bytes(c, sources[which]));
	if (!o->state)
		return -ENOMEM;
	o->fd = root_open(&c->root, sources[which]->path);
	o->status = o->fd < 0 ? o->fd : 0;
	if (o->fd < 0)
		o->fd = -1;
	return o->status;
}

static bool is_per_cpu(const struct event_row *row)
{
	return row->scope == EVENT_SCOPE_CPU;
}

static int open_event(struct collect *c, size_t i)
{
	const struct event_row *row = c->events[i].row;

	if (row->missing)
		return -ENODEV;
	if (row->collector < NR_COLLECTORS)
		return open_source(c, (enum collector)row->collector);
	return value_files_open(&c->root, row->source, is_per_cpu(row) ? c->nr_cpus : 0,
				&c->values[i]);
}

static uint32_t count_possible_cpus(const struct root *root)
{
	struct cpuset set;
	struct buf text;
	uint32_t nr = 0;

	buf_init(&text, 65536);
	if (root_load(root, "/sys/devices/system/cpu/possible", &text) == 0 &&
	    cpuset_parse(buf_str(&text), text.len, &set) == 0)
		for (int cpu = cpuset_next(&set, 0); cpu >= 0; cpu = cpuset_next(&set, nr))
			nr = (uint32_t)cpu + 1;
	buf_fini(&text);
	return nr ? nr : CPUSET_MAX_CPU;
}

static struct collect *collect_new(const struct root *root, const struct event *events, size_t nr)
{
	struct collect *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->values = mem_calloc(nr ? nr : 1, sizeof(*c->values));
	if (!c->values) {
		mem_free(c);
		return NULL;
	}
	buf_init(&c->text, MAX_TEXT_BYTES);
	c->root = *root;
	c->events = events;
	c->nr_events = nr;
	for (size_t i = 0; i < NR_COLLECTORS; i++)
		c->open[i].fd = -1;
	if (nr)
		c->nr_cpus = count_possible_cpus(root);
	return c;
}

int collect_open(const struct root *root, const struct event *events, size_t nr,
		 struct collect **out, int *states)
{
	struct collect *c = collect_new(root, events, nr);

	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		states[i] = open_event(c, i);
		if (states[i] == -ENOMEM) {
			collect_close(c);
			return -ENOMEM;
		}
	}
	*out = c;
	return 0;
}

void collect_close(struct collect *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NR_COLLECTORS; i++) {
		io_close(&c->open[i].fd);
		mem_free(c->open[i].state);
	}
	for (size_t i = 0; i < c->nr_events; i++)
		value_files_close(&c->values[i]);
	mem_free(c->values);
	buf_fini(&c->text);
	mem_free(c);
}

/* The whole file from its start: proc files make their text anew for a read at offset 0. */
static int load_again(int fd, struct buf *text)
{
	enum { STEP_BYTES = 8192 };
	ssize_t n;

	buf_reset(text);
	do {
		char *p = buf_reserve(text, STEP_BYTES);

		if (!p)
			return buf_error(text);
		n = sys()->pread(fd, p, STEP_BYTES, (off_t)text->len);
		if (n > 0)
			text->len += (size_t)n;
	} while (n > 0 || n == -EINTR);
	return (int)n;
}

static void read_source(struct collect *c, enum collector which)
{
	struct open_source *o = &c->open[which];

	if (o->fd < 0)
		return;
	o->status = load_again(o->fd, &c->text);
	o->time_ns = clock_monotonic_ns();
	memset(o->state, 0, state_bytes(c, sources[which]));
	if (o->status == 0)
		o->status =
		    sources[which]->parse(buf_str(&c->text), c->text.len, o->state, c->nr_cpus);
}

void collect_read(struct collect *c)
{
	for (size_t i = 0; i < NR_COLLECTORS; i++)
		read_source(c, (enum collector)i);
	for (size_t i = 0; i < c->nr_events; i++)
		value_files_read(&c->values[i]);
}

bool collect_belongs(const struct event *ev, uint32_t trace)
{
	return is_per_cpu(ev->row) || trace == 0;
}

static void get_from_source(const struct collect *c, const struct event_row *row, uint32_t cpu,
			    struct reading *out)
{
	const struct open_source *o = &c->open[row->collector];
	bool per_cpu = is_per_cpu(row);
	struct collect_value v = {0};

	out->state = READING_FAILED;
	out->time_ns = o->time_ns;
	out->raw = out->base = 0;
	if (o->fd < 0 || o->status || (per_cpu && cpu >= c->nr_cpus))
		return;
	if (!sources[row->collector]->get(o->state, row->field, per_cpu ? cpu : 0, &v)) {
		/* an offline CPU has no line in /proc/stat */
		out->state = per_cpu ? READING_NONE : READING_FAILED;
		return;
	}
	out->state = READING_OK;
	out->raw = v.raw;
	out->base = v.base;
}

void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out)
{
	const struct event_row *row = c->events[i].row;

	if (row->collector < NR_COLLECTORS && !row->missing)
		get_from_source(c, row, cpu, out);
	else
		value_files_get(&c->values[i], is_per_cpu(row) ? cpu : 0, out);
}
