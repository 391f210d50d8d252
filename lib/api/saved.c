/*
 * From a path to the files of a session.
 */
#include "api/saved.h"

#include <errno.h>

void api_saved_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct api_saved *s = arg;

	s->is_damaged |= is_loss;
	if (is_loss)
		api_fail(s->e, problem);
}

static int open_files(struct api_saved *s, const char *path)
{
	const struct cpsession *m = &s->manifest;
	const struct profile_manifest manifest = {.path = path,
						  .output_path_prefix = m->output_path_prefix,
						  .num_iterations = m->num_iterations,
						  .num_traces = m->num_traces,
						  .session_id = m->session_id,
						  .is_recording = *m->state != '\0'};
	struct err e = {0};

	return profile_session_open(&manifest, api_saved_problem, s, &s->session, &e)
		   ? api_fail(s->e, &e)
		   : 0;
}

int api_saved_open(struct api_saved *s, const char *path, struct cpuperf_error *e)
{
	ERR_AUTO_LIST *errs = err_list_new();
	int rc;

	*s = (struct api_saved){.e = e};
	cpsession_init(&s->manifest);
	if (!errs)
		return api_fail_memory(e);
	if (!path)
		return api_fail_use(e, -EINVAL, "the path is NULL", NULL);
	rc = cpsession_load(path, &s->manifest, errs);
	return rc ? api_fail_list(e, errs, rc) : open_files(s, path);
}

void api_saved_close(struct api_saved *s)
{
	profile_session_close(s->session);
	cpsession_fini(&s->manifest);
}
