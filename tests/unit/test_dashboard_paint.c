/*
 * The painter against screens kept in tests/data/dashboard: text, and below it for some the styles.
 * GOLDEN_UPDATE=1 writes them anew: read the difference before it is kept.
 */
#include "kit.h"
#include "test_dashboard.h"

#include "base/buf.h"
#include "dashboard/paint_parts.h"

#include <math.h>

enum { OUT_BYTES = 4 << 20 };

static void keys(struct session_under_test *s, const char *text)
{
	for (; *text; text++)
		press(s, *text);
}

static void plain(struct session_under_test *s)
{
	(void)s;
}

static void moved(struct session_under_test *s)
{
	keys(s, "jjjl");
}

static void sorted(struct session_under_test *s)
{
	keys(s, "ls");
}

static void unfolded(struct session_under_test *s)
{
	keys(s, "fjjjjj");
	press(s, KEY_CODE_PAGE_DOWN);
}

static void right(struct session_under_test *s)
{
	keys(s, "$");
}

static void counts(struct session_under_test *s)
{
	keys(s, "rjl");
}

static void packages(struct session_under_test *s)
{
	keys(s, "vv");
}

static void nodes(struct session_under_test *s)
{
	keys(s, "vvv");
}

static void types(struct session_under_test *s)
{
	keys(s, "vvvv");
}

static void total(struct session_under_test *s)
{
	keys(s, "t");
}

static void baseline(struct session_under_test *s)
{
	keys(s, "bl");
	add_iterations(s, 30, 5);
}

static void paused(struct session_under_test *s)
{
	keys(s, "p");
	add_iterations(s, 30, 5);
}

static void no_chart(struct session_under_test *s)
{
	keys(s, "c");
}

static void help(struct session_under_test *s)
{
	keys(s, "?");
}

static void notes(struct session_under_test *s)
{
	model_note(&s->m, "iteration 3 was held up: it took 1500 ms instead of 1000");
	model_note(&s->m, "CPU 2 went offline in iteration 7: its counts end there");
	keys(s, "w");
}

static void told(struct session_under_test *s)
{
	snprintf(s->m.message, sizeof(s->m.message), "saved as /tmp/x.txt");
}

static void replay(struct session_under_test *s)
{
	s->m.facts.is_replay = true;
	s->t->nr_rows = s->facts.nr_cpus;
	fill(s->t, 12);
	model_show(&s->m, &s->t);
}

static void offline(struct session_under_test *s)
{
	s->t->nr_rows = s->facts.nr_cpus - 1; /* the trace of the last CPU is missing */
	fill(s->t, 30);
	table_cell(s->t, 0, CYCLES)->state = CELL_OFFLINE;
	*table_cell(s->t, 1, CYCLES) = (struct cell){.state = CELL_NOT_COUNTED, .is_perf = true};
	model_add(&s->m, &s->t);
}

/* Around a millisecond with a long tail; and of two parts, one of which is short. */
static void timed(struct session_under_test *s)
{
	struct latencies *l = &s->t->latencies;

	s->t->nr_rows = s->facts.nr_cpus;
	fill(s->t, 30);
	for (uint64_t i = 1; i <= 1000; i++)
		histogram_add(latencies_get(l, CYCLES, "", ""),
			      histogram_bucket(1000000 + i * i * i / 20), 1);
	histogram_add_sum(latencies_get(l, CYCLES, "", ""), 2000000000, 50000000,
			  histogram_bucket(51000000));
	histogram_add(latencies_get(l, SWITCHES, "queue", ""), histogram_bucket(900), 3);
	histogram_add_sum(latencies_get(l, SWITCHES, "queue", ""), 2700, 910,
			  histogram_bucket(900));
	histogram_add(latencies_get(l, SWITCHES, "device", ""), histogram_bucket(30000), 3);
	histogram_add(latencies_get(l, SWITCHES, "device", ""), histogram_bucket(60000), 1);
	histogram_add_sum(latencies_get(l, SWITCHES, "device", ""), 150000, 61000,
			  histogram_bucket(60000));
	model_add(&s->m, &s->t);
}

