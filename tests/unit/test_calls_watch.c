/* Which functions are measured no longer, of what each costs. */
#include "kit.h"

#include "base/array.h"
#include "calls/watch.h"
#include "calls/way.h"

#include <string.h>

enum { NR = 4, MS = 1000000 };

static const struct {
	const char *what;
	uint64_t cost_ms[NR]; /* of a second */
	const char *kept;     /* of each: k: at any cost */
	const char *before;   /* x: it is out already */
	const char *after;
} rows[] = {
    {"all cost little", {10, 20, 10, 10}, "....", "....", "...."},
    {"the dearest is enough", {30, 400, 10, 5}, "....", "....", ".x.."},
    {"two, the dearest first", {300, 400, 10, 5}, "....", "....", "xx.."},
    {"one is kept", {30, 400, 10, 5}, ".k..", "....", "x.xx"},
    {"what is out costs nothing", {30, 400, 10, 5}, "....", ".x..", ".x.."},
    {"what is not called stays", {0, 90, 0, 60}, "....", "....", ".x.x"},
};

TEST(choose)
{
	for (size_t i = 0; i < ARRAY_NR(rows); i++) {
		struct calls_function function[NR] = {0};
		const struct calls_list list = {.function = function, .nr = NR};
		uint64_t cost_ns[NR];
		bool is_out[NR];
		size_t nr = 0;

		for (size_t k = 0; k < NR; k++) {
			function[k].is_kept = rows[i].kept[k] == 'k';
			cost_ns[k] = rows[i].cost_ms[k] * MS;
			is_out[k] = rows[i].before[k] == 'x';
			nr += rows[i].after[k] != rows[i].before[k];
		}
		assert_int_equal(calls_watch_choose(&list, cost_ns, 1000 * MS, 0.05, is_out), nr);
		for (size_t k = 0; k < NR; k++)
			if (is_out[k] != (rows[i].after[k] == 'x'))
				fail_msg("%s: function %zu", rows[i].what, k);
	}
}
