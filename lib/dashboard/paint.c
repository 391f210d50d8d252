/*
 * The whole dashboard: divides the lines among its parts, and paints the top and bottom lines.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"
#include "dashboard/model_keys.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
	NS_PER_S = 1000000000,
	HEAD_LINES = 2,
	FOOT_LINES = 1,
	MAX_CHART_LINES = 14,
	MIN_BODY_LINES = 6,
	SHORT_LINES = 16,
	LEAST_LINES = 3, /* of things in focus */
	WIDE = 160       /* two columns of 80 */
};
/* A session that is shorter in one of them has an end to wait for. */
enum { MANY_ITERATIONS = 1000, LONG_S = 86400 };

void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count)
{
	if (c->metric)
		screen_metric_human(out, x, c->unit);
	else
		screen_human(out, x, as_count ? c->unit : unit_shown(c->kind, c->unit).name);
}

/* "0:05", "1:02:03". */
static void add_clock(struct buf *out, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;

	if (s >= 3600)
		buf_printf(out, "%" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60);
	else
		buf_printf(out, "%" PRIu64, s / 60);
	buf_printf(out, ":%02" PRIu64, s % 60);
}

static uint64_t elapsed(const struct model *m, const struct paint_state *s)
{
	uint64_t now_ns = s->now_ns;

	if (m->facts.is_replay)
		now_ns = m->shown->is_set ? m->shown->table->end_ns : 0;
	return m->first_start_ns && now_ns > m->first_start_ns ? now_ns - m->first_start_ns : 0;
}

/* From the remaining iterations, not the start time: time during which the process was stopped does
 * not shorten them. */
static uint64_t left(const struct model *m, const struct paint_state *s)
{
	uint64_t nr_come = m->last_end_ns ? (uint64_t)m->last_iteration + 1 : 0, all_ns;
	uint64_t since_ns =
	    m->last_end_ns && s->now_ns > m->last_end_ns ? s->now_ns - m->last_end_ns : 0;

	if (nr_come >= m->facts.nr_iterations)
		return 0;
	if (__builtin_mul_overflow(m->facts.nr_iterations - nr_come, m->facts.duration_ns, &all_ns))
		return UINT64_MAX;
	return all_ns - (since_ns < m->facts.duration_ns ? since_ns : m->facts.duration_ns);
}

static uint64_t nr_done(const struct model *m)
{
	return m->shown->is_set ? (uint64_t)m->shown->table->iteration + 1 : 0;
}

static const char *mode_name(const struct model *m, const struct paint_state *s)
{
	if (m->facts.is_replay)
		return m->is_playing ? " PLAYING " : " REPLAY ";
	if (s->is_ended)
		return " ENDING ";
	return m->is_paused ? " PAUSED " : "";
}

/* Whether somebody may wait for the end: of a session that runs, a day in seconds is none. */
static bool has_end(const struct model *m)
{
	uint64_t all_ns;

	return m->facts.nr_iterations &&
	       (m->facts.is_replay || m->facts.nr_iterations <= MANY_ITERATIONS ||
		(!__builtin_mul_overflow(m->facts.nr_iterations, m->facts.duration_ns, &all_ns) &&
		 all_ns < (uint64_t)LONG_S * NS_PER_S));
}

/* When the iteration ended, of a replay with its day. */
static void add_time_of_day(const struct model *m, struct buf *out)
{
	uint64_t realtime_ns = m->shown->is_set ? m->shown->table->realtime_ns : 0;
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	char text[32];
	struct tm tm;

	if (realtime_ns && localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), m->facts.is_replay ? "  %Y-%m-%d %H:%M:%S" : "  %H:%M:%S",
		     &tm))
		buf_adds(out, text);
}

/* Name, iteration, bar, times. The bar gets the remaining width, and is dropped first, then the
 * time of the day. */
