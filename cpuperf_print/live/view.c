/*
 * Both spans are added up by row. With a filter, and for calls, the stacks are passed to the sink
 * of a report, so that its numbers are those of the report.
 */
#include "live/view.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "live/follow.h"
#include "report/calls.h"
#include "report/functions.h"
#include "report/kept.h"
#include "report/sums.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 16 << 20 };
enum { THREAD_COLUMNS = 1 << REPORT_PID | 1 << REPORT_TID | 1 << REPORT_COMM };

struct row {
	uint32_t number, more, kind; /* the key */
	struct report_weight self[TOP_NR_SPANS], total[TOP_NR_SPANS];
	/* Of a command, process or thread: its name and numbers. */
	uint32_t comm, pid, tid;
	bool is_named, is_main; /* by its main thread */
	uint64_t most;          /* samples of that name */
};

/* What passes the filter, on its way to a report. */
struct selected {
	struct view *v;
	const struct top_question *q;
	enum top_span span;
	const struct report_sink *to;
};

static int select_entry(void *arg, const struct report_entry *e)
{
	struct selected *s = arg;
	const struct report_key *k = &e->key;
	const unsigned parts = s->to->parts; /* the others are 0 for it */
	struct report_entry own = *e;

	if (k->event != s->q->event ||
	    !live_filter_has(&s->v->filter, k->pid, k->tid, k->cpu,
			     report_functions_text(s->v->functions, k->comm)))
		return 0;
	report_weight_add(&s->v->all[s->span], &e->weight);
	own.key = (struct report_key){.event = k->event,
				      .pid = parts & REPORT_BY_PID ? k->pid : 0,
				      .tid = parts & REPORT_BY_TID ? k->tid : 0,
				      .thread = parts & REPORT_BY_TID ? k->thread : 0,
				      .comm = parts & REPORT_BY_COMM ? k->comm : 0};
	return s->to->entry(s->to->arg, &own);
}

static int pass(struct view *v, const struct top_question *q, enum top_span span, uint32_t from,
		const struct report_sink *to)
{
	struct selected s = {.v = v, .q = q, .span = span, .to = to};
	const struct report_sink sink = {.takes_maxima = true, .entry = select_entry, .arg = &s};

	return report_kept_pass(v->follow->kept, from, &sink);
}

static struct row *get_row(struct view *v, uint32_t number, uint32_t more, enum top_kind kind)
{
	const struct row key = {.number = number, .more = more, .kind = kind};

	return dict_get(&v->rows, &key);
}

/* --- functions, commands, processes, threads ---------------------------------------------------
 */

/* What a row stands for; commands and processes are sums of threads. */
static const struct {
	enum report_column number, more;
} keys[TOP_NR_VIEWS] = {
    [TOP_FUNCTIONS] = {REPORT_FUNCTION, REPORT_FUNCTION},
    [TOP_COMMANDS] = {REPORT_COMM, REPORT_COMM},
    [TOP_PROCESSES] = {REPORT_PID, REPORT_PID},
    [TOP_THREADS] = {REPORT_TID, REPORT_COMM},
};

/* By the main thread, else by another one, as most samples have it. */
static void set_name(struct row *row, const struct report_flat_row *r)
{
	const bool is_main = r->column[REPORT_TID] == r->column[REPORT_PID];

	if (row->is_named &&
	    (row->is_main > is_main || (row->is_main == is_main && row->most >= r->self.samples)))
		return;
	row->comm = r->column[REPORT_COMM];
	row->pid = r->column[REPORT_PID];
	row->tid = r->column[REPORT_TID];
	row->most = r->self.samples;
	row->is_named = true;
	row->is_main = is_main;
}

static int add_flat(struct view *v, const struct top_question *q, enum top_span span,
		    const struct report_flat_row *r)
{
	struct row *row;

	if (r->column[REPORT_EVENT] != q->event)
		return 0;
	row =
	    get_row(v, r->column[keys[q->view].number], r->column[keys[q->view].more], TOP_SUBJECT);
	if (!row)
		return -ENOMEM;
	report_weight_add(&row->self[span], &r->self);
	report_weight_add(&row->total[span], &r->total);
	set_name(row, r);
	if (!*q->filter)
		report_weight_add(&v->all[span], &r->self);
	return 0;
}

static int add_rows(struct view *v, const struct top_question *q, enum top_span span,
		    const struct report_flat_row *rows, size_t nr)
{
	return ARRAY_RUN(i, nr, add_flat(v, q, span, &rows[i]));
}

static int make_selected(struct view *v, const struct top_question *q, enum top_span span,
			 uint32_t from)
{
	const bool by_function = q->view == TOP_FUNCTIONS;
	struct report_flat *flat = report_flat_new(
	    v->functions, by_function ? 1 << REPORT_FUNCTION : THREAD_COLUMNS, by_function);
	const struct report_flat_row *rows = NULL;
	size_t nr = 0;
	int rc = flat ? pass(v, q, span, from, report_flat_sink(flat)) : -ENOMEM;

	if (rc == 0) {
		rows = report_flat_rows(flat, &nr);
		rc = rows ? add_rows(v, q, span, rows, nr) : -ENOMEM;
	}
	report_flat_free(flat);
	return rc;
}

