/*
 * One thread: each turn handles the terminal, reads of the session what has ended, and computes the
 * rows that are asked for.
 */
#include "live/live.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "dashboard/paint_top.h"
#include "dashboard/top.h"
#include "dashboard/ui.h"
#include "live/code.h"
#include "live/follow.h"
#include "live/view.h"
#include "problems.h"
#include "report/kept.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLOSE_MS = 1000, RATE_BYTES = 64 };

struct live {
	struct inputs *in;
	struct follow follow;
	struct view view;
	struct code code;
	struct top *top;
	struct dashboard_ui *ui;
	uint64_t answered, filtered; /* numbers of the question and of the filter */
	bool has_news;               /* samples that the rows do not show yet */
	const char *inner; /* what the screen that opened this one calls it; NULL: none did */
	char rate[RATE_BYTES], page_name[MODEL_NOTE_BYTES];
};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

bool live_is_meant(const struct inputs *in)
{
	const struct profile_facts *f = in->item[0].facts;

	return f->is_sampling || (f->is_in_progress && !f->nr_events);
}

/* --- what the top lines say --------------------------------------------------------------------
 */

static void name_rate(struct live *l, const struct trace_event *ev)
{
	BUF_AUTO(text, RATE_BYTES);

	if (ev->frequency) {
		buf_u64_commas(&text, ev->frequency);
		buf_adds(&text, " Hz");
	} else if (ev->rate) {
		buf_adds(&text,
			 ev->flags & TRACE_EVENT_ADAPTIVE ? "adaptive, up to every " : "every ");
		screen_human(&text, (double)ev->rate, ev->unit);
	}
	snprintf(l->rate, sizeof(l->rate), "%s", buf_str(&text));
}

/* Of its events, those that are sampled come first to the user: counted ones have no rows. */
static const struct trace_event *event_of(const struct live *l)
{
	const struct profile_facts *f = l->in->item[0].facts;

	return l->top->question.event < f->nr_events ? &f->events[l->top->question.event] : NULL;
}

static bool is_sampled(const struct trace_event *ev)
{
	return ev->rate || ev->frequency;
}

/* The next event that is sampled, from the one asked for on. */
static void skip_counted(struct live *l)
{
	const struct profile_facts *f = l->in->item[0].facts;
	uint32_t *event = &l->top->question.event;

	for (size_t i = 0; i < f->nr_events && !is_sampled(&f->events[*event]); i++)
		*event = (*event + 1) % (uint32_t)f->nr_events;
}

/* Of how many samples one was read: rounded, as some may be invalid. */
static uint32_t one_of(const struct report_weight *read, uint64_t nr_taken)
{
	const double nr = read->samples ? (double)nr_taken / (double)read->samples : 0;

	return nr < UINT32_MAX ? (uint32_t)llround(nr) : UINT32_MAX;
}

/* Without a target, the host follows. */
static const char *name_of(const struct input *o)
{
	return o->title || *o->config_name ? input_title(o) : "machine";
}

static void set_status(struct live *l)
{
	const struct follow *f = &l->follow;
	const struct backlog *b = &f->backlog;
	const struct input *o = &l->in->item[0];
	struct top_status *st = &l->top->status;
	const struct report_event_stats *stats;
	const struct trace_event *ev;
	const uint32_t from = follow_recent_from(f), nr_recent = b->end - from;

	skip_counted(l);
	ev = event_of(l);
	*st = (struct top_status){.name = l->inner ? l->inner : name_of(o),
				  .host = *o->facts->head.host ? o->facts->head.host : NULL,
				  .nr_events = o->facts->nr_events,
				  .own_share = f->own_share,
				  .budget = FOLLOW_BUDGET,
				  .behind_s = follow_behind_s(f),
				  .recent_s = nr_recent * f->span_s,
				  .all_s = b->nr_read * f->span_s,
				  .nr_lost = f->stats.nr_lost,
				  .nr_dropped = report_kept_nr_cut(f->kept),
				  .is_over = f->is_over};
	if (b->nr_dropped) {
		st->ended[TOP_RECENT] = nr_recent;
		st->read[TOP_RECENT] = backlog_nr_read_from(b, from);
		st->ended[TOP_ALL] = b->nr_read + b->nr_dropped + backlog_nr_waiting(b);
		st->read[TOP_ALL] = b->nr_read;
	}
	if (!ev)
		return;
	name_rate(l, ev);
	st->event = ev->label;
	st->rate = l->rate;
	if (!f->stats.event)
		return;
	stats = &f->stats.event[l->top->question.event];
	st->nr_samples = stats->counted.samples;
	st->every = one_of(&stats->counted, stats->sampled.n.samples);
	if (st->every > 1)
		st->nr_samples = stats->sampled.n.samples;
	if (st->all_s > 0)
		st->samples_per_s = (double)st->nr_samples / st->all_s;
}

/* --- rows --------------------------------------------------------------------------------------
 */

static int set_filter(struct live *l)
{
	struct top_question *q = &l->top->question;
	struct err e = {0};

	l->filtered = q->nr_filters;
	if (live_filter_parse(&l->view.filter, q->filter, &e) == 0)
		return 0;
	snprintf(l->top->message, sizeof(l->top->message), "%.60s: %.180s", e.source, e.msg);
	q->filter[0] = '\0';
	return live_filter_parse(&l->view.filter, "", &e);
}

