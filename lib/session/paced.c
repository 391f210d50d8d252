/*
 * Reads events between two boundaries, at the timebase's pace and at paces of their own.
 */
#include "session/paced.h"

#include "base/mem.h"
#include "base/str.h"
#include "plan/notes.h"
#include "session/counters.h"
#include "session/sampler.h"
#include "session/source_uses.h"
#include "things/many.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>

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

/* The readings of a boundary stand for those that were due just before it: a second one would leave
 * an interval too short for a number. */
static bool is_of_boundary(const struct paced *p, const struct pacer_pace *pace)
{
	const uint64_t near_ns = pace->period_ns / TRACE_LATE_PART, ns = pace->deadline_ns;

	return ns <= p->boundary_ns || (ns <= p->next_ns && p->next_ns - ns <= near_ns);
}

/* Marks the events of the paces that are due. False: there are none. */
static bool mark_due(struct paced *p)
{
	bool is_any = false;

	for (size_t k = 0; k < p->nr_paces; k++) {
		struct pacer_pace *pace = &p->deadlines[k];

		pace->is_due &= !p->is_paused &&
				(p->paces[k].every_ns ? !is_of_boundary(p, pace) : is_ahead(p));
		is_any |= pace->is_due;
	}
	for (size_t i = 0; i < p->counters->plan->nr_events; i++)
		p->is_due[i] = p->pace_of[i] != SIZE_MAX && p->deadlines[p->pace_of[i]].is_due;
	return is_any;
}

/* Only the first CPU's trace has what is not of single CPUs. */
static bool has_cpu_due(const struct paced *p)
{
	const struct plan *plan = p->counters->plan;

	for (size_t i = 0; i < plan->nr_events; i++)
		if (p->is_due[i] && (plan->events[i].set == PLAN_ALONE ||
				     plan->events[i].event.row->scope == EVENT_SCOPE_CPU))
			return true;
	return false;
}

static void tick_cpu(struct paced *p, const struct session_cpu *c)
{
	const struct plan *plan = p->counters->plan;
	size_t nr = 0;

	session_cpu_read_alone(c, p->is_due, p->scratch);
	counters_get_values(p->counters, c->trace, c->cpu, p->scratch);
	for (size_t k = 0; k < plan->nr_parts; k++)
		if (p->is_due[plan->parts[k].event] && p->scratch[k].state == READING_OK)
			p->picked[nr++] = p->scratch[k];
	ticks_add(&p->ticks, c->trace, p->picked, nr);
}

/* False if it was in a tick of its event, or at the boundary: its thing has ended, or its source
 * has no newer one. The last one of a thing may be older than the boundary that lacks it. */
static bool is_new(const struct paced *p, const struct reading *r)
{
	return r->time_ns > p->ticked_ns[r->event] &&
	       (r->flags & READING_ENDED || r->time_ns > p->boundary_ns);
}

/* Returns the number of readings that are left. */
static size_t drop_repeated(struct paced *p)
{
	size_t nr = 0;

	for (size_t k = 0; k < p->things.nr_readings; k++) {
		const struct reading *r = &p->things.readings[k];

		if (is_new(p, r))
			p->things.readings[nr++] = *r;
	}
	return nr;
}

static void tick_things(struct paced *p)
{
	const struct source_uses *uses = &p->counters->uses;
	uint64_t now_ns;

	if (!source_uses_nr_sets(uses))
		return;
	if (session_things_read(&p->things, uses, p->boundary_ns, p->is_due)) {
		ticks_drop(&p->ticks);
		return;
	}
	ticks_add_names(&p->ticks, &p->things);
	ticks_add(&p->ticks, 0, p->things.readings, drop_repeated(p));
	now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < uses->nr_events; i++)
		if (p->is_due[i])
			p->ticked_ns[i] = now_ns;
}

static void tick(void *arg)
{
	struct paced *p = arg;
	uint32_t nr_cpus;

	if (!mark_due(p))
		return;
	source_uses_read_values(&p->counters->uses, p->is_due);
	nr_cpus = has_cpu_due(p) ? p->counters->nr_cpus : 1;
	for (uint32_t t = 0; t < nr_cpus; t++)
		tick_cpu(p, &p->counters->cpus[t]);
	tick_things(p);
}

static int alloc(struct paced *p, const struct plan *plan)
{
	p->deadlines = mem_calloc(plan->nr_events + 1, sizeof(*p->deadlines));
	p->paces = mem_calloc(plan->nr_events + 1, sizeof(*p->paces));
	p->pace_of = mem_calloc(plan->nr_events, sizeof(*p->pace_of));
	p->is_due = mem_calloc(plan->nr_events, sizeof(*p->is_due));
	p->ticked_ns = mem_calloc(plan->nr_events, sizeof(*p->ticked_ns));
	p->scratch = mem_calloc(plan->nr_parts, sizeof(*p->scratch));
	p->picked = mem_calloc(plan->nr_parts, sizeof(*p->picked));
	return p->deadlines && p->paces && p->pace_of && p->is_due && p->ticked_ns && p->scratch &&
		       p->picked
		   ? 0
		   : -ENOMEM;
}

