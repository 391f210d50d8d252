/*
 * The sources of the collectors, and what the rows of misc and gpu share. Private to collect/.
 */
#ifndef COLLECT_ROWS_H
#define COLLECT_ROWS_H

#include "event/event.h"
#include "things/many.h"
#include "things/source.h"

/* Files of many values: row->collector is the index. */
enum collect_source_index {
	PROC_STAT,
	PROC_MEMINFO,
	PROC_VMSTAT,
	PRESSURE_CPU,
	PRESSURE_MEMORY,
	PRESSURE_IO,
	COLLECT_NR_SOURCES
};
extern const struct collect_source *const collect_sources[COLLECT_NR_SOURCES];

/* Sources of many things: row->collector is COLLECT_MANY and the index. (VALUE_FILE_COLLECTOR is
 * beyond both.) */
enum { COLLECT_MANY = 100 };
enum collect_many_index {
	DISK,
	PROCESS,
	NET,
	CGROUP,
	GPU,
	GPM,
	PM,
	GPU_ENGINE,
	GPU_PROCESS,
	BPF_PROGRAM,
	COLLECT_NR_MANY
};
extern const struct things_source *const collect_many_sources[COLLECT_NR_MANY];

/* scale multiplies counts and values when they are shown; 0 means 1. Shares have none. */
#define COLLECT_ROW(number_, name_, kind_, scope_, unit_, path, collector_, field_, scale_, text,  \
		    ...)                                                                           \
	{                                                                                          \
		.name = name_, .number = number_, .kind = EVENT_##kind_,                           \
		.scope = EVENT_SCOPE_##scope_, .unit = unit_, .source = path,                      \
		.collector = collector_, .field = field_, .scale = scale_, .description = text,    \
		__VA_ARGS__                                                                        \
	}

#endif
