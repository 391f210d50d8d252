/*
 * The group resource: what else a program takes and returns, added up in it by cpuperf's agent as
 * its heap is (event/heap.c).
 */
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/event.h"

#define FD(number_, name_, kind_, text, detail_)                                                   \
	{                                                                                          \
		.name = name_, .number = (number_)-EVENT_HEAP_FD_OPENED + 1, .kind = kind_,        \
		.scope = EVENT_SCOPE_CPU, .unit = "fds",                                           \
		.source = "libcpuperf-agent.so: open, socket, close and the like",                 \
		.description = text, .detail = detail_, .nr_parts = 1,                             \
		.parts = &(const struct event_part){.pmu = "",                                     \
						    .type = PERF_TYPE_SOFTWARE,                    \
						    .config = PERF_COUNT_SW_DUMMY,                 \
						    .config1 = PERF_ABI_HEAP + (number_)},         \
	}
#define TARGET                                                                                     \
	"Only of a command, which must be linked dynamically; of the processes that it starts, "   \
	"too.\nBy calls of open, socket, accept, pipe, dup, fopen, opendir and the like: what "    \
	"libc opens\nfor itself, system calls without it, and descriptors that a process had at "  \
	"its start,\nor that it received over a socket, are not among them.\n"
#define SAMPLED "rate: 1, each descriptor. The sample's stack is that of the call that opened it."

static const struct event_row rows[] = {
    FD(EVENT_HEAP_FD_OPENED, "fd_opened", EVENT_COUNT,
       "File descriptors that programs opened: files, sockets, pipes and all others.",
       TARGET SAMPLED),
    FD(EVENT_HEAP_FD_LIVE, "fd_live", EVENT_VALUE,
       "File descriptors opened in this session and not closed yet, at the end of the iteration.",
       TARGET "Of a process that ended in the iteration: when it ended.\n" SAMPLED),
    FD(EVENT_HEAP_FD_LEAKED, "fd_leaked", EVENT_COUNT,
       "File descriptors that were open when their process ended.", TARGET SAMPLED),
};

const struct event_group event_resource_group = {
    .name = "resource",
    .description = "File descriptors of a program: who opens them, and who never closes them.",
    .id = EVENT_GROUP_RESOURCE,
    .is_perf = true,
    .rows = rows,
    .nr_rows = ARRAY_NR(rows),
};

bool event_is_resource(const struct event *ev)
{
	return ev->group->id == EVENT_GROUP_RESOURCE;
}
