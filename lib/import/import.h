/*
 * Reads perf.data, the files of perf record: of any version from Linux 3.0 on, of either byte
 * order, written to a file or to a pipe, packed or not. What it gives is a set of traces, made as
 * they are read: the samples stay in the file. Knows nothing of reports.
 * Source: tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c of Linux.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct import;
struct trace_set;

enum {
	IMPORT_MAX_EVENTS = 1024, /* more are refused */
	IMPORT_MAX_IDS = 65536,   /* more are left out, and that is told */
	IMPORT_BUILD_ID_BYTES = 20,
	IMPORT_MAX_MODULES = 4096, /* the rest is left out */
};

/* Called when what stands before and behind the records is known, and the pass over them begins: of
 * a pipe that is nothing yet. */
struct import_facts;
typedef void import_known_fn(void *arg, const struct import_facts *f);

/* As profile_problem_fn. */
typedef void import_problem_fn(void *arg, bool is_loss, const struct err *problem);

/* One event, as perf calls it. */
struct import_event_facts {
	const char *name;
	uint64_t period, frequency; /* as asked for; 0: not so */
	uint64_t nr_samples, nr_throttled;
	uint64_t nr_lost; /* samples, as the kernel counted them; UINT64_MAX: not told */
};

/* Where a module of the kernel was; name as "[nf_tables]", safe to show. */
struct import_module {
	uint64_t start, len;
	const char *name;
};

/* What the file says of itself. Strings are safe to show, "" where it does not say. */
struct import_facts {
	const char *path;
	const char *host, *machine, *kernel, *perf_version, *cpu_model, *cpu_id, *command;
	uint64_t modified_ns;                       /* when the file was, CLOCK_REALTIME */
	uint32_t uid;                               /* whose file it is; of a pipe: the caller */
	uint32_t nr_cpus_online, nr_cpus_available; /* 0: not told */
	uint64_t memory_bytes;                      /* 0: not told */
	bool is_pipe, is_big_endian, is_packed;
	bool is_cut;    /* perf did not come to its end, or the file did */
	bool has_times; /* of samples: perf's clock, nanoseconds; else places in the file */
	uint64_t first_ns, last_ns; /* of all records */
	const struct import_event_facts *events;
	size_t nr_events;
	uint64_t nr_records, nr_samples;
	uint64_t nr_lost;         /* records that found no room, by LOST */
	uint64_t nr_lost_samples; /* samples, by LOST_SAMPLES */
	uint64_t nr_throttled;
	uint64_t nr_unknown; /* records of kinds that are younger than this reader */
	/* The kernel: its build-id, and where its text was (0: not told). */
	uint8_t kernel_build_id[IMPORT_BUILD_ID_BYTES];
	unsigned kernel_build_id_len;
	const char *kernel_symbol; /* "_text", "_stext": whose address it is */
	uint64_t kernel_address;
	const struct import_module *modules;
	size_t nr_modules;
};

/* It begins as perf.data does. */
bool import_is_perf_data(const char *path);

/*
 * Reads the file once, with memory that does not grow with its samples. What is damaged or cut is
 * told to problem, and what is before it can be read. path is copied; known may be NULL. -EINVAL
 * with *e: it is not perf.data, or tells of no event; -errno.
 */
int import_open(const char *path, import_problem_fn *problem, import_known_fn *known, void *arg,
		struct import **out, struct err *e);
void import_close(struct import *im); /* NULL is fine */
const struct import_facts *import_facts(const struct import *im);
/* Lives as long as the import does. */
const struct trace_set *import_set(const struct import *im);

#endif
