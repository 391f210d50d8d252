/*
 * SHA-256 (FIPS 180-4), for who must compare a file with another program's sum of it. No library
 * that is linked has it, and those of TLS are loaded by libcurl alone.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

enum { SHA256_HEX_BYTES = 65 }; /* with the NUL */

/* The sum of len bytes, as sha256sum(1) prints it. */
void sha256_hex(const void *data, size_t len, char out[SHA256_HEX_BYTES]);

#endif
