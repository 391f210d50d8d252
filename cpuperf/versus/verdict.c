/*
 * The verdict: of each measure the mean of the pairs' logarithms of new / old, so that "2 times"
 * and "half" are as far from equal, and its interval.
 */
#include "versus/versus.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 40 };
/* Where nothing is asked, it is known when half of the interval is below this, or below a part of
 * the difference. */
#define CLOSE              0.005
#define PART_OF_DIFFERENCE 4

static const struct {
	const char *name, *header, *unit;
	double step; /* of which a value is a multiple */
} measures[VERSUS_NR] = {
    [VERSUS_WALL] = {"wall", "wall time", "s", 1e-9},
    [VERSUS_CPU_TIME] = {"cpu_time", "CPU time", "s", 1e-6},
    [VERSUS_PEAK_MEMORY] = {"peak_memory", "peak memory", "B", 4096},
    [VERSUS_PAGE_FAULTS] = {"page_faults", "page faults", "", 1},
};

enum versus_measure versus_measure_find(const char *name)
{
	enum versus_measure m = 0;

	while (m < VERSUS_NR && strcmp(measures[m].name, name) != 0)
		m++;
	return m;
}

const char *versus_measure_name(enum versus_measure m)
{
	return measures[m].name;
}

const char *versus_measure_header(enum versus_measure m)
{
	return measures[m].header;
}

const char *versus_measure_unit(enum versus_measure m)
{
	return measures[m].unit;
}

double versus_measure_step(enum versus_measure m, double value)
{
	return measures[m].step / value;
}

double versus_half(const struct paired *p)
{
	return (exp(p->high) - exp(p->low)) / 2;
}

static bool is_known(const struct versus_verdict *v)
{
	const struct paired *p = &v->of[v->rule.by];
	const double half = versus_half(p);
	double enough = v->rule.until;

	if (v->rule.nr_pairs)
		return v->nr_pairs >= v->rule.nr_pairs;
	if (v->nr_pairs < PAIRED_MIN || v->nr_pairs % 2)
		return false; /* what drifts adds to one order of a pair what it takes from the
				 other */
	if (enough == 0)
		enough = fmax(CLOSE, fabs(expm1(p->mean)) / PART_OF_DIFFERENCE);
	return half <= enough;
}

static int make_measure(const struct versus_runs *runs, struct versus_verdict *v,
			enum versus_measure m, double *d)
{
	double sum[VERSUS_NR_SIDES] = {0};

	for (size_t i = 0; i < runs->nr; i++) {
		const struct versus_run *pair = runs->run + i * runs->stride;
		const double was = pair[VERSUS_OLD].value[m], is = pair[VERSUS_NEW].value[m];

		if (was <= 0 || is <= 0)
			return 0; /* too little to be measured */
		d[i] = log(is / was);
		sum[VERSUS_OLD] += log(was);
		sum[VERSUS_NEW] += log(is);
	}
	for (int side = 0; side < VERSUS_NR_SIDES; side++)
		v->typical[m][side] = exp(sum[side] / (double)runs->nr);
	/* rounding to a step has a variance of a 12th of its square, and each pair is two values */
	return paired_interval(d, runs->nr,
			       versus_measure_step(m, v->typical[m][VERSUS_OLD]) / sqrt(6),
			       v->rule.nr_pairs, &v->of[m]);
}

int versus_verdict_make(const struct versus_runs *runs, struct versus_verdict *v)
{
	double *d = mem_calloc(runs->nr + 1, sizeof(*d));
	int rc = d ? 0 : -ENOMEM;

	v->nr_pairs = runs->nr;
	for (enum versus_measure m = 0; m < VERSUS_NR && rc == 0; m++) {
		v->of[m] = (struct paired){.low = -INFINITY, .high = INFINITY};
		rc = runs->nr ? make_measure(runs, v, m, d) : 0;
	}
	mem_free(d);
	v->is_known = rc == 0 && is_known(v);
	return rc;
}

static bool is_difference(const struct paired *p)
{
	return p->low > 0 || p->high < 0;
}

bool versus_verdict_is_difference(const struct versus_verdict *v)
{
	return is_difference(&v->of[v->rule.by]);
}

/* What waits makes wall times differ by chance, and not what the command does. */
static bool knows_cpu_time(const struct versus_verdict *v)
{
	return v->rule.by == VERSUS_WALL && is_difference(&v->of[VERSUS_CPU_TIME]);
}

bool versus_verdict_is_explicable(const struct versus_verdict *v)
{
	return !v->is_self && (versus_verdict_is_difference(v) || knows_cpu_time(v));
}

bool versus_verdict_fails(const struct versus_verdict *v)
{
	const struct paired *p = &v->of[v->rule.by];

	return v->rule.fail_over >= 0 && p->low > 0 && expm1(p->mean) > v->rule.fail_over;
}

/* --- text */

/* So many decimals that the interval has two digits. */
int versus_decimals(const struct paired *p)
{
	const double half = 100 * versus_half(p);

	return half >= 10 || !isfinite(half) ? 0 : half >= 0.1 ? 1 : half >= 0.01 ? 2 : 3;
}

void versus_put_interval(const struct paired *p, bool is_less, struct buf *out)
{
	const double low = is_less ? -expm1(p->high) : expm1(p->low);
	const double high = is_less ? -expm1(p->low) : expm1(p->high);
	const int digits = versus_decimals(p);

	if (isfinite(p->low))
		buf_printf(out, "[%.*f, %.*f]", digits, 100 * low, digits, 100 * high);
	else
		buf_adds(out, "[?]");
}

