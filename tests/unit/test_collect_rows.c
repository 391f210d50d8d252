/*
 * Every row of misc against its source: a machine whose files have another number in each field,
 * and a list, written by hand from those files, of what each event must show. A row without a line
 * in the list fails, and a line without a row.
 */
#include "kit.h"

#include "base/arena.h"
#include "collect/collect.h"
#include "collect/disk.h"
#include "collect/sensors.h"
#include "host/host.h"

#include <math.h>

enum { MAX_EVENTS = 256, MAX_THINGS = 8 };

/* thing: "" for the machine. A share is shown of base; what has a base is read of CPU 0 and 1. */
static const struct line {
	const char *name, *kind, *unit, *thing;
	double shown, of; /* of CPU 0 where there is one each */
	double shown_1, of_1;
} lines[] = {
    {"cpu_utilization", "share", "%", "", 57632, 462644, 63328, 508816},
    {"cpu_user", "share", "%", "", 12010, 462644, 13190, 508816},
    {"cpu_system", "share", "%", "", 30011, 462644, 32989, 508816},
    {"cpu_iowait", "share", "%", "", 5003, 462644, 5497, 508816},
    {"cpu_nice", "share", "%", "", 2003, 462644, 2197, 508816},
    {"cpu_idle", "share", "%", "", 400009, 462644, 439991, 508816},
    {"cpu_irq", "share", "%", "", 601, 462644, 659, 508816},
    {"cpu_softirq", "share", "%", "", 7001, 462644, 7699, 508816},
    {"cpu_steal", "share", "%", "", 8009, 462644, 8791, 508816},
    {"context_switches", "count", "switches", "", 901909},
    {"forks", "count", "forks", "", 18181},
    {"runnable", "value", "tasks", "", 17},
    {"blocked", "value", "tasks", "", 19},
    {"load_average_1", "value", "tasks", "", 1.37},
    {"load_average_5", "value", "tasks", "", 2.59},
    {"load_average_15", "value", "tasks", "", 4.83},
    {"memory_used", "value", "B", "", 6700044.0 * 1024},
    {"memory_unavailable", "value", "B", "", 4000040.0 * 1024},
    {"memory_available", "value", "B", "", 12000017.0 * 1024},
    {"memory_total", "value", "B", "", 16000057.0 * 1024},
    {"memory_free", "value", "B", "", 7000003.0 * 1024},
    {"memory_buffers", "value", "B", "", 300007.0 * 1024},
    {"memory_cached", "value", "B", "", 2000003.0 * 1024},
    {"memory_shared", "value", "B", "", 80021.0 * 1024},
    {"memory_dirty", "value", "B", "", 60013.0 * 1024},
    {"swap_used", "value", "B", "", 2000010.0 * 1024},
    {"swap_total", "value", "B", "", 5000011.0 * 1024},
    {"page_faults", "count", "faults", "", 6550567},
    {"major_faults", "count", "faults", "", 7867},
    {"page_in", "count", "B", "", 1310117.0 * 1024},
    {"page_out", "count", "B", "", 2620231.0 * 1024},
    {"swap_in", "count", "pages", "", 3930343},
    {"swap_out", "count", "pages", "", 5240459},
    {"pressure_cpu_some", "count", "ns", "", 410000011e3},
    {"pressure_memory_some", "count", "ns", "", 510000017e3},
    {"pressure_memory_full", "count", "ns", "", 520000019e3},
    {"pressure_io_some", "count", "ns", "", 610000021e3},
    {"pressure_io_full", "count", "ns", "", 620000023e3},
    {"disk_read_bytes", "count", "B", "sda", 1030301 * 512.0},
    {"disk_write_bytes", "count", "B", "sda", 2070703 * 512.0},
    {"disk_read_ops", "count", "requests", "sda", 10103},
    {"disk_write_ops", "count", "requests", "sda", 20507},
    {"disk_read_time", "count", "ns", "sda", 10427e6},
    {"disk_write_time", "count", "ns", "sda", 20809e6},
    {"disk_busy_time", "count", "ns", "sda", 30911e6},
    {"disk_read_queue", "value", "requests", "sda", 29},
    {"disk_write_queue", "value", "requests", "sda", 37},
    {"disk_discard_bytes", "count", "B", "sda", 521509 * 512.0},
    {"process_cpu_time", "count", "ns", "71 worker", 4000000026},
    {"process_run_delay", "count", "ns", "71 worker", 70000028},
    {"process_rss", "value", "B", "71 worker", 5021, .of = -1}, /* in pages, as the size */
    {"process_peak_rss", "value", "B", "71 worker", 22136 * 1024.0},
    {"process_vms", "value", "B", "71 worker", 20021, .of = -1},
    {"process_shared", "value", "B", "71 worker", 1013, .of = -1},
    {"process_read_bytes", "count", "B", "71 worker", 7504001},
    {"process_write_bytes", "count", "B", "71 worker", 7606003},
    {"process_threads", "value", "threads", "71 worker", 2},
    {"process_faults", "count", "faults", "71 worker", 123024},
    {"process_minor_faults", "count", "faults", "71 worker", 110017},
    {"process_major_faults", "count", "faults", "71 worker", 13007},
    {"process_fds", "value", "files", "71 worker", 5},
    {"net_rx_bytes", "count", "B", "eth0", 7100101},
    {"net_tx_bytes", "count", "B", "eth0", 8100107},
    {"net_rx_packets", "count", "packets", "eth0", 71201},
    {"net_tx_packets", "count", "packets", "eth0", 81203},
    {"net_rx_errors", "count", "errors", "eth0", 7301},
    {"net_tx_errors", "count", "errors", "eth0", 8311},
    {"net_rx_drops", "count", "packets", "eth0", 7403},
    {"net_tx_drops", "count", "packets", "eth0", 8419},
    {"cgroup_cpu_usage", "count", "ns", "/work", 910000009e3},
    {"cgroup_cpu_throttled", "count", "ns", "/work", 92000011e3},
    {"cgroup_memory_current", "value", "B", "/work", 930000013},
    {"cgroup_io_read_bytes", "count", "B", "/work", 9410021},
    {"cgroup_io_write_bytes", "count", "B", "/work", 9510023},
    {"package_temperature", "value", "°C", "", 51.25},
    {"ia_temperature", "value", "°C", "", 47.75},
    {"hwmon/coretemp/package_id_0", "value", "°C", "", 51.25},
    {"hwmon/coretemp/core_0", "value", "°C", "", 47.75},
    {"thermal/acpitz", "value", "°C", "", 38.125},
    {"cpu_frequency", "value", "Hz", "", 2101101e3, .shown_1 = 2202202e3},
};

