/*
 * From words of a stack to a PERF_RECORD_SAMPLE.
 */
#include "session/stacks.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "bpf/aggregate.h"
#include "heap/heap.h"
#include "proc/maps.h"
#include "session/common.h"
#include "session/sample_record.h"
#include "survey/record.h"
#include "trace/writer.h"

#include <stdio.h>

void stacks_add(struct buf *items, const struct perf_event_attr *attr, uint64_t id, uint32_t cpu,
		const struct aggregate_stack *stack)
{
	const struct trace_added added = {stack->samples, stack->weight, stack->end_ns};
	const uint64_t mean = stack->weight / stack->samples;
	const bool is_heap = perf_abi_heap(attr->type, attr->config, attr->config1) >= 0;
	BUF_AUTO(record, PERF_ABI_MAX_RECORD_BYTES);

	(void)sample_record_add(&record, attr,
				&(struct sample_record){.id = id,
							.pid = stack->pid,
							.tid = stack->tid,
							.cpu = cpu,
							.time_ns = stack->begin_ns,
							.period = mean,
							.wait_ns = is_heap ? stack->unit : mean,
							.kernel = stack->kernel,
							.nr_kernel = stack->nr_kernel,
							.user = stack->user,
							.nr_user = stack->nr_user});
	if (buf_error(&record))
		items->error = items->error ? items->error : buf_error(&record);
	else
		trace_add_stack(items, &added, record.data, record.len);
}

void stacks_map_name(struct common *common, const struct aggregate_stack *stack)
{
	enum { READABLE = 1, EXECUTABLE = 4 };
	const struct survey_task task = {stack->pid, stack->tid, stack->begin_ns};
	char name[32 + WIRE_HEAP_TYPE_BYTES];
	struct proc_mapping m = {.start = stack->user[0],
				 .end = stack->user[0] + HEAP_TYPE_STEP,
				 .prot = READABLE | EXECUTABLE,
				 .name = name};
	BUF_AUTO(record, PERF_ABI_MAX_RECORD_BYTES);

	m.name_len = (size_t)snprintf(name, sizeof(name), "[exception _ZTI%s]", stack->name);
	survey_record_mmap2(&record, &task, &m, NULL);
	if (!buf_error(&record))
		(void)common_add_records(common, record.data, record.len);
}
