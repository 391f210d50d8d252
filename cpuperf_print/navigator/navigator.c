/*
 * One thread answers, one request after the other: reports share names, symbols and what was read.
 * Another one reads what the first view shows, while the browser starts, and then what others show,
 * while nothing is asked for: their answers are there when the page asks. The calling thread waits
 * for signals.
 */
#include "navigator/navigator.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "counts/slices.h"
#include "exports/exports.h"
#include "navigator/answers.h"
#include "navigator/facts.h"
#include "navigator/mcp.h"
#include "navigator/query.h"
#include "options.h"
#include "page/source.h"
#include "pool.h"
#include "registry.h"
#include "report/states.h"
#include "row.h"
#include "serve/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_CONNECTIONS = 64,
	CONNECTION_BYTES = 32 << 10,
	MAX_HEADER_BYTES = 48 << 10,
	MAX_ERROR_BYTES = 4096,
	MAX_POLICY_BYTES = 1024,
	MAX_PAGE_BYTES = 4 << 20, /* without data */
	MAX_POOL_BYTES = 1 << 30,
	MAX_KEPT_BYTES = 64 << 20, /* answers */
	SILENCE_NS = 500000000,
	MAX_NOTES = ANSWERS_MAX_FAULTS,
	MAX_NOTES_BYTES = 256 << 10,
};

struct navigator {
	struct inputs *inputs;
	const struct selection *selection; /* of the command line */
	const struct options *options;     /* the same */
	struct output *output;
	struct http *http;
	struct guard guard;
	pthread_mutex_t reading; /* reports: one thread at a time prints one */
	pthread_cond_t answered; /* a request */
	uint64_t answered_ns;    /* when the last one was */
	atomic_uint nr_asking;   /* requests that wait for the lock, or hold it */
	atomic_uint is_ending;
	bool is_ahead;             /* what is read was not asked for */
	struct answers_parts made; /* by who reads ahead; faults: struct err */
	struct answers *answers;
	pthread_mutex_t noting; /* what follows */
	struct buf notes;       /* what must be known of the numbers: a line each */
	size_t nr_notes;
};

static const char page_path[] = "/api/page";
static const char ndjson[] = "application/x-ndjson; charset=utf-8";
static const char html[] = "text/html; charset=utf-8";

/* --- sending --------------------------------------------------------------------------------- */

static const struct {
	const char *name, *value;
} headers[] = {
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};
static const char no_policy[] = "default-src 'none'; base-uri 'none'; form-action 'none'";

/* A page in a file knows no header, and ignores frame-ancestors. */
static bool add_headers(struct http_response *response, const char *policy)
{
	BUF_AUTO(line, MAX_POLICY_BYTES);

	for (size_t i = 0; i < ARRAY_NR(headers); i++)
		if (!http_response_header(response, headers[i].name, headers[i].value))
			return false;
	buf_printf(&line, "%s; frame-ancestors 'none'", policy);
	return !buf_error(&line) &&
	       http_response_header(response, "Content-Security-Policy", buf_str(&line));
}

/* policy: what a page may do; NULL: it is none. */
static bool reply(const struct http_request *r, unsigned status, struct http_response *response,
		  const char *policy)
{
	bool done = response && add_headers(response, policy ? policy : no_policy) &&
		    http_reply(r, status, response);

	http_response_free(response);
	return done;
}

/* Options are arguments here, and fields of the page: they have no dashes. What is quoted stays. */
static void put_words(struct json_writer *json, const char *name, const char *text)
{
	char words[sizeof(((struct err *)0)->msg) + sizeof(((struct err *)0)->hint)];
	size_t len = 0;
	bool is_begin = true, is_quoted = false;

	for (; *text && len + 1 < sizeof(words); text++) {
		if (is_begin && !is_quoted && text[0] == '-' && text[1] == '-' && text[2] >= 'a' &&
		    text[2] <= 'z')
			text += 2;
		is_begin = *text == ' ' || *text == '(';
		is_quoted ^= *text == '"';
		words[len++] = *text;
	}
	words[len] = '\0';
	jsonw_text(json, name, words);
}

