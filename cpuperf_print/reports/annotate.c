/*
 * The report annotate: functions with the most samples, line by line and instruction by
 * instruction. In text a table of lines and one of instructions for each function, without what is
 * far from any sample; in csv and ndjson all of both in one table.
 */
#include "annotate/code.h"
#include "annotate/kernel.h"
#include "annotate/source.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "base/str.h"
#include "elf/finder.h"
#include "numbers.h"
#include "options.h"
#include "profile/processes.h"
#include "report/addresses.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TOP = 3,
	CONTEXT = 4,       /* rows beside one with samples */
	SMALL = 40,        /* as many rows are shown whole */
	MAX_FILLED = 1000, /* lines without code between two with */
	LINE_BYTES = 1024,
	WIDE = 100, /* columns of a terminal that has room for counts, too */
};

enum kind { LINES, INSTRUCTIONS, NR_KINDS };
static const char *const kind_names[NR_KINDS] = {"line", "instruction"};

/* A line that has code, of the function or of one that was inlined. */
struct line {
	const char *inlined, *file; /* NULL: none, not known */
	uint32_t line;
	uint32_t call; /* where the function was inlined: the first of them */
	struct report_weight weight;
};

/* Lines of one file and function. */
struct group {
	size_t first, end;
	uint32_t call; /* where the function was inlined: the first of them */
	uint64_t weight;
};

struct annotate {
	struct job *j;
	bool with[NR_KINDS];
	struct report_stats stats;
	struct report_addresses *addresses;
	const struct report_address_row *rows;
	struct annotate_sources *sources;
	struct annotate_code code;
	struct annotate_kernel *kernel; /* owned; NULL: not opened, or not there */
	bool has_tried_kernel;
	uint64_t *address; /* owned; scratch, of one function */
	size_t address_room;
	/* of the function that is printed */
	const struct report_address_function *f;
	struct dict lines; /* struct line; the key is all up to the line */
	struct line *line; /* owned; in groups; in text with lines without code */
	size_t nr_lines, line_room;
	struct group *group; /* owned */
	size_t nr_groups, group_room;
};

static const struct annotate_source *find_source(const struct annotate *a, const char *path)
{
	const struct profile_object *o = a->rows[a->f->first].object;
	struct elf_build_id id = {.len = o ? o->build_id_len : 0};

	if (o)
		memcpy(id.bytes, o->build_id, id.len);
	return annotate_sources_find(a->sources, path, &id);
}

static bool is_text(const struct annotate *a)
{
	return a->j->output->form == GRID_PEOPLE;
}

/* --- how exact addresses are --- */

enum skid { EXACT, BY_TIMER, PRECISE, IMPRECISE };
static const struct {
	const char *name, *note;
} skids[] = {
    [EXACT] = {"none", NULL},
    [BY_TIMER] = {"timer", "by a timer, so a sample is at the instruction that was to run next: "
			   "time is often at the one behind a slow one"},
    [PRECISE] = {"precise", "precise: the CPU recorded the instruction itself"},
    [IMPRECISE] = {"skid", "not precise: a sample may be a few instructions behind its cause; the "
			   "flag precise asks the CPU for the exact one"},
};

static enum skid skid_of(const struct trace_event *ev)
{
	struct perf_event_attr attr = {.size = 0};

	if (!ev->attr_bytes)
		return EXACT;
	memcpy(&attr, ev->attr, ev->attr_bytes < sizeof(attr) ? ev->attr_bytes : sizeof(attr));
	if (attr.precise_ip)
		return PRECISE;
	if (attr.type == PERF_TYPE_SOFTWARE &&
	    (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK))
		return BY_TIMER;
	return attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT ? EXACT
										    : IMPRECISE;
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
	    {"self_count", "count", job_event(a->j, event)->unit, GRID_AMOUNT,
	     of_kind[!is_text(a) || job_columns(a->j) >= WIDE], .leaves = 3},
	    {"address", NULL, NULL, GRID_ADDRESS, of_instruction},
	    {"mark", "", NULL, GRID_TEXT, of_people},
	    {"jumps", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"target", NULL, NULL, GRID_ADDRESS, GRID_ONLY_MACHINES},
	    {"line", NULL, NULL, GRID_COUNT, of_line},
	    {"text", kind == LINES ? "source" : "instruction", NULL, GRID_TEXT, GRID_ALL},
	    {"place", "source", NULL, GRID_TEXT, of_people, .leaves = 1},
	    {"file", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"inlined", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	};

