/*
 * Prints the JSON schemas (draft 2020-12) of schemas/ from the key table. They have the rules of
 * check.c that a schema can express.
 */
#include "base/buf.h"
#include "base/json_writer.h"
#include "spec/check.h"
#include "spec/keys.h"
#include "spec/write.h"

#include <stdio.h>
#include <string.h>

static void property(struct json_writer *w, const struct key_row *row);

static void properties(struct json_writer *w, enum key_level level, bool is_switch)
{
	jsonw_raw(w, "type", is_switch ? "[\"boolean\", \"object\"]" : "\"object\"");
	jsonw_bool(w, "additionalProperties", false);
	if (level != KEY_SESSION) {
		JSONW_ARRAY(w, "required") {
			for (size_t i = 0; i < key_nr_rows; i++)
				if (key_rows[i].level == level && key_rows[i].required)
					jsonw_text(w, NULL, key_rows[i].name);
		}
	}
	JSONW_OBJECT(w, "properties") {
		for (size_t i = 0; i < key_nr_rows; i++)
			if (key_rows[i].level == level)
				property(w, &key_rows[i]);
	}
}

/* Writes a regular expression: the empty text, or one with the suffix. */
static void write_suffix(struct json_writer *w, const char *suffix)
{
	char pattern[64];

	snprintf(pattern, sizeof(pattern), "^$|[%c]%s$", suffix[0], suffix + 1);
	jsonw_text(w, "pattern", pattern);
}

static void text_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "string");
	if (row->min)
		jsonw_u64(w, "minLength", row->min);
	jsonw_u64(w, "maxLength", row->max); /* of characters; the reader counts bytes */
	if (row->type == KEY_NAME)
		jsonw_raw(w, "pattern", "\"^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f]*$\"");
	if (row->suffix)
		write_suffix(w, row->suffix);
	if (row->default_text)
		jsonw_text(w, "default", row->default_text);
}

static void hex_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "string");
	jsonw_raw(w, "pattern", "");
	buf_printf(w->out, "\"^[0-9a-f]{%u}$\"", (unsigned)row->max);
}

static void number_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", key_has_decimals(row) ? "number" : "integer");
	if (row->min_text)
		jsonw_raw(w, "minimum", row->min_text);
	else
		jsonw_u64(w, "minimum", row->min);
	jsonw_u64(w, "maximum", row->max);
	if (row->step)
		jsonw_u64(w, "multipleOf", row->step);
	if (row->default_text)
		jsonw_raw(w, "default", row->default_text);
}

static void real_property(struct json_writer *w, const struct key_row *row)
{
	(void)row;
	jsonw_text(w, "type", "number");
}

static void bool_property(struct json_writer *w, const struct key_row *row)
{
	(void)row;
	jsonw_text(w, "type", "boolean");
}

static void defaults_property(struct json_writer *w, const struct key_row *row)
{
	(void)row;
	properties(w, KEY_SAMPLING, false);
	jsonw_raw(w, "not", "{\"required\": [\"rate\", \"frequency\"]}");
}

static void object_property(struct json_writer *w, const struct key_row *row)
{
	properties(w, row->inner, row->is_switch);
	if (row->inner == KEY_RETAIN) /* an empty one limits nothing */
		jsonw_u64(w, "minProperties", 1);
	if (row->inner != KEY_TARGET)
		return;
	jsonw_raw(w, "dependentSchemas",
		  "{\"command\": {\"properties\": {\"pids\": false, \"comms\": false, \"cgroups\": "
		  "false}}, \"cgroups\": {\"properties\": {\"pids\": false, \"comms\": false}}}");
}

static void string_list_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_u64(w, "minItems", row->min);
	jsonw_u64(w, "maxItems", row->max);
	JSONW_OBJECT(w, "items") {
		jsonw_text(w, "type", row->has_numbers ? "integer" : "string");
		if (row->has_numbers)
			jsonw_u64(w, "minimum", 1);
	}
}

