/* Waits at futexes added up by futex: how many, whose, where, because of whom. */
#include "kit.h"
#include "test_report.h"

#include "report/locks.h"
#include "trace/record.h"

static struct report_functions *functions;
static struct report_locks *locks;

HOOK(before_each)
{
	functions = report_functions_new(&test_no_rules);
	locks = report_locks_new(functions, true);
	assert_non_null(locks);
}

HOOK(after_each)
{
	report_locks_free(locks);
	report_functions_free(functions);
	report_locks_free(NULL);
}

struct given {
	uint32_t tid;
	uint64_t futex, ns, weight;
	const char *owner, *waker; /* NULL: none */
	const char *inner;         /* the function of the C library */
	const char *place;         /* of the program */
	uint64_t time_ns;
	bool lasts;
};

static uint32_t text(const char *s)
{
	return report_functions_text_number(functions, s ?: "");
}

static int give(const struct given *g)
{
	struct report_frame frames[] = {
	    {.function =
		 test_function_of(functions, g->inner ?: "__pthread_mutex_lock", "libc.so.6")},
	    {.function = test_function_of(functions, g->place ?: "take", "prog")}};
	const struct report_wait wait = {.futex = g->futex,
					 .ns = g->ns,
					 .time_ns = g->time_ns,
					 .process = 4,
					 .owner = g->owner ? 50 : TRACE_UNKNOWN,
					 .owner_comm = text(g->owner),
					 .lasts = g->lasts};
	const struct report_entry e = {.key = {.pid = 10, .tid = g->tid, .waker = text(g->waker)},
				       .weight = {.samples = 1, .weight = g->weight ?: g->ns},
				       .frames = frames,
				       .nr_frames = NR(frames),
				       .wait = g->futex ? &wait : NULL};
	const struct report_sink *sink = report_locks_sink(locks);

	return sink->entry(sink->arg, &e);
}

static const struct report_lock *rows(size_t wanted)
{
	size_t nr;
	const struct report_lock *l = report_locks_rows(locks, &nr);

	assert_non_null(l);
	assert_int_equal(nr, wanted);
	return l;
}

TEST(adds_up)
{
	static const struct given given[] = {
	    {.tid = 1, .futex = 8, .ns = 100, .owner = "update"},
	    {.tid = 2, .futex = 8, .ns = 300, .owner = "update"},
	    {.tid = 2, .futex = 8, .ns = 50, .owner = "other", .place = "walk"},
	    {.tid = 2, .futex = 16, .ns = 500, .inner = "pthread_cond_wait"},
	    {.tid = 3, .ns = 9000}, /* at none */
	};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(given); i++)
		assert_int_equal(give(&given[i]), 0);
	l = rows(2);
	assert_int_equal(l[0].futex, 16);
	assert_string_equal(l[0].kind, "condition");
	assert_false(report_lock_is_held(&l[0]));
	assert_int_equal(l[0].holder.weight.samples, 0);
	assert_int_equal(l[1].futex, 8);
	assert_int_equal(l[1].pid, 10);
	assert_int_equal(l[1].process, 4);
	assert_true(l[1].waits == 3);
	assert_int_equal(l[1].weight.weight, 450);
	assert_int_equal(l[1].max_ns, 300);
	assert_int_equal(l[1].threads, 2);
	assert_string_equal(l[1].kind, "mutex");
	assert_true(report_lock_is_held(&l[1]));
	assert_string_equal(report_functions_at(functions, l[1].function)->name, "take");
	assert_string_equal(report_functions_text(functions, l[1].holder.text), "update");
	assert_int_equal(l[1].holder.tid, 50);
	assert_int_equal(l[1].holder.weight.weight, 400);
}

/* A sample of a short wait stands for many, one of a long wait for itself. */
TEST(estimates)
{
	static const struct given given[] = {{.tid = 1, .futex = 8, .ns = 100, .weight = 1000},
					     {.tid = 1, .futex = 8, .ns = 2000}};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(given); i++)
		assert_int_equal(give(&given[i]), 0);
	l = rows(1);
	assert_true(l[0].waits == 11);
	assert_int_equal(l[0].weight.weight, 3000);
}

/* A wait that iterations divide is one, whether it has ended or not; parts come in any order. */
TEST(lasts)
{
	static const struct given given[] = {
	    {.tid = 1, .futex = 8, .ns = 100, .time_ns = 200, .lasts = true},
	    {.tid = 1, .futex = 8, .ns = 100, .time_ns = 100, .lasts = true},
	    {.tid = 2, .futex = 8, .ns = 10, .time_ns = 300},
	    {.tid = 2, .futex = 8, .ns = 100, .time_ns = 200, .lasts = true}};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(given); i++)
		assert_int_equal(give(&given[i]), 0);
	l = rows(1);
	assert_true(l[0].waits == 2);
	assert_int_equal(l[0].weight.weight, 310);
}

/* Tasks that end waits stand for owners that are not known; a timer does not. */
TEST(wakers)
{
	static const struct given given[] = {
	    {.tid = 1, .futex = 8, .ns = 100, .owner = "update", .waker = "actor (10/11)"},
	    {.tid = 1, .futex = 16, .ns = 90, .waker = "actor (10/11)"},
	    {.tid = 1, .futex = 24, .ns = 80, .waker = "timer"},
	    {.tid = 1, .futex = 32, .ns = 70, .waker = "[not recorded]"}};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(given); i++)
		assert_int_equal(give(&given[i]), 0);
	l = rows(4);
	assert_string_equal(report_functions_text(functions, l[0].holder.text), "update");
	assert_string_equal(report_functions_text(functions, l[1].holder.text), "actor (10/11)");
	assert_int_equal(l[1].holder.tid, TRACE_UNKNOWN);
	assert_int_equal(l[2].holder.weight.samples, 0);
	assert_int_equal(l[3].holder.weight.samples, 0);
}

TEST(kinds)
{
	static const struct {
		const char *function, *kind;
	} kinds[] = {{"__lll_lock_wait", "mutex"},
		     {"pthread_rwlock_wrlock", "rwlock"},
		     {"___pthread_cond_timedwait64", "condition"},
		     {"__new_sem_wait_slow64.constprop.0", "semaphore"},
		     {"pthread_barrier_wait", "barrier"},
		     {"__pthread_clockjoin_ex", "thread end"},
		     {"syscall", "futex"}};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(kinds); i++)
		assert_int_equal(
		    give(&(struct given){
			.tid = 1, .futex = 8 + i, .ns = 100 - i, .inner = kinds[i].function}),
		    0);
	l = rows(NR(kinds));
	for (size_t i = 0; i < NR(kinds); i++)
		assert_string_equal(l[i].kind, kinds[i].kind);
}