	return reports_grid(a->j, columns, ARRAY_NR(columns));
}

/* The cells that all rows have. */
static void put_weight(const struct annotate *a, struct grid *g, enum kind kind,
		       const struct report_weight *w)
{
	const struct trace_event *ev = job_event(a->j, a->f->event);
	const struct interval share = reports_share_of(w, &a->f->weight);
	const bool is_shown = w->samples || !is_text(a);

	grid_row(g);
	grid_text(g, ev->label);
	grid_text(g, a->f->function->name);
	grid_text(g, a->f->function->object);
	grid_text(g, skids[skid_of(ev)].name);
	grid_text(g, kind_names[kind]);
	is_shown ? grid_share(g, &share) : grid_none(g);
	is_shown ? grid_count(g, w->samples) : grid_none(g);
	is_shown ? grid_count(g, reports_amount(a->j, a->f->event, w->weight)) : grid_none(g);
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
	const double min = reports_min_share(a->j, 0.5);

	*s = (struct shown){.is_shown = mem_calloc(nr + 1, sizeof(bool)), .nr = nr};
	for (size_t i = 0; i < nr && s->is_shown; i++) {
		const struct report_weight *w = weight(a, first + i);

		if (!is_text(a) || !min || nr <= SMALL)
			s->is_shown[i] = true;
		else if (w && w->samples && reports_share_of(w, &a->f->weight).share >= min)
			show_around(s, i);
	}
	return s->is_shown ? 0 : -ENOMEM;
}

