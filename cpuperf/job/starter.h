/*
 * --hosts: the starter of a job on several hosts.
 *
 * One poll loop over all hosts, each a process of ssh and a state machine (starter_host.h). On a
 * full disk the host that has sent most gives up its file (make_room), so that the others and each
 * host.json have room. At the end cpuperf_print prints the folder, as for a session of this
 * machine (answer.c).
 */
#ifndef CPUPERF_STARTER_H
#define CPUPERF_STARTER_H

#include <stddef.h>

struct options;

/* Measures on o->hosts what the arguments (those before "--", borrowed) and o->command_argv ask
 * for, and saves a session for each. Returns an exit status of program.h. */
int start_hosts(const struct options *o, char **args, size_t nr_args);

#endif
