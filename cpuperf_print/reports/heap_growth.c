/*
 * The report heap with --diff: what was live, or allocated, on both sides, by the stack that
 * allocated it; what grew most first. Between two dumps of a session that is a leak's place.
 */
#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "numbers.h"
#include "report/functions.h"
#include "report/own.h"
#include "report/stacks.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 25, LINE_BYTES = 1024, MAX_PATH_BYTES = 1 << 20, CELL_BYTES = 64 };
enum { WAS, IS };

/* By default the first of them that was sampled is compared. */
static const char *const names[] = {"live",  "leaked",    "resident", "peak",     "allocated",
				    "freed", "temporary", "overhead", "untouched"};

struct line {
	uint32_t event, stack; /* the key */
	struct report_weight side[2];
};

struct growth {
	struct job *j;
	struct report_stacks *stacks;
	struct report_stats stats[2];
	struct dict lines;
	struct line **sorted; /* owned; of the event */
	size_t nr_sorted;
	int side;
	struct buf path;
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct growth *g = arg;
	struct line key = {.event = e->key.event}, *line;
	size_t own = report_own_frame(e->frames, e->nr_frames, false);
	int rc = report_stacks_add(g->stacks, e->frames + own, e->nr_frames - own, &key.stack);

	line = rc ? NULL : dict_get(&g->lines, &key);
	if (!line)
		return -ENOMEM;
	report_weight_add(&line->side[g->side], &e->weight);
	return 0;
}

static int read_side(struct growth *g, int side, struct err *e)
{
	const struct inputs *in = g->j->inputs;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = add_entry, .arg = g};

	g->side = side;
	return samples_read(g->j, side == IS ? 0 : in->nr, side == IS ? in->nr : in->nr_diff, &sink,
			    &g->stats[side], e);
}

/* The function that allocates. */
static const struct report_function *function_of(const struct growth *g, uint32_t stack)
{
	return stack == REPORT_NO_STACK ? NULL : report_stacks_at(g->stacks, stack)->frame.function;
}

static const char *name_of(const struct growth *g, uint32_t stack)
{
	const struct report_function *f = function_of(g, stack);

	return f ? f->name : "";
}

static int64_t change_of(const struct line *line)
{
	return (int64_t)(line->side[IS].weight - line->side[WAS].weight);
}

static uint64_t size_of_change(const struct line *line)
{
	int64_t change = change_of(line);

	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

/* At most: blocks that are live on both sides are the same samples. 0: it is exact. */
static double half_of(const struct line *line)
{
	return 1.96 * sqrt(line->side[IS].squares + line->side[WAS].squares);
}

static int compare(const void *a, const void *b, void *growth)
{
	const struct line *const *x = a, *const *y = b;
	const struct growth *g = growth;

	return order_u64(size_of_change(*y), size_of_change(*x))
		   ?: order_u64((*y)->side[IS].weight, (*x)->side[IS].weight)
		   ?: strcmp(name_of(g, (*x)->stack), name_of(g, (*y)->stack))
		   ?: order_u64((*x)->stack, (*y)->stack);
}

static int sort(struct growth *g, uint32_t event)
{
	g->nr_sorted = 0;
	mem_free(g->sorted);
	g->sorted = mem_calloc(g->lines.nr + 1, sizeof(*g->sorted));
	if (!g->sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->lines.nr; i++) {
		struct line *line = dict_at(&g->lines, i);

		if (line->event == event)
			g->sorted[g->nr_sorted++] = line;
	}
	qsort_r(g->sorted, g->nr_sorted, sizeof(*g->sorted), compare, g);
	return 0;
}

/* "+1.500 MB ± 20.00 kB" */
static const char *change_text(char text[CELL_BYTES], int64_t change, double half)
{
	int nr = snprintf(text, CELL_BYTES, "%s%s",
			  change > 0   ? "+"
			  : change < 0 ? "-"
				       : "",
			  HUMAN(fabs((double)change), "B"));

	if (half > 0)
		snprintf(text + nr, CELL_BYTES - (size_t)nr, " ± %s", HUMAN(half, "B"));
	return text;
}

/* People read from the place of the allocation to its callers, programs the other way. */
static const char *path_of(struct growth *g, uint32_t stack)
{
	const bool is_text = g->j->output->form == GRID_PEOPLE;
	const size_t depth =
	    stack == REPORT_NO_STACK ? 0 : report_stacks_at(g->stacks, stack)->depth;
	MEM_AUTO const char **functions = mem_calloc(depth + 1, sizeof(*functions));
	size_t nr = 0;

	buf_reset(&g->path);
	for (; functions && stack != REPORT_NO_STACK;
	     stack = report_stacks_at(g->stacks, stack)->parent)
		functions[nr++] = name_of(g, stack);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&g->path, "%s%s", i ? is_text ? " < " : ";" : "",
			   functions[is_text ? i : nr - 1 - i]);
	return buf_str(&g->path);
}

