/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of trace frames.
 *
 * Each frame of a trace has one, computed while the session measures. zlib and xz have other
 * polynomials; by the CPU's instruction it costs next to nothing, and the tables that stand in for
 * it are 8 KiB.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from crc, the result for the preceding bytes (0: none). Thread-safe. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
