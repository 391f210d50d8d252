#include "heap/stop.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/stat.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>

enum { MAX_THREADS = 1 << 16 };

static const uint64_t LIMIT_NS = 2000000000;

/* Of NT_PRSTATUS. */
#if defined(__x86_64__)
enum { SP_WORD = 19, TLS_WORD = 21 };
#elif defined(__aarch64__)
enum { SP_WORD = 31, TLS_WORD = HEAP_STOP_MAX_WORDS };
#else
enum { SP_WORD = HEAP_STOP_MAX_WORDS, TLS_WORD = HEAP_STOP_MAX_WORDS };
#endif

struct threads {
	struct heap_stopped *item; /* owned */
	size_t nr, room;
	uint64_t until_ns;
	struct proc process;
};

static uint64_t word_of(const struct heap_stopped *s, uint32_t i)
{
	return i < s->nr_words && i < HEAP_STOP_MAX_WORDS ? s->word[i] : 0;
}

/* Of arm64 it is not among the others. */
static uint64_t thread_pointer(const struct heap_stopped *s)
{
	uint64_t tls = word_of(s, TLS_WORD);
#if defined(__aarch64__)
	struct iovec part = {&tls, sizeof(tls)};

	if (ptrace(PTRACE_GETREGSET, s->tid, (void *)0x401 /* NT_ARM_TLS */, &part))
		tls = 0;
#endif
	return tls;
}

/* A thread that has ended may be listed until its process ends. */
static bool has_ended(const struct threads *t, int32_t tid)
{
	char text[PROC_STAT_BYTES];
	struct proc_stat s;

	return proc_stat_load(PROC(t->process.root, t->process.pid, (uint32_t)tid), text, &s, NULL,
			      0) != 0 ||
	       proc_stat_has_ended(&s);
}

/* A thread can be asked for its registers when it has stopped. Waiting for it (waitpid) would be
 * seen by what waits for the end of the command, or it would see that. */
static int read_registers(const struct threads *t, struct heap_stopped *s)
{
	const struct timespec pause = {0, 20000};
	struct iovec part;

	for (;;) {
		part = (struct iovec){s->word, sizeof(s->word)};
		if (ptrace(PTRACE_GETREGSET, s->tid, (void *)NT_PRSTATUS, &part) == 0)
			break;
		if (errno != ESRCH)
			return -errno;
		if (has_ended(t, s->tid))
			return 0;
		if (clock_monotonic_ns() > t->until_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	s->nr_words = (uint32_t)(part.iov_len / sizeof(s->word[0]));
	s->sp = word_of(s, SP_WORD);
	s->tls = thread_pointer(s);
	return 0;
}

static bool is_known(const struct threads *t, int32_t tid)
{
	return ARRAY_ANY(s, t->item, t->nr, s->tid == tid);
}

static int stop_one(struct threads *t, int32_t tid)
{
	const struct attach_waiting before = attach_waiting_of(tid);
	struct heap_stopped *s;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return has_ended(t, tid) ? 0 : -errno;
	s = t->nr < MAX_THREADS ? MEM_ADD(t->item, t->nr, t->room) : NULL;
	if (!s)
		return -ENOMEM; /* it is traced until this thread ends, and runs */
	*s = (struct heap_stopped){.tid = tid, .before = before};
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* else it has ended */
	return 0;
}

static int stop_thread(uint32_t tid, void *arg)
{
	struct threads *t = arg;

	return is_known(t, (int32_t)tid) ? 0 : stop_one(t, (int32_t)tid);
}

/* The number of threads that were not stopped yet, or -errno. */
static int stop_new(struct threads *t)
{
	const size_t first = t->nr;
	int rc = proc_each_thread(&t->process, stop_thread, t);

	for (size_t i = first; i < t->nr && rc == 0; i++)
		rc = read_registers(t, &t->item[i]);
	return rc ? rc : (int)(t->nr - first);
}

/* A signal that came while it was stopped, and is not delivered yet; 0: none. */
static long signal_of(int32_t tid)
{
	siginfo_t info = {.si_code = PTRACE_EVENT_STOP << 8};

	(void)ptrace(PTRACE_GETSIGINFO, tid, NULL, &info);
	return info.si_code >> 8 == PTRACE_EVENT_STOP ? 0 : info.si_signo;
}

void heap_stop_release(struct heap_stopped *threads, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const long sig = signal_of(threads[i].tid);

		if (!sig)
			attach_repeat(threads[i].tid, &threads[i].before);
		ptrace(PTRACE_DETACH, threads[i].tid, NULL, (void *)sig);
	}
	mem_free(threads);
}

int heap_stop(const struct root *root, uint32_t pid, struct heap_stopped **out, size_t *nr)
{
	struct threads t = {.until_ns = clock_monotonic_ns() + LIMIT_NS, .process = {root, pid}};
	int rc;

	/* those that are stopped create no further ones */
	do
		rc = stop_new(&t);
	while (rc > 0);
	if (rc == 0 && !t.nr)
		rc = -ESRCH;
	if (rc) {
		heap_stop_release(t.item, t.nr);
		return rc;
	}
	*out = t.item;
	*nr = t.nr;
	return 0;
}
