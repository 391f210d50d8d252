/*
 * Who ran and what was mapped when: scenes of what was told, and what must be answered; what is
 * answered of mappings over one another and forks of forks, against a search through all of them.
 */
#include "kit.h"
#include "test_processes.h"

#include "profile/growth.h"

#include <inttypes.h>
#include <pthread.h>

enum { MAX_STEPS = 24, MAX_QUESTIONS = 24 };

#define FORKED(t, child, parent)                                                                   \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = child, .tid = child, .ppid = parent,              \
		.ptid = parent                                                                     \
	}
#define THREAD(t, p, child, parent)                                                                \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = p, .tid = child, .ppid = p, .ptid = parent        \
	}
#define NAMED(t, p, th, name)                                                                      \
	{                                                                                          \
		.op = COMM, .time_ns = t, .pid = p, .tid = th, .text = name                        \
	}
#define EXECED(t, p, name)                                                                         \
	{                                                                                          \
		.op = EXEC, .time_ns = t, .pid = p, .tid = p, .text = name                         \
	}
#define EXITED(t, p, th)                                                                           \
	{                                                                                          \
		.op = EXIT, .time_ns = t, .pid = p, .tid = th, .ppid = 1, .ptid = 1                \
	}
#define MAPPED(t, p, from, to, path)                                                               \
	{                                                                                          \
		.op = MAP, .time_ns = t, .pid = p, .tid = p, .start = from, .end = to,             \
		.text = path, .inode = 7                                                           \
	}
#define MAPPED_ID(t, p, from, to, path, id)                                                        \
	{                                                                                          \
		.op = MAP, .time_ns = t, .pid = p, .tid = p, .start = from, .end = to,             \
		.text = path, .build_id = id                                                       \
	}
#define MADE_TASK(t, p, th)                                                                        \
	{                                                                                          \
		.op = FORK, .is_made = true, .time_ns = t, .pid = p, .tid = th, .ppid = 1,         \
		.ptid = 1                                                                          \
	}
#define MADE_NAME(t, p, th, name)                                                                  \
	{                                                                                          \
		.op = COMM, .is_made = true, .time_ns = t, .pid = p, .tid = th, .text = name       \
	}
#define MADE_MAP(t, p, from, to, path)                                                             \
	{                                                                                          \
		.op = MAP, .is_made = true, .time_ns = t, .pid = p, .tid = p, .start = from,       \
		.end = to, .text = path, .build_id = 9                                             \
	}
#define MADE_MEMORY(t, p, from, to, path)                                                          \
	{                                                                                          \
		.op = MAP, .is_made = true, .time_ns = t, .pid = p, .tid = p, .start = from,       \
		.end = to, .text = path                                                            \
	}
#define KSYMBOL(t, made, gone, from, to, name)                                                     \
	{                                                                                          \
		.op = gone ? NO_SYMBOL : SYMBOL, .is_made = made, .time_ns = t, .start = from,     \
		.end = to, .text = name                                                            \
	}

/* In the order of the survey: the process, its name, its mapping. */
#define MADE(t, p, name, from, to, path)                                                           \
	MADE_TASK(t, p, p), MADE_NAME(t, p, p, name), MADE_MAP(t, p, from, to, path)

