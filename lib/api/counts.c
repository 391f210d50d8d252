/*
 * Counters that a program starts, reads and stops.
 */
#include "api/counters.h"
#include "api/described.h"
#include "api/fail.h"
#include "api/image.h"
#include "api/owned_spec.h"
#include "api/whom.h"
#include "base/mem.h"
#include "estimate/running.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Counts of an event's parts at the last reset. */
struct base {
	uint64_t raw, enabled_ns, running_ns;
};

struct cpuperf_counts {
	struct cpuperf_spec *spec; /* a user of it */
	struct plan plan;
	struct api_whom whom;
	struct api_counters counters;
	struct base *bases;           /* owned; per part */
	struct cpuperf_event *events; /* owned */
	uint64_t *own;                /* owned; per event: what start and stop count */
	uint32_t image;               /* of the process that opened it */
	atomic_flag is_busy;          /* a thread is in a call */
};

/* Each public call begins with it, and ends with leave if it returned 0. */
static int enter(struct cpuperf_counts *c, struct cpuperf_error *e)
{
	api_fail_clear(e);
	if (!c)
		return api_fail_use(e, -EINVAL, "there are no counters: the pointer is NULL",
				    "open them with cpuperf_counts_open");
	if (!api_image_is_current(c->image))
		return api_fail_use(e, -ECHILD, "these counters are of the parent process",
				    "open others after fork");
	if (atomic_flag_test_and_set_explicit(&c->is_busy, memory_order_acquire))
		return api_fail_use(e, -EBUSY, "another thread is using these counters",
				    "use them in one thread at a time, or open some for each");
	return 0;
}

static int leave(struct cpuperf_counts *c, int rc, const char *what, struct cpuperf_error *error)
{
	struct err e = {0};

	atomic_flag_clear_explicit(&c->is_busy, memory_order_release);
	if (rc == 0)
		return 0;
	err_set(&e, rc, "the counters cannot be %s: %s", what, strerror(-rc));
	return api_fail(error, &e);
}

static bool is_of_caller(const struct cpuperf_counts *c)
{
	return c->whom.scope == CPUPERF_THREAD && c->whom.id == 0;
}

static void set_bases(struct cpuperf_counts *c)
{
	api_counters_read(&c->counters);
	for (size_t k = 0; k < c->plan.nr_parts; k++) {
		const struct api_counter *part = &c->counters.parts[k];

		c->bases[k] = (struct base){part->raw, part->enabled_ns, part->running_ns};
	}
}

/* What the event counted since the last reset, by the last reading. */
static uint64_t raw_of(const struct cpuperf_counts *c, size_t i)
{
	const struct plan_event *p = &c->plan.events[i];
	uint64_t raw = 0;

	for (size_t k = p->first_part; k < p->first_part + p->nr_parts; k++)
		raw += c->counters.parts[k].raw - c->bases[k].raw;
	return raw;
}

/* Starts and stops once with nothing between. The first ones also bring the code and the stack of
 * these calls into memory, so that they have no faults later. */
static void rehearse(struct cpuperf_counts *c)
{
	enum { NR = 5 };

	for (unsigned n = 0; n < NR; n++) {
		set_bases(c);
		(void)api_counters_switch(&c->counters, true);
		(void)api_counters_switch(&c->counters, false);
		api_counters_read(&c->counters);
		for (size_t i = 0; i < c->plan.nr_events && is_of_caller(c); i++) {
			uint64_t raw = raw_of(c, i);

			if (n == 0 || raw < c->own[i])
				c->own[i] = raw;
		}
	}
	set_bases(c);
}

static int fail_all(const struct cpuperf_counts *c, struct cpuperf_error *error)
{
	const struct event_support *why = &c->counters.support[0];
	int code = why->state == READING_NO_PERMISSION ? -EACCES
		   : why->state == READING_LIMIT       ? -EMFILE
						       : -ENOTSUP;
	struct err e = {0};

	err_set(&e, code, "none of the %zu event(s) can be counted: %s: %s", c->plan.nr_events,
		c->plan.events[0].label, why->reason);
	if (why->hint[0])
		err_hint(&e, "%s", why->hint);
	return api_fail(error, &e);
}

static int describe(struct cpuperf_counts *c, struct cpuperf_error *e)
{
	size_t nr_working = 0;

	for (size_t i = 0; i < c->plan.nr_events; i++) {
		const struct plan_event *p = &c->plan.events[i];

		api_described(&p->event, p->label, &c->counters.support[i], &c->events[i]);
		nr_working += c->events[i].works != 0;
	}
	return nr_working ? 0 : fail_all(c, e);
}

/* Of others, nobody can read it so. */
static enum api_usage_of usage_of(const struct api_whom *w)
{
	if (w->flags)
		return API_USAGE_NONE;
	if (w->scope == CPUPERF_THREAD && w->id == 0)
		return API_USAGE_OF_THREAD;
	return w->scope == CPUPERF_PROCESS && w->id == getpid() ? API_USAGE_OF_PROCESS
								: API_USAGE_NONE;
}

