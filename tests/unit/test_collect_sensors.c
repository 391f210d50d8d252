/*
 * Sensors as events: what captured machines have, under names that stay; their values, read time
 * after time; and nothing bad from names and numbers that no driver would give.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "collect/collect.h"
#include "collect/sensors.h"
#include "collect/value_file.h"
#include "host/host.h"

/* A machine and a catalogue of its sensors alone. */
static const struct event_maker *const makers[] = {&collect_sensor_maker};
static const struct event_group sensors = {
    .name = "misc", .id = EVENT_GROUP_MISC, .makers = makers, .nr_makers = 1};
static const struct event_group *const groups[] = {&sensors};

struct machine {
	struct host host;
	struct arena arena;
	struct catalogue catalogue;
};

static int try_machine(struct machine *m, const struct root *r)
{
	struct err e = {0};
	int rc = host_load(r, &m->host, &e);

	arena_init(&m->arena, 8 << 20);
	m->catalogue = (struct catalogue){groups, 1, &m->host, &m->arena, NULL};
	return rc;
}

static void start(struct machine *m, const struct root *r)
{
	assert_int_equal(try_machine(m, r), 0);
}

static void start_captured(struct machine *m, const char *tree)
{
	struct root r = tree_captured(tree);

	start(m, &r);
}

static void stop(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
}

static const struct event_row *find(const struct machine *m, const char *name)
{
	struct err e = {0};
	struct event ev;

	if (catalogue_find(&m->catalogue, "misc", name, &ev, &e))
		fail_msg("%s: %s", name, e.msg);
	assert_false(event_is_perf(&ev));
	return ev.row;
}

/* One line a row: its name, and '!' if it cannot work. */
static int add_line(const struct event *ev, void *arg)
{
	buf_printf(arg, "%s%s\n", ev->row->name, ev->row->missing ? "!" : "");
	return 0;
}

static const struct {
	const char *tree, *list;
} lists[] = {
    {"intel-hybrid", "cpu_frequency\n"
		     "hwmon/acpitz/temp1\n"
		     "hwmon/coretemp/core_0\n"
		     "hwmon/coretemp/core_4\n"
		     "hwmon/coretemp/core_8\n"
		     "hwmon/coretemp/package_id_0\n"
		     "hwmon/nct6798/auxtin0\n"
		     "hwmon/nct6798/peci_tsi_agent_0\n"
		     "hwmon/nct6798/peci_tsi_agent_0.8\n"
		     "hwmon/nct6798/systin\n"
		     "hwmon/nvme.1/composite\n"
		     "hwmon/nvme/composite\n"
		     "hwmon/nvme/sensor_1\n"
		     "ia_temperature\n"
		     "package_temperature\n"
		     "thermal/acpitz\n"
		     "thermal/acpitz.1\n"
		     "thermal/int3400_thermal\n"
		     "thermal/x86_pkg_temp\n"},
    {"intel-uncore", "cpu_frequency!\n"
		     "hwmon/coretemp.1/core_0\n"
		     "hwmon/coretemp.1/package_id_1\n"
		     "hwmon/coretemp/core_0\n"
		     "hwmon/coretemp/package_id_0\n"
		     "ia_temperature\n"
		     "package_temperature\n"},
    {"arm64-big-little", "cpu_frequency\n"
			 "hwmon/cpu_thermal/temp1\n"
			 "ia_temperature!\n"
			 "package_temperature\n"
			 "thermal/cpu-thermal\n"
			 "thermal/gpu-thermal\n"},
    {"x86-vm", "cpu_frequency!\nia_temperature!\npackage_temperature!\n"},
};

TEST(lists)
{
	for (size_t i = 0; i < NR(lists); i++) {
		struct machine m;
		struct buf b;

		buf_init(&b, 65536);
		start_captured(&m, lists[i].tree);
		assert_int_equal(catalogue_each(&m.catalogue, add_line, &b), 0);
		assert_string_equal(buf_str(&b), lists[i].list);
		stop(&m);
		buf_fini(&b);
	}
}

