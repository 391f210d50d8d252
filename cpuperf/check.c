/*
 * --check-spec: prints the plan, and for each event whether it opens.
 */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/collect.h"
#include "estimate/sampled.h"
#include "estimate/table.h"
#include "event/model.h"
#include "events_text.h"
#include "heap.h"
#include "preload.h"
#include "program.h"
#include "session/session.h"
#include "spec/keys.h"
#include "target/command.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_PLAN_BYTES = 16 << 20, NS_PER_S = 1000000000 };

static void add_opened_as(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	const struct event_row *row = p->event.row;

	if (!event_is_perf(&p->event)) {
		buf_printf(out, "  read from  %s\n", row->source);
		return;
	}
	buf_printf(out, "  opened as  %s;",
		   plan_is_by_switches(plan, p) ? "records of the switches of the target's tasks"
						: row->source);
	for (unsigned bit = 1; bit <= SPEC_HOST; bit <<= 1)
		if (p->asked->flags & bit)
			buf_printf(out, " %s", spec_flag_name((enum spec_flag)bit));
	buf_addc(out, '\n');
	for (uint32_t i = 0; i < event_nr_parts(&p->event); i++) {
		struct event_part part;

		event_part(&p->event, i, &part);
		buf_adds(out, "  encoding   ");
		event_add_part(&part, out);
		buf_addc(out, '\n');
	}
}

static void add_pace(struct buf *out, const struct sampled_event *ev)
{
	buf_adds(out, "  sampled    ");
	if (ev->frequency) {
		buf_u64_commas(out, ev->frequency);
		buf_adds(out, " times a second: the kernel adapts the period, each sample records "
			      "it\n");
		return;
	}
	buf_adds(out, ev->is_clock ? "each " : "each time it has counted ");
	buf_u64_commas(out, ev->period);
	if (ev->is_clock)
		buf_adds(out, " ns");
	if (ev->is_clock && ev->period <= NS_PER_S) {
		buf_adds(out, ": ");
		buf_u64_commas(out, NS_PER_S / ev->period);
		buf_adds(out, " times a second");
	}
	buf_addc(out, '\n');
}

static void add_random_pace(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	if (p->asked->rate == 1 || plan_is_by_switches(plan, p)) {
		buf_adds(out, "  sampled    each, with its own size: exact\n");
		return;
	}
	buf_adds(out, "  sampled    at random: once per ");
	buf_u64_commas(out, p->asked->rate);
	buf_printf(out, " %s on average", p->event.row->unit);
	if (p->asked->max_frequency) {
		buf_adds(out, ", at most ");
		buf_u64_commas(out, p->asked->max_frequency);
		buf_adds(out, " times a second on a CPU");
	}
	buf_addc(out, '\n');
}

static void add_branches(struct buf *out, const struct plan_event *p)
{
	const char *const *words = key_find(KEY_EVENT, "branch_filter")->words;
	unsigned filter = p->asked->branch_filter ? p->asked->branch_filter : SPEC_BRANCH_ANY;

	buf_adds(out, "; the last branches (");
	for (unsigned i = 0, nr = 0; words[i]; i++)
		if (filter & 1u << i)
			buf_printf(out, "%s%s", nr++ ? ", " : "", words[i]);
	buf_addc(out, ')');
}

static void add_sample_fields(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	unsigned flags = p->asked->flags;
	size_t nr_others = 0;

	buf_adds(out, "  a sample   has the time, process and thread");
	if (flags & SPEC_PC)
		buf_adds(out, "; the program counter");
	if (flags & SPEC_CALLCHAIN)
		buf_adds(out, "; the callchain");
	if (flags & SPEC_USER_STACK) {
		buf_adds(out, "; the program's registers and up to ");
		buf_u64_commas(out, spec_event_max_stack(p->asked));
		buf_adds(out, " bytes of its stack");
	}
	if (flags & SPEC_LAST_BRANCH)
		add_branches(out, p);
	if (p->event.group->id == EVENT_GROUP_TRACEPOINT)
		buf_adds(out, "; the fields of the tracepoint");
	for (size_t i = 0; p == plan->timebase && i < plan->nr_events; i++)
		nr_others += plan->events[i].set == PLAN_TIMEBASE && &plan->events[i] != p;
	if (nr_others)
		buf_printf(out, "; the counts of %zu other event(s)", nr_others);
	buf_addc(out, '\n');
}