static const struct scene {
	const char *name;
	struct step steps[MAX_STEPS]; /* up to the first 0 */
	struct {
		uint32_t pid, tid; /* up to the first 0 of both */
		uint64_t time_ns, address;
		const char *comm, *path; /* path NULL: nothing is mapped there */
	} questions[MAX_QUESTIONS];
} scenes[] = {
    {"a survey",
     {MADE(50, 1, "init", 0x1000, 0x3000, "/init"), MADE(60, 2, "two", 0x1000, 0x2000, "/two"),
      MADE_TASK(60, 2, 3), MADE_NAME(60, 2, 3, "thread")},
     {{1, 1, 10, 0x1000, "init", "/init"},
      {1, 1, 100, 0x2fff, "init", "/init"},
      {1, 1, 100, 0xfff, "init", NULL},
      {1, 1, 100, 0x3000, "init", NULL},
      {2, 2, 0, 0x1000, "two", "/two"},
      {2, 3, 70, 0x1800, "thread", "/two"},
      {2, 4, 70, 0x1800, "[unknown]", "/two"},
      {9, 9, 70, 0x1800, "[unknown]", NULL}}},
    {"a program begins",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "ls"),
      MAPPED(210, 7, 0x5000, 0x6000, "/ls"), EXITED(300, 7, 7)},
     {{7, 7, 99, 0x1000, "[unknown]", NULL},
      {7, 7, 100, 0x1000, "sh", "/sh"},
      {7, 7, 199, 0x1000, "sh", "/sh"},
      {7, 7, 200, 0x1000, "ls", NULL},
      {7, 7, 209, 0x5000, "ls", NULL},
      {7, 7, 210, 0x5000, "ls", "/ls"},
      {7, 7, 310, 0x5000, "ls", "/ls"}, /* it is not gone before it has left the CPU */
      {1, 1, 310, 0x1000, "sh", "/sh"}}},
    {"until an exec is done, addresses are of the program before",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "ls"),
      MAPPED(210, 7, 0x1000, 0x6000, "/ls"), MAPPED(230, 7, 0x8000, 0x9000, "[vdso]"),
      MAPPED(240, 7, 0x1800, 0x1900, "/late")},
     {{7, 7, 205, 0x1000, "ls", "/sh"},
      {7, 7, 229, 0x1000, "ls", "/sh"},
      {7, 7, 229, 0x8000, "ls", NULL},
      {7, 7, 230, 0x1000, "ls", "/ls"},
      {7, 7, 230, 0x8000, "ls", "[vdso]"},
      {7, 7, 239, 0x1800, "ls", "/ls"},
      {7, 7, 239, 0x6000, "ls", NULL},
      {7, 7, 240, 0x1800, "ls", "/late"}}},
    {"until it maps something, addresses may be of the program before",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "ls"),
      MAPPED(210, 7, 0x1000, 0x1800, "/ls"), MAPPED(230, 7, 0x8000, 0x9000, "[vdso]"),
      MAPPED(240, 7, 0x9000, 0xa000, "/lib"), MAPPED(250, 7, 0xb000, 0xc000, "/lib")},
     {{7, 7, 229, 0x1000, "ls", "/sh"},
      {7, 7, 230, 0x1000, "ls", "/ls"},
      {7, 7, 230, 0x1800, "ls", "/sh"},
      {7, 7, 239, 0x1800, "ls", "/sh"},
      {7, 7, 240, 0x1800, "ls", NULL},
      {7, 7, 250, 0x1800, "ls", NULL}}},
    {"one that maps nothing may still do so",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "ls"),
      MAPPED(210, 7, 0x1000, 0x1800, "/ls"), MAPPED(230, 7, 0x8000, 0x9000, "[vdso]")},
     {{7, 7, 230, 0x1000, "ls", "/ls"},
      {7, 7, 230, 0x1800, "ls", "/sh"},
      {7, 7, 300, 0x1800, "ls", "/sh"},
      {7, 7, 300, 0x2000, "ls", NULL}}},
    {"an exec whose last mapping is not recorded, yet or at all",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), MADE_MAP(50, 1, 0x8000, 0x9000, "[vdso]"),
      FORKED(100, 7, 1), EXECED(200, 7, "ls"), MAPPED(210, 7, 0x1800, 0x6000, "/ls")},
     {{7, 7, 205, 0x1000, "ls", "/sh"},
      {7, 7, 220, 0x1800, "ls", "/sh"},
      {7, 7, 209, 0x3000, "ls", NULL},
      {7, 7, 210, 0x3000, "ls", "/ls"},
      {7, 7, 220, 0x6000, "ls", NULL}}},
    {"memory in place of the program's code is a copy of it",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "node"),
      MAPPED(210, 7, 0x5000, 0x9000, "/node"), MAPPED(220, 7, 0xa000, 0xd000, "/lib"),
      MAPPED(230, 7, 0x6000, 0x7000, "//anon"), MAPPED(240, 7, 0xb000, 0xc000, "//anon"),
      MAPPED(250, 7, 0x8000, 0xa000, "//anon"), MADE_MEMORY(260, 7, 0x5000, 0x6000, "//anon"),
      MAPPED(270, 7, 0x7000, 0x8000, "/huge/x (deleted)")},
     {{7, 7, 215, 0x6000, "node", "/node"},
      {7, 7, 300, 0x6000, "node", "/node"},
      {7, 7, 300, 0x5000, "node", "/node"},
      {7, 7, 300, 0x7fff, "node", "/node"},
      {7, 7, 300, 0xb000, "node", "//anon"}, /* the library may be unloaded */
      {7, 7, 300, 0x9fff, "node", "//anon"}, /* more than the code */
      {1, 1, 300, 0x1000, "sh", "/sh"}}},
    {"where there is no vdso, an exec is complete at once",
     {MADE(50, 1, "sh", 0x1000, 0x2000, "/sh"), FORKED(100, 7, 1), EXECED(200, 7, "ls"),
      MAPPED(210, 7, 0x1800, 0x6000, "/ls")},
     {{7, 7, 205, 0x1000, "ls", NULL}, {7, 7, 220, 0x1800, "ls", "/ls"}}},
    {"parent and child map on their own",
     {MADE(50, 1, "a", 0x1000, 0x9000, "/both"), FORKED(100, 2, 1),
      MAPPED(110, 1, 0x2000, 0x3000, "/parents"), MAPPED(120, 2, 0x4000, 0x5000, "/childs"),
      FORKED(130, 3, 2)},
     {{1, 1, 105, 0x2000, "a", "/both"},
      {1, 1, 110, 0x2000, "a", "/parents"},
      {2, 2, 200, 0x2000, "a", "/both"},
      {2, 2, 115, 0x4000, "a", "/both"},
      {2, 2, 120, 0x4000, "a", "/childs"},
      {1, 1, 200, 0x4000, "a", "/both"},
      {3, 3, 200, 0x4000, "a", "/childs"},
      {3, 3, 200, 0x2000, "a", "/both"}}},
    {"what the parent maps before the fork is the child's",
     {MAPPED(90, 1, 0x1000, 0x2000, "/early"), FORKED(100, 2, 1),
      MAPPED(100, 1, 0x3000, 0x4000, "/same"), MAPPED(101, 1, 0x5000, 0x6000, "/late")},
     {{2, 2, 150, 0x1000, "[unknown]", "/early"},
      {2, 2, 150, 0x3000, "[unknown]", "/same"},
      {2, 2, 150, 0x5000, "[unknown]", NULL}}},
    {"over one another in time",
     {MAPPED(10, 1, 0x1000, 0x5000, "/a"), MAPPED(20, 1, 0x2000, 0x3000, "/b"),
      MAPPED(30, 1, 0x1000, 0x2800, "/c"), MAPPED(30, 1, 0x1000, 0x1100, "/d")},
     {{1, 1, 9, 0x2000, "[unknown]", NULL},
      {1, 1, 10, 0x2000, "[unknown]", "/a"},
      {1, 1, 20, 0x2000, "[unknown]", "/b"},
      {1, 1, 29, 0x2000, "[unknown]", "/b"},
      {1, 1, 30, 0x2000, "[unknown]", "/c"},
      {1, 1, 30, 0x2800, "[unknown]", "/b"},
      {1, 1, 30, 0x3000, "[unknown]", "/a"},
      {1, 1, 30, 0x10ff, "[unknown]", "/d"},
      {1, 1, 30, 0x1100, "[unknown]", "/c"},
      {1, 1, 19, 0x10ff, "[unknown]", "/a"}}},
    {"a pid again",
     {FORKED(10, 7, 1), NAMED(11, 7, 7, "old"), MAPPED(12, 7, 0x1000, 0x2000, "/old"),
      EXITED(20, 7, 7), FORKED(30, 7, 1), NAMED(31, 7, 7, "new"),
      MAPPED(32, 7, 0x1000, 0x2000, "/new")},
     {{7, 7, 15, 0x1000, "old", "/old"},
      {7, 7, 25, 0x1000, "old", "/old"},
      {7, 7, 30, 0x1000, "[unknown]", NULL},
      {7, 7, 31, 0x1000, "new", NULL},
      {7, 7, 32, 0x1000, "new", "/new"},
      {7, 7, 5, 0x1000, "[unknown]", NULL}}},
    {"the first thread goes before the others",
     {FORKED(10, 7, 1), MAPPED(12, 7, 0x1000, 0x2000, "/a"), THREAD(13, 7, 8, 7), EXITED(20, 7, 7),
      MAPPED(25, 7, 0x3000, 0x4000, "/b"), EXITED(30, 7, 8)},
     {{7, 8, 28, 0x1000, "[unknown]", "/a"}, {7, 8, 28, 0x3000, "[unknown]", "/b"}}},
    {"names of threads",
     {MADE(50, 1, "main", 0x1000, 0x2000, "/a"), THREAD(100, 1, 2, 1), NAMED(110, 1, 2, "worker"),
      THREAD(120, 1, 3, 2), NAMED(130, 1, 1, "other"), NAMED(140, 1, 2, "done"), EXITED(150, 1, 2),
      THREAD(160, 1, 2, 1)},
     {{1, 1, 0, 0x1000, "main", "/a"},
      {1, 1, 130, 0x1000, "other", "/a"},
      {1, 2, 90, 0x1000, "[unknown]", "/a"},
      {1, 2, 100, 0x1000, "main", "/a"},
      {1, 2, 110, 0x1000, "worker", "/a"},
      {1, 3, 120, 0x1000, "worker", "/a"},
      {1, 3, 999, 0x1000, "worker", "/a"},
      {1, 2, 140, 0x1000, "done", "/a"},
      {1, 2, 155, 0x1000, "done", "/a"},
      {1, 2, 160, 0x1000, "other", "/a"}}},
    {"threads whose numbers go down",
     {NAMED(90, 1, 9, "nine"), THREAD(100, 1, 7, 9), THREAD(110, 1, 5, 7), THREAD(120, 1, 6, 5)},
     {{1, 7, 100, 0, "nine", NULL},
      {1, 5, 110, 0, "nine", NULL},
      {1, 6, 120, 0, "nine", NULL},
      {1, 6, 119, 0, "[unknown]", NULL}}},
    {"the idle task", {EXITED(5, 0, 0)}, {{0, 0, 5, 0, "swapper", NULL}}},
    {"a thread that ends has no number any more; one without a process is unknown",
     {NAMED(5, 7, 7, "seven")},
     {{7, TRACE_UNKNOWN, 6, 0, "[ended]", NULL},
      {TRACE_UNKNOWN, TRACE_UNKNOWN, 6, 0, "[unknown]", NULL}}},
    {"surveyed after it mapped: the kernel's time holds",
     {MAPPED(40, 1, 0x1000, 0x2000, "/lib"), MADE(50, 1, "a", 0x1000, 0x2000, "/lib")},
     {{1, 1, 39, 0x1000, "a", NULL}, {1, 1, 40, 0x1000, "a", "/lib"}}},
    {"surveyed while it mapped",
     {MADE(50, 1, "a", 0x1000, 0x2000, "/lib"), MAPPED(55, 1, 0x1000, 0x2000, "/lib"),
      MADE(60, 2, "b", 0x1000, 0x2000, "/lib"), KSYMBOL(65, true, false, 1, 2, "k"),
      MAPPED(70, 2, 0x1000, 0x2000, "/lib")},
     {{1, 1, 54, 0x1000, "a", NULL},
      {1, 1, 55, 0x1000, "a", "/lib"},
      {2, 2, 10, 0x1000, "b", "/lib"}}},
    {"surveyed after another was mapped there",
     {MAPPED(40, 1, 0x1000, 0x3000, "/a"), MADE(50, 1, "x", 0x1000, 0x2000, "/b")},
     {{1, 1, 39, 0x1000, "x", NULL},
      {1, 1, 45, 0x1000, "x", "/a"},
      {1, 1, 50, 0x1000, "x", "/b"},
      {1, 1, 50, 0x2000, "x", "/a"}}},
    {"surveyed before another was mapped there",
     {MADE(50, 1, "x", 0x1000, 0x3000, "/a"), MAPPED(60, 1, 0x1000, 0x2000, "/b")},
     {{1, 1, 10, 0x1000, "x", "/a"},
      {1, 1, 59, 0x1000, "x", "/a"},
      {1, 1, 60, 0x1000, "x", "/b"},
      {1, 1, 60, 0x2000, "x", "/a"}}},
    {"an exec before the survey",
     {EXECED(40, 1, "new"), MAPPED(41, 1, 0x1000, 0x2000, "/new"),
      MADE(50, 1, "new", 0x1000, 0x2000, "/new"), MADE_MAP(50, 1, 0x8000, 0x9000, "/missed")},
     {{1, 1, 39, 0x1000, "[unknown]", NULL},
      {1, 1, 39, 0x8000, "[unknown]", NULL},
      {1, 1, 41, 0x1000, "new", "/new"},
      {1, 1, 41, 0x8000, "new", "/missed"}}},
    {"an exec after the survey",
     {MADE(50, 1, "old", 0x1000, 0x2000, "/old"), MADE(60, 2, "b", 0x1000, 0x2000, "/b"),
      EXECED(70, 1, "new"), MAPPED(71, 1, 0x1000, 0x2000, "/new")},
     {{1, 1, 10, 0x1000, "old", "/old"},
      {1, 1, 69, 0x1000, "old", "/old"},
      {1, 1, 71, 0x1000, "new", "/new"}}},
    {"an exec while it is surveyed: what was read was the new one",
     {MADE(50, 1, "new", 0x1000, 0x2000, "/new"), EXECED(55, 1, "new"),
      MAPPED(56, 1, 0x1000, 0x2000, "/new"), MADE(60, 2, "b", 0x1000, 0x2000, "/b")},
     {{1, 1, 10, 0x1000, "[unknown]", NULL}, {1, 1, 56, 0x1000, "new", "/new"}}},
    {"forked, then surveyed",
     {MADE(40, 1, "a", 0x1000, 0x2000, "/a"), FORKED(45, 2, 1),
      MADE(50, 2, "a", 0x1000, 0x2000, "/a"), MADE_MAP(50, 2, 0x3000, 0x4000, "/b")},
     {{2, 2, 44, 0x1000, "[unknown]", NULL},
      {2, 2, 45, 0x1000, "a", "/a"},
      {2, 2, 45, 0x3000, "a", "/b"}}},
    {"of an unknown parent, then surveyed",
     {FORKED(45, 2, 9), MADE(50, 2, "a", 0x1000, 0x2000, "/a")},
     {{2, 2, 45, 0x1000, "a", "/a"}, {2, 2, 44, 0x1000, "[unknown]", NULL}}},
    {"surveyed, then gone, then again",
     {MADE(50, 1, "a", 0x1000, 0x2000, "/a"), EXITED(60, 1, 1), FORKED(70, 1, 9),
      NAMED(71, 1, 1, "b")},
     {{1, 1, 10, 0x1000, "a", "/a"},
      {1, 1, 65, 0x1000, "a", "/a"},
      {1, 1, 70, 0x1000, "[unknown]", NULL},
      {1, 1, 71, 0x1000, "b", NULL}}},
    {"renamed before the survey",
     {NAMED(40, 1, 1, "new"), MADE(50, 1, "new", 0x1000, 0x2000, "/a")},
     {{1, 1, 39, 0x1000, "[unknown]", "/a"}, {1, 1, 40, 0x1000, "new", "/a"}}},
    {"names that steer a terminal",
     {NAMED(10, 1, 1, "a\033[2Jb\n"), MAPPED(10, 1, 0x1000, 0x2000, "/x\033/y\xff")},
     {{1, 1, 10, 0x1000, "a?[2Jb?", "/x?/y?"}}},
    {"out of any order",
     {MAPPED(30, 1, 0x1000, 0x2000, "/c"), NAMED(30, 1, 1, "c"),
      MAPPED(10, 1, 0x1000, 0x2000, "/a"), NAMED(10, 1, 1, "a"),
      MAPPED(20, 1, 0x1000, 0x2000, "/b")},
     {{1, 1, 15, 0x1000, "a", "/a"}, {1, 1, 25, 0x1000, "a", "/b"}, {1, 1, 35, 0x1000, "c", "/c"}}},
    {"a circle of forks",
     {FORKED(10, 1, 2), FORKED(10, 2, 1), FORKED(10, 3, 3)},
     {{1, 1, 10, 0x1000, "[unknown]", NULL}, {3, 3, 10, 0x1000, "[unknown]", NULL}}},
    {"at the ends",
     {MAPPED(0, 1, 0, 0x1000, "/first"),
      {.op = MAP, .pid = 1, .tid = 1, .start = UINT64_MAX - 0xfff, .end = 0xfff, .text = "/last"},
      {.op = MAP, .pid = 1, .tid = 1, .start = 0x5000, .end = 0x5000, .text = "/none"}},
     {{1, 1, 0, 0, "[unknown]", "/first"},
      {1, 1, UINT64_MAX, UINT64_MAX - 1, "[unknown]", "/last"},
      {1, 1, 5, 0x5000, "[unknown]", NULL}}},
};

