/*
 * Rounds of experiments within one run of a program: in each, nothing or one candidate is virtually
 * faster, and visits of a progress point are counted. What a candidate brings is the rate of visits
 * by virtual time (the real time less the delay), beside that of rounds without a delay.
 *
 * A program has phases: so rounds are in blocks, at whose both ends nothing is tried, and what is
 * tried in between is compared with the line through these two alone. What drifts steadily cancels
 * out, and blocks share no round, so the differences of one candidate are independent. The order
 * within a block changes from block to block. Arithmetic alone, no clocks.
 */
#ifndef CAUSAL_ROUNDS_H
#define CAUSAL_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A third of the rounds of a full block try nothing: of one candidate, half of them. */
enum { CAUSAL_BLOCK_TRIED = 4, CAUSAL_BLOCK_ROUNDS = CAUSAL_BLOCK_TRIED + 2 };

struct causal_round {
	double middle_s;  /* when */
	double real_s;    /* how long it lasted */
	double delayed_s; /* by how much of that others were delayed */
	double visits;
	double latency_s; /* mean, in virtual time; NAN: it has none, or is not known */
	bool is_late;     /* then: too many looks came late */
	bool is_used;
};

struct causal_block {
	size_t nr;
	size_t arm[CAUSAL_BLOCK_ROUNDS]; /* 0: nothing is tried */
	struct causal_round round[CAUSAL_BLOCK_ROUNDS];
};

/* Sets the order of the block with that number (from 0), of arms 1 to nr_arms (at least 1). */
void causal_block_plan(struct causal_block *b, size_t number, size_t nr_arms);

enum causal_measure {
	CAUSAL_THROUGHPUT, /* the part by which there is more */
	CAUSAL_LATENCY     /* the part by which it is less */
};
/* What the arm brings, by this block. False: the block has no round of it that is used, or none
 * that it can be compared with. */
bool causal_block_compare(const struct causal_block *b, size_t arm, enum causal_measure m,
			  double *out);

/* Of things that begin and end only the numbers are known: how long one lasts on average is, by
 * Little's law, how many are under way on average, by how many end in a unit of time. coz counts
 * those that are under way once, at the end of an experiment; here it is done in many looks. */
struct causal_flow {
	uint64_t at_ns;    /* of the last look; 0: there was none */
	double nr;         /* under way at that time */
	uint64_t under_ns; /* cumulative: the time of all that were under way, added up */
	/* cumulative: in how many of them something was under way, how many were late */
	uint64_t looks, met, late;
};
/* So many have begun and ended (a number that may have a half, of two looks). */
void causal_flow_look(struct causal_flow *f, uint64_t at_ns, uint64_t begun, double ended);
/* Whether so many looks meet what is under way often enough. */
bool causal_flow_is_met(uint64_t looks, uint64_t met);
/* Whether so many are late that the latency is not known: one that waits for a CPU is when the
 * program does less. */
bool causal_flow_is_late(uint64_t looks, uint64_t late);
/* When to look next: at irregular times, so that the program has no part in it. */
uint64_t causal_flow_next(const struct causal_flow *f);
#define CAUSAL_FLOW_LOOK_NS 1000000 /* on average */
#define CAUSAL_FLOW_LATE_NS 200000
#define CAUSAL_FLOW_MET     0.02
#define CAUSAL_FLOW_LATE    0.1

/* How long rounds should be, by one without a delay: a count is off by up to one visit, so that
 * some noise that is not the program's is in each round; longer rounds have less of it, but are
 * farther from what they are compared with. */
enum { CAUSAL_ROUND_VISITS = 20 };
#define CAUSAL_ROUND_MIN_S 0.2
#define CAUSAL_ROUND_MAX_S 10.0
double causal_round_length(double visits, double real_s);
/* Before a round what is tried is changed, and some time passes. What began before the change has
 * ended by then, but for a little: if regions last for latency_s on average, in virtual time (0:
 * there are none). */
bool causal_round_is_settled(double latency_s, double virtual_s);
#define CAUSAL_SETTLE_LATENCIES 2

/* Of this much real time, threads waited for a CPU for so long in all, and ran for so long: whether
 * that is too much. Then the threads ran in turns, and nothing is seen of what waits for what. */
#define CAUSAL_QUEUED 0.05
bool causal_round_is_disturbed(double real_s, double ran_s, double queued_s);

/* A whole run, of a program that ends. */
struct causal_run {
	double wall_s; /* in virtual time */
	bool is_used;
};
/* Of runs in rounds, run[round * nr_arms + arm], of which arm 0 tries nothing: which part of the
 * wall time the arm saves in each round of which both runs are used. saved has room for nr_rounds.
 * Returns how many these are. */
size_t causal_runs_compare(const struct causal_run *run, size_t nr_rounds, size_t nr_arms,
			   size_t arm, double *saved);

#endif
