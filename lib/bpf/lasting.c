/*
 * Records of struct bpf_waits_lasting, each followed by its lists.
 */
#include "bpf/lasting.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/sys.h"
#include "bpf/waits_shared.h"

#include <asm/perf_regs.h>
#include <asm/ptrace.h>
#include <errno.h>
#include <string.h>

enum { MAX_BITS = 64, HEAD_BYTES = offsetof(struct bpf_waits_lasting, kernel) };

/* Registers by their bit in samples, in words of struct pt_regs. */
static const struct {
	uint8_t bit;
	uint16_t at;
} regs[] = {
#if defined(__x86_64__)
#define REG(bit_, member_)                                                                         \
	{                                                                                          \
		PERF_REG_X86_##bit_, offsetof(struct pt_regs, member_) / 8                         \
	}
    REG(AX, rax),  REG(BX, rbx),  REG(CX, rcx),  REG(DX, rdx),  REG(SI, rsi),
    REG(DI, rdi),  REG(BP, rbp),  REG(SP, rsp),  REG(IP, rip),  REG(CS, cs),
    REG(SS, ss),   REG(R8, r8),   REG(R9, r9),   REG(R10, r10), REG(R11, r11),
    REG(R12, r12), REG(R13, r13), REG(R14, r14), REG(R15, r15), REG(FLAGS, eflags),
#undef REG
#elif defined(__aarch64__)
#define REG(n)                                                                                     \
	{                                                                                          \
		PERF_REG_ARM64_X##n, n                                                             \
	}
    REG(0),
    REG(1),
    REG(2),
    REG(3),
    REG(4),
    REG(5),
    REG(6),
    REG(7),
    REG(8),
    REG(9),
    REG(10),
    REG(11),
    REG(12),
    REG(13),
    REG(14),
    REG(15),
    REG(16),
    REG(17),
    REG(18),
    REG(19),
    REG(20),
    REG(21),
    REG(22),
    REG(23),
    REG(24),
    REG(25),
    REG(26),
    REG(27),
    REG(28),
    REG(29),
    {PERF_REG_ARM64_LR, 30},
    {PERF_REG_ARM64_SP, 31},
    {PERF_REG_ARM64_PC, 32},
#undef REG
#endif
};

#if defined(__x86_64__)
enum {
	BYTES = sizeof(struct pt_regs),
	FP = offsetof(struct pt_regs, rbp) / 8,
	SP = offsetof(struct pt_regs, rsp) / 8,
	PC_BIT = PERF_REG_X86_IP,
};

/* The code segment of programs of 64 bits. */
static bool is_64(const __u64 *words)
{
	enum { USER_CS = 0x33 };

	return words[offsetof(struct pt_regs, cs) / 8] == USER_CS;
}
#elif defined(__aarch64__)
enum { BYTES = sizeof(struct user_pt_regs), FP = 29, SP = 31, PC_BIT = PERF_REG_ARM64_PC };

static bool is_64(const __u64 *words)
{
	enum { PSTATE = 33, PSR_MODE32 = 0x10 };

	return !(words[PSTATE] & PSR_MODE32);
}
#else
enum { BYTES, FP = 0, SP = 0, PC_BIT = 0 };

static bool is_64(const __u64 *words)
{
	return words;
}
#endif
_Static_assert(BYTES <= BPF_LASTING_REGS * 8, "all have room");

void lasting_get_regs(struct lasting_regs *out)
{
	*out = (struct lasting_regs){.bytes = BYTES, .fp = FP, .sp = SP};
}

struct reader {
	waits_fn *fn;
	void *arg;
	size_t len; /* of text */
	uint64_t by_bit[MAX_BITS];
	uint64_t user[1 + BPF_LASTING_ADDRESSES];
	_Alignas(8) uint8_t text[2 * sizeof(struct bpf_waits_lasting)];
};

/* What there is of the program. 32-bit programs have other frames: of them only the first address
 * is used. */
static void set_program(struct reader *r, const struct bpf_waits_lasting *l, const uint64_t *user,
			struct waits_lasting *out)
{
	bool is_whole;

