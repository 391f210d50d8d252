/*
 * Functions of several compilers, patched while they work: they return what they did before, and
 * each call is counted; also while four threads call them, and the patch comes and goes.
 */
#include "test_patch.h"

#include "paths.h"

#include "patch/exits.h"
#include "patch/move.h"
#include "patch/write.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#ifdef __x86_64__

enum { NR_COUNTERS = 64, ROOM = 1 << 16, SLOT = 128, NR_ARGS = 200, MAX_FUNCTIONS = 64 };

/* tests/data/patch/functions.c */
struct patched {
	const char *name;
	void *function;
	long (*call)(long a, long b);
	int per_call;
};

static __thread __attribute__((tls_model("initial-exec"))) uint64_t *block;
__attribute__((used)) static uint64_t shared[NR_COUNTERS];
static uint64_t own[NR_COUNTERS];

/* One patched function. */
struct patch {
	struct patch_plan plan;
	struct patch_trampoline trampoline;
	struct patch_site site;
	struct patch_text text;
	uint8_t before[16]; /* of the function */
};

static uint8_t *room; /* for trampolines */

static int32_t block_offset(void)
{
	uint64_t base;

	__asm__("mov %%fs:0, %0" : "=r"(base));
	return (int32_t)((int64_t)(uintptr_t)&block - (int64_t)base);
}

/* Memory within reach of the address. */
static uint8_t *map_near(uint64_t address)
{
	const uint64_t step = 1 << 20;

	for (uint64_t by = step; by < 1ull << 30; by += step) {
		void *at = (void *)(uintptr_t)(((address & ~0xfffull) - by));
		void *p = mmap(at, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
	}
	fail_msg("no memory near %lx", (unsigned long)address);
	return NULL;
}

static struct patch_text text_of(uint64_t address, size_t len)
{
	const uint64_t page = 4096, from = address & ~(page - 1);

	return (struct patch_text){from, ((address + len + page - 1) & ~(page - 1)) - from,
				   PROT_READ | PROT_EXEC};
}

/* What threads without a block call, if it is not 0. It counts in the block that all share. */
static uint64_t meet;
void count_met(void);
__asm__(
    ".text\ncount_met: push %rdx; lea shared(%rip), %rdx; incq (%rdx, %rcx, 8); xor %ecx, %ecx\n"
    "pop %rdx; xor %eax, %eax; ret\n");

/* The plan of a function in memory, and its trampoline as the nth of the room. */
static enum patch_refusal prepare(const void *function, size_t len, unsigned number,
				  struct patch *out)
{
	const struct patch_function f = {.code = {function, len, (uint64_t)(uintptr_t)function},
					 .padding_len = 8};
	const struct patch_counter counter = {.number = number,
					      .block = block_offset(),
					      .shared = (uint64_t)(uintptr_t)shared,
					      .meet = meet};
	enum patch_refusal refusal = patch_plan(&f, &out->plan);
	uint8_t *at = room + (size_t)number * SLOT;

	if (refusal != PATCH_ACCEPTED)
		return refusal;
	memcpy(out->before, function, sizeof(out->before));
	assert_int_equal(
	    patch_move(&out->plan, &counter, (uint64_t)(uintptr_t)at, &out->trampoline), 0);
	memcpy(at, out->trampoline.code, out->trampoline.len);
	patch_site_init(&out->site, &out->plan, &out->trampoline);
	out->text = text_of(out->site.address, out->site.len);
	return refusal;
}

static void write_one(struct patch *p, bool undo)
{
	assert_int_equal(patch_write(&patch_calls, &p->text, &p->site, 1, undo, PATCH_BY_TRAP), 0);
}

/* --- by compilers */

static const char *const variants[] = {"gcc -O0",
				       "gcc -O1",
				       "gcc -O2",
				       "gcc -O3",
				       "gcc -Os",
				       "gcc -O2 -fcf-protection",
				       "gcc -O2 -fno-plt -fno-omit-frame-pointer",
				       "gcc -O3 -march=x86-64-v3",
				       "clang -O0",
				       "clang -O1",
				       "clang -O2",
				       "clang -O3",
				       "clang -Os",
				       "clang -O2 -fcf-protection"};

/* A library, with its unwind table. */
struct library {
	void *handle;
	struct patch_file file;
	uint64_t base;
};

static bool load_library(const char *variant, struct library *out)
{
	char command[512], path[] = "/tmp/patched-XXXXXX";
	int fd = mkstemp(path), status;
	struct link_map *map;

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "%s -w -shared -fPIC -o %s %s/patch/functions.c 2>/dev/null", variant, path,
		 TEST_DATA_DIR);
	status = system(command);
	out->handle = status ? NULL : dlopen(path, RTLD_NOW);
	if (out->handle) {
		assert_true(patch_file_open(&out->file, path));
		assert_int_equal(dlinfo(out->handle, RTLD_DI_LINKMAP, &map), 0);
		out->base = map->l_addr;
	}
	unlink(path);
	if (!out->handle)
		print_message("skip: %s: cannot be compiled\n", variant);
	return out->handle;
}

