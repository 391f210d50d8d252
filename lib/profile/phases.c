/*
 * A state machine for each thread, and what readings of schedstat say of it.
 */
#include "profile/phases.h"

#include "base/mem.h"
#include "base/reading.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
	MAX_THREADS = 1 << 22,
	MAX_SPLITS = 1 << 23, /* of all threads */
	COMM_BYTES = 16,
	REST_NS = 20000000, /* the longest run of a thread that is one rest, if it has switches */
};

enum phase { NOT_KNOWN, RUNS, IS_BLOCKED, IS_PREEMPTED, IS_NEW };

struct thread {
	uint32_t tid; /* the key */
	uint32_t pid;
	enum phase phase;
	uint64_t losses; /* before this phase: with later ones records of it may be missing */
	bool has_ended;
	bool is_read; /* it was, when it had run for ran_ns */
	uint64_t ran_ns;
	uint64_t since_ns; /* of the phase, or of the iteration */
	uint64_t seen_ns;  /* it was blocked in this phase up to then, at least; 0: not known */
	/* Since its rest was added: how long it ran, and what its samples stand for. */
	uint64_t used_ns, sampled_ns[WAIT_SAMPLES_CLOCKS];
	char comm[COMM_BYTES]; /* zeroes behind it; "": not known */
	struct wait_samples_thread waits;
};

/* The share of waiting for a CPU in the time of waits that ended after the split before. */
struct split {
	uint64_t to_ns;
	double queue;    /* negative: not known */
	uint64_t ran_ns; /* of the thread, up to then */
};

/* The splits of all threads with this number, one after the other. */
struct splits {
	uint32_t tid;       /* the key */
	struct split *item; /* owned */
	size_t nr, room;
	size_t at;                    /* in the second pass: where waits that end now are */
	bool has_delay;               /* the delay at the last split is known */
	uint64_t delay_ns, nr_before; /* at the last split; the times it was switched in */
	uint64_t missing;             /* switches in, at the last reading that was not used */
	/* Since then: */
	uint64_t both_ns, queue_ns, nr_in;
	bool has_unknown; /* a wait in which it may have run */
};

/* What the threads of this name ran more than their samples stand for, and is not made yet. */
struct command {
	char comm[COMM_BYTES]; /* the key */
	int64_t rest_ns[WAIT_SAMPLES_CLOCKS];
};

/* A thread that ran before the session. */
struct surveyed {
	uint32_t tid; /* the key */
	uint32_t pid;
};

/* ---- shares of waiting for a CPU */

/* The first split at that time or later; NULL: there is none. Times must not fall. */
static const struct split *find_split(struct splits *s, uint64_t ns)
{
	while (s->at < s->nr && s->item[s->at].to_ns < ns)
		s->at++;
	return s->at < s->nr ? &s->item[s->at] : NULL;
}

/* The share of waiting for a CPU in a wait that ends then; negative: not known. */
static double queue_share(struct splits *s, uint64_t to_ns)
{
	const struct split *split = find_split(s, to_ns);

	return split ? split->queue : -1;
}

/* Ends the time since the last split, with this reading. */
static int add_split(struct phases *p, struct splits *s, const struct reading *r, double queue)
{
	struct split *new;

	if (p->nr_splits == MAX_SPLITS) /* what waits from here on is not divided */
		return 0;
	new = MEM_ADD(s->item, s->nr, s->room);
	if (!new)
		return -ENOMEM;
	p->nr_splits++;
	*new = (struct split){r->time_ns, queue, r->enabled_ns};
	s->both_ns = s->queue_ns = s->nr_in = s->missing = 0;
	s->has_unknown = false;
	s->has_delay = true;
	s->delay_ns = r->raw;
	s->nr_before = r->running_ns;
	return 0;
}

/* In the first pass: a new thread has not waited for a CPU before. */
static int begin_splits(struct phases *p, uint32_t tid, uint64_t ns)
{
	struct splits *s = p->is_first ? dict_get(&p->splits, &tid) : NULL;

	return s             ? add_split(p, s, &(struct reading){.time_ns = ns}, -1)
	       : p->is_first ? -ENOMEM
			     : 0;
}

/* In the first pass: how long a thread has waited for CPUs. Only a reading divides waits that has
 * as many switches in as the records have: one may fall between the time of the reading and the
 * reading, and after a thread's exit there is no record. */
