/*
 * Sums of resources by call path, each exactly.
 */
#include "agent/heap/resource.h"

#include <errno.h>

bool agent_resource_begin(uint32_t want)
{
	struct agent_local *t = &agent_local;

	if (t->is_busy) {
		/* else this is the agent, which connects */
		if (agent_alive() && t->is_busy != AGENT_ASKS)
			agent_count(&agent.shared->nested);
		return false;
	}
	t->is_busy = 1;
	if (agent_attach(t) && agent.wants & want && !agent.shared->is_closed)
		return true;
	agent_leave(t);
	return false;
}

void agent_resource_end(void)
{
	agent_leave(&agent_local);
}

uint32_t agent_resource_stack(enum heap_resource of, const struct agent_frame *from)
{
	return agent_resource_stack_within(of, from, 0);
}

uint32_t agent_resource_stack_within(enum heap_resource of, const struct agent_frame *from,
				     uint64_t within)
{
	uint32_t node = agent.has_stacks ? agent_capture(agent_local.own, from) : 0;
	uint32_t stack;

	if (node && within)
		node = agent_tree_child(node, within);
	node = node || !agent.has_stacks ? agent_tree_child(node, of) : 0;
	stack = node ? agent_tree_stack(node) : 0;
	if (!stack)
		agent_count(&agent.shared->no_node);
	return stack;
}

static struct heap_stack *stack_of(uint32_t stack)
{
	return (struct heap_stack *)agent_at(agent.shared->stacks) + (stack - 1);
}

void agent_resource_add(uint32_t stack, uint64_t bytes)
{
	struct heap_stack *s = stack_of(stack);

	agent_lock(&s->lock);
	agent_plus(&s->samples, 1);
	agent_plus(&s->bytes, bytes);
	if (bytes > s->max_bytes)
		agent_set(&s->max_bytes, bytes);
	agent_unlock(&s->lock);
}

void agent_resource_remove(uint32_t stack, uint64_t bytes)
{
	struct heap_stack *s = stack_of(stack);

	agent_lock(&s->lock);
	agent_plus(&s->freed_samples, 1);
	agent_plus(&s->freed_bytes, bytes);
	agent_unlock(&s->lock);
}

/* A child by vfork moves its parent's bytes: it has the parent's stack. */
void agent_moved(enum heap_resource of, uint64_t bytes, struct agent_frame from)
{
	int error = errno;
	uint32_t stack;

	if (agent_resource_begin(HEAP_WANTS_IO)) {
		stack = agent_resource_stack(of, &from);
		if (stack)
			agent_resource_add(stack, bytes);
		agent_resource_end();
	}
	errno = error;
}
