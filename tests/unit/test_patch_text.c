/*
 * The code of this machine's programs and libraries, by our decoder and by capstone: the same
 * lengths, flows and targets; and what is moved of each function that can be patched means the same
 * where it was moved to. Prints how many functions can be. PATCH_FILE: only this file.
 */
#include "test_patch.h"

#include "base/array.h"
#include "patch/decode.h"
#include "patch/move.h"

#include <capstone/capstone.h>
#include <dirent.h>
#include <sys/stat.h>

enum { MAX_FILES = 8000, FAR = 1 << 30, MOST_FILES = 8, MOST_FUNCTIONS = 200 };

static csh capstone;
static cs_insn *theirs, *moved_by;

struct counts {
	size_t files, functions, instructions, unknown_to_capstone, refused[PATCH_NR_REFUSALS];
	size_t redirected, entered, not_scanned;
};

static size_t accepted(const struct counts *c)
{
	return c->refused[PATCH_ACCEPTED] - c->entered;
}

HOOK(before_all)
{
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &capstone), CS_ERR_OK);
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	theirs = cs_malloc(capstone);
	moved_by = cs_malloc(capstone);
}

HOOK(after_all)
{
	cs_free(theirs, 1);
	cs_free(moved_by, 1);
	cs_close(&capstone);
}

static bool disassemble(const uint8_t *bytes, size_t len, uint64_t address, cs_insn *out)
{
	return cs_disasm_iter(capstone, &bytes, &len, &address, out);
}

/* --- instruction by instruction */

static void fail_at(const char *what, const uint8_t *bytes, size_t len, uint64_t address)
{
	char text[3 * PATCH_MAX_INSTRUCTION + 1] = "";

	for (size_t i = 0; i < len && i < PATCH_MAX_INSTRUCTION; i++)
		snprintf(text + 3 * i, 4, "%02x ", bytes[i]);
	fail_msg("%s at %lx: %s(capstone: %s %s)", what, (unsigned long)address, text,
		 theirs->mnemonic, theirs->op_str);
}

static bool has_rip(const cs_insn *i, uint64_t *address)
{
	const cs_x86 *x = &i->detail->x86;

	for (int k = 0; k < x->op_count; k++)
		if (x->operands[k].type == X86_OP_MEM && x->operands[k].mem.base == X86_REG_RIP) {
			*address = i->address + i->size + (uint64_t)x->operands[k].mem.disp;
			return true;
		}
	return false;
}

static bool has_target(const cs_insn *i, uint64_t *address)
{
	const cs_x86 *x = &i->detail->x86;

	if (!x->op_count || x->operands[0].type != X86_OP_IMM)
		return false;
	*address = (uint64_t)x->operands[0].imm;
	return cs_insn_group(capstone, i, CS_GRP_JUMP) || cs_insn_group(capstone, i, CS_GRP_CALL);
}

static bool is_same_flow(const struct patch_instruction *ours)
{
	const bool jumps = ours->flow == PATCH_BRANCHES || ours->flow == PATCH_JUMPS ||
			   ours->flow == PATCH_JUMPS_INDIRECT;
	const bool calls = ours->flow == PATCH_CALLS || ours->flow == PATCH_CALLS_INDIRECT;
	/* capstone has no group for loop */
	const bool they_jump = cs_insn_group(capstone, theirs, CS_GRP_JUMP) ||
			       theirs->id == X86_INS_LOOP || theirs->id == X86_INS_LOOPE ||
			       theirs->id == X86_INS_LOOPNE;

	return jumps == they_jump && calls == cs_insn_group(capstone, theirs, CS_GRP_CALL) &&
	       (ours->flow == PATCH_RETURNS) == cs_insn_group(capstone, theirs, CS_GRP_RET);
}

/* capstone 4 has one byte too many of an EVEX instruction of registers with rounding or {sae}. */
static bool is_one_too_long(const struct patch_instruction *ours, const uint8_t *bytes)
{
	enum { EVEX = 0x62, WITH_ROUNDING = 0x10 };
	const size_t at = ours->opcode_at;

	return theirs->size == ours->len + 1 && at >= 4 && bytes[at - 4] == EVEX &&
	       bytes[at - 1] & WITH_ROUNDING && bytes[at + 1] >> 6 == 3;
}

