/*
 * Files of lines "key: value": /proc/PID/status (proc_pid_status in fs/proc/array.c), io.
 */
#ifndef PROC_KEYS_H
#define PROC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

enum proc_key_kind {
	PROC_DECIMAL, /* numbers */
	PROC_HEX,     /* without 0x */
	PROC_KIB,     /* one number, and its unit */
	PROC_LETTER,  /* the first character, of State */
};

/* A line that is wanted. */
struct proc_key {
	const char *name; /* "PPid" */
	uint64_t *out;    /* max of them */
	unsigned max;     /* 0: one */
	enum proc_key_kind kind;
	unsigned nr; /* set: how many the line has; 0: there is no such line */
};

enum { PROC_MAX_NAMESPACES = 33 }; /* PID namespaces, one within another: the numbers of NSpid */

/* The first line of each key counts. 0, or -EINVAL or -ERANGE if a wanted one is not valid: what
 * the keys store is not defined then. */
int proc_keys_parse(const char *text, size_t len, struct proc_key *keys, size_t nr);
/* The same of a file. Also -errno. */
int proc_keys_load(const struct proc *p, const char *file, struct proc_key *keys, size_t nr);
/* The first number of a line of status. False: there is no process, or no such line. */
bool proc_status_number(const struct proc *p, const char *name, uint64_t *out);

#endif
