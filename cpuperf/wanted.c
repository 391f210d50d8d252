#include "wanted.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/cpuset.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/model.h"
#include "job/as_part.h"
#include "live_functions.h"
#include "pmu/group.h"
#include "program.h"
#include "session/folder.h"
#include "spec/cpsession.h"
#include "spec/keys.h"
#include "target/command.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Sets the key of that row. */
static int apply_override(const struct options *o, size_t key, struct spec *spec, struct err *e)
{
	char name[OPT_MAX_ORIGIN], origin[OPT_MAX_ORIGIN];
	const char *source;
	int rc;

	snprintf(name, sizeof(name), "%s", key_option(&key_rows[key]));
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	source = opt_origin(cpuperf_options(), name, o->overrides[key], origin);
	rc = spec_override(spec, key_option(&key_rows[key]), o->overrides[key], source, e);
	if (rc == 0 && strcmp(key_rows[key].name, "model_name") == 0)
		rc = check_model(spec, source, e);
	return rc;
}

static int apply_overrides(const struct options *o, struct spec *spec, struct err_list *errs)
{
	int rc = 0;

	for (size_t key = 0; key < key_nr_rows && key < OPTIONS_MAX_OVERRIDES; key++) {
		struct err e = {0}, *slot;
		int one = o->overrides[key] ? apply_override(o, key, spec, &e) : 0;

		slot = one ? err_list_add(errs) : NULL;
		if (slot)
			*slot = e;
		rc = rc ? rc : one;
	}
	return rc;
}

int wanted_choose_functions(const struct options *o, struct spec *spec, struct err *e)
{
	int rc = 0;

	for (size_t key = 0; key < key_nr_rows && key < OPTIONS_MAX_OVERRIDES && rc == 0; key++)
		if (o->overrides[key] && key_rows[key].level == KEY_FUNCTIONS)
			rc = apply_override(o, key, spec, e);
	return rc;
}

int wanted_check_target(const struct options *o, struct err *e)
{
	const char *dump_file = options_override(o, "dump_file");

	if (o->output && !*o->output)
		return err_set(e, -EINVAL, "--output: the name is empty");
	if (dump_file && !*dump_file)
		return err_set(e, -EINVAL, "--dump-file: the name is empty");
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
	if (o->metrics_things && !o->metrics_listen)
		return err_set(e, -EINVAL, "--metrics-things requires --metrics-listen");
	if (o->send && !o->hosts && !o->part)
		return err_set(e, -EINVAL, "--send requires --hosts");
	if ((o->hosts_program || o->hosts_timeout) && !o->hosts && !o->part)
		return err_set(e, -EINVAL, "--hosts-%s requires --hosts",
			       o->hosts_program ? "program" : "timeout");
	if (o->wait_children && !o->command && !o->later)
		return err_set(e, -EINVAL, "--wait-children requires a command");
	if (o->command && !o->output_file && strcmp(o->output_format, "text") != 0 &&
	    strcmp(o->output_format, OPTIONS_FORMAT_JSON) != 0)
		return err_set(e, -EINVAL,
			       "--output-format=%s requires --output-file: standard output is the "
			       "command's",
			       o->output_format);
	return 0;
}

bool wanted_has_target(const struct options *o, const struct spec *spec)
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
	if (o->check_spec || (!wanted_has_target(o, spec) && !spec_is_sampling(spec)))
		return 0;
	rc = held_open(held, e);
	if (rc) {
		snprintf(e->source, sizeof(e->source), "--output=-");
		err_hint(e, "save it in a folder: --output=NAME");
	}
	o->output = rc ? NULL : held->path;
	return rc;
}

/* Who asks for a screen expects no files. Where there is no memory for them, they are files. */
static void hold_screen(struct options *o, struct spec *spec, struct held *held)
{
	struct err unused = {0};

	if (o->check_spec || held_open(held, &unused))
		return;
	o->held = held;
	o->output = held->path;
	live_functions_limit(spec, held);
}

static size_t folder_len(const char *path)
{
	const char *name = strrchr(path, '/');

	return name ? (size_t)(name - path) + 1 : 0;
}

/* Beside traces in another folder, the default manifest could not be read: the traces of a session
 * are looked for where its manifest is. */
