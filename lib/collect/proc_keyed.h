/* Files of lines "name value [kB]": /proc/meminfo (fs/proc/meminfo.c), /proc/vmstat (mm/vmstat.c).
 */
#ifndef COLLECT_PROC_KEYED_H
#define COLLECT_PROC_KEYED_H

#include "collect/source.h"

/* In bytes, instantaneous. */
enum proc_meminfo_field {
	PROC_MEMINFO_USED, /* TOTAL - FREE - BUFFERS - CACHED */
	PROC_MEMINFO_AVAILABLE,
	PROC_MEMINFO_TOTAL,
	PROC_MEMINFO_FREE,
	PROC_MEMINFO_BUFFERS,
	PROC_MEMINFO_CACHED,
	PROC_MEMINFO_DIRTY,
	PROC_MEMINFO_SWAP_USED,   /* SwapTotal - SwapFree */
	PROC_MEMINFO_UNAVAILABLE, /* MemTotal - MemAvailable */
	PROC_MEMINFO_SHARED,
	PROC_MEMINFO_SWAP_TOTAL,
};

/* Cumulative. */
enum proc_vmstat_field {
	PROC_VMSTAT_PGFAULT,    /* minor and major */
	PROC_VMSTAT_PGMAJFAULT, /* major */
	PROC_VMSTAT_PGPGIN,     /* KiB from block devices */
	PROC_VMSTAT_PGPGOUT,    /* KiB to them */
	PROC_VMSTAT_PSWPIN,     /* pages from swap */
	PROC_VMSTAT_PSWPOUT,    /* pages to swap */
};

extern const struct collect_source proc_meminfo_source, proc_vmstat_source;

#endif
