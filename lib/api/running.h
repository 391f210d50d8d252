/*
 * A session of a program, from its opening to its end.
 *
 * A thread of its own opens, runs and closes it, so that it is not among the threads of the
 * caller's process that it measures. In memory, it is a session in a folder as of --output=-.
 */
#ifndef API_RUNNING_H
#define API_RUNNING_H

#include "api/iteration.h"
#include "api/owned_spec.h"
#include "api/whom.h"
#include "session/held.h"

#include <limits.h>
#include <pthread.h>

/* In this order. */
enum running_state {
	RUNNING_OPENING,
	RUNNING_OPEN,
	RUNNING_STARTED,
	RUNNING_COUNTING, /* all events count */
	RUNNING_ENDED,    /* or it could not be opened */
	RUNNING_CLOSING
};

struct cpuperf_session {
	struct cpuperf_spec *shared; /* a user of it */
	struct spec own;             /* the same, with other files; owns nothing */
	struct api_whom whom;
	struct plan plan;
	bool has_plan, is_in_memory, is_full;
	struct held held; /* of a session in memory that samples */
	char prefix[PATH_MAX + 64], manifest[PATH_MAX + 64]; /* there */
	struct session *session;
	struct table *table; /* owned */
	struct api_feed feed;
	struct cpuperf_event *events; /* owned */
	int rc;
	struct cpuperf_error result; /* of rc */
	uint32_t image;              /* of the process that opened it */
	pthread_t thread;
	pthread_mutex_t lock; /* of state */
	pthread_cond_t changed;
	enum running_state state;
};

/* 0 if the session has ended, as cpuperf_session_wait; -EBUSY with *e: it has not. */
int api_running_check_ended(struct cpuperf_session *s, struct cpuperf_error *e);

#endif