static void add_sampling(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	const struct plan_event *timebase = plan->timebase;

	if (spec_event_is_sampled(p->asked)) {
		struct sampled_event ev =
		    sampled_event(p->event.group->name, p->event.row->name, p->asked->rate,
				  p->asked->frequency, p->asked->flags);

		if (ev.is_wait)
			add_random_pace(out, plan, p);
		else
			add_pace(out, &ev);
		add_sample_fields(out, plan, p);
		if (p->asked->is_aggregated)
			buf_adds(out, "  aggregate  added up in the kernel by thread and stack\n");
		if (ev.is_partial)
			buf_adds(out, "  coverage   unknown: the count includes what the flags "
				      "exclude from samples\n");
	}
	if (p == timebase)
		buf_adds(out, "  timebase   events without a rate are read at its pace\n");
	else if (p->set == PLAN_TIMEBASE || (timebase && p->set == PLAN_NO_SET))
		buf_printf(out, "  read       %s %s:%s\n",
			   p->set == PLAN_TIMEBASE ? "in each sample of the timebase,"
						   : "at the pace of the timebase,",
			   timebase->event.group->name, timebase->event.row->name);
}

/* Only opening shows how many events fit into one hardware group. */
static void add_place(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	static const char *const before_cpus[] = {
	    [PLAN_NO_SET] = "CPUs ",
	    [PLAN_SOFTWARE] = "the software group of CPUs ",
	    [PLAN_HARDWARE] = "the hardware group (or further groups, if it does not fit) of CPUs ",
	    [PLAN_ALONE] = "by itself, on CPUs ",
	    [PLAN_SAMPLING] = "by itself, on CPUs ",
	    [PLAN_TIMEBASE] = "the timebase's group of CPUs ",
	};
	struct cpuset on;

	if (p->event.row->missing)
		return;
	if (p->set == PLAN_NO_SET && p->event.row->scope == EVENT_SCOPE_THINGS) {
		buf_adds(out, "  where      each of them, in trace 0\n");
		return;
	}
	if (p->set == PLAN_NO_SET && p->event.row->scope == EVENT_SCOPE_SYSTEM) {
		buf_adds(out, "  where      once for the machine, in trace 0\n");
		return;
	}
	buf_printf(out, "  where      %s", before_cpus[p->set]);
	plan_event_cpus(plan, p, &on);
	if (cpuset_count(&on))
		cpuset_format(&on, out);
	else
		buf_adds(out, "of its PMU, none of which is measured");
	buf_addc(out, '\n');
}

static void add_event(struct buf *out, const struct plan *plan, const struct plan_event *p,
		      const struct event_support *here)
{
	const struct event_row *row = p->event.row;

	buf_printf(out, "\n%s:%s", p->event.group->name, row->name);
	if (p->asked->label)
		buf_printf(out, " (column %s)", p->label);
	buf_addc(out, '\n');
	add_opened_as(out, plan, p);
	add_sampling(out, plan, p);
	add_place(out, plan, p);
	buf_printf(out, "  unit       %s\n", row->unit);
	buf_printf(out, "  here       %s%s%s\n", event_support_word(here),
		   here->reason[0] ? ": " : "", here->reason);
}

static void add_metric(struct buf *out, const struct plan *plan, const struct event_support *here,
		       size_t number)
{
	const struct metric *m = &plan->spec->metric_set.item[number];
	const char *below = m->warn_below.text, *above = m->warn_above.text;
	const char *separator = "n/a: ";
	const struct expr_step *operand;
	unsigned scopes = 0;

	buf_printf(out, "\nmetric %s\n  is         %s\n", m->name,
		   plan->spec->metrics[number].expr);
	if (below || above)
		buf_printf(out, "  warns      %s%s%s%s%s\n", below ? "below " : "",
			   below ? below : "", below && above ? ", " : "", above ? "above " : "",
			   above ? above : "");
	for (size_t i = 0; (operand = metric_operand(m, &i));)
		scopes |= 1u << plan->events[operand->operand].event.row->scope;
	if (!table_scopes_meet(scopes))
		buf_adds(out, "  where      over all CPUs: some of its events are not counted per "
			      "CPU\n");
	if (*m->unit)
		buf_printf(out, "  unit       %s\n", m->unit);
	buf_adds(out, "  here       ");
	for (size_t i = 0; (operand = metric_operand(m, &i));) {
		enum reading_state state = here[operand->operand].state;

		if (state == READING_OK)
			continue;
		buf_printf(out, "%s{%s} %s", separator, operand->name, reading_state_name(state));
		separator = ", ";
	}
	buf_adds(out, *separator == ',' ? "\n" : "works\n");
}

