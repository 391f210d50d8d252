#include "own_cost.h"

#include "base/buf.h"
#include "base/root.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATM_BYTES = 256 };

uint64_t own_cost_memory(void)
{
	BUF_AUTO(statm, STATM_BYTES);
	const char *resident = NULL; /* the second number: pages */

	if (root_load(&root_live, "/proc/self/statm", &statm) == 0)
		resident = strchr(buf_str(&statm), ' ');
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
