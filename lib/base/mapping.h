/*
 * A map of the memory of processes: what is mapped, added up by kind and object. Kinds and flags
 * are stored in traces: only append.
 */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include "base/sum.h"

#include <stddef.h>
#include <stdint.h>

enum mapping_kind {
	MAPPING_HEAP = 0,      /* what brk made */
	MAPPING_STACK = 1,     /* of the first thread */
	MAPPING_ANONYMOUS = 2, /* of no file; also heaps and stacks that mmap made */
	MAPPING_SHARED = 3,    /* shared memory: of no file, or of a file in memory */
	MAPPING_TEXT = 4,      /* executable, of a file */
	MAPPING_DATA = 5,      /* private and writable, of a file */
	MAPPING_FILE = 6,      /* other files */
	MAPPING_KERNEL = 7,    /* pages of the kernel, as [vdso] */
	MAPPING_NR_KINDS
};

/* Bytes, as /proc/PID/smaps has them. */
struct mapping_sums {
	uint64_t size;
	uint64_t resident;     /* Rss: of shared pages, in each process */
	uint64_t proportional; /* Pss: a page that n mappings share is 1/n of one in each */
	uint64_t dirty;        /* written, and not on a disk: private or shared */
	uint64_t swapped;
	uint64_t huge; /* in huge pages; those of hugetlbfs are not resident */
};

static inline void mapping_sums_add(struct mapping_sums *to, const struct mapping_sums *from)
{
	sum_add(&to->size, from->size);
	sum_add(&to->resident, from->resident);
	sum_add(&to->proportional, from->proportional);
	sum_add(&to->dirty, from->dirty);
	sum_add(&to->swapped, from->swapped);
	sum_add(&to->huge, from->huge);
}

struct mapping_row {
	uint32_t kind; /* enum mapping_kind */
	uint32_t nr;   /* mappings */
	struct mapping_sums sums;
	const char *object; /* a path, "[anon:NAME]", "[heap]" …; "": it has none */
};

enum mapping_flag {
	MAPPING_IS_BEGIN = 1 << 0, /* the first of an iteration */
	MAPPING_IS_PEAK = 1 << 1,  /* that with the most resident memory */
	MAPPING_IS_END = 1 << 2,   /* the last */
};

/* One reading of the processes of a target. */
struct mapping_map {
	uint32_t flags; /* enum mapping_flag */
	uint32_t nr_processes;
	uint32_t nr_unread; /* further ones, which could not be read */
	uint64_t time_ns;   /* CLOCK_MONOTONIC, when it began */
	uint64_t took_ns;
	const struct mapping_row *row; /* in no order; nr of them */
	size_t nr;
};

static inline uint64_t mapping_resident(const struct mapping_map *map)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < map->nr; i++)
		sum_add(&sum, map->row[i].sums.resident);
	return sum;
}

/* "heap", "stack" …; "unknown" for a kind of a later version. */
static inline const char *mapping_kind_name(uint32_t kind)
{
	static const char *const names[] = {"heap", "stack", "anonymous", "shared",
					    "text", "data",  "file",      "kernel"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

#endif
