/*
 * A sweep for people: the first value against the last, what Amdahl's law says, a table and bars;
 * and its rows for programs.
 */
#include "versus/sweep.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json_writer.h"
#include "base/opt_std.h"
#include "screen/cases.h"
#include "screen/grid.h"
#include "screen/number.h"
#include "versus/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { CELL_BYTES = 64, MAX_TEXT_BYTES = 1 << 20 };

static bool has_all(const struct sweep_result *r)
{
	return r->nr_rounds && !ARRAY_ANY(x, r->row, r->parameter->nr, !x->time.nr);
}

static double typical_of(const struct sweep_row *row)
{
	return exp(row->time.mean);
}

/* A factor with as many decimals as its interval has digits. */
static void put_factor(const struct paired *p, struct buf *out)
{
	const double half = sweep_half(p) * exp(p->mean);
	const int digits = half >= 1 ? 1 : half >= 0.05 || !isfinite(half) ? 2 : 3;

	buf_printf(out, "%.*f ", digits, exp(p->mean));
	if (isfinite(half))
		buf_printf(out, "[%.*f, %.*f]", digits, exp(p->low), digits, exp(p->high));
	else
		buf_adds(out, "[?]");
}

static void put_error(const struct paired *p, struct buf *out)
{
	const double percent = 100 * sweep_half(p);

	if (isfinite(percent))
		buf_printf(out, "± %.*f %%", percent >= 10 ? 0 : percent >= 0.1 ? 1 : 2, percent);
	else
		buf_adds(out, "± ?");
}

/* --- the table */

enum { VALUE, NUMBER, MEAN_TEXT = 4, EFFICIENCY = 15 };

