/*
 * OpenMetrics 1.0, text format (specification/OpenMetrics.md): metadata precede the lines of a
 * family, label values are escaped, "# EOF" ends the text.
 */
#include "export/openmetrics.h"

#include "base/buf.h"
#include "base/digits.h"
#include "base/str.h"

#include <stdbool.h>
#include <string.h>

enum { NS_DIGITS = 9, NS = 1000000000 };

/* What the format calls a unit of ours, and how many of its base unit one of ours is. */
static const struct unit {
	const char *ours, *theirs;
	struct openmetrics_scale scale;
} units[] = {
    {"", "", {1, 0}},
    {"1", "", {1, 0}},
    {"B", "bytes", {1, 0}},
    {"kB", "bytes", {1000, 0}},
    {"KB", "bytes", {1000, 0}},
    {"MB", "bytes", {1000000, 0}},
    {"GB", "bytes", {1000000000, 0}},
    {"TB", "bytes", {1000000000000, 0}},
    {"KiB", "bytes", {UINT64_C(1) << 10, 0}},
    {"MiB", "bytes", {UINT64_C(1) << 20, 0}},
    {"GiB", "bytes", {UINT64_C(1) << 30, 0}},
    {"TiB", "bytes", {UINT64_C(1) << 40, 0}},
    {"ns", "seconds", {1, -9}},
    {"us", "seconds", {1, -6}},
    {"\xc2\xb5s", "seconds", {1, -6}}, /* the micro sign */
    {"\xce\xbcs", "seconds", {1, -6}}, /* the letter mu */
    {"ms", "seconds", {1, -3}},
    {"s", "seconds", {1, 0}},
    {"min", "seconds", {60, 0}},
    {"h", "seconds", {3600, 0}},
    {"%", "ratio", {1, -2}},
    {"uJ", "joules", {1, -6}},
    {"mJ", "joules", {1, -3}},
    {"J", "joules", {1, 0}},
    {"kJ", "joules", {1000, 0}},
    {"mW", "watts", {1, -3}},
    {"W", "watts", {1, 0}},
    {"kW", "watts", {1000, 0}},
    {"mV", "volts", {1, -3}},
    {"V", "volts", {1, 0}},
    {"mA", "amperes", {1, -3}},
    {"A", "amperes", {1, 0}},
    {"Hz", "hertz", {1, 0}},
    {"kHz", "hertz", {1000, 0}},
    {"MHz", "hertz", {1000000, 0}},
    {"GHz", "hertz", {1000000000, 0}},
    {"°C", "celsius", {1, 0}},
    {"C", "celsius", {1, 0}},
    {"RPM", "revolutions_per_minute", {1, 0}},
};

static const struct openmetrics_scale unscaled = {1, 0};

/* Suffixes of types: a name must not end in one. */
static const char *const suffixes[] = {"_total",  "_created", "_info", "_count", "_sum",
				       "_bucket", "_gcount",  "_gsum", "_value"};

static void add_name(struct buf *b, const char *text, size_t len)
{
	const char *const end = text + len;
	bool has_any = false, is_pending = false;

	for (; text < end; text++) {
		char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
			is_pending = has_any;
			continue;
		}
		if (is_pending)
			buf_addc(b, '_');
		buf_addc(b, c);
		has_any = true;
		is_pending = false;
	}
}

void openmetrics_add_name(struct buf *b, const char *text)
{
	add_name(b, text, strlen(text));
}

static bool ends_in(const char *text, size_t len, const char *end, size_t end_len)
{
	return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* True if text ends in "_word". */
static bool has_unit(const char *base, const char *unit)
{
	size_t len = strlen(base), unit_len = strlen(unit);

	return len > unit_len && base[len - unit_len - 1] == '_' &&
	       ends_in(base, len, unit, unit_len);
}

static bool has_suffix(const char *name)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (ends_in(name, strlen(name), suffixes[i], strlen(suffixes[i])))
			return true;
	return false;
}

/* A unit that would be taken for one. */
static bool is_suffix(const char *unit)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strcmp(unit, suffixes[i] + 1) == 0)
			return true;
	return has_suffix(unit);
}

static const struct unit *find_unit(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].ours) == len && memcmp(units[i].ours, name, len) == 0)
			return &units[i];
	return NULL;
}