static int open_once(struct cpuperf_counts *c, struct cpuperf_error *error)
{
	const struct api_counters_use use = {.is_inherited = api_whom_is_inherited(&c->whom),
					     .stays_in_process =
						 api_whom_stays_in_process(&c->whom),
					     .is_own_thread = is_of_caller(c) && !c->whom.flags,
					     .usage = usage_of(&c->whom)};
	struct err e = {0};
	int rc = api_whom_list(&c->whom, &e);

	if (rc)
		return api_fail(error, &e);
	c->plan.target = (struct plan_target){.ids = c->whom.ids,
					      .nr_ids = c->whom.nr_ids,
					      .is_process_only = use.stays_in_process,
					      .is_user_only = c->whom.is_user_only};
	api_counters_close(&c->counters);
	c->counters = (struct api_counters){
	    .plan = &c->plan,
	    .pmu = &pmu_kernel_ops,
	    .cpu = c->whom.scope == CPUPERF_CPU ? c->whom.id : -1,
	};
	return api_counters_open(&c->counters, &use) ? api_fail_memory(error) : 0;
}

/* Threads that were created meanwhile may not be counted: then all is opened again. */
static int open_counters(struct cpuperf_counts *c, struct cpuperf_error *error)
{
	enum { NR_TRIES = 10 };
	struct err e = {0};

	for (unsigned i = 0; i < NR_TRIES; i++) {
		int rc = open_once(c, error);

		if (rc || !api_whom_has_new(&c->whom))
			return rc;
	}
	err_set(&e, -EAGAIN, "process %d creates threads faster than counters are opened",
		c->whom.id);
	err_hint(&e, "try again, or count its threads one by one (CPUPERF_THREAD)");
	return api_fail(error, &e);
}

static int make(struct cpuperf_counts *c, struct cpuperf_error *error)
{
	struct err e = {0};
	int rc = api_spec_plan(c->spec, &c->plan, error);

	if (rc)
		return rc;
	if (api_whom_check(&c->whom, &c->spec->host, &e))
		return api_fail(error, &e);
	c->bases = mem_calloc(c->plan.nr_parts, sizeof(*c->bases));
	c->events = mem_calloc(c->plan.nr_events, sizeof(*c->events));
	c->own = mem_calloc(c->plan.nr_events, sizeof(*c->own));
	if (!c->bases || !c->events || !c->own)
		return api_fail_memory(error);
	rc = api_image_enter(&c->image);
	if (rc) {
		err_set(&e, rc, "no memory that a forked child does not have: %s", strerror(-rc));
		return api_fail(error, &e);
	}
	return open_counters(c, error) ?: describe(c, error);
}

static int open_spec(struct cpuperf_counts **out, const struct cpuperf_spec *spec,
		     const struct api_whom *whom, struct cpuperf_error *e)
{
	struct cpuperf_counts *c = mem_zalloc(sizeof(*c));
	int rc;

	if (!c)
		return api_fail_memory(e);
	c->spec = api_spec_share(spec);
	c->whom = *whom;
	rc = make(c, e);
	if (rc) {
		cpuperf_counts_close(c);
		return rc;
	}
	rehearse(c);
	*out = c;
	return 0;
}

static int check_open(struct cpuperf_counts **out, const void *what, struct cpuperf_error *e)
{
	api_fail_clear(e);
	if (out)
		*out = NULL;
	return out && what ? 0 : api_fail_use(e, -EINVAL, "a parameter is NULL", NULL);
}

int cpuperf_counts_open_spec(struct cpuperf_counts **out, const struct cpuperf_spec *spec,
			     enum cpuperf_scope scope, int id, unsigned flags,
			     struct cpuperf_error *e)
{
	const struct api_whom whom = {.scope = scope, .id = id, .flags = flags};

	return check_open(out, spec, e) ?: open_spec(out, spec, &whom, e);
}

static int check_rates(const struct cpuperf_spec *spec, struct cpuperf_error *error)
{
	struct err e = {0};

	for (size_t i = 0; i < spec->spec.nr_events; i++) {
		const struct spec_event *one = &spec->spec.events[i];

		if (!one->rate && !one->frequency)
			continue;
		err_set(&e, -EINVAL, "%s: counters take no samples, so it has no rate",
			one->event_name);
		err_hint(&e, "leave out what follows @, or sample it in a session");
		return api_fail(error, &e);
	}
	return 0;
}

int cpuperf_counts_open(struct cpuperf_counts **out, const char *events, enum cpuperf_scope scope,
			int id, struct cpuperf_error *e)
{
	const struct api_whom whom = {.scope = scope, .id = id};
	struct cpuperf_spec *spec = NULL;
	int rc = check_open(out, events, e) ?: cpuperf_spec_new(&spec, e);

	if (rc)
		return rc;
	rc = cpuperf_spec_add(spec, events, e) ?: check_rates(spec, e) ?: open_spec(out, spec, &whom, e);
	cpuperf_spec_free(spec);
	return rc;
}

