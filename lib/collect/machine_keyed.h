/* Files of lines "name value [kB]": /proc/meminfo (fs/proc/meminfo.c), /proc/vmstat (mm/vmstat.c).
 */
#ifndef COLLECT_MACHINE_KEYED_H
#define COLLECT_MACHINE_KEYED_H

#include "things/source.h"

/* In bytes, instantaneous. */
enum machine_meminfo_field {
	MACHINE_MEMINFO_USED, /* TOTAL - FREE - BUFFERS - CACHED */
	MACHINE_MEMINFO_AVAILABLE,
	MACHINE_MEMINFO_TOTAL,
	MACHINE_MEMINFO_FREE,
	MACHINE_MEMINFO_BUFFERS,
	MACHINE_MEMINFO_CACHED,
	MACHINE_MEMINFO_DIRTY,
	MACHINE_MEMINFO_SWAP_USED,   /* SwapTotal - SwapFree */
	MACHINE_MEMINFO_UNAVAILABLE, /* MemTotal - MemAvailable */
	MACHINE_MEMINFO_SHARED,
	MACHINE_MEMINFO_SWAP_TOTAL,
};

/* Cumulative. */
enum machine_vmstat_field {
	MACHINE_VMSTAT_PGFAULT,    /* minor and major */
	MACHINE_VMSTAT_PGMAJFAULT, /* major */
	MACHINE_VMSTAT_PGPGIN,     /* KiB from block devices */
	MACHINE_VMSTAT_PGPGOUT,    /* KiB to them */
	MACHINE_VMSTAT_PSWPIN,     /* pages from swap */
	MACHINE_VMSTAT_PSWPOUT,    /* pages to swap */
};

extern const struct collect_source machine_meminfo_source, machine_vmstat_source;

#endif