static int add_delay(struct phases *p, const struct reading *r)
{
	struct splits *s = p->is_first ? dict_get(&p->splits, &r->instance) : NULL;
	uint64_t missing;
	double rest;

	if (!s)
		return p->is_first ? -ENOMEM : 0;
	missing = r->running_ns - s->nr_before - s->nr_in;
	rest = (double)r->raw - (double)s->delay_ns - (double)s->queue_ns;
	if (s->has_delay && !missing && !s->has_unknown)
		return add_split(p, s, r,
				 s->both_ns && rest > 0 ? fmin(rest / (double)s->both_ns, 1) : 0);
	if (s->has_delay && missing != s->missing) {
		s->missing = missing;
		return 0;
	}
	return add_split(p, s, r, -1);
}

/* ---- runs */

/* The thread ran up to then, and may go on. If records were lost since, it may have waited: that
 * time is left out, rather than too much of it counted. */
static void add_run(struct phases *p, struct thread *t, uint64_t to_ns)
{
	if (to_ns <= t->since_ns)
		return;
	if (t->losses == p->losses) {
		t->used_ns += to_ns - t->since_ns;
		p->ran_ns += to_ns - t->since_ns;
	}
	t->losses = p->losses;
	t->since_ns = to_ns;
}

/* It ran up to then, and no longer. */
static void end_run(struct phases *p, struct thread *t, uint64_t to_ns)
{
	add_run(p, t, to_ns);
	t->used_ns += p->run_ns;
	p->nr_runs++;
}

/* Its time up to then, under its name. */
static int add_rest(struct phases *p, struct thread *t, uint64_t time_ns)
{
	struct command *c;
	int rc = 0;

	if (t->phase == RUNS)
		add_run(p, t, time_ns);
	c = p->is_first || !t->pid ? NULL : dict_get(&p->commands, t->comm);
	if (!c)
		return p->is_first || !t->pid ? 0 : -ENOMEM;
	for (unsigned i = 0; i < WAIT_SAMPLES_CLOCKS && rc == 0; i++) {
		const int64_t more_ns = (int64_t)(t->used_ns - t->sampled_ns[i]);

		if (__builtin_add_overflow(c->rest_ns[i], more_ns, &c->rest_ns[i]))
			c->rest_ns[i] = more_ns;
		t->sampled_ns[i] = 0;
		if (c->rest_ns[i] <= 0)
			continue;
		rc = wait_samples_rest(p->samples, i, t->pid, t->tid, (uint64_t)c->rest_ns[i],
				       time_ns);
		c->rest_ns[i] = 0;
	}
	t->used_ns = 0;
	return rc;
}

/* What a long thread ran has its rest near the time when it ran. */
static int add_some_rest(struct phases *p, struct thread *t, uint64_t time_ns)
{
	return t->used_ns >= REST_NS ? add_rest(p, t, time_ns) : 0;
}

/* Of a new thread, that of the one that made it. */
static int set_comm(struct phases *p, struct thread *t, const struct trace_record *r)
{
	const struct thread *from = NULL;
	int rc = 0;

	if (r->kind == PERF_RECORD_FORK) {
		from = dict_at(&p->threads, dict_find(&p->threads, &r->ptid));
		if (from && from != t)
			memcpy(t->comm, from->comm, COMM_BYTES);
		return 0;
	}
	rc = add_rest(p, t, r->time_ns ? r->time_ns - 1 : 0); /* before it has the new name */
	strncpy(t->comm, r->name ? r->name : "", COMM_BYTES - 1);
	return rc;
}

/* ---- waits */

static int make(struct phases *p, struct thread *t, enum wait_samples_kind kind, uint64_t ns,
		uint64_t to_ns)
{
	return wait_samples_add(p->samples, &t->waits, t->pid, t->tid, kind, ns, to_ns);
}

