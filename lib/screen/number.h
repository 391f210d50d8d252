/*
 * Numbers as text, whatever the locale and mostly without printf: the live table shows thousands
 * of them a second. Knows nothing of tables; never writes NaN or infinity.
 */
#ifndef SCREEN_NUMBER_H
#define SCREEN_NUMBER_H

#include "metric/cell.h"
#include "metric/sampled.h"

#include <stdbool.h>

struct buf;

/* "low", "high" or "": where a metric is, by the limits of its spec. */
const char *screen_limit_name(enum cell_limit limit);
/* Decimal digits, with or without thousands commas. */
void screen_wide(struct buf *out, unsigned __int128 v, bool commas);
/* x rounded to so many decimals (at most 9), without commas. What is not a number from 0 up to
 * 1e38 is written as the nearest of the two; NaN as 0. */
void screen_decimal(struct buf *out, double x, unsigned decimals);
/* A real number for machines: sign, nine decimals. */
void screen_real(struct buf *out, double x);
/* A number whose size is not known beforehand, for machines and for people: nine decimals; four
 * digits, or three below 0.1, and commas. What is too small or too large for that has an exponent:
 * "2.345e-10". */
void screen_metric(struct buf *out, double x);
void screen_metric_text(struct buf *out, double x);
/* For people with its unit: a symbol as of screen_human, or up to five columns ("MiB/s") without a
 * prefix. */
void screen_metric_human(struct buf *out, double x, const char *unit);
/* A cell's number for machines: an exact integer, a share with four decimals, or a real number. The
 * cell has a value. */
void screen_number(struct buf *out, enum event_kind kind, const struct cell *c);
/* The same for people: commas, "12.3%", a real number with three decimals, a metric as above. */
void screen_number_text(struct buf *out, enum event_kind kind, const struct cell *c);
/* n / d with four decimals, exact but for the last; d > 0. */
void screen_quotient(struct buf *out, unsigned __int128 n, uint64_t d);
/* Four significant digits, a prefix and the unit: "12,345 B", "1.235 GB", "20.50 ms", "12.3 %". A
 * unit that is a word ("switches") is not a symbol and is left out. */
void screen_human(struct buf *out, double x, const char *unit);
/* Percent of a running share: whole, rounded down, "<1%" below 1; never 100% unless it is all. */
void screen_running(struct buf *out, double share);
/* A cell of a text table: the number and what must be known of it ("1,234 (62%, offline)", "0.312
 * (low)"), or the state in words; nothing for CELL_NONE. */
void screen_cell(struct buf *out, enum event_kind kind, const struct cell *c);
/* The same of what is read from /proc and sysfs, with its unit: counts per second ("4.100 MB/s"),
 * times as a share of the time ("12.3 %"), values as they are ("23.42 GB"). */
void screen_cell_human(struct buf *out, enum event_kind kind, const char *unit,
		       const struct cell *c);
/* The part of the samples that came, from 0 to 1 with four decimals, rounded down; false: nothing
 * is claimed, nothing added. */
bool screen_coverage(struct buf *out, const struct sampled *s);
/* With a sign, also a plus for people, who also get commas. */
void screen_signed(struct buf *out, int64_t v, bool for_people);
/* Columns that s takes on a terminal, one for each code point. */
unsigned screen_width(const char *s);

#endif
