#include "session/pace.h"

#include "spec/spec.h"

#include <inttypes.h>
#include <stdio.h>

/* Once above may be chance, as of a program that maps many files; below needs more evidence, since
 * twice the rate may cost twice as much. */
enum { NR_ABOVE = 3, NR_BELOW = 8, FAR_BELOW = 3 };
/* Rows above the limit until half the rate is tried again, at first and at most. */
enum { FIRST_HOLD = 16, MAX_HOLD = 1 << 16 };

enum step { STAY, HALVE, TAKE_BACK, GIVE_BACK, AT_LIMIT };

static void begin_row(struct session_pace *p)
{
	p->nr_above = p->nr_below = 0;
	p->above = 0;
}

void pace_begin(struct session_pace *p, uint64_t used_ns, uint64_t now_ns)
{
	p->used_ns = used_ns;
	p->time_ns = now_ns;
	begin_row(p);
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
		return "nothing is sampled; a longer duration, longer paces (every) or fewer "
		       "events cost less";
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
static void note_change(const struct session_pace *p, enum step step, uint32_t iteration,
			uint32_t divisor, double percent, struct notes *notes)
{
	char rates[64] = "rates are those of the spec again", text[NOTES_TEXT_BYTES];

	if (divisor > 1)
		snprintf(rates, sizeof(rates), "rates are divided by %" PRIu32, divisor);
	snprintf(
	    text, sizeof(text),
	    "cpuperf uses %.3g %% of a CPU, %s max_own_cpu (%.9g %%)%s: from iteration %" PRIu32
	    " on, %s",
	    percent, step == GIVE_BACK ? "far below" : "above", (double)p->max / 1e9,
	    step == TAKE_BACK ? ", and half the rate saved less than a tenth" : "", iteration + 1,
	    rates);
	notes_add(notes, 0, "%s", text);
}

/* Where short or pushed iterations cost more than samples do, lower rates save nothing: if use fell
 * by less than a tenth, the rate is doubled again. Lower rates are tried anew when use changes, or
 * after a long time, as use may have grown just when the rate was halved. */
static enum step step_above(struct session_pace *p, const struct plan *plan, uint64_t mean)
{
	if (p->before && mean > p->before - p->before / 10) {
		p->before = 0;
		p->held = mean;
		p->nr_held = 0;
		p->hold = !p->hold ? FIRST_HOLD : p->hold < MAX_HOLD ? 2 * p->hold : p->hold;
		return TAKE_BACK;
	}
	if (p->held && ++p->nr_held < p->hold && mean < p->held + p->held / 2)
		return STAY;
	if (2 * plan->divisor > plan_max_divisor(plan))
		return AT_LIMIT;
	p->before = mean;
	p->held = 0;
	return HALVE;
}

/* *shown: what a note says is used. */
static enum step next_step(struct session_pace *p, const struct plan *plan, uint64_t own,
			   uint64_t *shown)
{
	enum step step = STAY;

	*shown = own;
	p->nr_calm = own <= p->max ? p->nr_calm + 1 : 0;
	if (p->nr_calm && p->before)
		p->before = p->hold = 0; /* it helped */
	if (p->nr_calm >= NR_BELOW)
		p->held = p->hold = 0; /* what comes is another load */
	p->nr_below = own < p->max / FAR_BELOW ? p->nr_below + 1 : 0;
	p->nr_above = own > p->max ? p->nr_above + 1 : 0;
	p->above = own > p->max ? p->above + own : 0;
	if (p->nr_above >= NR_ABOVE) {
		*shown = p->above / p->nr_above;
		step = step_above(p, plan, *shown);
		begin_row(p);
	} else if (p->nr_below >= NR_BELOW && plan->divisor > 1) {
		step = GIVE_BACK;
	}
	return step;
}

uint32_t pace_next(struct session_pace *p, const struct plan *plan, uint32_t iteration,
		   uint64_t used_ns, uint64_t now_ns, struct notes *notes)
{
	uint64_t own = share(used_ns - p->used_ns, now_ns - p->time_ns);
	uint64_t shown;
	enum step step = next_step(p, plan, own, &shown);
	double percent = (double)shown / 1e9;
	uint32_t divisor = plan->divisor;

	p->used_ns = used_ns;
	p->time_ns = now_ns;
	if (step == STAY)
		return divisor;
	if (step == AT_LIMIT) {
		note_limit(p, plan, percent, notes);
		return divisor;
	}
	divisor = step == HALVE ? 2 * divisor : divisor / 2;
	note_change(p, step, iteration, divisor, percent, notes);
	return divisor;
}
