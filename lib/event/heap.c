/*
 * The group heap: what a program allocates, added up in it by cpuperf's agent (wire/heap_memory.h).
 * Each is carried by a dummy event that follows the program's tasks.
 */
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/event.h"

_Static_assert((int)EVENT_HEAP_NR_KINDS == (int)PERF_ABI_NR_HEAPS, "kinds");

#define HEAP(number_, name_, kind_, unit_, text, detail_)                                          \
	{                                                                                          \
		.name = name_, .number = (number_) + 1, .kind = kind_, .scope = EVENT_SCOPE_CPU,   \
		.unit = unit_, .source = "libcpuperf-agent.so: malloc, free and the like",         \
		.description = text, .detail = detail_, .nr_parts = 1,                             \
		.parts = &(const struct event_part){.pmu = "",                                     \
						    .type = PERF_TYPE_SOFTWARE,                    \
						    .config = PERF_COUNT_SW_DUMMY,                 \
						    .config1 = PERF_ABI_HEAP + (number_)},         \
	}
#define TARGET                                                                                     \
	"Only of a command, which must be linked dynamically; of the processes that it starts, "   \
	"too.\n"
#define SAMPLED                                                                                    \
	"rate: bytes per sample, one for all events of the group; 1: each allocation. Each byte "  \
	"is as\nlikely to be sampled as any other. The sample's stack is that of the allocation."
#define ESTIMATED TARGET "With a rate above 1 for any event of the group it is an estimate.\n"

static const struct event_row rows[] = {
    HEAP(EVENT_HEAP_ALLOCATED, "allocated", EVENT_COUNT, "B",
	 "Bytes that programs requested of malloc, new and the like.",
	 TARGET "Its count is exact, also beside samples.\n" SAMPLED),
    HEAP(EVENT_HEAP_ALLOCATIONS, "allocations", EVENT_COUNT, "calls",
	 "Calls that allocated: malloc, new, realloc and the like.", TARGET "It is exact."),
    HEAP(EVENT_HEAP_FREED, "freed", EVENT_COUNT, "B",
	 "Bytes of allocations of this session that were freed.", ESTIMATED SAMPLED),
    HEAP(EVENT_HEAP_LIVE, "live", EVENT_VALUE, "B",
	 "Bytes allocated in this session and not freed yet, at the end of the iteration.",
	 ESTIMATED "Of a process that ended in the iteration: when it ended.\n" SAMPLED),
    HEAP(EVENT_HEAP_PEAK, "peak", EVENT_VALUE, "B",
	 "The most bytes that were live at one time so far; its stacks are those of that moment.",
	 ESTIMATED "Of several processes: the sum of the peak of each.\n" SAMPLED),
    HEAP(EVENT_HEAP_MAX, "max", EVENT_VALUE, "B", "The largest single allocation so far.",
	 TARGET "It is exact."),
    HEAP(EVENT_HEAP_TEMPORARY, "temporary", EVENT_COUNT, "B",
	 "Bytes freed by the thread that allocated them, without another allocation in between.",
	 ESTIMATED SAMPLED),
    HEAP(EVENT_HEAP_LEAKED, "leaked", EVENT_COUNT, "B",
	 "Bytes that were live when their process ended.",
	 ESTIMATED "Reachable ones are among them.\n" SAMPLED),
    HEAP(EVENT_HEAP_OVERHEAD, "overhead", EVENT_COUNT, "B",
	 "Bytes that the allocator added to what was requested, by malloc_usable_size.",
	 ESTIMATED SAMPLED),
};

const struct event_group event_heap_group = {
    .name = "heap",
    .description = "What a program allocates, who holds it, and what is never freed.",
    .id = EVENT_GROUP_HEAP,
    .is_perf = true,
    .rows = rows,
    .nr_rows = ARRAY_NR(rows),
};

int event_heap(const struct event *ev)
{
	struct event_part part;

	if (ev->group->id != EVENT_GROUP_HEAP)
		return -1;
	event_part(ev, 0, &part);
	return perf_abi_heap(part.type, part.config, part.config1);
}
