/* /proc/loadavg: the load averages. Source: fs/proc/loadavg.c. */
#ifndef COLLECT_PROC_LOADAVG_H
#define COLLECT_PROC_LOADAVG_H

#include "collect/source.h"

/* Instantaneous, in hundredths (a row's scale is 0.01): how many tasks ran, could run or waited for
 * a disk, over the last minutes. */
enum proc_loadavg_field { PROC_LOADAVG_1, PROC_LOADAVG_5, PROC_LOADAVG_15 };

extern const struct collect_source proc_loadavg_source;

#endif
