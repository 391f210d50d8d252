/*
 * Which functions of a file are changed: those of this program, whose code is below.
 */
#include "kit.h"

#include "elf/file.h"
#include "elf/reader.h"
#include "functions/functions.h"
#include "functions/list.h"
#include "hooks/plans.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__

#define FUNCTION(name, code)                                                                       \
	".p2align 4, 0xcc\n.globl " name "\n.type " name ", @function\n" name ":\n" code           \
	".size " name ", . - " name "\n"

__asm__(
    ".pushsection .text\n" FUNCTION("plan_plain",
				    "push %rbx\nmov $7, %ebx\nmov %ebx, %eax\npop %rbx\nret\n")
	FUNCTION("plan_short", "ret\nud2\n")
    /* of the next one's bytes the second instruction is entered by another function */
    FUNCTION("plan_inner", "inc %edi\n1: lea 1(%rdi), %eax\nret\n")
	FUNCTION("plan_outer", "test %edi, %edi\njmp 1b\nnop\nnop\n")
    /* by a branch of code without a symbol */
    FUNCTION("plan_bare", "inc %esi\n2: lea 1(%rsi), %eax\nret\n") ".p2align 4, 0xcc\nnop\njmp 2b\n"
    /* by a word that the loader relocates */
    FUNCTION("plan_label", "inc %ecx\n3: lea 1(%rcx), %eax\nret\n")
    /* by a symbol */
    FUNCTION(
	"plan_symbol",
	"inc %edx\nother_within: lea 1(%rdx), %eax\nret\n") ".globl other_within\n.type "
							    "other_within, @function\n.size "
							    "other_within, 4\n"
							    /* two names */
							    ".globl plan_again\n.type plan_again, "
							    "@function\n.set plan_again, "
							    "plan_twice\n" FUNCTION(
								"plan_twice",
								"xor %eax, %eax\nadd $9, "
								"%eax\nret\n") ".size plan_again, "
									       ". - plan_again\n"
    /* an entry of the unwind table begins within it */
    FUNCTION("plan_around",
	     "xor %eax, %eax\nadd $9, %eax\n.globl plan_framed\nplan_framed: .cfi_startproc\nadd "
	     "$1, %eax\n"
	     "nop\nnop\nret\n.cfi_endproc\n") ".popsection\n"
					      ".pushsection .data.rel.ro, \"aw\"\n.p2align "
					      "3\n.quad 3b\n.popsection\n");

/* With unwind tables, so that their ends are looked for. */
#define FRAMED(name, code) FUNCTION(name, ".cfi_startproc\n" code ".cfi_endproc\n")
#define SIX                ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
#define TAIL               "xor %eax, %eax\nxor %ecx, %ecx\nret\n"

__asm__(
    ".pushsection .text\n"
    /* two returns */
    FRAMED("plan_two", "mov $7, %eax\ntest %edi, %edi\nje 4f\n" TAIL "4: " TAIL)
    /* a jump to another function, and to a part of this one */
    FRAMED("plan_tail", "mov $7, %eax\njmp plan_two\n")
	FRAMED("plan_split", "mov $7, %eax\ntest %edi, %edi\nje plan_split.cold\n4: " TAIL)
	    FRAMED("plan_split.cold", "mov $8, %eax\njmp 4b\n")
		FRAMED("plan_bold", "mov $7, %eax\njmp plan_bold.cold\n")
		    FRAMED("plan_bold.cold", "mov $8, %eax\n" TAIL)
    /* to a part that comes back, without a name */
    FRAMED("plan_part",
	   "mov $7, %eax\ntest %edi, %edi\njmp 5f\n4: " TAIL) ".p2align 4, 0xcc\n5: "
							      ".cfi_startproc\nmov $8, %eax\njmp "
							      "4b\n.cfi_endproc\n"
    /* to one that comes back, or returns itself */
    FRAMED("plan_parts", "mov $7, %eax\ntest %edi, %edi\njmp 5f\n4: " TAIL) ".p2align 4, 0xcc\n5: "
									    ".cfi_startproc\nmov "
									    "$8, %eax\nje 4b\n" TAIL
									    ".cfi_endproc\n"
    /* to what never returns */
    FRAMED("plan_fails", "mov $7, %eax\ntest %edi, %edi\nje plan_ends\n" TAIL)
	FRAMED("plan_ends", "mov $7, %eax\nud2\n")
    /* its end is entered by another function, and by a landing pad of its own; no padding follows
     */
    FRAMED("plan_left", "mov $7, %eax\n" SIX "xor %eax, %eax\n6: xor %ecx, %ecx\nret\n")
	FRAMED("plan_leads", "mov $7, %eax\ntest %edi, %edi\njmp 6b\n") FUNCTION(
	    "plan_lands", ".cfi_startproc\n.cfi_lsda 0x1b, plan_table\nmov $7, %eax\n" SIX
			  "xor %eax, %eax\n7: xor %ecx, %ecx\nret\n.cfi_endproc\n")
	    FUNCTION("plan_lands_well", ".cfi_startproc\n.cfi_lsda 0x1b, plan_table_well\n"
					"mov $7, %eax\n" SIX "8: " TAIL ".cfi_endproc\n")
		FUNCTION("plan_odd",
			 ".cfi_startproc\n.cfi_lsda 0x1b, plan_table_odd\n"
			 "mov $7, %eax\n" TAIL
			 ".cfi_endproc\n") ".popsection\n"
					   /* from the function's begin, no types, uleb128: one row,
					      whose pad is at 13, or at 11 */
					   ".pushsection .gcc_except_table, \"a\"\n"
					   "plan_table: .byte 0xff, 0xff, 1, 4, 0, 5, 13, 0\n"
					   "plan_table_well: .byte 0xff, 0xff, 1, 4, 0, 5, 11, 0\n"
					   "plan_table_odd: .byte 0xff, 0xff, 0x0f, 4, 0, 5, 7, 0\n"
					   ".popsection\n");