/* A wait since the begin of the phase. */
static int add_wait(struct phases *p, struct thread *t, enum wait_samples_kind kind, uint64_t to_ns)
{
	uint64_t ns = to_ns > t->since_ns ? to_ns - t->since_ns : 0, queue_ns;
	struct splits *s = dict_get(&p->splits, &t->tid);
	double share;

	if (!s)
		return -ENOMEM;
	if (p->is_first) {
		s->both_ns += kind == WAIT_SAMPLES_BOTH ? ns : 0;
		s->queue_ns += kind == WAIT_SAMPLES_QUEUE ? ns : 0;
		s->has_unknown |= kind == WAIT_SAMPLES_UNKNOWN;
		return 0;
	}
	share = kind == WAIT_SAMPLES_BOTH ? queue_share(s, to_ns) : -1;
	if (share < 0)
		return make(p, t, kind, ns, to_ns);
	queue_ns = share < 1 ? (uint64_t)(share * (double)ns) : ns;
	queue_ns = queue_ns < ns ? queue_ns : ns;
	return make(p, t, WAIT_SAMPLES_QUEUE, queue_ns, to_ns)
		   ?: make(p, t, WAIT_SAMPLES_BLOCKED, ns - queue_ns, to_ns);
}

/* The same: it was blocked up to the last time that it was seen so. */
static int add_seen_part(struct phases *p, struct thread *t, uint64_t to_ns)
{
	uint64_t seen_ns = t->seen_ns < to_ns ? t->seen_ns : to_ns;
	int rc = 0;

	if (seen_ns > t->since_ns) {
		rc = p->is_first ? 0
				 : make(p, t, WAIT_SAMPLES_BLOCKED, seen_ns - t->since_ns, seen_ns);
		t->since_ns = seen_ns;
	}
	return rc;
}

/* The same, and of this kind from then on. */
static int add_seen(struct phases *p, struct thread *t, enum wait_samples_kind rest, uint64_t to_ns)
{
	return add_seen_part(p, t, to_ns) ?: add_wait(p, t, rest, to_ns);
}

/* The time up to to_ns in which the thread waited in its phase. in: it is switched in. */
static int end_phase(struct phases *p, struct thread *t, uint64_t to_ns, bool in)
{
	if (t->losses != p->losses && t->phase != RUNS)
		return add_seen(p, t, WAIT_SAMPLES_UNKNOWN, to_ns);
	switch (t->phase) {
	case IS_BLOCKED:
		return add_seen(p, t, WAIT_SAMPLES_BOTH, to_ns);
	case IS_PREEMPTED:
		return add_wait(p, t, WAIT_SAMPLES_QUEUE, to_ns);
	case IS_NEW: /* without a switch in it may not be a thread of the target */
		return in ? add_wait(p, t, WAIT_SAMPLES_QUEUE, to_ns) : 0;
	case NOT_KNOWN: /* it waited when the session began */
		return in ? add_seen(p, t, WAIT_SAMPLES_BOTH, to_ns) : 0;
	case RUNS:
		break;
	}
	return 0;
}

/* What was recorded before the iteration says what the thread does, and is no time of it. */
static void begin_phase(const struct phases *p, struct thread *t, enum phase phase, uint64_t ns)
{
	t->phase = phase;
	t->since_ns = ns > p->start_ns ? ns : p->start_ns;
	t->seen_ns = 0;
	t->losses = p->losses;
}

/* NULL without memory, and for too many threads. */
static struct thread *get_thread(struct phases *p, const struct trace_record *r)
{
	struct thread *t = dict_get(&p->threads, &r->tid);
	uint64_t since_ns = p->start_ns;

	if (!t)
		return NULL;
	if (t->has_ended || (t->pid && t->pid != r->pid)) { /* its number has a new owner */
		wait_samples_drop(p->samples, &t->waits);
		since_ns = t->since_ns; /* the one before had it up to then, at least */
		*t = (struct thread){.tid = r->tid};
	}
	if (!t->pid) {
		begin_phase(p, t, NOT_KNOWN, since_ns);
		t->losses = p->losses_before;
	}
	t->pid = r->pid;
	return t;
}

/* A wait with a stack and a reason of its own ends. */
static int end_own(struct phases *p, struct thread *t)
{
	int rc = t->seen_ns ? wait_samples_make(p->samples, &t->waits, t->pid, t->tid) : 0;

	t->waits.reason = TRACE_REASON_NONE;
	return rc;
}

