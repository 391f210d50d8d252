/*
 * The arithmetic of samples: what is expected, what may be claimed, what adds up.
 */
#include "kit.h"

#include "base/mem.h"
#include "estimate/table.h"

#include <math.h>

#define MAX    UINT64_MAX
#define NO     SAMPLED_UNKNOWN
#define MS     1000000ull
#define S      1000000000ull
#define CLOCK  "software", "cpu_clock"
#define CYCLES "fixed", "unhalted_core_cycles"

/* How events are sampled, by their names and flags. */
TEST(events)
{
	static const struct {
		const char *group, *name;
		unsigned flags;
		bool is_clock, is_partial;
	} rows[] = {
	    {CLOCK, 0, true, false},
	    {"software", "task_clock", 0, true, false},
	    {"software", "page_faults", 0, false, false},
	    {"other", "cpu_clock", 0, false, false},
	    {CLOCK, SAMPLED_OS | SAMPLED_USER, true, false},
	    {CLOCK, SAMPLED_OS, true, true},
	    {CLOCK, SAMPLED_USER, true, true},
	    {CYCLES, SAMPLED_USER, false, false}, /* stops the counter too */
	    {CYCLES, SAMPLED_OS, false, false},
	    {CLOCK, SAMPLED_NO_IDLE, true, true},
	    {CYCLES, SAMPLED_NO_IDLE, false, true},
	    {CYCLES, SAMPLED_GUEST, false, true},
	    {CYCLES, SAMPLED_HOST, false, true},
	    {CYCLES, SAMPLED_GUEST | SAMPLED_HOST, false, false},
	    {CLOCK, 4 | 8 | 16 | 32 | 64 | 128 | 256, true, false}, /* what samples hold */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sampled_event ev =
		    sampled_event(rows[i].group, rows[i].name, 7, 0, rows[i].flags);

		if (ev.is_clock != rows[i].is_clock || ev.is_partial != rows[i].is_partial)
			fail_msg("row %zu: clock %d, partial %d", i, ev.is_clock, ev.is_partial);
		assert_int_equal(ev.period, 7);
		assert_true(sampled_event_is_sampled(&ev));
	}
	assert_int_equal(sampled_event(CYCLES, 0, 4000, 0).frequency, 4000);
	assert_int_equal(sampled_event(CYCLES, 9, 4000, 0).period, 0);
	assert_false(sampled_event_is_sampled(&(struct sampled_event){.is_clock = true}));
}

