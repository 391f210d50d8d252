/*
 * cpuperf: parses options and runs what they ask for.
 */
#include "api/table.h"
#include "as_part.h"
#include "attached.h"
#include "base/buf.h"
#include "base/cpuset.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/sys.h"
#include "event/model.h"
#include "event/usdt.h"
#include "heap.h"
#include "host/host.h"
#include "pmu/group.h"
#include "program.h"
#include "rank.h"
#include "reload.h"
#include "rights.h"
#include "screen/format.h"
#include "serve/serve.h"
#include "session/held.h"
#include "session/plan.h"
#include "signals.h"
#include "spec/cpsession.h"
#include "spec/keys.h"
#include "spec/spec.h"
#include "starter.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_SAVED_BYTES = SPEC_MAX_TEXT_BYTES };

/* Checked here, so that the error names the option rather than the spec. */
static int check_model(struct spec *spec, const char *source, struct err *e)
{
	int rc = event_model_check(spec->model_name, e);

	if (rc == -ENOTSUP) /* known, but of another architecture; its generic events work */
		err_clear(e);
	if (rc == 0 || rc == -ENOTSUP)
		return 0;
	snprintf(e->source, sizeof(e->source), "%s", source);
	spec->model_name = "default";
	return rc;
}

static int apply_overrides(const struct options *o, struct spec *spec, struct err_list *errs)
{
	int rc = 0;

	for (size_t key = 0; key < key_nr_rows && key < OPTIONS_MAX_OVERRIDES; key++) {
		char name[OPT_MAX_ORIGIN], origin[OPT_MAX_ORIGIN];
		struct err e = {0}, *slot;
		const char *source;
		int one;

		if (!o->overrides[key])
			continue;
		snprintf(name, sizeof(name), "%s", key_option(&key_rows[key]));
		for (char *p = name; *p; p++)
			*p = *p == '_' ? '-' : *p;
		source = opt_origin(cpuperf_options(), name, o->overrides[key], origin);
		one =
		    spec_override(spec, key_option(&key_rows[key]), o->overrides[key], source, &e);
		if (one == 0 && strcmp(key_rows[key].name, "model_name") == 0)
			one = check_model(spec, source, &e);
		slot = one ? err_list_add(errs) : NULL;
		if (slot)
			*slot = e;
		rc = rc ? rc : one;
	}
	return rc;
}

/* The option that overrides this key of the spec; NULL: not given. */
static const char *override_of(const struct options *o, const char *key)
{
	return o->overrides[key_find(KEY_SPEC, key) - key_rows];
}

/* Variables that name another target are ignored. */
static void prefer_command(struct options *o)
{
	const struct {
		const char *name, **value;
	} others[] = {{"pid", &o->pids}, {"comm", &o->comms.item[0]}, {"cgroup", &o->cgroup}};
	char origin[OPT_MAX_ORIGIN];

	for (size_t i = 0; o->command_argv && i < sizeof(others) / sizeof(others[0]); i++)
		if (*opt_origin(cpuperf_options(), others[i].name, *others[i].value, origin) != '-')
			*others[i].value = NULL;
	if (!o->comms.item[0])
		o->comms.nr = 0;
	if (!o->command && !o->later && secure_getenv("CPUPERF_WAIT_CHILDREN"))
		o->wait_children = false;
	if (!options_have_target(o) && !o->spec_file && secure_getenv("CPUPERF_NO_CHILDREN"))
		o->no_children = false;
}

/* What excludes a command, or has no meaning without one. */
static int check_target(const struct options *o, struct err *e)
{
	if (o->output && !*o->output)
		return err_set(e, -EINVAL, "--output: the name is empty");
	if (o->command_argv && (o->pids || o->comms.nr || o->cgroup))
		return err_set(e, -EINVAL,
			       "a command and --pid, --comm or --cgroup are mutually exclusive");
	if (o->no_children && (o->cgroup || (!options_have_target(o) && !o->spec_file)))
		return err_set(e, -EINVAL, "--no-children requires a command, --pid or --comm");
	if (o->attach && (o->command_argv || (!options_have_target(o) && !o->spec_file)))
		return err_set(e, -EINVAL, "--attach requires --pid, --comm or --cgroup");
	if (o->starts_disabled && !o->control)
		return err_set(e, -EINVAL,
			       "--delay=-1 requires --control: nothing else enables "
			       "the events");
	if (o->wait_children && !o->command && !o->later)
		return err_set(e, -EINVAL, "--wait-children requires a command");
	if (o->command && !o->output_file && strcmp(o->output_format, "text") != 0)
		return err_set(e, -EINVAL,
			       "--output-format=%s requires --output-file: standard output is the "
			       "command's",
			       o->output_format);
	return 0;
}

