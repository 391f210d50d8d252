/*
 * A few encodings; of others only which registers they may set.
 */
#include "annotate/slots.h"

#include "base/array.h"

static void forget(struct annotate_slots *s, uint32_t number)
{
	s->has_page &= ~(1u << number);
	s->has_slot &= ~(1u << number);
}

/* adrp xD, page */
static void follow_page(struct annotate_slots *s, uint32_t word, uint64_t address)
{
	const uint32_t to = word & 31;
	const uint64_t number = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);

	forget(s, to);
	/* 21 bits with a sign */
	s->page[to] = (address & ~(uint64_t)0xfff) + (((number ^ 1u << 20) - (1u << 20)) << 12);
	s->has_page |= 1u << to;
}

/* ldr xT, [xN, #offset] */
static bool follow_load(struct annotate_slots *s, uint32_t word, uint64_t *slot)
{
	const uint32_t to = word & 31, from = word >> 5 & 31;
	const bool is_known = from != 31 && s->has_page & 1u << from;
	const uint64_t address = s->page[from] + (uint64_t)(word >> 10 & 0xfff) * 8;

	forget(s, to);
	if (!is_known)
		return false;
	s->slot[to] = *slot = address;
	s->has_slot |= 1u << to;
	return true;
}

/* Loads and stores may set each register that they name, others the first one. */
static void forget_set(struct annotate_slots *s, uint32_t word)
{
	const bool is_memory = (word & 0x0a000000) == 0x08000000;
	static const unsigned others[] = {5, 10, 16}; /* bits: base, second, status register */

	forget(s, word & 31);
	for (size_t i = 0; is_memory && i < ARRAY_NR(others); i++)
		forget(s, word >> others[i] & 31);
}

bool annotate_slots_follow(struct annotate_slots *s, uint32_t word, uint64_t address,
			   uint64_t *slot)
{
	const bool is_branch = (word & 0x1c000000) == 0x14000000;
	const uint32_t from = word >> 5 & 31;
	bool is_known;

	if ((word & 0x9f000000) == 0x90000000) {
		follow_page(s, word, address);
		return false;
	}
	if ((word & 0xffc00000) == 0xf9400000)
		return follow_load(s, word, slot);
	/* hints, as bti and autia1716, which authenticates x17, leave registers as they are */
	if ((word & 0xfffff01f) == 0xd503201f)
		return false;
	if (!is_branch) {
		forget_set(s, word);
		return false;
	}
	/* br, blr, braa, blraa and their like */
	is_known = (word & 0xfedf0000) == 0xd61f0000 && from != 31 && s->has_slot & 1u << from;
	if (is_known)
		*slot = s->slot[from];
	*s = (struct annotate_slots){.has_page = 0};
	return is_known;
}
