/*
 * Tables of things as a user arranges them: filter, tree, selection; pages over time, and the
 * series behind them.
 */
#include "kit.h"
#include "test_dashboard.h"

#include "base/array.h"
#include "base/buf.h"
#include "dashboard/block.h"
#include "dashboard/model_keys.h"
#include "dashboard/paint.h"

#include <math.h>

enum { OUT_BYTES = 1 << 20, NR = 6 };

static const struct {
	uint32_t pid, parent;
	const char *name, *user, *command;
	unsigned cpu; /* percent */
} family[NR] = {
    {1, 0, "1 init", "root", "/sbin/init splash", 1},
    {20, 1, "20 sshd", "root", "sshd: listener", 2},
    {31, 20, "31 bash", "ann", "-bash", 3},
    {32, 31, "32 cc1", "ann", "cc1 -O2 big.c", 90},
    {40, 1, "40 cron", "root", "cron -f", 0},
    {50, 2, "50 kworker/0:1", "root", "", 4}, /* its parent is not shown */
};

static unsigned nr_asked;

static bool describe(void *arg, uint32_t pid, struct processes_one *out)
{
	(void)arg;
	nr_asked++;
	for (size_t i = 0; i < NR; i++) {
		if (family[i].pid != pid)
			continue;
		out->parent = family[i].parent;
		snprintf(out->user, sizeof(out->user), "%s", family[i].user);
		snprintf(out->command, sizeof(out->command), "%s", family[i].command);
		return true;
	}
	return false;
}

static unsigned used_by_last; /* not 0: instead */

/* Of one of them in another order: what the others use. */
static unsigned cpu_of(uint32_t i, uint32_t iteration)
{
	if (used_by_last && i == NR - 1)
		return used_by_last;
	return iteration % 100 == 99 ? 100 - family[i].cpu : family[i].cpu;
}

static void add_family(struct session_under_test *s, uint32_t iteration)
{
	s->t->nr_rows = s->facts.nr_cpus;
	fill(s->t, iteration);
	table_drop_things(s->t);
	for (uint32_t i = 0; i < NR; i++) {
		const struct reading start = {.state = READING_OK, .time_ns = s->t->start_ns};
		struct reading end = {.state = READING_OK,
				      .time_ns = s->t->end_ns,
				      .raw = (uint64_t)cpu_of(i, iteration) * NS_PER_S / 100};

		assert_int_equal(table_add_thing(s->t, TIME_OF, i, family[i].name, &start, &end),
				 0);
	}
	model_add(&s->m, &s->t);
}

/* With the processes in focus. */
static void begin(struct session_under_test *s, bool is_replay)
{
	struct model_facts facts;

	begin_session(s, 2);
	facts = s->facts;
	facts.is_replay = is_replay;
	if (!is_replay)
		facts.processes = (struct processes_source){describe, NULL};
	facts.can_profile = !is_replay;
	facts.nr_machine_cpus = 2;
	model_fini(&s->m);
	assert_int_equal(model_init(&s->m, &facts), 0);
	nr_asked = 0;
	add_family(s, 0);
	if (is_replay)
		model_show(&s->m, &s->t);
	press(s, '\t');
}

static void press_all(struct session_under_test *s, const char *keys)
{
	for (; *keys; keys++)
		press(s, *keys);
}

static void expect_lines(struct session_under_test *s, const char *want)
{
	struct block_lines l;
	BUF_AUTO(text, OUT_BYTES);

	assert_true(block_lines_find(&s->m, 1, &l));
	for (size_t i = 0; i < l.nr; i++)
		buf_printf(&text, "%s%.*s%u", i ? " " : "", (int)l.line[i].depth, "-----",
			   processes_pid(block_line_name(&l.line[i])));
	block_lines_drop(&l);
	assert_string_equal(buf_str(&text), want);
}

