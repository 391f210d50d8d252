/*
 * A spec with the machine that it is resolved for, shared by all that is opened from it.
 */
#ifndef API_OWNED_SPEC_H
#define API_OWNED_SPEC_H

#include "api/fail.h"
#include "api/table.h"
#include "host/host.h"
#include "spec/spec.h"

struct cpuperf_spec {
	struct spec spec;
	struct host host;
	struct api_catalogue events;
	char *source;              /* owned; the name of its text; NULL: built by calls */
	_Atomic unsigned nr_users; /* the program's handle, and what was opened from it */
};

/* A further user; cpuperf_spec_free ends it. While there is more than one, it is not changed. */
struct cpuperf_spec *api_spec_share(const struct cpuperf_spec *spec);

/* Makes the plan to measure it, after the checks of a session. 0, or -errno with the errors in *e;
 * plan_fini ends it. */
int api_spec_plan(struct cpuperf_spec *spec, struct plan *out, struct cpuperf_error *e);
/* The same of a copy of it, own, which the plan borrows. */
int api_spec_plan_of(struct cpuperf_spec *spec, const struct spec *own, struct plan *out,
		     struct cpuperf_error *e);

#endif
