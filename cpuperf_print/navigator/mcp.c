/*
 * A tool is a row of a table: a report, under the name of the question that it answers. What a
 * message names becomes a request of the navigator, which refuses what is no argument there.
 */
#include "navigator/mcp.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "navigator/query.h"
#include "spec/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	NO_METHOD = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603,

	MAX_ID_BYTES = 256,
	MAX_NAME_BYTES = 64,
	MAX_VALUE_BYTES = 4096,
	NUMBER_BYTES = 32,
	READ_BYTES = 16 << 10,
};

/* --- tools ------------------------------------------------------------------------------------ */

enum need { NEEDS_NOTHING, NEEDS_FUNCTION, NEEDS_REPORT };

static const struct tool {
	const char *name, *description;
	const char *report; /* NULL: an argument names it */
	enum need need;
} tools[] = {
    {"session",
     "What the sessions have: events with their units and scales, reports, notes on data "
     "that is missing. Ask this first.",
     "session", NEEDS_NOTHING},
    {"functions", "Functions by their share of samples: self, and total with what they call.",
     "flat", NEEDS_NOTHING},
    {"callers", "A function between its callers and callees.", "calls", NEEDS_FUNCTION},
    {"code", "Source lines and instructions of a function, with their samples.", "annotate",
     NEEDS_FUNCTION},
    {"waits", "Where threads wait, by state and reason.", "waits", NEEDS_NOTHING},
    {"regions", "Regions that the program marked: calls and times.", "regions", NEEDS_NOTHING},
    {"diff", "What changed since the sessions of --diff, and whether beyond chance.", "diff",
     NEEDS_NOTHING},
    {"report", "Any report of cpuperf_print, by the name that the tool session lists.", NULL,
     NEEDS_REPORT},
};

/* Of those that query.h allows, the ones that are described. */
static const struct {
	const char *name, *description;
} arguments[] = {
    {"function", "functions that match a pattern"},
    {"event", "events that match a pattern"},
    {"comm", "threads of a name that matches a pattern"},
    {"pid", "processes by number"},
    {"tid", "threads by number"},
    {"region", "samples within a marked region"},
    {"from", "from this time since the start on, as 1.5s"},
    {"to", "up to this time"},
    {"group-by", "columns of rows, as comm,function"},
    {"min-percent", "no rows below this share"},
    {"top", "at most so many rows of each event; 20 unless named"},
};

static const char usual_top[] = "20";

static bool is_listed(const struct mcp *m, const struct tool *t)
{
	return !t->report || strcmp(t->report, "session") == 0 || m->has(m->arg, t->report);
}

static void put_property(struct json_writer *json, const char *name, const char *description)
{
	JSONW_OBJECT(json, name) {
		jsonw_text(json, "type", "string");
		jsonw_text(json, "description", description);
	}
}

static void put_input(struct json_writer *json, const struct tool *t)
{
	const bool has_arguments = !t->report || strcmp(t->report, "session") != 0;

	JSONW_OBJECT(json, "inputSchema") {
		jsonw_text(json, "type", "object");
		JSONW_OBJECT(json, "properties") {
			if (t->need == NEEDS_REPORT)
				put_property(json, "report", "its name");
			for (size_t i = 0; has_arguments && i < ARRAY_NR(arguments); i++)
				put_property(json, arguments[i].name, arguments[i].description);
		}
		if (t->need != NEEDS_NOTHING)
			JSONW_ARRAY(json, "required") {
				jsonw_text(json, NULL,
					   t->need == NEEDS_REPORT ? "report" : "function");
			}
	}
}

static void put_tools(const struct mcp *m, struct json_writer *json)
{
	JSONW_ARRAY(json, "tools") {
		for (size_t i = 0; i < ARRAY_NR(tools); i++) {
			if (!is_listed(m, &tools[i]))
				continue;
			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "name", tools[i].name);
				jsonw_text(json, "description", tools[i].description);
				put_input(json, &tools[i]);
				JSONW_OBJECT(json, "annotations") {
					jsonw_bool(json, "readOnlyHint", true);
				}
			}
		}
	}
}

/* --- messages --------------------------------------------------------------------------------- */

