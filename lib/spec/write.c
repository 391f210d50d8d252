/*
 * The writing side of the key table.
 */
#include "spec/write.h"

#include "base/buf.h"
#include "spec/spec.h"

#include <inttypes.h>
#include <string.h>

void writer_init(struct writer *w, struct buf *out, bool is_pretty)
{
	*w = (struct writer){.out = out, .is_pretty = is_pretty};
}

static void new_line(struct writer *w)
{
	if (!w->is_pretty)
		return;
	buf_addc(w->out, '\n');
	buf_fill(w->out, ' ', (size_t)w->depth * 2);
}

static void begin(struct writer *w, const char *key)
{
	if (w->needs_comma)
		buf_addc(w->out, ',');
	if (w->depth)
		new_line(w);
	w->needs_comma = true;
	if (!key)
		return;
	buf_json_string(w->out, key);
	buf_adds(w->out, w->is_pretty ? ": " : ":");
}

void write_open(struct writer *w, const char *key, char bracket)
{
	begin(w, key);
	buf_addc(w->out, bracket);
	w->needs_comma = false;
	w->depth++;
}

void write_close(struct writer *w, char bracket)
{
	w->depth--;
	if (w->needs_comma) /* else it is empty */
		new_line(w);
	buf_addc(w->out, bracket);
	w->needs_comma = true;
}

void write_string(struct writer *w, const char *key, const char *value)
{
	begin(w, key);
	buf_json_string(w->out, value);
}

void write_u64(struct writer *w, const char *key, uint64_t value)
{
	begin(w, key);
	buf_u64(w->out, value);
}

void write_raw(struct writer *w, const char *key, const char *json)
{
	begin(w, key);
	buf_adds(w->out, json);
}

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

static void write_text(struct writer *w, const struct key_row *row, const void *model)
{
	const char *s;

	memcpy(&s, field(row, model), sizeof(s));
	if (s && (s[0] || row->default_text))
		write_string(w, row->name, s);
}

static void write_integer(struct writer *w, const struct key_row *row, const void *model)
{
	uint64_t v = field_u64(row, model);

	if (v >= row->min)
		write_u64(w, row->name, v);
}

static void write_seconds(struct writer *w, const struct key_row *row, const void *model)
{
	uint64_t ns = field_u64(row, model), fraction = ns % KEY_NS_PER_S;
	int digits = 9;

	write_u64(w, row->name, ns / KEY_NS_PER_S);
	if (!fraction)
		return;
	for (; fraction % 10 == 0; fraction /= 10)
		digits--;
	buf_printf(w->out, ".%0*" PRIu64, digits, fraction);
}

static void write_real(struct writer *w, const struct key_row *row, const void *model)
{
	struct metric_limit limit;

	memcpy(&limit, field(row, model), sizeof(limit));
	if (limit.text)
		write_raw(w, row->name, limit.text);
}

static void write_flags(struct writer *w, const struct key_row *row, const void *model)
{
	unsigned bits;

	memcpy(&bits, field(row, model), sizeof(bits));
	if (!bits)
		return;
	write_open(w, row->name, '[');
	for (unsigned i = 0; row->words[i]; i++)
		if (bits & 1u << i)
			write_string(w, NULL, row->words[i]);
	write_close(w, ']');
}

static void write_choice(struct writer *w, const struct key_row *row, const void *model)
{
	struct spec_choice choice;

	memcpy(&choice, field(row, model), sizeof(choice));
	if (!choice.key || strcmp(choice.key, row->name) != 0)
		return;
	write_open(w, row->name, '[');
	for (size_t i = 0; i < choice.nr_words; i++)
		write_string(w, NULL, choice.words[i]);
	write_close(w, ']');
}

static void write_events(struct writer *w, const struct key_row *row, const void *model)
{
	const struct spec *s = model;

	write_open(w, row->name, '[');
	for (size_t i = 0; i < s->nr_events; i++)
		write_object(w, NULL, KEY_EVENT, &s->events[i]);
	write_close(w, ']');
}

static void write_metrics(struct writer *w, const struct key_row *row, const void *model)
{
	const struct spec *s = model;

	if (!s->nr_metrics)
		return;
	write_open(w, row->name, '[');
	for (size_t i = 0; i < s->nr_metrics; i++)
		write_object(w, NULL, KEY_METRIC, &s->metrics[i]);
	write_close(w, ']');
}

typedef void write_fn(struct writer *w, const struct key_row *row, const void *model);
static write_fn *const writers[] = {
    [KEY_STRING] = write_text,     [KEY_NAME] = write_text,       [KEY_WORD] = write_text,
    [KEY_INTEGER] = write_integer, [KEY_SECONDS] = write_seconds, [KEY_REAL] = write_real,
    [KEY_CHOICE] = write_choice,   [KEY_FLAGS] = write_flags,     [KEY_EVENTS] = write_events,
    [KEY_METRICS] = write_metrics, [KEY_HEX] = write_text,
};

void write_object(struct writer *w, const char *key, enum key_level level, const void *model)
{
	write_open(w, key, '{');
	for (size_t i = 0; i < nr_key_rows; i++)
		if (key_rows[i].level == level)
			writers[key_rows[i].type](w, &key_rows[i], model);
	write_close(w, '}');
}

void spec_to_json(const struct spec *s, struct buf *out)
{
	struct writer w;

	writer_init(&w, out, false);
	write_object(&w, NULL, KEY_SPEC, s);
}
