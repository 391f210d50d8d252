/*
 * The report annotate: functions with the most samples, line by line and instruction by
 * instruction. In text a table of lines and one of instructions for each function, without what is
 * far from any sample; in csv and ndjson all of both in one table.
 */
#include "annotate/source.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "numbers.h"
#include "options.h"
#include "reports/annotated.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TOP = 3,
	CONTEXT = 4, /* rows beside one with samples */
	SMALL = 40,  /* as many rows are shown whole */
	LINE_BYTES = 1024,
	WIDE = 100, /* columns of a terminal that has room for counts, too */
};

enum kind { LINES, INSTRUCTIONS, NR_KINDS };
static const char *const kind_names[NR_KINDS] = {"line", "instruction"};

struct annotate {
	struct annotated of;
	bool with[NR_KINDS];
};

static bool is_text(const struct annotate *a)
{
	return a->of.j->output->form == GRID_PEOPLE;
}

/* --- tables --- */

static struct grid *make_grid(const struct annotate *a, uint32_t event, enum kind kind)
{
	/* of text, which has a table for each kind */
	const enum grid_audience of_kind[2] = {GRID_ONLY_MACHINES, GRID_ALL};
	const enum grid_audience of_line = of_kind[!is_text(a) || kind == LINES];
	const enum grid_audience of_instruction = of_kind[!is_text(a) || kind == INSTRUCTIONS];
	const enum grid_audience of_people =
	    is_text(a) && kind == LINES ? GRID_ONLY_MACHINES : GRID_ONLY_PEOPLE;
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"skid", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"self", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"self_samples", "samples", NULL, GRID_COUNT, GRID_ALL, .leaves = 2},
	    {"self_count", "count", job_event(a->of.j, event)->unit, GRID_AMOUNT,
	     of_kind[!is_text(a) || job_columns(a->of.j) >= WIDE], .leaves = 3},
	    {"address", NULL, NULL, GRID_ADDRESS, of_instruction},
	    {"mark", "", NULL, GRID_TEXT, of_people},
	    {"jumps", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"target", NULL, NULL, GRID_ADDRESS, GRID_ONLY_MACHINES},
	    {"line", NULL, NULL, GRID_NUMBER, of_line},
	    {"text", kind == LINES ? "source" : "instruction", NULL, GRID_TEXT, GRID_ALL},
	    {"place", "source", NULL, GRID_TEXT, of_people, .leaves = 1},
	    {"file", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"inlined", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	};

	return reports_grid(a->of.j, columns, ARRAY_NR(columns));
}

/* The cells that all rows have. */
static void put_weight(const struct annotate *a, struct grid *g, enum kind kind,
		       const struct report_weight *w)
{
	const struct trace_event *ev = job_event(a->of.j, a->of.f->event);
	const struct interval share = reports_share_of(w, &a->of.f->weight);
	const bool is_shown = w->samples || !is_text(a);

	grid_row(g);
	grid_text(g, ev->label);
	grid_text(g, a->of.f->function->name);
	grid_text(g, a->of.f->function->object);
	grid_text(g, annotated_skid(ev)->name);
	grid_text(g, kind_names[kind]);
	is_shown ? grid_share(g, &share) : grid_none(g);
	is_shown ? grid_count(g, w->samples) : grid_none(g);
	is_shown ? grid_count(g, reports_amount(a->of.j, a->of.f->event, w->weight)) : grid_none(g);
}

static void put_text(struct grid *g, const char *text)
{
	text ? grid_text(g, text) : grid_none(g);
}

/* Rows of text that are near enough to one of weight. */
struct shown {
	bool *is_shown; /* owned */
	size_t nr;
};

static void show_around(struct shown *s, size_t at)
{
	size_t from = at > CONTEXT ? at - CONTEXT : 0;

	for (size_t i = from; i <= at + CONTEXT && i < s->nr; i++)
		s->is_shown[i] = true;
}

typedef const struct report_weight *weight_fn(const struct annotate *a, size_t i);

/* 0 or -ENOMEM. weight: of each row; NULL: it has none. */
static int find_shown(const struct annotate *a, size_t first, size_t nr, weight_fn *weight,
		      struct shown *s)
{
	const double min = reports_min_share(a->of.j, 0.5);

