/*
 * A command that is measured: started when the measuring is ready, and followed to its end.
 *
 * Threads: one thread uses a command, except target_command_signal. A thread of its own waits for
 * the end.
 *
 * It is made as early as possible, before anything is opened that it could inherit, and waits on a
 * pipe. Its events have `inherit`, and start at exec (enable_on_exec, which pmu/group.c sets on
 * each leader). Events that sample are opened on each CPU, as the kernel refuses a ring to an
 * inherited event that is not bound to one; events that count are opened once, for any CPU, and
 * have a trace of their own, the last (PLAN_ANY_CPU), which also holds the target frame: the
 * command line, its end, and what wait4 returned.
 *
 * With runs (--runs) this process makes the process of each run, as a further child of cpuperf
 * (CLONE_PARENT), so that each run inherits what cpuperf inherited and is waited for by cpuperf.
 * Each run is an iteration: events are opened anew on its process, and what lies between two is
 * dropped.
 */
#ifndef TARGET_COMMAND_H
#define TARGET_COMMAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct target_command;

/* How a command ended. */
struct target_end {
	int status; /* as waitpid returns it */
	struct rusage
	    usage; /* of it and of the children that it waited for, and of its orphans if
		      they were waited for; CPU times, faults, blocks and switches from exec on */
	/* usage.ru_maxrss is an upper limit: Linux includes what the process had before exec. */
	bool is_peak_limit;
	uint64_t start_ns; /* CLOCK_MONOTONIC: when it was started */
	uint64_t end_ns;   /* when its end was observed */
};

/* Makes the process, which waits. It has the descriptors, signal mask and signal actions of this
 * process at this time: call it before they are changed. argv ends with NULL, and is borrowed. */
int target_command_new(char *const *argv, struct target_command **out, struct err *e);
/* The same before argv is known: the name is for messages. */
int target_command_new_later(const char *name, struct target_command **out, struct err *e);
/* Sets the argv of one of target_command_new_later, borrowed. 0 or -errno with *e. */
int target_command_set(struct target_command *c, char *const *argv, struct err *e);
/* Sets a variable in its environment, and in that of later runs. Before the start. 0 or -errno with
 * *e. */
int target_command_set_variable(struct target_command *c, const char *name, const char *value,
				struct err *e);
/* One that was not started ends; one that was is waited for before. NULL is fine. */
void target_command_free(struct target_command *c);
/* Makes a process for a further run, which waits: the one of target_command_new then makes those,
 * and is never started itself. The run before must have been waited for. 0 or -errno with *e. */
int target_command_next(struct target_command *c, struct err *e);

/* The command ends when all that it started have ended (target/orphans.h). Before the start. 0 or
 * -errno with *e. */
int target_command_wait_children(struct target_command *c, struct err *e);
/* From now on it ends by itself, whatever it started. Async-signal-safe. */
void target_command_leave_children(struct target_command *c);

/* Whether there is such a program, as execvp looks for it. 0, -ENOENT or -EACCES. */
int target_command_find(const char *name);
/* The same of the command, with *e. */
int target_command_check(const struct target_command *c, struct err *e);
pid_t target_command_pid(const struct target_command *c);
/* Lets it call exec. on_end is called once, in a thread, when it has ended. 0, or -errno with *e:
 * -ENOENT if there is no such program; then it has ended, and on_end is not called. */
int target_command_start(struct target_command *c, void (*on_end)(void *arg), void *arg,
			 struct err *e);
/* Async-signal-safe. False: not sent, since it is not started yet or has ended. */
bool target_command_signal(struct target_command *c, int number);
bool target_command_is_started(const struct target_command *c);
bool target_command_has_ended(const struct target_command *c);
/* The command line, quoted for a shell; cut if it is longer than size. */
void target_command_text(const struct target_command *c, char *buf, size_t size);
void target_command_quote(char *const *argv, char *buf, size_t size);
/* Of what the kernel accounts to its process, subtracts what was before exec. */
void target_command_subtract_own(const struct target_command *c, struct rusage *usage);
/* Waits for its end. */
void target_command_wait(struct target_command *c, struct target_end *end);

#endif
