/*
 * A thread receives what the process sends. Samples wait for the next reading of the clocks, which
 * converts their times; then they wait in one of two lists for the session, which takes them from
 * the other.
 */
#include "gpu/pm.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "gpu/nvidia_driver.h"
#include "gpu/pm_clock.h"
#include "gpu/pm_link.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "things/things.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
	START_MS = 30000, /* CUDA may start the driver first */
	ASKED_MS = 2000,
	POLL_MS = 100,
	MAX_READY = 10, /* times ASKED_MS: for a CPU, or in a loop */
	END_MS = 1000,
	NS_PER_MS = 1000000,
	MAX_WORDS = 8 << 20, /* of a list: 64 MiB */
	MAX_CLOCKS = 1 << 16,
	/* The newest sample is at most so old, and so new, when the clocks are read after it. */
	MAX_OLD_NS = 1000 * NS_PER_MS,
	MAX_NEW_NS = 10 * NS_PER_MS,
};
_Static_assert((int)CUPTI_MAX_METRICS == (int)THINGS_MAX_FIELDS, "fields of a metric");

static unsigned start_ms = START_MS, asked_ms = ASKED_MS;
static const struct root *files = &root_live;

void pm_set_root(const struct root *root)
{
	files = root ? root : &root_live;
}

void pm_set_patience(unsigned start, unsigned asked)
{
	start_ms = start ? start : START_MS;
	asked_ms = asked ? asked : ASKED_MS;
}

/* A sample is a record of words: the device, has, the time, and the values. */
enum { DEVICE, HAS, TIME, VALUES };
struct words {
	uint64_t *item; /* owned */
	size_t nr, room;
};

struct clocks {
	struct things_clock *item; /* owned; number: the device */
	size_t nr, room;
};

struct device {
	struct thing *thing;   /* NULL: it is not sampled; the list does not grow */
	struct pm_clock clock; /* the last pair; zeroes: none */
	uint64_t end_ns;       /* of the newest sample, by the GPU's clock; 0: none */
	bool is_judged;        /* whether samples are of the clock that is read */
	uint32_t has;          /* of the newest sample whose time is known */
	uint64_t time_ns, values[THINGS_MAX_FIELDS];
	uint64_t lost, noted_lost; /* samples */
	uint64_t overflows, noted_overflows;
	bool has_failed, is_arrival, is_failure_noted, is_arrival_noted;
	struct err why;
};

struct pm {
	struct things things; /* first: its functions serve */
	struct cupti_request request;
	double scales[THINGS_MAX_FIELDS];
	uint64_t interval_ns; /* of samples; 0: it varies */
	size_t stride;        /* words of a sample */
	struct child child;
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;
	struct cupti_message *message; /* owned; the thread's, once it runs */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t flushed_changed;
	struct device devices[CUPTI_MAX_DEVICES];
	struct words waiting; /* the time: by the GPU's clock */
	struct words filled;
	struct clocks clocks;
	size_t clock_at;         /* the next one that the session takes */
	uint32_t asked, flushed; /* numbers of requests */
	uint64_t dropped, noted_dropped;
	bool has_ended, is_end_noted;
	struct err why; /* of the end */

	/* of the session's thread */
	struct words taken;
	bool is_passing;
	size_t at, kept; /* of the pass */
};

static const struct things_kind kind = {.name = "GPU"};

/* --- the thread ------------------------------------------------------------------------------ */

static uint64_t *add_words(struct pm *p, struct words *w)
{
	uint64_t *grown, *at;

	if (w->nr + p->stride > MAX_WORDS)
		return NULL;
	while (w->room < w->nr + p->stride) {
		grown = mem_grow(w->item, w->room, &w->room, sizeof(*w->item));
		if (!grown)
			return NULL;
		w->item = grown;
	}
	at = w->item + w->nr;
	w->nr += p->stride;
	return at;
}

