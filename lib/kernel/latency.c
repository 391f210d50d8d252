/*
 * Latencies between two readings: the programs only add, so that none falls between two iterations.
 */
#include "kernel/latency.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "bpf/latency.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "pmu/group.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HISTOGRAMS = 64 << 10 };

_Static_assert((int)EVENT_LATENCY_SYSCALL == (int)LATENCY_SYSCALL &&
		   (int)TRACE_HISTOGRAM_BITS == (int)LATENCY_BITS &&
		   (int)TRACE_HISTOGRAM_BUCKETS == (int)LATENCY_NR_BUCKETS,
	       "the programs' histograms are those of traces");

/* A histogram over all CPUs; cumulative. The key ends with id. */
struct seen {
	uint32_t event, part;
	uint64_t id;
	char name[LATENCY_NAME_BYTES];
	uint64_t sum_ns, max_ns;
	uint64_t bucket[LATENCY_NR_BUCKETS];
};

/* What was added between two readings. All zero: there was none. */
struct view {
	struct dict now, before;      /* at the last two readings */
	struct trace_histogram *item; /* owned; the difference */
	size_t nr, room;
	struct trace_bucket *buckets; /* owned; of all items */
	size_t nr_buckets, bucket_room;
};

struct kernel_latency {
	struct source_use use;
	struct latency *programs; /* owned */
	size_t nr_events;
	uint32_t events[LATENCY_MAX_EVENTS]; /* of the plan, by the programs' number */
	struct view iteration, look;
	bool has_failed; /* to read, since the last notes */
	/* The counts that belong to the last reading. */
	bool has_counts;
	uint64_t *counts;                       /* owned; per event of the programs and CPU */
	uint64_t *last;                         /* owned; per CPU: space for another reading */
	uint32_t nr_cpus;                       /* the highest number of a CPU, and one */
	uint64_t forgotten[LATENCY_MAX_EVENTS]; /* in histograms that were removed */
};

static void init_view(struct view *v)
{
	dict_init(&v->now, sizeof(struct seen), DICT_KEY(struct seen, id), MAX_HISTOGRAMS);
	dict_init(&v->before, sizeof(struct seen), DICT_KEY(struct seen, id), MAX_HISTOGRAMS);
}

static void fini_view(struct view *v)
{
	dict_fini(&v->now);
	dict_fini(&v->before);
	mem_free(v->item);
	mem_free(v->buckets);
}

static void close_programs(struct source_use *u)
{
	struct kernel_latency *l = (struct kernel_latency *)u;

	latency_close(l->programs);
	fini_view(&l->iteration);
	fini_view(&l->look);
	mem_free(l->counts);
	mem_free(l->last);
	source_use_clear(u);
}

static struct latency_event latency_event(int number)
{
	if (number < EVENT_LATENCY_SYSCALL)
		return (struct latency_event){.kind = (enum latency_kind)number};
	return (struct latency_event){.kind = LATENCY_SYSCALL,
				      .syscall = (uint32_t)(number - EVENT_LATENCY_SYSCALL)};
}

void kernel_latency_check(const int *numbers, size_t nr, struct event_support *out)
{
	struct latency_event events[EVENT_LATENCY_SYSCALL + 1];
	const struct latency_config config = {.events = events, .nr_events = nr};
	struct latency *programs = NULL;
	struct err e = {0};
	int rc;

	for (size_t i = 0; i < nr; i++)
		events[i] = latency_event(numbers[i]);
	rc = latency_open(&config, &programs, &e);
	*out = (struct event_support){.state = READING_OK};
	if (rc)
		source_explain(rc, &e, out);
	latency_close(programs);
}

/* The programs' number of the plan's event; LATENCY_MAX_EVENTS: none. The same event may be in the
 * plan twice. */
static size_t slot_of(const struct kernel_latency *l, size_t event)
{
	int number = event_latency(&l->use.plan->events[event].event);

	for (size_t i = 0; i < l->nr_events; i++)
		if (event_latency(&l->use.plan->events[l->events[i]].event) == number)
			return i;
	return LATENCY_MAX_EVENTS;
}

