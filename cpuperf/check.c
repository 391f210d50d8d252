/*
 * --check-spec: the plan in words.
 */
#include "base/buf.h"
#include "base/str.h"
#include "event/model.h"
#include "events_text.h"
#include "program.h"
#include "session/plan.h"

enum { MAX_PLAN_BYTES = 16 << 20 };

static void add_flags(struct buf *out, unsigned flags)
{
	for (unsigned bit = 1; bit <= SPEC_TIMEBASE; bit <<= 1)
		if (flags & bit)
			buf_printf(out, " %s", spec_flag_name((enum spec_flag)bit));
}

static void add_opened_as(struct buf *out, const struct plan_event *p)
{
	const struct event_row *row = p->event.row;

	if (!event_is_perf(&p->event)) {
		buf_printf(out, "  read from  %s\n", row->source);
		return;
	}
	buf_printf(out, "  opened as  %s;", row->source);
	add_flags(out, p->asked->flags);
	if (p->asked->rate)
		buf_printf(out, "; rate %llu", (unsigned long long)p->asked->rate);
	buf_addc(out, '\n');
	for (uint32_t i = 0; i < event_nr_parts(&p->event); i++) {
		struct event_part part;

		event_part(&p->event, i, &part);
		buf_adds(out, "  encoding   ");
		event_add_part(&part, out);
		buf_addc(out, '\n');
	}
}

/* The plan's CPUs that the event is opened on: of a PMU with CPUs of its own only those. */
static void add_cpus(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	struct cpuset on;

	plan_event_cpus(plan, p, &on);
	if (cpuset_count(&on))
		cpuset_format(&on, out);
	else
		buf_adds(out, "of its PMU, which are not among those measured");
	buf_addc(out, '\n');
}

/* How many fit into one group is the kernel's to say, when they are opened. */
static void add_place(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	if (p->event.row->missing)
		return;
	if (p->set == PLAN_NO_SET && p->event.row->scope == EVENT_SCOPE_SYSTEM) {
		buf_adds(out, "  where      once for the machine, in trace 0\n");
		return;
	}
	buf_adds(out, "  where      ");
	if (p->set == PLAN_SOFTWARE)
		buf_adds(out, "the software group of CPUs ");
	else if (p->set == PLAN_HARDWARE)
		buf_adds(out, "the hardware group (what does not fit: further ones) of CPUs ");
	else if (p->set == PLAN_ALONE)
		buf_adds(out, "by itself, on CPUs ");
	else
		buf_adds(out, "CPUs ");
	add_cpus(out, plan, p);
}

static void add_event(struct buf *out, const struct plan *plan, const struct plan_event *p)
{
	const struct event_row *row = p->event.row;

	buf_printf(out, "\n%s:%s", p->event.group->name, row->name);
	if (p->asked->label)
		buf_printf(out, " (column %s)", p->label);
	buf_addc(out, '\n');
	add_opened_as(out, p);
	add_place(out, plan, p);
	buf_printf(out, "  unit       %s\n", row->unit);
	buf_printf(out, "  here       %s%s%s\n",
		   p->support.state == READING_OK ? "works" : reading_state_name(p->support.state),
		   p->support.reason[0] ? ": " : "", p->support.reason);
}

/* Hardware events of the plan; those that take a fixed counter, where there are any, apart. */
static void count_hardware(const struct plan *plan, unsigned nr_fixed, unsigned *on_fixed,
			   unsigned *on_programmable)
{
	uint64_t taken = 0; /* a bit for each kernel event: a fixed counter is for one event only */

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

/* What the hardware events will find; the kernel has the last word when they are opened. */
static void add_counters(struct buf *out, const struct plan *plan, const struct catalogue *c)
{
	unsigned there, nr_fixed, on_fixed, on_programmable;

	if (model_counters(c, &there, &nr_fixed))
		there = nr_fixed = 0;
	count_hardware(plan, nr_fixed, &on_fixed, &on_programmable);
	if (!on_fixed && !on_programmable)
		return;
	if (!there) {
		buf_printf(
		    out,
		    "\n%u hardware event(s) on each CPU; how many counters there are shows when "
		    "they are opened.\n",
		    on_programmable);
		return;
	}
	if (plan->host->nmi_watchdog && there)
		there--;
	buf_printf(
	    out,
	    "\nCounters of each CPU of this model: up to %u programmable%s, %u fixed. Hardware "
	    "events: %u take fixed ones, %u programmable ones: %s.\n",
	    there, plan->host->nmi_watchdog ? " (the NMI watchdog holds one more)" : "", nr_fixed,
	    on_fixed, on_programmable,
	    on_programmable <= there ? "they fit if all are free"
				     : "they take turns (multiplexing)");
}

static size_t add_plan(struct buf *out, const struct plan *plan, const struct catalogue *c)
{
	char duration[32];
	size_t nr_working = 0;

	str_format_duration(plan->spec->duration_ns, duration, sizeof(duration));
	buf_printf(out, "%s: valid: %s, %zu event(s), %llu iteration(s) of %s, %u CPU(s)",
		   plan->spec->source, plan->is_sampling ? "sampling" : "tally", plan->nr_events,
		   (unsigned long long)plan->spec->num_iterations, duration, plan->nr_cpus);
	if (model_canonical(plan->spec->model_name))
		buf_printf(out, ", CPU model %s", model_canonical(plan->spec->model_name));
	buf_addc(out, '\n');
	for (size_t i = 0; i < plan->nr_events; i++) {
		add_event(out, plan, &plan->events[i]);
		nr_working += plan->events[i].support.state == READING_OK;
	}
	add_counters(out, plan, c);
	buf_printf(out, "\n%zu of %zu event(s) work here.%s\n", nr_working, plan->nr_events,
		   plan->is_sampling ? " This version cannot sample: it counts only." : "");
	return nr_working;
}

int check_spec(const struct plan *plan, const struct catalogue *c, const struct options *o)
{
	size_t nr_working;
	struct buf out;
	int status;

	buf_init(&out, MAX_PLAN_BYTES);
	nr_working = add_plan(&out, plan, c);
	status = print_result(&out);
	buf_fini(&out);
	if (o->strict && (nr_working < plan->nr_events || plan->is_sampling))
		return EXIT_FAILED;
	return status;
}
