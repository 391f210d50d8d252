/*
 * Reads JSON objects into the fields of a model by the rows of the key table: types, limits,
 * unknown and missing keys.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "spec/diag.h"
#include "spec/doc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Stores the value at a node into target; 0 or -ENOMEM. */
typedef int read_fn(struct doc *d, const struct key_row *row, const json_t *value, int node,
		    void *target);

static void *field(const struct key_row *row, void *target)
{
	return (char *)target + row->offset;
}

static struct spec_pos value_pos(const struct doc *d, int node)
{
	return scan_node(&d->scan, node)->value_pos;
}

bool doc_has_escapes(const struct doc *d, int node, const char *member, const char *value)
{
	int child = scan_member(&d->scan, node, member);
	const char *text = d->scan.text + scan_node(&d->scan, child)->value_offset + 1;

	for (; *value; value++) {
		text += diag_is_escaped(*value) && *text == '\\';
		if (*text++ != *value)
			return true;
	}
	return *text != '"';
}

void doc_report_wrong(struct doc *d, const struct key_row *row, const json_t *value, int node)
{
	char is[128], wanted[128];
	struct err *e;

	diag_value(value, is, sizeof(is));
	diag_wanted(row, wanted, sizeof(wanted));
	e = diag_at(d->errs, d->source, value_pos(d, node), "%s must be %s, not %s", row->name,
		    wanted, is);
	if (key_has_decimals(row) && json_is_real(value))
		err_hint(e, "at most nine decimals, without an exponent: 0.5");
}

static bool is_printable(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
			return false;
	return true;
}

static int read_string(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	size_t len = json_string_length(value);
	const char *s;

	if (!json_is_string(value) || (len < row->min && len) || len > row->max) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	if (len < row->min) {
		diag_at(d->errs, d->source, value_pos(d, node), "%s is empty", row->name);
		return 0;
	}
	s = arena_strndup(d->arena, json_string_value(value), len);
	if (!s)
		return diag_no_memory(d->errs, d->source);
	memcpy(field(row, target), &s, sizeof(s));
	return 0;
}

static int read_name(struct doc *d, const struct key_row *row, const json_t *value, int node,
		     void *target)
{
	if (!json_is_string(value) || is_printable(json_string_value(value)))
		return read_string(d, row, value, node, target);
	diag_at(d->errs, d->source, value_pos(d, node), "%s contains an unprintable character",
		row->name);
	return 0;
}

