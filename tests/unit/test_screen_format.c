/*
 * The output formats against tables kept in tests/data/tables. GOLDEN_UPDATE=1 writes them anew:
 * read the difference before it is kept.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "screen/format.h"
#include "screen/number.h"

#include <jansson.h>

enum { OUT_BYTES = 1 << 20 };

struct setup {
	struct table *t;
	struct table_summary *sum;
	struct arena arena; /* of metrics; most have none */
	bool is_cut;
};

static struct cell count(uint64_t n)
{
	return (struct cell){
	    .state = CELL_OK, .count = n, .value = (double)n, .raw = n, .span_ns = 1000000000};
}

static struct cell perf_count(uint64_t n, uint64_t enabled, uint64_t running)
{
	struct cell c = count(n);

	c.is_perf = true;
	c.enabled_ns = enabled;
	c.running_ns = running;
	return c;
}

static struct cell share(uint64_t raw, uint64_t base)
{
	return (struct cell){.state = CELL_OK,
			     .value = 100.0 * (double)raw / (double)base,
			     .raw = raw,
			     .base = base,
			     .span_ns = 1000000000};
}

static struct cell state_only(enum cell_state s)
{
	return (struct cell){.state = s};
}

static void time_of(struct table *t, uint32_t iteration)
{
	const struct clock_triple clocks = {.monotonic_ns = 1000,
					    .realtime_ns = 1700000000000000000};

	t->iteration = iteration;
	table_set_time(t, 1000 + iteration * 1000000000ull, 1000001000 + iteration * 1000000000ull,
		       &clocks);
	table_total(t);
}

/* The example of the original's layout. */
static void example(struct setup *s)
{
	struct table *t = s->t = table_new(3, 2);

	t->columns[0] =
	    (struct table_column){"fixed",     "instructions_retired", "instructions_retired", "",
				  EVENT_COUNT, EVENT_SCOPE_CPU};
	t->columns[1] = (struct table_column){"arch", "llc_misses", "llc_misses",
					      "",     EVENT_COUNT,  EVENT_SCOPE_CPU};
	t->columns[2] = (struct table_column){"misc", "memory_bytes_read", "memory_bytes_read",
					      "B",    EVENT_COUNT,         EVENT_SCOPE_PACKAGE};
	t->row_cpu[1] = 1;
	*table_cell(t, 0, 0) = count(123456789);
	*table_cell(t, 0, 1) = count(1234);
	*table_cell(t, 0, 2) = count(65536000);
	*table_cell(t, 1, 0) = count(98765432);
	*table_cell(t, 1, 1) = count(987);
	time_of(t, 0);
}

/* Everything that may be said of a cell, on CPUs that are not the traces. */
static void states(struct setup *s)
{
	static const char *const labels[] = {"cycles",   "largest",     "wörk, \"so\"",
					     "cpu_user", "memory_used", "llc_misses"};
	static const enum event_kind kinds[] = {EVENT_COUNT, EVENT_COUNT, EVENT_COUNT,
						EVENT_SHARE, EVENT_VALUE, EVENT_COUNT};
	static const char *const units[] = {"", "", "ns", "%", "B", ""};
	struct table *t = s->t = table_new(6, 4);

	for (size_t i = 0; i < 6; i++)
		t->columns[i] = (struct table_column){"group",  "event",  labels[i],
						      units[i], kinds[i], EVENT_SCOPE_CPU};
	t->columns[5].reason = "no PMU in this machine; run on the host, or give the VM one";
	for (uint32_t row = 0; row < 4; row++) {
		t->row_cpu[row] = 2 * row;
		*table_cell(t, row, 0) = perf_count(1234567, 1000, row ? 620 : 1000);
		*table_cell(t, row, 1) = count(UINT64_MAX >> row * 16);
		*table_cell(t, row, 2) = count(20500000 + row);
		*table_cell(t, row, 3) = share(370 + row, 1000);
		*table_cell(t, row, 5) = state_only(CELL_NOT_SUPPORTED);
	}
	*table_cell(t, 0, 4) = count(4123456789);
	*table_cell(t, 1, 0) = state_only(CELL_NOT_COUNTED);
	*table_cell(t, 2, 0) = perf_count(5, 1000000, 1);
	*table_cell(t, 1, 2) = state_only(CELL_FAILED);
	*table_cell(t, 3, 3) = state_only(CELL_NOT_COUNTED);
	table_cell(t, 3, 0)->state = CELL_OFFLINE;
	table_cell(t, 3, 2)->state = CELL_OFFLINE;
	time_of(t, 0);
}