/* One event on one CPU. raw and running: of its cell; 0 running: there is no count. */
static const struct {
	const char *name;
	const char *group, *event;
	uint64_t period, frequency;
	unsigned flags;
	uint64_t samples, idle, weight;
	uint64_t raw, running_ns, idle_ns;
	enum sampled_claim claim;
	int64_t residual;
	uint64_t received, expected, nr_expected, missing;
	double coverage;
	bool is_short;
} cases[] = {
    /* events that are no clocks: against the count */
    {"all came", CYCLES, 1000, 0, 0, 5000, 0, 5000000, 5000999, S, MAX, SAMPLED_COMPARED, 999,
     5000000, 5000000, 5000, 0, 1, false},
    {"idle means nothing to them", CYCLES, 1000, 0, 0, 10, 9, 10000, 10000, S, S, SAMPLED_COMPARED,
     0, 10000, 10000, 10, 0, 1, false},
    {"one too many", CYCLES, 1000, 0, 0, 11, 0, 11000, 10400, S, 0, SAMPLED_COMPARED, -600, 11000,
     10000, 10, 0, 1, false},
    {"half came", CYCLES, 1000, 0, 0, 2500, 0, 2500000, 5000000, S, 0, SAMPLED_COMPARED, 2500000,
     2500000, 5000000, 5000, 2500, 0.5, true},
    {"two are chance", CYCLES, 1000, 0, 0, 8, 0, 8000, 10000, S, 0, SAMPLED_COMPARED, 2000, 8000,
     10000, 10, 2, 0.8, false},
    {"three are not", CYCLES, 1000, 0, 0, 7, 0, 7000, 10000, S, 0, SAMPLED_COMPARED, 3000, 7000,
     10000, 10, 3, 0.7, true},
    {"one percent", CYCLES, 1000, 0, 0, 990, 0, 990000, 1000000, S, 0, SAMPLED_COMPARED, 10000,
     990000, 1000000, 1000, 10, 0.99, false},
    {"beyond one percent", CYCLES, 1000, 0, 0, 989, 0, 989000, 1000000, S, 0, SAMPLED_COMPARED,
     11000, 989000, 1000000, 1000, 11, 0.989, true},
    {"less than a period", CYCLES, 1000, 0, 0, 0, 0, 0, 999, S, 0, SAMPLED_COMPARED, 999, 0, 0, 0,
     0, -1, false},
    {"no count", CYCLES, 1000, 0, 0, 5, 0, 5000, 0, 0, 0, SAMPLED_NO_COUNT, 0, 0, 0, 0, 0, -1,
     false},
    {"some are left out", CYCLES, 1000, 0, SAMPLED_GUEST, 5, 0, 5000, 99000, S, 0, SAMPLED_PARTIAL,
     94000, 0, 0, 0, 0, -1, false},

    /* by frequency: against the count, by weight alone */
    {"frequency", CYCLES, 0, 4000, 0, 100, 0, 999000, 1000000, S, 0, SAMPLED_COMPARED, 1000, 999000,
     1000000, 0, 0, 0.999, false},
    {"frequency, a third", CYCLES, 0, 4000, 0, 100, 0, 300000, 900000, S, 0, SAMPLED_COMPARED,
     600000, 300000, 900000, 0, 200, 1.0 / 3, true},
    {"frequency, none", CYCLES, 0, 4000, 0, 0, 0, 0, 900000, S, 0, SAMPLED_COMPARED, 900000, 0,
     900000, 0, 0, 0, false},

    /* clocks: against the time, whatever the count did */
    {"a clock, all", CLOCK, MS, 0, 0, 1000, 0, S, S, S, MAX, SAMPLED_COMPARED, 0, S, S, 1000, 0, 1,
     false},
    {"throttled: the count stood still", CLOCK, MS, 0, 0, 500, 0, S / 2, S / 2, S, 0,
     SAMPLED_COMPARED, 0, S / 2, S, 1000, 500, 0.5, true},
    {"throttled, idle is not known", CLOCK, MS, 0, 0, 500, 0, S / 2, S / 2, S, MAX,
     SAMPLED_COMPARED, 0, S / 2, S, 1000, 500, 0.5, true},
    {"idle is not known", CLOCK, MS, 0, 0, 100, 90, S / 10, S, S, MAX, SAMPLED_COMPARED,
     9 * (int64_t)S / 10, S / 10, S, 1000, 900, 0.1, true},
    {"silent while idle", CLOCK, MS, 0, 0, 200, 0, S / 5, S, S, 8 * S / 10, SAMPLED_COMPARED,
     8 * (int64_t)S / 10, S / 5, S / 5, 200, 0, 1, false},
    {"idle samples are not busy ones", CLOCK, MS, 0, 0, 250, 150, S / 4, S, S, S / 2,
     SAMPLED_COMPARED, 3 * (int64_t)S / 4, S / 10, S / 2, 500, 400, 0.2, true},
    {"no more is missing than at all", CLOCK, MS, 0, 0, 990, 890, 990 * MS, S, S, S / 2,
     SAMPLED_COMPARED, 10 * (int64_t)MS, 100 * MS, 110 * MS, 110, 10, 10.0 / 11, false},
    {"within the ticks of /proc/stat", CLOCK, MS, 0, 0, 180, 0, 180 * MS, S, S, 800 * MS,
     SAMPLED_COMPARED, 820 * (int64_t)MS, 180 * MS, 200 * MS, 200, 20, 0.9, false},
    {"beyond them", CLOCK, MS, 0, 0, 179, 0, 179 * MS, S, S, 800 * MS, SAMPLED_COMPARED,
     821 * (int64_t)MS, 179 * MS, 200 * MS, 200, 21, 0.895, true},
    {"a clock by frequency", CLOCK, 0, 1000, 0, 500, 250, S / 2, S, S, S / 4, SAMPLED_COMPARED,
     (int64_t)S / 2, S / 4, 3 * S / 4, 0, 500, 1.0 / 3, true},
    {"a clock by frequency, none", CLOCK, 0, 1000, 0, 0, 0, 0, S, S, MAX, SAMPLED_COMPARED,
     (int64_t)S, 0, S, 0, 1000, 0, true},
    {"user alone", CLOCK, MS, 0, SAMPLED_USER, 9, 0, 9 * MS, S, S, 0, SAMPLED_PARTIAL,
     991 * (int64_t)MS, 0, 0, 0, 0, -1, false},

    /* clocks on idle CPUs: nothing is claimed */
    {"idle and silent", CLOCK, MS, 0, 0, 1, 1, MS, S, S, 990 * MS, SAMPLED_IDLE, 999 * (int64_t)MS,
     0, 0, 0, 0, -1, false},
    {"idle but not silent", CLOCK, MS, 0, 0, 995, 990, 995 * MS, S, S, 990 * MS, SAMPLED_IDLE,
     5 * (int64_t)MS, 0, 0, 0, 0, -1, false},
    {"idle longer than it ran", CLOCK, MS, 0, 0, 0, 0, 0, S, S, S + 1, SAMPLED_IDLE, (int64_t)S, 0,
     0, 0, 0, -1, false},
    {"5 % of 2 s are enough", CLOCK, MS, 0, 0, 100, 0, 100 * MS, 2 * S, 2 * S, 1900 * MS,
     SAMPLED_COMPARED, 1900 * (int64_t)MS, 100 * MS, 100 * MS, 100, 0, 1, false},
    {"less than 5 % are not", CLOCK, MS, 0, 0, 99, 0, 99 * MS, 2 * S, 2 * S, 1900 * MS + 1,
     SAMPLED_IDLE, 1901 * (int64_t)MS, 0, 0, 0, 0, -1, false},
    {"50 ms are enough", CLOCK, MS, 0, 0, 50, 0, 50 * MS, 500 * MS, 500 * MS, 450 * MS,
     SAMPLED_COMPARED, 450 * (int64_t)MS, 50 * MS, 50 * MS, 50, 0, 1, false},
    {"less than 50 ms are not", CLOCK, MS, 0, 0, 49, 0, 49 * MS, 500 * MS, 500 * MS, 450 * MS + 1,
     SAMPLED_IDLE, 451 * (int64_t)MS, 0, 0, 0, 0, -1, false},
    {"a short iteration is not idle", CLOCK, MS, 0, 0, 20, 0, 20 * MS, 20 * MS, 20 * MS, 0,
     SAMPLED_SHORT, 0, 0, 0, 0, 0, -1, false},

    /* what a trace may claim */
    {"more idle than samples", CLOCK, MS, 0, 0, 100, MAX, 100 * MS, S, S, 0, SAMPLED_COMPARED,
     900 * (int64_t)MS, 0, 900 * MS, 900, 900, 0, true},
    {"as large as can be", CYCLES, 1, 0, 0, MAX, MAX, MAX, MAX, MAX, 0, SAMPLED_COMPARED, 0, MAX,
     MAX, MAX, 0, 1, false},
    {"a clock, as large as can be", CLOCK, 1, 0, 0, MAX, 0, MAX, MAX, MAX, 0, SAMPLED_COMPARED, 0,
     MAX, MAX, MAX, 0, 1, false},
    {"no weight", CYCLES, 0, 1, 0, MAX, 0, 1, MAX, MAX, 0, SAMPLED_COMPARED, INT64_MAX, 1, MAX, 0,
     MAX, 1 / 0x1p64, true},
    {"all weight", CYCLES, 1, 0, 0, 1, 0, MAX, 1, 1, 0, SAMPLED_COMPARED, INT64_MIN, MAX, 1, 1, 0,
     1, false},

};

