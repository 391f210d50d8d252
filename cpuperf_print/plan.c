/*
 * Checks of options against the registry.
 */
#include "plan.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "options.h"
#include "push.h"
#include "registry.h"
#include "selection.h"

#include <errno.h>
#include <unistd.h>

static bool prints_reports(const struct registry_row *row)
{
	return row->kind == REGISTRY_FORM && !row->is_summary_only;
}

static bool prints_diff(const struct registry_row *row)
{
	return prints_reports(row) || (row->kind == REGISTRY_EXPORT && row->diff);
}

static size_t nr_sessions(const struct options *o)
{
	return o->sessions.nr + o->perf_data.nr;
}

/* An export is printed in place of a report. */
static int check_export(const struct plan *p, const struct options *o, struct err *e)
{
	const struct registry_row *row = p->format;
	char names[REGISTRY_NAMES_BYTES];

	if (o->reports.nr) {
		err_set(e, -EINVAL, "--output-format=%s and --report=%s are mutually exclusive",
			row->name, o->reports.item[0]);
		err_hint(e, "formats of reports: %s", registry_names(names, prints_reports));
	} else if (o->diff.nr && !row->diff) {
		err_set(e, -EINVAL, "--output-format=%s does not support --diff", row->name);
		err_hint(e, "formats that do: %s", registry_names(names, prints_diff));
	} else if (o->counts && row->diff != REGISTRY_DIFF) {
		err_set(e, -EINVAL, "--output-format=%s does not support --counts", row->name);
		err_hint(e, "--report=diff does");
	} else if (nr_sessions(o) > 1 && (row->sessions == REGISTRY_ONE ||
					  (row->sessions == REGISTRY_LANES && !row->takes_any) ||
					  (row->sessions == REGISTRY_SUM && o->by_session))) {
		err_set(e, -EINVAL, "--output-format=%s prints one session%s", row->name,
			row->sessions == REGISTRY_SUM     ? " or the sum of several"
			: row->sessions == REGISTRY_LANES ? " or one job"
							  : "");
		err_hint(e, "use one --session at a time");
	} else if (row->is_folder &&
		   (!o->output_file || io_named_descriptor(o->output_file) >= 0)) {
		err_set(e, -EINVAL, "--output-format=%s requires --output-file=FOLDER", row->name);
		err_hint(e, "FOLDER is the store, to which sessions are added");
	} else if (row->is_binary && !o->output_file && isatty(STDOUT_FILENO)) {
		err_set(e, -EINVAL, "--output-format=%s is not printed to a terminal", row->name);
		err_hint(e, "use --output-file=PATH or a pipe");
	} else {
		return 0;
	}
	return -EINVAL;
}

static int check_form(const struct plan *p, const struct options *o, struct err *e)
{
	const struct registry_row *row = p->format;
	char names[REGISTRY_NAMES_BYTES];
	bool is_other = o->diff.nr;

	for (size_t i = 0; i < p->nr; i++)
		is_other |= p->print[i] != registry_find_report("summary", e);
	if (row->is_summary_only && is_other) {
		err_set(e, -EINVAL, "--output-format=%s prints only --report=summary", row->name);
		err_hint(e, "formats of other reports: %s", registry_names(names, prints_reports));
		return -EINVAL;
	}
	if (row->sessions == REGISTRY_ONE && nr_sessions(o) > 1) {
		err_set(e, -EINVAL, "--output-format=%s prints one session", row->name);
		err_hint(e, "use one --session at a time; formats of several sessions: %s",
			 registry_names(names, prints_reports));
		return -EINVAL;
	}
	return 0;
}

static int check_diff(const struct plan *p, const struct options *o, const struct selection *s,
		      struct err *e)
{
	bool has_diff = o->diff.nr && !p->nr; /* the default */
	const struct registry_row *diff = NULL;
	char names[REGISTRY_NAMES_BYTES];

