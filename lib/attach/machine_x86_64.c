#include "attach/machine.h"

#if defined(__x86_64__)

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

enum {
	RED_ZONE = 128,
	/* results of an interrupted system call, which only the kernel sees */
	RESTART_SYS = 512,
	RESTART_NOINTR = 513,
	RESTART_NOHAND = 514,
	RESTART_BLOCK = 516,
	SYSCALL_BYTES = 2,
	CODE_OF_64_BITS = 0x33,
	EXTENDED_SOFTWARE = 464, /* where the kernel describes the extended state */
};

#define EXTENDED_MAGIC     0x46505853u
#define EXTENDED_MAGIC_END 0x46505845u

struct extended_software {
	uint32_t magic, bytes_with_end;
	uint64_t features;
	uint32_t bytes, unused[7];
};

/* --- registers */

static int get_regs(pid_t tid, struct user_regs_struct *to)
{
	struct iovec part = {to, sizeof(*to)};

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) ? -errno : 0;
}

int attach_regs_set(pid_t tid, const struct user_regs_struct *from)
{
	struct user_regs_struct copy = *from;
	struct iovec part = {&copy, sizeof(copy)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) ? -errno : 0;
}

int attach_entry_of(pid_t tid, struct attach_entry *out)
{
	struct user_regs_struct r;
	int rc = get_regs(tid, &r);

	if (rc == 0)
		*out = (struct attach_entry){r.orig_rax, r.rdi, r.rsp, r.orig_rax};
	return rc;
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

int attach_state_take(struct attach_state *st, pid_t tid)
{
	int rc = get_regs(tid, &st->regs);

	if (rc)
		return rc;
	st->tls = st->regs.fs_base;
	st->call = waiting_call(&st->regs);
	return st->regs.cs == CODE_OF_64_BITS ? 0 : -EAGAIN;
}

int attach_state_keep(struct attach_state *st, pid_t tid)
{
	struct iovec part = {st->extended, sizeof(st->extended)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &part) ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(st->mask), &st->mask))
		return -errno;
	st->extended_bytes = part.iov_len;
	return 0;
}

void attach_extended_set(pid_t tid, struct attach_state *st)
{
	struct iovec part = {st->extended, st->extended_bytes};

	(void)ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &part);
}

void attach_state_fill(const struct attach_state *st, struct attach_place *out)
{
	const struct user_regs_struct *r = &st->regs;
	const uint64_t by_number[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
				      r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
				      r->r12, r->r13, r->r14, r->r15, r->rip};

	out->machine = &cfi_machine_x86_64;
	memcpy(out->reg, by_number, sizeof(by_number));
	out->pc = r->rip;
}

/* --- the interrupted system call */

bool attach_state_repeats(const struct attach_state *st, struct user_regs_struct *out)
{
	*out = st->regs;
	if (st->call < 0 || (int64_t)st->regs.rax != -EINTR)
		return false;
	out->rax = (uint64_t)-RESTART_NOINTR;
	return true;
}

struct user_regs_struct attach_state_settled(const struct attach_state *st)
{
	struct user_regs_struct r = st->regs;

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

/* The registers say it. */
bool attach_state_must_enter(const struct attach_state *st)
{
	(void)st;
	return false;
}

void attach_state_entered(struct attach_state *st, pid_t tid)
{
	(void)st;
	(void)tid;
}

/* --- the frame of a call */

static uint64_t find_code(const struct attach_space *s, const void *code, size_t len)
{
	for (size_t i = 0; i < s->nr_objects; i++) {
		const struct attach_object *o = &s->object[i];
		uint64_t found =
		    o->kind == ATTACH_LIBC ? attach_code(s, o->start, o->end, code, len) : 0;

		if (found)
			return found;
	}
	return 0;
}

uint64_t attach_restorer(const struct attach_space *s)
{
	/* mov $15, %rax; syscall: rt_sigreturn */
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

	return find_code(s, code, sizeof(code));
}

/* The code above overwrites the result. With a pointer as its number this call does nothing, and
 * goes on to the other. */
uint64_t attach_returner(const struct attach_space *s)
{
	static const uint8_t code[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */

	return find_code(s, code, sizeof(code));
}

/* The kernel's struct rt_sigframe, up to what a return from it reads. */
struct frame {
	uint64_t restorer;
	ucontext_t context;
};

static void fill_context(const struct attach_state *st, uint64_t extended, ucontext_t *to)
{
	const struct user_regs_struct r = attach_state_settled(st);
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

static bool write_extended(const struct attach_space *s, struct attach_state *st, uint64_t at)
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

bool attach_frame_push(const struct attach_space *s, struct attach_state *st,
		       const struct attach_ways *w, const struct attach_call *call,
		       struct user_regs_struct *out)
{
	size_t len = call->text ? strlen(call->text) + 1 : 0;
	/* always at the same places: a frame that is in use is written anew as it is */
	uint64_t text = st->regs.rsp - RED_ZONE - ATTACH_TEXT_BYTES;
	uint64_t extended = (text - st->extended_bytes - 8) & ~UINT64_C(63);
	struct frame frame = {.restorer = w->restorer};
	uint64_t sp;

	st->has_result = call->result && w->returner;
	st->frame = ((extended - sizeof(frame)) & ~UINT64_C(15)) - 8;
	if (st->has_result) /* below the other, whose address has another remainder by 16 */
		st->frame = (st->frame - sizeof(frame)) & ~UINT64_C(15);
	sp = st->frame - (st->has_result ? 8 : 0);
	st->return_sp = sp + 8;
	fill_context(st, extended, &frame.context);
	if (len > ATTACH_TEXT_BYTES || (len && !attach_space_write(s, text, call->text, len)) ||
	    !write_extended(s, st, extended) ||
	    !attach_space_write(s, st->frame, &frame, sizeof(frame)) ||
	    (st->has_result && !attach_space_write(s, sp, &w->returner, sizeof(w->returner))))
		return false;
	*out = st->regs;
	out->rip = call->function;
	out->rsp = sp;
	out->rdi = len ? text : call->argument[0];
	out->rsi = call->argument[1];
	out->rdx = call->argument[2];
	out->rax = 0;
	out->rbp = 0;
	out->orig_rax = (uint64_t)-1;
	out->eflags &= ~UINT64_C(0x50500); /* direction, trap, resume, alignment */
	return true;
}

#endif