/* What every row promises; it resolves by its name, in any case, to an equal row. */
static int expect_row(const struct event *ev, void *arg)
{
	const struct event_row *r = ev->row, *found = find(arg, r->name);
	bool is_frequency = strcmp(r->name, "cpu_frequency") == 0;
	char upper[128];

	assert_int_equal(r->kind, EVENT_VALUE);
	assert_int_equal(r->scope, is_frequency ? EVENT_SCOPE_CPU : EVENT_SCOPE_SYSTEM);
	assert_int_equal(r->collector, VALUE_FILE_COLLECTOR);
	assert_string_equal(r->unit, is_frequency ? "Hz" : "°C");
	assert_true(r->scale == (is_frequency ? 1000 : 0.001));
	assert_int_equal(strncmp(r->source, "/sys/", 5), 0);
	assert_int_equal(r->description[strlen(r->description) - 1], '.');
	assert_int_equal(strspn(r->name, "abcdefghijklmnopqrstuvwxyz0123456789-_/."),
			 strlen(r->name));
	assert_string_equal(found->source, r->source);
	assert_string_equal(found->name, r->name);
	assert_int_equal(!found->missing, !r->missing);
	for (size_t i = 0; i <= strlen(r->name); i++)
		upper[i] =
		    (char)(r->name[i] >= 'a' && r->name[i] <= 'z' ? r->name[i] - 32 : r->name[i]);
	assert_string_equal(find(arg, upper)->name, r->name);
	return 0;
}

/* In the whole group of misc, beside the makers of other rows: no name twice, and each found. */
struct group_walk {
	const struct machine *m;
	const char *last;
};

static int expect_in_group(const struct event *ev, void *arg)
{
	struct group_walk *w = arg;
	struct event_support support;
	struct err e = {0};
	struct event found;

	if (w->last)
		assert_true(strcmp(w->last, ev->row->name) < 0);
	w->last = ev->row->name;
	if (catalogue_find(&w->m->catalogue, "misc", ev->row->name, &found, &e))
		fail_msg("%s: %s", ev->row->name, e.msg);
	assert_string_equal(found.row->source, ev->row->source);
	if (ev->row->collector != VALUE_FILE_COLLECTOR || ev->row->field) /* no sensor */
		return 0;
	event_support_check(&w->m->host, ev, 0, &support);
	assert_int_equal(support.state, ev->row->missing ? READING_NOT_SUPPORTED : READING_OK);
	return 0;
}

TEST(whole_group)
{
	static const struct event_group *const misc[] = {&collect_misc_group};
	static const char *const trees[] = {"intel-hybrid", "intel-uncore", "arm64-big-little",
					    "linux-4.14", "x86-vm"};

	for (size_t i = 0; i < NR(trees); i++) {
		struct machine m;
		struct group_walk w = {.m = &m};

		start_captured(&m, trees[i]);
		m.catalogue.groups = misc;
		assert_int_equal(catalogue_each(&m.catalogue, expect_in_group, &w), 0);
		assert_non_null(w.last);
		stop(&m);
	}
}

/* A privilege behind a made name: misc's makers know nothing of it. */
TEST(privilege)
{
	static const struct event_group *const misc[] = {&collect_misc_group};
	static const char *const names[] = {"msr_tsc:k", "msr/tsc/u", "msr/tsc/:uk",
					    "memory_used:u"};
	struct machine m;

	start_captured(&m, "x86-vm");
	m.catalogue.groups = misc;
	for (size_t i = 0; i < NR(names); i++) {
		struct err e = {0};
		struct event ev;

		assert_int_equal(catalogue_find(&m.catalogue, "misc", names[i], &ev, &e), -ENOENT);
		assert_non_null(strstr(e.msg, "cannot be part of a name"));
		assert_string_equal(e.hint, "use flags for the privilege level: os, user");
	}
	stop(&m);
}