/* A sample that is stored nowhere is counted. */
static void add_sample(struct pm *p, uint32_t device, const uint64_t *values)
{
	uint64_t *to = add_words(p, &p->waiting);

	if (!to) {
		p->dropped++;
		return;
	}
	to[DEVICE] = device;
	to[HAS] = 0;
	to[TIME] = values[1];
	for (uint32_t f = 0; f < p->request.nr_metrics; f++) {
		double value;

		memcpy(&value, &values[2 + f], sizeof(value));
		value = round(value / p->scales[f]);
		if (!(fabs(value) < 9.2e18)) /* no number, or one without room */
			continue;
		to[HAS] |= UINT64_C(1) << f;
		to[VALUES + f] = (uint64_t)(int64_t)value;
	}
}

/* What lies between two samples is lost. */
static void count_lost(const struct pm *p, struct device *d, uint64_t from_ns)
{
	if (d->end_ns && p->interval_ns && from_ns > d->end_ns &&
	    from_ns - d->end_ns < UINT64_MAX / 2)
		d->lost += (from_ns - d->end_ns + p->interval_ns / 2) / p->interval_ns;
}

static void add_samples(struct pm *p, const struct cupti_message *m)
{
	struct device *d = &p->devices[m->device];

	for (uint32_t i = 0; i < m->samples.nr && d->thing; i++) {
		const uint64_t *values = m->samples.values + (size_t)i * m->samples.stride;

		if (values[0] > values[1])
			continue;
		count_lost(p, d, values[0]);
		d->end_ns = values[1];
		add_sample(p, m->device, values);
	}
}

static void store_clock(struct pm *p, uint32_t device, const struct cupti_clock *c)
{
	struct things_clock *stored = p->clocks.nr < MAX_CLOCKS
					  ? MEM_ADD(p->clocks.item, p->clocks.nr, p->clocks.room)
					  : NULL;

	if (stored)
		*stored = (struct things_clock){.number = p->devices[device].thing->number,
						.is_arrival = p->devices[device].is_arrival,
						.clock_ns = c->gpu_ns,
						.before_ns = c->before_ns,
						.after_ns = c->after_ns};
}

/* Makes times of the waiting samples of the device, by the line through two pairs. */
static void convert(struct pm *p, uint32_t device, const struct pm_clock *a,
		    const struct pm_clock *b)
{
	struct device *d = &p->devices[device];

	for (size_t at = 0; at < p->waiting.nr; at += p->stride) {
		uint64_t *w = p->waiting.item + at, *to;

		if (w[DEVICE] != device)
			continue;
		w[TIME] = pm_clock_convert(a, b, w[TIME]);
		d->time_ns = w[TIME];
		d->has = (uint32_t)w[HAS];
		memcpy(d->values, w + VALUES, p->request.nr_metrics * sizeof(*w));
		to = add_words(p, &p->filled);
		if (to)
			memcpy(to, w, p->stride * sizeof(*w));
		else
			p->dropped++;
	}
}

/* Judges once whether the samples' times are of the clock that was read: the newest one would be of
 * the future, or of long before. */
static void judge_clock(struct device *d, const struct cupti_clock *c)
{
	if (d->is_judged || !d->end_ns)
		return;
	d->is_judged = true;
	d->is_arrival = d->end_ns > c->gpu_ns ? d->end_ns - c->gpu_ns > MAX_NEW_NS
					      : c->gpu_ns - d->end_ns > MAX_OLD_NS;
	if (d->is_arrival)
		d->clock = (struct pm_clock){0};
}

static void use_clock(struct pm *p, uint32_t device, struct cupti_clock c)
{
	struct device *d = &p->devices[device];
	struct pm_clock now, before;

	judge_clock(d, &c);
	if (d->is_arrival)
		c.gpu_ns = d->end_ns;
	now = (struct pm_clock){.gpu_ns = c.gpu_ns,
				.ns = c.before_ns + (c.after_ns - c.before_ns) / 2};
	before = d->clock.ns ? d->clock : now;
	convert(p, device, &before, &now);
	d->clock = now;
	store_clock(p, device, &c);
}

