/*
 * man(7) has some dozen requests that our pages use: rows below. What else begins with a dot is
 * omitted, so a page of a later version is still legible. Fonts are.
 */
#include "man_text.h"

#include "base/array.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	INDENT = 7,
	SUBSECTION_INDENT = 3,
	TAG_INDENT = 7,
	MAX_LINE_BYTES = 1 << 16,
	MAX_INDENT = 60
};

struct man_text {
	struct buf *out;
	unsigned width, column;
	unsigned indent;  /* of the section, and of RS */
	unsigned hanging; /* beside it, of the text below a tag */
	bool is_tag;      /* the next line is one */
	bool is_verbatim;
};

static void break_line(struct man_text *m)
{
	if (m->column)
		buf_addc(m->out, '\n');
	m->column = 0;
}

static void add_blank(struct man_text *m)
{
	break_line(m);
	if (m->out->len)
		buf_addc(m->out, '\n');
}

/* --- characters ------------------------------------------------------------------------------ */

static const struct {
	const char *name, *text;
} characters[] = {
    {"bu", "•"}, {"dq", "\""}, {"aq", "'"}, {"mu", "×"}, {"+-", "±"}, {"mc", "µ"},
    {"~~", "≈"}, {">=", "≥"},  {"lq", "“"}, {"rq", "”"}, {"em", "—"},
};

/* Returns what follows the escape, whose text is appended. */
static const char *add_escape(struct buf *out, const char *s)
{
	if (s[0] == '(' && s[1] && s[2]) {
		for (size_t i = 0; i < ARRAY_NR(characters); i++)
			if (memcmp(characters[i].name, s + 1, 2) == 0)
				buf_adds(out, characters[i].text);
		return s + 3;
	}
	if (s[0] == 'f' && s[1])
		return s + 2;
	if (*s == '"') /* a comment */
		return s + strlen(s);
	if (*s != '&' && *s)
		buf_addc(out, *s == 'e' ? '\\' : *s);
	return s + (*s != '\0');
}

static void decode(struct buf *out, const char *s)
{
	while (*s)
		if (*s == '\\')
			s = add_escape(out, s + 1);
		else
			buf_addc(out, *s++);
}

/* --- text ------------------------------------------------------------------------------------ */

static unsigned columns_of(const char *s, size_t len)
{
	unsigned nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += (s[i] & 0xc0) != 0x80;
	return nr;
}

static void add_word(struct man_text *m, const char *s, size_t len)
{
	const unsigned room = columns_of(s, len), at = m->indent + m->hanging;

	if (m->column && m->column + 1 + room > m->width)
		break_line(m);
	if (!m->column)
		buf_fill(m->out, ' ', at);
	else
		buf_addc(m->out, ' ');
	m->column += (m->column ? 1 : at) + room;
	buf_add(m->out, s, len);
}

static void add_words(struct man_text *m, const char *text)
{
	for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
		const size_t len = strcspn(at, " ");

		add_word(m, at, len);
		at += len;
	}
}

/* What fits beside the text stands beside it. */
static void end_tag(struct man_text *m)
{
	const unsigned at = m->indent + TAG_INDENT;

	m->is_tag = false;
	m->hanging = TAG_INDENT;
	if (m->column >= at) {
		break_line(m);
	} else {
		buf_fill(m->out, ' ', at - m->column - 1);
		m->column = at - 1;
	}
}

static void add_line(struct man_text *m, const char *text)
{
	if (m->is_verbatim) {
		buf_fill(m->out, ' ', m->indent + m->hanging);
		buf_printf(m->out, "%s\n", text);
		return;
	}
	add_words(m, text);
	if (m->is_tag)
		end_tag(m);
}

/* --- requests -------------------------------------------------------------------------------- */

/* The next argument at *at, with escapes; quotes hold blanks. False: there is none. */
static bool next_argument(const char **at, struct buf *out)
{
	const char *s = *at + strspn(*at, " ");
	bool is_quoted = *s == '"';

	if (!*s)
		return false;
	s += is_quoted;
	while (*s && (is_quoted ? *s != '"' : *s != ' ')) {
		if (*s == '\\' && s[1])
			buf_addc(out, *s++);
		buf_addc(out, *s++);
	}
	*at = s + (is_quoted && *s == '"');
	return true;
}

