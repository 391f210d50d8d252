/*
 * The CPU time that is in no process's row: of processes that ended between two readings, of
 * interrupts, of processes that may not be seen. Of the machine, or of a control group of
 * version 2.
 */
#ifndef COLLECT_PROCESS_REST_H
#define COLLECT_PROCESS_REST_H

#include <stdbool.h>
#include <stdint.h>

struct root;

/* All zero but fd: nothing was read. */
struct process_rest {
	int fd;           /* owned: /proc/stat, or cpu.stat; -1: there is no rest to read */
	uint64_t tick_ns; /* the unit of /proc/stat; 0: it is cpu.stat */
	int64_t slack_ns; /* how far both accounts may differ */
	bool is_begun;
	uint64_t machine_ns; /* at the last reading */
	int64_t ahead_ns;    /* CPU time of the machine beyond that of rows and raw_ns */
	uint64_t raw_ns;     /* the rest; cumulative */
	uint64_t time_ns;    /* of the last reading, CLOCK_MONOTONIC */
};

/* Without /proc/stat, fd is -1 afterwards. */
void process_rest_open(struct process_rest *r, const struct root *root);
/* The same of a group's cpu.stat. folder: borrowed. */
void process_rest_open_group(struct process_rest *r, int folder);
void process_rest_close(struct process_rest *r);

/* Reads the CPU time of the machine or the group. rows_ns: what the rows grew by since the last
 * call, ignored at the first. is_whole: all rows were read; if not, the next call is as the first.
 * 0 or -errno. */
int process_rest_read(struct process_rest *r, uint64_t rows_ns, bool is_whole);
/*
 * The arithmetic. The kernel adds the machine's time up in ticks and the processes' exactly, and
 * both are read at slightly different times: the rest is the largest difference so far, so that it
 * never decreases and rounding does not add up; beyond slack_ns a difference below it is dropped.
 */
void process_rest_add(struct process_rest *r, uint64_t machine_ns, uint64_t rows_ns, bool is_whole);

#endif
