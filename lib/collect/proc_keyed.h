/* Files of lines "name value [kB]": /proc/meminfo (fs/proc/meminfo.c), /proc/vmstat (mm/vmstat.c).
 */
#ifndef COLLECT_PROC_KEYED_H
#define COLLECT_PROC_KEYED_H

#include "collect/source.h"

enum proc_meminfo_field { PROC_MEMINFO_USED, PROC_MEMINFO_AVAILABLE };
enum proc_vmstat_field { PROC_VMSTAT_PGFAULT };

extern const struct collect_source proc_meminfo_source, proc_vmstat_source;

#endif
