/*
 * From spec to plan.
 */
#include "plan/plan.h"

#include "base/array.h"
#include "base/mem.h"
#include "bpf/aggregate.h"
#include "event/model.h"
#include "plan/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LABEL_BYTES = 1 << 20, MADE_NUMBER = 1024 };

/* Adds an error from code that does not know positions, with its position in the spec. */
static int report(const struct spec *spec, struct spec_pos pos, struct err *e,
		  struct err_list *errs)
{
	snprintf(e->source, sizeof(e->source), "%s", spec->source ? spec->source : "");
	e->line = pos.line;
	e->column = pos.column;
	err_list_insert(errs, e);
	return e->code;
}

/* Adds an error that has its place: of an option. */
static int report_there(struct err *e, struct err_list *errs)
{
	err_list_insert(errs, e);
	return e->code;
}

/* Of its rate or frequency, where that was set. */
static int report_pace(const struct spec *spec, const struct spec_event *asked, struct err *e,
		       struct err_list *errs)
{
	if (!asked->paced_by)
		return report(spec, asked->frequency ? asked->frequency_pos : asked->rate_pos, e,
			      errs);
	snprintf(e->source, sizeof(e->source), "%s", asked->paced_by);
	return report_there(e, errs);
}

static enum plan_set counted_set(const struct plan_event *p)
{
	if (!event_is_perf(&p->event) || p->event.row->missing)
		return PLAN_NO_SET;
	if (p->source->is_alone)
		return PLAN_ALONE;
	switch (p->event.group->id) {
	case EVENT_GROUP_SOFTWARE:
	case EVENT_GROUP_TRACEPOINT: /* also counted by the kernel */
		return PLAN_SOFTWARE;
	case EVENT_GROUP_MISC:
	case EVENT_GROUP_GPU:
		return PLAN_ALONE;
	default:
		return PLAN_HARDWARE;
	}
}

static enum plan_set set_of(const struct plan *plan, const struct plan_event *p)
{
	enum plan_set counted = counted_set(p);

	if (counted == PLAN_NO_SET || p->source->is_in_target) /* no ring has its samples */
		return counted;
	if (p == plan->timebase)
		return PLAN_TIMEBASE;
	if (spec_event_is_sampled(p->asked))
		return PLAN_SAMPLING;
	if (p->asked->flags & SPEC_PINNED) /* only a group leader can be pinned */
		return PLAN_ALONE;
	return plan->timebase && counted != PLAN_ALONE ? PLAN_TIMEBASE : counted;
}

static int add_parts(struct plan *plan, size_t i)
{
	struct plan_event *p = &plan->events[i];
	uint32_t nr = p->set == PLAN_NO_SET ? 1 : event_nr_parts(&p->event);
	struct plan_part *grown =
	    mem_resize(plan->parts, (plan->nr_parts + nr) * sizeof(*plan->parts));

	if (!grown)
		return -ENOMEM;
	plan->parts = grown;
	p->first_part = (uint32_t)plan->nr_parts;
	p->nr_parts = nr;
	for (uint32_t k = 0; k < nr; k++) {
		struct plan_part *part = &grown[plan->nr_parts++];

		*part = (struct plan_part){.event = (uint32_t)i, .part = {.pmu = ""}};
		if (p->set != PLAN_NO_SET)
			event_part(&p->event, k, &part->part);
	}
	return 0;
}

static bool is_sampled_wait(const struct plan_event *p)
{
	return p->set == PLAN_SAMPLING && p->source->has_switches;
}

bool plan_is_by_switches(const struct plan *plan, const struct plan_event *p)
{
	return plan->records_switches && is_sampled_wait(p);
}

bool plan_is_of_target(const struct plan *plan, const struct plan_event *p)
{
	return plan->target.nr_ids && p->set != PLAN_NO_SET &&
	       (counted_set(p) != PLAN_ALONE || plan_is_by_switches(plan, p) ||
		p->source->is_in_target);
}

bool plan_is_of_tasks(const struct plan *plan, const struct plan_event *p)
{
	return plan_is_of_target(plan, p) && !plan->target.is_cgroup;
}