/* The kernel restarts what is before the commit, if it was interrupted. */
__asm__(
    ".pushsection .text\n" FRAMED("plan_restarts", "mov $7, %ecx\n31: mov $7, %eax\n" TAIL) FRAMED(
	"plan_commits", "mov $7, %eax\n" SIX "32: mov %eax, %ecx\nmov %ecx, %eax\n33: ret\n")
	FRAMED(
	    "plan_committed",
	    "mov $7, %eax\n34: mov $7, %ecx\n35: " TAIL) ".popsection\n"
							 ".pushsection __rseq_cs, \"aw\"\n.p2align "
							 "5\n"
							 ".long 0, 0\n.quad plan_restarts, 31b - "
							 "plan_restarts, 31b\n"
							 ".long 0, 0\n.quad 32b, 33b - 32b, 31b\n"
							 ".long 0, 0\n.quad 34b, 35b - 34b, "
							 "35b\n.popsection\n");

enum { MOST = 40 };
static struct functions_place found[MOST];
static char names[MOST][64];
static struct hooks_plan plans[MOST];
static size_t nr;
static struct elf_reader *reader;
static struct elf_file *elf;
static char path[PATH_MAX];

static void add(const struct functions_symbol *s)
{
	snprintf(names[nr], sizeof(names[nr]), "%s", s->name);
	found[nr] = (struct functions_place){
	    .path = path, .name = names[nr], .address = s->address, .size = s->size};
	plans[nr] = (struct hooks_plan){.place = &found[nr]};
	nr++;
}

HOOK(before_all)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct functions_list list;
	struct err e = {0};
	struct stat st;

	assert_true(len > 0);
	path[len] = '\0';
	assert_int_equal(elf_reader_new(&config, &reader), 0);
	assert_int_equal(elf_file_open(reader, path, &elf, &st, &e), 0);
	assert_int_equal(functions_list_load(elf, path, reader, &list), 0);
	for (size_t i = 0; i < list.nr && nr < NR(plans); i++)
		if (strncmp(list.symbol[i].name, "plan_", 5) == 0)
			add(&list.symbol[i]);
	functions_list_fini(&list);
	assert_int_equal(hooks_plans_make(elf, path, reader, true, plans, nr), 0);
}

HOOK(after_all)
{
	hooks_plans_fini(plans, nr);
	elf_file_close(elf);
	elf_reader_free(reader);
}

static const struct hooks_plan *plan_of(const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(plans[i].place->name, name) == 0)
			return &plans[i];
	fail_msg("no %s", name);
	return NULL;
}

static void check_refused(const char *name, const char *why)
{
	const struct hooks_plan *p = plan_of(name);

	assert_non_null(p->refused);
	assert_string_equal(p->refused, why);
}