/* What was asked is answered at once; news only while nobody paused. */
static int answer(struct live *l)
{
	struct top *t = l->top;
	bool is_asked;
	int rc = 0;

	skip_counted(l);
	is_asked = t->question.nr != l->answered;

	if (!is_asked && (!l->has_news || t->is_paused))
		return 0;
	if (!l->follow.backlog.nr_read && !l->follow.is_over)
		return 0; /* there is nothing to show yet */
	if (t->question.nr_filters != l->filtered)
		rc = set_filter(l);
	rc = rc ?: view_make(&l->view, &t->question, follow_recent_from(&l->follow));
	rc = rc ?: dashboard_top_show(t, l->view.shown, l->view.nr);
	l->answered = t->question.nr;
	l->has_news = false;
	dashboard_ui_redraw(l->ui);
	return rc;
}

/* --- code --------------------------------------------------------------------------------------
 */

static void begin_code(struct live *l)
{
	const struct top_row *row = dashboard_top_selected(l->top);
	const struct trace_event *ev = event_of(l);
	struct code_request r = {.session = l->in->item[0].path, .filter = &l->view.filter};
	int rc;

	if (!row || !ev) {
		l->top->wants_page = false;
		return;
	}
	r.event = ev->label;
	r.function = row->name;
	if (l->top->span == TOP_RECENT) {
		r.first = follow_recent_from(&l->follow);
		r.end = l->follow.backlog.end;
	}
	snprintf(l->page_name, sizeof(l->page_name), "%.100s, %.100s%s", row->name, row->object,
		 r.end ? ", last seconds" : "");
	rc = code_start(&l->code, &r);
	if (rc == 0)
		return;
	l->top->wants_page = false;
	snprintf(l->top->message, sizeof(l->top->message), "the code cannot be read: %s",
		 strerror(-rc));
}

/* Control characters do not matter: a canvas shows none. */
static void follow_code(struct live *l)
{
	if (!l->top->wants_page && code_fd(&l->code) >= 0) /* Escape */
		code_stop(&l->code);
	if (l->top->wants_page && code_fd(&l->code) < 0)
		begin_code(l);
	if (code_fd(&l->code) < 0 || !code_read(&l->code))
		return;
	dashboard_top_show_page(l->top, l->page_name, buf_str(&l->code.text), l->code.text.len);
	dashboard_ui_redraw(l->ui);
}

/* --- the loop ----------------------------------------------------------------------------------
 */

static void paint_view(void *arg, const struct paint_state *s, struct canvas *c)
{
	struct live *l = arg;

	set_status(l);
	paint_top(l->top, s, c);
}

static enum model_action on_key(void *arg, const struct key *key)
{
	struct live *l = arg;

	return dashboard_top_key(l->top, key);
}

static int step(struct live *l, struct err *e)
{
	int rc = follow_step(&l->follow, e);

	l->has_news |= rc > 0;
	rc = rc < 0 ? rc : answer(l);
	if (rc)
		return rc;
	follow_code(l);
	return 0;
}

static int run(struct live *l, struct err *e)
{
	int rc = 0;

	while (rc == 0 && !dashboard_ui_is_gone(l->ui)) {
		rc = step(l, e);
		if (rc == 0 &&
		    dashboard_ui_turn(l->ui, code_fd(&l->code), follow_wait_ms(&l->follow)))
			break;
	}
	return rc;
}

/* Warnings would be written over the screen; the report prints them. */
static void drop_line(const char *line, size_t len, void *arg)
{
	(void)line;
	(void)len;
	(void)arg;
}

static void drop_problem(void *arg, const struct err *problem)
{
	(void)arg;
	(void)problem;
}

static int show(struct live *l, const struct selection *s, struct err *e)
{
	const struct dashboard_ui_view view = {
	    .paint = paint_view, .key = on_key, .message = l->top->message, .arg = l};
	const struct dashboard_ui_config config = {
	    .fd = STDOUT_FILENO, .view = &view, .ends = ends};
	int rc = follow_init(&l->follow, l->in, s, e) ?: dashboard_ui_open(&config, &l->ui, e);

	if (rc)
		return rc;
	l->view.functions = l->in->functions;
	l->view.follow = &l->follow;
	l->in->problems->report = drop_problem;
	log_divert(drop_line, NULL);
	rc = run(l, e);
	log_divert(NULL, NULL);
	l->in->problems->report = NULL;
	(void)dashboard_ui_close(l->ui, CLOSE_MS);
	return rc && !e->code ? err_set(e, rc, "cannot read further: %s", strerror(-rc)) : rc;
}

int live_run(struct inputs *in, const struct selection *s, struct err *e)
{
	/* what another screen profiles */
	struct live l = {.in = in, .filtered = 1, .inner = secure_getenv("CPUPERF_INNER")};
	sigset_t old;
	int rc;

	dashboard_ui_block(ends, &old);
	l.top = dashboard_top_new();
	if (l.top)
		l.top->is_inner = l.inner != NULL;
	rc = l.top ? show(&l, s, e) : err_set(e, -ENOMEM, "out of memory");
	code_stop(&l.code);
	view_fini(&l.view);
	follow_fini(&l.follow);
	dashboard_top_free(l.top);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}
