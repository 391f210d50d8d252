/*
 * Reads events at the timebase's pace.
 */
#include "session/paced.h"

#include "base/mem.h"
#include "session/counters.h"
#include "session/notes.h"
#include "session/sampler.h"

#include <errno.h>

static bool is_clock_paced(const struct plan_event *timebase)
{
	return timebase->asked->frequency || event_is_clock(&timebase->event);
}

/* True for a clock, whose period is a time. Another timebase's pace is seen in the ring of the
 * first CPU that has one: CPUs may be offline, or of another type than the timebase's PMU. */
static bool is_ahead(struct paced *p)
{
	uint64_t head = p->ring_head;

	if (is_clock_paced(p->counters->plan->timebase))
		return true;
	for (uint32_t t = 0; t < p->counters->nr_cpus; t++)
		if (p->samplers[t].ring.base) {
			head = pmu_ring_head(&p->samplers[t].ring);
			break;
		}
	if (head == p->ring_head)
		return false;
	p->ring_head = head;
	return true;
}

static void tick_cpu(struct paced *p, const struct session_cpu *c)
{
	size_t nr = 0;

	session_cpu_read_alone(c, p->scratch);
	misc_get(&p->counters->misc, c->trace, c->cpu, p->scratch);
	for (size_t k = 0; k < p->counters->plan->nr_parts; k++)
		if (p->scratch[k].state == READING_OK)
			p->picked[nr++] = p->scratch[k];
	ticks_add(&p->ticks, c->trace, p->picked, nr);
}

/* A thing that has ended is in one tick. Returns the number of readings that are left. */
static size_t drop_ended(struct paced *p)
{
	size_t nr = 0;

	for (size_t k = 0; k < p->things.nr_readings; k++) {
		const struct reading *r = &p->things.readings[k];

		if (!(r->flags & READING_ENDED) || r->time_ns > p->ticked_ns)
			p->things.readings[nr++] = *r;
	}
	return nr;
}

static void tick_things(struct paced *p)
{
	if (!collect_nr_sets(p->counters->misc.collect))
		return;
	if (session_things_read(&p->things, &p->counters->misc, p->boundary_ns)) {
		ticks_drop(&p->ticks);
		return;
	}
	ticks_add_names(&p->ticks, &p->things);
	ticks_add(&p->ticks, 0, p->things.readings, drop_ended(p));
	p->ticked_ns = clock_monotonic_ns();
}

static bool tick(void *arg)
{
	struct paced *p = arg;

	if (!is_ahead(p))
		return false;
	collect_read(p->counters->misc.collect);
	for (uint32_t t = 0; t < p->counters->nr_cpus; t++)
		tick_cpu(p, &p->counters->cpus[t]);
	tick_things(p);
	return true;
}

int paced_init(struct paced *p, const struct counters *counters, const struct sampler *samplers)
{
	const struct plan *plan = counters->plan;
	int rc;

	*p = (struct paced){.counters = counters, .samplers = samplers};
	rc = pacer_init(&p->pacer, plan_pace_ns(plan), tick, p);
	if (rc)
		return rc;
	session_things_init(&p->things);
	p->scratch = mem_calloc(plan->nr_parts, sizeof(*p->scratch));
	p->picked = mem_calloc(plan->nr_parts, sizeof(*p->picked));
	rc = p->scratch && p->picked ? 0 : -ENOMEM;
	if (rc == 0) /* a set has an event at least */
		rc = ticks_init(&p->ticks, counters->nr_cpus, (uint32_t)plan->nr_events);
	if (rc)
		paced_fini(p);
	return rc;
}

void paced_fini(struct paced *p)
{
	pacer_fini(&p->pacer);
	ticks_fini(&p->ticks);
	session_things_fini(&p->things);
	mem_free(p->scratch);
	mem_free(p->picked);
}

bool paced_has_events(const struct counters *counters)
{
	for (size_t i = 0; i < counters->plan->nr_events; i++)
		if (counters->plan->events[i].set == PLAN_ALONE && counters->events[i].nr_cpus &&
		    event_heap(&counters->plan->events[i].event) < 0)
			return true;
	return counters->misc.nr > 0;
}

void paced_set_pace(struct paced *p)
{
	p->pacer.period_ns = plan_pace_ns(p->counters->plan);
}

int paced_start(struct paced *p)
{
	return pacer_start(&p->pacer);
}

void paced_stop(struct paced *p)
{
	pacer_stop(&p->pacer);
}

void paced_lock(struct paced *p)
{
	pacer_lock(&p->pacer);
}

void paced_unlock(struct paced *p)
{
	pacer_unlock(&p->pacer);
}

void paced_boundary(struct paced *p, uint64_t boundary_ns)
{
	p->boundary_ns = boundary_ns;
	p->now = (struct paced_counts){p->pacer.ticks, p->pacer.missed, ticks_dropped(&p->ticks)};
}

void paced_note_missing(const struct paced *p, uint32_t iteration, struct notes *notes)
{
	const struct ticks_dropped *a = &p->before.dropped, *b = &p->now.dropped;
	uint64_t missed = p->now.missed - p->before.missed;
	uint64_t taken = p->now.taken - p->before.taken;
	const struct {
		uint64_t nr;
		const char *why;
	} causes[] = {
	    {b->full - a->full, "were dropped: the files are written too slowly for them"},
	    {b->no_memory - a->no_memory, "were dropped: there was no memory for them"},
	};

	/* readings took longer than the period, or the machine was busy */
	if (missed)
		notes_add(notes, 0,
			  "%llu of %llu readings of iteration %u at the timebase's pace were "
			  "skipped: the previous one took too long",
			  (unsigned long long)missed, (unsigned long long)taken + missed,
			  iteration);
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].nr)
			notes_add(notes, 0,
				  "%llu readings of iteration %u at the timebase's pace %s",
				  (unsigned long long)causes[i].nr, iteration, causes[i].why);
}

void paced_next_iteration(struct paced *p)
{
	p->before = p->now;
}