static void close_library(struct library *l)
{
	patch_file_close(&l->file);
	dlclose(l->handle);
}

static size_t len_of(const void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	    info.dli_saddr != function)
		return 0; /* static: its length is in no table */
	return symbol->st_size;
}

/* From one place: what is called may look at its callers. */
__attribute__((noinline)) static void call_all(const struct patched *p, long out[NR_ARGS])
{
	for (long i = 0; i < NR_ARGS; i++)
		out[i] = p->call(i % 23, i * i - 77);
}

static uint64_t expected(const struct patched *p)
{
	uint64_t nr = 0;

	for (long i = 0; i < NR_ARGS; i++)
		nr += p->per_call < 0 ? (uint64_t)(i % 23) + 1 : (uint64_t)p->per_call;
	return nr;
}

static void check_counted(const struct patched *p, const char *variant, unsigned number,
			  uint64_t *of, uint64_t *not_of, const long results[NR_ARGS])
{
	long now[NR_ARGS];

	memset(own, 0, sizeof(own));
	memset(shared, 0, sizeof(shared));
	block = of == own ? own : NULL;
	call_all(p, now);
	block = NULL;
	if (memcmp(now, results, sizeof(now)) != 0)
		fail_msg("%s: %s: other results", variant, p->name);
	if (of[number] != expected(p) || not_of[number])
		fail_msg("%s: %s: %lu calls, not %lu", variant, p->name, (unsigned long)of[number],
			 (unsigned long)expected(p));
}

static void check_undone(const struct patched *p, const struct patch *patch,
			 const long results[NR_ARGS])
{
	long now[NR_ARGS];

	memset(shared, 0, sizeof(shared));
	call_all(p, now);
	assert_memory_equal(now, results, sizeof(now));
	assert_memory_equal(p->function, patch->before, sizeof(patch->before));
	for (size_t i = 0; i < NR_COUNTERS; i++)
		assert_int_equal(shared[i], 0);
}

static bool check_function(const struct patched *p, const char *variant, unsigned number)
{
	long results[NR_ARGS];
	size_t len = len_of(p->function);
	struct patch patch;

	if (!len || prepare(p->function, len, number, &patch) != PATCH_ACCEPTED)
		return false;
	call_all(p, results);
	write_one(&patch, false);
	check_counted(p, variant, number, own, shared, results);
	check_counted(p, variant, number, shared, own, results);
	write_one(&patch, true);
	check_undone(p, &patch, results);
	return true;
}

static void check_variant(const char *variant)
{
	const struct patched *table;
	struct library l;
	const size_t *nr;
	size_t nr_accepted = 0;

	if (!load_library(variant, &l))
		return;
	table = dlsym(l.handle, "patched");
	nr = dlsym(l.handle, "nr_patched");
	assert_true(table && nr && *nr < MAX_FUNCTIONS - 1);
	room = map_near((uint64_t)(uintptr_t)table[0].function);
	for (unsigned i = 0; i < *nr; i++)
		nr_accepted += check_function(&table[i], variant, i);
	print_message("%s: %zu of %zu patched\n", variant, nr_accepted, *nr);
	assert_true(nr_accepted * 3 > *nr * 2);
	munmap(room, ROOM);
	close_library(&l);
}

TEST(compilers)
{
	enum { MOST = 2 };

	STRIDE_EACH(i, NR(variants), MOST) {
		check_variant(variants[i]);
	}
}

