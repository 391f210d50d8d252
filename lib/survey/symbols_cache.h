/*
 * A file that keeps the kernel's symbols for later sessions: its first line says of which boot,
 * kernel and modules they are, then come pieces, each behind its length. Whatever is odd about it
 * or its folder, it is not used. Private to symbols.c; knows nothing of what is in a piece.
 */
#ifndef SURVEY_SYMBOLS_CACHE_H
#define SURVEY_SYMBOLS_CACHE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_SYMBOLS_HEAD_BYTES = 512,     /* the first line, filled up with blanks */
	SURVEY_SYMBOLS_MAX_BYTES = 32 << 20, /* of the file */
};

/* What the symbols belong to, in words. */
struct survey_symbols_key {
	char text[SURVEY_SYMBOLS_HEAD_BYTES - 64];
};

/* The same key means the same symbols of kernel and modules: boot, kernel release, the modules with
 * their addresses, each told apart from an earlier one of its name, and the CRC-32C of the first
 * lines. 0; -errno if it cannot be told. */
int survey_symbols_key_init(struct survey_symbols_key *key, const struct root *root,
			    uint32_t start_crc);

/* The folder, made if it is not there: one of ours that nobody else may enter. The fd (close it) or
 * -errno. */
int survey_symbols_cache_open(const char *folder);

/* All of the file that is kept for the key, checked, to *file, which is empty. 0; -ENOENT: there is
 * none; -EINVAL: none that can be used; -errno. */
int survey_symbols_cache_load(int dirfd, const struct survey_symbols_key *key, struct buf *file);

/* The piece at *at (from SURVEY_SYMBOLS_HEAD_BYTES), which moves behind it. False at the end. */
bool survey_symbols_cache_next(const struct buf *file, size_t *at, const void **piece, size_t *len);

/* Adds a piece to a file that is to be kept; the first call adds the head. Failures, also that it
 * gets too long, stick there. */
void survey_symbols_cache_add(struct buf *file, const void *piece, size_t len);

/* Puts the file in place of what is there. 0; -EAGAIN: another session is at it; -errno. */
int survey_symbols_cache_keep(int dirfd, const struct survey_symbols_key *key, struct buf *file);

#endif
