/*
 * A list of rows with an index. An entry counts once in the total of a row, however often the row
 * is in its stack: the row stores the last entry that counted it.
 */
#include "report/flat.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"
#include "report/own.h"
#include "report/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const report_column_names[REPORT_NR_COLUMNS] = {
    [REPORT_FUNCTION] = "function",
    [REPORT_OBJECT] = "object",
    [REPORT_COMM] = "comm",
    [REPORT_PID] = "pid",
    [REPORT_TID] = "tid",
    [REPORT_CPU] = "cpu",
    [REPORT_CMDLINE] = "cmdline",
    [REPORT_LINE] = "line",
    [REPORT_ITERATION] = "iteration",
    [REPORT_EVENT] = "event",
    [REPORT_SESSION] = "session",
    [REPORT_HOST] = "host",
    [REPORT_RANK] = "rank",
    [REPORT_THREAD] = "thread",
    [REPORT_STATE] = "state",
    [REPORT_REASON] = "reason",
    [REPORT_WAKER] = "waker",
    [REPORT_WAKER_FUNCTION] = "waker_function",
    [REPORT_REGION] = "region",
};

/* The parts of an entry's key that a column needs. */
static const unsigned parts_of[REPORT_NR_COLUMNS] = {
    [REPORT_CMDLINE] = REPORT_BY_CMDLINE,
    [REPORT_COMM] = REPORT_BY_COMM,
    [REPORT_PID] = REPORT_BY_PID,
    [REPORT_TID] = REPORT_BY_TID,
    [REPORT_THREAD] = REPORT_BY_TID,
    [REPORT_CPU] = REPORT_BY_CPU,
    [REPORT_LINE] = REPORT_BY_LINE,
    [REPORT_ITERATION] = REPORT_BY_ITERATION,
    [REPORT_SESSION] = REPORT_BY_SESSION,
    [REPORT_HOST] = REPORT_BY_HOST,
    [REPORT_RANK] = REPORT_BY_HOST,
    [REPORT_STATE] = REPORT_BY_STATE,
    [REPORT_REASON] = REPORT_BY_STATE | REPORT_BY_REASON | REPORT_BY_STACK,
    [REPORT_WAKER] = REPORT_BY_WAKER | REPORT_BY_STACK,
    [REPORT_WAKER_FUNCTION] = REPORT_BY_WAKER | REPORT_BY_STACK,
    [REPORT_REGION] = REPORT_BY_REGION,
};

enum { FRAME_COLUMNS = 1 << REPORT_FUNCTION | 1 << REPORT_OBJECT | 1 << REPORT_LINE };

/* The key is the columns and the file. */
struct row {
	struct report_flat_row shown;
	uint64_t counted; /* the entry that counted it last */
};

enum { NR_GUESSES = 4096, KEY_BYTES = DICT_KEY(struct report_flat_row, file) };

struct report_flat {
	struct report_functions *functions;
	unsigned columns;
	struct report_sink sink;
	uint32_t guess[NR_GUESSES];
	struct dict rows; /* struct row */
	bool is_in_program, only_waits;
	uint64_t nr_entries;
	const char *file; /* the last one, and its number */
	uint32_t file_number;
	struct report_flat_row *sorted; /* owned */
};

static bool has(const struct report_flat *f, enum report_column column)
{
	return f->columns >> column & 1;
}

/* 0 or -ENOMEM. */
static int set_file(struct report_flat *f, struct report_flat_row *k, const char *file)
{
	k->file = UINT32_MAX;
	if (!file)
		return 0;
	if (file != f->file) {
		f->file_number = report_functions_text_number(f->functions, file);
		f->file = f->file_number == UINT32_MAX ? NULL : file;
	}
	k->file = f->file_number;
	return f->file ? 0 : -ENOMEM;
}

