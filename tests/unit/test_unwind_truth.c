/*
 * The truth by single steps: programs built by each compiler in several ways (stepped.c) are run
 * instruction by instruction, and each call, return and signal writes down who called whom. What is
 * unwound at each instruction from registers and stack bytes must be the same, address by address,
 * up to the start. Signals are sent on the way, so that any instruction is an interrupted one, too.
 *
 * What no table describes is not compared: the one instruction between the move of the stack
 * pointer to another frame and the jump to its code.
 */
#include "kit.h"
#include "test_unwind.h"

#if defined(__x86_64__)
#include "base/perf_abi.h"
#include "elf/file.h"
#include "elf/vdso.h"
#include "paths.h"

#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
	MAX_CALLS = 200,
	MAX_TOLD = 5,
	CODE_BYTES = 16,
	CS_32 = 0x23,
	RT_SIGRETURN = 15,
	SIGRETURN_32 = 119,
	RT_SIGRETURN_32 = 173,
	MAX_STEPS = 1000000,
	OF_WITHOUT = 16, /* what is compared for each end in assembler, at least */
	SIGNAL_EVERY = 29,
	SIGNAL_EVERY_LONG = 5,
};

/* A return address, or where a signal came. */
struct call {
	uint64_t to, slot; /* where it stands on the stack; of an interrupted place: unused */
	bool is_exact, is_interrupted;
};

static const struct build {
	const char *cc, *flags;
	bool from_start; /* of the process, not of its main; only where all is tried */
} builds[] = {
    {"gcc", "-O0"},
    {"gcc", "-O2"},
    {"gcc", "-Os"},
    {"gcc", "-O3 -fno-omit-frame-pointer -Wl,-z,now"},
    {"gcc", "-O2 -fstack-clash-protection -fcf-protection -mno-red-zone"},
    {"gcc", "-O2 -g -fno-asynchronous-unwind-tables -fno-pie -no-pie"}, /* .debug_frame */
    {"gcc", "-Os -fno-plt -maccumulate-outgoing-args"},
    {"gcc", "-m32 -O2 -fno-pie -no-pie"},
    {"gcc", "-O2 -static", .from_start = true},
    {"gcc", "-O1 -fuse-ld=bfd", .from_start = true},
    {"clang", "-O0"},
    {"clang", "-O2"},
    {"clang", "-Os"},
    {"clang", "-O2 -fno-omit-frame-pointer -fno-pie -no-pie"},
    {"clang", "-O1 -g -fno-asynchronous-unwind-tables"},
    {"clang", "-m32 -O2 -fno-pie -no-pie"},
    {"clang", "-Os -fuse-ld=lld", .from_start = true},
};

static struct {
	pid_t pid;
	const struct build *build;
	struct user_regs_struct regs;
	uint8_t code[CODE_BYTES];    /* at the place of the next instruction */
	struct call call[MAX_CALLS]; /* the outermost first */
	size_t nr_calls, nr_handlers, nr_base;
	uint64_t base[TEST_MAX_CHAIN]; /* who called what the first trap was in */
	bool is_from_start, is_leaving, is_sigreturn, is_mapping;
	size_t nr_steps, nr_own, nr_compared, nr_without, nr_completed, nr_signals, nr_wrong;
	struct {
		uint64_t start, end;
	} stack[TEST_MAX_MAPPINGS]; /* what is writable */
	size_t nr_stacks;
} run;
static struct test_unwind unwind;
static struct test_sample sample;
static struct root tree;

/* --- what is mapped */

static bool is_mapped(uint64_t start, const char *path)
{
	for (size_t i = 0; i < unwind.lookup.nr; i++)
		if (unwind.lookup.mapping[i].start == start &&
		    strcmp(unwind.lookup.path[i], path) == 0)
			return true;
	return false;
}

/* Objects keep their numbers, by which rows are cached. */
static void read_maps(void)
{
	char name[64], text[4096];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)run.pid);
	f = fopen(name, "re");
	assert_non_null(f);
	run.nr_stacks = 0;
	while (fgets(text, sizeof(text), f)) {
		const struct test_line l = test_parse_line(text);

		if (l.prot[2] == 'x' && !is_mapped(l.start, l.path))
			test_map(&unwind.lookup, l.start, l.end, l.offset, PROT_READ | PROT_EXEC,
				 l.path);
		if (l.prot[1] != 'w')
			continue;
		assert_true(run.nr_stacks < NR(run.stack));
		run.stack[run.nr_stacks].start = l.start;
		run.stack[run.nr_stacks++].end = l.end;
	}
	fclose(f);
}

