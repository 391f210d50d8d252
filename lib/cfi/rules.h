/*
 * How each register of the caller is found at one address of a function. Computed by the program of
 * an unwind table. Most sets of rules fit into a row.
 */
#ifndef CFI_RULES_H
#define CFI_RULES_H

#include "cfi/expr.h"
#include "cfi/row.h"

enum cfi_rule_kind {
	CFI_RULE_UNSAID, /* no rule: the ABI defines whether the register is callee-saved */
	CFI_RULE_LOST,
	CFI_RULE_SAME,
	CFI_RULE_SAVED,    /* on the stack, at CFA + off */
	CFI_RULE_CFA,      /* the value is CFA + off */
	CFI_RULE_REG,      /* the value is that of register off, plus plus */
	CFI_RULE_LOADED,   /* on the stack, at register off plus plus */
	CFI_RULE_EXPR,     /* on the stack, at the address that the expression yields */
	CFI_RULE_VAL_EXPR, /* the value of the expression */
};
struct cfi_rule {
	uint8_t kind;
	int64_t off, plus;
	struct cfi_expr expr;
};
struct cfi_rules {
	struct cfi_rule cfa; /* CFI_RULE_REG, CFI_RULE_LOADED or CFI_RULE_VAL_EXPR */
	struct cfi_rule reg[CFI_MAX_REGS];
	unsigned ra;    /* the column of the return address, below nr_regs */
	bool is_signal; /* the caller was interrupted by a signal */
};

/* Converts the rules: CFI_ROW_PLAIN, CFI_ROW_OUTERMOST, or CFI_ROW_HARD if they do not fit. */
void cfi_rules_row(const struct cfi_rules *r, const struct cfi_machine *m, struct cfi_row *out);
/* Steps to the caller by any rules. If it fails, *f is as before. */
enum cfi_end cfi_rules_apply(const struct cfi_rules *r, struct cfi_frame *f);

#endif