/* The row of a frame; the other columns of k are set. NULL: no memory. */
static struct row *get(struct report_flat *f, struct report_flat_row *k,
		       const struct report_frame *frame)
{
	uint32_t *guess; /* the row that the function had last */

	if (has(f, REPORT_FUNCTION))
		k->column[REPORT_FUNCTION] = frame->function->number;
	if (has(f, REPORT_OBJECT))
		k->column[REPORT_OBJECT] = frame->function->object_number;
	if (has(f, REPORT_LINE)) {
		k->column[REPORT_LINE] = frame->line;
		if (set_file(f, k, frame->file))
			return NULL;
	}
	guess = &f->guess[k->column[REPORT_FUNCTION] % NR_GUESSES];
	if (*guess >= f->rows.nr || memcmp(dict_at(&f->rows, *guess), k, KEY_BYTES) != 0)
		*guess = dict_add(&f->rows, k);
	return dict_at(&f->rows, *guess);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_flat *f = arg;
	struct report_flat_row k = {
	    .column = {[REPORT_COMM] = e->key.comm,
		       [REPORT_CMDLINE] = e->key.cmdline,
		       [REPORT_PID] = e->key.pid,
		       /* one part has both */
		       [REPORT_TID] = has(f, REPORT_TID) ? e->key.tid : 0,
		       [REPORT_THREAD] = has(f, REPORT_THREAD) ? e->key.thread : 0,
		       [REPORT_CPU] = e->key.cpu,
		       [REPORT_ITERATION] = e->key.iteration,
		       [REPORT_STATE] = e->key.state,
		       [REPORT_REASON] = e->key.reason,
		       [REPORT_WAKER] = e->key.waker,
		       [REPORT_WAKER_FUNCTION] = e->key.waker_function,
		       [REPORT_REGION] = e->key.region,
		       [REPORT_EVENT] = e->key.event,
		       [REPORT_SESSION] = e->key.session,
		       [REPORT_HOST] = has(f, REPORT_HOST) ? e->key.host : 0,
		       [REPORT_RANK] = has(f, REPORT_RANK) ? e->key.rank : 0}};
	size_t nr = f->columns & FRAME_COLUMNS ? e->nr_frames : 1, first = 0;

	if (f->is_in_program && (!f->only_waits || e->key.state > REPORT_ON_CPU))
		first = report_own_frame(e->frames, e->nr_frames, false);
	f->nr_entries++;
	for (size_t i = first; i < nr; i++) {
		struct row *row = get(f, &k, &e->frames[i]);

		if (!row)
			return -ENOMEM;
		if (i == first)
			report_weight_add(&row->shown.self, &e->weight);
		if (row->counted != f->nr_entries)
			report_weight_add(&row->shown.total, &e->weight);
		row->counted = f->nr_entries;
	}
	return 0;
}

struct report_flat *report_flat_new(struct report_functions *functions, unsigned columns,
				    bool with_callers)
{
	struct report_flat *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->functions = functions;
	f->columns = columns;
	dict_init(&f->rows, sizeof(struct row), KEY_BYTES, DICT_MAX);
	f->sink = (struct report_sink){.takes_maxima = true, .entry = add_entry, .arg = f};
	for (size_t i = 0; i < REPORT_NR_COLUMNS; i++)
		f->sink.parts |= has(f, i) ? parts_of[i] : 0;
	if (with_callers && (columns & FRAME_COLUMNS))
		f->sink.parts |= REPORT_BY_STACK;
	f->sink.ignores_frames = !(columns & FRAME_COLUMNS);
	return f;
}

void report_flat_put_in_program(struct report_flat *f, bool only_waits)
{
	if (!(f->columns & FRAME_COLUMNS))
		return;
	f->is_in_program = true;
	f->only_waits = only_waits;
	f->sink.parts |= REPORT_BY_STACK | (only_waits ? REPORT_BY_STATE : 0);
}

void report_flat_free(struct report_flat *f)
{
	if (!f)
		return;
	dict_fini(&f->rows);
	mem_free(f->sorted);
	mem_free(f);
}

const struct report_sink *report_flat_sink(struct report_flat *f)
{
	return &f->sink;
}