	*s = (struct shown){.is_shown = mem_calloc(nr + 1, sizeof(bool)), .nr = nr};
	for (size_t i = 0; i < nr && s->is_shown; i++) {
		const struct report_weight *w = weight(a, first + i);

		if (!is_text(a) || !min || nr <= SMALL)
			s->is_shown[i] = true;
		else if (w && w->samples && reports_share_of(w, &a->of.f->weight).share >= min)
			show_around(s, i);
	}
	return s->is_shown ? 0 : -ENOMEM;
}

/* In text: the rows between those that are shown, up to i, in one line. */
static void put_gap(const struct annotate *a, struct grid *g, size_t nr, const char *what,
		    const struct report_weight *w)
{
	const struct interval share = reports_share_of(w, &a->of.f->weight);
	char line[LINE_BYTES];

	if (!nr)
		return;
	snprintf(line, sizeof(line), "… %zu %s%s: %s %%%s", nr, what, nr == 1 ? "" : "s",
		 DECIMAL(100 * share.share, 1), " (--min-percent=0 shows all)");
	grid_line(g, line);
}

typedef void put_fn(struct annotate *a, struct grid *g, size_t i);

static int put_rows(struct annotate *a, struct grid *g, size_t first, size_t nr, const char *what,
		    weight_fn *weight, put_fn *put)
{
	struct report_weight hidden = {0};
	size_t nr_hidden = 0;
	struct shown s;
	int rc = find_shown(a, first, nr, weight, &s);

	for (size_t i = 0; i < nr && rc == 0; i++) {
		const struct report_weight *w = weight(a, first + i);

		if (!s.is_shown[i]) {
			nr_hidden++;
			if (w)
				report_weight_add(&hidden, w);
			continue;
		}
		put_gap(a, g, nr_hidden, what, &hidden);
		hidden = (struct report_weight){0};
		nr_hidden = 0;
		put(a, g, first + i);
	}
	if (rc == 0)
		put_gap(a, g, nr_hidden, what, &hidden);
	mem_free(s.is_shown);
	return rc;
}

/* --- instructions --- */

static const struct report_weight *weight_of_row(const struct annotate *a, size_t i)
{
	return annotated_weight(&a->of, i);
}