/* --- begins and ends */

/* What the code of a begin or an end calls: number and stack of each go to a list. */
enum { MAX_OPEN = 4096, MAX_SITES = 1 + PATCH_MAX_EXITS };
static struct {
	uint64_t begun, ended, wrong;
	size_t nr;
	uint64_t stack[MAX_OPEN];
} seen;
void see_begin(void), see_end(void);

#define GENERAL __attribute__((used, target("general-regs-only")))
void note_begin(uint64_t number, uint64_t stack), note_end(uint64_t number, uint64_t stack);
GENERAL void note_begin(uint64_t number, uint64_t stack)
{
	seen.begun++;
	seen.wrong += number != 9 || seen.nr == MAX_OPEN;
	if (seen.nr < MAX_OPEN)
		seen.stack[seen.nr++] = stack;
}
GENERAL void note_end(uint64_t number, uint64_t stack)
{
	seen.ended++;
	seen.wrong += number != 9 || !seen.nr || seen.stack[seen.nr - 1] != stack;
	seen.nr -= seen.nr != 0;
}
#define SEE(name, note)                                                                            \
	name ": mov 8(%rsp), %eax; push %rbp; mov %rsp, %rbp; and $-16, %rsp\n"                    \
	     "push %rdi; push %rsi; push %rdx; push %r8; push %r9; push %r10; push %r11; sub $8, " \
	     "%rsp\n"                                                                              \
	     "mov %eax, %edi; mov %rcx, %rsi; call " note "\n"                                     \
	     "add $8, %rsp; pop %r11; pop %r10; pop %r9; pop %r8; pop %rdx; pop %rsi; pop %rdi\n"  \
	     "xor %ecx, %ecx; leave; ret\n"
__asm__(".text\n" SEE("see_begin", "note_begin") SEE("see_end", "note_end"));

static uint64_t seen_by(const struct patch_plan *p)
{
	return (uint64_t)(uintptr_t)(p->kind == PATCH_ENDS ? see_end : see_begin);
}

/* Of the plan in the file, which is loaded there. */
static void make_site(const struct library *l, struct patch_plan *p, size_t i,
		      struct patch_site *out, struct patch_trampoline *t)
{
	uint8_t *at = room + i * SLOT;
	const struct patch_counter counter = {.number = 9, .meet = seen_by(p)};

	p->address += l->base;
	assert_int_equal(patch_move(p, &counter, (uint64_t)(uintptr_t)at, t), 0);
	memcpy(at, t->code, t->len);
	patch_site_init(out, p, t);
}

/* All of a function, in order. 0: it has no times. */
static size_t plan_timed(const struct library *l, const struct patched *p,
			 struct patch_site site[MAX_SITES])
{
	const uint64_t address = (uint64_t)(uintptr_t)p->function - l->base;
	struct patch_plan plan[MAX_SITES];
	struct patch_trampoline t;
	struct patch_function f;
	const void *arg[2];
	size_t i, nr = 0;

	for (i = 0; i < l->file.nr && l->file.fde[i].start != address; i++)
		;
	if (i == l->file.nr || !patch_file_function(&l->file, i, arg, &f) ||
	    patch_plan(&f, &plan[0]) != PATCH_ACCEPTED ||
	    patch_exits(&f, &plan[0], plan + 1, &nr) != PATCH_TIMED)
		return 0;
	for (i = 0; i <= nr; i++)
		make_site(l, &plan[i], i, &site[i], &t);
	return nr + 1;
}

static bool check_timed(const struct library *l, const struct patched *p, const char *variant)
{
	long results[NR_ARGS], now[NR_ARGS];
	struct patch_site site[MAX_SITES];
	size_t nr = plan_timed(l, p, site);
	struct patch_text text;

	if (!nr)
		return false;
	text = text_of(site[0].address, site[nr - 1].address + PATCH_SITE_BYTES - site[0].address);
	call_all(p, results);
	assert_int_equal(patch_write(&patch_calls, &text, site, nr, false, PATCH_BY_TRAP), 0);
	memset(&seen, 0, sizeof(seen));
	call_all(p, now);
	assert_int_equal(patch_write(&patch_calls, &text, site, nr, true, PATCH_BY_TRAP), 0);
	if (memcmp(now, results, sizeof(now)) != 0)
		fail_msg("%s: %s: other results", variant, p->name);
	if (seen.begun != expected(p) || seen.ended != seen.begun || seen.wrong || seen.nr)
		fail_msg("%s: %s: %lu begins, %lu ends, %lu wrong", variant, p->name,
			 (unsigned long)seen.begun, (unsigned long)seen.ended,
			 (unsigned long)seen.wrong);
	call_all(p, now);
	assert_memory_equal(now, results, sizeof(now));
	return true;
}

