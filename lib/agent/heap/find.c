/*
 * What stands behind the functions of this library, in the order of the loader.
 */
#include "agent/heap/agent.h"

#include <dlfcn.h>

void *agent_find(const char *name)
{
	return agent.is_beside ? agent_find_beside(name) : dlsym(RTLD_NEXT, name);
}

bool agent_are_of_one_object(const char *one, const char *other)
{
	const void *a = agent_find(one), *b = agent_find(other);
	Dl_info of_a, of_b;

	return a && b && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}
