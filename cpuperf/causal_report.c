/*
 * Experiments for people: which function would bring most, a table; and its rows for programs.
 */
#include "base/buf.h"
#include "base/json_writer.h"
#include "causal.h"
#include "comparison.h"
#include "screen/cases.h"
#include "screen/grid.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { CELL_BYTES = 64, MAX_TEXT_BYTES = 1 << 20 };
#define SOME 0.05 /* from which it matters */

static const struct grid_column columns[] = {
    {.name = "function", .kind = GRID_TEXT},
    {.name = "linkage_name", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
    {.name = "object", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
    {.name = "line", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
    {.name = "of", .kind = GRID_TEXT},
    {.name = "on_cpu", .header = "on CPU", .unit = "%", .kind = GRID_PERCENT},
    {.name = "speedup", .header = "faster by", .unit = "%", .kind = GRID_PERCENT},
    {.name = "saves_text", .header = "saves", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "saves", .unit = "%", .kind = GRID_PERCENT, .audience = GRID_ONLY_MACHINES},
    {.name = "saves_low", .unit = "%", .kind = GRID_PERCENT, .audience = GRID_ONLY_MACHINES},
    {.name = "saves_high", .unit = "%", .kind = GRID_PERCENT, .audience = GRID_ONLY_MACHINES},
    {.name = "rounds", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
};

static const char *const of_names[] = {[CAUSAL_OF_WALL] = "wall time",
				       [CAUSAL_OF_THROUGHPUT] = "throughput",
				       [CAUSAL_OF_LATENCY] = "latency"};

/* Not "-0". */
static double rounded(double x, int digits)
{
	const double step = digits ? 0.1 : 1;

	return round(x / step) * step + 0.0;
}

/* "srv.c:23", "main" */
static void put_candidate(const struct causal_row *row, struct buf *out)
{
	buf_shown(out, row->name, strlen(row->name));
	if (row->line)
		buf_printf(out, ":%u", row->line);
}

/* "23.1 % [22.4, 23.8]" */
static void put_saved(const struct paired *p, struct buf *out)
{
	const double half = 100 * causal_half(p);
	const int digits = half >= 1 || !isfinite(half) ? 0 : 1;

	buf_printf(out, "%.*f %% ", digits, rounded(100 * p->mean, digits));
	if (isfinite(half))
		buf_printf(out, "[%.*f, %.*f]", digits, rounded(100 * p->low, digits), digits,
			   rounded(100 * p->high, digits));
	else
		buf_adds(out, "[?]");
}

static void put_row(const struct causal_row *row, struct grid *g)
{
	BUF_AUTO(saves, CELL_BYTES);
	BUF_AUTO(name, MAX_TEXT_BYTES);

	put_saved(&row->saved, &saves);
	put_candidate(row, &name);
	grid_row(g);
	grid_text(g, buf_str(&name));
	grid_text(g, row->linkage_name);
	grid_text(g, row->object);
	grid_count(g, row->line);
	grid_text(g, of_names[row->of]);
	grid_percent(g, row->on_cpu);
	grid_percent(g, row->percent / 100.0);
	grid_text(g, buf_str(&saves));
	grid_percent(g, row->saved.mean);
	grid_percent(g, row->saved.low);
	grid_percent(g, row->saved.high);
	grid_count(g, row->saved.nr);
}

static int put_table(const void *of, const struct grid_options *how, struct buf *out)
{
	const struct causal_result *r = of;
	struct grid *g = grid_new(columns, sizeof(columns) / sizeof(columns[0]), how);
	int rc;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < r->nr; i++)
		if (r->row[i].saved.nr)
			put_row(&r->row[i], g);
	rc = grid_write(g, out);
	grid_free(g);
	return rc;
}

/* --- words */

/* The largest of several estimates is too large by chance: so that of which the least is most. */
static const struct causal_row *most(const struct causal_result *r)
{
	const struct causal_row *best = NULL;

	for (size_t i = 0; i < r->nr; i++)
		if (r->row[i].saved.nr && r->row[i].saved.low > (best ? best->saved.low : 0))
			best = &r->row[i];
	return best;
}

static void put_basis(const struct causal_result *r, struct buf *out)
{
	if (r->point)
		buf_printf(out, " (%s is passed %.4g times/s; %zu rounds)\n", r->point, r->rate,
			   r->nr_used);
	else
		buf_printf(out, " (%zu runs of %zu experiment%s)\n", r->nr_rounds, r->nr,
			   r->nr == 1 ? "" : "s");
}

static void put_head(const void *of, struct buf *out)
{
	const struct causal_result *r = of;
	const struct causal_row *best = most(r);

	versus_put_name(r->command, out);
	buf_adds(out, ": ");
	if (best) {
		put_candidate(best, out);
		buf_printf(out, " in %u %% less time would ", best->percent);
		buf_adds(out, best->of == CAUSAL_OF_THROUGHPUT ? "bring " : "save ");
		put_saved(&best->saved, out);
		buf_printf(out, " %s ", best->of == CAUSAL_OF_THROUGHPUT ? "more" : "of");
	} else {
		buf_adds(out, "no function is known to save any of ");
	}
	if (r->point)
		buf_adds(out, best ? of_names[best->of] : "its time");
	else
		versus_put_value(VERSUS_WALL, r->wall, out);
	put_basis(r, out);
}

static void put_notes(const void *of, struct buf *out)
{
	const struct causal_result *r = of;

	if (!r->is_known) {
		buf_printf(out, "Not each is known within %g %% ", 100 * causal_close(r));
		buf_adds(out, r->is_cut ? "as it was stopped.\n"
					: "in the time that it had; allow more time: --at-most.\n");
	}
	if (r->nr_ran > CAUSAL_MAX_FUNCTIONS)
		buf_printf(out, "%zu more functions ran for less; name them: --causal=GLOB,...\n",
			   r->nr_ran - CAUSAL_MAX_FUNCTIONS);
	if (r->nr_unsampled)
		buf_printf(out,
			   "%u threads could not be slowed down: what is saved is uncertain.\n",
			   r->nr_unsampled);
	if (r->nr_unused)
		buf_printf(out,
			   "%zu more rounds are not used: threads waited for a CPU for more than "
			   "%.0f %% of the time.\n",
			   r->nr_unused, 100 * SOME);
	if (r->queued > SOME)
		buf_printf(out,
			   "Threads waited for a CPU for %.0f %% of their time: on a machine with "
			   "free CPUs it is known sooner.\n",
			   100 * r->queued);
	buf_adds(out,
		 r->rule.nr_pairs
		     ? "Intervals are Student's, for a number of rounds that is chosen before. "
		     : "Intervals hold at each look, though runs end when enough is known. ");
	buf_adds(out, "Each is of 95 %, and of the function's own code, without what it calls.\n");
}

/* --- for programs */

static void put_real(struct json_writer *json, const char *key, double x)
{
	BUF_AUTO(text, CELL_BYTES);

	screen_real(&text, x);
	jsonw_raw(json, key, isfinite(x) ? buf_str(&text) : "null");
}

static void put_facts(const void *of, struct json_writer *json)
{
	const struct causal_result *r = of;

	jsonw_text(json, "command", r->command);
	if (r->point) {
		jsonw_text(json, "point", r->point);
		put_real(json, "visits_per_second", r->rate);
		put_real(json, "latency_seconds", r->latency);
		jsonw_u64(json, "rounds_used", r->nr_used);
		jsonw_u64(json, "rounds_not_used", r->nr_unused);
		jsonw_u64(json, "runs", r->nr_runs);
	} else {
		put_real(json, "wall_seconds", r->wall);
	}
	jsonw_u64(json, "functions", r->nr_ran);
	put_real(json, "waited_for_cpu", 100 * r->queued);
	jsonw_bool(json, "is_known", r->is_known);
	jsonw_bool(json, "is_cut", r->is_cut);
	jsonw_u64(json, "rounds", r->nr_rounds);
	put_real(json, "seconds", r->seconds);
}

static void put_rest(const void *of, struct json_writer *json)
{
	const struct causal_result *r = of;

	jsonw_u64(json, "threads_not_slowed_down", r->nr_unsampled);
}

/* There is nothing that could fail. */
static void add_cases(const void *of, struct cases *cases)
{
	const struct causal_result *r = of;
	BUF_AUTO(text, MAX_TEXT_BYTES);

	put_head(r, &text);
	buf_cut(&text, text.len - 1);
	cases_add(cases, &(struct cases_item){.class = versus_measure_name(VERSUS_WALL),
					      .name = r->command,
					      .says = buf_str(&text)});
}

int causal_result_write(const struct causal_result *r, const char *format, unsigned width,
			struct buf *out)
{
	const struct comparison c = {
	    .name = "causal",
	    .of = r,
	    .columns = columns,
	    .nr_columns = sizeof(columns) / sizeof(columns[0]),
	    .put_table = put_table,
	    .put_head = put_head,
	    .put_notes = put_notes,
	    .put_facts = put_facts,
	    .put_rest = put_rest,
	    .add_cases = add_cases,
	};

	return comparison_write(&c, format, width, out);
}