static bool has_target(const struct options *o, const struct spec *spec)
{
	return o->command || spec_has_target(spec);
}

/* --output=-: only what is printed from files needs any. */
static int hold(struct options *o, struct spec *spec, struct held *held, struct err *e)
{
	int rc;

	o->held = held;
	o->output = NULL;
	spec->output_path_prefix = spec->session_result_spec_path = "";
	if (o->check_spec || (!has_target(o, spec) && !spec_is_sampling(spec)))
		return 0;
	rc = held_open(held, e);
	if (rc) {
		snprintf(e->source, sizeof(e->source), "--output=-");
		err_hint(e, "save it in a folder: --output=NAME");
	}
	o->output = rc ? NULL : held->path;
	return rc;
}

/* One rule for the files of a command or of --output: all are in one folder. */
static int set_target(struct options *o, struct spec *spec)
{
	o->is_output_named = o->output;
	if ((has_target(o, spec) || !o->spec_file) && !o->output && !o->held &&
	    spec_has_default_paths(spec))
		o->output = CPSESSION_FOLDER;
	if (o->output) {
		spec->output_path_prefix =
		    arena_printf(&spec->arena, "%s/" CPSESSION_FOLDER_PREFIX, o->output);
		spec->session_result_spec_path =
		    arena_printf(&spec->arena, "%s/" CPSESSION_FOLDER_MANIFEST, o->output);
		if (!spec->output_path_prefix || !spec->session_result_spec_path)
			return -ENOMEM;
	}
	if (has_target(o, spec) && !o->output && *spec->output_path_prefix &&
	    spec_has_default_manifest(spec)) { /* it follows the traces */
		spec->session_result_spec_path =
		    arena_printf(&spec->arena, "%s.cpsession", spec->output_path_prefix);
		if (!spec->session_result_spec_path)
			return -ENOMEM;
	}
	if (o->until_end)
		spec->duration_ns = 0;
	return 0;
}

/* The events of a target, if no option names any. */
#define COMMAND_SPEC "program.cpspec"

/* The text that the starter of the job has sent. */
static int open_sent(const struct as_part *part, char path[PATH_MAX], struct err *e)
{
	int fd = fcntl(part->spec_fd, F_DUPFD_CLOEXEC, 0);

	snprintf(path, PATH_MAX, "%s", part->spec_name);
	return fd < 0 ? err_set(e, -errno, "the spec cannot be read: %s", strerror(errno)) : fd;
}

