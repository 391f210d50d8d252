/* Waits at futexes added up by futex: how many, whose, where, because of whom. */
#include "kit.h"
#include "test_report.h"

#include "report/locks.h"
#include "report/states.h"
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
	enum report_state state;
	const char *comm;
	const char *reason;
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
	const struct report_entry e = {.key = {.pid = 10,
					       .tid = g->tid,
					       .waker = text(g->waker),
					       .comm = text(g->comm),
					       .state = g->state,
					       .reason = text(g->reason)},
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
		     {"__GI___pthread_rwlock_rdlock", "rwlock"},
		     {"__lll_lock_wait_private", "mutex"},
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

/* What else stands in a futex is the program's. */
TEST(owners)
{
	static const struct {
		const char *function;
		bool has_owner;
	} list[] = {{"pthread_mutex_lock", true},
		    {"__lll_lock_wait", true},
		    {"__pthread_clockjoin_ex", true},
		    {"__lll_lock_wait_private", false},
		    {"pthread_rwlock_wrlock", false},
		    {"pthread_cond_wait", false},
		    {"syscall", false}};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(list); i++)
		assert_int_equal(give(&(struct given){.tid = 1,
						      .futex = 8 + i,
						      .ns = 100 - i,
						      .owner = "update",
						      .waker = "actor (10/11)",
						      .inner = list[i].function}),
				 0);
	l = rows(NR(list));
	for (size_t i = 0; i < NR(list); i++) {
		assert_string_equal(report_functions_text(functions, l[i].holder.text),
				    list[i].has_owner ? "update" : "actor (10/11)");
		assert_int_equal(l[i].holder.tid, list[i].has_owner ? 50 : TRACE_UNKNOWN);
	}
}

/* A static program has the C library's functions in its own file, and the library of C++ is no
 * program. */
TEST(places)
{
	static const struct {
		const char *names[4], *objects[4];
		const char *kind, *function;
	} list[] = {
	    {{"__futex_abstimed_wait_common", "__pthread_rwlock_wrlock", "w", "sem_main"},
	     {"prog", "prog", "prog", "prog"},
	     "rwlock",
	     "w"},
	    {{"__futex_abstimed_wait_common", "pthread_rwlock_wrlock", "std::_State_impl::_M_run()",
	      "start_thread"},
	     {"libc.so.6", "libc.so.6", "prog", "libc.so.6"},
	     "rwlock",
	     "__futex_abstimed_wait_common"},
	    {{"syscall", "std::sys::futex_wait", "serve", "pthread_once"},
	     {"libc.so.6", "prog", "prog", "libc.so.6"},
	     "futex",
	     "serve"},
	};
	const struct report_lock *l;

	for (size_t i = 0; i < NR(list); i++) {
		const struct report_wait wait = {
		    .futex = 8 + i, .ns = 100 - i, .owner = TRACE_UNKNOWN};
		struct report_frame frames[4];
		const struct report_entry e = {.key = {.pid = 10, .tid = 1},
					       .weight = {.samples = 1, .weight = wait.ns},
					       .frames = frames,
					       .nr_frames = NR(frames),
					       .wait = &wait};

		for (size_t k = 0; k < NR(frames); k++)
			frames[k].function =
			    test_function_of(functions, list[i].names[k], list[i].objects[k]);
		assert_int_equal(report_locks_sink(locks)->entry(locks, &e), 0);
	}
	l = rows(NR(list));
	for (size_t i = 0; i < NR(list); i++) {
		assert_string_equal(l[i].kind, list[i].kind);
		assert_string_equal(report_functions_at(functions, l[i].function)->name,
				    list[i].function);
	}
}

/* What the owner does itself, and whether its name is enough. */
TEST(holder)
{
	static const struct given given[] = {
	    {.tid = 1, .futex = 8, .ns = 100, .owner = "update", .state = REPORT_BLOCKED},
	    {.tid = 50, .ns = 60, .state = REPORT_ON_CPU, .comm = "update"},
	    {.tid = 50, .ns = 20, .state = REPORT_IN_QUEUE, .comm = "before"},
	    {.tid = 50, .ns = 20, .state = REPORT_BLOCKED, .comm = "update", .reason = "pipe"},
	    {.tid = 50, .ns = 999, .comm = "update"},
	};
	struct report_holder_task task;
	const struct report_lock *l;

	for (size_t i = 0; i < NR(given); i++)
		assert_int_equal(give(&given[i]), 0);
	l = rows(1);
	report_locks_holder_task(locks, &l[0], &task);
	assert_int_equal(task.used.weight, 80);
	assert_int_equal(task.all.weight, 100);
	assert_false(l[0].holder.has_namesake);
	assert_int_equal(report_locks_unknown(locks)->samples, 0);
	assert_int_equal(
	    give(&(struct given){
		.tid = 51, .ns = 1, .state = REPORT_BLOCKED, .comm = "update", .reason = "futex"}),
	    0);
	for (int i = 0; i < 2; i++) { /* also where the holder is the last that is read */
		l = rows(1);
		assert_true(l[0].holder.has_namesake);
		assert_int_equal(give(&given[4]), 0);
	}
	report_locks_holder_task(locks, &l[0], &task);
	assert_int_equal(task.all.weight, 100);
	assert_int_equal(report_locks_unknown(locks)->samples, 1);
}
