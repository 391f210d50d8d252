/*
 * The numbers of processes, threads and children, one by one.
 */
#ifndef PROC_LIST_H
#define PROC_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;
struct root;

/* Non-zero ends the listing. */
typedef int proc_id_fn(uint32_t id, void *arg);

/* A number as the kernel writes it, without a sign or leading zeros. False: another name, or a
 * number that no process can have. */
bool proc_parse_id(const char *name, uint32_t *out);

/* Each process; each thread of one, in no order. 0, what fn returned, or -errno. */
int proc_each(const struct root *root, proc_id_fn *fn, void *arg);
int proc_each_thread(const struct proc *p, proc_id_fn *fn, void *arg);
/* Each number in "12 13 ", or in a line for each. 0, or what fn returned. */
int proc_each_number(const char *text, size_t len, proc_id_fn *fn, void *arg);
/* What one thread (p->tid) of a process has made, and of a thread that has ended another one's.
 * 0, what fn returned, or -errno: -ENOENT if the thread has ended, or the kernel lacks
 * CONFIG_PROC_CHILDREN. */
int proc_each_child(const struct proc *p, proc_id_fn *fn, void *arg);

#endif
