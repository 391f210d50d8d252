/*
 * The agent of the heap in a process that runs already (agent/late/entries.h).
 *
 * Entries of free are rewritten first, those that allocate last: so no block is tracked whose free
 * is not seen.
 *
 * The memory of a session that is over is unmapped when no thread is inside: agent_stay, a flag of
 * each thread, and a barrier on all CPUs.
 */
#include "agent/heap/agent.h"

#include <errno.h>
#include <string.h>

/* A block that a measured function allocates must be freed by one. */
enum order { ORDER_FREE, ORDER_MOVE, ORDER_ALLOCATE };

static bool has_own_new;

/* Functions whose entries stay as they are: operators of C++, which call malloc, where they are
 * measured, unless an allocator has its own; and those that execute a program, as this process's
 * environment names no agent. */
static bool is_left_alone(const char *name)
{
	return strstr(name, "exec") || strncmp(name, "posix_spawn", 11) == 0 ||
	       (strncmp(name, "_Z", 2) == 0 && !has_own_new);
}

static unsigned order_of(const char *name)
{
	if (is_left_alone(name))
		return AGENT_NR_ORDERS;
	if (strncmp(name, "_Zd", 3) == 0 || strcmp(name, "free") == 0 ||
	    strncmp(name, "close", 5) == 0 || strcmp(name, "fclose") == 0 ||
	    strcmp(name, "pclose") == 0)
		return ORDER_FREE;
	return strncmp(name, "realloc", 7) == 0 ? ORDER_MOVE : ORDER_ALLOCATE;
}

static bool prepare(void)
{
	if (!agent_entries_are_known() && !agent_is_preloaded()) {
		agent.is_beside = true;
		agent_hooks_find();
		agent_wrappers_find();
		agent_syscall_find();
		has_own_new = agent_are_of_one_object("_Znwm", "malloc");
		agent_entries_add_own(order_of);
		agent_entries_add_loading(ORDER_ALLOCATE, NULL);
	}
	return agent_entries_prepare();
}

static void end(void)
{
	agent_disconnect();
	agent_entries_end();
}

int agent_attached_begin(uint32_t number, uint64_t blocked)
{
	int rc;

	(void)blocked;
	if (agent_alive() && agent_is_measured())
		return -EBUSY;
	if (agent_alive())
		end();
	if (!agent_is_quiet())
		return -EAGAIN;
	if (!prepare())
		return -ENOMEM;
	rc = agent_connect(number);
	if (rc == 0 && agent.is_beside)
		agent_entries_begin();
	return rc;
}

int agent_attached_end(void)
{
	end();
	return agent_is_quiet() ? 0 : -EAGAIN;
}
