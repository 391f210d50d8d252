/*
 * Stacks of this very program, whose functions write down where they return to: what is unwound
 * from registers and bytes must be the same, address by address.
 */
#include "kit.h"
#include "test_unwind.h"

#include "base/perf_abi.h"

#include <dlfcn.h>

static struct test_sample sample;
static struct test_unwind unwind;

/* Where each function on the way to the trap returns to, outermost first; what is behind nr_truth
 * stays from the trap on. */
static volatile uint64_t truth[TEST_MAX_CHAIN];
static volatile size_t nr_truth;
static volatile int sink;
static void *volatile frame;

#define OWN __attribute__((noinline))
/* Who asks for its frame's address has a frame pointer, whatever the options are. */
#define KEEP_FRAME() (frame = __builtin_frame_address(0))
#define HERE()       (uint64_t) __builtin_extract_return_addr(__builtin_return_address(0))
#define ENTER()      (truth[nr_truth] = HERE(), nr_truth++)

OWN static void leaf(void)
{
	ENTER();
	TEST_TRAP();
	nr_truth--;
}

OWN static void recursive(int n)
{
	ENTER();
	if (n)
		recursive(n - 1);
	else
		leaf();
	nr_truth--;
	sink++;
}

/* A frame whose size only the program knows: its table goes by a register. */
OWN static void sized(int n)
{
	volatile char *room = __builtin_alloca((size_t)n);

	ENTER();
	room[0] = 1;
	recursive(3);
	nr_truth--;
	sink += room[0];
}

/* Registers that it must keep are full. */
OWN static int busy(int a, int b, int c, int d, int e, int f)
{
	int g = a * b, h = c * d, i = e * f, j = a ^ f;

	ENTER();
	sized(100 + a);
	nr_truth--;
	return a + b + c + d + e + f + g + h + i + j + sink;
}

/* Its last call is a jump: it is not on the stack (where the compiler optimizes). */
OWN static void tail(void)
{
	recursive(0);
}

OWN static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	ENTER();
	if (x == 3 && y == 1)
		leaf();
	nr_truth--;
	return (x > y) - (x < y);
}

static void call_leaf(void)
{
	leaf();
	sink++;
}

static void call_recursive(void)
{
	recursive(30);
	sink++;
}

static void call_busy(void)
{
	sink = busy(1, 2, 3, 4, 5, sink);
}

static void call_tail(void)
{
	tail();
	sink++;
}

/* Its call is its last instruction, as of functions that do not return: the return address is in
 * another function, whose table has other rules. Stores in *returns where it returns to. */
void last_call(void (*f)(void), volatile uint64_t *returns);
#if defined(__x86_64__)
__asm__(".text\n"
	".globl last_call\nlast_call:\n.cfi_startproc\nmov (%rsp), %rax\nmov %rax, (%rsi)\nsub "
	"$24, %rsp\n.cfi_adjust_cfa_offset "
	"24\ncall *%rdi\n"
	".cfi_endproc\n"
	"behind_it:\n.cfi_startproc\nadd $24, %rsp\nret\n.cfi_endproc\n");
#else
__asm__(".text\n"
	".globl last_call\nlast_call:\n.cfi_startproc\nstr x30, [x1]\nstr x30, [sp, "
	"#-16]!\n.cfi_def_cfa_offset 16\n"
	".cfi_offset 30, -16\nblr x0\n.cfi_endproc\n"
	"behind_it:\n.cfi_startproc\nldr x30, [sp], #16\nret\n.cfi_endproc\n");
#endif

OWN static void call_last(void)
{
	ENTER();
	nr_truth++;
	last_call(leaf, &truth[nr_truth - 1]);
	nr_truth -= 2;
	sink++;
}

static const struct {
	const char *what;
	void (*run)(void);
	size_t nr; /* functions that wrote themselves down */
} chains[] = {
    {"a leaf", call_leaf, 1},
    {"recursion", call_recursive, 32},
    {"a frame of any size", call_busy, 7},
    {"a tail call", call_tail, 2},
    {"a call at a function's end", call_last, 3},
};

