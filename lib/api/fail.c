/*
 * Errors for programs.
 */
#include "api/fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_usable(const struct cpuperf_error *out)
{
	return out && out->size >= sizeof(*out);
}

void api_fail_clear(struct cpuperf_error *out)
{
	if (!is_usable(out))
		return;
	out->code = 0;
	out->line = out->column = 0;
	out->source[0] = out->message[0] = out->hint[0] = out->text[0] = '\0';
}

static void set_fields(struct cpuperf_error *out, const struct err *e)
{
	out->code = e->code;
	out->line = e->line;
	out->column = e->column;
	snprintf(out->source, sizeof(out->source), "%s", e->source);
	snprintf(out->message, sizeof(out->message), "%s", e->msg);
	snprintf(out->hint, sizeof(out->hint), "%s", e->hint);
}

int api_fail(struct cpuperf_error *out, const struct err *e)
{
	size_t used;

	if (!is_usable(out))
		return e->code;
	if (!out->code)
		set_fields(out, e);
	used = strlen(out->text);
	if (used && used + 1 < sizeof(out->text))
		out->text[used++] = '\n';
	err_format(e, out->text + used, sizeof(out->text) - used);
	return e->code;
}

int api_fail_list(struct cpuperf_error *out, const struct err_list *errs, int rc)
{
	for (size_t i = 0; i < errs->nr; i++)
		api_fail(out, &errs->item[i]);
	return rc;
}

int api_fail_memory(struct cpuperf_error *out)
{
	return api_fail_use(out, -ENOMEM, "out of memory", NULL);
}

int api_fail_use(struct cpuperf_error *out, int code, const char *what, const char *hint)
{
	struct err e = {0};

	err_set(&e, code, "%s", what);
	if (hint)
		err_hint(&e, "%s", hint);
	return api_fail(out, &e);
}

void api_fail_copy(struct cpuperf_error *out, const struct cpuperf_error *from)
{
	size_t size;

	if (!is_usable(out))
		return;
	size = out->size;
	*out = *from;
	out->size = size;
}
