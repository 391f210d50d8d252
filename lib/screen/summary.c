/*
 * The summary of the text format: a row per event over all iterations, and below it what must
 * be known of it. Knows nothing of how the table of one iteration looks.
 */
#include "screen/number.h"
#include "screen/state.h"

/* What is right of the event's label and its total. */
static const struct {
	const char *name;
	unsigned width;
} headings[] = {{"mean", 10}, {"dev", 10}, {"dev %", 8}, {"min", 10}, {"max", 10}};

static void right(struct buf *out, unsigned width, const char *text)
{
	unsigned len = screen_width(text);

	buf_fill(out, ' ', len < width ? width - len : 1);
	buf_adds(out, text);
}

static void left(struct buf *out, unsigned width, const char *text)
{
	unsigned len = screen_width(text);

	buf_adds(out, text);
	buf_fill(out, ' ', len < width ? width - len : 0);
}

static const char *total_text(struct screen_state *s, const struct table_column *c,
			      const struct column_summary *sum)
{
	buf_reset(&s->scratch);
	if (c->kind == EVENT_COUNT && sum->max.is_real)
		screen_human(&s->scratch, sum->spread.mean * (double)sum->spread.nr, c->unit);
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

/* Why a column has no total: the state that most of its cells are in. */
static const char *no_total_text(const struct column_summary *sum)
{
	enum cell_state best = CELL_OK;

	for (enum cell_state s = CELL_OK + 1; s < CELL_NR_STATES; s++)
		if (sum->nr_cells[s] > sum->nr_cells[best])
			best = s;
	return cell_has_value(&(struct cell){.state = best}) ? "no total" : cell_state_name(best);
}

static void numbers(struct screen_state *s, const struct table_column *c,
		    const struct column_summary *sum, struct buf *out)
{
	double mean = sum->spread.mean, deviation = spread_deviation(&sum->spread);
	bool has_deviation = sum->spread.nr > 1;

	right(out, headings[0].width, human_text(s, mean, c->unit));
	right(out, headings[1].width, has_deviation ? human_text(s, deviation, c->unit) : "");
	right(out, headings[2].width,
	      has_deviation && mean > 0 ? human_text(s, 100 * deviation / mean, "%") : "");
	right(out, headings[3].width, human_text(s, sum->min.value, c->unit));
	right(out, headings[4].width, human_text(s, sum->max.value, c->unit));
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
	for (enum cell_state s = CELL_OK + 1; sum->spread.nr && s < CELL_NR_STATES; s++) {
		if (!sum->nr_cells[s])
			continue;
		note(out, cell_state_name(s), sum->nr_cells[s], nr);
		buf_addc(out, '\n');
	}
}

static void heading(struct buf *out, unsigned label_width, unsigned total_width)
{
	left(out, label_width, "event");
	right(out, total_width, "total");
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		right(out, headings[i].width, headings[i].name);
	buf_addc(out, '\n');
}

void screen_text_summary(struct screen_state *s, const struct table *t,
			 const struct table_summary *sum, struct buf *out)
{
	unsigned label_width = 5, total_width = 7;

	for (size_t i = 0; i < sum->nr_columns; i++) {
		unsigned label = screen_width(t->columns[i].label);
		unsigned total = 2 + screen_width(total_text(s, &t->columns[i], &sum->column[i]));

		label_width = label > label_width ? label : label_width;
		total_width = total > total_width ? total : total_width;
	}
	buf_addc(out, '\n');
	buf_u64(out, sum->nr_iterations);
	buf_adds(out, sum->nr_iterations == 1 ? " iteration" : " iterations");
	buf_adds(out, ", all traces\n");
	heading(out, label_width, total_width);
	for (size_t i = 0; i < sum->nr_columns; i++) {
		const struct column_summary *c = &sum->column[i];

		left(out, label_width, t->columns[i].label);
		if (c->spread.nr) {
			right(out, total_width, total_text(s, &t->columns[i], c));
			numbers(s, &t->columns[i], c, out);
		} else {
			buf_adds(out, "  ");
			buf_adds(out, no_total_text(c));
		}
		buf_addc(out, '\n');
		notes(&t->columns[i], c, out);
	}
}
