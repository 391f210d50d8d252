/*
 * Experiments in a process that runs already, in the recorder's calls (agent/late/entries.h). The
 * session begins when all threads have what samples them, as each looks for that once. One that is
 * made just then has nothing.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <string.h>

/* Those of coz's macros are not looked up again. What is loaded is looked at by the entries' own
 * dlopen. */
static unsigned order_of(const char *name)
{
	return strcmp(name, "_coz_get_counter") == 0 || strcmp(name, "dlopen") == 0
		   ? AGENT_NR_ORDERS
		   : 0;
}

/* The entries of what is loaded by a name are looked at when the first function is looked up there;
 * its candidates with the next payment. */
static void on_loaded(bool is_later)
{
	if (is_later)
		agent_find_later();
	else
		agent_find_again();
}

static bool prepare(void)
{
	if (agent.is_beside && !agent_entries_are_known()) {
		agent_entries_add_own(order_of);
		agent_entries_add_loading(0, on_loaded);
	}
	return agent_entries_prepare();
}

int agent_attached_end(void)
{
	if (!agent_is_measuring())
		return 0;
	__atomic_store_n(&agent.session, (agent.session | 1) + 1, __ATOMIC_SEQ_CST);
	agent_sources_close();
	agent_entries_end();
	agent_disconnect();
	return 0;
}

int agent_attached_begin(uint32_t number, uint64_t blocked)
{
	if (agent_is_measuring() && !agent_is_over())
		return -EBUSY;
	(void)agent_attached_end();
	if (agent_clock_is_inside())
		return -EAGAIN;
	if (!prepare())
		return -ENOMEM;
	if (!agent_connect(number))
		return -ECONNREFUSED;
	agent_sources_take_signal();
	agent_find_again();
	(void)agent_is_first_process();
	if (agent.is_beside)
		agent_entries_begin();
	agent_sources_open(blocked);
	__atomic_store_n(&agent.session, agent.session + 1, __ATOMIC_SEQ_CST);
	return 0;
}
