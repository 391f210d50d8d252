#include "reports/region_counts.h"

#include "base/buf.h"
#include "profile/session.h"
#include "screen/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 3 };

/* What is printed of an event: its sum, that without the regions inside, per call, and how many
 * calls were counted. */
static const struct {
	const char *suffix, *heading;
	enum grid_kind exact, sparse;
	enum grid_audience audience;
} columns_of[REPORTS_REGION_COUNT_COLUMNS] = {
    {"", NULL, GRID_COUNT, GRID_ESTIMATE, GRID_ALL},
    {"_self", "self", GRID_COUNT, GRID_ESTIMATE, GRID_ALL},
    {"_per_call", "per call", GRID_REAL, GRID_REAL, GRID_ALL},
    [CALLS] = {"_calls", "counted", GRID_COUNT, GRID_COUNT, GRID_ONLY_MACHINES},
};

/* Without a unit, whole numbers are printed. */
static enum grid_kind kind_of(const struct reports_region_counts *c, uint32_t event, size_t column)
{
	enum grid_kind kind =
	    c->sums->counts.is_sparse ? columns_of[column].sparse : columns_of[column].exact;

	return kind == GRID_COUNT && column != CALLS && c->units[event] ? GRID_AMOUNT : kind;
}

size_t reports_region_counts_columns(struct reports_region_counts *c, struct grid_column *columns)
{
	const struct report_region_sums *sums = c->sums;
	size_t nr = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		const char *name = dict_text(&sums->counts.names, i);

		for (size_t k = 0; k < REPORTS_REGION_COUNT_COLUMNS; k++) {
			/* the events of a call are counted together */
			bool is_shown = sums->counts.is_sparse && k == CALLS && !i;

			snprintf(c->names[i][k], sizeof(c->names[i][k]), "in_regions_%s%s", name,
				 columns_of[k].suffix);
			columns[nr++] =
			    (struct grid_column){c->names[i][k], columns_of[k].heading ?: name,
						 k == CALLS ? NULL : c->units[i], kind_of(c, i, k),
						 is_shown ? GRID_ALL : columns_of[k].audience};
		}
	}
	return nr;
}

static void put_amount(const struct reports_region_counts *c, struct grid *g, struct interval all)
{
	const struct interval relative = {1, all.low / all.share, all.high / all.share};

	if (!isfinite(all.share))
		grid_na(g);
	else if (!c->sums->counts.is_sparse)
		grid_count(g, (uint64_t)(all.share + 0.5));
	else if (all.share > 0)
		grid_estimate(g, all.share, &relative);
	else
		grid_estimate(g, 1, &all);
}

void reports_region_counts_put(const struct reports_region_counts *c, struct grid *g,
			       uint32_t number)
{
	const struct report_region_sum *sum = dict_at(&c->sums->sums, number);

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct report_region_count *count =
		    report_region_count_sums_find(&c->sums->counts, number, i);

		if (!count) {
			for (size_t k = 0; k < REPORTS_REGION_COUNT_COLUMNS; k++)
				grid_none(g);
			continue;
		}
		put_amount(c, g, report_region_count_estimate(count, sum->whole));
		put_amount(c, g, report_region_count_self(count, sum->whole));
		grid_real(g, count->mean);
		grid_count(g, count->calls);
	}
}

/* The least of the trial's regions: what an event counted in a call, or its time (DICT_NONE). */
static bool find_trial(const struct reports_region_counts *c, const struct profile_processes *p,
		       const char *region, uint32_t name, uint64_t *least)
{
	bool is_found = false;

	for (uint32_t i = 0; i < c->sums->sums.nr; i++) {
		const struct report_region_sum *sum = dict_at(&c->sums->sums, i);
		const struct report_region_count *count =
		    name == DICT_NONE ? NULL
				      : report_region_count_sums_find(&c->sums->counts, i, name);
		uint64_t value = count ? count->least : sum->min_ns;

		if (strcmp(profile_region(p, sum->region)->name, region) != 0 ||
		    (name == DICT_NONE ? !report_region_timed(sum) : !count) ||
		    (is_found && value >= *least))
			continue;
		*least = value;
		is_found = true;
	}
	return is_found;
}

