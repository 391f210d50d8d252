/* Waits for work: which are folded, by place and by how their threads live; what is in doubt is
 * passed on. */
#include "inject.h"
#include "kit.h"
#include "test_report.h"

#include "base/err.h"
#include "report/idle.h"
#include "report/states.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAIN = 10, WAITS = 3, CPU = 2 };
static const uint64_t MS = 1000000;

static struct report_functions *functions;
static struct report_idle_rules rules;
static struct report_idle *idle;
static uint64_t passed, nr_passed,
    unasked; /* weights that the next sink got; keys it did not want */

static int receive(void *arg, const struct report_entry *e)
{
	(void)arg;
	passed += e->key.state == REPORT_ON_CPU ? 0 : e->weight.weight;
	nr_passed++;
	unasked += e->key.pid + e->key.tid + e->key.thread + e->key.session;
	return 0;
}

static const struct report_sink next = {.parts = REPORT_BY_STACK, .entry = receive};

static void begin(void)
{
	functions = report_functions_new(&test_no_rules);
	idle = report_idle_new(functions, &rules, &next);
	assert_non_null(idle);
	passed = nr_passed = unasked = 0;
}

static void end(void)
{
	report_idle_free(idle);
	report_functions_free(functions);
}

HOOK(before_each)
{
	begin();
}

HOOK(after_each)
{
	end();
	report_idle_rules_fini(&rules);
	report_idle_free(NULL);
}

/* A part of a thread's time. */
struct given {
	uint32_t tid;
	enum report_state state;
	uint64_t ms;
	const char *reason, *stack; /* functions, the innermost first; "name@object" */
	uint64_t samples;           /* 0: one */
};

#define START "start_thread@libc.so.6"
#define COND  "pthread_cond_wait@libc.so.6 "
#define JOB(tid_)                                                                                  \
	{                                                                                          \
		tid_, REPORT_BLOCKED, 950, "futex", COND "next_job worker " START                  \
	}
#define RUN(tid_, w_)                                                                              \
	{                                                                                          \
		tid_, REPORT_ON_CPU, w_, "user mode", "work worker " START                         \
	}
#define MAIN_JOINS                                                                                 \
	{                                                                                          \
		MAIN, REPORT_BLOCKED, 1000, "futex", "__pthread_clockjoin_ex@libc.so.6 main"       \
	}

static size_t make_frames(const char *stack, struct report_frame *frames)
{
	char text[512], *rest = text, *word;
	size_t nr = 0;

	snprintf(text, sizeof(text), "%s", stack);
	while ((word = strsep(&rest, " "))) {
		char *object = strchr(word, '@');

		if (object)
			*object++ = '\0';
		frames[nr++].function = test_function_of(functions, word, object ?: "prog");
	}
	return nr;
}

static void give(const struct given *g)
{
	struct report_frame frames[TEST_MAX_FRAMES] = {{0}};
	const struct report_sink *sink = report_idle_sink(idle);
	const struct report_entry e = {
	    .key = {.event = g->state == REPORT_ON_CPU ? CPU : WAITS,
		    .pid = MAIN,
		    .tid = g->tid,
		    .state = g->state,
		    .reason = report_functions_text_number(functions, g->reason)},
	    .weight = {.samples = g->samples ?: 1, .weight = MS * g->ms},
	    .frames = frames,
	    .nr_frames = make_frames(g->stack, frames)};

	assert_int_equal(sink->entry(sink->arg, &e), 0);
}

struct told {
	const char *name;
	struct given list[8];
	uint64_t folded, threads;
};

static void check(const struct told *t)
{
	struct report_idle_sum sum;
	uint64_t waits = 0;
	size_t nr = 0;

	for (; nr < NR(t->list) && t->list[nr].stack; nr++) {
		give(&t->list[nr]);
		waits += t->list[nr].state == REPORT_ON_CPU ? 0 : t->list[nr].ms;
	}
	assert_int_equal(report_idle_end(idle), 0);
	report_idle_sum(idle, &sum);
	if (sum.weight.weight != MS * t->folded || sum.nr_threads != t->threads)
		fail_msg("%s: %zu ms of %zu threads", t->name, (size_t)(sum.weight.weight / MS),
			 (size_t)sum.nr_threads);
	assert_int_equal(passed, MS * (waits - t->folded));
	assert_int_equal(sum.rest.weight, passed);
	assert_int_equal(unasked, 0);
	assert_int_equal(sum.event, WAITS);
}

static void check_all(const struct told *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		end();
		begin();
		check(&list[i]);
	}
}

