/*
 * The sampled addresses of functions, and how often each was sampled. Independent of output.
 */
#ifndef REPORT_ADDRESSES_H
#define REPORT_ADDRESSES_H

#include "report/entry.h"

struct report_addresses;

struct report_address_row {
	const struct report_function *function;
	const struct profile_object *object; /* as of struct report_frame, like the address */
	uint64_t address;
	uint32_t event;
	struct report_weight weight;
};

/* A function of one event, with its rows by object and address. */
struct report_address_function {
	const struct report_function *function;
	uint32_t event;
	size_t first, nr;            /* rows */
	struct report_weight weight; /* their sum */
};

struct report_addresses *report_addresses_new(void);    /* NULL: no memory */
void report_addresses_free(struct report_addresses *a); /* NULL is fine */
const struct report_sink *report_addresses_sink(struct report_addresses *a);
/* Once, after the last sample: by event and weight, the largest first, equal ones by name. Owned by
 * a, like the rows. NULL: no memory. */
const struct report_address_function *report_addresses_functions(struct report_addresses *a,
								 size_t *nr);
const struct report_address_row *report_addresses_rows(const struct report_addresses *a);

#endif
