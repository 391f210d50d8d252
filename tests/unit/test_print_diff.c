/* Whether a change of wall time is one of waiting for a CPU. */
#include "kit.h"

#include "reports/diff.h"

static struct amount of(double was, double is)
{
	return (struct amount){.mean = {was, is}, .is_significant = true};
}

TEST(queue)
{
	static const struct {
		double wall, cpu_time, queue; /* what they were less */
		bool expected;
	} cases[] = {
	    {300, 0, 300, true},    {300, 0, 150, true},      {300, 0, 149, false},
	    {300, 75, 200, false},  {300, -74, 200, true},    {300, 74, 200, true},
	    {-300, 10, -290, true}, {-300, -290, -10, false}, {-300, 0, 300, false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct amount wall = of(1000, 1000 + cases[i].wall);
		const struct amount cpu_time = of(500, 500 + cases[i].cpu_time);
		const struct amount queue = of(400, 400 + cases[i].queue);

		assert_int_equal(diff_amount_is_of_queue(&wall, &cpu_time, &queue),
				 cases[i].expected);
		wall.is_significant = false;
		assert_false(diff_amount_is_of_queue(&wall, &cpu_time, &queue));
	}
}