/* One that is answered. */
struct message {
	const struct mcp *mcp;
	const char *id; /* JSON */
	json_t *params; /* borrowed; NULL: none */
	struct buf *out;
};

static void put_error(const struct message *q, int code, const char *text)
{
	struct json_writer json;
	char number[NUMBER_BYTES];

	snprintf(number, sizeof(number), "%d", code);
	jsonw_init(&json, q->out, false);
	JSONW_OBJECT(&json, NULL) {
		jsonw_text(&json, "jsonrpc", "2.0");
		jsonw_raw(&json, "id", q->id);
		JSONW_OBJECT(&json, "error") {
			jsonw_raw(&json, "code", number);
			jsonw_text(&json, "message", text);
		}
	}
	buf_addc(q->out, '\n');
}

/* Begins and ends {"jsonrpc":"2.0","id":1,"result":{…}}. */
static void begin_result(const struct message *q, struct json_writer *json)
{
	jsonw_init(json, q->out, false);
	jsonw_object(json, NULL);
	jsonw_text(json, "jsonrpc", "2.0");
	jsonw_raw(json, "id", q->id);
	jsonw_object(json, "result");
}

static void end_result(const struct message *q, struct json_writer *json)
{
	jsonw_end(json);
	jsonw_end(json);
	buf_addc(q->out, '\n');
}

static void put_content(struct json_writer *json, const char *text)
{
	JSONW_OBJECT(json, NULL) {
		jsonw_text(json, "type", "text");
		jsonw_text(json, "text", text);
	}
}

static void answer_initialize(const struct message *q)
{
	static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};
	const char *asked = json_string_value(json_object_get(q->params, "protocolVersion"));
	const char *const *known =
	    ARRAY_FIND(x, versions, ARRAY_NR(versions), asked && strcmp(*x, asked) == 0);
	struct json_writer json;

	begin_result(q, &json);
	jsonw_text(&json, "protocolVersion", known ? *known : versions[0]);
	JSONW_OBJECT(&json, "capabilities") {
		JSONW_OBJECT(&json, "tools") {
		}
	}
	JSONW_OBJECT(&json, "serverInfo") {
		jsonw_text(&json, "name", "cpuperf_print");
		jsonw_text(&json, "version", CPUPERF_VERSION);
	}
	jsonw_text(
	    &json, "instructions",
	    "Questions of recorded sessions of cpuperf; nothing is measured. Answers are rows "
	    "of ndjson; shares are percent, with _low and _high the ends of their 95 % interval; "
	    "counts are raw, to be multiplied by the event's scale.");
	end_result(q, &json);
}

static void answer_ping(const struct message *q)
{
	struct json_writer json;

	begin_result(q, &json);
	end_result(q, &json);
}

