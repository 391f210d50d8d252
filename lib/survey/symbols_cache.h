/*
 * The file that caches the kernel's symbols. Its first line identifies boot, kernel and modules;
 * then follow pieces, each after its length. If anything about the file or its folder is wrong, it
 * is not used. Private to symbols.c.
 */
#ifndef SURVEY_SYMBOLS_CACHE_H
#define SURVEY_SYMBOLS_CACHE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_SYMBOLS_HEAD_BYTES = 512,     /* the first line, padded with spaces */
	SURVEY_SYMBOLS_MAX_BYTES = 32 << 20, /* of the file */
};

/* Identifies a set of symbols. */
struct survey_symbols_key {
	char text[SURVEY_SYMBOLS_HEAD_BYTES - 64];
};

/* Equal keys mean equal symbols of kernel and modules. Composed of the boot, the kernel release,
 * the modules with addresses and load identity, and start_crc, the CRC-32C of the first lines. 0 or
 * -errno. */
int survey_symbols_key_init(struct survey_symbols_key *key, const struct root *root,
			    uint32_t start_crc);

/* Opens the folder, or creates it. It must be owned by us and private. The descriptor or -errno. */
int survey_symbols_cache_open(const char *folder);

/* Reads the file for this key into *file, which is empty, and checks it. 0; -ENOENT; -EINVAL: not
 * usable; -errno. */
int survey_symbols_cache_load(int dirfd, const struct survey_symbols_key *key, struct buf *file);

/* Returns the piece at *at (first: SURVEY_SYMBOLS_HEAD_BYTES) and advances *at. False at the
 * end. */
bool survey_symbols_cache_next(const struct buf *file, size_t *at, const void **piece, size_t *len);

/* Appends a piece, after the head if it is the first. Failures stick in the buffer. */
void survey_symbols_cache_add(struct buf *file, const void *piece, size_t len);

/* Replaces the file. 0; -EAGAIN: another session is writing it; -errno. */
int survey_symbols_cache_store(int dirfd, const struct survey_symbols_key *key, struct buf *file);

#endif