bool plan_is_selected(const struct plan *plan, const struct plan_event *p)
{
	const struct spec_target *t = &plan->spec->target;

	return (t->has_short_tasks || t->tries_short_tasks) && p->set == PLAN_SAMPLING &&
	       event_is_clock(&p->event) && plan_is_of_tasks(plan, p) &&
	       plan->target.has_all_threads && !p->asked->is_aggregated &&
	       !plan->target.is_user_only;
}

bool plan_is_of_processes(const struct plan *plan, const struct plan_event *p)
{
	const char *choice = p->event.row->choice;

	return plan->target.nr_ids && !p->asked->choice.key && choice &&
	       strcmp(choice, "pids") == 0;
}

struct follow_config plan_follow(const struct plan *plan)
{
	const struct plan_target *t = &plan->target;

	return (struct follow_config){.has_target = t->nr_ids && !t->is_cgroup,
				      .has_children = !t->is_process_only,
				      .is_command = t->is_command,
				      .has_cgroup = t->is_cgroup,
				      .cgroup = t->is_cgroup ? t->ids[0] : -1};
}

unsigned plan_flags(const struct plan *plan, const struct plan_event *p)
{
	bool is_cut = plan->target.is_user_only && plan_is_of_target(plan, p);

	return is_cut ? p->asked->flags & ~(unsigned)SPEC_OS : p->asked->flags;
}

/* Faults of user mode, which the kernel counts as such. */
static bool is_in_user_mode(const struct plan_event *p)
{
	return strstr(p->event.row->name, "faults") &&
	       (p->asked->flags & (SPEC_OS | SPEC_USER)) == SPEC_USER;
}

bool plan_is_refused(const struct plan *plan, const struct plan_event *p)
{
	return plan->target.is_user_only && plan_is_of_target(plan, p) &&
	       p->event.group->id == EVENT_GROUP_SOFTWARE && !event_is_clock(&p->event) &&
	       !is_in_user_mode(p);
}

static bool is_on_any_cpu(const struct plan *plan, const struct plan_event *p)
{
	return plan_is_of_tasks(plan, p) &&
	       (p->source->is_in_target ||
		(plan->has_all_cpus && p->set != PLAN_SAMPLING && p->set != PLAN_TIMEBASE));
}

uint32_t plan_nr_traces(const struct plan *plan)
{
	return plan->nr_cpus + (plan->target.nr_ids != 0);
}

bool plan_part_is_on(const struct plan *plan, const struct plan_part *p, uint32_t cpu)
{
	bool is_anywhere = is_on_any_cpu(plan, &plan->events[p->event]);

	if (is_anywhere || cpu == PLAN_ANY_CPU)
		return is_anywhere && cpu == PLAN_ANY_CPU;
	return !p->part.cpus || cpuset_has(p->part.cpus, cpu);
}

uint32_t *plan_list_cpus(const struct plan *plan)
{
	uint32_t *cpus = mem_calloc(plan->nr_cpus, sizeof(*cpus)), nr = 0;

	for (int cpu = cpuset_next(&plan->cpus, 0); cpu >= 0 && cpus;
	     cpu = cpuset_next(&plan->cpus, (unsigned)cpu + 1))
		cpus[nr++] = (uint32_t)cpu;
	return cpus;
}

