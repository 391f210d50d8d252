/*
 * Names of the code that runtimes compile while they run, beside the samples of a session: a thread
 * looks which processes of the target have such a runtime, and again and again what they have
 * compiled (runtimes/hotspot.h). It reads; the processes do nothing for it.
 *
 * Processes of a target are few, and listed again and again. Those of a machine are listed once,
 * and then who maps a runtime's library is told by the session, which has the kernel's records of
 * that.
 *
 * A look that finds something new is soon followed by the next one; else pauses grow. A pause is
 * also 50 times as long as the CPU time of what it follows, for each process; but for the first
 * look, which reads all names once. A process that fails looks is asked ever more rarely. At the
 * end there is a last look, of processes that still run: so what a command compiled in its last
 * pause has no name.
 *
 * The memory of a process may be of a file system that does not answer. So the thread is not waited
 * for beyond a limit: then it is left, with what it owns, and passes nothing any more.
 */
#ifndef RUNTIMES_RUNTIMES_H
#define RUNTIMES_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct root;
struct runtimes;
struct trace_compiled;

/* Which processes. */
struct runtimes_of {
	const struct root *root;    /* of /proc; copied */
	const pid_t *ids;           /* copied: tasks; their processes are looked at */
	size_t nr_ids;              /* 0: all processes */
	bool has_children;          /* also what these have started */
	bool is_told;               /* by runtimes_see: they are listed once */
	bool wants_methods;         /* also those that are interpreted */
	uint64_t max_process_bytes; /* of changes of one; 0: as many as is usual */
	uint64_t last_ns;           /* for the last look; 0: two seconds */
};

typedef void runtimes_fn(void *arg, const struct trace_compiled *change);

/* Starts the thread. add may wait. 0 or -errno. */
int runtimes_start(struct runtimes **out, const struct runtimes_of *of, runtimes_fn *add,
		   void *arg);
/* Other processes from now on, of another run of the command. */
void runtimes_follow(struct runtimes *r, pid_t id);
/* The process has mapped a file for execution. Any thread. */
void runtimes_see(struct runtimes *r, uint32_t pid, const char *path);
/* What was mapped is not known in part: the processes are listed again. Any thread. */
void runtimes_lose(struct runtimes *r);
/* Has the thread look a last time, and ends it; frees all. 0; -ETIMEDOUT: the look took too long,
 * and what was compiled last has no name. The thread then passes nothing more, and ends by itself.
 * NULL is fine. */
int runtimes_stop(struct runtimes *r);

#endif
