/*
 * Values of the whole machine: a number or a bar for each, in as many columns as fit; and a bar for
 * each CPU.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <math.h>
#include <string.h>

enum {
	ITEM_WIDTH = 38,
	NUMBER_WIDTH = 11,
	MAX_LABEL_WIDTH = 18,
	BAR_WIDTH = 19,
	MAX_BAR_LINES = 4,
};

/* --- bars of CPUs ------------------------------------------------------------------------------
 */

/* The column that shows how busy each CPU is; SIZE_MAX: not measured. */
static size_t find_busy(const struct model *m)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < m->facts.nr_events; i++) {
		const struct table_column *c = model_column(m, i);

		if (c->scope != EVENT_SCOPE_CPU || c->kind != EVENT_SHARE)
			continue;
		if (strcmp(c->name, "cpu_utilization") == 0)
			return i;
		found = found == SIZE_MAX ? i : found;
	}
	return found;
}

static unsigned lines_for(size_t nr, size_t per_line)
{
	return per_line ? (unsigned)((nr + per_line - 1) / per_line) : 0;
}

/* A bar and a number for each CPU if they fit in a few lines, else one character each. */
static bool has_long_bars(const struct model *m, unsigned width)
{
	return lines_for(m->facts.nr_cpus, width / BAR_WIDTH) - 1 < MAX_BAR_LINES;
}

static unsigned bar_lines(const struct model *m, unsigned width)
{
	unsigned lines;

	if (find_busy(m) == SIZE_MAX)
		return 0;
	if (has_long_bars(m, width))
		return lines_for(m->facts.nr_cpus, width / BAR_WIDTH);
	lines = lines_for(m->facts.nr_cpus, width > BAR_WIDTH ? width - BAR_WIDTH : 1);
	return lines < MAX_BAR_LINES ? lines : MAX_BAR_LINES;
}

/* NaN: no value. */
static double busy_part(const struct model *m, uint32_t row, size_t column)
{
	return model_number(model_column(m, column), model_cell(m, row, column), false) / 100;
}

static uint8_t busy_style(double part)
{
	if (isnan(part))
		return CANVAS_DIM;
	return part >= 0.9 ? CANVAS_WARN : part >= 0.5 ? CANVAS_HEAT + 3 : CANVAS_GOOD;
}

static void paint_long_bar(const struct model *m, struct canvas *c, unsigned x, unsigned y,
			   uint32_t row, size_t column)
{
	double part = busy_part(m, row, column);
	char name[MODEL_NAME_BYTES];
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	if (isnan(part)) {
		buf_addc(&b, '-');
	} else {
		screen_decimal(&b, part * 100, 0);
		buf_adds(&b, " %");
	}
	canvas_right(c, x, y, 4, CANVAS_DIM, model_row_name(m, row, name));
	paint_bar(c, x + 5, y, 7, busy_style(part), part);
	canvas_right(c, x + 13, y, 5, CANVAS_PLAIN, buf_str(&b));
}

static const char *short_bar(double part, bool is_utf8)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

	if (isnan(part))
		return "-";
	return is_utf8 ? blocks[paint_step(part, 1, sizeof(blocks) / sizeof(blocks[0]))]
		       : digits[paint_step(part, 1, sizeof(digits) / sizeof(digits[0]))];
}

static void paint_bars(const struct model *m, struct canvas *c, struct paint_area area,
		       size_t column)
{
	bool is_long = has_long_bars(m, c->width);
	unsigned first = is_long ? 0 : BAR_WIDTH, each = is_long ? BAR_WIDTH : 1;
	unsigned per_line = c->width > first + each ? (c->width - first) / each : 1;

	if (!is_long)
		canvas_left(c, 1, area.y, BAR_WIDTH - 2, CANVAS_DIM,
			    model_column(m, column)->label);
	for (uint32_t i = 0; i < m->facts.nr_cpus; i++) {
		unsigned x = first + i % per_line * each, y = area.y + i / per_line;
		double part = busy_part(m, i + 1, column);

		if (y >= area.y + area.height)
			return;
		if (is_long)
			paint_long_bar(m, c, x, y, i + 1, column);
		else
			canvas_put(c, x, y, busy_style(part), short_bar(part, c->is_utf8), 1);
	}
}

/* --- memory ------------------------------------------------------------------------------------
 */

/* The parts of memory, in the order of the bar; those without a character are numbers beside it,
 * or, without a name, of the line of swap. */
enum { TOTAL, USED, SHARED, BUFFERS, CACHED, FREE, AVAILABLE, SWAP_TOTAL, NR_PARTS };
static const struct {
	const char *event, *name, *character;
	uint8_t style;
} parts[NR_PARTS] = {
    [TOTAL] = {"memory_total", "of", NULL, CANVAS_PLAIN},
    [USED] = {"memory_used", "used", "█", CANVAS_GOOD},
    [SHARED] = {"memory_shared", "shared", "▚", CANVAS_HEAT + 3},
    [BUFFERS] = {"memory_buffers", "buffers", "▓", CANVAS_WARN},
    [CACHED] = {"memory_cached", "cached", "▒", CANVAS_CHART},
    [FREE] = {"memory_free", "free", "░", CANVAS_DIM},
    [AVAILABLE] = {"memory_available", "available", NULL, CANVAS_PLAIN},
    [SWAP_TOTAL] = {"swap_total", NULL, NULL, CANVAS_PLAIN},
};

