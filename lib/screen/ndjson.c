/*
 * NDJSON: an object per cell, and at the end one per column.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/json_writer.h"
#include "screen/field.h"
#include "screen/number.h"
#include "screen/state.h"

#include <string.h>

enum { MAX_NUMBER_BYTES = 64, MAX_REASON_BYTES = 4096 };

void screen_ndjson_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	screen_write_cells(t, &s->options, screen_write_json, out);
}

void screen_ndjson_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		       struct buf *out)
{
	screen_write_gap(t, gap, &s->options, screen_write_json, out);
}

/* The summary of one column. */
struct summary_row {
	const struct table_column *column;
	const struct column_summary *sum;
	uint64_t nr_iterations, nr_cut;
	const struct screen_options *of; /* the session and its host, if they are written */
	const char *partial;             /* screen_partial; "" */
	bool has_own_reason;             /* partial is all that is said */
	double half;                     /* of the interval of the mean; 0: not known */
};

/* The cells of a column without a number. */
static uint64_t nr_without_number(const struct column_summary *sum)
{
	uint64_t nr = 0;

	for (enum cell_state s = CELL_NONE + 1; s < CELL_NR_STATES; s++)
		if (!cell_has_value(&(struct cell){.state = s}))
			nr += sum->nr_cells[s];
	return nr;
}

static bool is_sampled(const struct summary_row *r)
{
	return r->sum->sampled.claim != SAMPLED_NONE;
}

#define NUMBER(field, cond, expression) SCREEN_NUMBER(summary_row, field, cond, expression)
#define TEXT(field, expression)         SCREEN_TEXT(summary_row, field, expression)

NUMBER(rank, r->of->rank != UINT32_MAX, r->of->rank)
TEXT(host, r->of->host)
TEXT(session, r->of->session)
TEXT(group, r->column->group)
TEXT(event, r->column->name)
TEXT(label, r->column->label)
TEXT(unit, r->column->unit)
TEXT(reason, r->column->reason && !r->has_own_reason ? r->column->reason : r->partial)

static bool summary(const void *p, struct buf *out)
{
	(void)p;
	buf_adds(out, "true");
	return true;
}

NUMBER(iterations, true, r->nr_iterations)
NUMBER(cut, true, r->nr_cut)
NUMBER(multiplexed_cells, true, r->sum->nr_multiplexed)
NUMBER(cells_without_number, true, nr_without_number(r->sum))
NUMBER(samples, is_sampled(r), r->sum->sampled.n.samples)
NUMBER(lost, is_sampled(r) && r->sum->sampled.n.lost != SAMPLED_UNKNOWN, r->sum->sampled.n.lost)

static bool total(const void *p, struct buf *out)
{
	const struct summary_row *r = p;
	bool holds = r->sum->spread.nr && r->column->kind == EVENT_COUNT;

	if (holds && r->sum->max.is_real)
		screen_real(out, r->sum->real_sum);
	else if (holds)
		screen_wide(out, r->sum->sum, false);
	return holds;
}

static bool mean(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	if (!r->sum->spread.nr)
		return false;
	if (r->column->kind == EVENT_SHARE)
		screen_decimal(out, r->sum->spread.mean, 4);
	else if (r->column->metric)
		screen_metric(out, r->sum->spread.mean);
	else if (r->sum->max.is_real)
		screen_real(out, r->sum->spread.mean);
	else
		screen_quotient(out, r->sum->sum - r->sum->cut, r->sum->spread.nr);
	return true;
}

static bool deviation(const void *p, struct buf *out)
{
	const struct summary_row *r = p;
	double x = spread_deviation(&r->sum->spread);

	if (r->sum->spread.nr < 2)
		return false;
	if (r->column->metric)
		screen_metric(out, x);
	else if (r->sum->max.is_real && r->column->kind != EVENT_SHARE)
		screen_real(out, x);
	else
		screen_decimal(out, x, 4);
	return true;
}

static bool bound(const struct summary_row *r, const struct cell *c, struct buf *out)
{
	if (!r->sum->spread.nr)
		return false;
	screen_number(out, r->column->kind, c);
	return true;
}

static bool minimum(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return bound(r, &r->sum->min, out);
}

static bool maximum(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return bound(r, &r->sum->max, out);
}

static bool min_running(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	screen_decimal(out, r->sum->min_running, 4);
	return true;
}

static bool coverage(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return screen_coverage(out, &r->sum->sampled);
}

static const struct screen_field fields[] = {
    {"host", .text = host}, /* of the parts of a job */
    {"rank", .number = rank},
    {"session", .text = session}, /* with several sessions */
    {"summary", .number = summary},
    {"iterations", .number = iterations},
    {"cut", .number = cut},
    {"group", .text = group},
    {"event", .text = event},
    {"label", .text = label},
    {"unit", .text = unit},
    {"total", .number = total},
    {"mean", .number = mean},
    {"deviation", .number = deviation},
    {"min", .number = minimum},
    {"max", .number = maximum},
    {"min_running", .number = min_running},
    {"multiplexed_cells", .number = multiplexed_cells},
    {"cells_without_number", .number = cells_without_number},
    {"reason", .text = reason},
    /* with samples */
    {"samples", .number = samples},
    {"lost", .number = lost},
    {"coverage", .number = coverage},
};
enum { NR_FIELDS = sizeof(fields) / sizeof(fields[0]), NR_OF_SAMPLES = 3 };

