/*
 * Many things in every format: what people see (rates, shares of time, those that did most first,
 * as many as are asked for) and what machines get (a line for each, raw), against files kept in
 * tests/data/tables. GOLDEN_UPDATE=1 writes them anew: read the difference before it is kept.
 */
#include "kit.h"

#include "base/buf.h"
#include "screen/format.h"
#include "screen/things.h"

#include <jansson.h>

enum { OUT_BYTES = 1 << 20 };

#define S 1000000000ull

static const struct table_column columns[] = {
    {.name = "disk_read_bytes", .unit = "B", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS},
    {.name = "forks", .unit = "forks", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_SYSTEM},
    {.name = "disk_busy_time", .unit = "ns", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS},
    {.name = "process_cpu_time", .unit = "ns", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS},
    {.name = "disk_read_queue",
     .unit = "requests",
     .kind = EVENT_VALUE,
     .scope = EVENT_SCOPE_THINGS},
    {.name = "process_rss",
     .label = "memory, present",
     .unit = "B",
     .kind = EVENT_VALUE,
     .scope = EVENT_SCOPE_THINGS},
};
enum { READ, FORKS, BUSY, CPU, QUEUE, RSS, NR_COLUMNS };

static void add(struct table *t, size_t column, uint32_t number, const char *name, uint64_t start,
		uint64_t end)
{
	const struct reading a = {.state = READING_OK, .time_ns = S, .raw = start};
	const struct reading b = {.state = READING_OK, .time_ns = 3 * S, .raw = end};

	assert_int_equal(table_add_thing(t, column, number, name, &a, &b), 0);
}

static struct table *begin(void)
{
	const struct clock_triple clocks = {.monotonic_ns = S, .realtime_ns = 1700000000000000000};
	struct table *t = table_new(NR_COLUMNS, 2);

	assert_non_null(t);
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		t->columns[i] = columns[i];
		t->columns[i].group = "misc";
		if (!t->columns[i].label)
			t->columns[i].label = t->columns[i].name;
	}
	t->row_cpu[1] = 1;
	table_set_time(t, S, 3 * S, &clocks);
	for (size_t row = 0; row < 2; row++)
		for (size_t i = 0; i < NR_COLUMNS; i++)
			table_set(t, row, i, READING_OK, NULL, 0);
	return t;
}

/* Disks and processes: one that lacks a number, one that came, names of all sorts. */
static struct table *several(void)
{
	const struct reading born = {.state = READING_OK, .time_ns = 3 * S, .raw = S / 2};
	const struct reading forks[] = {{.state = READING_OK, .time_ns = S},
					{.state = READING_OK, .time_ns = 3 * S, .raw = 12}};
	struct table *t = begin();

	table_set(t, 0, FORKS, READING_OK, &(struct table_part){&forks[0], &forks[1]}, 1);
	add(t, READ, 0, "sda", 0, 2000);
	add(t, READ, 1, "sdb", 500, 500);
	add(t, READ, 2, "nvme0n1", 0, 40000000);
	add(t, BUSY, 0, "sda", 0, S / 2);
	add(t, BUSY, 2, "nvme0n1", 2, 1); /* backwards */
	add(t, CPU, 9, "100 quiet", 0, 0);
	add(t, CPU, 3, "1234 bash", 0, S);
	add(t, CPU, 4, "99 a, \"quoted\" name that is longer than its column", 0, 4 * S);
	assert_int_equal(table_add_thing(t, CPU, 5, "98 born", NULL, &born), 0);
	add(t, QUEUE, 0, "sda", 0, 3);
	add(t, QUEUE, 1, "sdb", 0, 0);
	add(t, RSS, 3, "1234 bash", 0, 5000000);
	add(t, RSS, 6, "77 no time", 0, 1000);
	table_total(t);
	return t;
}

/* None of them is there, and the event says why. */
static struct table *absent(void)
{
	struct table *t = begin();

	table_set(t, 0, READ, READING_NO_PERMISSION, NULL, 0);
	table_total(t);
	return t;
}

static void render(const char *format, const struct screen_options *o, const struct table *t,
		   struct buf *out)
{
	const struct screen_format *f = screen_format_find(format);
	struct screen_state *s = screen_state_new(t->nr_columns, o);

	buf_init(out, OUT_BYTES);
	assert_non_null(s);
	if (f->begin)
		f->begin(s, t, out);
	f->iteration(s, t, out);
	assert_int_equal(buf_error(out), 0);
	screen_state_free(s);
}