size_t report_flat_nr(const struct report_flat *f)
{
	return f->rows.nr;
}

const struct report_flat_row *report_flat_row(const struct report_flat *f, size_t i)
{
	const struct row *rows = f->rows.items;

	return &rows[i].shown;
}

/* A number of report_functions_text; UINT32_MAX (unknown) comes first. */
static int compare_texts(const struct report_functions *f, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	if (a == UINT32_MAX || b == UINT32_MAX)
		return a == UINT32_MAX ? -1 : 1;
	return strcmp(report_functions_text(f, a), report_functions_text(f, b));
}

/* Orders rows of equal weight by texts and recorded numbers, since interned numbers are arbitrary.
 */
static int compare_columns(const struct report_functions *f, const struct report_flat_row *a,
			   const struct report_flat_row *b)
{
	static const enum report_column numbers[] = {REPORT_SESSION, REPORT_ITERATION, REPORT_CPU,
						     REPORT_PID,     REPORT_TID,       REPORT_LINE,
						     REPORT_STATE,   REPORT_THREAD,    REPORT_RANK};
	const uint32_t *x = a->column, *y = b->column;
	int order = x[REPORT_FUNCTION] == y[REPORT_FUNCTION]
			? 0
			: report_function_compare(report_functions_at(f, x[REPORT_FUNCTION]),
						  report_functions_at(f, y[REPORT_FUNCTION]));

	order = order ?: compare_texts(f, x[REPORT_HOST], y[REPORT_HOST])
		      ?: compare_texts(f, x[REPORT_OBJECT], y[REPORT_OBJECT])
		      ?: compare_texts(f, x[REPORT_COMM], y[REPORT_COMM])
		      ?: compare_texts(f, x[REPORT_CMDLINE], y[REPORT_CMDLINE])
		      ?: compare_texts(f, x[REPORT_REASON], y[REPORT_REASON])
		      ?: compare_texts(f, x[REPORT_WAKER], y[REPORT_WAKER])
		      ?: compare_texts(f, x[REPORT_WAKER_FUNCTION], y[REPORT_WAKER_FUNCTION])
		      ?: compare_texts(f, x[REPORT_REGION], y[REPORT_REGION])
		      ?: compare_texts(f, a->file, b->file);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !order; i++)
		order = order_u64(x[numbers[i]], y[numbers[i]]);
	return order;
}

static int compare_selfs(const void *x, const void *y, void *functions)
{
	const struct report_flat_row *a = x, *b = y;

	return order_u64(a->column[REPORT_EVENT], b->column[REPORT_EVENT])
		   ?: order_u64(b->self.weight, a->self.weight)
		   ?: order_u64(b->total.weight, a->total.weight)
		   ?: compare_columns(functions, a, b);
}

static int compare_totals(const void *x, const void *y, void *functions)
{
	const struct report_flat_row *a = x, *b = y;

	return order_u64(a->column[REPORT_EVENT], b->column[REPORT_EVENT])
		   ?: order_u64(b->total.weight, a->total.weight)
		   ?: compare_selfs(a, b, functions);
}

static const struct report_flat_row *
sort(struct report_flat *f, int (*compare)(const void *, const void *, void *), size_t *nr)
{
	size_t nr_rows = f->rows.nr;
	struct report_flat_row *sorted = mem_calloc(nr_rows + 1, sizeof(*sorted));
	const struct row *rows = f->rows.items;

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < nr_rows; i++)
		sorted[i] = rows[i].shown;
	qsort_r(sorted, nr_rows, sizeof(*sorted), compare, f->functions);
	mem_free(f->sorted);
	f->sorted = sorted;
	*nr = nr_rows;
	return sorted;
}

const struct report_flat_row *report_flat_rows(struct report_flat *f, size_t *nr)
{
	return sort(f, compare_selfs, nr);
}

const struct report_flat_row *report_flat_rows_by_total(struct report_flat *f, size_t *nr)
{
	return sort(f, compare_totals, nr);
}
