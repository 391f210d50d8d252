/*
 * Filters of system calls (seccomp), which a program installs to forbid itself, and all that it
 * starts, what it does not need: the agent's calls may be among that. So before the kernel has such
 * a filter it is run here, for each call of the agent. What it answers with an error does no harm,
 * as the agent has then to do without; what kills, or raises a signal, is not done any more.
 *
 * A child by fork inherits what is known. A program that is executed has the agent only if none of
 * its calls is forbidden, so that it need not look for filters of before. Those that are installed
 * without libc are not seen.
 */
#include "agent/heap/times.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	MAX_INSTRUCTIONS = 4096,
	CLOEXEC = 02000000,
	NO_WAIT = 04400, /* O_NONBLOCK, O_NOCTTY */
#if defined(__x86_64__)
	ARCHITECTURE = AUDIT_ARCH_X86_64,
#elif defined(__i386__)
	ARCHITECTURE = AUDIT_ARCH_I386,
#else
	ARCHITECTURE = AUDIT_ARCH_AARCH64,
#endif
	CHILD = AGENT_MAY_CONNECT,
	TIMES = AGENT_MAY_TIME | CHILD,
};

#if defined(__i386__)
/* As libc makes them: numbers of the same name are of narrower calls. */
#undef SYS_mmap
#undef SYS_fcntl
#undef SYS_geteuid
#undef SYS_fstat
#undef SYS_getuid
#undef SYS_getgid
#define SYS_mmap       SYS_mmap2
#define SYS_fcntl      SYS_fcntl64
#define SYS_geteuid    SYS_geteuid32
#define SYS_fstat      SYS_fstat64
#define SYS_newfstatat SYS_fstatat64
#define SYS_getuid     SYS_getuid32
#define SYS_getgid     SYS_getgid32
#endif

