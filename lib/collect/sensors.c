/*
 * The sensors of the machine as events. Names and labels come from drivers and firmware: they are
 * truncated and cleaned. value_file.c reads the values.
 */
#include "collect/sensors.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "collect/value_file.h"
#include "host/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HWMON   "/sys/class/hwmon"
#define THERMAL "/sys/class/thermal"
#define CPUFREQ "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq"

enum { MAX_SENSORS = 512, MAX_NUMBERS = 256, MAX_WORD = 48 };

/* The events that every machine lists. */
static const struct event_row known[] = {
    {
	.name = "package_temperature",
	.number = 20,
	.scope = EVENT_SCOPE_SYSTEM,
	.source = HWMON,
	.description = "Temperature of the CPU: of the first package, if there are several.",
	.missing = "needs a temperature sensor of the CPU: the driver coretemp or k10temp, or "
		   "the thermal zone x86_pkg_temp or cpu-thermal",
    },
    {
	.name = "ia_temperature",
	.number = 21,
	.scope = EVENT_SCOPE_SYSTEM,
	.source = HWMON,
	.description = "Temperature of the first core that has a sensor; the other cores are "
		       "the rows hwmon/coretemp/core_N.",
	.missing = "needs a temperature sensor of a core: the driver coretemp, or the thermal "
		   "zone cpu0-thermal",
    },
    {
	.name = "cpu_frequency",
	.number = 90,
	.scope = EVENT_SCOPE_CPU,
	.source = CPUFREQ,
	.description = "Frequency of each CPU from cpufreq: recently measured if the CPU can, "
		       "else the last one requested.",
	.missing = "needs a cpufreq driver; most virtual machines have none",
    },
};

/* The sensors for these events, in order of preference: globs of sensors' names. x86:
 * drivers/hwmon/{coretemp,k10temp}.c, zenpower. ARM: names of zones in device trees. If k10temp has
 * both, Tdie is the true temperature, and Tctl the one that controls fans. */
static const struct choice {
	const char *event, *sensor;
} choices[] = {
    {"package_temperature", "hwmon/coretemp/package_id_*"},
    {"package_temperature", "hwmon/coretemp/physical_id_*"}, /* before Linux 4.13 */
    {"package_temperature", "hwmon/k10temp/tdie"},
    {"package_temperature", "hwmon/k10temp/tctl"},
    {"package_temperature", "hwmon/k10temp/temp1"},
    {"package_temperature", "hwmon/zenpower/tdie"},
    {"package_temperature", "thermal/x86_pkg_temp"},
    {"package_temperature", "thermal/cpu[-_]thermal*"},
    {"package_temperature", "hwmon/cpu_thermal/temp1"},
    {"ia_temperature", "hwmon/coretemp/core_*"},
    {"ia_temperature", "thermal/cpu0[-_]*"},
};

struct sensor {
	char name[160];
	char path[128];
	char text[128]; /* what it measures: "coretemp, Package id 0" */
};

struct sensors {
	const struct root *root;
	struct sensor *list; /* owned; room for MAX_SENSORS */
	size_t nr;
};

/* The numbers N of a folder's entries "<prefix>N<suffix>", in order. */
struct numbers {
	const char *prefix, *suffix;
	unsigned number[MAX_NUMBERS];
	size_t nr;
};

static int add_number(const char *name, void *arg)
{
	struct numbers *n = arg;
	size_t len = strlen(n->prefix);
	const char *p = name + len, *end = name + strlen(name);
	uint64_t number;

	if (strncmp(name, n->prefix, len) != 0 || str_scan_u64(&p, end, &number) ||
	    strcmp(p, n->suffix) != 0 || number > INT32_MAX || n->nr == MAX_NUMBERS)
		return 0;
	n->number[n->nr++] = (unsigned)number;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return order_u64(*x, *y);
}

/* Sets n->number; empty if the folder cannot be read, as on a machine without that class. */
static void list_numbers(const struct root *root, const char *folder, struct numbers *n)
{
	(void)root_each(root, folder, add_number, n);
	qsort(n->number, n->nr, sizeof(n->number[0]), by_number);
}

/* Makes a part of an event's name: "Package id 0" becomes package_id_0. */
static void clean(const char *text, char out[MAX_WORD])
{
	size_t i;

	for (i = 0; text[i] && i < MAX_WORD - 1; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			c = '_';
		out[i] = c;
	}
	out[i] = '\0';
}

