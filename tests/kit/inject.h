/*
 * Failures on purpose: the nth allocation or the nth system call fails; and counts of what must not
 * leak.
 */
#ifndef TEST_INJECT_H
#define TEST_INJECT_H

#include "base/mem.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* countdown: the nth call from now on, of any thread, fails; 0: none. All others are real. */
struct inject {
	atomic_uint countdown;
	int error;           /* -errno of a failing system call */
	atomic_bool fired;   /* the failure happened */
	atomic_long nr_live; /* allocations not yet released, since inject_mem */
};

extern struct inject inject;

/* From here to inject_stop the nth allocation fails. */
void inject_mem(unsigned n);

/* From here to inject_stop the nth system call on files fails with error (-errno). */
void inject_sys(unsigned n, int error);

void inject_stop(void);

/* For operations of a test's own: counts a call; true if it must fail. */
bool inject_fails(void);
int inject_openat(int dirfd, const char *path, int flags, mode_t mode);

/* Entries of a folder, without . and .. */
size_t inject_entries(const char *path);

/* Open descriptors of this process. */
size_t inject_open_fds(void);

/* How many allocations, or calls, were counted since inject_mem(INJECT_NONE) or
 * inject_sys(INJECT_NONE, 0). */
#define INJECT_NONE 0xffffffffu
unsigned inject_counted(void);

/*
 * Runs body with every allocation failing in turn, then with every system call; of each at most
 * 100, by stride. body returns 0 or -errno, and checks for itself what it promises. After each run
 * no memory and no descriptor may be left. body must not call inject_*. At least so many
 * allocations and system calls must have failed.
 */
void inject_every(int (*body)(void *arg), void *arg, unsigned at_least_allocs,
		  unsigned at_least_calls);

#endif
