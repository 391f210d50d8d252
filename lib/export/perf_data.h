/*
 * perf.data files in file mode (PERFILE2), without the records. A file is a head, the records
 * (perf_record.h) and a tail: features, ids and attrs. So records are streamed, and what is known
 * only after them follows them; the head is rewritten at the end. Source:
 * tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c of Linux 6.1.
 */
#ifndef EXPORT_PERF_DATA_H
#define EXPORT_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum {
	PERF_DATA_HEAD_BYTES = 104,
	PERF_DATA_MAX_ATTR_BYTES = 128, /* of Linux 6.1: readers refuse longer ones */
	PERF_DATA_BUILD_ID_BYTES = 20,
};

/* A perf_event_attr for the file: as opened, but with this sample type and read format, and
 * sample_id_all. False if it uses fields that readers do not know. */
struct perf_data_attr {
	uint8_t bytes[PERF_DATA_MAX_ATTR_BYTES];
};
bool perf_data_attr_init(struct perf_data_attr *a, const void *attr, size_t len,
			 uint64_t sample_type, uint64_t read_format);
/* The attr of side-band records (tasks, mappings): a dummy event with IP (which these records do
 * not have, but readers require of all events), TID, TIME, CPU and IDENTIFIER. */
void perf_data_attr_side_band(struct perf_data_attr *a);

struct perf_data_event {
	struct perf_data_attr attr;
	const char *name;
	const uint64_t *ids;
	size_t nr_ids;
	/* Of a tracepoint: "system:event", the text of its tracefs format file, its number; else
	 * NULL. */
	const char *tracepoint, *format;
	uint64_t tracepoint_id;
};

/* Consecutive events that are read together. */
struct perf_data_group {
	uint32_t leader, nr; /* of the list of events */
};

struct perf_data_build_id {
	bool is_kernel;
	uint8_t len; /* at most PERF_DATA_BUILD_ID_BYTES */
	const uint8_t *bytes;
	const char *path;
};

/* What follows the records. NULL, "", empty lists and times of 0 are not written. */
struct perf_data_tail {
	uint64_t data_bytes; /* of records */
	const struct perf_data_event *events;
	size_t nr_events;
	const struct perf_data_group *groups;
	size_t nr_groups;
	const struct perf_data_build_id *build_ids;
	size_t nr_build_ids;
	const char *host, *release, *version, *machine, *cpu_model;
	uint32_t nr_cpus, nr_online;
	const char *const *command;
	size_t nr_command;
	uint64_t first_ns, last_ns;         /* of samples */
	uint64_t monotonic_ns, realtime_ns; /* one moment, by both clocks */
	uint32_t page_bytes;                /* of the machine; 0: 4096 */
	bool has_branches;                  /* samples have a branch stack */
};

/* Appends the tail to out, which must be empty, and makes the head. 0 or buf_error. */
int perf_data_tail(struct buf *out, const struct perf_data_tail *t,
		   uint8_t head[PERF_DATA_HEAD_BYTES]);
/* The head of a file that is not complete yet. */
void perf_data_head_init(uint8_t head[PERF_DATA_HEAD_BYTES]);

#endif
