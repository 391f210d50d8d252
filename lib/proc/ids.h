/*
 * The numbers in a folder of /proc: processes, threads, descriptors.
 */
#ifndef PROC_IDS_H
#define PROC_IDS_H

#include <stddef.h>
#include <stdint.h>

enum { PROC_IDS_MAX = 1 << 22 }; /* PID_MAX_LIMIT of the kernel */

struct proc_ids {
	uint32_t *list; /* owned; each once, ascending */
	size_t nr, cap;
	void *entries; /* owned: the buffer of getdents64 */
};

/* Zeroes are an empty list. */
void proc_ids_fini(struct proc_ids *ids);

/* Lists the folder open at fd from its start; skips names that are not numbers. 0, or -errno
 * (-EFBIG beyond PROC_IDS_MAX): *ids is empty then. */
int proc_ids_load(struct proc_ids *ids, int fd);

#endif