static int read_word(struct doc *d, const struct key_row *row, const json_t *value, int node,
		     void *target)
{
	const char *word = json_is_string(value) ? key_word(row, json_string_value(value)) : NULL;

	if (word)
		memcpy(field(row, target), &word, sizeof(word));
	else
		doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_hex(struct doc *d, const struct key_row *row, const json_t *value, int node,
		    void *target)
{
	size_t len = json_string_length(value);

	if (json_is_string(value) && len == row->max &&
	    strspn(json_string_value(value), "0123456789abcdef") == len)
		return read_string(d, row, value, node, target);
	doc_report_wrong(d, row, value, node);
	return 0;
}

/* The text of a number; NULL if out of memory. */
static const char *number_text(const struct doc *d, int node)
{
	const char *text = d->scan.text + scan_node(&d->scan, node)->value_offset;

	return arena_strndup(d->arena, text, strspn(text, "+-.0123456789eE"));
}

/* Decimals, exact: no part of 1e-9. A later version may have stored any duration. */
static int read_decimals(struct doc *d, const struct key_row *row, const json_t *value, int node,
			 void *target)
{
	const char *text = number_text(d, node);
	uint64_t ns;

	if (!text)
		return diag_no_memory(d->errs, d->source);
	if (str_parse_duration_ns(text, &ns) == 0 &&
	    (d->is_stored || key_fits(row, ns, KEY_NS_PER_S)))
		memcpy(field(row, target), &ns, sizeof(ns));
	else if (!d->is_stored)
		doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_real(struct doc *d, const struct key_row *row, const json_t *value, int node,
		     void *target)
{
	struct metric_limit limit = {.value = json_number_value(value)};

	if (!json_is_number(value)) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	limit.text = number_text(d, node);
	if (!limit.text)
		return diag_no_memory(d->errs, d->source);
	memcpy(field(row, target), &limit, sizeof(limit));
	return 0;
}

static int read_number(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	uint64_t v = (uint64_t)json_integer_value(value); /* negative: above any max */

	if (key_has_decimals(row) && json_is_real(value))
		return read_decimals(d, row, value, node, target);
	if (!json_is_integer(value) || !key_fits(row, v, 1)) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	if (key_has_decimals(row))
		v *= KEY_NS_PER_S;
	memcpy(field(row, target), &v, sizeof(v));
	return 0;
}

static void unknown_flag(struct doc *d, const struct key_row *row, const char *word, int node)
{
	size_t nr = 0;
	char all[256];
	const char *nearest;
	struct err *e = diag_at(d->errs, d->source, value_pos(d, node), "unknown %s \"%.*s\"",
				row->item, diag_cut(word), word);

	while (row->words[nr])
		nr++;
	nearest = str_nearest(word, row->words, nr);
	diag_words(row, all, sizeof(all));
	if (nearest)
		err_hint(e, "did you mean \"%s\"?", nearest);
	else
		err_hint(e, "the %ss are %s", row->item, all);
}

/* One flag into *bits. */
static void read_flag(struct doc *d, const struct key_row *row, const json_t *value, int node,
		      unsigned *bits)
{
	const char *word = json_string_value(value);
	char is[128];
	unsigned i = 0;

	if (!word) {
		diag_value(value, is, sizeof(is));
		diag_at(d->errs, d->source, value_pos(d, node), "a %s must be a string, not %s",
			row->item, is);
		return;
	}
	while (row->words[i] && strcmp(row->words[i], word) != 0)
		i++;
	if (!row->words[i])
		unknown_flag(d, row, word, node);
	else if (*bits & 1u << i)
		diag_at(d->errs, d->source, value_pos(d, node), "the %s \"%s\" appears twice",
			row->item, word);
	else
		*bits |= 1u << i;
}

static void check_empty(struct doc *d, const struct key_row *row, const json_t *value, int node)
{
	if (json_array_size(value) >= row->min)
		return;
	err_hint(diag_at(d->errs, d->source, value_pos(d, node), "%s is empty", row->name),
		 "name at least one, or remove the key");
}

static int read_flags(struct doc *d, const struct key_row *row, const json_t *value, int node,
		      void *target)
{
	unsigned bits = 0;

	if (!json_is_array(value)) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	check_empty(d, row, value, node);
	for (size_t i = 0; i < json_array_size(value); i++)
		read_flag(d, row, json_array_get(value, i), scan_item(&d->scan, node, i), &bits);
	memcpy(field(row, target), &bits, sizeof(bits));
	return 0;
}

/* A name, or the digits of a number; NULL if it is neither (reported) or out of memory. */
static const char *list_item(struct doc *d, const struct key_row *row, const json_t *value,
			     int node, int *rc)
{
	const char *s = json_string_value(value);
	char is[128];

	if (row->has_numbers && json_is_integer(value) && json_integer_value(value) >= 0)
		s = number_text(d, node);
	else if (s && *s && is_printable(s))
		s = arena_strdup(d->arena, s);
	else
		goto wrong;
	if (!s)
		*rc = diag_no_memory(d->errs, d->source);
	return s;
wrong:
	diag_value(value, is, sizeof(is));
	diag_at(d->errs, d->source, value_pos(d, node), "a %s must be a %s, not %s", row->item,
		row->has_numbers ? "number or a name" : "name", is);
	return NULL;
}

static int read_choice(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	struct spec_choice choice = {.key = row->name, .pos = value_pos(d, node)}, old;
	size_t nr = json_array_size(value);
	const char **words;
	int rc = 0;

	if (!json_is_array(value) || nr > row->max) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	check_empty(d, row, value, node);
	memcpy(&old, field(row, target), sizeof(old));
	if (old.key) {
		diag_at(d->errs, d->source, choice.pos, "\"%s\" and \"%s\" are mutually exclusive",
			old.key, row->name);
		return 0;
	}
	words = arena_calloc(d->arena, nr, sizeof(*words));
	if (!words)
		return diag_no_memory(d->errs, d->source);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		words[choice.nr_words] =
		    list_item(d, row, json_array_get(value, i), scan_item(&d->scan, node, i), &rc);
		choice.nr_words += words[choice.nr_words] != NULL;
	}
	choice.words = words;
	if (choice.nr_words)
		memcpy(field(row, target), &choice, sizeof(choice));
	return rc;
}

/* NULL if it is wrong (reported) or out of memory. */
static const char *string_item(struct doc *d, const struct key_row *row, const json_t *value,
			       int node, int *rc)
{
	bool is_number = json_is_integer(value) && json_integer_value(value) > 0;
	const char *s = NULL;
	char is[128];

	if (row->has_numbers ? !is_number : !json_is_string(value)) {
		diag_value(value, is, sizeof(is));
		diag_at(d->errs, d->source, value_pos(d, node), "a %s must be a %s, not %s",
			row->item, row->has_numbers ? "number" : "string", is);
		return NULL;
	}
	s = is_number ? number_text(d, node) : arena_strdup(d->arena, json_string_value(value));
	if (!s)
		*rc = diag_no_memory(d->errs, d->source);
	return s;
}

static int read_list(struct doc *d, const struct key_row *row, const json_t *value, int node,
		     void *target)
{
	size_t nr = json_array_size(value);
	struct spec_list list = {.nr = 0};
	const char **item;
	int rc = 0;

	if (!json_is_array(value) || nr > row->max) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	check_empty(d, row, value, node);
	item = arena_calloc(d->arena, nr + 1, sizeof(*item));
	if (!item)
		return diag_no_memory(d->errs, d->source);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		item[list.nr] = string_item(d, row, json_array_get(value, i),
					    scan_item(&d->scan, node, i), &rc);
		list.nr += item[list.nr] != NULL;
	}
	list.item = item;
	memcpy(field(row, target), &list, sizeof(list));
	return rc;
}