/* Where what is writable at the stack pointer ends; 0: it is not known. */
static uint64_t find_stack_end(uint64_t sp)
{
	for (size_t i = 0; i < run.nr_stacks; i++)
		if (sp >= run.stack[i].start && sp < run.stack[i].end)
			return run.stack[i].end;
	return 0;
}

/* --- the program */

static size_t read_memory(uint64_t address, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)address, len};
	ssize_t n = process_vm_readv(run.pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static bool is_32(void)
{
	return run.regs.cs == CS_32;
}

static size_t word_bytes(void)
{
	return is_32() ? sizeof(uint32_t) : sizeof(uint64_t);
}

static uint64_t read_word(uint64_t address)
{
	uint64_t word = 0;

	(void)read_memory(address, &word, word_bytes());
	return word;
}

/* The signal with which it stopped, 0: a step or trap. It must not end. */
static int wait_stop(void)
{
	int status;

	assert_int_equal(waitpid(run.pid, &status, 0), run.pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_GETREGS, run.pid, NULL, &run.regs), 0);
	memset(run.code, 0, sizeof(run.code));
	(void)read_memory(run.regs.rip, run.code, sizeof(run.code));
	return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static bool build_program(const struct build *b)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "%s %s '%s/tests/unit/stepped.c' -o '%s/stepped' 2>/dev/null", b->cc, b->flags,
		 SOURCE_DIR, tree.dir);
	return system(command) == 0;
}

/* Stops at its first instruction. */
static void start_program(void)
{
	char path[512], *argv[] = {path, NULL}, *none[] = {NULL};

	snprintf(path, sizeof(path), "%s/stepped", tree.dir);
	run.pid = fork();
	if (!run.pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execve(path, argv, none);
		_exit(127);
	}
	assert_true(run.pid > 0);
	assert_int_equal(wait_stop(), 0);
	ptrace(PTRACE_SETOPTIONS, run.pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
}

static void end_program(void)
{
	kill(run.pid, SIGKILL);
	assert_int_equal(waitpid(run.pid, NULL, 0), run.pid);
}

/* What a child may not do that is traced, which a container or the kernel may forbid; NULL: it may
 * all. The child stops itself, takes a step, and is read. */
static const char *trace_missing(void)
{
	struct user_regs_struct regs;
	const char *missing = NULL;
	uint64_t word = 0;
	int status;

	run.pid = fork();
	if (!run.pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(run.pid > 0);
	assert_int_equal(waitpid(run.pid, &status, 0), run.pid);
	if (!WIFSTOPPED(status))
		return "PTRACE_TRACEME";
	if (ptrace(PTRACE_GETREGS, run.pid, NULL, &regs))
		missing = "PTRACE_GETREGS";
	else if (read_memory(regs.rsp, &word, sizeof(word)) != sizeof(word))
		missing = "process_vm_readv";
	else if (ptrace(PTRACE_SINGLESTEP, run.pid, NULL, NULL))
		missing = "PTRACE_SINGLESTEP";
	end_program();
	return missing;
}

/* --- the truth */

enum kind { OTHER, CALL, RETURN, SYSCALL, POP, END };

/* The instruction without its prefixes. */
static const uint8_t *skip_prefixes(const uint8_t *p)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x3e, 0x2e, 0x36, 0x64, 0x65, 0x67};

	for (int i = 0; i < 8 && memchr(prefixes, *p, sizeof(prefixes)); i++)
		p++;
	return (*p & 0xf0) == 0x40 && !is_32() ? p + 1 : p;
}

static enum kind kind_of(const uint8_t *code)
{
	const uint8_t *p = skip_prefixes(code);

	if (*p == 0xe8 || (*p == 0xff && (p[1] >> 3 & 7) == 2))
		return CALL;
	if (*p == 0xc3 || *p == 0xc2)
		return RETURN;
	if ((*p == 0x0f && (p[1] == 0x05 || p[1] == 0x34)) || (*p == 0xcd && p[1] == 0x80))
		return SYSCALL;
	if (*p >= 0x58 && *p <= 0x5f)
		return POP;
	return *p == 0xcc ? END : OTHER;
}

static void add_call(uint64_t to, uint64_t slot)
{
	assert_true(run.nr_calls < MAX_CALLS);
	run.call[run.nr_calls++] = (struct call){.to = to, .slot = slot};
}

static const struct call *last_call(void)
{
	return run.nr_calls ? &run.call[run.nr_calls - 1] : NULL;
}

