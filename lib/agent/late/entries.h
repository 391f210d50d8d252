/*
 * An agent in a process that runs already. The recorder has loaded its library by dlopen
 * (lib/attach), so its functions stand in front of nothing: the entries of all loaded objects by
 * which they call a function that is measured (of the GOT, or pointers in their data) are rewritten
 * to the agent's, and on request back.
 *
 * An entry is rewritten only where it holds the function that the agent's passes on to, or is not
 * resolved yet; back only where it still holds the agent's. All of this is within the recorder's
 * calls, or within the program's own dlopen, dlsym and dlclose. A program at a fixed address may
 * have a place of its own for a function's address, which dlsym finds: what is passed on to is
 * looked for behind it.
 *
 * Part of each agent that can be attached, which has a copy of its own.
 */
#ifndef AGENT_ENTRIES_H
#define AGENT_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer to the recorder's last call (lib/attach). */
struct agent_answer {
	uint32_t nr; /* of calls so far */
	int32_t result;
	uint32_t entries, objects; /* that are rewritten */
};

/* Entries of an order are rewritten, in all objects, before those of the next one. */
enum { AGENT_NR_ORDERS = 3 };

/* A function that is measured, the agent's, and what that passes on to (0: it is not measured). */
void agent_entries_add(const char *name, uint64_t own, uint64_t real, unsigned order);
/* Those that the agent exports, but for cpuperf_*: order_of says AGENT_NR_ORDERS of what is not
 * measured. */
void agent_entries_add_own(unsigned (*order_of)(const char *name));
/* dlopen and dlsym: what they load is looked at. Then loaded is called (NULL: nothing), or, where
 * it will have been loaded only later, before. */
void agent_entries_add_loading(unsigned order, void (*loaded)(bool is_later));
/* Whether some were added. */
bool agent_entries_are_known(void);
/* False: no memory. */
bool agent_entries_prepare(void);
/* Within the recorder's calls: rewrites the entries, and back. */
void agent_entries_begin(void);
void agent_entries_end(void);

#if defined(__i386__) /* which is only preloaded */
static inline void agent_look_at_objects(void)
{
}

static inline void *agent_find_beside(const char *name)
{
	(void)name;
	return NULL;
}
#else
/* After dlopen or dlclose. */
void agent_look_at_objects(void);
/* The program's function of that name, where the agent was loaded late, and stands in front of no
 * library. NULL: there is none. */
void *agent_find_beside(const char *name);
#endif
/* The agent was there when the program began. */
bool agent_is_preloaded(void);

/* What each agent defines: the recorder's calls, with the loader's lock, and pages that exist when
 * they are written (NULL: none). blocked: signals, by the thread that is made to call. 0, or
 * -EBUSY: it is measured by another recorder; -EAGAIN: a thread is still inside; -ENOMEM;
 * -ECONNREFUSED. */
int agent_attached_begin(uint32_t number, uint64_t blocked);
int agent_attached_end(void);
void *agent_pages(size_t bytes);

#endif