void versus_put_value(enum versus_measure m, double value, struct buf *out)
{
	if (*measures[m].unit)
		screen_human(out, strcmp(measures[m].unit, "s") == 0 ? value * 1e9 : value,
			     strcmp(measures[m].unit, "s") == 0 ? "ns" : measures[m].unit);
	else
		buf_u64_commas(out, (uint64_t)llround(value));
}

void versus_put_name(const char *name, struct buf *out)
{
	const size_t shown = str_whole(name, NAME_BYTES);

	buf_shown(out, name, shown);
	if (name[shown])
		buf_adds(out, "…");
}

static void put_difference(const struct versus_verdict *v, enum versus_measure m, struct buf *out)
{
	const struct paired *p = &v->of[m];
	const bool is_less = p->mean < 0;
	const char *less = m == VERSUS_WALL ? "faster" : "less";
	const char *more = m == VERSUS_WALL ? "slower" : "more";

	buf_printf(out, "%.*f %% %s ", versus_decimals(p), 100 * fabs(expm1(p->mean)),
		   is_less ? less : more);
	versus_put_interval(p, is_less, out);
}

static void put_resolution(const struct versus_verdict *v, struct buf *out)
{
	const struct paired *p = &v->of[v->rule.by];

	if (isfinite(versus_half(p)))
		buf_printf(out, "this machine resolves %.*f %% with %zu pairs of runs in %.0f s",
			   versus_decimals(p), 100 * versus_half(p), v->nr_pairs, v->seconds);
	else
		buf_adds(out, "too few runs to tell what this machine resolves");
	if (versus_verdict_is_difference(v))
		buf_adds(out, "; it found a difference of a program from itself: chance does so "
			      "once in 20 times, or the runs are not independent");
}

static void put_unknown(const struct versus_verdict *v, struct buf *out)
{
	buf_printf(out, "not known %s: the difference is within ",
		   v->is_cut          ? "when it was stopped"
		   : v->rule.nr_pairs ? "by so many runs"
				      : "in the time that it had");
	versus_put_interval(&v->of[v->rule.by], false, out);
	buf_adds(out, " %");
	if (knows_cpu_time(v)) {
		buf_adds(out, ", and of CPU time it is ");
		put_difference(v, VERSUS_CPU_TIME, out);
	}
	if (!v->is_cut)
		buf_printf(out, "; allow more %s", v->rule.nr_pairs ? "runs" : "time: --at-most");
}

void versus_put_conclusion(const struct versus_verdict *v, struct buf *out)
{
	versus_put_name(v->name[VERSUS_NEW], out);
	buf_adds(out, ": ");
	if (!v->of[v->rule.by].nr) {
		buf_printf(out, "%s is too little to be compared", measures[v->rule.by].header);
	} else if (v->is_self) {
		put_resolution(v, out);
	} else if (versus_verdict_is_difference(v)) {
		put_difference(v, v->rule.by, out);
	} else if (versus_half(&v->of[v->rule.by]) <= fmax(CLOSE, v->rule.until)) {
		buf_adds(out, "no difference beyond chance: ");
		versus_put_interval(&v->of[v->rule.by], false, out);
		buf_adds(out, " %");
	} else {
		put_unknown(v, out);
	}
}

/* "(wall time 1.204 s to 1.167 s, 24 + 24 runs)" */
void versus_put_basis(const struct versus_verdict *v, struct buf *out)
{
	buf_addc(out, '(');
	if (v->of[v->rule.by].nr) {
		buf_printf(out, "%s ", measures[v->rule.by].header);
		versus_put_value(v->rule.by, v->typical[v->rule.by][VERSUS_OLD], out);
		buf_adds(out, " to ");
		versus_put_value(v->rule.by, v->typical[v->rule.by][VERSUS_NEW], out);
		buf_adds(out, ", ");
	}
	buf_printf(out, "%zu + %zu runs)", v->nr_pairs, v->nr_pairs);
}

void versus_verdict_status(const struct versus_verdict *v, struct buf *out)
{
	const struct paired *p = &v->of[v->rule.by];

	buf_printf(out, "%zu + %zu runs in %.0f s", v->nr_pairs, v->nr_pairs, v->seconds);
	if (!p->nr)
		return;
	buf_printf(out, ": %+.*f %% ", versus_decimals(p), 100 * expm1(p->mean));
	versus_put_interval(p, false, out);
}

const char *versus_difference_name(const struct versus_verdict *v)
{
	const struct paired *p = &v->of[v->rule.by];

	if (!p->nr)
		return "unknown";
	if (versus_verdict_is_difference(v))
		return p->mean < 0 ? "less" : "more";
	return versus_half(p) <= fmax(CLOSE, v->rule.until) ? "none" : "unknown";
}

void versus_put_rule(const struct versus_rule *rule, const char *what, struct buf *out)
{
	if (rule->nr_pairs)
		buf_printf(out,
			   "Intervals are Student's, for a number of %s that is chosen before. ",
			   what);
	else
		buf_adds(out,
			 "Intervals hold at each look, though runs end when enough is known. ");
	buf_adds(out, "Commands ran in turns, unobserved; the first run of each is left out.\n");
}
