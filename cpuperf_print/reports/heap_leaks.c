/*
 * What follows the rows of the heap, where leaks were sampled: who lost them. The function that
 * allocates is often one that others call; its caller knows what the memory is for.
 */
#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/own.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 5, PLACE_BYTES = 512 };

/* A function, and the line in it. */
struct place {
	const struct report_function *function; /* NULL: there is none */
	const char *file;                       /* NULL: unknown */
	uint64_t line;
};

struct leak {
	struct place place[2]; /* the key: what allocates, its caller */
	struct report_weight weight;
};

struct leaks {
	struct job *j;
	struct dict list;
	struct leak **sorted; /* owned */
	struct report_stats stats;
};

static bool is_leaked(const struct trace_event *ev)
{
	return strcmp(ev->group, "heap") == 0 && strcmp(ev->name, "leaked") == 0;
}

static struct place place_of(const struct report_frame *f)
{
	return (struct place){.function = f->function, .file = f->file, .line = f->line};
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct leaks *l = arg;
	const size_t own = report_own_frame(e->frames, e->nr_frames, false);
	struct leak key = {.place = {{.function = NULL}}}, *leak;

	if (!is_leaked(job_event(l->j, e->key.event)) || !e->nr_frames)
		return 0;
	key.place[0] = place_of(&e->frames[own]);
	if (own + 1 < e->nr_frames)
		key.place[1] = place_of(&e->frames[own + 1]);
	leak = dict_get(&l->list, &key);
	if (!leak)
		return -ENOMEM;
	report_weight_add(&leak->weight, &e->weight);
	return 0;
}

static const char *name_of(const struct place *p)
{
	return p->function ? p->function->name : "";
}

static int compare(const void *a, const void *b)
{
	const struct leak *x = *(const struct leak *const *)a;
	const struct leak *y = *(const struct leak *const *)b;

	return order_u64(y->weight.weight, x->weight.weight)
		   ?: strcmp(name_of(&x->place[0]), name_of(&y->place[0]))
		   ?: strcmp(name_of(&x->place[1]), name_of(&y->place[1]))
		   ?: order_u64(x->place[1].line, y->place[1].line)
		   ?: order_u64(x->place[0].line, y->place[0].line);
}

static int sort(struct leaks *l)
{
	l->sorted = dict_pointers(&l->list);
	if (l->sorted)
		qsort(l->sorted, l->list.nr, sizeof(struct leak *), compare);
	return l->sorted ? 0 : -ENOMEM;
}

/* "make leak.c:3" */
static void put_place(struct grid *g, const struct place *p)
{
	const char *slash = p->file ? strrchr(p->file, '/') : NULL;
	char text[PLACE_BYTES];

	if (p->file && p->line)
		snprintf(text, sizeof(text), "%s %s:%llu", name_of(p), slash ? slash + 1 : p->file,
			 (unsigned long long)p->line);
	else
		snprintf(text, sizeof(text), "%s", name_of(p));
	grid_text(g, text);
}

static int put_lines(struct leaks *l, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"leaked", NULL, "B", GRID_ESTIMATE, GRID_ALL},
	    {"called from", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"allocated in", NULL, NULL, GRID_TEXT, GRID_ALL}};
	const uint64_t top = reports_top(l->j, TOP);
	struct reports_rest rest = {.nr = 0};
	struct grid *g = reports_grid(l->j, columns, ARRAY_NR(columns));
	struct report_weight all = {0};

	for (size_t i = 0; i < l->list.nr; i++)
		report_weight_add(&all, &l->sorted[i]->weight);
	for (size_t i = 0; g && i < l->list.nr; i++) {
		const struct leak *leak = l->sorted[i];
		const struct interval bytes = reports_estimate_among(&leak->weight, &all, 0);

		if (i >= top) {
			reports_rest_add(&rest, &leak->weight, true, false);
			continue;
		}
		grid_row(g);
		grid_estimate(g, 1, &bytes);
		put_place(g, &leak->place[1]);
		put_place(g, &leak->place[0]);
	}
	if (g)
		reports_rest_put(l->j, &rest, NULL, g);
	return reports_end(l->j, g, g ? 0 : -ENOMEM, e);
}

static bool are_sampled(const struct profile_facts *f)
{
	return ARRAY_ANY(ev, f->events, f->nr_events, is_leaked(ev) && (ev->rate || ev->frequency));
}

int reports_heap_leaks(struct job *j, struct err *e)
{
	struct leaks l = {.j = j};
	const struct report_sink sink = {
	    .parts = REPORT_BY_STACK | REPORT_BY_LINE, .entry = add_entry, .arg = &l};
	int rc;

	if (j->output->form != GRID_PEOPLE || j->selection->rows || !reports_has_callers(j) ||
	    !are_sampled(job_input(j)->facts))
		return 0;
	dict_init(&l.list, sizeof(struct leak), DICT_KEY(struct leak, place), DICT_MAX);
	rc = samples_read(j, j->first, j->nr, &sink, &l.stats, e);
	if (rc == 0 && sort(&l))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && l.list.nr) {
		buf_addc(&j->output->text, '\n');
		rc = put_lines(&l, e);
	}
	report_stats_fini(&l.stats);
	dict_fini(&l.list);
	mem_free(l.sorted);
	return rc;
}
