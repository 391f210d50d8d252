/*
 * What is in no process's row. Of the CPU time of the machine, or of a control group of version 2,
 * that is what was used by processes that ended between two readings, by interrupts, and by
 * processes that may not be seen. Of the CPU time or faults of a tree, it is what was used by
 * children that their parents have waited for.
 *
 * It is a thing like the others, with its own number: the whole less what the rows grew by. Its
 * readings have the flag REST, so the sum of an event with it is whole although things ended. Of a
 * tree without programs in the kernel the whole is what its processes used and those that they
 * have waited for (process_reader.family: cutime, cminflt, the bytes of /proc/PID/io); a process
 * that nobody in the tree waits for takes its part with it.
 */
#ifndef PROCESS_REST_H
#define PROCESS_REST_H

#include <stdbool.h>
#include <stdint.h>

struct root;

/* All zero but fd: nothing was read. */
struct process_rest {
	int fd;           /* owned: /proc/stat, or cpu.stat; -1: there is no rest to read */
	uint64_t tick_ns; /* the unit of /proc/stat; 0: it is cpu.stat */
	int64_t slack_ns; /* how far both accounts may differ */
	bool is_begun;
	bool is_of_tree;     /* what is missing may come with the next reading: dropped later */
	bool is_behind;      /* at the last reading something was missing */
	uint64_t machine_ns; /* at the last reading */
	int64_t ahead_ns;    /* CPU time of the machine beyond that of rows and raw_ns */
	int64_t owed_ns;     /* of what is behind, not dropped: it was in raw_ns before in a row */
	uint64_t raw_ns;     /* the rest; cumulative */
	uint64_t time_ns;    /* of the last reading, CLOCK_MONOTONIC */
};

/* Without /proc/stat, fd is -1 afterwards. */
void process_rest_open(struct process_rest *r, const struct root *root);
/* The same of a group's cpu.stat. folder: borrowed. */
void process_rest_open_group(struct process_rest *r, int folder);
/* The same of a tree, for process_rest_add. is_time: in ns, else a number. */
void process_rest_open_tree(struct process_rest *r, bool is_time);
void process_rest_close(struct process_rest *r);

/* Reads the CPU time of the machine or the group. rows_ns: what the rows grew by since the last
 * call, ignored at the first. is_whole: all rows were read; if not, the next call is as the first.
 * 0 or -errno. */
int process_rest_read(struct process_rest *r, uint64_t rows_ns, bool is_whole);
/*
 * The arithmetic. The kernel adds the machine's time up in ticks and the processes' exactly, and
 * both are read at slightly different times: the rest is the largest difference so far, so that it
 * never decreases and rounding does not add up; beyond slack_ns a difference below it is dropped.
 * machine_ns of a tree: what its processes used, and those that they have waited for. A process
 * that ends meanwhile is in the sum of the next reading; not if nobody waits for it.
 */
void process_rest_add(struct process_rest *r, uint64_t machine_ns, uint64_t rows_ns, bool is_whole);
/* Before process_rest_add: of rows_ns so much was used by processes that have ended. What a row has
 * late was in the rest meanwhile, which grows the less from then on. */
void process_rest_owe(struct process_rest *r, uint64_t ns);
/* Of a tree: so much will be in no sum, as a first process has ended. */
void process_rest_lose(struct process_rest *r, uint64_t ns);

#endif
