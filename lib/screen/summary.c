/*
 * The summary of the text format: a row per event over all iterations, followed by its notes.
 */
#include "base/cause.h"
#include "base/err.h"
#include "screen/absent.h"
#include "screen/latency.h"
#include "screen/number.h"
#include "screen/state.h"

/* Exact without a unit: "1,234,567"; with one like the other columns: "55.17 ms". */
static void put_total(struct buf *b, const struct table_column *c, const struct column_summary *sum)
{
	if (c->kind != EVENT_COUNT)
		return;
	if (sum->max.is_real || screen_is_symbol(c->unit))
		screen_human(b, sum->max.is_real ? sum->real_sum : (double)sum->sum, c->unit);
	else
		screen_wide(b, sum->sum, true);
}

static void put_number(struct buf *b, const struct table_column *c, double x)
{
	if (c->metric)
		screen_metric_human(b, x, c->unit);
	else
		screen_human(b, x, c->unit);
}

const char *screen_no_total_text(const struct column_summary *sum)
{
	enum cell_state best = CELL_OK;

	for (enum cell_state s = CELL_OK + 1; s < CELL_NR_STATES; s++)
		if (sum->nr_cells[s] > sum->nr_cells[best])
			best = s;
	return cell_has_value(&(struct cell){.state = best}) ? "no total" : cell_state_name(best);
}

static void put_mean(struct buf *b, const struct table_column *c, const struct column_summary *sum)
{
	put_number(b, c, sum->spread.mean);
}

static void put_deviation(struct buf *b, const struct table_column *c,
			  const struct column_summary *sum)
{
	if (sum->spread.nr > 1)
		put_number(b, c, spread_deviation(&sum->spread));
}

static void put_percent(struct buf *b, const struct table_column *c,
			const struct column_summary *sum)
{
	double mean = sum->spread.mean;

	(void)c;
	if (sum->spread.nr > 1 && mean > 0)
		screen_human(b, 100 * spread_deviation(&sum->spread) / mean, "%");
}

static void put_min(struct buf *b, const struct table_column *c, const struct column_summary *sum)
{
	put_number(b, c, sum->min.value);
}

static void put_max(struct buf *b, const struct table_column *c, const struct column_summary *sum)
{
	put_number(b, c, sum->max.value);
}

/* Of one iteration: its only number. */
static void put_value(struct buf *b, const struct table_column *c, const struct column_summary *sum)
{
	(c->kind == EVENT_COUNT ? put_total : put_mean)(b, c, sum);
}

struct summary_column {
	const char *name;
	struct layout_column layout;
	void (*put)(struct buf *b, const struct table_column *c, const struct column_summary *sum);
};

static const struct summary_column value = {"value", {.gap = 2, .width = 9}, put_value};

/* The columns behind the label. A narrow terminal has those that fit, at least NR_KEPT. */
static const struct summary_column columns[] = {
    {"total", {.gap = 2, .width = 5}, put_total},   {"mean", {.gap = 1, .width = 9}, put_mean},
    {"dev", {.gap = 1, .width = 9}, put_deviation}, {"dev %", {.gap = 1, .width = 7}, put_percent},
    {"min", {.gap = 1, .width = 9}, put_min},       {"max", {.gap = 1, .width = 9}, put_max},
};

enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]), NR_KEPT = 2 };

static uint64_t nr_cells(const struct column_summary *sum)
{
	uint64_t nr = 0;

	for (enum cell_state s = CELL_NONE + 1; s < CELL_NR_STATES; s++)
		nr += sum->nr_cells[s];
	return nr;
}

static void note(struct buf *out, const char *what, uint64_t nr, uint64_t of)
{
	buf_adds(out, "    ");
	buf_adds(out, what);
	buf_adds(out, " in ");
	buf_u64(out, nr);
	buf_adds(out, " of ");
	buf_u64(out, of);
	buf_adds(out, of == 1 ? " cell" : " cells");
}

void screen_partial(struct buf *out, const struct column_summary *sum)
{
	char state[CELL_STATE_BYTES];

	if (!sum->nr_partial)
		return;
	buf_adds(out, cell_state_text(&sum->least, state));
	buf_adds(out, " in ");
	buf_u64(out, sum->nr_partial);
	buf_adds(out, sum->nr_partial == 1 ? " iteration" : " iterations");
}

