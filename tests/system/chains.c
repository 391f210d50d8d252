/*
 * Programs whose stacks are known: chains SCENARIO MS [LIBRARY] works for MS milliseconds of a
 * CPU's time in a loop (spin, land, forever, plugin_work) that is reached in the way that the
 * comment before the scenario tells. Built in several ways: with frame pointers and without,
 * static, as a library
 * (-DLIBRARY). Knows nothing of cpuperf.
 *
 * A call to the loop takes milliseconds, so that hardly a sample falls upon the beginning or the
 * end of a function, where a chain of frame pointers is not what it is in between.
 */
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
/* After a call: what comes back is used, so that the call is not the last thing that is done. */
#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

typedef uint64_t (*work_fn)(uint64_t);

volatile uint64_t turns = 1000000; /* volatile: no function is made anew for one number of turns */

#define LOOP(name)                                                                                 \
	NOINLINE uint64_t name(uint64_t x)                                                         \
	{                                                                                          \
		for (uint64_t n = turns; n; n--) {                                                 \
			x = x * 6364136223846793005u + 1442695040888963407u;                       \
			__asm__ volatile("/* " #name " */" : "+r"(x));                             \
		}                                                                                  \
		return x;                                                                          \
	}

#ifdef LIBRARY
LOOP(plugin_work)

NOINLINE uint64_t plugin_inner(work_fn back, uint64_t x)
{
	x = back ? back(x) : plugin_work(x);
	KEEP(x);
	return x;
}

uint64_t plugin_entry(work_fn back, uint64_t x);
uint64_t plugin_entry(work_fn back, uint64_t x)
{
	x = plugin_inner(back, x);
	KEEP(x);
	return x;
}
#else
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS(name, callee)                                                                        \
	NOINLINE uint64_t name(uint64_t x)                                                         \
	{                                                                                          \
		x = callee(x);                                                                     \
		KEEP(x);                                                                           \
		return x;                                                                          \
	}

static long duration_ms;
static const char *library;

static long to_ms(struct timeval t)
{
	return t.tv_sec * 1000 + t.tv_usec / 1000;
}

static long spent_ms(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return to_ms(u.ru_utime) + to_ms(u.ru_stime);
}

static int is_done(void)
{
	return spent_ms(RUSAGE_SELF) + spent_ms(RUSAGE_CHILDREN) >= duration_ms;
}

/* plain: main, one, two, three, spin */
LOOP(spin)
CALLS(three, spin)
CALLS(two, three)
CALLS(one, two)

/* deep: main, deep, recurse (20 times), spin */
NOINLINE uint64_t recurse(uint64_t x, int left)
{
	x = left > 1 ? recurse(x, left - 1) : spin(x);
	KEEP(x);
	return x;
}

NOINLINE uint64_t deep(uint64_t x)
{
	x = recurse(x, 20);
	KEEP(x);
	return x;
}

/* tail: main, tail, land: hop has left when land works */
LOOP(land)

NOINLINE uint64_t hop(uint64_t x)
{
	return land(x + 1);
}
CALLS(tail, hop)

/* handler: main, interrupted, (what the kernel returns through), handler, spin */
static volatile sig_atomic_t is_handled;

NOINLINE void handler(int signal)
{
	uint64_t x = spin((uint64_t)signal);

	KEEP(x);
	is_handled = 1;
}

NOINLINE uint64_t interrupted(uint64_t x)
{
	while (!is_handled)
		KEEP(x);
	return x;
}

NOINLINE uint64_t handle(uint64_t x)
{
	const struct itimerval soon = {.it_value.tv_usec = 500};

	signal(SIGALRM, handler);
	is_handled = 0;
	setitimer(ITIMER_REAL, &soon, NULL);
	x = interrupted(x);
	KEEP(x);
	return x;
}

/* noreturn: main, last, forever: the address to which forever would return is behind the end of
 * last */
__attribute__((noreturn)) NOINLINE void forever(uint64_t x)
{
	for (;;) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		KEEP(x);
	}
}

static void quit(int signal)
{
	_exit(signal != SIGPROF);
}

__attribute__((noreturn)) NOINLINE void last(uint64_t x)
{
	const struct itimerval then = {.it_value.tv_usec = duration_ms % 1000 * 1000};

	signal(SIGPROF, quit);
	setitimer(ITIMER_PROF, &then, NULL);
	forever(x);
}

/* clock: main, ask_clock, clock_gettime of libc, the vdso's */
NOINLINE uint64_t ask_clock(uint64_t x)
{
	struct timespec t;

	for (int i = 0; i < 100000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		x += (uint64_t)t.tv_nsec;
	}
	KEEP(x);
	return x;
}

/* plugin: main, use_plugin, plugin_entry, plugin_inner, plugin_work; back: … plugin_inner, two, …
 */
static uint64_t (*plugin_entry)(work_fn back, uint64_t x);

static void load(void)
{
	void *handle = dlopen(library, RTLD_NOW);
	void *symbol = handle ? dlsym(handle, "plugin_entry") : NULL;

	if (!symbol) {
		fprintf(stderr, "chains: %s\n", dlerror());
		exit(1);
	}
	memcpy(&plugin_entry, &symbol, sizeof(symbol));
}

NOINLINE uint64_t use_plugin(uint64_t x)
{
	if (!plugin_entry)
		load();
	x = plugin_entry(NULL, x);
	KEEP(x);
	return x;
}

NOINLINE uint64_t use_back(uint64_t x)
{
	if (!plugin_entry)
		load();
	x = plugin_entry(two, x);
	KEEP(x);
	return x;
}

/* fork: as plain, in a child that lives shortly */
NOINLINE uint64_t forked(uint64_t x)
{
	pid_t pid = fork();

	if (pid == 0) {
		x = one(x);
		KEEP(x);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return x;
}

static const struct {
	const char *name;
	work_fn call;
} scenarios[] = {
    {"plain", one},       {"deep", deep},         {"tail", tail},     {"handler", handle},
    {"clock", ask_clock}, {"plugin", use_plugin}, {"back", use_back}, {"fork", forked},
};

int main(int argc, char **argv)
{
	uint64_t x = 1;

	if (argc < 3)
		return 2;
	library = argc > 3 ? argv[3] : "";
	duration_ms = strtol(argv[2], NULL, 10);
	if (strcmp(argv[1], "noreturn") == 0)
		last(x);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		while (strcmp(argv[1], scenarios[i].name) == 0 && !is_done())
			x = scenarios[i].call(x);
	KEEP(x);
	return 0;
}
#endif
