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

/* A compile: parents wait for 2.5 s in all, of which 0.95 are known to be for a child. */
#define COMPILE                                                                                    \
	.wall_ns = s, .all_ns = 3.5 * s, .nr_threads = 70, .nr_cpus = 2, .blocked_ns = 2.55 * s,   \
	.least_waits = 0.95, .waits = 1, .reason = "child"
#define TREE        .nr_tree = 62, .nr_leaves = 40
#define RAN         .nr_processes = 60
#define ALONE       .alone_ns = 0.95 * s
#define PARENTS     .parents_ns = 2.5 * s, .least_child = 0.95
#define CC1         .program = "cc1", .nr_of_program = 20
#define MOST_CC1    CC1, .least_program = 0.876
#define OF_ALL(who) "92 % of the time of all 2 CPUs is used by 62 processes" who "\n"
#define IN_TURN(percent, make)                                                                     \
	percent " % of the wall time is one CPU, used by 62 processes one after the other" make "\n"

TEST(sentences_of_many_processes)
{
	struct sentence list[] = {
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, .used_ns = 0.97 * s}, IN_TURN("97", "")},
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, .used_ns = 0.97 * s, .is_make = true},
	     IN_TURN("97", " (make -j runs several at a time)")},
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, MOST_CC1, .used_ns = 0.5 * s}, IN_TURN("50", "")},
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, .used_ns = 0.49 * s}, ""},
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, .used_ns = 1.1 * s}, ""},
	    /* not all of the time: two ran beside each other, or a parent beside its child */
	    {{COMPILE, TREE, RAN, .alone_ns = 0.89 * s, PARENTS, .used_ns = 0.97 * s}, ""},
	    {{COMPILE, TREE, RAN, ALONE, .parents_ns = 2.6 * s, .least_child = 0.95,
	      .used_ns = 0.97 * s},
	     ""},
	    {{COMPILE, TREE, RAN, ALONE, .parents_ns = 2.5 * s, .least_child = 0.9,
	      .used_ns = 0.97 * s},
	     ""},
	    {{COMPILE, TREE, RAN, ALONE, PARENTS, .used_ns = 0.97 * s, .idle_ns = 0.2 * s}, ""},
	    /* one has half of it; few; not known */
	    {{COMPILE, TREE, .nr_processes = 1, ALONE, PARENTS, .used_ns = 0.97 * s}, ""},
	    {{COMPILE, .nr_tree = 62, .nr_leaves = 7, RAN, ALONE, PARENTS, .used_ns = 0.97 * s},
	     ""},
	    {{COMPILE, RAN, ALONE, PARENTS, .used_ns = 0.97 * s}, ""},
	    {{COMPILE, TREE, RAN, .used_ns = 1.84 * s}, OF_ALL("")},
	    {{COMPILE, TREE, RAN, MOST_CC1, .used_ns = 1.84 * s},
	     OF_ALL(", most of it by 20 of cc1")},
	    {{COMPILE, TREE, RAN, CC1, .least_program = 0.49, .used_ns = 1.84 * s}, OF_ALL("")},
	    {{COMPILE, TREE, RAN, .program = "ld", .nr_of_program = 1, .least_program = 0.6,
	      .used_ns = 1.84 * s},
	     OF_ALL("")},
	    {{COMPILE, TREE, .nr_processes = 1, MOST_CC1, .used_ns = 1.84 * s},
	     "92 % of the time of all 2 CPUs is used by 70 threads\n"},
	    {{COMPILE, TREE, RAN, MOST_CC1, .used_ns = 1.6 * s},
	     "at least 87 % of the time on CPU is 20 processes of cc1; 1.6 of 2 CPUs are used on "
	     "average\n"},
	    {{COMPILE, TREE, RAN, CC1, .least_program = 0.49, .used_ns = 1.6 * s}, ""},
	    {{COMPILE, TREE, RAN, MOST_CC1, .used_ns = 0.4 * s}, ""},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		check(&list[i]);
}

TEST(makes_without_jobs)
{
	static const struct {
		const char *command;
		bool expected;
	} list[] = {
	    {"make", true},
	    {"/usr/bin/make -C folder all", true},
	    {"gmake all", true},
	    {"make -j2", false},
	    {"make -sj 2", false},
	    {"make --jobs=2", false},
	    {"cmake .", false},
	    {"sh -c make", false},
	    {"/make/run", false},
	    {"makes", false},
	    {"make --just-print", true},
	    {"mak", false},
	    {"", false},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(conclusion_is_make(list[i].command), list[i].expected);
}

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
	      .all_ns = 15 * s,
	      .nr_threads = 15,
	      .blocked_ns = 13.6 * s,
	      .idle_ns = 13 * s, /* the rest is 2 s, of which 0.6 are blocked */
	      .waits = 1,
	      .least_waits = 1,
	      .reason = "futex"},
	     ""},
	    {{.wall_ns = s,
	      .all_ns = 15 * s,
	      .nr_threads = 15,
	      .blocked_ns = 14.6 * s,
	      .idle_ns = 13 * s,
	      .waits = 1,
	      .least_waits = 1,
	      .reason = "futex"},
	     ""}, /* the first thread joins those that are idle */
	    {{.wall_ns = s,
	      .all_ns = 15 * s,
	      .nr_threads = 15,
	      .blocked_ns = 14.6 * s,
	      .idle_ns = 13 * s,
	      .waits = 1,
	      .least_waits = 1,
	      .least_lock = 0.9,
	      .reason = "futex"},
	     "80 % of the time of 15 threads, idle time excluded, is waiting for another thread or "
	     "a lock (futex)\n"},
	    {{.wall_ns = s, /* all is idle, but for a moment */
	      .all_ns = 2 * s,
	      .nr_threads = 2,
	      .queue_ns = 0.3 * s,
	      .blocked_ns = 1.6 * s,
	      .idle_ns = 1.6 * s},
	     ""},
	    {{.wall_ns = s, /* samples say more than what was counted */
	      .all_ns = 2 * s,
	      .nr_threads = 2,
	      .queue_ns = 0.6 * s,
	      .blocked_ns = 1.2 * s,
	      .idle_ns = 1.3 * s},
	     "75 % of the time of 2 threads, idle time excluded, is waiting for a CPU\n"},
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
