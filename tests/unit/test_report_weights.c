/*
 * Samples summed over the tree of stacks, and which functions called themselves.
 */
#include "kit.h"

#include "base/mem.h"
#include "report/stacks.h"
#include "report/weights.h"

enum { NR_FUNCTIONS = 4, MANY = 5000 };

static const struct report_function functions[NR_FUNCTIONS] = {
    {.number = 0, .name = "a", .object = ""},
    {.number = 1, .name = "b", .object = ""},
    {.number = 2, .name = "c", .object = ""},
    {.number = 3, .name = "d", .object = ""},
};

/* "cba": c sampled, called by b, called by a. */
static uint32_t add(struct report_stacks *s, const char *text)
{
	struct report_frame frames[16];
	uint32_t number;
	size_t nr = strlen(text);

	memset(frames, 0, sizeof(frames));
	for (size_t i = 0; i < nr; i++)
		frames[i].function = &functions[text[i] - 'a'];
	assert_int_equal(report_stacks_add(s, frames, nr, &number), 0);
	return number;
}

TEST(sums)
{
	static const struct {
		const char *stack;
		uint64_t self, self_weight, total, total_weight;
	} want[] = {
	    {"a", 1, 5, 6, 75},    {"ba", 0, 0, 3, 40},  {"cba", 2, 30, 2, 30},
	    {"dba", 1, 10, 1, 10}, {"da", 2, 30, 2, 30}, {"c", 1, 7, 1, 7},
	};
	struct report_weights w = {.room = 0};
	struct report_stacks *s = report_stacks_new();

	assert_non_null(s);
	for (size_t i = 0; i < NR(want); i++)
		for (uint64_t k = 0; k < want[i].self; k++)
			assert_int_equal(report_weights_add(&w, add(s, want[i].stack), 1,
							    want[i].self_weight / want[i].self),
					 0);
	add(s, "bc"); /* of another event */
	assert_int_equal(report_weights_add(&w, REPORT_NO_STACK, 1, 3), 0);
	assert_int_equal(report_weights_add_up(&w, s), 0);
	for (size_t i = 0; i < NR(want); i++) {
		uint32_t number = add(s, want[i].stack);

		assert_int_equal(w.self[number].samples, want[i].self);
		assert_int_equal(w.self[number].weight, want[i].self_weight);
		assert_int_equal(w.total[number].samples, want[i].total);
		assert_int_equal(w.total[number].weight, want[i].total_weight);
	}
	assert_int_equal(w.total[add(s, "bc")].samples, 0);
	report_weights_fini(&w);
	report_stacks_free(s);
}

/* Also where no sample ends. */
TEST(of_few_of_many)
{
	struct report_weights w = {.room = 0};
	struct report_stacks *s = report_stacks_new();
	struct report_frame frame = {.function = &functions[0]};
	uint32_t number = 0;

	assert_non_null(s);
	assert_int_equal(report_weights_add(&w, add(s, "a"), 1, 1), 0);
	for (frame.line = 1; frame.line < MANY; frame.line++)
		assert_int_equal(report_stacks_add(s, &frame, 1, &number), 0);
	assert_int_equal(report_weights_add_up(&w, s), 0);
	assert_true(w.room > number);
	assert_int_equal(w.total[number].samples, 0);
	assert_int_equal(w.total[add(s, "a")].samples, 1);
	report_weights_fini(&w);
	report_stacks_free(s);
}

TEST(recursion)
{
	static const struct {
		const char *stack;
		bool is_recursive;
	} want[] = {
	    {"a", false},  {"aa", true},  {"aaa", true},   {"ba", false},
	    {"aba", true}, {"bba", true}, {"cba", false},  {"b", false},
	    {"ab", false}, {"bab", true}, {"dcba", false}, {"adcba", true},
	};
	struct report_stacks *s = report_stacks_new();
	bool *got;

	assert_non_null(s);
	for (size_t i = 0; i < NR(want); i++)
		add(s, want[i].stack);
	got = report_weights_recursive(s, NR_FUNCTIONS);
	assert_non_null(got);
	for (size_t i = 0; i < NR(want); i++)
		if (got[add(s, want[i].stack)] != want[i].is_recursive)
			fail_msg("%s", want[i].stack);
	mem_free(got);
	report_stacks_free(s);
	s = report_stacks_new();
	assert_non_null(s);
	got = report_weights_recursive(s, NR_FUNCTIONS);
	assert_non_null(got);
	mem_free(got);
	report_stacks_free(s);
}

static int all_of_it(void *arg)
{
	struct report_stacks *s = arg;
	struct report_weights w = {.room = 0};
	bool *recursive = NULL;
	int rc = report_weights_add(&w, 1, 1, 1);

	if (rc == 0)
		rc = report_weights_add_up(&w, s);
	if (rc == 0) {
		recursive = report_weights_recursive(s, NR_FUNCTIONS);
		rc = recursive ? 0 : -ENOMEM;
	}
	mem_free(recursive);
	report_weights_fini(&w);
	return rc;
}

TEST(memory_fails)
{
	struct report_stacks *s = report_stacks_new();

	assert_non_null(s);
	add(s, "abc");
	inject_every(all_of_it, s, 5, 0);
	report_stacks_free(s);
}