TEST(rows)
{
	static const char *const trees[] = {"intel-hybrid", "intel-uncore",   "arm64-big-little",
					    "linux-4.14",   "sparse-offline", "x86-vm"};
	struct machine m;

	for (size_t i = 0; i < NR(trees); i++) {
		start_captured(&m, trees[i]);
		assert_int_equal(catalogue_each(&m.catalogue, expect_row, &m), 0);
		assert_int_equal(find(&m, "package_temperature")->number, 20);
		assert_int_equal(find(&m, "ia_temperature")->number, 21);
		assert_int_equal(find(&m, "cpu_frequency")->number, 90);
		stop(&m);
	}
	start(&m, &root_live);
	assert_int_equal(catalogue_each(&m.catalogue, expect_row, &m), 0);
	stop(&m);
}

static const char HWMON[] = "/sys/class/hwmon/";
static const char THERMAL[] = "/sys/class/thermal/";

static void put(const struct root *r, const char *folder, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", folder, file);
	tree_put(r, path, text, strlen(text));
}

/* A machine without anything but its CPUs 0 and 1. */
static struct root bare_tree(void)
{
	struct root r = tree_make();

	put(&r, "/sys/devices/system/cpu/", "online", "0-1\n");
	put(&r, "/sys/devices/system/cpu/", "possible", "0-1\n");
	return r;
}

/* Which sensor is taken. Files "chip label" (hwmon) and zones, both in the kernel's order. */
static const struct {
	const char *what, *chip, *labels[3], *zone, *package, *ia;
} choices[] = {
    {"Intel", "coretemp", {"Package id 0", "Core 0", "Core 1"}, "acpitz", "hwmon0/temp1", "temp2"},
    {"Intel, old", "coretemp", {"Physical id 0", "Core 0"}, "acpitz", "hwmon0/temp1", "temp2"},
    {"no coretemp", "nvme", {"Composite"}, "x86_pkg_temp", "thermal_zone0/temp", NULL},
    {"coretemp first", "coretemp", {"Core 2", "Package id 0"}, "x86_pkg_temp", "temp2", "temp1"},
    {"AMD with both", "k10temp", {"Tctl", "Tdie", "Tccd1"}, "acpitz", "hwmon0/temp2", NULL},
    {"AMD", "k10temp", {"Tctl", "Tccd1"}, "acpitz", "hwmon0/temp1", NULL},
    {"AMD, before labels", "k10temp", {""}, "acpitz", "hwmon0/temp1", NULL},
    {"zenpower", "zenpower", {"Tctl", "Tdie"}, "acpitz", "hwmon0/temp2", NULL},
    {"ARM", "pmic", {""}, "cpu-thermal", "thermal_zone0/temp", NULL},
    {"ARM, core by core", "pmic", {""}, "cpu0-thermal", NULL, "thermal_zone0/temp"},
    {"ARM, hwmon only", "cpu_thermal", {""}, "gpu-thermal", "hwmon0/temp1", NULL},
    {"none of the CPU", "nvme", {"Composite"}, "acpitz", NULL, NULL},
};

static void expect_source(const struct machine *m, const char *name, const char *part)
{
	const struct event_row *row = find(m, name);

	assert_int_equal(row->missing == NULL, part != NULL);
	if (part)
		assert_non_null(strstr(row->source, part));
	else
		assert_true(row->missing && strncmp(row->missing, "needs ", 6) == 0);
	assert_int_equal(row->detail != NULL, part != NULL);
}