int paced_init(struct paced *p, const struct counters *counters)
{
	const struct plan *plan = counters->plan;
	int rc;

	*p = (struct paced){.counters = counters, .next_ns = UINT64_MAX};
	rc = pacer_init(&p->pacer, tick, p);
	if (rc)
		return rc;
	session_things_init(&p->things);
	rc = alloc(p, plan);
	if (rc == 0) /* a set has an event at least */
		rc = ticks_init(&p->ticks, counters->nr_cpus, (uint32_t)plan->nr_events,
				plan->is_sampling ? TICKS_MAX : TICKS_MAX_OF_TALLY)
			 ?: ticks_init(&p->samples, 1, (uint32_t)plan->nr_events,
				       plan->is_sampling ? TICKS_MAX : TICKS_MAX_OF_TALLY);
	if (rc)
		paced_fini(p);
	return rc;
}

void paced_fini(struct paced *p)
{
	if (!p->counters)
		return;
	pacer_fini(&p->pacer);
	ticks_fini(&p->ticks);
	ticks_fini(&p->samples);
	session_things_fini(&p->things);
	mem_free(p->deadlines);
	mem_free(p->paces);
	mem_free(p->pace_of);
	mem_free(p->is_due);
	mem_free(p->ticked_ns);
	mem_free(p->scratch);
	mem_free(p->picked);
	*p = (struct paced){.nr_paces = 0};
}

/* False for events that are in the samples, or nowhere. */
static bool is_paced(const struct counters *c, size_t i)
{
	const struct plan_event *e = &c->plan->events[i];

	if (source_uses_every_ns(&c->uses, i))
		return false;
	return c->events[i].nr_cpus && (e->set == PLAN_ALONE || e->set == PLAN_NO_SET) &&
	       !e->source->is_in_target && (e->asked->every_ns || c->plan->timebase);
}

static size_t pace_at(struct paced *p, uint64_t every_ns)
{
	size_t k = 0;

	while (k < p->nr_paces && p->paces[k].every_ns != every_ns)
		k++;
	if (k == p->nr_paces)
		p->paces[p->nr_paces++] = (struct paced_pace){.every_ns = every_ns};
	return k;
}

void paced_set_pace(struct paced *p)
{
	const struct plan *plan = p->counters->plan;

	for (size_t i = 0; i < plan->nr_events; i++)
		if (p->pace_of && p->pace_of[i] < p->nr_paces)
			p->deadlines[p->pace_of[i]].period_ns =
			    plan_every_ns(plan, &plan->events[i]) ?: plan_pace_ns(plan);
}

int paced_start(struct paced *p, uint64_t start_ns)
{
	const struct plan *plan = p->counters->plan;

	for (size_t i = 0; i < plan->nr_events; i++)
		p->pace_of[i] = is_paced(p->counters, i)
				    ? pace_at(p, plan->events[i].asked->every_ns)
				    : SIZE_MAX;
	paced_set_pace(p);
	return p->nr_paces ? pacer_start(&p->pacer, p->deadlines, p->nr_paces, start_ns) : 0;
}

void paced_stop(struct paced *p)
{
	pacer_stop(&p->pacer);
}

bool paced_is_running(const struct paced *p)
{
	return p->pacer.is_running;
}

void paced_pause(struct paced *p, bool is_paused)
{
	p->is_paused = is_paused;
}

void paced_lock(struct paced *p)
{
	pacer_lock(&p->pacer);
}

void paced_unlock(struct paced *p)
{
	pacer_unlock(&p->pacer);
}

static void count_dropped(struct paced *p)
{
	struct ticks_dropped ticks = ticks_dropped(&p->ticks), samples = ticks_dropped(&p->samples);

	p->dropped = (struct ticks_dropped){.full = ticks.full + samples.full,
					    .no_memory = ticks.no_memory + samples.no_memory};
}

void paced_boundary(struct paced *p, uint64_t boundary_ns)
{
	p->boundary_ns = boundary_ns;
	for (size_t k = 0; k < p->nr_paces; k++) {
		pacer_pass(&p->deadlines[k], boundary_ns);
		p->paces[k].now =
		    (struct paced_counts){p->deadlines[k].ticks, p->deadlines[k].missed};
	}
	count_dropped(p);
}

bool paced_has_samples(const struct paced *p)
{
	const struct source_uses *uses = &p->counters->uses;

	for (size_t i = 0; i < uses->nr_events; i++)
		if (source_uses_every_ns(uses, i))
			return true;
	return false;
}

static void take_set(struct paced *p, uint32_t set, uint64_t until_ns)
{
	const struct source_uses *uses = &p->counters->uses;
	struct things_sample sample;
	struct reading r;

	while (source_uses_sample(uses, set, until_ns, &sample))
		for (size_t i = 0; i < uses->nr_events; i++) {
			const struct source_use *u = source_uses_of_values(uses, i);

			if (source_uses_set(uses, i) != set ||
			    !u->source->values->get_of_sample(u, i, &sample, &r))
				continue;
			r.event = (uint32_t)i;
			ticks_add(&p->samples, 0, &r, 1);
		}
}