/* The last nr of the truth are the chain's from its second on. */
static void check(const char *what, size_t nr)
{
	test_unwind_run(&unwind, &sample);
	if (unwind.nr < nr + 2 || unwind.end != UNWIND_WHOLE)
		fail_msg("%s: %zu of %zu, %s", what, unwind.nr, nr, unwind_end_name(unwind.end));
	for (size_t i = 0; i < nr; i++)
		if (unwind.chain[i + 1] != truth[nr - 1 - i])
			fail_msg("%s: place %zu is %lx, not %lx", what, i + 1,
				 (unsigned long)unwind.chain[i + 1],
				 (unsigned long)truth[nr - 1 - i]);
}

TEST(chains)
{
	for (size_t i = 0; i < NR(chains); i++) {
		nr_truth = 0;
		chains[i].run();
		assert_int_equal(nr_truth, 0);
		check(chains[i].what, chains[i].nr);
		assert_int_equal(unwind.exact[0], 1);
	}
}

/* From a library back into the program. */
TEST(library)
{
	int numbers[] = {3, 1};

	nr_truth = 0;
	qsort(numbers, NR(numbers), sizeof(*numbers), compare);
	check("a library", 2);
}

static size_t place_of(uint64_t address)
{
	for (size_t i = 0; i < unwind.nr; i++)
		if (unwind.chain[i] == address)
			return i;
	fail_msg("%lx is not in the chain", (unsigned long)address);
	return 0;
}

static volatile uint64_t interrupted; /* where the program's own signal came */

OWN static void on_signal(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *c = arg;

	(void)sig;
	(void)info;
#if defined(__x86_64__)
	interrupted = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
#else
	interrupted = c->uc_mcontext.pc;
#endif
	recursive(1);
	sink++;
}

OWN static void raise_signal(void)
{
	ENTER();
	raise(SIGUSR1);
	nr_truth--;
	sink++;
}

/* The handler's caller is the function that the signal interrupted, at its very address, and below
 * is all as without the signal. On a stack of its own the rest is not in the sample. */
TEST(signal)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	size_t at, i;

	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	nr_truth = 0;
	raise_signal();
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.end, UNWIND_WHOLE);
	at = place_of(interrupted);
	for (i = 0; i < unwind.nr; i++)
		assert_int_equal(unwind.exact[i / 64] >> i % 64 & 1,
				 i == 0 || i == at || i == at - 1);
	assert_true(place_of(truth[0]) > at);
	for (i = 0; i < 3; i++)
		assert_int_equal(unwind.chain[i + 1], truth[3 - i]);
}

/* No room for all, or for none. */
TEST(max)
{
	nr_truth = 0;
	recursive(30);
	for (size_t max = 0; max < 32; max++) {
		unwind.nr =
		    unwind_user(unwind.u, &unwind.process, 0, &sample.layout, &sample.record,
				unwind.chain, max, unwind.exact, &unwind.end);
		assert_int_equal(unwind.nr, max);
		assert_int_equal(unwind.end, UNWIND_MAX);
	}
}

/* Cut after each word: what is left is right, and it is said that it goes on. */
TEST(cut)
{
	size_t nr, all;

	nr_truth = 0;
	recursive(3);
	test_unwind_run(&unwind, &sample);
	all = nr = unwind.nr;
	for (size_t len = sample.stack_len & ~7ull; len; len -= 8) {
		sample.record.stack_len = len;
		test_unwind_run(&unwind, &sample);
		assert_true(unwind.nr <= nr);
		assert_int_equal(unwind.end, unwind.nr < all ? UNWIND_TRUNCATED : UNWIND_WHOLE);
		nr = unwind.nr;
		for (size_t i = 1; i < nr && i < 6; i++)
			assert_int_equal(unwind.chain[i], truth[5 - i]);
	}
	assert_true(nr < 3);
}