static void compare(const struct patch_instruction *ours, const uint8_t *bytes, uint64_t address)
{
	uint64_t at = 0, of_ours = address + ours->len + (uint64_t)(int64_t)ours->relative;

	if (is_one_too_long(ours, bytes))
		return;
	if (theirs->size != ours->len)
		fail_at("another length", bytes, PATCH_MAX_INSTRUCTION, address);
	if (!is_same_flow(ours))
		fail_at("another flow", bytes, ours->len, address);
	if (has_rip(theirs, &at) || has_target(theirs, &at)) {
		if (!ours->relative_at || at != of_ours)
			fail_at("another target", bytes, ours->len, address);
	} else if (ours->relative_at && theirs->id != X86_INS_LOOP && theirs->id != X86_INS_LOOPE &&
		   theirs->id != X86_INS_LOOPNE) {
		fail_at("a target", bytes, ours->len, address);
	}
}

static void check_code(const struct patch_code *code, struct counts *c)
{
	struct patch_instruction ours;

	for (size_t at = 0; at < code->len; at += ours.len) {
		const uint8_t *p = code->bytes + at;

		if (!patch_decode(p, code->len - at, &ours))
			return;
		c->instructions++;
		if (disassemble(p, code->len - at, code->address + at, theirs))
			compare(&ours, p, code->address + at);
		else
			c->unknown_to_capstone++;
	}
}

/* --- what is moved */

static bool is_same_operand(const cs_x86_op *a, const cs_x86_op *b)
{
	if (a->type != b->type || a->size != b->size)
		return false;
	if (a->type == X86_OP_REG)
		return a->reg == b->reg;
	if (a->type == X86_OP_IMM)
		return a->imm == b->imm; /* of branches: the address */
	return a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
	       a->mem.scale == b->mem.scale && a->mem.segment == b->mem.segment &&
	       (a->mem.base == X86_REG_RIP || a->mem.disp == b->mem.disp);
}

static bool means_same(const cs_insn *a, const cs_insn *b)
{
	const cs_x86 *x = &a->detail->x86, *y = &b->detail->x86;
	uint64_t to_a = 0, to_b = 0;

	if (a->id != b->id || x->op_count != y->op_count ||
	    has_rip(a, &to_a) != has_rip(b, &to_b) || to_a != to_b)
		return false;
	for (int i = 0; i < x->op_count; i++)
		if (!is_same_operand(&x->operands[i], &y->operands[i]))
			return false;
	return true;
}

static void require_jump(const struct patch_trampoline *t, size_t at, uint64_t to)
{
	uint64_t target = 0;

	assert_true(disassemble(t->code + at, t->len - at, t->address + at, moved_by));
	assert_int_equal(moved_by->id, X86_INS_JMP);
	assert_true(has_target(moved_by, &target));
	assert_int_equal(target, to);
}

static void check_moved(const struct patch_plan *p, const struct patch_trampoline *t)
{
	size_t at = 0;
	uint8_t pushed;

	for (size_t k = 0; k < t->nr_moved; k++, at += theirs->size) {
		assert_int_equal(t->moved[k].from, at);
		if (!disassemble(p->old + at, p->moved_len - at, p->address + at, theirs))
			return; /* unknown to capstone, counted above */
		if (!disassemble(t->code + t->moved[k].to, t->len, t->address + t->moved[k].to,
				 moved_by) ||
		    !means_same(theirs, moved_by))
			fail_at("moved, it differs", p->old + at, theirs->size, p->address + at);
		assert_int_equal(moved_by->size, t->moved[k + 1].to - t->moved[k].to);
		assert_int_equal(patch_original(p, t, t->address + t->moved[k].to, &pushed),
				 p->address + at);
		assert_int_equal(pushed, 0);
	}
	assert_int_equal(at, p->moved_len);
	if (theirs->id != X86_INS_JMP && theirs->id != X86_INS_RET)
		require_jump(t, t->moved[t->nr_moved].to, p->address + at);
}

static void check_redirected(const struct patch_plan *p, const struct patch_trampoline *t)
{
	uint64_t target = 0, slot = 0;

	assert_true(disassemble(p->old, p->len, p->address, theirs));
	assert_int_equal(theirs->id, X86_INS_CALL);
	if (has_target(theirs, &target)) {
		require_jump(t, t->moved[0].to, target);
		return;
	}
	assert_true(has_rip(theirs, &target));
	assert_true(
	    disassemble(t->code + t->moved[0].to, t->len, t->address + t->moved[0].to, moved_by));
	assert_int_equal(moved_by->id, X86_INS_JMP);
	assert_true(has_rip(moved_by, &slot));
	assert_int_equal(slot, target);
}

