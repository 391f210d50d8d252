/*
 * /proc/PID/stat. Source: do_task_stat in fs/proc/array.c.
 */
#ifndef PROC_STAT_H
#define PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

/* Fields, numbered as in proc(5). */
enum {
	PROC_STAT_PARENT = 4, /* pid; 0: none, or outside this PID namespace */
	PROC_STAT_FLAGS = 9,
	PROC_STAT_MINOR_FAULTS = 10,       /* of the process, with threads that ended */
	PROC_STAT_CHILD_MINOR_FAULTS = 11, /* of children that were waited for, and theirs */
	PROC_STAT_MAJOR_FAULTS = 12,
	PROC_STAT_CHILD_MAJOR_FAULTS = 13,
	PROC_STAT_USER_TICKS = 14,
	PROC_STAT_SYSTEM_TICKS = 15,
	PROC_STAT_CHILD_USER_TICKS = 16,
	PROC_STAT_CHILD_SYSTEM_TICKS = 17,
	PROC_STAT_NR_THREADS = 20,   /* 0: it has ended */
	PROC_STAT_START_TICKS = 22,  /* since boot */
	PROC_STAT_MEMORY_BYTES = 23, /* size of its address space; 0: none */
};

/* A field, and where its number goes. */
struct proc_number {
	unsigned field;
	uint64_t *out;
};

struct proc_stat {
	const char *name; /* in the text, not terminated: any bytes */
	size_t name_len;
	char state; /* 'R'; 'Z': a zombie; 'X': dead */
};

enum { PROC_STAT_BYTES = 2048 };

/* numbers: in ascending order of fields, from 4 on. 0, -EINVAL or -ERANGE: *out is untouched, the
 * numbers are not defined. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *out,
		    const struct proc_number *numbers, size_t nr);
/* The same of the process's file. text: what *out borrows from. Also -errno. */
int proc_stat_load(const struct proc *p, char text[PROC_STAT_BYTES], struct proc_stat *out,
		   const struct proc_number *numbers, size_t nr);
/* Whether the process, or a thread of it, has a CPU or waits for one; false if it has ended. */
bool proc_is_ready(const struct proc *p);

/* A zombie, or already dead. */
static inline bool proc_stat_has_ended(const struct proc_stat *s)
{
	return s->state == 'Z' || s->state == 'X';
}

#endif
