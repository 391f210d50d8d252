/*
 * Why an iteration ended. Numbers are stored in traces: only append.
 *
 * session_request ends an iteration before its time. Only iterations of the first one's cause that
 * are not cut are averaged (table_is_alike); the others are in sums. Shares of samples use cut
 * ones, too; amounts per second do where a side of --diff has no other.
 */
#ifndef BASE_CAUSE_H
#define BASE_CAUSE_H

#include <stdint.h>

enum cause {
	CAUSE_TIME = 0,    /* its time was over; also of traces that store none */
	CAUSE_RUN = 1,     /* the run of the command that it measures has ended */
	CAUSE_WINDOW = 2,  /* its window was over */
	CAUSE_REQUEST = 3, /* it was requested; the session went on */
	CAUSE_TRIGGER = 4, /* not in use yet */
	CAUSE_END = 5,     /* the session was ended, or its target has ended */
};

/* "time", "run" …; "unknown" for a number of a later version. */
static inline const char *cause_name(uint32_t cause)
{
	static const char *const names[] = {"time", "run", "window", "request", "trigger", "end"};

	return cause < sizeof(names) / sizeof(names[0]) ? names[cause] : "unknown";
}

#endif
