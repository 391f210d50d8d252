#include "push.h"

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "exports/lines.h"
#include "options.h"
#include "push/http.h"
#include "push/request.h"
#include "push/sender.h"
#include "registry.h"
#include "samples.h"
#include "spec/last.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, MAX_FAILURES = 8 };

/* What is pushed, and where to. */
struct pusher {
	const struct options *options;
	struct inputs *in;
	size_t at; /* the input that is pushed: of a job each host has profiles of its own */
	const struct registry_row *row;
	struct output *output;
	struct selection selection; /* of one iteration; borrows from the program's */
	struct push_target target;
	struct push_labels labels;
	struct push_spool spool;
	struct push_counts counts;
	struct push_credentials credentials;
	uint64_t wait_ns;
	char why[PUSH_WHY_BYTES];
};

int push_check(const struct options *o, struct err *e)
{
	int rc = push_options_check(&o->push, e);

	if (rc || !o->push.url)
		return rc || !o->push_waiting
			   ? rc
			   : err_set(e, -EINVAL, "--push-waiting requires --push=URL");
	if (o->perf_data.nr || o->sessions.nr > 1)
		return err_set(e, -EINVAL, "--push sends one session of cpuperf");
	return 0;
}

const char *push_format(const struct options *o)
{
	struct push_target t;
	struct err e = {0};

	return push_target_parse(o->push.url, &t, &e) == 0 && t.protocol == PUSH_OTLP ? "otlp"
										      : "pprof";
}

/* --- one iteration ------------------------------------------------------------------------------
 */

/* "/usr/bin/gcc -O2" : "gcc" */
static void name_command(const char *text, char out[NAME_BYTES])
{
	size_t len = strcspn(text, " ");
	const char *slash = memrchr(text, '/', len), *from = slash ? slash + 1 : text;

	snprintf(out, NAME_BYTES, "%.*s", (int)(text + len - from), from);
	str_disarm(out);
}

static const struct input *input_of(const struct pusher *p)
{
	return &p->in->item[p->at];
}

static const char *find_service(const struct pusher *p, const struct profile_about *a,
				char name[NAME_BYTES])
{
	const char *config = input_of(p)->config_name;

	if (p->options->push.name)
		return p->options->push.name;
	name_command(a->command, name);
	return *name ? name : *config ? config : "cpuperf";
}

static void make_id(const struct pusher *p, uint32_t iteration, uint8_t id[PUSH_ID_BYTES])
{
	memcpy(id, input_of(p)->facts->head.session_id, PUSH_ID_BYTES);
	for (int i = 0; i < 4; i++)
		id[8 + i] ^= (uint8_t)(iteration >> (8 * i));
}

/* Makes the request of a profile, and stores it. One that is too large is dropped. */
static int store(struct pusher *p, const struct job_pushed *pushed, const struct profile_about *a,
		 const struct buf *text, struct err *e)
{
	struct push_profile profile = {.service = pushed->service,
				       .host = pushed->host,
				       .labels = &p->labels,
				       .from_ns = profile_about_realtime(a, a->start_ns),
				       .to_ns = profile_about_realtime(a, a->end_ns),
				       .data = buf_str(text),
				       .data_bytes = text->len};
	BUF_AUTO(query, PUSH_QUERY_BYTES);
	BUF_AUTO(body, PUSH_MAX_BYTES);
	struct err why = {0};
	int rc;

	memcpy(profile.id, pushed->id, sizeof(profile.id));
	rc = buf_error(text) ?: push_request_make(p->target.protocol, &profile, &query, &body);
	rc = rc ? err_set(&why, rc, "%s", strerror(-rc))
		: push_spool_add(&p->spool, buf_str(&query), body.data, body.len, &p->counts, &why);
	if (rc == 0)
		return 0;
	p->counts.damaged++;
	snprintf(p->why, sizeof(p->why), "iteration %u cannot be stored: %.160s", pushed->iteration,
		 why.msg);
	return rc == -ENOMEM ? err_set(e, rc, "out of memory") : 0;
}

static int make(struct pusher *p, struct job_pushed *pushed, const struct profile_about *a,
		struct err *e)
{
	struct output held;
	struct job j = {.row = p->row,
			.inputs = p->in,
			.selection = &p->selection,
			.output = &held,
			.first = p->at,
			.nr = 1,
			.pushed = pushed,
			.sum = p->selection.sum};
	char name[NAME_BYTES];
	int rc;

