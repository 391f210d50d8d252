/*
 * A table of machines, and what of capstone is used.
 */
#include "annotate/decode.h"

#include "base/err.h"

#include <errno.h>

#include "base/array.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/str.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The version whose headers are compiled: its structures are those of that library alone. It is
 * large, and no other report should wait for it. */
#define TEXT_OF(number) #number
#define VERSION(number) TEXT_OF(number)
static const char library[] = "libcapstone.so." VERSION(CS_API_MAJOR);
#define FUNCTIONS(X)                                                                               \
	X(open)                                                                                    \
	X(close)                                                                                   \
	X(option)                                                                                  \
	X(malloc)                                                                                  \
	X(free)                                                                                    \
	X(disasm_iter)
static struct {
#define POINTER(name) __typeof__(cs_##name) *name;
	FUNCTIONS(POINTER)
} cs;

static const struct machine {
	uint16_t number;
	cs_arch arch;
	cs_mode mode;
	uint32_t unit; /* bytes of what cannot be decoded */
	bool is_x86;
} machines[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64, 1, true},
    {EM_386, CS_ARCH_X86, CS_MODE_32, 1, true},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, 4, false},
};

struct annotate_decoder {
	const struct machine *machine;
	csh handle;
	cs_insn *insn; /* owned */
};

/* Remains loaded. */
static int load(struct err *e)
{
	const struct library_function functions[] = {
#define PLACE(name) {"cs_" #name, &cs.name},
	    FUNCTIONS(PLACE)};
	const char *why = library_load(library, functions, ARRAY_NR(functions));

	if (!why)
		return 0;
	err_set(e, -ENOTSUP, "instructions cannot be shown: %s", why);
	err_hint(e, LIBRARY_HINT("capstone"));
	return -ENOTSUP;
}

static int open_handle(struct annotate_decoder *d)
{
	if (cs.open(d->machine->arch, d->machine->mode, &d->handle) != CS_ERR_OK)
		return -ENOMEM;
	if (cs.option(d->handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK &&
	    (!d->machine->is_x86 ||
	     cs.option(d->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT) == CS_ERR_OK))
		d->insn = cs.malloc(d->handle);
	if (d->insn)
		return 0;
	cs.close(&d->handle);
	return -ENOMEM;
}

int annotate_decoder_open(uint16_t machine, struct annotate_decoder **out, struct err *e)
{
	const struct machine *m = ARRAY_FIND(x, machines, ARRAY_NR(machines), x->number == machine);
	struct annotate_decoder *d;
	int rc;

	if (!m)
		return err_set(e, -ENOTSUP,
			       "instructions cannot be shown: they are not of x86 or arm64");
	rc = load(e);
	if (rc)
		return rc;
	d = mem_zalloc(sizeof(*d));
	if (d)
		d->machine = m;
	rc = d ? open_handle(d) : -ENOMEM;
	if (rc) {
		mem_free(d);
		return err_set(e, rc, "instructions cannot be shown: out of memory");
	}
	*out = d;
	return 0;
}

void annotate_decoder_close(struct annotate_decoder *d)
{
	if (!d)
		return;
	cs.free(d->insn, 1);
	cs.close(&d->handle);
	mem_free(d);
}

static bool is_of(const cs_detail *detail, unsigned group)
{
	for (size_t i = 0; i < detail->groups_count; i++)
		if (detail->groups[i] == group)
			return true;
	return false;
}

/* The last immediate operand: that of arm64's tbz has others before it. */
static void find_target(const struct annotate_decoder *d, struct annotate_instruction *out)
{
	const cs_detail *detail = d->insn->detail;

	for (int i = 0; d->machine->is_x86 && i < detail->x86.op_count; i++)
		if (detail->x86.operands[i].type == X86_OP_IMM) {
			out->has_target = true;
			out->target = (uint64_t)detail->x86.operands[i].imm;
		}
	for (int i = 0; !d->machine->is_x86 && i < detail->arm64.op_count; i++)
		if (detail->arm64.operands[i].type == ARM64_OP_IMM) {
			out->has_target = true;
			out->target = (uint64_t)detail->arm64.operands[i].imm;
		}
}

/* Relative to the instruction pointer, which is at the next instruction. */
static void find_slot(const struct annotate_decoder *d, uint64_t next,
		      struct annotate_instruction *out)
{
	const cs_detail *detail = d->insn->detail;

	for (int i = 0; d->machine->is_x86 && detail && i < detail->x86.op_count; i++) {
		const cs_x86_op *operand = &detail->x86.operands[i];

		if (operand->type != X86_OP_MEM || operand->mem.base != X86_REG_RIP ||
		    operand->mem.index != X86_REG_INVALID)
			continue;
		out->has_slot = true;
		out->slot = next + (uint64_t)operand->mem.disp;
	}
}

static enum annotate_flow flow_of(const struct annotate_decoder *d)
{
	const cs_detail *detail = d->insn->detail;

	if (!detail)
		return ANNOTATE_NEXT;
	if (is_of(detail, CS_GRP_CALL) ||
	    (!d->machine->is_x86 && (d->insn->id == ARM64_INS_BL || d->insn->id == ARM64_INS_BLR)))
		return ANNOTATE_CALL;
	if (is_of(detail, CS_GRP_RET) || (!d->machine->is_x86 && d->insn->id == ARM64_INS_RET))
		return ANNOTATE_RETURN;
	return is_of(detail, CS_GRP_JUMP) ? ANNOTATE_JUMP : ANNOTATE_NEXT;
}

/* Writes bytes that are no instruction as an assembler's directive. */
static void write_data(const struct annotate_decoder *d, const uint8_t *bytes, size_t len,
		       struct annotate_instruction *out)
{
	const uint32_t unit = len < d->machine->unit ? 1 : d->machine->unit;
	uint32_t word = 0;

	for (uint32_t i = 0; i < unit; i++)
		word |= (uint32_t)bytes[i] << 8 * i;
	out->len = unit;
	out->is_data = true;
	snprintf(out->text, sizeof(out->text),
		 unit == 1 ? ".byte 0x%02" PRIx32 : ".word 0x%08" PRIx32, word);
}

void annotate_decode(struct annotate_decoder *d, const uint8_t *bytes, size_t len, uint64_t address,
		     struct annotate_instruction *out)
{
	const uint8_t *at = bytes;
	uint64_t next = address;
	size_t left = len;

	*out = (struct annotate_instruction){.len = 0};
	if (!cs.disasm_iter(d->handle, &at, &left, &next, d->insn) || !d->insn->size ||
	    d->insn->size > len) {
		write_data(d, bytes, len, out);
		return;
	}
	out->len = d->insn->size;
	out->flow = flow_of(d);
	if (out->flow == ANNOTATE_JUMP || out->flow == ANNOTATE_CALL)
		find_target(d, out);
	find_slot(d, next, out);
	snprintf(out->text, sizeof(out->text), "%s%s%s", d->insn->mnemonic,
		 *d->insn->op_str ? " " : "", d->insn->op_str);
	str_disarm(out->text);
}