/* -E2BIG: there are too many. */
static int find_events(struct kernel_latency *l, struct latency_event *out)
{
	l->nr_events = 0;
	for (size_t i = 0; i < l->use.plan->nr_events; i++) {
		const struct plan_event *p = &l->use.plan->events[i];

		if (p->set == PLAN_NO_SET || event_latency(&p->event) < 0 ||
		    slot_of(l, i) < LATENCY_MAX_EVENTS)
			continue;
		if (l->nr_events == LATENCY_MAX_EVENTS)
			return -E2BIG;
		out[l->nr_events] = latency_event(event_latency(&p->event));
		l->events[l->nr_events++] = (uint32_t)i;
	}
	return 0;
}

static int make_counts(struct kernel_latency *l)
{
	const struct cpuset *cpus = &l->use.plan->cpus;

	if (l->counts || !l->nr_events)
		return 0;
	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1))
		l->nr_cpus = (uint32_t)cpu + 1;
	l->counts = mem_calloc(l->nr_events * l->nr_cpus, sizeof(*l->counts));
	l->last = mem_calloc(l->nr_cpus, sizeof(*l->last));
	return l->counts && l->last ? 0 : -ENOMEM;
}

static int load(struct kernel_latency *l, struct err *e)
{
	const struct plan *plan = l->use.plan;
	struct latency_event events[LATENCY_MAX_EVENTS];
	struct latency_config config = {.events = events,
					.follow = plan_follow(plan),
					.cpus = plan->has_all_cpus ? NULL : &plan->cpus};
	int rc;

	if (find_events(l, events))
		return err_set(e, -ENOTSUP, "a session has at most %d latencies",
			       LATENCY_MAX_EVENTS);
	config.nr_events = l->nr_events;
	rc = make_counts(l) ?: latency_open(&config, &l->programs, e);
	for (size_t i = 0; i < plan->target.nr_ids && !plan->target.is_cgroup && rc == 0; i++)
		(void)latency_add_process(l->programs, plan->target.ids[i]); /* it has ended */
	return rc ?: latency_start(l->programs, e);
}

static int open_programs(struct source_use *u, struct err *e)
{
	struct kernel_latency *l = (struct kernel_latency *)u;
	int rc;

	init_view(&l->iteration);
	init_view(&l->look);
	rc = load(l, e);
	if (rc)
		close_programs(u);
	return rc;
}

static void enable(struct source_use *u, size_t event, bool is_enabled)
{
	struct kernel_latency *l = (struct kernel_latency *)u;

	latency_switch(l->programs, slot_of(l, event), is_enabled);
}

static int count(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out)
{
	const struct kernel_latency *l = (const struct kernel_latency *)u;
	size_t slot = slot_of(l, event);

	if (l->has_counts && slot < l->nr_events && cpu < l->nr_cpus)
		out->raw = l->counts[slot * l->nr_cpus + cpu];
	else
		out->raw = latency_count(l->programs, slot, cpu);
	return 0;
}

static int add_row(const struct latency_row *row, void *arg)
{
	struct view *v = arg;
	struct seen key, *s;

	memset(&key, 0, sizeof(key));
	key.event = (uint32_t)row->event;
	key.part = row->part;
	key.id = row->id;
	s = dict_get(&v->now, &key);
	if (!s)
		return -ENOMEM;
	memcpy(s->name, row->name, sizeof(s->name));
	s->sum_ns += row->sum_ns;
	s->max_ns = row->max_ns > s->max_ns ? row->max_ns : s->max_ns;
	for (size_t i = 0; i < LATENCY_NR_BUCKETS; i++)
		s->bucket[i] += row->buckets[i];
	return 0;
}

/* include/linux/blk_types.h */
static const char *operation_name(unsigned operation)
{
	static const char *const names[] = {
	    [0] = "read",    [1] = "write",        [2] = "flush",
	    [3] = "discard", [5] = "secure erase", [9] = "write zeroes"};
	const char *name = operation < ARRAY_NR(names) ? names[operation] : NULL;

	return name ? name : "other";
}

/* include/linux/interrupt.h */
static const char *softirq_name(uint64_t number)
{
	static const char *const names[] = {"hi",       "timer",   "net_tx", "net_rx",  "block",
					    "irq_poll", "tasklet", "sched",  "hrtimer", "rcu"};

	return number < ARRAY_NR(names) ? names[number] : "";
}

