/* /proc/stat: what CPUs spend their time on, context switches. Source: fs/proc/stat.c. */
#ifndef COLLECT_PROC_STAT_H
#define COLLECT_PROC_STAT_H

#include "collect/source.h"

enum proc_stat_field {
	PROC_STAT_UTILIZATION, /* each CPU; base: all time */
	PROC_STAT_USER,
	PROC_STAT_SYSTEM,
	PROC_STAT_IOWAIT,
	PROC_STAT_CTXT, /* the machine */
};

extern const struct collect_source proc_stat_source;

#endif
