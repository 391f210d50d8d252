/*
 * The last iterations have a flat report each; what older ones had is added up by row.
 */
#include "report/sums.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/mem.h"

#include <errno.h>
#include <stddef.h>

enum { KEY_BYTES = DICT_KEY(struct report_flat_row, file) };

struct last {
	uint32_t iteration;
	struct report_flat *flat; /* owned; NULL: none yet */
};

struct report_sums {
	struct report_functions *functions;
	unsigned columns;
	bool with_callers;
	struct report_sink sink;
	struct last last[REPORT_SUMS_ITERATIONS]; /* by iteration % REPORT_SUMS_ITERATIONS */
	struct report_flat *late; /* owned: of iterations whose place a later one has; NULL */
	struct dict older, made;  /* struct report_flat_row; made: by report_sums_rows */
};

static int merge_row(struct dict *to, const struct report_flat_row *from)
{
	struct report_flat_row *row = dict_get(to, from);

	if (!row)
		return -ENOMEM;
	report_weight_add(&row->self, &from->self);
	report_weight_add(&row->total, &from->total);
	return 0;
}

static int merge(struct dict *to, const struct report_flat_row *rows, size_t nr)
{
	return ARRAY_RUN(i, nr, merge_row(to, &rows[i]));
}

static int merge_flat(struct dict *to, const struct report_flat *flat)
{
	return flat ? ARRAY_RUN(i, report_flat_nr(flat), merge_row(to, report_flat_row(flat, i)))
		    : 0;
}

/* Makes the flat report at *to if there is none. */
static struct report_flat *get_flat(struct report_sums *s, struct report_flat **to)
{
	if (!*to)
		*to = report_flat_new(s->functions, s->columns, s->with_callers);
	return *to;
}

/* The flat report of an iteration; what had its place goes to the older ones. NULL: no memory. */
static struct report_flat *find(struct report_sums *s, uint32_t iteration)
{
	struct last *l = &s->last[iteration % REPORT_SUMS_ITERATIONS];

	if (l->flat && iteration < l->iteration)
		return get_flat(s, &s->late);
	if (l->flat && iteration > l->iteration) {
		if (merge_flat(&s->older, l->flat))
			return NULL;
		report_flat_free(l->flat);
		l->flat = NULL;
	}
	l->iteration = iteration;
	return get_flat(s, &l->flat);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_sums *s = arg;
	struct report_flat *flat = find(s, e->key.iteration);
	const struct report_sink *sink = flat ? report_flat_sink(flat) : NULL;
	const struct report_key *k = &e->key;
	struct report_entry own = *e;

	if (!flat)
		return -ENOMEM;
	own.key = (struct report_key){.event = k->event,
				      .cpu = sink->parts & REPORT_BY_CPU ? k->cpu : 0,
				      .pid = sink->parts & REPORT_BY_PID ? k->pid : 0,
				      .tid = sink->parts & REPORT_BY_TID ? k->tid : 0,
				      .thread = sink->parts & REPORT_BY_TID ? k->thread : 0,
				      .comm = sink->parts & REPORT_BY_COMM ? k->comm : 0};
	return sink->entry(sink->arg, &own);
}

static void init_rows(struct dict *d)
{
	dict_init(d, sizeof(struct report_flat_row), KEY_BYTES, DICT_MAX);
}

struct report_sums *report_sums_new(struct report_functions *functions, unsigned columns,
				    bool with_callers)
{
	struct report_sums *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->functions = functions;
	s->columns = columns;
	s->with_callers = with_callers;
	init_rows(&s->older);
	init_rows(&s->made);
	s->sink = (struct report_sink){.takes_maxima = true, .entry = add_entry, .arg = s};
	if (get_flat(s, &s->late)) {
		s->sink.parts = report_flat_sink(s->late)->parts | REPORT_BY_ITERATION;
		return s;
	}
	report_sums_free(s);
	return NULL;
}

void report_sums_free(struct report_sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < REPORT_SUMS_ITERATIONS; i++)
		report_flat_free(s->last[i].flat);
	report_flat_free(s->late);
	dict_fini(&s->older);
	dict_fini(&s->made);
	mem_free(s);
}

const struct report_sink *report_sums_sink(struct report_sums *s)
{
	return &s->sink;
}

int report_sums_rows(struct report_sums *s, uint32_t from, const struct report_flat_row **rows,
		     size_t *nr)
{
	int rc = 0;

	dict_fini(&s->made);
	init_rows(&s->made);
	if (!from)
		rc = merge(&s->made, s->older.items, s->older.nr) ?: merge_flat(&s->made, s->late);
	for (size_t i = 0; i < REPORT_SUMS_ITERATIONS && rc == 0; i++)
		if (s->last[i].iteration >= from)
			rc = merge_flat(&s->made, s->last[i].flat);
	*rows = s->made.items;
	*nr = s->made.nr;
	return rc;
}
