/*
 * Threads: where they are created, until they end. A thread that is created begins here, and goes
 * on in its own function by a tail call, so that its stack is as without the agent. Its end is the
 * destructor of its key.
 */
#include "agent/heap/times.h"

#include <errno.h>

/* What the new thread receives, in pages of its own: its creator may be gone. */
struct start {
	union agent_start function;
	void *arg;
	uint32_t stack, generation;
};

enum { START_BYTES = 4096 };

/* Of this thread: the stack that created it + 1, of that connection. */
static __thread struct {
	uint32_t stack, generation;
} created;

/* The key of the thread makes its end known. */
static AGENT_RARE void begun(struct start *s, struct agent_frame from)
{
	int error = errno;
	uint64_t function;

	created.stack = s->stack;
	created.generation = s->generation;
	function = (uintptr_t)s->function.posix;
	agent_free_pages(s, START_BYTES);
	if (agent_resource_begin(HEAP_WANTS_THREADS | HEAP_WANTS_TIMES)) {
		if (agent.wants & HEAP_WANTS_TIMES)
			agent_times_began(from, function);
		agent_resource_end();
	}
	errno = error;
}

static void *run(void *of)
{
	struct start *s = of;
	void *(*function)(void *) = s->function.posix;
	void *arg = s->arg;

	begun(s, AGENT_HERE);
	return function(arg);
}

static int run_c11(void *of)
{
	struct start *s = of;
	int (*function)(void *) = s->function.c11;
	void *arg = s->arg;

	begun(s, AGENT_HERE);
	return function(arg);
}

/* The stack of a thread that is not counted, but begins through the agent. */
enum { NO_STACK = UINT32_MAX };

/* 0: no room. */
static uint32_t prepare(union agent_start *function, void **arg, bool is_c11,
			const struct agent_frame *from)
{
	uint32_t stack = agent.wants & HEAP_WANTS_THREADS
			     ? agent_resource_stack(HEAP_RESOURCE_THREAD, from)
			     : NO_STACK;
	struct start *s = stack ? agent_pages(START_BYTES) : NULL;

	if (!s)
		return 0;
	*s = (struct start){*function, *arg, stack != NO_STACK ? stack : 0, agent_alive()};
	*arg = s;
	if (is_c11)
		function->c11 = run_c11;
	else
		function->posix = run;
	return stack;
}

uint32_t agent_thread_creating(union agent_start *function, void **arg, bool is_c11,
			       struct agent_frame from)
{
	int error = errno;
	uint32_t stack = 0;

	if (agent_resource_begin(HEAP_WANTS_THREADS | HEAP_WANTS_TIMES)) {
		stack = prepare(function, arg, is_c11, &from);
		agent_resource_end();
	}
	errno = error;
	return stack;
}

void agent_thread_created(uint32_t stack, void *arg, bool is_created)
{
	int error = errno;

	if (!is_created)
		agent_free_pages(arg, START_BYTES);
	else if (stack != NO_STACK && agent_resource_begin(HEAP_WANTS_THREADS)) {
		agent_resource_add(stack, 1);
		agent_resource_end();
	}
	errno = error;
}

void agent_thread_ended(void)
{
	if (created.stack && created.generation == agent_alive() && !agent.shared->is_closed)
		agent_resource_remove(created.stack, 1);
	created.stack = 0;
}
