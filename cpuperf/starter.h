/*
 * --hosts: the starter of a job on several hosts.
 */
#ifndef CPUPERF_STARTER_H
#define CPUPERF_STARTER_H

#include <stddef.h>

struct options;

/* Measures on o->hosts what the arguments (those before "--", borrowed) and o->command_argv ask
 * for, and saves a session for each. Returns an exit status of program.h. */
int start_hosts(const struct options *o, char **args, size_t nr_args);

#endif
