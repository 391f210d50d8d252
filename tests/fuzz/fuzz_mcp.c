/*
 * Any bytes as messages to cpuperf_print --serve --stdio, a line each: each is answered by at most
 * one line, which is a message of JSON-RPC, and a request of the navigator is within its limits.
 */
#include "base/err.h"
#include "base/str.h"
#include "navigator/mcp.h"
#include "navigator/query.h"
#include "spec/json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/* What names are is up to the navigator; here their arguments are read. */
static int ask(void *arg, const struct http_request *r, struct answers_parts *made, struct err *e)
{
	static const struct options base = {.output_format = "text"};
	struct query *q = NULL;
	int rc;

	(void)arg;
	require(strncmp(r->path, "/api/", 5) == 0 && r->nr_arguments <= HTTP_MAX_ARGUMENTS);
	rc = query_new(&base, r, &q, e);
	query_free(q);
	if (rc == 0 && strcmp(r->path, "/api/flat") == 0) {
		buf_adds(&made->text, "{\"report\":\"flat\"}\n");
		buf_adds(&made->about, "[]");
	}
	require((rc == 0) == (e->code == 0));
	return rc;
}

static bool has(void *arg, const char *report)
{
	(void)arg;
	return *report != 'd';
}

static void check_answer(const struct buf *out)
{
	json_error_t error;
	json_t *root = NULL;

	require(!buf_error(out));
	if (!out->len)
		return;
	require(memchr(out->data, '\n', out->len) == out->data + out->len - 1);
	require(json_parse(out->data, out->len, &root, &error) == 0);
	require(json_is_string(json_object_get(root, "jsonrpc")) && json_object_get(root, "id"));
	require(!json_object_get(root, "result") != !json_object_get(root, "error"));
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mcp m = {.ask = ask, .has = has};
	char *text = malloc(size + 1); /* of exactly its size, so that reading beyond it is seen */
	const char *at = text, *line, *stop;
	struct buf out;

	require(text != NULL);
	memcpy(text, data, size);
	buf_init(&out, 1 << 20);
	while ((line = str_next_line(&at, text + size, &stop))) {
		buf_reset(&out);
		mcp_answer(&m, line, (size_t)(stop - line), &out);
		check_answer(&out);
	}
	buf_fini(&out);
	free(text);
	return 0;
}
