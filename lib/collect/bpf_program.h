/*
 * Programs in the kernel (BPF), of whoever: how long they run, and how often (bpf/program_runs.h).
 * While the source is open, the kernel adds it up for all of them.
 *
 * A thing is "ID NAME (COMM PID)": with the process of the lowest number that has the program open,
 * or what attaches it, when it is first seen; without it, no process has (it is pinned, or belongs
 * to a control group or an interface), or it is hidden from this PID namespace. A program that is
 * loaded during the session has its runs since then. One that is unloaded is gone from the next
 * reading on, with what it ran since the last.
 */
#ifndef COLLECT_BPF_PROGRAM_H
#define COLLECT_BPF_PROGRAM_H

#include "things/many.h"

/* Both are cumulative. */
enum bpf_program_field { BPF_RUN_TIME, BPF_RUN_COUNT, BPF_PROGRAM_NR_FIELDS };

extern const struct things_source collect_bpf_program_source;

#endif
