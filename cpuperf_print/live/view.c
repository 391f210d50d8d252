/*
 * Each span is passed to the sink of a report, so that its numbers are those of the report.
 */
#include "live/view.h"

#include "base/err.h"
#include "base/mem.h"
#include "report/calls.h"
#include "report/functions.h"
#include "report/kept.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 16 << 20 };

/* A row of both spans. */
struct row {
	uint32_t number, more, kind; /* the key */
	struct top_row shown;
};

struct process {
	uint32_t pid; /* the key */
	uint32_t comm;
	bool is_main;
	uint64_t samples; /* of that name */
};

/* What passes the filter, on its way to a report. */
struct selected {
	struct view *v;
	const struct top_question *q;
	const struct report_sink *to;
	struct report_weight all;
};

/* By its main thread, else by another one, as most samples have it. */
static int name_process(struct view *v, const struct report_key *k, uint64_t samples)
{
	const bool is_main = k->tid == k->pid;
	struct process *p = dict_get(&v->processes, &k->pid);

	if (!p)
		return -ENOMEM;
	if (p->is_main > is_main || (p->is_main == is_main && p->samples > samples))
		return 0;
	p->comm = k->comm;
	p->is_main = is_main;
	p->samples = samples;
	return 0;
}

static int select_entry(void *arg, const struct report_entry *e)
{
	struct selected *s = arg;
	const struct report_key *k = &e->key;
	const unsigned parts = s->to->parts; /* the others are 0 for it */
	struct report_entry own;

	if (k->event != s->q->event ||
	    !live_filter_has(&s->v->filter, k->pid, k->tid, k->cpu,
			     report_functions_text(s->v->functions, k->comm)))
		return 0;
	report_weight_add(&s->all, &e->weight);
	if (s->q->view == TOP_PROCESSES && name_process(s->v, k, e->weight.samples))
		return -ENOMEM;
	own = *e;
	own.key = (struct report_key){.event = k->event,
				      .pid = parts & REPORT_BY_PID ? k->pid : 0,
				      .tid = parts & REPORT_BY_TID ? k->tid : 0,
				      .thread = parts & REPORT_BY_TID ? k->thread : 0,
				      .comm = parts & REPORT_BY_COMM ? k->comm : 0};
	return s->to->entry(s->to->arg, &own);
}

static int pass(struct view *v, const struct top_question *q, uint32_t from,
		const struct report_sink *to, struct report_weight *all)
{
	struct selected s = {.v = v, .q = q, .to = to};
	const struct report_sink sink = {.takes_maxima = true, .entry = select_entry, .arg = &s};
	int rc = report_kept_pass(v->kept, from, &sink);

	*all = s.all;
	return rc;
}

static struct top_share share_of(const struct report_weight *part, const struct report_weight *all)
{
	struct interval i = reports_share_of(part, all);

	return (struct top_share){
	    .is_known = all->samples > 0, .part = i.share, .half = interval_half(&i)};
}

static struct top_row *get_row(struct view *v, uint32_t number, uint32_t more, enum top_kind kind)
{
	const struct row key = {.number = number, .more = more, .kind = kind};
	struct row *row = dict_get(&v->rows, &key);

	if (!row)
		return NULL;
	row->shown.number = number;
	row->shown.kind = kind;
	return &row->shown;
}

static void set_function(const struct view *v, struct top_row *row, uint32_t function)
{
	const struct report_function *f = report_functions_at(v->functions, function);

	row->name = f->name;
	row->object = f->object;
}

static void set_shares(struct top_row *row, enum top_span span, const struct report_flat_row *r,
		       const struct report_weight *all)
{
	row->self[span] = share_of(&r->self, all);
	row->total[span] = share_of(&r->total, all);
	row->samples[span] = r->self.samples;
}

/* --- functions, commands, processes, threads ---------------------------------------------------
 */

static const struct {
	unsigned columns;
	enum report_column number; /* what identifies the row, with the name of the thread */
} views[TOP_NR_VIEWS] = {
    [TOP_FUNCTIONS] = {1 << REPORT_FUNCTION, REPORT_FUNCTION},
    [TOP_COMMANDS] = {1 << REPORT_COMM, REPORT_COMM},
    [TOP_PROCESSES] = {1 << REPORT_PID, REPORT_PID},
    [TOP_THREADS] = {1 << REPORT_TID | 1 << REPORT_PID | 1 << REPORT_COMM, REPORT_TID},
};

static const char *process_name(const struct view *v, uint32_t pid)
{
	const struct process *p = dict_at(&v->processes, dict_find(&v->processes, &pid));

	return p ? report_functions_text(v->functions, p->comm) : "";
}

static int name_row(struct view *v, const struct top_question *q, struct top_row *row,
		    const struct report_flat_row *r)
{
	const uint32_t *c = r->column;
	const char *comm = report_functions_text(v->functions, c[REPORT_COMM]);

	row->object = "";
	switch (q->view) {
	case TOP_COMMANDS:
		row->name = comm;
		break;
	case TOP_PROCESSES:
		row->object = process_name(v, c[REPORT_PID]);
		row->name = arena_printf(&v->names, "%s (%" PRIu32 ")", row->object, c[REPORT_PID]);
		break;
	case TOP_THREADS:
		row->name = arena_printf(&v->names, "%s (%" PRIu32 "/%" PRIu32 ")", comm,
					 c[REPORT_PID], c[REPORT_TID]);
		row->object = comm;
		break;
	default:
		set_function(v, row, c[REPORT_FUNCTION]);
	}
	return row->name ? 0 : -ENOMEM;
}

