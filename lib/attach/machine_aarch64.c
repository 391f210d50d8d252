#include "attach/machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	INSTRUCTION_BYTES = 4,
	SUPERVISOR_CALL = 0xd4000001, /* svc #0 */
	MODE_OF_32_BITS = 0x10,       /* of pstate */
	BRANCH_TYPE = 0xc00,          /* of pstate: the last branch was indirect */
	/* sets of registers that glibc may not name */
	SET_SCALABLE = 0x405,  /* NT_ARM_SVE */
	SET_STREAMING = 0x40b, /* NT_ARM_SSVE */
	SET_MATRIX = 0x40c,    /* NT_ARM_ZA */
	SET_GUARDED = 0x410,   /* NT_ARM_GCS */
	IS_ACTIVE = 1,         /* of the flags of SET_SCALABLE: these registers, not only vectors */
	HEADER_BYTES = 16,     /* of these sets, also in a signal's frame */
	/* arch/arm64/include/uapi/asm/sigcontext.h */
	MAGIC_VECTORS = 0x46508001,
	MAGIC_SCALABLE = 0x53564501,
	VECTORS_BYTES = 32 * 16,
	RECORDS_BYTES = 4096,
};

/* --- registers */

static int get_set(pid_t tid, int set, void *to, size_t *bytes)
{
	struct iovec part = {to, *bytes};

	if (ptrace(PTRACE_GETREGSET, tid, set, &part))
		return -errno;
	*bytes = part.iov_len;
	return 0;
}

static int set_set(pid_t tid, int set, const void *from, size_t bytes)
{
	struct iovec part = {(void *)from, bytes};

	return ptrace(PTRACE_SETREGSET, tid, set, &part) ? -errno : 0;
}

int attach_regs_set(pid_t tid, const struct user_regs_struct *from)
{
	const int none = -1;
	int rc = set_set(tid, NT_PRSTATUS, from, sizeof(*from));

	return rc ? rc : set_set(tid, NT_ARM_SYSTEM_CALL, &none, sizeof(none));
}

int attach_entry_of(pid_t tid, struct attach_entry *out)
{
	struct user_regs_struct r;
	size_t bytes = sizeof(r), number_bytes = sizeof(int);
	int number = -1, rc = get_set(tid, NT_PRSTATUS, &r, &bytes);

	rc = rc ? rc : get_set(tid, NT_ARM_SYSTEM_CALL, &number, &number_bytes);
	if (rc == 0)
		*out = (struct attach_entry){(uint64_t)number, r.regs[0], r.sp, r.regs[0]};
	return rc;
}

/* Whether the instruction there is a system call. */
static bool is_system_call(pid_t tid, uint64_t pc)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, pc & ~UINT64_C(7), NULL);
	return !errno && (uint32_t)((uint64_t)word >> (pc & 4) * 8) == SUPERVISOR_CALL;
}

/* The call that was interrupted, and begins again at the thread's place, or has ended by EINTR.
 * What the kernel will do is not in the registers: it was in that call before. */
static int64_t waiting_call(const struct attach_state *st, pid_t tid)
{
	const struct user_regs_struct *r = &st->regs;

	if (is_system_call(tid, r->pc))
		return (int64_t)r->regs[8];
	if (st->before.number >= 0 && st->before.number == (int64_t)r->regs[8] &&
	    st->before.pc == r->pc && st->before.sp == r->sp && (int64_t)r->regs[0] == -EINTR &&
	    is_system_call(tid, r->pc - INSTRUCTION_BYTES))
		return st->before.number;
	return -1;
}

/* Whether the set begins with a header whose flags, or with a word that, says that it is in use. */
static bool is_in_use(pid_t tid, int set, bool has_header)
{
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, reserved;
	} h = {0};
	size_t bytes = sizeof(h);

	if (get_set(tid, set, &h, &bytes))
		return false;
	if (!has_header)
		return h.size & 1;
	return set == SET_MATRIX ? h.size > HEADER_BYTES : h.flags & IS_ACTIVE;
}

