/*
 * CRC-32C, by the CPU's instruction if it has one, else by eight tables.
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
#define WITH_CRC __attribute__((target("sse4.2")))

static inline WITH_CRC uint32_t step(uint32_t crc, uint64_t word)
{
	return (uint32_t)_mm_crc32_u64(crc, word);
}

static inline WITH_CRC uint32_t step_byte(uint32_t crc, uint8_t byte)
{
	return _mm_crc32_u8(crc, byte);
}

static bool cpu_has_crc(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
#define WITH_CRC __attribute__((target("+crc")))

static inline WITH_CRC uint32_t step(uint32_t crc, uint64_t word)
{
	return __crc32cd(crc, word);
}

static inline WITH_CRC uint32_t step_byte(uint32_t crc, uint8_t byte)
{
	return __crc32cb(crc, byte);
}

static bool cpu_has_crc(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#endif

#ifdef WITH_CRC
static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
	return word;
}

WITH_CRC static uint32_t update_stream(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8)
		crc = step(crc, word_at(p));
	for (; len; len--)
		crc = step_byte(crc, *p++);
	return crc;
}

/*
 * The instruction has a latency of three cycles, and one can start in each. So three blocks are
 * processed in parallel, then combined: behind[] has the effect of one or two blocks of zeros on a
 * crc, per byte of the crc.
 */
enum { BLOCK_BYTES = 1024 };
static uint32_t behind[2][4][256];

static uint32_t shift(int nr_blocks, uint32_t crc)
{
	const uint32_t(*t)[256] = behind[nr_blocks - 1];

	return t[0][crc & 255] ^ t[1][crc >> 8 & 255] ^ t[2][crc >> 16 & 255] ^ t[3][crc >> 24];
}

WITH_CRC static uint32_t update_cpu(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 3 * BLOCK_BYTES; p += 3 * BLOCK_BYTES, len -= 3 * BLOCK_BYTES) {
		uint32_t second = 0, third = 0;

		for (size_t i = 0; i < BLOCK_BYTES; i += 8) {
			crc = step(crc, word_at(p + i));
			second = step(second, word_at(p + BLOCK_BYTES + i));
			third = step(third, word_at(p + 2 * BLOCK_BYTES + i));
		}
		crc = shift(2, crc) ^ shift(1, second) ^ third;
	}
	return update_stream(crc, p, len);
}

/* A crc is linear: that of a byte is the sum of those of its bits. */
static void prepare_byte(int k)
{
	static const uint8_t zeros[BLOCK_BYTES];
	uint32_t *t = behind[0][k];

	for (uint32_t i = 1; i < 256; i++) {
		uint32_t low = i & -i;

		t[i] =
		    i == low ? update_stream(i << 8 * k, zeros, BLOCK_BYTES) : t[i ^ low] ^ t[low];
	}
}

static update_fn *prepare_cpu(void)
{
	if (!cpu_has_crc())
		return update_tables;
	for (int k = 0; k < 4; k++)
		prepare_byte(k);
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < 256; i++)
			behind[1][k][i] = shift(1, behind[0][k][i]);
	return update_cpu;
}
#else
static update_fn *prepare_cpu(void)
{
	return update_tables;
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
	update = prepare_cpu();
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	pthread_once(&once, prepare);
	return ~update(~crc, data, len);
}
