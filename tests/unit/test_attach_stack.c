/* Which threads are made to call the loader: children that stand at known places are judged. */
#include "kit.h"

#include "attach/stack.h"
#include "attach/thread.h"
#include "base/mem.h"

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_int *ready; /* shared with the child */

/* Where nothing is called: the compiler keeps the frames. */
static __attribute__((noinline)) void spin(void)
{
	atomic_store(ready, 1);
	for (volatile unsigned i = 0;; i++)
		;
}

static __attribute__((noinline)) void wait_for_signal(void)
{
	atomic_store(ready, 1);
	for (;;)
		pause();
}

static void wait_for_time(void)
{
	const struct timespec t = {600, 0};

	atomic_store(ready, 1);
	nanosleep(&t, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
	spin();
}

static void handle_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	wait_for_signal();
	return 0;
}

static void within_libc(void)
{
	const int items[] = {2, 1}, key = 3;
	size_t nr = 2;

	(void)lfind(&key, items, &nr, sizeof(*items), compare); /* no sanitizer wraps it */
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	wait_for_signal();
	return 0;
}

static void within_list(void)
{
	(void)dl_iterate_phdr(on_object, NULL);
}

static void coroutine(void)
{
	static char stack[256 << 10];
	static ucontext_t from, to;

	getcontext(&to);
	to.uc_stack.ss_sp = stack;
	to.uc_stack.ss_size = sizeof(stack);
	makecontext(&to, spin, 0);
	swapcontext(&from, &to);
}

#if defined(__x86_64__)
static const uint8_t endless[] = {0xeb, 0xfe};
#else
static const uint8_t endless[] = {0, 0, 0, 0x14};
#endif

static void without_file(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	memcpy(code, endless, sizeof(endless));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(code, (char *)code + 4096);
	memcpy(&run, &code, sizeof(run));
	atomic_store(ready, 1);
	run();
}

/* The stack that is left is too small for a call. */
static int recurse(int n);
static int (*volatile again)(int) = recurse; /* as spin has no end, gcc warns of a direct call */

static __attribute__((noinline)) int recurse(int n)
{
	volatile char some[4096];

	some[n] = (char)n; /* at no place that the compiler knows: all of it is on the stack */
	if (n)
		return again(n - 1) + some[n];
	spin();
	return 0;
}

static void deep(void)
{
	const struct rlimit limit = {256 << 10, 256 << 10};

	setrlimit(RLIMIT_STACK, &limit);
	recurse(48);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *want; /* NULL: it can */
} places[] = {
    {"runs", spin, NULL},
    {"waits for a signal", wait_for_signal, NULL},
    {"waits for time", wait_for_time, NULL},
#if defined(__aarch64__) /* the kernel's code that returns from there has no tables to read */
    {"handles a signal", handle_signal, "runs code of no file, or without unwind tables"},
#else
    {"handles a signal", handle_signal, "handles a signal"},
#endif
    {"within the C library", within_libc, "is within the C library"},
    {"within the list of objects", within_list, "is within the C library"},
    {"on another stack", coroutine, "runs on a stack that is not its own"},
    {"without a file", without_file, "runs code of no file, or without unwind tables"},
    {"deep", deep, "has too little room on its stack"},
};

static pid_t start(void (*run)(void))
{
	pid_t pid;

	atomic_store(ready, 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(1);
	}
	while (!atomic_load(ready))
		usleep(1000);
	usleep(10000); /* it may still be on its way into the wait */
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The stack's lowest address by its limit, as far as this test changes it. */
static uint64_t low_of(const struct attach_space *s, void (*run)(void))
{
	for (size_t i = 0; i < s->nr; i++)
		if (strcmp(s->mapping[i].name, "[stack]") == 0)
			return s->mapping[i].end - (run == deep ? 256 << 10 : 8 << 20);
	fail_msg("no stack");
	return 0;
}

/* Again, as a thread that is stopped at its first step into a wait is at another place. */
static const char *judge(pid_t pid, void (*run)(void), const char *want)
{
	const char *why = "was not stopped";

	for (int i = 0; i < 100; i++) {
		struct attach_space s;
		struct attach_thread t;
		struct attach_place place = {.is_main = true};

		assert_int_equal(attach_space_open(&s, pid), 0);
		attach_prepare(&s);
		place.main_low = low_of(&s, run);
		if (attach_thread_stop(&t, pid) == 0) {
			attach_thread_place(&t, &place);
			why = attach_judge(&s, &place);
			attach_thread_release(&t);
		}
		attach_space_close(&s);
		if ((!why && !want) || (why && want && strcmp(why, want) == 0))
			break;
		usleep(20000);
	}
	return why;
}

TEST(places)
{
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		pid_t pid = start(places[i].run);
		const char *why = judge(pid, places[i].run, places[i].want);

		end(pid);
		if (!why != !places[i].want || (why && strcmp(why, places[i].want) != 0))
			fail_msg("%s: %s", places[i].name, why ? why : "it can");
	}
}

static void *in_thread(void *arg)
{
	(void)arg;
	wait_for_signal();
	return NULL;
}

static pthread_t thread;

static void with_thread(void)
{
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
}

/* A function that waits, and to which one with a name jumps. */
TEST(joins)
{
	const char *why;
	pid_t pid;

	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start(with_thread);
	why = judge(pid, with_thread, NULL);
	end(pid);
	if (why)
		fail_msg("%s", why);
}

/* A thread's stack is its own, not that of the first one. */
TEST(threads)
{
	struct attach_space s;
	struct attach_thread t;
	struct attach_place place = {0};
	const char *why;
	pid_t pid;

	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start(with_thread);
	assert_int_equal(attach_space_open(&s, pid), 0);
	attach_prepare(&s);
	assert_int_equal(attach_thread_stop(&t, pid), 0);
	attach_thread_place(&t, &place);
	why = attach_judge(&s, &place); /* is_main is not set */
	attach_thread_release(&t);
	attach_space_close(&s);
	end(pid);
	assert_non_null(why);
	assert_string_equal(why, "runs on a stack that is not its own");
}
