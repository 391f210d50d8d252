/*
 * The metrics of a spec: reads the array into the model, then finds the event of each operand.
 * estimate/expr.c parses and evaluates expressions.
 */
#include "spec/metrics.h"

#include "base/str.h"
#include "spec/diag.h"
#include "spec/doc.h"

#include <errno.h>
#include <string.h>

static int read_metric(struct doc *d, const json_t *value, int node, struct spec_metric *m)
{
	char is[128];
	int rc;

	*m = (struct spec_metric){.pos = scan_node(&d->scan, node)->value_pos};
	keys_set_defaults(KEY_METRIC, m);
	if (!json_is_object(value)) {
		diag_value(value, is, sizeof(is));
		diag_at(d->errs, d->source, m->pos, "a metric must be an object, not %s", is);
		return 0;
	}
	rc = doc_read(d, value, node, KEY_METRIC, m);
	m->has_escapes = rc == 0 && *m->expr && doc_has_escapes(d, node, "expr", m->expr);
	return rc;
}

/* The number of metrics to read; reports the first beyond the limit. */
static size_t count(struct doc *d, const json_t *array, int node)
{
	size_t nr = json_array_size(array);
	struct err *e;

	if (nr <= SPEC_MAX_METRICS)
		return nr;
	e = diag_at(d->errs, d->source,
		    scan_node(&d->scan, scan_item(&d->scan, node, SPEC_MAX_METRICS))->value_pos,
		    "too many metrics: at most %d", SPEC_MAX_METRICS);
	err_hint(e, "put the rest into a second spec");
	return SPEC_MAX_METRICS;
}

int doc_read_metrics(struct doc *d, const json_t *array, int node, void *target)
{
	struct spec *s = target;
	size_t nr = count(d, array, node);

	if (nr == 0)
		return 0;
	s->metrics = arena_calloc(d->arena, nr, sizeof(*s->metrics));
	if (!s->metrics)
		return diag_no_memory(d->errs, d->source);
	for (size_t i = 0; i < nr; i++) {
		size_t errors = diag_count(d->errs);
		int rc = read_metric(d, json_array_get(array, i), scan_item(&d->scan, node, i),
				     &s->metrics[s->nr_metrics]);

		if (rc)
			return rc;
		s->nr_metrics += diag_count(d->errs) == errors;
	}
	return 0;
}

static bool has_label(const struct spec_event *e, const char *name)
{
	return e->label && strcmp(e->label, name) == 0;
}

static bool is_named(const struct spec_event *e, const char *name)
{
	size_t len = strlen(e->group_name);

	return strncmp(name, e->group_name, len) == 0 && name[len] == ':' &&
	       strcmp(name + len + 1, e->event_name) == 0;
}

static bool is_named_only(const struct spec_event *e, const char *name)
{
	return !e->label && is_named(e, name);
}

static bool is_headed(const struct spec_event *e, const char *name)
{
	return !e->label && strcmp(e->event_name, name) == 0;
}

/* The meanings of {name}; the first that matches any event decides. */
static bool (*const meanings[])(const struct spec_event *e,
				const char *name) = {has_label, is_named_only, is_named, is_headed};

/* The number of events, with those that have errors. */
static size_t nr_named(const struct spec *s)
{
	return s->nr_events + s->nr_broken;
}

/* The number of events that match the name, and the last of them. */
static size_t find_events(const struct spec *s, const char *name, size_t *out)
{
	size_t nr = 0;

	for (size_t i = 0; !nr && i < sizeof(meanings) / sizeof(meanings[0]); i++)
		for (size_t k = 0; k < nr_named(s); k++) {
			if (!meanings[i](&s->events[k], name))
				continue;
			*out = k;
			nr++;
		}
	return nr;
}

/* The nearest name, or NULL; also if out of memory. */
static const char *nearest_event(struct spec *s, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < nr_named(s); i++) {
		const struct spec_event *e = &s->events[i];
		const char *full = arena_printf(&s->arena, "%s:%s", e->group_name, e->event_name);

		str_nearest_offer(name, spec_event_column(e), &best, &distance);
		if (full)
			str_nearest_offer(name, full, &best, &distance);
	}
	return best;
}

static struct spec_pos place(const struct spec_metric *m, size_t offset)
{
	return diag_within(m->expr_pos, m->expr, m->has_escapes, offset);
}

static void report_unknown(struct spec *s, const struct spec_metric *m,
			   const struct expr_step *operand, struct err_list *errs)
{
	struct err *e = diag_at(errs, s->source, place(m, operand->offset),
				"expr: there is no event {%.*s} in this spec",
				diag_cut(operand->name), operand->name);
	const char *nearest = e ? nearest_event(s, operand->name) : NULL; /* slow */

	if (nearest)
		err_hint(e, "did you mean {%s}?", nearest);
	else
		err_hint(e, "write an event of this spec in the braces: group:name, or its column "
			    "heading");
}