TEST(choices)
{
	for (size_t i = 0; i < NR(choices); i++) {
		struct root r = bare_tree();
		struct machine m;
		char file[64];

		print_message("%s\n", choices[i].what);
		put(&r, HWMON, "hwmon0/name", choices[i].chip);
		for (unsigned k = 0; k < 3 && choices[i].labels[k]; k++) {
			snprintf(file, sizeof(file), "hwmon0/temp%u_input", k + 1);
			put(&r, HWMON, file, "1000\n");
			snprintf(file, sizeof(file), "hwmon0/temp%u_label", k + 1);
			put(&r, HWMON, file, choices[i].labels[k]);
		}
		put(&r, THERMAL, "thermal_zone0/type", choices[i].zone);
		put(&r, THERMAL, "thermal_zone0/temp", "1000\n");
		start(&m, &r);
		expect_source(&m, "package_temperature", choices[i].package);
		expect_source(&m, "ia_temperature", choices[i].ia);
		expect_source(&m, "cpu_frequency", NULL);
		stop(&m);
		tree_remove(&r);
	}
}

/* Names of one chip's one sensor, by drivers and by nobody. */
static const struct {
	const char *chip, *label, *name, *description;
} spellings[] = {
    {"coretemp\n", "Core 0\n", "hwmon/coretemp/core_0", "Temperature: coretemp, Core 0."},
    {"a-b_c\n", "\n", "hwmon/a-b_c/temp1", "Temperature: a-b_c, temp1."},
    {"", "x", "hwmon/unnamed/x", "Temperature: unnamed, x."},
    {"../..\n", "/etc/passwd\n", "hwmon/_____/_etc_passwd", "Temperature: ../.., /etc/passwd."},
    {"%s%n%u\n", "a:b\n", "hwmon/_s_n_u/a_b", "Temperature: %s%n%u, a:b."},
    {"\033[2J\n", "\t\n", "hwmon/__2j/_", "Temperature: ?[2J, ?."},
    {"\xc3\x84\n", "\xff\n", "hwmon/__/_", "Temperature: \xc3\x84, ?."},
    {"0123456789abcdef0123456789abcdef0123456789abcdef\n", "x\n", "hwmon/unnamed/x",
     "Temperature: unnamed, x."},
};

TEST(spellings)
{
	for (size_t i = 0; i < NR(spellings); i++) {
		struct root r = bare_tree();
		struct machine m;

		put(&r, HWMON, "hwmon7/name", spellings[i].chip);
		put(&r, HWMON, "hwmon7/temp1_label", spellings[i].label);
		put(&r, HWMON, "hwmon7/temp1_input", "1\n");
		start(&m, &r);
		assert_string_equal(find(&m, spellings[i].name)->description,
				    spellings[i].description);
		assert_int_equal(catalogue_each(&m.catalogue, expect_row, &m), 0);
		stop(&m);
		tree_remove(&r);
	}
}

/* Files of other kinds beside the sensors, and sensors without end. */
static int count(const struct event *ev, void *arg)
{
	(void)ev;
	++*(size_t *)arg;
	return 0;
}

TEST(odd_trees)
{
	static const char *const others[] = {
	    "hwmon1/temp_input",   "hwmon1/temp1_inputs",
	    "hwmon1/tempx_input",  "hwmon1/temp1x_input",
	    "hwmon1/Temp1_input",  "hwmon1/temp99999999999999999999_input",
	    "hwmonx/temp1_input",  "hwmon/temp1_input",
	    "hwmon1x/temp1_input", "xhwmon1/temp1_input",
	    "hwmon1/in1_input",    "hwmon4294967296/temp1_input",
	    "hwmon-1/temp1_input", "hwmon1/temp4294967297_input"};
	struct root r = bare_tree();
	struct machine m;
	char file[64];
	size_t nr = 0;

	for (size_t i = 0; i < NR(others); i++)
		put(&r, HWMON, others[i], "1\n");
	put(&r, HWMON, "hwmon5", "a file\n");
	start(&m, &r);
	assert_int_equal(catalogue_each(&m.catalogue, count, &nr), 0);
	assert_int_equal(nr, 3);
	for (unsigned i = 0; i < 3 * 300; i++) {
		snprintf(file, sizeof(file), "hwmon%u/temp%u_input", i / 300, i % 300);
		put(&r, HWMON, file, "1\n");
	}
	nr = 0;
	assert_int_equal(catalogue_each(&m.catalogue, count, &nr), 0);
	assert_int_equal(nr, 3 + 512);
	stop(&m);
	tree_remove(&r);
}

