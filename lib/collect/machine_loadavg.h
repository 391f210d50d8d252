/* /proc/loadavg: the load averages. Source: fs/proc/loadavg.c. */
#ifndef COLLECT_MACHINE_LOADAVG_H
#define COLLECT_MACHINE_LOADAVG_H

#include "things/source.h"

/* Instantaneous, in hundredths (a row's scale is 0.01): how many tasks ran, could run or waited for
 * a disk, over the last minutes. */
enum machine_loadavg_field { MACHINE_LOADAVG_1, MACHINE_LOADAVG_5, MACHINE_LOADAVG_15 };

extern const struct collect_source machine_loadavg_source;

#endif