void cpuperf_counts_close(struct cpuperf_counts *c)
{
	if (!c)
		return;
	api_counters_close(&c->counters);
	api_whom_fini(&c->whom);
	plan_fini(&c->plan);
	cpuperf_spec_free(c->spec);
	mem_free(c->bases);
	mem_free(c->events);
	mem_free(c->own);
	mem_free(c);
}

size_t cpuperf_counts_nr(const struct cpuperf_counts *c)
{
	return c ? c->plan.nr_events : 0;
}

const struct cpuperf_event *cpuperf_counts_event(const struct cpuperf_counts *c, size_t i)
{
	return i < cpuperf_counts_nr(c) ? &c->events[i] : NULL;
}

int cpuperf_counts_start(struct cpuperf_counts *c, struct cpuperf_error *e)
{
	int rc = enter(c, e);

	/* the error is formatted after counting has begun only if there is one */
	return rc ?: leave(c, api_counters_switch(&c->counters, true), "started", e);
}

int cpuperf_counts_stop(struct cpuperf_counts *c, struct cpuperf_error *e)
{
	int rc = enter(c, e);

	return rc ?: leave(c, api_counters_switch(&c->counters, false), "stopped", e);
}

int cpuperf_counts_reset(struct cpuperf_counts *c, struct cpuperf_error *e)
{
	int rc = enter(c, e);

	if (rc)
		return rc;
	set_bases(c);
	return leave(c, 0, "reset", e);
}

/* Adds the part's counts; false: it was enabled, and never ran. */
static bool add_part(const struct cpuperf_counts *c, size_t k, struct cpuperf_value *v)
{
	const struct api_counter *part = &c->counters.parts[k];
	uint64_t raw = part->raw - c->bases[k].raw, scaled;
	uint64_t enabled_ns = part->enabled_ns - c->bases[k].enabled_ns;
	uint64_t running_ns = part->running_ns - c->bases[k].running_ns;
	bool has_run = running_scale(raw, enabled_ns, running_ns, &scaled);

	v->raw += raw;
	v->enabled_ns += enabled_ns;
	v->running_ns += running_ns;
	v->value += has_run ? (double)scaled : 0;
	return has_run;
}

static const char *state_of(const struct cpuperf_value *v, bool has_run, bool has_failed)
{
	if (has_failed)
		return reading_state_name(READING_FAILED);
	if (!has_run)
		return "not counted";
	return v->share < 1 ? "scaled" : "ok";
}

/* Of a share in percent: of the second part, or of the time in which the only one ran. */
static bool set_share(const struct cpuperf_counts *c, size_t i, struct cpuperf_value *v)
{
	const struct plan_event *p = &c->plan.events[i];
	size_t k = p->first_part;
	uint64_t whole = c->counters.parts[k].running_ns - c->bases[k].running_ns;

	v->raw = c->counters.parts[k].raw - c->bases[k].raw;
	if (p->nr_parts > 1)
		whole = c->counters.parts[k + 1].raw - c->bases[k + 1].raw;
	v->value = whole ? 100.0 * (double)v->raw / (double)whole : 0;
	return whole != 0;
}

static void set_value(const struct cpuperf_counts *c, size_t i, struct cpuperf_value *v)
{
	const struct plan_event *p = &c->plan.events[i];
	double scale = p->event.row->scale;
	bool has_run = true, has_failed = false;

	*v = (struct cpuperf_value){.share = 1, .own = c->own[i]};
	v->state = reading_state_name(c->counters.support[i].state);
	if (!c->events[i].works)
		return;
	for (size_t k = p->first_part; k < p->first_part + p->nr_parts; k++) {
		has_run &= add_part(c, k, v);
		has_failed |= c->counters.parts[k].has_failed;
	}
	v->share = running_share(v->enabled_ns, v->running_ns);
	if (p->event.row->kind == EVENT_SHARE)
		has_run &= set_share(c, i, v);
	else
		v->value *= scale != 0 ? scale : 1;
	v->has_value = has_run && !has_failed;
	v->state = state_of(v, has_run, has_failed);
	if (v->has_value && c->counters.parts[p->first_part].is_usage)
		v->state = "usage";
}

int cpuperf_counts_read_sized(struct cpuperf_counts *c, struct cpuperf_value *values, size_t nr,
			      size_t stride, struct cpuperf_error *e)
{
	struct cpuperf_value v;
	int rc = enter(c, e);

	if (rc)
		return rc;
	api_counters_read(&c->counters);
	if ((nr && !values) || nr > c->plan.nr_events || stride < sizeof(v.size)) {
		atomic_flag_clear_explicit(&c->is_busy, memory_order_release);
		return api_fail_use(e, -ERANGE, "there are not so many events",
				    "cpuperf_counts_nr returns their number");
	}
	for (size_t i = 0; i < nr; i++) {
		set_value(c, i, &v);
		v.size = stride < sizeof(v) ? stride : sizeof(v);
		memcpy((char *)values + i * stride, &v, v.size);
	}
	return leave(c, 0, "read", e);
}
