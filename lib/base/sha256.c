/*
 * As the standard says: a state of eight words, to which each block of 64 bytes is added.
 */
#include "base/sha256.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8, NR_ROUNDS = 64, NR_WORDS = 8 };

static const uint32_t constants[NR_ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, unsigned bits)
{
	return x >> bits | x << (32 - bits);
}

static void add_block(uint32_t state[NR_WORDS], const uint8_t *block)
{
	uint32_t w[NR_ROUNDS], v[NR_WORDS];

	memcpy(w, block, BLOCK_BYTES);
	for (unsigned i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (unsigned i = 16; i < NR_ROUNDS; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < NR_ROUNDS; i++) {
		uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
			       ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
		uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
			       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, sizeof(v) - sizeof(*v));
		v[4] += one;
		v[0] = one + two;
	}
	for (unsigned i = 0; i < NR_WORDS; i++)
		state[i] += v[i];
}

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX_BYTES])
{
	uint32_t state[NR_WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const uint8_t *at = data;
	uint8_t end[2 * BLOCK_BYTES] = {0};
	uint64_t bits = htobe64((uint64_t)len * 8);
	size_t rest = len % BLOCK_BYTES;
	size_t end_bytes = rest + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;

	for (size_t done = 0; done + BLOCK_BYTES <= len; done += BLOCK_BYTES)
		add_block(state, at + done);
	if (rest)
		memcpy(end, at + len - rest, rest);
	end[rest] = 0x80;
	memcpy(end + end_bytes - LENGTH_BYTES, &bits, sizeof(bits));
	for (size_t done = 0; done < end_bytes; done += BLOCK_BYTES)
		add_block(state, end + done);
	for (unsigned i = 0; i < NR_WORDS; i++)
		snprintf(out + (size_t)i * 8, 9, "%08x", state[i]);
}