/* ---- reading ---- */

/* One event of a machine, open. */
struct reader {
	struct machine m;
	struct event ev;
	struct collect *c;
	int state;
};

static void open_reader(struct reader *o, const struct root *r, const char *name)
{
	start(&o->m, r);
	o->ev = (struct event){&sensors, find(&o->m, name)};
	assert_int_equal(collect_open(r, &o->ev, NULL, 1, &o->c, &o->state), 0);
}

static void close_reader(struct reader *o)
{
	collect_close(o->c);
	stop(&o->m);
}

static struct reading get(const struct reader *o, uint32_t cpu)
{
	struct reading got;

	memset(&got, 0x55, sizeof(got));
	collect_get(o->c, 0, cpu, &got);
	assert_int_equal(got.event, 0x55555555); /* the caller's */
	assert_int_equal(got.base, 0);
	return got;
}

static const struct {
	const char *tree, *name;
	uint32_t cpu;
	int open;
	uint32_t state;
	uint64_t raw;
} values[] = {
    {"intel-hybrid", "package_temperature", 0, 0, READING_OK, 52000},
    {"intel-hybrid", "package_temperature", 3, 0, READING_OK, 52000}, /* whoever asks */
    {"intel-hybrid", "ia_temperature", 0, 0, READING_OK, 49000},
    {"intel-hybrid", "hwmon/nvme.1/composite", 0, 0, READING_OK, 41850},
    {"intel-hybrid", "hwmon/nct6798/auxtin0", 0, 0, READING_OK, (uint64_t)-62000}, /* below 0 */
    {"intel-hybrid", "hwmon/nct6798/peci_tsi_agent_0.8", 0, 0, READING_OK, 0},
    {"intel-hybrid", "thermal/acpitz.1", 0, 0, READING_OK, 16800},
    {"intel-hybrid", "cpu_frequency", 0, 0, READING_OK, 4700214},
    {"intel-hybrid", "cpu_frequency", 16, 0, READING_OK, 3599998},
    {"intel-hybrid", "cpu_frequency", 2, 0, READING_FAILED, 0}, /* without cpufreq */
    {"intel-hybrid", "cpu_frequency", 20, 0, READING_FAILED, 0},
    {"intel-hybrid", "cpu_frequency", UINT32_MAX, 0, READING_FAILED, 0},
    {"intel-uncore", "package_temperature", 0, 0, READING_OK, 40000},
    {"intel-uncore", "hwmon/coretemp.1/package_id_1", 0, 0, READING_OK, 41000},
    {"arm64-big-little", "package_temperature", 0, 0, READING_OK, 46111},
    {"arm64-big-little", "cpu_frequency", 5, 0, READING_OK, 1800000},
    {"x86-vm", "cpu_frequency", 0, -ENODEV, READING_FAILED, 0}, /* missing */
    {"x86-vm", "package_temperature", 0, -ENODEV, READING_FAILED, 0},
};

TEST(values)
{
	for (size_t i = 0; i < NR(values); i++) {
		struct root r = tree_captured(values[i].tree);
		struct reading got;
		struct reader o;

		print_message("%s %s %u\n", values[i].tree, values[i].name, values[i].cpu);
		open_reader(&o, &r, values[i].name);
		assert_int_equal(o.state, values[i].open);
		assert_int_equal(get(&o, values[i].cpu).state, READING_FAILED); /* not yet read */
		collect_read(o.c);
		got = get(&o, values[i].cpu);
		assert_int_equal(got.state, values[i].state);
		assert_int_equal(got.raw, values[i].raw);
		if (got.state == READING_OK)
			assert_true(got.time_ns > 0);
		close_reader(&o);
	}
}

