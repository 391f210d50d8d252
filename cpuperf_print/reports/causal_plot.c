/*
 * Curves in text: a line for each amount, with the interval and the estimates in it. All curves
 * have one scale, so that they can be compared.
 */
#include "base/buf.h"
#include "reports/causal.h"
#include "screen/grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LABEL = 7, LEAST = 20, MOST = 100, LINE_BYTES = 2048 };

/* Beyond it an interval says nothing. */
#define FARTHEST 1.0

struct scale {
	double least, most;
	unsigned columns;
};

static bool is_same(const struct causal_row *a, const struct causal_row *b)
{
	return a->line == b->line && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->region, b->region) == 0 && strcmp(a->object, b->object) == 0 &&
	       strcmp(a->source, b->source) == 0 && strcmp(a->quantity, b->quantity) == 0 &&
	       strcmp(a->point, b->point) == 0;
}

static size_t nr_of_first(const struct causal_row *row, size_t nr)
{
	size_t i = 1;

	while (i < nr && is_same(&row[i], row))
		i++;
	return nr ? i : 0;
}

size_t causal_nr_candidates(const struct causal_row *row, size_t nr)
{
	size_t found = 0;

	for (size_t i = 0; i < nr; i += nr_of_first(row + i, nr - i))
		found++;
	return found;
}

static void widen(struct scale *s, double x)
{
	if (!isfinite(x))
		return;
	s->least = fmax(fmin(s->least, x), -FARTHEST);
	s->most = fmin(fmax(s->most, x), FARTHEST);
}

static unsigned column_of(const struct scale *s, double x)
{
	const double at = (fmin(fmax(x, s->least), s->most) - s->least) / (s->most - s->least);

	return (unsigned)lround(at * (s->columns - 1));
}

static void put_line(const struct scale *s, const struct causal_row *row, struct grid *g)
{
	char cells[MOST + 1];
	BUF_AUTO(line, LINE_BYTES);

	memset(cells, ' ', s->columns);
	cells[s->columns] = '\0';
	if (isfinite(row->low) && isfinite(row->high)) {
		const unsigned from = column_of(s, row->low), to = column_of(s, row->high);

		memset(cells + from, '-', to - from + 1);
	}
	cells[column_of(s, 0)] = '|';
	if (isfinite(row->replayed.share))
		cells[column_of(s, row->replayed.share)] = '+';
	if (isfinite(row->saves))
		cells[column_of(s, row->saves)] = '*';
	buf_printf(&line, "%4.0f %% %s", 100 * row->faster, cells);
	while (line.len && line.data[line.len - 1] == ' ')
		buf_cut(&line, line.len - 1);
	grid_line(g, buf_str(&line));
}

static void put_curve(const struct scale *s, const struct causal_row *row, size_t nr,
		      struct grid *g)
{
	BUF_AUTO(head, LINE_BYTES);

	buf_printf(&head, "%s", *row->region ? row->region : row->function);
	if (row->line)
		buf_printf(&head, ", line %" PRIu64, row->line);
	grid_line(g, "");
	grid_line(g, buf_str(&head));
	for (size_t i = 0; i < nr; i++)
		put_line(s, &row[i], g);
}

void causal_plot(const struct causal_row *row, size_t nr, unsigned columns, struct grid *g)
{
	struct scale s = {.columns = columns > LABEL + LEAST ? columns - LABEL : LEAST};
	bool has_replay = false, has_any = false;
	BUF_AUTO(line, LINE_BYTES);

	s.columns = s.columns < MOST ? s.columns : MOST;
	for (size_t i = 0; i < nr; i++) {
		widen(&s, row[i].saves);
		widen(&s, row[i].low);
		widen(&s, row[i].high);
		widen(&s, row[i].replayed.share);
		has_replay |= isfinite(row[i].replayed.share);
	}
	if (!(s.most > s.least))
		return;
	for (size_t i = 0, of; i < nr; i += of) {
		of = nr_of_first(row + i, nr - i);
		if (of > 1)
			put_curve(&s, row + i, of, g);
		has_any |= of > 1;
	}
	buf_printf(&line,
		   "From %.0f to %.0f %% saved, | at 0: * by experiments, - their interval%s",
		   100 * s.least, 100 * s.most, has_replay ? ", + by the recorded run" : "");
	if (has_any)
		grid_line(g, buf_str(&line));
}
