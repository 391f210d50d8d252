/*
 * What both programs print of samples, against files kept in tests/data/tables. GOLDEN_UPDATE=1
 * writes them anew: read the difference before it is kept.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/err.h"
#include "screen/format.h"

#include <jansson.h>

enum { OUT_BYTES = 1 << 20, TEXT_WIDTH = 80 };

#define MS 1000000ull
#define S  1000000000ull

static void column(struct table *t, size_t i, const char *group, const char *name, uint64_t rate,
		   uint64_t frequency, unsigned flags)
{
	t->columns[i] =
	    (struct table_column){.group = group,
				  .name = name,
				  .label = name,
				  .unit = "",
				  .kind = EVENT_COUNT,
				  .scope = EVENT_SCOPE_CPU,
				  .sampling = sampled_event(group, name, rate, frequency, flags)};
}

static void set(struct table *t, size_t row, size_t i, uint64_t raw, const struct sampled_counts *n)
{
	const struct reading start = {.state = READING_OK};
	const struct reading end = {
	    .state = READING_OK, .raw = raw, .time_ns = S, .enabled_ns = S, .running_ns = S};

	table_set(t, row, i, READING_OK, &(struct table_part){&start, &end}, 1);
	if (n)
		table_add_sampled(t, row, i, n);
}

static void row(struct table *t, size_t i, uint64_t idle_ns, uint64_t lost)
{
	t->row_cpu[i] = (uint32_t)i;
	table_set_sampling(t, i,
			   &(struct table_sampling){.idle_ns = idle_ns,
						    .lost = lost,
						    .max_rate_start = 100000,
						    .max_rate_end = 100000,
						    .ring_bytes = 1 << 20});
}

static void end(struct table *t)
{
	const struct clock_triple clocks = {.monotonic_ns = 1000,
					    .realtime_ns = 1700000000000000000};

	table_set_time(t, 1000, S + 1000, &clocks);
	table_total(t);
}

static struct sampled_counts came(uint64_t samples, uint64_t period)
{
	return (struct sampled_counts){.samples = samples, .weight = samples * period};
}

/* All is well: a clock, an event with a rate of its own, and one that is only counted. */
static struct table *well(void)
{
	struct table *t = table_new(3, 2);
	struct sampled_counts clock = came(1000, MS), cycles = came(2500, 1000000);

	column(t, 0, "software", "cpu_clock", MS, 0, 0);
	column(t, 1, "software", "context_switches", 0, 0, 0);
	column(t, 2, "fixed", "unhalted_core_cycles", 1000000, 0, SAMPLED_USER);
	assert_int_equal(table_add_sampling(t), 0);
	for (size_t i = 0; i < 2; i++) {
		row(t, i, 0, 0);
		set(t, i, 0, S + 441, &clock);
		set(t, i, 1, 37, NULL);
		set(t, i, 2, 2500000000 - i * 10000012, &cycles);
	}
	end(t);
	return t;
}

/* One CPU throttled, one idle, one that is neither, one that cannot count it. */
static struct table *throttled(void)
{
	struct table *t = table_new(1, 4);
	const struct sampled_counts n[] = {
	    {5000, 0, S / 2, 0, 12}, {12, 12, 12 * S / 10000, 0, 0}, {10000, 0, S, 0, 0}};
	const uint64_t idle_ns[] = {0, 985 * MS, 0}, raw[] = {S / 2, S, S};

	column(t, 0, "software", "cpu_clock", S / 10000, 0, 0);
	assert_int_equal(table_add_sampling(t), 0);
	for (size_t i = 0; i < 3; i++) {
		row(t, i, idle_ns[i], 0);
		set(t, i, 0, raw[i], &n[i]);
	}
	t->row_sampling[0].max_rate_end = 5000;
	table_set(t, 3, 0, READING_NOT_SUPPORTED, NULL, 0);
	t->row_cpu[3] = 3;
	end(t);
	return t;
}

