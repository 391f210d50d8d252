/*
 * What test_times.py samples: time that is known, and all that a signal could disturb.
 * NOLINTBEGIN(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static volatile uint64_t sink;

__attribute__((noinline)) static void turn(void)
{
	for (int i = 0; i < 20000; i++)
		sink = sink * 3 + (uint64_t)i;
}

/* Of this thread's CPU time; few system calls. */
__attribute__((noinline)) static void burn(int ms)
{
	int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		turn();
}

static void *burns(void *ms)
{
	burn((int)(intptr_t)ms);
	return NULL;
}

static void run_threads(int nr, int ms)
{
	pthread_t thread[64];

	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread[i], NULL, burns, (void *)(intptr_t)ms))
			abort();
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

static void run_short(int rounds)
{
	for (int i = 0; i < rounds; i++)
		run_threads(4, 3);
}

/* --- what no signal may end */

static int nr_interrupted, nr_calls;

#define TRY(call)                                                                                  \
	do {                                                                                       \
		for (int n_ = 0; n_ < 60; n_++)                                                    \
			sink += (uint64_t)n_;                                                      \
		errno = 0;                                                                         \
		nr_calls++;                                                                        \
		if (((call) == -1 && errno == EINTR) || errno == EINTR) {                          \
			nr_interrupted++;                                                          \
			fprintf(stderr, "EINTR: %s\n", #call);                                     \
		}                                                                                  \
	} while (0)

static void run_calls(int rounds)
{
	const struct timespec little = {0, 20000};
	const struct timeval slice = {0, 20};
	const struct timespec *wait = &little;
	int pair[2], epoll = epoll_create1(0), queue, semaphores;
	struct {
		long type;
		char text[8];
	} message;
	struct sembuf down = {0, -1, 0};
	struct epoll_event event;
	struct timespec until;
	sigset_t set, old;
	fd_set fds;
	char byte;
	sem_t sem;

	sem_init(&sem, 0, 0);
	queue = msgget(IPC_PRIVATE, 0600);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, NULL, &old);
	for (int i = 0; i < rounds; i++) {
		TRY(nanosleep(wait, NULL));
		TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, wait, NULL) == EINTR ? -1 : 0);
		TRY(usleep(20));
		TRY(poll(NULL, 0, 0));
		TRY(ppoll(NULL, 0, wait, &old));
		TRY(select(0, NULL, NULL, NULL, &(struct timeval){0, 20}));
		FD_ZERO(&fds);
		TRY(pselect(0, &fds, NULL, NULL, wait, &old));
		TRY(epoll_wait(epoll, &event, 1, 0));
		TRY(epoll_pwait(epoll, &event, 1, 1, &old));
		TRY(sigtimedwait(&set, NULL, wait));
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec = (until.tv_nsec + 30000) % 1000000000;
		TRY(sem_timedwait(&sem, &until));
		TRY(recv(pair[0], &byte, 1, 0));
		TRY(read(pair[0], &byte, 1));
		TRY(semtimedop(semaphores, &down, 1, wait));
		TRY(msgrcv(queue, &message, 8, 0, IPC_NOWAIT));
	}
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	printf("%d of %d\n", nr_interrupted, nr_calls);
}

/* --- signals of the program's own */

static volatile sig_atomic_t nr_own;

static void count(int number)
{
	(void)number;
	nr_own = nr_own + 1;
}

/* With those that the kernel had no tick for, where programs take turns. */
static void count_all(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	nr_own = nr_own + 1 + info->si_overrun;
}

static void run_profile(int ms)
{
	const struct itimerval every = {{0, 4000}, {0, 4000}};
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	burn(ms);
	printf("%d\n", (int)nr_own);
}

