/*
 * Counts the records of a ring by their headers and by the few words whose offset is known. Samples
 * are not decoded: that is for the reader.
 */
#ifndef PMU_SCAN_H
#define PMU_SCAN_H

#include "pmu/ring.h"

struct perf_event_attr;

/* A sampling event of the ring, and its counts. */
struct pmu_scan_event {
	uint64_t period; /* of each sample; 0: each sample has its own */
	/* offsets in a sample, in bytes; 0: not there */
	uint16_t tid_at, time_at, period_at;
	uint16_t
	    raw_at; /* of a wait: where its callchain begins, or else its raw data; 0: it is none */
	bool has_callchain;
	uint64_t mean_ns; /* of a wait */
	bool shares_data; /* its samples may have the id of another session's event */
	uint64_t samples, idle, weight, throttled, unthrottled;
};

/* The id of one of its perf events in records: pmu_group_id. */
struct pmu_scan_id {
	uint64_t id;
	uint32_t event; /* index in events */
};

/* Threads that were switched in. */
enum { PMU_SCAN_SLOTS = 512 };
struct pmu_scan_tids {
	uint32_t slot[PMU_SCAN_SLOTS]; /* by tid % PMU_SCAN_SLOTS: the last one; 0: none */
};

struct pmu_scan {
	struct pmu_scan_tids *tids;    /* borrowed; NULL: they are not wanted */
	struct pmu_scan_event *events; /* borrowed */
	uint32_t nr_events;
	struct pmu_scan_id *ids; /* borrowed; by pmu_scan_sort */
	size_t nr_ids;
	uint64_t interpreted_id; /* of records that are no samples (trace/interpreted.h); 0: none */
	bool
	    has_identifier; /* PERF_SAMPLE_IDENTIFIER in all of them; needed if there are several */
	uint64_t lost;      /* records, by LOST and LOST_SAMPLES */
	uint64_t records;
};

/* Places and period from the attr with which the event was opened; counts are 0. */
void pmu_scan_event_init(struct pmu_scan_event *e, const struct perf_event_attr *attr);
/* Sorts ids; after that records are counted. */
void pmu_scan_sort(struct pmu_scan *s);

/* The record at at: its size, or 0 if none begins there or it ends behind to. */
uint64_t pmu_record_bytes(const struct pmu_view *v, uint64_t at, uint64_t to);
/* The time of the record; 0 if it has none. */
uint64_t pmu_scan_time_ns(const struct pmu_scan *s, const struct pmu_view *v, uint64_t at);
/* A thread was switched in or out. */
struct pmu_scan_switch {
	uint32_t pid, tid;
	uint64_t time_ns;
	bool is_blocked; /* out, and not preempted */
};
/* The record at at, if it is of a switch. */
bool pmu_scan_switch(const struct pmu_scan *s, const struct pmu_view *v, uint64_t at,
		     struct pmu_scan_switch *out);
/* Counts the whole records from … to, but no more than max_bytes of them (at least one); where the
 * next one begins. An invalid record ends it: then it returns to. */
uint64_t pmu_scan_count(struct pmu_scan *s, const struct pmu_view *v, uint64_t from, uint64_t to,
			uint64_t max_bytes);

#endif
