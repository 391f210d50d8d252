/*
 * What the program reads and writes of sets of signals and of handlers, without our signal (for
 * which see times.c).
 */
#include "agent/heap/times.h"
#include "agent/heap/waits.h"

#include <signal.h>
#include <string.h>

static uint64_t bit(void)
{
	int number = agent_times_signal();

	return number ? UINT64_C(1) << (number - 1) : 0;
}

static const void *copy(struct agent_signals *to, const void *set, uint64_t with, uint64_t without)
{
	*to = (struct agent_signals){{0}};
	memcpy(to->word, set, sizeof(to->word[0]));
	to->word[0] = (to->word[0] | with) & ~without;
	return to;
}

const void *agent_signals_without(struct agent_signals *to, const void *set)
{
	return set && bit() && *(const uint64_t *)set & bit() ? copy(to, set, 0, bit()) : set;
}

const void *agent_signals_with(struct agent_signals *to, const void *set)
{
	return set && bit() ? copy(to, set, bit(), 0) : set;
}

void agent_signals_masked(int how, const struct agent_signals *set, void *old)
{
	struct agent_local *t = &agent_local;
	uint64_t ours = bit(), *mask = old;
	bool has_it;

	if (!ours)
		return;
	if (mask)
		*mask = t->blocks_ours ? *mask | ours : *mask & ~ours;
	if (!set)
		return;
	has_it = set->word[0] & ours;
	if (how == SIG_SETMASK || has_it)
		t->blocks_ours = has_it && how != SIG_UNBLOCK;
}

bool agent_signals_held(int number, bool is_held)
{
	if (number <= 0 || number != agent_times_signal())
		return false;
	agent_local.blocks_ours = is_held;
	return true;
}
