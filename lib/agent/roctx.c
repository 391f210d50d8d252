/*
 * ROCTX: the functions of libroctx64 and librocprofiler-sdk-roctx, for programs that load this
 * library before those (LD_PRELOAD) or in their place. The names are those of the published headers
 * roctx.h.
 */
#include "agent/marks.h"
#include "agent/names.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { KEY_PUSHED = AGENT_FIRST_RANGE - 2 };

static __thread int level;

AGENT_EXPORTED uint32_t roctx_version_major(void);
AGENT_EXPORTED uint32_t roctx_version_major(void)
{
	return 4;
}

AGENT_EXPORTED uint32_t roctx_version_minor(void);
AGENT_EXPORTED uint32_t roctx_version_minor(void)
{
	return 1;
}

AGENT_EXPORTED void roctxMarkA(const char *text);
AGENT_EXPORTED void roctxMarkA(const char *text)
{
	if (text)
		cpuperf_marks_instant(text);
}

AGENT_EXPORTED int roctxRangePushA(const char *text);
AGENT_EXPORTED int roctxRangePushA(const char *text)
{
	cpuperf_marks_begin_keyed(KEY_PUSHED, text ? text : "[no name]");
	return level++;
}

AGENT_EXPORTED int roctxRangePop(void);
AGENT_EXPORTED int roctxRangePop(void)
{
	if (!level)
		return -1;
	cpuperf_marks_end_keyed(KEY_PUSHED);
	return --level;
}

AGENT_EXPORTED uint64_t roctxRangeStartA(const char *text);
AGENT_EXPORTED uint64_t roctxRangeStartA(const char *text)
{
	uint32_t key = agent_next_range();

	cpuperf_marks_begin_keyed(key, text ? text : "[no name]");
	return key;
}

AGENT_EXPORTED void roctxRangeStop(uint64_t id);
AGENT_EXPORTED void roctxRangeStop(uint64_t id)
{
	if (id >= AGENT_FIRST_RANGE && id <= UINT32_MAX)
		cpuperf_marks_end_keyed_anywhere((uint32_t)id);
}

AGENT_EXPORTED int roctxGetThreadId(uint64_t *tid);
AGENT_EXPORTED int roctxGetThreadId(uint64_t *tid)
{
	*tid = (uint64_t)syscall(SYS_gettid);
	return 0;
}

AGENT_EXPORTED int roctxNameOsThread(const char *text);
AGENT_EXPORTED int roctxNameOsThread(const char *text)
{
	if (text)
		cpuperf_marks_thread_name(text);
	return 0;
}

/* 0: the process; else this thread. Others cannot be paused from here. */
static int set_paused(uint64_t tid, void (*process)(void), void (*thread)(void))
{
	if (tid && tid != (uint64_t)syscall(SYS_gettid))
		return -1;
	(tid ? thread : process)();
	return 0;
}

AGENT_EXPORTED int roctxProfilerPause(uint64_t tid);
AGENT_EXPORTED int roctxProfilerPause(uint64_t tid)
{
	return set_paused(tid, cpuperf_marks_pause, cpuperf_marks_pause_thread);
}

AGENT_EXPORTED int roctxProfilerResume(uint64_t tid);
AGENT_EXPORTED int roctxProfilerResume(uint64_t tid)
{
	return set_paused(tid, cpuperf_marks_resume, cpuperf_marks_resume_thread);
}
