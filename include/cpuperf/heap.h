/*
 * Dumps of a program's heap, where cpuperf measures it (group heap): between two of them the reader
 * sees what was allocated and not freed.
 *
 *     cpuperf_heap_dump();
 *
 * Ends cpuperf's iteration: what is live and was at the peak is read as it is now, and stored.
 * Returns 0 when that was read; -1 if nobody measures the heap, or did not read it within 2 s.
 * One header, no library (but -ldl before glibc 2.34): without cpuperf's agent in the process it
 * does nothing. Not in a signal handler, nor where a filter forbids sockets.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CPUPERF_HEAP_H
#define CPUPERF_HEAP_H

#include <dlfcn.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* By name: a weak reference would be none in programs that are linked to a fixed address. */
__attribute__((unused)) static inline int cpuperf_heap_dump(void)
{
	void *found = dlsym((void *)0 /* RTLD_DEFAULT */, "cpuperf_heap_agent_dump");
	int (*dump)(void);

	if (!found)
		return -1;
	memcpy(&dump, &found, sizeof(dump));
	return dump();
}

#ifdef __cplusplus
}
#endif

#endif