static bool reply_error(const struct http_request *r, unsigned status, const struct err *e)
{
	BUF_AUTO(text, MAX_ERROR_BYTES);
	struct json_writer json;

	jsonw_init(&json, &text, false);
	JSONW_OBJECT(&json, NULL) {
		put_words(&json, "error", e->msg);
		if (*e->source)
			put_words(&json, "source", e->source);
		if (*e->hint)
			put_words(&json, "hint", e->hint);
	}
	buf_addc(&text, '\n');
	return reply(r, status, http_response_new(buf_str(&text), text.len, "application/json"),
		     NULL);
}

static bool reply_redirect(const struct navigator *n, const struct http_request *r)
{
	struct http_response *response = http_response_note("");
	BUF_AUTO(location, MAX_HEADER_BYTES);
	BUF_AUTO(cookie, MAX_ERROR_BYTES);

	guard_location(r, &location);
	guard_cookie(&n->guard, &cookie);
	if (response && (buf_error(&location) || buf_error(&cookie) ||
			 !http_response_header(response, "Location", buf_str(&location)) ||
			 !http_response_header(response, "Set-Cookie", buf_str(&cookie)))) {
		http_response_free(response);
		response = NULL;
	}
	return reply(r, HTTP_SEE_OTHER, response, NULL);
}

/* --- notes ----------------------------------------------------------------------------------- */

/* Each once; also on standard error. */
static void note(void *arg, const struct err *problem)
{
	struct navigator *n = arg;
	bool is_new;
	BUF_AUTO(line, MAX_ERROR_BYTES);

	buf_printf(&line, "%s%s%s\n", problem->source, *problem->source ? ": " : "", problem->msg);
	pthread_mutex_lock(&n->noting);
	is_new = n->nr_notes < MAX_NOTES && !buf_error(&line) &&
		 !(n->notes.len && strstr(buf_str(&n->notes), buf_str(&line)));
	if (is_new) {
		n->nr_notes++;
		buf_adds(&n->notes, buf_str(&line));
	}
	pthread_mutex_unlock(&n->noting);
	if (is_new)
		log_err(LOG_WARNING, problem);
}

/* What must be known of one report waits until that is asked for. */
static void note_later(void *arg, const struct err *problem)
{
	struct navigator *n = arg;

	buf_add(&n->made.faults, problem, sizeof(*problem));
}

/* --- reports --------------------------------------------------------------------------------- */

static unsigned status_of(int rc)
{
	return rc == -ENOMEM ? HTTP_SERVER_ERROR : HTTP_BAD_REQUEST;
}

/* As cpuperf_print would print it. By one thread at a time. */
static int print_alone(struct navigator *n, const struct query *q,
		       const struct registry_row *format, const struct registry_row *row,
		       struct answers_parts *made, struct err *e)
{
	struct output out;
	const struct row_run run = {
	    .inputs = n->inputs, .selection = &q->selection, .output = &out};
	int rc;

	output_init(&out, format, &q->options);
	out.is_held = true;
	out.width = 0;
	out.text.max_bytes = ANSWERS_MAX_BYTES;
	out.about = &made->about;
	out.problems.report = n->is_ahead ? note_later : note;
	out.problems.arg = n;
	n->inputs->options = &q->options;
	inputs_forget_states(n->inputs);
	rc = row_print(&run, row, e) ?: buf_error(&out.text);
	n->inputs->options = n->options;
	if (rc == -EFBIG && !e->code) {
		err_set(e, rc, "the answer is too large");
		err_hint(e, "select less: top=, event=, comm=, pid=, from=, to=");
	}
	if (rc && !e->code)
		err_set(e, rc, "%s", strerror(-rc));
	if (buf_error(&made->about)) /* too many columns for a header */
		buf_reset(&made->about);
	made->text = out.text;
	out.text = (struct buf){.data = NULL};
	output_fini(&out);
	return rc;
}

