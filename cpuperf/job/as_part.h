/*
 * cpuperf --as-part, which the starter of a job runs on each host (hosts.h): a session that is
 * held there until it has been sent. Nothing is left on the host, however it ends.
 *
 * It is a process that talks to the starter and waits for nothing else, and its child, the
 * recorder: this program with the arguments that were sent, without an exec. The recorder opens
 * everything, says so, and waits for the instant by its own clock (as_part_wait). The session is a
 * held one (session/held.h), in a folder that a third process removes however the others end. It
 * is sent when the recorder has ended, the manifest first. When the connection ends the recorder
 * gets SIGHUP, and is killed 5 s later.
 */
#ifndef CPUPERF_AS_PART_H
#define CPUPERF_AS_PART_H

#include "session/held.h"

#include <stdbool.h>
#include <stddef.h>

/* What the recorder knows of the process that started it, its parent. */
struct as_part {
	struct held held;      /* the parent's: where the session is saved */
	int fd;                /* a socket to the parent */
	int spec_fd;           /* the text of the starter's --spec-file; -1: there is none */
	const char *spec_name; /* as the starter has it; NULL: there is none */
};

/* True if --as-part is the only argument. */
bool as_part_is_asked(int argc, char *const *argv);
/* Talks to the starter; runs program(argc, argv, part) in a process of its own. The exit status. */
typedef int as_part_program(int argc, char **argv, const struct as_part *part);
int as_part_run(as_part_program *program);

/* In the recorder. Everything is open: waits for the instant at which all parts of the job begin. 0
 * or -errno with *e: a signal came, or the starter is gone. */
int as_part_wait(const struct as_part *part, struct err *e);
/* How the recorder ended: an exit status of program.h, with EXIT_COMMAND if there is one. */
void as_part_report(const struct as_part *part, int status);

#endif