	for (size_t i = 0; i < p->nr; i++)
		if (p->print[i]->diff == REGISTRY_DIFF)
			diff = p->print[i];
	has_diff |= diff != NULL;
	if (o->diff.nr && (o->by_session || o->by_host)) {
		err_set(e, -EINVAL, "--by-%s and --diff are mutually exclusive",
			o->by_session ? "session" : "host");
		if (o->by_host)
			err_hint(e, "--host=NAME compares one host with itself");
		return -EINVAL;
	}
	if (diff && !o->diff.nr) {
		err_set(e, -EINVAL, "--%s=%s requires --diff=FILE", registry_option(diff),
			diff->name);
		err_hint(e, "FILE is the session to compare with");
		return -EINVAL;
	}
	if (diff && diff->kind == REGISTRY_EXPORT && !o->fail_over)
		return err_set(e, -EINVAL, "--output-format=%s requires --fail-over=PERCENT",
			       diff->name);
	if (has_diff && s->by_total)
		return err_set(e, -EINVAL, "--sort=total and --report=diff are mutually exclusive");
	if (o->fail_over && !has_diff) {
		err_set(e, -EINVAL, "--fail-over requires --report=diff");
		err_hint(e, "its formats: %s", registry_names(names, prints_reports));
		return -EINVAL;
	}
	if (o->diff.nr && p->nr && !ARRAY_ANY(row, p->print, p->nr, (*row)->diff)) {
		err_set(e, -EINVAL, "--%s=%s does not compare: --diff has no effect on it",
			registry_option(p->print[0]), p->print[0]->name);
		err_hint(e,
			 "--report=diff does; --sort=state,reason or --group-by divides its rows");
		return -EINVAL;
	}
	return 0;
}

/* In place of a report; the format is that of what is said of it. */
static int check_push(struct plan *p, const struct options *o, struct err *e)
{
	p->pushed = registry_find_format(push_format(o), e);
	p->uses_samples = true;
	if (!prints_reports(p->format))
		return err_set(e, -EINVAL, "--push and --output-format=%s are mutually exclusive",
			       p->format->name);
	return p->pushed ? 0 : -EINVAL;
}

static int add_reports(struct plan *p, const struct options *o, struct err *e)
{
	for (size_t i = 0; i < o->reports.nr; i++) {
		p->print[p->nr] = registry_find_report(o->reports.item[i], e);
		if (!p->print[p->nr++])
			return -EINVAL;
	}
	return 0;
}

int plan_init(struct plan *p, const struct options *o, const struct selection *s, struct err *e)
{
	int rc;

	*p = (struct plan){.format = registry_find_format(o->output_format, e)};
	if (!p->format)
		return -EINVAL;
	if (o->push.url)
		return check_push(p, o, e);
	rc = add_reports(p, o, e);
	if (rc)
		return rc;
	if (p->format->kind == REGISTRY_EXPORT) {
		rc = check_export(p, o, e); /* refuses reports: there is room */
		if (rc == 0)
			p->print[p->nr++] = p->format;
	}
	if (rc == 0)
		rc = check_diff(p, o, s, e);
	if (rc == 0 && p->format->kind == REGISTRY_FORM)
		rc = check_form(p, o, e);
	p->uses_samples = !p->nr; /* the default may */
	for (size_t i = 0; i < p->nr; i++)
		p->uses_samples |= p->print[i]->samples != REGISTRY_NO_SAMPLES;
	/* functions on one screen are those of an answer: cpuperf prints them at a session's end */
	p->is_brief =
	    s->rows && p->nr == 1 && p->print[0]->omits_idle && p->format->form == GRID_PEOPLE;
	return rc;
}

void plan_default(struct plan *p, const struct options *o, const struct plan_contents *c)
{
	struct err e;

	if (p->nr)
		return;
	if (o->diff.nr) {
		bool is_heap = c->have_parts && c->have_heap && !o->fail_over && !o->counts;

		if (is_heap)
			p->print[p->nr++] = registry_find_report("heap", &e);
		if (!is_heap || c->have_others)
			p->print[p->nr++] = registry_find_report("diff", &e);
		return;
	}
	if (c->are_job && p->format->form == GRID_PEOPLE && !p->format->is_summary_only)
		p->print[p->nr++] = registry_find_report("hosts", &e);
	p->print[p->nr++] = registry_find_report("summary", &e);
	p->is_default = true;
	p->is_answer = p->format->is_document && c->are_one;
	p->is_brief = (c->are_sampled || c->have_regions || c->have_functions) &&
		      (p->is_answer || p->format->form == GRID_PEOPLE) &&
		      !p->format->is_summary_only;
	if (p->is_brief && (c->are_sampled || c->have_regions) && nr_sessions(o) == 1 &&
	    o->sessions.nr && !c->are_job)
		p->print[p->nr++] = registry_find_report("regions", &e);
	if (p->is_brief && c->have_functions)
		p->print[p->nr++] = registry_find_report("functions", &e);
	if (p->is_brief && c->are_sampled && c->have_heap)
		p->print[p->nr++] = registry_find_report("heap", &e);
	if (p->is_brief && c->are_sampled && c->have_others)
		p->print[p->nr++] = registry_find_report("flat", &e);
}
