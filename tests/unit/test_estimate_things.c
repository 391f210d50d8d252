/*
 * Things of a table (disks, processes …): which of them count, what their event comes to, and that
 * the ones of the iteration before are forgotten.
 */
#include "kit.h"

#include "base/mem.h"
#include "estimate/table.h"

#include <math.h>

enum { START_NS = 1000, END_NS = 9000 };

static struct reading at(uint64_t time_ns, uint64_t raw)
{
	return (struct reading){.state = READING_OK, .time_ns = time_ns, .raw = raw};
}

/* One column of things and one of the machine, in an iteration from START_NS to END_NS. */
static struct table *new_table(enum event_kind kind, double scale)
{
	struct table *t = table_new(2, 2);

	assert_non_null(t);
	t->columns[0] = (struct table_column){
	    .name = "disk_read_bytes", .kind = kind, .scope = EVENT_SCOPE_THINGS, .scale = scale};
	t->columns[1] = (struct table_column){
	    .name = "forks", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_SYSTEM};
	t->start_ns = START_NS;
	t->end_ns = END_NS;
	return t;
}

/* As who fills a table: the cell first, without readings. */
static void clear(struct table *t, uint32_t state)
{
	table_drop_things(t);
	table_set(t, 0, 0, state, NULL, 0);
	table_set(t, 1, 0, state, NULL, 0);
}

/* One thing: what it shows, and whether it is there at all. */
TEST(one_thing)
{
	static const struct {
		enum event_kind kind;
		double scale;
		bool has_start, has_end;
		uint32_t start_state, end_state;
		uint64_t start, end;
		size_t nr; /* things that are there */
		enum cell_state state;
		uint64_t count, span_ns;
		enum cell_state of_event;
	} rows[] = {
	    {EVENT_COUNT, 0, true, true, 1, 1, 100, 130, 1, CELL_OK, 30, 6000, CELL_OK},
	    {EVENT_COUNT, 512, true, true, 1, 1, 100, 130, 1, CELL_OK, 30 * 512, 6000, CELL_OK},
	    /* found in the iteration: all of it, since the start of the iteration */
	    {EVENT_COUNT, 0, false, true, 0, 1, 0, 130, 1, CELL_OK, 130, 7000, CELL_OK},
	    /* gone, or not to be read at the end */
	    {EVENT_COUNT, 0, true, false, 1, 0, 100, 0, 0, CELL_NONE, 0, 0, CELL_NONE},
	    {EVENT_COUNT, 0, true, true, 1, 4, 100, 0, 0, CELL_NONE, 0, 0, CELL_NONE},
	    {EVENT_COUNT, 0, true, true, 1, 0, 100, 0, 0, CELL_NONE, 0, 0, CELL_NONE},
	    /* no number at the start, backwards: there, and in no sum */
	    {EVENT_COUNT, 0, true, true, 4, 1, 0, 130, 1, CELL_NO_PERMISSION, 0, 0,
	     CELL_NO_PERMISSION},
	    {EVENT_COUNT, 0, true, true, 1, 1, 131, 130, 1, CELL_FAILED, 0, 0, CELL_FAILED},
	    {EVENT_COUNT, 0x1p52, true, true, 1, 1, 0, 4096, 1, CELL_FAILED, 0, 0, CELL_FAILED},
	    /* values: those of the end */
	    {EVENT_VALUE, 0, true, true, 1, 1, 131, 130, 1, CELL_OK, 130, 0, CELL_OK},
	    {EVENT_VALUE, 0, false, true, 0, 1, 0, 130, 1, CELL_OK, 130, 0, CELL_OK},
	    {EVENT_VALUE, 0, true, false, 1, 0, 131, 0, 0, CELL_NONE, 0, 0, CELL_NONE},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct reading start = at(2000, rows[i].start), end = at(8000, rows[i].end);
		struct table *t = new_table(rows[i].kind, rows[i].scale);
		const struct table_thing *thing;

		start.state = rows[i].start_state;
		end.state = rows[i].end_state;
		clear(t, READING_OK);
		assert_int_equal(table_add_thing(t, 0, 7, "sda", rows[i].has_start ? &start : NULL,
						 rows[i].has_end ? &end : NULL),
				 0);
		thing = t->things;
		if (t->nr_things != rows[i].nr || table_cell(t, 0, 0)->state != rows[i].of_event)
			fail_msg("row %zu: %zu things", i, t->nr_things);
		assert_int_equal(table_cell(t, 0, 0)->count, rows[i].count);
		assert_int_equal(table_cell(t, 1, 0)->state, CELL_NONE);
		if (rows[i].nr) {
			assert_int_equal(thing->column, 0);
			assert_int_equal(thing->number, 7);
			assert_string_equal(thing->name, "sda");
			assert_int_equal(thing->cell.state, rows[i].state);
			assert_int_equal(thing->cell.count, rows[i].count);
			assert_int_equal(thing->cell.span_ns, rows[i].span_ns);
		}
		table_free(t);
	}
}

