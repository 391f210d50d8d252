/*
 * Two sets of readings: each look replaces the older one.
 */
#include "session/looks.h"

#include "base/mem.h"

#include <errno.h>

int looks_init(struct looks *l, struct counters *c, uint64_t period_ns)
{
	*l = (struct looks){.counters = c, .period_ns = period_ns, .due_ns = UINT64_MAX};
	l->it.iteration = UINT32_MAX - 1; /* the first reading is none, the first look is 0 */
	session_things_init(&l->things[0]);
	session_things_init(&l->things[1]);
	if (!period_ns)
		return 0;
	l->readings = mem_calloc(2 * (size_t)c->nr_cpus * c->plan->nr_parts, sizeof(*l->readings));
	l->traces = mem_calloc(c->nr_cpus, sizeof(*l->traces));
	return l->readings && l->traces ? 0 : -ENOMEM;
}

void looks_fini(struct looks *l)
{
	session_things_fini(&l->things[0]);
	session_things_fini(&l->things[1]);
	mem_free(l->histograms.item);
	mem_free(l->readings);
	mem_free(l->traces);
}

static struct reading *readings_of(const struct looks *l, uint32_t t, unsigned set)
{
	return &l->readings[(2 * (size_t)t + set) * l->counters->plan->nr_parts];
}

void looks_read(struct looks *l)
{
	const struct source_uses *uses = &l->counters->uses;
	unsigned now = !l->last;

	source_uses_read_values(uses, NULL);
	/* without memory there are no things */
	(void)session_things_read(&l->things[now], uses, l->it.end_ns, NULL);
	l->it.iteration++;
	l->it.start_ns = l->it.end_ns;
	l->it.end_ns = clock_monotonic_ns();
	clock_triple_now(&l->it.clocks);
	l->due_ns = l->it.end_ns + l->period_ns;
	source_uses_look(uses);
	for (uint32_t t = 0; t < l->counters->nr_cpus; t++) {
		const struct session_cpu *c = &l->counters->cpus[t];

		session_cpu_peek(c, readings_of(l, t, now));
		session_cpu_mark_disabled(c, readings_of(l, t, l->last), readings_of(l, t, now));
		if (c->cpu != PLAN_ANY_CPU)
			(void)counters_get_values(l->counters, t, c->cpu, readings_of(l, t, now));
		l->traces[t] = (struct session_trace){.cpu = c->cpu,
						      .start = readings_of(l, t, l->last),
						      .end = readings_of(l, t, now)};
	}
	source_uses_histograms(uses, true, &l->histograms);
	l->it.histograms = l->histograms.item;
	l->it.nr_histograms = l->histograms.nr;
	l->it.things_start = &l->things[l->last];
	l->it.things_end = &l->things[now];
	l->it.traces = l->traces;
	l->it.nr_traces = l->counters->nr_cpus;
	l->last = now;
}

const struct session_iteration *looks_last(const struct looks *l)
{
	return &l->it;
}