	if (!l->has_regs || !ARRAY_NR(regs))
		return;
	memset(r->by_bit, 0, sizeof(r->by_bit));
	for (size_t i = 0; i < ARRAY_NR(regs); i++)
		r->by_bit[regs[i].bit] = l->regs[regs[i].at];
	is_whole = is_64(l->regs);
	r->user[0] = r->by_bit[PC_BIT];
	out->nr_user = 1;
	if (is_whole && l->nr_user) {
		memcpy(r->user + 1, user, l->nr_user * sizeof(*user));
		out->nr_user += l->nr_user;
	}
	out->user = r->user;
	out->regs_abi = is_whole ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;
	out->regs = r->by_bit;
	out->stack = (const uint8_t *)(user + l->nr_user);
	out->stack_bytes = l->stack_bytes;
}

/* The bytes of the record at at; 0: not all of it is there; -EIO. */
static ssize_t record_bytes(const uint8_t *at, size_t len)
{
	const struct bpf_waits_lasting *l = (const void *)at;
	size_t bytes = HEAD_BYTES;

	if (len < bytes)
		return 0;
	if (l->nr_kernel > BPF_LASTING_ADDRESSES || l->nr_user > BPF_LASTING_ADDRESSES ||
	    l->stack_bytes > BPF_LASTING_STACK || l->stack_bytes % sizeof(uint64_t) ||
	    l->interpreted_bytes > BPF_LASTING_INTERPRETED ||
	    l->interpreted_bytes % sizeof(uint64_t))
		return -EIO;
	bytes +=
	    (l->nr_kernel + l->nr_user) * sizeof(uint64_t) + l->stack_bytes + l->interpreted_bytes;
	return len < bytes ? 0 : (ssize_t)bytes;
}

static void pass_record(struct reader *r, const uint8_t *at)
{
	const struct bpf_waits_lasting *l = (const void *)at;
	const uint64_t *lists = (const void *)(at + HEAD_BYTES); /* one after the other */
	struct waits_lasting out = {.time_ns = l->time_ns,
				    .pid = l->pid,
				    .tid = l->tid,
				    .cpu = l->cpu,
				    .kernel = lists,
				    .nr_kernel = l->nr_kernel};

	set_program(r, l, lists + l->nr_kernel, &out);
	if (l->interpreted_bytes)
		out.interpreted =
		    (const uint8_t *)(lists + l->nr_kernel + l->nr_user) + l->stack_bytes;
	out.interpreted_bytes = l->interpreted_bytes;
	for (int i = 0; i < BPF_NR_WAITS; i++) {
		out.kind = (enum waits_kind)i;
		out.ns = l->ns[i];
		out.futex = i == BPF_WAIT_OFF_CPU ? l->futex : 0;
		out.owner = i == BPF_WAIT_OFF_CPU ? l->owner : 0;
		if (out.ns)
			r->fn(&out, r->arg);
	}
}

/* Passes whole records, and keeps the rest. */
static int pass(struct reader *r)
{
	size_t at = 0;
	ssize_t bytes;

	while ((bytes = record_bytes(r->text + at, r->len - at)) > 0) {
		pass_record(r, r->text + at);
		at += (size_t)bytes;
	}
	r->len -= at;
	memmove(r->text, r->text + at, r->len);
	return (int)bytes;
}

static int read_all(struct reader *r, int fd)
{
	ssize_t n;
	int rc = 0;

	do {
		n = sys()->read(fd, r->text + r->len, sizeof(r->text) - r->len);
		if (n > 0) {
			r->len += (size_t)n;
			rc = pass(r);
		}
	} while (rc == 0 && (n > 0 || n == -EAGAIN || n == -EINTR));
	return rc ? rc : n < 0 ? (int)n : r->len ? -EIO : 0;
}

int lasting_read(int fd, waits_fn *fn, void *arg)
{
	struct reader *r;
	int rc;

	if (fd < 0)
		return fd;
	r = mem_alloc(sizeof(*r));
	rc = r ? 0 : -ENOMEM;
	if (r) {
		r->fn = fn;
		r->arg = arg;
		r->len = 0;
		rc = read_all(r, fd);
	}
	mem_free(r);
	sys()->close(fd);
	return rc;
}