/* By name, owner or command line, while it is typed too. */
TEST(filters)
{
	static const struct {
		const char *typed, *lines;
	} of[] = {{"CC1", "32"},   {"-O2", "32"},   {"ann", "32 31"},
		  {"kwork", "50"}, {"nothing", ""}, {"", "32 50 31 20 1 40"}};
	struct session_under_test s;

	begin(&s, false);
	expect_lines(&s, "32 50 31 20 1 40");
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		press(&s, i % 2 ? '/' : 'f');
		press(&s, 'U' - '@');
		press_all(&s, of[i].typed);
		expect_lines(&s, of[i].lines);
		press(&s, '\r');
		expect_lines(&s, of[i].lines);
	}
	press_all(&s, "/ssx");
	press(&s, KEY_CODE_BACKSPACE);
	expect_lines(&s, "20");
	press(&s, KEY_CODE_ESCAPE); /* what was there */
	expect_lines(&s, "32 50 31 20 1 40");
	press_all(&s, "/cron\r");
	expect_lines(&s, "40");
	press(&s, KEY_CODE_ESCAPE); /* the filter, then the focus */
	expect_lines(&s, "32 50 31 20 1 40");
	assert_int_equal(s.m.focus, 1);
	press(&s, KEY_CODE_ESCAPE);
	assert_int_equal(s.m.focus, MODEL_FOCUS_TABLE);
	press_all(&s, "/cron\r"); /* of processes, from anywhere */
	expect_lines(&s, "40");
	assert_int_equal(nr_asked, NR); /* once for each */
	end_session(&s);
}

/* Below their parents, siblings in order; a filter keeps what is above. */
TEST(trees)
{
	struct session_under_test s;

	begin(&s, false);
	press(&s, 't');
	expect_lines(&s, "50 1 -20 --31 ---32 -40");
	press_all(&s, "ss"); /* by CPU time, the least first */
	expect_lines(&s, "1 -40 -20 --31 ---32 50");
	press_all(&s, "/bash\r");
	expect_lines(&s, "1 -20 --31");
	assert_int_equal(block_selected_pid(&s.m, s.m.focus), 31);
	press_all(&s, "kk"); /* up to what is above it */
	assert_int_equal(block_selected_pid(&s.m, s.m.focus), 1);
	press_all(&s, "jj");
	assert_int_equal(block_selected_pid(&s.m, s.m.focus), 31);
	press(&s, 't');
	expect_lines(&s, "31");
	end_session(&s);
}

/* Users, parents and command lines are in no file. */
TEST(replays)
{
	struct session_under_test s;

	begin(&s, true);
	press(&s, 't');
	assert_non_null(strstr(s.m.message, "not in a replay"));
	press(&s, 'u');
	assert_non_null(strstr(s.m.message, "not in a replay"));
	assert_false(s.m.blocks[0].is_tree || s.m.blocks[0].has_details);
	press(&s, '\r');
	assert_non_null(strstr(s.m.message, "a replay cannot profile"));
	assert_int_equal(s.m.wanted_pid, 0);
	end_session(&s);
}

/* The selection follows its thing, but for the first line. */
TEST(selects)
{
	struct session_under_test s;
	const struct model_block *b;

	begin(&s, false);
	b = &s.m.blocks[0];
	press_all(&s, "jj"); /* 31 */
	press(&s, '\r');
	assert_int_equal(s.m.wanted_pid, 31);
	add_family(&s, 99); /* the least are first */
	press(&s, '\r');
	assert_int_equal(s.m.wanted_pid, 31);
	press(&s, 'g');
	press(&s, '\r');
	assert_int_equal(s.m.wanted_pid, 40);
	add_family(&s, 100);
	press(&s, '\r');
	assert_int_equal(s.m.wanted_pid, 32);
	press_all(&s, "ss"); /* which sorts, and leads to the top */
	press(&s, '\r');
	assert_int_equal(s.m.wanted_pid, 40);
	press(&s, 'G');
	assert_int_equal(b->number, 3);
	press(&s, 's');
	press(&s, 'g');
	s.m.is_profiling = true;
	s.m.wanted_pid = 0;
	press(&s, '\r');
	assert_non_null(strstr(s.m.message, "is being recorded"));
	assert_int_equal(s.m.wanted_pid, 0);
	press(&s, KEY_CODE_ESCAPE);
	assert_true(s.m.wants_no_profile);
	end_session(&s);
}