static void notes(struct layout *l, const struct table_column *c, const struct column_summary *sum)
{
	uint64_t nr = nr_cells(sum);
	struct buf *out = &l->text;

	if (c->reason && *c->reason) {
		buf_adds(out, "    ");
		table_reason(c, out);
		layout_line(l);
	}
	if (sum->nr_multiplexed) {
		note(out, "multiplexed", sum->nr_multiplexed, nr);
		buf_adds(out, ", lowest running share ");
		screen_running(out, sum->min_running);
		layout_line(l);
	}
	if (sum->nr_partial && sum->nr_cells[CELL_OK] == nr) { /* not visible in the cells */
		buf_adds(out, "    ");
		screen_partial(out, sum);
		layout_line(l);
	}
	for (enum cell_state s = CELL_OK + 1; sum->spread.nr && s < CELL_NR_STATES; s++) {
		if (!sum->nr_cells[s])
			continue;
		note(out, cell_state_name(s), sum->nr_cells[s], nr);
		layout_line(l);
	}
}

static void put_warning(void *arg, const struct err *warning)
{
	struct buf *out = arg;

	buf_adds(out, "warning: ");
	buf_adds(out, warning->msg);
	buf_addc(out, '\n');
}

static void first_line(const struct table_summary *sum, struct buf *out)
{
	bool is_one = sum->nr_iterations == 1;
	bool is_ended = sum->nr_other && sum->last_cause == CAUSE_END && !sum->nr_cut;
	uint64_t nr_other = sum->nr_other - is_ended;

	buf_addc(out, '\n');
	buf_u64(out, sum->nr_iterations);
	buf_adds(out, is_one ? " iteration" : " iterations");
	if (sum->gap_ns) {
		buf_adds(out, ", ");
		screen_human(out, (double)sum->gap_ns, "ns");
		buf_adds(out, is_one ? " before it not measured" : " before them not measured");
	}
	if (nr_other) {
		buf_adds(out, ", ");
		buf_u64(out, nr_other);
		buf_adds(out, nr_other == 1 ? " of another cause" : " of other causes");
		buf_adds(out, " than the first (in the totals only)");
	}
	if (sum->nr_cut || is_ended) {
		buf_adds(out, is_one ? ", " : ", the last ");
		buf_adds(out, sum->nr_cut && sum->is_in_progress ? "in progress"
			      : sum->nr_cut                      ? "cut short"
					    : "ended by the end of its target");
		if (sum->cut_ns) { /* 0: it was killed */
			buf_adds(out, " after ");
			screen_human(out, (double)sum->cut_ns, "ns");
		}
		buf_adds(out, is_one ? "" : " (in the totals only)");
	}
	buf_adds(out, ", all traces\n");
	if (sum->removed && *sum->removed)
		buf_printf(out, "(%s)\n", sum->removed);
}

void screen_text_summary(struct screen_state *s, const struct table *t,
			 const struct table_summary *sum, struct buf *out)
{
	const bool is_one = sum->nr_iterations == 1 && !sum->nr_other;
	const struct summary_column *list = is_one ? &value : columns;
	const size_t nr = is_one ? 1 : NR_COLUMNS;
	struct layout_column width[1 + NR_COLUMNS] = {{.is_left = true}};
	struct layout l;

	layout_init(&l, width, 1 + nr);
	layout_row(&l);
	layout_text(&l, 0, "event");
	for (size_t k = 0; k < nr; k++) {
		width[1 + k] = list[k].layout;
		layout_text(&l, 1 + k, list[k].name);
	}
	for (size_t i = 0; i < sum->nr_columns; i++) {
		const struct column_summary *c = &sum->column[i];

		if (absent_is(t, sum, i))
			continue;
		layout_row(&l);
		layout_text(&l, 0, t->columns[i].label);
		for (size_t k = 0; c->spread.nr && k < nr; k++) {
			list[k].put(&l.text, &t->columns[i], c);
			layout_cell(&l, 1 + k);
		}
		if (!c->spread.nr) {
			buf_adds(&l.text, screen_no_total_text(c));
			layout_tail(&l);
		}
		notes(&l, &t->columns[i], c);
	}
	first_line(sum, out);
	layout_write(&l, 1, layout_fit(&l, 1, s->options.width, is_one ? 1 : NR_KEPT), out);
	layout_fini(&l);
	absent_put(t, sum, screen_columns(s->options.width), out);
	screen_latency_put(&sum->latencies, t, out);
	screen_warn_metrics(t, sum, put_warning, out);
	screen_samples_summary(s, t, sum, out);
}