void screen_ndjson_summary(struct screen_state *s, const struct table *t,
			   const struct table_summary *sum, struct buf *out)
{
	const struct screen_options *o = &s->options;
	size_t first = o->host      ? 0
		       : o->session ? 2
				    : 3,
	       nr = (t->sampled || o->session ? NR_FIELDS : NR_FIELDS - NR_OF_SAMPLES) - first;

	for (size_t i = 0; i < sum->nr_columns; i++) {
		struct summary_row r = {&t->columns[i], &sum->column[i], sum->nr_iterations,
					sum->nr_cut, o};

		buf_reset(&s->scratch);
		screen_partial(&s->scratch, &sum->column[i]);
		r.partial = buf_str(&s->scratch);
		screen_write_json(out, fields + first, nr, &r);
	}
}

/* --- an answer's ------------------------------------------------------------------------------ */

static bool low(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	if (!(r->half > 0))
		return false;
	screen_real(out, r->sum->spread.mean - r->half);
	return true;
}

static bool high(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	if (!(r->half > 0))
		return false;
	screen_real(out, r->sum->spread.mean + r->half);
	return true;
}

/* A running share below 1: the number is an estimate. */
static bool running(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return r->sum->min_running < 1 && min_running(p, out);
}

static const struct screen_field total_fields[] = {
    {"group", .text = group},      {"event", .text = event},           {"unit", .text = unit},
    {"total", .number = total},    {"mean", .number = mean},           {"mean_low", .number = low},
    {"mean_high", .number = high}, {"min_running", .number = running}, {"partial", .text = reason},
};

/* Only fields that have something: an answer is short. */
static void write_present(struct buf *out, const struct summary_row *r)
{
	struct json_writer json;
	BUF_AUTO(number, MAX_NUMBER_BYTES);

	jsonw_init(&json, out, false);
	JSONW_OBJECT(&json, NULL) {
		for (size_t i = 0; i < ARRAY_NR(total_fields); i++) {
			const struct screen_field *f = &total_fields[i];
			const char *text = f->text ? f->text(r) : NULL;

			buf_reset(&number);
			if (text && *text)
				jsonw_text(&json, f->name, text);
			else if (f->number && f->number(r, &number))
				jsonw_raw(&json, f->name, buf_str(&number));
		}
	}
	buf_addc(out, '\n');
}

void screen_ndjson_totals(const struct table *t, const struct table_summary *sum, struct buf *out)
{
	static const struct screen_options none = {.rank = UINT32_MAX};
	BUF_AUTO(partial, MAX_REASON_BYTES);

	for (size_t i = 0; i < sum->nr_columns; i++) {
		const struct column_summary *c = &sum->column[i];
		struct summary_row r = {&t->columns[i], c, sum->nr_iterations, sum->nr_cut, &none};

		if (!c->spread.nr)
			continue;
		buf_reset(&partial);
		screen_partial(&partial, c);
		r.partial = buf_str(&partial);
		r.has_own_reason = true;
		/* iterations of one run follow each other, and are not independent */
		r.half = sum->cause == CAUSE_RUN ? spread_mean_half(&c->spread) : 0;
		write_present(out, &r);
	}
}

/* "": it has a number. */
static const char *find_reason(const struct table *t, const struct table_summary *sum, size_t i,
			       struct buf *text)
{
	buf_reset(text);
	if (sum->column[i].spread.nr)
		return "";
	if (t->columns[i].reason && *t->columns[i].reason)
		table_reason(&t->columns[i], text);
	else
		buf_adds(text, screen_no_total_text(&sum->column[i]));
	return buf_str(text);
}

static bool is_said(const struct table *t, const struct table_summary *sum, size_t before,
		    const char *reason)
{
	BUF_AUTO(text, MAX_REASON_BYTES);

	for (size_t i = 0; i < before; i++)
		if (strcmp(find_reason(t, sum, i, &text), reason) == 0)
			return true;
	return false;
}

static void write_absent(const struct table *t, const struct table_summary *sum, size_t first,
			 const char *reason, struct buf *out)
{
	struct json_writer json;
	BUF_AUTO(text, MAX_REASON_BYTES);
	BUF_AUTO(name, MAX_REASON_BYTES);

	jsonw_init(&json, out, false);
	JSONW_OBJECT(&json, NULL) {
		jsonw_text(&json, "reason", reason);
		JSONW_ARRAY(&json, "events") {
			for (size_t i = first; i < sum->nr_columns; i++) {
				if (strcmp(find_reason(t, sum, i, &text), reason) != 0)
					continue;
				buf_reset(&name);
				buf_printf(&name, "%s:%s", t->columns[i].group, t->columns[i].name);
				jsonw_text(&json, NULL, buf_str(&name));
			}
		}
	}
	buf_addc(out, '\n');
}

void screen_ndjson_absent(const struct table *t, const struct table_summary *sum, struct buf *out)
{
	BUF_AUTO(text, MAX_REASON_BYTES);

	for (size_t i = 0; i < sum->nr_columns; i++) {
		const char *reason = find_reason(t, sum, i, &text);

		if (*reason && !is_said(t, sum, i, reason))
			write_absent(t, sum, i, reason, out);
	}
}
