#include "exports/regions.h"

#include "base/err.h"

#include <string.h>

int export_regions(struct job *j, const struct input *o, profile_region_event_fn *each, void *arg,
		   struct err *e)
{
	int rc = o->processes ? profile_region_calls(o->processes, &j->selection->filter,
						     o->start_ns, each, arg)
			      : 0;

	return rc && !e->code ? err_set(e, rc, "regions cannot be exported: %s", strerror(-rc))
			      : rc;
}