/* What was there before the iteration, but was not read at its start: its whole life is not of this
 * iteration. A value needs no start. */
TEST(old_without_start)
{
	struct reading a = at(2000, 100), b = at(8000, 130), old = at(8000, 1000000);
	struct table *t = new_table(EVENT_COUNT, 0);

	old.flags = READING_OLD;
	clear(t, READING_OK);
	assert_int_equal(table_add_thing(t, 0, 0, "sda", NULL, &old), 0);
	assert_int_equal(t->things[0].cell.state, CELL_NOT_COUNTED);
	assert_int_equal(t->things[0].cell.count, 0);
	table_total(t);
	assert_int_equal(t->totals[0].state, CELL_NOT_COUNTED);
	b.flags = READING_OLD; /* as it nearly always is */
	assert_int_equal(table_add_thing(t, 0, 1, "sdb", &a, &b), 0);
	table_total(t);
	assert_int_equal(t->totals[0].state, CELL_OK);
	assert_int_equal(t->totals[0].count, 30);
	table_free(t);
	t = new_table(EVENT_VALUE, 0);
	clear(t, READING_OK);
	assert_int_equal(table_add_thing(t, 0, 0, "sda", NULL, &old), 0);
	assert_int_equal(t->things[0].cell.count, 1000000);
	table_free(t);
}

/* The sum: those with a number, in row 0 and in the total; values add up, too. */
TEST(they_add_up)
{
	static const enum event_kind kinds[] = {EVENT_COUNT, EVENT_VALUE};
	static const uint64_t sums[] = {30 + 5 + 200, 130 + 15 + 200};

	for (size_t i = 0; i < NR(kinds); i++) {
		struct reading a = at(2000, 100), b = at(8000, 130), c = at(2000, 10),
			       d = at(8500, 15), e = at(8000, 200), no = {.state = READING_FAILED};
		struct table *t = new_table(kinds[i], 0);

		clear(t, READING_OK);
		assert_int_equal(table_add_thing(t, 0, 0, "sda", &a, &b), 0);
		assert_int_equal(table_add_thing(t, 0, 1, "sdb", &c, &d), 0);
		assert_int_equal(table_add_thing(t, 0, 2, "sdc", NULL, &e), 0);
		assert_int_equal(table_add_thing(t, 0, 3, "sdd", &a, NULL), 0);
		assert_int_equal(table_add_thing(t, 0, 4, "sde", &a, &no), 0);
		table_total(t);
		assert_int_equal(t->nr_things, 3);
		assert_int_equal(table_cell(t, 0, 0)->count, sums[i]);
		assert_int_equal(t->totals[0].count, sums[i]);
		assert_int_equal(t->totals[0].state, CELL_OK);
		assert_int_equal(t->totals[0].nr_without, 0);
		/* of two that counted further, it is not known how far */
		assert_int_equal(cell_is_short(&t->totals[0]), kinds[i] == EVENT_COUNT);
		table_free(t);
	}
}

/* It used its counts; its values are there no more, and add up with those of nobody. */
TEST(ended)
{
	static const enum event_kind kinds[] = {EVENT_COUNT, EVENT_VALUE};
	static const uint64_t sums[] = {30 + 200, 130};

	for (size_t i = 0; i < NR(kinds); i++) {
		struct reading a = at(2000, 100), b = at(8000, 130), gone = at(8500, 200);
		struct table *t = new_table(kinds[i], 0);

		clear(t, READING_OK);
		gone.flags = READING_ENDED;
		assert_int_equal(table_add_thing(t, 0, 0, "sda", &a, &b), 0);
		assert_int_equal(table_add_thing(t, 0, 1, "sdb", NULL, &gone), 0);
		assert_int_equal(t->nr_things, 2);
		assert_int_equal(t->things[1].cell.count, 200);
		assert_int_equal(table_cell(t, 0, 0)->count, sums[i]);
		table_free(t);
	}
}