static const struct grid_column columns[] = {
    [VALUE] = {.name = "value", .kind = GRID_TEXT},
    [NUMBER] = {.name = "number", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "measure", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
    {.name = "unit", .kind = GRID_TEXT, .audience = GRID_ONLY_MACHINES},
    [MEAN_TEXT] = {.name = "mean_text", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "error", .header = "±", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "mean", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "mean_low", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "mean_high", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "cpu_time",
     .header = "CPU time",
     .unit = "ns",
     .kind = GRID_AMOUNT,
     .audience = GRID_ONLY_PEOPLE},
    {.name = "cpu_seconds", .unit = "s", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "speedup_text", .header = "speed-up", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
    {.name = "speedup", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "speedup_low", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {.name = "speedup_high", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    [EFFICIENCY] = {.name = "efficiency", .unit = "%", .kind = GRID_PERCENT},
    {.name = "rounds", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES},
};

/* An exponential of each; n/a where it is not known. */
static void put_interval(const struct paired *p, struct grid *g)
{
	grid_real(g, exp(p->mean));
	grid_real(g, exp(p->low) > 0 ? exp(p->low) : NAN);
	grid_real(g, exp(p->high));
}

static void put_text(void (*put)(const struct paired *p, struct buf *out), const struct paired *p,
		     struct grid *g)
{
	BUF_AUTO(text, CELL_BYTES);

	put(p, &text);
	grid_text(g, buf_str(&text));
}

static void put_cpu_time(const struct sweep_row *row, struct grid *g)
{
	if (row->cpu_time > 0)
		grid_count(g, (uint64_t)llround(row->cpu_time * 1e9));
	else
		grid_na(g);
	grid_real(g, row->cpu_time > 0 ? row->cpu_time : NAN);
}

static void put_row(const struct sweep_result *r, size_t i, struct grid *g)
{
	const struct sweep_parameter *p = r->parameter;
	const struct sweep_row *row = &r->row[i];
	BUF_AUTO(mean, CELL_BYTES);

	versus_put_value(r->rule.by, typical_of(row), &mean);
	grid_row(g);
	grid_text(g, p->value[i]);
	grid_real(g, p->number[i]);
	grid_text(g, versus_measure_name(r->rule.by));
	grid_text(g, versus_measure_unit(r->rule.by));
	grid_text(g, buf_str(&mean));
	put_text(put_error, &row->time, g);
	put_interval(&row->time, g);
	put_cpu_time(row, g);
	if (i)
		put_text(put_factor, &row->speedup, g);
	else
		grid_text(g, "1");
	put_interval(&row->speedup, g);
	grid_percent(g, exp(row->speedup.mean) * p->number[0] / p->number[i]);
	grid_count(g, row->time.nr);
}

static int put_table(const void *of, const struct grid_options *how, struct buf *out)
{
	const struct sweep_result *r = of;
	struct grid_column list[ARRAY_NR(columns)];
	struct grid *g;
	int rc;

	memcpy(list, columns, sizeof(columns));
	list[VALUE].header = r->parameter->name;
	list[MEAN_TEXT].header = versus_measure_header(r->rule.by);
	if (!r->parameter->has_numbers)
		list[EFFICIENCY].audience = GRID_ONLY_MACHINES;
	g = grid_new(list, ARRAY_NR(list), how);
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < r->parameter->nr; i++)
		if (r->row[i].time.nr)
			put_row(r, i, g);
	rc = grid_write(g, out);
	grid_free(g);
	return rc;
}

/* --- words */

static void put_known(const struct sweep_result *r, struct buf *out)
{
	if (r->is_known)
		return;
	buf_printf(out, "Not each is known within %g %% ", 100 * sweep_close(r));
	buf_adds(out, r->is_cut ? "as it was stopped.\n"
				: "in the time that it had; allow more time: --at-most.\n");
}

static void put_typical(const struct sweep_result *r, size_t i, struct buf *out)
{
	versus_put_value(r->rule.by, typical_of(&r->row[i]), out);
	buf_addc(out, ' ');
	put_error(&r->row[i].time, out);
}

/* The largest of bars against the others is chosen by chance: for numbers the ends are compared. */
static void put_conclusion(const struct sweep_result *r, struct buf *out)
{
	const struct sweep_parameter *p = r->parameter;
	const size_t last = p->nr - 1;
	size_t least = 0;

	versus_put_name(r->command, out);
	buf_addc(out, ':');
	buf_printf(out, " %s ", versus_measure_header(r->rule.by));
	if (!has_all(r)) {
		buf_adds(out, "is too little to be compared");
	} else if (p->has_numbers && last) {
		buf_printf(out, "with %s=%s is ", p->name, p->value[0]);
		put_factor(&r->row[last].speedup, out);
		buf_printf(out, " times that with %s=%s", p->name, p->value[last]);
	} else if (!last) {
		buf_printf(out, "with %s=%s is ", p->name, p->value[0]);
		put_typical(r, 0, out);
	} else {
		for (size_t i = 1; i < p->nr; i++)
			least = r->row[i].time.mean < r->row[least].time.mean ? i : least;
		buf_printf(out, "is least with %s=%s: ", p->name, p->value[least]);
		put_typical(r, least, out);
	}
	buf_printf(out, " (%zu runs of each)", r->nr_rounds);
}

static double part(double x)
{
	return fmin(fmax(x, 0), 1);
}

static void put_scaling(const struct sweep_result *r, struct buf *out)
{
	const struct scaling *s = &r->scaling;
	const double share = part(s->serial);

	if (!s->fits) {
		buf_printf(out,
			   "scaling does not follow one serial share (Amdahl's law): with %s=%s "
			   "it is %+.0f %% from it",
			   r->parameter->name, r->parameter->value[s->farthest_from],
			   100 * s->farthest);
		return;
	}
	buf_printf(out, "serial share %.1f %% [", 100 * share);
	if (isfinite(s->low))
		buf_printf(out, "%.1f, %.1f", 100 * part(s->low), 100 * part(s->high));
	else
		buf_addc(out, '?');
	buf_adds(out, "] by Amdahl's law");
	if (share > 0.001)
		buf_printf(out, ": at most %.3g times as fast as one", 1 / share);
}

static void put_head(const void *of, struct buf *out)
{
	const struct sweep_result *r = of;

	put_conclusion(r, out);
	buf_addc(out, '\n');
	if (r->has_scaling) {
		put_scaling(r, out);
		buf_addc(out, '\n');
	}
}

static void put_notes(const void *of, struct buf *out)
{
	const struct sweep_result *r = of;

	put_known(r, out);
	versus_put_rule(&r->rule, "rounds", out);
}

/* --- bars */

static void put_bar(double of_1, unsigned width, bool has_utf8, struct buf *out)
{
	static const char *const ends[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	const unsigned eighths = (unsigned)lround(of_1 * width * 8);

	for (unsigned i = 0; i < eighths / 8; i++)
		buf_adds(out, has_utf8 ? "█" : "#");
	if (has_utf8)
		buf_adds(out, ends[eighths % 8]);
}

static unsigned label_width(const struct sweep_parameter *p)
{
	unsigned width = 0;

	for (size_t i = 0; i < p->nr; i++)
		width = screen_width(p->value[i]) > width ? screen_width(p->value[i]) : width;
	return width + screen_width(p->name) + 1;
}

static void put_label(const struct sweep_parameter *p, size_t i, unsigned width, struct buf *out)
{
	const size_t from = out->len;

	buf_shown(out, p->name, strlen(p->name));
	buf_addc(out, '=');
	buf_shown(out, p->value[i], strlen(p->value[i]));
	buf_fill(out, ' ', width - screen_width(buf_str(out) + from) + 1);
}

static void put_plot(const void *of, unsigned width, struct buf *out)
{
	enum { VALUE_WIDTH = 12, LEAST = 8, MOST = 60 };
	const struct sweep_result *r = of;
	const struct sweep_parameter *p = r->parameter;
	const unsigned label = label_width(p);
	const unsigned taken = label + VALUE_WIDTH;
	unsigned bar = width > taken + LEAST ? width - taken : LEAST;
	double most = 0;

	bar = bar < MOST ? bar : MOST;
	for (size_t i = 0; i < p->nr; i++)
		most = fmax(most, r->row[i].time.nr ? typical_of(&r->row[i]) : 0);
	for (size_t i = 0; i < p->nr && most > 0; i++) {
		if (!r->row[i].time.nr)
			continue;
		put_label(p, i, label, out);
		put_bar(typical_of(&r->row[i]) / most, bar, opt_std_has_utf8(), out);
		buf_addc(out, ' ');
		versus_put_value(r->rule.by, typical_of(&r->row[i]), out);
		buf_addc(out, '\n');
	}
	if (most > 0)
		buf_addc(out, '\n');
}

/* --- for programs */

static void put_real(struct json_writer *json, const char *key, double x)
{
	BUF_AUTO(text, CELL_BYTES);

	screen_real(&text, x);
	jsonw_raw(json, key, isfinite(x) ? buf_str(&text) : "null");
}

static void put_share(struct json_writer *json, const char *key, double x)
{
	put_real(json, key, isfinite(x) ? 100 * part(x) : x);
}

static void put_facts(const void *of, struct json_writer *json)
{
	const struct sweep_result *r = of;

	jsonw_text(json, "command", r->command);
	jsonw_text(json, "parameter", r->parameter->name);
	jsonw_text(json, "measure", versus_measure_name(r->rule.by));
	if (r->has_scaling)
		JSONW_OBJECT(json, "scaling") {
			jsonw_bool(json, "fits", r->scaling.fits);
			put_share(json, "serial_share", r->scaling.serial);
			put_share(json, "serial_share_low", r->scaling.low);
			put_share(json, "serial_share_high", r->scaling.high);
			put_real(json, "farthest", 100 * r->scaling.farthest);
		}
	else
		jsonw_raw(json, "scaling", "null");
	jsonw_bool(json, "is_known", r->is_known);
	jsonw_bool(json, "is_cut", r->is_cut);
	jsonw_u64(json, "rounds", r->nr_rounds);
	put_real(json, "seconds", r->seconds);
}

static void put_rest(const void *of, struct json_writer *json)
{
	const struct sweep_result *r = of;

	JSONW_ARRAY(json, "not_measured") {
		for (size_t i = 0; i < r->parameter->nr; i++)
			if (!r->row[i].time.nr)
				jsonw_text(json, NULL, r->parameter->value[i]);
	}
}

/* There is nothing that could fail. */
static void add_cases(const void *of, struct cases *cases)
{
	const struct sweep_result *r = of;
	BUF_AUTO(text, MAX_TEXT_BYTES);

	put_head(r, &text);
	buf_cut(&text, text.len - 1);
	cases_add(cases, &(struct cases_item){.class = versus_measure_name(r->rule.by),
					      .name = r->command,
					      .says = buf_str(&text)});
}

int sweep_result_write(const struct sweep_result *r, const char *format, unsigned width,
		       struct buf *out)
{
	const struct comparison c = {
	    .name = "sweep",
	    .of = r,
	    .columns = columns,
	    .nr_columns = ARRAY_NR(columns),
	    .put_table = put_table,
	    .put_head = put_head,
	    .put_notes = put_notes,
	    .put_plot = put_plot,
	    .put_facts = put_facts,
	    .put_rest = put_rest,
	    .add_cases = add_cases,
	};

	return comparison_write(&c, format, width, out);
}
