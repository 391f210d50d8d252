/*
 * /proc/pressure: time in which tasks waited for a CPU, memory or a disk. Source: psi_show in
 * kernel/sched/psi.c; since Linux 4.20, unless it is disabled.
 */
#ifndef COLLECT_MACHINE_PRESSURE_H
#define COLLECT_MACHINE_PRESSURE_H

#include "things/source.h"

/* Cumulative, in µs. */
enum machine_pressure_field {
	MACHINE_PRESSURE_SOME, /* at least one task waited */
	MACHINE_PRESSURE_FULL, /* all waited; of the CPU from 5.13 on, and 0 for the whole machine
				*/
};

extern const struct collect_source machine_pressure_cpu_source, machine_pressure_memory_source,
    machine_pressure_io_source;

#endif
