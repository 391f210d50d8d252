/*
 * The tables of aggregate.bpf.h, for the loaders of the programs that use them. Private to bpf/.
 *
 * Callchains have at most 125 addresses: Linux (6.18) cuts a longer one when a program reads it,
 * and that sample's record is invalid. Waits are added up in waits.bpf.c, with tables of its own
 * (waits_open_aggregate) and weights from a table of steps (wait_steps.h), since programs have no
 * floating point. profile/samples.h returns a stack with many samples in up to 64 parts, spread
 * over its time.
 */
#ifndef BPF_AGGREGATE_TABLES_H
#define BPF_AGGREGATE_TABLES_H

#include "bpf/aggregate.h"
#include "bpf/aggregate_shared.h"

#include <stdint.h>

struct bpf_map;

enum {
	AGGREGATE_LINES =
	    AGGREGATE_TABLE_BYTES / (8 * BPF_AGGREGATE_LINE_WORDS), /* nr_lines of the programs */
	AGGREGATE_SLOTS = AGGREGATE_LINES / 4,                      /* nr_slots */
};

/* The programs see processes by their numbers in the first namespace. 0, or -ENOTSUP with *e if
 * this is another. */
int aggregate_check_namespace(struct err *e);

/* Sets the sizes of the maps, before they are loaded. nr_keys: of the map tables. 0 or -errno. */
int aggregate_size(struct bpf_map *lines, struct bpf_map *tables, uint32_t nr_tables,
		   uint32_t nr_keys);

/* Opens the tables of one event, which are first … in lines; their key is first_key + CPU. The
 * capabilities of the program's file are effective. 0 or -errno. */
int aggregate_map(const struct bpf_map *lines, const struct bpf_map *tables,
		  const struct aggregate_config *config, uint32_t first, uint32_t first_key,
		  struct aggregate **out);

#endif