int attach_state_take(struct attach_state *st, pid_t tid)
{
	size_t bytes = sizeof(st->regs), tls_bytes = sizeof(st->tls);
	int rc = get_set(tid, NT_PRSTATUS, &st->regs, &bytes);

	if (rc)
		return rc;
	if (bytes != sizeof(st->regs) || st->regs.pstate & MODE_OF_32_BITS ||
	    is_in_use(tid, SET_STREAMING, true) || is_in_use(tid, SET_MATRIX, true) ||
	    is_in_use(tid, SET_GUARDED, false))
		return -EAGAIN;
	st->call = waiting_call(st, tid);
	return get_set(tid, NT_ARM_TLS, &st->tls, &tls_bytes);
}

int attach_state_keep(struct attach_state *st, pid_t tid)
{
	int rc;

	st->extended_bytes = sizeof(st->extended);
	st->has_scalable = get_set(tid, SET_SCALABLE, st->extended, &st->extended_bytes) == 0;
	if (!st->has_scalable) {
		st->extended_bytes = sizeof(st->extended);
		rc = get_set(tid, NT_FPREGSET, st->extended, &st->extended_bytes);
		if (rc)
			return rc;
	}
	return ptrace(PTRACE_GETSIGMASK, tid, sizeof(st->mask), &st->mask) ? -errno : 0;
}

void attach_extended_set(pid_t tid, struct attach_state *st)
{
	(void)set_set(tid, st->has_scalable ? (int)SET_SCALABLE : NT_FPREGSET, st->extended,
		      st->extended_bytes);
}

void attach_state_fill(const struct attach_state *st, struct attach_place *out)
{
	out->machine = &cfi_machine_aarch64;
	memcpy(out->reg, st->regs.regs, sizeof(st->regs.regs));
	out->reg[cfi_machine_aarch64.sp] = st->regs.sp;
	out->pc = st->regs.pc;
}

/* --- the interrupted system call */

bool attach_state_repeats(const struct attach_state *st, struct user_regs_struct *out)
{
	*out = st->regs;
	if (st->call < 0 || (int64_t)st->regs.regs[0] != -EINTR)
		return false;
	out->pc -= INSTRUCTION_BYTES;
	out->regs[0] = st->before.argument;
	return true;
}

/* A sleep would last its whole time again. */
struct user_regs_struct attach_state_settled(const struct attach_state *st)
{
	struct user_regs_struct r = st->regs;

	if (st->is_within && r.regs[8] == SYS_restart_syscall) {
		r.pc += INSTRUCTION_BYTES;
		r.regs[0] = (uint64_t)-EINTR;
	}
	return r;
}

bool attach_state_must_enter(const struct attach_state *st)
{
	return st->call >= 0 && (int64_t)st->regs.regs[0] != -EINTR && !st->is_within;
}

void attach_state_entered(struct attach_state *st, pid_t tid)
{
	struct attach_entry entry;

	st->is_within = true;
	if (attach_entry_of(tid, &entry) == 0 && entry.number == SYS_restart_syscall)
		st->regs.regs[8] = SYS_restart_syscall;
}

/* --- the frame of a call */

/* The kernel's own, of the vdso: this C library has none. */
uint64_t attach_restorer(const struct attach_space *s)
{
	/* mov x8, #139; svc #0: rt_sigreturn */
	static const uint32_t code[] = {0xd2801168, SUPERVISOR_CALL};

	for (size_t i = 0; i < s->nr; i++)
		if (strcmp(s->mapping[i].name, "[vdso]") == 0)
			return attach_code(s, s->mapping[i].start, s->mapping[i].end, code,
					   sizeof(code));
	return 0;
}

/* The result is still in its register. */
uint64_t attach_returner(const struct attach_space *s)
{
	(void)s;
	return 0;
}

struct record {
	uint32_t magic, size;
};

/* The kernel's struct rt_sigframe. */
struct frame {
	uint8_t info[128];
	uint64_t flags, link;
	struct {
		uint64_t sp;
		int32_t flags;
		uint64_t size;
	} stack;
	uint64_t mask;
	uint8_t unused[128 - sizeof(uint64_t)];
	_Alignas(16) uint64_t fault_address;
	uint64_t regs[31], sp, pc, pstate;
	_Alignas(16) uint8_t records[RECORDS_BYTES];
};

