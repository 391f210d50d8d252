/*
 * CPU time that may be used: a credit that grows with time by a share of one CPU. It is limited, so
 * that a quiet hour does not allow a busy minute. What the start may cost is lent, and so is what a
 * user asks for later; both are paid back from what grows. Pure: its inputs are times.
 */
#ifndef CPUPERF_PRINT_LIVE_BUDGET_H
#define CPUPERF_PRINT_LIVE_BUDGET_H

#include <stdint.h>

struct budget {
	double share;            /* of a CPU */
	int64_t most_ns;         /* the credit grows no further */
	int64_t most_debt_ns;    /* no more is lent */
	int64_t credit_ns;       /* below 0: too much was used */
	int64_t debt_ns;         /* what was lent, and is not paid back yet */
	uint64_t at_ns, used_ns; /* of the last update */
};

/* used_ns: the CPU time used so far, which is charged. */
void budget_init(struct budget *b, double share, uint64_t lent_ns, uint64_t most_ns,
		 uint64_t now_ns, uint64_t used_ns);
/* The credit now. */
int64_t budget_update(struct budget *b, uint64_t now_ns, uint64_t used_ns);
/* Charges what others used for the user: lent as far as the debt may grow, and from the credit. */
void budget_charge(struct budget *b, uint64_t ns);
/* How many steps of cost_ns each to take before the next update: 1 to most. cost_ns 0: not known.
 */
uint32_t budget_steps(int64_t credit_ns, uint64_t cost_ns, uint32_t most);
/* By how much the credit grows in that time, after what is paid back. */
uint64_t budget_grows_ns(const struct budget *b, uint64_t ns);
/* How long until there is credit if none is used, as of the last update; 0: there is. */
uint64_t budget_wait_ns(const struct budget *b);

#endif