static void name_histogram(enum latency_kind kind, const struct seen *s, struct trace_histogram *h)
{
	static const char *const parts[] = {"queue", "device"};

	if (s->id == LATENCY_OTHERS) {
		snprintf(h->what, sizeof(h->what), "others");
		return;
	}
	switch (kind) {
	case LATENCY_RUN_QUEUE:
		break;
	case LATENCY_BLOCK:
		snprintf(h->what, sizeof(h->what), "%s %s", s->name,
			 operation_name((unsigned)(s->id & 0xff)));
		break;
	case LATENCY_SOFTIRQ:
		snprintf(h->what, sizeof(h->what), "%" PRIu64 " %s", s->id, softirq_name(s->id));
		break;
	case LATENCY_IRQ:
	case LATENCY_SYSCALL:
		snprintf(h->what, sizeof(h->what), "%" PRIu64 " %s", s->id, s->name);
		break;
	}
	if (kind == LATENCY_BLOCK)
		snprintf(h->part, sizeof(h->part), "%s", parts[s->part & 1]);
}

/* What was added to a number that began again if it is less: its process, or target, is another. */
static uint64_t growth(uint64_t now, uint64_t before)
{
	return now < before ? now : now - before;
}

/* Appends what was added since the reading before. */
static int add_item(const struct kernel_latency *l, struct view *v, const struct seen *now,
		    const struct seen *before, bool *has_grown)
{
	size_t nr_before = v->nr_buckets;
	struct trace_histogram *h;

	for (uint32_t i = 0; i < LATENCY_NR_BUCKETS; i++) {
		uint64_t count = growth(now->bucket[i], before ? before->bucket[i] : 0);
		struct trace_bucket *b =
		    count ? MEM_ADD(v->buckets, v->nr_buckets, v->bucket_room) : NULL;

		if (count && !b)
			return -ENOMEM;
		if (b)
			*b = (struct trace_bucket){i, count};
	}
	*has_grown = v->nr_buckets > nr_before;
	if (!*has_grown)
		return 0;
	h = MEM_ADD(v->item, v->nr, v->room);
	if (!h)
		return -ENOMEM;
	*h = (struct trace_histogram){.event = l->events[now->event],
				      .bits = TRACE_HISTOGRAM_BITS,
				      .sum_ns = growth(now->sum_ns, before ? before->sum_ns : 0),
				      .max_ns = now->max_ns,
				      .nr = v->nr_buckets - nr_before};
	name_histogram(latency_event(event_latency(&l->use.plan->events[h->event].event)).kind, now,
		       h);
	return 0;
}

/* A process that has ended, and did nothing since the reading before, does nothing any more. */
static void forget_ended(struct kernel_latency *l, struct seen *s)
{
	const struct latency_row row = {.event = s->event, .id = s->id};
	int number = event_latency(&l->use.plan->events[l->events[s->event]].event);

	if (number < EVENT_LATENCY_SYSCALL || s->id == LATENCY_OTHERS ||
	    kill((pid_t)s->id, 0) == 0 || errno != ESRCH)
		return;
	latency_forget(l->programs, &row);
	for (size_t i = 0; i < LATENCY_NR_BUCKETS; i++)
		l->forgotten[s->event] += s->bucket[i];
	s->sum_ns = s->max_ns = 0;
	memset(s->bucket, 0, sizeof(s->bucket));
}

/* ended: of each that did not grow; NULL: nothing. */
static int subtract(struct kernel_latency *l, struct view *v,
		    void (*ended)(struct kernel_latency *l, struct seen *s))
{
	const struct trace_bucket *at;
	int rc = 0;

	for (uint32_t i = 0; i < v->now.nr && rc == 0; i++) {
		struct seen *now = dict_at(&v->now, i);
		bool has_grown = false;

		rc = add_item(l, v, now, dict_at(&v->before, dict_find(&v->before, now)),
			      &has_grown);
		if (rc == 0 && !has_grown && ended)
			ended(l, now);
	}
	at = v->buckets;
	for (size_t i = 0; i < v->nr && rc == 0; at += v->item[i++].nr)
		v->item[i].bucket = at;
	return rc;
}

static uint64_t count_cpus(const struct kernel_latency *l, size_t slot, uint64_t *out)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < l->nr_cpus; cpu++)
		sum += out[cpu] = latency_count(l->programs, slot, cpu);
	return sum;
}