static void render(struct session_under_test *s, unsigned width, unsigned height, struct buf *out)
{
	const struct paint_state state = {.now_ns = START_NS + 100 * (uint64_t)NS_PER_S};
	struct canvas c;

	assert_int_equal(canvas_init(&c, width, height, true), 0);
	paint(&s->m, &state, &c);
	buf_reset(out);
	canvas_text(&c, out);
	canvas_fini(&c);
}

static bool shows(struct session_under_test *s, unsigned width, unsigned height, const char *text)
{
	BUF_AUTO(out, OUT_BYTES);

	render(s, width, height, &out);
	return strstr(buf_str(&out), text) != NULL;
}

/* All is reached by scrolling; owners and command lines where there is room. */
TEST(shows_lines)
{
	struct session_under_test s;

	begin(&s, false);
	assert_true(shows(&s, 80, 16, " more"));
	assert_false(shows(&s, 80, 16, "40 cron"));
	press(&s, 'G');
	assert_true(shows(&s, 80, 16, "40 cron"));
	press(&s, 'u');
	for (unsigned width = 60; width <= 300; width += 40) {
		assert_true(shows(&s, width, 40, "cc1 -O2 big.c"));
		assert_true(shows(&s, width, 40, "[kworker/0:1]"));
	}
	press(&s, 't');
	assert_true(shows(&s, 120, 40, "└ 20 sshd"));
	end_session(&s);
}

/* On any screen, with any of it; nothing is outside. */
TEST(any_size)
{
	static const char *const keys[] = {"", "u", "t", "/c", "\r", "o", "\033", "\t", "\r"};
	struct session_under_test s;
	BUF_AUTO(out, OUT_BYTES);

	begin(&s, false);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		press_all(&s, keys[i]);
		for (unsigned width = 1; width < 330; width += 13)
			for (unsigned height = 1; height < 110; height += 9)
				render(&s, width, height, &out);
	}
	end_session(&s);
}

/* A chart for each event; gone things keep their past. */
TEST(pages)
{
	struct session_under_test s;

	begin(&s, false);
	for (uint32_t i = 1; i < 8; i++)
		add_family(&s, i);
	press_all(&s, "jo"); /* 50: 4 % of a CPU */
	assert_int_equal(s.m.page.of, MODEL_PAGE_THING);
	assert_true(shows(&s, 100, 30, "process 50 kworker/0:1"));
	assert_true(shows(&s, 100, 30, "cpu_time  4.0 %  min 4.0 %  mean 4.0 %"));
	assert_true(shows(&s, 100, 30, "n 8"));
	add_iterations(&s, 8, 1);
	assert_true(shows(&s, 100, 30, "not in this iteration"));
	assert_true(shows(&s, 100, 30, "n 8"));
	press(&s, KEY_CODE_ESCAPE);
	assert_int_equal(s.m.page.of, MODEL_NO_PAGE);
	press(&s, '\t');
	press(&s, 'l');
	press(&s, '\r');
	assert_int_equal(s.m.page.of, MODEL_PAGE_MACHINE);
	assert_true(shows(&s, 100, 30, "context_switches  "));
	assert_true(shows(&s, 100, 30, "memory_available  "));
	press(&s, KEY_CODE_ESCAPE);
	press(&s, KEY_CODE_ESCAPE);
	assert_true(shows(&s, 100, 40, "cpu_clock")); /* the table */
	press_all(&s, "j\r");
	assert_int_equal(s.m.page.of, MODEL_PAGE_ROW);
	assert_true(shows(&s, 100, 40, " CPU 0 "));
	assert_true(shows(&s, 100, 20, "1-3 of 6 events"));
	press_all(&s, "jjjjjjjj");
	assert_true(shows(&s, 100, 20, "4-6 of 6 events"));
	assert_true(shows(&s, 100, 30, "2-6 of 6 events")); /* as many as fit */
	end_session(&s);
}