static int read_object(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	bool is_on = !json_is_false(value);

	if (row->is_switch)
		memcpy(field(row, target), &is_on, sizeof(is_on));
	if (row->is_switch && json_is_boolean(value))
		return 0;
	if (json_is_object(value))
		return doc_read(d, value, node, row->inner, field(row, target));
	doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_objects(struct doc *d, const struct key_row *row, const json_t *value, int node,
			void *target)
{
	const size_t nr = json_array_size(value);
	struct key_objects objects = {.nr = 0};
	int rc = 0;

	if (!json_is_array(value) || nr > row->max) {
		doc_report_wrong(d, row, value, node);
		return 0;
	}
	objects.item = arena_calloc(d->arena, nr + 1, row->item_bytes);
	if (!objects.item)
		return diag_no_memory(d->errs, d->source);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		void *item = (char *)objects.item + objects.nr++ * row->item_bytes;
		const json_t *object = json_array_get(value, i);
		const int child = scan_item(&d->scan, node, i);
		char is[128];

		keys_set_defaults(row->inner, item);
		if (json_is_object(object)) {
			rc = doc_read(d, object, child, row->inner, item);
			continue;
		}
		diag_value(object, is, sizeof(is));
		diag_at(d->errs, d->source, value_pos(d, child), "a %s must be an object, not %s",
			row->item, is);
	}
	memcpy(field(row, target), &objects, sizeof(objects));
	return rc;
}

