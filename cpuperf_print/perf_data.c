/*
 * Opening perf.data in place of a session.
 */
#include "perf_data.h"

#include "base/err.h"
#include "base/mem.h"
#include "import/import.h"

#include <errno.h>

int perf_data_open(struct job *j, struct opened *o, struct err *e)
{
	int rc = import_open(o->path, job_problem, perf_data_read_ahead, j, &o->import, e);

	if (rc)
		return rc;
	rc = profile_session_open_set(import_set(o->import), job_problem, j, &o->session, e);
	if (rc)
		return rc;
	o->facts = profile_session_facts(o->session);
	o->config_name = mem_strdup(import_facts(o->import)->command);
	return o->config_name ? 0 : err_set(e, -ENOMEM, "out of memory");
}