TEST(make)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampled_event ev =
		    sampled_event(cases[i].group, cases[i].event, cases[i].period,
				  cases[i].frequency, cases[i].flags);
		struct cell c = {.state = cases[i].running_ns ? CELL_OK : CELL_NOT_COUNTED,
				 .raw = cases[i].raw,
				 .running_ns = cases[i].running_ns};
		struct sampled_counts n = {cases[i].samples, cases[i].idle, cases[i].weight};
		struct sampled s;

		sampled_make(&ev, &n, &c, cases[i].idle_ns, &s);
		if (s.claim != cases[i].claim || s.residual != cases[i].residual ||
		    s.has_residual != (cases[i].running_ns != 0))
			fail_msg("%s: claim %d, residual %lld", cases[i].name, s.claim,
				 (long long)s.residual);
		if (s.received != cases[i].received || s.expected != cases[i].expected)
			fail_msg("%s: received %llu of %llu", cases[i].name,
				 (unsigned long long)s.received, (unsigned long long)s.expected);
		if (sampled_nr_expected(&ev, &s) != cases[i].nr_expected ||
		    sampled_nr_missing(&ev, &s) != cases[i].missing ||
		    sampled_is_short(&ev, &s) != cases[i].is_short ||
		    fabs(sampled_coverage(&s) - cases[i].coverage) > 1e-9)
			fail_msg("%s: missing %llu of %llu samples, coverage %g, short %d",
				 cases[i].name, (unsigned long long)sampled_nr_missing(&ev, &s),
				 (unsigned long long)sampled_nr_expected(&ev, &s),
				 sampled_coverage(&s), sampled_is_short(&ev, &s));
	}
}

