/*
 * A part of what grows pays the debt, so that reading goes on meanwhile.
 */
#include "live/budget.h"

enum { PART_FOR_DEBT = 4 };

void budget_init(struct budget *b, double share, uint64_t lent_ns, uint64_t most_ns,
		 uint64_t now_ns, uint64_t used_ns)
{
	*b = (struct budget){.share = share,
			     .most_ns = (int64_t)most_ns,
			     .most_debt_ns = (int64_t)lent_ns,
			     .credit_ns = (int64_t)lent_ns - (int64_t)used_ns,
			     .debt_ns = (int64_t)lent_ns,
			     .at_ns = now_ns,
			     .used_ns = used_ns};
}

int64_t budget_update(struct budget *b, uint64_t now_ns, uint64_t used_ns)
{
	int64_t grown = now_ns > b->at_ns ? (int64_t)(b->share * (double)(now_ns - b->at_ns)) : 0;
	int64_t paid = grown / PART_FOR_DEBT;

	paid = paid < b->debt_ns ? paid : b->debt_ns;
	b->debt_ns -= paid;
	b->credit_ns -= (int64_t)(used_ns - b->used_ns);
	if (b->credit_ns < b->most_ns) {
		b->credit_ns += grown - paid;
		b->credit_ns = b->credit_ns < b->most_ns ? b->credit_ns : b->most_ns;
	}
	b->at_ns = now_ns;
	b->used_ns = used_ns;
	return b->credit_ns;
}

void budget_charge(struct budget *b, uint64_t ns)
{
	const int64_t room = b->most_debt_ns - b->debt_ns;
	const int64_t lent = (int64_t)ns < room ? (int64_t)ns : room;

	b->debt_ns += lent;
	b->credit_ns -= (int64_t)ns - lent;
}

uint32_t budget_steps(int64_t credit_ns, uint64_t cost_ns, uint32_t most)
{
	uint64_t nr = most;

	if (credit_ns <= 0)
		return 1;
	if (cost_ns)
		nr = (uint64_t)credit_ns / cost_ns;
	nr = nr < most ? nr : most;
	return nr ? (uint32_t)nr : 1;
}

static double share_of(const struct budget *b)
{
	return b->debt_ns ? b->share * (PART_FOR_DEBT - 1) / PART_FOR_DEBT : b->share;
}

uint64_t budget_grows_ns(const struct budget *b, uint64_t ns)
{
	return (uint64_t)(share_of(b) * (double)ns);
}

uint64_t budget_wait_ns(const struct budget *b)
{
	return b->credit_ns > 0 ? 0 : (uint64_t)((double)(1 - b->credit_ns) / share_of(b));
}
