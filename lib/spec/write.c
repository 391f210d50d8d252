/*
 * Writes models as JSON by the key table.
 */
#include "spec/write.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "spec/spec.h"

#include <inttypes.h>
#include <string.h>

static const void *field(const struct key_row *row, const void *model)
{
	return (const char *)model + row->offset;
}

static uint64_t field_u64(const struct key_row *row, const void *model)
{
	uint64_t v;

	memcpy(&v, field(row, model), sizeof(v));
	return v;
}

static void write_text(struct json_writer *w, const struct key_row *row, const void *model)
{
	const char *s;

	memcpy(&s, field(row, model), sizeof(s));
	if (s && (s[0] || row->default_text))
		jsonw_text(w, row->name, s);
}

static void write_integer(struct json_writer *w, const struct key_row *row, const void *model)
{
	uint64_t v = field_u64(row, model);

	if (v >= row->min)
		jsonw_u64(w, row->name, v);
}

static void write_decimals(struct json_writer *w, const struct key_row *row, const void *model)
{
	uint64_t ns = field_u64(row, model), fraction = ns % KEY_NS_PER_S;
	int digits = 9;

	if (!ns && (row->min_text || !row->default_text))
		return;
	jsonw_u64(w, row->name, ns / KEY_NS_PER_S);
	if (!fraction)
		return;
	for (; fraction % 10 == 0; fraction /= 10)
		digits--;
	buf_printf(w->out, ".%0*" PRIu64, digits, fraction);
}

static void write_real(struct json_writer *w, const struct key_row *row, const void *model)
{
	struct metric_limit limit;

	memcpy(&limit, field(row, model), sizeof(limit));
	if (limit.text)
		jsonw_raw(w, row->name, limit.text);
}

static void write_flags(struct json_writer *w, const struct key_row *row, const void *model)
{
	unsigned bits;

	memcpy(&bits, field(row, model), sizeof(bits));
	if (!bits)
		return;
	JSONW_ARRAY(w, row->name) {
		for (unsigned i = 0; row->words[i]; i++)
			if (bits & 1u << i)
				jsonw_text(w, NULL, row->words[i]);
	}
}

static void write_choice(struct json_writer *w, const struct key_row *row, const void *model)
{
	struct spec_choice choice;

	memcpy(&choice, field(row, model), sizeof(choice));
	if (!choice.key || strcmp(choice.key, row->name) != 0)
		return;
	JSONW_ARRAY(w, row->name) {
		for (size_t i = 0; i < choice.nr_words; i++)
			jsonw_text(w, NULL, choice.words[i]);
	}
}

static void write_events(struct json_writer *w, const struct key_row *row, const void *model)
{
	const struct spec *s = model;

	JSONW_ARRAY(w, row->name) {
		for (size_t i = 0; i < s->nr_events; i++)
			write_object(w, NULL, KEY_EVENT, &s->events[i]);
	}
}

static void write_metrics(struct json_writer *w, const struct key_row *row, const void *model)
{
	const struct spec *s = model;

	if (!s->nr_metrics)
		return;
	JSONW_ARRAY(w, row->name) {
		for (size_t i = 0; i < s->nr_metrics; i++)
			write_object(w, NULL, KEY_METRIC, &s->metrics[i]);
	}
}

static void write_members(struct json_writer *w, enum key_level level, const void *model);
static void write_others(struct json_writer *w, enum key_level level, const void *model);

static void write_list(struct json_writer *w, const struct key_row *row, const void *model)
{
	struct spec_list list;

	memcpy(&list, field(row, model), sizeof(list));
	if (!list.nr)
		return;
	JSONW_ARRAY(w, row->name) {
		for (size_t i = 0; i < list.nr; i++) {
			if (row->has_numbers)
				jsonw_raw(w, NULL, list.item[i]);
			else
				jsonw_text(w, NULL, list.item[i]);
		}
	}
}

/* Of an item what is not its default. */
static void write_objects(struct json_writer *w, const struct key_row *row, const void *model)
{
	struct key_objects objects;

	memcpy(&objects, field(row, model), sizeof(objects));
	if (!objects.nr)
		return;
	JSONW_ARRAY(w, row->name) {
		for (size_t i = 0; i < objects.nr; i++)
			JSONW_OBJECT(w, NULL) {
				write_others(w, row->inner,
					     (char *)objects.item + i * row->item_bytes);
			}
	}
}

static void write_bool(struct json_writer *w, const struct key_row *row, const void *model)
{
	bool is_true, is_default_true = row->default_text && *row->default_text == 't';

	memcpy(&is_true, field(row, model), sizeof(is_true));
	if (is_true != is_default_true)
		jsonw_bool(w, row->name, is_true);
}

static bool is_default(const struct key_row *row, const void *model)
{
	struct spec_list list;
	struct key_objects objects;
	struct metric_limit limit;
	const char *text;
	bool is_true;

	switch (row->type) {
	case KEY_INTEGER:
	case KEY_SECONDS:
	case KEY_PERCENT:
		return field_u64(row, model) == key_default(row);
	case KEY_STRING:
	case KEY_NAME:
	case KEY_WORD:
		memcpy(&text, field(row, model), sizeof(text));
		return !text || strcmp(text, row->default_text ? row->default_text : "") == 0;
	case KEY_BOOL:
		memcpy(&is_true, field(row, model), sizeof(is_true));
		return is_true == (row->default_text && *row->default_text == 't');
	case KEY_LIST:
		memcpy(&list, field(row, model), sizeof(list));
		return list.nr == 0;
	case KEY_REAL:
		memcpy(&limit, field(row, model), sizeof(limit));
		return !limit.text;
	case KEY_OBJECTS:
		memcpy(&objects, field(row, model), sizeof(objects));
		return objects.nr == 0;
	default:
		return false;
	}
}

