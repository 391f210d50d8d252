/*
 * Any bytes as a spec and as a session file: refused with an error that says something, or
 * accepted, and then the model's own JSON reads back to the same model.
 */
#include "base/buf.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_errors(int rc, const struct err_list *errs)
{
	require((rc == 0) == (errs->nr == 0));
	for (size_t i = 0; i < errs->nr; i++) {
		const struct err *e = &errs->item[i], *before = i ? e - 1 : e;

		require(e->code && e->msg[0] && e->source[0]);
		require(before->line < e->line ||
			(before->line == e->line && before->column <= e->column));
		for (const char *p = e->msg; *p; p++)
			require((unsigned char)*p >= 0x20);
	}
}

/* What a reader makes of the spec in a trace: the same metrics, and each operand is an event. */
static void check_metrics(const struct spec *written, const char *text)
{
	static struct err_list errs;
	struct spec s;
	int rc;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	rc = spec_parse_stored(text, written->nr_events, &s, &errs);
	check_errors(rc, &errs);
	require(rc == 0 && s.metric_set.nr == written->metric_set.nr);
	for (size_t i = 0; i < s.metric_set.nr; i++)
		for (size_t k = 0; k < s.metric_set.item[i].expr.nr_steps; k++)
			require(s.metric_set.item[i].expr.steps[k].operand < written->nr_events);
	spec_fini(&s);
}

static int spec_json(const char *text, size_t len, struct buf *json)
{
	static struct err_list errs;
	struct spec s;
	int rc;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	rc = spec_parse(text, len, "spec", &s, &errs);
	check_errors(rc, &errs);
	if (rc == 0) {
		rc = spec_check(&s, &errs);
		check_errors(rc, &errs);
	}
	if (rc == 0) {
		spec_to_json(&s, json);
		check_metrics(&s, buf_str(json));
	}
	spec_fini(&s);
	return rc;
}

static int session_json(const char *text, size_t len, struct buf *json)
{
	static struct err_list errs;
	struct cpsession s;
	int rc;

	memset(&errs, 0, sizeof(errs));
	cpsession_init(&s);
	rc = cpsession_parse(text, len, "session", &s, &errs);
	check_errors(rc, &errs);
	if (rc == 0)
		cpsession_to_json(&s, json);
	cpsession_fini(&s);
	return rc;
}

static void check(int (*to_json)(const char *text, size_t len, struct buf *json), const char *text,
		  size_t len)
{
	struct buf once, twice;

	buf_init(&once, 1 << 24);
	buf_init(&twice, 1 << 24);
	if (to_json(text, len, &once) == 0) {
		require(to_json(buf_str(&once), once.len, &twice) == 0);
		require(strcmp(buf_str(&once), buf_str(&twice)) == 0);
	}
	buf_fini(&once);
	buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(spec_json, (const char *)data, size);
	check(session_json, (const char *)data, size);
	return 0;
}