static void check_replacement(const struct patch_plan *p, const struct patch_trampoline *t)
{
	uint64_t target = 0;

	assert_true(disassemble(t->replacement, p->len, p->address, theirs));
	assert_int_equal(theirs->size, p->len);
	assert_int_equal(theirs->id, p->moved_len ? X86_INS_JMP : X86_INS_CALL);
	assert_true(has_target(theirs, &target));
	assert_int_equal(target, t->address);
}

static void check_plan(const struct patch_plan *p)
{
	const struct patch_counter counter = {
	    .number = 7, .block = -16, .shared = p->address + FAR};
	struct patch_trampoline t;

	assert_int_equal(patch_move(p, &counter, p->address + FAR, &t), 0);
	if (p->moved_len)
		check_moved(p, &t);
	else
		check_redirected(p, &t);
	check_replacement(p, &t);
}

/* --- files */

static void scan_all(const struct patch_file *f, struct patch_span *spans, size_t nr,
		     struct counts *c)
{
	const void *arg[2];
	struct patch_function function;

	for (size_t i = 0; i < f->nr; i++)
		if (patch_file_function(f, i, arg, &function))
			c->not_scanned += !patch_scan(&function.code, spans, nr);
	for (size_t i = 0; i < nr; i++)
		c->entered += spans[i].is_entered;
}

static void check_file(const char *path, struct counts *c)
{
	struct patch_file f;
	const void *arg[2];
	struct patch_function function;
	struct patch_plan plan;
	struct patch_span *spans;
	size_t nr = 0;

	if (!patch_file_open(&f, path))
		return;
	c->files++;
	spans = calloc(f.nr + 1, sizeof(*spans));
	STRIDE_EACH(i, f.nr, MOST_FUNCTIONS) {
		enum patch_refusal refusal;

		if (!patch_file_function(&f, i, arg, &function) ||
		    function.code.len < PATCH_JUMP_BYTES)
			continue;
		c->functions++;
		check_code(&function.code, c);
		refusal = patch_plan(&function, &plan);
		c->refused[refusal]++;
		if (refusal != PATCH_ACCEPTED)
			continue;
		check_plan(&plan);
		c->redirected += plan.moved_len == 0;
		spans[nr++] = plan.span;
	}
	if (stride_by(f.nr, MOST_FUNCTIONS) < 100)
		scan_all(&f, spans, nr, c);
	free(spans);
	patch_file_close(&f);
}

static void show(const char *what, const struct counts *c)
{
	if (!c->functions)
		return;
	print_message("%s: %zu functions, %.1f %% can be patched (%zu by their first call), %zu "
		      "instructions, %zu unknown to capstone, %zu functions not scanned\n",
		      what, c->functions, 100. * (double)accepted(c) / (double)c->functions,
		      c->redirected, c->instructions, c->unknown_to_capstone, c->not_scanned);
	for (int i = 1; i < PATCH_NR_REFUSALS; i++)
		if (c->refused[i])
			print_message("  %5.2f %% %s\n",
				      100. * (double)c->refused[i] / (double)c->functions,
				      patch_refusal_text((enum patch_refusal)i));
	print_message("  %5.2f %% %s\n", 100. * (double)c->entered / (double)c->functions,
		      "other code leads into its first instructions");
}

static size_t list_files(char *paths[MAX_FILES])
{
	static const char *const folders[] = {"/usr/bin", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/gcc/x86_64-linux-gnu/12",
					      "/usr/lib/git-core", "/usr/sbin"};
	size_t nr = 0;

	for (size_t i = 0; i < NR(folders); i++) {
		DIR *folder = opendir(folders[i]);
		struct dirent *entry;

		while (folder && nr < MAX_FILES && (entry = readdir(folder))) {
			char path[PATH_MAX];
			struct stat st;

			snprintf(path, sizeof(path), "%s/%s", folders[i], entry->d_name);
			if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
				paths[nr++] = strdup(path);
		}
		if (folder)
			closedir(folder);
	}
	return nr;
}

TEST(text)
{
	static char *paths[MAX_FILES];
	const char *only = getenv("PATCH_FILE");
	struct counts c = {0};
	size_t nr;

	if (only) {
		check_file(only, &c);
		show(only, &c);
		return;
	}
	nr = list_files(paths);
	STRIDE_EACH(i, nr, MOST_FILES) {
		check_file(paths[i], &c);
	}
	show("this machine", &c);
	for (size_t i = 0; i < nr; i++)
		free(paths[i]);
}

/* Whatever is on this machine, the C library is. */
TEST(c_library)
{
	struct counts c = {0};

	check_file("/usr/lib/x86_64-linux-gnu/libc.so.6", &c);
	show("libc", &c);
	assert_true(c.functions > 0);
	assert_true(2 * accepted(&c) > c.functions);
}
