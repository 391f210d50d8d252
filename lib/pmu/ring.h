/*
 * The ring into which the kernel writes the records of a CPU's events. Its bytes are read in place.
 * One thread reads a ring; others may call pmu_ring_head. Source:
 * struct perf_event_mmap_page in linux/perf_event.h.
 *
 * A flight recorder's ring is overwritten by the kernel, backward, so that the newest record
 * begins at the head. All samplers of a CPU, and the event that the ring of tasks is on, have
 * write_backward: the kernel refuses to mix directions. pmu_ring_copy pauses the output, copies
 * the records in forward order and resumes; what the kernel then reports as lost is `paused`.
 * sampler_cut writes those later than the last snapshot's as ordinary frames, so readers need not
 * know. The side band has a forward ring as ever.
 */
#ifndef PMU_RING_H
#define PMU_RING_H

#include "pmu/ops.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct pmu_ring {
	const struct pmu_ops *ops;
	int fd;         /* of the event it belongs to; borrowed */
	void *base;     /* NULL: not open */
	uint64_t bytes; /* of data, a power of two */
	uint64_t tail;  /* read up to here; not of an overwritten ring */
	bool is_overwritten;
};

/* Bytes that may wrap: of a ring, or (mask all ones) in memory. Positions are multiples of 8. */
struct pmu_view {
	const uint8_t *data;
	uint64_t mask;
};
static inline uint64_t pmu_view_word(const struct pmu_view *v, uint64_t at)
{
	uint64_t word;

	memcpy(&word, v->data + (at & v->mask), sizeof(word));
	return word;
}

/*
 * Maps a ring of bytes (a power of two, whole pages) on the event fd. 0 or -errno (-EPERM: over the
 * limit of locked memory). is_overwritten: new records replace the oldest; the kernel writes them
 * towards lower addresses (attr.write_backward), so that the newest begins at the head. Read it
 * with pmu_ring_copy.
 */
int pmu_ring_open(struct pmu_ring *r, const struct pmu_ops *ops, int fd, uint64_t bytes,
		  bool is_overwritten);
/* The ring stays readable when the event's descriptor is closed. A ring of zeroes may be closed. */
void pmu_ring_close(struct pmu_ring *r);
/* Sends the records of the event fd into this ring. 0 or -errno. */
int pmu_ring_join(const struct pmu_ring *r, int fd);

/* How far the kernel has written; bytes before that may be read. */
uint64_t pmu_ring_head(const struct pmu_ring *r);
struct pmu_view pmu_ring_view(const struct pmu_ring *r);
/* The bytes from … to, in one piece or two; of a view in memory always one. */
void pmu_view_span(const struct pmu_view *v, uint64_t from, uint64_t to, const void *part[2],
		   size_t len[2]);
/*
 * Copies the records of an overwritten ring to the end of out (r->bytes), the oldest first; returns
 * where they begin. Meanwhile the kernel drops new records and counts them as lost: the next record
 * is a LOST. *has_all: no record was overwritten since the ring was opened. is_alive: false if the
 * ring's CPU is offline, and its descriptor closed.
 */
uint64_t pmu_ring_copy(const struct pmu_ring *r, bool is_alive, uint8_t *out, bool *has_all);
/* The bytes of records that an overwritten ring holds. */
uint64_t pmu_ring_used(const struct pmu_ring *r);
/* Returns the bytes before at to the kernel. */
void pmu_ring_release(struct pmu_ring *r, uint64_t at);

#endif
