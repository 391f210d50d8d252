/* Little-endian words; the caller checks bounds. */
#ifndef SYMBOL_WORD_H
#define SYMBOL_WORD_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t word_16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t word_32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t word_64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

#endif
