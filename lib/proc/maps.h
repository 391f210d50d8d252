/*
 * /proc/PID/maps: the mappings of a process. Source: show_map_vma in fs/proc/task_mmu.c.
 */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of prot: PROT_… of mmap(2). */
enum { PROC_MAPS_READ = 1, PROC_MAPS_WRITE = 2, PROC_MAPS_EXEC = 4 };

struct proc_mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor; /* of the file's device; 0 with inode 0: no file */
	unsigned prot;
	bool is_shared;
	const char *name; /* in the line, not terminated; the kernel writes a newline as \012 */
	size_t name_len;  /* 0: anonymous memory */
};

/* One line, without its newline. 0 or -EINVAL. */
int proc_maps_parse(const char *line, size_t len, struct proc_mapping *out);
/* The next mapping of a text up to end; advances *text behind it. Skips lines that are not valid.
 * False: there are no more. */
bool proc_maps_next(const char **text, const char *end, struct proc_mapping *out);

#endif