/* Columns that grow in the second iteration stay wide in the third. */
static void three(struct setup *s)
{
	example(s);
	s->sum = table_summary_new(3);
}

/* The session was ended in its last iteration. */
static void cut(struct setup *s)
{
	three(s);
	s->is_cut = true;
}

static void step_metrics(struct setup *s, uint32_t iteration);

static void step(struct setup *s, uint32_t iteration, uint32_t nr)
{
	if (s->t->nr_events < s->t->nr_columns) {
		step_metrics(s, iteration);
		return;
	}
	*table_cell(s->t, 0, 1) = iteration == 1 ? count(123456789012345) : count(1000);
	time_of(s->t, iteration);
	s->t->is_cut = s->is_cut && iteration + 1 == nr;
	if (s->t->is_cut)
		s->t->end_ns = s->t->start_ns + 102345678;
}

static void cut_one(struct setup *s)
{
	example(s);
	s->t->is_cut = true;
}

/* {a} is the first event, {b} the second … */
static struct metric metric_of(struct setup *s, const char *name, const char *unit,
			       const char *expr)
{
	struct metric m = {.name = name, .unit = unit};
	size_t offset;

	assert_int_equal(expr_parse(expr, &s->arena, &m.expr, &offset, NULL), 0);
	for (size_t i = 0; i < m.expr.nr_steps; i++)
		if (m.expr.steps[i].op == EXPR_OPERAND)
			m.expr.steps[i].operand = (size_t)(m.expr.steps[i].name[0] - 'a');
	return m;
}

/* Metrics of all sorts: of what is there and what is not, of CPUs and the machine, beyond limits.
 */
static void metrics(struct setup *s)
{
	static struct metric m[6];
	const struct metric_set set = {m, 6};
	struct table *t;

	arena_init(&s->arena, 1 << 20);
	m[0] = metric_of(s, "ipc", "", "{a} / {b}");
	m[1] = metric_of(s, "missing", "%", "100 * {d} / {b}");
	m[2] = metric_of(s, "rate", "B", "{b} * 64 / duration");
	m[3] = metric_of(s, "wörk, \"so\"", "J", "{a} * 1e-20");
	m[4] = metric_of(s, "per_machine", "", "{c} / {b}");
	m[5] = metric_of(s, "below zero", "", "{b} - {a} * 3");
	m[0].warn_below = (struct metric_limit){"0.60", 0.6};
	m[2].warn_above = (struct metric_limit){"1e3", 1e3};
	m[4].warn_above = (struct metric_limit){"1", 1};
	t = s->t = table_new(4 + set.nr, 2);
	t->columns[0] = (struct table_column){"fixed", "instructions", "instructions",
					      "",      EVENT_COUNT,    EVENT_SCOPE_CPU};
	t->columns[1] =
	    (struct table_column){"fixed", "cycles", "cycles", "", EVENT_COUNT, EVENT_SCOPE_CPU};
	t->columns[2] =
	    (struct table_column){"misc", "memory", "memory", "B", EVENT_COUNT, EVENT_SCOPE_SYSTEM};
	t->columns[3] =
	    (struct table_column){"arch", "misses", "misses", "", EVENT_COUNT, EVENT_SCOPE_CPU};
	t->columns[3].reason = "no PMU in this machine";
	table_set_metrics(t, &set);
	t->row_cpu[1] = 1;
	*table_cell(t, 0, 0) = perf_count(500, 1000, 1000);
	*table_cell(t, 0, 1) = perf_count(1000, 1000, 1000);
	*table_cell(t, 1, 0) = perf_count(1600000, 1000, 620);
	*table_cell(t, 1, 1) = perf_count(2000000, 1000, 1000);
	*table_cell(t, 0, 2) = count(65536000);
	*table_cell(t, 0, 3) = *table_cell(t, 1, 3) = state_only(CELL_NOT_SUPPORTED);
	time_of(t, 0);
}

/* In the second iteration a CPU has no cycles. */
static void step_metrics(struct setup *s, uint32_t iteration)
{
	*table_cell(s->t, 1, 1) =
	    iteration == 1 ? state_only(CELL_NOT_COUNTED) : perf_count(2000000, 1000, 1000);
	table_cell(s->t, 0, 0)->count = 500 + 100 * iteration;
	table_cell(s->t, 0, 0)->value = 500 + 100 * iteration;
	time_of(s->t, iteration);
}