static void use_clocks(struct pm *p, const struct cupti_clock *c)
{
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++)
		if (p->devices[i].thing)
			use_clock(p, i, *c);
	p->waiting.nr = 0;
}

static void fail(struct pm *p, const struct cupti_message *m)
{
	struct err e = {0};

	err_set(&e, m->failed.code, "%s", m->failed.text);
	if (m->failed.hint[0])
		err_hint(&e, "%s", m->failed.hint);
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++) {
		if (!p->devices[i].thing || (m->device != UINT32_MAX && m->device != i))
			continue;
		p->devices[i].has_failed = true;
		p->devices[i].why = e;
	}
}

/* Once all its devices have failed, which notes say, the process ends by itself. */
static void end(struct pm *p, const char *why)
{
	if (p->has_ended)
		return;
	p->has_ended = p->is_end_noted = true;
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++)
		p->is_end_noted &= !p->devices[i].thing || p->devices[i].has_failed;
	err_set(&p->why, -EIO, "cpuperf-gpu-pm, which samples GPUs by the vendor's libraries, %s",
		why);
	pthread_cond_broadcast(&p->flushed_changed);
}

static void use_message(struct pm *p, const struct cupti_message *m)
{
	switch (m->kind) {
	case CUPTI_MESSAGE_SAMPLES:
		add_samples(p, m);
		break;
	case CUPTI_MESSAGE_CLOCK:
		use_clocks(p, &m->clock);
		break;
	case CUPTI_MESSAGE_OVERFLOW: /* the gap says how many were lost */
		p->devices[m->device].overflows++;
		break;
	case CUPTI_MESSAGE_FAILED:
		fail(p, m);
		break;
	case CUPTI_MESSAGE_FLUSHED:
		p->flushed = m->flushed;
		pthread_cond_broadcast(&p->flushed_changed);
		break;
	default: /* it is ready once */
		end(p, "sent an invalid message");
		break;
	}
}

static void *run(void *arg)
{
	struct pm *p = arg;
	bool has_ended = false;

	while (!has_ended && !atomic_load(&p->stop)) {
		int rc = pm_link_receive(p->child.fd, &p->request, p->message, POLL_MS);

		if (rc == -ETIMEDOUT)
			continue;
		pthread_mutex_lock(&p->lock);
		if (rc == 0)
			use_message(p, p->message);
		else
			end(p, rc == -EPROTO ? "sent an invalid message" : "has ended");
		has_ended = p->has_ended;
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

/* --- opening --------------------------------------------------------------------------------- */

/* Names the devices and chooses those that the words mean; without words, those that are awake. */
static void choose(struct pm *p, const struct things_choice *choice)
{
	char addresses[CUPTI_MAX_DEVICES][NVIDIA_ADDRESS_BYTES];
	size_t nr = nvidia_list(files, addresses, CUPTI_MAX_DEVICES);

	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++) {
		char *name = p->request.names[i];

		snprintf(name, CUPTI_DEVICE_NAME_BYTES, "nvidia%u", i);
		if (i < nr)
			nvidia_name(files, addresses[i], name);
		if (choice->nr ? things_match(choice, name)
			       : i >= nr || nvidia_is_awake(files, addresses[i]))
			p->request.devices |= 1u << i;
		else if (!choice->nr)
			things_add_note(&p->things,
					"%s is suspended and is not sampled: the key devices wakes "
					"those that it names",
					name);
	}
}

static void fill_request(struct pm *p, const struct things_choice *choice,
			 const struct things_named *named)
{
	p->request.interval_ns =
	    named->every_ns < PM_MAX_EVERY_NS ? named->every_ns : PM_MAX_EVERY_NS;
	choose(p, choice);
	p->request.nr_metrics = (uint32_t)named->nr;
	for (size_t i = 0; i < named->nr; i++) {
		snprintf(p->request.metrics[i], CUPTI_NAME_BYTES, "%s", named->names[i]);
		p->scales[i] = named->scales[i];
	}
	p->stride = VALUES + named->nr;
}

static int add_things(struct pm *p, uint32_t devices)
{
	struct thing *thing;
	int rc = 0;

	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES && rc == 0; i++) {
		const char *name = p->request.names[i];

		if (devices & p->request.devices & 1u << i)
			rc = things_add(&p->things, name, strlen(name), &thing);
	}
	for (uint32_t i = 0, k = 0; i < CUPTI_MAX_DEVICES && rc == 0; i++)
		if (devices & p->request.devices & 1u << i)
			p->devices[i].thing = &p->things.list[k++];
	return rc;
}