	pushed->service = find_service(p, a, name);
	output_init(&held, p->row, p->options);
	held.is_held = true;
	rc = samples_check(&j, e) ?: samples_load_names(&j, e) ?: p->row->print(&j, e);
	if (rc == 0 && !j.nr_samples)
		p->counts.empty++;
	else if (rc == 0)
		rc = store(p, pushed, a, &held.text, e);
	output_fini(&held);
	return rc;
}

static int push_iteration(struct pusher *p, uint64_t iteration, struct err *e)
{
	const struct input *input = input_of(p);
	struct job_pushed pushed = {
	    .iteration = (uint32_t)iteration, .host = input_host(input), .labels = &p->labels};
	struct profile_about about;
	int rc = profile_about_read_iteration(&about, input->session, (uint32_t)iteration);

	make_id(p, pushed.iteration, pushed.id);
	p->selection.filter.iterations.nr = 1;
	p->selection.filter.iterations.item[0].first = iteration;
	p->selection.filter.iterations.item[0].last = iteration;
	if (rc)
		err_set(e, rc, "traces cannot be read: %s", strerror(-rc));
	else if (!about.measured_ns)
		p->counts.missing++;
	else
		rc = make(p, &pushed, &about, e);
	profile_about_fini(&about);
	return rc;
}

/* The iterations of the list, or all that are left. */
static int push_iterations(struct pusher *p, const struct profile_ranges *selected, struct err *e)
{
	const struct profile_facts *f = input_of(p)->facts;
	struct profile_ranges wanted = *selected;
	int rc = 0;

	if (!wanted.nr && f->nr_iterations > f->nr_removed) {
		wanted.item[0].first = f->nr_removed;
		wanted.item[0].last = f->nr_iterations - 1;
		wanted.nr = 1;
	}
	for (size_t k = 0; k < wanted.nr && rc == 0; k++)
		for (uint64_t i = wanted.item[k].first;
		     i <= wanted.item[k].last && i < UINT32_MAX && rc == 0; i++)
			rc = push_iteration(p, i, e);
	return rc;
}

/* --- sending ------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t is_over;

static void set_over(int number)
{
	(void)number;
	is_over = 1;
}

/* A caller that blocks PUSH_END_SIGNAL ends sending by it, perhaps before sending begins. */
static bool is_ended_by_caller(void)
{
	const struct sigaction over = {.sa_handler = set_over};
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, NULL, &set) || !sigismember(&set, PUSH_END_SIGNAL) ||
	    sigaction(PUSH_END_SIGNAL, &over, NULL))
		return false;
	sigemptyset(&set);
	sigaddset(&set, PUSH_END_SIGNAL);
	return sigprocmask(SIG_UNBLOCK, &set, NULL) == 0;
}

static int send_waiting(struct pusher *p, struct err *e)
{
	struct push_sender s = {.spool = &p->spool,
				.protocol = p->target.protocol,
				.counts = &p->counts,
				.wait_ns = p->wait_ns,
				.is_over = is_ended_by_caller() ? &is_over : NULL};
	int rc = push_spool_trim(&p->spool, &p->counts);

	if (rc == 0 && !p->counts.waiting)
		return 0;
	rc = rc ?: push_http_open(&p->target, &p->credentials, p->options->push.ca, &s.http, e);
	if (rc)
		return err_set(e, rc, "%s: %s", p->spool.path, strerror(-rc));
	rc = push_sender_run(&s);
	push_http_close(s.http);
	if (*s.why)
		snprintf(p->why, sizeof(p->why), "%s", s.why);
	return rc ? err_set(e, rc, "%s: %s", p->spool.path, strerror(-rc)) : 0;
}

static int open_spool(struct pusher *p, struct err *e)
{
	const struct push_options *o = &p->options->push;
	const char *scheme = push_interfaces[p->target.protocol].scheme;
	char folder[PATH_MAX], path[PATH_MAX + 8];
	struct push_limits limits;
	int rc = push_limits_parse(o->limits, &limits, e);

	if (rc == 0 && !o->spool) {
		rc = last_folder(folder);
		if (rc) {
			err_set(e, rc, "there is no folder for what waits: %s: %s",
				*folder ? folder : "neither XDG_STATE_HOME nor HOME is set",
				strerror(-rc));
			err_hint(e, "use --push-spool=FOLDER");
			return rc;
		}
		snprintf(path, sizeof(path), "%s/push", folder);
	}
	return rc
		   ?: push_spool_open(&p->spool, o->spool ? o->spool : path, scheme, p->target.base,
				      &limits, e);
}

/* --- what became of it --------------------------------------------------------------------------
 */

