/*
 * Sums of the times of a process's threads, which start and end: the sums never decrease.
 */
#ifndef PROCESS_TASK_TABLE_H
#define PROCESS_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cumulative; what is not read stays 0. */
struct task_times {
	uint64_t cpu_ns, delay_ns;
	uint64_t read_bytes, write_bytes;
};

struct task {
	uint32_t tid;
	int fd; /* for the caller: where it reads the times; -1 in a new thread */
	struct task_times last;
};

/* Zeroes are an empty table. */
struct task_table {
	struct task *list; /* owned; by tid, ascending */
	size_t nr;
	struct task_times past; /* the last times of threads that ended */
	uint64_t nr_ended;
};

void task_table_fini(struct task_table *t);

/*
 * Sets the table to the nr tids (each once, ascending). New threads begin at 0; the times of those
 * that ended stay in the sum, and drop is called for each of them. 0, or -ENOMEM: unchanged.
 */
int task_table_sync(struct task_table *t, const uint32_t *tids, size_t nr,
		    void (*drop)(struct task *gone, void *arg), void *arg);

/* The thread ended, or its number was reused: its last times stay in the sum, and it begins at 0.
 */
void task_table_end(struct task_table *t, struct task *task);

/* Sets the times read. If they decreased, the number was reused: as task_table_end first. */
void task_table_set(struct task_table *t, struct task *task, const struct task_times *now);

void task_table_sum(const struct task_table *t, struct task_times *out);

#endif
