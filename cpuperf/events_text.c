/*
 * The fields and the lines of an event, from the same functions, so that they agree.
 */
#include "events_text.h"

#include "base/cpuset.h"
#include "base/str.h"
#include "event/generic.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FACT_BYTES = 1 << 20 };

/* Width of the labels of a description. */
enum { LABEL_WIDTH = 11 };

const char *event_kind_name(enum event_kind kind)
{
	return kind == EVENT_VALUE ? "value" : kind == EVENT_SHARE ? "share" : "count";
}

const char *event_scope_name(enum event_scope scope)
{
	return scope == EVENT_SCOPE_SYSTEM    ? "system"
	       : scope == EVENT_SCOPE_PACKAGE ? "package"
	       : scope == EVENT_SCOPE_THINGS  ? "each"
					      : "cpu";
}

const char *event_alone_name(unsigned alone)
{
	static const char *const names[] = {"none", "os", "user", "os, user"};

	return names[alone & (EVENT_ALONE_OS | EVENT_ALONE_USER)];
}

void event_facts_init(struct event_facts *f, const struct event *ev)
{
	f->event = *ev;
	f->support = (struct event_support){.state = READING_OK};
	f->is_not_tried = false;
	f->way = "";
	f->scale[0] = '\0';
	buf_init(&f->encoding, MAX_FACT_BYTES);
	buf_init(&f->detail, MAX_FACT_BYTES);
}

void event_facts_fini(struct event_facts *f)
{
	buf_fini(&f->encoding);
	buf_fini(&f->detail);
}

static void add_config(struct buf *out, const char *name, uint64_t value)
{
	buf_printf(out, ", %s 0x%llx", name, (unsigned long long)value);
}

void event_add_part(const struct event_part *part, struct buf *out)
{
	buf_printf(out, "%s%stype %u", part->pmu, part->pmu[0] ? ": " : "", part->type);
	add_config(out, "config", part->config);
	if (part->config1)
		add_config(out, "config1", part->config1);
	if (part->config2)
		add_config(out, "config2", part->config2);
	if (part->cpus && cpuset_count(part->cpus)) {
		buf_adds(out, ", CPUs ");
		cpuset_format(part->cpus, out);
	}
}

void event_facts_complete(struct event_facts *f, const struct catalogue *c)
{
	double scale = f->event.row->scale;

	buf_adds(&f->detail, f->event.row->detail ? f->event.row->detail : "");
	generic_describe(c, &f->event, &f->detail);

	if (scale != 0 && scale != 1)
		snprintf(f->scale, sizeof(f->scale), "%.17g", scale);
	if (!event_is_perf(&f->event))
		return;
	for (uint32_t i = 0; i < event_nr_parts(&f->event); i++) {
		struct event_part part;

		event_part(&f->event, i, &part);
		buf_adds(&f->encoding, i ? "\n" : "");
		event_add_part(&part, &f->encoding);
	}
}

#define TEXT(name, expression)                                                                     \
	static const char *name(const void *p)                                                     \
	{                                                                                          \
		const struct event_facts *f = p;                                                   \
                                                                                                   \
		return expression;                                                                 \
	}
#define ROW_TEXT(member) f->event.row->member ? f->event.row->member : ""

TEXT(group, f->event.group->name)
TEXT(name, f->event.row->name)
TEXT(kind, event_kind_name(f->event.row->kind))
TEXT(scope, event_scope_name(f->event.row->scope))
TEXT(unit, ROW_TEXT(unit))
TEXT(source, ROW_TEXT(source))
TEXT(reason, f->support.reason)
TEXT(description, ROW_TEXT(description))
TEXT(alias, ROW_TEXT(alias))
TEXT(encoding, buf_str(&f->encoding))
TEXT(alone, event_alone_name(f->event.row->alone))
TEXT(hint, f->support.hint)
TEXT(detail, buf_str(&f->detail))
TEXT(scale, f->scale)
TEXT(way, f->way)