struct all {
	struct event events[MAX_EVENTS];
	struct things_choice choices[MAX_EVENTS];
	int states[MAX_EVENTS];
	size_t nr;
	struct collect *c;
};

static const struct line *line_of(const char *name)
{
	for (size_t i = 0; i < NR(lines); i++)
		if (strcmp(lines[i].name, name) == 0)
			return &lines[i];
	return NULL;
}

static int take(const struct event *ev, void *arg)
{
	static const char *const group[] = {"/work"};
	struct all *a = arg;

	assert_false(event_is_perf(ev));
	assert_true(a->nr < MAX_EVENTS);
	if (strncmp(ev->row->name, "bpf_", 4) == 0) /* of no file: test_collect_bpf_program.c */
		return 0;
	if (strncmp(ev->row->name, "cgroup_", 7) == 0)
		a->choices[a->nr] = (struct things_choice){group, 1};
	a->events[a->nr++] = *ev;
	return 0;
}

static const char *kind_name(enum event_kind k)
{
	return k == EVENT_COUNT   ? "count"
	       : k == EVENT_VALUE ? "value"
	       : k == EVENT_SHARE ? "share"
				  : "?";
}

static double shown(const struct event_row *row, uint64_t raw)
{
	return (double)raw * (row->scale == 0 ? 1 : row->scale);
}

static void check_number(const struct event_row *row, const struct reading *r, double want,
			 double of)
{
	if (r->state != READING_OK || fabs(shown(row, r->raw) - want) > 1e-9 * want ||
	    (double)r->base != of)
		fail_msg("%s: %s, %.10g of %llu, not %.10g of %.10g", row->name,
			 reading_state_name(r->state), shown(row, r->raw),
			 (unsigned long long)r->base, want, of);
}

static void check_thing(const struct all *a, size_t i, const struct line *l)
{
	uint32_t set = collect_set(a->c, i);
	double unit = l->of < 0 ? (double)sysconf(_SC_PAGESIZE) : 1;
	struct things_one t;
	struct reading r;

	assert_int_equal(collect_nr_things(a->c, set), 1);
	collect_get_thing(a->c, set, 0, &t);
	assert_string_equal(t.name, l->thing);
	if (!collect_get_of_thing(a->c, i, &t, &r))
		fail_msg("%s: no reading", l->name);
	check_number(a->events[i].row, &r, l->shown * unit, 0);
}

