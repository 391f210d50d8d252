/*
 * The stack of a waker is made like that of a sample. An interrupt has only the frames of its own:
 * the task that it interrupted is not the cause. Network packets that a task sends to this machine
 * are received in a softirq that the task enters itself, by local_bh_enable.
 */
#include "report/waker.h"

#include "base/array.h"
#include "base/str.h"
#include "report/functions.h"
#include "report/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK "--"

/* The place in the stack of the first kernel function whose name begins so; nr_kernel: none. */
static size_t find(struct report_waker *w, struct report_resolver *resolver,
		   const char *const *list, size_t nr)
{
	struct report_frame frames[REPORT_MAX_INLINED];
	size_t i = 0;

	while (i < w->stack.nr_kernel &&
	       (!report_resolver_frames(resolver, &w->place, true, w->stack.address[i], frames) ||
		!str_begins_with_any(frames[0].function->name, list, nr)))
		i++;
	return i;
}

static bool calls(struct report_waker *w, struct report_resolver *resolver, const char *const *list,
		  size_t nr)
{
	return find(w, resolver, list, nr) < w->stack.nr_kernel;
}

/* Removes what was interrupted. False: it is no interrupt. */
static bool remove_interrupted(struct report_waker *w, struct report_resolver *resolver)
{
	static const char *const entries[] = {
	    "asm_sysvec_",   "asm_common_interrupt", "asm_exc_nmi", "fred_extint",
	    "el1h_64_irq",   "el0t_64_irq",          "el0t_32_irq", "el1_interrupt",
	    "el0_interrupt", "gic_handle_irq"};
	static const char *const softirqs[] = {"handle_softirqs", "__do_softirq"};
	static const char *const own[] = {"__local_bh_enable", "do_softirq"};
	size_t at = find(w, resolver, entries, ARRAY_NR(entries));

	if (at == w->stack.nr_kernel && w->raw.record.tid &&
	    (!calls(w, resolver, softirqs, ARRAY_NR(softirqs)) ||
	     calls(w, resolver, own, ARRAY_NR(own))))
		return false;
	w->stack.nr = w->stack.nr_kernel = at + (at < w->stack.nr_kernel);
	return true;
}

/* Of an interrupt. */
static const char *kind(struct report_waker *w, struct report_resolver *resolver)
{
	static const char *const timers[] = {"__hrtimer_run_queues", "call_timer_fn",
					     "expire_timers"};

	return calls(w, resolver, timers, ARRAY_NR(timers)) ? "timer" : "interrupt";
}

static void make_stack(struct report_waker *w, const struct report_waker_config *config,
		       const struct profile_sample *s)
{
	const uint64_t ago_ns = s->record.time_ns - w->raw.record.time_ns;
	struct profile_sample own = {.layout = &w->raw.layout,
				     .record = w->raw.record,
				     .cpu = TRACE_UNKNOWN,
				     .time_ns = s->time_ns - ago_ns};
	struct profile_task task;
	size_t nr = 0;

	profile_lookup_task(config->lookup, own.record.pid, own.record.tid, own.time_ns, &task);
	w->place.time_ns = own.time_ns;
	w->place.process = task.process;
	w->place.number = task.process->number;
	w->place.epoch = report_resolver_epoch(config->resolver, task.process, own.time_ns);
	report_stack_make(config->unwinder, task.process, &own, true, &w->stack);
	while (nr < w->stack.nr_kernel &&
	       report_resolver_is_switch(config->resolver, &w->place, w->stack.address[nr]))
		nr++;
	report_stack_remove(&w->stack, nr);
}

int report_waker_make(struct report_waker *w, const struct report_waker_config *config,
		      const struct profile_sample *s, uint32_t kernel_epoch)
{
	bool lasts = trace_waker_lasts(s->layout, &s->record);
	char name[64];

	w->stack.nr = w->stack.nr_kernel = 0;
	w->place = (struct report_place){.time_ns = s->time_ns, .kernel_epoch = kernel_epoch};
	snprintf(name, sizeof(name), "%s", lasts ? "[not woken yet]" : "[not recorded]");
	w->is_known = trace_waker_decode(s->layout, &s->record, &w->raw);
	w->tid = TRACE_UNKNOWN;
	if (w->is_known) {
		make_stack(w, config, s);
		str_disarm(w->raw.comm);
		snprintf(name, sizeof(name), "%s (%" PRIu32 "/%" PRIu32 ")", w->raw.comm,
			 w->raw.record.pid, w->raw.record.tid);
		if (remove_interrupted(w, config->resolver))
			snprintf(name, sizeof(name), "%s", kind(w, config->resolver));
		else
			w->tid = w->raw.record.tid;
	}
	w->mark = report_functions_named(config->functions, MARK, "");
	w->name = report_functions_named(config->functions, name, "");
	return w->mark && w->name ? 0 : -ENOMEM;
}

size_t report_waker_frames(const struct report_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!*frames[i].function->object && strcmp(frames[i].function->name, MARK) == 0)
			return i + 1;
	return 0;
}

/* Outermost functions come first: the mark is the last frame, the name the first one. */
const char *report_waker_function(const struct report_frame *frames, size_t nr)
{
	return nr > 2 ? frames[1 + report_own_frame(frames + 1, nr - 2, true)].function->name : "";
}

bool report_has_waker(const struct trace_event *ev)
{
	struct trace_layout l;

	return ev->attr_bytes && trace_layout_init(&l, ev->attr, ev->attr_bytes) && l.has_waker;
}
