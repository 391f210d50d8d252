/*
 * A program into which the agent is loaded while it runs. attached WHAT [SECONDS]: see the table at
 * the end.
 * It prints what is wrong with itself, and "ready".
 * NOLINTBEGIN(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static void *volatile keep;
static volatile bool is_over;

static void say(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

static void on_end(int sig)
{
	(void)sig;
	is_over = true;
}

/* --- threads in malloc and dlopen */

struct filled {
	unsigned char *at;
	unsigned bytes;
	unsigned char value;
};

static void fill(struct filled *b, unsigned bytes, unsigned value)
{
	b->bytes = b->at ? bytes : 0;
	b->value = (unsigned char)value;
	if (b->bytes)
		memset(b->at, b->value, b->bytes);
}

static void check(const struct filled *b, unsigned bytes)
{
	for (unsigned i = 0; i < b->bytes && i < bytes; i++)
		if (b->at[i] != b->value) {
			say("memory has changed");
			return;
		}
}

/* Its terms are in registers of all kinds while a thread may be stopped. */
NOINLINE static void calculate(unsigned n)
{
	double sum = 0, product = 1;
	unsigned whole = 0;

	for (unsigned i = 1; i <= n; i++) {
		sum += i * 0.5;
		product = product * 2 / 2;
		whole += i;
	}
	if (sum != n * (n + 1.0) / 4 || product != 1 || whole != n * (n + 1) / 2)
		say("a result is wrong");
}

static void *allocate(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	struct filled block[64] = {{0}};

	while (!is_over) {
		unsigned bytes = 1 + rand_r(&seed) % 5000;
		struct filled *b = &block[rand_r(&seed) % 64];

		check(b, b->bytes);
		if (rand_r(&seed) % 4) {
			free(b->at);
			b->at = malloc(bytes);
		} else {
			b->at = realloc(b->at, bytes);
			check(b, bytes);
		}
		fill(b, bytes, rand_r(&seed));
		calculate(100 + bytes % 100);
	}
	for (int i = 0; i < 64; i++)
		free(block[i].at);
	return NULL;
}

static void *load(void *arg)
{
	const char *const names[] = {"libm.so.6", "libutil.so.1", "libanl.so.1", "librt.so.1"};
	unsigned i = (unsigned)(uintptr_t)arg;
	bool is_there[4];

	for (int k = 0; k < 4; k++) {
		void *handle = dlopen(names[k], RTLD_NOW);

		is_there[k] = handle;
		if (handle)
			dlclose(handle);
	}
	while (!is_over) {
		const char *name = names[i++ % 4];
		void *handle = is_there[(i - 1) % 4] ? dlopen(name, RTLD_NOW) : NULL;
		double (*root)(double) =
		    handle && name == names[0] ? (double (*)(double))dlsym(handle, "sqrt") : NULL;

		if (root && root(2.25) != 1.5)
			say("a library's result is wrong");
		if (!handle && is_there[(i - 1) % 4])
			say(dlerror());
		if (handle)
			dlclose(handle);
		usleep(200);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];

	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, i < 6 ? allocate : load, (void *)i);
	say("ready");
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
}

/* No thread waits. */
static void busy(void)
{
	pthread_t thread[8];

	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, i < 6 ? allocate : load, (void *)i);
	say("ready");
	allocate((void *)8);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
}

/* --- registers, the red zone and errno, while the thread only computes */

