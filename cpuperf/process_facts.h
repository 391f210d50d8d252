/*
 * Parent, owner and command line of a process, for the dashboard: read when they are shown.
 */
#ifndef CPUPERF_PROCESS_FACTS_H
#define CPUPERF_PROCESS_FACTS_H

#include "dashboard/processes.h"

/* root: a struct root. False: the process is gone. For processes_source.describe. */
bool process_facts_find(void *root, uint32_t pid, struct processes_one *out);

#endif
