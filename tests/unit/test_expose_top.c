/*
 * Which things have a series of their own: however they come, change and go, there are at most so
 * many, no series of a counter falls, and all series add up to all that was counted.
 */
#include "kit.h"

#include "estimate/table.h"
#include "expose/top.h"

enum { MAX = 5, NR_THINGS = 40, NR_ITERATIONS = 300 };

static struct table *t;
static struct top top;

HOOK(before_each)
{
	t = table_new(2, 1);
	t->columns[0] = (struct table_column){
	    .kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS, .group = "misc", .name = "process_a"};
	t->columns[1] = (struct table_column){
	    .kind = EVENT_VALUE, .scope = EVENT_SCOPE_THINGS, .group = "misc", .name = "process_b"};
	assert_int_equal(top_init(&top, MAX, 2), 0);
}

HOOK(after_each)
{
	top_fini(&top);
	table_free(t);
}

/* Things of both events: numbers and counts. */
static void iterate(const uint32_t *numbers, const uint64_t *counts, size_t nr)
{
	struct table_thing *things = t->things, made[2 * NR_THINGS];

	for (size_t i = 0; i < 2 * nr; i++)
		made[i] = (struct table_thing){.column = i / nr,
					       .number = numbers[i % nr],
					       .name = "1 a",
					       .cell = {.state = CELL_OK,
							.count = counts[i % nr],
							.value = (double)counts[i % nr]}};
	t->things = made;
	t->nr_things = 2 * nr;
	t->realtime_ns++;
	assert_int_equal(top_add(&top, t), 0);
	t->things = things;
	t->nr_things = 0;
}

static uint64_t sum_of(size_t event, bool is_last)
{
	const struct top_event *ev = &top.events[event];
	uint64_t sum = is_last ? ev->others.last.count : (uint64_t)ev->others.count;

	for (size_t i = 0; i < ev->nr; i++)
		sum += is_last ? ev->things[i].sum.last.count : (uint64_t)ev->things[i].sum.count;
	return sum;
}

static const struct top_thing *find(size_t event, uint32_t number)
{
	for (size_t i = 0; i < top.events[event].nr; i++)
		if (top.events[event].things[i].number == number)
			return &top.events[event].things[i];
	return NULL;
}

TEST(few_have_all)
{
	iterate((const uint32_t[]){7, 3}, (const uint64_t[]){10, 20}, 2);
	assert_int_equal(top.events[0].nr, 2);
	assert_int_equal(top.events[0].things[0].number, 3);
	assert_false(top.events[0].others.has_value);
	iterate((const uint32_t[]){7}, (const uint64_t[]){1}, 1);
	assert_int_equal(top.events[0].nr, 1);
	assert_int_equal(find(0, 7)->sum.count, 11);
	assert_int_equal(top.events[0].others.count, 20);
	assert_false(top.events[1].others.has_value); /* it has none now */
	iterate(NULL, NULL, 0);
	assert_int_equal(top.events[0].nr, 0);
	assert_int_equal(top.events[0].others.count, 31);
}

TEST(the_largest_have_a_series)
{
	uint32_t numbers[NR_THINGS];
	uint64_t counts[NR_THINGS];

	for (uint32_t i = 0; i < NR_THINGS; i++) {
		numbers[i] = i;
		counts[i] = i * 37 % NR_THINGS * 100;
	}
	iterate(numbers, counts, NR_THINGS);
	for (uint32_t i = 0; i < NR_THINGS; i++)
		assert_true(!find(0, i) == (counts[i] < 3500) && !find(1, i) == (counts[i] < 3500));
	/* one that counts a little more replaces none, twice as much does; of values any more */
	for (uint32_t i = 0; i < NR_THINGS; i++)
		counts[i] = counts[i] == 3400 ? 3600 : counts[i];
	iterate(numbers, counts, NR_THINGS);
	for (uint32_t i = 0; i < NR_THINGS; i++) {
		bool is_new = counts[i] == 3600 && i * 37 % NR_THINGS == 34;

		assert_true(!is_new || !find(0, i));
		assert_true(!is_new || find(1, i));
		counts[i] = is_new ? 9000 : counts[i];
	}
	iterate(numbers, counts, NR_THINGS);
	for (uint32_t i = 0; i < NR_THINGS; i++)
		if (counts[i] == 9000)
			assert_int_equal(find(0, i)->sum.count, 9000);
}

TEST(sums_hold_whatever_comes)
{
	uint64_t state = 1, total = 0, others = 0;
	struct top_thing before[MAX];
	size_t nr_before = 0;

	for (unsigned n = 0; n < NR_ITERATIONS; n++) {
		uint32_t numbers[NR_THINGS];
		uint64_t counts[NR_THINGS], now = 0;
		size_t nr = 0;

		for (uint32_t i = 0; i < NR_THINGS; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			if (state >> 61 == 0)
				continue;
			numbers[nr] = n / 50 * 20 + i;
			counts[nr] = state >> 33 >> (state >> 40 & 31);
			now += counts[nr++];
		}
		total += now;
		iterate(numbers, counts, nr);
		assert_true(top.events[0].nr <= MAX && top.events[1].nr <= MAX);
		assert_int_equal(sum_of(0, false), total);
		assert_int_equal(sum_of(1, true), now);
		assert_true(top.events[0].others.count >= others);
		others = (uint64_t)top.events[0].others.count;
		for (size_t i = 0; i < nr_before; i++) {
			const struct top_thing *again = find(0, before[i].number);

			if (again)
				assert_true(again->sum.count >= before[i].sum.count);
		}
		nr_before = top.events[0].nr;
		memcpy(before, top.events[0].things, nr_before * sizeof(*before));
	}
}