/* In text: the rows between those that are shown, up to i, in one line. */
static void put_gap(const struct annotate *a, struct grid *g, size_t nr, const char *what,
		    const struct report_weight *w)
{
	const struct interval share = reports_share_of(w, &a->f->weight);
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

static const struct report_weight *weight_of(const struct annotate *a, size_t i)
{
	const uint32_t sample = a->code.row[i].sample;

	return sample == ANNOTATE_NO_SAMPLE ? NULL : &a->rows[sample].weight;
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
	const struct annotate_row *row = &a->code.row[i];
	const struct report_weight *w = weight_of(a, i);
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

static int add_lines(struct annotate *a)
{
	dict_fini(&a->lines);
	for (size_t i = 0; i < a->code.nr; i++) {
		const struct annotate_row *row = &a->code.row[i];
		const struct report_weight *w = weight_of(a, i);
		const struct line key = {
		    .inlined = row->inlined, .file = row->at.file, .line = row->at.line};
		struct line *line = dict_get(&a->lines, &key);

		if (!line)
			return -ENOMEM;
		line->call = line->call ? line->call : row->own.line;
		if (w)
			report_weight_add(&line->weight, w);
	}
	return 0;
}

static int compare_texts(const char *a, const char *b)
{
	return !a != !b ? !b - !a : a && a != b ? strcmp(a, b) : 0;
}

static int by_place(const void *x, const void *y)
{
	const struct line *a = x, *b = y;

	return compare_texts(a->inlined, b->inlined)
		   ?: compare_texts(a->file, b->file) ?: order_u64(a->line, b->line);
}

/* The function's own lines first, then what has most. */
static int by_group(const void *x, const void *y, void *arg)
{
	const struct annotate *a = arg;
	const struct group *g = x, *h = y;

	return order_u64(a->line[g->first].inlined != NULL, a->line[h->first].inlined != NULL)
		   ?: order_u64(h->weight, g->weight) ?: order_u64(g->first, h->first);
}

/* In text: the lines without code between two of a file, as far as it has them. */
static int fill_lines(struct annotate *a, const struct line *from, const struct line *to)
{
	const struct annotate_source *source =
	    is_text(a) && from->line && from->file && from->file == to->file &&
		    from->inlined == to->inlined && to->line - from->line < MAX_FILLED
		? find_source(a, from->file)
		: NULL;

	for (uint32_t at = from->line + 1; source && at < to->line; at++) {
		struct line *line = MEM_ADD(a->line, a->nr_lines, a->line_room);

		if (!line)
			return -ENOMEM;
		*line = (struct line){.inlined = to->inlined, .file = to->file, .line = at};
	}
	return 0;
}

static int add_group(struct annotate *a, const struct line *line)
{
	struct group *group = MEM_ADD(a->group, a->nr_groups, a->group_room);

	if (!group)
		return -ENOMEM;
	*group = (struct group){.first = a->nr_lines, .call = line->call};
	return 0;
}

/* In text a number alone says nothing: neither samples nor what stands there. */
static bool is_bare(struct annotate *a, const struct line *line)
{
	return is_text(a) && line->line && line->file && line->weight.weight == 0 &&
	       !find_source(a, line->file);
}

static void drop_bare_lines(struct annotate *a)
{
	struct line *of = a->lines.items;
	size_t nr = 0;

	for (size_t i = 0; i < a->lines.nr; i++)
		if (!is_bare(a, &of[i]))
			of[nr++] = of[i];
	a->lines.nr = nr;
}

/* Lines in the order in which they are printed, and their groups. */
static int make_groups(struct annotate *a)
{
	struct line *of = a->lines.items;
	int rc = 0;

	a->nr_groups = a->nr_lines = 0;
	drop_bare_lines(a);
	if (a->lines.nr)
		qsort(of, a->lines.nr, sizeof(*of), by_place);
	for (size_t i = 0; i < a->lines.nr && rc == 0; i++) {
		const bool is_first =
		    !i || of[i].inlined != of[i - 1].inlined || of[i].file != of[i - 1].file;
		struct line *line;

		rc = is_first ? add_group(a, &of[i]) : fill_lines(a, &of[i - 1], &of[i]);
		line = rc ? NULL : MEM_ADD(a->line, a->nr_lines, a->line_room);
		if (!line)
			return -ENOMEM;
		*line = of[i];
		a->group[a->nr_groups - 1].end = a->nr_lines;
		a->group[a->nr_groups - 1].weight += line->weight.weight;
	}
	qsort_r(a->group, a->nr_groups, sizeof(*a->group), by_group, a);
	return rc;
}

static const struct report_weight *weight_of_line(const struct annotate *a, size_t i)
{
	return &a->line[i].weight;
}

static void put_line(struct annotate *a, struct grid *g, size_t i)
{
	const struct line *line = &a->line[i];
	const struct annotate_source *source = line->file ? find_source(a, line->file) : NULL;
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
static void put_group_heading(const struct annotate *a, const struct group *group, struct grid *g)
{
	const struct line *line = &a->line[group->first];
	BUF_AUTO(b, LINE_BYTES);

	if (!is_text(a))
		return;
	if (line->inlined)
		buf_printf(&b, "inlined %s", line->inlined);
	if (line->inlined && group->call)
		buf_printf(&b, " (line %" PRIu32 ")", group->call);
	buf_printf(&b, "%s%s", line->inlined ? ": " : "",
		   line->file ? line->file : "code without source lines");
	if (line->file && !find_source(a, line->file))
		buf_adds(&b, ", which is not found (--source-dir)");
	grid_line(g, buf_str(&b));
}

/* --- a function --- */

static int end_table(struct annotate *a, struct grid *g, int rc, struct err *e)
{
	if (rc)
		err_set(e, rc, "out of memory");
	return g ? reports_end(a->j, g, rc, e) : rc;
}

static int put_lines(struct annotate *a, struct err *e)
{
	struct grid *g = make_grid(a, a->f->event, LINES);
	int rc = g ? add_lines(a) ?: make_groups(a) : -ENOMEM;

	for (size_t i = 0; i < a->nr_groups && rc == 0; i++) {
		const struct group *group = &a->group[i];

		put_group_heading(a, group, g);
		rc = put_rows(a, g, group->first, group->end - group->first, "line", weight_of_line,
			      put_line);
	}
	return end_table(a, g, rc, e);
}

static int put_instructions(struct annotate *a, struct err *e)
{
	struct grid *g = make_grid(a, a->f->event, INSTRUCTIONS);
	int rc =
	    g ? put_rows(a, g, 0, a->code.nr, "instruction", weight_of, put_instruction) : -ENOMEM;

	return end_table(a, g, rc, e);
}

static void put_heading(const struct annotate *a)
{
	const struct trace_event *ev = job_event(a->j, a->f->event);
	const struct interval share = reports_share(&a->stats, a->f->event, &a->f->weight);
	const double half = 50 * (share.high - share.low);
	BUF_AUTO(b, LINE_BYTES);

	if (!is_text(a))
		return;
	buf_printf(&b, "%s (%s): %s %%", a->f->function->name, a->f->function->object,
		   DECIMAL(100 * share.share, 2));
	if (half > 0)
		buf_printf(&b, " ± %s", DECIMAL(half, 2));
	buf_printf(&b, " of %s, %s %s, %s", ev->label, COMMAS(a->f->weight.samples),
		   str_plural(a->f->weight.samples, "sample", "samples"),
		   HUMAN((double)reports_amount(a->j, a->f->event, a->f->weight.weight), ev->unit));
	buf_addc(&a->j->output->text, '\n');
	reports_headline(a->j, &b);
}

static bool has_source(const struct annotate *a)
{
	return ARRAY_ANY(x, a->code.row, a->code.nr, x->at.file);
}

static bool has_instructions(const struct annotate *a)
{
	return ARRAY_ANY(x, a->code.row, a->code.nr, x->text);
}

/* Of which tables there is nothing, and why: e is empty, or why there are no instructions. */
static void put_missing(const struct annotate *a, const struct err *e)
{
	struct buf *b = &a->j->output->text;
	BUF_AUTO(line, LINE_BYTES);

	if (!is_text(a)) {
		if (e->code && a->with[INSTRUCTIONS])
			problems_add(&a->j->output->problems, false, e);
		return;
	}
	if (a->with[LINES] && !has_source(a))
		buf_adds(b, "No source lines: no debug information was found\n");
	if (!a->with[INSTRUCTIONS] || has_instructions(a))
		return;
	if (e->code)
		buf_printf(&line, "%s%s%s", e->source, *e->source ? ": " : "", e->msg);
	else
		buf_adds(&line, "No instructions: the code was not found");
	reports_headline(a->j, &line);
}

/* Its code, if this is the kernel that was recorded. */
static const struct annotate_kernel *get_kernel(struct annotate *a, struct err *missing)
{
	if (!a->has_tried_kernel && job_input(a->j)->is_same_boot)
		annotate_kernel_open(&root_live, &a->kernel, missing);
	a->has_tried_kernel = true;
	return a->kernel;
}

static int make_room(struct annotate *a)
{
	uint64_t *address = a->f->nr <= a->address_room
				? a->address
				: mem_resize(a->address, a->f->nr * sizeof(*address));

	if (!address)
		return -ENOMEM;
	a->address = address;
	if (a->f->nr > a->address_room)
		a->address_room = a->f->nr;
	return 0;
}

static int load_code(struct annotate *a, struct err *missing)
{
	const struct report_address_row *row = &a->rows[a->f->first];
	int rc = 0;

	annotate_code_reset(&a->code);
	rc = make_room(a);
	for (size_t i = 0, nr; i < a->f->nr && rc == 0; i += nr) {
		struct annotate_wanted w = {.symbols = job_input(a->j)->symbols,
					    .object = row[i].object,
					    .address = a->address,
					    .first = (uint32_t)(a->f->first + i)};

		if (!w.object && a->f->function->is_kernel && a->f->function->is_known)
			w.kernel = get_kernel(a, missing);
		for (nr = 0; i + nr < a->f->nr && row[i + nr].object == w.object; nr++)
			a->address[nr] = row[i + nr].address;
		w.nr = nr;
		rc = annotate_code_add(&a->code, &w, missing);
	}
	return rc;
}

/* Of what nobody asked for by name, addresses alone are not worth a table of text. */
static bool has_table(const struct annotate *a, enum kind kind)
{
	const bool is_named = a->j->inputs->options->functions.nr;

	if (!a->with[kind] || !is_text(a))
		return a->with[kind];
	return kind == LINES ? has_source(a) : is_named || has_instructions(a);
}

static int put_function(struct annotate *a, struct err *e)
{
	struct err missing = {0};
	int rc = load_code(a, &missing);

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
	const char *note = skids[skid_of(job_event(a->j, event))].note;
	BUF_AUTO(b, LINE_BYTES);

	reports_heading(a->j, &a->stats, event);
	if (!is_text(a) || !note)
		return;
	buf_adds(&b, note);
	reports_headline(a->j, &b);
}

static int put_functions(struct annotate *a, const struct report_address_function *f, size_t nr,
			 struct err *e)
{
	const uint64_t top = reports_top(a->j, TOP);
	uint64_t rank = 0;
	uint32_t event = UINT32_MAX;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		if (!reports_is_wanted(a->j, f[i].function))
			continue;
		rank = f[i].event == event ? rank + 1 : 0;
		if (f[i].event != event)
			put_event(a, f[i].event);
		event = f[i].event;
		a->f = &f[i];
		if (rank < top)
			rc = put_function(a, e);
	}
	if (rc == 0 && event == UINT32_MAX)
		reports_nothing(a->j, &a->stats, "samples");
	return rc;
}

static int put_all(struct annotate *a, struct err *e)
{
	const struct report_address_function *f;
	size_t nr;
	int rc;

	f = report_addresses_functions(a->addresses, &nr);
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	a->rows = report_addresses_rows(a->addresses);
	rc = put_functions(a, f, nr, e);
	if (rc == 0 && !is_text(a) && !a->j->output->has_header && a->stats.nr_events) {
		struct grid *g = make_grid(a, 0, LINES); /* csv has a header */

		return g ? reports_end(a->j, g, 0, e) : err_set(e, -ENOMEM, "out of memory");
	}
	return rc ?: output_flush(a->j->output, e);
}

static int init(struct annotate *a, struct err *e)
{
	const struct options *o = a->j->inputs->options;
	const struct annotate_sources_config config = {
	    .finder = a->j->inputs->finder,
	    .dirs = o->source_dirs.item,
	    .nr_dirs = o->source_dirs.nr,
	};

	a->with[LINES] = o->source || !o->assembly;
	a->with[INSTRUCTIONS] = o->assembly || !o->source;
	dict_init(&a->lines, sizeof(struct line), DICT_KEY(struct line, line), DICT_MAX);
	a->addresses = report_addresses_new();
	a->sources = annotate_sources_new(&config);
	return a->addresses && a->sources ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int reports_annotate(struct job *j, struct err *e)
{
	struct annotate a = {.j = j};
	int rc =
	    init(&a, e) ?: samples_read(j, j->first, 1, report_addresses_sink(a.addresses),
					&a.stats, e) ?: put_all(&a, e);

	report_addresses_free(a.addresses);
	annotate_sources_free(a.sources);
	annotate_code_fini(&a.code);
	annotate_kernel_close(a.kernel);
	dict_fini(&a.lines);
	mem_free(a.address);
	mem_free(a.line);
	mem_free(a.group);
	report_stats_fini(&a.stats);
	return rc;
}
