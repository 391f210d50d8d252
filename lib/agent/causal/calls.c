/*
 * syscall(2), by which runtimes of other languages wait at futexes (that of Rust, C++'s
 * atomic::wait), and dlopen. Calls for anything else are passed on without a frame on the stack: a
 * clone may return on another one, and dlopen looks at its caller.
 */
#include "agent/causal/agent.h"

#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* As the registers have them. */
#define CALL_PARAMETERS long number, long a, long b, long c, long d, long e, long f
#define CALL_ARGUMENTS  number, a, b, c, d, e, f

long (*agent_real_syscall)(CALL_PARAMETERS);
/* Not static: assembler jumps there. */
long agent_call_futex(CALL_PARAMETERS);
long agent_call_early(CALL_PARAMETERS);

#if defined(__x86_64__)
_Static_assert(SYS_futex == 202, "below");
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	cmpq $202, %rdi\n"
	"	je agent_call_futex\n"
	"	movq agent_real_syscall(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	je agent_call_early\n"
	"	jmp *%rax\n"
	".size syscall, . - syscall\n");
#else
_Static_assert(SYS_futex == 98, "below");
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	cmp x0, #98\n"
	"	b.eq agent_call_futex\n"
	"	adrp x16, agent_real_syscall\n"
	"	ldr x16, [x16, #:lo12:agent_real_syscall]\n"
	"	cbz x16, agent_call_early\n"
	"	br x16\n"
	".size syscall, . - syscall\n");
#endif

static long (*real_syscall)(CALL_PARAMETERS);

/* Before the constructor. */
__attribute__((used)) long agent_call_early(CALL_PARAMETERS)
{
	return AGENT_BEHIND(syscall)(CALL_ARGUMENTS);
}

static bool is_wait(long operation)
{
	const int what = (int)operation & FUTEX_CMD_MASK;

	return what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET || what == FUTEX_LOCK_PI;
}

/* Those that wait and those that wake; the agent's own are while it is busy. */
__attribute__((used)) long agent_call_futex(CALL_PARAMETERS)
{
	struct agent_thread *t = agent_here();
	uint64_t since, slept;
	long r;

	if (!t || t->is_busy)
		return AGENT_BEHIND(syscall)(CALL_ARGUMENTS);
	if (!is_wait(b)) {
		agent_pay();
		return AGENT_BEHIND(syscall)(CALL_ARGUMENTS);
	}
	slept = t->slept_ns;
	since = agent_now(CLOCK_MONOTONIC);
	r = AGENT_BEHIND(syscall)(CALL_ARGUMENTS);
	if (r == 0)
		agent_woken(t, since, slept);
	return r;
}

/* --- dlopen */

static void *(*real_dlopen)(const char *path, int flags);
AGENT_EXPORTED void *dlopen(const char *path, int flags);

/* By a path alone the caller does not matter; else what is loaded is looked at later. */
AGENT_EXPORTED void *dlopen(const char *path, int flags)
{
	void *handle;

	if (!path || !strchr(path, '/') || strchr(path, '$')) {
		agent_find_later();
		return AGENT_BEHIND(dlopen)(path, flags);
	}
	handle = AGENT_BEHIND(dlopen)(path, flags);
	agent_find_again();
	return handle;
}

void agent_calls_init(void)
{
	agent_real_syscall = AGENT_BEHIND(syscall);
	(void)AGENT_BEHIND(dlopen);
}