/* Where a jump leads, and that jumps lead here. */
static const char *mark_of(const struct annotate_row *row)
{
	static const char *const marks[2][3] = {{NULL, "↓", "↑"}, {"→", "→↓", "→↑"}};
	const bool is_jump = row->flow == ANNOTATE_JUMP && row->is_inside;

	return marks[row->nr_from > 0][!is_jump ? 0 : row->target > row->address ? 1 : 2];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *place_of(const struct annotate_row *row, char text[LINE_BYTES])
{
	if (!row->at.file)
		return NULL;
	snprintf(text, LINE_BYTES, "%.256s:%" PRIu32 "%s%.512s", base_name(row->at.file),
		 row->at.line, row->inlined ? " inlined " : "", row->inlined ? row->inlined : "");
	return text;
}

static void put_instruction(struct annotate *a, struct grid *g, size_t i)
{
	static const struct report_weight none;
	const struct annotate_row *row = &a->of.code.row[i];
	const struct report_weight *w = annotated_weight(&a->of, i);
	char place[LINE_BYTES];

	put_weight(a, g, INSTRUCTIONS, w ? w : &none);
	grid_count(g, row->address);
	put_text(g, mark_of(row));
	grid_count(g, row->nr_from);
	row->has_target ? grid_count(g, row->target) : grid_none(g);
	row->at.line ? grid_count(g, row->at.line) : grid_none(g);
	put_text(g, row->text);
	put_text(g, place_of(row, place));
	put_text(g, row->at.file);
	put_text(g, row->inlined);
}

/* --- lines --- */

static const struct report_weight *weight_of_line(const struct annotate *a, size_t i)
{
	return &a->of.line[i].weight;
}

static void put_line(struct annotate *a, struct grid *g, size_t i)
{
	const struct annotated_line *line = &a->of.line[i];
	const struct annotate_source *source =
	    line->file ? annotated_source(&a->of, line->file) : NULL;
	char text[ANNOTATE_MAX_LINE_BYTES];

	put_weight(a, g, LINES, &line->weight);
	for (int nr_others = 0; nr_others < 4; nr_others++)
		grid_none(g);
	line->line ? grid_count(g, line->line) : grid_none(g);
	put_text(g, source ? annotate_source_line(source, line->line, text) : NULL);
	grid_none(g);
	put_text(g, line->file);
	put_text(g, line->inlined);
}

/* In text: where the lines are, and of an inlined function its name and where it was called. */
static void put_group_heading(const struct annotate *a, const struct annotated_group *group,
			      struct grid *g)
{
	const struct annotated_line *line = &a->of.line[group->first];
	BUF_AUTO(b, LINE_BYTES);

	if (!is_text(a))
		return;
	if (line->inlined)
		buf_printf(&b, "inlined %s", line->inlined);
	if (line->inlined && group->call)
		buf_printf(&b, " (line %" PRIu32 ")", group->call);
	buf_printf(&b, "%s%s", line->inlined ? ": " : "",
		   line->file ? line->file : "code without source lines");
	if (line->file && !annotated_source(&a->of, line->file))
		buf_printf(&b, ", which %s (--source-dir)",
			   annotated_source_fault(&a->of, line->file));
	grid_line(g, buf_str(&b));
}

/* --- a function --- */

static int end_table(struct annotate *a, struct grid *g, int rc, struct err *e)
{
	if (rc)
		err_set(e, rc, "out of memory");
	return g ? reports_end(a->of.j, g, rc, e) : rc;
}

static int put_lines(struct annotate *a, struct err *e)
{
	struct grid *g = make_grid(a, a->of.f->event, LINES);
	int rc = g ? annotated_make_lines(&a->of) : -ENOMEM;

	for (size_t i = 0; i < a->of.nr_groups && rc == 0; i++) {
		const struct annotated_group *group = &a->of.group[i];

		put_group_heading(a, group, g);
		rc = put_rows(a, g, group->first, group->end - group->first, "line", weight_of_line,
			      put_line);
	}
	return end_table(a, g, rc, e);
}

static int put_instructions(struct annotate *a, struct err *e)
{
	struct grid *g = make_grid(a, a->of.f->event, INSTRUCTIONS);
	int rc = g ? put_rows(a, g, 0, a->of.code.nr, "instruction", weight_of_row, put_instruction)
		   : -ENOMEM;

	return end_table(a, g, rc, e);
}

static void put_heading(const struct annotate *a)
{
	const struct trace_event *ev = job_event(a->of.j, a->of.f->event);
	const struct interval share = reports_share(&a->of.stats, a->of.f->event, &a->of.f->weight);
	const double half = 50 * (share.high - share.low);
	BUF_AUTO(b, LINE_BYTES);

	if (!is_text(a))
		return;
	buf_printf(&b, "%s (%s): %s %%", a->of.f->function->name, a->of.f->function->object,
		   DECIMAL(100 * share.share, 2));
	if (half > 0)
		buf_printf(&b, " ± %s", DECIMAL(half, 2));
	buf_printf(&b, " of %s, %s %s, %s", ev->label, COMMAS(a->of.f->weight.samples),
		   str_plural(a->of.f->weight.samples, "sample", "samples"),
		   HUMAN((double)reports_amount(a->of.j, a->of.f->event, a->of.f->weight.weight),
			 ev->unit));
	buf_addc(&a->of.j->output->text, '\n');
	reports_headline(a->of.j, &b);
}

static bool has_source(const struct annotate *a)
{
	return ARRAY_ANY(x, a->of.code.row, a->of.code.nr, x->at.file);
}

static bool has_instructions(const struct annotate *a)
{
	return ARRAY_ANY(x, a->of.code.row, a->of.code.nr, x->text);
}

/* Of which tables there is nothing, and why: e is empty, or why there are no instructions. */
static void put_missing(const struct annotate *a, const struct err *e)
{
	struct buf *b = &a->of.j->output->text;
	BUF_AUTO(line, LINE_BYTES);

	if (!is_text(a)) {
		if (e->code && a->with[INSTRUCTIONS])
			problems_add(&a->of.j->output->problems, false, e);
		return;
	}
	if (a->with[LINES] && !has_source(a))
		buf_adds(b, "No source lines: no debug information was found\n");
	if (!a->with[INSTRUCTIONS] || has_instructions(a) || annotated_is_interpreted(&a->of))
		return;
	if (e->code)
		buf_printf(&line, "%s%s%s", e->source, *e->source ? ": " : "", e->msg);
	else
		buf_adds(&line, "No instructions: the code was not found");
	reports_headline(a->of.j, &line);
}

/* Of what nobody asked for by name, addresses alone are not worth a table of text. */
static bool has_table(const struct annotate *a, enum kind kind)
{
	const bool is_named = a->of.j->inputs->options->functions.nr;

	if (kind == INSTRUCTIONS && annotated_is_interpreted(&a->of))
		return false;
	if (!a->with[kind] || !is_text(a))
		return a->with[kind];
	return kind == LINES ? has_source(a) : is_named || has_instructions(a);
}

static int put_function(struct annotate *a, struct err *e)
{
	struct err missing = {0};
	int rc = annotated_load(&a->of, &missing);

	if (rc)
		return err_set(e, rc, "code cannot be read: %s", strerror(-rc));
	put_heading(a);
	put_missing(a, &missing);
	if (has_table(a, LINES))
		rc = put_lines(a, e);
	if (rc == 0 && has_table(a, INSTRUCTIONS))
		rc = put_instructions(a, e);
	return rc;
}

/* --- all functions --- */

static void put_event(struct annotate *a, uint32_t event)
{
	const char *note = annotated_skid(job_event(a->of.j, event))->note;
	BUF_AUTO(b, LINE_BYTES);

	reports_heading(a->of.j, &a->of.stats, event);
	if (!is_text(a) || !note)
		return;
	buf_adds(&b, note);
	reports_headline(a->of.j, &b);
}

static const char *name_at(const void *annotate, size_t i)
{
	const struct annotate *a = annotate;

	return a->of.function[i].function->name;
}

static int put_functions(struct annotate *a, struct err *e)
{
	const struct report_address_function *f = a->of.function;
	const uint64_t top = reports_top(a->of.j, TOP);
	uint64_t rank = 0;
	uint32_t event = UINT32_MAX;
	int rc = 0;

	for (size_t i = 0; i < a->of.nr_functions && rc == 0; i++) {
		if (!reports_is_wanted(a->of.j, f[i].function))
			continue;
		rank = f[i].event == event ? rank + 1 : 0;
		if (f[i].event != event)
			put_event(a, f[i].event);
		event = f[i].event;
		a->of.f = &f[i];
		if (rank < top)
			rc = put_function(a, e);
	}
	if (rc == 0 && event == UINT32_MAX && a->of.nr_functions)
		reports_no_function(a->of.j, "function with samples of its own", name_at, a,
				    a->of.nr_functions);
	else if (rc == 0 && event == UINT32_MAX)
		reports_nothing(a->of.j, &a->of.stats, "samples");
	return rc;
}

static int put_all(struct annotate *a, struct err *e)
{
	int rc = put_functions(a, e);

	if (rc == 0 && !is_text(a) && !a->of.j->output->has_header && a->of.stats.nr_events) {
		struct grid *g = make_grid(a, 0, LINES); /* csv has a header */

		return g ? reports_end(a->of.j, g, 0, e) : err_set(e, -ENOMEM, "out of memory");
	}
	return rc ?: output_flush(a->of.j->output, e);
}

int reports_annotate(struct job *j, struct err *e)
{
	const struct options *o = j->inputs->options;
	struct annotate a = {
	    .with = {
		[LINES] = o->source || !o->assembly, [INSTRUCTIONS] = o->assembly || !o->source}};
	int rc = annotated_read(&a.of, j, e);

	a.of.is_to_be_read = j->output->form == GRID_PEOPLE;
	rc = rc ?: put_all(&a, e);
	annotated_fini(&a.of);
	return rc;
}
