/*
 * What tests of unwinding share: a sample taken of this very program (a trap whose handler copies
 * the registers and the stack), and what is mapped in it, in place of a session's records.
 */
#ifndef TEST_UNWIND_H
#define TEST_UNWIND_H

#include "kit.h"

#include "cfi/machine.h"
#include "elf/finder.h"
#include "profile/processes.h"
#include "trace/record.h"
#include "unwind/unwind.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { TEST_STACK_BYTES = 64 << 10, TEST_MAX_MAPPINGS = 512, TEST_MAX_CHAIN = 256 };

#if defined(__x86_64__)
#define TEST_MACHINE "x86_64"
/* All registers of the recorder (lib/event/attr.c). */
#define TEST_REGS   0xff0fffull
#define TEST_TRAP() __asm__ volatile("int3")
#else
#define TEST_MACHINE "aarch64"
#define TEST_REGS    0x1ffffffffull
#define TEST_TRAP()  __asm__ volatile("brk #0")
#endif

/* In the tests, what is mapped is a list; the last that covers an address is the one. */
struct profile_lookup {
	struct profile_mapping mapping[TEST_MAX_MAPPINGS];
	struct profile_object object[TEST_MAX_MAPPINGS];
	char path[TEST_MAX_MAPPINGS][256];
	size_t nr;
	unsigned nr_asked;
};

static inline bool test_find_mapping(void *lookup, const void *process, uint64_t address,
				     uint64_t time_ns, struct unwind_mapping *out)
{
	static const enum unwind_object_kind kinds[] = {
	    [PROFILE_OBJECT_FILE] = UNWIND_OBJECT_FILE,
	    [PROFILE_OBJECT_ANON] = UNWIND_OBJECT_MEMORY,
	    [PROFILE_OBJECT_VDSO] = UNWIND_OBJECT_VDSO,
	    [PROFILE_OBJECT_DELETED] = UNWIND_OBJECT_FILE,
	};
	struct profile_lookup *l = lookup;
	const struct profile_mapping *m;

	(void)process;
	(void)time_ns;
	l->nr_asked++;
	for (size_t i = l->nr; i--;) {
		m = &l->mapping[i];
		if (address < m->start || address >= m->end)
			continue;
		*out = (struct unwind_mapping){
		    m->start, m->offset, m->prot, m->object->number, kinds[m->object->kind], m};
		return true;
	}
	return false;
}

static inline void test_want_file(void *lookup, const struct unwind_mapping *m,
				  struct unwind_file *out)
{
	const struct profile_object *o = ((const struct profile_mapping *)m->of)->object;

	(void)lookup;
	*out = (struct unwind_file){
	    .path = o->path, .build_id = o->build_id, .build_id_len = o->build_id_len};
}

static inline struct unwind_maps test_maps(struct profile_lookup *l)
{
	return (struct unwind_maps){.find = test_find_mapping, .want = test_want_file, .arg = l};
}

static inline void test_map(struct profile_lookup *l, uint64_t start, uint64_t end, uint64_t offset,
			    uint32_t prot, const char *path)
{
	size_t i = l->nr++, same = i;
	struct profile_object *o = &l->object[i];

	assert_true(i < TEST_MAX_MAPPINGS);
	snprintf(l->path[i], sizeof(l->path[i]), "%.255s", path);
	*o = (struct profile_object){.number = (uint32_t)i,
				     .kind =
					 *path == '/' ? PROFILE_OBJECT_FILE : PROFILE_OBJECT_ANON,
				     .path = l->path[i]};
	if (strcmp(path, "[vdso]") == 0)
		o->kind = PROFILE_OBJECT_VDSO;
	for (size_t k = 0; k < i && same == i && *path == '/'; k++)
		if (strcmp(l->path[k], path) == 0)
			same = k;
	l->mapping[i] = (struct profile_mapping){
	    .start = start, .end = end, .offset = offset, .prot = prot, .object = &l->object[same]};
}

/* A line of maps in /proc. */
struct test_line {
	uint64_t start, end, offset;
	const char *prot, *path; /* rwxp; may be empty */
};

/* start-end prot offset device inode path; cuts the text. */
static inline struct test_line test_parse_line(char *text)
{
	struct test_line l;
	char *prot, *at;

	l.start = strtoull(text, &at, 16);
	l.end = strtoull(at + 1, &prot, 16);
	l.offset = strtoull(prot + 6, &at, 16);
	assert_true(l.start < l.end && *prot == ' ' && *at == ' ');
	for (unsigned i = 0; i < 2; i++) {
		at += strspn(at, " ");
		at += strcspn(at, " \n");
	}
	at += strspn(at, " ");
	at[strcspn(at, "\n")] = '\0';
	l.prot = prot + 1;
	l.path = at;
	return l;
}

/* What is mapped in this program now. */
static inline void test_map_self(struct profile_lookup *l)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char text[4096];

	assert_non_null(f);
	l->nr = 0;
	while (fgets(text, sizeof(text), f)) {
		const struct test_line line = test_parse_line(text);

		if (line.prot[2] == 'x')
			test_map(l, line.start, line.end, line.offset, PROT_READ | PROT_EXEC,
				 line.path);
	}
	fclose(f);
}

