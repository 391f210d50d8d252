/*
 * File descriptors: where they are opened, until they are closed. Each is a block at an address of
 * its own. What the C library opens for itself does not come here.
 */
#include "agent/heap/resource.h"

#include <errno.h>

enum { FD_BYTES = 1 };

/* The largest number of a descriptor that was tracked. */
static int32_t largest;

static uint64_t address_of(int fd)
{
	return HEAP_FD_ADDRESS + 8 * (uint64_t)fd;
}

static void add(int fd, const struct agent_frame *from)
{
	struct agent_block block = {.size = FD_BYTES}, old = {0};
	int32_t before = largest;

	block.stack = agent_resource_stack(HEAP_RESOURCE_FD, from);
	if (!block.stack)
		return;
	agent_resource_add(block.stack, FD_BYTES);
	while (fd > before && !__atomic_compare_exchange_n(&largest, &before, fd, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (!agent_blocks_add(address_of(fd), block, &old))
		agent_count(&agent.shared->no_block);
	if (old.stack) /* it was closed unseen, by the C library or by dup2 */
		agent_resource_remove(old.stack, FD_BYTES);
}

void agent_fd_opened(int fd, struct agent_frame from)
{
	int error = errno;

	if (agent_resource_begin(HEAP_WANTS_FDS)) {
		if (agent_is_ours())
			add(fd, &from);
		agent_resource_end();
	}
	errno = error;
}

static AGENT_RARE void close_all(uint32_t first, uint32_t last)
{
	struct agent_local *t = &agent_local;
	int error = errno;

	if (t->is_busy || agent.shared->is_closed || !agent_is_ours())
		return;
	t->is_busy = 1;
	if (t->is_ended ? agent_stay(t) : agent_attach(t))
		for (uint32_t fd = first; fd <= last && fd <= (uint32_t)largest; fd++) {
			struct agent_block block = agent_blocks_remove(address_of((int)fd));

			if (block.stack)
				agent_resource_remove(block.stack, FD_BYTES);
		}
	agent_leave(t);
	errno = error;
}

void agent_fd_closing(uint32_t first, uint32_t last)
{
	if (AGENT_UNLIKELY(agent_alive() && agent.wants & HEAP_WANTS_FDS) &&
	    first <= (uint32_t)largest)
		close_all(first, last);
}