static void check_answer(const struct scene *s, size_t i, struct profile_lookup *l, const char *how)
{
	const struct profile_mapping *m;
	struct profile_task task;

	profile_lookup_task(l, s->questions[i].pid, s->questions[i].tid, s->questions[i].time_ns,
			    &task);
	assert_int_equal(task.process->pid, s->questions[i].pid);
	m = profile_lookup_mapping(l, task.process, s->questions[i].address,
				   s->questions[i].time_ns);
	if (strcmp(task.comm->name, s->questions[i].comm) ||
	    strcmp(m ? m->object->shown_path : "",
		   s->questions[i].path ? s->questions[i].path : ""))
		fail_msg("%s: question %zu, %s: %s, %s", s->name, i, how, task.comm->name,
			 m ? m->object->path : "nothing");
}

static size_t nr_questions(const struct scene *s)
{
	size_t nr = 0;

	while (nr < MAX_QUESTIONS && s->questions[nr].comm)
		nr++;
	return nr;
}

/* Each question by itself; then of one who remembers, forth and back. */
TEST(scenes_are_told)
{
	for (size_t k = 0; k < NR(scenes); k++) {
		const struct scene *s = &scenes[k];
		struct profile_processes *p = steps_read(s->steps, MAX_STEPS);
		struct profile_lookup *all = profile_lookup_new(p);
		size_t nr = nr_questions(s);

		for (size_t i = 0; i < nr; i++) {
			struct profile_lookup *one = profile_lookup_new(p);

			check_answer(s, i, one, "alone");
			check_answer(s, i, all, "forth");
			profile_lookup_free(one);
		}
		for (size_t i = nr; i--;)
			check_answer(s, i, all, "back");
		profile_lookup_free(all);
		profile_processes_free(p);
	}
}

static struct profile_processes *grow(struct profile_growth *g, struct tape *t, uint64_t unused_ns)
{
	struct tape_told told = {0};
	struct profile_faults faults = {.name = "common", .problem = tape_problem, .arg = &told};
	struct profile_processes *p = NULL;
	struct trace_reader *r;

	tape_end(t);
	assert_int_equal(trace_reader_open_mem(t->file.data, t->file.len, "common", &r, NULL), 0);
	assert_true(profile_growth_add(g, r, NULL, &faults, unused_ns, NULL, NULL, &p) >= 0);
	trace_reader_close(r);
	return p;
}

static bool has_ended_before(const struct scene *s, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = 0; i < MAX_STEPS && s->steps[i].op; i++)
		if (s->steps[i].op == EXIT && s->steps[i].tid == tid &&
		    s->steps[i].time_ns < time_ns)
			return true;
	return false;
}

/* Questions about tasks that had not ended before unused_ns. */
static void check_growth(const struct scene *s, size_t first, uint64_t unused_ns)
{
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_growth *g = profile_growth_new();
	struct tape t;

	tape_init(&t);
	for (size_t i = 0; i < first; i++)
		tape_add(&t, &s->steps[i]);
	p = grow(g, &t, unused_ns);
	for (size_t i = first; i < MAX_STEPS && s->steps[i].op; i++)
		tape_add(&t, &s->steps[i]);
	assert_ptr_equal(grow(g, &t, unused_ns), p);
	assert_ptr_equal(grow(g, &t, unused_ns), p);
	l = profile_lookup_new(p);
	for (size_t i = 0; i < nr_questions(s); i++) {
		if (s->questions[i].time_ns >= unused_ns &&
		    !has_ended_before(s, s->questions[i].tid, unused_ns))
			check_answer(s, i, l, "grown");
	}
	profile_lookup_free(l);
	profile_growth_free(g);
	tape_fini(&t);
}

TEST(grown_tables_answer_the_same)
{
	for (size_t k = 0; k < NR(scenes); k++)
		for (size_t i = 0; i < MAX_STEPS && scenes[k].steps[i].op; i++) {
			check_growth(&scenes[k], i, 0);
			check_growth(&scenes[k], i, scenes[k].steps[i].time_ns);
		}
}

