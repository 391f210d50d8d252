#include "agent/marks.h"

/* Programs that have no marks load this library, too. */
#define CPUPERF_MARK_LATE
#include "cpuperf/mark_keyed.h"

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