/* Of several threads, with one that is open, and more than there is room for. */
static void marked(struct session_under_test *s)
{
	struct region_times_list *l = &s->t->regions;

	s->t->nr_rows = s->facts.nr_cpus;
	fill(s->t, 30);
	*l = (struct region_times_list){.row = {{"request", 1200, 2400000000, 2400000000},
						{"wait for the next one", 0, 0, 1000000000},
						{"parse", 2400, 480000, 480000}},
					.nr = 3};
	for (; l->nr < REGION_TIMES_MAX; l->nr++)
		l->row[l->nr] = (struct region_times){"short", 1, 100, 100};
	l->nr_more = 7;
	model_add(&s->m, &s->t);
}

HOOK(before_all)
{
	setenv("TZ", "UTC0", 1);
}

static const struct golden {
	const char *file;
	unsigned width, height;
	bool is_utf8, has_styles;
	size_t nr_cpus;
	uint32_t nr_iterations;
	void (*prepare)(struct session_under_test *s);
} goldens[] = {
    {"dashboard/80x24.txt", 80, 24, true, true, 4, 30, plain},
    {"dashboard/120x40.txt", 120, 40, true, true, 8, 30, moved},
    {"dashboard/300x100.txt", 300, 100, true, false, 64, 200, plain},
    {"dashboard/80x24-64.txt", 80, 24, true, false, 64, 30, plain},
    {"dashboard/80x24-64-each.txt", 80, 24, true, false, 64, 30, unfolded},
    {"dashboard/80x24-ascii.txt", 80, 24, false, false, 4, 30, plain},
    {"dashboard/120x40-ascii.txt", 120, 40, false, false, 64, 30, moved},
    {"dashboard/40x10.txt", 40, 10, true, false, 4, 30, plain},
    {"dashboard/20x5.txt", 20, 5, true, false, 4, 30, plain},
    {"dashboard/sorted.txt", 120, 30, true, false, 8, 30, sorted},
    {"dashboard/right.txt", 60, 24, true, false, 4, 30, right},
    {"dashboard/counts.txt", 120, 30, true, false, 4, 30, counts},
    {"dashboard/packages.txt", 120, 30, true, false, 64, 30, packages},
    {"dashboard/nodes.txt", 120, 30, true, false, 64, 30, nodes},
    {"dashboard/types.txt", 120, 30, true, false, 64, 30, types},
    {"dashboard/total.txt", 120, 30, true, false, 64, 30, total},
    {"dashboard/baseline.txt", 120, 30, true, true, 4, 30, baseline},
    {"dashboard/paused.txt", 120, 30, true, false, 4, 30, paused},
    {"dashboard/no-chart.txt", 120, 30, true, false, 4, 30, no_chart},
    {"dashboard/help-80x24.txt", 80, 24, true, false, 4, 30, help},
    {"dashboard/help-120x40.txt", 120, 40, true, false, 4, 30, help},
    {"dashboard/notes.txt", 80, 24, true, false, 4, 30, notes},
    {"dashboard/told.txt", 80, 24, true, false, 4, 30, told},
    {"dashboard/replay.txt", 120, 30, true, false, 4, 30, replay},
    {"dashboard/offline.txt", 120, 30, true, false, 4, 30, offline},
    {"dashboard/latency-120x40.txt", 120, 40, true, true, 4, 30, timed},
    {"dashboard/latency-80x24.txt", 80, 24, false, false, 4, 30, timed},
    {"dashboard/regions-120x40.txt", 120, 40, true, true, 4, 30, marked},
    {"dashboard/regions-60x24.txt", 60, 24, false, false, 4, 30, marked},
    {"dashboard/first.txt", 80, 24, true, false, 4, 0, plain},
};

static void add_styles(const struct canvas *c, struct buf *out)
{
	for (unsigned y = 0; y < c->height; y++) {
		for (unsigned x = 0; x < c->width; x++) {
			uint8_t style = c->cells[(size_t)y * c->width + x].style;
			char letter = (char)((style & CANVAS_SELECTED ? 'A' : 'a') +
					     (style & ~CANVAS_SELECTED));

			buf_addc(out, style == CANVAS_PLAIN ? '.' : letter);
		}
		buf_addc(out, '\n');
	}
}

static void render(const struct golden *g, struct buf *out)
{
	struct session_under_test s;
	struct paint_state state = {.nr_read = 30};
	struct canvas c;

	begin_session(&s, g->nr_cpus);
	add_iterations(&s, 0, g->nr_iterations);
	assert_int_equal(canvas_init(&c, g->width, g->height, g->is_utf8), 0);
	paint(&s.m, &state, &c); /* keys know the lines of the screen */
	g->prepare(&s);
	state.now_ns = START_NS + (uint64_t)g->nr_iterations * NS_PER_S + NS_PER_S / 2;
	paint(&s.m, &state, &c);
	canvas_text(&c, out);
	if (g->has_styles)
		add_styles(&c, out);
	canvas_fini(&c);
	end_session(&s);
}

