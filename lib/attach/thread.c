/* NOLINTBEGIN(cert-err34-c): numbers of the kernel, in its own words */
#include "attach/thread.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

enum {
	STOP_NS = 50000000,
	STEP_NS = 5000000000, /* between two system calls of a call */
	SPIN_NS = 2000000,
	RED_ZONE = 128,
	MAX_EXTENDED = 64 << 10,
	/* results of an interrupted system call, which only the kernel sees */
	RESTART_SYS = 512,
	RESTART_NOINTR = 513,
	RESTART_NOHAND = 514,
	RESTART_BLOCK = 516,
	SYSCALL_BYTES = 2,
	TLS_BYTES = 4096,        /* on both sides of the thread pointer */
	CALL_BYTES = 256 << 10,  /* of stack that a call uses */
	EXTENDED_SOFTWARE = 464, /* where the kernel describes the extended state */
};

#define EXTENDED_MAGIC     0x46505853u
#define EXTENDED_MAGIC_END 0x46505845u

struct extended_software {
	uint32_t magic, bytes_with_end;
	uint64_t features;
	uint32_t bytes, unused[7];
};

struct state {
	struct user_regs_struct regs;
	uint64_t mask;
	uint8_t extended[MAX_EXTENDED];
	size_t extended_bytes;
	bool is_called; /* its registers are not its own */
	uint64_t frame; /* of the call */
	uint8_t tls[2 * TLS_BYTES];
	uint64_t tls_at, tls_bytes;
};

/* --- waiting */

/* The status, within the time. 0; -EAGAIN: it does not stop; -ESRCH: it has ended. */
static int await(pid_t tid, uint64_t limit_ns, int *status)
{
	const uint64_t start = clock_monotonic_ns();
	const struct timespec pause = {0, 50000};

	for (;;) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);
		uint64_t past;

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		past = clock_monotonic_ns() - start;
		if (past > limit_ns)
			return -EAGAIN;
		if (past < SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_call_stop(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* --- registers */

static int get_regs(pid_t tid, struct user_regs_struct *to)
{
	struct iovec part = {to, sizeof(*to)};

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) ? -errno : 0;
}

static int set_regs(pid_t tid, const struct user_regs_struct *from)
{
	struct user_regs_struct copy = *from;
	struct iovec part = {&copy, sizeof(copy)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) ? -errno : 0;
}

static int get_state(pid_t tid, struct state *st)
{
	struct iovec part = {st->extended, sizeof(st->extended)};
	int rc = get_regs(tid, &st->regs);

	if (rc)
		return rc;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &part) ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(st->mask), &st->mask))
		return -errno;
	st->extended_bytes = part.iov_len;
	return 0;
}

/* The number of the system call that was interrupted, else -1. */
static int64_t waiting_call(const struct user_regs_struct *r)
{
	int64_t result = -(int64_t)r->rax;

	if ((int64_t)r->orig_rax < 0 ||
	    (result != EINTR && result != RESTART_SYS && result != RESTART_NOINTR &&
	     result != RESTART_NOHAND && result != RESTART_BLOCK))
		return -1;
	return (int64_t)r->orig_rax;
}

static bool has_pending_signal(pid_t tid)
{
	char path[64], *line;
	unsigned long long pending = 0, shared = 0, blocked = 0;
	struct buf text;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	buf_init(&text, 64 << 10);
	if (root_load(&root_live, path, &text) == 0) {
		line = strstr(buf_str(&text), "\nSigPnd:");
		if (line)
			(void)sscanf(line, "\nSigPnd: %llx", &pending);
		line = strstr(buf_str(&text), "\nShdPnd:");
		if (line)
			(void)sscanf(line, "\nShdPnd: %llx", &shared);
		line = strstr(buf_str(&text), "\nSigBlk:");
		if (line)
			(void)sscanf(line, "\nSigBlk: %llx", &blocked);
	}
	buf_fini(&text);
	return (pending | shared) & ~blocked;
}

/* Some calls end by any interruption, also by ours: they are repeated, unless a signal came. */
static void repeat_call(pid_t tid, struct user_regs_struct *r)
{
	static const int calls[] = {SYS_epoll_wait,      SYS_epoll_pwait, SYS_epoll_pwait2,
				    SYS_rt_sigtimedwait, SYS_semop,       SYS_semtimedop,
				    SYS_msgrcv,          SYS_msgsnd,      SYS_io_getevents};

	if ((int64_t)r->rax != -EINTR || has_pending_signal(tid))
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if ((int64_t)r->orig_rax == calls[i])
			r->rax = (uint64_t)-RESTART_NOINTR;
}