static const struct golden {
	const char *file, *format;
	unsigned width, nr_iterations;
	void (*fill)(struct setup *s);
} goldens[] = {
    {"tables/example.txt", "text", 0, 1, example},
    {"tables/states.txt", "text", 0, 1, states},
    {"tables/states-40.txt", "text", 40, 1, states},
    {"tables/states-80.txt", "text", 80, 1, states},
    {"tables/states-120.txt", "text", 120, 1, states},
    {"tables/states-1.txt", "text", 1, 1, states},
    {"tables/states.csv", "csv", 0, 1, states},
    {"tables/states.ndjson", "ndjson", 0, 1, states},
    {"tables/three.txt", "text", 0, 3, three},
    {"tables/three.csv", "csv", 0, 3, three},
    {"tables/three.ndjson", "ndjson", 0, 3, three},
    {"tables/cut.txt", "text", 0, 3, cut},
    {"tables/cut.ndjson", "ndjson", 0, 3, cut},
    {"tables/cut-1.txt", "text", 0, 1, cut_one},
    {"tables/metrics.txt", "text", 0, 3, metrics},
    {"tables/metrics-60.txt", "text", 60, 3, metrics},
    {"tables/metrics.csv", "csv", 0, 3, metrics},
    {"tables/metrics.ndjson", "ndjson", 0, 3, metrics},
};

static void render(const struct golden *g, struct setup *s, struct buf *out)
{
	const struct screen_options options = {.width = g->width};
	const struct screen_format *f = screen_format_find(g->format);
	struct screen_state *state = screen_state_new(s->t->nr_columns, &options);

	if (!s->sum)
		s->sum = table_summary_new(s->t->nr_columns);
	f->begin(state, s->t, out);
	for (uint32_t i = 0; i < g->nr_iterations; i++) {
		if (g->nr_iterations > 1)
			step(s, i, g->nr_iterations);
		table_summary_add(s->sum, s->t);
		f->iteration(state, s->t, out);
	}
	f->summary(state, s->t, s->sum, out);
	screen_state_free(state);
}

TEST(golden_tables)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		struct setup s = {0};
		struct buf out;

		buf_init(&out, OUT_BYTES);
		goldens[i].fill(&s);
		render(&goldens[i], &s, &out);
		golden_compare(goldens[i].file, &out);
		buf_fini(&out);
		arena_fini(&s.arena);
		table_summary_free(s.sum);
		table_free(s.t);
	}
}