/* What ended is in the rest, in whatever order both are added: then the sum is whole. */
TEST(rest)
{
	for (unsigned is_first = 0; is_first < 2; is_first++) {
		struct reading a = at(2000, 100), b = at(8000, 130), c = at(2000, 10),
			       d = at(8500, 15), rest = at(9000, 77), none = at(1000, 70);
		struct table *t = new_table(EVENT_COUNT, 0);

		clear(t, READING_OK);
		rest.flags = READING_REST | READING_OLD;
		d.base = 1; /* a thread of it ended */
		if (is_first)
			assert_int_equal(table_add_thing(t, 0, 9, "rest", &none, &rest), 0);
		assert_int_equal(table_add_thing(t, 0, 0, "a", &a, &b), 0);
		assert_int_equal(table_add_thing(t, 0, 1, "b", &c, &d), 0);
		assert_int_equal(table_add_thing(t, 0, 3, "gone", &a, NULL), 0);
		assert_int_equal(cell_is_short(table_cell(t, 0, 0)), !is_first);
		if (!is_first)
			assert_int_equal(table_add_thing(t, 0, 9, "rest", &none, &rest), 0);
		table_thing_gone(t, 0);
		table_total(t);
		assert_int_equal(t->totals[0].count, 30 + 5 + 7);
		assert_false(cell_is_short(&t->totals[0]));
		table_free(t);
	}
}

/* Without a number of any of them the event says why; with one it does not. */
TEST(why_there_is_no_number)
{
	static const struct {
		uint32_t state;
		enum cell_state wanted, with_one; /* that has none */
	} rows[] = {
	    {READING_OK, CELL_NONE, CELL_FAILED},
	    {READING_NO_PERMISSION, CELL_NO_PERMISSION, CELL_NO_PERMISSION},
	    {READING_NOT_SUPPORTED, CELL_NOT_SUPPORTED, CELL_NOT_SUPPORTED},
	};
	const struct reading a = at(2000, 100), b = at(8000, 130), backwards = at(8000, 99);

	for (size_t i = 0; i < NR(rows); i++) {
		struct table *t = new_table(EVENT_COUNT, 0);

		clear(t, rows[i].state);
		assert_int_equal(table_cell(t, 0, 0)->state, rows[i].wanted);
		assert_int_equal(table_cell(t, 1, 0)->state, CELL_NONE);
		table_add_thing(t, 0, 0, "sda", &a, &backwards);
		assert_int_equal(table_cell(t, 0, 0)->state, rows[i].with_one);
		table_add_thing(t, 0, 1, "sdb", &a, &b);
		assert_int_equal(table_cell(t, 0, 0)->state, CELL_OK);
		assert_int_equal(table_cell(t, 0, 0)->count, 30);
		table_add_thing(t, 0, 2, "sdc", &a, &backwards);
		assert_int_equal(table_cell(t, 0, 0)->state, CELL_OK);
		assert_int_equal(table_cell(t, 0, 0)->nr_with, 1);
		assert_int_equal(table_cell(t, 0, 0)->nr_without, 2);
		table_free(t);
	}
}

/* Names are the table's own, there are more things than a first room for them, and dropping them
 * leaves nothing for the next iteration. */
TEST(iterations)
{
	enum { NR_THINGS = 1000 };
	const struct reading a = at(2000, 0), b = at(8000, 1);
	struct table *t = new_table(EVENT_COUNT, 0);

	for (unsigned iteration = 0; iteration < 3; iteration++) {
		clear(t, READING_OK);
		for (uint32_t i = 0; i < NR_THINGS; i++) {
			char name[] = {'a', 'a' + (char)(i % 26), '\0'};

			assert_int_equal(table_add_thing(t, 0, i, name, &a, &b), 0);
			memset(name, 'z', 2);
		}
		assert_int_equal(t->nr_things, NR_THINGS);
		assert_string_equal(t->things[0].name, "aa");
		assert_string_equal(t->things[27].name, "ab");
		assert_int_equal(t->things[NR_THINGS - 1].number, NR_THINGS - 1);
		assert_int_equal(table_cell(t, 0, 0)->count, NR_THINGS);
	}
	clear(t, READING_OK);
	assert_int_equal(t->nr_things, 0);
	assert_int_equal(table_cell(t, 0, 0)->state, CELL_NONE);
	table_free(t);
}