static void write_words(struct json_writer *w, const struct key_row *row)
{
	JSONW_ARRAY(w, "enum") {
		for (size_t i = 0; row->words[i]; i++)
			jsonw_text(w, NULL, row->words[i]);
	}
}

static void word_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "string");
	write_words(w, row);
	if (row->default_text)
		jsonw_text(w, "default", row->default_text);
}

static void flags_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_bool(w, "uniqueItems", true);
	if (row->min)
		jsonw_u64(w, "minItems", row->min);
	JSONW_OBJECT(w, "items") {
		jsonw_text(w, "type", "string");
		write_words(w, row);
	}
}

static void list_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_u64(w, "minItems", row->min);
	jsonw_u64(w, "maxItems", row->max);
	JSONW_OBJECT(w, "items") {
		jsonw_raw(w, "type", row->has_numbers ? "[\"string\", \"integer\"]" : "\"string\"");
		jsonw_u64(w, "minLength", 1);
		if (row->has_numbers)
			jsonw_u64(w, "minimum", 0);
		jsonw_raw(w, "pattern", "\"^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f]*$\"");
	}
}

/* A condition on an event, and what it implies. */
struct implication {
	const char *condition, *consequence;
};

static const struct implication of_events[] = {
    {"{\"required\": [\"group_name\"], \"properties\": {\"group_name\": {\"enum\": [\"misc\", "
     "\"gpu\"]}}}",
     "{\"properties\": {\"rate\": {\"maximum\": 0}, \"frequency\": false, \"flags\": "
     "{\"items\": {\"enum\": [\"os\", \"user\"]}}}}"},
    {"{\"required\": [\"every\"]}",
     "{\"properties\": {\"group_name\": {\"enum\": [\"misc\", \"gpu\"]}}}"},
    {"{\"required\": [\"longer_than\"]}",
     "{\"properties\": {\"group_name\": {\"const\": \"function\"}, \"rate\": {\"minimum\": 1}}}"},
    {"{\"required\": [\"when\"]}",
     "{\"properties\": {\"group_name\": {\"const\": \"function\"}, \"rate\": {\"minimum\": 1}}}"},
    {"{\"required\": [\"frequency\"]}", "{\"properties\": {\"rate\": {\"maximum\": 0}}}"},
};

/* If the spec has no key sampling, from which an event can have the flags. */
static const struct implication without_defaults[] = {
    {"{\"required\": [\"sampled\"], \"properties\": {\"sampled\": {\"const\": true}}}",
     "{\"anyOf\": [{\"required\": [\"rate\"]}, {\"required\": [\"frequency\"]}]}"},
    {"{\"required\": [\"stack_bytes\"]}",
     "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
     "{\"const\": \"user_stack\"}}}}"},
    {"{\"required\": [\"branch_filter\"]}",
     "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
     "{\"const\": \"last_branch\"}}}}"},
};

/* The flags of samples require a rate or a frequency, or calls that are samples by their duration.
 */
static void sample_flags_implication(struct json_writer *w)
{
	const char *separator = "";

	jsonw_raw(w, "if",
		  "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
		  "{\"enum\": [");
	for (unsigned bit = 1; bit <= CHECK_SAMPLE_FLAGS; bit <<= 1) {
		if (!(bit & CHECK_SAMPLE_FLAGS))
			continue;
		buf_printf(w->out, "%s\"%s\"", separator, spec_flag_name((enum spec_flag)bit));
		separator = ", ";
	}
	buf_adds(w->out, "]}}}}");
	jsonw_raw(w, "then",
		  "{\"anyOf\": [{\"required\": [\"rate\"], \"properties\": {\"rate\": "
		  "{\"minimum\": 1}}}, {\"required\": [\"frequency\"]}, "
		  "{\"required\": [\"longer_than\"]}, {\"required\": [\"when\"]}]}");
}