/* The first line of the text from at on that begins with begin, without its newline. */
static const char *line_of(struct buf *out, size_t at, const char *begin)
{
	char *line = strstr(buf_str(out) + at, begin);

	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Numbers of several CPUs by their size, percentages as they are; the machine's alone is plain. */
TEST(in_colour)
{
	const struct screen_options options = {.has_color = true};
	struct screen_state *st = screen_state_new(6, &options);
	struct setup s = {0};
	struct buf out;

	buf_init(&out, OUT_BYTES);
	states(&s);
	screen_format_find("text")->iteration(st, s.t, &out);
	assert_non_null(strstr(buf_str(&out), "|\033[1;33m18,446,744,073,709,551,615\033[0m|"));
	assert_non_null(strstr(buf_str(&out), "|             4,294,967,295|"));
	assert_non_null(strstr(buf_str(&out), "|\033[36m      37.0%\033[0m|"));
	assert_non_null(strstr(buf_str(&out), "|4,123,456,789"));
	buf_fini(&out);
	screen_state_free(st);
	table_free(s.t);
}

/* A column without any number is a line with the others of its reason, until it has one; what some
 * CPU has is a column. */
TEST(absent_columns)
{
	const struct screen_options options = {.width = 0};
	struct screen_state *st = screen_state_new(3, &options);
	struct setup s = {0};
	struct buf out;
	size_t second;

	buf_init(&out, OUT_BYTES);
	example(&s);
	s.t->columns[0].reason = s.t->columns[1].reason = "no PMU";
	s.t->columns[2].reason = "elsewhere";
	for (uint32_t row = 0; row < 2; row++)
		for (size_t i = 0; i < 2; i++)
			*table_cell(s.t, row, i) = state_only(CELL_NOT_SUPPORTED);
	time_of(s.t, 0);
	screen_format_find("text")->iteration(st, s.t, &out);
	second = out.len;
	*table_cell(s.t, 1, 1) = count(7);
	time_of(s.t, 1);
	screen_format_find("text")->iteration(st, s.t, &out);
	assert_string_equal(line_of(&out, second, " "),
			    "          |   llc_misses|memory_bytes_read");
	assert_null(strstr(buf_str(&out), "elsewhere"));
	assert_string_equal(line_of(&out, 0, "not measured"),
			    "not measured: instructions_retired, llc_misses (no PMU)");
	/* a pipe has no columns, but its sentences are broken, too */
	s.t->columns[0].reason = s.t->columns[1].reason =
	    "this machine has no hardware PMU that a program without rights may use, as far as is "
	    "known";
	screen_state_free(st);
	st = screen_state_new(3, &options);
	second = out.len;
	screen_format_find("text")->iteration(st, s.t, &out);
	assert_string_equal(line_of(&out, second, "not measured"),
			    "not measured: instructions_retired (this machine has no hardware PMU "
			    "that a program without rights may use, as far as is");
	buf_fini(&out);
	screen_state_free(st);
	table_free(s.t);
}

/* Of a terminal, its columns; else what the variable says, if it can be. */
TEST(columns)
{
	static const struct {
		const char *variable;
		unsigned expected;
	} cases[] = {{"20", 20},  {"300", 300},     {"1048576", 1048576},
		     {"19", 120}, {"1048577", 120}, {"300 columns", 120},
		     {"", 120},   {"-1", 120}};

	unsetenv("CPUPERF_COLUMNS");
	assert_int_equal(screen_columns(0), 120);
	for (size_t i = 0; i < NR(cases); i++) {
		setenv("CPUPERF_COLUMNS", cases[i].variable, 1);
		assert_int_equal(screen_columns(0), cases[i].expected);
		assert_int_equal(screen_columns(80), 80);
	}
	unsetenv("CPUPERF_COLUMNS");
}

/* No line of the table is longer than the terminal, unless it holds one column only. */
TEST(wrap_keeps_numbers_whole)
{
	for (unsigned width = 1; width < 140; width++) {
		const struct golden g = {"", "text", width, 1, states};
		const struct screen_options options = {.width = width};
		struct screen_state *st = screen_state_new(6, &options);
		struct setup s = {0};
		struct buf out;
		size_t nr_full = 0;

		buf_init(&out, OUT_BYTES);
		g.fill(&s);
		screen_format_find("text")->iteration(st, s.t, &out);
		for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
			size_t bars = 0, columns = 0;

			for (char *p = line; *p; p++) {
				bars += *p == '|';
				columns += (*p & 0xc0) != 0x80;
			}
			if (columns > width && bars > 1)
				fail_msg("width %u: \"%s\"", width, line);
			nr_full += strstr(line, "18,446,744,073,709,551,615") != NULL;
		}
		assert_int_equal(nr_full, 1);
		buf_fini(&out);
		screen_state_free(st);
		table_free(s.t);
	}
}

/* The widest line that begins with the table's first column, and how many titles there are. */
static unsigned widest(const struct table *t, unsigned *nr_titles)
{
	const struct screen_options options = {0};
	struct screen_state *st = screen_state_new(t->nr_columns, &options);
	unsigned most = 0;
	BUF_AUTO(out, OUT_BYTES);

	*nr_titles = 0;
	screen_format_find("text")->iteration(st, t, &out);
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
		*nr_titles += strncmp(line, "          |", 11) == 0;
		most = screen_width(line) > most ? screen_width(line) : most;
	}
	screen_state_free(st);
	return most;
}

/* In a pipe the original's table of counts is in one piece, also where a line is wide; one with
 * what the original does not print is as wide as other output. */
TEST(originals_table_is_whole_in_a_pipe)
{
	static const struct {
		enum event_kind kind;
		enum event_scope scope;
		const char *columns;
		unsigned nr_titles, most;
	} cases[] = {{EVENT_COUNT, EVENT_SCOPE_CPU, NULL, 1, 178},
		     {EVENT_COUNT, EVENT_SCOPE_PACKAGE, "60", 1, 178},
		     {EVENT_COUNT, EVENT_SCOPE_SYSTEM, NULL, 2, 115},
		     {EVENT_COUNT, EVENT_SCOPE_THINGS, "60", 4, 52},
		     {EVENT_VALUE, EVENT_SCOPE_CPU, NULL, 2, 115},
		     {EVENT_SHARE, EVENT_SCOPE_CPU, "60", 4, 52}};
	enum { NR_COLUMNS = 8 };
	struct table *t = table_new(NR_COLUMNS, 1);

	for (size_t i = 0; i < NR_COLUMNS; i++) {
		t->columns[i] = (struct table_column){"fixed", "x",         "a_name_of_20_columns",
						      "",      EVENT_COUNT, EVENT_SCOPE_CPU};
		*table_cell(t, 0, i) = count(1);
	}
	time_of(t, 0);
	for (size_t i = 0; i < NR(cases); i++) {
		unsigned nr_titles;

		if (cases[i].columns)
			setenv("CPUPERF_COLUMNS", cases[i].columns, 1);
		else
			unsetenv("CPUPERF_COLUMNS");
		t->columns[3].kind = cases[i].kind;
		t->columns[3].scope = cases[i].scope;
		assert_int_equal(widest(t, &nr_titles), cases[i].most);
		assert_int_equal(nr_titles, cases[i].nr_titles);
	}
	unsetenv("CPUPERF_COLUMNS");
	table_free(t);
}

