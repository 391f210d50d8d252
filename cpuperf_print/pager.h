/*
 * Shows what is printed with a pager, on a terminal. Knows nothing of what that is.
 */
#ifndef CPUPERF_PRINT_PAGER_H
#define CPUPERF_PRINT_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid; /* 0: none runs */
	int fd;    /* what it reads; -1 */
};

/*
 * Starts PAGER (its words, without a shell), else less, else more. False: there is none, or PAGER
 * is empty or "cat": then print as it is. A pager that ends early makes writing fail with EPIPE,
 * which is no error: who reads has read enough.
 */
bool pager_start(struct pager *p);
/* Closes what it reads and waits until it has ended. */
void pager_end(struct pager *p);

#endif
