/*
 * CRC-32C by the CPU's instruction where it has one, else by eight tables.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

typedef uint32_t update_fn(uint32_t crc, const uint8_t *p, size_t len);

static uint32_t tables[8][256];
static update_fn *update;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t update_tables(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		uint32_t lo = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
				     (uint32_t)p[3] << 24);

		crc = tables[7][lo & 255] ^ tables[6][lo >> 8 & 255] ^ tables[5][lo >> 16 & 255] ^
		      tables[4][lo >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
		      tables[0][p[7]];
	}
	while (len--)
		crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 255];
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t update_cpu(uint32_t crc, const uint8_t *p,
							     size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	for (crc = (uint32_t)wide; len; len--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}

static bool cpu_has_crc(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) static uint32_t update_cpu(uint32_t crc, const uint8_t *p,
							   size_t len)
{
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		crc = __crc32cd(crc, word);
	}
	for (; len; len--)
		crc = __crc32cb(crc, *p++);
	return crc;
}

static bool cpu_has_crc(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#else
#define update_cpu update_tables
static bool cpu_has_crc(void)
{
	return false;
}
#endif

static void prepare(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
		tables[0][i] = crc;
	}
	for (int t = 1; t < 8; t++)
		for (int i = 0; i < 256; i++)
			tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
	update = cpu_has_crc() ? update_cpu : update_tables;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	pthread_once(&once, prepare);
	return ~update(~crc, data, len);
}