#if defined(__x86_64__)
/* Fills registers and the red zone, counts, and looks whether all are as before. 0: they are. */
NOINLINE static uint64_t count_up(uint64_t times)
{
	uint64_t wrong = 0;

	__asm__ volatile(
	    "movq $0x1234567, -8(%%rsp)\n\t"
	    "movq $0x89abcde, -128(%%rsp)\n\t"
	    "movq $0x5a5a5a5a, %%r8\n\t"
	    "movq %%r8, %%xmm0\n\t"
	    "movq %%r8, %%xmm15\n\t"
	    "movq $0x11, %%r9\n\t movq $0x12, %%r10\n\t movq $0x13, %%r11\n\t"
	    "movq $0x14, %%r12\n\t movq $0x15, %%r13\n\t movq $0x16, %%r14\n\t"
	    "movq $0x17, %%rdx\n\t movq $0x18, %%rsi\n\t movq $0x19, %%rdi\n\t"
	    "fld1\n\t"
	    "1: decq %1\n\t jnz 1b\n\t"
	    "fstpl -24(%%rsp)\n\t"
	    "xorq $0x11, %%r9\n\t orq %%r9, %0\n\t xorq $0x12, %%r10\n\t orq %%r10, %0\n\t"
	    "xorq $0x13, %%r11\n\t orq %%r11, %0\n\t xorq $0x14, %%r12\n\t orq %%r12, %0\n\t"
	    "xorq $0x15, %%r13\n\t orq %%r13, %0\n\t xorq $0x16, %%r14\n\t orq %%r14, %0\n\t"
	    "xorq $0x17, %%rdx\n\t orq %%rdx, %0\n\t xorq $0x18, %%rsi\n\t orq %%rsi, %0\n\t"
	    "xorq $0x19, %%rdi\n\t orq %%rdi, %0\n\t"
	    "movq %%xmm0, %%r9\n\t xorq %%r8, %%r9\n\t orq %%r9, %0\n\t"
	    "movq %%xmm15, %%r9\n\t xorq %%r8, %%r9\n\t orq %%r9, %0\n\t"
	    "movq -8(%%rsp), %%r9\n\t xorq $0x1234567, %%r9\n\t orq %%r9, %0\n\t"
	    "movq -128(%%rsp), %%r9\n\t xorq $0x89abcde, %%r9\n\t orq %%r9, %0\n\t"
	    "movq -24(%%rsp), %%r9\n\t movabsq $0x3ff0000000000000, %%r10\n\t"
	    "xorq %%r10, %%r9\n\t orq %%r9, %0\n\t"
	    : "+a"(wrong), "+c"(times)
	    :
	    : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "rdx", "rsi", "rdi", "xmm0", "xmm15",
	      "memory", "cc");
	return wrong;
}

/* The upper half of a vector register, which a call of another function may change. */
__attribute__((target("avx"))) NOINLINE static uint64_t count_wide(uint64_t times)
{
	const uint64_t value[4] = {1, 2, 3, 4};
	uint64_t after[4] = {0};

	__asm__ volatile("vmovdqu (%2), %%ymm7\n\t"
			 "1: decq %0\n\t jnz 1b\n\t"
			 "vmovdqu %%ymm7, (%1)\n\t vzeroupper\n\t"
			 : "+c"(times)
			 : "r"(after), "r"(value)
			 : "xmm7", "memory", "cc");
	return (uint64_t)memcmp(value, after, sizeof(value));
}
#elif defined(__aarch64__)
NOINLINE static uint64_t count_up(uint64_t times)
{
	uint64_t wrong = 0;

	__asm__ volatile(
	    "mov x0, #1\n\t mov x7, #2\n\t mov x8, #4\n\t mov x9, #8\n\t mov x15, #16\n\t"
	    "mov x16, #32\n\t mov x17, #64\n\t mov x19, #128\n\t mov x28, #256\n\t"
	    "mov x30, #512\n\t"
	    "dup v0.2d, x0\n\t dup v8.2d, x7\n\t dup v31.2d, x8\n\t"
	    "1: subs %1, %1, #1\n\t b.ne 1b\n\t"
	    "eor x0, x0, #1\n\t orr %0, %0, x0\n\t eor x7, x7, #2\n\t orr %0, %0, x7\n\t"
	    "eor x8, x8, #4\n\t orr %0, %0, x8\n\t eor x9, x9, #8\n\t orr %0, %0, x9\n\t"
	    "eor x15, x15, #16\n\t orr %0, %0, x15\n\t"
	    "eor x16, x16, #32\n\t orr %0, %0, x16\n\t"
	    "eor x17, x17, #64\n\t orr %0, %0, x17\n\t"
	    "eor x19, x19, #128\n\t orr %0, %0, x19\n\t"
	    "eor x28, x28, #256\n\t orr %0, %0, x28\n\t"
	    "eor x30, x30, #512\n\t orr %0, %0, x30\n\t"
	    "umov x0, v0.d[1]\n\t eor x0, x0, #1\n\t orr %0, %0, x0\n\t"
	    "umov x0, v8.d[1]\n\t eor x0, x0, #2\n\t orr %0, %0, x0\n\t"
	    "umov x0, v31.d[0]\n\t eor x0, x0, #4\n\t orr %0, %0, x0\n\t"
	    : "+r"(wrong), "+r"(times)
	    :
	    : "x0", "x7", "x8", "x9", "x15", "x16", "x17", "x19", "x28", "x30", "v0", "v8", "v31",
	      "cc");
	return wrong;
}

