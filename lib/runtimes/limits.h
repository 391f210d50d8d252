/*
 * How much CPU time is spent on what is inlined into code: the same for all runtimes.
 */
#ifndef RUNTIMES_LIMITS_H
#define RUNTIMES_LIMITS_H

enum {
	LIMITS_ALL_SCOPES_NS = 2000000000, /* of a process */
	LIMITS_LOOK_SCOPES_NS = 50000000,  /* of a look; the rest waits for the next one */
	LIMITS_LAST_SCOPES_NS = 500000000, /* of the last look */
	LIMITS_SCOPES_NS = 50000000,       /* of one piece of code */
};

#endif