/* What stands behind a slash. */
static void add_per(struct buf *b, const char *unit, bool is_first)
{
	size_t before = b->len, len;

	buf_adds(b, is_first ? "per_" : "_per_");
	len = b->len;
	openmetrics_add_name(b, strcmp(unit, "s") == 0 ? "second" : unit);
	if (b->len == len)
		buf_cut(b, before);
}

struct openmetrics_scale openmetrics_add_unit(struct buf *b, const char *unit, const char *base)
{
	size_t before = b->len, len = strcspn(unit, "/");
	const struct unit *known = find_unit(unit, len);

	if (known)
		buf_adds(b, known->theirs);
	else
		add_name(b, unit, len);
	if (unit[len])
		add_per(b, unit + len + 1, b->len == before);
	if (known || buf_error(b))
		return known ? known->scale : unscaled;
	if (is_suffix(buf_str(b) + before) || (base && !has_unit(base, buf_str(b) + before)))
		buf_cut(b, before);
	return unscaled;
}

double openmetrics_scaled(double number, struct openmetrics_scale scale)
{
	number *= (double)scale.times;
	for (int i = 0; i < -scale.exponent; i++)
		number /= 10;
	return number;
}

void openmetrics_add_family(struct buf *b, const char *base, const char *unit)
{
	buf_adds(b, base);
	if (*unit && !has_unit(base, unit)) {
		buf_addc(b, '_');
		buf_adds(b, unit);
	}
	if (!*unit && has_suffix(base))
		buf_adds(b, "_value");
}

/* How many characters are written as they are: most texts have no others. */
static size_t plain_len(const char *s)
{
	size_t len = 0;

	while (s[len] >= ' ' && s[len] <= '~' && s[len] != '\\' && s[len] != '"')
		len++;
	return len;
}

/* Escapes backslashes, quotes (unless text may have them) and newlines. Other control characters
 * and invalid UTF-8 become "?".
 */
static void add_escaped(struct buf *b, const char *s, bool has_quotes)
{
	for (size_t len; *s; s += len) {
		len = plain_len(s);
		if (len) {
			buf_add(b, s, len);
			continue;
		}
		len = str_character(s, strnlen(s, 4));
		if (*s == '\\' || (*s == '"' && !has_quotes)) {
			buf_addc(b, '\\');
			buf_addc(b, *s);
		} else if (*s == '\n') {
			buf_adds(b, "\\n");
		} else if (!len || !str_visible(s, len)) {
			buf_addc(b, '?');
		} else {
			buf_add(b, s, len);
		}
		len = len ? len : 1;
	}
}

/* What lines of the type end in. */
static const char *const ends[] = {[OPENMETRICS_GAUGE] = "",
				   [OPENMETRICS_COUNTER] = "_total",
				   [OPENMETRICS_INFO] = "_info",
				   [OPENMETRICS_HISTOGRAM] = ""};

/* "# TYPE name text" and so on. */
static void add_metadata(struct openmetrics *m, const char *what, const char *text)
{
	buf_adds(m->out, "# ");
	buf_adds(m->out, what);
	buf_addc(m->out, ' ');
	buf_adds(m->out, m->name);
	if (m->is_classic)
		buf_adds(m->out, ends[m->type]);
	buf_addc(m->out, ' ');
	add_escaped(m->out, text, m->is_classic);
	buf_addc(m->out, '\n');
}

void openmetrics_family(struct openmetrics *m, enum openmetrics_type type, const char *name,
			const char *unit, const char *help)
{
	m->name = name;
	m->unit = unit;
	m->help = help;
	m->type = type;
	m->has_begun = false;
}

static const char *const types[] = {[OPENMETRICS_GAUGE] = "gauge",
				    [OPENMETRICS_COUNTER] = "counter",
				    [OPENMETRICS_INFO] = "info",
				    [OPENMETRICS_HISTOGRAM] = "histogram"};

static void begin_family(struct openmetrics *m)
{
	m->has_begun = true;
	add_metadata(m, "TYPE",
		     m->is_classic && m->type == OPENMETRICS_INFO ? "gauge" : types[m->type]);
	if (*m->unit && !m->is_classic)
		add_metadata(m, "UNIT", m->unit);
	add_metadata(m, "HELP", m->help);
}

static void end_label(struct openmetrics *m, const char *name)
{
	buf_addc(m->out, '"');
	if (strcmp(name, "le") != 0)
		m->shared_end = m->out->len;
}

