/*
 * Slots that code of arm64 reads: their address is made by two instructions (adrp; ldr), and a
 * third one jumps to what they hold. Registers are followed from one instruction to the next.
 */
#ifndef ANNOTATE_SLOTS_H
#define ANNOTATE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

enum { ANNOTATE_REGISTERS = 32 };

/* Zero-initialise: nothing is known, as at the target of a jump. */
struct annotate_slots {
	uint64_t page[ANNOTATE_REGISTERS], slot[ANNOTATE_REGISTERS];
	uint32_t has_page, has_slot; /* bits */
};

/* Follows the instruction at an address. True: it reads *slot, or jumps to what was read there. */
bool annotate_slots_follow(struct annotate_slots *s, uint32_t word, uint64_t address,
			   uint64_t *slot);

#endif
