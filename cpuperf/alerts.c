/*
 * --save-alerts: the limits of a spec's metrics as alert rules of Prometheus.
 */
#include "base/buf.h"
#include "base/draft.h"
#include "base/err.h"
#include "base/mem.h"
#include "expose/exposition.h"
#include "program.h"
#include "spec/spec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 1 << 20 };

static const char heading[] = "# Alert rules of cpuperf, from the limits of a spec's metrics\n";

/* An io_may_replace_fn: what was written here before. */
static int is_rules(int fd)
{
	char text[sizeof(heading) - 1];
	ssize_t len = pread(fd, text, sizeof(text), 0);

	if (len < 0)
		return -errno;
	return !len || (len == (ssize_t)sizeof(text) && memcmp(text, heading, sizeof(text)) == 0);
}

/* A scalar of YAML in double quotes: text that is printable UTF-8. */
static void put_quoted(struct buf *out, const char *text)
{
	buf_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
	buf_addc(out, '"');
}

static void put_rule(struct buf *out, const struct exposition *x, size_t column,
		     const struct spec_metric *m, bool is_low)
{
	const struct metric_limit *limit = is_low ? &m->warn_below : &m->warn_above;
	const char *side = is_low ? "below" : "above";
	struct openmetrics selector = {.has_begun = true};
	struct openmetrics_scale scale;
	const char *family = exposition_family(x, column, &scale);
	BUF_AUTO(text, MAX_BYTES);

	selector.out = &text;
	selector.name = family;
	openmetrics_begin(&selector);
	openmetrics_label(&selector, "event", m->name);
	openmetrics_value(&selector);
	buf_printf(&text, "%c %.15g", is_low ? '<' : '>', openmetrics_scaled(limit->value, scale));
	buf_printf(out, "  - alert: %s_%s\n    expr: ", family, side);
	put_quoted(out, buf_str(&text));
	buf_printf(
	    out,
	    "\n    for: 1m\n    labels:\n      severity: warning\n    annotations:\n"
	    "      summary: \"{{ $labels.event }} of {{ $labels.instance }} is {{ $value }}, "
	    "%s %.15g\"\n",
	    side, openmetrics_scaled(limit->value, scale));
}

static int put_rules(struct buf *out, const struct spec *spec, const struct table *t)
{
	const struct exposition_config config = {.has_no_times = true};
	struct exposition x;
	int rc = exposition_init(&x, &config, t);

	buf_adds(out, heading);
	buf_adds(out, "groups:\n- name: cpuperf\n  rules:\n");
	for (size_t i = 0; i < spec->nr_metrics && rc == 0; i++) {
		if (spec->metrics[i].warn_below.text)
			put_rule(out, &x, i, &spec->metrics[i], true);
		if (spec->metrics[i].warn_above.text)
			put_rule(out, &x, i, &spec->metrics[i], false);
	}
	exposition_fini(&x);
	return rc ?: buf_error(out);
}

static bool has_limits(const struct spec *spec)
{
	for (size_t i = 0; i < spec->nr_metrics; i++)
		if (spec->metrics[i].warn_below.text || spec->metrics[i].warn_above.text)
			return true;
	return false;
}

/* The metrics as a session's table has them. */
static int make_rules(struct buf *out, const struct spec *spec)
{
	struct table_column *columns = mem_calloc(spec->nr_metrics + 1, sizeof(*columns));
	struct metric metric = {.name = ""};
	struct table t = {.columns = columns, .nr_columns = spec->nr_metrics};
	int rc = columns ? 0 : -ENOMEM;

	for (size_t i = 0; i < spec->nr_metrics && rc == 0; i++)
		columns[i] = (struct table_column){.group = "",
						   .name = spec->metrics[i].name,
						   .label = spec->metrics[i].name,
						   .unit = spec->metrics[i].unit,
						   .metric = &metric};
	rc = rc ?: put_rules(out, spec, &t);
	mem_free(columns);
	return rc;
}

int save_alerts(const char *path, const struct spec *spec, struct err *e)
{
	struct draft d = DRAFT_NONE;
	BUF_AUTO(text, MAX_BYTES);
	int rc;

	if (!has_limits(spec)) {
		err_set_at(e, -ENOENT, spec->source, 0, 0,
			   "no metric has a limit, so there is no rule");
		err_hint(e, "set warn_above or warn_below of a metric");
		return -ENOENT;
	}
	rc = make_rules(&text, spec);
	if (rc)
		return err_set_at(e, rc, path, 0, 0, "%s", strerror(-rc));
	rc = draft_open(&d, path, e);
	if (rc)
		return rc;
	rc = io_write_full(d.fd, buf_str(&text), text.len);
	if (rc == 0)
		return draft_publish(&d, is_rules, e);
	draft_drop(&d);
	return err_set_at(e, rc, path, 0, 0, "cannot be written: %s", strerror(-rc));
}
