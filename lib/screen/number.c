/*
 * Numbers as text.
 */
#include "screen/number.h"

#include "base/buf.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void screen_wide(struct buf *out, unsigned __int128 v, bool commas)
{
	char text[52]; /* 39 digits, 12 commas */
	size_t at = sizeof(text), digits = 0;

	do {
		if (commas && digits && digits % 3 == 0)
			text[--at] = ',';
		text[--at] = (char)('0' + (unsigned)(v % 10));
		digits++;
	} while (v /= 10);
	buf_add(out, text + at, sizeof(text) - at);
}

/* n in that many digits, with leading zeros. */
static void digits(struct buf *out, uint64_t n, unsigned width)
{
	char text[20];

	for (unsigned i = width; i > 0; i--, n /= 10)
		text[i - 1] = (char)('0' + n % 10);
	buf_add(out, text, width);
}

void screen_decimal(struct buf *out, double x, unsigned decimals)
{
	uint64_t scale = 1, fraction;
	unsigned __int128 whole;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	x = x > 0 ? fmin(x, 1e38) : 0; /* NaN becomes 0 */
	whole = (unsigned __int128)x;
	fraction = (uint64_t)((x - (double)whole) * (double)scale + 0.5);
	if (fraction >= scale) {
		fraction -= scale;
		whole++;
	}
	screen_wide(out, whole, false);
	if (!decimals)
		return;
	buf_addc(out, '.');
	digits(out, fraction, decimals);
}

static void sign(struct buf *out, double *x)
{
	if (*x < 0) {
		buf_addc(out, '-');
		*x = -*x;
	}
}

void screen_real(struct buf *out, double x)
{
	sign(out, &x);
	screen_decimal(out, x, 9);
}

/* x > 0 as "1.235e9". */
static void scientific(struct buf *out, double x, unsigned decimals)
{
	double half = 0.5; /* of the last digit: what would round to 10 becomes 1 */
	int exponent = 0;

	for (unsigned i = 0; i < decimals; i++)
		half /= 10;
	while (x < 1 - half / 10) {
		x *= 10;
		exponent--;
	}
	while (x >= 10 - half) {
		x /= 10;
		exponent++;
	}
	screen_decimal(out, x, decimals);
	buf_addc(out, 'e');
	screen_signed(out, exponent, false);
}

enum { MAX_DECIMALS = 9 };

/* Writes the sign and limits x to what can be written: a deviation may be infinite. */
static void limit(struct buf *out, double *x)
{
	sign(out, x);
	*x = *x > 0 ? fmin(*x, DBL_MAX) : 0; /* NaN becomes 0 */
}

void screen_metric(struct buf *out, double x)
{
	limit(out, &x);
	if (x > 0 && (x < 1e-3 || x >= 1e15))
		scientific(out, x, MAX_DECIMALS);
	else
		screen_decimal(out, x, MAX_DECIMALS);
}

/* Decimals that show three significant digits below 0.1 and four above. */
static unsigned metric_decimals(double x)
{
	unsigned decimals = x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0;

	while (x > 0 && x < 0.09995 && decimals < MAX_DECIMALS) {
		x *= 10;
		decimals++;
	}
	return decimals;
}

void screen_metric_text(struct buf *out, double x)
{
	unsigned decimals;

	limit(out, &x);
	decimals = metric_decimals(x);
	if (x > 0 && (x < 1e-6 || x >= 1e15))
		scientific(out, x, 3);
	else if (decimals)
		screen_decimal(out, x, decimals);
	else
		screen_wide(out, (unsigned __int128)(x + 0.5), true);
}

void screen_number(struct buf *out, enum event_kind kind, const struct cell *c)
{
	if (kind == EVENT_SHARE)
		screen_decimal(out, c->value, 4);
	else if (c->is_metric)
		screen_metric(out, c->value);
	else if (c->is_real)
		screen_real(out, c->value);
	else
		buf_u64(out, c->count);
}

void screen_number_text(struct buf *out, enum event_kind kind, const struct cell *c)
{
	double x = c->value;

	if (kind == EVENT_SHARE) {
		screen_decimal(out, x, 1);
		buf_addc(out, '%');
	} else if (c->is_metric) {
		screen_metric_text(out, x);
	} else if (c->is_real) {
		sign(out, &x);
		screen_decimal(out, x, 3);
	} else {
		buf_u64_commas(out, c->count);
	}
}

