/*
 * Which samples of a CPU's event are of a target's tasks, selected by a program in the kernel: a
 * clock of a CPU goes on from task to task, where one that each task inherits begins anew in it.
 *
 * An inherited clock begins its period anew in each task, so that short tasks have too few
 * samples. A clock of each CPU interrupts also those that run others' tasks or are idle: it is for
 * who asks for it (key short_tasks), and for the answer of a command, where it is permitted. What
 * is inherited then only counts (session_cpu_samples_for_tasks, event_attr_sampling). A trace has
 * one attr of both, that of what is inherited; attr.config1 says how it was sampled, since places
 * of samples are those of the CPU's clock.
 */
#ifndef BPF_SELECTED_H
#define BPF_SELECTED_H

#include "bpf/follow.h"

#include <sys/types.h>

struct err;
struct selected;

/* Loads and starts the programs. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this kernel,
 * or this build, cannot do it; -ENOMEM. One thread, like all. */
int selected_open(const struct follow_config *config, struct selected **out, struct err *e);
void selected_close(struct selected *s); /* NULL is fine */

/* A process of the target, which exists already, or has ended, or is a thread. 0 or -errno. */
int selected_add_process(struct selected *s, pid_t process);
/* Marks the threads that these have already; once, when all were added. 0 or -errno. */
int selected_find_threads(struct selected *s);

/* Descriptors, borrowed: the program for PERF_EVENT_IOC_SET_BPF (-1: none), and its map of what
 * goes on, as an event has one program. */
struct selected_program {
	int fd, next;
	bool asks; /* for what is interpreted, and has it go on there by itself */
};
struct selected_program selected_program(const struct selected *s);
/* The program, for the same kind of event, runs at each sample that is selected. 0 or -errno. */
int selected_go_on(const struct selected_program *p, int program);

#endif