/* The help has the keys of the screen that it is opened on. */
TEST(helps)
{
	struct session_under_test s;

	begin(&s, false);
	press(&s, '?');
	assert_true(shows(&s, 120, 60, "profile it for 5 s"));
	assert_false(shows(&s, 120, 60, "fold CPUs"));
	press_all(&s, "x");
	press(&s, KEY_CODE_ESCAPE);
	press(&s, '?');
	assert_true(shows(&s, 120, 60, "fold CPUs"));
	assert_false(shows(&s, 120, 60, "profile it for 5 s"));
	press_all(&s, "x\r?");
	assert_true(shows(&s, 120, 60, "scroll the charts"));
	assert_false(shows(&s, 120, 60, "fold CPUs"));
	end_session(&s);
}

/* Where one column is too short and two are too wide, it scrolls; any other key closes it. */
TEST(help_scrolls)
{
	struct session_under_test s;

	begin(&s, false);
	press(&s, '?');
	assert_true(shows(&s, 60, 15, "arrows scroll"));
	assert_true(shows(&s, 60, 15, "arrows hjkl select a line, a column"));
	assert_false(shows(&s, 60, 15, "beyond the spread"));
	press(&s, 'j');
	assert_false(shows(&s, 60, 15, "arrows hjkl select"));
	for (int i = 0; i < 9; i++)
		press(&s, KEY_CODE_PAGE_DOWN);
	assert_true(shows(&s, 60, 15, "+1.2%!      beyond the spread"));
	assert_true(shows(&s, 60, 60, "arrows hjkl select a line, a column")); /* all fits */
	press(&s, KEY_CODE_UP);
	assert_int_equal(s.m.overlay, MODEL_NO_OVERLAY);
	press(&s, '?');
	assert_true(shows(&s, 60, 15, "arrows hjkl select a line, a column"));
	press(&s, KEY_CODE_DOWN);
	press(&s, 'x');
	assert_int_equal(s.m.overlay, MODEL_NO_OVERLAY);
	end_session(&s);
}

enum { NR_KINDS = 6, NR_VALUES = 5, NR_OF_ALL = 1 + NR_VALUES + NR_KINDS };

/* A column of CPUs, values of the machine, and kinds of things with four of each. */
static void begin_crowded(struct session_under_test *s, struct table_column *columns)
{
	static const char *const kinds[NR_KINDS] = {"disk_io", "net_io",    "process_x",
						    "gpu_x",   "cgroup_io", "sensor_x"};
	static const char *const values[NR_VALUES] = {"first", "second", "third", "fourth",
						      "fifth"};
	struct model_facts facts;

	begin_session(s, 2);
	model_fini(&s->m);
	table_free(s->t);
	facts = s->facts;
	facts.events = columns;
	facts.nr_events = NR_OF_ALL;
	facts.metrics.nr = 0;
	for (size_t i = 0; i < NR_OF_ALL; i++)
		columns[i] =
		    i == 0 ? events[BUSY]
		    : i <= NR_VALUES
			? (struct table_column){"misc", values[i - 1], values[i - 1],
						"B",    EVENT_VALUE,   EVENT_SCOPE_SYSTEM}
			: (struct table_column){
			      "misc",      kinds[i - 1 - NR_VALUES], kinds[i - 1 - NR_VALUES], "B",
			      EVENT_VALUE, EVENT_SCOPE_THINGS};
	assert_int_equal(model_init(&s->m, &facts), 0);
	s->t = model_new_table(&s->m);
	s->t->start_ns = START_NS;
	s->t->end_ns = START_NS + NS_PER_S;
	for (uint32_t row = 0; row < 2; row++)
		s->t->row_trace[row] = s->t->row_cpu[row] = row;
	for (size_t i = 1; i <= NR_VALUES; i++)
		*table_cell(s->t, 0, i) = value_of(i);
	for (uint32_t i = 1 + NR_VALUES; i < NR_OF_ALL; i++)
		for (uint32_t n = 0; n < 4; n++) {
			const struct reading r = {.state = READING_OK, .raw = n};

			table_cell(s->t, 0, i)->state = CELL_NONE;
			assert_int_equal(table_add_thing(s->t, i, 10 * i + n, "thing", &r, &r), 0);
		}
	model_add(&s->m, &s->t);
}

