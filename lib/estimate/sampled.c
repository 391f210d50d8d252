/*
 * Compares received samples with expected ones, in integers: counts have 64 bits, their products
 * 128.
 */
#include "estimate/sampled.h"
#include "base/array.h"
#include "base/sum.h"

#include <stddef.h>
#include <string.h>

/* /proc/stat counts in 10 ms: each of two readings may be off by that. */
enum { MIN_BUSY_PERCENT = 5, MIN_BUSY_NS = 50000000, SLACK_NS = 20000000, NR_BY_CHANCE = 2 };

typedef unsigned __int128 wide;

/* Events that count time: the count includes what samples exclude. */
static bool is_clock(const char *group, const char *name)
{
	static const char *const names[] = {"cpu_clock", "task_clock"};

	if (strcmp(group, "software") != 0)
		return false;
	return ARRAY_ANY(x, names, ARRAY_NR(names), strcmp(name, *x) == 0);
}

/* Samples exclude a mode if exactly one of the two flags is set. */
static bool is_one_of(unsigned flags, unsigned a, unsigned b)
{
	return !(flags & a) != !(flags & b);
}

/* A clock also counts the mode that os or user alone excludes from sampling. For no_idle, guest and
 * host it is unknown which counters the CPU stops. */
static bool is_partial(bool clock, unsigned flags)
{
	return flags & SAMPLED_NO_IDLE || is_one_of(flags, SAMPLED_GUEST, SAMPLED_HOST) ||
	       (clock && is_one_of(flags, SAMPLED_OS, SAMPLED_USER));
}

/* Its samples are random, and a wait that lasts is counted before it is sampled; so is what a
 * program allocates. */
static bool is_wait(const char *group)
{
	return strcmp(group, "sched") == 0 || strcmp(group, "heap") == 0 ||
	       strcmp(group, "resource") == 0;
}

struct sampled_event sampled_event(const char *group, const char *name, uint64_t rate,
				   uint64_t frequency, unsigned flags)
{
	bool clock = is_clock(group, name);

	return (struct sampled_event){.period = frequency ? 0 : rate,
				      .frequency = frequency,
				      .is_clock = clock,
				      .is_partial = is_partial(clock, flags),
				      .is_wait = is_wait(group)};
}

bool sampled_event_is_sampled(const struct sampled_event *ev)
{
	return ev->period || ev->frequency;
}

void sampled_counts_add(struct sampled_counts *to, const struct sampled_counts *n)
{
	sum_add(&to->samples, n->samples);
	sum_add(&to->idle, n->idle);
	sum_add(&to->weight, n->weight);
	sum_add(&to->lost, n->lost); /* SAMPLED_UNKNOWN stays, since it is the maximum */
	sum_add(&to->throttled, n->throttled);
}

/* a × b / c for b <= c. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	return c ? (uint64_t)((wide)a * b / c) : 0;
}

/* The time of a clock in which the CPU was not idle. */
static uint64_t busy_ns(const struct cell *c, uint64_t idle_ns)
{
	return idle_ns < c->running_ns ? c->running_ns - idle_ns : 0;
}

static enum sampled_claim claim_of_clock(const struct cell *c, uint64_t idle_ns)
{
	uint64_t busy = busy_ns(c, idle_ns);

	if ((wide)busy * 100 >= (wide)c->running_ns * MIN_BUSY_PERCENT && busy >= MIN_BUSY_NS)
		return SAMPLED_COMPARED;
	return busy < c->running_ns - busy ? SAMPLED_IDLE : SAMPLED_SHORT;
}

static enum sampled_claim claim_of(const struct sampled_event *ev, const struct cell *c,
				   uint64_t idle_ns)
{
	if (!cell_has_value(c))
		return SAMPLED_NO_COUNT;
	if (ev->is_partial)
		return SAMPLED_PARTIAL;
	if (ev->is_wait)
		return SAMPLED_LASTING;
	if (ev->is_clock && idle_ns != UINT64_MAX)
		return claim_of_clock(c, idle_ns);
	return SAMPLED_COMPARED;
}