/* True if a sensor has the name, or begins with it if name ends in a slash. */
static bool exists(const struct sensors *s, const char *name)
{
	size_t len = strlen(name);
	size_t compared = name[len - 1] == '/' ? len : len + 1;

	return ARRAY_ANY(x, s->list, s->nr, strncmp(x->name, name, compared) == 0);
}

/* "hwmon/nvme/", or "hwmon/nvme.1/" if that exists. */
static void name_group(const struct sensors *s, const char *kind, const char *word, const char *end,
		       char *out, size_t size)
{
	snprintf(out, size, "%s/%s%s", kind, word, end);
	for (unsigned i = 1; exists(s, out); i++)
		snprintf(out, size, "%s/%s.%u%s", kind, word, i, end);
}

/* Loads the line of a file, safe to print; other if there is none. */
static void load_text(const struct root *root, const char *path, const char *other, char *out,
		      size_t size)
{
	if (root_load_line(root, path, out, size) || !*out)
		snprintf(out, size, "%s", other);
	str_disarm(out);
}

static void add_sensor(struct sensors *s, const char *name, const char *path, const char *text)
{
	struct sensor *new = &s->list[s->nr];

	if (s->nr == MAX_SENSORS)
		return;
	s->nr++;
	snprintf(new->name, sizeof(new->name), "%s", name);
	snprintf(new->path, sizeof(new->path), "%s", path);
	snprintf(new->text, sizeof(new->text), "%s", text);
}

static void add_temperature(struct sensors *s, unsigned chip, const char *group, const char *title,
			    unsigned number)
{
	char path[96], other[24], label[MAX_WORD], word[MAX_WORD], name[160], text[128];

	snprintf(other, sizeof(other), "temp%u", number);
	snprintf(path, sizeof(path), HWMON "/hwmon%u/temp%u_label", chip, number);
	load_text(s->root, path, other, label, sizeof(label));
	clean(label, word);
	snprintf(name, sizeof(name), "%s%s", group, word);
	if (exists(s, name))
		snprintf(name, sizeof(name), "%s%s.%u", group, word, number);
	snprintf(path, sizeof(path), HWMON "/hwmon%u/temp%u_input", chip, number);
	snprintf(text, sizeof(text), "%s, %s", title, label);
	add_sensor(s, name, path, text);
}

static void add_chip(struct sensors *s, unsigned chip)
{
	struct numbers n = {.prefix = "temp", .suffix = "_input"};
	char path[64], title[MAX_WORD], word[MAX_WORD], group[96];

	snprintf(path, sizeof(path), HWMON "/hwmon%u/name", chip);
	load_text(s->root, path, "unnamed", title, sizeof(title));
	clean(title, word);
	name_group(s, "hwmon", word, "/", group, sizeof(group));
	snprintf(path, sizeof(path), HWMON "/hwmon%u", chip);
	list_numbers(s->root, path, &n);
	for (size_t i = 0; i < n.nr; i++)
		add_temperature(s, chip, group, title, n.number[i]);
}

static void add_zone(struct sensors *s, unsigned zone)
{
	char path[64], title[MAX_WORD], word[MAX_WORD], name[96], text[128];

	snprintf(path, sizeof(path), THERMAL "/thermal_zone%u/type", zone);
	load_text(s->root, path, "unnamed", title, sizeof(title));
	clean(title, word);
	name_group(s, "thermal", word, "", name, sizeof(name));
	snprintf(path, sizeof(path), THERMAL "/thermal_zone%u/temp", zone);
	snprintf(text, sizeof(text), "thermal zone %s", title);
	add_sensor(s, name, path, text);
}

static void add_all(struct sensors *s, const char *folder, const char *prefix,
		    void (*add)(struct sensors *s, unsigned number))
{
	struct numbers n = {.prefix = prefix, .suffix = ""};

	list_numbers(s->root, folder, &n);
	for (size_t i = 0; i < n.nr; i++)
		add(s, n.number[i]);
}

static const struct sensor *choose(const struct sensors *s, const char *event)
{
	for (const struct choice *c = choices; c != choices + sizeof(choices) / sizeof(*c); c++)
		for (size_t i = 0; i < s->nr; i++)
			if (strcmp(c->event, event) == 0 &&
			    fnmatch(c->sensor, s->list[i].name, 0) == 0)
				return &s->list[i];
	return NULL;
}

