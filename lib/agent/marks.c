#include "agent/marks.h"

/* Programs that have no marks load this library, too. */
#define CPUPERF_MARK_LATE
static uint64_t choose_time(uint32_t clock);
#define CPUPERF_MARK_TIME choose_time
#include "cpuperf/mark_keyed.h"

/* The time of the next mark, 0: now; and that of the last one. Of one thread. */
static __thread uint64_t chosen, last;

static uint64_t choose_time(uint32_t clock)
{
	uint64_t time = chosen ? chosen : cpuperf_mark_now(clock);

	if (time > last)
		last = time;
	return time;
}

uint64_t cpuperf_marks_now(void)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;

	if (!CPUPERF_MARK_IS_ON)
		return 0;
	if (!cpuperf_mark_is_ready(t)) /* the clock is that of the connection */
		cpuperf_mark_attach_and_try(t);
	return cpuperf_mark_now(t->clock);
}

/* Marks of a thread are in order of time. */
int cpuperf_marks_at(uint64_t time, int is_end)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;
	uint64_t now = cpuperf_marks_now();

	if (!now)
		return 0;
	if (!is_end && (time < last || time > now)) {
		if (t->slot && t->number)
			__atomic_fetch_add(&t->slot->lost, 1, __ATOMIC_RELAXED);
		else
			cpuperf_mark_miss();
		return 0;
	}
	chosen = time < last ? last : time > now ? now : time;
	return 1;
}

void cpuperf_marks_at_once(void)
{
	chosen = 0;
}

int cpuperf_marks_are_on(void)
{
	return CPUPERF_MARK_IS_ON;
}

void cpuperf_marks_begin(const char *name)
{
	cpuperf_begin(name);
}

void cpuperf_marks_begin_number(const char *name, int64_t number)
{
	cpuperf_begin_number(name, number);
}

void cpuperf_marks_end(void)
{
	cpuperf_end();
}

uint64_t cpuperf_marks_begin_block(const char *name)
{
	return CPUPERF_MARK_IS_ON ? cpuperf_mark_begin_block(NULL, name) : 0;
}

uint64_t cpuperf_marks_begin_number_block(const char *name, int64_t number)
{
	if (!CPUPERF_MARK_IS_ON)
		return 0;
	cpuperf_begin_number(name, number);
	return cpuperf_mark_block();
}

void cpuperf_marks_end_block(uint64_t begun)
{
	cpuperf_mark_end_of_block(&begun);
}

void cpuperf_marks_instant(const char *name)
{
	cpuperf_instant(name);
}

void cpuperf_marks_int(const char *name, int64_t value)
{
	cpuperf_int(name, value);
}

void cpuperf_marks_thread_name(const char *name)
{
	cpuperf_thread_name(name);
}

void cpuperf_marks_pause(void)
{
	cpuperf_pause();
}

void cpuperf_marks_resume(void)
{
	cpuperf_resume();
}

void cpuperf_marks_pause_thread(void)
{
	cpuperf_pause_thread();
}

void cpuperf_marks_resume_thread(void)
{
	cpuperf_resume_thread();
}

void cpuperf_marks_begin_named(const char *name)
{
	cpuperf_keyed_begin_named(name);
}

void cpuperf_marks_end_named(const char *name)
{
	cpuperf_keyed_end_named(name);
}

void cpuperf_marks_begin_keyed(uint32_t key, const char *name)
{
	cpuperf_keyed_begin(key, name);
}

void cpuperf_marks_begin_number_keyed(uint32_t key, const char *name, int64_t number)
{
	cpuperf_keyed_begin_number(key, name, number);
}

void cpuperf_marks_end_keyed(uint32_t key)
{
	cpuperf_keyed_end(key);
}

void cpuperf_marks_end_keyed_anywhere(uint32_t key)
{
	cpuperf_keyed_end_anywhere(key);
}

void cpuperf_marks_drop_keyed(uint32_t key)
{
	cpuperf_keyed_drop(key);
}
