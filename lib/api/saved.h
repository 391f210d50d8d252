/*
 * Opens the files of a saved session.
 */
#ifndef API_SAVED_H
#define API_SAVED_H

#include "api/fail.h"
#include "profile/session.h"
#include "spec/cpsession.h"

/* Zero-initialise; api_saved_close in any case. */
struct api_saved {
	struct cpsession manifest;
	struct profile_session *session;
	struct cpuperf_error *e; /* what is missing is added to it; borrowed, may be NULL */
	bool is_damaged;         /* a part is missing */
};

/* 0 or -errno with *e. */
int api_saved_open(struct api_saved *s, const char *path, struct cpuperf_error *e);
void api_saved_close(struct api_saved *s);
/* A profile_problem_fn; arg: the struct api_saved. */
void api_saved_problem(void *arg, bool is_loss, const struct err *problem);

#endif
