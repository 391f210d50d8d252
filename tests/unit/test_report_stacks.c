/*
 * Stacks by number: the same stack has the same number whoever asks, callers have lower ones, and
 * what no longer has room is cut, not refused.
 */
#include "kit.h"

#include "report/stacks.h"

#include <pthread.h>

enum { NR_THREADS = 4, NR_ROUNDS = 20000, NR_FUNCTIONS = 40, DEPTH = 6 };

static struct report_function functions[NR_FUNCTIONS];

static uint32_t number_of(struct report_stacks *s, const struct report_frame *frames, size_t nr)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(report_stacks_add(s, frames, nr, &number), 0);
	return number;
}

TEST(same_and_other)
{
	struct report_stacks *s = report_stacks_new();
	const int object_a = 0, object_b = 0;
	const struct report_frame frames[] = {
	    {.function = &functions[0]},
	    {.function = &functions[1]},
	    {.function = &functions[0], .line = 1},
	    {.function = &functions[0], .file = "a.c"},
	    {.function = &functions[0], .address = 1},
	    {.function = &functions[0], .object = (const void *)&object_a},
	    {.function = &functions[0], .object = (const void *)&object_b},
	};
	const struct report_frame two[] = {frames[1], frames[0]}, turned[] = {frames[0], frames[1]};
	uint32_t number[NR(frames)], a, b;

	assert_int_equal(report_stacks_nr(s), 1);
	assert_int_equal(number_of(s, frames, 0), REPORT_NO_STACK);
	assert_int_equal(report_stacks_at(s, REPORT_NO_STACK)->depth, 0);
	for (size_t i = 0; i < NR(frames); i++)
		number[i] = number_of(s, &frames[i], 1);
	for (size_t i = 0; i < NR(frames); i++) {
		assert_int_equal(number[i], i + 1);
		assert_int_equal(number_of(s, &frames[i], 1), number[i]);
		assert_int_equal(report_stacks_at(s, number[i])->parent, REPORT_NO_STACK);
		assert_int_equal(report_stacks_at(s, number[i])->depth, 1);
	}
	a = number_of(s, two, 2);
	b = number_of(s, turned, 2);
	assert_int_not_equal(a, b);
	assert_int_equal(report_stacks_at(s, a)->parent, number[0]);
	assert_ptr_equal(report_stacks_at(s, a)->frame.function, &functions[1]);
	assert_int_equal(report_stacks_at(s, a)->depth, 2);
	assert_int_equal(report_stacks_at(s, b)->parent, number[1]);
	assert_int_equal(report_stacks_nr(s), NR(frames) + 3);
	assert_false(report_stacks_is_full(s));
	report_stacks_free(s);
}

struct adder {
	struct report_stacks *stacks;
	uint32_t number[NR_ROUNDS];
};

static size_t stack_of(size_t round, struct report_frame *frames)
{
	uint32_t random = (uint32_t)round * 2654435761u;

	for (size_t i = 0; i < DEPTH; i++, random = random * 1664525 + 1013904223)
		frames[i] =
		    (struct report_frame){.function = &functions[(random >> 24) % NR_FUNCTIONS]};
	return 1 + round % DEPTH;
}

static void *add_all(void *arg)
{
	struct adder *a = arg;
	struct report_frame frames[DEPTH];

	for (size_t i = 0; i < NR_ROUNDS; i++) {
		size_t nr = stack_of(i, frames);

		if (report_stacks_add(a->stacks, frames, nr, &a->number[i]) ||
		    report_stacks_at(a->stacks, a->number[i])->depth != nr)
			a->number[i] = UINT32_MAX;
	}
	return NULL;
}

TEST(by_threads)
{
	static struct adder adders[NR_THREADS];
	struct report_stacks *s = report_stacks_new();
	pthread_t thread[NR_THREADS];
	struct report_frame frames[DEPTH];

	for (size_t t = 0; t < NR_THREADS; t++) {
		adders[t].stacks = s;
		assert_int_equal(pthread_create(&thread[t], NULL, add_all, &adders[t]), 0);
	}
	for (size_t t = 0; t < NR_THREADS; t++)
		pthread_join(thread[t], NULL);
	for (size_t i = 0; i < NR_ROUNDS; i++) {
		size_t nr = stack_of(i, frames);
		uint32_t at = adders[0].number[i];

		for (size_t t = 1; t < NR_THREADS; t++)
			assert_int_equal(adders[t].number[i], at);
		for (size_t k = 0; k < nr; k++, at = report_stacks_at(s, at)->parent)
			assert_ptr_equal(report_stacks_at(s, at)->frame.function,
					 frames[k].function);
		assert_int_equal(at, REPORT_NO_STACK);
	}
	report_stacks_free(s);
}

TEST(full)
{
	struct report_stacks *s = report_stacks_new();
	struct report_frame frames[2] = {{.function = &functions[1]}, {.function = &functions[0]}};
	uint32_t number = 0, again;

	for (uint32_t i = 1; i < REPORT_MAX_STACKS; i++) {
		frames[1].address = i;
		number = number_of(s, &frames[1], 1);
	}
	assert_int_equal(number, REPORT_MAX_STACKS - 1);
	assert_false(report_stacks_is_full(s));
	assert_int_equal(number_of(s, &frames[1], 1), number);
	assert_false(report_stacks_is_full(s));
	again = number_of(s, frames, 2);
	assert_int_equal(again, number);
	assert_true(report_stacks_is_full(s));
	assert_int_equal(report_stacks_nr(s), REPORT_MAX_STACKS);
	report_stacks_free(s);
}

TEST(no_memory)
{
	unsigned n = 0;

	do {
		struct report_stacks *s;
		int rc = 0;

		inject_mem(++n);
		s = report_stacks_new();
		for (uint32_t i = 1; s && rc == 0 && i < 40000; i++) {
			const struct report_frame f = {.function = &functions[0], .address = i};
			uint32_t number = UINT32_MAX;

			rc = report_stacks_add(s, &f, 1, &number);
			assert_int_equal(number, rc ? UINT32_MAX : i);
		}
		assert_true(inject.fired == (!s || rc == -ENOMEM));
		report_stacks_free(s);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
	} while (inject.fired);
	assert_true(n > 6);
}