/* A request is in two histograms, of which the second one has all. */
static uint64_t count_histograms(const struct kernel_latency *l, size_t slot)
{
	int number = event_latency(&l->use.plan->events[l->events[slot]].event);
	uint32_t part = latency_event(number).kind == LATENCY_BLOCK;
	uint64_t sum = l->forgotten[slot];

	for (uint32_t i = 0; i < l->iteration.now.nr; i++) {
		const struct seen *s = dict_at(&l->iteration.now, i);

		for (size_t k = 0; k < LATENCY_NR_BUCKETS && s->event == slot && s->part == part;
		     k++)
			sum += s->bucket[k];
	}
	return sum;
}

void kernel_latency_agree(uint64_t *count, const uint64_t *last, size_t nr, uint64_t sum)
{
	for (size_t i = 0; i < nr; i++)
		sum -= sum < count[i] ? sum : count[i];
	for (size_t i = 0; i < nr && sum; i++) {
		uint64_t grown = last[i] > count[i] ? last[i] - count[i] : 0;
		uint64_t step = grown < sum ? grown : sum;

		count[i] += step;
		sum -= step;
	}
}

/* The programs add to a histogram first, and then to the count: between two readings of the counts
 * lies that of the histograms, but for what a CPU is adding now. */
static void agree_counts(struct kernel_latency *l)
{
	enum { TRIES = 100 };

	for (size_t slot = 0; slot < l->nr_events; slot++) {
		uint64_t sum = count_histograms(l, slot);

		for (int i = 0; i < TRIES && count_cpus(l, slot, l->last) < sum; i++)
			sched_yield();
		kernel_latency_agree(&l->counts[slot * l->nr_cpus], l->last, l->nr_cpus, sum);
	}
}

/* The last reading becomes the one before. */
static void begin_reading(struct view *v)
{
	struct dict before = v->before;

	v->before = v->now;
	v->now = before;
	dict_fini(&v->now);
	v->nr = v->nr_buckets = 0;
}

static void read_iteration(struct source_use *u, uint64_t now_ns)
{
	struct kernel_latency *l = (struct kernel_latency *)u;
	struct view *v = &l->iteration;
	int rc;

	(void)now_ns;
	begin_reading(v);
	for (size_t slot = 0; slot < l->nr_events; slot++)
		(void)count_cpus(l, slot, &l->counts[slot * l->nr_cpus]);
	rc = latency_read(l->programs, add_row, v);
	if (rc == 0)
		agree_counts(l);
	l->has_counts = rc == 0;
	rc = rc ?: subtract(l, v, forget_ended);
	l->has_failed |= rc != 0;
	if (rc)
		v->nr = 0;
}

/* Then the CPUs' counts do not have to add up to those of the histograms any more. */
static void end_reading(struct source_use *u)
{
	((struct kernel_latency *)u)->has_counts = false;
}

static void read_look(struct source_use *u)
{
	struct kernel_latency *l = (struct kernel_latency *)u;

	begin_reading(&l->look);
	if (latency_read(l->programs, add_row, &l->look) || subtract(l, &l->look, NULL))
		l->look.nr = 0;
}

static size_t histograms(struct source_use *u, bool is_look, const struct trace_histogram **out)
{
	struct kernel_latency *l = (struct kernel_latency *)u;
	const struct view *v = is_look ? &l->look : &l->iteration;

	*out = v->item;
	return v->nr;
}

static void add_notes(struct source_use *u, struct notes *notes)
{
	struct kernel_latency *l = (struct kernel_latency *)u;

	if (l->has_failed)
		notes_add(notes, 0, "the histograms of latencies could not be read");
	l->has_failed = false;
}

static int check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		 struct err *e)
{
	(void)pos;
	if (p->source != &kernel_latency_source ||
	    !(spec_event_is_sampled(p->asked) || p == plan->timebase))
		return 0;
	return source_refuse_sampling(
	    p,
	    ": each is counted, and cpuperf_print --report=latency prints "
	    "how long they took",
	    e);
}

const struct source kernel_latency_source = {
    .name = "latency",
    .groups = {EVENT_GROUP_LATENCY},
    .is_alone = true,
    .check = check,
    .bytes = sizeof(struct kernel_latency),
    .open = open_programs,
    .close = close_programs,
    .enable = enable,
    .read = read_iteration,
    .done = end_reading,
    .look = read_look,
    .count = count,
    .histograms = histograms,
    .notes = add_notes,
};