/* A signal ends no waiting. */
static int receive_until(struct pm *p, uint64_t until_ns)
{
	uint64_t now_ns;
	int rc = -ETIMEDOUT;

	while (rc == -ETIMEDOUT && (now_ns = clock_monotonic_ns()) < until_ns)
		rc = pm_link_receive(p->child.fd, &p->request, p->message,
				     (unsigned)((until_ns - now_ns) / NS_PER_MS) + 1);
	return rc;
}

/* Why those devices did not begin. */
static int hear_failures(struct pm *p, uint32_t failed, uint64_t until_ns, struct err *e)
{
	for (; failed; failed &= failed - 1) {
		int rc = receive_until(p, until_ns);

		if (rc || p->message->kind != CUPTI_MESSAGE_FAILED)
			return err_set(e, -EIO,
				       "cpuperf-gpu-pm does not say why a GPU is not sampled");
		fail(p, p->message);
	}
	return 0;
}

static void note_unmatched(struct pm *p, const struct things_choice *choice)
{
	for (size_t i = 0; i < choice->nr; i++) {
		const struct things_choice word = {.words = &choice->words[i], .nr = 1};

		if (!ARRAY_ANY(x, p->things.list, p->things.nr, things_match(&word, x->name)))
			things_add_note(&p->things, "there is no GPU \"%s\" that can be sampled",
					choice->words[i]);
	}
}

/* Waits until sampling has begun. */
static int hear_start(struct pm *p, struct err *e)
{
	uint64_t until_ns = clock_monotonic_ns() + (uint64_t)start_ms * NS_PER_MS;
	int rc = receive_until(p, until_ns);
	uint32_t failed;

	if (rc == -ETIMEDOUT)
		return err_set(e, -EIO, "the vendor's libraries did not begin to sample in %u s",
			       start_ms / 1000);
	if (rc == 0 && p->message->kind == CUPTI_MESSAGE_FAILED) {
		rc = err_set(e, p->message->failed.code, "%s", p->message->failed.text);
		if (p->message->failed.hint[0])
			err_hint(e, "%s", p->message->failed.hint);
		return rc;
	}
	if (rc || p->message->kind != CUPTI_MESSAGE_READY)
		return err_set(e, -EIO, "the vendor's libraries ended cpuperf-gpu-pm at its start");
	p->interval_ns = p->message->ready.interval_ns;
	if (!p->interval_ns)
		things_add_note(&p->things, "this GPU counts in cycles of its clock: samples are "
					    "as long as so many cycles last, "
					    "and lost ones cannot be counted");
	failed = p->message->ready.failed;
	rc = add_things(p, p->message->ready.devices | failed);
	return rc ? rc : hear_failures(p, failed, until_ns, e);
}

static int start(struct pm *p, struct err *e)
{
	int rc = pm_link_start(&p->child, &p->request, e) ?: hear_start(p, e);

	if (rc)
		return rc;
	rc = thread_start_blocked(&p->thread, run, p);
	p->has_thread = rc == 0;
	return rc ? err_set(e, rc, "no thread for the samples of GPUs: %s", strerror(-rc)) : 0;
}

static void pm_close(void *state)
{
	struct pm *p = state;

	atomic_store(&p->stop, true);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	child_end(&p->child, END_MS);
	pthread_cond_destroy(&p->flushed_changed);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->message);
	mem_free(p->waiting.item);
	mem_free(p->filled.item);
	mem_free(p->taken.item);
	mem_free(p->clocks.item);
	things_fini(&p->things);
	mem_free(p);
}