/* Silent if there are no events, or if the event has errors: these were reported. */
static bool find_operand(struct spec *s, const struct spec_metric *m, struct expr_step *operand,
			 struct err_list *errs)
{
	size_t nr = find_events(s, operand->name, &operand->operand);

	if (nr == 0 && nr_named(s))
		report_unknown(s, m, operand, errs);
	else if (nr > 1)
		err_hint(diag_at(errs, s->source, place(m, operand->offset),
				 "expr: {%.*s} is ambiguous: it matches %zu columns",
				 diag_cut(operand->name), operand->name, nr),
			 "set a label on the one you mean, and use the label");
	return nr == 1 && operand->operand < s->nr_events;
}

static bool find_operands(struct spec *s, const struct spec_metric *m, const struct expr *x,
			  struct err_list *errs)
{
	bool all = true;
	size_t nr = 0;

	for (size_t i = 0; i < x->nr_steps; i++) {
		if (x->steps[i].op != EXPR_OPERAND)
			continue;
		all &= find_operand(s, m, &x->steps[i], errs);
		nr++;
	}
	if (nr == 0)
		err_hint(diag_at(errs, s->source, m->expr_pos, "expr: contains no event"),
			 "write events in braces: {group:name}");
	return all && nr;
}

/* Headings of columns are unique. */
static bool check_name(const struct spec *s, const struct spec_metric *m, struct err_list *errs)
{
	for (size_t i = 0; i < nr_named(s); i++) {
		const struct spec_event *e = &s->events[i];

		if (strcmp(spec_event_column(e), m->name) != 0)
			continue;
		err_hint(
		    diag_at(errs, s->source, m->name_pos,
			    "the name \"%.*s\" is already used by another column: %s:%s at %u:%u",
			    diag_cut(m->name), m->name, e->group_name, e->event_name, e->pos.line,
			    e->pos.column),
		    "choose another name");
		return false;
	}
	for (const struct spec_metric *a = s->metrics; a < m; a++) {
		if (strcmp(a->name, m->name) != 0)
			continue;
		err_hint(diag_at(errs, s->source, m->name_pos,
				 "the metric \"%.*s\" appears twice: first at %u:%u",
				 diag_cut(m->name), m->name, a->name_pos.line, a->name_pos.column),
			 "choose another name");
		return false;
	}
	return true;
}

static bool check_limits(const struct spec *s, const struct spec_metric *m, struct err_list *errs)
{
	if (!m->warn_below.text || !m->warn_above.text ||
	    m->warn_below.value <= m->warn_above.value)
		return true;
	err_hint(diag_at(errs, s->source, m->below_pos,
			 "warn_below (%s) is above warn_above (%s): every value would warn",
			 m->warn_below.text, m->warn_above.text),
		 "swap them, or remove one");
	return false;
}

static int report_syntax(const struct spec *s, const struct spec_metric *m, size_t offset,
			 const struct err *e, struct err_list *errs)
{
	if (e->code == -ENOMEM)
		return diag_no_memory(errs, s->source);
	err_hint(diag_at(errs, s->source, place(m, offset), "expr: %s", e->msg), "%s", e->hint);
	return -EINVAL;
}

/* 0, -EINVAL or -ENOMEM, reported. */
static int make_metric(struct spec *s, const struct spec_metric *m, struct metric *out,
		       struct err_list *errs)
{
	struct err e = {0};
	size_t offset = 0;
	bool is_good = check_name(s, m, errs) && check_limits(s, m, errs);
	int rc;

	*out = (struct metric){.name = m->name,
			       .unit = m->unit,
			       .warn_below = m->warn_below,
			       .warn_above = m->warn_above};
	rc = expr_parse(m->expr, &s->arena, &out->expr, &offset, &e);
	if (rc)
		return report_syntax(s, m, offset, &e, errs);
	return find_operands(s, m, &out->expr, errs) && is_good ? 0 : -EINVAL;
}

int metrics_make(struct spec *s, struct err_list *errs)
{
	struct metric *made;
	size_t nr = 0;

	if (s->nr_metrics == 0)
		return 0;
	made = arena_calloc(&s->arena, s->nr_metrics, sizeof(*made));
	if (!made)
		return diag_no_memory(errs, s->source);
	for (size_t i = 0; i < s->nr_metrics; i++) {
		int rc = make_metric(s, &s->metrics[i], &made[nr], errs);

		if (rc == -ENOMEM)
			return rc;
		if (rc == 0)
			s->metrics[nr++] = s->metrics[i];
	}
	s->nr_metrics = nr;
	s->metric_set = (struct metric_set){made, nr};
	return 0;
}