TEST(golden_screens)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		struct buf out;

		buf_init(&out, OUT_BYTES);
		render(&goldens[i], &out);
		golden_compare(goldens[i].file, &out);
		buf_fini(&out);
	}
}

/* Whatever the size: nothing is written outside, and what is clicked is there. The sanitizers
 * watch. */
TEST(any_size)
{
	static const char *const lives[] = {"", "f", "?", "w", "$b", "tc", "vvs"};
	static const unsigned sizes[] = {1, 2, 3, 7, 11, 19, 38, 39, 77, 81, 200};
	const struct paint_state at = {.now_ns = START_NS};

	for (size_t k = 0; k < sizeof(lives) / sizeof(lives[0]); k++) {
		struct session_under_test s;

		begin_session(&s, 20);
		add_iterations(&s, 0, 3);
		if (k % 2)
			timed(&s);
		keys(&s, lives[k]);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * 11; i++) {
			struct canvas c;

			canvas_init(&c, sizes[i / 11], sizes[i % 11], i % 2);
			paint(&s.m, &at, &c);
			for (unsigned n = 0; n < 40; n++)
				model_key(&s.m, &(struct key){.code = KEY_CODE_CLICK,
							      .x = n * 7 % 211,
							      .y = n * 3 % 101});
			paint(&s.m, &at, &c);
			canvas_fini(&c);
		}
		end_session(&s);
	}
}

/* Numbers that are too large for the history, for each other and for all: painted somehow. */
TEST(huge_numbers)
{
	static const double numbers[] = {1e39, 1e308, INFINITY, -1e308, 1e-300, -INFINITY, 1};
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;

	begin_session(&s, 2);
	canvas_init(&c, 120, 40, true);
	for (uint32_t i = 0; i < 20; i++) {
		s.t->nr_rows = 2;
		fill(s.t, i);
		for (size_t k = 0; k < EVENTS; k++) {
			struct cell *cell = table_cell(s.t, i % 2, k);

			cell->value = numbers[(i + k) % (sizeof(numbers) / sizeof(numbers[0]))];
			cell->is_real = true;
		}
		model_add(&s.m, &s.t);
		keys(&s, i % 5 ? "lrj" : "bd");
		paint(&s.m, &at, &c);
	}
	for (size_t i = 0; i < s.m.history.nr_series; i++)
		assert_false(isinf(history_value(&s.m.history, s.m.history.nr - 1, i)));
	canvas_fini(&c);
	end_session(&s);
}

/* Of 100 iterations of a second; also when it was stopped meanwhile (^Z). */
TEST(time_left)
{
	static const struct {
		uint32_t nr_come;
		double now_s;
		const char *text;
	} cases[] = {
	    {0, 0, "left 1:40  elapsed 0:00"},     {5, 5, "left 1:35  elapsed 0:05"},
	    {5, 5.5, "left 1:34  elapsed 0:05"},   {5, 305, "left 1:34  elapsed 5:05"},
	    {99, 399, "left 0:00  elapsed 6:39"},  {100, 100, "left 0:00  elapsed 1:40"},
	    {101, 101, "left 0:00  elapsed 1:41"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct paint_state at = {.now_ns = START_NS +
							 (uint64_t)(cases[i].now_s * NS_PER_S)};
		struct session_under_test s;
		struct canvas c;
		struct buf text;

		begin_session(&s, 1);
		add_iterations(&s, 0, cases[i].nr_come);
		canvas_init(&c, 100, 10, false);
		paint(&s.m, &at, &c);
		buf_init(&text, OUT_BYTES);
		canvas_text(&c, &text);
		if (!strstr(buf_str(&text), cases[i].text))
			fail_msg("%s is not in:\n%s", cases[i].text, buf_str(&text));
		buf_fini(&text);
		canvas_fini(&c);
		end_session(&s);
	}
}

/* From an hour on with hours. */
TEST(hours_left)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;
	struct buf text;

	begin_session(&s, 1);
	s.m.facts.nr_iterations = 10000;
	canvas_init(&c, 100, 10, false);
	paint(&s.m, &at, &c);
	buf_init(&text, OUT_BYTES);
	canvas_text(&c, &text);
	assert_non_null(strstr(buf_str(&text), "left 2:46:40  elapsed 0:00"));
	buf_fini(&text);
	canvas_fini(&c);
	end_session(&s);
}

