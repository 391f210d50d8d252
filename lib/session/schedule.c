/*
 * Gaps and captures.
 */
#include "session/schedule.h"

#include "base/clock.h"

int schedule_open(struct schedule *s, const struct plan *plan, const struct pmu_ops *pmu)
{
	*s = (struct schedule){.plan = plan};
	for (size_t i = 0; i < plan->nr_windows; i++)
		if (plan->windows[i].clock == SPEC_PROCESS_CPUTIME)
			return cputime_open(&s->cputime, plan, pmu);
	return 0;
}

void schedule_close(struct schedule *s)
{
	cputime_close(&s->cputime);
}

static uint64_t now_on(struct schedule *s, enum spec_clock clock)
{
	return clock == SPEC_PROCESS_CPUTIME ? cputime_ns(&s->cputime) : clock_monotonic_ns();
}

static const struct spec_window *window_of(const struct schedule *s)
{
	return &s->plan->windows[s->window];
}

void schedule_begin(struct schedule *s, uint64_t now_ns)
{
	s->window = s->cycle = 0;
	s->base_ns = window_of(s)->clock == SPEC_REALTIME ? now_ns : cputime_ns(&s->cputime);
}

struct deadline schedule_gap_end(const struct schedule *s)
{
	const struct spec_window *w = window_of(s);

	return (struct deadline){w->clock, s->base_ns + w->delay_ns};
}

/* A session that was delayed by more than the capture (a stopped process, a suspended machine)
 * moves the grid: there are as many captures as the window has cycles. */
struct deadline schedule_capture(struct schedule *s)
{
	const struct spec_window *w = window_of(s);
	uint64_t due_ns = s->base_ns + w->delay_ns;

	s->capture_ns = now_on(s, w->clock);
	s->capture = (struct trace_window){
	    .window = (uint32_t)s->window, .clock = w->clock, .cycle = s->cycle};
	if (s->capture_ns > due_ns)
		s->capture.start_late_ns = s->capture_ns - due_ns;
	if (s->capture.start_late_ns >= w->capture_ns)
		s->base_ns += s->capture.start_late_ns;
	return (struct deadline){w->clock, s->base_ns + w->delay_ns + w->capture_ns};
}

void schedule_end_capture(struct schedule *s, const struct deadline *end)
{
	const struct spec_window *w = window_of(s);
	uint64_t now_ns = now_on(s, end->clock);

	s->capture.clock_ns = now_ns - s->capture_ns;
	s->capture.end_late_ns = now_ns > end->at_ns ? now_ns - end->at_ns : 0;
	s->base_ns = end->at_ns;
	if (++s->cycle < w->cycles)
		return;
	s->cycle = 0;
	s->window++;
	if (s->window < s->plan->nr_windows && window_of(s)->clock != w->clock)
		s->base_ns = now_on(s, window_of(s)->clock);
}

/* The tasks may use the CPU time that is left on all CPUs at once. */
uint64_t schedule_left_ns(struct schedule *s, const struct deadline *d)
{
	enum { MIN_SLEEP_NS = 1000000 };
	uint64_t now_ns = now_on(s, d->clock), left_ns;

	if (now_ns >= d->at_ns)
		return 0;
	left_ns = d->at_ns - now_ns;
	if (d->clock == SPEC_PROCESS_CPUTIME)
		left_ns /= (uint64_t)cpuset_count(&s->plan->host->online);
	return left_ns > MIN_SLEEP_NS || d->clock == SPEC_REALTIME ? left_ns : MIN_SLEEP_NS;
}
