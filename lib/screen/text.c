/*
 * The text format: the original's table, a title line and a line per trace, cut into blocks of
 * columns on a narrow terminal; what is sampled has a block of its own (samples.c). Knows nothing
 * of where the numbers come from.
 */
#include "screen/number.h"
#include "screen/state.h"

enum { COLUMN_MIN_WIDTH = 11 }; /* as the original has it */

static void grow(unsigned *width, unsigned need)
{
	if (*width < need)
		*width = need;
}

/* The CPUs are not the traces: an offline CPU, or a missing trace. */
static bool cpus_differ(const struct table *t)
{
	for (size_t row = 0; row < t->nr_rows; row++)
		if (t->row_cpu[row] != t->row_trace[row])
			return true;
	return false;
}

/* A line for each row, and with metrics one of totals, which the rows do not say. */
static size_t nr_lines(const struct table *t)
{
	return t->nr_rows + (t->nr_events < t->nr_columns);
}

static const struct cell *line_cell(const struct table *t, size_t row, size_t i)
{
	return row < t->nr_rows ? table_cell(t, row, i) : &t->totals[i];
}

/* What is the machine's is nobody's count: it is shown with its unit, as things are. */
static bool is_of_machine(const struct table_column *c)
{
	return !c->metric && (c->scope == EVENT_SCOPE_SYSTEM || c->scope == EVENT_SCOPE_THINGS);
}

static void put_cell(struct buf *out, const struct table *t, size_t row, size_t i)
{
	const struct table_column *c = &t->columns[i];

	if (is_of_machine(c))
		screen_cell_human(out, c->kind, c->unit, line_cell(t, row, i));
	else
		screen_cell(out, c->kind, line_cell(t, row, i));
}

static const char *first_text(struct screen_state *s, const struct table *t, size_t row,
			      bool with_cpu)
{
	buf_reset(&s->scratch);
	if (row == t->nr_rows) {
		buf_adds(&s->scratch, "All:");
		return buf_str(&s->scratch);
	}
	buf_adds(&s->scratch, "Trace ");
	buf_u64(&s->scratch, t->row_trace[row]);
	if (with_cpu) {
		buf_adds(&s->scratch, " (CPU ");
		buf_u64(&s->scratch, t->row_cpu[row]);
		buf_addc(&s->scratch, ')');
	}
	buf_addc(&s->scratch, ':');
	return buf_str(&s->scratch);
}

/* Finds the columns of the table, those of what is counted. */
static void choose(struct screen_state *s, const struct table *t)
{
	s->nr_shown = 0;
	for (size_t i = 0; i < t->nr_columns; i++)
		if (!sampled_event_is_sampled(&t->columns[i].sampling))
			s->shown[s->nr_shown++] = i;
}

static void measure(struct screen_state *s, const struct table *t, bool with_cpu)
{
	for (size_t k = 0; k < s->nr_shown; k++) {
		size_t i = s->shown[k];

		grow(&s->width[i], COLUMN_MIN_WIDTH);
		grow(&s->width[i], screen_width(t->columns[i].label));
	}
	for (size_t row = 0; row < nr_lines(t); row++) {
		first_text(s, t, row, with_cpu);
		grow(&s->first_width, (unsigned)s->scratch.len);
		for (size_t k = 0; k < s->nr_shown; k++) {
			size_t i = s->shown[k];

			buf_reset(&s->scratch);
			put_cell(&s->scratch, t, row, i);
			grow(&s->width[i], (unsigned)s->scratch.len);
		}
	}
}

/* The shown columns [from, returned) fit beside the first one; at least one, never half of one. */
static size_t block_end(const struct screen_state *s, size_t from)
{
	size_t k = from, used = s->first_width;

	while (k < s->nr_shown) {
		used += 1 + s->width[s->shown[k]];
		if (s->options.width && used > s->options.width && k > from)
			break;
		k++;
	}
	return k;
}

static void right(struct buf *out, unsigned width, const char *text, unsigned text_width)
{
	buf_addc(out, '|');
	buf_fill(out, ' ', width - text_width);
	buf_adds(out, text);
}

static void title(const struct screen_state *s, const struct table *t, size_t from, size_t to,
		  struct buf *out)
{
	buf_fill(out, ' ', s->first_width);
	for (size_t k = from; k < to; k++) {
		const char *label = t->columns[s->shown[k]].label;

		right(out, s->width[s->shown[k]], label, screen_width(label));
	}
	buf_addc(out, '\n');
}

static void row_line(struct screen_state *s, const struct table *t, size_t row, size_t from,
		     size_t to, bool with_cpu, struct buf *out)
{
	buf_adds(out, first_text(s, t, row, with_cpu));
	buf_fill(out, ' ', s->first_width - s->scratch.len);
	for (size_t k = from; k < to; k++) {
		size_t i = s->shown[k];
		unsigned width = s->width[i];

		buf_reset(&s->scratch);
		put_cell(&s->scratch, t, row, i);
		if (!s->scratch.len && k + 1 == to)
			width = 0; /* a line does not end in blanks */
		right(out, width, buf_str(&s->scratch), (unsigned)s->scratch.len);
	}
	buf_addc(out, '\n');
}

static void counted(struct screen_state *s, const struct table *t, struct buf *out)
{
	bool with_cpu = cpus_differ(t);
	size_t from = 0, to;

	measure(s, t, with_cpu);
	do {
		to = block_end(s, from);
		title(s, t, from, to, out);
		for (size_t row = 0; row < nr_lines(t); row++)
			row_line(s, t, row, from, to, with_cpu, out);
		from = to;
	} while (from < s->nr_shown);
}

void screen_text_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	choose(s, t);
	if (s->nr_shown || !t->sampled)
		counted(s, t, out);
	screen_things(s, t, out);
	screen_samples(s, t, out);
}

void screen_text_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		     struct buf *out)
{
	(void)s, (void)t;
	buf_adds(out, "Not printed: iteration ");
	buf_u64(out, gap->first);
	if (gap->last > gap->first) {
		buf_adds(out, " to ");
		buf_u64(out, gap->last);
	}
	buf_adds(out, ", because what came before was not read in time\n");
}