TEST(what_is_replaced_is_in_the_file)
{
	const struct hooks_plan *p = plan_of("plan_plain");

	assert_null(p->refused);
	assert_int_equal(p->plan.address, p->place->address);
	assert_int_equal(p->plan.len, 5);
	assert_int_equal(p->plan.moved_len, 6);
	assert_int_equal(p->plan.old[0], 0x53);
	assert_int_equal(p->plan.old[1], 0xbb);
}

TEST(two_names_are_one_function)
{
	assert_null(plan_of("plan_twice")->refused);
	assert_null(plan_of("plan_again")->refused);
}

TEST(what_is_entered_is_refused)
{
	static const char *const entered[] = {"plan_inner", "plan_bare", "plan_label",
					      "plan_symbol"};

	for (size_t i = 0; i < NR(entered); i++)
		check_refused(entered[i], patch_refusal_text(PATCH_IS_ENTERED));
	assert_null(plan_of("plan_outer")->refused);
}

TEST(what_has_other_code_behind_it_is_refused)
{
	check_refused("plan_short", patch_refusal_text(PATCH_IS_SPLIT));
}

TEST(the_unwind_table_has_the_last_word)
{
	check_refused("plan_around", "another function begins within it");
}

TEST(what_is_restarted_is_refused)
{
	check_refused("plan_restarts", "the kernel restarts its first instructions (rseq)");
}

static const struct {
	const char *name, *untimed; /* NULL: it has times */
	size_t nr;
} ends[] = {
    {"plan_two", NULL, 2},
    {"plan_tail", NULL, 1},
    {"plan_split", NULL, 1},
    {"plan_bold", "it leaves by a branch, or a part of it stands elsewhere", 0},
    {"plan_part", NULL, 1},
    {"plan_parts", "it leaves by a branch, or a part of it stands elsewhere", 0},
    {"plan_fails", NULL, 1},
    {"plan_ends", "it does not return", 0},
    {"plan_left", "a branch leads into the last instructions before a return", 0},
    {"plan_lands", "a branch leads into the last instructions before a return", 0},
    {"plan_lands_well", NULL, 1},
    {"plan_odd", "its table of exceptions is not understood", 0},
    {"plan_commits", "the kernel restarts its last instructions (rseq)", 0},
    {"plan_committed", NULL, 1},
    {"plan_plain", "the unwind table does not say where its stack is when it begins or returns", 0},
};

TEST(what_has_ends)
{
	for (size_t i = 0; i < NR(ends); i++) {
		const struct hooks_plan *p = plan_of(ends[i].name);

		if (p->refused)
			fail_msg("%s: %s", ends[i].name, p->refused);
		if (!p->untimed != !ends[i].untimed ||
		    (p->untimed && strcmp(p->untimed, ends[i].untimed) != 0) ||
		    p->nr_exits != ends[i].nr ||
		    p->plan.kind != (p->nr_exits ? PATCH_BEGINS : PATCH_COUNTS))
			fail_msg("%s: %zu ends, %s", ends[i].name, p->nr_exits,
				 p->untimed ?: "timed");
	}
	assert_int_equal(plan_of("plan_two")->exits[0].address,
			 plan_of("plan_two")->place->address + 9);
}

TEST(counts_alone_have_no_ends)
{
	struct hooks_plan p = {.place = plan_of("plan_two")->place};

	assert_int_equal(hooks_plans_make(elf, path, reader, false, &p, 1), 0);
	assert_true(!p.refused && !p.untimed && !p.nr_exits);
	assert_int_equal(p.plan.kind, PATCH_COUNTS);
	hooks_plans_fini(&p, 1);
}

TEST(other_files_are_refused)
{
	static const uint8_t arm[64] = {0x7f,      'E',       'L',      'F',        2,
					1,         1,         [16] = 3, [18] = 183, [20] = 1,
					[52] = 64, [54] = 56, [58] = 64};
	struct functions_place place = {.path = "", .name = "f", .address = 4096, .size = 64};
	struct hooks_plan p = {.place = &place};
	struct elf_file *other;

	assert_int_equal(elf_file_open_mem(arm, sizeof(arm), false, "arm", &other, NULL), 0);
	assert_int_equal(hooks_plans_make(other, "arm", NULL, true, &p, 1), 0);
	assert_string_equal(p.refused, "only code of x86-64 is understood");
	elf_file_close(other);
}

#else

TEST(nothing_is_replaced_on_this_machine)
{
}

#endif