/* One file, read as it changes. */
TEST(again)
{
	static const struct {
		const char *text;
		uint32_t state;
		uint64_t raw;
	} steps[] = {
	    {"45000\n", READING_OK, 45000},
	    {"46000\n", READING_OK, 46000},
	    {"7", READING_OK, 7},
	    {"0\n", READING_OK, 0},
	    {"18446744073709551615\n", READING_OK, UINT64_MAX},
	    {"18446744073709551616\n", READING_FAILED, 0},
	    {"-1000\n", READING_OK, (uint64_t)-1000},
	    {"-1", READING_OK, UINT64_MAX},
	    {"-0\n", READING_OK, 0},
	    {"-9223372036854775808\n", READING_OK, (uint64_t)INT64_MIN},
	    {"-9223372036854775809\n", READING_FAILED, 0},
	    {"-\n", READING_FAILED, 0},
	    {"--5\n", READING_FAILED, 0},
	    {"- 5\n", READING_FAILED, 0},
	    {"+5\n", READING_FAILED, 0},
	    {"", READING_FAILED, 0},
	    {"\n", READING_FAILED, 0},
	    {"45000 \n", READING_FAILED, 0},
	    {"45000\n\n", READING_FAILED, 0},
	    {"45.5\n", READING_FAILED, 0},
	    {"<unknown>\n", READING_FAILED, 0},
	    {"00000000000000000000000000000000000000005\n", READING_FAILED, 0},
	    {"47000\n", READING_OK, 47000}, /* well again */
	};
	struct root r = bare_tree();
	struct reader o;

	put(&r, THERMAL, "thermal_zone0/type", "x\n");
	put(&r, THERMAL, "thermal_zone0/temp", "1\n");
	open_reader(&o, &r, "thermal/x");
	for (size_t i = 0; i < NR(steps); i++) {
		put(&r, THERMAL, "thermal_zone0/temp", steps[i].text);
		collect_read(o.c);
		print_message("%zu\n", i);
		assert_int_equal(get(&o, 0).state, steps[i].state);
		assert_int_equal(get(&o, 0).raw, steps[i].raw);
	}
	close_reader(&o);
	tree_remove(&r);
}

/* Errors of one read: what is failed now, and whether the next one works. */
TEST(read_errors)
{
	static const int errors[] = {-EIO, -ENODATA, -EAGAIN, -EBUSY, -ENODEV, -EINTR};
	struct root r = tree_captured("intel-hybrid");
	struct reader o;
	size_t nr_fds;

	open_reader(&o, &r, "package_temperature");
	nr_fds = inject_open_fds();
	for (size_t i = 0; i < NR(errors); i++) {
		bool again = errors[i] == -EINTR;

		inject_sys(1, errors[i]);
		collect_read(o.c);
		inject_stop();
		assert_int_equal(get(&o, 0).state, again ? READING_OK : READING_FAILED);
		assert_int_equal(get(&o, 0).raw, again ? 52000 : 0);
		collect_read(o.c);
		assert_int_equal(get(&o, 0).raw, 52000);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	close_reader(&o);
}

/* A CPU that goes away and comes back: its file is another one then. */
TEST(hotplug)
{
	static const char folder[] = "/sys/devices/system/cpu/cpu1/cpufreq/";
	struct root r = bare_tree();
	struct reader o;
	char path[512];

	put(&r, folder, "scaling_cur_freq", "1000\n");
	open_reader(&o, &r, "cpu_frequency");
	snprintf(path, sizeof(path), "%s%sscaling_cur_freq", r.dir, folder);
	assert_int_equal(unlink(path), 0);
	inject_sys(1, -ENODEV); /* what sysfs answers then */
	collect_read(o.c);
	inject_stop();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(&o, 1).state, READING_FAILED);
		collect_read(o.c);
	}
	put(&r, folder, "scaling_cur_freq", "2000\n");
	collect_read(o.c);
	assert_int_equal(get(&o, 1).raw, 2000);
	assert_int_equal(get(&o, 0).state, READING_FAILED);
	close_reader(&o);
	tree_remove(&r);
}