/* The handler returns to the code that returns from it. */
static void enter_handler(uint64_t interrupted)
{
	add_call(interrupted, 0);
	run.call[run.nr_calls - 1].is_exact = run.call[run.nr_calls - 1].is_interrupted = true;
	add_call(read_word(run.regs.rsp), run.regs.rsp);
	run.call[run.nr_calls - 1].is_exact = true;
	run.nr_handlers++;
	run.nr_signals++;
}

static void leave_handler(void)
{
	assert_true(last_call() && last_call()->is_interrupted);
	run.nr_calls--;
	run.nr_handlers--;
}

/* Frames below the stack pointer were left by a jump. */
static void leave_frames(uint64_t sp)
{
	while (last_call() && !last_call()->is_interrupted && last_call()->slot < sp)
		run.nr_calls--;
	run.is_leaving = false;
}

static void write_down(enum kind kind, uint64_t old_sp, uint64_t old_pc)
{
	const uint64_t sp = run.regs.rsp, pc = run.regs.rip;
	const struct call *last = last_call();

	if (kind == CALL)
		add_call(read_word(sp), sp);
	else if (kind == SYSCALL && run.is_sigreturn)
		leave_handler();
	else if (kind == RETURN && last && last->slot == old_sp)
		run.nr_calls--;
	else if (run.is_leaving && (pc < old_pc || pc - old_pc > CODE_BYTES))
		leave_frames(sp);
	else if (last && !last->is_interrupted) /* vfork holds its return address in a register */
		run.is_leaving = last->slot + word_bytes() < sp;
}

/* --- what is unwound */

static void take_sample(void)
{
	const struct user_regs_struct *r = &run.regs;
	const uint64_t reg[] = {r->rax, r->rbx, r->rcx,    r->rdx, r->rsi, r->rdi, r->rbp,
				r->rsp, r->rip, r->eflags, 0,      0,      r->r8,  r->r9,
				r->r10, r->r11, r->r12,    r->r13, r->r14, r->r15};
	uint64_t end = find_stack_end(r->rsp);

	if (!end) {
		read_maps();
		end = find_stack_end(r->rsp);
	}
	assert_true(end > r->rsp);
	memcpy(sample.reg, reg, sizeof(reg));
	sample.stack_len =
	    end - r->rsp < sizeof(sample.stack) ? end - r->rsp : sizeof(sample.stack);
	sample.stack_len = read_memory(r->rsp, sample.stack, sample.stack_len);
	test_sample_init(&sample, TEST_REGS);
	if (is_32())
		sample.record.regs_abi = PERF_SAMPLE_REGS_ABI_32;
	test_unwind_run(&unwind, &sample);
}

/* The chain as it was written down. Returns how many addresses of it must be found: all, or up to
 * where the stack is another. */
static size_t make_truth(uint64_t *chain, uint64_t *exact, size_t *nr)
{
	const uint64_t end = find_stack_end(run.regs.rsp);
	size_t n = 1, due = 0;

	memset(exact, 0, TEST_MAX_CHAIN / 64 * sizeof(*exact));
	chain[0] = run.regs.rip;
	exact[0] = 1;
	for (size_t i = run.nr_calls; i--; n++) {
		const struct call *c = &run.call[i];

		if (!due && !c->is_interrupted && find_stack_end(c->slot) != end)
			due = n;
		chain[n] = c->to;
		exact[n / 64] |= (uint64_t)c->is_exact << n % 64;
	}
	memcpy(chain + n, run.base, run.nr_base * sizeof(*chain));
	*nr = n + run.nr_base;
	return due ? due : *nr;
}

static void print_place(uint64_t address)
{
	struct unwind_mapping m;
	struct unwind_file f;

	if (!test_find_mapping(&unwind.lookup, NULL, address, 0, &m)) {
		print_error(" %lx", (unsigned long)address);
		return;
	}
	test_want_file(&unwind.lookup, &m, &f);
	print_error(" %s+%lx", strrchr(f.path, '/') ? strrchr(f.path, '/') + 1 : f.path,
		    (unsigned long)(address - m.start + m.offset));
}

static void print_chain(const char *what, const uint64_t *chain, size_t nr)
{
	print_error("\n    %s:", what);
	for (size_t i = 0; i < nr; i++)
		print_place(chain[i]);
}

static void tell(const uint64_t *truth, size_t nr, const char *what)
{
	if (run.nr_wrong++ >= MAX_TOLD)
		return;
	print_error("%s %s, step %zu, %s (%s):", run.build->cc, run.build->flags, run.nr_steps,
		    what, unwind_end_name(unwind.end));
	print_chain("truth", truth, nr);
	print_chain("unwound", unwind.chain, unwind.nr);
	print_error("\n");
}

