/*
 * The summary in the answer of --output-format=json: how the target ended, and what was counted
 * of it; the sentence above it is concluded from the same numbers as that of text.
 */
#include "answer.h"

#include "base/json_writer.h"
#include "base/str.h"
#include "screen/format.h"
#include "summary/summary.h"
#include "summary/target.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { TEXT_BYTES = 256, MAX_SHOWN_BYTES = 16 << 20, MAX_LINE_BYTES = 8 << 10 };

static void put_real(struct json_writer *json, const char *key, double x)
{
	char text[64];

	if (!isfinite(x))
		return;
	snprintf(text, sizeof(text), "%.0f", x);
	jsonw_raw(json, key, text);
}

/* Of runs: the mean, and its interval. */
static void put_spread(struct json_writer *json, const char *name, const struct spread *s)
{
	const double half = s->nr > 1 ? spread_mean_half(s) : NAN;
	char key[32];

	put_real(json, name, s->nr ? s->mean : NAN);
	snprintf(key, sizeof(key), "%s_low", name);
	put_real(json, key, s->mean - half);
	snprintf(key, sizeof(key), "%s_high", name);
	put_real(json, key, s->mean + half);
}

static void put_end(struct json_writer *json, const struct summary *s)
{
	const int status = (int)(s->runs.nr_failed ? s->runs.failed : s->target.status);

	jsonw_u64(json, WIFSIGNALED(status) ? "signal" : "exit_status",
		  WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : (uint64_t)WEXITSTATUS(status));
	jsonw_u64(json, "runs", s->runs.nr);
	jsonw_u64(json, "failed_runs", s->runs.nr_failed);
	put_spread(json, "wall_ns", &s->runs.wall);
	put_spread(json, "user_ns", &s->runs.user);
	put_spread(json, "system_ns", &s->runs.system);
	jsonw_u64(json, "peak_bytes", s->runs.peak_bytes);
}

/* A long command line is cut between characters. */
static void put_command(struct json_writer *json, const char *command)
{
	char text[TEXT_BYTES];
	const size_t len = str_whole(command, sizeof(text) - 1);

	memcpy(text, command, len);
	text[len] = '\0';
	jsonw_text(json, "command", text);
}

static void put_target(struct json_writer *json, const struct summary *s)
{
	const struct conclusion *c = &s->j->output->conclusion;

	JSONW_OBJECT(json, "target") {
		put_command(json, s->target.text);
		if (s->runs.nr)
			put_end(json, s);
	}
	if (c->all_ns > 0)
		JSONW_OBJECT(json, "threads") {
			jsonw_u64(json, "number", c->nr_threads);
			jsonw_u64(json, "cpus", c->nr_cpus);
			put_real(json, "time_ns", c->all_ns);
			put_real(json, "on_cpu_ns", c->used_ns);
			put_real(json, "waiting_for_cpu_ns", c->queue_ns);
			put_real(json, "blocked_ns", c->blocked_ns);
		}
}

/* What text says of the target is computed for the sentence, and not shown. */
static void conclude(struct summary *s)
{
	BUF_AUTO(text, MAX_SHOWN_BYTES);
	struct buf *const out = s->out;

	s->out = &text;
	summary_target(s);
	s->out = out;
}

static void put_notes(const struct summary *s, struct buf *out)
{
	static const char prefix[] = "Note: ";
	const char *at = buf_str(&s->notes), *end = at + s->notes.len, *line, *stop;
	BUF_AUTO(text, MAX_LINE_BYTES);

	while ((line = str_next_line(&at, end, &stop))) {
		line += strncmp(line, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;
		buf_reset(&text);
		buf_add(&text, line, (size_t)(stop - line));
		buf_json_string(out, buf_str(&text));
		buf_addc(out, '\n');
	}
}

static void end_answer(struct summary *s)
{
	struct answer *a = s->j->output->document->answer;
	struct json_writer json;

	if (s->target.flags)
		conclude(s);
	buf_addc(&a->facts, ',');
	jsonw_init(&json, &a->facts, false);
	jsonw_text(&json, "host", s->facts->head.host);
	jsonw_u64(&json, "iterations", s->totals->nr_iterations);
	jsonw_u64(&json, "measured_ns", s->totals->measured_ns);
	if (s->target.flags)
		put_target(&json, s);
	screen_ndjson_totals(s->table, s->totals, &answer_add(a, "totals", false)->lines);
	screen_ndjson_absent(s->table, s->totals, &answer_add(a, "not_measured", false)->lines);
	put_notes(s, &answer_add(a, "notes", false)->lines);
	screen_warn_metrics(s->table, s->totals, problems_add_warning, &s->j->output->problems);
}

const struct summary_format summary_answer = {
    .trace = summary_add_notes,
    .end = end_answer,
};
