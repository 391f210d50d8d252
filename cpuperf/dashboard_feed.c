/*
 * Connects a session to the dashboard.
 */
#include "dashboard_feed.h"

#include "api/table.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "host/topology.h"
#include "process_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NOTES_BYTES = 64 << 10, MAX_BYTES = 16 << 20 };

enum { LOOK_NS = 1000000000 };

/* Standard output may be that of the command alone. */
static int terminal_of(const struct options *o)
{
	return o->command && !isatty(STDOUT_FILENO) ? STDERR_FILENO : STDOUT_FILENO;
}

static bool has_target(const struct plan *plan)
{
	return plan->target.is_command || spec_has_target(plan->spec);
}

int dashboard_feed_check(const struct options *o, const struct plan *plan, struct err *e)
{
	if (!o->live)
		return live_functions_check(o, plan, e);
	if (strcmp(o->output_format, "text") != 0)
		return err_set(e, -EINVAL, "--live excludes --output-format=%s", o->output_format);
	if (spec_has_samples(plan->spec) && !has_target(plan)) {
		err_set(e, -EINVAL, "--live shows counts only, and this spec samples");
		err_hint(e, "--top shows functions");
		return -EINVAL;
	}
	if (!isatty(terminal_of(o)))
		return err_set(e, -EINVAL, "--live: standard %s is not a terminal",
			       o->command ? "error" : "output");
	return 0;
}

static bool is_in_foreground(void)
{
	pid_t foreground = tcgetpgrp(STDOUT_FILENO);

	return foreground < 0 || foreground == getpgrp();
}

bool dashboard_feed_is_wanted(const struct options *o, const struct plan *plan)
{
	if (o->live || o->no_live || o->top)
		return o->live || o->top;
	return strcmp(o->output_format, "text") == 0 && !spec_has_samples(plan->spec) &&
	       !o->command && spec_max_iterations(plan->spec) > 1 && isatty(STDOUT_FILENO) &&
	       is_in_foreground();
}

static int make_cpus(struct dashboard_feed *f, const struct plan *plan,
		     const struct model_cpu **out)
{
	struct host_place *places = arena_calloc(&f->arena, plan->nr_cpus, sizeof(*places));
	struct model_cpu *cpus = arena_calloc(&f->arena, plan->nr_cpus, sizeof(*cpus));
	uint32_t i = 0;

	if (!places || !cpus || host_places(plan->host, &plan->cpus, places))
		return -ENOMEM;
	for (int cpu = cpuset_next(&plan->cpus, 0); cpu >= 0 && i < plan->nr_cpus;
	     cpu = cpuset_next(&plan->cpus, (unsigned)cpu + 1), i++)
		cpus[i] = (struct model_cpu){.cpu = (uint32_t)cpu,
					     .package = places[i].package,
					     .node = places[i].node,
					     .type = places[i].type};
	*out = cpus;
	return 0;
}

static void quit(void *arg)
{
	struct dashboard_feed *f = arg;
	const struct plan_target *target = &session_plan(f->session)->target;

	if (target->until_end && !target->has_runs)
		session_finish(f->session); /* nothing is cut short */
	else
		session_stop(f->session);
}

uint64_t dashboard_feed_look_ns(const struct options *o, const struct plan *plan, bool is_answered)
{
	return is_answered && dashboard_feed_is_wanted(o, plan) ? LOOK_NS : 0;
}

static int start(struct dashboard_feed *f, const struct options *o, const struct table *t,
		 uint64_t look_ns, struct err *e)
{
	const struct plan *plan = session_plan(f->session);
	const struct spec *spec = plan->spec;
	const char *slash = strrchr(spec->source, '/');
	const long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct model_facts facts = {.name = *spec->config_name ? spec->config_name
					    : slash            ? slash + 1
							       : spec->source,
				    .host = plan->host->node,
				    .cpu_model = plan->host->cpu_model,
				    .nr_iterations = look_ns ? 0 : spec->num_iterations,
				    .duration_ns = look_ns ? look_ns : spec->duration_ns,
				    .events = t->columns,
				    .nr_events = t->nr_events,
				    .nr_cpus = plan->nr_cpus,
				    .nr_machine_cpus = nr_cpus > 0 ? (size_t)nr_cpus : 0,
				    .processes = {process_facts_find, (void *)&plan->host->root},
				    .can_profile = !plan->target.is_command,
				    .has_target = has_target(plan)};
	struct dashboard_config config = {
	    .fd = terminal_of(o), .facts = &facts, .quit = quit, .arg = f};

	f->profile = PROFILE_PROCESS_NONE(config.fd);
	if (facts.can_profile)
		config.profiler = (struct dashboard_profiler){
		    profile_process_start, profile_process_step, profile_process_show,
		    profile_process_stop, &f->profile};

	int rc = api_table_metrics(f->session, &f->arena, &facts.metrics, e);

	if (rc == 0 && make_cpus(f, plan, &facts.cpus))
		rc = err_set(e, -ENOMEM, "out of memory");
	return rc ? rc : dashboard_start(&config, &f->dashboard, e);
}

int dashboard_feed_start(struct dashboard_feed *f, const struct options *o, struct session *s,
			 const struct table *t, uint64_t look_ns, struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct err why = {0};
	int rc;

	*f = (struct dashboard_feed){.session = s};
	if (!dashboard_feed_is_wanted(o, plan))
		return 0;
	buf_init(&f->notes, MAX_NOTES_BYTES);
	arena_init(&f->arena, MAX_BYTES);
	f->holds_notes = !o->std.log_file && isatty(STDERR_FILENO);
	f->has_functions = o->top;
	rc = o->top ? 0 : start(f, o, t, look_ns, o->live ? e : &why);
	if (rc)
		arena_fini(&f->arena);
	if (rc && !o->live) {
		log_verbose(1, "no dashboard: %s", why.msg);
		rc = 0;
	}
	return rc;
}

bool dashboard_feed_is_on(const struct dashboard_feed *f)
{
	return f->dashboard || f->has_functions;
}

int dashboard_feed_begin(struct dashboard_feed *f, struct err *e)
{
	return f->has_functions ? live_functions_start(&f->functions, f->session,
						       session_manifest(f->session), e)
				: 0;
}

void dashboard_feed_iteration(struct dashboard_feed *f, const struct table *t)
{
	if (f->dashboard) /* functions are read from the files */
		dashboard_iteration(f->dashboard, t);
}

void dashboard_feed_note(struct dashboard_feed *f, const char *text)
{
	if (f->dashboard)
		dashboard_note(f->dashboard, text);
	if (!f->holds_notes) {
		log_warning("%s", text);
		return;
	}
	buf_adds(&f->notes, text);
	buf_addc(&f->notes, '\n');
}

bool dashboard_feed_stop(struct dashboard_feed *f)
{
	const char *at = buf_str(&f->notes), *end = at + f->notes.len, *line, *stop;
	int rc;

	if (!dashboard_feed_is_on(f))
		return true;
	live_functions_stop(&f->functions);
	rc = dashboard_stop(f->dashboard);
	f->dashboard = NULL;
	f->has_functions = false;
	while (rc == 0 && (line = str_next_line(&at, end, &stop)))
		log_warning("%.*s", (int)(stop - line), line);
	if (rc == 0 && buf_error(&f->notes))
		log_warning("more were dropped here; the traces contain them");
	buf_fini(&f->notes);
	if (rc != -EBUSY)
		arena_fini(&f->arena);
	return rc == 0;
}
