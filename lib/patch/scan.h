/*
 * Which branches of code lead into bytes that are to be replaced: hand-written code jumps into
 * other functions (the C library's memory functions do), and the cold parts of a function, which
 * stand elsewhere, jump back into it. So all code of a file is scanned, once for all places.
 */
#ifndef PATCH_SCAN_H
#define PATCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function, or a part of one. */
struct patch_code {
	const uint8_t *bytes;
	size_t len;
	uint64_t address;
};

/* A place in which only the first byte may be a target. */
struct patch_span {
	uint64_t from, to;
	bool is_entered;   /* out: something leads behind the first byte */
	bool is_restarted; /* not set here: the kernel restarts it (rseq) */
};

/*
 * Marks the spans that direct branches and calls of the code lead into. The spans are sorted and do
 * not overlap. Code that cannot be decoded whole is searched at each byte for what may be a branch:
 * that marks more, never less. Returns whether it was decoded.
 */
bool patch_scan(const struct patch_code *code, struct patch_span *spans, size_t nr);

/* Marks the span, if any, that the address lies in, but not at its begin: for what else may lead
 * there, such as symbols and relocations. */
void patch_scan_mark(struct patch_span *spans, size_t nr, uint64_t target);

#endif