TEST(workers)
{
	static const struct told list[] = {
	    {"a pool without work",
	     {MAIN_JOINS, JOB(11), RUN(11, 50), JOB(12), RUN(12, 50)},
	     1900,
	     2},
	    {"in part perhaps for a CPU",
	     {MAIN_JOINS,
	      JOB(11),
	      RUN(11, 50),
	      {11, REPORT_WAITING, 900, "futex", COND "next_job worker " START}},
	     950,
	     1},
	    {"the first thread waits for an answer",
	     {{MAIN, REPORT_BLOCKED, 950, "futex", COND "answer main " START}, RUN(11, 50)},
	     0,
	     0},
	    {"one thread alone", {JOB(11)}, 0, 0},
	    {"a pool at work", {MAIN_JOINS, JOB(11), RUN(11, 300), JOB(12), RUN(12, 300)}, 0, 0},
	    {"somebody always runs: it may be a lock",
	     {MAIN_JOINS,
	      JOB(11),
	      RUN(11, 100),
	      JOB(12),
	      RUN(12, 100),
	      {13, REPORT_BLOCKED, 300, "futex", COND "next_job worker " START},
	      RUN(13, 700)},
	     0,
	     0},
	    {"deep in a job",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "futex", COND "ask send handle worker " START}},
	     0,
	     0},
	    {"where it began is not known",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "futex", COND "next_job worker"}},
	     0,
	     0},
	    {"a mutex",
	     {MAIN_JOINS,
	      {11, REPORT_BLOCKED, 950, "futex", "pthread_mutex_lock@libc.so.6 worker " START},
	      {12, REPORT_BLOCKED, 950, "futex",
	       "__lll_lock_wait@libc.so.6 " COND "worker " START}},
	     0,
	     0},
	    {"a barrier",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "futex", COND "my_barrier worker " START}},
	     0,
	     0},
	    {"an interpreter's lock",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "futex", COND "take_gil run " START}},
	     0,
	     0},
	    {"naps", {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "sleep", "tick " START}}, 950, 1},
	    {"short naps",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "sleep", "tick " START, .samples = 96}},
	     0,
	     0},
	    {"many long ones",
	     {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "sleep", "tick " START, .samples = 95}},
	     950,
	     1},
	    {"many short ones at a condition",
	     {MAIN_JOINS,
	      {11, REPORT_BLOCKED, 950, "futex", COND "next_job worker " START, .samples = 9500}},
	     950,
	     1},
	    {"a CPU", {MAIN_JOINS, {11, REPORT_IN_QUEUE, 950, "sleep", "tick " START}}, 0, 0},
	    {"no reason", {MAIN_JOINS, {11, REPORT_BLOCKED, 950, "", "tick " START}}, 0, 0},
	    {"Python's workers",
	     {MAIN_JOINS,
	      {11, REPORT_BLOCKED, 950, "futex",
	       "sem_clockwait@libc.so.6 PyThread_acquire_lock_timed _queue_SimpleQueue_get_impl a "
	       "b c d " START}},
	     950,
	     1},
	    {"Python's locks",
	     {MAIN_JOINS,
	      {11, REPORT_BLOCKED, 950, "futex",
	       "sem_wait@libc.so.6 PyThread_acquire_lock_timed " START}},
	     0,
	     0},
	};

	check_all(list, NR(list));
}

TEST(loops)
{
	static const struct told list[] = {
	    {"a busy server, in its first thread",
	     {{MAIN, REPORT_BLOCKED, 500, "epoll", "loop main"},
	      {MAIN, REPORT_ON_CPU, 500, "user mode", "serve main"},
	      RUN(11, 50)},
	     500,
	     1},
	    {"one that also waits for something else",
	     {{MAIN, REPORT_BLOCKED, 500, "epoll", "loop main"},
	      {MAIN, REPORT_BLOCKED, 300, "disk", "serve main"},
	      RUN(11, 50)},
	     0,
	     0},
	    {"accept",
	     {{MAIN, REPORT_BLOCKED, 500, "socket", "inet_csk_accept@[kernel] main"}, RUN(11, 50)},
	     500,
	     1},
	    {"an answer of a socket",
	     {{MAIN, REPORT_BLOCKED, 500, "socket", "tcp_recvmsg@[kernel] main"}, RUN(11, 50)},
	     0,
	     0},
	    {"poll, of anything",
	     {{MAIN, REPORT_BLOCKED, 500, "poll", "ask main"}, RUN(11, 50)},
	     0,
	     0},
	    {"poll, of a known loop",
	     {{MAIN, REPORT_BLOCKED, 500, "poll", "g_main_loop_run@libglib-2.0.so.0 main"},
	      RUN(11, 50)},
	     500,
	     1},
	};

	check_all(list, NR(list));
}

