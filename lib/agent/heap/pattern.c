/*
 * What a program did not write of its memory: blocks are filled with a pattern before it has them.
 * Unlike what the kernel says of pages this also sees memory that malloc uses again, and small
 * blocks; but all of it is in memory then. In words of 8 bytes: what is less is written.
 *
 * What has contents is left as it is, but for the words of it that nobody wrote: they have those of
 * the block that was there before the realloc, and were counted when that ended. What they are now
 * counts as written.
 *
 * The pattern is another word at each address: what was copied, or was there before, is none.
 * Blocks that live are read by the session (heap/pattern.h).
 */
#include "agent/heap/agent.h"

enum { WORD = sizeof(uint64_t) };

static uint64_t up(uint64_t bytes)
{
	return (bytes + WORD - 1) / WORD;
}

bool agent_fill(uint64_t address, uint64_t bytes, uint64_t kept)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address, nr = bytes / WORD, i = 0;

	if (kept == AGENT_KEEPS_ALL || address % WORD || bytes > HEAP_FILL_MAX)
		return false;
	for (; i < nr && i < up(kept); i++)
		if (AGENT_UNLIKELY(word[i] == heap_pattern(address + i * WORD)))
			word[i] = 0;
	for (; i < nr; i++)
		word[i] = heap_pattern(address + i * WORD);
	return true;
}

uint64_t agent_unwritten(uint64_t address, uint64_t bytes)
{
	return heap_unwritten((const uint64_t *)(uintptr_t)address, bytes / WORD, address);
}
