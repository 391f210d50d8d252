/*
 * At which futex the task waited that a sample of a wait is of, from the sample's raw data.
 * Untrusted, as all records.
 */
#ifndef TRACE_FUTEX_H
#define TRACE_FUTEX_H

#include "trace/record.h"

struct trace_futex {
	uint64_t address; /* in the memory of its process; not 0 */
	/* What stood there as its owner when the wait began: the number of a thread as its program
	 * sees it, if it is a lock that has an owner; else 0, or any number. */
	uint32_t owner;
	bool lasts; /* the wait had not ended */
};

/* False: it waited at none, or that is not recorded, or it is invalid. */
bool trace_futex_decode(const struct trace_layout *l, const struct trace_record *sample,
			struct trace_futex *out);

#endif