/* What keys apply to is on the screen, however small it is. */
TEST(focus_is_shown)
{
	struct table_column columns[NR_OF_ALL];
	struct session_under_test s;

	begin_crowded(&s, columns);
	for (unsigned height = 8; height < 40; height++) {
		size_t nr_seen = 0;

		do {
			const size_t focus = s.m.focus;
			BUF_AUTO(out, OUT_BYTES);

			render(&s, 60, height, &out);
			if (focus == MODEL_FOCUS_MACHINE)
				for (size_t i = 1; i <= NR_VALUES; i++, press(&s, 'l'))
					assert_true(shows(&s, 60, height, columns[i].name));
			else if (focus != MODEL_FOCUS_TABLE && !s.m.blocks[focus - 1].nr_lines)
				fail_msg("height %u, kind %zu:\n%s", height, focus, buf_str(&out));
			s.m.item = 1;
			nr_seen++;
			press(&s, '\t');
		} while (s.m.focus != MODEL_FOCUS_TABLE);
		assert_int_equal(nr_seen, NR_KINDS + 2);
	}
	end_session(&s);
}

/* Memory as a bar with its parts, each as wide as it is; its events are no further values. */
TEST(memory_bar)
{
	static const char *const names[] = {"memory_total",  "memory_used", "memory_buffers",
					    "memory_cached", "memory_free", "memory_shared",
					    "swap_used",     "swap_total"};
	static const uint64_t gb[] = {40, 10, 4, 6, 20, 2, 1, 8};
	struct table_column columns[8];
	struct session_under_test s;
	struct model_facts facts;
	struct table *t;
	struct model m;

	begin_session(&s, 2);
	for (size_t i = 0; i < 8; i++)
		columns[i] = (struct table_column){"misc", names[i],    names[i],
						   "B",    EVENT_VALUE, EVENT_SCOPE_SYSTEM};
	facts = s.facts;
	facts.events = columns;
	facts.nr_events = 8;
	facts.metrics.nr = 0;
	assert_int_equal(model_init(&m, &facts), 0);
	t = model_new_table(&m);
	t->start_ns = START_NS;
	t->end_ns = START_NS + NS_PER_S;
	for (uint32_t row = 0; row < 2; row++)
		t->row_trace[row] = t->row_cpu[row] = row;
	for (size_t i = 0; i < 8; i++)
		*table_cell(t, 0, i) = value_of(gb[i] * 1000000000);
	model_add(&m, &t);
	model_fini(&s.m);
	s.m = m;
	assert_true(shows(
	    &s, 160, 30,
	    " memory ██████████▚▚▓▓▓▓▒▒▒▒░░░░░░░░░░░░░░░░░░░░  used 10.00 GB  "
	    "shared 2.000 GB  buffers 4.000 GB  cached 4.000 GB  free 20.00 GB  of 40.00 GB"));
	assert_false(shows(&s, 160, 30, "memory_used"));
	assert_true(shows(&s, 160, 30, "1.000 GB of 8.000 GB"));
	assert_false(shows(&s, 160, 30, "swap_total"));
	assert_true(shows(&s, 60, 15, " memory ████"));
	press(&s, 'l');
	press(&s, 'l');
	assert_true(shows(&s, 160, 30, "misc:memory_buffers"));
	table_free(t);
	end_session(&s);
}