static void check_timed_variant(const char *variant)
{
	const struct patched *table;
	struct library l;
	size_t nr_timed = 0;
	const size_t *nr;

	if (!load_library(variant, &l))
		return;
	table = dlsym(l.handle, "patched");
	nr = dlsym(l.handle, "nr_patched");
	assert_true(table && nr);
	room = map_near((uint64_t)(uintptr_t)table[0].function);
	for (unsigned i = 0; i < *nr; i++)
		nr_timed += check_timed(&l, &table[i], variant);
	print_message("%s: %zu of %zu timed\n", variant, nr_timed, *nr);
	assert_true(nr_timed * 3 > *nr);
	munmap(room, ROOM);
	close_library(&l);
}

TEST(calls_have_begins_and_ends)
{
	enum { MOST = 2 };

	STRIDE_EACH(i, NR(variants), MOST) {
		check_timed_variant(variants[i]);
	}
}

/* --- what the counting code may not change */

/* Code that says what it was called with, and code that calls it with what is wanted. */
__asm__(".text\n.p2align 4\n"
	/* Its first instructions are moved: a push, a pop, and one relative to rip. */
	"say_flags: pushfq; pop %rax; mov %rax, said_flags(%rip); ret; .skip 8, 0xcc\n"
	".size say_flags, 10\n.p2align 4\n"
	"say_registers: mov %rax, said(%rip); mov %rbx, said+8(%rip); mov %rcx, said+16(%rip)\n"
	"mov %rdx, said+24(%rip); mov %rsi, said+32(%rip); mov %rdi, said+40(%rip)\n"
	"mov %rbp, said+48(%rip); mov %r8, said+56(%rip); mov %r9, said+64(%rip)\n"
	"mov %r10, said+72(%rip); mov %r11, said+80(%rip); mov %r12, said+88(%rip)\n"
	"mov %r13, said+96(%rip); mov %r14, said+104(%rip); mov %r15, said+112(%rip)\n"
	"mov %rsp, said+120(%rip); ret\n"
	"say_registers_end: .p2align 4\n"
	/* with_flags(flags) */
	"with_flags: push %rdi; popfq; call say_flags; cld; ret\n"
	/* Five bytes, all of which are moved. */
	"pass: nop; nop; nop; nop; ret; .p2align 4\n"
	"pass_flags: push %rdi; popfq; call pass; pushfq; pop %rax; cld; ret\n"
	/* with_registers(): each has its number; that of the stack pointer is returned */
	"with_registers: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov $1, %eax; mov $2, %ebx; mov $3, %ecx; mov $4, %edx; mov $5, %esi; mov $6, %edi\n"
	"mov $7, %ebp; mov $8, %r8d; mov $9, %r9d; mov $10, %r10d; mov $11, %r11d\n"
	"mov $12, %r12d; mov $13, %r13d; mov $14, %r14d; mov $15, %r15d\n"
	"call pass; call say_registers; lea -8(%rsp), %rax\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
void say_flags(void), say_registers(void), say_registers_end(void), with_flags(uint64_t flags);
void pass(void);
uint64_t with_registers(void), pass_flags(uint64_t flags);
extern uint64_t said_flags, said[16];
uint64_t said_flags, said[16];

static void *code(void (*function)(void))
{
	return (void *)(uintptr_t)function;
}

static void start(struct patch *p, void (*function)(void), size_t len)
{
	room = map_near((uint64_t)(uintptr_t)function);
	assert_int_equal(prepare(code(function), len, 3, p), PATCH_ACCEPTED);
	memset(own, 0, sizeof(own));
	memset(shared, 0, sizeof(shared));
	write_one(p, false);
}

static void stop(struct patch *p)
{
	block = NULL;
	write_one(p, true);
	assert_memory_equal((void *)(uintptr_t)p->site.address, p->site.old, p->site.len);
	munmap(room, ROOM);
}

static void check_flags(void)
{
	enum { NR_FLAGS = 7, ALWAYS = 0x202 };
	static const uint64_t flags[NR_FLAGS] = {1, 4, 0x10, 0x40, 0x80, 0x400, 0x800};
	struct patch p;

	start(&p, say_flags, 10);
	for (unsigned set = 0; set < 2u << NR_FLAGS; set++) {
		uint64_t wanted = ALWAYS;

		for (unsigned i = 0; i < NR_FLAGS; i++)
			wanted |= set >> i & 1 ? flags[i] : 0;
		block = set >> NR_FLAGS ? own : NULL;
		with_flags(wanted);
		assert_int_equal(said_flags, wanted);
	}
	assert_int_equal(own[3], 1 << NR_FLAGS);
	assert_int_equal(shared[3], 1 << NR_FLAGS);
	stop(&p);
}

static void check_registers(void)
{
	struct patch p;

	start(&p, say_registers,
	      (size_t)((char *)code(say_registers_end) - (char *)code(say_registers)));
	for (int i = 0; i < 2; i++) {
		uint64_t sp;

		block = i ? own : NULL;
		sp = with_registers();
		for (uint64_t k = 0; k < 15; k++)
			assert_int_equal(said[k], k + 1);
		assert_int_equal(said[15], sp);
	}
	assert_int_equal(own[3], 1);
	assert_int_equal(shared[3], 1);
	stop(&p);
}

TEST(flags_stay)
{
	check_flags();
	meet = (uint64_t)(uintptr_t)count_met;
	check_flags();
	meet = 0;
}

TEST(registers_stay)
{
	check_registers();
	meet = (uint64_t)(uintptr_t)count_met;
	check_registers();
	meet = 0;
}

/* The bytes of pass, as a begin or an end. */
static void start_pass(struct patch *p, enum patch_kind kind)
{
	struct library none = {.base = 0};

	room = map_near((uint64_t)(uintptr_t)pass);
	p->plan = (struct patch_plan){.address = (uint64_t)(uintptr_t)pass,
				      .len = PATCH_JUMP_BYTES,
				      .moved_len = PATCH_JUMP_BYTES,
				      .kind = (uint8_t)kind};
	memcpy(p->plan.old, code(pass), PATCH_JUMP_BYTES);
	make_site(&none, &p->plan, 0, &p->site, &p->trampoline);
	p->text = text_of(p->site.address, p->site.len);
	memset(&seen, 0, sizeof(seen));
	write_one(p, false);
}

static void check_pass(enum patch_kind kind)
{
	enum { NR_FLAGS = 7, ALWAYS = 0x202 };
	static const uint64_t flags[NR_FLAGS] = {1, 4, 0x10, 0x40, 0x80, 0x400, 0x800};
	struct patch p;
	uint64_t sp;

	start_pass(&p, kind);
	for (unsigned set = 0; set < 1u << NR_FLAGS; set++) {
		uint64_t wanted = ALWAYS;

		for (unsigned i = 0; i < NR_FLAGS; i++)
			wanted |= set >> i & 1 ? flags[i] : 0;
		assert_int_equal(pass_flags(wanted), wanted);
	}
	sp = with_registers();
	for (uint64_t k = 0; k < 15; k++)
		assert_int_equal(said[k], k + 1);
	assert_int_equal(said[15], sp);
	/* one word was pushed by the call, and what is passed is two words less */
	assert_int_equal(seen.stack[kind == PATCH_BEGINS ? seen.nr - 1 : 0],
			 kind == PATCH_BEGINS ? sp - PATCH_STACK_LESS : 0);
	assert_int_equal(kind == PATCH_BEGINS ? seen.begun : seen.ended, (1 << NR_FLAGS) + 1);
	stop(&p);
}

TEST(begins_and_ends_change_nothing)
{
	check_pass(PATCH_BEGINS);
	check_pass(PATCH_ENDS);
}

/* --- step by step */

static struct patch *stepped;
extern uint64_t return_address;
uint64_t return_address;
static size_t nr_inside;
static uint64_t nr_nested;
static bool is_wrong;

/* At each instruction of the trampoline the table of the original one finds the return address. */
static void on_step(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	const uint64_t ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	const uint64_t *sp = (const uint64_t *)c->uc_mcontext.gregs[REG_RSP];
	uint64_t original;
	uint8_t pushed = 0;

	(void)signal, (void)info;
	original = patch_original(&stepped->plan, &stepped->trampoline, ip, &pushed);
	if (!original)
		return;
	nr_inside++;
	/* A handler's own call, amid the counting, is counted, too. */
	say_flags();
	nr_nested++;
	/* Of say_flags the second instruction has another word on the stack. */
	if (original == stepped->plan.address + 1)
		pushed += 8;
	is_wrong |= sp[pushed / 8] != return_address;
}

static void step(void (*function)(void), uint64_t *result)
{
	__asm__ volatile("sub $128, %%rsp; lea 1f(%%rip), %%rax; mov %%rax, return_address(%%rip)\n"
			 "xor %%eax, %%eax; pushfq; orq $0x100, (%%rsp); popfq; call *%1\n"
			 "1: pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp"
			 : "=&a"(*result)
			 : "r"(function)
			 : "memory", "cc");
}

static void handle(void (*handler)(int, siginfo_t *, void *), int signal)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static void check_steps(size_t without_block)
{
	enum { COUNTING = 11, MOVED = 4 };
	uint64_t result;
	struct patch p;

	start(&p, say_flags, 10);
	stepped = &p;
	handle(on_step, SIGTRAP);
	for (int i = 0; i < 2; i++) {
		nr_inside = nr_nested = 0;
		is_wrong = false;
		block = i ? own : NULL;
		step(say_flags, &result);
		assert_false(is_wrong);
		/* push, pop, mov, and the jump back; without a block some more instructions */
		assert_int_equal((i ? own : shared)[3], 1 + nr_nested);
		assert_int_equal(nr_inside, COUNTING + MOVED + (i ? 0 : without_block));
	}
	signal(SIGTRAP, SIG_DFL);
	stop(&p);
}

static void on_step_of_pass(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	const uint64_t ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	const uint64_t *sp = (const uint64_t *)c->uc_mcontext.gregs[REG_RSP];
	uint64_t original;
	uint8_t pushed = 0;

	(void)signal, (void)info;
	original = patch_original(&stepped->plan, &stepped->trampoline, ip, &pushed);
	if (!original)
		return;
	nr_inside++;
	is_wrong |= sp[pushed / 8] != return_address;
	/* an end is seen before the last of its instructions, a begin before the first */
	if (pushed)
		is_wrong |=
		    original != stepped->plan.address + (stepped->plan.kind == PATCH_ENDS ? 4 : 0);
}

TEST(each_step_of_an_end_has_its_original)
{
	enum { SEEING = 15, MOVED = 5 };
	static const enum patch_kind kinds[] = {PATCH_BEGINS, PATCH_ENDS};
	uint64_t result;
	struct patch p;

	for (size_t i = 0; i < NR(kinds); i++) {
		start_pass(&p, kinds[i]);
		stepped = &p;
		nr_inside = 0;
		is_wrong = false;
		handle(on_step_of_pass, SIGTRAP);
		step(pass, &result);
		assert_false(is_wrong);
		assert_int_equal(nr_inside, SEEING + MOVED);
		signal(SIGTRAP, SIG_DFL);
		stop(&p);
	}
}

TEST(each_step_has_its_original)
{
	check_steps(2);
	meet = (uint64_t)(uintptr_t)count_met;
	check_steps(5);
	meet = 0;
}

/* --- threads */

/* Each returns 77. */
__asm__(
    ".text\n.p2align 4\n"
    "one_long: mov $77, %eax; lea 5(%rax), %rax; sub $5, %rax; ret; .skip 16, 0xcc\n.p2align 4\n"
    /* across 8 bytes, and 16 */
    ".skip 13, 0xcc\n"
    "crossing: mov $77, %eax; lea 5(%rax), %rax; sub $5, %rax; ret; .skip 16, 0xcc\n.p2align 4\n"
    ".skip 6, 0xcc\n"
    "within_16: mov $77, %eax; lea 5(%rax), %rax; sub $5, %rax; ret; .skip 16, 0xcc\n.p2align 4\n"
    "calling: sub $8, %rsp; call one_long; add $8, %rsp; ret; .skip 16, 0xcc\n.p2align 4\n"
    "in_pieces: push %rbx; xor %eax, %eax; push %rbp; mov $70, %al; pop %rbp; add $7, %eax\n"
    "pop %rbx; ret; .skip 16, 0xcc\n.p2align 4\n");
int one_long(void), crossing(void), within_16(void), calling(void), in_pieces(void);
#define ASM_BYTES 13

enum { NR_THREADS = 4, TURNS = 1000, MOST_TURNS = 250, CALLS_AFTER = 1000 };

static struct {
	int (*function)(void);
	bool is_over;
	uint64_t calls, wrong, traps, moved;
	sem_t stopped;
	unsigned turn, written; /* threads that were stopped in a turn wait until it is written */
	const struct patch *patch;
} shared_state;
#define S shared_state

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)signal, (void)info;
	if (!patch_trapped((uint64_t *)&c->uc_mcontext.gregs[REG_RIP],
			   (uint64_t *)&c->uc_mcontext.gregs[REG_RSP]))
		abort();
	__atomic_add_fetch(&S.traps, 1, __ATOMIC_RELAXED);
}

