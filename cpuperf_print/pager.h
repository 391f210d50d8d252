/*
 * Pages output on a terminal.
 */
#ifndef CPUPERF_PRINT_PAGER_H
#define CPUPERF_PRINT_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid; /* 0: no pager runs */
	int fd;    /* its standard input; -1 */
};

/*
 * Starts PAGER (without a shell), else less, else more. Returns false if there is none or if PAGER
 * is empty or "cat". If the pager exits early, writing fails with EPIPE, which is not an error.
 */
bool pager_start(struct pager *p);
/* Closes its input and waits until it exits. */
void pager_end(struct pager *p);

#endif
