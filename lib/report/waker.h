/*
 * Who ended the wait of a sample, as frames that follow the stack of the wait: "--", the stack of
 * the waker from the innermost function on, and its name (of an interrupt: timer, or interrupt), as
 * offwaketime of bcc prints them.
 *
 * The kernel recorded the waker's callchain, registers and stack where it woke (bpf/waits.h);
 * trace/waker.h makes a sample of them, which is unwound like any other. Of the wait's own stack
 * the innermost frames, of the program that measures and of the switch, are removed
 * (report_is_switch).
 */
#ifndef REPORT_WAKER_H
#define REPORT_WAKER_H

#include "profile/processes.h"
#include "profile/samples.h"
#include "report/entry.h"
#include "report/resolver.h"
#include "report/stack.h"

struct report_functions;

/* For one thread; all borrowed. */
struct report_waker_config {
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* NULL: stack bytes are ignored */
	struct report_resolver *resolver;
	struct report_functions *functions;
};

struct report_waker {
	struct trace_waker raw;
	struct report_place place; /* of its process */
	struct report_stack stack;
	const struct report_function *mark, *name; /* the first frame and the last one */
	bool is_known;
	uint32_t tid; /* TRACE_UNKNOWN: of an interrupt */
};

/* Makes the waker of a sample, whose event has wakers. kernel_epoch: at the sample's time. 0 or
 * -ENOMEM. */
int report_waker_make(struct report_waker *w, const struct report_waker_config *config,
		      const struct profile_sample *s, uint32_t kernel_epoch);

/* How many of the frames, the sampled function first, are those of the waker; 0: none. */
size_t report_waker_frames(const struct report_frame *frames, size_t nr);
/* The function in which it woke the other task, of those frames (report/own.h); "": none. */
const char *report_waker_function(const struct report_frame *frames, size_t nr);

/* Samples of the event may have a waker. */
struct trace_event;
bool report_has_waker(const struct trace_event *ev);

#endif
