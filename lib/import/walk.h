/*
 * Walks through the records of a perf.data file in a window, whose memory is all it needs. Private
 * to import/; reads only the header of a record.
 */
#ifndef IMPORT_WALK_H
#define IMPORT_WALK_H

#include "base/perf_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPORT_WINDOW_BYTES = 256 << 10,
	IMPORT_HEADER_BYTES = PERF_ABI_HEADER_BYTES,
	IMPORT_USER_TYPES = 64, /* PERF_RECORD_USER_TYPE_START: from here on they are perf's own */
};

/* Zero-initialise memory; set fd, is_big, at and end. */
struct import_walk {
	int fd;
	bool is_big;
	bool is_short;    /* the file became shorter than end */
	uint64_t at, end; /* the next record; where there are no more */
	uint8_t *memory;  /* owned; with room for a word before the window */
	uint64_t window_at;
	size_t window_bytes;
};

/* The bytes lie in the window, which owns them; the header is still as in the file. */
struct import_record {
	uint8_t *p;
	uint32_t type, size;
	uint16_t misc;
	uint64_t at; /* in the file */
};

void import_walk_fini(struct import_walk *w);
/* Moves the window so that it begins at w->at. 1; 0: nothing is there; -errno. */
int import_walk_load(struct import_walk *w);
/* The record at w->at, without advancing: 1; 0: the end; -ENODATA: it is cut; -EILSEQ: no record
 * can be there; -errno. The bytes are valid until the window moves, which happens only if the
 * record is not in it: *is_moved. */
int import_walk_peek(struct import_walk *w, struct import_record *out, bool *is_moved);
/* The record at w->at lies in the window as a whole: peeking moves nothing. */
bool import_walk_has(const struct import_walk *w);
/* perf's own records with a payload after them, which their size does not include. */
enum { IMPORT_TRACING_DATA = 66, IMPORT_AUXTRACE = 71 };
uint64_t import_walk_payload(const struct import_walk *w, const struct import_record *r);
/* Advances past the record and its payload. */
static inline void import_walk_pass(struct import_walk *w, const struct import_record *r)
{
	w->at += r->size;
	if (r->type == IMPORT_TRACING_DATA || r->type == IMPORT_AUXTRACE)
		w->at += import_walk_payload(w, r);
}

#endif