static int read_bool(struct doc *d, const struct key_row *row, const json_t *value, int node,
		     void *target)
{
	bool is = json_is_true(value);

	if (json_is_boolean(value))
		memcpy(field(row, target), &is, sizeof(is));
	else
		doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_defaults(struct doc *d, const struct key_row *row, const json_t *value, int node,
			 void *target)
{
	if (json_is_object(value))
		return doc_read(d, value, node, KEY_SAMPLING, field(row, target));
	doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_events(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	if (json_is_array(value))
		return doc_read_events(d, value, node, target);
	doc_report_wrong(d, row, value, node);
	return 0;
}

static int read_metrics(struct doc *d, const struct key_row *row, const json_t *value, int node,
			void *target)
{
	if (json_is_array(value))
		return doc_read_metrics(d, value, node, target);
	doc_report_wrong(d, row, value, node);
	return 0;
}

static read_fn *const readers[] = {
    [KEY_STRING] = read_string,  [KEY_NAME] = read_name,         [KEY_WORD] = read_word,
    [KEY_PERCENT] = read_number, [KEY_INTEGER] = read_number,    [KEY_SECONDS] = read_number,
    [KEY_REAL] = read_real,      [KEY_CHOICE] = read_choice,     [KEY_FLAGS] = read_flags,
    [KEY_EVENTS] = read_events,  [KEY_METRICS] = read_metrics,   [KEY_HEX] = read_hex,
    [KEY_BOOL] = read_bool,      [KEY_DEFAULTS] = read_defaults, [KEY_OBJECT] = read_object,
    [KEY_LIST] = read_list,      [KEY_OBJECTS] = read_objects,
};

static int read_member(struct doc *d, const struct key_row *row, const json_t *value, int node,
		       void *target)
{
	struct spec_pos pos = value_pos(d, node);

	if (row->pos_offset)
		memcpy((char *)target + row->pos_offset, &pos, sizeof(pos));
	return readers[row->type](d, row, value, node, target);
}

static const char *nearest_key(enum key_level level, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < key_nr_rows; i++)
		if (key_rows[i].level == level)
			str_nearest_offer(name, key_rows[i].name, &best, &distance);
	return best;
}

static void unknown_key(struct doc *d, enum key_level level, const char *name, int node)
{
	const char *nearest = nearest_key(level, name);
	struct err *e = diag_at(d->errs, d->source, scan_node(&d->scan, node)->key_pos,
				"unknown key \"%.*s\"", diag_cut(name), name);

	if (nearest)
		err_hint(e, "did you mean \"%s\"?", nearest);
	else if (level == KEY_SPEC && key_find(KEY_EVENT, name))
		err_hint(e, "\"%s\" is a key of an event: put it into an object of \"events\"",
			 name);
	else if (level == KEY_EVENT && key_find(KEY_SPEC, name))
		err_hint(e, "\"%s\" is a key of the whole spec: put it beside \"events\"", name);
}

static void missing_keys(struct doc *d, const json_t *object, int node, enum key_level level)
{
	for (size_t i = 0; i < key_nr_rows; i++) {
		const struct key_row *row = &key_rows[i];

		if (row->level != level || !row->required || json_object_get(object, row->name))
			continue;
		diag_at(d->errs, d->source, value_pos(d, node), "%sthe key \"%s\" is missing",
			row->type == KEY_EVENTS ? "No events specified: " : "", row->name);
	}
}

int doc_read(struct doc *d, const json_t *object, int node, enum key_level level, void *target)
{
	json_t *any = (json_t *)object; /* jansson's iterators are not const */
	const char *name;
	json_t *value;
	int rc;

	missing_keys(d, object, node, level);
	json_object_foreach(any, name, value)
	{
		const struct key_row *row = key_find(level, name);
		int child = scan_member(&d->scan, node, name);

		if (!row) {
			if (!d->is_stored)
				unknown_key(d, level, name, child);
			continue;
		}
		rc = read_member(d, row, value, child, target);
		if (rc)
			return rc;
	}
	return 0;
}