/* "thread_time" is what views call the sum of the events of states: the name selects these. */
static int select_states(const struct inputs *in, struct profile_filter *f, struct err *e)
{
	static const struct profile_filter all;
	const struct profile_facts *facts = in->item[0].facts;
	const struct profile_globs before = f->events;
	int rc = 0;

	if (!facts_has_states(in))
		return 0;
	f->events.nr = 0;
	for (size_t i = 0; i < before.nr && rc == 0; i++) {
		if (strcmp(before.item[i], "thread_time") != 0) {
			rc = profile_globs_add(&f->events, "event", before.item[i], e);
			continue;
		}
		for (uint32_t k = 0; k < facts->nr_events && rc == 0; k++)
			if (report_states_of(facts, &all, k))
				rc = profile_globs_add(&f->events, "event", facts->events[k].name,
						       e);
	}
	return rc;
}

/* What is asked for, from the arguments; query_free(*out) in any case. */
static int make_query(const struct navigator *n, const struct http_request *r,
		      const struct registry_row *format, const struct registry_row *row,
		      struct query **out, struct err *e)
{
	int rc = query_new(n->options, r, out, e);

	if (rc == 0 && row->diff == REGISTRY_DIFF && !n->inputs->nr_diff)
		rc = err_set(e, -EINVAL, "%s: there is nothing to compare with: --diff=FILE",
			     row->name);
	rc = rc ?: select_states(n->inputs, &(*out)->selection.filter, e);
	if (rc == 0)
		row_choose_states(&(*out)->selection, n->inputs, row, format, false);
	return rc;
}

/* One that was made before. What must be known of it is told now, to who asks. */
static bool find_answer(struct navigator *n, const struct http_request *r,
			struct answers_parts *out)
{
	struct err problem;
	bool is_found = answers_find(n->answers, r, out);

	for (size_t at = 0; is_found && at < out->faults.len; at += sizeof(problem)) {
		memcpy(&problem, out->faults.data + at, sizeof(problem));
		note(n, &problem);
	}
	return is_found;
}

/* Not what may be another one next time: code is shown with files that change, and a session in
 * progress grows. Nor files for others, which are large. */
static bool is_kept(const struct navigator *n, const struct registry_row *row)
{
	const struct inputs *in = n->inputs;

	return (row->kind != REGISTRY_EXPORT || row->print == export_html_data) &&
	       strcmp(row->name, "annotate") != 0 &&
	       !ARRAY_ANY(x, in->item, in->nr + in->nr_diff, x->facts->is_in_progress);
}

static int print_asked(struct navigator *n, const struct http_request *r,
		       const struct registry_row *format, const struct registry_row *row,
		       struct answers_parts *made, struct err *e)
{
	struct query *q = NULL;
	int rc = make_query(n, r, format, row, &q, e);

	if (rc == 0) {
		n->nr_asking++;
		pthread_mutex_lock(&n->reading);
		/* it may have been made meanwhile */
		if (!find_answer(n, r, made)) {
			rc = print_alone(n, q, format, row, made, e);
			if (rc == 0 && is_kept(n, row))
				answers_add(n->answers, r, made);
		}
		n->nr_asking--;
		n->answered_ns = clock_monotonic_ns();
		pthread_cond_signal(&n->answered);
		pthread_mutex_unlock(&n->reading);
	}
	query_free(q);
	return rc;
}

/* The columns of a table are in a header, so that the text is the report's. */
static bool reply_made(const struct http_request *r, int rc, const struct answers_parts *made,
		       const char *type, const char *policy, const struct err *e)
{
	struct http_response *response;

	if (rc)
		return reply_error(r, status_of(rc), e);
	response = http_response_new(buf_str(&made->text), made->text.len, type);
	if (response && made->about.len &&
	    !http_response_header(response, "Cpuperf-Columns", buf_str(&made->about))) {
		http_response_free(response);
		response = NULL;
	}
	return reply(r, HTTP_OK, response, policy);
}

/* What the page shows first, by which it finds most other answers itself. */
static const struct registry_row page_row = {.name = "page",
					     .kind = REGISTRY_EXPORT,
					     .samples = REGISTRY_SAMPLES_IF_ANY,
					     .sessions = REGISTRY_SUM,
					     .diff = REGISTRY_DIFF_IF_ANY,
					     .roots_in_state = true,
					     .says_regions = true,
					     .print = export_html_data};