int phases_add_switch(struct phases *p, const struct trace_record *r)
{
	struct thread *t = get_thread(p, r);
	bool is_out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool is_preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	if (is_out ? t->phase == IS_BLOCKED || t->phase == IS_PREEMPTED : t->phase == RUNS)
		rc =
		    add_wait(p, t, WAIT_SAMPLES_UNKNOWN, r->time_ns); /* the other switch is lost */
	else if (!is_out)
		rc = end_phase(p, t, r->time_ns, true) ?: end_own(p, t);
	if (is_out && (t->phase == RUNS || t->phase == NOT_KNOWN)) {
		end_run(p, t, r->time_ns);
		rc = rc ?: add_some_rest(p, t, r->time_ns);
	}
	begin_phase(p, t, !is_out ? RUNS : is_preempted ? IS_PREEMPTED : IS_BLOCKED, r->time_ns);
	if (p->is_first && !is_out) {
		struct splits *s = dict_get(&p->splits, &t->tid);

		if (!s)
			return -ENOMEM;
		s->nr_in++;
	}
	return rc;
}

/* Before the next samples, what waited has the stack of the last one. */
int phases_add_sample(struct phases *p, const struct trace_record *r, uint32_t event)
{
	const int clock = wait_samples_clock(p->samples, event);
	struct thread *t = get_thread(p, r);
	int rc;

	if (!t)
		return -ENOMEM;
	rc = wait_samples_make(p->samples, &t->waits, t->pid, t->tid);
	if (rc)
		return rc;
	if (clock >= 0)
		t->sampled_ns[clock] += r->period;
	if (t->phase == NOT_KNOWN || t->phase == RUNS)
		add_run(p, t, r->time_ns);
	if (t->phase == NOT_KNOWN)
		begin_phase(p, t, RUNS, r->time_ns);
	rc = add_some_rest(p, t, r->time_ns);
	if (rc)
		return rc;
	return p->is_first ? 0 : wait_samples_keep(p->samples, &t->waits, r, event);
}

int phases_add_seen(struct phases *p, const struct trace_record *r, uint32_t event)
{
	struct thread *t = get_thread(p, r);
	int rc = 0;

	if (!t)
		return -ENOMEM;
	if ((t->phase != IS_BLOCKED && t->phase != NOT_KNOWN) || t->losses != p->losses ||
	    r->time_ns < t->since_ns)
		return 0;
	t->seen_ns = r->time_ns;
	if (!r->wait_reason) /* its stack was seen before */
		return 0;
	rc = wait_samples_make(p->samples, &t->waits, t->pid, t->tid);
	t->waits.reason = (enum trace_reason)r->wait_reason;
	return rc ?: p->is_first ? 0 : wait_samples_keep(p->samples, &t->waits, r, event);
}

/* From the last record before to the loss the CPU may have switched any thread. */
void phases_add_loss(struct phases *p)
{
	p->losses++;
}

static int end_thread(struct phases *p, struct thread *t, uint64_t time_ns)
{
	int rc;

	if (t->phase == RUNS)
		end_run(p, t, time_ns);
	rc = wait_samples_make(p->samples, &t->waits, t->pid, t->tid) ?: add_rest(p, t, time_ns);

	wait_samples_drop(p->samples, &t->waits);
	t->has_ended = true;
	return rc;
}

/* A thread of the target exists. What a command's process waited before exec, when its records
 * begin, is no time of the command. */
int phases_add_reading(struct phases *p, const struct reading *r)
{
	struct thread *t = dict_get(&p->threads, &r->instance);

	if (!t)
		return -ENOMEM;
	if (t->phase == NOT_KNOWN && p->is_command && !t->pid)
		return 0;
	if (!t->pid && !t->since_ns)
		begin_phase(p, t, NOT_KNOWN, p->start_ns);
	t->is_read = true;
	t->ran_ns = r->enabled_ns;
	return add_delay(p, r);
}

int phases_add_surveyed(struct phases *p, const struct trace_record *r)
{
	struct surveyed *s = dict_get(&p->surveyed, &r->tid);

	if (s)
		s->pid = r->pid;
	return s ? 0 : -ENOMEM;
}

