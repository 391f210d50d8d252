#include "causal/rounds.h"

#include "base/hash.h"

#include <math.h>

/* What is left of the real time, at least. */
#define LEAST_VIRTUAL 0.01

void causal_block_plan(struct causal_block *b, size_t number, size_t nr_arms)
{
	const size_t tried = nr_arms == 1                   ? 2
			     : nr_arms < CAUSAL_BLOCK_TRIED ? nr_arms
							    : CAUSAL_BLOCK_TRIED;

	*b = (struct causal_block){.nr = tried + 2};
	for (size_t i = 0; i < tried; i++) {
		const size_t at = number % 2 ? tried - i : 1 + i;

		b->arm[at] = 1 + (number * tried + i) % nr_arms;
	}
}

static double virtual_of(const struct causal_round *r)
{
	return r->real_s - r->delayed_s;
}

/* NAN: it has none. */
static double value_of(const struct causal_round *r, enum causal_measure m)
{
	const double left = virtual_of(r);

	if (!r->is_used || !(left > LEAST_VIRTUAL * r->real_s))
		return NAN;
	if (m == CAUSAL_THROUGHPUT)
		return r->visits / left;
	return r->latency_s;
}

/* On the line through both ends of the block. */
static double base_at(const struct causal_block *b, double middle_s, enum causal_measure m)
{
	const struct causal_round *first = &b->round[0], *last = &b->round[b->nr - 1];
	const double from = value_of(first, m), to = value_of(last, m);
	const double length = last->middle_s - first->middle_s;

	return length > 0 ? from + (to - from) * (middle_s - first->middle_s) / length : NAN;
}

bool causal_block_compare(const struct causal_block *b, size_t arm, enum causal_measure m,
			  double *out)
{
	double sum = 0;
	size_t nr = 0;

	for (size_t i = 1; i + 1 < b->nr; i++) {
		const struct causal_round *r = &b->round[i];
		const double base = base_at(b, r->middle_s, m), value = value_of(r, m);

		if (b->arm[i] != arm || !(base > 0) || isnan(value))
			continue;
		sum += m == CAUSAL_LATENCY ? 1 - value / base : value / base - 1;
		nr++;
	}
	if (nr)
		*out = sum / (double)nr;
	return nr;
}

void causal_flow_look(struct causal_flow *f, uint64_t at_ns, uint64_t begun, double ended)
{
	const double nr = fmax((double)begun - ended, 0);

	if (f->at_ns && at_ns > f->at_ns)
		f->under_ns += (uint64_t)((f->nr + nr) / 2 * (double)(at_ns - f->at_ns));
	f->late += f->at_ns && at_ns > causal_flow_next(f) + CAUSAL_FLOW_LATE_NS;
	f->at_ns = at_ns;
	f->nr = nr;
	f->looks++;
	f->met += nr > 0;
}

bool causal_flow_is_met(uint64_t looks, uint64_t met)
{
	return (double)met >= CAUSAL_FLOW_MET * (double)looks;
}

bool causal_flow_is_late(uint64_t looks, uint64_t late)
{
	return (double)late > CAUSAL_FLOW_LATE * (double)looks;
}

uint64_t causal_flow_next(const struct causal_flow *f)
{
	return f->at_ns + CAUSAL_FLOW_LOOK_NS / 2 + hash_mix(f->at_ns, 1) % CAUSAL_FLOW_LOOK_NS;
}

double causal_round_length(double visits, double real_s)
{
	const double length =
	    visits > 0 ? CAUSAL_ROUND_VISITS * real_s / visits : CAUSAL_ROUND_MAX_S;

	return fmin(fmax(length, CAUSAL_ROUND_MIN_S), CAUSAL_ROUND_MAX_S);
}

bool causal_round_is_settled(double latency_s, double virtual_s)
{
	return virtual_s >= CAUSAL_SETTLE_LATENCIES * latency_s;
}

/* Of a program that hardly runs, the time itself is the measure. */
bool causal_round_is_disturbed(double real_s, double ran_s, double queued_s)
{
	return queued_s > CAUSAL_QUEUED * fmax(real_s, ran_s + queued_s);
}

size_t causal_runs_compare(const struct causal_run *run, size_t nr_rounds, size_t nr_arms,
			   size_t arm, double *saved)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_rounds; i++) {
		const struct causal_run *base = &run[i * nr_arms], *tried = base + arm;

		if (base->is_used && tried->is_used && base->wall_s > 0)
			saved[nr++] = 1 - tried->wall_s / base->wall_s;
	}
	return nr;
}
