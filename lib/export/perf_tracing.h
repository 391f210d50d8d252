/*
 * The tracepoint formats of a perf.data file, in the layout of trace-cmd, version 0.6. Source:
 * tools/perf/util/trace-event-read.c of Linux 6.1.
 */
#ifndef EXPORT_PERF_TRACING_H
#define EXPORT_PERF_TRACING_H

#include "export/perf_data.h"

/* Appends each tracepoint among the events once. page_bytes: of the machine; 0: 4096. */
void perf_tracing_add(struct buf *b, const struct perf_data_event *events, size_t nr,
		      uint32_t page_bytes);

#endif