/* What ended is gone: the tables do not grow with the number of tasks. */
TEST(ended_tasks_are_dropped)
{
	enum { NR_TASKS = 1000 };
	struct profile_growth *g = profile_growth_new();
	struct profile_processes *p = NULL;
	struct tape t;

	tape_init(&t);
	tape_add(&t, &(struct step)MAPPED(1, 1, 0x1000, 0x2000, "/sh"));
	for (uint32_t i = 1; i <= NR_TASKS; i++) {
		const struct step steps[] = {FORKED(i * 10, i + 1, 1),
					     EXECED(i * 10 + 1, i + 1, "true"),
					     MAPPED(i * 10 + 2, i + 1, 0x1000, 0x2000, "/true"),
					     THREAD(i * 10 + 3, 1, i + NR_TASKS + 1, 1),
					     EXITED(i * 10 + 4, 1, i + NR_TASKS + 1),
					     EXITED(i * 10 + 5, i + 1, i + 1)};

		for (size_t k = 0; k < NR(steps); k++)
			tape_add(&t, &steps[k]);
		if (i % 100 == 0)
			p = grow(g, &t, i * 10);
	}
	assert_in_range(p->nr_lives, 1, 2 * 100 + 5);
	assert_in_range(p->nr_mappings, 1, 100 + 5);
	assert_in_range(p->nr_threads, 0, 100 + 5);
	p = grow(g, &t, UINT64_MAX - 1);
	p = grow(g, &t, UINT64_MAX - 1);
	assert_int_equal(p->nr_lives, 1);
	assert_int_equal(p->nr_mappings, 1);
	assert_int_equal(profile_nr_objects(p), 2);
	profile_growth_free(g);
	tape_fini(&t);
}

/* Many mappings over each other are in a tree, which is made anew with the other tables. */
TEST(stacked_mappings_grow)
{
	static const char *const paths[] = {"/a", "/b", "/c", "/d"};
	struct profile_growth *g = profile_growth_new();
	uint64_t time_ns = 1;
	struct tape t;

	tape_init(&t);
	for (size_t round = 0; round < NR(paths); round++) {
		struct profile_found found;
		struct profile_processes *p;

		for (int i = 0; i < 20; i++, time_ns++)
			tape_add(&t, &(struct step)MAPPED(time_ns, 1, 0x1000, 0x3000 + time_ns,
							  paths[round]));
		p = grow(g, &t, 0);
		assert_int_equal(p->nr_trees, 1);
		assert_int_equal(p->nr_tree_mappings, 20 * (round + 1));
		profile_space_find(p, 0, 0x2000, time_ns, &found);
		assert_non_null(found.mapping);
		assert_string_equal(found.mapping->object->path, paths[round]);
	}
	profile_growth_free(g);
	tape_fini(&t);
}

/* The steps of the scene that are known at a time, with a process that has a vdso; the survey is
 * known as a whole. Returns their number. */
static size_t known_until(const struct scene *s, uint64_t time_ns, struct step known[MAX_STEPS + 3])
{
	const struct step other[] = {MADE(0, 99, "other", 0x1000, 0x2000, "[vdso]")};
	size_t nr = NR(other);

	memcpy(known, other, sizeof(other));
	for (size_t i = 0; i < MAX_STEPS && s->steps[i].op; i++)
		if (s->steps[i].is_made && s->steps[i].time_ns > time_ns)
			time_ns = s->steps[i].time_ns;
	for (size_t i = 0; i < MAX_STEPS && s->steps[i].op; i++)
		if (s->steps[i].time_ns <= time_ns)
			known[nr++] = s->steps[i];
	return nr;
}

static const char *answer(const struct step *steps, size_t nr, const struct scene *s, size_t i,
			  char text[256])
{
	struct profile_processes *p = steps_read(steps, nr);
	struct profile_lookup *l = profile_lookup_new(p);
	const struct profile_mapping *m;
	struct profile_task task;

	profile_lookup_task(l, s->questions[i].pid, s->questions[i].tid, s->questions[i].time_ns,
			    &task);
	m = profile_lookup_mapping(l, task.process, s->questions[i].address,
				   s->questions[i].time_ns);
	snprintf(text, 256, "%s, %s", task.comm->name, m ? m->object->shown_path : "nothing");
	profile_lookup_free(l);
	profile_processes_free(p);
	return text;
}

/* What the kernel records after the time of a question does not change the answer: a session that
 * is still recorded is read as it is afterwards. */
TEST(answers_last)
{
	struct step known[MAX_STEPS + 3];
	char now[256], later[256];

	for (size_t k = 0; k < NR(scenes); k++) {
		const struct scene *s = &scenes[k];

		for (size_t i = 0; i < nr_questions(s); i++) {
			size_t nr = known_until(s, s->questions[i].time_ns, known);

			answer(known, nr, s, i, now);
			nr = known_until(s, UINT64_MAX, known);
			if (strcmp(answer(known, nr, s, i, later), now))
				fail_msg("%s: question %zu: %s; later: %s", s->name, i, now, later);
		}
	}
}

/* A thread has its last name until another one has its number: a process, or a thread of another.
 */