/* What compilers run before main (crtstuff.c), and the assembler of stepped.c: a stack may end
 * there where nothing says who called it. */
static bool is_without_table(size_t due)
{
	return unwind.nr < due && unwind.end == UNWIND_NO_TABLE;
}

static void compare_step(void)
{
	uint64_t truth[TEST_MAX_CHAIN], exact[TEST_MAX_CHAIN / 64];
	size_t nr, due = make_truth(truth, exact, &nr);
	const char *wrong = NULL;

	take_sample();
	if (unwind.nr > nr || memcmp(truth, unwind.chain, unwind.nr * sizeof(*truth)) != 0)
		wrong = "another chain";
	else if (is_without_table(due))
		run.nr_without++;
	else if (unwind.nr < due)
		wrong = "an end too early";
	else if ((unwind.nr == nr) != (unwind.end == UNWIND_WHOLE))
		wrong = "another end";
	for (size_t i = 0; !wrong && i < unwind.nr; i++)
		if ((exact[i / 64] ^ unwind.exact[i / 64]) >> i % 64 & 1)
			wrong = "another exactness";
	if (wrong)
		tell(truth, nr, wrong);
	run.nr_compared++;
}

/* The chain by frame pointers, as the kernel reads it. */
static size_t follow_pointers(uint64_t *chain, size_t max)
{
	const size_t bytes = word_bytes();
	uint64_t fp = run.regs.rbp, word[2];
	size_t nr = 0;

	chain[nr++] = PERF_CONTEXT_USER;
	chain[nr++] = run.regs.rip;
	while (nr < max && fp >= run.regs.rsp && fp - run.regs.rsp < sample.stack_len &&
	       sample.stack_len - (fp - run.regs.rsp) >= 2 * bytes) {
		memset(word, 0, sizeof(word));
		memcpy(&word[0], sample.stack + (fp - run.regs.rsp), bytes);
		memcpy(&word[1], sample.stack + (fp - run.regs.rsp) + bytes, bytes);
		chain[nr++] = word[1];
		fp = word[0];
	}
	return nr;
}

/* With a part of the bytes, and the chain by frame pointers, less is found, and nothing wrong. */
static void compare_cut(void)
{
	uint64_t truth[TEST_MAX_CHAIN], exact[TEST_MAX_CHAIN / 64], chain[TEST_MAX_CHAIN];
	size_t nr, nr_short;

	(void)make_truth(truth, exact, &nr);
	sample.record.stack_len = (run.nr_steps * 8) % (sample.stack_len + 8);
	test_unwind_run(&unwind, &sample);
	nr_short = unwind.nr;
	sample.record.has |= TRACE_HAS_CALLCHAIN;
	sample.record.callchain = (const uint8_t *)chain;
	sample.record.nr_callchain = follow_pointers(chain, NR(chain));
	test_unwind_run(&unwind, &sample);
	if (unwind.nr < nr_short || unwind.nr > nr ||
	    memcmp(truth, unwind.chain, unwind.nr * sizeof(*truth)) != 0)
		tell(truth, nr, "another chain of cut bytes");
	run.nr_completed += unwind.nr > nr_short;
}

/* --- stepping */

/* Whether it stopped at the begin of a handler, which got where the program was. */
static bool is_in_handler(const struct user_regs_struct *old)
{
	const uint64_t context = run.regs.rsp + sizeof(uint64_t);

	if (run.regs.rip == old->rip)
		return false;
	if (is_32())
		return run.regs.rax == SIGUSR1 &&
		       read_word(run.regs.rsp + sizeof(uint32_t)) == SIGUSR1;
	return run.regs.rdi == SIGUSR1 &&
	       read_word(context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])) == old->rip;
}

/* In a handler's last system call: the numbers are those of both, of 64 and of 32 bits. */
static bool is_sigreturn(enum kind kind)
{
	const uint64_t number = run.regs.rax;

	return kind == SYSCALL && (is_32() ? number == SIGRETURN_32 || number == RT_SIGRETURN_32
					   : number == RT_SIGRETURN);
}

/* Of 32 bits, the vdso has no file, and the C library copies memory by assembly whose tables do not
 * say what it pushes: nothing of both is compared. */