static void paint_first_line(const struct model *m, const struct paint_state *s, struct canvas *c)
{
	unsigned x = 1, mode_width = canvas_width(mode_name(m, s)), bar;
	BUF_AUTO(text, PAINT_TEXT_BYTES);
	BUF_AUTO(times, PAINT_TEXT_BYTES);
	BUF_AUTO(day, PAINT_TEXT_BYTES);
	double part =
	    m->facts.nr_iterations ? (double)nr_done(m) / (double)m->facts.nr_iterations : 0;

	canvas_fill(c, 0, 0, c->width, CANVAS_BAR, " ");
	if (nr_done(m))
		buf_printf(&text, "  iteration %" PRIu64, nr_done(m) - 1);
	if (has_end(m))
		buf_printf(&text, "  %" PRIu64 " of %" PRIu64, nr_done(m), m->facts.nr_iterations);
	buf_adds(&text, "  ");
	if (!m->facts.is_replay && has_end(m)) {
		buf_adds(&times, "left ");
		add_clock(&times, left(m, s));
		buf_adds(&times, "  ");
	}
	if (!m->facts.is_replay)
		buf_adds(&times, "elapsed ");
	add_clock(&times, elapsed(m, s));
	x += canvas_put(c, x, 0, CANVAS_BAR, m->facts.name, c->width / 3);
	x += canvas_put(c, x, 0, CANVAS_BAR, buf_str(&text), c->width);
	add_time_of_day(m, &day);
	if (x + times.len + day.len + mode_width < c->width)
		buf_adds(&times, buf_str(&day));
	bar = x + (unsigned)times.len + mode_width + 9 < c->width
		  ? c->width - x - (unsigned)times.len - mode_width - 5
		  : 0;
	bar = bar > 40 ? 40 : bar;
	if (bar && has_end(m)) {
		canvas_put(c, x++, 0, CANVAS_BAR, "[", 1);
		paint_bar(c, x, 0, bar, CANVAS_BAR, part);
		x += bar;
		x += canvas_put(c, x, 0, CANVAS_BAR, "]  ", 3);
	}
	canvas_put(c, x, 0, CANVAS_BAR, buf_str(&times), c->width);
	if (mode_width < c->width)
		canvas_put(c, c->width - mode_width, 0, CANVAS_BAR | CANVAS_SELECTED,
			   mode_name(m, s), mode_width);
}

static void add_number(struct buf *out, const char *before, uint64_t n, const char *behind)
{
	buf_adds(out, before);
	buf_u64_commas(out, n);
	buf_adds(out, behind);
}

static void paint_second_line(const struct model *m, const struct paint_state *s, struct canvas *c)
{
	BUF_AUTO(right, PAINT_TEXT_BYTES);
	BUF_AUTO(left_text, PAINT_LINE_BYTES);
	unsigned width;

	buf_printf(&left_text, " %s · %s · %zu CPU%s", m->facts.host, m->facts.cpu_model,
		   m->facts.nr_cpus, m->facts.nr_cpus == 1 ? "" : "s");
	if (m->facts.is_replay && s->nr_read < m->facts.nr_iterations)
		add_number(&right, "", s->nr_read, " iterations read  ");
	if (m->nr_missed)
		add_number(&right, "", m->nr_missed, " not in the history  ");
	add_number(&right, "lost ", m->nr_lost, "  ");
	add_number(&right, "", m->nr_notes, m->nr_notes == 1 ? " warning (w) " : " warnings (w) ");
	width = (unsigned)right.len < c->width ? c->width - (unsigned)right.len : 0;
	canvas_left(c, 0, 1, width, CANVAS_DIM, buf_str(&left_text));
	canvas_put(c, width, 1, m->nr_notes || m->nr_lost ? CANVAS_WARN : CANVAS_DIM,
		   buf_str(&right), c->width);
}

static const char *const view_names[MODEL_NR_VIEWS] = {"CPUs", "total", "packages", "NUMA nodes",
						       "core types"};