/* The lines of the summary from its heading on, without the notes below an event. */
static const char *next_line(char **at)
{
	while (*at && **at) {
		const char *line = strsep(at, "\n");

		if (strncmp(line, "    ", 4) != 0)
			return line;
	}
	return NULL;
}

/* A line of numbers fits, or has only the columns that are never left out (51 wide). What is left
 * of a line is what a wide terminal has there. */
static void check_narrow(unsigned width, const struct buf *wide, const struct buf *narrow)
{
	char *a = strstr(wide->data, "\nevent") + 1, *b = strstr(narrow->data, "\nevent") + 1;
	const char *one, *other;

	while ((other = next_line(&b))) {
		size_t len = strlen(other), columns = 0;

		one = next_line(&a);
		if (!one || strlen(one) < len) {
			fail_msg("width %u: \"%s\" is too much", width, other);
			return;
		}
		for (const char *p = other; *p; p++)
			columns += (*p & 0xc0) != 0x80;
		if (strncmp(one, other, len) || (one[len] && one[len] != ' ') ||
		    (len && other[len - 1] == ' '))
			fail_msg("width %u: \"%s\" of \"%s\"", width, other, one);
		if ((columns > width && columns > 51) || (one[len] && strlen(one) <= width))
			fail_msg("width %u: \"%s\"", width, other);
	}
	assert_null(next_line(&a));
}

static void render_width(unsigned width, struct buf *out)
{
	const struct golden g = {"", "text", width, 3, three};
	struct setup s = {0};

	buf_init(out, OUT_BYTES);
	g.fill(&s);
	render(&g, &s, out);
	table_summary_free(s.sum);
	table_free(s.t);
}

TEST(summary_fits)
{
	for (unsigned width = 1; width < 110; width++) {
		struct buf wide, narrow;

		render_width(0, &wide);
		render_width(width, &narrow);
		check_narrow(width, &wide, &narrow);
		buf_fini(&wide);
		buf_fini(&narrow);
	}
}

static void check_object(const char *line)
{
	json_error_t e;
	json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);

	if (!o)
		fail_msg("%s: %s", e.text, line);
	if (json_is_true(json_object_get(o, "summary"))) {
		assert_true(json_is_string(json_object_get(o, "label")));
	} else {
		assert_int_equal(json_object_size(o), 19);
		assert_true(json_is_integer(json_object_get(o, "iteration")));
	}
	json_decref(o);
}

TEST(ndjson_is_json)
{
	const struct golden g = {"", "ndjson", 0, 1, states};
	struct setup s = {0};
	struct buf out;
	size_t nr = 0;

	buf_init(&out, OUT_BYTES);
	g.fill(&s);
	*table_cell(s.t, 0, 1) = count(INT64_MAX); /* as far as jansson's integers go */
	table_cell(s.t, 0, 1)->raw = 1;
	render(&g, &s, &out);
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"), nr++)
		check_object(line);
	assert_int_equal(nr, 6 * 4 - 3 + 6 + 6);
	buf_fini(&out);
	table_summary_free(s.sum);
	table_free(s.t);
}

static void add_warning(void *arg, const struct err *warning)
{
	struct buf *out = arg;

	assert_int_equal(warning->code, -ERANGE);
	buf_adds(out, warning->msg);
	buf_addc(out, '\n');
}

