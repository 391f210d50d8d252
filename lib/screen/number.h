/*
 * Numbers as text, independent of the locale and mostly without printf: the live table shows
 * thousands a second. Never writes NaN or infinity.
 */
#ifndef SCREEN_NUMBER_H
#define SCREEN_NUMBER_H

#include "estimate/cell.h"
#include "estimate/sampled.h"
#include "estimate/unit.h"

#include <stdbool.h>

struct buf;

/* "low", "high" or "". */
const char *screen_limit_name(enum cell_limit limit);
/* Decimal digits, with or without thousands commas. */
void screen_wide(struct buf *out, unsigned __int128 v, bool commas);
/* x rounded to at most 9 decimals, without commas. x is limited to 0 … 1e38; NaN is 0. */
void screen_decimal(struct buf *out, double x, unsigned decimals);
/* A real number for programs: sign, nine decimals. */
void screen_real(struct buf *out, double x);
/* A number of any magnitude, for programs: nine decimals; as text: four digits (three below 0.1)
 * and commas. Very small and very large numbers have an exponent: "2.345e-10". */
void screen_metric(struct buf *out, double x);
void screen_metric_text(struct buf *out, double x);
/* screen_metric_text with its unit: a symbol with a prefix as of screen_human, or a unit of up to
 * five columns ("MiB/s") without. */
void screen_metric_human(struct buf *out, double x, const char *unit);
/* The number of a cell that has one, for programs: an exact integer, a share with four decimals, or
 * a real number. */
void screen_number(struct buf *out, enum event_kind kind, const struct cell *c);
/* The same as text: commas, "12.3%", a real number with three decimals, a metric as above. */
void screen_number_text(struct buf *out, enum event_kind kind, const struct cell *c);
/* n / d with four decimals, exact but for the last; d > 0. */
void screen_quotient(struct buf *out, unsigned __int128 n, uint64_t d);
/* A unit that is printed behind a number: "ns", "B", "%", not "switches". */
bool screen_is_symbol(const char *unit);
/* Four significant digits, a prefix and the unit: "12,345 B", "1.235 GB", "20.50 ms", "12.3 %". A
 * unit that is a word ("switches") is omitted. */
void screen_human(struct buf *out, double x, const char *unit);
/* A number over time as text: "4.100 MB/s", "12.3 %", "23.42 GB". */
void screen_rate(struct buf *out, double x, const struct unit *u);
/* A running share as whole percent, rounded down, or "<1%". */
void screen_running(struct buf *out, double share);
/* A cell as text: the number with its running share, state and limit ("1,234 (62%, offline)",
 * "0.312 (low)"), or the state; nothing for CELL_NONE. */
void screen_cell(struct buf *out, enum event_kind kind, const struct cell *c);
/* The same for numbers of /proc and sysfs, as screen_rate writes them. */
void screen_cell_human(struct buf *out, enum event_kind kind, const char *unit,
		       const struct cell *c);
/* Coverage from 0 to 1 with four decimals, rounded down; false: unknown, nothing appended. */
bool screen_coverage(struct buf *out, const struct sampled *s);
/* A signed number; for people with a plus and commas. */
void screen_signed(struct buf *out, int64_t v, bool for_people);
/* Which of nr equal steps from 0 to max x is in, from 0. */
unsigned screen_step(double x, double max, unsigned nr);
/* The width of s on a terminal: one column for each code point. */
unsigned screen_width(const char *s);
/* How many lines of a terminal with so many columns (> 0) the text takes. */
unsigned screen_rows(const char *text, unsigned columns);
/* Of a line wider than that, cuts what stands in parentheses at its end, from the byte start of *b
 * on. */
void screen_shorten(struct buf *b, size_t start, unsigned columns);
/* Cuts what stands from the byte start of *b on so that it has at most so many columns, the last of
 * them "…". */
void screen_cut(struct buf *b, size_t start, unsigned columns);
/* The columns at which sentences are broken: those of the terminal, or where there is none (0), as
 * in a pipe, what the variable CPUPERF_COLUMNS says, or those of a usual line. */
unsigned screen_columns(unsigned terminal);
/* Appends a line without its newline, broken between words where it is wider than that; what
 * follows is indented by two more than the line. */
void screen_wrap(struct buf *b, const char *line, size_t len, unsigned columns);
/* Likewise each line of the text from the byte start on. Without memory the text is as it was, or
 * *b has the error. */
void screen_wrap_lines(struct buf *b, size_t start, unsigned columns);

#endif
