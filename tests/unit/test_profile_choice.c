/*
 * The processes that --tree-of selects: by the parents of that time, over execs, with pids used
 * again, and with circles that only a crafted file has. The command lines of processes, each of
 * which is of one program alone, and what --cmdline selects by them.
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

static void put_cmdline(struct tape *t, uint32_t pid, uint32_t flags, uint64_t from_ns,
			uint64_t to_ns, const char *text, size_t len)
{
	struct buf b;

	buf_init(&b, 10000);
	buf_le32(&b, pid);
	buf_le32(&b, flags);
	buf_le64(&b, from_ns);
	buf_le64(&b, to_ns);
	buf_le32(&b, (uint32_t)len);
	buf_add(&b, text, len);
	add_frame(&t->file, TRACE_FRAME_CMDLINE, 0, b.data, (uint32_t)b.len);
	buf_fini(&b);
}
#define CMDLINE(pid, from, to, text) put_cmdline(&t, pid, 0, from, to, text, sizeof(text) - 1)

static struct profile_processes *read_cmdlines(void)
{
	static const struct step steps[] = {
	    SURVEYED(50, 10, 1),  FORKED(100, 11, 10), FORKED(110, 12, 11), EXECED(120, 11, "a"),
	    EXECED(200, 11, "b"), EXITED(300, 11),     FORKED(400, 11, 1),  EXECED(410, 11, "c"),
	    SURVEYED(50, 20, 1),  EXECED(60, 20, "d"), EXECED(90, 20, "e"), SURVEYED(50, 30, 1),
	    FORKED(100, 31, 30),  SURVEYED(50, 40, 1), EXECED(60, 40, "f"), EXECED(60, 41, "g"),
	    FORKED(130, 13, 10),  FORKED(140, 14, 13)};
	struct tape t;

	tape_init(&t);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		tape_add(&t, &steps[i]);
	CMDLINE(10, 50, 51, "/bin/ten\0-x\0two words\0");
	CMDLINE(11, 150, 199, "a\0\0\x1b\0\0");
	CMDLINE(11, 199, 201, "over the exec");
	CMDLINE(11, 350, 401, "over the end of one process to the next");
	CMDLINE(11, 411, 412, "c");
	put_cmdline(&t, 20, TRACE_CMDLINE_IS_COMMAND, 0, 0, "./d\0--command\0", 14);
	put_cmdline(&t, 40, TRACE_CMDLINE_IS_COMMAND, 0, 0, "./f\0", 4);
	put_cmdline(&t, 40, TRACE_CMDLINE_IS_CUT, 61, 62, "/bin/sh\0./f\0", 12);
	put_cmdline(&t, 41, 0, 61, 62, "/bin/sh\0./g\0", 12);
	put_cmdline(&t, 41, TRACE_CMDLINE_IS_COMMAND, 0, 0, "./g\0", 4);
	CMDLINE(13, 131, 132, "a title of its own");
	put_cmdline(&t, 77, TRACE_CMDLINE_IS_COMMAND, 0, 0, "nobody", 6);
	CMDLINE(78, 1, 2, "nobody");
	CMDLINE(30, 60, 61, "\0\0");
	return tape_read(&t, false);
}

TEST(cmdlines)
{
	static const struct {
		uint32_t pid;
		uint64_t time_ns;
		const char *cmdline;
	} rows[] = {
	    {10, 10, "/bin/ten -x two words"},
	    {11, 105, "/bin/ten -x two words"}, /* as it was forked */
	    {12, 115, "/bin/ten -x two words"},
	    {11, 120, "a  ?"},
	    {12, 500, "/bin/ten -x two words"},
	    {11, 250, "[unknown]"},
	    {11, 405, "[unknown]"},
	    {11, 420, "c"},
	    {20, 55, "[unknown]"},
	    {20, 70, "./d --command"},
	    {20, 95, "[unknown]"},
	    {30, 70, "[unknown]"},
	    {31, 110, "[unknown]"},
	    {40, 70, "/bin/sh ./f \xe2\x80\xa6"},
	    {41, 70, "/bin/sh ./g"},
	    {13, 130, "a title of its own"},
	    {14, 140, "a title of its own"},
	    {78, 2, "[unknown]"},
	};
	struct profile_processes *p = read_cmdlines();
	struct profile_lookup *l = profile_lookup_new(p);
	struct profile_task task;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text;

		profile_lookup_task(l, rows[i].pid, rows[i].pid, rows[i].time_ns, &task);
		text = profile_cmdline(p, task.process->cmdline);
		if (strcmp(text, rows[i].cmdline) != 0)
			fail_msg("row %zu: \"%s\"", i, text);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* A crafted file: as many commands of one pid as it has lives, none of which is an exec. A search
 * of all lives for each would outlast the time limit of a test. */
TEST(many_commands)
{
	enum { NR = 400000, PID = 7 };
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_task task;
	struct tape t;

	tape_init(&t);
	for (uint32_t i = 0; i < NR; i++)
		tape_add(&t, &(struct step)FORKED(100 + i, PID, 1));
	for (uint32_t i = 0; i < NR; i++)
		put_cmdline(&t, PID, TRACE_CMDLINE_IS_COMMAND, 0, 0, "./c", 3);
	p = tape_read(&t, false);
	l = profile_lookup_new(p);
	assert_int_equal(p->nr_lives, NR);
	profile_lookup_task(l, PID, PID, 100 + NR, &task);
	assert_string_equal(profile_cmdline(p, task.process->cmdline), "[unknown]");
	profile_lookup_free(l);
	profile_processes_free(p);
}

TEST(chosen_by_cmdline)
{
	static const struct {
		const char *glob, *trees;
		bool is_in[4]; /* 10, 11 at 105, 11 at 150, 11 at 250 */
	} rows[] = {
	    {"/bin/ten*", NULL, {true, true, false, false}},
	    {"*two words", NULL, {true, true, false, false}},
	    {"/bin/ten", NULL, {false, false, false, false}},
	    {"a*", NULL, {false, false, true, false}},
	    {"*", NULL, {true, true, true, false}},
	    {"[[]unknown]", NULL, {false, false, false, false}},
	    {"/bin/ten*", "11", {false, true, false, false}},
	    {"*", "10", {true, true, true, false}},
	};
	struct profile_processes *p = read_cmdlines();
	struct profile_lookup *l = profile_lookup_new(p);
	const uint64_t at[4] = {60, 105, 150, 250};
	struct profile_task task;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_filter f = {.cmdlines = {{rows[i].glob}, 1}};
		struct profile_choice c;

		if (rows[i].trees)
			assert_int_equal(
			    profile_ranges_parse(&f.trees, "--tree-of", rows[i].trees, NULL), 0);
		assert_int_equal(profile_choice_make(&c, &f, p), 0);
		for (size_t k = 0; k < 4; k++) {
			profile_lookup_task(l, k ? 11 : 10, k ? 11 : 10, at[k], &task);
			if (profile_choice_has(&c, task.process) != rows[i].is_in[k])
				fail_msg("row %zu, process %zu", i, k);
		}
		profile_lookup_task(l, 99, 99, 60, &task);
		assert_false(profile_choice_has(&c, task.process));
		profile_choice_fini(&c);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}
