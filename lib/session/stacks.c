/*
 * From words of a stack to a PERF_RECORD_SAMPLE.
 */
#include "session/stacks.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "bpf/aggregate.h"
#include "session/sample_record.h"
#include "trace/writer.h"

void stacks_add(struct buf *items, const struct perf_event_attr *attr, uint64_t id, uint32_t cpu,
		const struct aggregate_stack *stack)
{
	const struct trace_added added = {stack->samples, stack->weight, stack->end_ns};
	const uint64_t mean = stack->weight / stack->samples;
	BUF_AUTO(record, PERF_ABI_MAX_RECORD_BYTES);

	(void)sample_record_add(&record, attr,
				&(struct sample_record){.id = id,
							.pid = stack->pid,
							.tid = stack->tid,
							.cpu = cpu,
							.time_ns = stack->begin_ns,
							.period = mean,
							.wait_ns = mean,
							.kernel = stack->kernel,
							.nr_kernel = stack->nr_kernel,
							.user = stack->user,
							.nr_user = stack->nr_user});
	if (buf_error(&record))
		items->error = items->error ? items->error : buf_error(&record);
	else
		trace_add_stack(items, &added, record.data, record.len);
}
