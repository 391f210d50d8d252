/* Which functions come into question as progress points, and which are too dear to be counted. */
#include "kit.h"

#include "causal/called.h"

TEST(the_dearest_are_left_out)
{
	struct causal_called f[] = {{"cheap", 1000, .cost_ns = 1000},
				    {"stepped", 1000, .cost_ns = 7000},
				    {"often", 100000, .cost_ns = 1000},
				    {"never", 0, .cost_ns = 7000}};

	assert_int_equal(causal_called_leave_out(f, 4, 108000000), 0);
	assert_int_equal(causal_called_leave_out(f, 4, 107999999), 1);
	assert_true(f[2].is_out);
	assert_int_equal(causal_called_leave_out(f, 4, 8000000), 0);
	assert_int_equal(causal_called_leave_out(f, 4, 0), 2);
	assert_true(f[0].is_out && f[1].is_out && !f[3].is_out);
	assert_int_equal(causal_called_leave_out(f, 4, 0), 0);
}

TEST(in_the_order_in_which_they_come_into_question)
{
	static const char *const expected[] = {"handle", "answer", "parse",
					       "tick",   "hot",    "hotter"};
	struct causal_called f[] = {
	    {"rare", .rate = 1.9},   {"hotter", .rate = 9e6, .is_out = true},
	    {"answer", .rate = 100}, {"hot", .rate = 1e6, .is_out = true},
	    {"handle", .rate = 200}, {"idle", .rate = 1, .is_out = true},
	    {"parse", .rate = 100},  {"tick", .rate = 2},
	    {"never", .rate = 0}};

	assert_int_equal(causal_called_sort(f, 9, 2), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(f[i].name, expected[i]);
	assert_int_equal(causal_called_sort(f, 0, 2), 0);
}