static bool reply_data(struct navigator *n, const struct http_request *r)
{
	struct err e = {0};
	struct answers_parts made;
	bool done;
	int rc = 0;

	answers_parts_init(&made);
	if (!find_answer(n, r, &made))
		rc = print_asked(n, r, &page_row, &page_row, &made, &e);
	done = reply_made(r, rc, &made, ndjson, NULL, &e);
	answers_parts_fini(&made);
	return done;
}

static bool reply_report(struct navigator *n, const struct http_request *r, const char *name)
{
	struct err e = {0};
	const struct registry_row *row = registry_find_report(name, &e),
				  *format = row ? registry_find_format("ndjson", &e) : NULL;
	struct answers_parts made;
	bool done;
	int rc = 0;

	if (!format)
		return reply_error(r, HTTP_NOT_FOUND, &e);
	answers_parts_init(&made);
	if (!find_answer(n, r, &made))
		rc = print_asked(n, r, format, row, &made, &e);
	done = reply_made(r, rc, &made, ndjson, NULL, &e);
	answers_parts_fini(&made);
	return done;
}

/* The same without HTTP. */
static int ask(void *arg, const struct http_request *r, struct answers_parts *made, struct err *e)
{
	const char *name = r->path + sizeof("/api/") - 1;
	const struct registry_row *row, *format;
	struct navigator *n = arg;

	if (strcmp(name, "session") == 0) {
		facts_put(n->inputs, &n->notes, &made->text);
		return buf_error(&made->text);
	}
	row = registry_find_report(name, e);
	format = row ? registry_find_format("ndjson", e) : NULL;
	if (!format)
		return -ENOENT;
	return find_answer(n, r, made) ? 0 : print_asked(n, r, format, row, made, e);
}

static bool has_report(void *arg, const char *name)
{
	const struct navigator *n = arg;
	const struct facts_report *x;

	for (size_t i = 0; (x = facts_report(n->inputs, i)); i++)
		if (strcmp(x->name, name) == 0)
			return true;
	return false;
}

static bool reply_html(struct navigator *n, const struct http_request *r)
{
	struct err e = {0};
	const struct registry_row *row = registry_find_format("html", &e);
	struct answers_parts made;
	bool done;
	int rc;

	answers_parts_init(&made);
	rc = print_asked(n, r, row, row, &made, &e);
	done = reply_made(r, rc, &made, html, html_policy, &e);
	answers_parts_fini(&made);
	return done;
}

static bool reply_facts(struct navigator *n, const struct http_request *r)
{
	BUF_AUTO(text, ANSWERS_MAX_BYTES);

	pthread_mutex_lock(&n->noting);
	facts_put(n->inputs, &n->notes, &text);
	pthread_mutex_unlock(&n->noting);
	return reply(r, HTTP_OK, http_response_new(buf_str(&text), text.len, ndjson), NULL);
}

static bool reply_page(const struct http_request *r)
{
	static const char no_data[] = "null";
	BUF_AUTO(page, MAX_PAGE_BYTES);

	buf_add(&page, html_head, html_head_len);
	buf_add(&page, html_served_policy, html_served_policy_len);
	buf_add(&page, html_middle, html_middle_len);
	buf_adds(&page, no_data);
	buf_add(&page, html_tail, html_tail_len);
	return reply(r, HTTP_OK, http_response_new(buf_str(&page), page.len, html),
		     html_served_policy);
}

static bool answer(void *arg, const struct http_request *r)
{
	static const char api[] = "/api/";
	const size_t len = sizeof(api) - 1;
	struct navigator *n = arg;
	const enum guard_verdict verdict = guard_check(&n->guard, r);
	struct err e = {0};

	if (verdict == GUARD_ENTER)
		return reply_redirect(n, r);
	if (verdict != GUARD_PASS)
		return reply(r, guard_status(verdict), http_response_refusal(guard_reason(verdict)),
			     NULL);
	if (strcmp(r->path, "/") == 0)
		return reply_page(r);
	if (strcmp(r->path, "/html") == 0)
		return reply_html(n, r);
	if (strcmp(r->path, "/api/session") == 0)
		return reply_facts(n, r);
	if (strcmp(r->path, page_path) == 0)
		return reply_data(n, r);
	if (strncmp(r->path, api, len) == 0)
		return reply_report(n, r, r->path + len);
	err_set(&e, -ENOENT, "there is no such page");
	return reply_error(r, HTTP_NOT_FOUND, &e);
}