_Static_assert(offsetof(struct frame, fault_address) == 128 + 176, "as the kernel has it");
_Static_assert(offsetof(struct frame, records) == 128 + 176 + 288, "as the kernel has it");

/* Of the set of scalable registers: fpsr and fpcr come behind the predicates. */
static size_t scalable_bytes(size_t vl)
{
	return 32 * vl + 17 * (vl / 8);
}

/* The vectors, and scalable registers if they are in use. False: they have no room. */
static bool fill_records(const struct attach_state *st, uint8_t *to)
{
	struct {
		struct record head;
		uint32_t fpsr, fpcr;
		uint8_t vectors[VECTORS_BYTES];
	} v = {.head = {MAGIC_VECTORS, sizeof(v)}};
	const size_t offset = st->has_scalable ? HEADER_BYTES : 0;
	const uint8_t *from = st->extended + offset;
	struct record head = {MAGIC_SCALABLE, 0};
	uint16_t vl = 0, flags = 0;
	size_t bytes, status;

	if (st->has_scalable) {
		memcpy(&vl, st->extended + 8, sizeof(vl));
		memcpy(&flags, st->extended + 12, sizeof(flags));
	}
	bytes = scalable_bytes(vl);
	status = flags & IS_ACTIVE ? (bytes + 15) & ~(size_t)15 : VECTORS_BYTES;
	head.size = (uint32_t)((HEADER_BYTES + bytes + 15) & ~(size_t)15);
	if (sizeof(v) + head.size + sizeof(head) > RECORDS_BYTES ||
	    offset + status + 8 > st->extended_bytes)
		return false;
	if (!(flags & IS_ACTIVE))
		memcpy(v.vectors, from, VECTORS_BYTES);
	for (size_t i = 0; flags & IS_ACTIVE && i < 32; i++)
		memcpy(v.vectors + i * 16, from + i * vl, 16);
	memcpy(&v.fpsr, from + status, 4);
	memcpy(&v.fpcr, from + status + 4, 4);
	memcpy(to, &v, sizeof(v));
	if (flags & IS_ACTIVE) {
		memcpy(to + sizeof(v), &head, sizeof(head));
		memcpy(to + sizeof(v) + sizeof(head), &vl, sizeof(vl));
		memcpy(to + sizeof(v) + HEADER_BYTES, from, bytes);
	}
	return true;
}

static bool fill_frame(const struct attach_state *st, struct frame *f)
{
	const struct user_regs_struct r = attach_state_settled(st);

	memset(f, 0, sizeof(*f));
	f->stack.flags = 0x7fff; /* invalid: the stack of signals stays as it is */
	f->mask = st->mask;
	memcpy(f->regs, r.regs, sizeof(f->regs));
	f->sp = r.sp;
	f->pc = r.pc;
	f->pstate = r.pstate;
	return fill_records(st, f->records);
}

/* There is no red zone. */
bool attach_frame_push(const struct attach_space *s, struct attach_state *st,
		       const struct attach_ways *w, const struct attach_call *call,
		       struct user_regs_struct *out)
{
	size_t len = call->text ? strlen(call->text) + 1 : 0;
	/* always at the same places: a frame that is in use is written anew as it is */
	uint64_t text = st->regs.sp - ATTACH_TEXT_BYTES;
	struct frame frame;

	st->frame = (text - sizeof(frame)) & ~UINT64_C(15);
	st->return_sp = st->frame;
	if (len > ATTACH_TEXT_BYTES || !fill_frame(st, &frame) ||
	    (len && !attach_space_write(s, text, call->text, len)) ||
	    !attach_space_write(s, st->frame, &frame, sizeof(frame)))
		return false;
	*out = st->regs;
	out->pc = call->function;
	out->sp = st->frame;
	out->regs[0] = len ? text : call->argument[0];
	out->regs[1] = call->argument[1];
	out->regs[2] = call->argument[2];
	out->regs[29] = 0;
	out->regs[30] = w->restorer;
	out->pstate &=
	    ~(uint64_t)BRANCH_TYPE; /* else its first instruction must be a landing pad */
	return true;
}

#endif