/* The rings were full; the kernel tells of one event what it lost, of the other not. */
static struct table *lost(void)
{
	struct table *t = table_new(2, 2);
	struct sampled_counts told = {800, 0, 800000, 200, 0}, untold = {70, 0, 70000};

	untold.lost = SAMPLED_UNKNOWN;
	column(t, 0, "arch", "llc_misses", 1000, 0, 0);
	column(t, 1, "arch", "branch_misses_retired", 1000, 0, 0);
	assert_int_equal(table_add_sampling(t), 0);
	for (size_t i = 0; i < 2; i++) {
		row(t, i, 0, i * 1234);
		set(t, i, 0, 1000000, &told);
		set(t, i, 1, 100000, &untold);
	}
	end(t);
	return t;
}

/* Many idle CPUs, two clocks, names and numbers that leave no room, ticks that were missed. */
static struct table *large(void)
{
	struct table *t = table_new(4, 40);
	struct sampled_counts none = {1, 1, MS}, all = {1000, 0, S, 0, 0};
	struct sampled_counts most = {3456789, 0, 345678901234, 98765, 4321};

	column(t, 0, "software", "cpu_clock", MS, 0, 0);
	column(t, 1, "software", "task_clock", MS, 0, SAMPLED_OS);
	column(t, 2, "model", "a_name_that_is_longer_than_most_of_them", 0, 4000, 0);
	column(t, 3, "software", "page_faults", 1, 0, 0);
	t->columns[0].label = "wörk clock";
	assert_int_equal(table_add_sampling(t), 0);
	for (size_t i = 0; i < 40; i++) {
		row(t, i, i < 10 ? 998 * MS : i < 20 ? 800 * MS : 0, 0);
		t->row_sampling[i].ticks = 977;
		t->row_sampling[i].ticks_missed = 23;
		set(t, i, 0, S, i < 20 ? &none : &all);
		set(t, i, 1, S, &all);
		set(t, i, 2, 345678902345, &most);
		set(t, i, 3, 0, &(struct sampled_counts){0});
	}
	table_cell(t, 39, 2)->state = CELL_NOT_COUNTED;
	end(t);
	return t;
}

/* Silence at a rate that the kernel allows but does not reach. */
static struct table *silent(void)
{
	struct table *t = table_new(1, 1);
	struct sampled_counts n = {72000, 0, 720 * MS, SAMPLED_UNKNOWN, 0};

	column(t, 0, "software", "cpu_clock", 10000, 0, 0);
	assert_int_equal(table_add_sampling(t), 0);
	row(t, 0, 30 * MS, 0);
	t->row_sampling[0].max_rate_start = 0;
	set(t, 0, 0, S, &n);
	end(t);
	return t;
}

/* An iteration too short for the ticks of /proc/stat. */
static struct table *brief(void)
{
	struct table *t = table_new(1, 1);
	struct sampled_counts n = came(20, MS);

	column(t, 0, "software", "cpu_clock", MS, 0, 0);
	assert_int_equal(table_add_sampling(t), 0);
	row(t, 0, 10 * MS, 0);
	set(t, 0, 0, 20 * MS, NULL);
	table_cell(t, 0, 0)->enabled_ns = table_cell(t, 0, 0)->running_ns = 20 * MS;
	table_add_sampled(t, 0, 0, &n);
	end(t);
	return t;
}

static const struct golden {
	const char *file, *format;
	struct table *(*make)(void);
	struct screen_options options;
} goldens[] = {
    {"tables/samples-well.txt", "text", well, {0}},
    {"tables/samples-well-each.txt", "text", well, {.each_cpu = true}},
    {"tables/samples-well-50.txt", "text", well, {.width = 50}},
    {"tables/samples-well.csv", "csv", well, {0}},
    {"tables/samples-well.ndjson", "ndjson", well, {0}},
    {"tables/samples-throttled.txt", "text", throttled, {.each_cpu = true}},
    {"tables/samples-throttled.csv", "csv", throttled, {0}},
    {"tables/samples-lost.txt", "text", lost, {0}},
    {"tables/samples-lost.ndjson", "ndjson", lost, {0}},
    {"tables/samples-large.txt", "text", large, {0}},
    {"tables/samples-large-160.txt", "text", large, {.width = 160}},
    {"tables/samples-silent.txt", "text", silent, {0}},
    {"tables/samples-brief.txt", "text", brief, {.each_cpu = true}},
};

