/*
 * cpuperf help [TOPIC], and --manual[=TOPIC].
 */
#ifndef CPUPERF_HELP_H
#define CPUPERF_HELP_H

#include <stdbool.h>

/* The first argument is the word help. `cpuperf -- help` is a program of that name. */
bool help_is_asked(int argc, char **argv);
/* Lists the topics, or shows the page of one; becomes man, if there is one. Returns an exit
 * status. */
int help_run(int argc, char **argv);
/* The page of the manual in a browser; where there is no screen, or no such page, that of man. */
int help_open_manual(const char *topic);

#endif
