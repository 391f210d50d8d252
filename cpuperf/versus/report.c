/*
 * What is printed of verdicts: one, or with --sweep one of each value.
 */
#include "versus/versus.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "screen/cases.h"
#include "screen/grid.h"
#include "versus/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 64, MAX_TEXT_BYTES = 1 << 20, DOCUMENT_BYTES = 4096 };

struct verdicts {
	const struct versus_verdict *v;
	size_t nr;
};

/* --- rows */

/* The first only with --sweep. */
static const struct grid_column columns[] = {
    {.name = "value", .kind = GRID_TEXT},
    {.name = "measure", .kind = GRID_TEXT},
    {.name = "unit", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
    {.name = "old_text", .header = "old", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "new_text", .header = "new", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "old", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "new", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "change", .unit = "%", .kind = GRID_CHANGE},
    {.name = "interval",
     .header = "95 % interval",
     .kind = GRID_TEXT,
     .audience = GRID_ONLY_PEOPLE},
    {.name = "change_low", .unit = "%", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "change_high", .unit = "%", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "is_difference", .kind = GRID_FLAG, .audience = GRID_ONLY_MACHINES},
    {.name = "is_chosen", .kind = GRID_FLAG, .audience = GRID_ONLY_MACHINES},
    {.name = "pairs", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
};

static void put_row(const struct versus_verdict *v, enum versus_measure m, bool is_text,
		    struct grid *g)
{
	const struct paired *p = &v->of[m];

	grid_row(g);
	if (v->value)
		grid_text(g, v->value);
	grid_text(g, is_text ? versus_measure_header(m) : versus_measure_name(m));
	grid_text(g, versus_measure_unit(m));
	for (int side = 0; side < VERSUS_NR_SIDES; side++) {
		BUF_AUTO(text, CELL_BYTES);

		versus_put_value(m, v->typical[m][side], &text);
		grid_text(g, buf_str(&text));
	}
	grid_real(g, v->typical[m][VERSUS_OLD]);
	grid_real(g, v->typical[m][VERSUS_NEW]);
	grid_change(g, expm1(p->mean), p->low > 0 || p->high < 0);
	{
		BUF_AUTO(text, CELL_BYTES);

		versus_put_interval(p, false, &text);
		grid_text(g, buf_str(&text));
	}
	grid_real(g, isfinite(p->low) ? 100 * expm1(p->low) : NAN);
	grid_real(g, isfinite(p->high) ? 100 * expm1(p->high) : NAN);
	grid_flag(g, p->low > 0 || p->high < 0);
	grid_flag(g, m == v->rule.by);
	grid_count(g, p->nr);
}

static int put_table(const void *of, const struct grid_options *how, struct buf *out)
{
	const struct verdicts *all = of;
	const size_t skipped = !all->v->value;
	struct grid *g = grid_new(columns + skipped, ARRAY_NR(columns) - skipped, how);
	int rc;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < all->nr; i++)
		for (enum versus_measure m = 0; m < VERSUS_NR; m++)
			if (all->v[i].of[m].nr)
				put_row(&all->v[i], m, how->form == GRID_PEOPLE, g);
	rc = grid_write(g, out);
	grid_free(g);
	return rc;
}

/* --- text */

static void put_sentence(const struct versus_verdict *v, struct buf *out)
{
	if (v->value)
		buf_printf(out, "%s=%s: ", v->parameter, v->value);
	versus_put_conclusion(v, out);
	buf_addc(out, ' ');
	versus_put_basis(v, out);
}

static void put_head(const void *of, struct buf *out)
{
	const struct verdicts *all = of;

	for (size_t i = 0; i < all->nr; i++) {
		put_sentence(&all->v[i], out);
		buf_addc(out, '\n');
	}
}

static void put_limited(const struct versus_verdict *v, struct buf *out)
{
	const struct paired *p = &v->of[v->rule.by];

	if (!p->nr_limited)
		return;
	if (v->value)
		buf_printf(out, "%s=%s: ", v->parameter, v->value);
	buf_printf(out,
		   "%zu of %zu pairs differ far more than usual: they count as at the "
		   "limit of what is usual.\n",
		   p->nr_limited, p->nr);
}

static void put_notes(const void *of, struct buf *out)
{
	const struct verdicts *all = of;

	versus_put_rule(&all->v->rule, "pairs", out);
	for (size_t i = 0; i < all->nr; i++)
		put_limited(&all->v[i], out);
}

/* --- json */

static void put_conclusions(const struct verdicts *all, struct json_writer *json)
{
	JSONW_ARRAY(json, "values") {
		for (size_t i = 0; i < all->nr; i++) {
			const struct versus_verdict *v = &all->v[i];
			BUF_AUTO(text, MAX_TEXT_BYTES);

			versus_put_conclusion(v, &text);
			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "value", v->value);
				jsonw_text(json, "conclusion", buf_str(&text));
				jsonw_text(json, "difference", versus_difference_name(v));
				jsonw_bool(json, "is_known", v->is_known);
				jsonw_bool(json, "is_over", versus_verdict_fails(v));
			}
		}
	}
}