static bool works(const void *p, struct buf *out)
{
	const struct event_facts *f = p;

	buf_adds(out, f->support.state == READING_OK ? "true" : "false");
	return true;
}

static bool scale_number(const void *p, struct buf *out)
{
	const struct event_facts *f = p;

	buf_adds(out, f->scale[0] ? f->scale : "1");
	return true;
}

const struct screen_field event_fields[EVENT_NR_FIELDS] = {
    {"group", .text = group},
    {"name", .text = name},
    {"kind", .text = kind},
    {"scope", .text = scope},
    {"unit", .text = unit},
    {"source", .text = source},
    {"works", .number = works},
    {"reason", .text = reason},
    {"description", .text = description},
    {"alias", .text = alias},
    {"scale", .number = scale_number},
    {"encoding", .text = encoding},
    {"alone", .text = alone},
    {"hint", .text = hint},
    {"detail", .text = detail},
    {"way", .text = way},
};

/* Names and descriptions can come from the kernel: remove what a terminal would interpret. */
static void disarm_lines(struct buf *out, size_t start)
{
	char *end, *line = buf_error(out) ? NULL : out->data + start;

	for (; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		str_disarm(line);
		*end = '\n';
	}
}

void event_add_line(const struct event_facts *f, struct buf *out)
{
	size_t start = out->len;

	buf_printf(out, "%s: %s", f->event.row->name, f->event.row->description);
	if (f->is_not_tried)
		buf_adds(out, " [not tried]");
	else if (f->support.state != READING_OK)
		buf_printf(out, " [%s]", reading_state_name(f->support.state));
	else if (f->support.reason[0])
		buf_printf(out, " [partly: %s]", f->support.reason);
	buf_addc(out, '\n');
	disarm_lines(out, start);
}

static const char *flags(const void *p)
{
	const struct event_facts *f = p;
	unsigned counted = event_alone(&f->event, false);

	if (event_alone(&f->event, true) != counted)
		return "counts do not separate os and user; samples may be restricted to one";
	return counted == 0                  ? "os and user cannot be separated"
	       : counted == EVENT_ALONE_OS   ? "os alone, or both"
	       : counted == EVENT_ALONE_USER ? "user alone, or both"
					     : "os alone, user alone, or both";
}

TEXT(shown, f->event.row->kind == EVENT_VALUE   ? "value: the state when it is read"
	    : f->event.row->kind == EVENT_SHARE ? "share: of all time"
						: "count")
TEXT(where, f->event.row->scope == EVENT_SCOPE_SYSTEM    ? "the machine, in trace 0"
	    : f->event.row->scope == EVENT_SCOPE_PACKAGE ? "each package or box, on one of its CPUs"
	    : f->event.row->scope == EVENT_SCOPE_THINGS  ? "each of them, in trace 0"
							 : "each CPU")
TEXT(here, event_support_word(&f->support))

/* The lines of a description. Empty ones are not printed. */
static const struct {
	const char *label;
	const char *(*text)(const void *facts);
} lines[] = {
    {"group", group}, {"also", alias},    {"unit", unit},     {"scale", scale},
    {"kind", shown},  {"scope", where},   {"source", source}, {"encoding", encoding},
    {"flags", flags}, {"here", here},     {"by", way},        {"reason", reason},
    {"to do", hint},  {"detail", detail},
};

/* Indents all lines of the text but the first. */
static void add_labelled(struct buf *out, const char *label, const char *text)
{
	buf_printf(out, "  %-*s", LABEL_WIDTH, label);
	for (; *text; text++) {
		buf_addc(out, *text);
		if (*text == '\n')
			buf_fill(out, ' ', 2 + LABEL_WIDTH);
	}
	buf_addc(out, '\n');
}

void event_add_text(const struct event_facts *f, struct buf *out)
{
	size_t start = out->len;

	buf_printf(out, "%s: %s\n", f->event.row->name, f->event.row->description);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *text = lines[i].text(f);

		if (text[0])
			add_labelled(out, lines[i].label, text);
	}
	disarm_lines(out, start);
}