void plan_event_cpus(const struct plan *plan, const struct plan_event *p, struct cpuset *out)
{
	cpuset_clear(out);
	for (int cpu = cpuset_next(&plan->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(&plan->cpus, (unsigned)cpu + 1))
		for (uint32_t k = 0; k < p->nr_parts; k++)
			if (plan_part_is_on(plan, &plan->parts[p->first_part + k], (uint32_t)cpu))
				cpuset_add(out, (unsigned)cpu);
}

static int resolve(const struct spec *spec, const struct spec_event *asked,
		   const struct catalogue *c, struct event *out, struct err_list *errs)
{
	struct err e = {0};
	int rc = (asked->flags & SPEC_OPTIONAL ? catalogue_find_optional : catalogue_find)(
	    c, asked->group_name, asked->event_name, out, &e);

	return rc ? report(spec, asked->name_pos, &e, errs) : 0;
}

/* Refuses os or user alone for an event that cannot distinguish them: the number would be wrong or
 * always 0. */
static int check_flags(const struct spec *spec, const struct plan_event *p, struct err_list *errs)
{
	unsigned flags = p->asked->flags & (SPEC_OS | SPEC_USER);
	unsigned alone = flags == SPEC_OS     ? EVENT_ALONE_OS
			 : flags == SPEC_USER ? EVENT_ALONE_USER
					      : 0;
	unsigned may = event_alone(&p->event, spec_event_is_sampled(p->asked));
	const struct event_row *row = p->event.row;
	struct err e = {0};

	if (!alone || may & alone)
		return 0;
	err_set(&e, -EINVAL, "%s:%s: the flag \"%s\" alone has no meaning: %s",
		p->event.group->name, row->name, flags == SPEC_OS ? "os" : "user",
		may ? "the event occurs in the kernel only"
		    : "user and kernel cannot be separated");
	err_hint(&e, "omit both flags, or set both");
	return report(spec, p->asked->flags_pos.line ? p->asked->flags_pos : p->asked->pos, &e,
		      errs);
}

/* The kernel silently lengthens a shorter period of a clock (perf_swevent_init_hrtimer() and
 * perf_swevent_start_hrtimer() in kernel/events/core.c). */
enum { MIN_CLOCK_PERIOD_NS = 10000 };

static int check_period(const struct spec *spec, const struct plan_event *p, struct err_list *errs)
{
	struct err e = {0};

	if (!event_is_clock(&p->event) || !p->asked->rate || p->asked->rate >= MIN_CLOCK_PERIOD_NS)
		return 0;
	err_set(&e, -EINVAL,
		"%s:%s: a rate of %" PRIu64
		" ns: the kernel takes %d ns instead, and does not say so",
		p->event.group->name, p->event.row->name, p->asked->rate, MIN_CLOCK_PERIOD_NS);
	err_hint(&e, "a clock's rate is the time between two samples in ns: 1000000 is 1 kHz");
	return report_pace(spec, p->asked, &e, errs);
}

/* Samples per second, if known in advance; 0: unknown. */
static uint64_t samples_per_s(const struct plan_event *p)
{
	if (p->asked->frequency)
		return p->asked->frequency;
	return event_is_clock(&p->event) && p->asked->rate ? 1000000000 / p->asked->rate : 0;
}

static int check_speed(const struct plan *plan, const struct plan_event *p, struct err_list *errs)
{
	const uint64_t wanted = p->source->is_in_target ? 0 : samples_per_s(p);
	const uint64_t limit = wanted ? host_max_sample_rate(plan->host) : 0;
	struct err e = {0};

	if (!limit || wanted <= limit)
		return 0;
	err_set(&e, -EINVAL,
		"%s:%s: %" PRIu64 " samples per second are above this machine's limit of %" PRIu64,
		p->event.group->name, p->event.row->name, wanted, limit);
	err_hint(&e,
		 "sample less often, or raise the limit: sysctl "
		 "kernel.perf_event_max_sample_rate=%" PRIu64,
		 wanted);
	return report_pace(plan->spec, p->asked, &e, errs);
}

/* Flags that the machine or the kernel would silently ignore. */
enum { USE_FLAGS = SPEC_LAST_BRANCH | SPEC_PRECISE | SPEC_NO_IDLE | SPEC_GUEST };

/* Refuses flags without effect here. An event that cannot be measured at all is only a warning. */
static int check_use(const struct plan *plan, const struct plan_event *p, struct err_list *errs)
{
	struct event_support without;
	struct err e = {0};

	if (!(p->asked->flags & USE_FLAGS) || p->support.state == READING_OK)
		return 0;
	event_support_check(plan->host, &p->event, p->asked->flags & ~USE_FLAGS, &without);
	if (without.state != READING_OK && !(p->asked->flags & SPEC_LAST_BRANCH))
		return 0;
	err_set(&e, -ENOTSUP, "%s:%s: %s", p->event.group->name, p->event.row->name,
		p->support.reason);
	if (p->support.hint[0])
		err_hint(&e, "%s", p->support.hint);
	return report(plan->spec, p->asked->flags_pos, &e, errs);
}

uint64_t plan_aggregate_stack(const struct plan *plan)
{
	const uint64_t with_marks = AGGREGATE_MAX_STACK + 2, max = host_max_stack(plan->host);

	return max > 2 && max < with_marks ? max - 2 : AGGREGATE_MAX_STACK; /* 0: not known */
}

uint64_t plan_interval_ns(const struct spec_event *asked)
{
	return asked->frequency ? UINT64_C(1000000000) / asked->frequency : asked->rate;
}

/* The kernel calls programs with the samples of PMUs and of its software events; those of waits add
 * up by themselves. */
static int check_aggregate(const struct plan *plan, const struct plan_event *p,
			   struct err_list *errs)
{
	struct err e = {0};

	if (!p->asked->is_aggregated)
		return 0;
	if (plan->spec->flight.span_ns)
		err_set(&e, -EINVAL, "%s:%s: aggregate and flight_recorder are mutually exclusive",
			p->event.group->name, p->event.row->name);
	else if (plan->spec->regions.is_wanted)
		err_set(&e, -EINVAL,
			"%s:%s: aggregate and regions are mutually exclusive: samples that are "
			"added up have no time, and so no region",
			p->event.group->name, p->event.row->name);
	else if (p->asked->is_unwound && p->source->bytes)
		err_set(&e, -EINVAL,
			"%s:%s: aggregate and unwind are mutually exclusive: the kernel adds these "
			"samples up, which has no tables to unwind them",
			p->event.group->name, p->event.row->name);
	else if (p->event.group->id == EVENT_GROUP_TRACEPOINT ||
		 (p->source->bytes && !p->source->open_aggregate))
		err_set(&e, -EINVAL, "%s:%s: samples of this group cannot be added up",
			p->event.group->name, p->event.row->name);
	else
		return 0;
	err_hint(&e, "remove aggregate, or set it to false");
	return report(plan->spec,
		      p->asked->aggregate_pos.line ? p->asked->aggregate_pos : p->asked->name_pos,
		      &e, errs);
}

static int check_sources(const struct plan *plan, const struct plan_event *p, struct err_list *errs)
{
	for (const struct source *const *s = source_table; *s; s++) {
		struct spec_pos pos = p->asked->name_pos;
		struct err e = {0};

		if ((*s)->check && (*s)->check(plan, p, &pos, &e))
			return e.line ? report_there(&e, errs) : report(plan->spec, pos, &e, errs);
	}
	return 0;
}

/* Refuses what this machine would silently not do. */
static int check_sampling(const struct plan *plan, const struct plan_event *p,
			  const struct catalogue *c, struct err_list *errs)
{
	int rc = check_period(plan->spec, p, errs)
		 ?: check_sources(plan, p, errs) ?: check_aggregate(plan, p, errs);

	if (event_model_is_foreign(c)) /* a plan for another machine */
		return rc;
	return rc ?: check_speed(plan, p, errs) ?: check_use(plan, p, errs);
}

/* Refuses a key that selects things of another kind than the event's. */
static int check_choice(const struct plan *plan, const struct plan_event *p, struct err_list *errs)
{
	const struct spec_choice *choice = &p->asked->choice;
	const char *own = p->event.row->choice;
	struct err e = {0};

	if (!choice->key || (own && strcmp(own, choice->key) == 0))
		return 0;
	err_set(&e, -EINVAL, "%s:%s has no %s", p->event.group->name, p->event.row->name,
		choice->key);
	err_hint(&e, own ? "use \"%s\"" : "omit the key", own);
	return report(plan->spec, choice->pos, &e, errs);
}

/* Made rows are new at each lookup, so events are compared by group and the row's name. */
static bool is_same_event(const struct plan_event *a, const struct plan_event *b)
{
	return a->event.row && b->event.row && a->event.group == b->event.group &&
	       strcmp(a->event.row->name, b->event.row->name) == 0;
}

static bool is_same_use(const struct spec_event *a, const struct spec_event *b)
{
	return a->flags == b->flags && a->rate == b->rate && a->frequency == b->frequency &&
	       a->stack_bytes == b->stack_bytes && a->branch_filter == b->branch_filter;
}

/* Refuses the same event under two names, which spec/ cannot detect. */
static int check_alias_twice(const struct plan *plan, size_t i, struct err_list *errs)
{
	const struct plan_event *p = &plan->events[i];
	struct err e = {0};

	for (size_t j = 0; j < i; j++) {
		const struct plan_event *q = &plan->events[j];

		if (!is_same_event(p, q) || !is_same_use(p->asked, q->asked) ||
		    strcmp(p->asked->event_name, q->asked->event_name) == 0) /* reported */
			continue;
		err_set(&e, -EINVAL,
			"%s:%s is the same event as %s:%s at %u:%u, with the same flags",
			p->event.group->name, p->asked->event_name, q->event.group->name,
			q->asked->event_name, q->asked->pos.line, q->asked->pos.column);
		err_hint(&e, "remove one, or use other flags for another column");
		return report(plan->spec, p->asked->name_pos, &e, errs);
	}
	return 0;
}

static int plan_one(struct plan *plan, size_t i, const struct catalogue *c, struct err_list *errs)
{
	struct plan_event *p = &plan->events[i];
	int rc;

	p->asked = &plan->spec->events[i];
	rc = resolve(plan->spec, p->asked, c, &p->event, errs);
	if (rc)
		return rc;
	p->source = source_of(plan, p);
	p->set = set_of(plan, p);
	p->id = event_id(&p->event);
	if (p->event.row->number == 0) /* made: any number that the session's others do not have */
		p->id |= MADE_NUMBER + (uint32_t)i;
	if (add_parts(plan, i))
		return err_set(err_list_add(errs), -ENOMEM, "out of memory");
	event_support_check(plan->host, &p->event, p->asked->flags, &p->support);
	rc = check_flags(plan->spec, p, errs);
	rc = rc ? rc : check_sampling(plan, p, c, errs);
	return rc ?: check_choice(plan, p, errs) ?: check_alias_twice(plan, i, errs);
}

static const char *join(struct arena *arena, const struct spec_choice *choice)
{
	const char *all = choice->words[0];

	for (size_t i = 1; i < choice->nr_words && all; i++)
		all = arena_printf(arena, "%s,%s", all, choice->words[i]);
	return all;
}

/* What distinguishes two columns of one event: "user", "os" or "all" (both); for an event of many
 * things, the selected ones. NULL: no memory. */
static const char *modes_name(struct arena *arena, const struct spec_event *e)
{
	unsigned modes = e->flags & (SPEC_OS | SPEC_USER);

	if (e->choice.key)
		return join(arena, &e->choice);
	return modes == SPEC_OS ? "os" : modes == SPEC_USER ? "user" : "all";
}

/* What distinguishes two sampled columns: ":1000000", ":1000Hz". */
static const char *pace_name(const struct spec_event *e, char *buf, size_t size)
{
	*buf = '\0';
	if (e->frequency)
		snprintf(buf, size, ":%" PRIu64 "Hz", e->frequency);
	else if (e->rate)
		snprintf(buf, size, ":%" PRIu64, e->rate);
	return buf;
}

/* The condition of calls of an event without a label; else "". */
static const char *when_of(const struct spec_event *e)
{
	return e->when && !e->label ? e->when : "";
}

/* The heading of the event's column: its label or name, with its condition, and with group or mode
 * if another column would have the same; of a GPU with its group, as power or busy alone could be
 * anybody's. */
static const char *make_label(struct plan *plan, size_t i)
{
	const struct plan_event *p = &plan->events[i];
	const char *column = spec_event_column(p->asked), *modes = "", *when = when_of(p->asked);
	bool other_group = !p->asked->label && p->event.group->id == EVENT_GROUP_GPU;
	bool same_event = false;
	char pace[32];

	for (size_t j = 0; j < plan->nr_events; j++) {
		const struct plan_event *q = &plan->events[j];

		if (i == j || p->asked->label || q->asked->label ||
		    strcmp(column, spec_event_column(q->asked)) != 0 ||
		    strcmp(when, when_of(q->asked)) != 0)
			continue;
		if (is_same_event(p, q))
			same_event = true;
		else
			other_group = true;
	}
	if (!same_event && !other_group && !*when)
		return column;
	if (same_event)
		modes = modes_name(&plan->arena, p->asked);
	if (!modes)
		return NULL;
	return arena_printf(
	    &plan->arena, "%s%s%s%s%s%s%s%s", other_group ? p->asked->group_name : "",
	    other_group ? ":" : "", column, same_event ? ":" : "", modes,
	    same_event ? pace_name(p->asked, pace, sizeof(pace)) : "", *when ? " when " : "", when);
}

static int make_labels(struct plan *plan, struct err_list *errs)
{
	for (size_t i = 0; i < plan->nr_events; i++) {
		plan->events[i].label = make_label(plan, i);
		if (!plan->events[i].label)
			return err_set(err_list_add(errs), -ENOMEM, "out of memory");
	}
	return 0;
}

/* True if a label equals a heading made for another column; spec/ checked the other labels. */
static bool is_made_heading(const struct plan_event *p, const char *label)
{
	return strcmp(p->label, label) == 0 && strcmp(spec_event_column(p->asked), label) != 0;
}

static int check_label(const struct plan *plan, const struct plan_event *p, struct err_list *errs)
{
	struct err e = {0};

	for (size_t j = 0; p->asked->label && j < plan->nr_events; j++) {
		const struct plan_event *q = &plan->events[j];

		if (!is_made_heading(q, p->label))
			continue;
		err_set(&e, -EINVAL, "the label \"%s\" is already used by another column: %s:%s",
			p->label, q->event.group->name, q->event.row->name);
		err_hint(&e, "choose another label");
		return report(plan->spec, p->asked->label_pos, &e, errs);
	}
	return 0;
}

/* Two made headings can be equal if selections are: no words, and "all". */
static int check_heading(const struct plan *plan, size_t i, struct err_list *errs)
{
	const struct plan_event *p = &plan->events[i];
	struct err e = {0};

	for (size_t j = 0; j < i; j++) {
		const struct plan_event *q = &plan->events[j];

		if (p->asked->label || q->asked->label || strcmp(p->label, q->label) != 0)
			continue;
		err_set(&e, -EINVAL,
			"two columns have the heading %s: this one and the one at %u:%u", p->label,
			q->asked->pos.line, q->asked->pos.column);
		err_hint(&e, "set a label on one of them, or remove it");
		return report(plan->spec, p->asked->name_pos, &e, errs);
	}
	return 0;
}

static int check_labels(const struct plan *plan, struct err_list *errs)
{
	int rc = 0;

	for (size_t i = 0; i < plan->nr_events; i++)
		if (check_label(plan, &plan->events[i], errs) || check_heading(plan, i, errs))
			rc = -EINVAL;
	return rc;
}

/* A CPU of another architecture has only fixed and arch events, from built-in tables. */
static int check_model(const struct spec *spec, struct err_list *errs)
{
	struct err e = {0};
	int rc = event_model_check(spec->model_name, &e);

	return rc && rc != -ENOTSUP ? report(spec, spec->model_pos, &e, errs) : 0;
}

/* For an event with errors in the text, only looks up the name, which may be another error. */
static int resolve_broken(const struct spec *spec, const struct catalogue *c, struct err_list *errs)
{
	struct event unused;
	int rc = 0;

	for (size_t i = 0; i < spec->nr_broken; i++)
		if (resolve(spec, &spec->events[spec->nr_events + i], c, &unused, errs))
			rc = -EINVAL;
	return rc;
}

/* Errors were reported by spec_check. */
static int read_windows(struct plan *plan)
{
	struct spec_window *w = mem_calloc(SPEC_MAX_WINDOWS, sizeof(*w));
	struct err ignored = {0};
	int nr;

	if (!w)
		return -ENOMEM;
	nr = spec_windows(plan->spec, w, &ignored);
	if (nr > 0) {
		plan->windows = w;
		plan->nr_windows = (size_t)nr;
	} else {
		mem_free(w);
	}
	return 0;
}

bool plan_has_gap(const struct plan *plan)
{
	return plan->nr_windows || plan->spec->delay_ns;
}

bool plan_is_resumed(const struct plan *plan)
{
	return plan_has_gap(plan) || plan->starts_disabled ||
	       (plan->has_control && !plan->target.is_command);
}

bool plan_is_attached(const struct plan *plan)
{
	return plan->target.nr_ids && !plan->target.is_command && !plan->target.is_cgroup;
}

int plan_make(const struct spec *spec, const struct catalogue *catalogue, const struct host *host,
	      struct plan *out, struct err_list *errs)
{
	struct plan plan = {.spec = spec, .host = host, .nr_events = spec->nr_events, .divisor = 1};
	int rc;

	arena_init(&plan.arena, MAX_LABEL_BYTES);
	plan.events = mem_calloc(spec->nr_events, sizeof(*plan.events));
	if (!plan.events)
		return err_set(err_list_add(errs), -ENOMEM, "out of memory");
	plan.cpus = host->online;
	plan.nr_cpus = (uint32_t)cpuset_count(&plan.cpus);
	plan.has_all_cpus = true;
	plan.is_sampling = spec_is_sampling(spec);
	for (size_t i = 0; i < plan.nr_events; i++)
		if (spec->events[i].flags & SPEC_TIMEBASE)
			plan.timebase = &plan.events[i];
	rc = check_model(spec, errs);
	if (resolve_broken(spec, catalogue, errs))
		rc = -EINVAL;
	for (size_t i = 0; i < plan.nr_events; i++) {
		int one = plan_one(&plan, i, catalogue, errs);

		rc = rc ? rc : one;
	}
	if (rc == 0 && read_windows(&plan))
		rc = err_set(err_list_add(errs), -ENOMEM, "out of memory");
	rc = rc ? rc : make_labels(&plan, errs);
	rc = rc ? rc : check_labels(&plan, errs);
	if (rc) {
		plan_fini(&plan);
		return rc;
	}
	*out = plan;
	return 0;
}

int plan_limit_cpus(struct plan *plan, const struct cpuset *cpus, struct err *e)
{
	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1))
		if (!cpuset_has(&plan->cpus, (unsigned)cpu))
			return err_set(e, -EINVAL, "CPU %d is not online", cpu);
	plan->cpus = *cpus;
	plan->nr_cpus = (uint32_t)cpuset_count(cpus);
	plan->has_all_cpus = false;
	return 0;
}