/* Without a filter all is added up already. */
static int make_flat(struct view *v, const struct top_question *q, enum top_span span,
		     uint32_t from)
{
	const struct follow *f = v->follow;
	const struct report_flat_row *rows;
	size_t nr;

	if (*q->filter)
		return make_selected(v, q, span, from);
	return report_sums_rows(q->view == TOP_FUNCTIONS ? f->by_function : f->by_thread, from,
				&rows, &nr)
		   ?: add_rows(v, q, span, rows, nr);
}

/* --- the calls of a function -------------------------------------------------------------------
 */

static int add_calls(struct view *v, enum top_span span, enum top_kind kind,
		     const struct report_call *calls, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct row *row =
		    get_row(v, kind == TOP_CALLER ? calls[i].caller : calls[i].callee, 0, kind);

		if (!row)
			return -ENOMEM;
		report_weight_add(&row->total[span], &calls[i].weight);
	}
	return 0;
}

static int add_subject(struct view *v, const struct top_question *q, enum top_span span,
		       const struct report_calls *c)
{
	struct row *row = get_row(v, (uint32_t)q->focus, 0, TOP_SUBJECT);
	size_t nr;
	const struct report_flat_row *rows = report_calls_rows(c, &nr);

	for (size_t i = 0; i < nr && row; i++) {
		if (rows[i].column[REPORT_FUNCTION] != (uint32_t)q->focus)
			continue;
		report_weight_add(&row->self[span], &rows[i].self);
		report_weight_add(&row->total[span], &rows[i].total);
	}
	return row ? 0 : -ENOMEM;
}

static int make_calls(struct view *v, const struct top_question *q, enum top_span span,
		      uint32_t from)
{
	struct report_calls *c = report_calls_new(v->functions);
	const struct report_call *calls;
	size_t nr;
	int rc =
	    c ? pass(v, q, span, from, report_calls_sink(c)) ?: report_calls_finish(c) : -ENOMEM;

	rc = rc ?: add_subject(v, q, span, c);
	if (rc == 0) {
		calls = report_calls_to(c, q->event, (uint32_t)q->focus, &nr);
		rc = add_calls(v, span, TOP_CALLER, calls, nr);
	}
	if (rc == 0) {
		calls = report_calls_from(c, q->event, (uint32_t)q->focus, &nr);
		rc = add_calls(v, span, TOP_CALLEE, calls, nr);
	}
	report_calls_free(c);
	return rc;
}

/* --- rows of both spans ------------------------------------------------------------------------
 */

static void reset(struct view *v)
{
	dict_fini(&v->rows);
	dict_init(&v->rows, sizeof(struct row), DICT_KEY(struct row, kind), DICT_MAX);
	memset(v->all, 0, sizeof(v->all));
	arena_fini(&v->names);
	arena_init(&v->names, MAX_NAMES_BYTES);
	mem_free(v->shown);
	v->shown = NULL;
	v->nr = 0;
}

static int name_row(struct view *v, const struct top_question *q, const struct row *row,
		    struct top_row *to)
{
	const char *comm;

	if (q->view == TOP_FUNCTIONS || q->focus != TOP_NO_FUNCTION) {
		const struct report_function *f = report_functions_at(v->functions, row->number);

		to->name = reports_function_name(f);
		to->object = f->object;
		return 0;
	}
	to->name = comm = report_functions_text(v->functions, row->comm);
	to->object = q->view == TOP_COMMANDS ? "" : comm;
	if (q->view == TOP_PROCESSES)
		to->name = arena_printf(&v->names, "%s (%" PRIu32 ")", comm, row->pid);
	if (q->view == TOP_THREADS)
		to->name = arena_printf(&v->names, "%s (%" PRIu32 "/%" PRIu32 ")", comm, row->pid,
					row->tid);
	return to->name ? 0 : -ENOMEM;
}

static struct top_share share_of(const struct report_weight *part, const struct report_weight *all)
{
	struct interval i = reports_share_of(part, all);

	return (struct top_share){
	    .is_known = all->samples > 0, .part = i.share, .half = interval_half(&i)};
}

static int finish_row(struct view *v, const struct top_question *q, const struct row *row,
		      struct top_row *to)
{
	to->number = row->number;
	to->kind = (enum top_kind)row->kind;
	for (enum top_span span = 0; span < TOP_NR_SPANS; span++) {
		to->total[span] = share_of(&row->total[span], &v->all[span]);
		if (row->kind != TOP_SUBJECT)
			continue;
		to->self[span] = share_of(&row->self[span], &v->all[span]);
		to->samples[span] = row->self[span].samples;
	}
	return name_row(v, q, row, to);
}

static int finish(struct view *v, const struct top_question *q)
{
	const struct row *rows = v->rows.items;

	v->shown = mem_calloc(v->rows.nr + 1, sizeof(*v->shown));
	if (!v->shown)
		return -ENOMEM;
	v->nr = v->rows.nr;
	return ARRAY_RUN(i, v->nr, finish_row(v, q, &rows[i], &v->shown[i]));
}

int view_make(struct view *v, const struct top_question *q, uint32_t recent_from)
{
	const uint32_t from[TOP_NR_SPANS] = {[TOP_RECENT] = recent_from, [TOP_ALL] = 0};
	int rc = 0;

	reset(v);
	for (enum top_span span = 0; span < TOP_NR_SPANS && rc == 0; span++)
		rc = q->focus == TOP_NO_FUNCTION ? make_flat(v, q, span, from[span])
						 : make_calls(v, q, span, from[span]);
	return rc ?: finish(v, q);
}

void view_fini(struct view *v)
{
	dict_fini(&v->rows);
	arena_fini(&v->names);
	mem_free(v->shown);
}