static void answer_list(const struct message *q)
{
	struct json_writer json;

	begin_result(q, &json);
	put_tools(q->mcp, &json);
	end_result(q, &json);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The request that a call becomes; values that are no text are in numbers. */
struct call {
	struct http_request request;
	char path[sizeof("/api/") + MAX_NAME_BYTES];
	char number[HTTP_MAX_ARGUMENTS][NUMBER_BYTES];
};

/* Appends an argument. NULL, or why not. */
static const char *add_value(struct call *c, const char *name, const json_t *value)
{
	struct http_request *r = &c->request;
	char *number = c->number[r->nr_arguments % HTTP_MAX_ARGUMENTS];
	const char *text = number;

	if (r->nr_arguments == HTTP_MAX_ARGUMENTS)
		return "too many arguments";
	if (json_is_string(value))
		text = json_string_value(value);
	else if (json_is_integer(value))
		snprintf(number, NUMBER_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, NUMBER_BYTES, "%.9g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(number, NUMBER_BYTES, "%d", json_is_true(value));
	else
		return "an argument is no text, number or flag";
	if (strlen(text) > MAX_VALUE_BYTES)
		return "an argument is too long";
	r->arguments[r->nr_arguments++] = (struct http_argument){name, text};
	return NULL;
}

/* Several values are the argument several times. */
static const char *add_argument(struct call *c, const char *name, const json_t *value)
{
	const char *why = NULL;

	if (!json_is_array(value))
		return add_value(c, name, value);
	for (size_t i = 0; i < json_array_size(value) && !why; i++)
		why = add_value(c, name, json_array_get(value, i));
	return why;
}

static const char *set_path(struct call *c, const struct tool *t, const json_t *args)
{
	const char *report =
	    t->report ? t->report : json_string_value(json_object_get(args, "report"));

	if (!report || !*report || strlen(report) >= MAX_NAME_BYTES)
		return "report: the name of one is required";
	if (t->need == NEEDS_FUNCTION && !json_object_get(args, "function"))
		return "function: a pattern is required";
	snprintf(c->path, sizeof(c->path), "/api/%s", report);
	c->request.path = c->path;
	return NULL;
}

static const char *make_call(struct call *c, const struct tool *t, json_t *args)
{
	const char *why = set_path(c, t, args), *name;
	json_t *value;

	json_object_foreach(args, name, value)
	{
		if (!why && (t->report || strcmp(name, "report") != 0))
			why = add_argument(c, name, value);
	}
	if (!why && !json_object_get(args, "top") && c->request.nr_arguments < HTTP_MAX_ARGUMENTS)
		c->request.arguments[c->request.nr_arguments++] =
		    (struct http_argument){"top", usual_top};
	return why;
}

static void put_answer(struct json_writer *json, const struct answers_parts *made)
{
	BUF_AUTO(columns, MCP_MAX_LINE_BYTES);

	put_content(json, made->text.len ? buf_str(&made->text)
					 : "no rows: the sessions have no such data, or arguments "
					   "exclude all of it");
	if (!made->about.len)
		return;
	buf_printf(&columns, "{\"columns\":%s}", buf_str(&made->about));
	put_content(json, buf_str(&columns));
}

static void put_failure(struct json_writer *json, const struct err *e)
{
	BUF_AUTO(text, 2 * sizeof(*e));

	buf_printf(&text, "%s%s%s%s%s", e->source, *e->source ? ": " : "", e->msg,
		   *e->hint ? "; " : "", e->hint);
	put_content(json, buf_str(&text));
}

/* What is too large for an answer is an error: rows are not cut. */
static void answer_made(const struct message *q, int rc, const struct answers_parts *made,
			struct err *e)
{
	struct json_writer json;

	if (rc == 0 && made->text.len > MCP_MAX_ANSWER_BYTES)
		rc = err_set(e, -EFBIG,
			     "the answer is too large: select less, by top, event, comm, "
			     "from, to or min-percent");
	begin_result(q, &json);
	JSONW_ARRAY(&json, "content") {
		if (rc)
			put_failure(&json, e);
		else
			put_answer(&json, made);
	}
	jsonw_bool(&json, "isError", rc);
	end_result(q, &json);
}

static void answer_call(const struct message *q)
{
	const char *name = json_string_value(json_object_get(q->params, "name")), *why = NULL;
	const struct tool *t =
	    ARRAY_FIND(x, tools, ARRAY_NR(tools), name && strcmp(x->name, name) == 0);
	json_t *args = json_object_get(q->params, "arguments");
	struct call c = {.request = {.method = "GET"}};
	struct answers_parts made;
	struct err e = {0};
	int rc;

	if (!t)
		why = "name: no such tool: tools/list has them";
	else if (args && !json_is_object(args))
		why = "arguments: must be an object";
	else
		why = make_call(&c, t, args);
	if (why) {
		put_error(q, INVALID_PARAMS, why);
		return;
	}
	if (strcmp(c.path, "/api/session") == 0)
		c.request.nr_arguments = 0;
	answers_parts_init(&made);
	rc = q->mcp->ask(q->mcp->arg, &c.request, &made, &e);
	answer_made(q, rc, &made, &e);
	answers_parts_fini(&made);
}

/* --- lines ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	void (*answer)(const struct message *q);
} methods[] = {
    {"initialize", answer_initialize},
    {"ping", answer_ping},
    {"tools/list", answer_list},
    {"tools/call", answer_call},
};

/* false: it is none that a message may have. */
static bool put_id(const json_t *id, struct buf *out)
{
	if (json_is_integer(id))
		buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
	else if (json_is_string(id) && json_string_length(id) <= MAX_ID_BYTES)
		buf_json_string(out, json_string_value(id));
	else
		return false;
	return true;
}

static void answer_message(const struct mcp *m, json_t *root, struct buf *out)
{
	const char *method = json_string_value(json_object_get(root, "method"));
	const char *version = json_string_value(json_object_get(root, "jsonrpc"));
	json_t *id = json_object_get(root, "id"), *params = json_object_get(root, "params");
	struct message q = {.mcp = m, .id = "null", .params = params, .out = out};
	BUF_AUTO(text, 8 * MAX_ID_BYTES);
	size_t i = 0;

	if (id && !put_id(id, &text))
		method = NULL;
	else if (id)
		q.id = buf_str(&text);
	if (!method || !version || strcmp(version, "2.0") != 0) {
		put_error(&q, INVALID_REQUEST, "not a request of JSON-RPC 2.0");
		return;
	}
	if (!id) /* a notification: nothing here needs one */
		return;
	while (i < ARRAY_NR(methods) && strcmp(methods[i].name, method) != 0)
		i++;
	if (i == ARRAY_NR(methods))
		put_error(&q, NO_METHOD, "no such method");
	else if (params && !json_is_object(params))
		put_error(&q, INVALID_PARAMS, "params: must be an object");
	else
		methods[i].answer(&q);
}

void mcp_answer(const struct mcp *m, const char *line, size_t len, struct buf *out)
{
	const struct message nameless = {.mcp = m, .id = "null", .out = out};
	const size_t start = out->len;
	json_error_t error;
	json_t *root = NULL;
	int rc = len > MCP_MAX_LINE_BYTES ? -EFBIG : json_parse(line, len, &root, &error);

	if (rc)
		put_error(&nameless,
			  rc == -EFBIG    ? INVALID_REQUEST
			  : rc == -ENOMEM ? INTERNAL_ERROR
					  : PARSE_ERROR,
			  rc == -EFBIG    ? "the message is too long"
			  : rc == -ENOMEM ? "out of memory"
					  : "not JSON");
	else
		answer_message(m, root, out);
	json_decref(root);
	if (!buf_error(out))
		return;
	buf_reset(out); /* what was begun is no message */
	if (!start)
		put_error(&nameless, INTERNAL_ERROR, "the answer found no room");
}

/* Lines as they come; one that is too long is passed over, and answered once. */
struct lines {
	struct buf text;
	bool is_long;
};

static void take_line(const struct mcp *m, struct lines *l, struct buf *out)
{
	const size_t len = l->is_long ? MCP_MAX_LINE_BYTES + 1 : l->text.len;

	if (len)
		mcp_answer(m, buf_str(&l->text), len, out);
	buf_reset(&l->text);
	l->is_long = false;
}

static int take_bytes(const struct mcp *m, struct lines *l, const char *at, size_t len, int fd)
{
	const char *const end = at + len;
	int rc = 0;

	while (at < end && rc == 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		BUF_AUTO(out, 8 * MCP_MAX_ANSWER_BYTES);

		l->is_long |=
		    l->text.len + (size_t)((newline ? newline : end) - at) > MCP_MAX_LINE_BYTES;
		if (!l->is_long)
			buf_add(&l->text, at, (size_t)((newline ? newline : end) - at));
		if (!newline)
			return 0;
		take_line(m, l, &out);
		rc = io_write_full(fd, buf_str(&out), out.len);
		at = newline + 1;
	}
	return rc;
}

int mcp_run(const struct mcp *m, int in, int out, struct err *e)
{
	struct lines l = {.is_long = false};
	char bytes[READ_BYTES];
	ssize_t len;
	int rc = 0;

	buf_init(&l.text, MCP_MAX_LINE_BYTES + 1);
	while (rc == 0 &&
	       ((len = read(in, bytes, sizeof(bytes))) > 0 || (len < 0 && errno == EINTR)))
		rc = len > 0 ? take_bytes(m, &l, bytes, (size_t)len, out) : 0;
	if (rc == 0 && len < 0)
		rc = err_set(e, -errno, "standard input: %s", strerror(errno));
	else if (rc == 0 && l.text.len + l.is_long) /* the last line may have no end */
		rc = take_bytes(m, &l, "\n", 1, out);
	buf_fini(&l.text);
	if (rc == -EPIPE)
		return 0;
	return rc && !e->code ? err_set(e, rc, "standard output: %s", strerror(-rc)) : rc;
}