static bool is_apart(const struct options *o, const struct spec *s)
{
	const size_t len = folder_len(s->output_path_prefix);

	return !o->output && *s->session_result_spec_path && spec_has_default_manifest(s) &&
	       !options_override(o, "session_result_spec_path") &&
	       (len != folder_len(s->session_result_spec_path) ||
		memcmp(s->output_path_prefix, s->session_result_spec_path, len) != 0);
}

/* One rule for the files of a command or of --output: all are in one folder. */
static int set_target(struct options *o, struct spec *spec)
{
	o->is_output_named = o->output;
	if ((wanted_has_target(o, spec) || !o->spec_file) && !o->output && !o->held &&
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
	if (*spec->output_path_prefix &&
	    ((wanted_has_target(o, spec) && !o->output && spec_has_default_manifest(spec)) ||
	     is_apart(o, spec))) { /* it follows the traces */
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
/* And where the kernel refuses what that needs. */
#define TIMERS_SPEC "timers.cpspec"

static bool has_no_perf(const struct options *o)
{
	return !o->spec_file && o->command_argv && !o->strict &&
	       !options_override(o, "flight_recorder") && !pmu_may_measure(&pmu_kernel_ops, 0);
}

const char *wanted_spec(const struct options *o)
{
	return o->spec_file ? o->spec_file : has_no_perf(o) ? TIMERS_SPEC : COMMAND_SPEC;
}

static const char *choose_spec(struct options *o)
{
	o->has_no_perf = has_no_perf(o);
	return wanted_spec(o);
}

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
	const char *name;
	char path[PATH_MAX], origin[OPT_MAX_ORIGIN];
	struct err e = {0};
	IO_AUTO_FD int fd = -1;

	if (!o->spec_file && (o->events.nr || o->top || !options_have_target(o))) {
		spec->source = "the options";
		return apply_overrides(o, spec, errs) ? EXIT_USAGE : EXIT_DONE;
	}
	name = choose_spec(o);
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
	while (*keys && !options_override(o, *keys))
		keys++;
	return *keys;
}

/* Each capture is an iteration. */
static int settle_windows(const struct options *o, struct spec *spec, struct err_list *errs)
{
	const char *option = options_override(o, "windows");
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
		if (windows[i].clock == SPEC_PROCESS_CPUTIME && !wanted_has_target(o, spec))
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
	const char *runs = options_override(o, "runs");

	if (!runs && (is_overridden(o, time_keys) || options_override(o, "windows")))
		spec->runs = 0;
	if (!options_override(o, "windows") && (runs || is_overridden(o, time_keys)))
		spec->windows = "";
	if (runs && !options_override(o, "delay"))
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

	if (!options_override(o, "flight_recorder") &&
	    (is_overridden(o, time_keys) || options_override(o, "runs") ||
	     options_override(o, "windows") || options_override(o, "delay")))
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

void wanted_name_objects(const struct options *o, const struct spec *spec,
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

/* Without room for a short session it is held in memory, so that there is an answer. */
static int hold_if_full(struct options *o, struct spec *spec, struct held *held)
{
	const bool is_named = o->is_output_named;
	const char *folder = o->output;
	struct err ignored = {0};
	int rc;

	if (!folder || o->held || o->check_spec || o->rank || !wanted_has_target(o, spec) ||
	    !session_folder_is_full(folder, !is_named))
		return 0;
	if (hold(o, spec, held, &ignored)) {
		o->held = NULL; /* measuring fails by the folder's error, or has just room */
		o->output = folder;
	} else {
		o->full = folder;
	}
	rc = set_target(o, spec);
	o->is_output_named = is_named || o->full;
	return rc;
}

/* What is live is a part of what the processes have in memory: a leak may be in the rest. */
static bool needs_balance(const struct options *o, const struct spec *spec)
{
	return wanted_has_target(o, spec) && !spec->runs &&
	       ARRAY_ANY(ev, spec->events, spec->nr_events,
			 strcmp(ev->group_name, "heap") == 0 &&
			     strcmp(ev->event_name, "live") == 0);
}

/* Returns an exit status. saved: the text for --save-spec. */
static int complete_spec(struct options *o, const struct catalogue *c,
			 struct event_objects *objects, struct spec *spec, struct buf *saved,
			 struct held *held, struct err_list *errs)
{
	struct err e = {0};
	const bool asks_top = o->top;
	bool is_settled = settle_target(o, spec, &e) == 0, is_timed;

	if (!is_settled || wanted_check_target(o, &e)) {
		err_list_insert(errs, &e);
		return is_settled ? EXIT_USAGE : EXIT_FAILED;
	}
	wanted_name_objects(o, spec, objects);
	settle_flight(o, spec);
	live_functions_choose(o, spec);
	if (settle_runs(o, spec, errs) || settle_windows(o, spec, errs) ||
	    choose_events(o, c, spec, errs))
		return EXIT_USAGE;
	is_timed = !spec->runs && !spec->flight.span_ns &&
		   (spec->duration_pos.line || spec->iterations_pos.line ||
		    is_overridden(o, time_keys) || *spec->windows);
	live_functions_settle(o, spec, is_overridden(o, time_keys));
	is_timed |= o->top;
	spec_to_file(spec, is_timed || !wanted_has_target(o, spec), saved);
	o->until_end = (wanted_has_target(o, spec) || spec->flight.span_ns) && !is_timed;
	spec->target.maps_memory |= needs_balance(o, spec);
	if (o->output && strcmp(o->output, "-") == 0 && hold(o, spec, held, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	if (asks_top && live_functions_hold(o, spec))
		hold_screen(o, spec, held);
	if (set_target(o, spec) || hold_if_full(o, spec, held)) {
		err_set(err_list_add(errs), -ENOMEM, "out of memory");
		return EXIT_FAILED;
	}
	warn_retain(o, spec);
	return spec_check(spec, errs) ? EXIT_FAILED : EXIT_DONE;
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

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), of_end = strlen(end);

	return len > of_end && strcmp(text + len - of_end, end) == 0;
}

/* Languages that a command is in by what it is called, also "env python3 x.py" and "timeout 5
 * ./x.py". */
static uint32_t find_languages(char *const *argv)
{
	static const struct {
		const char *program, *suffix;
		enum trace_language language;
	} rows[] = {
	    {"python", ".py", TRACE_LANGUAGE_PYTHON}, {"node", ".js", TRACE_LANGUAGE_JAVASCRIPT},
	    {"php", ".php", TRACE_LANGUAGE_PHP},      {"ruby", ".rb", TRACE_LANGUAGE_RUBY},
	    {"perl", ".pl", TRACE_LANGUAGE_PERL},     {NULL, ".go", TRACE_LANGUAGE_GO}};
	uint32_t found = 0;

	for (; argv && *argv; argv++)
		for (size_t i = 0; i < ARRAY_NR(rows); i++)
			if ((rows[i].program && strstr(*argv, rows[i].program)) ||
			    ends_with(*argv, rows[i].suffix))
				found |= 1u << rows[i].language;
	return found;
}

/* All but the tasks. */
static void describe_target(struct plan *plan, const struct options *o)
{
	const struct spec_target *t = &plan->spec->target;

	plan->target = (struct plan_target){.is_command = o->command,
					    .has_runs = plan->spec->runs,
					    .is_process_only = !t->has_children,
					    .until_end = o->until_end,
					    .is_user_only = wanted_has_target(o, plan->spec) &&
							    !t->cgroups.nr &&
							    pmu_is_user_only(&pmu_kernel_ops),
					    .languages = find_languages(o->command_argv),
					    .has_agent = t->attaches};
	plan->has_control = o->control;
	plan->starts_disabled = o->starts_disabled;
}

void wanted_free(struct wanted *w)
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

struct wanted *wanted_new(const struct options *given)
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

int wanted_read(struct wanted *w, struct err_list *errs)
{
	int status = load_spec(&w->o, &w->spec, errs), rc;
	struct err e = {0};

	if (machine_init(&w->m, w->spec.model_name, &e)) {
		err_list_insert(errs, &e);
		return EXIT_FAILED;
	}
	w->has_machine = true;
	w->m.events.catalogue.functions = &w->spec.functions;
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

bool wanted_is_same(const struct wanted *a, const struct wanted *b)
{
	return a->saved.len == b->saved.len &&
	       memcmp(buf_str(&a->saved), buf_str(&b->saved), a->saved.len) == 0;
}