static int pm_open(const struct root *root, const struct things_choice *choice,
		   const struct things_named *named, void **state, struct err *e)
{
	struct pm *p;
	int rc;

	if (root->dir[0]) /* another machine's files */
		return err_set(e, -ENODEV,
			       "NVIDIA's counters are read on the machine that has the GPU");
	p = mem_zalloc(sizeof(*p));
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->child = CHILD_NONE;
	things_init(&p->things, &kind, root, 0);
	p->message = mem_alloc(sizeof(*p->message));
	rc = thread_cond_init(&p->flushed_changed) ?: -pthread_mutex_init(&p->lock, NULL);
	fill_request(p, choice, named);
	rc = rc ?: p->message ? 0 : -ENOMEM;
	rc = rc ?: things_check_words(&p->things, choice, e);
	if (rc == 0 && !p->request.devices)
		rc = err_set(e, -ENODEV,
			     "all GPUs are suspended, or no device is one of the "
			     "first 16");
	rc = rc ?: start(p, e);
	if (rc) {
		pm_close(p);
		return e->code ? rc : err_set(e, rc, "%s", strerror(-rc));
	}
	note_unmatched(p, choice);
	*state = p;
	return 0;
}

/* --- the session ----------------------------------------------------------------------------- */

/* Notes each failure once, and losses since the last reading. */
static void note_device(struct pm *p, struct device *d)
{
	uint64_t lost = d->lost - d->noted_lost;

	if (d->has_failed && !d->is_failure_noted)
		things_add_note(&p->things, "%s: it is %s", d->why.msg,
				d->end_ns ? "sampled no more" : "not sampled");
	if (d->is_arrival && !d->is_arrival_noted)
		things_add_note(&p->things,
				"the times of %s's samples are not by the clock that CUPTI reads: "
				"they are those of their arrival, up to a second late",
				d->thing->shown);
	if (lost)
		things_add_note(&p->things, "%llu samples of %s were lost%s",
				(unsigned long long)lost, d->thing->shown,
				d->overflows != d->noted_overflows
				    ? ": the buffer of the hardware was full"
				    : ", or not taken by the GPU");
	else if (d->overflows != d->noted_overflows && !p->interval_ns)
		things_add_note(&p->things,
				"samples of %s were lost: the buffer of the hardware was full",
				d->thing->shown);
	d->is_failure_noted = d->has_failed;
	d->is_arrival_noted = d->is_arrival;
	d->noted_lost = d->lost;
	d->noted_overflows = d->overflows;
}

static void note_all(struct pm *p)
{
	uint64_t dropped = p->dropped - p->noted_dropped;

	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++)
		if (p->devices[i].thing)
			note_device(p, &p->devices[i]);
	if (dropped)
		things_add_note(
		    &p->things,
		    "%llu samples of GPUs were dropped: there was no room for them until "
		    "the end of the iteration",
		    (unsigned long long)dropped);
	p->noted_dropped = p->dropped;
	if (p->has_ended && !p->is_end_noted)
		things_add_note(&p->things, "%s: the events of gpu:pm/ end there", p->why.msg);
	p->is_end_noted |= p->has_ended;
}

/* Also asks for what was sampled until now, which flush waits for. */
static int pm_read(void *state)
{
	struct pm *p = state;
	uint32_t all = p->request.nr_metrics == 32 ? UINT32_MAX : (1u << p->request.nr_metrics) - 1;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++) {
		struct device *d = &p->devices[i];
		struct thing *t = d->thing;

		if (!t)
			continue;
		t->failed = p->has_ended || d->has_failed ? all : 0;
		t->time_ns = t->failed || !d->time_ns ? clock_monotonic_ns() : d->time_ns;
		t->has = t->failed ? 0 : d->has;
		t->absent = 0;
		memcpy(t->values, d->values, sizeof(d->values));
	}
	note_all(p);
	p->asked++;
	if (!p->has_ended)
		pm_link_ask(p->child.fd, p->asked);
	pthread_mutex_unlock(&p->lock);
	return things_done(&p->things, 0);
}