static struct reports_region_marks find_marks(const struct reports_region_counts *c,
					      const struct profile_processes *p, uint32_t name)
{
	struct reports_region_marks m = {.is_known = false};
	uint64_t pair = 0;

	m.is_known = find_trial(c, p, PROFILE_REGION_TRIAL_INNER, name, &m.own) &&
		     find_trial(c, p, PROFILE_REGION_TRIAL, name, &pair) && pair >= m.own;
	if (m.is_known)
		m.around = pair - m.own;
	return m;
}

/* NULL: it is a number. */
static const char *unit_of(const struct profile_facts *facts, const char *label)
{
	for (uint32_t i = 0; i < facts->nr_events; i++)
		if (strcmp(facts->events[i].label, label) == 0 &&
		    strcmp(facts->events[i].unit, "ns") == 0)
			return "ns";
	return NULL;
}

void reports_region_counts_init(struct reports_region_counts *c, struct report_region_sums *sums,
				const struct profile_processes *p,
				const struct profile_facts *facts, bool subtracts)
{
	c->sums = sums;
	c->nr = (uint32_t)sums->counts.names.nr;
	if (c->nr > REPORTS_REGION_COUNTS_MAX)
		c->nr = REPORTS_REGION_COUNTS_MAX;
	for (uint32_t i = 0; i < c->nr; i++)
		c->units[i] = unit_of(facts, dict_text(&sums->counts.names, i));
	c->is_subtracted = subtracts && !sums->counts.is_sparse;
	c->wall = find_marks(c, p, DICT_NONE);
	for (uint32_t i = 0; i < c->nr; i++)
		c->marks[i] = find_marks(c, p, i);
	for (uint32_t i = 0; i < c->nr && c->is_subtracted; i++)
		if (c->marks[i].is_known)
			report_region_count_sums_subtract(&sums->counts, i, c->marks[i].own,
							  c->marks[i].around);
}

static void put_marks(const struct reports_region_marks *m, const char *name, const char *verb,
		      const char *unit, bool is_subtracted, struct buf *text)
{
	if (m->is_known)
		buf_printf(text,
			   "%s: the marks of a region %s %" PRIu64 "%s in it and %" PRIu64
			   "%s in those around it, %ssubtracted\n",
			   name, verb, m->own, unit, m->around, unit, is_subtracted ? "" : "not ");
}

/* Where marks on trial alone were not all counted, all that is shown is exact. */
static bool has_estimates(const struct reports_region_counts *c)
{
	const struct report_region_sums *s = c->sums;

	for (uint32_t i = 0; i < s->sums.nr && s->counts.is_sparse; i++) {
		const struct report_region_sum *sum = dict_at(&s->sums, i);
		const struct report_region_count *count =
		    report_region_count_sums_find(&s->counts, i, 0);

		if (sum->whole > (count ? count->calls : 0) &&
		    !profile_region_is_trial(s->processes, sum->region))
			return true;
	}
	return false;
}

void reports_region_counts_heading(const struct reports_region_counts *c, struct buf *text)
{
	if (c->nr && has_estimates(c))
		buf_adds(text, "Counts are estimates from the calls that were counted, with 95 % "
			       "intervals, which cannot cover what no counted call had; n/a: too "
			       "few counted calls; 0: none in those counted\n");
	for (uint32_t i = 0; i < c->nr; i++)
		put_marks(&c->marks[i], dict_text(&c->sums->counts.names, i), "count",
			  c->units[i] ? " ns" : "", c->is_subtracted, text);
	put_marks(&c->wall, "wall", "take", " ns", false, text);
}
