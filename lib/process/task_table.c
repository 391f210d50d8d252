/*
 * The table of a process's threads: two lists in order, merged when they differ.
 */
#include "process/task_table.h"

#include "base/mem.h"

#include <errno.h>

void task_table_fini(struct task_table *t)
{
	mem_free(t->list);
	*t = (struct task_table){0};
}

static void add(struct task_times *sum, const struct task_times *more)
{
	sum->cpu_ns += more->cpu_ns;
	sum->delay_ns += more->delay_ns;
	sum->read_bytes += more->read_bytes;
	sum->write_bytes += more->write_bytes;
}

void task_table_end(struct task_table *t, struct task *task)
{
	add(&t->past, &task->last);
	task->last = (struct task_times){0};
	t->nr_ended++;
}

/* Drops the threads below tid, from *k on: they have ended. */
static void drop_below(struct task_table *t, uint64_t tid, size_t *k,
		       void (*drop)(struct task *gone, void *arg), void *arg)
{
	for (; *k < t->nr && t->list[*k].tid < tid; ++*k) {
		task_table_end(t, &t->list[*k]);
		drop(&t->list[*k], arg);
	}
}

int task_table_sync(struct task_table *t, const uint32_t *tids, size_t nr,
		    void (*drop)(struct task *gone, void *arg), void *arg)
{
	struct task *list = mem_calloc(nr, sizeof(*list));
	size_t k = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		drop_below(t, tids[i], &k, drop, arg);
		if (k < t->nr && t->list[k].tid == tids[i])
			list[i] = t->list[k++];
		else
			list[i] = (struct task){.tid = tids[i], .fd = -1};
	}
	drop_below(t, UINT64_MAX, &k, drop, arg);
	mem_free(t->list);
	t->list = list;
	t->nr = nr;
	return 0;
}

void task_table_set(struct task_table *t, struct task *task, const struct task_times *now)
{
	if (now->cpu_ns < task->last.cpu_ns || now->delay_ns < task->last.delay_ns ||
	    now->read_bytes < task->last.read_bytes || now->write_bytes < task->last.write_bytes)
		task_table_end(t, task);
	task->last = *now;
}

void task_table_sum(const struct task_table *t, struct task_times *out)
{
	struct task_times sum = t->past;

	for (size_t i = 0; i < t->nr; i++)
		add(&sum, &t->list[i].last);
	*out = sum;
}