/* Not all of an event's files, but not for want of files: the event says so, and holds nothing. */
TEST(open_errors)
{
	static const int errors[] = {-EMFILE, -EACCES, -ENOENT};
	struct root r = tree_captured("intel-hybrid");
	struct machine m;
	struct event ev;
	size_t nr_fds = inject_open_fds();

	start(&m, &r);
	ev = (struct event){&sensors, find(&m, "cpu_frequency")};
	for (size_t i = 0; i < NR(errors); i++) {
		struct collect *c;
		int opened;

		inject_sys(6, errors[i]); /* possible: open, 2 reads, close; CPU 0; CPU 1 */
		assert_int_equal(collect_open(&r, &ev, NULL, 1, &c, &opened), 0);
		inject_stop();
		assert_true(inject.fired);
		assert_int_equal(opened, errors[i] == -ENOENT ? 0 : errors[i]);
		assert_int_equal(inject_open_fds(), nr_fds + (opened ? 0 : 2));
		collect_close(c);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	stop(&m);
}

/* List, find, open and read, all that a session does. */
static int all(void *arg)
{
	struct machine m;
	struct event ev = {.group = &sensors};
	struct collect *c;
	int rc = try_machine(&m, arg), opened;
	bool is_open = rc == 0;
	size_t nr = 0;

	if (rc == 0)
		rc = catalogue_each(&m.catalogue, count, &nr);
	if (rc == 0)
		rc = collect_sensor_maker.find(&m.catalogue, "cpu_frequency", &ev.row, NULL);
	if (rc == 0)
		rc = collect_open(arg, &ev, NULL, 1, &c, &opened);
	if (rc == 0) {
		struct reading got;

		collect_read(c);
		collect_get(c, 0, 16, &got);
		assert_true(got.state == READING_OK ? got.raw == 3599998
						    : got.state == READING_FAILED && !got.raw);
		collect_close(c);
	}
	if (is_open)
		stop(&m);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("intel-hybrid");

	inject_every(all, &r, 8, 100);
}

/* Without memory for all of it, no half a row. */
static void find_in_little(struct machine *m, const char *name)
{
	int rc = -ENOMEM;

	for (size_t max_bytes = 0; rc; max_bytes += 16) {
		const struct event_row *row = NULL;

		arena_fini(&m->arena);
		arena_init(&m->arena, max_bytes);
		rc = collect_sensor_maker.find(&m->catalogue, name, &row, NULL);
		assert_int_equal(rc, row ? 0 : -ENOMEM);
		if (row)
			assert_true(row->name && row->source && row->description &&
				    !row->detail == !row->number);
		assert_true(max_bytes < 1 << 20);
	}
}

TEST(arena_ceiling)
{
	struct machine m;

	start_captured(&m, "intel-hybrid");
	find_in_little(&m, "hwmon/nvme/composite");
	find_in_little(&m, "package_temperature");
	stop(&m);
}

TEST(unknown)
{
	static const char *const names[] = {"",           "temperature", "hwmon/",
					    "hwmon/nvme", "hwmon/nvme/", "hwmon/nvme/composite/",
					    "thermal"};
	struct machine m;

	start_captured(&m, "intel-hybrid");
	for (size_t i = 0; i < NR(names); i++) {
		const struct event_row *row = NULL;

		assert_int_equal(collect_sensor_maker.find(&m.catalogue, names[i], &row, NULL),
				 -ENOENT);
		assert_null(row);
	}
	stop(&m);
}
