#include "session/pace.h"

#include "spec/spec.h"

#include <inttypes.h>
#include <stdio.h>

/* Once above may be chance, as of a program that maps many files; below needs more evidence, since
 * twice the rate may cost twice as much. */
enum { NR_ABOVE = 3, NR_BELOW = 8, FAR_BELOW = 3 };

void pace_begin(struct session_pace *p, uint64_t used_ns, uint64_t now_ns)
{
	p->used_ns = used_ns;
	p->time_ns = now_ns;
	p->nr_above = p->nr_below = 0;
}

/* In 1e-9 percent. */
static uint64_t share(uint64_t used_ns, uint64_t span_ns)
{
	const unsigned __int128 all = (unsigned __int128)used_ns * 100 * 1000000000;

	return span_ns ? (uint64_t)(all / span_ns) : 0;
}

static const char *why_not(const struct plan *plan)
{
	if (!plan->is_sampling)
		return "nothing is sampled, and a longer duration or fewer events cost less";
	if (!plan_can_divide(plan))
		return "rates stay as they are, since the events of tasks that run cannot be "
		       "opened anew without a loss";
	return "rates are as low as they can be";
}

static void note_limit(struct session_pace *p, const struct plan *plan, double percent,
		       struct notes *notes)
{
	if (!p->has_noted_limit)
		notes_add(notes, 0,
			  "cpuperf uses %.3g %% of a CPU, above max_own_cpu (%.9g %%): %s", percent,
			  (double)p->max / 1e9, why_not(plan));
	p->has_noted_limit = true;
}

/* Each change is passed on: "%s" is never too often. */
static void note_change(const struct session_pace *p, const struct plan *plan, uint32_t iteration,
			uint32_t divisor, double percent, struct notes *notes)
{
	bool is_less = divisor > plan->divisor;
	char rates[64] = "rates are those of the spec again", text[NOTES_TEXT_BYTES];

	if (divisor > 1)
		snprintf(rates, sizeof(rates), "rates are divided by %" PRIu32, divisor);
	snprintf(text, sizeof(text),
		 "cpuperf uses %.3g %% of a CPU, %s max_own_cpu (%.9g %%): from iteration %" PRIu32
		 " on, %s",
		 percent, is_less ? "above" : "far below", (double)p->max / 1e9, iteration + 1,
		 rates);
	notes_add(notes, 0, "%s", text);
}

uint32_t pace_next(struct session_pace *p, const struct plan *plan, uint32_t iteration,
		   uint64_t used_ns, uint64_t now_ns, struct notes *notes)
{
	uint64_t own = share(used_ns - p->used_ns, now_ns - p->time_ns);
	double percent = (double)own / 1e9;
	uint32_t divisor = plan->divisor;

	p->used_ns = used_ns;
	p->time_ns = now_ns;
	p->nr_above = own > p->max ? p->nr_above + 1 : 0;
	p->nr_below = own < p->max / FAR_BELOW ? p->nr_below + 1 : 0;
	if (p->nr_above >= NR_ABOVE && 2 * divisor <= plan_max_divisor(plan))
		divisor *= 2;
	else if (p->nr_above >= NR_ABOVE)
		note_limit(p, plan, percent, notes);
	else if (p->nr_below >= NR_BELOW && divisor > 1)
		divisor /= 2;
	if (divisor != plan->divisor)
		note_change(p, plan, iteration, divisor, percent, notes);
	return divisor;
}
