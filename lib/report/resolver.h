/*
 * From the addresses of a stack to reported functions and lines, with a cache. One per thread.
 */
#ifndef REPORT_RESOLVER_H
#define REPORT_RESOLVER_H

#include "report/ends.h"
#include "report/entry.h"

struct profile_lookup;
struct profile_process;
struct report_functions;
struct report_resolver;
struct symbols;

/* All borrowed. */
struct report_resolver_config {
	struct profile_lookup *lookup; /* of the same thread */
	struct symbols *symbols;
	struct report_functions *functions;
	bool with_inlined; /* inlined functions are frames */
	bool with_lines;
	bool with_addresses; /* frames have their object and address */
};

/* The process and time that decide what an address means. */
struct report_place {
	const struct profile_process *process;
	uint64_t time_ns;
	uint32_t number;              /* of the process */
	uint32_t epoch, kernel_epoch; /* an address means the same while both are equal */
};

enum { REPORT_MAX_INLINED = 32 };

struct report_resolver *report_resolver_new(const struct report_resolver_config *config);
void report_resolver_free(struct report_resolver *r); /* NULL is fine */
/* report_place.epoch */
uint32_t report_resolver_epoch(struct report_resolver *r, const struct profile_process *process,
			       uint64_t time_ns);
/* The frames at an address, innermost first: one plus the inlined ones, at most REPORT_MAX_INLINED.
 * 0: no memory. */
size_t report_resolver_frames(struct report_resolver *r, const struct report_place *place,
			      bool is_kernel, uint64_t address, struct report_frame *out);
/* True if the function at an address of the kernel switches tasks: report_is_switch. */
bool report_resolver_is_switch(struct report_resolver *r, const struct report_place *place,
			       uint64_t address);
/* Whether the address is in code of V8 of which it is known what is inlined. */
bool report_resolver_is_script(struct report_resolver *r, const struct report_place *place,
			       uint64_t address);
/* What the function at an address of the process implies about a stack that ends there. */
enum report_start report_resolver_start(struct report_resolver *r, const struct report_place *place,
					uint64_t address);

#endif
