#include "report/counters.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/filter.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "profile/samples.h"
#include "profile/session.h"

#include <errno.h>

static int read_kernel_changes(struct report_counters *all)
{
	size_t nr = profile_nr_ksymbols(all->input->processes);

	all->kernel_changes = mem_calloc(2 * nr + 1, sizeof(*all->kernel_changes));
	if (!all->kernel_changes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct profile_ksymbol *k = profile_ksymbol(all->input->processes, i);

		all->kernel_changes[all->nr_kernel_changes++] = k->from_ns;
		all->kernel_changes[all->nr_kernel_changes++] = k->to_ns;
	}
	order_sort(all->kernel_changes, all->nr_kernel_changes, sizeof(*all->kernel_changes),
		   order_numbers);
	return 0;
}

static bool is_maximum(const struct trace_event *e)
{
	struct trace_layout l;

	return e->attr_bytes && trace_layout_init(&l, e->attr, e->attr_bytes) && l.is_maximum;
}

static bool is_wanted(const struct report_run *run, const struct trace_event *e)
{
	return profile_filter_has_event(run->filter, e) &&
	       (run->sink->takes_maxima || !is_maximum(e));
}

/* Values of several iterations do not add up, unless each is shown. */
static bool is_of_last(const struct report_run *run, const struct trace_event *e)
{
	const unsigned divides = REPORT_BY_ITERATION | REPORT_BY_SLICE;

	return e->kind == EVENT_VALUE && !is_maximum(e) && !(run->sink->parts & divides) &&
	       !run->sink->samples;
}

static uint32_t find_last(const struct report_run *run, struct profile_session *session)
{
	uint32_t last = 0;

	for (size_t i = 0; i < profile_session_nr_files(session); i++) {
		uint32_t iteration = profile_session_file(session, i).iteration;

		if (iteration > last && profile_ranges_has(&run->filter->iterations, iteration))
			last = iteration;
	}
	return last;
}

static bool is_wait(const struct trace_event *e)
{
	struct trace_layout l;

	return e->attr_bytes && trace_layout_init(&l, e->attr, e->attr_bytes) && l.is_wait;
}

/* Programs in the kernel cut waits to iterations and their gaps, but not to what a flight recorder
 * held, or to times of a report. */
static int read_spans(struct report_counters *all)
{
	const struct report_input *in = all->input;
	const struct profile_filter *filter = all->run->filter;
	const struct profile_facts *f = profile_session_facts(in->session);
	struct profile_spans own = {.item = NULL};
	int rc;

	if (!ARRAY_ANY(e, f->events, f->nr_events, is_wait(e)))
		return 0;
	rc = profile_spans_read(&own, in->session)
		 ?: profile_spans_select(&own, filter, in->start_ns, &all->spans);
	profile_spans_fini(&own);
	return rc;
}

static bool is_clock(const struct trace_event *e)
{
	return sampled_event(e->group, e->name, e->rate, e->frequency, e->flags).is_clock;
}

int report_counters_init(struct report_counters *all, const struct report_run *run,
			 const struct report_input *input)
{
	const struct profile_facts *f = profile_session_facts(input->session);

	*all = (struct report_counters){
	    .run = run, .input = input, .last_iteration = find_last(run, input->session)};
	pthread_mutex_init(&all->lock, NULL);
	all->of_event = mem_calloc(f->nr_events + 1, sizeof(*all->of_event));
	if (!all->of_event)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->nr_events; i++) {
		struct report_counted *to = &all->of_event[i];

		*to = (struct report_counted){is_wanted(run, &f->events[i]), i, REPORT_NO_STATE,
					      is_of_last(run, &f->events[i]),
					      is_clock(&f->events[i])};
		if (!run->sum && !(run->sink->parts & REPORT_BY_FUTEX))
			continue;
		to->event = report_states_event(f, run->filter, i, run->sum);
		to->state = report_states_of(f, run->filter, i);
	}
	all->within_region = profile_regions_within(input->processes, &run->filter->regions);
	if (run->filter->regions.nr && !all->within_region)
		return -ENOMEM;
	return profile_choice_make(&all->choice, run->filter, input->processes)
		   ?: read_kernel_changes(all) ?: read_spans(all);
}

void report_counters_fini(struct report_counters *all)
{
	pthread_mutex_destroy(&all->lock);
	profile_choice_fini(&all->choice);
	profile_spans_fini(&all->spans);
	mem_free(all->of_event);
	mem_free(all->within_region);
	mem_free(all->kernel_changes);
}
