/*
 * The report heat: one event of each part of a job over time, a row for each part. Times are those
 * of the starter's clock: each host's offset from it is subtracted.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/str.h"
#include "counts/series.h"
#include "numbers.h"
#include "reports/reports.h"
#include "screen/layout.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	TOP = 40,
	CELLS = 100, /* in csv and ndjson, and at most */
	MIN_CELLS = 10,
	NUMBER_WIDTH = 14,
	MAX_NAME = 24,
	NR_SHADES = 9,
	MAX_POINTS = 16 << 20,
};

#define NO_COLUMN UINT32_MAX

/* Of the starter's clock. */
struct point {
	uint64_t from_ns, to_ns;
	double value; /* of a count: the amount */
};

struct row {
	const struct input *input;
	uint64_t from_ns, to_ns; /* when it measured */
	struct point *points;    /* owned */
	size_t nr, room;
	double mean;
};

struct report {
	struct job *j;
	struct row *rows; /* owned; of each input */
	uint32_t column;
	struct table_column of; /* its strings belong to the session */
	bool is_amount;
	uint64_t from_ns, to_ns;
	size_t nr_cells, nr_points;
	double *cells; /* owned; row by row; NAN: not measured then */
	double low, high;
	/* of the row that is read */
	struct row *row;
	struct parts_clock clock;
};

/* --- reading ------------------------------------------------------------------------------------
 */

static bool is_sampled(const struct trace_event *ev)
{
	return ev->rate || ev->frequency;
}

/* The samples of a sampled event, which are finer; else its totals, or the machine's numbers. */
static bool is_meant(const struct report *r, const struct counts_series_point *p)
{
	const struct profile_facts *f = r->row->input->facts;
	const bool by_samples = p->column < f->nr_events && is_sampled(&f->events[p->column]) &&
				p->of->kind == EVENT_COUNT;

	if (p->thing || by_samples != p->is_samples)
		return false;
	return by_samples || p->cpu == COUNTS_NO_CPU;
}

static uint64_t starter_ns(const struct report *r, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)r->clock.to_starter_ns;
}

static bool has_number(const struct report *r, const struct counts_series_point *p)
{
	return is_meant(r, p) && p->end_ns > p->start_ns &&
	       (p->is_samples || cell_has_value(p->cell));
}

/* The first event that has numbers. */
static int choose_column(void *arg, const struct counts_series_point *p)
{
	struct report *r = arg;

	if (p->column >= r->column || !has_number(r, p))
		return 0;
	r->column = p->column;
	r->of = *p->of;
	r->is_amount = p->is_samples || (!p->of->metric && p->of->kind == EVENT_COUNT);
	return 0;
}

static int add_point(void *arg, const struct counts_series_point *p)
{
	struct report *r = arg;
	struct row *row = r->row;
	struct point *point;
	double value;

	if (p->column != r->column || !has_number(r, p))
		return 0;
	if (p->is_samples)
		value = (double)p->weight * (r->of.scale > 0 ? r->of.scale : 1);
	else
		value = p->cell->value;
	if (r->nr_points++ == MAX_POINTS)
		return -EFBIG;
	point = MEM_ADD(row->points, row->nr, row->room);
	if (!point)
		return -ENOMEM;
	*point = (struct point){starter_ns(r, p->start_ns), starter_ns(r, p->end_ns), value};
	row->from_ns =
	    row->nr == 1 || point->from_ns < row->from_ns ? point->from_ns : row->from_ns;
	row->to_ns = point->to_ns > row->to_ns ? point->to_ns : row->to_ns;
	return 0;
}

static int read_row(struct report *r, size_t i, struct err *e)
{
	int rc;

	r->row = &r->rows[i];
	r->row->input = &r->j->inputs->item[r->j->first + i];
	rc = parts_clock_read(r->row->input, &r->clock, e);
	if (rc == 0 && r->column == NO_COLUMN)
		rc = tables_series(r->j, r->row->input, choose_column, r, e);
	return rc ?: tables_series(r->j, r->row->input, add_point, r, e);
}

/* --- cells --------------------------------------------------------------------------------------
 */

static uint64_t overlap_ns(uint64_t from, uint64_t to, uint64_t first, uint64_t last)
{
	from = from > first ? from : first;
	to = to < last ? to : last;
	return to > from ? to - from : 0;
}

static uint64_t cell_from(const struct report *r, size_t i)
{
	return r->from_ns +
	       (uint64_t)((double)(r->to_ns - r->from_ns) * (double)i / (double)r->nr_cells);
}

/* Adds the part of a point that lies in each cell, and for numbers that do not add up its time. */
static void add_to_cells(const struct report *r, const struct point *p, double *sums, double *times)
{
	const double cell_ns = (double)(r->to_ns - r->from_ns) / (double)r->nr_cells;
	const double ns = (double)(p->to_ns - p->from_ns);

	for (size_t i = (size_t)((double)(p->from_ns - r->from_ns) / cell_ns); i < r->nr_cells;
	     i++) {
		const double in =
		    (double)overlap_ns(p->from_ns, p->to_ns, cell_from(r, i), cell_from(r, i + 1));

		sums[i] += p->value * (r->is_amount ? in / ns : in);
		times[i] += in;
		if (cell_from(r, i + 1) >= p->to_ns)
			break;
	}
}

