/*
 * What is added up of resources by call path (enum heap_resource), beside memory: the functions
 * that the wrappers (wrappers.c) call. Each preserves errno.
 */
#ifndef AGENT_HEAP_RESOURCE_H
#define AGENT_HEAP_RESOURCE_H

#include "agent/heap/agent.h"

/* Whether something of enum heap_want may be wanted: it is, or the process is not connected yet. */
static inline bool agent_may_want(uint32_t want)
{
	return agent_alive() ? (agent.wants & want) != 0 : !agent.is_off;
}

/* --- resources.c */

/* Sets is_busy and connects. False, and is_busy is as before: nothing of it is measured. */
bool agent_resource_begin(uint32_t want);
void agent_resource_end(void);

/* Between both: the number of the stack of a call + 1; 0: no room, which is counted. */
uint32_t agent_resource_stack(enum heap_resource of, const struct agent_frame *from);
/* within: further from the place of the call, in the place of an address; 0: nothing. */
uint32_t agent_resource_stack_within(enum heap_resource of, const struct agent_frame *from,
				     uint64_t within);
void agent_resource_add(uint32_t stack, uint64_t bytes);
void agent_resource_remove(uint32_t stack, uint64_t bytes);

/* A call that moved so many bytes. */
AGENT_RARE void agent_moved(enum heap_resource of, uint64_t bytes, struct agent_frame from);

/* --- stdio.c */

/* Once, for what is wanted of reads and writes. */
void agent_stdio_init(void);

/* --- threads.c */

union agent_start {
	void *(*posix)(void *);
	int (*c11)(void *);
};

/* Before a thread is created: replaces the function and its argument. 0: they stay, and nothing is
 * counted; else for the call after it. */
uint32_t agent_thread_creating(union agent_start *function, void **arg, bool is_c11,
			       struct agent_frame from);
void agent_thread_created(uint32_t stack, void *arg, bool is_created);
/* This one ends. */
void agent_thread_ended(void);

/* --- types.c */

/* Called when a new connection begins: forgets the names of types. */
void agent_types_init(void);
/* The number that stands for a std::type_info in the place of an address. 0: too many types. */
uint64_t agent_type_name(const void *type);

/* --- vfork.c */

/* False: a child runs that has its parent's memory, but descriptors of its own. */
bool agent_is_ours(void);

/* --- fds.c */

AGENT_RARE void agent_fd_opened(int fd, struct agent_frame from);
/* Before the call that closes those from first to last: then a number may be another thread's at
 * once. */
void agent_fd_closing(uint32_t first, uint32_t last);

#endif
