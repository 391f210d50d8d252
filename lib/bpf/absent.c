/*
 * This room without libbpf: nothing can be opened, so nothing else is called.
 */
#ifndef CPUPERF_HAS_BPF

#include "base/err.h"
#include "bpf/aggregate.h"
#include "bpf/exits.h"
#include "bpf/files.h"
#include "bpf/latency.h"
#include "bpf/probes.h"
#include "bpf/tasks.h"
#include "bpf/waits.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int refuse(struct err *e)
{
	return err_set(e, -ENOTSUP, "this cpuperf was built without libbpf");
}

bool waits_are_built(void)
{
	return false;
}

int waits_open(const struct waits_config *config, struct waits **out, struct err *e)
{
	return refuse(e);
}

void waits_close(struct waits *w)
{
}

int waits_open_aggregate(struct waits *w, enum waits_kind kind,
			 const struct aggregate_config *config, struct aggregate **out,
			 struct err *e)
{
	return refuse(e);
}

int waits_add_process(struct waits *w, pid_t process)
{
	return -ENOTSUP;
}

int waits_add_output(struct waits *w, enum waits_kind kind, uint32_t cpu, int fd)
{
	return -ENOTSUP;
}

int waits_start(struct waits *w, struct err *e)
{
	return refuse(e);
}

int waits_settle(struct waits *w)
{
	return -ENOTSUP;
}

void waits_switch(struct waits *w, enum waits_kind kind, bool is_enabled)
{
}

uint64_t waits_sum(const struct waits *w, enum waits_kind kind, uint32_t cpu)
{
	return 0;
}

int probes_open(const struct probes_config *config, struct probes **out, struct err *e)
{
	return refuse(e);
}

void probes_close(struct probes *p)
{
}

int probes_add_process(struct probes *p, pid_t process)
{
	return -ENOTSUP;
}

int probes_add_output(struct probes *p, size_t event, uint32_t cpu, int fd)
{
	return -ENOTSUP;
}

int probes_start(struct probes *p, const struct probes_config *config, struct err *e)
{
	return refuse(e);
}

void probes_switch(struct probes *p, size_t event, bool is_enabled)
{
}

uint64_t probes_count(const struct probes *p, size_t event, uint32_t cpu, uint64_t *lost)
{
	return 0;
}

int latency_open(const struct latency_config *config, struct latency **out, struct err *e)
{
	return refuse(e);
}

void latency_close(struct latency *l)
{
}

int latency_add_process(struct latency *l, pid_t process)
{
	return -ENOTSUP;
}

int latency_start(struct latency *l, struct err *e)
{
	return refuse(e);
}

void latency_switch(struct latency *l, size_t event, bool is_enabled)
{
}

uint64_t latency_count(const struct latency *l, size_t event, uint32_t cpu)
{
	return 0;
}

int latency_read(struct latency *l, int (*fn)(const struct latency_row *row, void *arg), void *arg)
{
	return -ENOTSUP;
}

void latency_forget(struct latency *l, const struct latency_row *row)
{
}

int exits_open(const struct follow_config *config, struct exits **out, struct err *e)
{
	return refuse(e);
}

void exits_close(struct exits *x)
{
}

int exits_add_process(struct exits *x, pid_t process)
{
	return -ENOTSUP;
}

int exits_read(struct exits *x, exits_fn *fn, void *arg)
{
	return -ENOTSUP;
}

int exits_commands(struct exits *x, exits_fn *fn, void *arg)
{
	return -ENOTSUP;
}

void exits_settle(void)
{
}

uint64_t exits_lost(const struct exits *x)
{
	return 0;
}

void exits_begin(struct exits *x)
{
}

int aggregate_open(const struct aggregate_config *config, struct aggregate **out, struct err *e)
{
	return refuse(e);
}

void aggregate_close(struct aggregate *a)
{
}

int aggregate_program(const struct aggregate *a)
{
	return -1;
}

void aggregate_hold(struct aggregate *a, uint32_t table)
{
}

void aggregate_resume(struct aggregate *a, uint32_t table)
{
}

bool aggregate_next(const struct aggregate *a, uint32_t table, uint32_t *at,
		    struct aggregate_stack *out)
{
	return false;
}

struct aggregate_counts aggregate_counts(const struct aggregate *a, uint32_t table)
{
	return (struct aggregate_counts){0};
}

int files_open(unsigned major, struct files **out, struct err *e)
{
	return refuse(e);
}

void files_close(struct files *f)
{
}

int files_read(struct files *f, files_fn *fn, void *arg)
{
	return -ENOTSUP;
}

int tasks_open(const struct tasks_config *config, struct tasks **out, struct err *e)
{
	return refuse(e);
}

void tasks_close(struct tasks *t)
{
}

int tasks_read(struct tasks *t, tasks_fn *fn, void *arg)
{
	return -ENOTSUP;
}

#endif