/* Returns an exit status: errors in the file are failures, errors in options wrong usage. */
static int load_spec(struct options *o, struct spec *spec, struct err_list *errs)
{
	const char *name = o->spec_file ? o->spec_file : COMMAND_SPEC;
	char path[PATH_MAX], origin[OPT_MAX_ORIGIN];
	struct err e = {0};
	IO_AUTO_FD int fd = -1;

	if (!o->spec_file && (o->events.nr || !options_have_target(o))) {
		spec->source = "the options";
		return apply_overrides(o, spec, errs) ? EXIT_USAGE : EXIT_DONE;
	}
	if (o->part && o->part->spec_fd >= 0)
		fd = open_sent(o->part, path, &e);
	else
		fd = open_spec(name, path, &e);
	if (fd < 0) {
		if (!e.source[0])
			snprintf(e.source, sizeof(e.source), "%s",
				 opt_origin(cpuperf_options(), "spec-file", name, origin));
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	if (spec_load_fd(fd, path, spec, errs))
		return EXIT_FAILED;
	if (take_spec_command(o, spec, fd, name, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	return apply_overrides(o, spec, errs) ? EXIT_USAGE : EXIT_DONE;
}

static const char *const time_keys[] = {"duration", "num_iterations", NULL};

static bool is_overridden(const struct options *o, const char *const *keys)
{
	while (*keys && !override_of(o, *keys))
		keys++;
	return *keys;
}

/* Each capture is an iteration. */
static int settle_windows(const struct options *o, struct spec *spec, struct err_list *errs)
{
	const char *option = override_of(o, "windows");
	struct spec_window windows[SPEC_MAX_WINDOWS];
	char origin[OPT_MAX_ORIGIN];
	struct err e = {0};
	int nr = spec_windows(spec, windows, &e);

	if (nr < 0 && !option)
		return 0; /* spec_check reports it */
	if (nr > 0) {
		spec->num_iterations = 0;
		spec->duration_ns = windows[0].capture_ns;
	}
	for (int i = 0; i < nr; i++) {
		spec->num_iterations += windows[i].cycles;
		if (windows[i].clock == SPEC_PROCESS_CPUTIME && !has_target(o, spec))
			nr = err_set(&e, -EINVAL,
				     "windows: process_cputime requires a command, processes or a "
				     "control group");
	}
	if (nr >= 0)
		return 0;
	opt_origin(cpuperf_options(), "windows", option, origin);
	snprintf(e.source, sizeof(e.source), "%s", option ? origin : spec->source);
	e.line = option ? 0 : spec->windows_pos.line;
	e.column = spec->windows_pos.column;
	err_list_insert(errs, &e);
	return -EINVAL;
}

/* Options replace the spec's runs by a time, and the reverse. -EINVAL: runs of no command. */
static int settle_runs(const struct options *o, struct spec *spec, struct err_list *errs)
{
	char origin[OPT_MAX_ORIGIN];
	const char *runs = override_of(o, "runs");

	if (!runs && (is_overridden(o, time_keys) || override_of(o, "windows")))
		spec->runs = 0;
	if (!override_of(o, "windows") && (runs || is_overridden(o, time_keys)))
		spec->windows = "";
	if (runs && !override_of(o, "delay"))
		spec->delay_ns = 0;
	if (!spec->runs)
		return 0;
	spec->num_iterations = spec->runs;
	if (o->command || spec->target.command.nr)
		return 0;
	opt_origin(cpuperf_options(), "runs", runs, origin);
	return err_set_at(err_list_add(errs), -EINVAL, runs ? origin : spec->source,
			  runs ? 0 : spec->runs_pos.line, spec->runs_pos.column,
			  "runs require a command: cpuperf [options] -- COMMAND");
}

/* Options replace the spec's time or runs by a flight recorder, and the reverse. A program that
 * fails again and again must not fill the disk with snapshots. */
static void settle_flight(const struct options *o, struct spec *spec)
{
	enum { MAX_SNAPSHOTS = 100 };

	if (!override_of(o, "flight_recorder") &&
	    (is_overridden(o, time_keys) || override_of(o, "runs") || override_of(o, "windows") ||
	     override_of(o, "delay")))
		spec->flight.span_ns = 0;
	if (!spec->flight.span_ns)
		return;
	spec->windows = "";
	spec->delay_ns = 0;
	spec->runs = spec->duration_ns = 0;
	spec->num_iterations = 1; /* and those that are requested */
	if (!spec_has_retain(spec))
		spec->retain.iterations = MAX_SNAPSHOTS;
}

/* A session that is one iteration until its target ends removes nothing. */
static void warn_retain(const struct options *o, const struct spec *spec)
{
	if (spec_has_retain(spec) && o->until_end && !spec->flight.span_ns && !spec->runs)
		log_warning("retain removes whole iterations, and this session is one until its "
			    "target ends: --duration=1s --num-iterations=0 makes many");
}

/* The files whose probes the names of events mean. */
static void name_objects(const struct options *o, const struct spec *spec,
			 struct event_objects *out)
{
	const struct spec_target *t = &spec->target;

	*out = (struct event_objects){.pids = t->pids.item,
				      .nr_pids = t->pids.nr,
				      .comms = t->comms.item,
				      .nr_comms = t->comms.nr};
	if (o->command_argv)
		out->command = o->command_argv[0];
	else if (t->command.nr)
		out->command = t->command.item[0];
}

/* Returns an exit status. saved: the text for --save-spec. */
static int complete_spec(struct options *o, const struct catalogue *c,
			 struct event_objects *objects, struct spec *spec, struct buf *saved,
			 struct held *held, struct err_list *errs)
{
	struct err e = {0};
	bool is_settled = settle_target(o, spec, &e) == 0, is_timed;

	if (!is_settled || check_target(o, &e)) {
		err_list_insert(errs, &e);
		return is_settled ? EXIT_USAGE : EXIT_FAILED;
	}
	name_objects(o, spec, objects);
	settle_flight(o, spec);
	if (settle_runs(o, spec, errs) || settle_windows(o, spec, errs) ||
	    choose_events(o, c, spec, errs))
		return EXIT_USAGE;
	is_timed = !spec->runs && !spec->flight.span_ns &&
		   (spec->duration_pos.line || spec->iterations_pos.line ||
		    is_overridden(o, time_keys) || *spec->windows);
	spec_to_file(spec, is_timed || !has_target(o, spec), saved);
	o->until_end = (has_target(o, spec) || spec->flight.span_ns) && !is_timed;
	if (o->output && strcmp(o->output, "-") == 0 && hold(o, spec, held, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	if (set_target(o, spec)) {
		err_set(err_list_add(errs), -ENOMEM, "out of memory");
		return EXIT_FAILED;
	}
	warn_retain(o, spec);
	return spec_check(spec, errs) ? EXIT_FAILED : EXIT_DONE;
}

/* This machine, and the events of its CPU model or of the one that was asked for. */
struct machine {
	struct host host;
	struct event_objects objects; /* of the target */
	struct api_catalogue events;
};

static int machine_init(struct machine *m, const char *model, struct err *e)
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

static void machine_fini(struct machine *m)
{
	api_catalogue_fini(&m->events);
	host_fini(&m->host);
}

static int limit_cpus(struct plan *plan, const struct options *o, struct err *e)
{
	const char *list = plan->spec->target.cpus;
	struct cpuset cpus;
	int rc = 0;

	if (!*list && !o->cpus)
		return 0;
	if (cpuset_parse(list, strlen(list), &cpus) || !cpuset_count(&cpus))
		rc = err_set(e, -EINVAL, "\"%s\" is not a list of CPUs", list);
	rc = rc ? rc : plan_limit_cpus(plan, &cpus, e);
	if (rc)
		snprintf(e->source, sizeof(e->source), "%s",
			 o->cpus ? "--cpu" : plan->spec->source);
	if (rc && !o->cpus)
		e->line = plan->spec->target_pos.line, e->column = plan->spec->target_pos.column;
	return rc;
}

/* All but the tasks. */
static void describe_target(struct plan *plan, const struct options *o)
{
	const struct spec_target *t = &plan->spec->target;

	plan->target =
	    (struct plan_target){.is_command = o->command,
				 .has_runs = plan->spec->runs,
				 .is_process_only = !t->has_children,
				 .until_end = o->until_end,
				 .is_user_only = has_target(o, plan->spec) && !t->cgroups.nr &&
						 pmu_is_user_only(&pmu_kernel_ops),
				 .has_agent = t->attaches};
	plan->has_control = o->control;
	plan->starts_disabled = o->starts_disabled;
}

/* Returns an exit status. */
static int measure_plan(struct plan *plan, const struct options *o, char refused[HEAP_REASON_BYTES])
{
	const struct spec_target *t = &plan->spec->target;
	struct attached attached;
	struct err e = {0};
	int status;

	if (o->command && !heap_is_measurable(plan, refused))
		plan->heap_refused = refused;
	if (t->attaches && heap_check_attach(plan, &e))
		return fail(EXIT_FAILED, &e);
	if (plan->spec->regions.is_wanted && t->cgroups.nr) {
		err_set(&e, -EINVAL, "regions of a control group cannot be received");
		err_hint(&e, "use --pid, --comm, a command, or the machine");
		return fail(EXIT_FAILED, &e);
	}
	if (!t->has_children && attached_check_no_children(&e))
		return fail(EXIT_FAILED, &e);
	if (!has_target(o, plan->spec))
		return record(plan, o, NULL);
	if (o->command && t->waits_for_children && target_command_wait_children(o->command, &e))
		return fail(EXIT_FAILED, &e);
	if (o->command)
		return record(plan, o, NULL);
	if (attached_open(&attached, plan->spec, options_have_target(o), &e))
		return fail(EXIT_FAILED, &e);
	status = record(plan, o, &attached);
	attached_close(&attached);
	return status;
}

/* A session that is asked for, from the options to its plan. */
struct wanted {
	struct options o;
	const struct options *given; /* as they were before the spec was read; borrowed */
	struct machine m;
	struct spec spec;
	struct plan plan;
	struct buf saved; /* the text for --save-spec */
	struct held held;
	bool has_machine, has_plan;
	char refused[HEAP_REASON_BYTES]; /* why the heap is not measured */
	struct reload reload;
	struct wanted *next; /* owned: after a reload; NULL: there is none */
};

static void wanted_free(struct wanted *w)
{
	if (!w)
		return;
	if (w->has_plan)
		plan_fini(&w->plan);
	if (w->has_machine)
		machine_fini(&w->m);
	held_close(&w->held);
	buf_fini(&w->saved);
	spec_fini(&w->spec);
	wanted_free(w->next);
	mem_free(w);
}

static struct wanted *wanted_new(const struct options *given)
{
	struct wanted *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->o = *given;
	w->given = given;
	w->held = HELD_NONE;
	spec_init(&w->spec);
	buf_init(&w->saved, MAX_SAVED_BYTES);
	return w;
}

/* Also resolves the events of an invalid spec, so that all errors are reported at once. Returns an
 * exit status, with at least one error in *errs unless it is EXIT_DONE. */
static int wanted_read(struct wanted *w, struct err_list *errs)
{
	int status = load_spec(&w->o, &w->spec, errs), rc;
	struct err e = {0};

	if (machine_init(&w->m, w->spec.model_name, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	w->has_machine = true;
	if (status == EXIT_DONE)
		status = complete_spec(&w->o, &w->m.events.catalogue, &w->m.objects, &w->spec,
				       &w->saved, &w->held, errs);
	rc = w->o.check_spec ? 0 : api_check_model(&w->m.events, &w->spec, errs);
	w->has_plan = plan_make(&w->spec, &w->m.events.catalogue, &w->m.host, &w->plan, errs) == 0;
	if (rc || !w->has_plan || status)
		return status ? status : EXIT_FAILED;
	describe_target(&w->plan, &w->o);
	if (limit_cpus(&w->plan, &w->o, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* --- reading the spec again ------------------------------------------------------------------ */

static bool is_same(const struct wanted *a, const struct wanted *b)
{
	return a->saved.len == b->saved.len &&
	       memcmp(buf_str(&a->saved), buf_str(&b->saved), a->saved.len) == 0;
}

/* The session goes on unless the spec is valid and another one. */
static bool reread(void *arg)
{
	struct wanted *w = arg, *next = wanted_new(w->given);
	ERR_AUTO_LIST *errs = err_list_new();
	bool is_valid = next && errs && wanted_read(next, errs) == EXIT_DONE;

	if (is_valid && !is_same(w, next)) {
		log_info("%s has changed: a session by it follows", w->spec.source);
		w->next = next;
		return true;
	}
	if (is_valid)
		log_info("%s has not changed: the session goes on", w->spec.source);
	else if (errs && errs->nr)
		log_err(LOG_ERROR, &errs->item[0]);
	if (!is_valid)
		log_warning("the spec that was read again is invalid%s: the session goes on by the "
			    "one before",
			    next ? "" : ", or there is no memory");
	wanted_free(next);
	return false;
}

/* One that lasts until it is stopped, by a file that can be read again. */
static bool is_reloadable(const struct wanted *w)
{
	return w->o.spec_file && strcmp(w->o.spec_file, "-") != 0 && !w->spec.num_iterations &&
	       !w->o.command && !w->o.later && !w->o.until_end && !w->o.held && !w->o.part &&
	       !w->o.rank;
}

/* Measures by it, then by each that follows. One that cannot begin is followed by the one before.
 * Returns an exit status; frees w. */
static int measure_all(struct wanted *w)
{
	struct wanted *before = NULL;
	struct serve *serve = NULL;
	bool is_first = true;
	int status;

	for (;;) {
		w->reload =
		    (struct reload){.read = reread, .arg = w, .is_first = is_first, .serve = serve};
		w->o.reload = is_reloadable(w) ? &w->reload : NULL;
		status = measure_plan(&w->plan, &w->o, w->refused);
		serve = w->o.reload ? w->reload.serve : serve;
		is_first = false;
		if (w->next) {
			wanted_free(before);
			before = w;
			w = before->next;
			before->next = NULL;
		} else if (status == EXIT_FAILED && before && w->o.reload && !w->reload.has_begun) {
			log_warning("the session by the spec that was read again cannot begin: one "
				    "by the spec before follows");
			wanted_free(w);
			w = before;
			before = NULL;
		} else {
			break;
		}
	}
	serve_close(serve);
	wanted_free(before);
	wanted_free(w);
	return status;
}

static void raise_descriptors(void)
{
	struct rlimit limit;

	/* a descriptor per event and CPU can exceed the soft limit */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* --delay=-1, as perf has it. */
static void take_disabled(struct options *o)
{
	const char **delay = &o->overrides[key_find(KEY_SPEC, "delay") - key_rows];

	o->starts_disabled = *delay && strcmp(*delay, "-1") == 0;
	if (o->starts_disabled)
		*delay = "0";
}

static int measure_here(struct options *o)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct err e = {0};
	struct wanted *w;
	int status;

	if (!screen_format_find(o->output_format)) {
		log_error("--output-format=%s requires --list-events", o->output_format);
		return EXIT_USAGE;
	}
	take_disabled(o);
	prefer_command(o);
	if (check_target(o, &e))
		return fail(EXIT_USAGE, &e);
	if (!o->spec_file && !options_have_target(o) && !chooses_events(o)) {
		err_set(&e, -EINVAL, "No events specified");
		err_hint(&e, "name a spec: --spec-file=basic.cpspec (--list-specs lists them), or "
			     "events: --event=page_faults (--list-events)");
		return fail(EXIT_FAILED, &e);
	}
	w = wanted_new(o);
	if (!errs || !w) {
		wanted_free(w);
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = wanted_read(w, errs);
	o->command = w->o.command; /* of the spec */
	if (status == EXIT_DONE &&
	    ((o->save_spec && save_spec(o->save_spec, &w->saved, &e)) ||
	     (o->save_alerts && save_alerts(o->save_alerts, &w->spec, &e)))) {
		err_list_insert(errs, &e);
		status = EXIT_FAILED;
	}
	if (status != EXIT_DONE)
		log_errors(errs);
	if (status == EXIT_DONE)
		raise_descriptors();
	if (status == EXIT_DONE && !o->check_spec)
		return measure_all(w);
	if (status == EXIT_DONE)
		status = check_spec(&w->plan, &w->m.events.catalogue, &w->o);
	wanted_free(w);
	return status;
}

/* Each rank has a folder of its own, and only the first prints. */
static int measure_rank(struct options *o, struct rank *r)
{
	struct err e = {0};
	int status;

	if (rank_make_folder(r, o->output, &e) ||
	    (o->command && target_command_set_variable(o->command, RANK_MEASURED, "1", &e)))
		return fail(EXIT_FAILED, &e);
	o->output = r->folder;
	o->rank = r;
	if (r->part.rank) {
		o->is_silent = true;
		o->live = false;
		o->output_file = NULL;
		if (o->std.min_level == LOG_INFO)
			o->std.min_level = LOG_WARNING;
		log_open("cpuperf", o->std.min_level, log_fd());
	}
	status = measure_here(o);
	rank_end(r, status);
	return status;
}

static int measure(struct options *o)
{
	bool is_saved = !o->part && !o->check_spec && !(o->output && strcmp(o->output, "-") == 0);
	struct rank rank;

	if (is_saved && rank_find(&rank))
		return measure_rank(o, &rank);
	return measure_here(o);
}

/* --model-name. It overrides a key of the spec, so it has no field of its own. */
static const char *asked_model(const struct options *o)
{
	const char *model = override_of(o, "model_name");

	return model ? model : "default";
}

static int look_at_events(const struct options *o)
{
	struct err e = {0};
	struct machine m;
	struct spec spec; /* its target alone */
	int status;

	/* A model of another architecture (-ENOTSUP) still has the groups fixed and arch. */
	if (event_model_check(asked_model(o), &e) == -ENOENT ||
	    machine_init(&m, asked_model(o), &e))
		return fail(EXIT_FAILED, &e);
	spec_init(&spec);
	if (settle_target(o, &spec, &e)) {
		status = fail(EXIT_USAGE, &e);
	} else {
		name_objects(o, &spec, &m.objects);
		status = o->list_events ? list_events(o, &m.events.catalogue)
					: describe_event(o, &m.events.catalogue);
	}
	spec_fini(&spec);
	machine_fini(&m);
	return status;
}

static int run(struct options *o)
{
	bool describes = o->list_events || o->describe_event; /* also of a target */

	if (o->list_specs && strcmp(o->output_format, "text") != 0) {
		log_error("--list-specs supports only --output-format=text");
		return EXIT_USAGE;
	}
	if (o->list_specs + o->list_events + (o->describe_event != NULL) +
		(o->check_spec || o->strict || chooses_events(o) ||
		 (options_have_target(o) && !describes)) >
	    1) {
		log_error("--list-specs, --list-events, --describe-event and measuring "
			  "(--check-spec, --strict, --event, a command) are mutually exclusive");
		return EXIT_USAGE;
	}
	if (o->list_specs)
		return list_specs();
	if (o->list_events || o->describe_event)
		return look_at_events(o);
	return measure(o);
}

/* Options are those before "--". */
static int find_command(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

static bool has_argument(char *const *argv, const char *text)
{
	while (*argv && strcmp(*argv, text) != 0)
		argv++;
	return *argv;
}

/* The session is the starter's, and is held until it has been sent: options that say where results
 * go are for the starter. */
static void settle_part(struct options *o, const struct as_part *part)
{
	o->part = part;
	o->held = &part->held;
	o->output = part->held.path;
	o->hosts = o->output_file = o->save_spec = o->save_alerts = o->std.log_file = NULL;
	o->output_format = "text";
	o->live = false;
	o->is_silent = true;
	if (part->spec_name)
		o->spec_file = part->spec_name;
	if (o->std.min_level == LOG_INFO)
		o->std.min_level = LOG_WARNING;
}

/* Returns an exit status. */
static int parse_and_run(struct options *o, const struct as_part *part, int argc, char **argv)
{
	struct err e = {0};
	int answered;

	if (opt_parse(cpuperf_options(), argc, argv, o, &e))
		return fail(EXIT_USAGE, &e);
	if (part)
		settle_part(o, part);
	if (opt_std_open_log(&o->std, "cpuperf", &e))
		return fail(EXIT_FAILED, &e);
	answered = opt_std_answer(&o->std, cpuperf_options(), CPUPERF_VERSION);
	if (answered)
		return answered < 0 ? EXIT_FAILED : EXIT_DONE;
	if (o->hosts)
		return start_hosts(o, argv + 1, (size_t)argc - 1);
	return run(o);
}

/* The process of the command, if there is one. */
static int make_command(struct options *o, int nr_options, int argc, char **argv, struct err *e)
{
	if (nr_options == argc - 1)
		return err_set(e, -EINVAL, "no command after --");
	if (nr_options < argc)
		return target_command_new(o->command_argv = argv + nr_options + 1, &o->command, e);
	if (has_argument(argv, "--run-spec-command"))
		return target_command_new_later("the command", &o->later, e);
	return 0;
}

/* Returns the exit status. part: NULL: the session is no part of a job. */
static int run_program(int argc, char **argv, const struct as_part *part)
{
	struct options o = {.output_format = "text", .metrics_things = OPTIONS_METRICS_THINGS};
	int nr_options = find_command(argc, argv), rc, status;
	struct err e = {0};

	signals_ignore_early();
	spec_use_own_heap();
	/* first: the command inherits nothing that is opened, ignored or raised below, and all of
	 * the environment */
	rc = privilege_init(&e) ?: make_command(&o, nr_options, argc, argv, &e);
	signal(SIGCHLD, SIG_DFL); /* ignored, the kernel reaps children and drops their status */
	rights_clean_environment();
	signal(SIGXFSZ, SIG_IGN); /* write(2) returns EFBIG instead */
	opt_std_prepare(cpuperf_options(), nr_options, argv);
	status = rc ? fail(EXIT_NOT_MEASURED, &e) : parse_and_run(&o, part, nr_options, argv);
	if (part)
		as_part_report(part, status);
	if (status >= EXIT_COMMAND)
		status -= EXIT_COMMAND;
	else if (status && o.command)
		status = EXIT_NOT_MEASURED;
	target_command_free(o.later ? o.later : o.command);
	return status;
}

int main(int argc, char **argv)
{
	if (as_part_is_asked(argc, argv))
		return as_part_run(run_program);
	return run_program(argc, argv, NULL);
}
