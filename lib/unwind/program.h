/*
 * The programs of unwind tables (DW_CFA_…): run up to an address, they tell how each register of
 * the caller is found there. Source: DWARF 5, 6.4.2; the LSB for those of GNU.
 */
#ifndef UNWIND_PROGRAM_H
#define UNWIND_PROGRAM_H

#include "unwind/bytes.h"
#include "unwind/expr.h"

enum unwind_rule_kind {
	UNWIND_RULE_UNSAID, /* the ABI says whether functions keep it */
	UNWIND_RULE_LOST,
	UNWIND_RULE_SAME,
	UNWIND_RULE_SAVED,    /* on the stack, at the CFA and off */
	UNWIND_RULE_CFA,      /* it is the CFA and off */
	UNWIND_RULE_REG,      /* in the register off; of the CFA: that and plus */
	UNWIND_RULE_EXPR,     /* where the expression says */
	UNWIND_RULE_VAL_EXPR, /* what the expression says */
};
struct unwind_rule {
	uint8_t kind;
	int64_t off, plus;
	struct unwind_expr expr;
};
struct unwind_rules {
	struct unwind_rule cfa; /* UNWIND_RULE_REG or UNWIND_RULE_VAL_EXPR */
	struct unwind_rule reg[UNWIND_MAX_REGS];
};

/* What programs are read with. */
struct unwind_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra; /* the column of the return address */
	uint8_t encoding;
	bool has_data, is_signal;
	const uint8_t *program; /* that all of its functions begin with */
	size_t program_len;
};

/* The rules at an address in a function that begins at start. False: the program makes no sense.
 * base is of the section. */
bool unwind_program_run(const struct unwind_machine *m, const struct unwind_cie *cie,
			const struct unwind_base *base, const uint8_t *program, size_t len,
			uint64_t start, uint64_t address, struct unwind_rules *out);

#endif
