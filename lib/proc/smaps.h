/*
 * /proc/PID/smaps: the mappings of processes, added up by kind and object. Source: show_smap in
 * fs/proc/task_mmu.c.
 */
#ifndef PROC_SMAPS_H
#define PROC_SMAPS_H

#include "base/dict.h"
#include "base/mapping.h"

#include <stddef.h>
#include <sys/types.h>

struct root;
struct proc_mapping;

enum {
	PROC_SMAPS_MAX_ROWS = 4096,          /* what finds no room is "[others]" of its kind */
	PROC_SMAPS_MAX_TEXT_BYTES = 1 << 20, /* of all objects */
	PROC_SMAPS_LINE_BYTES = 32768,       /* a longer line is skipped */
};

/* The sums of mappings, of any number of processes. */
struct proc_smaps {
	struct dict rows; /* private */
};

void proc_smaps_init(struct proc_smaps *s);
void proc_smaps_fini(struct proc_smaps *s);
enum mapping_kind proc_smaps_kind(const struct proc_mapping *m);

/* Adds up lines of the file as they come, whatever they are. */
struct proc_smaps_parser {
	struct proc_smaps *to;
	uint32_t row; /* of the mapping whose fields follow; DICT_NONE: none */
};
/* One line, without its newline. */
void proc_smaps_add_line(struct proc_smaps_parser *p, const char *line, size_t len);

/* Adds the mappings of a process. 0 or -errno, and nothing is added: -ESRCH if it has no memory, or
 * ended or called exec meanwhile. */
int proc_smaps_read(struct proc_smaps *s, const struct root *root, pid_t pid);
/* Copies rows that have mappings to *out, owned by the caller; their objects are borrowed from s.
 * Their number, or 0 without memory. */
size_t proc_smaps_rows(const struct proc_smaps *s, struct mapping_row **out);

#endif