TEST(golden)
{
	static const struct {
		const char *file, *format;
		struct screen_options options;
		struct table *(*make)(void);
	} rows[] = {
	    {"tables/things.txt", "text", {0}, several},
	    {"tables/things-50-2.txt", "text", {.width = 50, .nr_things = 2}, several},
	    {"tables/things-colour.txt", "text", {.has_color = true}, several},
	    {"tables/things.csv", "csv", {0}, several},
	    {"tables/things.ndjson", "ndjson", {0}, several},
	    {"tables/things-absent.txt", "text", {0}, absent},
	    {"tables/things-absent.csv", "csv", {0}, absent},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct table *t = rows[i].make();
		struct buf out;

		render(rows[i].format, &rows[i].options, t, &out);
		golden_compare(rows[i].file, &out);
		buf_fini(&out);
		table_free(t);
	}
}

/* By any column, those without a number last in both directions. */
TEST(sorted)
{
	static const char *const down[] = {"1234 bash", "77 no time", "100 quiet"},
				 *const up[] = {"77 no time", "1234 bash", "100 quiet"};
	struct table *t = several();
	struct screen_things things;
	struct screen_kind k;
	size_t at = 0;

	do
		assert_true(screen_kind_next(t, &at, &k));
	while (k.column[0] != CPU);
	assert_int_equal(k.column[1], RSS);
	assert_int_equal(screen_things_find(&k, &things), 0);
	screen_things_sort(&k, &things, 1, false);
	for (size_t i = 0; i < NR(down); i++)
		assert_string_equal((*things.item[i].first)->name, down[i]);
	screen_things_sort(&k, &things, 1, true);
	for (size_t i = 0; i < NR(up); i++)
		assert_string_equal((*things.item[i].first)->name, up[i]);
	screen_things_drop(&things);
	table_free(t);
}

/* Values of a GPU are one kind, whatever their names; its processes are those of the machine. */
TEST(of_gpus)
{
	static const struct {
		const char *group, *name, *label, *kind, *heading;
	} rows[] = {
	    {"gpu", "memory_used", "gpu:memory_used", "gpu", "memory_used"},
	    {"misc", "process_cpu_time", "process_cpu_time", "process", "cpu_time"},
	    {"gpu", "power", "watts", "gpu", "watts"},
	    {"gpu", "process_gpu_time", "gpu:process_gpu_time", "process", "gpu_time"},
	    {"gpu", "engine_time", "gpu:engine_time", "engine", "time"},
	};
	struct table *t = table_new(NR(rows), 1);
	size_t at = 0, nr = 0;
	struct screen_kind k;

	for (size_t i = 0; i < NR(rows); i++)
		t->columns[i] = (struct table_column){.group = rows[i].group,
						      .name = rows[i].name,
						      .label = rows[i].label,
						      .scope = EVENT_SCOPE_THINGS};
	for (; screen_kind_next(t, &at, &k); nr++)
		for (size_t i = 0; i < k.nr_columns; i++) {
			assert_int_equal(k.name_len, strlen(rows[k.column[i]].kind));
			assert_memory_equal(k.name, rows[k.column[i]].kind, k.name_len);
			assert_string_equal(screen_kind_heading(&k, i), rows[k.column[i]].heading);
		}
	assert_int_equal(nr, 3);
	table_free(t);
}

static size_t count(const char *text, const char *what)
{
	size_t nr = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		nr++;
	return nr;
}

static void add_state(struct table *t, size_t column, const char *name, uint32_t state)
{
	const struct reading r = {
	    .state = state, .flags = READING_OF_THING, .time_ns = 3 * S, .raw = 1};

	assert_int_equal(table_add_thing(t, column, 0, name, &r, &r), 0);
}

/* A column that no thing can have is omitted; one that fails is not, nor are those of a kind
 * that has no other. */
TEST(unsupported)
{
	struct screen_state *s;
	struct table *t = begin();
	struct buf out;

	add_state(t, READ, "sda", READING_FAILED);
	add_state(t, BUSY, "sda", READING_NOT_SUPPORTED);
	add_state(t, QUEUE, "sda", READING_NOT_SUPPORTED);
	add_state(t, QUEUE, "sdb", READING_OK);
	add_state(t, CPU, "1 init", READING_NOT_SUPPORTED);
	add_state(t, RSS, "1 init", READING_NOT_SUPPORTED);
	table_total(t);
	s = screen_state_new(t->nr_columns, &(struct screen_options){0});
	buf_init(&out, OUT_BYTES);
	screen_things(s, t, &out);
	assert_int_equal(count(buf_str(&out), "read_bytes"), 1);
	assert_int_equal(count(buf_str(&out), "busy_time"), 0);
	assert_int_equal(count(buf_str(&out), "read_queue"), 1);
	assert_int_equal(count(buf_str(&out), "cpu_time"), 1);
	buf_fini(&out);
	screen_state_free(s);
	table_free(t);
}