/* In the order of push_counts; the recorder reads them as a row of csv. */
static const struct grid_column columns[] = {
    {.name = "made", .kind = GRID_COUNT},       {.name = "empty", .kind = GRID_COUNT},
    {.name = "missing", .kind = GRID_COUNT},    {.name = "sent", .kind = GRID_COUNT},
    {.name = "sent_bytes", .kind = GRID_COUNT}, {.name = "refused", .kind = GRID_COUNT},
    {.name = "old", .kind = GRID_COUNT},        {.name = "full", .kind = GRID_COUNT},
    {.name = "damaged", .kind = GRID_COUNT},    {.name = "failures", .kind = GRID_COUNT},
    {.name = "waiting", .kind = GRID_COUNT},    {.name = "why", .kind = GRID_TEXT},
};

static void put_people(const struct pusher *p)
{
	const struct push_counts *c = &p->counts;
	const struct {
		uint64_t nr;
		const char *what;
	} rest[] = {
	    {c->empty, "iteration(s) without samples are not sent"},
	    {c->missing, "iteration(s) were removed before they could be read"},
	    {c->refused, "profile(s) dropped: the receiver refused them"},
	    {c->old, "profile(s) dropped: they waited longer than --push-limit permits"},
	    {c->full, "profile(s) dropped: more waited than --push-limit permits"},
	    {c->damaged, "profile(s) dropped: they cannot be stored or read"},
	    {c->waiting, "profile(s) wait, and are sent by the next session or --push-waiting"},
	};
	struct buf *b = &p->output->text;

	buf_printf(b, "%" PRIu64 " profile(s), ", c->sent);
	buf_u64_commas(b, c->sent_bytes);
	buf_printf(b, " bytes, sent to %s\n", p->target.place);
	for (size_t i = 0; i < ARRAY_NR(rest); i++)
		if (rest[i].nr)
			buf_printf(b, "%" PRIu64 " %s\n", rest[i].nr, rest[i].what);
	if (*p->why)
		buf_printf(b, "last failure: %s\n", p->why);
}

static int put_rows(const struct pusher *p)
{
	const struct push_counts *c = &p->counts;
	const uint64_t numbers[] = {c->made,       c->empty,    c->missing, c->sent,
				    c->sent_bytes, c->refused,  c->old,     c->full,
				    c->damaged,    c->failures, c->waiting};
	const struct grid_options options = {.form = p->output->form, .report = "push"};
	struct grid *g = grid_new(columns, ARRAY_NR(columns), &options);
	int rc;

	if (!g)
		return -ENOMEM;
	grid_row(g);
	for (size_t i = 0; i < ARRAY_NR(numbers); i++)
		grid_count(g, numbers[i]);
	grid_text(g, p->why);
	rc = grid_write(g, &p->output->text);
	grid_free(g);
	return rc;
}

static int put_result(const struct pusher *p, struct err *e)
{
	int rc = 0;

	if (p->output->form == GRID_PEOPLE)
		put_people(p);
	else
		rc = put_rows(p);
	return rc ? err_set(e, rc, "out of memory") : output_write(p->output, e);
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static bool is_whole(const struct push_counts *c)
{
	return !(c->missing | c->refused | c->old | c->full | c->damaged | c->waiting);
}

static int prepare(struct pusher *p, struct err *e)
{
	const struct push_options *o = &p->options->push;

	return push_target_parse(o->url, &p->target, e) ?: push_labels_parse(&o->labels, &p->labels, e)
		      ?: push_wait_parse(o->wait, &p->wait_ns, e)
			     ?: (o->credentials
				     ? push_credentials_load(o->credentials, &p->credentials, e)
				     : 0)
				?: open_spool(p, e);
}

/* What waits is sent though some cannot be read. */
static void push_inputs(struct pusher *p)
{
	const struct profile_ranges selected = p->selection.filter.iterations;

	for (p->at = 0; p->at < p->in->nr; p->at++) {
		struct err unread = {0};

		if (push_iterations(p, &selected, &unread) == 0)
			continue;
		log_err(LOG_ERROR, &unread);
		p->counts.damaged++;
	}
}

int push_run(struct inputs *in, const struct selection *selection, const struct registry_row *row,
	     struct output *output, bool *whole, struct err *e)
{
	struct pusher *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->options = output->options;
	p->in = in;
	p->row = row;
	p->output = output;
	p->selection = *selection;
	p->spool.fd = -1;
	rc = prepare(p, e);
	if (rc == 0)
		push_inputs(p);
	rc = rc ?: send_waiting(p, e) ?: put_result(p, e);
	*whole = rc == 0 && is_whole(&p->counts);
	push_credentials_forget(&p->credentials);
	push_spool_close(&p->spool);
	mem_free(p);
	return rc;
}
