#include "own_cost.h"

#include "base/root.h"
#include "proc/proc.h"
#include "proc/text.h"

#include <unistd.h>

uint64_t own_cost_memory(void)
{
	struct proc_statm m;

	return proc_statm_load(PROC_SELF(&root_live), &m)
		   ? 0
		   : m.resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
