/*
 * The report lifetimes, which follows that of the heap: how long the blocks lived that each
 * function allocated and that were freed; those with most that was freed soon first.
 */
#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/perf_abi.h"
#include "numbers.h"
#include "report/own.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 10, LINE_BYTES = 256 };

struct line {
	const struct report_function *function; /* the key; NULL: of stacks without one */
	struct report_weight all, brief;        /* brief: lived less than 1 ms */
	uint64_t lived[PERF_ABI_NR_LIVES];
};

struct lives {
	struct job *j;
	struct dict lines;
	struct line total;
	struct line **sorted; /* owned */
	struct report_stats stats;
};

/* The class of the innermost frame; PERF_ABI_NR_LIVES: none. */
static size_t class_of(const struct report_entry *e)
{
	const char *name = e->nr_frames ? e->frames[0].function->name : "";
	size_t i = 0;

	while (i < PERF_ABI_NR_LIVES && strcmp(name, perf_abi_lives[i]) != 0)
		i++;
	return i;
}

static void add_to(struct line *line, size_t class, const struct report_weight *w)
{
	report_weight_add(&line->all, w);
	if (class < PERF_ABI_NR_BRIEF)
		report_weight_add(&line->brief, w);
	line->lived[class] += w->weight;
}

static bool is_lifetime(const struct lives *l, uint32_t event)
{
	const struct trace_event *ev = job_event(l->j, event);

	return strcmp(ev->group, "heap") == 0 && strcmp(ev->name, "lifetime") == 0;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct lives *l = arg;
	const size_t class = class_of(e);
	struct line key = {.function = NULL}, *line;

	if (!is_lifetime(l, e->key.event) || class == PERF_ABI_NR_LIVES)
		return 0;
	if (e->nr_frames > 1)
		key.function =
		    e->frames[1 + report_own_frame(e->frames + 1, e->nr_frames - 1, false)]
			.function;
	line = dict_get(&l->lines, &key);
	if (!line)
		return -ENOMEM;
	add_to(line, class, &e->weight);
	add_to(&l->total, class, &e->weight);
	return 0;
}

static const char *name_of(const struct line *line)
{
	return line->function ? line->function->name : "";
}

static int compare(const void *a, const void *b)
{
	const struct line *x = *(const struct line *const *)a;
	const struct line *y = *(const struct line *const *)b;

	return order_u64(y->brief.weight, x->brief.weight)
		   ?: order_u64(y->all.weight, x->all.weight) ?: strcmp(name_of(x), name_of(y));
}

static int sort(struct lives *l)
{
	l->sorted = dict_pointers(&l->lines);
	if (l->sorted)
		qsort(l->sorted, l->lines.nr, sizeof(struct line *), compare);
	return l->sorted ? 0 : -ENOMEM;
}

static struct grid *make_grid(const struct lives *l)
{
	static const char *const names[PERF_ABI_NR_LIVES] = {
	    "below_1us",  "below_10us",  "below_100us", "below_1ms",
	    "below_10ms", "below_100ms", "below_1s",    "above_1s"};
	static const char *const headers[PERF_ABI_NR_LIVES] = {
	    "<1us", "<10us", "<100us", "<1ms", "<10ms", "<100ms", "<1s", "longer"};
	struct grid_column columns[6 + 2 * PERF_ABI_NR_LIVES] = {
	    {"share", "freed within 1 ms", "%", GRID_PERCENT, GRID_ALL, 2},
	    {"brief", "", "B", GRID_ESTIMATE, GRID_ALL, 0},
	    {"freed", NULL, "B", GRID_ESTIMATE, GRID_ALL, 1},
	    {"calls", NULL, NULL, GRID_COUNT, l->total.all.random ? GRID_ONLY_MACHINES : GRID_ALL,
	     1},
	};
	size_t nr = 4;

	for (size_t i = 0; i < PERF_ABI_NR_LIVES; i++)
		columns[nr++] = (struct grid_column){.name = names[i],
						     .unit = "B",
						     .kind = GRID_AMOUNT,
						     .audience = GRID_ONLY_MACHINES};
	for (size_t i = 0; i < PERF_ABI_NR_LIVES; i++)
		columns[nr++] = (struct grid_column){.name = headers[i],
						     .unit = "%",
						     .kind = GRID_PERCENT,
						     .audience = GRID_ONLY_PEOPLE,
						     .leaves = 3};
	columns[nr++] = (struct grid_column){
	    .name = "object", .kind = GRID_TEXT, .audience = GRID_ALL, .leaves = 4};
	columns[nr++] = (struct grid_column){.name = "function", .kind = GRID_TEXT};
	return reports_grid(l->j, columns, nr);
}

