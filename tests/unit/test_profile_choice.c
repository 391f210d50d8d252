/*
 * The processes that --tree-of selects: by the parents of that time, over execs, with pids used
 * again, and with circles that only a crafted file has.
 */
#include "kit.h"
#include "test_processes.h"

#include "profile/choice.h"

#define FORKED(t, child, parent)                                                                   \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = child, .tid = child, .ppid = parent,              \
		.ptid = parent                                                                     \
	}
#define SURVEYED(t, child, parent)                                                                 \
	{                                                                                          \
		.op = FORK, .is_made = true, .time_ns = t, .pid = child, .tid = child,             \
		.ppid = parent, .ptid = parent                                                     \
	}
#define EXECED(t, p, name)                                                                         \
	{                                                                                          \
		.op = EXEC, .time_ns = t, .pid = p, .tid = p, .text = name                         \
	}
#define EXITED(t, p)                                                                               \
	{                                                                                          \
		.op = EXIT, .time_ns = t, .pid = p, .tid = p, .ppid = 1, .ptid = 1                 \
	}

enum { MAX_QUESTIONS = 12 };

static const struct scene {
	const char *name, *trees;
	struct step steps[16];
	struct {
		uint32_t pid; /* up to the first 0 */
		uint64_t time_ns;
		bool is_in;
	} questions[MAX_QUESTIONS];
} scenes[] = {
    {"surveyed and forked descendants",
     "10",
     {SURVEYED(50, 1, 0), SURVEYED(50, 10, 1), SURVEYED(50, 11, 10), SURVEYED(50, 12, 11),
      SURVEYED(50, 20, 1), FORKED(100, 13, 12), FORKED(110, 14, 13), FORKED(110, 21, 20)},
     {{1, 60, false},
      {10, 60, true},
      {11, 0, true},
      {12, 60, true},
      {20, 60, false},
      {13, 100, true},
      {14, 200, true},
      {21, 200, false},
      {99, 60, false}}},
    {"an exec stays where its process was",
     "10",
     {SURVEYED(50, 10, 1), FORKED(100, 11, 10), EXECED(110, 11, "a"), EXECED(120, 11, "b"),
      FORKED(130, 12, 11), EXECED(140, 10, "c"), FORKED(150, 13, 10)},
     {{11, 105, true},
      {11, 115, true},
      {11, 125, true},
      {12, 135, true},
      {10, 145, true},
      {13, 155, true}}},
    {"the survey reads a process after its exec",
     "10",
     {SURVEYED(50, 10, 1), EXECED(60, 11, "a"), SURVEYED(70, 11, 10), EXECED(60, 21, "a"),
      SURVEYED(70, 21, 1)},
     {{11, 50, true}, {11, 80, true}, {21, 50, false}, {21, 80, false}}},
    {"an orphan stays in the tree",
     "10",
     {SURVEYED(50, 10, 1), FORKED(100, 11, 10), EXITED(110, 10), FORKED(120, 12, 11)},
     {{11, 130, true}, {12, 130, true}}},
    {"a descendant's pid is used again by a stranger",
     "10",
     {SURVEYED(50, 1, 0), SURVEYED(50, 10, 1), FORKED(100, 11, 10), EXITED(110, 11),
      FORKED(200, 11, 1), FORKED(210, 12, 11)},
     {{11, 105, true}, {11, 205, false}, {12, 215, false}}},
    {"a parent's pid is used again by a descendant",
     "10",
     {SURVEYED(50, 1, 0), SURVEYED(50, 10, 1), SURVEYED(50, 20, 1), FORKED(100, 21, 20),
      EXITED(110, 20), FORKED(200, 20, 10), FORKED(210, 22, 20)},
     {{20, 60, false}, {21, 150, false}, {20, 205, true}, {22, 215, true}, {21, 215, false}}},
    {"the root's pid is used again: both are meant",
     "10",
     {SURVEYED(50, 10, 1), FORKED(100, 11, 10), EXITED(110, 10), FORKED(200, 10, 1),
      FORKED(210, 12, 10)},
     {{10, 60, true}, {11, 105, true}, {10, 205, true}, {12, 215, true}}},
    {"several roots, and one without records",
     "10,20-21,99",
     {SURVEYED(50, 10, 1), SURVEYED(50, 11, 10), SURVEYED(50, 21, 1), FORKED(100, 22, 21),
      SURVEYED(50, 30, 1)},
     {{10, 60, true},
      {11, 60, true},
      {22, 160, true},
      {30, 60, false},
      {99, 60, true},
      {98, 60, false}}},
    {"crafted circles",
     "10",
     {SURVEYED(50, 5, 6), SURVEYED(50, 6, 7), SURVEYED(50, 7, 5), SURVEYED(50, 8, 8),
      FORKED(100, 9, 8), SURVEYED(50, 10, 11), SURVEYED(50, 11, 10)},
     {{5, 60, false},
      {6, 60, false},
      {7, 60, false},
      {8, 60, false},
      {9, 160, false},
      {10, 60, true},
      {11, 60, true}}},
};

TEST(trees)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct scene *s = &scenes[i];
		struct profile_processes *p =
		    steps_read(s->steps, sizeof(s->steps) / sizeof(s->steps[0]));
		struct profile_lookup *l = profile_lookup_new(p);
		struct profile_filter f = {.from_ns = 0};
		struct profile_choice c;
		struct profile_task task;

		assert_int_equal(profile_ranges_parse(&f.trees, "--tree-of", s->trees, NULL), 0);
		assert_int_equal(profile_choice_make(&c, &f, p), 0);
		for (size_t k = 0; k < MAX_QUESTIONS && s->questions[k].pid; k++) {
			uint32_t pid = s->questions[k].pid;

			profile_lookup_task(l, pid, pid, s->questions[k].time_ns, &task);
			if (profile_choice_has(&c, task.process) != s->questions[k].is_in)
				fail_msg("%s: %u at %llu", s->name, pid,
					 (unsigned long long)s->questions[k].time_ns);
		}
		profile_choice_fini(&c);
		profile_lookup_free(l);
		profile_processes_free(p);
	}
}