/* A process uses at most all CPUs, whatever its readings say. */
TEST(at_most_all_cpus)
{
	const struct cell cell = {.state = CELL_OK, .value = 2.2 * NS_PER_S, .span_ns = NS_PER_S};
	struct session_under_test s;

	begin(&s, false);
	assert_float_equal(model_thing_cell(&s.m, TIME_OF, &cell).value, 2.0 * NS_PER_S, 1);
	assert_float_equal(model_number(model_column(&s.m, TIME_OF), &cell, false), 220, 1e-9);
	end_session(&s);
}

static bool has_mark(struct session_under_test *s)
{
	bool has = false;

	for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
		struct canvas c;

		assert_int_equal(canvas_init(&c, 100, 30, is_utf8), 0);
		paint(&s->m, &(struct paint_state){.now_ns = 0}, &c);
		has = ARRAY_ANY(cell, c.cells, (size_t)c.width * c.height,
				cell->style == CANVAS_WARN &&
				    (is_utf8 ? (cell->text[1] & 0xfc) == 0xa0 /* Braille */
					     : strcmp(cell->text, "!") == 0)) &&
		      (has || !is_utf8);
		canvas_fini(&c);
	}
	return has;
}

/* Which is the top of its chart; what is drawn lower than it is has a mark there. */
TEST(charts_end_at_all_cpus)
{
	struct session_under_test s;

	begin(&s, false);
	press_all(&s, "jo");
	used_by_last = 170;
	add_family(&s, 1);
	assert_true(shows(&s, 100, 30, " 170.0 % │"));
	used_by_last = 190;
	add_family(&s, 2);
	assert_true(shows(&s, 100, 30, " 200.0 % │"));
	assert_false(has_mark(&s));
	used_by_last = 250;
	add_family(&s, 3);
	assert_true(shows(&s, 100, 30, " 200.0 % │"));
	assert_true(shows(&s, 100, 30, "cpu_time  200.0 % "));
	assert_true(shows(&s, 100, 30, "max 200.0 %"));
	assert_true(has_mark(&s));
	s.m.facts.nr_machine_cpus = 0;
	assert_true(shows(&s, 100, 30, " 250.0 % │"));
	assert_false(has_mark(&s));
	used_by_last = 0;
	end_session(&s);
}

/* Rings of values; what is gone makes room. */
TEST(series)
{
	const struct thing_series_one *one;
	struct thing_series s = {.nr = 0};

	for (uint32_t i = 0; i < 2 * THING_SERIES_DEPTH; i++) {
		thing_series_begin(&s);
		thing_series_set(&s, 1, 7, i);
		if (i % 7 == 0)
			thing_series_set(&s, 1, 8, i);
	}
	one = thing_series_find(&s, 1, 7);
	for (uint32_t ago = 0; ago < THING_SERIES_DEPTH; ago++)
		assert_float_equal(thing_series_value(&s, one, ago),
				   2 * THING_SERIES_DEPTH - 1 - ago, 0);
	assert_true(isnan(thing_series_value(&s, one, THING_SERIES_DEPTH)));
	one = thing_series_find(&s, 1, 8);
	assert_true(isnan(thing_series_value(&s, one, 0)));
	for (uint32_t ago = 0; ago < THING_SERIES_DEPTH; ago++) {
		uint32_t i = 2 * THING_SERIES_DEPTH - 1 - ago;
		double x = thing_series_value(&s, one, ago);

		assert_true(i % 7 ? isnan(x) : x == i);
	}
	assert_null(thing_series_find(&s, 2, 7));
	for (uint32_t i = 0; i < 2; i++) {
		thing_series_begin(&s);
		thing_series_set(&s, 1, 7, i);
	}
	for (uint32_t i = 100; i < 100 + THING_SERIES_MAX; i++)
		thing_series_set(&s, 1, i, i);
	assert_int_equal(s.nr, THING_SERIES_MAX);
	assert_non_null(thing_series_find(&s, 1, 7));
	assert_null(thing_series_find(&s, 1, 8)); /* it was gone */
	thing_series_clear(&s);
	assert_null(thing_series_find(&s, 1, 7));
	thing_series_fini(&s);
}