static void set_cells(struct report *r, struct row *row, double *cells, double *times)
{
	const struct unit u = unit_shown(r->of.kind, r->of.unit);
	double sum = 0, sum_ns = 0;

	memset(times, 0, r->nr_cells * sizeof(*times));
	for (size_t i = 0; i < row->nr; i++)
		add_to_cells(r, &row->points[i], cells, times);
	for (size_t i = 0; i < r->nr_cells; i++) {
		const double measured = (double)overlap_ns(row->from_ns, row->to_ns,
							   cell_from(r, i), cell_from(r, i + 1));
		const double ns = r->is_amount ? measured : times[i];

		sum += cells[i];
		sum_ns += ns;
		cells[i] = !(ns > 0)      ? NAN
			   : r->is_amount ? cells[i] / ns * 1e9 / u.divisor
					  : cells[i] / ns;
		if (isfinite(cells[i])) {
			r->low = fmin(r->low, cells[i]);
			r->high = fmax(r->high, cells[i]);
		}
	}
	row->mean = !(sum_ns > 0) ? NAN : sum / sum_ns * (r->is_amount ? 1e9 / u.divisor : 1);
}

static int make_cells(struct report *r)
{
	const size_t nr = r->j->nr;
	MEM_AUTO double *times = mem_calloc(r->nr_cells + 1, sizeof(*times));

	r->cells = mem_calloc(nr * r->nr_cells + 1, sizeof(*r->cells));
	if (!r->cells || !times)
		return -ENOMEM;
	r->low = INFINITY;
	r->high = -INFINITY;
	for (size_t i = 0; i < nr; i++)
		set_cells(r, &r->rows[i], &r->cells[i * r->nr_cells], times);
	return 0;
}

/* --- printing -----------------------------------------------------------------------------------
 */

static void show(const struct report *r, double x, struct buf *out)
{
	const struct unit u = unit_shown(r->of.kind, r->of.unit);

	if (!isfinite(x))
		buf_adds(out, "-");
	else if (r->of.metric)
		screen_metric_human(out, x, r->of.unit);
	else
		screen_rate(out, x, &u);
}