/* Stops the thread until the patch is written; where it may not go on it is moved. */
static void on_stop(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	uint64_t ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	uint64_t to = patch_moved_to(&S.patch->plan, &S.patch->trampoline, ip);
	const unsigned turn = __atomic_load_n(&S.turn, __ATOMIC_ACQUIRE);
	int saved = errno;

	(void)signal, (void)info;
	if (to != ip)
		__atomic_add_fetch(&S.moved, 1, __ATOMIC_RELAXED);
	c->uc_mcontext.gregs[REG_RIP] = (greg_t)to;
	sem_post(&S.stopped);
	while (__atomic_load_n(&S.written, __ATOMIC_ACQUIRE) < turn)
		sched_yield();
	errno = saved;
}

static void *call_often(void *arg)
{
	uint64_t *mine = arg;

	block = mine;
	while (!__atomic_load_n(&S.is_over, __ATOMIC_ACQUIRE)) {
		__atomic_add_fetch(&S.wrong, S.function() != 77, __ATOMIC_RELAXED);
		__atomic_add_fetch(&S.calls, 1, __ATOMIC_RELAXED);
	}
	mine[0] = mine[3]; /* all that were counted while it was written */
	for (int i = 0; i < CALLS_AFTER; i++)
		S.function();
	return NULL;
}