/* --- running --------------------------------------------------------------------------------- */

/* Whoever looks at a view asks for the next one soon, or much later. While requests are answered,
 * the end of one wakes it. */
static void wait_for_silence(struct navigator *n)
{
	while (!n->is_ending &&
	       (n->nr_asking || clock_monotonic_ns() < n->answered_ns + SILENCE_NS))
		thread_cond_wait(&n->answered, &n->reading,
				 n->nr_asking ? UINT64_MAX : n->answered_ns + SILENCE_NS);
}

/* The page itself asks for the first, which is not interrupted. For the others requests come first:
 * it begins again when they are answered. */
static void read_one(struct navigator *n, const struct http_request *r, bool is_first,
		     const struct query *q, const struct registry_row *format,
		     const struct registry_row *row)
{
	int rc;

	do {
		struct err e = {0};

		pthread_mutex_lock(&n->reading);
		if (!is_first)
			wait_for_silence(n);
		n->is_ahead = !is_first;
		n->inputs->cancel = is_first ? &n->is_ending : &n->nr_asking;
		pool_set_ahead(n->inputs->pool, n->is_ahead);
		answers_parts_init(&n->made);
		rc = n->is_ending ? -ECANCELED : print_alone(n, q, format, row, &n->made, &e);
		if (rc == 0 && is_kept(n, row))
			answers_add(n->answers, r, &n->made);
		answers_parts_fini(&n->made);
		pool_set_ahead(n->inputs->pool, false);
		n->inputs->cancel = &n->is_ending;
		n->is_ahead = false;
		pthread_mutex_unlock(&n->reading);
	} while (rc == -ECANCELED && !n->is_ending);
}

/* As the page asks. The code of all functions needs the same samples, and is shown of one. */
static void read_report(struct navigator *n, const struct facts_report *report)
{
	static const struct http_argument no_function = {"function", "\001"};
	struct err e = {0};
	const struct registry_row *format = registry_find_format("ndjson", &e),
				  *row = registry_find_report(report->name, &e);
	char path[64];
	struct http_request r = {.path = path};
	struct query *q = NULL;

	snprintf(path, sizeof(path), "/api/%s", report->name);
	for (const struct http_argument *a = report->argument; a->name; a++)
		r.arguments[r.nr_arguments++] = *a;
	if (strcmp(report->name, "annotate") == 0)
		r.arguments[r.nr_arguments++] = no_function;
	if (format && row && !answers_has(n->answers, &r) &&
	    make_query(n, &r, format, row, &q, &e) == 0)
		read_one(n, &r, false, q, format, row);
	query_free(q);
}

static void read_page(struct navigator *n)
{
	const struct http_request r = {.path = page_path};
	struct query *q = NULL;
	struct err e = {0};

	if (make_query(n, &r, &page_row, &page_row, &q, &e) == 0)
		read_one(n, &r, true, q, &page_row, &page_row);
	query_free(q);
}

static void *read_ahead(void *arg)
{
	struct navigator *n = arg;
	const struct facts_report *report;

	read_page(n);
	for (size_t i = 0; !n->is_ending && (report = facts_report(n->inputs, i)); i++)
		if (report->is_ahead)
			read_report(n, report);
	return NULL;
}

/* Whoever reads ahead is the only one that waits for answers. */
static void end_reading(struct navigator *n, pthread_t reader)
{
	n->is_ending = 1;
	n->nr_asking++;
	pthread_mutex_lock(&n->reading);
	pthread_cond_signal(&n->answered);
	pthread_mutex_unlock(&n->reading);
	pthread_join(reader, NULL);
}

static int put_url(const struct navigator *n, struct err *e)
{
	const struct http_address *where = http_where(n->http);
	BUF_AUTO(url, MAX_ERROR_BYTES);
	int rc;

	guard_url(&n->guard, &url);
	buf_addc(&url, '\n');
	if (!where->is_loopback)
		log_warning("--serve: whoever reads this network can read the session: HTTP has no "
			    "encryption");
	rc = buf_error(&url) ?: io_write_full(STDOUT_FILENO, buf_str(&url), url.len);
	if (rc)
		return err_set(e, rc, "the URL cannot be printed: %s", strerror(-rc));
	log_info("open this URL in a browser; Ctrl-C ends");
	return 0;
}