/* What keys do here, the most important first. */
static void put_hints(const struct model *m, struct buf *out)
{
	const char *times = m->facts.is_replay ? ", . step  space play" : "p pause";

	switch (model_screen(m)) {
	case MODEL_SCREEN_TABLE:
		buf_printf(out, " q quit  ? help  s sort  v %s  r %s  b baseline  %s  Tab next",
			   view_names[m->view], m->is_counts ? "counts" : "rates/s", times);
		break;
	case MODEL_SCREEN_PROCESSES:
		buf_printf(out,
			   " q quit  ? help  %s/ filter  t tree  u user  o over time  s sort  "
			   "Tab next  %s",
			   m->facts.can_profile ? "Enter profile  " : "", times);
		break;
	case MODEL_SCREEN_THINGS:
		buf_printf(out, " q quit  ? help  Enter over time  / filter  s sort  Tab next  %s",
			   times);
		break;
	case MODEL_SCREEN_MACHINE:
		buf_printf(out, " q quit  ? help  arrows select  Enter over time  Tab next  %s",
			   times);
		break;
	case MODEL_SCREEN_PAGE:
		buf_printf(out, " q quit  ? help  Esc back  arrows scroll  %s", times);
		break;
	}
}

static void paint_foot(const struct model *m, const struct paint_state *s, struct canvas *c)
{
	unsigned y = c->height - 1;
	BUF_AUTO(text, PAINT_LINE_BYTES);

	if (s->problem)
		buf_printf(&text, " %s", s->problem);
	else if (m->prompt.is_open)
		buf_printf(&text, " filter: %s_   Enter sets it  Esc leaves it", m->prompt.text);
	else if (*m->message)
		buf_printf(&text, " %s", m->message);
	else
		put_hints(m, &text);
	canvas_left(c, 0, y, c->width, CANVAS_BAR, buf_str(&text));
}

/* Lines of each part, top to bottom; 0: not shown. */
struct plan {
	unsigned table, things, detail;
};

static unsigned lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Nobody has chosen a value, and things need the lines of what is said of the first one. */
static bool omits_detail(const struct model *m, unsigned lines, unsigned things)
{
	return lines < SHORT_LINES &&
	       paint_table_need(m) + things + paint_detail_lines(m) > lines &&
	       m->focus == MODEL_FOCUS_TABLE && !m->selected_row && !m->selected_column;
}

/* The table goes first, but leaves room for a chart on a tall screen. */
static struct plan divide(const struct model *m, unsigned lines, unsigned things)
{
	unsigned table = paint_table_need(m), least;
	struct plan p = {.table = 0};

	if (paint_has_detail(m) && lines >= 8 && !(things && omits_detail(m, lines, things)))
		p.detail = paint_detail_lines(m);
	if (p.detail && m->has_chart && lines >= SHORT_LINES)
		p.detail += lower(lines / 5, MAX_CHART_LINES);
	lines -= p.detail;
	least = m->focus == MODEL_FOCUS_TABLE ? 0 : lower(lines, LEAST_LINES);
	least = least > lines / 2 ? least : lines / 2;
	p.table = things && table ? lower(table, lines - lower(things, least)) : lines;
	if (!table)
		p.table = 0;
	p.things = things ? lines - p.table : 0;
	if (!things)
		p.table = table ? lower(table, lines) : 0;
	if (p.detail > paint_detail_lines(m) && !things) /* spare lines go to the chart */
		p.detail =
		    lower(p.detail + lines - p.table, paint_detail_lines(m) + MAX_CHART_LINES);
	return p;
}

static void paint_table_and_detail(struct model *m, struct canvas *c, unsigned y,
				   const struct plan *p)
{
	if (p->table)
		paint_table(m, c, (struct paint_area){y, p->table});
	if (p->detail)
		paint_detail(m, c, (struct paint_area){y + p->table + p->things, p->detail});
}

/* One above the other. */
static void paint_stacked(struct model *m, struct canvas *c, struct paint_area area)
{
	struct plan p = divide(m, area.height, paint_things_need(m, PAINT_ALL_KINDS));

	paint_table_and_detail(m, c, area.y, &p);
	if (p.things)
		paint_things(m, c, (struct paint_area){area.y + p.table, p.things},
			     PAINT_ALL_KINDS);
}

/* Those that the things do not need, to the chart. */
static void give_spare_lines(const struct model *m, struct plan *p, unsigned things)
{
	const unsigned spare = p->things > things ? p->things - things : 0;

	if (p->detail <= paint_detail_lines(m))
		return;
	p->things -= spare;
	p->detail += spare;
}

