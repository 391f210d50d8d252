/*
 * A stack that the kernel added up as the record of a sample, as the ring of its event would have
 * it.
 */
#ifndef SESSION_STACKS_H
#define SESSION_STACKS_H

#include <stdint.h>

struct aggregate_stack;
struct buf;
struct perf_event_attr;

/* Adds it to *items, for trace_writer_stacks. attr: that of the event as it was opened, which
 * requests no other fields than an aggregated event may have; id: of the event, where its samples
 * have one. Errors stick in *items. */
void stacks_add(struct buf *items, const struct perf_event_attr *attr, uint64_t id, uint32_t cpu,
		const struct aggregate_stack *stack);

/* Maps what the innermost address is of in place of code, by its name, in the common file. */
struct common;
void stacks_map_name(struct common *common, const struct aggregate_stack *stack);

#endif
