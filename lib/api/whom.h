/*
 * Whom a program counts: a thread, the threads of a process, or a CPU; a session also the machine
 * or a control group.
 */
#ifndef API_WHOM_H
#define API_WHOM_H

#include "cpuperf/cpuperf.h"
#include "host/host.h"

#include <sys/types.h>

struct api_whom {
	enum cpuperf_scope scope;
	int id; /* as the program passed it; of a process its number, after api_whom_check */
	unsigned flags;
	bool is_user_only; /* set by api_whom_check */
	pid_t except;      /* a thread that is not counted; 0: none */
	pid_t *ids; /* owned; set by api_whom_list: what perf_event_open takes; of a CPU none */
	size_t nr_ids, id_room;
};

/* Whether it is there, and this kernel can count it. 0; -EINVAL, -ESRCH, -ENOTSUP with *e. */
int api_whom_check(struct api_whom *w, const struct host *h, struct err *e);
/* Lists the threads as they are now. 0 or -errno with *e. */
int api_whom_list(struct api_whom *w, struct err *e);
/* True if the process has threads that the last list has not. */
bool api_whom_has_new(const struct api_whom *w);
void api_whom_fini(struct api_whom *w);

bool api_whom_is_inherited(const struct api_whom *w);
bool api_whom_stays_in_process(const struct api_whom *w);

#endif