static const struct {
	const char *what;
	uint64_t abi;
	bool no_regs, no_stack, no_len;
	uint64_t user_regs;
} unfit[] = {
    {"of a kernel thread", .abi = 0},
    {"of an unknown kind", .abi = 3},
    {"without registers", .abi = 2, .no_regs = true},
    {"without stack", .abi = 2, .no_stack = true},
    {"of which no byte could be read", .abi = 2, .no_len = true},
    {"without program counter", .abi = 2, .user_regs = 0x80},
    {"without stack pointer", .abi = 2, .user_regs = 0x100},
};

TEST(unfit)
{
	nr_truth = 0;
	leaf();
	for (size_t i = 0; i < NR(unfit); i++) {
		struct test_sample s = sample;

		s.record.regs_abi = unfit[i].abi;
		s.record.regs = unfit[i].no_regs ? NULL : (const uint8_t *)s.reg;
		s.record.stack = unfit[i].no_stack ? NULL : s.stack;
		s.record.stack_len = unfit[i].no_len ? 0 : s.stack_len;
		if (unfit[i].user_regs)
			s.layout.user_regs = unfit[i].user_regs;
		test_unwind_run(&unwind, &s);
		if (unwind.nr || unwind.end != UNWIND_NO_REGS)
			fail_msg("%s: %s", unfit[i].what, unwind_end_name(unwind.end));
	}
}

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret: and the same without a frame */
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static const uint8_t frameless[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
				    0x48, 0x83, 0xc4, 0x08, 0xc3};
