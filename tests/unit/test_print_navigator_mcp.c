/* Messages of assistants: what each becomes, and what is answered. */
#include "kit.h"

#include "base/err.h"
#include "base/mem.h"
#include "navigator/mcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char asked[512];
static size_t answer_bytes;

/* Notes the request; the report "none" fails. */
static int ask(void *arg, const struct http_request *r, struct answers_parts *made, struct err *e)
{
	BUF_AUTO(text, sizeof(asked));

	(void)arg;
	buf_adds(&text, r->path);
	for (size_t i = 0; i < r->nr_arguments; i++)
		buf_printf(&text, " %s=%s", r->arguments[i].name, r->arguments[i].value);
	snprintf(asked, sizeof(asked), "%s", buf_str(&text));
	if (strcmp(r->path, "/api/none") == 0) {
		err_set(e, -EINVAL, "no such report");
		err_hint(e, "ask for another");
		return e->code;
	}
	if (answer_bytes) {
		buf_fill(&made->text, 'x', answer_bytes);
	} else if (strcmp(r->path, "/api/flat") == 0) {
		buf_adds(&made->text, "{\"a\":1}\n");
		buf_adds(&made->about, "[[\"a\",\"count\"]]");
	}
	return 0;
}

static bool has(void *arg, const char *report)
{
	(void)arg;
	return strcmp(report, "diff") != 0;
}

static const struct mcp m = {.ask = ask, .has = has};

static void require_answer(const char *line, const char *expected)
{
	BUF_AUTO(out, 8 << 20);

	mcp_answer(&m, line, strlen(line), &out);
	assert_string_equal(buf_str(&out), expected);
}

#define CALL(tool, arguments)                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool     \
	"\",\"arguments\":" arguments "}}"
#define ERROR(id, code, text)                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text      \
	"\"}}\n"
#define RESULT(text) "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{" text "}}\n"
#define ONE(text)    "{\"type\":\"text\",\"text\":\"" text "\"}"

TEST(errors)
{
	static const struct {
		const char *line, *expected;
	} list[] = {
	    {"nothing", ERROR("null", "-32700", "not JSON")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
	     ERROR("null", "-32700", "not JSON")},
	    {"[]", ERROR("null", "-32600", "not a request of JSON-RPC 2.0")},
	    {"{\"id\":1,\"method\":\"ping\"}",
	     ERROR("1", "-32600", "not a request of JSON-RPC 2.0")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
	     ERROR("null", "-32600", "not a request of JSON-RPC 2.0")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\\"\",\"method\":\"go\"}",
	     ERROR("\"\\\"\"", "-32601", "no such method")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
	     ERROR("1", "-32602", "params: must be an object")},
	    {CALL("nothing", "{}"),
	     ERROR("7", "-32602", "name: no such tool: tools/list has them")},
	    {CALL("functions", "[]"), ERROR("7", "-32602", "arguments: must be an object")},
	    {CALL("functions", "{\"event\":{}}"),
	     ERROR("7", "-32602", "an argument is no text, number or flag")},
	    {CALL("functions", "{\"event\":[[]]}"),
	     ERROR("7", "-32602", "an argument is no text, number or flag")},
	    {CALL("code", "{}"), ERROR("7", "-32602", "function: a pattern is required")},
	    {CALL("report", "{\"report\":1}"),
	     ERROR("7", "-32602", "report: the name of one is required")},
	    /* a notification has no answer, whatever it says */
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"go\"}", ""},
	};

	for (size_t i = 0; i < NR(list); i++)
		require_answer(list[i].line, list[i].expected);
}

TEST(calls)
{
	static const struct {
		const char *line, *asked, *expected;
	} list[] = {
	    {CALL("functions", "{}"), "/api/flat top=20",
	     RESULT("\"content\":[" ONE("{\\\"a\\\":1}\\n") "," ONE(
		 "{\\\"columns\\\":[[\\\"a\\\",\\\"count\\\"]]}") "],\"isError\":false")},
	    {CALL("callers", "{\"function\":\"m\",\"top\":5}"), "/api/calls function=m top=5",
	     RESULT("\"content\":[" ONE("no rows: the sessions have no such data, or arguments "
					"exclude all of it") "],\"isError\":false")},
	    {CALL("report", "{\"report\":\"none\",\"event\":[\"a\",\"b\"],\"lines\":true}"),
	     "/api/none event=a event=b lines=1 top=20",
	     RESULT("\"content\":[" ONE("no such report; ask for another") "],\"isError\":true")},
	};

	for (size_t i = 0; i < NR(list); i++) {
		require_answer(list[i].line, list[i].expected);
		assert_string_equal(asked, list[i].asked);
	}
}

/* Rows are not cut: what is too large is refused. */
TEST(large_answer)
{
	answer_bytes = MCP_MAX_ANSWER_BYTES + 1;
	require_answer(CALL("functions", "{}"),
		       RESULT("\"content\":[" ONE(
			   "the answer is too large: select less, by top, event, comm, from, to or "
			   "min-percent") "],\"isError\":true"));
	answer_bytes = 0;
}

TEST(limits)
{
	static const struct {
		size_t nr, bytes;
		const char *expected;
	} list[] = {{64, 1, NULL},
		    {65, 1, ERROR("7", "-32602", "too many arguments")},
		    {1, 4096, NULL},
		    {1, 4097, ERROR("7", "-32602", "an argument is too long")}};

	for (size_t i = 0; i < NR(list); i++) {
		BUF_AUTO(line, 1 << 20);
		BUF_AUTO(out, 1 << 20);

		buf_adds(&line,
			 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
			 "\"name\":\"functions\",\"arguments\":{\"event\":[");
		for (size_t k = 0; k < list[i].nr; k++) {
			buf_adds(&line, k ? ",\"" : "\"");
			buf_fill(&line, 'e', list[i].bytes);
			buf_addc(&line, '"');
		}
		buf_adds(&line, "]}}}");
		mcp_answer(&m, buf_str(&line), line.len, &out);
		if (list[i].expected)
			assert_string_equal(buf_str(&out), list[i].expected);
		else
			assert_non_null(strstr(buf_str(&out), "\"isError\":false"));
	}
}

/* A line that is too long is answered once, and those behind it as ever; the last needs no end. */
TEST(lines)
{
	static const char ping[] = "\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}";
	char text[1024] = "";
	int in[2], out[2];
	char *x = mem_alloc(MCP_MAX_LINE_BYTES + 1);
	struct err e = {0};

	assert_int_equal(pipe(in) | pipe(out), 0);
	if (fork() == 0) {
		memset(x, 'x', MCP_MAX_LINE_BYTES + 1);
		close(in[0]);
		(void)!write(in[1], x, MCP_MAX_LINE_BYTES + 1);
		(void)!write(in[1], ping, sizeof(ping) - 1);
		_exit(0);
	}
	close(in[1]);
	assert_int_equal(mcp_run(&m, in[0], out[1], &e), 0);
	assert_true(read(out[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, ERROR("null", "-32600", "the message is too long") RESULT(""));
	close(in[0]);
	close(out[0]);
	close(out[1]);
	mem_free(x);
}