static void pm_flush(void *state)
{
	struct pm *p = state;
	const struct proc *process = PROC(&root_live, (uint32_t)p->child.pid);
	unsigned blocked_ms = 0, ready_ms = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->has_ended && p->flushed != p->asked && blocked_ms < asked_ms &&
	       ready_ms < MAX_READY * asked_ms) {
		uint64_t until_ns = clock_monotonic_ns() + (uint64_t)POLL_MS * NS_PER_MS;

		if (thread_cond_wait(&p->flushed_changed, &p->lock, until_ns))
			*(proc_is_ready(process) ? &ready_ms : &blocked_ms) += POLL_MS;
	}
	if (p->flushed != p->asked)
		end(p, "does not answer");
	pthread_mutex_unlock(&p->lock);
}

/* Adds what is filled to what the session takes. What finds no memory waits. */
static void take_filled(struct pm *p)
{
	struct words empty = p->taken;

	pthread_mutex_lock(&p->lock);
	if (!p->taken.nr) {
		p->taken = p->filled;
		p->filled = empty;
	} else if (p->filled.nr) {
		size_t at = 0;
		uint64_t *to;

		for (; at < p->filled.nr && (to = add_words(p, &p->taken)); at += p->stride)
			memcpy(to, p->filled.item + at, p->stride * sizeof(*to));
		p->filled.nr -= at;
		memmove(p->filled.item, p->filled.item + at, p->filled.nr * sizeof(*to));
	}
	pthread_mutex_unlock(&p->lock);
}

/* The newest sample that the session took stands for the reading before it. */
static void set_thing(const struct pm *p, const uint64_t *w)
{
	struct thing *t = p->devices[w[DEVICE]].thing;

	if (t->failed)
		return;
	t->time_ns = w[TIME];
	t->has = (uint32_t)w[HAS];
	memcpy(t->values, w + VALUES, p->request.nr_metrics * sizeof(*w));
}

/* A pass over the list returns what is old enough and keeps the rest: samples of several GPUs come
 * in turns, each with some of its own. */
static bool pm_sample(void *state, uint64_t until_ns, struct things_sample *out)
{
	struct pm *p = state;

	if (!p->is_passing) {
		take_filled(p);
		p->is_passing = true;
		p->at = p->kept = 0;
	}
	while (p->at < p->taken.nr) {
		uint64_t *w = p->taken.item + p->at;

		p->at += p->stride;
		if (w[TIME] <= until_ns) {
			set_thing(p, w);
			*out = (struct things_sample){.number = p->devices[w[DEVICE]].thing->number,
						      .time_ns = w[TIME],
						      .has = (uint32_t)w[HAS],
						      .values = w + VALUES};
			return true;
		}
		memmove(p->taken.item + p->kept, w, p->stride * sizeof(*w));
		p->kept += p->stride;
	}
	p->taken.nr = p->kept;
	p->is_passing = false;
	return false;
}

static bool pm_clock(void *state, uint64_t until_ns, struct things_clock *out)
{
	struct pm *p = state;
	bool has;

	pthread_mutex_lock(&p->lock);
	has = p->clock_at < p->clocks.nr && p->clocks.item[p->clock_at].before_ns <= until_ns;
	if (has)
		*out = p->clocks.item[p->clock_at++];
	if (p->clock_at == p->clocks.nr)
		p->clock_at = p->clocks.nr = 0;
	pthread_mutex_unlock(&p->lock);
	return has;
}

const struct things_source pm_source = {
    .name = "pm",
    .every_ns = PM_DEFAULT_EVERY_NS,
    .open_named = pm_open,
    .close = pm_close,
    .read = pm_read,
    .nr = things_nr,
    .get = things_get,
    .flush = pm_flush,
    .sample = pm_sample,
    .clock = pm_clock,
    .note = things_note,
};
