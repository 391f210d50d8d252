/*
 * A stand-in of an OpenMP runtime, by the published ABI of OMPT: it loads the library of
 * OMP_TOOL_LIBRARIES, and calls it as runtimes may: workers that say late that they have ended,
 * untied tasks, locks that are tested, more teams than there is room for, and kinds that nobody
 * knows.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

union data {
	uint64_t value;
	void *pointer;
};

typedef void (*function)(void);

struct tool {
	int (*initialize)(function (*look_up)(const char *name), int device, union data *tool);
	void (*finalize)(union data *tool);
	union data data;
};

enum { NR_EVENTS = 40, BEGIN = 1, END = 2, NR_TEAMS = 3000, PAUSE_NS = 100000000 };

static function events[NR_EVENTS];

static int set_callback(int event, function by)
{
	events[event] = by;
	return 5;
}

static function look_up(const char *name)
{
	return strcmp(name, "ompt_set_callback") == 0 ? (function)set_callback : NULL;
}

static function look_up_nothing(const char *name)
{
	(void)name;
	return NULL;
}

#define CALL(event, types, ...) ((void(*) types)events[event])(__VA_ARGS__)

static void begin_parallel(union data *team, const void *code)
{
	CALL(3, (union data *, const void *, union data *, unsigned, int, const void *), NULL, NULL,
	     team, 2, 2, code);
}

static void end_parallel(union data *team)
{
	CALL(4, (union data *, union data *, int, const void *), team, NULL, 2, NULL);
}

static void implicit_task(int endpoint, union data *team, unsigned index, int flags)
{
	CALL(7, (int, union data *, union data *, unsigned, unsigned, int), endpoint, team, NULL, 2,
	     index, flags);
}

static void wait_at(int kind, int endpoint, union data *team)
{
	CALL(16, (int, int, union data *, union data *, const void *), kind, endpoint, team, NULL,
	     NULL);
}

static void work(int kind, int endpoint)
{
	CALL(20, (int, int, union data *, union data *, uint64_t, const void *), kind, endpoint,
	     NULL, NULL, 1, NULL);
}

static void create_task(union data *task, int flags)
{
	CALL(5, (union data *, const void *, union data *, int, int, const void *), NULL, NULL,
	     task, flags, 0, NULL);
}

static void schedule(union data *prior, int status, union data *next)
{
	CALL(6, (union data *, int, union data *), prior, status, next);
}

static void acquire(int kind)
{
	CALL(26, (int, unsigned, unsigned, uint64_t, const void *), kind, 0, 0, 1, NULL);
}

static void acquired(int kind)
{
	CALL(27, (int, uint64_t, const void *), kind, 1, NULL);
}

static void released(int kind)
{
	CALL(17, (int, uint64_t, const void *), kind, 1, NULL);
}

/* --- what runtimes do */

static union data team;
static pthread_barrier_t barrier;

/* It has the next work, and says so, PAUSE_NS after its team has ended. */
static void *run_worker(void *arg)
{
	implicit_task(BEGIN, &team, 1, 2);
	wait_at(2, BEGIN, &team);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	wait_at(2, END, NULL);
	implicit_task(END, NULL, 1, 2);
	return arg;
}

static void end_late(void)
{
	pthread_t worker;

	pthread_barrier_init(&barrier, NULL, 2);
	begin_parallel(&team, NULL);
	implicit_task(BEGIN, &team, 0, 2);
	pthread_create(&worker, NULL, run_worker, NULL);
	pthread_barrier_wait(&barrier);
	implicit_task(END, NULL, 0, 2);
	end_parallel(&team);
	(void)nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	pthread_barrier_wait(&barrier);
	pthread_join(worker, NULL);
}

/* An untied task that is left for the implicit one, and goes on; a tied one that waits for a
 * child. */
static void run_tasks(void)
{
	union data implicit = {0}, untied = {0}, tied = {0}, child = {0}, other = {0};

	create_task(&other, 1); /* not an explicit one */
	create_task(&untied, 4);
	create_task(&tied, 4);
	create_task(&child, 4);
	schedule(&implicit, 7, &untied);
	schedule(&untied, 7, &implicit);
	schedule(&implicit, 7, &tied);
	wait_at(5, BEGIN, NULL);
	schedule(&tied, 7, &child);
	schedule(&child, 1, &tied);
	wait_at(5, END, NULL);
	schedule(&tied, 1, &implicit);
	schedule(&implicit, 7, &untied);
	schedule(&untied, 3, NULL);
	schedule(&untied, 6, NULL);
}

static void use_locks(void)
{
	acquire(2); /* a test that fails */
	acquire(1);
	acquired(1);
	released(1);
	acquire(3);
	CALL(28, (int, uint64_t, const void *), BEGIN, 1, NULL);
	acquire(5);
	acquired(5);
	released(5);
	acquire(6); /* atomic: none */
	acquired(6);
	released(6);
	acquire(7);
	acquired(7);
	released(7);
}

/* More than there is room for, each within the one before. */
static void nest_teams(void)
{
	static union data many[NR_TEAMS];

	for (int i = 0; i < NR_TEAMS; i++)
		begin_parallel(&many[i], NULL);
	for (int i = NR_TEAMS; i--;)
		end_parallel(&many[i]);
}

static void do_all(void)
{
	end_late();
	run_tasks();
	use_locks();
	work(1, BEGIN);
	work(1, END);
	work(4, BEGIN);
	work(4, END);
	work(99, BEGIN);
	work(-1, END);
	wait_at(99, BEGIN, NULL);
	wait_at(99, END, NULL);
}

int main(int argc, char **argv)
{
	const char *path = getenv("OMP_TOOL_LIBRARIES");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	struct tool *(*start)(unsigned version, const char *runtime) = NULL;
	struct tool *tool;

	(void)argv;
	if (library)
		*(void **)&start = dlsym(library, "ompt_start_tool");
	tool = start ? start(201811, "stand-in") : NULL;
	if (!tool) {
		printf("no tool\n");
		return 7;
	}
	if (tool->initialize(look_up_nothing, 0, &tool->data) != 0 ||
	    tool->initialize(look_up, 0, &tool->data) != 1)
		return 1;
	implicit_task(BEGIN, NULL, 1, 1); /* the initial one */
	(argc > 1 ? nest_teams : do_all)();
	tool->finalize(&tool->data);
	return 7;
}