void screen_quotient(struct buf *out, unsigned __int128 n, uint64_t d)
{
	screen_wide(out, n / d, false);
	buf_addc(out, '.');
	digits(out, (uint64_t)(n % d * 10000 / d), 4);
}

bool screen_coverage(struct buf *out, const struct sampled *s)
{
	bool is_claimed = sampled_coverage(s) >= 0;

	if (is_claimed)
		screen_quotient(out, s->received < s->expected ? s->received : s->expected,
				s->expected);
	return is_claimed;
}

enum { MAX_SYMBOL_WIDTH = 2, MAX_UNIT_WIDTH = 5 };

struct step {
	double factor;
	const char *name;
};
static const struct step prefixes[] = {
    {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
static const struct step times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

static const struct step *step_of(const struct step *steps, size_t nr, double x)
{
	for (size_t i = 0; i < nr; i++)
		if (x >= steps[i].factor * 0.99995) /* includes what rounds up to it */
			return &steps[i];
	return &steps[nr - 1];
}

/* Four significant digits. */
static void significant(struct buf *out, double x)
{
	screen_decimal(out, x, x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0);
}

/* Small integers without decimals. */
static void small(struct buf *out, double x)
{
	if (x < 99.95 && x != floor(x))
		screen_decimal(out, x, 1);
	else
		screen_wide(out, (unsigned __int128)(x + 0.5), true);
}

bool screen_is_symbol(const char *unit)
{
	return *unit && screen_width(unit) <= MAX_SYMBOL_WIDTH;
}

void screen_human(struct buf *out, double x, const char *unit)
{
	bool is_time = strcmp(unit, "ns") == 0;
	const struct step *step = NULL;

	if (!screen_is_symbol(unit))
		unit = "";
	sign(out, &x);
	if (!(x > 0)) /* or NaN */
		x = 0;
	if (strcmp(unit, "%") == 0) {
		screen_decimal(out, x, 1);
	} else if (x < (is_time ? 1e3 : 1e5)) {
		small(out, x);
	} else {
		step = is_time ? step_of(times, sizeof(times) / sizeof(times[0]), x)
			       : step_of(prefixes, sizeof(prefixes) / sizeof(prefixes[0]), x);
		significant(out, x / step->factor);
	}
	if (step || *unit)
		buf_addc(out, ' ');
	if (step)
		buf_adds(out, step->name);
	if (!step || !is_time)
		buf_adds(out, unit);
}

void screen_metric_human(struct buf *out, double x, const char *unit)
{
	unsigned width = screen_width(unit);

	if (width <= MAX_SYMBOL_WIDTH && fabs(x) >= 1e5 && fabs(x) < 1e18) { /* with a prefix */
		screen_human(out, x, unit);
		return;
	}
	screen_metric_text(out, x);
	if (!width || width > MAX_UNIT_WIDTH)
		return;
	buf_addc(out, ' ');
	buf_adds(out, unit);
}

void screen_running(struct buf *out, double share)
{
	unsigned percent = share >= 1 ? 100 : share > 0 ? (unsigned)(share * 100) : 0;

	if (!percent)
		buf_addc(out, '<');
	buf_u64(out, percent ? percent : 1);
	buf_addc(out, '%');
}

const char *screen_limit_name(enum cell_limit limit)
{
	return limit == CELL_LOW ? "low" : limit == CELL_HIGH ? "high" : "";
}

static void mark(struct buf *out, const char *text, bool *has_marks)
{
	buf_adds(out, *has_marks ? ", " : " (");
	buf_adds(out, text);
	*has_marks = true;
}

/* Appends " (62%, partial: 3 of 4, low)" or nothing. */
static void marks(struct buf *out, const struct cell *c)
{
	double share = cell_running_share(c);
	char state[CELL_STATE_BYTES];
	bool has_marks = false;

	if (share < 1) {
		mark(out, "", &has_marks);
		screen_running(out, share);
	}
	if (cell_is_partial(c))
		mark(out, cell_state_text(c, state), &has_marks);
	if (c->limit)
		mark(out, screen_limit_name(c->limit), &has_marks);
	buf_adds(out, has_marks ? ")" : "");
}

void screen_cell(struct buf *out, enum event_kind kind, const struct cell *c)
{
	if (!cell_has_value(c)) {
		buf_adds(out, cell_state_name(c->state));
		return;
	}
	screen_number_text(out, kind, c);
	marks(out, c);
}

void screen_rate(struct buf *out, double x, const struct unit *u)
{
	screen_human(out, x, u->name);
	buf_adds(out, u->per);
}

void screen_cell_human(struct buf *out, enum event_kind kind, const char *unit,
		       const struct cell *c)
{
	struct unit u = unit_shown(kind, unit);
	double x;

	if (kind == EVENT_SHARE || !unit_number(kind, unit, c, &x)) {
		screen_cell(out, kind, c);
		return;
	}
	screen_rate(out, x, &u);
	marks(out, c);
}

unsigned screen_step(double x, double max, unsigned nr)
{
	double step = max > 0 && x > 0 ? x / max * nr : 0; /* NaN: both ends are infinite */

	return step < nr ? (unsigned)step : nr - 1;
}

unsigned screen_width(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

unsigned screen_columns(unsigned terminal)
{
	enum { USUAL = 120, MIN = 20, MAX = 1 << 20 };
	const char *text = secure_getenv("CPUPERF_COLUMNS");
	uint64_t n;

	if (terminal)
		return terminal;
	if (!text || str_scan_u64(&text, text + strlen(text), &n) || *text || n < MIN || n > MAX)
		return USUAL;
	return (unsigned)n;
}

unsigned screen_rows(const char *text, unsigned columns)
{
	unsigned rows = 0, width = 0;

	for (; *text; text++) {
		if (*text == '\n') {
			rows += width ? (width + columns - 1) / columns : 1;
			width = 0;
		} else {
			width += ((unsigned char)*text & 0xc0) != 0x80;
		}
	}
	return rows + (width + columns - 1) / columns;
}

void screen_shorten(struct buf *b, size_t start, unsigned columns)
{
	size_t at = b->len;
	int depth = 0;

	if (buf_error(b) || at <= start || b->data[at - 1] != ')' ||
	    screen_width(b->data + start) <= columns)
		return;
	do {
		at--;
		depth += (b->data[at] == ')') - (b->data[at] == '(');
	} while (depth && at > start);
	if (at > start && b->data[at - 1] == ' ')
		buf_cut(b, at - 1);
}

void screen_cut(struct buf *b, size_t start, unsigned columns)
{
	size_t at = start;

	if (buf_error(b) || screen_width(buf_str(b) + start) <= columns)
		return;
	/* one column is for what says that it is cut */
	for (unsigned width = 1; width < columns; width++) {
		do
			at++;
		while (((unsigned char)b->data[at] & 0xc0) == 0x80);
	}
	buf_cut(b, at);
	if (columns)
		buf_adds(b, "…");
}

static unsigned width_of(const char *s, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

void screen_wrap(struct buf *b, const char *line, size_t len, unsigned columns)
{
	const size_t indent = strspn(line, " ") < len ? strspn(line, " ") : len;
	unsigned width = 0;

	for (size_t at = 0, next; at < len; at = next) { /* a word, and the space before it */
		size_t space = strspn(line + at, " ");
		const char *end;
		unsigned more;

		space = space < len - at ? space : len - at;
		end = memchr(line + at + space, ' ', len - at - space);
		next = end ? (size_t)(end - line) : len;
		more = width_of(line + at, next - at);
		if (at && width + more > columns) {
			buf_printf(b, "\n%*s", (int)indent + 2, "");
			at += space;
			width = (unsigned)indent + 2;
			more -= (unsigned)space;
		}
		buf_add(b, line + at, next - at);
		width += more;
	}
}

void screen_wrap_lines(struct buf *b, size_t start, unsigned columns)
{
	BUF_AUTO(text, b->max_bytes);
	const char *line, *next;

	if (buf_error(b) || start == b->len)
		return;
	buf_adds(&text, b->data + start);
	if (buf_error(&text))
		return;
	buf_cut(b, start);
	for (line = buf_str(&text); *line; line = *next ? next + 1 : next) {
		next = line + strcspn(line, "\n");
		screen_wrap(b, line, (size_t)(next - line), columns);
		if (*next)
			buf_addc(b, '\n');
	}
}

void screen_signed(struct buf *out, int64_t v, bool for_people)
{
	if (v < 0 || (v && for_people))
		buf_addc(out, v < 0 ? '-' : '+');
	screen_wide(out, v < 0 ? -(unsigned __int128)v : (unsigned __int128)v, for_people);
}
