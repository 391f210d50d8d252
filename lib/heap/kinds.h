/*
 * What each kind of event takes from the memory of a process, and what the agent has to do for it.
 */
#ifndef HEAP_KINDS_H
#define HEAP_KINDS_H

#include "event/event.h"
#include "wire/heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

struct heap_kind {
	enum wire_heap_kind from; /* of a stack's amounts */
	uint32_t resource;        /* 0: memory */
	uint32_t wants;           /* HEAP_WANTS_... of the agent */
	bool is_of_process;       /* its count is not the sum of its stacks */
	bool is_calls;            /* of the amount its number, not its bytes */
	bool is_leak;             /* only of a process that has ended */
};

/* kind: enum event_heap_kind. */
const struct heap_kind *heap_kind(int kind);
/* Of the event of the plan; -1: another one, or none that is measured. */
int heap_kind_of(const struct plan *plan, size_t event);

#endif