/* Of a thing that may not be read: it is there, says so, and the sum, the total and the summary say
 * how many it lacks; each in whatever order they come. */
TEST(a_part_of_them)
{
	const struct reading a = at(2000, 100), b = at(8000, 130);
	const struct reading denied = {.state = READING_NO_PERMISSION,
				       .time_ns = 8000,
				       .flags = READING_OLD | READING_OF_THING};
	char text[CELL_STATE_BYTES];

	for (unsigned readable = 0; readable < 3; readable++) { /* which of them; 2: none */
		struct table *t = new_table(EVENT_COUNT, 0);
		struct table_summary *sum = table_summary_new(2);

		clear(t, READING_OK);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(table_add_thing(t, 0, i, i ? "b" : "a",
							 i == readable ? &a : &denied,
							 i == readable ? &b : &denied),
					 0);
		assert_int_equal(table_add_thing(t, 0, 2, "c", NULL, &denied), 0);
		table_total(t);
		table_summary_add(sum, t);
		assert_int_equal(t->nr_things, 3);
		assert_int_equal(t->things[2].cell.state, CELL_NO_PERMISSION);
		assert_int_equal(t->totals[0].nr_with, readable < 2);
		assert_int_equal(t->totals[0].nr_without, readable < 2 ? 2 : 3);
		assert_string_equal(cell_state_text(&t->totals[0], text),
				    readable < 2 ? "partial: 1 of 3" : "no permission");
		assert_string_equal(cell_state_text(table_cell(t, 0, 0), text),
				    readable < 2 ? "partial: 1 of 3" : "no permission");
		assert_int_equal(t->totals[0].count, readable < 2 ? 30 : 0);
		assert_int_equal(sum->column[0].nr_partial, readable < 2);
		assert_int_equal(sum->column[0].least.nr_without, readable < 2 ? 2 : 0);
		table_summary_free(sum);
		table_free(t);
	}
}

/* What says why the event is not measured is of no thing. */
TEST(the_events_own)
{
	const struct reading why = {.state = READING_NO_PERMISSION, .time_ns = 8000};
	struct table *t = new_table(EVENT_COUNT, 0);

	clear(t, READING_OK);
	assert_int_equal(table_add_thing(t, 0, 0, "", NULL, &why), 0);
	assert_int_equal(t->nr_things, 0);
	assert_int_equal(table_cell(t, 0, 0)->nr_without, 0);
	table_free(t);
}

/* Beyond 64 bits there is no sum, also not of those that come later. */
TEST(too_much)
{
	const struct reading a = at(2000, 0), most = at(8000, UINT64_MAX), one = at(8000, 1);
	struct table *t = new_table(EVENT_COUNT, 0);

	clear(t, READING_OK);
	table_add_thing(t, 0, 0, "a", &a, &most);
	table_add_thing(t, 0, 1, "b", &a, &one);
	table_add_thing(t, 0, 2, "c", &a, &one);
	table_total(t);
	assert_int_equal(t->totals[0].state, CELL_FAILED);
	table_free(t);
}