static bool is_shown(const struct session_under_test *s, const char *words)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test shown = *s;
	struct canvas c;
	struct buf text;
	bool is;

	canvas_init(&c, 100, 24, true);
	paint(&shown.m, &at, &c);
	buf_init(&text, OUT_BYTES);
	canvas_text(&c, &text);
	is = strstr(buf_str(&text), words);
	buf_fini(&text);
	canvas_fini(&c);
	return is;
}

/* Of a session that goes on for a day nobody waits for the end. */
TEST(end_of_day)
{
	struct session_under_test s;

	begin_session(&s, 1);
	add_iterations(&s, 0, 3);
	s.m.facts.nr_iterations = 86399;
	assert_true(is_shown(&s, "3 of 86399 "));
	assert_true(is_shown(&s, "left 23:59:5"));
	s.m.facts.nr_iterations = 86400;
	assert_true(is_shown(&s, " iteration 2  elapsed 0:00  22:13:22"));
	s.m.facts.duration_ns = UINT64_MAX / 2;
	s.m.facts.nr_iterations = 1000;
	assert_true(is_shown(&s, "3 of 1000 "));
	s.m.facts.is_replay = true;
	s.m.facts.nr_iterations = 86400;
	assert_true(is_shown(&s, "3 of 86400 "));
	assert_true(is_shown(&s, "  2023-11-14 22:13:22"));
	end_session(&s);
}

/* By another column than the first, and from another line on. */
TEST(things_in_order)
{
	struct session_under_test s;
	struct model_block *b = &s.m.blocks[0];

	begin_session(&s, 1);
	add_iterations(&s, 0, 1);
	assert_true(is_shown(&s, " cpu_time         rss\n 17 postgres "));
	*b = (struct model_block){.column = 1, .sort = 1};
	assert_true(is_shown(&s, " cpu_time▼        rss\n 230 ?[31mred"));
	b->sorts_up = true;
	assert_true(is_shown(&s, " cpu_time▲        rss\n 17 postgres "));
	b->first = 1; /* all fit */
	assert_true(is_shown(&s, " rss\n 17 postgres "));
	end_session(&s);
}

/* On a short screen things have the lines of the chosen value's numbers, until one is chosen. */
TEST(things_on_a_short_screen)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;

	begin_session(&s, 1);
	s.t->nr_rows = 1;
	fill(s.t, 0);
	for (uint32_t i = 0; i < 30; i++)
		add_process(s.t, 1000 + i, "1000 many", NS_PER_S / 100);
	model_add(&s.m, &s.t);
	canvas_init(&c, 80, 17, true);
	for (int is_chosen = 0; is_chosen < 2; is_chosen++) {
		BUF_AUTO(text, OUT_BYTES);

		paint(&s.m, &at, &c);
		canvas_text(&c, &text);
		assert_int_equal(strstr(buf_str(&text), " all · ") != NULL, is_chosen);
		press(&s, 'l');
	}
	canvas_fini(&c);
	end_session(&s);
}

/* An axis that does not begin at 0 is marked. */
TEST(axis_is_marked)
{
	struct session_under_test s;

	begin_session(&s, 1);
	add_iterations(&s, 0, 5);
	assert_true(is_shown(&s, "2.000 G ≈"));
	s.t->nr_rows = 1;
	fill(s.t, 5);
	*table_cell(s.t, 0, CYCLES) = counted(1000, 1);
	model_add(&s.m, &s.t);
	assert_true(is_shown(&s, "0 │"));
	assert_false(is_shown(&s, "≈"));
	end_session(&s);
}

/* The bars are those of cpu_utilization, whichever share is measured first. */
TEST(bars_of_cpus)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct table *tables[3];
	struct canvas c;
	struct buf text;

	begin_session(&s, 4);
	tables[0] = s.t;
	tables[1] = s.m.frames[0].table;
	tables[2] = s.m.frames[1].table;
	for (int i = 0; i < 3; i++)
		tables[i]->columns[CLOCK].kind = EVENT_SHARE;
	add_iterations(&s, 0, 1);
	canvas_init(&c, 100, 24, true);
	paint(&s.m, &at, &c);
	buf_init(&text, OUT_BYTES);
	canvas_text(&c, &text);
	assert_non_null(strstr(buf_str(&text), "   0 ░░░░░░░   0 %    1 █░░░░░░  10 %"));
	buf_fini(&text);
	canvas_fini(&c);
	end_session(&s);
}