static int add_flat(struct view *v, const struct top_question *q, enum top_span span,
		    const struct report_flat_row *r, const struct report_weight *all)
{
	const bool has_comm = q->view == TOP_THREADS;
	struct top_row *row = get_row(v, r->column[views[q->view].number],
				      has_comm ? r->column[REPORT_COMM] : 0, TOP_SUBJECT);

	if (!row)
		return -ENOMEM;
	set_shares(row, span, r, all);
	return row->name ? 0 : name_row(v, q, row, r);
}

static int make_flat(struct view *v, const struct top_question *q, enum top_span span,
		     uint32_t from)
{
	struct report_flat *flat =
	    report_flat_new(v->functions, views[q->view].columns, q->view == TOP_FUNCTIONS);
	const struct report_flat_row *rows = NULL;
	struct report_weight all;
	size_t nr = 0;
	int rc = flat ? pass(v, q, from, report_flat_sink(flat), &all) : -ENOMEM;

	if (rc == 0) {
		rows = report_flat_rows(flat, &nr);
		rc = rows ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = add_flat(v, q, span, &rows[i], &all);
	report_flat_free(flat);
	return rc;
}

/* --- the calls of a function -------------------------------------------------------------------
 */

static int add_calls(struct view *v, enum top_span span, enum top_kind kind,
		     const struct report_call *calls, size_t nr, const struct report_weight *all)
{
	for (size_t i = 0; i < nr; i++) {
		const uint32_t number = kind == TOP_CALLER ? calls[i].caller : calls[i].callee;
		struct top_row *row = get_row(v, number, 0, kind);

		if (!row)
			return -ENOMEM;
		set_function(v, row, number);
		row->total[span] = share_of(&calls[i].weight, all);
	}
	return 0;
}

static int add_subject(struct view *v, const struct top_question *q, enum top_span span,
		       const struct report_calls *c, const struct report_weight *all)
{
	struct top_row *row = get_row(v, (uint32_t)q->focus, 0, TOP_SUBJECT);
	const struct report_flat_row *rows;
	size_t nr;

	if (!row)
		return -ENOMEM;
	set_function(v, row, (uint32_t)q->focus);
	rows = report_calls_rows(c, &nr);
	for (size_t i = 0; i < nr; i++)
		if (rows[i].column[REPORT_FUNCTION] == (uint32_t)q->focus)
			set_shares(row, span, &rows[i], all);
	return 0;
}

static int make_calls(struct view *v, const struct top_question *q, enum top_span span,
		      uint32_t from)
{
	struct report_calls *c = report_calls_new(v->functions);
	const uint32_t focus = (uint32_t)q->focus;
	const struct report_call *calls;
	struct report_weight all;
	size_t nr;
	int rc =
	    c ? pass(v, q, from, report_calls_sink(c), &all) ?: report_calls_finish(c) : -ENOMEM;

	rc = rc ?: add_subject(v, q, span, c, &all);
	if (rc == 0) {
		calls = report_calls_to(c, q->event, focus, &nr);
		rc = add_calls(v, span, TOP_CALLER, calls, nr, &all);
	}
	if (rc == 0) {
		calls = report_calls_from(c, q->event, focus, &nr);
		rc = add_calls(v, span, TOP_CALLEE, calls, nr, &all);
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
	dict_fini(&v->processes);
	dict_init(&v->processes, sizeof(struct process), sizeof(uint32_t), DICT_MAX);
	arena_fini(&v->names);
	arena_init(&v->names, MAX_NAMES_BYTES);
	mem_free(v->shown);
	v->shown = NULL;
	v->nr = 0;
}

/* What has no sample in a span, of which there are others, has 0. */
static int finish(struct view *v)
{
	const struct row *rows = v->rows.items;
	bool is_known[TOP_NR_SPANS] = {false};

	v->shown = mem_calloc(v->rows.nr + 1, sizeof(*v->shown));
	if (!v->shown)
		return -ENOMEM;
	v->nr = v->rows.nr;
	for (size_t i = 0; i < v->nr; i++) {
		v->shown[i] = rows[i].shown;
		for (int s = 0; s < TOP_NR_SPANS; s++)
			is_known[s] |= rows[i].shown.total[s].is_known;
	}
	for (size_t i = 0; i < v->nr; i++)
		for (int s = 0; s < TOP_NR_SPANS; s++) {
			v->shown[i].total[s].is_known = is_known[s];
			v->shown[i].self[s].is_known =
			    is_known[s] && v->shown[i].kind == TOP_SUBJECT;
		}
	return 0;
}

int view_make(struct view *v, const struct top_question *q, uint32_t recent_from)
{
	const uint32_t from[TOP_NR_SPANS] = {[TOP_RECENT] = recent_from, [TOP_ALL] = 0};
	int rc = 0;

	reset(v);
	for (enum top_span span = 0; span < TOP_NR_SPANS && rc == 0; span++)
		rc = q->focus == TOP_NO_FUNCTION ? make_flat(v, q, span, from[span])
						 : make_calls(v, q, span, from[span]);
	return rc ?: finish(v);
}

void view_fini(struct view *v)
{
	dict_fini(&v->rows);
	dict_fini(&v->processes);
	arena_fini(&v->names);
	mem_free(v->shown);
}
