/*
 * The threads of another process, all stopped, and what is in their registers.
 *
 * They are stopped without waitpid, so that whoever waits for the command's end sees no stop, and
 * target/ takes no stop for an end.
 */
#ifndef HEAP_STOP_H
#define HEAP_STOP_H

#include "attach/thread.h"

#include <stddef.h>
#include <stdint.h>

struct root;

enum { HEAP_STOP_MAX_WORDS = 68 };

struct heap_stopped {
	int32_t tid;
	uint32_t nr_words;
	uint64_t sp, tls;                   /* its pointers; 0: not known */
	uint64_t word[HEAP_STOP_MAX_WORDS]; /* the registers */
	struct attach_waiting before;       /* it was stopped */
};

/* Stops them: *out, with nr of them, is owned by the caller, for heap_stop_release by the same
 * thread, which ends soon: then the kernel lets go those that could not be stopped. 0 or -errno:
 * -EPERM: it is traced, or not permitted; -ETIMEDOUT. */
int heap_stop(const struct root *root, uint32_t pid, struct heap_stopped **out, size_t *nr);
/* All go on, as if nothing had been. Frees. */
void heap_stop_release(struct heap_stopped *threads, size_t nr);

#endif