static bool is_unknown(void)
{
	struct unwind_mapping m;
	struct unwind_file f = {.path = ""};

	if (!is_32())
		return false;
	if (test_find_mapping(&unwind.lookup, NULL, run.regs.rip, 0, &m))
		test_want_file(&unwind.lookup, &m, &f);
	return !strstr(f.path, "/stepped");
}

/* Executes an instruction, or has the signal. Returns the signal that has come meanwhile. */
static int step(int sig)
{
	const struct user_regs_struct old = run.regs;
	const enum kind kind = kind_of(run.code);
	int next;

	run.is_mapping = run.is_from_start && kind == SYSCALL;
	run.is_sigreturn = is_sigreturn(kind);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, run.pid, NULL, (void *)(uintptr_t)(unsigned)sig),
			 0);
	next = wait_stop();
	if (sig == SIGUSR1 && is_in_handler(&old))
		enter_handler(old.rip);
	else if (run.regs.rip != old.rip || !next)
		write_down(kind, old.rsp, old.rip);
	run.nr_steps++;
	return next;
}

/* To the trap that ends. */
static void step_through(unsigned nr_traps, size_t every)
{
	int sig = 0;

	while (run.nr_steps < MAX_STEPS) {
		if (kind_of(run.code) == END && !nr_traps--)
			return;
		if (!sig && !run.nr_handlers && !run.is_leaving && !is_unknown() && every &&
		    ++run.nr_own % every == 0)
			sig = SIGUSR1;
		sig = step(sig);
		if (run.is_mapping)
			read_maps();
		if (run.is_leaving || is_unknown())
			continue;
		compare_step();
		compare_cut();
	}
	fail_msg("%s %s: no end", run.build->cc, run.build->flags);
}

/* Who called what the first trap is in. */
static void find_base(void)
{
	take_sample();
	assert_int_equal(unwind.end, UNWIND_WHOLE);
	assert_in_range(unwind.nr, 2, 10);
	run.nr_base = unwind.nr - 1;
	memcpy(run.base, unwind.chain + 1, run.nr_base * sizeof(*run.base));
}

/* On one CPU, a step is a switch from one to the other, and no wake-up of an idle CPU. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	(void)sched_setaffinity(0, sizeof(here), &here);
}

static void run_build(const struct build *b, bool is_long)
{
	const size_t every = is_long ? SIGNAL_EVERY_LONG : SIGNAL_EVERY;

	memset(&run, 0, sizeof(run));
	memset(&unwind.lookup, 0, sizeof(unwind.lookup));
	run.build = b;
	run.is_from_start = is_long && b->from_start;
	run.nr_own = stride_from(every);
	assert_int_equal(test_unwind_open(&unwind, TEST_MACHINE), 0);
	start_program();
	if (!run.is_from_start) {
		assert_int_equal(ptrace(PTRACE_CONT, run.pid, NULL, NULL), 0);
		assert_int_equal(wait_stop(), 0);
	}
	read_maps();
	if (!run.is_from_start)
		find_base();
	step_through(run.is_from_start, run.is_from_start ? 0 : every);
	end_program();
	test_unwind_close(&unwind);
	print_message("%s %s: of %zu instructions and %zu signals %zu compared, %zu completed, "
		      "%zu ended early\n",
		      b->cc, b->flags, run.nr_steps, run.nr_signals, run.nr_compared,
		      run.nr_completed, run.nr_without);
	if (run.nr_wrong)
		fail_msg("%zu wrong", run.nr_wrong);
	assert_true(run.nr_compared > 1000 && run.nr_signals >= 2);
	assert_in_range(run.nr_without, 1, run.nr_compared / OF_WITHOUT);
	if (strstr(b->flags, "-O0") || strstr(b->flags, "no-omit"))
		assert_true(run.nr_completed > 100);
}

TEST(builds)
{
	const char *text = getenv("CPUPERF_TEST_LONG");
	const bool is_long = text && strcmp(text, "1") == 0;
	const char *missing = trace_missing();
	size_t nr = 0;

	if (missing)
		SKIP("%s is not permitted here: no program can be run by single steps", missing);
	STRIDE_EACH(i, NR(builds), 2) {
		if (!build_program(&builds[i])) {
			print_message("skip: %s %s: not here\n", builds[i].cc, builds[i].flags);
			continue;
		}
		run_build(&builds[i], is_long);
		nr++;
	}
	if (!nr)
		SKIP("no compiler");
}

HOOK(before_all)
{
	tree = tree_make();
	stay_here();
	unwind.vdso = elf_vdso_open();
}

HOOK(after_all)
{
	elf_file_close(unwind.vdso);
	tree_remove(&tree);
}
#endif