/* Of several values: what is true of all, or of any. */
static void put_facts(const void *of, struct json_writer *json)
{
	const struct verdicts *all = of;
	const struct versus_verdict *v = all->v;
	char seconds[64];

	jsonw_text(json, "old", v->name[VERSUS_OLD]);
	jsonw_text(json, "new", v->name[VERSUS_NEW]);
	jsonw_text(json, "measure", versus_measure_name(v->rule.by));
	jsonw_text(json, "parameter", v->parameter);
	if (v->value)
		put_conclusions(all, json);
	else
		jsonw_text(json, "difference", versus_difference_name(v));
	jsonw_bool(json, "is_known", !ARRAY_ANY(x, v, all->nr, !x->is_known));
	jsonw_bool(json, "is_cut", v->is_cut);
	jsonw_bool(json, "is_self", v->is_self);
	jsonw_bool(json, "is_over", ARRAY_ANY(x, v, all->nr, versus_verdict_fails(x)));
	jsonw_u64(json, "pairs", v->nr_pairs);
	snprintf(seconds, sizeof(seconds), "%.3f", v->seconds);
	jsonw_raw(json, "seconds", seconds);
}

static void put_not_measured(const struct verdicts *all, struct json_writer *json)
{
	JSONW_ARRAY(json, "not_measured") {
		for (size_t i = 0; i < all->nr * VERSUS_NR; i++) {
			const struct versus_verdict *v = &all->v[i / VERSUS_NR];
			const enum versus_measure m = i % VERSUS_NR;

			if (v->of[m].nr)
				continue;
			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "value", v->value);
				jsonw_text(json, "measure", versus_measure_name(m));
				jsonw_text(json, "reason", "too little to be compared");
			}
		}
	}
}

static void put_command(const struct versus_verdict *v, const char *option,
			struct json_writer *json)
{
	BUF_AUTO(old, MAX_TEXT_BYTES);
	BUF_AUTO(by, MAX_TEXT_BYTES);

	buf_printf(&old, "--versus=%s", v->old);
	buf_printf(&by, "--by=%s", versus_measure_name(v->rule.by));
	JSONW_ARRAY(json, NULL) {
		jsonw_text(json, NULL, "cpuperf");
		jsonw_text(json, NULL, buf_str(&old));
		if (v->rule.by != VERSUS_WALL)
			jsonw_text(json, NULL, buf_str(&by));
		jsonw_text(json, NULL, option);
		jsonw_text(json, NULL, "--");
		for (char *const *word = v->new_argv; *word; word++)
			jsonw_text(json, NULL, *word);
	}
}

/* More of what was recorded. */
static void put_report(const struct versus_verdict *v, struct json_writer *json)
{
	BUF_AUTO(session, MAX_TEXT_BYTES);
	BUF_AUTO(diff, MAX_TEXT_BYTES);

	buf_printf(&session, "%s/new", v->folder);
	buf_printf(&diff, "--diff=%s/old", v->folder);
	JSONW_ARRAY(json, NULL) {
		jsonw_text(json, NULL, "cpuperf_print");
		jsonw_text(json, NULL, buf_str(&session));
		jsonw_text(json, NULL, buf_str(&diff));
		jsonw_text(json, NULL, "--counts");
	}
}

