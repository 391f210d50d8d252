/*
 * The samples of an iteration as text: a table of events, then idle CPUs, reasons and warnings.
 */
#include "base/err.h"
#include "base/sum.h"
#include "screen/number.h"
#include "screen/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_WIDTH = 80, MAX_LINE_BYTES = 4096, MAX_BEGIN_BYTES = 256, NR_NAMED = 8 };

/* A row: an event, over all CPUs or on one. */
struct line {
	const char *label;
	const struct sampled *s;
	const struct cell *cell; /* NULL in a summary */
};

static void put(struct buf *out, bool holds, uint64_t n)
{
	if (holds)
		buf_u64_commas(out, n);
	else
		buf_addc(out, '-');
}

static void put_samples(struct buf *out, const struct line *l)
{
	put(out, l->s->claim != SAMPLED_NONE, l->s->n.samples);
}

static void put_lost(struct buf *out, const struct line *l)
{
	put(out, l->s->claim != SAMPLED_NONE && l->s->n.lost != SAMPLED_UNKNOWN, l->s->n.lost);
}

static void put_throttled(struct buf *out, const struct line *l)
{
	put(out, l->s->claim != SAMPLED_NONE, l->s->n.throttled);
}

/* Percent with one decimal, rounded down, so that 100.0 means all. */
static void put_coverage(struct buf *out, const struct line *l)
{
	uint64_t got = l->s->received < l->s->expected ? l->s->received : l->s->expected;
	unsigned tenths;

	if (sampled_coverage(l->s) < 0) {
		buf_adds(out, l->s->claim == SAMPLED_IDLE ? "idle" : "-");
		return;
	}
	tenths = (unsigned)((unsigned __int128)got * 1000 / l->s->expected);
	buf_printf(out, "%u.%u %%", tenths / 10, tenths % 10);
}

static void put_count(struct buf *out, const struct line *l)
{
	if (cell_has_value(l->cell) || l->cell->state == CELL_NONE)
		put(out, l->cell->state != CELL_NONE, l->cell->raw);
	else
		buf_adds(out, cell_state_name(l->cell->state));
}

static void put_residual(struct buf *out, const struct line *l)
{
	if (l->s->has_residual)
		screen_signed(out, l->s->residual, true);
	else
		buf_addc(out, '-');
}

/* The columns behind the label. A summary has the first NR_SUMMED; a narrow terminal those that
 * fit, at least NR_KEPT. */
static const struct {
	const char *name;
	void (*put)(struct buf *out, const struct line *l);
} columns[] = {
    {"samples", put_samples},   {"lost", put_lost},   {"throttled", put_throttled},
    {"coverage", put_coverage}, {"count", put_count}, {"residual", put_residual},
};

enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]), NR_SUMMED = 4, NR_KEPT = 2 };

struct block {
	struct screen_state *s;
	const struct table *t;
	const struct table_summary *sum; /* NULL: the iteration in t */
	struct buf *out;
	struct layout layout;
	struct layout_column columns[1 + NR_COLUMNS];
};

static void add_line(struct block *b, const struct line *line)
{
	struct layout *l = &b->layout;

	layout_row(l);
	layout_text(l, 0, line->label);
	for (size_t k = 1; k < l->nr_columns; k++) {
		columns[k - 1].put(&l->text, line);
		layout_cell(l, k);
	}
}

static void each_cpu(struct block *b, size_t i)
{
	char label[24];

	for (size_t row = 0; row < b->t->nr_rows; row++) {
		struct line l = {label, table_sampled(b->t, row, i), table_cell(b->t, row, i)};

		if (l.s->claim == SAMPLED_NONE && l.cell->state == CELL_NONE)
			continue;
		if (b->t->row_cpu[row] == TABLE_ALL_CPUS)
			snprintf(label, sizeof(label), "  any CPU");
		else
			snprintf(label, sizeof(label), "  CPU %u", b->t->row_cpu[row]);
		add_line(b, &l);
	}
}

static void each_line(struct block *b)
{
	for (size_t i = 0; i < b->t->nr_columns; i++) {
		const struct table_column *c = &b->t->columns[i];
		const struct sampled *s =
		    b->sum ? &b->sum->column[i].sampled : &b->t->sampled_totals[i];

		if (!sampled_event_is_sampled(&c->sampling))
			continue;
		add_line(b, &(struct line){c->label, s, b->sum ? NULL : &b->t->totals[i]});
		if (!b->sum && b->s->options.each_cpu && b->t->nr_rows > 1)
			each_cpu(b, i);
	}
}

static unsigned width_of(const struct screen_state *s)
{
	return s->options.width ? s->options.width : TEXT_WIDTH;
}

/* Saves width in this order: a blank before each number; labels (longer ones get lines of their
 * own); on a terminal the last columns. Returns the end of the columns that remain. */
static size_t fit(struct block *b)
{
	struct layout_column *c = b->columns;
	size_t nr = b->layout.nr_columns, to;
	unsigned room = width_of(b->s), label_width = c[0].width, used = 0;
	bool is_narrow = layout_fit(&b->layout, 1, room, 0) < nr;

	for (size_t k = 1; k < nr && is_narrow; k++)
		c[k].gap = 1;
	c[0].width = 0;
	to = layout_fit(&b->layout, 1, b->s->options.width, NR_KEPT);
	for (size_t k = 1; k < to; k++)
		used += c[k].gap + c[k].width;
	room = used < room ? room - used : 0;
	c[0].width = label_width < room ? label_width : room;
	return to;
}

