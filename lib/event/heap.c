/*
 * The group heap: what a program allocates, added up in it by cpuperf's agent (wire/heap_memory.h).
 * Each is carried by a dummy event that follows the program's tasks.
 */
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/event.h"

_Static_assert((int)EVENT_HEAP_NR_KINDS == (int)PERF_ABI_NR_HEAPS &&
		   (int)EVENT_HEAP_MAX == (int)PERF_ABI_HEAP_MAX &&
		   (int)EVENT_HEAP_CPU_TIME == (int)PERF_ABI_HEAP_CPU_TIME &&
		   (int)EVENT_HEAP_REAL_TIME == (int)PERF_ABI_HEAP_REAL_TIME &&
		   (int)EVENT_HEAP_PATH_PEAK == (int)PERF_ABI_HEAP_PATH_PEAK,
	       "kinds");

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
	"Of a command, or with --pid and --attach of processes that run; linked dynamically; of "  \
	"the\nprocesses that they start, too.\n"
#define SAMPLED                                                                                    \
	"rate: bytes per sample, one for all events of the group; 1: each allocation. Each byte "  \
	"is as\nlikely to be sampled as any other. The sample's stack is that of the allocation."
#define MOMENT                                                                                     \
	"Of a process with threads it may miss 1/1024 of the largest, or 1 KiB for each thread.\n" \
	"With a rate above 1 its moment is still that of all blocks, by malloc_usable_size, "      \
	"within "                                                                                  \
	"1/8 of\nthe rate for each thread: not where more happened to be sampled. It is by "       \
	"samples, "                                                                                \
	"and a note says so,\nin a process that was attached to, one forked without an exec, and " \
	"with an allocator without\nmalloc_usable_size.\n"
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
	 ESTIMATED "Of several processes: the sum of the peak of each.\n" MOMENT SAMPLED),
    HEAP(EVENT_HEAP_PATH_PEAK, "path_peak", EVENT_VALUE, "B",
	 "The most bytes that one call path had live at one time so far, whenever that was.",
	 TARGET "Of each stack its own largest live amount: also of those that hold nothing at the "
		"process's peak.\nOf several stacks, processes or iterations the largest counts, "
		"not their sum: a function, or a tree's\nnode, has the peak of its largest stack. "
		"So exports, --diff and html, which add up, omit it.\nOf threads that allocate in "
		"one place it is exact; they wait for each other there.\nWith a rate above 1 it is "
		"the largest estimate, which is too large where samples are few.\n" SAMPLED),
    HEAP(EVENT_HEAP_MAX, "max", EVENT_VALUE, "B", "The largest single allocation so far.",
	 TARGET "Its count is exact. Samples have the largest one of each stack: of several "
		"processes, iterations\nor stacks, as of a function with all that it calls, the "
		"largest counts, not their sum; so\nexports, --diff and html, which add up, omit "
		"them. With a rate above 1 those are missed\nthat no sample saw, which are hardly "
		"ever larger than a few times the rate.\n" SAMPLED),
    HEAP(EVENT_HEAP_TEMPORARY, "temporary", EVENT_COUNT, "B",
	 "Bytes freed by the thread that allocated them, without another allocation in between.",
	 ESTIMATED SAMPLED),
    HEAP(EVENT_HEAP_LEAKED, "leaked", EVENT_COUNT, "B",
	 "Bytes that were live when their process ended.",
	 ESTIMATED "Reachable ones are among them.\n" SAMPLED),
    HEAP(EVENT_HEAP_OVERHEAD, "overhead", EVENT_COUNT, "B",
	 "Bytes that the allocator added to what was requested, by malloc_usable_size.",
	 ESTIMATED SAMPLED),
    HEAP(
	EVENT_HEAP_RESIDENT, "resident", EVENT_VALUE, "B",
	"Bytes in memory at the end of the iteration, in pages of live allocations.",
	TARGET
	"By /proc/PID/pagemap. With each allocation a sample, a page of several of them is divided "
	"among\nthem by their bytes in it, so that what lies between them counts, too. With a rate "
	"above 1 it is\nan estimate of their own bytes only. A page that was only read is in "
	"memory, "
	"though the kernel\nhas one of zeroes for all (Rss of smaps does not count that one). Of a "
	"process that ended in\nthe iteration: when it ended; by a signal, abort or exec there are "
	"none.\n" SAMPLED),
    HEAP(EVENT_HEAP_UNTOUCHED, "untouched", EVENT_COUNT, "B",
	 "Bytes of whole pages of allocations that were never touched.",
	 ESTIMATED
	 "Seen when they are freed, or moved by realloc; and of those that are live at "
	 "the end of an "
	 "iteration,\nor of their process, where touching them later takes nothing back; not if "
	 "it ends by a signal,\nabort or exec. Memory that malloc uses again was touched before, "
	 "and a page in a huge page by its\nneighbours; pages in swap seem untouched when they "
	 "are freed.\nA free of 64 KiB takes 2 to 3 us longer, one "
	 "without a whole page nothing.\nWith --untouched=pattern: the words that still have "
	 "a pattern with which allocations were filled.\n" SAMPLED),
    HEAP(
	EVENT_HEAP_PEAK_TIME, "peak_time", EVENT_VALUE, "ns",
	"When the most bytes were live at one time so far, since the start of the session.",
	ESTIMATED
	"Within some microseconds, by the counter of cycles. Of several processes: of the one with "
	"the largest peak; a child by fork that executes nothing is known by samples alone.\n"
	"Failed where a rate passed by all that was allocated, and nothing else "
	"counted it.\n" MOMENT),
    HEAP(EVENT_HEAP_LIFETIME, "lifetime", EVENT_COUNT, "B",
	 "Bytes of allocations that were freed, by how long they lived.",
	 ESTIMATED
	 "The innermost function of a sample says how long: [lived less than 1 us], [lived 1 "
	 "us to 10 us], by\ntens, to [lived 1 s or longer]. A realloc ends a life and begins "
	 "another. --report=lifetimes is by\nfunction. The time is that of the counter of "
	 "cycles, which is read at each allocation and free that\nis sampled: 10 to 20 ns "
	 "each time.\n" SAMPLED),
    HEAP(EVENT_HEAP_UNREACHABLE, "unreachable", EVENT_VALUE, "B",
	 "Bytes live when their process ended that nothing pointed to any more: they are lost.",
	 "Of a command, linked dynamically, and the processes that it starts; with a rate of 1, or "
	 "none: "
	 "what is not\ntracked could have pointers. At exit, _exit, quick_exit and a dump, cpuperf "
	 "stops "
	 "the threads (ptrace)\nand looks at registers, stacks, thread-local and writable memory, "
	 "and blocks "
	 "that are reached, for words\nthat are addresses within a block; what is live and not in "
	 "this is "
	 "reachable. A program that ends\notherwise (by a signal, abort), is traced, or takes "
	 "longer than "
	 "10 s is not searched, which a note says.\n" SAMPLED),
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

	if (ev->group->id != EVENT_GROUP_HEAP && !event_is_resource(ev))
		return -1;
	event_part(ev, 0, &part);
	return perf_abi_heap(part.type, part.config, part.config1);
}