struct memory {
	size_t swap_used;        /* its column */
	size_t column[NR_PARTS]; /* SIZE_MAX: not measured */
	double value[NR_PARTS];  /* NaN likewise */
};

/* False: too little is measured for a bar. */
static bool find_memory(const struct model *m, struct memory *out)
{
	for (size_t part = 0; part < NR_PARTS; part++) {
		out->column[part] = SIZE_MAX;
		out->value[part] = NAN;
	}
	out->swap_used = SIZE_MAX;
	for (size_t i = 0; i < m->facts.nr_events; i++) {
		if (model_is_item(m, i) && strcmp(model_column(m, i)->name, "swap_used") == 0)
			out->swap_used = i;
		for (size_t part = 0; part < NR_PARTS && model_is_item(m, i); part++)
			if (strcmp(model_column(m, i)->name, parts[part].event) == 0) {
				out->column[part] = i;
				out->value[part] =
				    model_number(model_column(m, i), model_cell(m, 0, i), false);
			}
	}
	if (out->swap_used == SIZE_MAX)
		out->column[SWAP_TOTAL] = SIZE_MAX;
	if (out->value[SHARED] <= out->value[CACHED])
		out->value[CACHED] -= out->value[SHARED]; /* which the kernel includes */
	else
		out->value[SHARED] = NAN;
	return out->value[TOTAL] > 0 && !isnan(out->value[USED]);
}

/* Whether the bar shows the event. */
static bool is_in_bar(const struct memory *memory, bool has_bar, size_t column)
{
	for (size_t part = 0; part < NR_PARTS && has_bar; part++)
		if (memory->column[part] == column)
			return true;
	return false;
}

/* Each part's cells end where the sum so far does, so that they add up. */
static void paint_memory_bar(const struct memory *memory, struct canvas *c, unsigned x, unsigned y,
			     unsigned width)
{
	double sum = 0;
	unsigned done = 0;

	for (size_t part = 0; part < NR_PARTS; part++) {
		unsigned end;

		if (!parts[part].character || isnan(memory->value[part]))
			continue;
		sum += memory->value[part];
		end = (unsigned)(fmin(sum / memory->value[TOTAL], 1) * width + 0.5);
		canvas_fill(c, x + done, y, end - done, parts[part].style, parts[part].character);
		done = end;
	}
	canvas_fill(c, x + done, y, width - done, CANVAS_DIM, "·"); /* in no part */
}

/* "used 3.1 GB  cached 6.2 GB … of 33 GB", as far as it fits. */
static void put_memory_numbers(const struct memory *memory, struct canvas *c, unsigned x,
			       unsigned y, unsigned end)
{
	static const size_t order[] = {USED, SHARED, BUFFERS, CACHED, FREE, AVAILABLE, TOTAL};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const size_t part = order[i];
		BUF_AUTO(b, PAINT_TEXT_BYTES);

		if (isnan(memory->value[part]))
			continue;
		buf_printf(&b, "%s ", parts[part].name);
		screen_human(&b, memory->value[part], "B");
		if (x + b.len + 2 > end)
			break;
		x += canvas_put(c, x, y, parts[part].style, buf_str(&b), end - x) + 2;
	}
}

static void paint_memory(const struct model *m, const struct memory *memory, struct canvas *c,
			 unsigned y)
{
	enum { LABEL = 8, LEAST = 10, MOST = 60 };
	const bool is_selected =
	    m->focus == MODEL_FOCUS_MACHINE && is_in_bar(memory, true, m->item);
	unsigned width = c->width > 3 * LEAST ? c->width / 4 : LEAST;

	width = width > MOST ? MOST : width;
	canvas_left(c, 1, y, LABEL - 2, is_selected ? CANVAS_BOLD | CANVAS_SELECTED : CANVAS_DIM,
		    "memory");
	paint_memory_bar(memory, c, LABEL, y, width);
	put_memory_numbers(memory, c, LABEL + width + 2, y, c->width);
}

/* --- numbers of the machine --------------------------------------------------------------------
 */

static size_t items_per_line(unsigned width)
{
	return width > ITEM_WIDTH ? width / ITEM_WIDTH : 1;
}

unsigned paint_machine_need(const struct model *m, unsigned width)
{
	struct memory memory;
	const bool has_bar = find_memory(m, &memory);
	size_t nr_items = 0;

	for (size_t i = 0; i < m->facts.nr_events; i++)
		nr_items += model_is_item(m, i) && !is_in_bar(&memory, has_bar, i);
	return bar_lines(m, width) + has_bar + lines_for(nr_items, items_per_line(width));
}