void plan_fini(struct plan *p)
{
	arena_fini(&p->arena);
	mem_free(p->events);
	mem_free(p->parts);
	mem_free(p->windows);
	p->parts = NULL;
	p->windows = NULL;
	p->nr_windows = 0;
	p->events = NULL;
	p->nr_events = 0;
}

uint64_t plan_pace_ns(const struct plan *plan)
{
	enum { NS_PER_S = 1000000000, MIN_PACE_NS = 1000000 };
	const struct plan_event *timebase = plan->timebase;
	uint64_t ns = MIN_PACE_NS;

	if (timebase && timebase->asked->frequency)
		ns = NS_PER_S / timebase->asked->frequency;
	else if (timebase && event_is_clock(&timebase->event))
		ns = timebase->asked->rate;
	return (ns < MIN_PACE_NS ? MIN_PACE_NS : ns) * plan->divisor;
}

uint64_t plan_every_ns(const struct plan *plan, const struct plan_event *p)
{
	return p->asked->every_ns * plan->divisor;
}

static bool has_fixed_rate(const struct plan *plan, const struct plan_event *p)
{
	return p->source->is_in_target || plan_is_by_switches(plan, p);
}

static uint64_t divisor_of(const struct plan *plan, const struct plan_event *p)
{
	return has_fixed_rate(plan, p) ? 1 : plan->divisor;
}