/* /proc/stat and the samples disagree about idle time (interrupts of the idle task, stolen time),
 * but no more can be missing of the busy time than of all time. */
static void compare_busy(const struct cell *c, uint64_t idle_ns, struct sampled *s)
{
	uint64_t idle = s->n.idle < s->n.samples ? s->n.idle : s->n.samples;
	uint64_t missing = c->running_ns > s->n.weight ? c->running_ns - s->n.weight : 0;

	s->received = scale(s->n.weight, s->n.samples - idle, s->n.samples);
	s->expected = s->received;
	sum_add(&s->expected, missing);
	if (s->expected > busy_ns(c, idle_ns))
		s->expected = busy_ns(c, idle_ns);
	s->slack = SLACK_NS;
}

static void compare(const struct sampled_event *ev, const struct cell *c, uint64_t idle_ns,
		    struct sampled *s)
{
	s->received = s->n.weight;
	s->expected = ev->is_clock ? c->running_ns : c->raw;
	if (ev->is_clock && idle_ns != UINT64_MAX)
		compare_busy(c, idle_ns, s);
	/* a period may be long, and a sample of a software event has the period before */
	if (ev->frequency && s->n.samples)
		sum_add(&s->slack, 2 * (s->n.weight / s->n.samples));
	if (ev->period) /* only whole periods end in a sample */
		s->expected -= s->expected % ev->period;
}

void sampled_make(const struct sampled_event *ev, const struct sampled_counts *n,
		  const struct cell *c, uint64_t idle_ns, struct sampled *out)
{
	struct sampled s = {.claim = claim_of(ev, c, idle_ns), .n = *n};

	s.has_residual = cell_has_value(c);
	if (s.has_residual && __builtin_sub_overflow(c->raw, n->weight, &s.residual))
		s.residual = c->raw < n->weight ? INT64_MIN : INT64_MAX;
	if (s.claim == SAMPLED_COMPARED)
		compare(ev, c, idle_ns, &s);
	if (ev->is_clock && idle_ns != UINT64_MAX)
		s.idle_percent =
		    (unsigned)scale(100, c->running_ns - busy_ns(c, idle_ns), c->running_ns);
	*out = s;
}

void sampled_hold(struct sampled *s)
{
	s->claim = SAMPLED_HELD;
	s->has_residual = false;
	s->residual = 0;
	s->received = s->expected = s->slack = 0;
}

void sampled_total(struct sampled *total, const struct sampled *s)
{
	if (s->claim == SAMPLED_NONE)
		return;
	if (total->claim == SAMPLED_NONE || s->claim < total->claim)
		total->claim = s->claim;
	sampled_counts_add(&total->n, &s->n);
	if (__builtin_add_overflow(total->residual, s->residual, &total->residual))
		total->residual = s->residual < 0 ? INT64_MIN : INT64_MAX;
	total->has_residual |= s->has_residual;
	sum_add(&total->received, s->received);
	sum_add(&total->expected, s->expected);
}

double sampled_coverage(const struct sampled *s)
{
	if (s->claim != SAMPLED_COMPARED || !s->expected)
		return -1;
	return s->received < s->expected ? (double)s->received / (double)s->expected : 1;
}

uint64_t sampled_nr_expected(const struct sampled_event *ev, const struct sampled *s)
{
	return ev->period ? s->expected / ev->period : 0;
}

static uint64_t missing(const struct sampled *s)
{
	return s->received < s->expected ? s->expected - s->received : 0;
}

uint64_t sampled_nr_missing(const struct sampled_event *ev, const struct sampled *s)
{
	wide nr = ev->period     ? missing(s) / ev->period
		  : s->n.weight  ? (wide)missing(s) * s->n.samples / s->n.weight
		  : ev->is_clock ? (wide)missing(s) * ev->frequency / 1000000000
				 : 0;

	return nr < UINT64_MAX ? (uint64_t)nr : UINT64_MAX;
}

bool sampled_is_short(const struct sampled_event *ev, const struct sampled *s)
{
	return (wide)missing(s) * 100 > s->expected && missing(s) > s->slack &&
	       sampled_nr_missing(ev, s) > NR_BY_CHANCE;
}