static void run_timer(int ms)
{
	struct sigaction action = {.sa_sigaction = count_all, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	const struct itimerspec every = {{0, 4000000}, {0, 4000000}};
	timer_t timer;

	sigaction(SIGPROF, &action, NULL);
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
	timer_settime(timer, 0, &every, NULL);
	burn(ms);
	printf("%d\n", (int)nr_own);
}

/* All signals blocked, asked for, waited for, and read. */
static void run_masks(int ms)
{
	const struct timespec none = {0, 0};
	struct signalfd_siginfo info;
	sigset_t all, got, pending;
	int number, fd, nr_missing = 0, nr_wrong = 0;
	siginfo_t waited;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &got);
	for (int i = 34; i <= 64; i++)
		nr_wrong += sigismember(&got, i);
	pthread_sigmask(SIG_BLOCK, NULL, &got);
	for (int i = 34; i <= 64; i++)
		nr_missing += !sigismember(&got, i);
	burn(ms);
	sigpending(&pending);
	for (int i = 34; i <= 64; i++)
		nr_wrong += sigismember(&pending, i);
	nr_wrong += sigtimedwait(&all, &waited, &none) > 0;
	fd = signalfd(-1, &all, SFD_NONBLOCK);
	burn(ms);
	nr_wrong += read(fd, &info, sizeof(info)) > 0;
	kill(getpid(), SIGUSR1);
	nr_wrong += sigwait(&all, &number) || number != SIGUSR1;
	sigprocmask(SIG_UNBLOCK, &all, &got);
	for (int i = 34; i <= 64; i++)
		nr_missing += !sigismember(&got, i);
	sigprocmask(SIG_SETMASK, NULL, &got);
	for (int i = 34; i <= 64; i++)
		nr_wrong += sigismember(&got, i);
	printf("%d missing %d wrong\n", nr_missing, nr_wrong);
}

/* The program has handlers for all that the agent could use. */
static void run_handlers(int ms)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART}, old;
	int nr_wrong = 0;

	burn(ms);
	for (int i = 34; i <= 64; i++) {
		nr_wrong += sigaction(i, NULL, &old) || old.sa_handler != SIG_DFL;
		if (i % 2)
			nr_wrong += sigaction(i, &action, &old) || old.sa_handler != SIG_DFL;
		else
			nr_wrong += signal(i, count) != SIG_DFL;
		burn(5);
		raise(i);
		nr_wrong += nr_own != i - 33;
		nr_wrong += sigaction(i, NULL, &old) || old.sa_handler != count;
	}
	burn(ms);
	printf("%d wrong %d own\n", nr_wrong, (int)nr_own);
}

/* --- stacks */

static ucontext_t outside, inside;
static int inside_ms;

static void in_coroutine(void)
{
	burn(inside_ms);
}

static void run_coroutine(int ms)
{
	enum { BYTES = 8192, GUARD = 4096 };
	char *at = mmap(NULL, BYTES + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at + GUARD, BYTES, PROT_READ | PROT_WRITE);
	inside_ms = ms;
	getcontext(&inside);
	inside.uc_stack.ss_sp = at + GUARD;
	inside.uc_stack.ss_size = BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, in_coroutine, 0);
	swapcontext(&outside, &inside);
}

static int handler_ms;

static void in_handler(int number)
{
	(void)number;
	burn(handler_ms);
}

static void run_alternate(int ms, int flags)
{
	const size_t bytes = 8192;
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes, .ss_flags = flags};
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};

	memset(stack.ss_sp, 0x5a, bytes);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	handler_ms = ms;
	raise(SIGUSR2);
	burn(ms);
}

/* --- processes */

static void run_forks(int ms)
{
	burn(ms);
	if (fork() == 0) {
		burn(ms);
		_exit(0);
	}
	wait(NULL);
	if (vfork() == 0) {
		execl("/proc/self/exe", "times", "burn", "0", NULL);
		_exit(1);
	}
	wait(NULL);
}

/* --- waits */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *wait_forever(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return arg;
}

__attribute__((noinline)) static void nap(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static void run_waits(int ms)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_forever, NULL);
	for (int i = 0; i < 10; i++)
		nap(ms / 10);
	burn(ms / 4);
	poll(NULL, 0, ms);
}

static const struct {
	const char *name;
	void (*run)(int n);
} modes[] = {
    {"burn", burn},
    {"short", run_short},
    {"calls", run_calls},
    {"profile", run_profile},
    {"timer", run_timer},
    {"masks", run_masks},
    {"handlers", run_handlers},
    {"coroutine", run_coroutine},
    {"forks", run_forks},
    {"waits", run_waits},
};

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 100;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0)
			modes[i].run(n);
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		run_threads(8, n);
	if (argc > 1 && strcmp(argv[1], "alternate") == 0)
		run_alternate(n, 0);
	if (argc > 1 && strcmp(argv[1], "autodisarm") == 0)
		run_alternate(n, (int)(1u << 31));
	if (argc > 1 && strcmp(argv[1], "killed") == 0) {
		burn(n);
		kill(getpid(), SIGKILL);
	}
	return 0;
}
/* NOLINTEND(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c) */
