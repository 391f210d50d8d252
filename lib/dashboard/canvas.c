/*
 * A screen in memory.
 */
#include "dashboard/canvas.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct canvas_cell) == 8, "cells are compared as a whole");

static unsigned clamp(unsigned n, unsigned max)
{
	return n > max ? max : n;
}

int canvas_init(struct canvas *c, unsigned width, unsigned height, bool is_utf8)
{
	struct canvas_cell *cells;

	width = clamp(width ? width : 1, CANVAS_MAX_WIDTH);
	height = clamp(height ? height : 1, CANVAS_MAX_HEIGHT);
	cells = mem_calloc((size_t)width * height, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	*c = (struct canvas){
	    .width = width, .height = height, .pitch = width, .is_utf8 = is_utf8, .cells = cells};
	canvas_clear(c);
	return 0;
}

void canvas_fini(struct canvas *c)
{
	mem_free(c->cells);
	*c = (struct canvas){.width = 0};
}

void canvas_clear(struct canvas *c)
{
	const struct canvas_cell blank = {.text = " ", .style = CANVAS_PLAIN};

	for (unsigned y = 0; y < c->height; y++)
		for (unsigned x = 0; x < c->width; x++)
			c->cells[(size_t)y * c->pitch + x] = blank;
}

struct canvas canvas_part(const struct canvas *c, unsigned x, unsigned y, unsigned width,
			  unsigned height)
{
	x = clamp(x, c->width);
	y = clamp(y, c->height);
	return (struct canvas){.width = clamp(width, c->width - x),
			       .height = clamp(height, c->height - y),
			       .x = c->x + x,
			       .y = c->y + y,
			       .pitch = c->pitch,
			       .is_utf8 = c->is_utf8,
			       .cells = &c->cells[(size_t)y * c->pitch + x]};
}

/* East Asian Width W and F, abridged; and visible characters of no width. */
static const struct {
	uint32_t first, last;
	unsigned width;
} widths[] = {
    {0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},     {0x610, 0x61a, 0},
    {0x64b, 0x65f, 0},     {0x900, 0x902, 0},     {0x1100, 0x115f, 2},   {0x1160, 0x11ff, 0},
    {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
    {0x23e9, 0x23ec, 2},   {0x25fd, 0x25fe, 2},   {0x2614, 0x2615, 2},   {0x2e80, 0x303e, 2},
    {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},
    {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
};

static unsigned width_of(uint32_t character)
{
	if (character < widths[0].first)
		return 1;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (character >= widths[i].first && character <= widths[i].last)
			return widths[i].width;
	return 1;
}

/* The next character of the text as it will be painted: its bytes and width. */
struct glyph {
	const char *text;
	size_t len;
	unsigned width;
};

/* The bytes of text that it replaces. */
static size_t next_glyph(const char *s, struct glyph *g)
{
	static const char unknown[] = "?";
	size_t len = (uint8_t)*s < 0x80 ? 1 : str_character(s, strnlen(s, 4));
	uint32_t character = (uint8_t)*s & (len > 1 ? 0x7f >> len : 0x7f);

	for (size_t i = 1; i < len; i++)
		character = character << 6 | ((uint8_t)s[i] & 0x3f);
	*g = (struct glyph){s, len, 1};
	if (!len || !str_visible(s, len))
		*g = (struct glyph){unknown, 1, 1};
	else if (len > 1)
		g->width = width_of(character);
	return len ? len : 1;
}

/* ASCII replacements for the characters that the dashboard itself uses. */
static const struct {
	const char *text, *ascii;
} replacements[] = {
    {"…", "~"}, {"±", "+"}, {"·", "-"}, {"−", "-"}, {"×", "x"}, {"▲", "^"},
    {"▼", "v"}, {"◀", "<"}, {"▶", ">"}, {"│", "|"}, {"─", "-"}, {"█", "#"},
    {"░", "."}, {"└", "`"}, {"≈", "~"}, {"▓", "="}, {"▒", "-"},
};

static void to_ascii(struct glyph *g)
{
	for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++) {
		if (strlen(replacements[i].text) != g->len ||
		    memcmp(replacements[i].text, g->text, g->len) != 0)
			continue;
		g->text = replacements[i].ascii;
		g->len = 1;
		return;
	}
	*g = (struct glyph){"?", 1, g->width};
}

static void set(struct canvas_cell *cell, const char *text, size_t len, uint8_t style)
{
	*cell = (struct canvas_cell){.style = style};
	memcpy(cell->text, text, len);
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f;
}

unsigned canvas_put(struct canvas *c, unsigned x, unsigned y, uint8_t style, const char *text,
		    unsigned max)
{
	struct canvas_cell *line = y < c->height ? &c->cells[(size_t)y * c->pitch] : NULL;
	unsigned room = line && x < c->width ? clamp(max, c->width - x) : 0, used = 0;

	while (*text) {
		struct glyph g;

		if (is_plain(*text)) { /* the common case */
			if (used == room)
				break;
			set(&line[x + used++], text++, 1, style);
			continue;
		}
		text += next_glyph(text, &g);
		if (!g.width)
			continue;
		if (used + g.width > room)
			break;
		if (!c->is_utf8 && (uint8_t)*g.text >= 0x80)
			to_ascii(&g);
		set(&line[x + used], g.text, g.len, style);
		if (g.width == 2)
			set(&line[x + used + 1], "?", !c->is_utf8, style);
		used += g.width;
	}
	return used;
}

unsigned canvas_width(const char *text)
{
	unsigned width = 0;

	while (*text) {
		struct glyph g;

		if (is_plain(*text)) {
			text++;
			width++;
			continue;
		}
		text += next_glyph(text, &g);
		width += g.width;
	}
	return width;
}

void canvas_fill(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *character)
{
	for (unsigned i = 0; i < width && x + i < c->width; i++)
		canvas_put(c, x + i, y, style, character, 1);
}

void canvas_left(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *text)
{
	bool is_cut = canvas_width(text) > width;
	unsigned used = canvas_put(c, x, y, style, text, is_cut && width ? width - 1 : width);

	if (is_cut && width)
		used += canvas_put(c, x + used, y, style, "…", 1);
	canvas_fill(c, x + used, y, width - used, style, " ");
}

void canvas_right(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		  const char *text)
{
	unsigned need = canvas_width(text);

	if (need >= width) {
		canvas_left(c, x, y, width, style, text);
		return;
	}
	canvas_fill(c, x, y, width - need, style, " ");
	canvas_put(c, x + width - need, y, style, text, need);
}

void canvas_text(const struct canvas *c, struct buf *out)
{
	for (unsigned y = 0; y < c->height; y++) {
		const struct canvas_cell *cell = &c->cells[(size_t)y * c->pitch];
		size_t end = out->len;

		for (unsigned x = 0; x < c->width; x++, cell++) {
			buf_adds(out, cell->text);
			if (*cell->text != ' ')
				end = out->len;
		}
		if (!buf_error(out))
			out->len = end;
		buf_addc(out, '\n');
	}
}
