/*
 * Facts of processes that a session does not measure, but by which a user knows them: parent,
 * owner and command line. The drawing thread asks a callback for them, once for a process and
 * program, when it is shown first: cpuperf reads /proc, this room does not.
 */
#ifndef DASHBOARD_PROCESSES_H
#define DASHBOARD_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESSES_USER_BYTES = 24, PROCESSES_COMMAND_BYTES = 512, PROCESSES_MAX = 6000 };

struct processes_one {
	char user[PROCESSES_USER_BYTES];       /* "": unknown */
	char command[PROCESSES_COMMAND_BYTES]; /* arguments with blanks between; "": it has none */
	uint32_t parent;                       /* 0: none, or unknown */
};

/* The program's answers. False: the process is gone. Called by the thread that draws. */
struct processes_source {
	bool (*describe)(void *arg, uint32_t pid, struct processes_one *out);
	void *arg;
};

struct processes_entry;
/* Zero-initialise but for the source. */
struct processes {
	struct processes_source source;   /* describe NULL: nobody answers, as in a replay */
	struct processes_entry **entries; /* owned; a hash table by pid and name */
	size_t nr;
};

void processes_fini(struct processes *p);
/* The pid at the beginning of a thing's name ("17 postgres"); 0: it is no process. */
uint32_t processes_pid(const char *name);
/* The facts of the process with that name of a thing, valid until the next call; NULL: unknown. */
const struct processes_one *processes_find(struct processes *p, const char *name);

#endif
