/*
 * Specs of programs.
 */
#include "api/owned_spec.h"

#include "api/names.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cpuperf/cpuperf.h"

#include <errno.h>

static int load_machine(struct cpuperf_spec *s, struct cpuperf_error *error)
{
	struct err e = {0};

	if (host_load(&root_live, &s->host, &e))
		return api_fail(error, &e);
	api_catalogue_init(&s->events, &s->host, s->spec.model_name);
	s->events.catalogue.functions = &s->spec.functions;
	return 0;
}

/* Without files: they are wanted if something names them. */
static void save_nothing(struct spec *s)
{
	s->output_path_prefix = s->session_result_spec_path = "";
}

static void build_by_calls(struct spec *s)
{
	save_nothing(s);
	s->num_iterations = 0; /* until stopped */
}

/* What a spec is read from: a file (text NULL), or text. */
struct origin {
	const char *path, *text;
	size_t len;
};

static int read_origin(struct cpuperf_spec *s, const struct origin *from, struct err_list *errs)
{
	int rc;

	if (!from->path)
		return 0;
	s->source = mem_strdup(from->path);
	if (!s->source)
		return err_set(err_list_add(errs), -ENOMEM, "out of memory");
	if (!from->text)
		return spec_load(s->source, &s->spec, errs);
	rc = spec_parse(from->text, from->len, s->source, &s->spec, errs);
	if (rc == 0 && spec_has_default_paths(&s->spec))
		save_nothing(&s->spec);
	return rc;
}

/* from: NULL: nothing; the spec is built by calls. */
static int make(struct cpuperf_spec **out, const struct origin *from, struct cpuperf_error *e)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct cpuperf_spec *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s || !errs) {
		mem_free(s);
		return api_fail_memory(e);
	}
	spec_init(&s->spec);
	s->nr_users = 1;
	rc = from ? read_origin(s, from, errs) : 0;
	if (rc)
		api_fail_list(e, errs, rc);
	else if (!from)
		build_by_calls(&s->spec);
	rc = rc ?: load_machine(s, e);
	if (rc)
		cpuperf_spec_free(s);
	else
		*out = s;
	return rc;
}

static int clear_result(struct cpuperf_spec **out, struct cpuperf_error *e)
{
	api_fail_clear(e);
	if (!out)
		return api_fail_use(e, -EINVAL, "out is NULL", NULL);
	*out = NULL;
	return 0;
}

int cpuperf_spec_new(struct cpuperf_spec **out, struct cpuperf_error *e)
{
	return clear_result(out, e) ?: make(out, NULL, e);
}

int cpuperf_spec_load(struct cpuperf_spec **out, const char *path, struct cpuperf_error *e)
{
	int rc = clear_result(out, e);

	if (rc == 0 && !path)
		rc = api_fail_use(e, -EINVAL, "path is NULL", NULL);
	return rc ?: make(out, &(struct origin){.path = path}, e);
}

int cpuperf_spec_parse(struct cpuperf_spec **out, const char *text, size_t len,
		       struct cpuperf_error *e)
{
	int rc = clear_result(out, e);

	if (rc == 0 && !text)
		rc = api_fail_use(e, -EINVAL, "text is NULL", NULL);
	return rc ?: make(out, &(struct origin){.path = "text", .text = text, .len = len}, e);
}

void cpuperf_spec_free(struct cpuperf_spec *s)
{
	if (!s || --s->nr_users)
		return;
	if (s->events.catalogue.groups)
		api_catalogue_fini(&s->events);
	host_fini(&s->host);
	spec_fini(&s->spec);
	mem_free(s->source);
	mem_free(s);
}

struct cpuperf_spec *api_spec_share(const struct cpuperf_spec *spec)
{
	struct cpuperf_spec *s = (struct cpuperf_spec *)spec; /* only the number changes */

	s->nr_users++;
	return s;
}

static int check_change(const struct cpuperf_spec *s, const void *a, const void *b,
			struct cpuperf_error *e)
{
	api_fail_clear(e);
	if (!s || !a || !b)
		return api_fail_use(e, -EINVAL, "a parameter is NULL", NULL);
	if (s->nr_users > 1)
		return api_fail_use(e, -EBUSY, "the spec is in use",
				    "close what was opened from it, or make a new spec");
	return 0;
}

int cpuperf_spec_add(struct cpuperf_spec *s, const char *events, struct cpuperf_error *e)
{
	ERR_AUTO_LIST *errs = NULL;
	int rc = check_change(s, events, events, e);

	if (rc)
		return rc;
	errs = err_list_new();
	if (!errs)
		return api_fail_memory(e);
	rc = api_names_add(events, "events", &s->events.catalogue, &s->spec, NULL, errs);
	return rc ? api_fail_list(e, errs, rc) : 0;
}

int cpuperf_spec_set(struct cpuperf_spec *s, const char *key, const char *value,
		     struct cpuperf_error *error)
{
	int rc = check_change(s, key, value, error);
	struct err e = {0};

	if (rc || spec_override(&s->spec, key, value, key, &e) == 0)
		return rc;
	return api_fail(error, &e);
}

int api_spec_plan(struct cpuperf_spec *s, struct plan *out, struct cpuperf_error *e)
{
	return api_spec_plan_of(s, &s->spec, out, e);
}

int api_spec_plan_of(struct cpuperf_spec *s, const struct spec *own, struct plan *out,
		     struct cpuperf_error *e)
{
	ERR_AUTO_LIST *errs = err_list_new();
	int rc;

	if (!errs)
		return api_fail_memory(e);
	rc = spec_check(own, errs)
		 ?: api_check_model(&s->events, own, errs)
		 ?: plan_make(own, &s->events.catalogue, &s->host, out, errs);
	return rc ? api_fail_list(e, errs, rc) : 0;
}
