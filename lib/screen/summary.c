/*
 * The summary of the text format: a row per event over all iterations, and below it what must
 * be known of it. Knows nothing of how the table of one iteration looks.
 */
#include "base/err.h"
#include "screen/number.h"
#include "screen/state.h"

static const char *total_text(struct screen_state *s, const struct table_column *c,
			      const struct column_summary *sum)
{
	buf_reset(&s->scratch);
	if (c->kind == EVENT_COUNT && sum->max.is_real)
		screen_human(&s->scratch, sum->real_sum, c->unit);
	else if (c->kind == EVENT_COUNT && sum->spread.nr)
		screen_wide(&s->scratch, sum->sum, true);
	return buf_str(&s->scratch);
}

static const char *human_text(struct screen_state *s, double x, const char *unit)
{
	buf_reset(&s->scratch);
	screen_human(&s->scratch, x, unit);
	return buf_str(&s->scratch);
}

static const char *number_text(struct screen_state *s, const struct table_column *c, double x)
{
	if (!c->metric)
		return human_text(s, x, c->unit);
	buf_reset(&s->scratch);
	screen_metric_human(&s->scratch, x, c->unit);
	return buf_str(&s->scratch);
}

/* Why a column has no total: the state that most of its cells are in. */
static const char *no_total_text(const struct column_summary *sum)
{
	enum cell_state best = CELL_OK;

	for (enum cell_state s = CELL_OK + 1; s < CELL_NR_STATES; s++)
		if (sum->nr_cells[s] > sum->nr_cells[best])
			best = s;
	return cell_has_value(&(struct cell){.state = best}) ? "no total" : cell_state_name(best);
}

static const char *mean_text(struct screen_state *s, const struct table_column *c,
			     const struct column_summary *sum)
{
	return number_text(s, c, sum->spread.mean);
}

static const char *deviation_text(struct screen_state *s, const struct table_column *c,
				  const struct column_summary *sum)
{
	return sum->spread.nr > 1 ? number_text(s, c, spread_deviation(&sum->spread)) : "";
}

static const char *percent_text(struct screen_state *s, const struct table_column *c,
				const struct column_summary *sum)
{
	double mean = sum->spread.mean;

	(void)c;
	return sum->spread.nr > 1 && mean > 0
		   ? human_text(s, 100 * spread_deviation(&sum->spread) / mean, "%")
		   : "";
}

static const char *min_text(struct screen_state *s, const struct table_column *c,
			    const struct column_summary *sum)
{
	return number_text(s, c, sum->min.value);
}

static const char *max_text(struct screen_state *s, const struct table_column *c,
			    const struct column_summary *sum)
{
	return number_text(s, c, sum->max.value);
}

/* What is right of the event's label; a narrow terminal has only the first that fit, at least
 * NR_KEPT. */
static const struct {
	const char *name;
	unsigned min_width;
	const char *(*text)(struct screen_state *s, const struct table_column *c,
			    const struct column_summary *sum);
} columns[] = {
    {"total", 7, total_text},   {"mean", 10, mean_text}, {"dev", 10, deviation_text},
    {"dev %", 8, percent_text}, {"min", 10, min_text},   {"max", 10, max_text},
};

enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]), NR_KEPT = 2 };

/* How the summary is laid out. */
struct layout {
	unsigned label_width, width[NR_COLUMNS];
	size_t nr_columns;
};

static void grow(unsigned *width, unsigned need)
{
	if (*width < need)
		*width = need;
}

static void measure(struct screen_state *s, const struct table *t, const struct table_summary *sum,
		    struct layout *l)
{
	*l = (struct layout){.label_width = 5};
	for (size_t k = 0; k < NR_COLUMNS; k++)
		l->width[k] = columns[k].min_width;
	for (size_t i = 0; i < sum->nr_columns; i++) {
		const struct column_summary *c = &sum->column[i];

		grow(&l->label_width, screen_width(t->columns[i].label));
		grow(&l->width[0], 2 + screen_width(total_text(s, &t->columns[i], c)));
		for (size_t k = 1; c->spread.nr && k < NR_COLUMNS; k++)
			grow(&l->width[k], 1 + screen_width(columns[k].text(s, &t->columns[i], c)));
	}
}

static void fit(struct layout *l, unsigned width)
{
	unsigned used = l->label_width;

	for (l->nr_columns = 0; l->nr_columns < NR_COLUMNS; l->nr_columns++) {
		used += l->width[l->nr_columns];
		if (width && used > width && l->nr_columns >= NR_KEPT)
			break;
	}
}

static void numbers(struct screen_state *s, const struct layout *l, const struct table_column *c,
		    const struct column_summary *sum, struct buf *out)
{
	size_t end = out->len;

	for (size_t k = 0; k < l->nr_columns; k++) {
		const char *text = columns[k].text(s, c, sum);

		screen_right(out, l->width[k], text);
		if (*text)
			end = out->len;
	}
	out->len = end < out->len ? end : out->len; /* a line does not end in blanks */
}

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

static void notes(const struct table_column *c, const struct column_summary *sum, struct buf *out)
{
	uint64_t nr = nr_cells(sum);

	if (c->reason && *c->reason) {
		buf_adds(out, "    ");
		buf_adds(out, c->reason);
		buf_addc(out, '\n');
	}
	if (sum->nr_multiplexed) {
		note(out, "multiplexed", sum->nr_multiplexed, nr);
		buf_adds(out, ", lowest running share ");
		screen_running(out, sum->min_running);
		buf_addc(out, '\n');
	}
	if (sum->nr_partial && sum->nr_cells[CELL_OK] == nr) { /* the cells do not show it */
		buf_adds(out, "    ");
		screen_partial(out, sum);
		buf_addc(out, '\n');
	}
	for (enum cell_state s = CELL_OK + 1; sum->spread.nr && s < CELL_NR_STATES; s++) {
		if (!sum->nr_cells[s])
			continue;
		note(out, cell_state_name(s), sum->nr_cells[s], nr);
		buf_addc(out, '\n');
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

	buf_addc(out, '\n');
	buf_u64(out, sum->nr_iterations);
	buf_adds(out, is_one ? " iteration" : " iterations");
	if (sum->nr_cut) {
		buf_adds(out, is_one ? ", cut short" : ", the last cut short");
		if (sum->cut_ns) { /* else it was killed */
			buf_adds(out, " after ");
			screen_human(out, (double)sum->cut_ns, "ns");
		}
		buf_adds(out, is_one ? "" : " (in the totals only)");
	}
	buf_adds(out, ", all traces\n");
}

static void heading(const struct layout *l, struct buf *out)
{
	screen_left(out, l->label_width, "event");
	for (size_t k = 0; k < l->nr_columns; k++)
		screen_right(out, l->width[k], columns[k].name);
	buf_addc(out, '\n');
}

void screen_text_summary(struct screen_state *s, const struct table *t,
			 const struct table_summary *sum, struct buf *out)
{
	struct layout l;

	measure(s, t, sum, &l);
	fit(&l, s->options.width);
	first_line(sum, out);
	heading(&l, out);
	for (size_t i = 0; i < sum->nr_columns; i++) {
		const struct column_summary *c = &sum->column[i];

		screen_left(out, l.label_width, t->columns[i].label);
		if (c->spread.nr) {
			numbers(s, &l, &t->columns[i], c, out);
		} else {
			buf_adds(out, "  ");
			buf_adds(out, no_total_text(c));
		}
		buf_addc(out, '\n');
		notes(&t->columns[i], c, out);
	}
	screen_warn_metrics(t, sum, put_warning, out);
	screen_samples_summary(s, t, sum, out);
}