/* A metric of things is made of their sum. */
TEST(in_a_metric)
{
	struct expr_step steps[] = {{.op = EXPR_OPERAND, .operand = 0},
				    {.op = EXPR_OPERAND, .operand = 1},
				    {.op = EXPR_DIVIDE}};
	const struct metric metric = {.name = "m", .unit = "", .expr = {steps, NR(steps)}};
	const struct metric_set metrics = {&metric, 1};
	const struct reading none = at(1000, 0), a = at(2000, 0), b = at(8000, 30), n = at(8000, 8);
	const struct reading denied = {.state = READING_NO_PERMISSION, .flags = READING_OF_THING};
	char text[CELL_STATE_BYTES];
	struct table *t = table_new(3, 2);

	t->columns[0] = (struct table_column){.kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS};
	t->columns[1] = (struct table_column){.kind = EVENT_COUNT, .scope = EVENT_SCOPE_SYSTEM};
	table_set_metrics(t, &metrics);
	t->start_ns = START_NS, t->end_ns = END_NS;
	clear(t, READING_OK);
	table_add_thing(t, 0, 0, "sda", &a, &b);
	table_add_thing(t, 0, 1, "sdb", NULL, &b);
	table_set(t, 0, 1, READING_OK, &(struct table_part){&none, &n}, 1);
	table_total(t);
	assert_true(t->totals[2].value == 7.5);
	assert_true(table_cell(t, 0, 2)->value == 7.5);
	assert_int_equal(table_cell(t, 1, 2)->state, CELL_NONE);
	assert_false(cell_is_partial(&t->totals[2]));
	table_add_thing(t, 0, 2, "sdc", NULL, &denied); /* and of a sum that lacks one */
	table_total(t);
	assert_true(t->totals[2].value == 7.5);
	assert_true(cell_is_partial(&t->totals[2]));
	assert_true(cell_is_partial(table_cell(t, 0, 2)));
	assert_string_equal(cell_state_text(&t->totals[2], text), "partial");
	table_free(t);
}

static size_t countdown;

static void *failing_alloc(size_t size)
{
	return countdown && countdown-- ? malloc(size) : NULL;
}

static void *failing_resize(void *p, size_t size)
{
	return countdown && countdown-- ? realloc(p, size) : NULL;
}

/* A thing without room is omitted completely, also from the sum; the others remain. */
TEST(no_memory)
{
	static const struct mem_ops ops = {failing_alloc, failing_resize, free};
	const struct reading a = at(2000, 0), b = at(8000, 1);

	for (size_t allowed = 0; allowed < 6; allowed++) {
		struct table *t = new_table(EVENT_COUNT, 0);
		uint32_t nr = 0;
		int rc = 0;

		clear(t, READING_OK);
		mem_set_ops(&ops);
		countdown = allowed;
		while (rc == 0 && nr < 100000) {
			rc = table_add_thing(t, 0, nr, "a name of some length", &a, &b);
			nr += rc == 0;
		}
		mem_set_ops(NULL);
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(t->nr_things, nr);
		assert_int_equal(table_cell(t, 0, 0)->count, nr);
		for (uint32_t i = 0; i < nr; i++)
			assert_string_equal(t->things[i].name, "a name of some length");
		table_free(t);
	}
}

/* What was counted is taken over, into a table with other metrics and more room; what is made of it
 * is not, and names do not hang on the first. */
TEST(copied)
{
	const struct reading a = {.state = READING_OK, .time_ns = 1},
			     b = {.state = READING_OK, .time_ns = 2, .raw = 5};
	struct table *from = table_new(2, 2), *to = table_new(3, 4);

	to->nr_events = 2;
	for (size_t i = 0; i < 2; i++)
		from->columns[i] = to->columns[i] = (struct table_column){
		    .kind = EVENT_COUNT, .scope = i ? EVENT_SCOPE_THINGS : EVENT_SCOPE_CPU};
	*table_cell(to, 0, 2) = (struct cell){.state = CELL_NA};
	table_add_thing(to, 1, 7, "gone", &a, &b);
	for (uint32_t row = 0; row < 2; row++) {
		from->row_trace[row] = 10 + row;
		from->row_cpu[row] = 20 + row;
		*table_cell(from, row, 0) = (struct cell){.state = CELL_OK, .count = row + 1};
	}
	from->iteration = 3;
	from->start_ns = 4;
	from->end_ns = 5;
	from->realtime_ns = 6;
	from->is_cut = true;
	assert_int_equal(table_add_thing(from, 1, 1, "sda", &a, &b), 0);
	assert_int_equal(table_copy_events(to, from), 0);
	table_free(from);
	assert_int_equal(to->nr_rows, 2);
	assert_int_equal(to->row_trace[1], 11);
	assert_int_equal(to->row_cpu[1], 21);
	assert_int_equal(table_cell(to, 0, 0)->count, 1);
	assert_int_equal(table_cell(to, 1, 0)->count, 2);
	assert_int_equal(table_cell(to, 0, 1)->count, 5);
	assert_int_equal(table_cell(to, 0, 2)->state, CELL_NA);
	assert_int_equal(to->iteration, 3);
	assert_int_equal(to->start_ns, 4);
	assert_int_equal(to->end_ns, 5);
	assert_int_equal(to->realtime_ns, 6);
	assert_true(to->is_cut);
	assert_int_equal(to->nr_things, 1);
	assert_string_equal(to->things[0].name, "sda");
	assert_int_equal(to->things[0].number, 1);
	table_free(to);
}

