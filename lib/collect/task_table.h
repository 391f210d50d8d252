/*
 * What the threads of a process add up to while they come and go: the sums never go back. Where a
 * thread's times come from is not known here.
 */
#ifndef COLLECT_TASK_TABLE_H
#define COLLECT_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cumulative. */
struct task_times {
	uint64_t cpu_ns, delay_ns;
};

struct task {
	uint32_t tid;
	int fd; /* the owner's, of what it reads the times from; -1 in a new one */
	struct task_times last;
};

/* Zeroes are an empty one. */
struct task_table {
	struct task *list; /* owned; by tid, ascending */
	size_t nr;
	struct task_times past; /* of those that ended, until they were read last */
	uint64_t nr_ended;      /* grows with each that ends */
};

void task_table_fini(struct task_table *t);

/*
 * Makes the table that of the nr tids (each once, ascending): new ones begin at 0, the times of
 * those that are not there any more stay in the sum. drop is called for each of these before. 0, or
 * -ENOMEM: then nothing has changed.
 */
int task_table_sync(struct task_table *t, const uint32_t *tids, size_t nr,
		    void (*drop)(struct task *gone, void *arg), void *arg);

/* The thread ended, or its number is another's now, whose times begin at 0: what was last seen of
 * it stays in the sum. */
void task_table_end(struct task_table *t, struct task *task);

/* Times that were read. If they went back, the thread ended before. */
void task_table_set(struct task_table *t, struct task *task, const struct task_times *now);

void task_table_sum(const struct task_table *t, struct task_times *out);

#endif
