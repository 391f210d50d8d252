/*
 * The files beside this program that it needs while it works, and the packages that have them. One
 * that is missing is named by its package; one of another version is refused.
 */
#ifndef CPUPERF_PARTS_H
#define CPUPERF_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

enum part_id {
	PART_PRINTER,
	PART_SPECS,
	PART_AGENT,
	PART_AGENT_I386,
	PART_FUNCTIONS,
	PART_CAUSAL,
	PART_MARKS,
	PART_GPU,
	PART_LIBRARY,
	PART_HEADER,
	PART_NR,
};

struct part {
	const char *name;     /* of the file, as messages have it */
	const char *from_bin; /* from this program's folder, in a build tree as in an install */
	const char *package;
	const char *costs;  /* what is not there without it */
	bool is_extra;      /* who does not need it has all answers without it */
	bool is_like_agent; /* its file says of which version it is */
};

extern const struct part parts[PART_NR];

/* What lies there, as seen from the folder of this program. False: nothing does. */
bool part_near(const char *from_bin, char path[PATH_MAX]);
/* False: it is not there. */
bool part_find(enum part_id id, char path[PATH_MAX]);
/* The same; it must be of this program's version. 0; -ENOENT or -EPROTO with *e, which names the
 * file and the package. */
int part_check(enum part_id id, char path[PATH_MAX], struct err *e);
/* The same of an agent that a program is to load at its start: also -ENOTSUP, for LD_PRELOAD cannot
 * name a file in such a folder. */
int part_check_preload(enum part_id id, char path[PATH_MAX], struct err *e);

#endif