static bool has_cpufreq(const struct host *h)
{
	for (int cpu = cpuset_next(&h->online, 0); cpu >= 0;
	     cpu = cpuset_next(&h->online, (unsigned)cpu + 1)) {
		char path[96];
		int fd;

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
		fd = root_open(&h->root, path);
		if (fd < 0)
			continue;
		sys()->close(fd);
		return true;
	}
	return false;
}

/* A copy of a row with what all rows of value files share. */
static struct event_row *new_row(struct arena *a, const struct event_row *from)
{
	struct event_row *row = arena_alloc(a, sizeof(*row));

	if (!row)
		return NULL;
	*row = *from;
	row->kind = EVENT_VALUE;
	row->unit = row->scope == EVENT_SCOPE_CPU ? "Hz" : "°C"; /* the files: kHz, m°C */
	row->scale = row->scope == EVENT_SCOPE_CPU ? 1000 : 0.001;
	row->collector = VALUE_FILE_COLLECTOR;
	return row;
}

static int make_known(const struct catalogue *c, const struct sensors *s,
		      const struct event_row *from, const struct event_row **out)
{
	bool is_frequency = from->scope == EVENT_SCOPE_CPU;
	const struct sensor *sensor = is_frequency ? NULL : choose(s, from->name);
	struct event_row *row = new_row(c->arena, from);

	if (!row)
		return -ENOMEM;
	if (sensor || (is_frequency && has_cpufreq(c->host)))
		row->missing = NULL;
	if (sensor) {
		row->source = arena_strdup(c->arena, sensor->path);
		row->detail = arena_printf(c->arena, "Here it is %s.", sensor->name);
	}
	if (!row->source || (sensor && !row->detail))
		return -ENOMEM;
	*out = row;
	return 0;
}

static int make_sensor(const struct catalogue *c, const struct sensor *sensor,
		       const struct event_row **out)
{
	static const struct event_row from = {.scope = EVENT_SCOPE_SYSTEM};
	struct event_row *row = new_row(c->arena, &from);

	if (!row)
		return -ENOMEM;
	row->name = arena_strdup(c->arena, sensor->name);
	row->source = arena_strdup(c->arena, sensor->path);
	row->description = arena_printf(c->arena, "Temperature: %s.", sensor->text);
	if (!row->name || !row->source || !row->description)
		return -ENOMEM;
	*out = row;
	return 0;
}

/* Calls fn for each row, or for the one of that name; as event_maker.each. */
static int walk(const struct catalogue *c, const struct sensors *s, const char *only,
		int (*fn)(const struct event_row *row, void *arg), void *arg)
{
	const struct event_row *row;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(known) && rc == 0; i++) {
		if (only && strcasecmp(only, known[i].name) != 0)
			continue;
		rc = make_known(c, s, &known[i], &row) ?: fn(row, arg);
	}
	for (size_t i = 0; i < s->nr && rc == 0; i++) {
		if (only && strcasecmp(only, s->list[i].name) != 0)
			continue;
		rc = make_sensor(c, &s->list[i], &row) ?: fn(row, arg);
	}
	return rc;
}

static int store_row(const struct event_row *row, void *arg)
{
	const struct event_row **out = arg;

	*out = row;
	return 0;
}

static int load_and_walk(const struct catalogue *c, const char *only,
			 int (*fn)(const struct event_row *row, void *arg), void *arg)
{
	struct sensors s = {.root = &c->host->root,
			    .list = mem_calloc(MAX_SENSORS, sizeof(*s.list))};
	int rc;

	if (!s.list)
		return -ENOMEM;
	add_all(&s, HWMON, "hwmon", add_chip);
	add_all(&s, THERMAL, "thermal_zone", add_zone);
	rc = walk(c, &s, only, fn, arg);
	mem_free(s.list);
	return rc;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	const struct event_row *row = NULL;
	int rc = load_and_walk(c, name, store_row, &row);

	(void)e;
	if (rc == 0 && !row)
		rc = -ENOENT;
	if (rc == 0)
		*out = row;
	return rc;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	return load_and_walk(c, NULL, fn, arg);
}

const struct event_maker collect_sensor_maker = {.find = find, .each = each};