static void begin_label(struct openmetrics *m, const char *name)
{
	buf_addc(m->out, m->nr_labels++ ? ',' : '{');
	buf_adds(m->out, name);
	buf_adds(m->out, "=\"");
}

void openmetrics_label(struct openmetrics *m, const char *name, const char *value)
{
	begin_label(m, name);
	add_escaped(m->out, value, false);
	end_label(m, name);
}

void openmetrics_label_u64(struct openmetrics *m, const char *name, uint64_t value)
{
	begin_label(m, name);
	buf_u64(m->out, value);
	end_label(m, name);
}

void openmetrics_begin_part(struct openmetrics *m, const char *suffix)
{
	m->family_at = m->out->len;
	if (!m->has_begun)
		begin_family(m);
	m->line_at = m->out->len;
	buf_adds(m->out, m->name);
	buf_adds(m->out, suffix);
	m->nr_labels = 0;
	m->labels_at = m->shared_end = m->out->len;
	for (size_t i = 0; i < sizeof(m->shared) / sizeof(m->shared[0]); i++)
		if (m->shared[i].name && m->shared[i].value)
			openmetrics_label(m, m->shared[i].name, m->shared[i].value);
}

void openmetrics_begin(struct openmetrics *m)
{
	openmetrics_begin_part(m, ends[m->type]);
}

void openmetrics_value(struct openmetrics *m)
{
	buf_adds(m->out, m->nr_labels ? "} " : " ");
	m->value_at = m->out->len;
}

void openmetrics_add_time(struct buf *b, uint64_t time_ns)
{
	char digits[DIGITS_ROOM];

	buf_addc(b, ' ');
	buf_u64(b, time_ns / NS);
	buf_addc(b, '.');
	buf_add(b, digits, (size_t)(digits_dec_fixed(digits, time_ns % NS, NS_DIGITS) - digits));
}

void openmetrics_end(struct openmetrics *m, uint64_t time_ns)
{
	m->time_ns = m->has_no_times ? 0 : time_ns;
	if (m->on_line) {
		m->on_line(m->arg, m);
		return;
	}
	if (m->time_ns)
		openmetrics_add_time(m->out, m->time_ns);
	buf_addc(m->out, '\n');
}

/* The end of the line that begins at text. */
static const char *line_end(const char *text, const char *end)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text));

	return newline ? newline + 1 : end;
}

static enum openmetrics_type find_type(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i]) == len && memcmp(types[i], name, len) == 0)
			return (enum openmetrics_type)i;
	return OPENMETRICS_GAUGE;
}

/* "# TYPE name type" and "# HELP name text", with their name as the lines have it. */
static void put_classic(struct buf *out, const char *line, const char *end,
			enum openmetrics_type *type)
{
	const char *name = line + strlen("# TYPE "), *rest;
	bool is_type = memcmp(line, "# TYPE ", strlen("# TYPE ")) == 0;

	if (!is_type && memcmp(line, "# HELP ", strlen("# HELP ")) != 0)
		return;
	rest = memchr(name, ' ', (size_t)(end - name));
	if (!rest)
		return;
	if (is_type)
		*type = find_type(rest + 1, (size_t)(end - rest - 2));
	buf_add(out, line, (size_t)(rest - line));
	buf_adds(out, ends[*type]);
	if (is_type && *type == OPENMETRICS_INFO) {
		buf_adds(out, " gauge\n");
		return;
	}
	for (; rest < end; rest++) /* quotes of help are not escaped there */
		if (is_type || rest[0] != '\\' || rest[1] != '"')
			buf_addc(out, *rest);
		else
			buf_addc(out, *++rest);
}

void openmetrics_to_classic(const struct buf *from, struct buf *out)
{
	const char *at = buf_str(from), *end = at + from->len, *next;
	enum openmetrics_type type = OPENMETRICS_GAUGE;

	for (; at < end; at = next) {
		next = line_end(at, end);
		if (*at == '#') {
			put_classic(out, at, next, &type);
			continue;
		}
		while (next < end && *next != '#')
			next = line_end(next, end);
		buf_add(out, at, (size_t)(next - at));
	}
}

void openmetrics_eof(struct openmetrics *m)
{
	if (!m->is_classic)
		buf_adds(m->out, "# EOF\n");
}