/* Where a metric was beyond a limit, in short. */
TEST(warnings)
{
	static const struct {
		enum event_scope scope;
		bool is_total_only;
		const char *cpus;
		struct table_span span[TABLE_MAX_SPANS];
		size_t nr_spans;
		uint64_t nr_iterations, nr_in_spans;
		const char *text;
	} rows[] = {
	    {EVENT_SCOPE_CPU, false, "", {{0}}, 0, 0, 0, ""},
	    {EVENT_SCOPE_CPU,
	     false,
	     "3",
	     {{7, 7}},
	     1,
	     1,
	     1,
	     "m: below 0.5 on CPU 3, in iteration 7\n"},
	    {EVENT_SCOPE_CPU,
	     false,
	     "",
	     {{0, 0}},
	     1,
	     1,
	     1,
	     "m: below 0.5 over all CPUs, in iteration 0\n"},
	    {EVENT_SCOPE_SYSTEM,
	     true,
	     "",
	     {{0, 0}},
	     1,
	     1,
	     1,
	     "m: below 0.5 over all CPUs, in iteration 0\n"},
	    {EVENT_SCOPE_SYSTEM,
	     false,
	     "0",
	     {{0, 1}},
	     1,
	     2,
	     2,
	     "m: below 0.5, in iterations 0-1\n"},
	    {EVENT_SCOPE_CPU,
	     false,
	     "0-3,7",
	     {{2, 2}, {5, 9}},
	     2,
	     6,
	     6,
	     "m: below 0.5 on CPUs 0-3,7, in iterations 2, 5-9\n"},
	    {EVENT_SCOPE_CPU,
	     false,
	     "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44",
	     {{0, 9}},
	     1,
	     100,
	     10,
	     "m: below 0.5 on 23 CPUs, in iterations 0-9 and 90 more\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct metric m = {.name = "m", .warn_below = {"0.5", 0.5}};
		struct table_summary *sum = table_summary_new(1);
		struct table_beyond *low = &sum->column[0].low;
		struct table *t = table_new(1, 1);
		struct buf out;

		buf_init(&out, OUT_BYTES);
		t->nr_events = 0;
		t->columns[0] = (struct table_column){.label = "m",
						      .metric = &m,
						      .scope = rows[i].scope,
						      .is_total_only = rows[i].is_total_only};
		assert_int_equal(cpuset_parse(rows[i].cpus, strlen(rows[i].cpus), &low->cpus), 0);
		memcpy(low->span, rows[i].span, sizeof(low->span));
		low->nr_spans = rows[i].nr_spans;
		low->nr_iterations = rows[i].nr_iterations;
		low->nr_in_spans = rows[i].nr_in_spans;
		screen_warn_metrics(t, sum, add_warning, &out);
		assert_string_equal(buf_str(&out), rows[i].text);
		buf_fini(&out);
		table_free(t);
		table_summary_free(sum);
	}
}

TEST(unknown_format)
{
	assert_null(screen_format_find("xml"));
	assert_null(screen_format_find(""));
}

/* Iterations that were not printed: a row of the same fields, or a line. */
TEST(gaps)
{
	static const struct {
		const char *format;
		uint32_t last;
		const char *text;
	} rows[] = {
	    {"text", 7,
	     "Not printed: iteration 7, because earlier output was not read in "
	     "time\n"},
	    {"text", 9,
	     "Not printed: iteration 7 to 9, because earlier output was not read "
	     "in time\n"},
	    {"csv", 9,
	     "7,,all,100,400,500,cpuperf,iterations_not_printed,iterations_not_printed,count,ok,3,"
	     "iterations,3,,,,300,unknown\n"},
	    {"ndjson", 7,
	     "{\"iteration\":7,\"trace\":null,\"cpu\":\"all\",\"start_ns\":100,\"end_ns\":400,"
	     "\"realtime_ns\":500,\"group\":\"cpuperf\",\"event\":\"iterations_not_printed\","
	     "\"label\":\"iterations_not_printed\",\"kind\":\"count\",\"state\":\"ok\",\"value\":1,"
	     "\"unit\":\"iterations\",\"raw\":1,\"enabled_ns\":null,\"running_ns\":null,"
	     "\"base\":null,\"span_ns\":300,\"cause\":\"unknown\"}\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct screen_gap gap = {7, rows[i].last, 100, 400, 500};
		const struct screen_options options = {0};
		struct screen_state *screen = screen_state_new(3, &options);
		struct setup s = {0};
		struct buf out;

		example(&s);
		buf_init(&out, OUT_BYTES);
		screen_format_find(rows[i].format)->gap(screen, s.t, &gap, &out);
		assert_string_equal(buf_str(&out), rows[i].text);
		assert_int_equal(s.t->iteration, 0);
		buf_fini(&out);
		screen_state_free(screen);
		table_free(s.t);
	}
}
