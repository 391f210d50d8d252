/*
 * Packs frames with zstd, and unpacks them. Private to trace/. The packer's
 * new and free are in file.h.
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

#include "base/buf.h"
#include "trace/file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct trace_packer {
	void *ctx;       /* owned; a ZSTD_CCtx */
	bool is_sparing; /* packs stacks, and what trace_packer_kallsyms is called with */
	struct buf out;  /* frames; its memory is reused */
};

/* It packs frames of this kind, which may grow large. */
bool trace_packer_takes(const struct trace_packer *p, uint16_t kind);

/* Adds a packed frame of this payload to p->out. False, and p->out is unchanged, if it would not be
 * smaller than the plain one, or without memory. */
bool trace_packer_add(struct trace_packer *p, uint16_t kind, const struct iovec *piece, size_t nr);

/* Zero-initialise. */
struct trace_unpacker {
	void *ctx;     /* owned; a ZSTD_DCtx */
	uint8_t *data; /* owned */
	size_t cap;
};

void trace_unpacker_fini(struct trace_unpacker *u);
/* The declared unpacked length of a packed payload. False if the payload is too short, or the
 * length is impossible. */
bool trace_unpacked_length(const uint8_t *payload, uint32_t length, uint32_t *out);
/* Unpacks it to u->data. -EINVAL: damaged, or not unpacked_length bytes; -ENOMEM. */
int trace_unpack(struct trace_unpacker *u, const uint8_t *payload, uint32_t length,
		 uint32_t unpacked_length);

#endif