/* On one line; of a switch that has only defaults, true. */
static void write_inner(struct json_writer *w, const struct key_row *row, const void *model)
{
	const void *inner = field(row, model);
	bool is_indented = w->is_indented, is_empty = true, is_on = false;

	for (size_t i = 0; i < key_nr_rows; i++)
		is_empty &= key_rows[i].level != row->inner || is_default(&key_rows[i], inner);
	if (row->is_switch)
		memcpy(&is_on, inner, sizeof(is_on));
	if (is_empty && is_on)
		jsonw_bool(w, row->name, true);
	if (is_empty || is_on != row->is_switch)
		return;
	JSONW_OBJECT(w, row->name) {
		w->is_indented = false;
		write_members(w, row->inner, inner);
	}
	w->is_indented = is_indented;
}

static void write_nothing(struct json_writer *w, const struct key_row *row, const void *model)
{
	(void)w;
	(void)row;
	(void)model;
}

typedef void write_fn(struct json_writer *w, const struct key_row *row, const void *model);
static write_fn *const writers[] = {
    [KEY_STRING] = write_text,      [KEY_NAME] = write_text,        [KEY_WORD] = write_text,
    [KEY_PERCENT] = write_decimals, [KEY_INTEGER] = write_integer,  [KEY_SECONDS] = write_decimals,
    [KEY_REAL] = write_real,        [KEY_CHOICE] = write_choice,    [KEY_FLAGS] = write_flags,
    [KEY_EVENTS] = write_events,    [KEY_METRICS] = write_metrics,  [KEY_HEX] = write_text,
    [KEY_BOOL] = write_bool,        [KEY_DEFAULTS] = write_nothing, [KEY_OBJECT] = write_inner,
    [KEY_LIST] = write_list,        [KEY_OBJECTS] = write_objects,
};

static bool is_time(const struct key_row *row)
{
	return strcmp(row->name, "duration") == 0 || strcmp(row->name, "num_iterations") == 0;
}

/* Runs, windows and a flight recorder stand for the time. */
static bool has_no_time(const struct spec *s)
{
	return s->runs || *s->windows || s->flight.span_ns;
}

static bool is_replaced(const struct key_row *row, const void *model)
{
	return row->level == KEY_SPEC && is_time(row) && has_no_time(model);
}

static void write_members(struct json_writer *w, enum key_level level, const void *model)
{
	for (size_t i = 0; i < key_nr_rows; i++)
		if (key_rows[i].level == level && !is_replaced(&key_rows[i], model))
			writers[key_rows[i].type](w, &key_rows[i], model);
}

void write_object(struct json_writer *w, const char *key, enum key_level level, const void *model)
{
	JSONW_OBJECT(w, key) {
		write_members(w, level, model);
	}
}

void spec_to_json(const struct spec *s, struct buf *out)
{
	struct json_writer w;

	jsonw_init(&w, out, false);
	write_object(&w, NULL, KEY_SPEC, s);
}

enum { MODES = SPEC_OS | SPEC_USER };

static void write_others(struct json_writer *w, enum key_level level, const void *model)
{
	for (size_t i = 0; i < key_nr_rows; i++)
		if (key_rows[i].level == level && !is_time(&key_rows[i]) &&
		    !is_default(&key_rows[i], model))
			writers[key_rows[i].type](w, &key_rows[i], model);
}

/* On one line. */
static void write_item(struct json_writer *w, enum key_level level, const void *model)
{
	JSONW_OBJECT(w, NULL) {
		w->is_indented = false;
		write_others(w, level, model);
	}
	w->is_indented = true;
}

void spec_to_file(const struct spec *s, bool has_time, struct buf *out)
{
	struct json_writer w;

	jsonw_init(&w, out, true);
	JSONW_OBJECT(&w, NULL) {
		for (size_t i = 0; i < key_nr_rows; i++) {
			const struct key_row *row = &key_rows[i];

			if (row->level != KEY_SPEC || row->type == KEY_EVENTS ||
			    row->type == KEY_METRICS)
				continue;
			if (is_time(row) ? has_time && !has_no_time(s) : !is_default(row, s))
				writers[row->type](&w, row, s);
		}
		JSONW_ARRAY(&w, "events") {
			for (size_t i = 0; i < s->nr_events; i++) {
				struct spec_event event = s->events[i];

				if ((event.flags & MODES) == MODES) /* as without either */
					event.flags &= ~(unsigned)MODES;
				write_item(&w, KEY_EVENT, &event);
			}
		}
		if (s->nr_metrics) {
			JSONW_ARRAY(&w, "metrics") {
				for (size_t i = 0; i < s->nr_metrics; i++)
					write_item(&w, KEY_METRIC, &s->metrics[i]);
			}
		}
	}
	buf_addc(out, '\n');
}