/* As the thread goes on where the kernel does not look at the result of its call. */
static struct user_regs_struct settled(struct user_regs_struct r)
{
	if ((int64_t)r.orig_rax >= 0)
		switch (-(int64_t)r.rax) {
		case RESTART_SYS:
		case RESTART_NOINTR:
			r.rip -= SYSCALL_BYTES;
			r.rax = r.orig_rax;
			break;
		case RESTART_NOHAND:
		case RESTART_BLOCK:
			r.rax = (uint64_t)-EINTR;
			break;
		default:
			break;
		}
	r.orig_rax = (uint64_t)-1;
	return r;
}

/* --- stopping */

/* In a restartable sequence, or with a shadow of its stack, a thread is left alone. */
static bool has_sequence(pid_t tid)
{
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint64_t section = 0;

	if (ptrace((enum __ptrace_request)0x420f /* PTRACE_GET_RSEQ_CONFIGURATION */, tid,
		   sizeof(rseq), &rseq) < 0 ||
	    !rseq.pointer)
		return false;
	errno = 0;
	section = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, rseq.pointer + 8, NULL);
	return errno || section;
}

int attach_thread_stop(struct attach_thread *t, pid_t tid)
{
	struct state *st = mem_zalloc(sizeof(*st));
	int status, rc = 0;

	*t = (struct attach_thread){.tid = tid, .state = st};
	if (!st)
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD)) {
		rc = -errno;
		mem_free(st);
		return rc;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	rc = await(tid, STOP_NS, &status);
	if (rc == -EAGAIN) /* it sleeps where nothing wakes it: it is ours until it stops */
		rc = await(tid, 20 * (uint64_t)STOP_NS, &status) ?: 0;
	if (rc == 0 && !is_event_stop(status)) { /* a signal came first: it is delivered */
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)WSTOPSIG(status));
		mem_free(st);
		return -EAGAIN;
	}
	if (rc == 0)
		rc = WSTOPSIG(status) != SIGTRAP ? -EAGAIN /* the process is stopped */
						 : get_regs(tid, &st->regs);
	if (rc == 0 && has_sequence(tid))
		rc = -EAGAIN;
	if (rc) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		mem_free(st);
	}
	return rc;
}

bool attach_thread_place(const struct attach_thread *t, struct attach_place *out)
{
	const struct state *st = t->state;
	const struct user_regs_struct *r = &st->regs;
	const uint64_t by_number[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
				      r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
				      r->r12, r->r13, r->r14, r->r15, r->rip};

	out->machine = &cfi_machine_x86_64;
	for (unsigned i = 0; i < out->machine->nr_regs && i < 17; i++)
		out->reg[i] = by_number[i];
	out->pc = r->rip;
	out->tls = r->fs_base;
	out->call = waiting_call(r);
	return r->cs == 0x33; /* 64 bits */
}

/* Where the kernel looks at the result of the interrupted call, also for a signal's handler. */
static void return_exactly(struct attach_thread *t, struct state *st)
{
	int status, sig = 0;

	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	if (await(t->tid, STEP_NS, &status))
		return;
	if (!is_event_stop(status))
		sig = WSTOPSIG(status);
	(void)set_regs(t->tid, &st->regs);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
}

void attach_thread_release(struct attach_thread *t)
{
	struct state *st = t->state;
	struct iovec extended;
	struct user_regs_struct r;

	if (!st)
		return;
	extended = (struct iovec){st->extended, st->extended_bytes};
	r = st->regs;
	repeat_call(t->tid, &st->regs);
	if (!st->is_called) {
		if (r.rax != st->regs.rax)
			(void)set_regs(t->tid, &st->regs);
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	} else {
		/* at each moment it also goes on rightly alone */
		r = settled(st->regs);
		(void)ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(st->mask), &st->mask);
		(void)ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &extended);
		(void)set_regs(t->tid, &r);
		return_exactly(t, st);
	}
	mem_free(st);
	t->state = NULL;
}

/* --- calls */

bool attach_find_ways(struct attach_space *s, struct attach_ways *out)
{
	/* mov $15, %rax; syscall: rt_sigreturn */
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	const struct attach_object *libc = attach_space_of_kind(s, ATTACH_LIBC),
				   *loader = attach_space_of_kind(s, ATTACH_LOADER);

	*out = (struct attach_ways){0};
	if (!libc || !loader)
		return false;
	out->restorer = attach_code(s, libc, code, sizeof(code));
	out->lock_start = loader->start;
	out->lock_end = loader->end;
	for (size_t i = 1; i < s->nr; i++) /* with the zeroed part of its data */
		if (s->mapping[i].start == out->lock_end && !s->mapping[i].inode &&
		    !*s->mapping[i].name)
			out->lock_end = s->mapping[i].end;
	return out->restorer;
}