/* Arguments are those that filters look at; others are 0. */
static const struct {
	int nr;
	uint32_t of; /* enum agent_may */
	uint64_t argument[4];
} calls[] = {
    {SYS_mmap, AGENT_MAY_MAP | CHILD, {0, 4096, 3}},
    {SYS_mmap,
     AGENT_MAY_MAP | CHILD,
     {0, 4096, 3, 0x4022}},                    /* of our own: private, anonymous, noreserve */
    {SYS_mmap, CHILD, {0, 4096, 3, 0x4021}},   /* shared */
    {SYS_mmap, CHILD, {0, 4096, 3, 1}},        /* a file's, shared */
    {SYS_mmap, CHILD, {0, 4096, 3, 0x100001}}, /* the same, at a place */
    {SYS_mmap, CHILD, {0, 4096, 0, 0x22}},
    {SYS_madvise, CHILD, {0, 4096, 16}},
    {SYS_munmap, AGENT_MAY_UNMAP | CHILD, {0}},
    {SYS_madvise, CHILD, {0, 4096, 18}},
    {SYS_madvise, CHILD, {0, 4096, 4}}, /* what it has of its parent's filter */
    {SYS_mprotect, CHILD, {0, 4096, 1}},
    {SYS_rt_sigprocmask, AGENT_MAY_PROBE | TIMES, {2}},
    {SYS_rt_sigprocmask, AGENT_MAY_PROBE | TIMES, {(uint32_t)-1}},
    {SYS_gettid, AGENT_MAY_ASK_TID | TIMES, {0}},
    {SYS_getpid, AGENT_MAY_ASK_PID | TIMES, {0}},
    {SYS_mincore, AGENT_MAY_ASK_PAGES, {0}},
    {SYS_getrandom, AGENT_MAY_ASK_RANDOM | TIMES, {0, 8, 1}},
    {SYS_clock_gettime, AGENT_MAY_READ_CLOCK | TIMES, {1}},
    {SYS_clock_gettime, AGENT_MAY_READ_CLOCK | TIMES, {2}},
    {SYS_clock_gettime, AGENT_MAY_READ_CLOCK | TIMES, {3}},
    {SYS_sched_yield, AGENT_MAY_YIELD, {0}},
    {SYS_rt_sigreturn, AGENT_MAY_TIME, {0}},
    {SYS_rt_sigaction, AGENT_MAY_TIME, {63}},
    {SYS_timer_create, AGENT_MAY_TIME, {0}},
    {SYS_timer_settime, AGENT_MAY_TIME, {0}},
    {SYS_timer_delete, AGENT_MAY_TIME, {0}},
    {SYS_tgkill, AGENT_MAY_TIME, {0}},
    {SYS_uname, AGENT_MAY_TIME, {0}},
    {SYS_socket, CHILD, {1, 5 | CLOEXEC}},
    {SYS_connect, CHILD, {3}},
    {SYS_sendto, CHILD, {3, 0, 24, 0x4000}},  /* MSG_NOSIGNAL */
    {SYS_recvmsg, CHILD, {3, 0, 0x40000000}}, /* MSG_CMSG_CLOEXEC */
    {SYS_getsockopt, CHILD, {3, 1, 17}},
    {SYS_setsockopt, CHILD, {3, 1, 20}},
    {SYS_geteuid, CHILD, {0}},
    {SYS_fstat, CHILD, {3}},
    {SYS_newfstatat, CHILD, {3, 0, 0, 0x1000}}, /* AT_EMPTY_PATH */
    {SYS_fcntl, CHILD, {3, 1034}},
    {SYS_fcntl, CHILD, {3, 1030, 3}},
    {SYS_pread64, CHILD, {3}},
    {SYS_close, CHILD, {3}},
    {SYS_prlimit64, CHILD, {0, 9}},
    {SYS_nanosleep, AGENT_MAY_YIELD, {0}},
    /* what looks at programs that are executed */
    {SYS_openat, AGENT_MAY_START, {(uint32_t)-100, 0, CLOEXEC}},
    {SYS_openat, AGENT_MAY_START, {(uint32_t)-100, 0, CLOEXEC | NO_WAIT}},
    {SYS_getuid, AGENT_MAY_START, {0}},
    {SYS_getgid, AGENT_MAY_START, {0}},
    {SYS_fgetxattr, AGENT_MAY_START, {3}},
    {SYS_faccessat, AGENT_MAY_START, {(uint32_t)-100}},
    {SYS_sigaltstack, AGENT_MAY_START, {0}},
#if defined(__i386__)
    {SYS_clock_gettime64, AGENT_MAY_READ_CLOCK | TIMES, {1}},
    {SYS_clock_gettime64, AGENT_MAY_READ_CLOCK | TIMES, {2}},
    {SYS_clock_gettime64, AGENT_MAY_READ_CLOCK | TIMES, {3}},
    {SYS_statx, CHILD, {3, 0, 0x1000}},
    {SYS_socketcall, CHILD, {1}}, /* of each number the call that is made of it */
    {SYS_socketcall, CHILD, {3}},
    {SYS_socketcall, CHILD, {9}},
    {SYS_socketcall, CHILD, {11}},
    {SYS_socketcall, CHILD, {14}},
    {SYS_socketcall, CHILD, {15}},
    {SYS_socketcall, CHILD, {17}},
#endif
};

/* --- the machine of filters: what the kernel permits of it in those of system calls */

struct machine {
	const struct seccomp_data *data;
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool calculate(struct machine *m, const struct sock_filter *i)
{
	const uint32_t by = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_MUL:
		m->a *= by;
		return true;
	case BPF_DIV:
		m->a = by ? m->a / by : 0;
		return by;
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_LSH:
		m->a = by < 32 ? m->a << by : 0;
		return true;
	case BPF_RSH:
		m->a = by < 32 ? m->a >> by : 0;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

static bool load(const struct machine *m, const struct sock_filter *i, uint32_t *to)
{
	switch (BPF_MODE(i->code)) {
	case BPF_ABS:
		if (i->k % 4 || i->k > sizeof(*m->data) - 4)
			return false;
		memcpy(to, (const char *)m->data + i->k, 4);
		return true;
	case BPF_IMM:
		*to = i->k;
		return true;
	case BPF_LEN:
		*to = sizeof(*m->data);
		return true;
	case BPF_MEM:
		*to = i->k < BPF_MEMWORDS ? m->memory[i->k] : 0;
		return i->k < BPF_MEMWORDS;
	default:
		return false;
	}
}

/* How far it goes on beyond the next. */
static uint32_t jump(const struct machine *m, const struct sock_filter *i)
{
	const uint32_t with = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return i->k;
	case BPF_JEQ:
		return m->a == with ? i->jt : i->jf;
	case BPF_JGT:
		return m->a > with ? i->jt : i->jf;
	case BPF_JGE:
		return m->a >= with ? i->jt : i->jf;
	case BPF_JSET:
		return m->a & with ? i->jt : i->jf;
	default:
		return MAX_INSTRUCTIONS;
	}
}

/* False: it is not known. */
static bool step(struct machine *m, const struct sock_filter *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		return load(m, i, &m->a);
	case BPF_LDX:
		return load(m, i, &m->x);
	case BPF_ST:
	case BPF_STX:
		if (i->k < BPF_MEMWORDS)
			m->memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? m->a : m->x;
		return i->k < BPF_MEMWORDS;
	case BPF_ALU:
		return calculate(m, i);
	case BPF_MISC:
		*(BPF_MISCOP(i->code) == BPF_TXA ? &m->a : &m->x) =
		    BPF_MISCOP(i->code) == BPF_TXA ? m->x : m->a;
		return true;
	default:
		return false;
	}
}