/* Counts the plan's hardware events: those that can use a fixed counter, and the rest. */
static void count_hardware(const struct plan *plan, unsigned nr_fixed, unsigned *on_fixed,
			   unsigned *on_programmable)
{
	uint64_t taken = 0; /* a bit per kernel event: a fixed counter serves one event only */

	*on_fixed = *on_programmable = 0;
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];
		uint64_t bit = 1ull << (p->event.row->perf_config & 63);
		bool is_fixed =
		    event_may_be_fixed(&p->event) && *on_fixed < nr_fixed && !(taken & bit);

		if (p->set != PLAN_HARDWARE)
			continue;
		taken |= is_fixed ? bit : 0;
		++*(is_fixed ? on_fixed : on_programmable);
	}
}

/* An estimate: only opening the events shows which counters are free. */
static void add_counters(struct buf *out, const struct plan *plan, const struct catalogue *c)
{
	unsigned there, nr_fixed, on_fixed, on_programmable;

	if (event_model_counters(c, &there, &nr_fixed))
		there = nr_fixed = 0;
	count_hardware(plan, nr_fixed, &on_fixed, &on_programmable);
	if (!on_fixed && !on_programmable)
		return;
	if (!there) {
		buf_printf(out,
			   "\n%u hardware event(s) on each CPU; the number of counters is known "
			   "only once they are opened.\n",
			   on_programmable);
		return;
	}
	if (plan->host->nmi_watchdog && there)
		there--;
	buf_printf(
	    out,
	    "\nCounters of each CPU of this model: up to %u programmable%s, %u fixed. Hardware "
	    "events: %u use fixed ones, %u programmable ones: %s.\n",
	    there, plan->host->nmi_watchdog ? " (the NMI watchdog holds one more)" : "", nr_fixed,
	    on_fixed, on_programmable,
	    on_programmable <= there ? "they fit if all counters are free"
				     : "they are multiplexed");
}

static void add_list(struct buf *out, const char *what, const struct spec_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		buf_adds(out, i ? ", " : what);
		buf_shell_word(out, list->item[i]);
	}
}

static bool has_target(const struct spec_target *t)
{
	return t->command.nr || t->pids.nr || t->comms.nr || t->cgroups.nr;
}

/* It is not measured without one. */
static bool waits_for_target(const struct plan *plan, size_t event)
{
	return event_heap(&plan->events[event].event) >= 0 && !has_target(&plan->spec->target);
}

/* "target: the command ls -l, with the processes that it starts" */
static void add_target(struct buf *out, const struct spec_target *t, char *const *argv)
{
	const struct spec_list *processes = t->pids.nr ? &t->pids : &t->comms;
	bool is_command = argv || t->command.nr;

	if (!is_command && !processes->nr && !t->cgroups.nr)
		return;
	buf_adds(out, "target: ");
	if (is_command)
		buf_adds(out, "the command");
	for (; argv && *argv; argv++) {
		buf_addc(out, ' ');
		buf_shell_word(out, *argv);
	}
	if (t->pids.nr)
		add_list(out, t->pids.nr == 1 ? "process " : "processes ", &t->pids);
	if (t->comms.nr)
		add_list(out, t->pids.nr ? " and processes named " : "processes named ", &t->comms);
	add_list(out, "the control group ", &t->cgroups);
	if (!t->cgroups.nr)
		buf_printf(out, ", with%s the processes %s", t->has_children ? "" : "out",
			   is_command ? "that it starts" : "that they start");
	if (t->waits_for_children)
		buf_adds(out, ", until they have ended");
	if (t->attaches)
		buf_adds(out, ", into which the agent is loaded");
	buf_addc(out, '\n');
}