/* All of two scalable vectors and a predicate, which a system call of another function may change.
 */
NOINLINE static uint64_t count_wide(uint64_t times)
{
	uint64_t wrong = 0;

	__asm__ volatile(
	    ".arch_extension sve\n\t"
	    "ptrue p3.d\n\t mov x9, #5\n\t dup z7.d, x9\n\t index z8.d, #0, #1\n\t"
	    "1: subs %1, %1, #1\n\t b.ne 1b\n\t"
	    "ptrue p1.d\n\t mov x9, #5\n\t dup z9.d, x9\n\t index z10.d, #0, #1\n\t"
	    "cmpne p0.d, p1/z, z7.d, z9.d\n\t cntp %0, p1, p0.d\n\t"
	    "cmpne p0.d, p1/z, z8.d, z10.d\n\t cntp x9, p1, p0.d\n\t add %0, %0, x9\n\t"
	    "cntp x9, p1, p3.d\n\t cntd x10\n\t sub x10, x10, x9\n\t add %0, %0, x10\n\t"
	    : "+r"(wrong), "+r"(times)
	    :
	    : "x9", "x10", "v7", "v8", "v9", "v10", "cc");
	return wrong;
}
#else
NOINLINE static uint64_t count_up(uint64_t times)
{
	for (volatile uint64_t i = 0; i < times; i++)
		;
	return 0;
}

static uint64_t count_wide(uint64_t times)
{
	return count_up(times);
}
#endif

static void registers(void)
{
	sigset_t before, after; /* the kernel writes a part of them */
	bool has_wide = false;

#if defined(__x86_64__)
	has_wide = __builtin_cpu_supports("avx");
#elif defined(__aarch64__)
	has_wide = getauxval(AT_HWCAP) & 1 << 22; /* SVE */
#endif
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	sigprocmask(SIG_SETMASK, NULL, &before);
	say("ready");
	while (!is_over) {
		errno = 7654;
		if (count_up(20000000))
			say("registers or the red zone have changed");
		if (has_wide && count_wide(20000000))
			say("a wide vector register has changed");
		if (errno != 7654)
			say("errno has changed");
		sigprocmask(SIG_SETMASK, NULL, &after);
		if (memcmp(&before, &after, sizeof(before)) != 0)
			say("the mask of signals has changed");
	}
}

/* --- waits, which are not to end */

static void expect_end(const char *what, long rc)
{
	if (!is_over || (rc != -1 && rc != EINTR))
		printf("%s ended: %ld, %s\n", what, rc, strerror(errno));
}

static void wait_poll(void)
{
	struct pollfd fd = {.fd = -1};

	say("ready");
	expect_end("poll", poll(&fd, 1, 60000));
}

static void wait_select(void)
{
	struct timeval t = {60, 0};

	say("ready");
	expect_end("select", select(0, NULL, NULL, NULL, &t));
}

static void wait_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	say("ready");
	expect_end("epoll_wait", epoll_wait(fd, &event, 1, 60000));
}

static void wait_sleep(void)
{
	struct timespec t = {60, 0};

	say("ready");
	expect_end("nanosleep", nanosleep(&t, NULL));
}

static void wait_pause(void)
{
	say("ready");
	expect_end("pause", pause());
}

static void wait_read(void)
{
	char byte;

	say("ready");
	expect_end("read", read(0, &byte, 1));
}

static int seconds = 3;

/* Where a timer's limit is kept by the kernel while the call is interrupted. */
static void wait_long(void)
{
	struct timespec from, to, t = {seconds, 0};
	double past;

	clock_gettime(CLOCK_MONOTONIC, &from);
	say("ready");
	if (nanosleep(&t, NULL))
		say("nanosleep ended early");
	clock_gettime(CLOCK_MONOTONIC, &to);
	past = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("slept %.2f\n", past);
}

static void *wait_at_once(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

static void wait_join(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	signal(SIGTERM, SIG_DFL);
	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, wait_at_once, &lock);
	say("ready");
	pthread_join(thread, NULL);
	say("the thread ended");
}

/* All signals are blocked, and taken in a call: there is none but those that are sent to it. */
static void take_signals(void)
{
	const struct timespec now = {0, 0};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	say("ready");
	for (int taken = 0; taken != SIGTERM; taken = sigtimedwait(&all, NULL, &now)) {
		if (taken > 0)
			printf("took signal %d\n", taken);
		calculate(20000);
	}
}