/* From blue to red, of 256 colours; as marks from light to dark. */
static void put_cell(const struct report *r, double x, struct buf *out)
{
	static const unsigned colours[NR_SHADES] = {17, 19, 27, 37, 34, 142, 208, 202, 196};
	static const char *const blocks[NR_SHADES] = {"▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char marks[NR_SHADES + 1] = ".:-=+*#%@";
	const double range = r->high - r->low;
	const size_t shade =
	    range > 0 ? (size_t)fmin((x - r->low) / range * NR_SHADES, NR_SHADES - 1) : 0;

	if (!isfinite(x))
		buf_addc(out, ' ');
	else if (r->j->output->has_color)
		buf_printf(out, "\033[48;5;%um \033[0m", colours[shade]);
	else if (opt_std_has_utf8())
		buf_adds(out, blocks[shade]);
	else
		buf_addc(out, marks[shade]);
}

static unsigned name_width(const struct report *r)
{
	char text[PARTS_NAME_BYTES];
	unsigned width = 4;

	for (size_t i = 0; i < r->j->nr; i++) {
		unsigned w = screen_width(input_shown(r->rows[i].input, text));

		width = w > width ? w : width;
	}
	return width < MAX_NAME ? width : MAX_NAME;
}

static void put_clocks(const struct report *r, struct buf *out)
{
	size_t nr_unknown = 0;
	int64_t error = 0;

	for (size_t i = 0; i < r->j->nr; i++) {
		const struct hosts_part *part = r->rows[i].input->part;

		if (!part || part->clock_offset_ns == HOSTS_ABSENT)
			nr_unknown++;
		else if (part->clock_error_ns > error)
			error = part->clock_error_ns;
	}
	if (error)
		buf_printf(out, "; clocks agree within %s", HUMAN((double)error, "ns"));
	if (nr_unknown)
		buf_printf(out, "; the clock%s of %zu %s not compared",
			   str_plural(nr_unknown, "", "s"), nr_unknown,
			   str_plural(nr_unknown, "was", "were"));
}

static void put_heading(const struct report *r, struct buf *out)
{
	const double cell_ns = (double)(r->to_ns - r->from_ns) / (double)r->nr_cells;
	time_t seconds = (time_t)(r->from_ns / 1000000000);
	char text[64];
	struct tm tm;

	buf_printf(out, "\n%s by %s over time, from ", r->of.label,
		   r->rows[0].input->part ? "host" : "session");
	show(r, r->low, out);
	buf_printf(out, " (%s) to ", r->j->output->has_color ? "blue" : "low");
	show(r, r->high, out);
	buf_printf(out, " (%s); a column is %s", r->j->output->has_color ? "red" : "high",
		   HUMAN(cell_ns, "ns"));
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		buf_printf(out, ", the first at %s.%03u UTC", text,
			   (unsigned)(r->from_ns % 1000000000 / 1000000));
	put_clocks(r, out);
	buf_addc(out, '\n');
	screen_wrap_lines(out, 0, output_columns(r->j->output));
}

static int put_people(struct report *r, struct err *e)
{
	struct buf *out = &r->j->output->text;
	const uint64_t top = reports_top(r->j, TOP);
	const unsigned width = name_width(r);
	char text[PARTS_NAME_BYTES];

	put_heading(r, out);
	for (size_t i = 0; i < r->j->nr && i < top; i++) {
		const char *name = input_shown(r->rows[i].input, text);
		unsigned w = screen_width(name);

		if (w > width)
			name += w - width; /* of a path, its end */
		buf_adds(out, name);
		buf_fill(out, ' ', (w < width ? width - w : 0) + 1);
		for (size_t k = 0; k < r->nr_cells; k++)
			put_cell(r, r->cells[i * r->nr_cells + k], out);
		buf_adds(out, "  ");
		show(r, r->rows[i].mean, out);
		buf_addc(out, '\n');
	}
	if (r->j->nr > top)
		buf_printf(out, "… %zu more (--top=0 shows all)\n", (size_t)(r->j->nr - top));
	return output_flush(r->j->output, e);
}

static int put_rows(struct report *r, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"host", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"rank", NULL, NULL, GRID_NUMBER, GRID_ALL},
	    {"time_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"realtime_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"span_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"value", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"unit", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	const struct unit u = unit_shown(r->of.kind, r->of.unit ? r->of.unit : "");
	struct grid *g = reports_grid(r->j, columns, ARRAY_NR(columns));
	char unit[64];

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(unit, sizeof(unit), "%s%s", r->of.metric ? r->of.unit : u.name,
		 r->of.metric ? "" : u.per);
	for (size_t i = 0; i < r->j->nr && r->nr_cells; i++)
		for (size_t k = 0; k < r->nr_cells; k++) {
			const uint32_t rank = input_rank(r->rows[i].input);

			grid_row(g);
			grid_text(g, input_host(r->rows[i].input));
			rank == UINT32_MAX ? grid_none(g) : grid_count(g, rank);
			grid_count(g, cell_from(r, k) - r->from_ns);
			grid_count(g, cell_from(r, k));
			grid_count(g, cell_from(r, k + 1) - cell_from(r, k));
			grid_text(g, r->of.label);
			isfinite(r->cells[i * r->nr_cells + k])
			    ? grid_real(g, r->cells[i * r->nr_cells + k])
			    : grid_none(g);
			grid_text(g, unit);
		}
	return reports_end(r->j, g, 0, e);
}

static size_t nr_cells(const struct report *r)
{
	const unsigned used = name_width(r) + 1 + 2 + NUMBER_WIDTH, width = job_columns(r->j);

	if (r->j->output->form != GRID_PEOPLE)
		return CELLS;
	return width < used + MIN_CELLS ? MIN_CELLS : width - used < CELLS ? width - used : CELLS;
}

static int put_all(struct report *r, struct err *e)
{
	r->from_ns = UINT64_MAX;
	for (size_t i = 0; i < r->j->nr; i++)
		if (r->rows[i].nr) {
			r->from_ns =
			    r->rows[i].from_ns < r->from_ns ? r->rows[i].from_ns : r->from_ns;
			r->to_ns = r->rows[i].to_ns > r->to_ns ? r->rows[i].to_ns : r->to_ns;
		}
	if (r->column == NO_COLUMN) {
		if (r->j->output->form != GRID_PEOPLE)
			return put_rows(r, e); /* csv has a header */
		buf_adds(&r->j->output->text,
			 "\nNo numbers over time: --event selects none, or it has none\n");
		return 0;
	}
	r->nr_cells = nr_cells(r);
	if (make_cells(r))
		return err_set(e, -ENOMEM, "out of memory");
	return r->j->output->form == GRID_PEOPLE ? put_people(r, e) : put_rows(r, e);
}

int reports_heat(struct job *j, struct err *e)
{
	struct report r = {.j = j, .column = NO_COLUMN};
	int rc = 0;

	r.rows = mem_calloc(j->nr + 1, sizeof(*r.rows));
	if (!r.rows)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < j->nr && rc == 0; i++)
		rc = read_row(&r, i, e);
	if (rc && !e->code)
		err_set(e, rc, "the numbers over time cannot be read: %s", strerror(-rc));
	rc = rc ?: put_all(&r, e);
	for (size_t i = 0; i < j->nr; i++)
		mem_free(r.rows[i].points);
	mem_free(r.rows);
	mem_free(r.cells);
	return rc;
}
