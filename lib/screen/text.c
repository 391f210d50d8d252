/*
 * The text format: the original's table, a title line and a line per trace, cut into blocks of
 * columns on a narrow terminal. Knows nothing of where the numbers come from.
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

static const char *first_text(struct screen_state *s, const struct table *t, size_t row,
			      bool with_cpu)
{
	buf_reset(&s->scratch);
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

static void measure(struct screen_state *s, const struct table *t, bool with_cpu)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		grow(&s->width[i], COLUMN_MIN_WIDTH);
		grow(&s->width[i], screen_width(t->columns[i].label));
	}
	for (size_t row = 0; row < t->nr_rows; row++) {
		first_text(s, t, row, with_cpu);
		grow(&s->first_width, (unsigned)s->scratch.len);
		for (size_t i = 0; i < t->nr_columns; i++) {
			buf_reset(&s->scratch);
			screen_cell(&s->scratch, t->columns[i].kind, table_cell(t, row, i));
			grow(&s->width[i], (unsigned)s->scratch.len);
		}
	}
}

/* The columns [from, returned) fit beside the first one; at least one, never half of one. */
static size_t block_end(const struct screen_state *s, size_t nr_columns, size_t from)
{
	size_t i = from, used = s->first_width;

	while (i < nr_columns) {
		used += 1 + s->width[i];
		if (s->options.width && used > s->options.width && i > from)
			break;
		i++;
	}
	return i;
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
	for (size_t i = from; i < to; i++)
		right(out, s->width[i], t->columns[i].label, screen_width(t->columns[i].label));
	buf_addc(out, '\n');
}

static void row_line(struct screen_state *s, const struct table *t, size_t row, size_t from,
		     size_t to, bool with_cpu, struct buf *out)
{
	buf_adds(out, first_text(s, t, row, with_cpu));
	buf_fill(out, ' ', s->first_width - s->scratch.len);
	for (size_t i = from; i < to; i++) {
		unsigned width = s->width[i];

		buf_reset(&s->scratch);
		screen_cell(&s->scratch, t->columns[i].kind, table_cell(t, row, i));
		if (!s->scratch.len && i + 1 == to)
			width = 0; /* a line does not end in blanks */
		right(out, width, buf_str(&s->scratch), (unsigned)s->scratch.len);
	}
	buf_addc(out, '\n');
}

void screen_text_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	bool with_cpu = cpus_differ(t);
	size_t from = 0, to;

	measure(s, t, with_cpu);
	do {
		to = block_end(s, t->nr_columns, from);
		title(s, t, from, to, out);
		for (size_t row = 0; row < t->nr_rows; row++)
			row_line(s, t, row, from, to, with_cpu, out);
		from = to;
	} while (from < t->nr_columns);
}