/* As many of each kind as are asked for; how many more there are is said, and right. */
TEST(as_many_as_asked)
{
	static const unsigned most[] = {0, 1, 9, 10, 11, 100};

	for (size_t i = 0; i < NR(most); i++) {
		const struct screen_options o = {.nr_things = most[i]};
		struct screen_state *s;
		struct table *t = begin();
		char more[32];
		struct buf out;

		for (uint32_t k = 0; k < 10; k++) {
			char name[16];

			snprintf(name, sizeof(name), "disk%c", 'a' + (int)k);
			add(t, READ, k, name, 0, k);
		}
		table_total(t);
		s = screen_state_new(t->nr_columns, &o);
		buf_init(&out, OUT_BYTES);
		screen_things(s, t, &out);
		snprintf(more, sizeof(more), "and %u more\n", 10 - most[i]);
		if (most[i] && most[i] < 10) {
			assert_int_equal(count(buf_str(&out), "\ndisk"), most[i]);
			assert_int_equal(count(out.data, more), 1);
			assert_non_null(strstr(out.data, "\ndiskj ")); /* it did most */
		} else {
			assert_int_equal(count(buf_str(&out), "\ndisk"), 10);
			assert_int_equal(count(out.data, "more"), 0);
		}
		buf_fini(&out);
		screen_state_free(s);
		table_free(t);
	}
}

static unsigned columns_of(const char *line)
{
	unsigned n = 0;

	for (; *line; line++)
		n += (*line & 0xc0) != 0x80;
	return n;
}

/* On a terminal of any width; a line does not end in blanks. One column beside the names stands,
 * however narrow it is. */
TEST(fits)
{
	struct table *t = several();

	for (unsigned width = 45; width < 120; width++) {
		const struct screen_options o = {.width = width};
		struct screen_state *s = screen_state_new(t->nr_columns, &o);
		struct buf out;

		buf_init(&out, OUT_BYTES);
		screen_things(s, t, &out);
		assert_int_equal(count(buf_str(&out), "1234 bash"), width < 52 ? 2 : 1);
		for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
			if (columns_of(line) > width || line[strlen(line) - 1] == ' ')
				fail_msg("width %u: \"%s\"", width, line);
		buf_fini(&out);
		screen_state_free(s);
	}
	table_free(t);
}

/* Every line of a session has the field, if one of its events is of things, and none else. */
TEST(the_field)
{
	for (int is_with = 0; is_with < 2; is_with++) {
		struct table *t = is_with ? several() : begin();
		size_t nr_named = 0;
		struct buf out;

		for (size_t i = 0; !is_with && i < NR_COLUMNS; i++)
			t->columns[i].scope = EVENT_SCOPE_SYSTEM;
		table_set(t, 0, FORKS, READING_NO_PERMISSION, NULL, 0); /* one line at least */
		render("ndjson", &(struct screen_options){0}, t, &out);
		for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
			json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
			json_t *thing = json_object_get(o, "thing");

			assert_int_equal(thing != NULL, is_with);
			nr_named += thing && *json_string_value(thing);
			json_decref(o);
		}
		assert_int_equal(nr_named, is_with ? t->nr_things : 0);
		buf_fini(&out);
		table_free(t);
	}
}

/* Unreadable things are last, and the line of omitted ones counts them. */
TEST(unreadable)
{
	static const struct {
		unsigned nr_things;
		const char *end;
	} rows[] = {
	    {0, "\nsdb                              0 B/s\nd0                       no permission\n"
		"d1                       no permission\nd2                       no permission\n"},
	    {3, "\nd0                       no permission\nand 2 more (no permission)\n"},
	    {1, "\nsda                          1,000 B/s\nand 4 more (3: no permission)\n"},
	};
	const struct reading denied = {.state = READING_NO_PERMISSION, .flags = READING_OF_THING};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct screen_options o = {.nr_things = rows[i].nr_things};
		struct table *t = begin();
		struct buf out;

		for (uint32_t k = 0; k < 3; k++) {
			const char name[] = {'d', (char)('0' + k), '\0'};

			assert_int_equal(table_add_thing(t, READ, k, name, &denied, &denied), 0);
		}
		add(t, READ, 3, "sda", 0, 2000);
		add(t, READ, 4, "sdb", 500, 500);
		table_total(t);
		render("text", &o, t, &out);
		assert_non_null(strstr(buf_str(&out), "1,000 B/s (partial: 2 of 5)"));
		if (out.len < strlen(rows[i].end) ||
		    strcmp(buf_str(&out) + out.len - strlen(rows[i].end), rows[i].end) != 0)
			fail_msg("row %zu:\n%s", i, buf_str(&out));
		buf_fini(&out);
		table_free(t);
	}
}