/* In the unit that charts show. */
TEST(limits)
{
	static const struct {
		const char *name, *unit;
		uint64_t nr_cpus;
		bool is_sum;
		double limit, shown;
	} rows[] = {
	    {"process_cpu_time", "ns", 2, false, 2, 200},
	    {"process_cpu_time", "ns", 64, true, 64, 6400},
	    {"process_cpu_time", "ns", 0, true, NAN, NAN}, /* unknown */
	    {"cgroup_cpu_usage", "ns", 2, false, 2, 200},
	    {"cgroup_cpu_usage", "ns", 2, true, NAN, NAN}, /* one is in the other */
	    {"disk_busy_time", "ns", 0, false, 1, 100},
	    {"disk_busy_time", "ns", 2, true, NAN, NAN},
	    {"process_run_delay", "ns", 2, false, NAN, NAN},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct table_column c = {
		    .name = rows[i].name, .unit = rows[i].unit, .kind = EVENT_COUNT};
		const double limit = table_limit(&c, rows[i].nr_cpus, rows[i].is_sum);
		const double shown = table_limit_shown(&c, rows[i].nr_cpus, rows[i].is_sum);

		if (isnan(rows[i].limit) ? !isnan(limit) || !isnan(shown)
					 : limit != rows[i].limit || shown != rows[i].shown)
			fail_msg("row %zu: %g, %g", i, limit, shown);
	}
}

/* A time that is longer than the machine's CPUs, or the disk, had: a part of it is of before. */
TEST(more_than_the_machine_can_do)
{
	enum { MS = 1000000 };
	static const struct {
		const char *name;
		uint64_t nr_cpus, first_ms, second_ms;
		bool is_first_over, is_second_over, is_sum_over;
	} rows[] = {
	    {"process_cpu_time", 2, 1053, 10, true, false, true},
	    {"process_cpu_time", 2, 200, 0, false, false, false},
	    {"process_cpu_time", 2, 150, 150, false, false, true},
	    {"process_cpu_time", 2, 110, 110, false, false, false}, /* ticks of the machine */
	    {"process_cpu_time", 64, 1053, 150, false, false, false},
	    {"process_cpu_time", 0, 1053, 150, false, false, false}, /* unknown */
	    {"cgroup_cpu_usage", 2, 180, 180, false, false, false},  /* one is in the other */
	    {"cgroup_cpu_usage", 2, 10, 300, false, true, true},
	    {"disk_busy_time", 2, 100, 100, false, false, false},
	    {"disk_busy_time", 2, 180, 100, true, false, true},
	    {"process_run_delay", 2, 1053, 1053, false, false, false}, /* any number of tasks */
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct reading start = at(100 * MS, 7), first = at(200 * MS, 7), second = first;
		struct table *t = new_table(EVENT_COUNT, 0);
		char text[CELL_STATE_BYTES];

		t->columns[0].name = rows[i].name;
		t->nr_cpus = rows[i].nr_cpus;
		first.raw += rows[i].first_ms * MS;
		second.raw += rows[i].second_ms * MS;
		clear(t, READING_OK);
		assert_int_equal(table_add_thing(t, 0, 1, "a", &start, &first), 0);
		assert_int_equal(table_add_thing(t, 0, 2, "b", &start, &second), 0);
		if (t->things[0].cell.is_over != rows[i].is_first_over ||
		    t->things[1].cell.is_over != rows[i].is_second_over ||
		    table_cell(t, 0, 0)->is_over != rows[i].is_sum_over)
			fail_msg("row %zu", i);
		assert_string_equal(cell_state_text(&t->things[0].cell, text),
				    rows[i].is_first_over ? "more than possible" : "ok");
		assert_int_equal(cell_is_partial(&t->things[0].cell), rows[i].is_first_over);
		t->nr_rows = 1;
		table_total(t);
		assert_int_equal(t->totals[0].is_over, rows[i].is_sum_over);
		table_free(t);
	}
}