int phases_add_task(struct phases *p, const struct trace_record *r)
{
	const bool is_exec = r->kind == PERF_RECORD_COMM && r->misc & PERF_RECORD_MISC_COMM_EXEC;
	struct thread *t;
	int rc;

	if (r->kind != PERF_RECORD_FORK && r->kind != PERF_RECORD_EXIT &&
	    r->kind != PERF_RECORD_COMM)
		return 0;
	t = get_thread(p, r);
	if (!t)
		return -ENOMEM;
	if (r->kind == PERF_RECORD_EXIT)
		return end_thread(p, t, r->time_ns);
	rc = set_comm(p, t, r);
	if (rc || (r->kind == PERF_RECORD_COMM && (!is_exec || t->phase != NOT_KNOWN)))
		return rc;
	if (r->time_ns < p->start_ns) { /* it may have run since */
		begin_phase(p, t, NOT_KNOWN, r->time_ns);
		return 0;
	}
	begin_phase(p, t, is_exec ? RUNS : IS_NEW, r->time_ns);
	return is_exec ? 0 : begin_splits(p, r->tid, r->time_ns);
}

/* ---- iterations */

/* In the second pass: a thread of which there is no record waited, if it has not run; else as long
 * as it was seen. */
static int add_asleep(struct phases *p, struct thread *t, uint64_t to_ns)
{
	const struct surveyed *s = dict_at(&p->surveyed, dict_find(&p->surveyed, &t->tid));
	struct splits *splits = dict_at(&p->splits, dict_find(&p->splits, &t->tid));
	const struct split *next = splits && !p->is_first ? find_split(splits, to_ns) : NULL;

	if (t->phase != NOT_KNOWN)
		return 0;
	if (!t->is_read || !next || next->ran_ns != t->ran_ns || (!t->pid && !s))
		return add_seen_part(p, t, to_ns);
	t->pid = t->pid ? t->pid : s->pid;
	return add_seen(p, t, WAIT_SAMPLES_BOTH, to_ns);
}

int phases_end(struct phases *p, uint64_t end_ns, bool is_last)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->threads.nr && rc == 0; i++) {
		struct thread *t = dict_at(&p->threads, i);

		if (t->has_ended)
			continue;
		rc = end_phase(p, t, end_ns, false)
			 ?: add_asleep(p, t, end_ns)
			 ?: wait_samples_make(p->samples, &t->waits, t->pid, t->tid)
			 ?: add_rest(p, t, end_ns);
		if (t->since_ns < end_ns)
			t->since_ns = end_ns;
		if (is_last && rc == 0)
			rc = end_thread(p, t, end_ns);
	}
	return rc;
}

/* What a thread did in the gap is not known, nor how long it waited there for a CPU. */
static void skip_gap(struct phases *p)
{
	for (uint32_t i = 0; i < p->threads.nr; i++) {
		struct thread *t = dict_at(&p->threads, i);

		begin_phase(p, t, NOT_KNOWN, p->start_ns);
		t->is_read = false;
	}
	for (uint32_t i = 0; i < p->splits.nr && p->is_first; i++)
		((struct splits *)dict_at(&p->splits, i))->has_delay = false;
}

void phases_begin(struct phases *p, uint64_t start_ns, bool is_command, bool has_gap)
{
	p->start_ns = start_ns;
	p->losses_before = p->losses;
	p->ran_ns = p->nr_runs = 0;
	p->is_command = is_command;
	if (has_gap)
		skip_gap(p);
}

/* ---- passes */

void phases_init(struct phases *p, struct wait_samples *samples)
{
	*p = (struct phases){.samples = samples};
	dict_init(&p->threads, sizeof(struct thread), sizeof(uint32_t), MAX_THREADS);
	dict_init(&p->splits, sizeof(struct splits), sizeof(uint32_t), MAX_THREADS);
	dict_init(&p->surveyed, sizeof(struct surveyed), sizeof(uint32_t), MAX_THREADS);
	dict_init(&p->commands, sizeof(struct command), COMM_BYTES, MAX_THREADS);
}

static void forget_threads(struct phases *p)
{
	for (uint32_t i = 0; i < p->threads.nr; i++)
		wait_samples_drop(p->samples, &((struct thread *)dict_at(&p->threads, i))->waits);
	dict_fini(&p->threads);
}

void phases_begin_pass(struct phases *p, bool is_first)
{
	forget_threads(p);
	dict_init(&p->threads, sizeof(struct thread), sizeof(uint32_t), MAX_THREADS);
	p->is_first = is_first;
}

void phases_fini(struct phases *p)
{
	forget_threads(p);
	for (uint32_t i = 0; i < p->splits.nr; i++)
		mem_free(((struct splits *)dict_at(&p->splits, i))->item);
	dict_fini(&p->splits);
	dict_fini(&p->surveyed);
	dict_fini(&p->commands);
}