static void put_amount(const struct lives *l, struct grid *g, const struct report_weight *w)
{
	const struct interval i = reports_estimate(w, 0);

	if (w->weight || l->j->output->form != GRID_PEOPLE)
		grid_estimate(g, 1, &i);
	else
		grid_none(g);
}

static double part_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void put_line(const struct lives *l, const struct line *line, struct grid *g)
{
	const uint64_t all = line->all.weight;

	grid_row(g);
	grid_percent(g, part_of(line->brief.weight, l->total.all.weight));
	put_amount(l, g, &line->brief);
	put_amount(l, g, &line->all);
	grid_count(g, line->all.samples);
	for (size_t i = 0; i < PERF_ABI_NR_LIVES; i++)
		grid_count(g, line->lived[i]);
	for (size_t i = 0; i < PERF_ABI_NR_LIVES; i++)
		if (line->lived[i])
			grid_percent(g, part_of(line->lived[i], all));
		else
			grid_none(g);
	grid_text(g, line->function ? line->function->object : "");
	grid_text(g, name_of(line));
}

/* "lifetimes: freed 3.000 MB in 400 calls, of which 58.2 % lived less than 1 ms" */
static void put_heading(const struct lives *l)
{
	BUF_AUTO(line, LINE_BYTES);

	buf_printf(&line, "lifetimes: freed %s", HUMAN((double)l->total.all.weight, "B"));
	if (!l->total.all.random)
		buf_printf(&line, " in %s calls", COMMAS(l->total.all.samples));
	buf_printf(&line, ", of which %s %% lived less than 1 ms",
		   DECIMAL(100 * part_of(l->total.brief.weight, l->total.all.weight), 1));
	buf_addc(&l->j->output->text, '\n');
	reports_headline(l->j, &line);
}

static int put_lines(struct lives *l, struct err *e)
{
	const uint64_t top = reports_top(l->j, TOP);
	struct reports_rest rest = {.nr = 0};
	struct grid *g = make_grid(l);

	for (size_t i = 0; g && i < l->lines.nr; i++)
		if (i < top)
			put_line(l, l->sorted[i], g);
		else
			reports_rest_add(&rest, &l->sorted[i]->all, true, false);
	if (g)
		reports_rest_put(l->j, &rest, NULL, g);
	return reports_end(l->j, g, g ? 0 : -ENOMEM, e);
}

static int report(struct job *j, bool is_part, struct err *e)
{
	struct lives l = {.j = j};
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = add_entry, .arg = &l};
	int rc;

	dict_init(&l.lines, sizeof(struct line), sizeof(const struct report_function *), DICT_MAX);
	rc = samples_read(j, j->first, j->nr, &sink, &l.stats, e);
	if (rc == 0 && sort(&l))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && l.lines.nr && j->output->form == GRID_PEOPLE)
		put_heading(&l);
	else if (rc == 0 && !is_part && !l.lines.nr)
		reports_nothing(j, &l.stats, "samples of heap:lifetime");
	if (rc == 0 && (l.lines.nr || j->output->form != GRID_PEOPLE))
		rc = put_lines(&l, e);
	else if (rc == 0)
		rc = output_flush(j->output, e);
	report_stats_fini(&l.stats);
	dict_fini(&l.lines);
	mem_free(l.sorted);
	return rc;
}

int reports_lifetimes(struct job *j, struct err *e)
{
	return report(j, false, e);
}

static bool has_lifetimes(const struct profile_facts *f)
{
	return ARRAY_ANY(ev, f->events, f->nr_events,
			 strcmp(ev->group, "heap") == 0 && strcmp(ev->name, "lifetime") == 0 &&
			     (ev->rate || ev->frequency));
}

int reports_heap_lives(struct job *j, struct err *e)
{
	if (j->output->form != GRID_PEOPLE || j->selection->rows ||
	    !has_lifetimes(job_input(j)->facts))
		return 0;
	return report(j, true, e);
}