void paced_take_samples(struct paced *p, uint64_t until_ns, bool waits)
{
	const struct source_uses *uses = &p->counters->uses;

	if (waits)
		source_uses_flush(uses);
	for (uint32_t set = 0; set < source_uses_nr_sets(uses); set++)
		take_set(p, set, until_ns);
	if (waits) /* those of the iteration are all there */
		count_dropped(p);
}

void paced_settle(const struct paced *p, struct session_things *things, uint64_t from_ns)
{
	const struct source_uses *uses = &p->counters->uses;

	for (uint32_t set = 0; set < source_uses_nr_sets(uses); set++)
		if (source_uses_every_ns(uses, source_uses_first_of(uses, set)))
			/* without memory there are no numbers */
			(void)session_things_reread(things, uses, set, from_ns);
}

void paced_drop_samples(struct paced *p, uint64_t until_ns)
{
	const struct reading *skipped;

	while (ticks_next(&p->samples, 0, until_ns, &skipped))
		;
}

/* The first event of a set stands for the set. */
static bool write_clocks_of(const struct source_uses *uses, uint32_t set, struct trace_writer *w,
			    uint64_t until_ns)
{
	struct things_clock clock;
	bool is_any = false;

	while (source_uses_clock(uses, set, until_ns, &clock)) {
		const struct trace_thing_clock c = {
		    .event = (uint32_t)source_uses_first_of(uses, set),
		    .instance = clock.number,
		    .flags = clock.is_arrival ? TRACE_THING_CLOCK_IS_ARRIVAL : 0,
		    .clock_ns = clock.clock_ns,
		    .before_ns = clock.before_ns,
		    .after_ns = clock.after_ns,
		};

		trace_writer_thing_clock(w, &c);
		is_any = true;
	}
	return is_any;
}

bool paced_write_clocks(struct paced *p, struct trace_writer *w, uint64_t until_ns)
{
	const struct source_uses *uses = &p->counters->uses;
	bool is_any = false;

	for (uint32_t set = 0; set < source_uses_nr_sets(uses); set++)
		is_any |= write_clocks_of(uses, set, w, until_ns);
	return is_any;
}

void paced_expect(struct paced *p, uint64_t boundary_ns)
{
	p->next_ns = boundary_ns;
}

void paced_drop(struct paced *p)
{
	const struct reading *skipped;

	for (uint32_t t = 0; t < p->counters->nr_cpus; t++)
		while (ticks_next(&p->ticks, t, p->boundary_ns, &skipped))
			;
	paced_take_samples(p, p->boundary_ns, true);
	paced_drop_samples(p, p->boundary_ns);
	paced_next_iteration(p);
}

static struct paced_counts counts_of(const struct paced_pace *pace)
{
	return (struct paced_counts){pace->now.taken - pace->before.taken,
				     pace->now.missed - pace->before.missed};
}

struct paced_counts paced_counts(const struct paced *p)
{
	struct paced_counts all = {0};

	for (size_t k = 0; k < p->nr_paces; k++) {
		struct paced_counts one = counts_of(&p->paces[k]);

		all.taken += one.taken;
		all.missed += one.missed;
	}
	return all;
}

/* Readings took longer than the period, or the machine was busy. */
static void note_missed(const struct paced_pace *pace, uint32_t iteration, struct notes *notes)
{
	struct paced_counts of = counts_of(pace);
	char every[32], whose[48] = "the timebase's pace";

	if (!of.missed)
		return;
	str_format_duration(pace->every_ns, every, sizeof(every));
	if (pace->every_ns)
		snprintf(whose, sizeof(whose), "the pace of %s", every);
	notes_add(notes, 0,
		  "%llu of %llu readings of iteration %u at %s were skipped: the previous one took "
		  "too long, or cpuperf was held up",
		  (unsigned long long)of.missed, (unsigned long long)of.taken + of.missed,
		  iteration, whose);
}

void paced_note_missing(const struct paced *p, uint32_t iteration, struct notes *notes)
{
	const struct ticks_dropped *a = &p->dropped_before, *b = &p->dropped;
	const struct {
		uint64_t nr;
		const char *why;
	} causes[] = {
	    {b->full - a->full, p->counters->plan->is_sampling
				    ? "the files are written too slowly for them"
				    : "a tally holds no more of an iteration; make iterations "
				      "shorter, or paces longer"},
	    {b->no_memory - a->no_memory, "there was no memory for them"},
	};

	for (size_t k = 0; k < p->nr_paces; k++)
		note_missed(&p->paces[k], iteration, notes);
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].nr)
			notes_add(notes, 0,
				  "%llu readings between the boundaries of iteration %u were "
				  "dropped: %s",
				  (unsigned long long)causes[i].nr, iteration, causes[i].why);
}

void paced_next_iteration(struct paced *p)
{
	for (size_t k = 0; k < p->nr_paces; k++)
		p->paces[k].before = p->paces[k].now;
	p->dropped_before = p->dropped;
}
