/*
 * OMPT: what the OpenMP runtime of clang, Intel and others says of a program (OpenMP 5.0, 4.2.2;
 * types and numbers are those of the published omp-tools.h; nothing is copied). It looks for
 * ompt_start_tool in the libraries that OMP_TOOL_LIBRARIES names. GCC's runtime has none.
 *
 * Regions: a parallel one, of each thread of its team; in it loops, sections and singles, tasks,
 * critical parts, and waits at barriers, for tasks and for locks. Tasks that run while their thread
 * waits lie in the wait. They nest as the program's calls do, so each kind ends by a key of its
 * own; what began before the session has no key, and its end is ignored.
 *
 * A worker says that its last barrier and its region have ended when it gets the next work, perhaps
 * much later: they end where the region of its team did.
 */
#include "agent/ompt.h"

#include "agent/code.h"
#include "agent/marks.h"
#include "agent/names.h"

#include <stddef.h>

enum { DOES_NOTHING = 0, STAYS = 1 };

/* Of callbacks. */
enum {
	PARALLEL_BEGIN = 3,
	PARALLEL_END,
	TASK_CREATE,
	TASK_SCHEDULE,
	IMPLICIT_TASK,
	SYNC_WAIT = 16,
	MUTEX_RELEASED,
	WORK = 20,
	MUTEX_ACQUIRE = 26,
	MUTEX_ACQUIRED,
	NEST_LOCK,
};

enum { BEGIN = 1, END };                      /* endpoints */
enum { TASK_INITIAL = 1, TASK_EXPLICIT = 4 }; /* flags */
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3, TASK_LATE = 6 };
enum { MUTEX_CRITICAL = 5, MUTEX_ATOMIC, MUTEX_ORDERED };
enum { MAX_TEAMS = 1024 };

/* Of regions. */
enum { KEY_PARALLEL = AGENT_FIRST_RANGE - 16, KEY_WORK, KEY_WAIT, KEY_TASK, KEY_MUTEX };

union data {
	uint64_t value;
	void *pointer;
};

typedef void (*function)(void);

bool agent_ompt_is_on;

/* A parallel region until each of its threads has left it. */
struct team {
	uint32_t nr_users; /* 0: free */
	const char *name;
	uint64_t end; /* a time of marks; 0: it has not ended */
};

static struct team teams[MAX_TEAMS];
static uint32_t next_team;
/* That of which this thread is a worker. */
static __thread struct team *own_team;

static struct team *take_team(void)
{
	const uint32_t first = __atomic_fetch_add(&next_team, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < MAX_TEAMS; i++) {
		struct team *t = &teams[(first + i) % MAX_TEAMS];
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&t->nr_users, &none, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return t;
	}
	return NULL;
}

static void leave_team(struct team *t)
{
	__atomic_fetch_sub(&t->nr_users, 1, __ATOMIC_RELEASE);
}

static void parallel_begin(union data *task, const void *frame, union data *parallel, unsigned nr,
			   int flags, const void *code)
{
	const char *name = agent_code_name("omp: parallel", code);
	struct team *t = take_team();

	(void)task, (void)frame, (void)nr, (void)flags;
	if (t) {
		t->name = name;
		__atomic_store_n(&t->end, 0, __ATOMIC_RELAXED);
	}
	parallel->pointer = t;
	cpuperf_marks_begin_keyed(KEY_PARALLEL, name);
}

static void parallel_end(union data *parallel, union data *task, int flags, const void *code)
{
	struct team *t = parallel->pointer;

	(void)task, (void)flags, (void)code;
	if (t) {
		__atomic_store_n(&t->end, cpuperf_marks_now(), __ATOMIC_RELAXED);
		leave_team(t);
	}
	cpuperf_marks_end_keyed(KEY_PARALLEL);
}

/* What a worker ends: not after its team. */
static void end_in_team(uint32_t key)
{
	const uint64_t end = own_team ? __atomic_load_n(&own_team->end, __ATOMIC_RELAXED) : 0;

	if (!end || cpuperf_marks_at(end, true))
		cpuperf_marks_end_keyed(key);
	cpuperf_marks_at_once();
}

/* The first thread of a team is in the region already, by parallel_begin. */
static void implicit_task(int endpoint, union data *parallel, union data *task, unsigned nr,
			  unsigned index, int flags)
{
	struct team *t = parallel ? parallel->pointer : NULL;

	(void)task, (void)nr;
	if (!index || flags & TASK_INITIAL)
		return;
	if (endpoint == BEGIN && t) {
		__atomic_fetch_add(&t->nr_users, 1, __ATOMIC_RELAXED);
		own_team = t;
		cpuperf_marks_begin_keyed(KEY_PARALLEL, t->name);
	} else if (endpoint == END && own_team) {
		end_in_team(KEY_PARALLEL);
		leave_team(own_team);
		own_team = NULL;
	}
}

/* --- what lies in it */

static const char *name_of_wait(int kind)
{
	static const char *const names[] = {
	    [1] = "omp: wait at barrier",          [2] = "omp: wait at implicit barrier",
	    [3] = "omp: wait at barrier",          [5] = "omp: wait for tasks",
	    [6] = "omp: wait for tasks",           [7] = "omp: wait for reduction",
	    [8] = "omp: wait at implicit barrier", [9] = "omp: wait at implicit barrier",
	};

	return kind >= 0 && (size_t)kind < sizeof(names) / sizeof(*names) && names[kind]
		   ? names[kind]
		   : "omp: wait";
}

static void sync_wait(int kind, int endpoint, union data *parallel, union data *task,
		      const void *code)
{
	(void)parallel, (void)task, (void)code;
	if (endpoint == BEGIN)
		cpuperf_marks_begin_keyed(KEY_WAIT, name_of_wait(kind));
	else if (endpoint == END)
		end_in_team(KEY_WAIT);
}