/* --- known numbers: at each line that is read */

NOINLINE static void *known(size_t bytes)
{
	return malloc(bytes);
}

/* As a library keeps its allocator: the loader fills it in. */
static void *(*volatile by_pointer)(size_t) = malloc;

/* Ten blocks of 100 bytes, of which six are freed, one of 1000 by calloc, two by strdup, and a
 * block of before is freed. */
static void allocate_known(void)
{
	static void *before;
	void *block[10], *copy[2];

	for (int i = 0; i < 10; i++)
		block[i] = known(100);
	for (int i = 0; i < 6; i++)
		free(block[i]);
	keep = calloc(10, 100);
	for (int i = 0; i < 2; i++)
		copy[i] = strdup("1234567");
	free(copy[0]);
	keep = copy[1];
	free(before);
	before = by_pointer(5000);
}

static void on_lines(void)
{
	char byte;

	allocate_known();
	say("ready");
	while (read(0, &byte, 1) == 1) {
		allocate_known();
		say("done");
	}
}

/* The same beside threads that allocate nothing. */
static void on_lines_beside(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[3];

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, wait_at_once, &lock);
	on_lines();
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

/* A library is loaded, used, and unloaded at each line. */
static void on_lines_load(void)
{
	char byte;

	say("ready");
	while (read(0, &byte, 1) == 1) {
		void *handle = dlopen("libsqlite3.so.0", RTLD_NOW);
		char *(*format)(const char *, ...) =
		    handle ? (char *(*)(const char *, ...))dlsym(handle, "sqlite3_mprintf") : NULL;
		void (*release)(void *) =
		    handle ? (void (*)(void *))dlsym(handle, "sqlite3_free") : NULL;

		if (format && release)
			release(format("%d", 1));
		say(handle ? "done" : "none");
		if (handle)
			dlclose(handle);
	}
}

/* --- a sandbox: the program is killed for what the agent does when it is loaded */

static void seal(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		say("no filter can be set");
}

static void sealed(void)
{
	seal();
	wait_pause();
}

static void *wait_sealed(void *arg)
{
	seal();
	say("ready");
	while (!is_over) {
		free(malloc(100));
		usleep(1000);
	}
	return arg;
}

/* Only a thread is in it, which waits, as one that is asked first. */
static void partly_sealed(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_sealed, NULL);
	while (!is_over)
		calculate(1000);
	pthread_join(thread, NULL);
}

/* --- programs that change */

static void forks(void)
{
	say("ready");
	while (!is_over) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			free(malloc(10));
			_exit(3);
		}
		if (waitpid(child, &status, 0) != child ? !is_over : status != 3 << 8)
			printf("a child did not end as it should: %x\n", (unsigned)status);
	}
}

static void executes(void)
{
	static char name[] = "attached", what[] = "executes";
	char *argv[] = {name, what, NULL};
	char path[256];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (getenv("AGAIN") == NULL)
		say("ready");
	setenv("AGAIN", "1", 1);
	for (int i = 0; i < 2000; i++)
		free(malloc(100));
	path[len > 0 ? len : 0] = '\0';
	execv(path, argv);
	say("exec failed");
}

static const struct {
	const char *name;
	void (*run)(void);
} whats[] = {
    {"threads", threads},        {"busy", busy},           {"registers", registers},
    {"poll", wait_poll},         {"select", wait_select},  {"epoll", wait_epoll},
    {"sleep", wait_sleep},       {"pause", wait_pause},    {"read", wait_read},
    {"long", wait_long},         {"join", wait_join},      {"takes", take_signals},
    {"lines", on_lines},         {"loads", on_lines_load}, {"forks", forks},
    {"executes", executes},      {"sealed", sealed},       {"partly_sealed", partly_sealed},
    {"beside", on_lines_beside},
};

int main(int argc, char **argv)
{
	const struct sigaction end = {.sa_handler = on_end};

	sigaction(SIGTERM, &end, NULL);
	if (argc == 3)
		seconds = atoi(argv[2]);
	for (size_t i = 0; i < sizeof(whats) / sizeof(*whats); i++)
		if (argc >= 2 && strcmp(argv[1], whats[i].name) == 0) {
			whats[i].run();
			say("end");
			return 0;
		}
	return 2;
}
/* NOLINTEND(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c) */
