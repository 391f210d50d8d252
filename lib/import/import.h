/*
 * Reads perf.data, the files of perf record: of any version from Linux 3.0 on, of either byte
 * order, written to a file, to a folder or to a pipe, packed or not. The result is a set of traces,
 * made as they are read: the samples stay in the file. Knows nothing of reports. Source:
 * tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c of Linux.
 *
 * Why slices: reports read traces, so perf.data stands in for a session's files. One pass over its
 * records stores those of tasks and mappings, as the common file does, and divides the rest into
 * slices. Each slice is a trace whose frames are read from the file on demand (trace_feed).
 *
 * Records in the other byte order are corrected in the read window; those without times, or whose
 * callchain was recorded later, are copied and completed. A sample with the counts of its group
 * ({a,b}:S) is copied for each event that counted something; the pass stores each slice's first
 * counts. Compressed data is unpacked once, into an unnamed file.
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
	IMPORT_MAX_IDS = 65536,   /* more are skipped, and that is reported */
	IMPORT_BUILD_ID_BYTES = 20,
	IMPORT_MAX_MODULES = 4096, /* more are skipped */
	IMPORT_MAX_PARTS = 256,    /* events that get a sample of their group; more are skipped */
};

/* Called when header and features are read, and the pass over the records begins (of a pipe: before
 * anything is known). */
struct import_facts;
struct buf;
typedef void import_known_fn(void *arg, const struct import_facts *f);

/* As profile_problem_fn. */
typedef void import_problem_fn(void *arg, bool is_loss, const struct err *problem);

/* One event, as perf calls it. */
struct import_event_facts {
	const char *name;
	uint64_t period, frequency; /* as requested; 0: by the other of both */
	uint64_t nr_samples, nr_throttled;
	uint64_t nr_lost; /* samples, as the kernel counted them; UINT64_MAX: unknown */
};

/* The addresses of a module of the kernel; name as "[nf_tables]", safe to show. */
struct import_module {
	uint64_t start, len;
	const char *name;
};

/* The build-id of the kernel or of a module, with the path that the file has for it. */
struct import_kernel_id {
	const char *path; /* "[kernel.kallsyms]", "/lib/modules/…/ext4.ko"; as in the file */
	uint8_t bytes[IMPORT_BUILD_ID_BYTES];
	uint8_t len;
};

/* The file's description of itself. Strings are safe to print, "" if missing. */
struct import_facts {
	const char *path;
	const char *host, *machine, *kernel, *perf_version, *cpu_model, *cpu_id, *command;
	uint64_t modified_ns; /* when the file was, CLOCK_REALTIME */
	uint32_t uid;         /* the owner of the file; of a pipe: the caller */
	uint32_t nr_cpus_online, nr_cpus_available; /* 0: unknown */
	uint64_t memory_bytes;                      /* 0: unknown */
	bool is_pipe, is_big_endian, is_packed;
	bool is_truncated; /* perf did not finish, or the end is missing or damaged */
	bool has_times;    /* of samples: perf's clock, nanoseconds; else places in the file */
	uint64_t first_ns, last_ns; /* of all records */
	const struct import_event_facts *events;
	size_t nr_events;
	/* A sample of a group is one of each event that counted. */
	uint64_t nr_records, nr_samples;
	uint64_t nr_lost;         /* records that found no room, by LOST */
	uint64_t nr_lost_samples; /* samples, by LOST_SAMPLES */
	uint64_t nr_throttled;
	uint64_t nr_unknown; /* records of kinds that are younger than this reader */
	/* The kernel: its build-id, and the address of its text (0: unknown). */
	uint8_t kernel_build_id[IMPORT_BUILD_ID_BYTES];
	unsigned kernel_build_id_len;
	const char *kernel_symbol; /* "_text", "_stext": the symbol at that address */
	uint64_t kernel_address;
	const struct import_module *modules;
	size_t nr_modules;
	const struct import_kernel_id *kernel_ids;
	size_t nr_kernel_ids;
};

/* True if the file begins as perf.data does, or is a folder with such a file. */
bool import_is_perf_data(const char *path);

/*
 * Reads the file once, with memory that does not grow with its samples, but for some words for each
 * deferred callchain, and for each task that a group counts. Damage is reported to problem; what
 * precedes it can be read. path is copied; known may be NULL. -EINVAL with *e: it is
 * not perf.data, or describes no event; -errno.
 */
int import_open(const char *path, import_problem_fn *problem, import_known_fn *known, void *arg,
		struct import **out, struct err *e);
void import_close(struct import *im); /* NULL is fine */
const struct import_facts *import_facts(const struct import *im);
/* Adds the kernel's symbols as they were, as the text of kallsyms, which a folder of perf record
 * --kcore has. 0; -ENOENT: there are none; -EFBIG; -errno. */
int import_load_kallsyms(const struct import *im, struct buf *out);
/* Lives as long as the import does. */
const struct trace_set *import_set(const struct import *im);

#endif