/* Names are loaded once, by the rules of the command line. Sessions that no view can show together
 * are refused here, not by each view. */
static int load(struct navigator *n, struct err *e)
{
	const size_t nr = n->inputs->nr + n->inputs->nr_diff;
	int rc;

	n->inputs->pool = pool_new(MAX_POOL_BYTES);
	n->answers = answers_new(MAX_KEPT_BYTES);
	if (!n->inputs->pool || !n->answers)
		return err_set(e, -ENOMEM, "out of memory");
	rc = inputs_check_same_events(n->inputs, e);
	if (rc) {
		err_hint(e,
			 "only sessions of the same spec are shown together: serve each by itself");
		return rc;
	}
	for (size_t i = 0; i < nr; i++) {
		struct input *o = &n->inputs->item[i];

		o->slices = counts_slices_new();
		if (!o->slices || profile_session_keep_times(o->session))
			return err_set(e, -ENOMEM, "out of memory");
	}
	if (!ARRAY_ANY(x, n->inputs->item, nr, input_has_common(x)))
		return 0;
	return inputs_load_names(n->inputs, &n->selection->rules, e);
}

static int serve(struct navigator *n, const sigset_t *ends, const sigset_t *before, struct err *e)
{
	const struct http_config config = {.option = "--serve",
					   .example = "127.0.0.1:8080",
					   .max_connections = MAX_CONNECTIONS,
					   .connection_bytes = CONNECTION_BYTES,
					   .answer = answer,
					   .arg = n};
	int rc = http_open(&config, n->options->serve, &n->http, e), ended;
	pthread_t reader;

	if (rc)
		return rc;
	rc = guard_init(&n->guard, http_where(n->http));
	if (rc)
		return err_set(e, rc, "there is no randomness for a token: %s", strerror(-rc));
	rc = load(n, e);
	if (rc)
		return rc;
	rc = -pthread_create(&reader, NULL, read_ahead, n);
	if (rc)
		return err_set(e, rc, "a thread cannot be started: %s", strerror(-rc));
	(void)pthread_setname_np(reader, "read-ahead"); /* for people; tests wait for its end */
	rc = http_start(n->http, e) ?: put_url(n, e);
	if (rc == 0)
		(void)sigwait(ends, &ended);
	pthread_sigmask(SIG_SETMASK, before, NULL); /* a second one ends a long answer */
	end_reading(n, reader);
	return rc;
}

/* In this thread alone: who asks waits for each answer. Signals end it. */
static int serve_stdio(struct navigator *n, struct err *e)
{
	const struct mcp mcp = {.ask = ask, .has = has_report, .arg = n};

	return load(n, e) ?: mcp_run(&mcp, STDIN_FILENO, STDOUT_FILENO, e);
}

int navigator_run(struct inputs *in, const struct selection *selection, struct output *out,
		  struct err *e)
{
	struct navigator n = {.inputs = in,
			      .selection = selection,
			      .options = in->options,
			      .output = out,
			      .reading = PTHREAD_MUTEX_INITIALIZER,
			      .noting = PTHREAD_MUTEX_INITIALIZER};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t ends, before;
	int rc;

	sigemptyset(&ends);
	for (size_t i = 0; i < ARRAY_NR(signals); i++)
		sigaddset(&ends, signals[i]);
	buf_init(&n.notes, MAX_NOTES_BYTES);
	rc = thread_cond_init(&n.answered);
	if (rc)
		return err_set(e, rc, "%s", strerror(-rc));
	in->cancel = &n.is_ending;
	out->problems.report = note;
	out->problems.arg = &n;
	if (in->options->stdio) {
		rc = serve_stdio(&n, e);
	} else {
		pthread_sigmask(SIG_BLOCK, &ends, &before);
		rc = serve(&n, &ends, &before, e);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	http_close(n.http);
	pthread_cond_destroy(&n.answered);
	answers_free(n.answers);
	pool_free(in->pool);
	in->pool = NULL;
	in->cancel = NULL;
	out->problems.report = NULL;
	buf_fini(&n.notes);
	return rc;
}
