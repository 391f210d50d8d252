/*
 * A target that was running already: processes, or a cgroup.
 *
 * Processes that this user may not measure (tried with an event that counts nothing) are in a list
 * of their own, which the heading prints.
 */
#ifndef CPUPERF_ATTACHED_H
#define CPUPERF_ATTACHED_H

#include "base/err.h"
#include "target/tasks.h"
#include "trace/trace.h"

#include <stdbool.h>

struct plan;
struct spec;
struct target_watch;

struct attached {
	const struct spec *spec; /* borrowed; its target says what is measured */
	bool is_of_options;      /* the target is that of the options: messages name these */
	struct target_tasks tasks;
	int cgroup;     /* the descriptor of its folder; -1: processes */
	pid_t *members; /* owned; its processes at the last attached_list, if they get the agent */
	size_t nr_members, member_room;
	struct target_watch *watch; /* owned; NULL: its end cannot be observed */
	char text[TRACE_TARGET_BYTES];
};

/* 0, or -errno with *e, which names the option or the place in the spec. */
int attached_open(struct attached *a, const struct spec *spec, bool is_of_options, struct err *e);
void attached_close(struct attached *a);
/* Looks the threads up again and sets them as the plan's target. 0, or -errno with *e. */
int attached_list(struct attached *a, struct plan *plan, struct err *e);
/* Warns of processes that this user may not measure, after attached_list. */
void attached_warn_refused(const struct attached *a);
/* How many threads have been created since attached_list. */
size_t attached_nr_new(const struct attached *a);
/* Call it after the events are open: the number of a process that ended may be another one's by
 * now. -EACCES or -ESRCH with *e if a process is not the caller's, and only the rights of the
 * program's file permitted its events. */
int attached_check_own(const struct attached *a, struct err *e);
/* The target's text says that nr of its nr_all processes have the agent. */
void attached_add_agents(struct attached *a, size_t nr, size_t nr_all);
/* Follows the target: on_end is called in a thread when all of it has ended. */
int attached_start(struct attached *a, void (*on_end)(void *arg), void *arg, struct err *e);
/* The target and, once it has ended, its end. */
void attached_describe(struct attached *a, struct trace_target *out);

/* Whose memory is read: sets pids, nr_pids and cgroup. */
struct target_memory_config;
void attached_set_memory(const struct attached *a, struct target_memory_config *out);

/* -ENOTSUP with *e where events cannot be inherited by threads alone. */
int attached_check_no_children(struct err *e);

#endif
