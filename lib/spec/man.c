/*
 * The key list of cpspec(5), made from the key table, in man(7) markup.
 */
#include "base/buf.h"
#include "base/opt.h"
#include "spec/diag.h"
#include "spec/keys.h"

#include <inttypes.h>
#include <string.h>

static void bounds(struct buf *out, const struct key_row *row)
{
	if (row->min_text)
		buf_printf(out, ", %s to %" PRIu64, row->min_text, row->max);
	else if (row->type == KEY_INTEGER || key_has_decimals(row))
		buf_printf(out, ", %" PRIu64 " to %" PRIu64, row->min, row->max);
	else if (row->type == KEY_HEX)
		buf_printf(out, ", %" PRIu64 " hexadecimal digits", row->max);
	else if (row->min)
		buf_adds(out, ", not empty");
	if (row->suffix)
		buf_printf(out, ", empty or ending in %s", row->suffix);
	if (row->step)
		buf_printf(out, ", a multiple of %" PRIu64, row->step);
	if (row->unit)
		buf_printf(out, ", %s", row->unit);
}

static void facts(struct buf *out, const struct key_row *row)
{
	static const char *const types[] = {
	    [KEY_STRING] = "string",
	    [KEY_NAME] = "string",
	    [KEY_WORD] = "string",
	    [KEY_INTEGER] = "integer",
	    [KEY_SECONDS] = "number",
	    [KEY_PERCENT] = "number",
	    [KEY_REAL] = "number",
	    [KEY_CHOICE] = "array of strings",
	    [KEY_FLAGS] = "array of ",
	    [KEY_EVENTS] = "array",
	    [KEY_METRICS] = "array",
	    [KEY_HEX] = "string",
	    [KEY_BOOL] = "true or false",
	    [KEY_DEFAULTS] = "object",
	    [KEY_OBJECT] = "object",
	    [KEY_LIST] = "array of ",
	    [KEY_OBJECTS] = "array of objects",
	};
	char words[256] = "";

	buf_adds(out, row->is_switch ? "true, false or " : "");
	buf_adds(out, types[row->type]);
	if (row->type == KEY_FLAGS)
		diag_words(row, words, sizeof(words));
	buf_adds(out, words);
	if (row->type == KEY_LIST)
		buf_adds(out, row->has_numbers ? "integers" : "strings");
	if (row->form)
		buf_printf(out, ", %s", row->form);
	bounds(out, row);
	if (row->required)
		buf_adds(out, ", required");
	if (row->default_text && row->default_text[0]) {
		bool is_text = row->type == KEY_STRING || row->type == KEY_WORD;
		const char *quote = is_text ? "\"" : "";

		buf_printf(out, ", default %s", quote);
		opt_man_text(out, row->default_text);
		buf_adds(out, quote);
	}
	if (row->groups)
		buf_printf(out, "; groups: %s", row->groups);
	if (row->modes)
		buf_printf(out, "; %s only", row->modes);
}

static void level(struct buf *out, enum key_level l, const char *heading)
{
	buf_printf(out, ".SS %s\n", heading);
	for (size_t i = 0; i < key_nr_rows; i++) {
		if (key_rows[i].level != l)
			continue;
		buf_printf(out, ".TP\n.B %s\n(", key_rows[i].name);
		facts(out, &key_rows[i]);
		buf_adds(out, ")\n.br\n");
		opt_man_text(out, key_rows[i].description);
		buf_addc(out, '\n');
	}
}

void keys_to_man(struct buf *out)
{
	level(out, KEY_SPEC, "Keys of a spec");
	level(out, KEY_EVENT, "Keys of an event");
	level(out, KEY_SAMPLING, "Keys of sampling");
	level(out, KEY_TARGET, "Keys of target");
	level(out, KEY_FLIGHT, "Keys of flight_recorder");
	level(out, KEY_RETAIN, "Keys of retain");
	level(out, KEY_REGIONS, "Keys of regions");
	level(out, KEY_FUNCTIONS, "Keys of functions");
	level(out, KEY_METRIC, "Keys of a metric");
	level(out, KEY_SESSION, "Keys of a session file (.cpsession)");
	level(out, KEY_REMOVED, "Keys of removed");
	level(out, KEY_EXPERIMENTS, "Keys of experiments");
	level(out, KEY_EXPERIMENT, "Keys of rows in experiments");
}