/* Text records both sides, and prints where the difference is. What is not known needs time. */
static void put_next(const struct versus_verdict *v, struct json_writer *json)
{
	JSONW_ARRAY(json, "next") {
		if (v->folder)
			put_report(v, json);
		else if (v->old && versus_verdict_is_explicable(v))
			put_command(v, "--output-format=text", json);
		else if (v->old && !v->is_self && strcmp(versus_difference_name(v), "unknown") == 0)
			put_command(v, "--at-most=10m", json);
	}
}

/* Rows as long as the document is short. */
static void put_differences(const struct versus_verdict *v, struct json_writer *json)
{
	enum { END_BYTES = 32 };
	const char *at = v->differences, *end = at ? at + strlen(at) : at, *line, *stop;
	uint64_t nr_omitted = 0;

	if (!at) {
		jsonw_raw(json, "differences", "null");
		return;
	}
	JSONW_OBJECT(json, "differences") {
		jsonw_text(json, "report", "diff");
		JSONW_ARRAY(json, "rows") {
			while ((line = str_next_line(&at, end, &stop))) {
				const size_t len = (size_t)(stop - line);

				nr_omitted += json->out->len + len + END_BYTES > DOCUMENT_BYTES;
				if (nr_omitted)
					continue;
				jsonw_key(json, NULL);
				buf_add(json->out, line, len);
			}
		}
		jsonw_u64(json, "left_out", nr_omitted);
	}
}

static void put_rest(const void *of, struct json_writer *json)
{
	const struct verdicts *all = of;

	put_not_measured(all, json);
	put_next(all->v, json);
	put_differences(all->v, json);
}

/* --- for CI */

static void add_cases(const void *of, struct cases *cases)
{
	const struct verdicts *all = of;

	for (size_t i = 0; i < all->nr; i++) {
		const struct versus_verdict *v = &all->v[i];
		const bool fails = versus_verdict_fails(v);
		BUF_AUTO(name, MAX_TEXT_BYTES);
		BUF_AUTO(text, MAX_TEXT_BYTES);

		buf_adds(&name, v->name[VERSUS_NEW]);
		if (v->value)
			buf_printf(&name, " %s=%s", v->parameter, v->value);
		put_sentence(v, &text);
		if (fails)
			buf_printf(&text, ", over the limit of %g %%", 100 * v->rule.fail_over);
		cases_add(cases, &(struct cases_item){.class = versus_measure_name(v->rule.by),
						      .name = buf_str(&name),
						      .failure = fails ? buf_str(&text) : NULL,
						      .says = fails ? NULL : buf_str(&text)});
	}
}

/* --- all of it */

int versus_verdicts_write(const struct versus_verdict *v, size_t nr, const char *format,
			  unsigned width, struct buf *out)
{
	const struct verdicts all = {v, nr};
	const size_t skipped = !v->value;
	const struct comparison c = {
	    .name = "versus",
	    .of = &all,
	    .columns = columns + skipped,
	    .nr_columns = ARRAY_NR(columns) - skipped,
	    .put_table = put_table,
	    .put_head = put_head,
	    .put_notes = put_notes,
	    .put_facts = put_facts,
	    .put_rest = put_rest,
	    .add_cases = add_cases,
	};

	return comparison_write(&c, format, width, out);
}

const char *const versus_side_names[VERSUS_NR_SIDES] = {"old", "new"};

void versus_run_write(size_t side, const struct versus_run *run, struct buf *out)
{
	buf_printf(out, "%s,%.9f,%.6f,%.0f,%.0f\n", versus_side_names[side],
		   run->value[VERSUS_WALL], run->value[VERSUS_CPU_TIME],
		   run->value[VERSUS_PEAK_MEMORY], run->value[VERSUS_PAGE_FAULTS]);
}

void versus_runs_write(const struct versus_runs *runs, struct buf *out)
{
	buf_adds(out, VERSUS_RUNS_HEADER);
	for (size_t i = 0; i < runs->nr; i++)
		for (int side = 0; side < VERSUS_NR_SIDES; side++) {
			buf_printf(out, "%zu,", i + 1);
			versus_run_write((size_t)side, &runs->run[i * runs->stride + (size_t)side],
					 out);
		}
}
