/* The sentence above an answer: which one holds, and none where nothing is sure. */
#include "kit.h"

#include "base/buf.h"
#include "conclusion.h"

#include <string.h>

static const double s = 1e9;

struct sentence {
	struct conclusion c;
	const char *expected;
};

static void check(struct sentence *x)
{
	BUF_AUTO(text, 4096);

	x->c.is_open = true;
	x->c.at = 4;
	buf_adds(&text, "top\n\ncat: exit status 0\n");
	conclusion_end(&x->c, &text);
	assert_memory_equal(buf_str(&text), "top\n", 4);
	assert_true(strlen(buf_str(&text)) > 4 + strlen(x->expected));
	assert_memory_equal(buf_str(&text) + 4, x->expected, strlen(x->expected));
	assert_string_equal(buf_str(&text) + 4 + strlen(x->expected), "cat: exit status 0\n");
	conclusion_end(&x->c, &text); /* only once */
	assert_string_equal(buf_str(&text) + 4 + strlen(x->expected), "cat: exit status 0\n");
}

#define ONE .wall_ns = s, .all_ns = s, .nr_threads = 1, .nr_cpus = 2

#define LOCK                                                                                       \
	.wall_ns = s, .all_ns = 5 * s, .nr_threads = 5, .blocked_ns = 4 * s, .waits = 1,           \
	.least_waits = 1, .lock = 1, .reason = "futex"

TEST(sentences)
{
	struct sentence list[] = {
	    {{ONE, .used_ns = 0.96 * s}, "96 % of the wall time is one thread on CPU\n"},
	    {{ONE, .used_ns = 0.89 * s}, ""},
	    {{.wall_ns = 0.01 * s, .all_ns = 0.01 * s, .nr_threads = 1, .used_ns = 0.01 * s}, ""},
	    {{.wall_ns = s, .all_ns = 4 * s, .nr_threads = 4, .nr_cpus = 2, .used_ns = 1.9 * s},
	     "95 % of the time of all 2 CPUs is used by 4 threads\n"},
	    {{.wall_ns = s, .all_ns = 4 * s, .nr_threads = 4, .nr_cpus = 0, .used_ns = 1.9 * s},
	     ""},
	    {{ONE, .queue_ns = 0.6 * s}, "60 % of the wall time is waiting for a CPU\n"},
	    {{.wall_ns = s, .all_ns = 4 * s, .nr_threads = 4, .queue_ns = 2.4 * s},
	     "60 % of the time of 4 threads is waiting for a CPU\n"},
	    {{ONE, .blocked_ns = 0.8 * s, .waits = 0.9, .least_waits = 0.8, .reason = "disk"},
	     "72 % of the wall time is waiting for the disk\n"},
	    {{ONE, .blocked_ns = 0.8 * s, .waits = 0.9, .least_waits = 0.6, .reason = "disk"}, ""},
	    {{ONE, .blocked_ns = 0.8 * s, .waits = 1, .least_waits = 1, .reason = "poll"}, ""},
	    {{ONE, .blocked_ns = 0.8 * s, .waits = 1, .least_waits = 1, .reason = "child"},
	     "80 % of the wall time is waiting for a child\n"},
	    {{.wall_ns = s,
	      .all_ns = 2 * s,
	      .nr_threads = 2,
	      .blocked_ns = 1.6 * s,
	      .waits = 1,
	      .least_waits = 1,
	      .reason = "child"},
	     ""},
	    {{.wall_ns = s,
	      .all_ns = 4 * s,
	      .nr_threads = 4,
	      .blocked_ns = 3 * s,
	      .waits = 0.8,
	      .least_waits = 0.7,
	      .reason = "futex",
	      .function = "update"},
	     "60 % of the time of 4 threads is waiting for another thread or a lock (futex), "
	     "most of it in update\n"},
	    {{.wall_ns = s,
	      .all_ns = 5 * s,
	      .nr_threads = 5,
	      .used_ns = 0.9 * s, /* the others are idle */
	      .blocked_ns = 4 * s,
	      .waits = 1,
	      .least_waits = 1,
	      .reason = "futex"},
	     ""},
	    {{.wall_ns = s,
	      .all_ns = 5 * s,
	      .nr_threads = 5,
	      .used_ns = 0.9 * s, /* of the one that holds it */
	      .blocked_ns = 4 * s,
	      .waits = 1,
	      .least_waits = 1,
	      .lock = 0.9,
	      .least_lock = 0.85,
	      .holder = "update",
	      .least_used = 0.5,
	      .reason = "futex"},
	     "72 % of the time of 5 threads is waiting for one lock, held by update\n"},
	    /* who holds it is not known, waits itself, or does next to nothing */
	    {{LOCK, .used_ns = 0.9 * s, .least_lock = 0.8, .least_used = 0.9}, ""},
	    {{LOCK, .used_ns = 0.9 * s, .least_lock = 0.8, .least_used = 0.49, .holder = "a"}, ""},
	    {{LOCK, .used_ns = 0.4 * s, .least_lock = 0.8, .least_used = 0.9, .holder = "a"},
	     "80 % of the time of 5 threads is waiting for another thread or a lock (futex)\n"},
	    {{LOCK, .used_ns = 0.1 * s, .least_lock = 0.8, .least_used = 0.1, .holder = "a"}, ""},
	    {{LOCK, .used_ns = 0.9 * s, .least_lock = 0.6, .least_used = 0.9, .holder = "a"}, ""},
	    {{LOCK, .used_ns = 0.3 * s, .queue_ns = 0.3 * s, .least_lock = 0.8, .least_used = 0.9,
	      .holder = "a (tid 7)"},
	     "80 % of the time of 5 threads is waiting for one lock, held by a (tid 7)\n"},
	    {{.all_ns = 0}, ""},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		check(&list[i]);
}