/* all: what the value is a part of, which a bar shows; NaN: nothing. */
static void paint_item(const struct model *m, struct canvas *c, unsigned x, unsigned y,
		       unsigned width, size_t column, double all)
{
	const struct table_column *of = model_column(m, column);
	const struct cell *cell = model_cell(m, 0, column);
	unsigned label = width < ITEM_WIDTH ? width / 2 : MAX_LABEL_WIDTH, line;
	double value = model_number(of, cell, false);
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	label = label + NUMBER_WIDTH + 1 < width ? label : width / 2;
	line = width - label - NUMBER_WIDTH > 3 ? width - label - NUMBER_WIDTH - 3 : 0;
	if (!cell_has_value(cell)) /* its reason is wider */
		line = 0;
	screen_cell_human(&b, of->kind, of->unit, cell);
	if (cell_has_value(cell) && all > 0) {
		buf_adds(&b, " of ");
		screen_human(&b, all, of->unit);
		label = strlen(of->label) < label ? (unsigned)strlen(of->label) : label;
		line =
		    width > label + 2 * NUMBER_WIDTH + 4 ? width - label - 2 * NUMBER_WIDTH - 4 : 0;
	}
	canvas_left(c, x, y, label,
		    m->focus == MODEL_FOCUS_MACHINE && m->item == column
			? CANVAS_BOLD | CANVAS_SELECTED
			: CANVAS_DIM,
		    of->label);
	if (line && all > 0 && !isnan(value))
		paint_bar(c, x + label + 1, y, line, CANVAS_CHART, fmin(value / all, 1));
	else if (of->kind == EVENT_SHARE && !isnan(value))
		paint_bar(c, x + label + 1, y, line, CANVAS_CHART, value / 100);
	else if (line)
		paint_spark(m, c, x + label + 1, y, line, model_series(m, 0, column));
	canvas_right(c, x + label + 1 + line, y, width - label - line - 2,
		     cell_has_value(cell) ? CANVAS_PLAIN : CANVAS_DIM, buf_str(&b));
}

/* The line of the selected value, while the keys are those of the values; else 0. */
static size_t selected_item_line(const struct model *m, const struct memory *memory, bool has_bar,
				 size_t per_line)
{
	size_t k = 0;

	for (size_t i = 0; i < m->item && i < m->facts.nr_events; i++)
		k += model_is_item(m, i) && !is_in_bar(memory, has_bar, i);
	return m->focus == MODEL_FOCUS_MACHINE ? k / per_line : 0;
}

static void paint_items(const struct model *m, struct canvas *c, struct paint_area area,
			const struct memory *memory, bool has_bar)
{
	const size_t per_line = items_per_line(c->width);
	const size_t selected = selected_item_line(m, memory, has_bar, per_line);
	const size_t first = selected < area.height ? 0 : selected - area.height + 1;
	const unsigned width = c->width / (unsigned)per_line;
	size_t k = 0;

	for (size_t i = 0; i < m->facts.nr_events; i++) {
		const size_t line = k / per_line;

		if (!model_is_item(m, i) || is_in_bar(memory, has_bar, i))
			continue;
		if (line >= first && line - first < area.height)
			paint_item(m, c, 1 + (unsigned)(k % per_line) * width,
				   area.y + (unsigned)(line - first), width - 1, i,
				   has_bar && i == memory->swap_used ? memory->value[SWAP_TOTAL]
								     : NAN);
		k++;
	}
}

/* The first value is selected until another one is. */
static void select_item(struct model *m)
{
	if (m->item < m->facts.nr_events && model_is_item(m, m->item))
		return;
	m->item = SIZE_MAX;
	for (size_t i = m->facts.nr_events; i-- > 0;)
		if (model_is_item(m, i))
			m->item = i;
}

/* The selected value is one of those below the bar of memory. */
static bool is_below_bar(const struct model *m, const struct memory *memory)
{
	return m->focus == MODEL_FOCUS_MACHINE && !is_in_bar(memory, true, m->item);
}

void paint_machine(struct model *m, struct canvas *c, struct paint_area area)
{
	unsigned lines = bar_lines(m, c->width);
	struct memory memory;
	const bool has_bar = find_memory(m, &memory);
	struct paint_area bars = {area.y, lines < area.height ? lines : area.height};

	select_item(m);
	/* The selected value is seen before the bars are. */
	if (m->focus == MODEL_FOCUS_MACHINE && bars.height + 1 + has_bar > area.height)
		bars.height = area.height > 1u + has_bar ? area.height - 1 - has_bar : 0;
	if (bars.height)
		paint_bars(m, c, bars, find_busy(m));
	area.y += bars.height;
	area.height -= bars.height;
	if (has_bar && (area.height > 1 || (area.height && !is_below_bar(m, &memory)))) {
		paint_memory(m, &memory, c, area.y);
		area.y++;
		area.height--;
	}
	m->layout.items_per_line = items_per_line(c->width);
	paint_items(m, c, area, &memory, has_bar);
}
