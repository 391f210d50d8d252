/*
 * The parts of jobs: sessions of several hosts, or ranks, in one folder (hosts/part.h).
 *
 * A folder whose folders have host.json is expanded when inputs are opened: each part is an input
 * like a session, with its host and rank, which samples have in their keys. Of many parts, names
 * (processes, symbols) are in memory only while the samples of that part are read
 * (inputs_begin_names), unless a report needs them later (registry_row.reads_in_turn). Times of a
 * job are made those of the starter's CLOCK_REALTIME (parts_clock_read: the session's own clocks,
 * and the offset in host.json).
 */
#ifndef CPUPERF_PRINT_PARTS_H
#define CPUPERF_PRINT_PARTS_H

#include "hosts/list.h"

#include <stdbool.h>

struct err;
struct input;
struct inputs;
struct output;
struct selection;

struct parts_job {
	const char *path;       /* of the folder, as it was named; borrowed */
	struct hosts_list list; /* of parts that are selected, too */
	bool is_diff;           /* the side that is compared with */
	bool is_put;            /* its faults were printed */
};

/* True if the path names a folder with parts, which are in the list. -errno with *e. */
int parts_list(const char *path, struct hosts_list *out, struct err *e);
void parts_job_fini(struct parts_job *job);
/* Whether --host and --rank select the part. --rank selects no session without a rank. */
bool parts_is_selected(const struct selection *s, const char *host, int64_t rank);
/* The part cannot be read, for the reason in e. */
void parts_set_failed(struct hosts_part *part, const struct err *e);
/* A descriptor for each session may exceed the soft limit. */
void parts_raise_limit(void);

/* The name of the input's host, safe to print; and its rank, TRACE_UNKNOWN: none. */
const char *input_host(const struct input *o);
uint32_t input_rank(const struct input *o);
/* "a", "a rank 3", else its path: for people. */
enum { PARTS_NAME_BYTES = HOSTS_NAME_BYTES + 32 };
const char *input_shown(const struct input *o, char text[PARTS_NAME_BYTES]);
/* How many inputs from first on are of the same job and host, at least 1; nr: of all. */
size_t parts_of_host(const struct inputs *in, size_t first, size_t nr);
/* True if the inputs to print are parts of one job. */
bool parts_are_job(const struct inputs *in);

/* When a session began, and how far its clock is from that of the job's starter. */
struct parts_clock {
	uint64_t start_ns;     /* CLOCK_MONOTONIC; 0: not known */
	int64_t to_starter_ns; /* the starter's CLOCK_REALTIME minus its CLOCK_MONOTONIC */
	bool is_known;         /* else the time of day was not recorded */
	bool is_compared;      /* else the two clocks are taken for the same */
	bool is_same_boot;     /* of no job: its times are beside those of another session's boot */
};
/* Reads the first traces of the session. 0 or -ENOMEM with *e. */
int parts_clock_read(const struct input *o, struct parts_clock *out, struct err *e);

/* Names the parts that failed, are late or partial, once: in text above the report, else as
 * warnings. */
void parts_put_faults(const struct inputs *in, const struct selection *s, struct output *out);

#endif
