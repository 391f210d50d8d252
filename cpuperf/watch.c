/*
 * The dashboard of a session that is being measured.
 */
#include "watch.h"

#include "api/table.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "host/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NOTES_BYTES = 64 << 10, MAX_BYTES = 16 << 20 };

int watch_check(const struct options *o, const struct plan *plan, struct err *e)
{
	if (!o->live)
		return 0;
	if (o->no_live)
		return err_set(e, -EINVAL, "--live and --no-live are mutually exclusive");
	if (strcmp(o->output_format, "text") != 0)
		return err_set(e, -EINVAL, "--live excludes --output-format=%s", o->output_format);
	if (plan->is_sampling) {
		err_set(e, -EINVAL, "--live shows counts only, and this spec samples");
		err_hint(e, "use cpuperf_print to look at samples after the session");
		return -EINVAL;
	}
	if (!isatty(STDOUT_FILENO))
		return err_set(e, -EINVAL, "--live: standard output is not a terminal");
	return 0;
}

static bool is_in_foreground(void)
{
	pid_t foreground = tcgetpgrp(STDOUT_FILENO);

	return foreground < 0 || foreground == getpgrp();
}

bool watch_is_wanted(const struct options *o, const struct plan *plan)
{
	if (o->live || o->no_live)
		return o->live;
	return strcmp(o->output_format, "text") == 0 && !plan->is_sampling &&
	       plan->spec->num_iterations > 1 && isatty(STDOUT_FILENO) && is_in_foreground();
}

static const char *spec_name(const struct spec *spec)
{
	const char *slash = strrchr(spec->source, '/');

	if (*spec->config_name)
		return spec->config_name;
	return slash ? slash + 1 : spec->source;
}

static int make_cpus(struct watch *w, const struct plan *plan)
{
	struct host_place *places = arena_calloc(&w->arena, plan->nr_cpus, sizeof(*places));
	struct model_cpu *cpus = arena_calloc(&w->arena, plan->nr_cpus, sizeof(*cpus));
	uint32_t i = 0;

	if (!places || !cpus || host_places(plan->host, &plan->cpus, places))
		return -ENOMEM;
	for (int cpu = cpuset_next(&plan->cpus, 0); cpu >= 0 && i < plan->nr_cpus;
	     cpu = cpuset_next(&plan->cpus, (unsigned)cpu + 1), i++)
		cpus[i] = (struct model_cpu){.cpu = (uint32_t)cpu,
					     .package = places[i].package,
					     .node = places[i].node,
					     .type = places[i].type};
	w->cpus = cpus;
	return 0;
}

static void quit(void *arg)
{
	struct watch *w = arg;

	session_stop(w->session);
}

static int start(struct watch *w, const struct table *t, struct err *e)
{
	const struct plan *plan = session_plan(w->session);
	struct model_facts facts = {.name = spec_name(plan->spec),
				    .host = plan->host->node,
				    .cpu_model = plan->host->cpu_model,
				    .nr_iterations = plan->spec->num_iterations,
				    .duration_ns = plan->spec->duration_ns,
				    .events = t->columns,
				    .nr_events = t->nr_events,
				    .nr_cpus = plan->nr_cpus};
	struct dashboard_config config = {
	    .fd = STDOUT_FILENO, .facts = &facts, .quit = quit, .arg = w};

	int rc = api_table_metrics(w->session, &w->arena, &facts.metrics, e);

	if (rc == 0 && make_cpus(w, plan))
		rc = err_set(e, -ENOMEM, "out of memory");
	facts.cpus = w->cpus;
	return rc ? rc : dashboard_start(&config, &w->show, e);
}

int watch_start(struct watch *w, const struct options *o, struct session *s, const struct table *t,
		struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct err why = {0};
	int rc;

	*w = (struct watch){.session = s};
	if (!watch_is_wanted(o, plan))
		return 0;
	buf_init(&w->notes, MAX_NOTES_BYTES);
	arena_init(&w->arena, MAX_BYTES);
	w->holds_notes = !o->std.log_file && isatty(STDERR_FILENO);
	rc = start(w, t, o->live ? e : &why);
	if (rc)
		arena_fini(&w->arena);
	if (rc && !o->live) {
		log_verbose(1, "no dashboard: %s", why.msg);
		rc = 0;
	}
	return rc;
}

bool watch_is_on(const struct watch *w)
{
	return w->show;
}

void watch_iteration(struct watch *w, const struct table *t)
{
	dashboard_iteration(w->show, t);
}

void watch_note(struct watch *w, const char *text)
{
	dashboard_note(w->show, text);
	if (!w->holds_notes) {
		log_warning("%s", text);
		return;
	}
	buf_adds(&w->notes, text);
	buf_addc(&w->notes, '\n');
}

static void say_notes(struct watch *w)
{
	const char *at = buf_str(&w->notes), *end = at + w->notes.len, *line, *stop;

	while ((line = str_next_line(&at, end, &stop)))
		log_warning("%.*s", (int)(stop - line), line);
	if (buf_error(&w->notes))
		log_warning("more were dropped here; the traces have them all");
}

bool watch_stop(struct watch *w)
{
	int rc;

	if (!w->show)
		return true;
	rc = dashboard_stop(w->show);
	w->show = NULL;
	if (rc == 0)
		say_notes(w);
	buf_fini(&w->notes);
	if (rc != -EBUSY)
		arena_fini(&w->arena);
	return rc == 0;
}
