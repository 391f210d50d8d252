/*
 * What a session does not measure of processes, but identifies them for a user: parent, owner and
 * command line. Each is requested once for a process and program, when it is shown first.
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

/* Who answers; false: the process is gone. Called by the thread that draws. */
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
/* Of the thing with that name, valid until the next call; NULL: unknown. */
const struct processes_one *processes_find(struct processes *p, const char *name);

#endif