/* The kernel's struct rt_sigframe, up to what a return from it reads. */
struct frame {
	uint64_t restorer;
	ucontext_t context;
};

static void fill_context(const struct state *st, uint64_t extended, ucontext_t *to)
{
	const struct user_regs_struct r = settled(st->regs);
	greg_t *g = to->uc_mcontext.gregs;

	memset(to, 0, sizeof(*to));
	to->uc_flags = 1 | 2 | 4;       /* extended state; ss is valid; and restored strictly */
	to->uc_stack.ss_flags = 0x7fff; /* invalid: the stack of signals stays as it is */
	g[REG_R8] = (greg_t)r.r8, g[REG_R9] = (greg_t)r.r9, g[REG_R10] = (greg_t)r.r10;
	g[REG_R11] = (greg_t)r.r11, g[REG_R12] = (greg_t)r.r12, g[REG_R13] = (greg_t)r.r13;
	g[REG_R14] = (greg_t)r.r14, g[REG_R15] = (greg_t)r.r15, g[REG_RDI] = (greg_t)r.rdi;
	g[REG_RSI] = (greg_t)r.rsi, g[REG_RBP] = (greg_t)r.rbp, g[REG_RBX] = (greg_t)r.rbx;
	g[REG_RDX] = (greg_t)r.rdx, g[REG_RAX] = (greg_t)r.rax, g[REG_RCX] = (greg_t)r.rcx;
	g[REG_RSP] = (greg_t)r.rsp, g[REG_RIP] = (greg_t)r.rip, g[REG_EFL] = (greg_t)r.eflags;
	g[REG_CSGSFS] = (greg_t)((r.cs & 0xffff) | (r.ss & 0xffff) << 48);
	to->uc_mcontext.fpregs = (void *)extended;
	memcpy(&to->uc_sigmask, &st->mask, sizeof(st->mask));
}

static bool write_extended(const struct attach_space *s, struct state *st, uint64_t at)
{
	struct extended_software sw = {.magic = EXTENDED_MAGIC,
				       .bytes = (uint32_t)st->extended_bytes,
				       .bytes_with_end = (uint32_t)st->extended_bytes + 4};
	const uint32_t end = EXTENDED_MAGIC_END;

	memcpy(&sw.features, st->extended + EXTENDED_SOFTWARE, sizeof(sw.features));
	return attach_space_write(s, at, st->extended, st->extended_bytes) &&
	       attach_space_write(s, at + EXTENDED_SOFTWARE, &sw, sizeof(sw)) &&
	       attach_space_write(s, at + st->extended_bytes, &end, sizeof(end));
}

/* Writes the frame below what the thread uses, and sets the registers for a call from there. */
static bool push(const struct attach_space *s, struct state *st, const struct attach_ways *w,
		 const struct attach_call *call, struct user_regs_struct *r)
{
	size_t len = call->text ? strlen(call->text) + 1 : 0;
	/* always at the same places: a frame that is in use is written anew as it is */
	uint64_t text = st->regs.rsp - RED_ZONE - ATTACH_TEXT_BYTES;
	uint64_t extended = (text - st->extended_bytes - 8) & ~UINT64_C(63);
	struct frame frame = {.restorer = w->restorer};

	st->frame = ((extended - sizeof(frame)) & ~UINT64_C(15)) - 8;
	fill_context(st, extended, &frame.context);
	if (len > ATTACH_TEXT_BYTES || (len && !attach_space_write(s, text, call->text, len)) ||
	    !write_extended(s, st, extended) ||
	    !attach_space_write(s, st->frame, &frame, sizeof(frame)))
		return false;
	*r = st->regs;
	r->rip = call->function;
	r->rsp = st->frame;
	r->rdi = len ? text : call->argument[0];
	r->rsi = call->argument[1];
	r->rdx = call->argument[2];
	r->rax = 0;
	r->rbp = 0;
	r->orig_rax = (uint64_t)-1;
	r->eflags &= ~UINT64_C(0x50500); /* direction, trap, resume, alignment */
	return true;
}