/* The table with its chart, and what is small, on the left; what has most lines on the right. */
static void paint_in_columns(struct model *m, struct canvas *c, struct paint_area area)
{
	unsigned right = paint_things_largest(m), left = PAINT_ALL_KINDS & ~right;
	unsigned width = c->width / 2, need = paint_table_width(m, area.height);
	struct canvas columns[2];
	struct plan p;

	if (!right) {
		right = PAINT_ALL_KINDS;
		left = 0;
	}
	if (need > width)
		width = need;
	columns[0] = canvas_part(c, 0, 0, width - 1, c->height);
	columns[1] = canvas_part(c, width + 1, 0, c->width - width - 1, c->height);
	p = divide(m, area.height, left ? paint_things_need(m, left) : 0);
	if (left)
		give_spare_lines(m, &p, paint_things_need(m, left));
	paint_table_and_detail(m, &columns[0], area.y, &p);
	if (p.things)
		paint_things(m, &columns[0], (struct paint_area){area.y + p.table, p.things}, left);
	for (unsigned y = 0; y < area.height; y++)
		canvas_put(c, width, area.y + y, CANVAS_DIM, "│", 1);
	paint_things(m, &columns[1], area, right);
}

/* If both halves have something to show, and it fits. */
static bool has_columns(struct model *m, const struct canvas *c, struct paint_area area)
{
	if (c->width < WIDE || !paint_things_need(m, PAINT_ALL_KINDS))
		return false;
	if (!paint_has_detail(m) && !paint_things_largest(m))
		return false;
	return paint_table_width(m, area.height) <= c->width - WIDE / 2;
}

/* The lines that are at the top in any case. Returns how many are used. */
static unsigned paint_top_parts(struct model *m, struct canvas *c, struct paint_area area)
{
	static const struct {
		void (*paint)(const struct model *m, struct canvas *c, struct paint_area area);
		unsigned (*need)(const struct model *m);
		unsigned part; /* of the lines that are left, at most: 1 / part */
	} parts[] = {{paint_latency, paint_latency_need, 2},
		     {paint_regions, paint_regions_need, 3}};
	unsigned lines = area.height, used = 0, nr;

	if (lines > MIN_BODY_LINES && paint_absent_need(m)) {
		paint_absent(m, c, (struct paint_area){area.y, 1});
		used++;
	}
	nr = lower(paint_machine_need(m, c->width), (lines - used) / 3);
	if (nr)
		paint_machine(m, c, (struct paint_area){area.y + used, nr});
	used += nr;
	for (size_t i = 0; i < ARRAY_NR(parts); i++) {
		nr = lower(parts[i].need(m), (lines - used) / parts[i].part);
		if (nr)
			parts[i].paint(m, c, (struct paint_area){area.y + used, nr});
		used += nr;
	}
	return used;
}

static void paint_body(struct model *m, struct canvas *c)
{
	struct paint_area area = {HEAD_LINES, c->height - HEAD_LINES - FOOT_LINES};
	unsigned used;

	m->layout.nr_shown = 0;
	for (size_t i = 0; i < MODEL_MAX_BLOCKS; i++)
		m->blocks[i].nr_lines = 0;
	if (m->page.of) {
		paint_over_time(m, c, area);
		return;
	}
	used = paint_top_parts(m, c, area);
	area = (struct paint_area){area.y + used, area.height - used};
	if (has_columns(m, c, area))
		paint_in_columns(m, c, area);
	else
		paint_stacked(m, c, area);
}

void paint(struct model *m, const struct paint_state *s, struct canvas *c)
{
	canvas_clear(c);
	paint_first_line(m, s, c);
	if (c->height > HEAD_LINES + FOOT_LINES) {
		paint_second_line(m, s, c);
		if (m->shown->is_set)
			paint_body(m, c);
		else
			canvas_put(c, 1, HEAD_LINES + 1, CANVAS_DIM,
				   m->facts.is_replay ? "reading …"
						      : "the first iteration is being measured …",
				   c->width);
	}
	if (m->overlay)
		paint_overlay(m, c);
	if (c->height > 1)
		paint_foot(m, s, c);
}
