/*
 * The JSON schemas (draft 2020-12), made from the key table. schemas/ holds what this prints.
 * What a schema can say of the rules of check.c it says; the rest is the reader's alone.
 */
#include "base/buf.h"
#include "spec/check.h"
#include "spec/keys.h"
#include "spec/write.h"

#include <stdio.h>
#include <string.h>

static void property(struct writer *w, const struct key_row *row);

static void properties(struct writer *w, enum key_level level)
{
	write_string(w, "type", "object");
	write_raw(w, "additionalProperties", "false");
	if (level != KEY_SESSION) {
		write_open(w, "required", '[');
		for (size_t i = 0; i < nr_key_rows; i++)
			if (key_rows[i].level == level && key_rows[i].required)
				write_string(w, NULL, key_rows[i].name);
		write_close(w, ']');
	}
	write_open(w, "properties", '{');
	for (size_t i = 0; i < nr_key_rows; i++)
		if (key_rows[i].level == level)
			property(w, &key_rows[i]);
	write_close(w, '}');
}

/* A regular expression: the empty text, or one that ends so. */
static void write_suffix(struct writer *w, const char *suffix)
{
	char pattern[64];

	snprintf(pattern, sizeof(pattern), "^$|[%c]%s$", suffix[0], suffix + 1);
	write_string(w, "pattern", pattern);
}

static void text_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "string");
	if (row->min)
		write_u64(w, "minLength", row->min);
	write_u64(w, "maxLength", row->max); /* of characters; the reader counts bytes */
	if (row->type == KEY_NAME)
		write_raw(w, "pattern", "\"^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f]*$\"");
	if (row->suffix)
		write_suffix(w, row->suffix);
	if (row->default_text)
		write_string(w, "default", row->default_text);
}

static void hex_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "string");
	write_raw(w, "pattern", "");
	buf_printf(w->out, "\"^[0-9a-f]{%u}$\"", (unsigned)row->max);
}

static void number_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "integer");
	write_u64(w, "minimum", row->min);
	write_u64(w, "maximum", row->max);
	if (row->step)
		write_u64(w, "multipleOf", row->step);
	if (row->default_text)
		write_raw(w, "default", row->default_text);
}

static void real_property(struct writer *w, const struct key_row *row)
{
	(void)row;
	write_string(w, "type", "number");
}

static void write_words(struct writer *w, const struct key_row *row)
{
	write_open(w, "enum", '[');
	for (size_t i = 0; row->words[i]; i++)
		write_string(w, NULL, row->words[i]);
	write_close(w, ']');
}

static void word_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "string");
	write_words(w, row);
	if (row->default_text)
		write_string(w, "default", row->default_text);
}

static void flags_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "array");
	write_raw(w, "uniqueItems", "true");
	if (row->min)
		write_u64(w, "minItems", row->min);
	write_open(w, "items", '{');
	write_string(w, "type", "string");
	write_words(w, row);
	write_close(w, '}');
}

static void list_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "array");
	write_u64(w, "minItems", row->min);
	write_u64(w, "maxItems", row->max);
	write_open(w, "items", '{');
	write_raw(w, "type", row->has_numbers ? "[\"string\", \"integer\"]" : "\"string\"");
	write_u64(w, "minLength", 1);
	if (row->has_numbers)
		write_u64(w, "minimum", 0);
	write_raw(w, "pattern", "\"^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f]*$\"");
	write_close(w, '}');
}

/* A condition on an event, and what it asks of it. */
static const struct {
	const char *condition, *consequence;
} implications[] = {
    {"{\"required\": [\"group_name\"], \"properties\": {\"group_name\": {\"const\": \"misc\"}}}",
     "{\"properties\": {\"rate\": {\"maximum\": 0}, \"frequency\": false, \"flags\": "
     "{\"items\": {\"enum\": [\"os\", \"user\"]}}}}"},
    {"{\"required\": [\"frequency\"]}", "{\"properties\": {\"rate\": {\"maximum\": 0}}}"},
    {"{\"required\": [\"stack_bytes\"]}",
     "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
     "{\"const\": \"user_stack\"}}}}"},
    {"{\"required\": [\"branch_filter\"]}",
     "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
     "{\"const\": \"last_branch\"}}}}"},
};

/* The flags about samples need a rate or a frequency. */
static void sample_flags_implication(struct writer *w)
{
	const char *separator = "";

	write_raw(w, "if",
		  "{\"required\": [\"flags\"], \"properties\": {\"flags\": {\"contains\": "
		  "{\"enum\": [");
	for (unsigned bit = 1; bit <= CHECK_SAMPLE_FLAGS; bit <<= 1) {
		if (!(bit & CHECK_SAMPLE_FLAGS))
			continue;
		buf_printf(w->out, "%s\"%s\"", separator, spec_flag_name((enum spec_flag)bit));
		separator = ", ";
	}
	buf_adds(w->out, "]}}}}");
	write_raw(w, "then",
		  "{\"anyOf\": [{\"required\": [\"rate\"], \"properties\": {\"rate\": "
		  "{\"minimum\": 1}}}, {\"required\": [\"frequency\"]}]}");
}

static void all_implications(struct writer *w)
{
	write_open(w, NULL, '{');
	sample_flags_implication(w);
	write_close(w, '}');
	for (size_t i = 0; i < sizeof(implications) / sizeof(implications[0]); i++) {
		write_open(w, NULL, '{');
		write_raw(w, "if", implications[i].condition);
		write_raw(w, "then", implications[i].consequence);
		write_close(w, '}');
	}
}

static void events_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "array");
	write_u64(w, "minItems", row->min);
	write_u64(w, "maxItems", row->max);
	write_open(w, "items", '{');
	properties(w, KEY_EVENT);
	write_open(w, "allOf", '[');
	all_implications(w);
	write_close(w, ']');
	write_close(w, '}');
}

static void metrics_property(struct writer *w, const struct key_row *row)
{
	write_string(w, "type", "array");
	write_u64(w, "maxItems", row->max);
	write_open(w, "items", '{');
	properties(w, KEY_METRIC);
	write_close(w, '}');
}

static void property(struct writer *w, const struct key_row *row)
{
	static void (*const bodies[])(struct writer * w, const struct key_row *row) = {
	    [KEY_STRING] = text_property,    [KEY_NAME] = text_property,
	    [KEY_WORD] = word_property,      [KEY_INTEGER] = number_property,
	    [KEY_SECONDS] = number_property, [KEY_REAL] = real_property,
	    [KEY_CHOICE] = list_property,    [KEY_FLAGS] = flags_property,
	    [KEY_EVENTS] = events_property,  [KEY_METRICS] = metrics_property,
	    [KEY_HEX] = hex_property,
	};

	write_open(w, row->name, '{');
	write_string(w, "description", row->description);
	bodies[row->type](w, row);
	write_close(w, '}');
}

void keys_to_schema(enum key_level root, struct buf *out)
{
	bool is_session = root == KEY_SESSION;
	struct writer w;

	writer_init(&w, out, true);
	write_open(&w, NULL, '{');
	write_string(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	write_string(&w, "title", is_session ? "cpsession" : "cpspec");
	write_string(&w, "description",
		     is_session
			 ? "A session of cpuperf: where its traces are."
			 : "What cpuperf is to measure. Comments and trailing commas, which "
			   "cpuperf accepts, are taken out before a validator sees the file.");
	properties(&w, root);
	write_close(&w, '}');
	buf_addc(out, '\n');
}