static void remember_tls(const struct attach_space *s, struct state *st)
{
	const struct attach_mapping *m = attach_space_mapping(s, st->regs.fs_base);
	uint64_t start = st->regs.fs_base - TLS_BYTES, end = st->regs.fs_base + TLS_BYTES;

	st->tls_bytes = 0;
	if (!m)
		return;
	st->tls_at = start > m->start ? start : m->start;
	end = end < m->end ? end : m->end;
	if (attach_space_read(s, st->tls_at, st->tls, end - st->tls_at))
		st->tls_bytes = end - st->tls_at;
}

/* The call is given up: what it wrote beside its stack are places in it, as where an error of the
 * loader goes on. */
static void repair_tls(const struct attach_space *s, const struct state *st)
{
	for (uint64_t i = 0; i + 8 <= st->tls_bytes; i += 8) {
		uint64_t before, now;

		memcpy(&before, st->tls + i, 8);
		if (attach_space_read(s, st->tls_at + i, &now, 8) && now != before &&
		    st->regs.rsp - now < CALL_BYTES)
			(void)attach_space_write(s, st->tls_at + i, &before, 8);
	}
}

/* Whether a call, which begins, waits for the loader. */
static bool waits_for_loader(const struct user_regs_struct *r, const struct attach_ways *w)
{
	return r->orig_rax == SYS_futex && r->rdi >= w->lock_start && r->rdi < w->lock_end;
}

static bool is_of_memory(uint64_t call)
{
	return call == SYS_futex || call == SYS_brk || call == SYS_mmap || call == SYS_munmap ||
	       call == SYS_mprotect || call == SYS_madvise || call == SYS_sched_yield ||
	       call == SYS_mremap;
}

/* Follows the call from one system call to the next until it returns. */
static int follow(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		  bool is_entry)
{
	struct state *st = t->state;
	struct user_regs_struct r;
	bool has_lock = false;
	int status, rc;

	for (;; is_entry = !is_entry) {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
			return -ESRCH;
		rc = await(t->tid, STEP_NS, &status);
		if (rc)
			return rc == -EAGAIN ? -ETIMEDOUT : rc;
		if (!is_call_stop(status)) {
			int sig = WSTOPSIG(status);

			/* none but those of errors are not blocked, and the stop of a process */
			if (!is_event_stop(status) &&
			    (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE))
				return -EFAULT;
			is_entry = !is_entry;
			continue;
		}
		if (!is_entry)
			continue;
		rc = get_regs(t->tid, &r);
		if (rc)
			return rc;
		if (r.orig_rax == SYS_rt_sigreturn && r.rsp == st->frame + 8)
			return 0;
		has_lock |= !is_of_memory(r.orig_rax);
		if (!has_lock && waits_for_loader(&r, w)) {
			t->lock = r.rdi;
			repair_tls(s, st);
			return -EAGAIN;
		}
	}
}

static void abandon(struct attach_thread *t)
{
	int status;

	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	if (await(t->tid, STEP_NS, &status) == 0)
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	mem_free(t->state);
	t->state = NULL;
}

int attach_thread_call(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		       const struct attach_call *call)
{
	struct state *st = t->state;
	const uint64_t all = ~UINT64_C(0);
	struct user_regs_struct r;
	bool was_called = st->is_called;
	int rc;

	rc = was_called ? 0 : get_state(t->tid, st);
	if (rc)
		return rc;
	if (!was_called)
		remember_tls(s, st);
	if (!push(s, st, w, call, &r))
		return -EFAULT;
	/* at each moment the thread returns rightly alone */
	rc = set_regs(t->tid, &r);
	if (rc)
		return rc;
	st->is_called = true;
	(void)ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all);
	/* after a call the end of the system call comes first, which is none */
	rc = follow(t, s, w, !was_called);
	if (rc == -ETIMEDOUT)
		abandon(t);
	return rc;
}

#else

bool attach_find_ways(struct attach_space *s, struct attach_ways *out)
{
	(void)s;
	*out = (struct attach_ways){0};
	return false;
}

int attach_thread_stop(struct attach_thread *t, pid_t tid)
{
	*t = (struct attach_thread){.tid = tid};
	return -ENOTSUP;
}

bool attach_thread_place(const struct attach_thread *t, struct attach_place *out)
{
	(void)t;
	(void)out;
	return false;
}

void attach_thread_release(struct attach_thread *t)
{
	(void)t;
}

int attach_thread_call(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		       const struct attach_call *call)
{
	(void)t;
	(void)s;
	(void)w;
	(void)call;
	return -ENOTSUP;
}

#endif
/* NOLINTEND(cert-err34-c) */