uint64_t plan_rate(const struct plan *plan, const struct plan_event *p)
{
	return p->source->is_in_target ? plan_interval_ns(p->asked)
				       : p->asked->rate * divisor_of(plan, p);
}

uint64_t plan_frequency(const struct plan *plan, const struct plan_event *p)
{
	return p->source->is_in_target ? 0 : p->asked->frequency / divisor_of(plan, p);
}

/* How far a rate can be divided; 0: it cannot. */
static uint64_t room_of(const struct plan *plan, const struct plan_event *p)
{
	uint64_t max = p->source->max_rate ?: INT64_MAX;

	if (!spec_event_is_sampled(p->asked) || p->set == PLAN_NO_SET || has_fixed_rate(plan, p))
		return 0;
	return p->asked->frequency ? p->asked->frequency : max / p->asked->rate;
}

bool plan_can_divide(const struct plan *plan)
{
	const struct plan_target *t = &plan->target;

	return plan->is_sampling && (!t->nr_ids || t->is_cgroup || t->has_runs);
}

uint32_t plan_max_divisor(const struct plan *plan)
{
	uint64_t least = UINT64_MAX;
	uint32_t divisor = 1;

	for (size_t i = 0; i < plan->nr_events; i++) {
		uint64_t room = room_of(plan, &plan->events[i]);

		least = room && room < least ? room : least;
	}
	if (least == UINT64_MAX || !plan_can_divide(plan))
		return 1;
	while (2 * divisor <= PLAN_MAX_DIVISOR && 2 * divisor <= least)
		divisor *= 2;
	return divisor;
}
