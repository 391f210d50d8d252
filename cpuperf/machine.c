#include "machine.h"

#include "base/privilege.h"
#include "base/sys.h"

int machine_init(struct machine *m, const char *model, struct err *e)
{
	int rc = host_load(&root_live, &m->host, e);

	if (rc == 0 && m->host.grant != HOST_GRANT_NONE)
		m->host.may_perfmon |= privilege_is_held(); /* effective only while it is used */
	m->objects = (struct event_objects){.command = NULL};
	if (rc == 0)
		api_catalogue_init(&m->events, &m->host, model);
	m->events.catalogue.objects = &m->objects;
	return rc;
}

void machine_fini(struct machine *m)
{
	api_catalogue_fini(&m->events);
	host_fini(&m->host);
}