static struct grid *make_grid(const struct growth *g, bool is_exact)
{
	const enum grid_audience calls = is_exact ? GRID_ALL : GRID_ONLY_MACHINES;
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES, 0},
	    {"growth_text", "change", NULL, GRID_TEXT, GRID_ONLY_PEOPLE, 0},
	    {"change", NULL, "B", GRID_INTEGER, GRID_ONLY_MACHINES, 0},
	    {"change_half", NULL, "B", GRID_REAL, GRID_ONLY_MACHINES, 0},
	    {"is", "now", "B", GRID_AMOUNT, GRID_ALL, 2},
	    {"is_samples", "calls", NULL, GRID_COUNT, calls, 1},
	    {"was", "before", "B", GRID_AMOUNT, GRID_ALL, 2},
	    {"was_samples", "calls", NULL, GRID_COUNT, calls, 1},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES, 0},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES, 0},
	    {"stack", "allocated by < its callers", NULL, GRID_TEXT, GRID_ALL, 0},
	};

	return reports_grid(g->j, columns, ARRAY_NR(columns));
}

static void put_amount(struct grid *grid, const struct growth *g, uint64_t amount)
{
	if (amount || g->j->output->form != GRID_PEOPLE)
		grid_count(grid, amount);
	else
		grid_none(grid);
}

static void put_line(struct growth *g, struct grid *grid, const struct line *line)
{
	const struct report_function *f = function_of(g, line->stack);
	char text[CELL_BYTES];

	grid_row(grid);
	grid_text(grid, job_event(g->j, line->event)->label);
	grid_text(grid, change_text(text, change_of(line), half_of(line)));
	grid_integer(grid, change_of(line));
	grid_real(grid, half_of(line));
	put_amount(grid, g, line->side[IS].weight);
	put_amount(grid, g, line->side[IS].samples);
	put_amount(grid, g, line->side[WAS].weight);
	put_amount(grid, g, line->side[WAS].samples);
	grid_text(grid, f ? f->name : "");
	grid_text(grid, f ? f->object : "");
	grid_text(grid, path_of(g, line->stack));
}

static const struct report_weight *all_of(const struct growth *g, int side, uint32_t event)
{
	return &g->stats[side].event[event].counted;
}

static const char *side_text(const struct growth *g, int side, uint32_t event)
{
	return g->stats[side].event[event].is_of_last ? " (the last iteration)" : "";
}