static void check_row(const struct all *a, size_t i)
{
	const struct event_row *row = a->events[i].row;
	const struct line *l = line_of(row->name);
	struct reading r = {0};

	if (!l)
		fail_msg("%s: a row that the list of this test lacks", row->name);
	if (a->states[i] || row->missing)
		fail_msg("%s: %d %s", row->name, a->states[i], row->missing ? row->missing : "");
	assert_string_equal(kind_name(row->kind), l->kind);
	assert_string_equal(row->unit, l->unit);
	assert_int_equal(collect_is_many(&a->events[i]), *l->thing != '\0');
	assert_int_equal(row->scope == EVENT_SCOPE_CPU, l->shown_1 != 0);
	if (*l->thing) {
		check_thing(a, i, l);
		return;
	}
	collect_get(a->c, i, 0, &r);
	check_number(row, &r, l->shown, l->of);
	collect_get(a->c, i, 1, &r);
	check_number(row, &r, l->shown_1 != 0 ? l->shown_1 : l->shown, l->of_1);
}

/* No two numbers of the list are the same by chance: a field that is another's would not be seen.
 */
TEST(list)
{
	for (size_t i = 0; i < NR(lines); i++)
		for (size_t k = 0; k < i; k++)
			if (lines[i].shown == lines[k].shown && strcmp(lines[i].unit, "°C") != 0)
				fail_msg("%s and %s", lines[i].name, lines[k].name);
}

TEST(every_row)
{
	/* misc without its perf events, which others make */
	static const struct event_maker *const makers[] = {&collect_sensor_maker};
	struct event_group misc = collect_misc_group;
	const struct event_group *const groups[] = {&misc};
	struct root root = tree_captured("distinct");
	static struct all a;
	struct err e = {0};
	struct arena arena;
	struct host host;
	struct catalogue c;

	assert_int_equal(misc.nr_makers, 3); /* another one's rows belong into the list */
	misc.makers = makers;
	misc.nr_makers = 1;
	assert_int_equal(host_load(&root, &host, &e), 0);
	arena_init(&arena, 16 << 20);
	c = (struct catalogue){groups, 1, &host, &arena, NULL};
	assert_int_equal(catalogue_each(&c, take, &a), 0);
	assert_int_equal(collect_open(&root, a.events, a.choices, a.nr, &a.c, a.states), 0);
	collect_read(a.c);
	for (size_t i = 0; i < a.nr; i++)
		check_row(&a, i);
	assert_int_equal(a.nr, NR(lines)); /* names are not twice in the catalogue */
	collect_close(a.c);
	arena_fini(&arena);
	host_fini(&host);
}

/* What a thing cannot say has a reading that says why. */
TEST(why_not)
{
	enum { FIELD = 1u << DISK_READ_BYTES };
	const uint64_t values[] = {7, 7, 7};
	const struct {
		struct things_one thing;
		uint32_t state;
		uint64_t base;
	} rows[] = {
	    {{.has = FIELD, .values = values, .missed = FIELD, .nr_missed = 4}, READING_OK, 4},
	    {{.has = FIELD, .values = values, .missed = 2 * FIELD, .nr_missed = 4}, READING_OK},
	    {{.has = FIELD, .values = values}, READING_OK},
	    {{.denied = FIELD}, READING_NO_PERMISSION},
	    {{.absent = FIELD}, READING_NOT_SUPPORTED},
	    {{.failed = FIELD}, READING_FAILED},
	    {{.denied = 2 * FIELD}, READING_NONE},
	};
	struct root root = tree_captured("distinct");
	struct event ev = {&collect_misc_group, NULL};
	struct collect *c;
	int opened;

	for (size_t i = 0; i < collect_misc_group.nr_rows; i++)
		if (strcmp(collect_misc_group.rows[i].name, "disk_read_bytes") == 0)
			ev.row = &collect_misc_group.rows[i];
	assert_int_equal(collect_open(&root, &ev, NULL, 1, &c, &opened), 0);
	for (size_t i = 0; i < NR(rows); i++) {
		struct things_one thing = rows[i].thing;
		struct reading r = {0};

		thing.number = 5;
		thing.time_ns = 9;
		assert_int_equal(collect_get_of_thing(c, 0, &thing, &r),
				 rows[i].state != READING_NONE);
		assert_int_equal(r.state, rows[i].state);
		assert_int_equal(r.raw, r.state == READING_OK ? 7 : 0);
		assert_int_equal(r.base, rows[i].base);
		assert_int_equal(r.instance, r.state == READING_NONE ? 0 : 5);
		assert_int_equal(r.time_ns, r.state == READING_NONE ? 0 : 9);
	}
	collect_close(c);
}
