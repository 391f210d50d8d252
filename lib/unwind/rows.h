/*
 * A cache of rows by object and address: a hash table, which is emptied when it reaches its limit.
 */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include "cfi/row.h"

#include <stddef.h>

enum { UNWIND_MAX_ROWS = 1 << 17 };

struct unwind_rows {
	struct unwind_slot *slot; /* a power of two */
	size_t nr_slots;
	struct cfi_row *row;
	size_t nr, room;
};

void unwind_rows_init(struct unwind_rows *r);
void unwind_rows_fini(struct unwind_rows *r);
/* NULL: not found. Valid until the next addition. */
const struct cfi_row *unwind_rows_get(const struct unwind_rows *r, uint32_t object,
				      uint64_t address);
/* Adds a copy; the key must not exist yet. NULL: no memory, nothing changed. */
const struct cfi_row *unwind_rows_add(struct unwind_rows *r, uint32_t object, uint64_t address,
				      const struct cfi_row *row);

#endif
