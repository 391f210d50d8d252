#include "heap/kinds.h"

#include "plan/plan.h"
#include "wire/heap_memory.h"

static const struct heap_kind kinds[EVENT_HEAP_NR_KINDS] = {
    [EVENT_HEAP_ALLOCATED] = {.from = WIRE_HEAP_ALLOCATED, .is_of_process = true},
    [EVENT_HEAP_ALLOCATIONS] = {.from = WIRE_HEAP_ALLOCATED, .is_of_process = true},
    [EVENT_HEAP_FREED] = {.from = WIRE_HEAP_FREED, .wants = HEAP_WANTS_BLOCKS},
    [EVENT_HEAP_LIVE] = {.from = WIRE_HEAP_LIVE, .wants = HEAP_WANTS_BLOCKS},
    [EVENT_HEAP_PEAK] = {.from = WIRE_HEAP_PEAK,
			 .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK,
			 .is_of_process = true},
    [EVENT_HEAP_PATH_PEAK] = {.from = WIRE_HEAP_OWN_PEAK,
			      .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_STACKS | HEAP_WANTS_PATHS},
    [EVENT_HEAP_MAX] = {.from = WIRE_HEAP_ALLOCATED, .is_of_process = true},
    [EVENT_HEAP_TEMPORARY] = {.from = WIRE_HEAP_TEMPORARY, .wants = HEAP_WANTS_BLOCKS},
    [EVENT_HEAP_LEAKED] = {.from = WIRE_HEAP_LIVE, .wants = HEAP_WANTS_BLOCKS, .is_leak = true},
    [EVENT_HEAP_OVERHEAD] = {.from = WIRE_HEAP_OVERHEAD, .wants = HEAP_WANTS_OVERHEAD},
    [EVENT_HEAP_RESIDENT] = {.from = WIRE_HEAP_RESIDENT,
			     .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_LAST_PAGES},
    [EVENT_HEAP_UNTOUCHED] = {.from = WIRE_HEAP_UNTOUCHED,
			      .wants =
				  HEAP_WANTS_BLOCKS | HEAP_WANTS_UNTOUCHED | HEAP_WANTS_LAST_PAGES},
    [EVENT_HEAP_PEAK_TIME] = {.from = WIRE_HEAP_ALLOCATED,
			      .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK,
			      .is_of_process = true},
    [EVENT_HEAP_LIFETIME] = {.from = WIRE_HEAP_LIFE, .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_LIVES},
    [EVENT_HEAP_UNREACHABLE] = {.from = WIRE_HEAP_UNREACHABLE,
				.wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_REACH},
    [EVENT_HEAP_FD_OPENED] = {.from = WIRE_HEAP_ALLOCATED,
			      .resource = HEAP_RESOURCE_FD,
			      .wants = HEAP_WANTS_FDS},
    [EVENT_HEAP_FD_LIVE] = {.from = WIRE_HEAP_LIVE,
			    .resource = HEAP_RESOURCE_FD,
			    .wants = HEAP_WANTS_FDS},
    [EVENT_HEAP_FD_LEAKED] = {.from = WIRE_HEAP_LIVE,
			      .resource = HEAP_RESOURCE_FD,
			      .wants = HEAP_WANTS_FDS,
			      .is_leak = true},
    [EVENT_HEAP_IO_READ] = {.from = WIRE_HEAP_ALLOCATED,
			    .resource = HEAP_RESOURCE_READ,
			    .wants = HEAP_WANTS_IO},
    [EVENT_HEAP_IO_READ_CALLS] = {.from = WIRE_HEAP_ALLOCATED,
				  .resource = HEAP_RESOURCE_READ,
				  .wants = HEAP_WANTS_IO,
				  .is_calls = true},
    [EVENT_HEAP_IO_WRITTEN] = {.from = WIRE_HEAP_ALLOCATED,
			       .resource = HEAP_RESOURCE_WRITTEN,
			       .wants = HEAP_WANTS_IO},
    [EVENT_HEAP_IO_WRITE_CALLS] = {.from = WIRE_HEAP_ALLOCATED,
				   .resource = HEAP_RESOURCE_WRITTEN,
				   .wants = HEAP_WANTS_IO,
				   .is_calls = true},
    [EVENT_HEAP_THREAD_CREATED] = {.from = WIRE_HEAP_ALLOCATED,
				   .resource = HEAP_RESOURCE_THREAD,
				   .wants = HEAP_WANTS_THREADS},
    [EVENT_HEAP_THREAD_LIVE] = {.from = WIRE_HEAP_LIVE,
				.resource = HEAP_RESOURCE_THREAD,
				.wants = HEAP_WANTS_THREADS},
    [EVENT_HEAP_EXCEPTION_THROWN] = {.from = WIRE_HEAP_ALLOCATED,
				     .resource = HEAP_RESOURCE_THROWN,
				     .wants = HEAP_WANTS_EXCEPTIONS},
    [EVENT_HEAP_EXCEPTION_CAUGHT] = {.from = WIRE_HEAP_ALLOCATED,
				     .resource = HEAP_RESOURCE_CAUGHT,
				     .wants = HEAP_WANTS_EXCEPTIONS},
    [EVENT_HEAP_CPU_TIME] = {.from = WIRE_HEAP_ALLOCATED,
			     .resource = HEAP_RESOURCE_CPU_TIME,
			     .wants = HEAP_WANTS_TIMES,
			     .is_of_process = true},
    [EVENT_HEAP_REAL_TIME] = {.from = WIRE_HEAP_ALLOCATED,
			      .resource = HEAP_RESOURCE_REAL_TIME,
			      .wants = HEAP_WANTS_TIMES,
			      .is_of_process = true},
};

const struct heap_kind *heap_kind(int kind)
{
	return &kinds[kind];
}

int heap_kind_of(const struct plan *plan, size_t event)
{
	const struct plan_event *p = &plan->events[event];

	return p->set == PLAN_NO_SET ? -1 : event_heap(&p->event);
}
