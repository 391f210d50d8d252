/*
 * An amount of the comparison in text: its means, its change, and how it is judged.
 */
#include "base/buf.h"
#include "estimate/unit.h"
#include "numbers.h"
#include "reports/diff.h"

#include <math.h>

enum { WAS, IS };

/* "+6.1 %" */
static void add_percent(struct buf *b, double part)
{
	buf_addc(b, part < 0 ? '-' : '+');
	buf_adds(b, DECIMAL(100 * fabs(part), 1));
}

void diff_amount_change(struct buf *b, const struct amount *a)
{
	if (!isfinite(a->relative))
		return;
	add_percent(b, a->relative);
	buf_adds(b, " %");
}

void diff_amount_interval(struct buf *b, const struct amount *a)
{
	double ends[2] = {a->relative - a->half, a->relative + a->half};

	if (!a->is_tested || !isfinite(a->relative) || !(a->mean[WAS] > 0))
		return;
	for (int i = 0; i < 2; i++)
		buf_printf(b, "%s%s%s", i ? ", " : "[", ends[i] < 0 ? "-" : "",
			   DECIMAL(100 * fabs(ends[i]), 1));
	buf_addc(b, ']');
}

const char *diff_amount_verdict(const struct amount *a)
{
	bool is_more = a->mean[IS] > a->mean[WAS];

	if (!a->is_significant)
		return "no significant change";
	if (a->is_primary)
		return is_more ? "slower" : "faster";
	return is_more ? "more" : "less";
}

bool diff_amount_is_of_queue(const struct amount *wall, const struct amount *cpu_time,
			     const struct amount *queue)
{
	const double change = wall->mean[IS] - wall->mean[WAS];
	const double used = fabs(cpu_time->mean[IS] - cpu_time->mean[WAS]);

	return wall->is_significant && (queue->mean[IS] - queue->mean[WAS]) / change >= 0.5 &&
	       used < fabs(change) / 4;
}

void diff_amount_p(struct buf *b, const struct amount *a)
{
	if (a->adjusted < 0.001)
		buf_adds(b, "< 0.001");
	else
		buf_adds(b, DECIMAL(a->adjusted, a->adjusted < 0.1 ? 3 : 2));
}

void diff_amount_put(struct grid *g, const struct amount *a, const char *unit, bool is_rate)
{
	struct unit shown = unit_shown(EVENT_COUNT, unit);
	BUF_AUTO(b, NUMBERS_BYTES);

	for (int side = WAS; side <= IS; side++) {
		buf_reset(&b);
		if (is_rate)
			screen_rate(&b, a->mean[side] / shown.divisor, &shown);
		else
			screen_human(&b, a->mean[side], unit);
		grid_text(g, buf_str(&b));
	}
	isfinite(a->relative) ? grid_change(g, a->relative, a->is_significant) : grid_none(g);
	buf_reset(&b);
	diff_amount_interval(&b, a);
	grid_text(g, buf_str(&b));
	grid_text(g, a->is_tested ? diff_amount_verdict(a) : "");
	buf_reset(&b);
	if (a->is_tested)
		diff_amount_p(&b, a);
	grid_text(g, buf_str(&b));
}

void diff_amounts_say_tested(const struct amount *list, size_t nr, const char *what, struct buf *b)
{
	size_t nr_tested = 0, nr_significant = 0;

	for (size_t i = 0; i < nr; i++) {
		nr_tested += list[i].is_tested;
		nr_significant += list[i].is_significant;
	}
	if (nr_tested)
		buf_printf(b,
			   "%zu of %zu numbers tested, %zu changed significantly (5 %% level, "
			   "corrected by Holm)\n",
			   nr_tested, nr, nr_significant);
	else
		buf_printf(b, "a test needs two %ss per side: nothing is significant\n", what);
}