static void stop_all(pthread_t thread[NR_THREADS])
{
	__atomic_add_fetch(&S.turn, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_kill(thread[i], SIGUSR1);
	for (int i = 0; i < NR_THREADS; i++)
		while (sem_wait(&S.stopped) < 0)
			;
}

struct way {
	int (*function)(void);
	enum patch_way way;
	bool stops;
};

static void write_turn(const struct way *w, struct patch *p, pthread_t thread[NR_THREADS],
		       bool undo)
{
	if (w->stops && !undo)
		stop_all(thread);
	assert_int_equal(patch_write(&patch_calls, &p->text, &p->site, 1, undo, w->way), 0);
	__atomic_store_n(&S.written, S.turn, __ATOMIC_RELEASE);
}

static void check_way(const struct way *w)
{
	static uint64_t blocks[NR_THREADS][NR_COUNTERS];
	pthread_t thread[NR_THREADS];
	struct patch p;

	memset(blocks, 0, sizeof(blocks));
	start(&p, (void (*)(void))w->function, ASM_BYTES);
	assert_int_equal(patch_write(&patch_calls, &p.text, &p.site, 1, true, PATCH_BY_TRAP), 0);
	memset(&S, 0, sizeof(S));
	S.function = w->function;
	S.patch = &p;
	sem_init(&S.stopped, 0, 0);
	handle(on_trap, SIGTRAP);
	handle(on_stop, SIGUSR1);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call_often, blocks[i]), 0);
	while (__atomic_load_n(&S.calls, __ATOMIC_ACQUIRE) < NR_THREADS)
		sched_yield();
	for (size_t i = 0; i < TURNS / stride_by(TURNS, MOST_TURNS); i++)
		write_turn(w, &p, thread, i & 1);
	write_turn(w, &p, thread, false);
	__atomic_store_n(&S.is_over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(S.wrong, 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(blocks[i][3] - blocks[i][0], CALLS_AFTER);
	print_message("%lu calls, %lu traps, %lu moved\n", (unsigned long)S.calls,
		      (unsigned long)S.traps, (unsigned long)S.moved);
	stop(&p);
	signal(SIGTRAP, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

/* Called each time that processors are to fetch anew: between the steps. */
static int call_between(void *arg)
{
	uint64_t *nr = arg;

	*nr += S.function() == 77;
	return 0;
}

static int protect(void *arg, uint64_t address, uint64_t len, int prot)
{
	(void)arg;
	return patch_calls.protect(NULL, address, len, prot);
}

static void check_between(int (*function)(void))
{
	uint64_t nr = 0;
	const struct patch_system system = {protect, call_between, &nr};
	struct patch p;

	start(&p, (void (*)(void))function, ASM_BYTES);
	memset(&S, 0, sizeof(S));
	S.function = function;
	handle(on_trap, SIGTRAP);
	assert_int_equal(patch_write(&system, &p.text, &p.site, 1, true, PATCH_BY_TRAP), 0);
	assert_int_equal(patch_write(&system, &p.text, &p.site, 1, false, PATCH_BY_TRAP), 0);
	/* before the first step, with the INT3, twice, and with the whole */
	assert_int_equal(nr, 2 * 4);
	assert_int_equal(S.traps, 2 * 2);
	/* not once with the old bytes */
	assert_int_equal(shared[3], 2 * 4 - 2);
	signal(SIGTRAP, SIG_DFL);
	stop(&p);
}

TEST(between_steps)
{
	check_between(one_long);
	check_between(calling);
	check_between(in_pieces);
}

/* --- between the instructions that are replaced */

static unsigned stands_at;

/* Patches the function under the thread that is in it. */
static void on_step_inside(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	greg_t *ip = &c->uc_mcontext.gregs[REG_RIP];

	(void)signal, (void)info;
	if ((uint64_t)*ip != stepped->site.address + stands_at)
		return;
	write_one(stepped, false);
	*ip = (greg_t)patch_moved_to(&stepped->plan, &stepped->trampoline, (uint64_t)*ip);
	S.moved += (uint64_t)*ip != stepped->site.address + stands_at;
}

static void step_to(struct patch *p, unsigned at, bool is_moved)
{
	uint64_t result;

	write_one(p, true);
	stands_at = at;
	S.moved = 0;
	step((void (*)(void))in_pieces, &result);
	assert_int_equal(result, 77);
	assert_int_equal(S.moved, is_moved);
	assert_int_equal(in_pieces(), 77);
}

TEST(who_stands_inside_is_moved)
{
	/* push; xor; push; mov */
	static const unsigned inside[] = {1, 3, 4};
	struct patch p;

	start(&p, (void (*)(void))in_pieces, ASM_BYTES);
	memset(&S, 0, sizeof(S));
	stepped = &p;
	handle(on_step_inside, SIGTRAP);
	for (size_t i = 0; i < NR(inside); i++)
		step_to(&p, inside[i], true);
	step_to(&p, 0, false);          /* at the begin it meets the jump */
	step_to(&p, 6, false);          /* behind */
	assert_int_equal(shared[3], 6); /* the other calls, and the one from the begin */
	signal(SIGTRAP, SIG_DFL);
	stop(&p);
}

TEST(threads)
{
	static const struct way ways[] = {
	    {one_long, PATCH_BY_TRAP, false},  {crossing, PATCH_BY_TRAP, false},
	    {calling, PATCH_BY_TRAP, false},   {one_long, PATCH_AT_ONCE, false},
	    {within_16, PATCH_AT_ONCE, false}, {in_pieces, PATCH_BY_TRAP, true},
	    {in_pieces, PATCH_AT_ONCE, true},
	};

	for (size_t i = 0; i < NR(ways); i++)
		check_way(&ways[i]);
}

#else
TEST(other_machine)
{
	SKIP("patching: only on x86-64");
}
#endif
