/*
 * A target that was running already: processes, or a cgroup.
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
/* After the events are open: -EACCES or -ESRCH with *e if what they are of is not the caller's, and
 * only the rights of the program's file permit them. The numbers of processes that ended may be
 * those of others by now. */
int attached_check_own(const struct attached *a, struct err *e);
/* So many of all its processes have the agent now: the target's text says it. */
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