/* A sample: registers in the order of asm/perf_regs.h, and the stack. */
struct test_sample {
	uint64_t reg[64];
	uint8_t stack[TEST_STACK_BYTES];
	size_t stack_len;
	struct trace_layout layout;
	struct trace_record record;
};

static inline void test_sample_init(struct test_sample *s, uint64_t user_regs)
{
	s->layout = (struct trace_layout){
	    .user_regs = user_regs, .nr_user_regs = (unsigned)__builtin_popcountll(user_regs)};
	s->record = (struct trace_record){.kind = PERF_RECORD_SAMPLE,
					  .has = TRACE_HAS_USER_REGS | TRACE_HAS_USER_STACK,
					  .regs_abi = 2,
					  .regs = (const uint8_t *)s->reg,
					  .nr_regs = s->layout.nr_user_regs,
					  .stack = s->stack,
					  .stack_len = s->stack_len};
}

#if defined(__x86_64__)
/* perf's order, by the names of ucontext; the words of the segment registers are not looked at */
static const int test_greg[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP,
				REG_RSP, REG_RIP, REG_EFL, -1,      -1,      REG_R8,  REG_R9,
				REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static inline uint64_t test_take_regs(struct test_sample *s, const ucontext_t *c)
{
	for (size_t i = 0; i < NR(test_greg); i++)
		s->reg[i] = test_greg[i] < 0 ? 0 : (uint64_t)c->uc_mcontext.gregs[test_greg[i]];
	return (uint64_t)c->uc_mcontext.gregs[REG_RSP];
}
#else
static inline uint64_t test_take_regs(struct test_sample *s, ucontext_t *c)
{
	memcpy(s->reg, c->uc_mcontext.regs, 31 * sizeof(uint64_t));
	s->reg[31] = c->uc_mcontext.sp;
	s->reg[32] = c->uc_mcontext.pc;
	c->uc_mcontext.pc += 4; /* past the trap */
	return c->uc_mcontext.sp;
}
#endif

/* Where the stack of the process begins: above its environment. */
static uint64_t test_stack_end;
static struct test_sample *test_sample_wanted;

/* Reads the frames of other functions, between which ASan has put what must not be touched. */
__attribute__((no_sanitize("address"))) static void test_copy(uint8_t *to, uint64_t from,
							      size_t len)
{
	const volatile uint8_t *p = (const volatile uint8_t *)from;

	for (size_t i = 0; i < len; i++)
		to[i] = p[i];
}

__attribute__((no_sanitize("address"))) static void test_on_trap(int sig, siginfo_t *info,
								 void *arg)
{
	struct test_sample *s = test_sample_wanted;
	uint64_t sp = test_take_regs(s, arg);

	(void)sig;
	(void)info;
	s->stack_len =
	    test_stack_end - sp < sizeof(s->stack) ? test_stack_end - sp : sizeof(s->stack);
	test_copy(s->stack, sp, s->stack_len);
	test_sample_init(s, TEST_REGS);
}

/* From here on each TEST_TRAP fills the sample. */
static inline void test_trap_into(struct test_sample *s)
{
	static uint8_t other[64 << 10] __attribute__((aligned(16)));
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction act = {.sa_sigaction = test_on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	test_sample_wanted = s;
	test_stack_end = (uint64_t)getauxval(AT_RANDOM) & ~7ull;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	assert_int_equal(sigaction(SIGTRAP, &act, NULL), 0);
}

/* An unwinder of this program, and what it found. */
struct test_unwind {
	struct profile_lookup lookup;
	struct elf_finder *finder;
	struct elf_file *vdso;
	struct unwinder *u;
	struct profile_process process;
	/* of unwinder_config; NULL: none */
	unwind_find_made_fn *find_made;
	unwind_find_method_fn *find_method;
	uint64_t chain[TEST_MAX_CHAIN], exact[TEST_MAX_CHAIN / 64];
	size_t nr;
	enum unwind_end end;
};

static inline int test_unwind_open(struct test_unwind *t, const char *machine)
{
	struct elf_finder_config finder = {0};
	struct unwinder_config config = {.maps = test_maps(&t->lookup), .machine = machine};
	int rc = elf_finder_new(&finder, &t->finder);

	if (rc < 0)
		return rc;
	config.finder = t->finder;
	config.vdso = t->vdso;
	config.find_made = t->find_made;
	config.find_method = t->find_method;
	config.arg = t;
	rc = unwinder_new(&config, &t->u);
	if (rc < 0)
		elf_finder_free(t->finder);
	return rc;
}

static inline void test_unwind_close(struct test_unwind *t)
{
	unwinder_free(t->u);
	elf_finder_free(t->finder);
}

static inline void test_unwind_run(struct test_unwind *t, const struct test_sample *s)
{
	t->nr = unwind_user(t->u, &t->process, 0, &s->layout, &s->record, t->chain, TEST_MAX_CHAIN,
			    t->exact, &t->end);
}

#endif