static void write_implications(struct json_writer *w, const struct implication *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		JSONW_OBJECT(w, NULL) {
			jsonw_raw(w, "if", all[i].condition);
			jsonw_raw(w, "then", all[i].consequence);
		}
	}
}

#define WRITE_IMPLICATIONS(w, all) write_implications(w, all, sizeof(all) / sizeof((all)[0]))

static void implications_without_defaults(struct json_writer *w)
{
	jsonw_raw(w, "if", "{\"not\": {\"required\": [\"sampling\"]}}");
	jsonw_object(w, "then");
	jsonw_object(w, "properties");
	jsonw_object(w, "events");
	jsonw_object(w, "items");
	jsonw_array(w, "allOf");
	JSONW_OBJECT(w, NULL) {
		sample_flags_implication(w);
	}
	WRITE_IMPLICATIONS(w, without_defaults);
	for (int i = 0; i < 5; i++)
		jsonw_end(w);
}

static void events_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_u64(w, "minItems", row->min);
	jsonw_u64(w, "maxItems", row->max);
	JSONW_OBJECT(w, "items") {
		properties(w, KEY_EVENT, false);
		JSONW_ARRAY(w, "allOf") {
			WRITE_IMPLICATIONS(w, of_events);
		}
	}
}

static void metrics_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_u64(w, "maxItems", row->max);
	JSONW_OBJECT(w, "items") {
		properties(w, KEY_METRIC, false);
	}
}

static void objects_property(struct json_writer *w, const struct key_row *row)
{
	jsonw_text(w, "type", "array");
	jsonw_u64(w, "maxItems", row->max);
	JSONW_OBJECT(w, "items") {
		properties(w, row->inner, false);
	}
}

static void property(struct json_writer *w, const struct key_row *row)
{
	static void (*const bodies[])(struct json_writer * w, const struct key_row *row) = {
	    [KEY_STRING] = text_property,     [KEY_NAME] = text_property,
	    [KEY_WORD] = word_property,       [KEY_INTEGER] = number_property,
	    [KEY_PERCENT] = number_property,  [KEY_SECONDS] = number_property,
	    [KEY_REAL] = real_property,       [KEY_CHOICE] = list_property,
	    [KEY_FLAGS] = flags_property,     [KEY_EVENTS] = events_property,
	    [KEY_METRICS] = metrics_property, [KEY_HEX] = hex_property,
	    [KEY_BOOL] = bool_property,       [KEY_DEFAULTS] = defaults_property,
	    [KEY_OBJECT] = object_property,   [KEY_LIST] = string_list_property,
	    [KEY_OBJECTS] = objects_property,
	};

	JSONW_OBJECT(w, row->name) {
		jsonw_text(w, "description", row->description);
		bodies[row->type](w, row);
	}
}

void keys_to_schema(enum key_level root, struct buf *out)
{
	bool is_session = root == KEY_SESSION;
	struct json_writer w;

	jsonw_init(&w, out, true);
	JSONW_OBJECT(&w, NULL) {
		jsonw_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
		jsonw_text(&w, "title", is_session ? "cpsession" : "cpspec");
		jsonw_text(
		    &w, "description",
		    is_session
			? "The manifest of a cpuperf session."
			: "What cpuperf measures. Remove comments and trailing commas, which "
			  "cpuperf accepts, before validation.");
		properties(&w, root, false);
		if (!is_session) {
			jsonw_raw(&w, "dependentSchemas",
				  "{\"runs\": {\"properties\": "
				  "{\"duration\": false, \"num_iterations\": false, "
				  "\"windows\": false, \"delay\": false}}, "
				  "\"windows\": {\"properties\": "
				  "{\"duration\": false, \"num_iterations\": false}}, "
				  "\"flight_recorder\": {\"properties\": {\"duration\": false, "
				  "\"num_iterations\": false, \"runs\": false, "
				  "\"windows\": false, \"delay\": false}}}");
			implications_without_defaults(&w);
		}
	}
	buf_addc(out, '\n');
}
