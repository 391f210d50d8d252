/*
 * The table of collectors, and the reading of those in use.
 */
#include "collect/collect.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "collect/proc_keyed.h"
#include "collect/proc_stat.h"

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

const struct event_group collect_misc_group = {
    .name = "misc",
    .description = "What /proc tells of the machine; read, not opened.",
    .id = EVENT_GROUP_MISC,
    .is_perf = false,
    .rows = misc_rows,
    .nr_rows = sizeof(misc_rows) / sizeof(misc_rows[0]),
};

/* One file in use. */
struct open_source {
	int fd;     /* -1: not in use or not to be opened */
	int status; /* of the last read: 0 or -errno */
	uint64_t time_ns;
	void *state; /* owned */
};

struct collect {
	const struct event *events;
	size_t nr_events;
	uint32_t nr_cpus;
	struct buf text;
	struct open_source open[NR_COLLECTORS];
};

/* /proc/stat of 8,192 CPUs and their interrupts stays well below this. */
enum { MAX_TEXT_BYTES = 16 << 20 };

static size_t state_bytes(const struct collect *c, const struct collect_source *s)
{
	return s->state_bytes + (size_t)c->nr_cpus * s->cpu_bytes;
}

static int open_one(struct collect *c, const struct root *root, enum collector which)
{
	struct open_source *o = &c->open[which];

	if (o->state)
		return o->status;
	o->state = mem_zalloc(state_bytes(c, sources[which]));
	if (!o->state)
		return -ENOMEM;
	o->fd = root_open(root, sources[which]->path);
	o->status = o->fd < 0 ? o->fd : 0;
	if (o->fd < 0)
		o->fd = -1;
	return o->status;
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

int collect_open(const struct root *root, const struct event *events, size_t nr,
		 struct collect **out, int *states)
{
	struct collect *c = mem_zalloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	buf_init(&c->text, MAX_TEXT_BYTES);
	c->events = events;
	c->nr_events = nr;
	for (size_t i = 0; i < NR_COLLECTORS; i++)
		c->open[i].fd = -1;
	if (nr)
		c->nr_cpus = count_possible_cpus(root);
	for (size_t i = 0; i < nr; i++) {
		states[i] = open_one(c, root, events[i].row->collector);
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

static void read_one(struct collect *c, enum collector which)
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
		read_one(c, (enum collector)i);
}

bool collect_belongs(const struct event *ev, uint32_t trace)
{
	return ev->row->scope == EVENT_SCOPE_CPU || trace == 0;
}

void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out)
{
	const struct event_row *row = c->events[i].row;
	const struct open_source *o = &c->open[row->collector];
	bool per_cpu = row->scope == EVENT_SCOPE_CPU;
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