TEST(idle_percent)
{
	static const struct {
		uint64_t running_ns, idle_ns;
		unsigned percent;
	} rows[] = {{S, 999 * MS, 99}, {S, S, 100},           {S, 2 * S, 100}, {S, 0, 0},
		    {S, MAX, 0},       {S, 800 * MS - 1, 79}, {0, 0, 0},       {MAX, MAX - 1, 99}};
	const struct sampled_event ev = sampled_event(CLOCK, MS, 0, 0);
	const struct sampled_counts n = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cell c = {.state = CELL_OK, .running_ns = rows[i].running_ns};
		struct sampled s;

		sampled_make(&ev, &n, &c, rows[i].idle_ns, &s);
		assert_int_equal(s.idle_percent, rows[i].percent);
	}
}

TEST(counts_add_up)
{
	struct sampled_counts sum = {0}, one = {1, 2, 3, 4, 5}, untold = {1, 1, 1, NO, 1};
	const struct sampled_counts most = {MAX, MAX, MAX, 0, MAX};

	sampled_counts_add(&sum, &one);
	sampled_counts_add(&sum, &one);
	assert_int_equal(sum.samples, 2);
	assert_int_equal(sum.idle, 4);
	assert_int_equal(sum.weight, 6);
	assert_int_equal(sum.lost, 8);
	assert_int_equal(sum.throttled, 10);
	sampled_counts_add(&sum, &untold);
	sampled_counts_add(&sum, &one);
	assert_true(sum.lost == NO);
	sampled_counts_add(&sum, &most);
	assert_true(sum.samples == MAX && sum.idle == MAX && sum.weight == MAX);
	assert_true(sum.throttled == MAX);
}

/* Idle CPUs are not in the coverage of the busy ones, their samples are in the sum. */
TEST(totals)
{
	const struct sampled busy = {SAMPLED_COMPARED, {90, 0, 900}, true, 100, 900, 1000};
	const struct sampled idle = {SAMPLED_IDLE, {5, 5, 50}, true, 950};
	const struct sampled none = {0}, no_count = {SAMPLED_NO_COUNT, {1, 0, 10}};
	struct sampled total = {0};

	sampled_total(&total, &none);
	assert_int_equal(total.claim, SAMPLED_NONE);
	sampled_total(&total, &no_count);
	assert_int_equal(total.claim, SAMPLED_NO_COUNT);
	assert_false(total.has_residual);
	sampled_total(&total, &idle);
	assert_int_equal(total.claim, SAMPLED_IDLE);
	sampled_total(&total, &busy);
	sampled_total(&total, &idle);
	sampled_total(&total, &none);
	assert_int_equal(total.claim, SAMPLED_COMPARED);
	assert_int_equal(total.n.samples, 101);
	assert_true(total.has_residual);
	assert_int_equal(total.residual, 2000);
	assert_true(fabs(sampled_coverage(&total) - 0.9) < 1e-12);
}

TEST(totals_stay_in_range)
{
	const struct sampled most = {
	    SAMPLED_COMPARED, {MAX, MAX, MAX, MAX, MAX}, true, INT64_MAX, MAX, MAX};
	const struct sampled least = {SAMPLED_COMPARED, {0}, true, INT64_MIN, 0, 0};
	struct sampled total = {0}, low = {0};

	sampled_total(&total, &most);
	sampled_total(&total, &most);
	assert_true(total.residual == INT64_MAX && total.expected == MAX && total.n.samples == MAX);
	sampled_total(&low, &least);
	sampled_total(&low, &least);
	assert_true(low.residual == INT64_MIN);
}