static void put_table(struct block *b, size_t nr_columns)
{
	struct layout *l = &b->layout;

	layout_init(l, b->columns, 1 + nr_columns);
	b->columns[0] = (struct layout_column){.is_left = true, .is_broken = true};
	layout_row(l);
	layout_text(l, 0, "event");
	for (size_t k = 1; k < l->nr_columns; k++) {
		b->columns[k] = (struct layout_column){.gap = 2};
		layout_text(l, k, columns[k - 1].name);
	}
	each_line(b);
	layout_write(l, 1, fit(b), b->out);
	layout_fini(l);
}

/* Wraps text; further lines are indented. */
static void put_words(struct buf *out, unsigned width, const char *begin, const char *text)
{
	const char *indent = "    ";
	unsigned used = screen_width(begin);

	buf_adds(out, begin);
	while (*text) {
		char word[256];
		size_t len = strcspn(text, " ");

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (used + 1 + screen_width(word) > width) {
			buf_addc(out, '\n');
			buf_adds(out, indent);
			used = screen_width(indent);
		} else {
			buf_addc(out, ' ');
			used++;
		}
		buf_adds(out, word);
		used += screen_width(word);
		text += len + (text[len] == ' ');
	}
	buf_addc(out, '\n');
}

static void name_idle(const struct table *t, size_t row, const struct sampled *s, struct buf *line)
{
	buf_printf(line, "%sCPU %u (%u %%), ", line->len ? "; " : "", t->row_cpu[row],
		   s->idle_percent);
	buf_u64_commas(line, s->n.samples);
	buf_adds(line, s->n.samples == 1 ? " sample" : " samples");
}

static void list_idle(const struct table *t, size_t i, struct buf *line)
{
	uint64_t nr = 0, samples = 0;

	for (size_t row = 0; row < t->nr_rows; row++) {
		const struct sampled *s = table_sampled(t, row, i);

		if (s->claim != SAMPLED_IDLE)
			continue;
		if (nr++ < NR_NAMED)
			name_idle(t, row, s, line);
		else
			sum_add(&samples, s->n.samples);
	}
	if (nr <= NR_NAMED)
		return;
	nr -= NR_NAMED;
	buf_printf(line, "; and %" PRIu64 " more CPU%s, ", nr, nr == 1 ? "" : "s");
	buf_u64_commas(line, samples);
	buf_adds(line, " samples");
}

/* Then lines about idle CPUs name the clock. */
static bool has_many_clocks(const struct table *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_columns; i++)
		nr += sampled_event_is_sampled(&t->columns[i].sampling) &&
		      t->columns[i].sampling.is_clock;
	return nr > 1;
}

static void put_idle(const struct block *b, size_t i)
{
	char begin[MAX_BEGIN_BYTES] = "idle:";
	BUF_AUTO(list, MAX_LINE_BYTES);

	list_idle(b->t, i, &list);
	if (has_many_clocks(b->t))
		snprintf(begin, sizeof(begin), "idle, %s:", b->t->columns[i].label);
	if (list.len)
		put_words(b->out, width_of(b->s), begin, buf_str(&list));
}

/* The reason why an event has no coverage, if the table does not show it. */
static void put_reason(const struct block *b, size_t i)
{
	enum sampled_claim claim = b->t->sampled_totals[i].claim;
	const char *why = NULL;
	char begin[MAX_BEGIN_BYTES];

	if (claim == SAMPLED_PARTIAL)
		why = "no coverage: its flags exclude samples of part of the count";
	else if (claim == SAMPLED_LASTING)
		why = "no coverage: how many samples it has does not follow from its sum";
	else if (claim == SAMPLED_SHORT)
		why = "no coverage: a CPU's idle time is known to 10 ms only";
	else if (claim == SAMPLED_HELD)
		why = "no coverage: a flight recorder holds the last of the iteration's samples";
	if (!why)
		return;
	snprintf(begin, sizeof(begin), "%s:", b->t->columns[i].label);
	put_words(b->out, width_of(b->s), begin, why);
}

static void put_warning(void *arg, const struct err *warning)
{
	const struct block *b = arg;

	put_words(b->out, width_of(b->s), "warning:", warning->msg);
	if (warning->hint[0])
		put_words(b->out, width_of(b->s), "  hint:", warning->hint);
}

void screen_samples(struct screen_state *s, const struct table *t, struct buf *out)
{
	struct block b = {.s = s, .t = t, .out = out};

	if (!t->sampled)
		return;
	put_table(&b, NR_COLUMNS);
	for (size_t i = 0; i < t->nr_columns; i++)
		put_idle(&b, i);
	for (size_t i = 0; i < t->nr_columns; i++)
		put_reason(&b, i);
	screen_warn_samples(t, put_warning, &b);
}

void screen_samples_summary(struct screen_state *s, const struct table *t,
			    const struct table_summary *sum, struct buf *out)
{
	struct block b = {.s = s, .t = t, .sum = sum, .out = out};

	if (!t->sampled)
		return;
	buf_addc(out, '\n');
	put_table(&b, NR_SUMMED);
	if (!sum->lost)
		return;
	buf_adds(out, "records lost by the rings: ");
	buf_u64_commas(out, sum->lost);
	buf_addc(out, '\n');
}