#else
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint8_t framed[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,
				 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
/* str x30, [sp, #-16]!; blr x0; ldr x30, [sp], #16; ret */
static const uint8_t frameless[] = {0xfe, 0x0f, 0x1f, 0xf8, 0x00, 0x00, 0x3f, 0xd6,
				    0xfe, 0x07, 0x41, 0xf8, 0xc0, 0x03, 0x5f, 0xd6};
#endif

OWN static void no_frames(void)
{
	ENTER();
	leaf();
	nr_truth--;
	sink++;
}

/* Code made at run time, that has no table. */
static void run_made(const uint8_t *code, size_t len)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void (*f)(void));

	assert_ptr_not_equal(p, MAP_FAILED);
	memcpy(p, code, len);
	assert_int_equal(mprotect(p, 4096, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache((char *)p, (char *)p + len);
	memcpy(&run, &p, sizeof(run));
	test_map(&unwind.lookup, (uint64_t)p, (uint64_t)p + 4096, 0, PROT_READ | PROT_EXEC,
		 "//anon");
	nr_truth = 0;
	run(no_frames);
	test_unwind_run(&unwind, &sample);
	munmap(p, 4096);
}

OWN static void call_made(const uint8_t *code, size_t len)
{
	KEEP_FRAME();
	run_made(code, len);
	sink++;
}

TEST(without_table)
{
	size_t nr = unwind.lookup.nr;

	call_made(framed, sizeof(framed));
	assert_true(unwind.nr > 5 && unwind.chain[1] == truth[1] && unwind.chain[2] == truth[0]);
	call_made(frameless, sizeof(frameless));
	assert_true(unwind.nr >= 3 && unwind.chain[1] == truth[1] && unwind.chain[2] == truth[0]);
	assert_int_not_equal(unwind.end, UNWIND_TRUNCATED);
	unwind.lookup.nr = nr;
}

/* What frame pointers tell, as the kernel follows them. */
static size_t by_pointers(uint64_t *out, size_t max)
{
#if defined(__x86_64__)
	uint64_t fp = sample.reg[6], sp = sample.reg[7];
#else
	uint64_t fp = sample.reg[29], sp = sample.reg[31];
#endif
	size_t nr = 0;

	while (nr < max && fp >= sp && fp - sp <= sample.stack_len - 16 && !(fp & 7)) {
		out[nr++] = trace_word(sample.stack + (fp - sp), 1);
		fp = trace_word(sample.stack + (fp - sp), 0);
	}
	return nr;
}

OWN static void framed_recursion(int n, void (*f)(void))
{
	KEEP_FRAME();
	ENTER();
	if (n)
		framed_recursion(n - 1, f);
	else
		f();
	nr_truth--;
	sink++;
}

#if defined(__x86_64__)
/* A leaf that keeps no frame, and a function without one that calls it. */
void bare_leaf(void);
void bare_caller(void);
extern const char bare_caller_ret[];
__asm__(".text\n"
	".globl bare_leaf\nbare_leaf:\n.cfi_startproc\nint3\nret\n.cfi_endproc\n"
	".globl bare_caller\nbare_caller:\n.cfi_startproc\nsub $24, %rsp\n.cfi_adjust_cfa_offset "
	"24\ncall bare_leaf\n"
	".globl bare_caller_ret\nbare_caller_ret:\nadd $24, %rsp\n.cfi_adjust_cfa_offset "
	"-24\nret\n.cfi_endproc\n");
#else
void bare_leaf(void);
void bare_caller(void);
extern const char bare_caller_ret[];
__asm__(".text\n"
	".globl bare_leaf\nbare_leaf:\n.cfi_startproc\nbrk 0\nret\n.cfi_endproc\n"
	".globl bare_caller\nbare_caller:\n.cfi_startproc\nstr x30, [sp, "
	"#-16]!\n.cfi_def_cfa_offset 16\n"
	".cfi_offset 30, -16\nbl bare_leaf\n"
	".globl bare_caller_ret\nbare_caller_ret:\nldr x30, [sp], #16\n.cfi_def_cfa_offset "
	"0\n.cfi_restore 30\nret\n"
	".cfi_endproc\n");
#endif

#if defined(__x86_64__)
/* As clone3: no table where it is in its system call, which a trap stands for. */
#define ASM_CALL(name, result, room)                                                               \
	".globl " name "\n" name ":\nlea 1f(%rip), %rcx\nmov $" result ", %rax\nint3\n1:\nret\n"   \
	".globl " name "_caller\n" name "_caller:\n.cfi_startproc\nsub $" room                     \
	", %rsp\n.cfi_adjust_cfa_offset " room "\ncall " name "\n.globl " name "_ret\n" name       \
	"_ret:\nadd $" room ", %rsp\n.cfi_adjust_cfa_offset -" room "\nret\n.cfi_endproc\n"
void in_syscall_caller(void), in_new_thread_caller(void);
extern const char in_syscall_ret[], in_new_thread_ret[];
__asm__(".text\n" ASM_CALL("in_syscall", "-38", "24") ASM_CALL("in_new_thread", "0", "16"));

TEST(syscall_without_table)
{
	in_syscall_caller();
	test_unwind_run(&unwind, &sample);
	assert_true(unwind.nr > 3);
	assert_int_equal(unwind.chain[1], (uint64_t)in_syscall_ret);
	/* the first word of a new thread's stack, which is aligned, is not its caller */
	in_new_thread_caller();
	test_unwind_run(&unwind, &sample);
	assert_true(unwind.nr == 1 || unwind.chain[1] != (uint64_t)in_new_thread_ret);
}
#endif

OWN static void framed_leaf(void)
{
	KEEP_FRAME();
	ENTER();
	TEST_TRAP();
	nr_truth--;
}

/* Callers that the chain by frame pointers lacks behind its first address: found; those that it has
 * are not told twice, and equal ones of a recursion not taken for one. */
static void check_join(void (*f)(void), size_t nr, uint64_t first)
{
	uint64_t by_pointer[TEST_MAX_CHAIN], lacking[8];
	size_t nr_pointers, got;
	bool is_whole = true;

	nr_truth = 0;
	framed_recursion(4, f);
	sample.record.stack_len = sample.stack_len < 512 ? sample.stack_len : 512;
	got = unwind_to_chain(unwind.u, &unwind.process, 0, &sample.layout, &sample.record, lacking,
			      NR(lacking), &is_whole);
	assert_false(is_whole);
	assert_int_equal(got, nr);
	assert_true(!nr || !first || lacking[0] == first);
	sample.record.stack_len = sample.stack_len;
	test_unwind_run(&unwind, &sample);
	nr_pointers = by_pointers(by_pointer, 4);
	assert_int_equal(nr_pointers, 4);
	assert_memory_equal(unwind.chain + 1, lacking, nr * sizeof(*lacking));
	assert_memory_equal(unwind.chain + 1 + nr, by_pointer, 4 * sizeof(*by_pointer));
}

TEST(join)
{
	check_join(bare_leaf, 1, 0);
	check_join(bare_caller, 2, (uint64_t)bare_caller_ret);
	check_join(framed_leaf, 0, 0);
}

#if defined(__x86_64__)
/* Between functions with frame pointers: one that has none, and one that only saves its caller's.
 * And a leaf that uses the register for the address of something else. */
void bare_between(void (*f)(void)), bare_saving(void (*f)(void)), bare_other(void);
__asm__(".text\n"
	".globl bare_between\nbare_between:\n.cfi_startproc\nsub $24, "
	"%rsp\n.cfi_adjust_cfa_offset 24\ncall *%rdi\nadd $24, %rsp\n.cfi_adjust_cfa_offset "
	"-24\nret\n.cfi_endproc\n"
	".globl bare_saving\nbare_saving:\n.cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset "
	"8\n.cfi_rel_offset %rbp, 0\ncall *%rdi\npop %rbp\n.cfi_adjust_cfa_offset "
	"-8\nret\n.cfi_endproc\n"
	".globl bare_other\nbare_other:\n.cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset "
	"8\n.cfi_rel_offset %rbp, 0\nlea 200(%rsp), %rbp\nint3\npop "
	"%rbp\n.cfi_adjust_cfa_offset "
	"-8\nret\n.cfi_endproc\n");

static void (*volatile innermost)(void);

OWN static void framed_behind(void)
{
	framed_recursion(4, innermost);
	sink++;
}

OWN static void framed_between(void (*between)(void (*f)(void)))
{
	KEEP_FRAME();
	between(framed_behind);
	sink++;
}

static void unwind_cut(const uint64_t *chain, size_t nr, size_t len)
{
	sample.record.has |= TRACE_HAS_CALLCHAIN;
	sample.record.callchain = (const uint8_t *)chain;
	sample.record.nr_callchain = nr;
	sample.record.stack_len = len;
	test_unwind_run(&unwind, &sample);
}

/* Chains that are another's, or not the user's, complete nothing. */
static void check_others(uint64_t *chain, size_t nr_chain, size_t len, size_t nr)
{
	static const struct {
		size_t i;
		uint64_t by;
	} changes[] = {{0, PERF_CONTEXT_USER ^ PERF_CONTEXT_KERNEL}, {1, 1}};

	for (size_t i = 0; i < NR(changes); i++) {
		chain[changes[i].i] ^= changes[i].by;
		unwind_cut(chain, nr_chain, len);
		assert_int_equal(unwind.nr, nr);
		chain[changes[i].i] ^= changes[i].by;
	}
	unwind_cut(chain, 1, len);
	assert_int_equal(unwind.nr, nr);
	unwind_cut(chain, nr_chain, len);
	for (size_t max = nr; max <= nr + 1; max++)
		assert_int_equal(unwind_user(unwind.u, &unwind.process, 0, &sample.layout,
					     &sample.record, unwind.chain, max, unwind.exact,
					     &unwind.end),
				 max);
}

static const struct {
	const char *what;
	void (*between)(void (*f)(void));
	void (*innermost)(void);
	size_t most; /* addresses that are completed */
} beyond[] = {
    {"no frame pointer between", bare_between, bare_leaf, 5},
    {"one that is saved", bare_saving, framed_leaf, 5},
    {"a register with another address", bare_between, bare_other, 0},
};

/* The kernel's chain goes on where the bytes end, as far as it is known to be that of callers. */
TEST(beyond)
{
	for (size_t i = 0; i < NR(beyond); i++) {
		uint64_t chain[TEST_MAX_CHAIN] = {PERF_CONTEXT_USER}, whole[TEST_MAX_CHAIN];
		size_t nr_whole, nr_chain, most = 0;

		nr_truth = 0;
		innermost = beyond[i].innermost;
		framed_between(beyond[i].between);
		test_unwind_run(&unwind, &sample);
		assert_int_equal(unwind.end, UNWIND_WHOLE);
		nr_whole = unwind.nr;
		memcpy(whole, unwind.chain, nr_whole * sizeof(*whole));
		chain[1] = whole[0];
		nr_chain = 2 + by_pointers(chain + 2, NR(chain) - 2);
		for (size_t len = sample.stack_len & ~7ull; len; len -= 8) {
			size_t nr;

			unwind_cut(chain, 0, len);
			nr = unwind.nr;
			unwind_cut(chain, nr_chain, len);
			assert_in_range(unwind.nr, nr, nr_whole);
			assert_memory_equal(unwind.chain, whole, unwind.nr * sizeof(*whole));
			if (unwind.nr - nr > most && unwind.chain[nr - 1] != whole[0])
				most = unwind.nr - nr;
			if (unwind.nr > nr)
				check_others(chain, nr_chain, len, nr);
		}
		print_message("%s: %zu\n", beyond[i].what, most);
		assert_true(beyond[i].most ? most >= beyond[i].most : !most);
	}
}
#endif

struct all {
	struct test_unwind t;
	struct test_sample s;
};

static int open_and_unwind(void *arg)
{
	struct all *a = arg;
	int rc = test_unwind_open(&a->t, TEST_MACHINE);

	if (rc < 0)
		return rc;
	test_unwind_run(&a->t, &a->s);
	test_unwind_close(&a->t);
	return 0;
}

/* Without memory, or files that cannot be read: less is found, and nothing is left behind. */
TEST(failures)
{
	size_t nr_fds = inject_open_fds(), nr_less = 0;
	static struct all a;

	nr_truth = 0;
	recursive(3);
	memcpy(&a.t.lookup, &unwind.lookup, sizeof(unwind.lookup));
	a.s = sample;
	test_sample_init(&a.s, TEST_REGS);
	inject_every(open_and_unwind, &a, 8, 0); /* all calls are the child's */
	assert_int_equal(a.t.end, UNWIND_WHOLE);
	for (unsigned n = 1; n < 30; n++) { /* which cannot tell that it was */
		inject_sys(n, n % 2 ? -EIO : -ENOSPC);
		assert_int_equal(open_and_unwind(&a), 0);
		inject_stop();
		nr_less += a.t.end != UNWIND_WHOLE;
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	assert_true(nr_less > 0 && nr_less < 29);
}

TEST(machines)
{
	struct test_unwind t = {0};

	assert_int_equal(test_unwind_open(&t, "riscv64"), -ENOTSUP);
	assert_int_equal(test_unwind_open(&t, ""), -ENOTSUP);
	unwinder_free(NULL);
	for (unsigned i = 0; i <= UNWIND_MAX; i++)
		assert_true(strcmp(unwind_end_name((enum unwind_end)i), "unknown"));
	assert_string_equal(unwind_end_name((enum unwind_end)99), "unknown");
}

HOOK(before_all)
{
	test_trap_into(&sample);
	test_map_self(&unwind.lookup);
	assert_int_equal(test_unwind_open(&unwind, TEST_MACHINE), 0);
}

HOOK(after_all)
{
	test_unwind_close(&unwind);
}