TEST(last_names_are_told)
{
	static const struct step steps[] = {
	    MADE(50, 1, "a", 0x1000, 0x2000, "/a"),
	    FORKED(100, 7, 1),
	    THREAD(110, 7, 8, 7),
	    THREAD(115, 7, 9, 7),
	    {.op = COMM, .time_ns = 120, .pid = 7, .tid = 8, .text = "late"},
	    {.op = COMM, .time_ns = 125, .pid = 7, .tid = 9, .text = "nine"},
	    EXITED(130, 7, 8),
	    EXITED(135, 7, 9),
	    FORKED(200, 8, 1),
	    THREAD(205, 8, 9, 8),
	    EXECED(210, 8, "process"),
	    EXECED(220, 7, "main")};
	static const struct {
		uint32_t pid, tid;
		uint64_t time_ns;
		const char *name;
	} rows[] = {{7, 8, 111, "late"},    {7, 8, 125, "late"},    {7, 9, 116, "nine"},
		    {8, 8, 201, "process"}, {8, 8, 250, "process"}, {8, 9, 205, "a"},
		    {7, 7, 105, "main"},    {3, 3, 105, NULL}};
	struct profile_processes *p = steps_read(steps, NR(steps));
	struct profile_lookup *l = profile_lookup_new(p);

	for (size_t i = 0; i < NR(rows); i++) {
		const char *name =
		    profile_lookup_last_name(l, rows[i].pid, rows[i].tid, rows[i].time_ns);

		assert_string_equal(name ?: "none", rows[i].name ?: "none");
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* When a process began and ended. */
TEST(lives_are_told)
{
	static const struct step steps[] = {MADE(50, 1, "a", 0x1000, 0x2000, "/a"),
					    FORKED(100, 7, 1),
					    EXECED(120, 7, "b"),
					    THREAD(130, 7, 8, 7),
					    EXITED(140, 7, 7),
					    EXITED(150, 7, 8),
					    FORKED(200, 7, 1),
					    FORKED(300, 9, 1),
					    THREAD(310, 9, 10, 9),
					    EXITED(320, 9, 10)};
	static const struct {
		uint32_t pid;
		uint64_t time_ns, from_ns, to_ns;
	} rows[] = {{7, 110, 100, 120},
		    {7, 125, 120, 150},
		    {7, 160, 120, 150},
		    {7, 200, 200, UINT64_MAX},
		    {9, 330, 300, UINT64_MAX}}; /* the end of a thread is not the process's */
	struct profile_processes *p = steps_read(steps, NR(steps));
	struct profile_lookup *l = profile_lookup_new(p);
	struct profile_task task;

	for (size_t i = 0; i < NR(rows); i++) {
		profile_lookup_task(l, rows[i].pid, rows[i].pid, rows[i].time_ns, &task);
		assert_int_equal(task.process->from_ns, rows[i].from_ns);
		assert_int_equal(task.process->to_ns, rows[i].to_ns);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* Of the process 7 that was started at 90 and seen to end at 400, and what it created: 7 to then,
 * its threads 8 and, after the exec, 12; 9, 10 with an exec, and 11, which remains. */
TEST(lifetimes_add_up)
{
	static const struct step steps[] = {
	    MADE_TASK(60, 2, 2),      THREAD(95, 2, 3, 2),
	    EXECED(100, 7, "prog"),   MAPPED(101, 7, 0x1000, 0x2000, "/prog"),
	    THREAD(120, 7, 8, 7),     FORKED(130, 9, 7),
	    FORKED(140, 50, 1),       EXITED(150, 9, 9),
	    EXITED(160, 7, 8),        FORKED(170, 10, 7),
	    EXECED(180, 10, "other"), MAPPED(181, 10, 0x1000, 0x2000, "/other"),
	    EXITED(190, 50, 50),      EXITED(200, 10, 10),
	    EXECED(210, 7, "again"),  MAPPED(211, 7, 0x1000, 0x2000, "/again"),
	    THREAD(220, 7, 12, 7),    EXITED(230, 7, 12),
	    FORKED(300, 11, 7),       EXITED(350, 7, 7)};
	enum { OF_7 = 400 - 90, OF_8 = 40, OF_9 = 20, OF_10 = 30, OF_11 = 400 - 300, OF_12 = 10 };
	struct profile_processes *p = steps_read(steps, NR(steps));
	struct profile_lifetime life;

	assert_int_equal(profile_lifetime(p, 7, 90, 400, &life), 0);
	assert_int_equal(life.ns, OF_7 + OF_8 + OF_9 + OF_10 + OF_11 + OF_12);
	assert_int_equal(life.nr_threads, 6);
	assert_int_equal(life.nr_processes, 4);
	assert_int_equal(life.nr_leaves, 3); /* 9, 10, 11: one after the other */
	assert_int_equal(life.alone_ns, 400 - 90);
	assert_int_equal(life.parents_ns, OF_9 + OF_10 + (350 - 300));
	assert_int_equal(profile_lifetime(p, 8, 90, 400, &life), -ENODATA);
	profile_processes_free(p);
}

/* 9 and 10 run beside each other for a while; so do 9 and 12, which 10 waits for. One that begins
 * as another ends is beside nobody. */
TEST(lifetimes_beside_others)
{
	static const struct step steps[] = {MADE_TASK(60, 2, 2),
					    EXECED(100, 7, "prog"),
					    MAPPED(101, 7, 0x1000, 0x2000, "/prog"),
					    FORKED(110, 9, 7),
					    FORKED(120, 10, 7),
					    EXECED(121, 10, "make"),
					    MAPPED(122, 10, 0x1000, 0x2000, "/make"),
					    FORKED(125, 12, 10),
					    EXITED(130, 12, 12),
					    EXITED(140, 9, 9),
					    EXITED(150, 10, 10),
					    FORKED(150, 13, 7),
					    EXITED(160, 13, 13),
					    EXITED(200, 7, 7)};
	struct profile_processes *p = steps_read(steps, NR(steps));
	struct profile_lifetime life;

	assert_int_equal(profile_lifetime(p, 7, 90, 200, &life), 0);
	assert_int_equal(life.nr_processes, 5);
	assert_int_equal(life.nr_leaves, 3);
	assert_int_equal(life.alone_ns, (200 - 90) - (140 - 120));
	assert_int_equal(life.parents_ns, (160 - 110) + (130 - 125));
	profile_processes_free(p);
}

/* The kernel ends the events of a set-user-ID program at its exec. The survey may read it then. */
TEST(lifetimes_end_with_more_rights)
{
	static const struct step steps[] = {MADE_TASK(60, 2, 2),
					    THREAD(95, 2, 3, 2),
					    EXECED(100, 7, "prog"),
					    MAPPED(101, 7, 0x1000, 0x2000, "/prog"),
					    FORKED(110, 9, 7),
					    EXECED(120, 9, "su"),
					    EXITED(121, 9, 9),
					    MADE_TASK(130, 9, 9),
					    MADE_MAP(131, 9, 0x1000, 0x2000, "/su"),
					    EXITED(350, 7, 7)};
	struct profile_processes *p = steps_read(steps, NR(steps));
	const struct profile_process *hidden;
	struct profile_lifetime life;
	size_t at = 0, later = 0;

	assert_int_equal(profile_lifetime(p, 7, 90, 400, &life), -ENODATA);
	hidden = profile_next_hidden(p, &at, 90);
	assert_true(hidden && hidden->pid == 9 && hidden->from_ns == 120);
	assert_null(profile_next_hidden(p, &at, 90));
	assert_null(profile_next_hidden(p, &later, 121));
	profile_processes_free(p);
}

/* The number of a thread at a time. */
static const struct numbered {
	const char *name;
	struct step steps[MAX_STEPS]; /* up to the first 0 */
	struct {
		uint32_t pid, tid; /* up to the first 0 */
		uint64_t time_ns;
		uint32_t number;
	} rows[MAX_QUESTIONS];
} numbered[] = {
    {"created during the session, in any order of tids",
     {FORKED(100, 7, 1), THREAD(130, 7, 20, 7), THREAD(120, 7, 30, 7), THREAD(140, 7, 10, 20)},
     {{7, 7, 110, 1},
      {7, 30, 125, 2},
      {7, 20, 135, 3},
      {7, 10, 145, 4},
      {7, 30, 200, 2},
      {7, 11, 145, TRACE_UNKNOWN}}},
    {"existed before, as listed; then created",
     {MADE_TASK(60, 2, 2), MADE_TASK(60, 2, 9), MADE_TASK(60, 2, 4), THREAD(70, 2, 3, 2),
      EXITED(80, 2, 4), THREAD(90, 2, 4, 2), MADE_TASK(61, 99, 99)},
     {{2, 2, 10, 1}, {2, 9, 10, 2}, {2, 4, 79, 3}, {2, 3, 75, 4}, {2, 4, 89, 3}, {2, 4, 90, 5}}},
    {"created while the survey read",
     {MADE_TASK(60, 2, 2), THREAD(50, 2, 5, 2), THREAD(61, 2, 6, 2), MADE_TASK(60, 2, 4),
      MADE_TASK(60, 2, 5), MADE_TASK(60, 2, 8), MADE_TASK(60, 2, 6), MADE_TASK(100, 2, 4)},
     {{2, 4, 65, 2}, {2, 5, 65, 3}, {2, 8, 65, 4}, {2, 6, 65, 5}, {2, 5, 49, TRACE_UNKNOWN}}},
    {"pids and tids used again",
     {FORKED(100, 7, 1), THREAD(110, 7, 8, 7), THREAD(115, 7, 9, 7), EXITED(120, 7, 8),
      EXITED(121, 7, 9), EXITED(125, 7, 7), FORKED(200, 7, 1), THREAD(210, 7, 9, 7),
      FORKED(220, 8, 7), THREAD(230, 8, 10, 8), EXITED(240, 7, 9), THREAD(250, 7, 9, 7)},
     {{7, 9, 119, 3},
      {7, 9, 205, TRACE_UNKNOWN},
      {7, 9, 215, 2},
      {7, 9, 250, 3},
      {7, 8, 150, 2},
      {8, 8, 225, 1},
      {7, 8, 225, TRACE_UNKNOWN},
      {8, 10, 235, 2},
      {7, 10, 235, TRACE_UNKNOWN}}},
    {"an exec ends the other threads",
     {FORKED(100, 7, 1), THREAD(110, 7, 8, 7), THREAD(120, 7, 9, 7), EXECED(130, 7, "new"),
      THREAD(140, 7, 12, 7)},
     {{7, 9, 125, 3}, {7, 7, 135, 1}, {7, 9, 135, TRACE_UNKNOWN}, {7, 12, 145, 2}}},
    {"without records",
     {FORKED(100, 7, 1)},
     {{3, 3, 10, 1},
      {3, 4, 10, TRACE_UNKNOWN},
      {TRACE_UNKNOWN, TRACE_UNKNOWN, 10, TRACE_UNKNOWN},
      {7, 0, 10, TRACE_UNKNOWN}}},
};

static void check_number(const struct numbered *n, size_t i, struct profile_lookup *l)
{
	struct profile_task task;

	profile_lookup_task(l, n->rows[i].pid, n->rows[i].tid, n->rows[i].time_ns, &task);
	if (task.thread != n->rows[i].number)
		fail_msg("%s: row %zu: %" PRIu32, n->name, i, task.thread);
}

/* Each by itself; then with the cache of one lookup, in both orders. */
TEST(threads_are_numbered)
{
	for (size_t k = 0; k < NR(numbered); k++) {
		const struct numbered *n = &numbered[k];
		struct profile_processes *p = steps_read(n->steps, MAX_STEPS);
		struct profile_lookup *all = profile_lookup_new(p);
		size_t nr = 0;

		for (; nr < MAX_QUESTIONS && n->rows[nr].pid; nr++) {
			struct profile_lookup *one = profile_lookup_new(p);

			check_number(n, nr, one);
			check_number(n, nr, all);
			profile_lookup_free(one);
		}
		while (nr--)
			check_number(n, nr, all);
		profile_lookup_free(all);
		profile_processes_free(p);
	}
}

/* Pids without a record: an entry for each, one number for all. */
TEST(strangers_have_entries)
{
	enum { NR_PIDS = 1000 };
	struct profile_processes *p = steps_read(NULL, 0);
	struct profile_lookup *l[2] = {profile_lookup_new(p), profile_lookup_new(p)};
	struct profile_task task, again;

	for (uint32_t pid = 1; pid < NR_PIDS; pid++) {
		profile_lookup_task(l[0], pid, pid, pid, &task);
		profile_lookup_task(l[1], pid, pid, 0, &again);
		assert_ptr_equal(task.process, again.process);
		assert_int_equal(task.process->pid, pid);
		assert_int_equal(task.process->number, 0);
		assert_null(profile_lookup_mapping(l[0], task.process, pid, 0));
	}
	profile_lookup_task(l[0], UINT32_MAX, UINT32_MAX, 5, &task);
	assert_int_equal(task.process->pid, UINT32_MAX);
	profile_lookup_free(l[0]);
	profile_lookup_free(l[1]);
	profile_processes_free(p);
}

/* What an object is, by how it is called. */
TEST(objects_are_told_apart)
{
	static const struct {
		const char *path, *name;
		uint8_t build_id;
		uint32_t inode;
		enum profile_object_kind kind;
		uint32_t number;
	} rows[] = {
	    {"/usr/lib/libc.so", "libc.so", 1, 0, PROFILE_OBJECT_FILE, 0},
	    {"/usr/lib/libc.so", "libc.so", 1, 0, PROFILE_OBJECT_FILE, 0},
	    {"/usr/lib/libc.so", "libc.so", 2, 0, PROFILE_OBJECT_FILE, 1},
	    {"/usr/lib/libc.so", "libc.so", 0, 5, PROFILE_OBJECT_FILE, 2},
	    {"/usr/lib/libc.so", "libc.so", 0, 6, PROFILE_OBJECT_FILE, 3},
	    {"/lib/libc.so", "libc.so", 1, 0, PROFILE_OBJECT_FILE, 4},
	    {"/a (deleted)", "a (deleted)", 1, 0, PROFILE_OBJECT_FILE, 5},
	    {"/a (deleted)", "a (deleted)", 0, 5, PROFILE_OBJECT_DELETED, 6},
	    {"//anon", "//anon", 0, 0, PROFILE_OBJECT_ANON, 7},
	    {"[vdso]", "[vdso]", 0, 0, PROFILE_OBJECT_VDSO, 8},
	    {"[heap]", "[heap]", 0, 0, PROFILE_OBJECT_ANON, 9},
	    {"/memfd:jit (deleted)", "memfd:jit (deleted)", 0, 3, PROFILE_OBJECT_ANON, 10},
	    {"/dir/", "/dir/", 0, 3, PROFILE_OBJECT_FILE, 11},
	    {"", "", 0, 3, PROFILE_OBJECT_ANON, 12},
	};
	struct profile_processes *p;
	struct tape t;

	tape_init(&t);
	for (size_t i = 0; i < NR(rows); i++)
		tape_add(&t, &(struct step){.op = MAP,
					    .time_ns = i + 1,
					    .pid = 1,
					    .start = 0x1000,
					    .end = 0x2000,
					    .text = rows[i].path,
					    .build_id = rows[i].build_id,
					    .inode = rows[i].inode});
	p = tape_read(&t, false);
	assert_int_equal(profile_nr_objects(p), rows[NR(rows) - 1].number + 1);
	for (size_t i = 0; i < NR(rows); i++) {
		const struct profile_object *o = profile_object(p, rows[i].number);

		if (o->number != rows[i].number || strcmp(o->path, rows[i].path) ||
		    strcmp(o->name, rows[i].name) || o->kind != rows[i].kind ||
		    o->inode != rows[i].inode || o->build_id_len != (rows[i].build_id ? 20 : 0))
			fail_msg("%s: %s, kind %d", rows[i].path, o->name, (int)o->kind);
	}
	profile_processes_free(p);
}

/* Of a mapping that the kernel told without a build-id, and the survey with one, both are known. */
TEST(surveyed_build_id_is_taken)
{
	static const struct step steps[] = {MAPPED(40, 1, 0x1000, 0x2000, "/lib"),
					    MADE(50, 1, "a", 0x1000, 0x2000, "/lib"),
					    MAPPED(40, 2, 0x1000, 0x2000, "/lib")};
	struct profile_processes *p = steps_read(steps, NR(steps));
	struct profile_lookup *l = profile_lookup_new(p);
	const struct profile_mapping *m;
	struct profile_task task;

	for (uint32_t pid = 1; pid <= 2; pid++) {
		profile_lookup_task(l, pid, pid, 60, &task);
		m = profile_lookup_mapping(l, task.process, 0x1000, 60);
		assert_int_equal(m->object->build_id_len, pid == 1 ? 20 : 0);
		assert_int_equal(m->from_ns, 40);
		assert_int_equal(m->pid, pid);
		assert_int_equal(m->prot, 5);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

static void put_build_id(struct tape *t, const char *path, uint64_t generation, uint64_t from_ns,
			 uint64_t to_ns, char id)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_le32(&b, 8);
	buf_le32(&b, 1);
	buf_le64(&b, 7);
	buf_le64(&b, generation);
	buf_le64(&b, from_ns);
	buf_le64(&b, to_ns);
	buf_le32(&b, 20);
	buf_fill(&b, id, 20);
	buf_le32(&b, (uint32_t)strlen(path));
	buf_adds(&b, path);
	add_frame(&t->file, TRACE_FRAME_BUILD_ID, 0, b.data, (uint32_t)b.len);
	buf_fini(&b);
}

/* Told beside the mappings, each for its time: what was mapped before, between or after has none,
 * and neither has another file. */
TEST(build_ids_of_their_time)
{
	static const struct {
		uint64_t time_ns;
		const char *path;
		char id;      /* 0: none */
		bool is_made; /* found by the survey, at that time */
	} maps[] = {{99, "/f", 0},  {100, "/f", 'a'},       {240, "/f", 'a'},
		    {251, "/f", 0}, {300, "/f", 'b'},       {400, "/f", 'b'},
		    {401, "/f", 0}, {460, "/f", 'b'},       {150, "/g", 0},
		    {500, "/f", 0}, {150, "/f", 'a', true}, {99, "/f", 0, true}};
	struct profile_processes *p;
	struct profile_lookup *l;
	struct tape t;

	tape_init(&t);
	put_build_id(&t, "/f", 0, 100, 200, 'a');
	put_build_id(&t, "/f", 0, 180, 250, 'a');
	put_build_id(&t, "/f", 3, 0, 1000, 'c'); /* another generation */
	for (uint32_t i = 0; i < NR(maps); i++)
		tape_add(&t, &(struct step){.op = MAP,
					    .is_made = maps[i].is_made,
					    .time_ns = maps[i].time_ns,
					    .pid = 10 + i,
					    .tid = 10 + i,
					    .start = 0x1000,
					    .end = 0x2000,
					    .text = maps[i].path,
					    .inode = 7});
	tape_flush(&t, false);
	tape_flush(&t, true);
	put_build_id(&t, "/f", 0, 300, 400, 'b'); /* also behind them */
	put_build_id(&t, "/f", 0, 450, 480, 'b'); /* between 400 and 450 it may have been another */
	p = tape_read(&t, false);
	l = profile_lookup_new(p);
	for (uint32_t i = 0; i < NR(maps); i++) {
		const struct profile_mapping *m;
		struct profile_task task;

		profile_lookup_task(l, 10 + i, 10 + i, 1000, &task);
		m = profile_lookup_mapping(l, task.process, 0x1000, 1000);
		assert_non_null(m);
		assert_string_equal(m->object->path, maps[i].path);
		print_message("%u\n", (unsigned)maps[i].time_ns);
		assert_int_equal(m->object->build_id_len, maps[i].id ? 20 : 0);
		if (maps[i].id)
			assert_int_equal(m->object->build_id[19], maps[i].id);
		assert_ptr_equal(profile_object(p, m->object->number), m->object);
	}
	assert_int_equal(profile_nr_objects(p), 4); /* a, b, none, the other */
	profile_lookup_free(l);
	profile_processes_free(p);
}

TEST(ksymbols_come_and_go)
{
	static const struct step steps[] = {
	    KSYMBOL(50, true, false, 0x1000, 0x1100, "bpf_a"),
	    KSYMBOL(60, false, true, 0x1000, 0x1100, "bpf_a"),
	    KSYMBOL(70, false, false, 0x1000, 0x1200, "bpf_b"),
	    KSYMBOL(40, false, false, 0x2000, 0x2100, "bpf_c"), /* then surveyed */
	    KSYMBOL(50, true, false, 0x2000, 0x2100, "bpf_c"),
	    KSYMBOL(45, false, true, 0x3000, 0x3100, "bpf_d"), /* was there before */
	    KSYMBOL(30, false, false, 0x4000, 0x4100, "bpf_e\n"),
	    KSYMBOL(35, false, false, 0x4000, 0x4200, "bpf_f"), /* in its place */
	    KSYMBOL(20, false, true, 0x5000, 0x5100, "bpf_g"),
	    KSYMBOL(50, true, false, 0x5000, 0x5300, "bpf_h"), /* since some time behind 20 */
	    KSYMBOL(10, false, false, 0x6000, 0x6100, "bpf_i"),
	    KSYMBOL(25, false, true, 0x6000, 0x6200, "bpf_j"), /* between, not from the start */
	};
	static const struct profile_ksymbol rows[] = {
	    {0x1000, 0x100, 0, 60, "bpf_a"},          {0x1000, 0x200, 70, UINT64_MAX, "bpf_b"},
	    {0x2000, 0x100, 40, UINT64_MAX, "bpf_c"}, {0x3000, 0x100, 0, 45, "bpf_d"},
	    {0x4000, 0x100, 30, 35, "bpf_e?"},        {0x4000, 0x200, 35, UINT64_MAX, "bpf_f"},
	    {0x5000, 0x100, 0, 20, "bpf_g"},          {0x5000, 0x300, 20, UINT64_MAX, "bpf_h"},
	    {0x6000, 0x100, 10, 25, "bpf_i"},
	};
	struct profile_processes *p = steps_read(steps, NR(steps));

	assert_int_equal(profile_nr_ksymbols(p), NR(rows));
	for (size_t i = 0; i < NR(rows); i++) {
		const struct profile_ksymbol *k = profile_ksymbol(p, i);

		if (k->start != rows[i].start || k->len != rows[i].len ||
		    k->from_ns != rows[i].from_ns || k->to_ns != rows[i].to_ns ||
		    strcmp(k->name, rows[i].name))
			fail_msg("ksymbol %zu: %s from %" PRIu64 " to %" PRIu64, i, k->name,
				 k->from_ns, k->to_ns);
	}
	profile_processes_free(p);
}

/* A small random number, the same in each run. */
static uint32_t random_below(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

enum { NR_MODEL = 400, NR_MODEL_PIDS = 24, MODEL_PAGES = 64, MODEL_TIMES = 500 };

/* Forks in order of pids, each of one before; mappings of any of them. */
struct model {
	struct step maps[NR_MODEL];
	struct step forks[NR_MODEL_PIDS];
	size_t nr_maps;
};

static void make_model(struct model *m, uint64_t *seed, uint32_t nr_maps, bool is_line)
{
	*m = (struct model){.nr_maps = nr_maps};
	for (uint32_t i = 1; i < NR_MODEL_PIDS; i++)
		m->forks[i] = (struct step){.op = FORK,
					    .time_ns = 20 * i,
					    .pid = i + 1,
					    .tid = i + 1,
					    .ppid = is_line ? i : 1 + random_below(seed, i)};
	for (uint32_t i = 0; i < nr_maps; i++) {
		uint32_t pid = 1 + random_below(seed, NR_MODEL_PIDS);
		uint64_t begun_ns = 20 * (pid - 1);

		m->maps[i] = (struct step){
		    .op = MAP,
		    .time_ns = begun_ns + 1 + random_below(seed, MODEL_TIMES),
		    .pid = pid,
		    .tid = pid,
		    .start = random_below(seed, MODEL_PAGES),
		    .offset = i, /* tells it from others */
		    .text = "/x",
		};
		m->maps[i].end = m->maps[i].start + 1 + random_below(seed, 9);
	}
}

/* What is mapped, by the rule; -1: nothing. */
static int64_t ask_model(const struct model *m, uint32_t pid, uint64_t address, uint64_t time_ns)
{
	const struct step *best = NULL;

	for (const struct step *s = m->maps; s < m->maps + m->nr_maps; s++)
		if (s->pid == pid && s->start <= address && address < s->end &&
		    s->time_ns <= time_ns && (!best || s->time_ns >= best->time_ns))
			best = s;
	if (best)
		return (int64_t)best->offset;
	if (pid == 1)
		return -1;
	return ask_model(m, m->forks[pid - 1].ppid, address,
			 time_ns < m->forks[pid - 1].time_ns ? time_ns : m->forks[pid - 1].time_ns);
}

static struct profile_processes *read_model(const struct model *m)
{
	struct tape t;

	tape_init(&t);
	for (size_t i = 0; i < m->nr_maps; i++)
		tape_add(&t, &m->maps[i]);
	for (size_t i = 1; i < NR_MODEL_PIDS; i++)
		tape_add(&t, &m->forks[i]);
	return tape_read(&t, false);
}

static void check_model(const struct model *m, uint64_t *seed)
{
	struct profile_processes *p = read_model(m);
	struct profile_lookup *l = profile_lookup_new(p);

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t pid = 1 + random_below(seed, NR_MODEL_PIDS);
		uint64_t time_ns = 20 * (pid - 1) + random_below(seed, MODEL_TIMES);
		uint64_t address = random_below(seed, MODEL_PAGES + 10);
		int64_t expected = ask_model(m, pid, address, time_ns);
		const struct profile_mapping *mapping;
		struct profile_task task;

		profile_lookup_task(l, pid, pid, time_ns, &task);
		mapping = profile_lookup_mapping(l, task.process, address, time_ns);
		if ((mapping ? (int64_t)mapping->offset : -1) != expected)
			fail_msg("pid %u, address %" PRIu64 ", time %" PRIu64 ": %" PRId64
				 " and not %" PRId64,
				 pid, address, time_ns, mapping ? (int64_t)mapping->offset : -1,
				 expected);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

TEST(answers_are_those_of_a_search)
{
	static const uint32_t nrs[] = {3, 20, 60, 150, NR_MODEL};
	static struct model m;
	uint64_t seed = 1;

	for (size_t i = 0; i < 8 * NR(nrs); i++) {
		make_model(&m, &seed, nrs[i % NR(nrs)], i & 1);
		check_model(&m, &seed);
	}
}

/* A million mappings over one another, each a little shorter at both ends; and each over the half
 * of the one before. */
TEST(a_million_over_one_another)
{
	enum { NR_MAPS = 1000000 };
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_task task;
	struct tape t;

	tape_init(&t);
	for (uint64_t i = 0; i < NR_MAPS; i++) {
		tape_add(&t, &(struct step){.op = MAP,
					    .time_ns = 10 + i,
					    .pid = 1 + i % 2,
					    .start = i % 2 ? i * 16 : i,
					    .end = i % 2 ? i * 16 + 64 : 4 * NR_MAPS - i,
					    .offset = i,
					    .text = "/x"});
	}
	p = tape_read(&t, false);
	l = profile_lookup_new(p);
	for (uint64_t i = 0; i < NR_MAPS; i += 98) {
		const struct profile_mapping *m;

		profile_lookup_task(l, 1, 1, 10 + i, &task);
		m = profile_lookup_mapping(l, task.process, i, 10 + NR_MAPS);
		assert_int_equal(m->offset, i);
		m = profile_lookup_mapping(l, task.process, 2 * NR_MAPS, 10 + i);
		assert_int_equal(m->offset, i);
		profile_lookup_task(l, 2, 2, 11 + i, &task);
		m = profile_lookup_mapping(l, task.process, (i + 1) * 16, 11 + i);
		assert_int_equal(m->offset, i + 1);
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* Each of the last one, and each maps: what the first mapped is there for all until copies are too
 * many; that is said. */
TEST(forks_of_forks_of_forks)
{
	enum { NR_FORKS = 20000 };
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_task task;
	struct tape t;

	tape_init(&t);
	for (uint32_t i = 1; i <= NR_FORKS; i++) {
		tape_add(&t, &(struct step){
				 .op = FORK, .time_ns = 10 * i, .pid = i, .tid = i, .ppid = i - 1});
		tape_add(&t, &(struct step){.op = MAP,
					    .time_ns = 10 * i + 5,
					    .pid = i,
					    .start = i * 16,
					    .end = i * 16 + 8,
					    .offset = i,
					    .text = "/x"});
	}
	p = tape_read(&t, true);
	assert_true(p->nr_mappings <= PROFILE_MAX_COPIED + NR_FORKS);
	l = profile_lookup_new(p);
	for (uint32_t i = 1; i <= NR_FORKS; i++) {
		profile_lookup_task(l, i, i, UINT64_MAX, &task);
		for (uint32_t back = 0; back < 20 && back < i && i < 1000; back++) {
			const struct profile_mapping *m =
			    profile_lookup_mapping(l, task.process, (i - back) * 16, UINT64_MAX);

			assert_non_null(m);
			assert_int_equal(m->offset, i - back);
		}
		assert_null(profile_lookup_mapping(l, task.process, (i + 1) * 16, UINT64_MAX));
	}
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* Without mappings of their own, any number of forks is no distance. */
TEST(forks_that_map_nothing)
{
	enum { NR_FORKS = 100000 };
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_task task;
	struct tape t;

	tape_init(&t);
	tape_add(&t, &(struct step)MAPPED(5, 1, 0x1000, 0x2000, "/a"));
	tape_add(&t, &(struct step)MAPPED(15, 1, 0x3000, 0x4000, "/b"));
	for (uint32_t i = 2; i <= NR_FORKS; i++)
		tape_add(&t, &(struct step)FORKED(5 * i, i, i - 1));
	p = tape_read(&t, false);
	l = profile_lookup_new(p);
	profile_lookup_task(l, NR_FORKS, NR_FORKS, UINT64_MAX, &task);
	assert_non_null(profile_lookup_mapping(l, task.process, 0x1000, UINT64_MAX));
	assert_null(profile_lookup_mapping(l, task.process, 0x3000, UINT64_MAX));
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* Who made a mapping, of those that have it: another process with the pid did not. */
TEST(makers_of_mappings)
{
	const struct profile_process *first, *second, *child;
	struct profile_processes *p;
	struct profile_lookup *l;
	struct profile_task task;
	struct tape t;
	size_t nr = 0;

	tape_init(&t);
	tape_add(&t, &(struct step)MAPPED(5, 1, 0x1000, 0x2000, "/a"));
	tape_add(&t, &(struct step)FORKED(10, 2, 1));
	tape_add(&t, &(struct step)EXECED(20, 1, "b"));
	tape_add(&t, &(struct step)MAPPED(25, 1, 0x1000, 0x2000, "/b"));
	p = tape_read(&t, false);
	l = profile_lookup_new(p);
	profile_lookup_task(l, 1, 1, 6, &task);
	first = task.process;
	profile_lookup_task(l, 1, 1, 30, &task);
	second = task.process;
	profile_lookup_task(l, 2, 2, 30, &task);
	child = task.process;
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(profile_process_of(p, profile_lookup_mapping(l, child, 0x1000, 30)),
			 first);
	assert_int_equal(profile_nr_processes(p), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(profile_process(p, i)->number, i);
	assert_ptr_equal(profile_process(p, first->number), first);
	assert_ptr_equal(profile_process(p, second->number), second);
	assert_ptr_equal(profile_process(p, child->number), child);
	assert_ptr_equal(profile_forked_from(p, child), first);
	assert_null(profile_forked_from(p, first));
	assert_null(profile_forked_from(p, second));
	for (size_t i = 0; i < profile_nr_mappings(p); i++) {
		const struct profile_mapping *m = profile_mapping(p, i);
		const bool is_a = strcmp(m->object->path, "/a") == 0;

		assert_ptr_equal(profile_process_of(p, m), is_a ? first : second);
		nr++;
	}
	assert_int_equal(nr, 2);
	profile_lookup_free(l);
	profile_processes_free(p);
}

/* kallsyms go on as they come; what does not want them ends it. */
struct taken {
	char text[64];
	int rc;
};

static int take_text(void *arg, const char *text, size_t len)
{
	struct taken *t = arg;

	strncat(t->text, text, len);
	return t->rc;
}

TEST(kallsyms_are_given)
{
	struct profile_processes *p = NULL;
	struct tape_told told = {0};
	struct taken taken = {.rc = 0};
	struct tape t;

	tape_init(&t);
	add_frame(&t.file, TRACE_FRAME_KALLSYMS, 0, "1 T a\n", 6);
	add_frame(&t.file, TRACE_FRAME_KALLSYMS, 0, "2 T b\n", 6);
	tape_end(&t);
	assert_int_equal(tape_try(&t, &told, take_text, &taken, &p), 0);
	assert_string_equal(taken.text, "1 T a\n2 T b\n");
	profile_processes_free(p);
	taken = (struct taken){.rc = -EPIPE};
	assert_int_equal(tape_try(&t, &told, take_text, &taken, &p), -EPIPE);
	assert_string_equal(taken.text, "1 T a\n");
	assert_int_equal(tape_try(&t, &told, NULL, NULL, &p), 0);
	profile_processes_free(p);
	tape_fini(&t);
}

/* All that takes memory: lists, a tree, copies of ancestors, names, strangers. */
static void make_rich(struct tape *t)
{
	static const struct step steps[] = {MADE(50, 1, "a", 0x1000, 0x2000, "/a"),
					    KSYMBOL(50, true, false, 0x1000, 0x1100, "k"),
					    THREAD(55, 1, 9, 1)};

	tape_init(t);
	put_build_id(t, "/b", 0, 0, 1000, 'a');
	put_build_id(t, "/b", 0, 2000, 3000, 'b');
	for (size_t i = 0; i < NR(steps); i++)
		tape_add(t, &steps[i]);
	for (uint32_t i = 100; i < 140; i++) {
		tape_add(t, &(struct step)FORKED(i, i, i == 100 ? 1 : i - 1));
		tape_add(t, &(struct step)MAPPED(i, i, 0x10 * i, 0x1000 * i, "/b"));
		tape_add(t, &(struct step)MAPPED(i, 1, 0x10 * i, 0x1000 * i, "/c"));
	}
	tape_end(t);
}

static int ask_rich(void *arg)
{
	struct profile_processes *p = NULL;
	struct tape_told told = {0};
	struct profile_lookup *l;
	struct profile_task task;
	int rc = tape_try(arg, &told, NULL, NULL, &p);

	if (rc) {
		assert_null(p);
		return rc;
	}
	l = profile_lookup_new(p);
	for (uint32_t pid = 100; l && pid < 145; pid++) {
		profile_lookup_task(l, pid, pid, 1000, &task);
		assert_true(task.process->pid == pid || task.process->pid == UINT32_MAX);
		assert_true(pid >= 140 || profile_lookup_mapping(l, task.process, 0x1000, 1000));
	}
	rc = l ? 0 : -ENOMEM;
	profile_lookup_free(l);
	profile_processes_free(p);
	return rc;
}

TEST(without_memory)
{
	struct tape t;

	make_rich(&t);
	inject_every(ask_rich, &t, 40, 0);
	tape_fini(&t);
}

/* One thread forth, one back, over one table. */
struct asker {
	const struct profile_processes *p;
	bool is_back;
	uint64_t nr_right;
};

static void *ask_all(void *arg)
{
	struct asker *a = arg;
	struct profile_lookup *l = profile_lookup_new(a->p);

	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t pid = 90 + (a->is_back ? 199999 - i : i) % 100;
		const struct profile_mapping *m;
		struct profile_task task;

		profile_lookup_task(l, pid, pid, 1000, &task);
		m = profile_lookup_mapping(l, task.process, 0x1000, 1000);
		a->nr_right += task.process->pid == pid && (m != NULL) == (pid >= 100 && pid < 140);
	}
	profile_lookup_free(l);
	return NULL;
}

TEST(two_threads_ask)
{
	struct profile_processes *p = NULL;
	struct tape_told told = {0};
	struct asker askers[2] = {{.is_back = false}, {.is_back = true}};
	pthread_t threads[2];
	struct tape t;

	make_rich(&t);
	assert_int_equal(tape_try(&t, &told, NULL, NULL, &p), 0);
	for (size_t i = 0; i < 2; i++) {
		askers[i].p = p;
		assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &askers[i]), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(askers[i].nr_right, 200000);
	}
	profile_processes_free(p);
	tape_fini(&t);
}