/* A CPU without a number is not idle. */
TEST(bars_of_missing_cpus)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;

	begin_session(&s, 64);
	s.t->nr_rows = 63;
	fill(s.t, 0);
	model_add(&s.m, &s.t);
	canvas_init(&c, 100, 24, true);
	paint(&s.m, &at, &c);
	assert_string_equal(c.cells[3 * 100 + 19 + 62].text, "▂");
	assert_string_equal(c.cells[3 * 100 + 19 + 63].text, "-");
	canvas_fini(&c);
	end_session(&s);
}

/* In counts, of an iteration: here of two seconds, a quarter of which CPU 0 ran. */
TEST(statistics_of_counts)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;
	struct buf text;

	begin_session(&s, 2);
	s.m.facts.duration_ns = 2 * (uint64_t)NS_PER_S;
	add_iterations(&s, 0, 3);
	canvas_init(&c, 100, 24, true);
	buf_init(&text, OUT_BYTES);
	paint(&s.m, &at, &c);
	keys(&s, "rjll");
	s.m.nr_missed = 4;
	paint(&s.m, &at, &c);
	canvas_text(&c, &text);
	assert_non_null(strstr(buf_str(&text), " min 500.0 ms  mean 500.0 ms  max 500.0 ms "));
	assert_non_null(strstr(buf_str(&text), " 4 not in the history  "));
	buf_fini(&text);
	canvas_fini(&c);
	end_session(&s);
}

/* Numbers that read the same are a level line below the top, not noise between equal ends. */
TEST(level_chart)
{
	const struct paint_state at = {.now_ns = START_NS};
	struct session_under_test s;
	struct canvas c;
	struct buf text;

	begin_session(&s, 1);
	canvas_init(&c, 100, 40, true);
	buf_init(&text, OUT_BYTES);
	for (uint32_t i = 0; i < 20; i++) {
		s.t->nr_rows = 1;
		fill(s.t, i);
		*table_cell(s.t, 0, CYCLES) = counted(2000000000 + i % 2 * 1000, 1);
		model_add(&s.m, &s.t);
	}
	paint(&s.m, &at, &c);
	canvas_text(&c, &text);
	assert_non_null(strstr(buf_str(&text), "2.000 G │"));
	assert_non_null(strstr(buf_str(&text), "        0 │"));
	assert_non_null(strstr(buf_str(&text), "⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿\n"));
	buf_fini(&text);
	canvas_fini(&c);
	end_session(&s);
}

/* What the machine does not have is said whole. */
TEST(machine_without_numbers)
{
	const struct paint_state at = {.now_ns = START_NS};

	for (unsigned width = 40; width < 200; width += 20) {
		struct session_under_test s;
		struct canvas c;
		const char *line;
		struct buf text;

		begin_session(&s, 1);
		s.t->nr_rows = 1;
		fill(s.t, 0);
		*table_cell(s.t, 0, MEMORY) = (struct cell){.state = CELL_NOT_SUPPORTED};
		model_add(&s.m, &s.t);
		canvas_init(&c, width, 24, true);
		paint(&s.m, &at, &c);
		buf_init(&text, OUT_BYTES);
		canvas_text(&c, &text);
		line = strstr(buf_str(&text), "memory_available");
		assert_non_null(line);
		if (!memmem(line, strcspn(line, "\n"), " not supported", 14))
			fail_msg("width %u:\n%s", width, buf_str(&text));
		buf_fini(&text);
		canvas_fini(&c);
		end_session(&s);
	}
}

/* Of eight steps. */
TEST(steps)
{
	static const struct {
		double x, max;
		unsigned step;
	} cases[] = {
	    {0, 1, 0},        {-1, 1, 0},
	    {1, 0, 0},        {NAN, 1, 0},
	    {0.124, 1, 0},    {0.125, 1, 1},
	    {0.999, 1, 7},    {1, 1, 7},
	    {1e308, 1, 7},    {INFINITY, INFINITY, 7},
	    {1, INFINITY, 0}, {INFINITY, 1, 7},
	    {1, -1e300, 0},   {1e300, 1e-300, 7},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(paint_step(cases[i].x, cases[i].max, 8), cases[i].step);
}
