#include "base/buf.h"
#include "base/mem.h"
#include "versus/sweep.h"
#include "versus/turns.h"

#include <errno.h>
#include <math.h>
#include <string.h>

double sweep_close(const struct sweep_result *r)
{
	return r->rule.until > 0 ? r->rule.until : SWEEP_CLOSE;
}

double sweep_half(const struct paired *time)
{
	return (exp(time->high - time->mean) - exp(time->low - time->mean)) / 2;
}

/* Logarithms of a measure in all rounds. False: a run has too little of it. */
static bool read_logs(const struct turns *t, size_t arm, enum versus_measure m, double *out)
{
	for (size_t k = 0; k < t->nr_rounds; k++) {
		const double x = t->run[k * t->nr_arms + arm].value[m];

		if (x <= 0)
			return false;
		out[k] = log(x);
	}
	return true;
}

static double mean_of(const double *logs, size_t nr)
{
	double sum = 0;

	for (size_t k = 0; k < nr; k++)
		sum += logs[k];
	return exp(sum / (double)nr);
}

/* What rounding to a step adds at least to the deviation of a value. */
static double least_of(const struct sweep_result *r, double value)
{
	return versus_measure_step(r->rule.by, value) / sqrt(12);
}

/* logs: room for twice the rounds. */
static int make_row(const struct turns *t, size_t i, double *logs, struct sweep_result *r)
{
	const enum versus_measure by = r->rule.by;
	const bool is_fixed = r->rule.nr_pairs;
	double *first = logs + t->nr_rounds;
	struct sweep_row *row = &r->row[i];
	double least;
	int rc;

	*row = (struct sweep_row){0};
	if (read_logs(t, i, VERSUS_CPU_TIME, logs))
		row->cpu_time = mean_of(logs, t->nr_rounds);
	if (!read_logs(t, i, by, logs))
		return 0;
	least = least_of(r, mean_of(logs, t->nr_rounds));
	rc = paired_interval(logs, t->nr_rounds, least, is_fixed, &row->time);
	if (rc || !read_logs(t, 0, by, first))
		return rc;
	for (size_t k = 0; k < t->nr_rounds; k++)
		logs[k] = first[k] - logs[k];
	return paired_interval(logs, t->nr_rounds, least * sqrt(2), is_fixed, &row->speedup);
}

/* The law is of wall time. */
static int fit(const struct turns *t, struct sweep_result *r)
{
	const struct sweep_parameter *p = r->parameter;
	const size_t nr_times = t->nr_rounds * t->nr_arms;
	double half[SWEEP_MAX_VALUES], *times;
	int rc;

	r->has_scaling = false;
	if (!p->has_numbers || p->nr < SCALING_MIN || r->rule.by != VERSUS_WALL)
		return 0;
	for (size_t i = 0; i < p->nr; i++)
		half[i] = sweep_half(&r->row[i].time);
	times = mem_calloc(nr_times, sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < nr_times; i++)
		times[i] = t->run[i].value[VERSUS_WALL];
	rc =
	    scaling_fit(p->number, half, p->nr, times, t->nr_rounds, r->rule.nr_pairs, &r->scaling);
	mem_free(times);
	r->has_scaling = rc == 0;
	return rc == -EDOM ? 0 : rc;
}

static bool is_close(const struct sweep_result *r, size_t i)
{
	return r->row[i].time.nr && sweep_half(&r->row[i].time) <= sweep_close(r);
}

static bool is_known(const struct sweep_result *r)
{
	if (r->rule.nr_pairs)
		return r->nr_rounds >= r->rule.nr_pairs;
	if (r->nr_rounds < PAIRED_MIN || r->nr_rounds % 2)
		return false;
	for (size_t i = 0; i < r->parameter->nr; i++)
		if (!is_close(r, i))
			return false;
	return true;
}

/* Infinite: nothing is known of it. */
static double half_of(const struct sweep_row *row)
{
	return row->time.nr ? sweep_half(&row->time) : INFINITY;
}

void sweep_result_status(const struct sweep_result *r, struct buf *out)
{
	const struct sweep_parameter *p = r->parameter;
	size_t nr_close = 0, least = 0;

	for (size_t i = 0; i < p->nr; i++) {
		nr_close += is_close(r, i);
		least = half_of(&r->row[i]) > half_of(&r->row[least]) ? i : least;
	}
	buf_printf(out, ": %zu of %zu known", nr_close, p->nr);
	if (isfinite(half_of(&r->row[least])))
		buf_printf(out, ", %s=%s within %.2g %%", p->name, p->value[least],
			   100 * half_of(&r->row[least]));
}

int sweep_result_make(const struct turns *t, struct sweep_result *r)
{
	double *logs;
	int rc = 0;

	r->nr_rounds = t->nr_rounds;
	r->seconds = t->seconds;
	r->rule = t->rule;
	if (!t->nr_rounds)
		return 0;
	logs = mem_calloc(2 * t->nr_rounds, sizeof(*logs));
	if (!logs)
		return -ENOMEM;
	for (size_t i = 0; i < r->parameter->nr && rc == 0; i++)
		rc = make_row(t, i, logs, r);
	mem_free(logs);
	rc = rc ? rc : fit(t, r);
	r->is_known = rc == 0 && is_known(r);
	return rc;
}
