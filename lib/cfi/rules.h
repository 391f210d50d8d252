/*
 * The rules that hold at one place of a function: how each register of the caller is found there.
 * The program of an unwind table computes them; most fit into a row.
 */
#ifndef CFI_RULES_H
#define CFI_RULES_H

#include "cfi/expr.h"
#include "cfi/row.h"

enum cfi_rule_kind {
	CFI_RULE_UNSAID, /* no rule: the ABI says whether functions preserve the register */
	CFI_RULE_LOST,
	CFI_RULE_SAME,
	CFI_RULE_SAVED,    /* on the stack, at the CFA and off */
	CFI_RULE_CFA,      /* it is the CFA and off */
	CFI_RULE_REG,      /* in the register off; of the CFA: that and plus */
	CFI_RULE_EXPR,     /* on the stack, where the expression says */
	CFI_RULE_VAL_EXPR, /* it is the value of the expression */
};
struct cfi_rule {
	uint8_t kind;
	int64_t off, plus;
	struct cfi_expr expr;
};
struct cfi_rules {
	struct cfi_rule cfa; /* CFI_RULE_REG or CFI_RULE_VAL_EXPR */
	struct cfi_rule reg[CFI_MAX_REGS];
	unsigned ra;    /* the column of the return address, below nr_regs */
	bool is_signal; /* the caller was interrupted, and did not call */
};

/* The row for the rules: CFI_ROW_PLAIN or CFI_ROW_OUTERMOST, or CFI_ROW_HARD if they do not fit. */
void cfi_rules_row(const struct cfi_rules *r, const struct cfi_machine *m, struct cfi_row *out);
/* Steps to the caller by rules of any kind. Unless it goes on, f is half changed. */
enum cfi_end cfi_rules_apply(const struct cfi_rules *r, struct cfi_frame *f);

#endif