/* What the filter answers. What is not known, or the kernel would refuse, kills. */
static uint32_t run(const struct sock_fprog *program, const struct seccomp_data *data)
{
	struct machine m = {.data = data};

	for (uint32_t at = 0; at < program->len; at++) {
		const struct sock_filter *i = &program->filter[at];

		if (BPF_CLASS(i->code) == BPF_RET)
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		if (BPF_CLASS(i->code) == BPF_JMP) {
			uint32_t by = jump(&m, i);

			if (by >= program->len - at)
				break;
			at += by;
		} else if (!step(&m, i)) {
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* An error that is none (0) is a result. */
static bool is_harmless(uint32_t answer)
{
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return true;
	case SECCOMP_RET_ERRNO:
		return answer & SECCOMP_RET_DATA;
	default:
		return false;
	}
}

static uint32_t forbidden_by(const struct sock_fprog *program)
{
	struct seccomp_data data = {.arch = ARCHITECTURE};
	uint32_t forbidden = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		data.nr = calls[i].nr;
		memcpy(data.args, calls[i].argument, sizeof(calls[i].argument));
		if ((forbidden & calls[i].of) != calls[i].of && !is_harmless(run(program, &data)))
			forbidden |= calls[i].of;
	}
	return forbidden;
}

/* --- the program's */

/* Does while it is permitted what will be forbidden: connects, asks the kernel, ends the timers. */
static void prepare(uint32_t forbidden)
{
	if (forbidden & agent_needs())
		agent_attach_now();
	if (forbidden & ~agent.forbidden & AGENT_MAY_PROBE)
		agent_stack_settle();
	if (forbidden & ~agent.forbidden & AGENT_MAY_TIME && agent_alive() &&
	    agent.wants & HEAP_WANTS_TIMES) {
		agent_times_stop();
		(void)agent_missed(HEAP_MISS_TIMES, "");
	}
	if (!agent.forbidden_ns)
		agent.forbidden_ns = agent_now();
}

uint32_t agent_clock_stopping(void)
{
	const uint32_t before = agent.forbidden;
	const uint32_t forbidden = AGENT_MAY_READ_CLOCK | AGENT_MAY_START;

	prepare(forbidden);
	__atomic_fetch_or(&agent.forbidden, forbidden, __ATOMIC_RELAXED);
	return before;
}

uint32_t agent_filtering(bool is_strict, const void *program)
{
	const struct sock_fprog *p = program;
	const uint32_t before = agent.forbidden;
	uint32_t forbidden = is_strict ? UINT32_MAX : 0;

	if (agent_has_no_locals())
		return before;
	if (!is_strict) {
		if (!agent_is_readable(p, sizeof(*p)) || !p->len || p->len > MAX_INSTRUCTIONS ||
		    !agent_is_readable(p->filter, p->len * sizeof(*p->filter)))
			return before; /* so says the kernel */
		forbidden = forbidden_by(p);
	}
	if (forbidden)
		prepare(forbidden);
	__atomic_fetch_or(&agent.forbidden, forbidden, __ATOMIC_RELAXED);
	return before;
}

void agent_not_filtering(uint32_t before)
{
	__atomic_store_n(&agent.forbidden, before, __ATOMIC_RELAXED);
}