static void render(const char *format, const struct screen_options *options, const struct table *t,
		   struct buf *out)
{
	const struct screen_format *f = screen_format_find(format);
	struct screen_state *state = screen_state_new(t->nr_columns, options);
	struct table_summary *sum = table_summary_new(t->nr_columns);

	buf_init(out, OUT_BYTES);
	table_summary_add(sum, t);
	f->begin(state, t, out);
	f->iteration(state, t, out);
	f->summary(state, t, sum, out);
	assert_int_equal(buf_error(out), 0);
	table_summary_free(sum);
	screen_state_free(state);
}

TEST(golden_samples)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		struct table *t = goldens[i].make();
		struct buf out;

		render(goldens[i].format, &goldens[i].options, t, &out);
		golden_compare(goldens[i].file, &out);
		buf_fini(&out);
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

/* Into a file 80 columns, on a terminal its own, if that is enough for words and two numbers. */
TEST(fits)
{
	struct table *(*const makers[])(void) = {well, throttled, lost, large, silent, brief};

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		for (unsigned width = 45; width < 200; width++) {
			const struct screen_options o = {.width = width, .each_cpu = width % 2};
			const struct screen_options file = {.each_cpu = true};
			bool is_file = width == 45;
			struct table *t = makers[i]();
			struct screen_state *s =
			    screen_state_new(t->nr_columns, is_file ? &file : &o);
			struct buf out;

			buf_init(&out, OUT_BYTES);
			screen_samples(s, t, &out);
			for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
				if (columns_of(line) > (is_file ? TEXT_WIDTH : width) ||
				    line[strlen(line) - 1] == ' ')
					fail_msg("width %u: \"%s\"", width, line);
			buf_fini(&out);
			screen_state_free(s);
			table_free(t);
		}
}

struct heard {
	unsigned nr;
	bool has_hint, has_number;
};

static void hear(void *arg, const struct err *warning)
{
	struct heard *h = arg;

	h->nr++;
	h->has_hint |= warning->hint[0] != '\0';
	h->has_number |= strstr(warning->msg, "5,000 of 10,000 samples") != NULL;
	assert_true(warning->code < 0);
}

TEST(warnings)
{
	static const struct {
		struct table *(*make)(void);
		unsigned nr;
	} rows[] = {{well, 0}, {throttled, 2}, {lost, 3}, {silent, 1}, {brief, 0}, {large, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct table *t = rows[i].make();
		struct heard h = {0};

		screen_warn_samples(t, hear, &h);
		assert_int_equal(h.nr, rows[i].nr);
		assert_true(h.has_hint || !h.nr);
		assert_int_equal(h.has_number, rows[i].make == throttled);
		table_free(t);
	}
}

/* Every object of a session has the same keys, and CSV the same columns. */
TEST(one_table)
{
	struct table *t = well();
	struct buf out;
	size_t nr = 0;

	render("ndjson", &(struct screen_options){0}, t, &out);
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"), nr++) {
		json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		bool is_cell = !json_object_get(o, "summary");

		assert_int_equal(json_object_size(o), is_cell ? 29 : 19);
		json_decref(o);
	}
	assert_int_equal(nr, 3 * 2 + 3 + 3);
	buf_fini(&out);
	render("csv", &(struct screen_options){0}, t, &out);
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
		size_t commas = 0;

		for (char *p = line; *p; p++)
			commas += *p == ',';
		assert_int_equal(commas, 28);
	}
	buf_fini(&out);
	table_free(t);
}