static struct table *clock_table(size_t nr_rows)
{
	struct table *t = table_new(2, nr_rows);

	t->columns[0] = (struct table_column){
	    .kind = EVENT_COUNT, .scale = 64, .sampling = sampled_event(CLOCK, MS, 0, 0)};
	t->columns[1].kind = EVENT_COUNT;
	assert_int_equal(table_add_sampling(t), 0);
	return t;
}

static void set_row(struct table *t, size_t row, uint64_t samples, uint64_t idle_ns, uint64_t lost)
{
	const struct reading start = {.state = READING_OK};
	const struct reading end = {
	    .state = READING_OK, .raw = S, .enabled_ns = S, .running_ns = S};
	const struct sampled_counts n = {samples, 0, samples * MS, lost};

	table_set(t, row, 0, READING_OK, &(struct table_part){&start, &end}, 1);
	table_set_sampling(t, row, &(struct table_sampling){.idle_ns = idle_ns, .lost = lost});
	table_add_sampled(t, row, 0, &n);
	table_add_sampled(t, row, 0, &(struct sampled_counts){0}); /* of another part */
	table_add_sampled(t, row, 1, &n);                          /* is not sampled */
	table_add_sampled(t, row, 2, &n);                          /* is not there */
}

TEST(tables)
{
	struct table *t = clock_table(3);
	struct table_summary *sum = table_summary_new(2);

	for (unsigned i = 0; i < 2; i++) {
		set_row(t, 0, 800, 0, 200);
		set_row(t, 1, 7, 990 * MS, 0);
		table_set_sampling(t, 2, &(struct table_sampling){.idle_ns = MAX, .lost = 3});
		table_total(t);
		table_summary_add(sum, t);
	}
	assert_int_equal(table_sampled(t, 0, 0)->claim, SAMPLED_COMPARED);
	assert_int_equal(table_sampled(t, 0, 0)->residual, 200 * MS); /* not 64 times that */
	assert_int_equal(table_sampled(t, 1, 0)->claim, SAMPLED_IDLE);
	assert_int_equal(table_sampled(t, 2, 0)->claim, SAMPLED_NONE);
	assert_int_equal(table_sampled(t, 0, 1)->claim, SAMPLED_NONE);
	assert_int_equal(table_lost(t), 203);
	assert_int_equal(t->sampled_totals[0].n.samples, 807);
	assert_true(fabs(sampled_coverage(&t->sampled_totals[0]) - 0.8) < 1e-9);
	assert_int_equal(sum->lost, 406);
	assert_int_equal(sum->column[0].sampled.n.samples, 1614);
	assert_true(fabs(sampled_coverage(&sum->column[0].sampled) - 0.8) < 1e-9);
	assert_int_equal(sum->column[1].sampled.claim, SAMPLED_NONE);
	table_set_sampling(t, 0, &(struct table_sampling){.lost = MAX});
	assert_int_equal(table_sampled(t, 0, 0)->claim, SAMPLED_NONE);
	table_total(t);
	table_summary_add(sum, t);
	assert_true(table_lost(t) == MAX && sum->lost == MAX);
	assert_int_equal(t->sampled_totals[0].n.samples, 7);
	table_summary_free(sum);
	table_free(t);
}

TEST(tables_that_only_count)
{
	struct table *t = table_new(1, 1);

	assert_int_equal(table_add_sampling(t), 0);
	table_set_sampling(t, 0, &(struct table_sampling){.lost = 1});
	table_add_sampled(t, 0, 0, &(struct sampled_counts){1});
	table_total(t);
	assert_null(table_sampled(t, 0, 0));
	assert_int_equal(table_lost(t), 0);
	table_free(t);
}

static size_t countdown;

static void *failing_alloc(size_t size)
{
	return countdown-- ? malloc(size) : NULL;
}

TEST(no_memory)
{
	static const struct mem_ops ops = {failing_alloc, realloc, free};

	for (size_t n = 0; n < 3; n++) {
		struct table *t = table_new(1, 1);

		t->columns[0].sampling.period = 1;
		countdown = n;
		mem_set_ops(&ops);
		assert_true(table_add_sampling(t) < 0);
		mem_set_ops(NULL);
		table_free(t);
	}
}