/* The arguments, divided by `between`. */
static void join(const char *arguments, const char *between, struct buf *out)
{
	BUF_AUTO(raw, MAX_LINE_BYTES);
	bool is_first = true;

	for (;;) {
		buf_reset(&raw);
		if (!next_argument(&arguments, &raw))
			return;
		buf_adds(out, is_first ? "" : between);
		decode(out, buf_str(&raw));
		is_first = false;
	}
}

static void add_font(struct man_text *m, const char *arguments)
{
	BUF_AUTO(text, MAX_LINE_BYTES);

	join(arguments, " ", &text);
	add_line(m, buf_str(&text));
}

static void add_fonts(struct man_text *m, const char *arguments)
{
	BUF_AUTO(text, MAX_LINE_BYTES);

	join(arguments, "", &text);
	add_line(m, buf_str(&text));
}

static void begin_heading(struct man_text *m, const char *arguments, unsigned indent)
{
	BUF_AUTO(text, MAX_LINE_BYTES);

	join(arguments, " ", &text);
	add_blank(m);
	buf_fill(m->out, ' ', indent);
	buf_printf(m->out, "%s\n", buf_str(&text));
	m->indent = INDENT;
	m->hanging = 0;
	m->is_tag = m->is_verbatim = false;
}

static void begin_section(struct man_text *m, const char *arguments)
{
	begin_heading(m, arguments, 0);
}

static void begin_subsection(struct man_text *m, const char *arguments)
{
	begin_heading(m, arguments, SUBSECTION_INDENT);
}

static void begin_paragraph(struct man_text *m, const char *arguments)
{
	(void)arguments;
	m->hanging = 0;
	add_blank(m);
}

static void begin_tag(struct man_text *m, const char *arguments)
{
	begin_paragraph(m, arguments);
	m->is_tag = true;
}

/* Without a tag, a paragraph below that of the tag before. */
static void begin_item(struct man_text *m, const char *arguments)
{
	BUF_AUTO(tag, MAX_LINE_BYTES);
	BUF_AUTO(text, MAX_LINE_BYTES);

	add_blank(m);
	if (!next_argument(&arguments, &tag)) {
		m->hanging = TAG_INDENT;
		return;
	}
	m->hanging = 0;
	m->is_tag = true;
	decode(&text, buf_str(&tag));
	add_line(m, buf_str(&text));
}

static void begin_indent(struct man_text *m, const char *arguments)
{
	(void)arguments;
	break_line(m);
	m->indent += m->indent < MAX_INDENT ? TAG_INDENT : 0;
	m->hanging = 0;
}

static void end_indent(struct man_text *m, const char *arguments)
{
	(void)arguments;
	break_line(m);
	m->indent -= m->indent > INDENT ? TAG_INDENT : 0;
}

static void begin_verbatim(struct man_text *m, const char *arguments)
{
	(void)arguments;
	break_line(m);
	m->is_verbatim = true;
}

static void end_verbatim(struct man_text *m, const char *arguments)
{
	(void)arguments;
	m->is_verbatim = false;
}

static void end_line(struct man_text *m, const char *arguments)
{
	(void)arguments;
	break_line(m);
}

static const struct {
	const char *name;
	void (*run)(struct man_text *m, const char *arguments);
} requests[] = {
    {"SH", begin_section},  {"SS", begin_subsection}, {"PP", begin_paragraph}, {"TP", begin_tag},
    {"IP", begin_item},     {"RS", begin_indent},     {"RE", end_indent},      {"br", end_line},
    {"nf", begin_verbatim}, {"EX", begin_verbatim},   {"fi", end_verbatim},    {"EE", end_verbatim},
    {"B", add_font},        {"I", add_font},          {"BR", add_fonts},       {"RB", add_fonts},
    {"IR", add_fonts},      {"RI", add_fonts},        {"BI", add_fonts},
};

static void run_request(struct man_text *m, const char *line)
{
	const size_t len = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_NR(requests); i++)
		if (strlen(requests[i].name) == len && memcmp(requests[i].name, line, len) == 0)
			requests[i].run(m, line + len);
}

void man_text(char *page, unsigned width, struct buf *out)
{
	struct man_text m = {.out = out, .width = width, .indent = INDENT};
	BUF_AUTO(text, MAX_LINE_BYTES);

	for (char *line = page, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (*line == '.') {
			run_request(&m, line + 1);
			continue;
		}
		buf_reset(&text);
		decode(&text, line);
		if (*line || m.is_verbatim)
			add_line(&m, buf_str(&text));
	}
	break_line(&m);
}
