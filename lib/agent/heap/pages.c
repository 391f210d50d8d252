/*
 * Which pages of a block were never touched: those that are not in memory, as mincore says. So are
 * pages in swap, which therefore seem untouched. Where it cannot be told, all are touched.
 */
#include "agent/heap/agent.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AT_ONCE = 1024 }; /* the stack may be small */

uint64_t agent_untouched(uint64_t address, uint32_t packed_size)
{
	uint64_t at, left = heap_whole_pages(address, packed_size, agent.page, &at), nr = 0;
	int error = errno;

	if (left && !agent_may(AGENT_MAY_ASK_PAGES)) {
		(void)agent_missed(HEAP_MISS_PAGES, "");
		return 0;
	}
	while (left) {
		uint64_t all = left / agent.page, some = all < AT_ONCE ? all : AT_ONCE;
		unsigned char is_in[AT_ONCE];

		if (syscall(SYS_mincore, (uintptr_t)at, (size_t)(some * agent.page), is_in))
			break;
		for (uint64_t i = 0; i < some; i++)
			nr += !(is_in[i] & 1);
		at += some * agent.page;
		left -= some * agent.page;
	}
	errno = error;
	return nr * agent.page;
}