/* "live: 3.000 MB now, 1.000 MB before; 2 stacks grew by 2.500 MB, 1 became less by 500.0 kB" */
static void put_heading(struct growth *g, uint32_t event)
{
	BUF_AUTO(line, LINE_BYTES);
	uint64_t by[2] = {0, 0};
	size_t nr[2] = {0, 0};

	if (g->j->output->form != GRID_PEOPLE)
		return;
	for (size_t i = 0; i < g->nr_sorted; i++) {
		int64_t change = change_of(g->sorted[i]);

		nr[change > 0] += change != 0;
		by[change > 0] += size_of_change(g->sorted[i]);
	}
	buf_printf(&line, "%s: %s now%s, ", job_event(g->j, event)->label,
		   HUMAN((double)all_of(g, IS, event)->weight, "B"), side_text(g, IS, event));
	buf_printf(&line, "%s before%s; ", HUMAN((double)all_of(g, WAS, event)->weight, "B"),
		   side_text(g, WAS, event));
	buf_printf(&line, "%zu %s more by %s, ", nr[1], nr[1] == 1 ? "stack has" : "stacks have",
		   HUMAN((double)by[1], "B"));
	buf_printf(&line, "%zu less by %s", nr[0], HUMAN((double)by[0], "B"));
	buf_addc(&g->j->output->text, '\n');
	reports_headline(g->j, &line);
}

/* What did not change is omitted, unless all rows are wanted. */
static void put_lines(struct growth *g, struct grid *grid)
{
	const uint64_t top = reports_top(g->j, TOP);
	struct reports_rest rest = {.nr = 0};

	for (size_t i = 0; i < g->nr_sorted; i++)
		if (i < top && (change_of(g->sorted[i]) != 0 || g->j->output->form != GRID_PEOPLE ||
				g->j->selection->top == 0))
			put_line(g, grid, g->sorted[i]);
		else
			reports_rest_add(&rest, &(struct report_weight){0}, true, false);
	reports_rest_put(g->j, &rest, NULL, grid);
}

static bool is_compared(const struct growth *g, uint32_t event, const char *name)
{
	const struct trace_event *ev = job_event(g->j, event);

	return strcmp(ev->group, "heap") == 0 && (ev->rate || ev->frequency) &&
	       strcmp(ev->name, name) == 0 &&
	       (all_of(g, IS, event)->samples || all_of(g, WAS, event)->samples);
}

/* In csv and ndjson the events are one table. */
static int put_events(struct growth *g, struct err *e)
{
	const bool is_text = g->j->output->form == GRID_PEOPLE;
	const uint32_t nr = (uint32_t)job_input(g->j)->facts->nr_events;
	struct grid *grid = NULL;
	bool is_any = false;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(names) && rc == 0; i++)
		for (uint32_t k = 0; k < nr && rc == 0; k++) {
			if (!is_compared(g, k, names[i]) ||
			    (is_any && !g->j->selection->filter.events.nr))
				continue;
			is_any = true;
			rc = sort(g, k);
			grid = grid ? grid : make_grid(g, !all_of(g, IS, k)->random);
			if (rc || !grid) {
				rc = -ENOMEM;
				break;
			}
			put_heading(g, k);
			put_lines(g, grid);
			if (is_text) {
				reports_stack_notes(g->j, &g->stats[IS], grid);
				rc = reports_end(g->j, grid, 0, e);
				grid = NULL;
			}
		}
	if (!is_any)
		reports_nothing(g->j, &g->stats[IS], "samples of the heap");
	if (rc == 0 && !is_text) {
		grid = grid ? grid : make_grid(g, true);
		return grid ? reports_end(g->j, grid, 0, e) : err_set(e, -ENOMEM, "out of memory");
	}
	grid_free(grid);
	return rc && !e->code ? err_set(e, rc, "out of memory") : rc;
}

int reports_heap_growth(struct job *j, struct err *e)
{
	struct growth g = {.j = j, .stacks = report_stacks_new()};
	int rc = g.stacks ? 0 : err_set(e, -ENOMEM, "out of memory");

	dict_init(&g.lines, sizeof(struct line), DICT_KEY(struct line, stack), DICT_MAX);
	buf_init(&g.path, MAX_PATH_BYTES);
	if (rc == 0)
		rc = read_side(&g, IS, e) ?: read_side(&g, WAS, e) ?: put_events(&g, e);
	for (int side = WAS; side <= IS; side++)
		report_stats_fini(&g.stats[side]);
	report_stacks_free(g.stacks);
	dict_fini(&g.lines);
	buf_fini(&g.path);
	mem_free(g.sorted);
	return rc;
}