static void work(int kind, int endpoint, union data *parallel, union data *task, uint64_t nr,
		 const void *code)
{
	static const char *const names[] = {
	    [1] = "omp: loop",      [2] = "omp: sections",   [3] = "omp: single",
	    [5] = "omp: workshare", [6] = "omp: distribute", [7] = "omp: taskloop",
	    [8] = "omp: scope",
	};
	const char *name =
	    kind >= 0 && (size_t)kind < sizeof(names) / sizeof(*names) ? names[kind] : NULL;

	(void)parallel, (void)task, (void)nr;
	if (!name) /* 4: others run the single */
		return;
	if (endpoint == BEGIN)
		cpuperf_marks_begin_keyed(KEY_WORK, agent_code_name(name, code));
	else if (endpoint == END)
		cpuperf_marks_end_keyed(KEY_WORK);
}

/* --- tasks: their data is the name, and whether the region is open, which is in its low bit */

static void task_create(union data *parent, const void *frame, union data *task, int flags,
			int has_dependences, const void *code)
{
	(void)parent, (void)frame, (void)has_dependences;
	if (flags & TASK_EXPLICIT)
		task->value = (uint64_t)(uintptr_t)agent_code_name("omp: task", code) << 1;
}

static bool is_open(const union data *task)
{
	return !task->value || task->value & 1;
}

/* A task that waits for others stays open; those that run meanwhile lie in it. */
static void task_schedule(union data *prior, int status, union data *next)
{
	const bool has_ended =
	    status == TASK_COMPLETE || status == TASK_CANCEL || (next && is_open(next));

	if (status == TASK_LATE)
		return;
	if (has_ended && prior->value & 1) {
		cpuperf_marks_end_keyed(KEY_TASK);
		prior->value &= ~UINT64_C(1);
	}
	if (next && !is_open(next)) {
		cpuperf_marks_begin_keyed(KEY_TASK, (const char *)(uintptr_t)(next->value >> 1));
		next->value |= 1;
	}
}

/* --- critical and ordered parts, and waits for them and for locks */

/* NULL: nobody waits for it (tests of locks), or it is too short to be marked (atomic). */
static const char *name_of_mutex_wait(int kind)
{
	static const char *const names[] = {
	    [1] = "omp: wait for lock",
	    [3] = "omp: wait for lock",
	    [MUTEX_CRITICAL] = "omp: wait for critical",
	    [MUTEX_ORDERED] = "omp: wait for ordered",
	};

	return kind >= 0 && (size_t)kind < sizeof(names) / sizeof(*names) ? names[kind] : NULL;
}

static void mutex_acquire(int kind, unsigned hint, unsigned how, uint64_t id, const void *code)
{
	const char *name = name_of_mutex_wait(kind);

	(void)hint, (void)how, (void)id, (void)code;
	if (name)
		cpuperf_marks_begin_keyed(KEY_WAIT, name);
}

/* Locks may be released in any order: how long they are held is no region. */
static void mutex_acquired(int kind, uint64_t id, const void *code)
{
	(void)id;
	if (name_of_mutex_wait(kind))
		cpuperf_marks_end_keyed(KEY_WAIT);
	if (kind == MUTEX_CRITICAL || kind == MUTEX_ORDERED)
		cpuperf_marks_begin_keyed(
		    KEY_MUTEX,
		    agent_code_name(kind == MUTEX_CRITICAL ? "omp: critical" : "omp: ordered",
				    code));
}

/* In place of the above for a lock that the thread has already. */
static void nest_lock(int endpoint, uint64_t id, const void *code)
{
	(void)id, (void)code;
	if (endpoint == BEGIN)
		cpuperf_marks_end_keyed(KEY_WAIT);
}

static void mutex_released(int kind, uint64_t id, const void *code)
{
	(void)id, (void)code;
	if (kind == MUTEX_CRITICAL || kind == MUTEX_ORDERED)
		cpuperf_marks_end_keyed(KEY_MUTEX);
}

/* --- the tool */

static int initialize(function (*look_up)(const char *name), int device, union data *tool)
{
	static const struct {
		int event;
		function by;
	} callbacks[] = {
	    {PARALLEL_BEGIN, (function)parallel_begin},
	    {PARALLEL_END, (function)parallel_end},
	    {TASK_CREATE, (function)task_create},
	    {TASK_SCHEDULE, (function)task_schedule},
	    {IMPLICIT_TASK, (function)implicit_task},
	    {SYNC_WAIT, (function)sync_wait},
	    {WORK, (function)work},
	    {MUTEX_ACQUIRE, (function)mutex_acquire},
	    {MUTEX_ACQUIRED, (function)mutex_acquired},
	    {MUTEX_RELEASED, (function)mutex_released},
	    {NEST_LOCK, (function)nest_lock},
	};
	int (*set)(int event, function by) =
	    (int (*)(int event, function by))look_up("ompt_set_callback");

	(void)device, (void)tool;
	if (!set)
		return DOES_NOTHING;
	agent_ompt_is_on = true;
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
		(void)set(callbacks[i].event, callbacks[i].by);
	return STAYS;
}

static void finalize(union data *tool)
{
	(void)tool;
}

struct tool {
	int (*initialize)(function (*look_up)(const char *name), int device, union data *tool);
	void (*finalize)(union data *tool);
	union data data;
};

AGENT_EXPORTED struct tool *ompt_start_tool(unsigned version, const char *runtime);
/* NULL: the runtime says nothing, at no cost. */
AGENT_EXPORTED struct tool *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct tool tool = {initialize, finalize, {0}};

	(void)version, (void)runtime;
	return cpuperf_marks_are_on() ? &tool : NULL;
}