TEST(places)
{
	static const struct told t = {"places",
				      {MAIN_JOINS,
				       JOB(11),
				       JOB(12),
				       {13, REPORT_BLOCKED, 2000, "sleep", "tick " START},
				       {13, REPORT_ON_CPU, 30, "user mode", "tick " START}},
				      3900,
				      3};
	struct report_idle_sum sum;

	check(&t);
	report_idle_sum(idle, &sum);
	assert_int_equal(sum.nr_places, 2);
	assert_string_equal(sum.places[0].reason, "sleep");
	assert_string_equal(report_functions_at(functions, sum.places[0].function)->name, "tick");
	assert_int_equal(sum.places[0].weight.weight, MS * 2000);
	assert_string_equal(sum.places[1].reason, "condition");
	assert_string_equal(report_functions_at(functions, sum.places[1].function)->name,
			    "next_job");
}

/* Without memory it fails, or what is not held is passed on. */
static int use(void *arg)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_idle *i = f ? report_idle_new(f, &rules, &next) : NULL;
	int rc = i ? 0 : -ENOMEM;

	(void)arg;
	for (uint32_t tid = 11; tid < 14 && rc == 0; tid++) {
		const struct report_key key = {.pid = MAIN, .tid = tid, .state = REPORT_BLOCKED};
		struct report_frame frames[TEST_MAX_FRAMES] = {{0}};
		const struct report_entry e = {.key = key,
					       .weight = {.samples = 1, .weight = 10},
					       .frames = frames,
					       .nr_frames = test_frames(f, "cba", frames)};
		struct report_entry named = e;

		named.key.reason = report_functions_text_number(f, "epoll");
		rc = e.nr_frames && named.key.reason != UINT32_MAX
			 ? report_idle_sink(i)->entry(i, &named)
			 : -ENOMEM;
	}
	rc = rc ?: report_idle_end(i);
	report_idle_free(i);
	report_functions_free(f);
	return rc;
}

TEST(no_memory)
{
	inject_every(use, NULL, 10, 0);
}

/* --- rules of a file ------------------------------------------------------------------------- */

static int load(const char *text, struct err *e)
{
	char path[] = "/tmp/test_report_idle.XXXXXX";
	const int fd = mkstemp(path);
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	report_idle_rules_fini(&rules);
	rc = report_idle_rules_load(&rules, path, e);
	unlink(path);
	return rc;
}

TEST(rules_of_a_file)
{
	static const struct told list[] = {
	    {"what the user says needs nothing else",
	     {{MAIN, REPORT_BLOCKED, 500, "pipe", "std::ask main"}, RUN(11, 50)},
	     500,
	     1},
	    {"another object",
	     {{MAIN, REPORT_BLOCKED, 500, "pipe", "std::ask@other main@other"}, RUN(11, 50)},
	     0,
	     0},
	    {"a part of the name is not the name",
	     {{MAIN, REPORT_BLOCKED, 500, "pipe", "std::asks main"}, RUN(11, 50)},
	     0,
	     0},
	    {"said to be none", {MAIN_JOINS, JOB(11)}, 0, 0},
	};
	struct err e = {0};

	assert_int_equal(load("# mine\n\n pipe:std::ask@prog \r\n!condition:next_*", &e), 0);
	check_all(list, NR(list));
}

TEST(invalid_rules)
{
	static const char *const invalid[] = {"pipe", ":f", "pipe:", "pipe:f@", "pipe:@prog"};
	char many[REPORT_MAX_IDLE_RULES * 4 + 8] = "";

	for (size_t i = 0; i < NR(invalid); i++) {
		struct err e = {0};
		char text[64];

		snprintf(text, sizeof(text), "a:b\n%s\n", invalid[i]);
		assert_int_equal(load(text, &e), -EINVAL);
		assert_int_equal(e.line, 2);
	}
	for (size_t i = 0; i <= REPORT_MAX_IDLE_RULES; i++)
		strcat(many, "a:b\n");
	assert_int_equal(load(many, &(struct err){0}), -EINVAL);
	many[REPORT_MAX_IDLE_RULES * 4] = '\0';
	assert_int_equal(load(many, &(struct err){0}), 0);
	assert_int_equal(load("", &(struct err){0}), 0);
	assert_int_equal(rules.nr, 0);
	assert_true(report_idle_rules_load(&rules, "/nonexistent", &(struct err){0}) < 0);
}