static size_t add_plan(struct buf *out, const struct plan *plan, const struct catalogue *c,
		       const struct event_support *here, const struct options *o)
{
	const struct spec_target *target = &plan->spec->target;
	char *const *command = (char *const *)target->command.item;
	size_t nr_working = 0, nr_waiting = 0;

	buf_printf(out, "%s: valid: %s, %zu event(s), ", plan->spec->source,
		   plan->is_sampling ? "sampling" : "tally", plan->nr_events);
	add_length(out, plan->spec, o->until_end);
	buf_printf(out, ", %u CPU(s)", plan->nr_cpus);
	if (event_model_canonical(plan->spec->model_name))
		buf_printf(out, ", CPU model %s", event_model_canonical(plan->spec->model_name));
	buf_addc(out, '\n');
	add_target(out, target, o->command_argv ? o->command_argv : command);
	for (size_t i = 0; i < plan->nr_events; i++) {
		add_event(out, plan, &plan->events[i], &here[i]);
		nr_waiting += here[i].state == READING_OK && waits_for_target(plan, i);
		nr_working += here[i].state == READING_OK &&
			      (!here[i].reason[0] || waits_for_target(plan, i));
	}
	for (size_t i = 0; i < plan->spec->metric_set.nr; i++)
		add_metric(out, plan, here, i);
	add_counters(out, plan, c);
	buf_printf(out, "\n%zu of %zu event(s) work here", nr_working, plan->nr_events);
	if (nr_waiting)
		buf_printf(out, ", %zu of them with a target: cpuperf ... -- COMMAND", nr_waiting);
	buf_adds(out, ".\n");
	return nr_working;
}

/* Whether event i opened and, if it is not a perf event, whether it can be read. */
static void look(const struct session *s, size_t i, struct event_support *out)
{
	const struct session_event *ev = session_event(s, i);
	const struct plan *plan = session_plan(s);
	const struct plan_event *p = &plan->events[i];
	const struct things_choice choice = {p->asked->choice.words, p->asked->choice.nr_words};

	*out = ev->support;
	if (out->state == READING_OK && !event_is_perf(&p->event))
		collect_check(plan->host, &p->event, &choice, out);
	if (ev->nr_cpus && ev->nr_cpus < ev->nr_wanted)
		snprintf(out->reason, sizeof(out->reason),
			 "on %u of %u CPUs only, on the others: %.180s", ev->nr_cpus, ev->nr_wanted,
			 ev->support.reason);
}

/* Opens the session without its files. 0 or -errno; on failure, what the plan says of the
 * events. */
static int open_all(struct plan *plan, const struct options *o, struct event_support *here)
{
	struct session_config config = {.plan = plan, .is_strict = o->strict};
	const struct spec_target *t = &plan->spec->target;
	const pid_t self = getpid(); /* for the processes of the target, which may not exist yet */
	char refused[HEAP_REASON_BYTES];
	struct session *s;
	struct err e = {0};
	int rc;

	if (!heap_is_measurable(plan, refused))
		plan->heap_refused = refused;
	preload_check(plan);
	if (plan->target.is_command || t->command.nr || t->pids.nr || t->comms.nr) {
		plan->target.is_command |= t->command.nr;
		plan->target.ids = &self;
		plan->target.nr_ids = 1;
	}
	rc = session_open(&config, &s, &e);

	for (size_t i = 0; i < plan->nr_events; i++)
		if (rc == 0)
			look(s, i, &here[i]);
		else
			here[i] = plan->events[i].support;
	for (size_t i = 0; i < plan->nr_events && rc == 0 && !plan->target.is_command; i++)
		if (waits_for_target(plan, i) && here[i].state == READING_NOT_SUPPORTED) {
			here[i] = (struct event_support){.state = READING_OK};
			snprintf(here[i].reason, sizeof(here[i].reason),
				 "of a command, or of processes that run with --attach");
		}
	if (rc)
		log_err(o->strict || rc == -EINVAL ? LOG_ERROR : LOG_WARNING, &e);
	else
		session_close(s);
	plan->target.nr_ids = 0;
	plan->heap_refused = NULL;
	return rc;
}

int check_spec(struct plan *plan, const struct catalogue *c, const struct options *o)
{
	struct event_support *here = mem_calloc(plan->nr_events, sizeof(*here));
	int rc, status = EXIT_FAILED;
	size_t nr_working;
	struct buf out;

	if (!here) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	rc = open_all(plan, o, here);
	if (rc != -EINVAL) { /* else the spec selects something that does not exist */
		buf_init(&out, MAX_PLAN_BYTES);
		nr_working = add_plan(&out, plan, c, here, o);
		status = print_result(&out);
		buf_fini(&out);
		if (o->strict && (rc || nr_working < plan->nr_events))
			status = EXIT_FAILED;
	}
	mem_free(here);
	return status;
}
