/*
 * cpuperf: parses options and runs what they ask for.
 */
#include "attached.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "event/model.h"
#include "heap.h"
#include "help.h"
#include "job/as_part.h"
#include "job/rank.h"
#include "job/starter.h"
#include "machine.h"
#include "output_name.h"
#include "preload.h"
#include "program.h"
#include "reload.h"
#include "rights.h"
#include "screen/format.h"
#include "serve/serve.h"
#include "signals.h"
#include "spec/keys.h"
#include "spec/spec.h"
#include "target/command.h"
#include "versus/comparison.h"
#include "versus/versus.h"
#include "wanted.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Returns an exit status. */
static int measure_plan(struct plan *plan, const struct options *o, char refused[HEAP_REASON_BYTES])
{
	const struct spec_target *t = &plan->spec->target;
	struct attached attached;
	struct err e = {0};
	int status;

	if (o->command && !heap_is_measurable(plan, refused))
		plan->heap_refused = refused;
	if (o->command)
		preload_check(plan);
	if (t->attaches && heap_check_attach(plan, &e))
		return fail(EXIT_FAILED, &e);
	if (plan->spec->regions.is_wanted && t->cgroups.nr) {
		err_set(&e, -EINVAL, "regions of a control group cannot be received");
		err_hint(&e, "use --pid, --comm, a command, or the machine");
		return fail(EXIT_FAILED, &e);
	}
	if (!t->has_children && attached_check_no_children(&e))
		return fail(EXIT_FAILED, &e);
	if (!wanted_has_target(o, plan->spec))
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

/* --- reading the spec again ------------------------------------------------------------------ */

/* The session goes on unless the spec is valid and another one. */
static bool reread(void *arg)
{
	struct wanted *w = arg, *next = wanted_new(w->given);
	ERR_AUTO_LIST *errs = err_list_new();
	bool is_valid = next && errs && wanted_read(next, errs) == EXIT_DONE;

	if (is_valid && !wanted_is_same(w, next)) {
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

static int measure_here(struct options *o)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct err e = {0};
	struct wanted *w;
	int status;

	if (strcmp(o->output_format, OPTIONS_FORMAT_NAMES) == 0) {
		log_error(
		    "--output-format=%s requires --list-events, --list-functions or --list-specs",
		    o->output_format);
		return EXIT_USAGE;
	}
	take_disabled(o);
	prefer_command(o);
	if (wanted_check_target(o, &e))
		return fail(EXIT_USAGE, &e);
	if (o->is_bare && !o->spec_file && !options_have_target(o) && !chooses_events(o) &&
	    !o->top && isatty(STDOUT_FILENO))
		return first_page();
	if (!o->spec_file && !options_have_target(o) && !chooses_events(o) && !o->top) {
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
		o->live = o->top = false;
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
	const char *model = options_override(o, "model_name");

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
	if (settle_target(o, &spec, &e) || wanted_choose_functions(o, &spec, &e)) {
		status = fail(EXIT_USAGE, &e);
	} else {
		m.events.catalogue.functions = &spec.functions;
		wanted_name_objects(o, &spec, &m.objects);
		status = o->list_events.is      ? list_events(o, &m.events.catalogue)
			 : o->list_functions.is ? list_functions(o, &m.events.catalogue)
						: describe_event(o, &m.events.catalogue);
	}
	spec_fini(&spec);
	machine_fini(&m);
	return status;
}

static int run(struct options *o)
{
	bool describes =
	    o->list_events.is || o->list_functions.is || o->describe_event; /* also of a target */

	if (o->list_specs + o->list_events.is + o->list_functions.is + (o->describe_event != NULL) +
		(o->check_spec || o->strict || chooses_events(o) ||
		 (options_have_target(o) && !describes)) >
	    1) {
		log_error(
		    "--list-specs, --list-events, --list-functions, --describe-event and measuring "
		    "(--check-spec, --strict, --event, a command) are mutually exclusive");
		return EXIT_USAGE;
	}
	if (o->doctor.is)
		return doctor(o);
	if ((o->list_specs || describes) && strcmp(o->output_format, OPTIONS_FORMAT_JSON) == 0) {
		log_error("--output-format=json is for answers: lists are csv or ndjson");
		return EXIT_USAGE;
	}
	if (o->list_specs)
		return list_specs(o->output_format);
	if (describes)
		return look_at_events(o);
	return measure(o);
}

static bool is_one_of(const char *word, const char *const *list, size_t nr)
{
	return ARRAY_ANY(x, list, nr, strcmp(word, *x) == 0);
}

/* By its name, or a folder that has one. */
static bool is_session(const char *word)
{
	static const char data[] = "perf.data";
	const char *name = str_base_name(word);
	char manifest[PATH_MAX];

	if (strncmp(name, data, sizeof(data) - 1) == 0 || str_stem(name, ".cpsession"))
		return true;
	snprintf(manifest, sizeof(manifest), "%s/cpuperf.cpsession", word);
	return access(manifest, F_OK) == 0;
}

/* Perf's words for what cpuperf does by options: they do not mean programs of these names. Of
 * those that most machines have, only where the program could not be meant. */
static bool is_verb(char *const *words)
{
	static const char *const verbs[] = {"stat", "record", "top", "report"},
				 *const programs[] = {"diff", "script"},
				 *const options[] = {"-i", "--input", "-F", "--fields"};
	const bool is_script = strcmp(words[0], "script") == 0;
	size_t nr = 1;

	if (is_one_of(words[0], verbs, ARRAY_NR(verbs)))
		return true;
	if (!is_one_of(words[0], programs, ARRAY_NR(programs)))
		return false;
	/* diff(1) has -i and -F */
	if (words[1] && is_script && is_one_of(words[1], options, ARRAY_NR(options)))
		return true;
	/* script(1) would write over a spec, and over a trace */
	while (words[nr] &&
	       (is_session(words[nr]) || (is_script && (str_stem(words[nr], SPEC_SUFFIX) ||
							str_stem(words[nr], ".cpuperf")))))
		nr++;
	return !words[nr];
}

/* A command follows "--", or begins with the first argument that is no option and names a program.
 * Returns how many words are the program's own; *command: NULL if there is none. */
static int find_command(int argc, char **argv, char ***command)
{
	int dashes = 1, end;

	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	end = opt_end(cpuperf_options(), dashes, argv);
	if (end < dashes && !is_verb(argv + end) && target_command_find(argv[end]) == 0) {
		*command = argv + end;
		return end;
	}
	*command = dashes < argc ? argv + dashes + 1 : NULL;
	return dashes;
}

/* The session is the starter's, and is held until it has been sent: options that say where results
 * go are for the starter. */
static void settle_part(struct options *o, const struct as_part *part)
{
	o->part = part;
	o->held = &part->held;
	o->output = part->held.path;
	o->hosts = o->send = o->output_file = o->save_spec = o->save_alerts = o->std.log_file =
	    NULL;
	o->output_format = "text";
	o->live = o->top = false;
	o->is_silent = true;
	if (part->spec_name)
		o->spec_file = part->spec_name;
	if (o->std.min_level == LOG_INFO)
		o->std.min_level = LOG_WARNING;
}

/* Where --output=NAME saves. Parts of a job are told, and ranks must mean one folder. 0 or -errno
 * with *e. *made: the folder that was made for it; NULL: none. */
static int name_output(struct options *o, const char **made, struct err *e)
{
	static char name[PATH_MAX];
	struct rank rank;
	bool is_made = false;
	int rc;

	*made = NULL;
	if (!o->output || !strchr(o->output, '%') || o->check_spec)
		return 0;
	if (rank_find(&rank)) {
		err_set(e, -EINVAL, "--output=%s: each rank of this job would name another folder",
			o->output);
		err_hint(e, "name one without %%: each rank has a folder of its own in it");
		return -EINVAL;
	}
	rc = output_name_make(o->output, (int64_t)(clock_realtime_ns() / 1000000000), name,
			      &is_made, e);
	if (rc)
		return rc;
	o->output = name;
	*made = is_made ? name : NULL;
	return 0;
}

/* Returns an exit status. */
static int parse_and_run(struct options *o, const struct as_part *part, int argc, char **argv)
{
	const char *made = NULL;
	struct err e = {0};
	int answered, status;

	if (opt_parse(cpuperf_options(), argc, argv, o, &e))
		return fail(EXIT_USAGE, &e);
	if (part)
		settle_part(o, part);
	if (opt_std_open_log(&o->std, "cpuperf", &e))
		return fail(EXIT_FAILED, &e);
	answered = opt_std_answer(&o->std, cpuperf_options(), CPUPERF_VERSION);
	if (answered)
		return answered < 0 ? EXIT_FAILED : EXIT_DONE;
	if (o->manual.is)
		return help_open_manual(o->manual.value);
	if (!versus_options_are_used(&o->versus) && comparison_is_only_format(o->output_format)) {
		log_error("--output-format=%s requires --versus or --sweep", o->output_format);
		return EXIT_USAGE;
	}
	if (!part && name_output(o, &made, &e))
		return fail(EXIT_USAGE, &e);
	status = versus_options_are_used(&o->versus) ? versus_or_sweep(o, argc, argv)
		 : o->hosts                          ? start_hosts(o, argv + 1, (size_t)argc - 1)
						     : run(o);
	if (made)
		(void)rmdir(made); /* what holds no session */
	return status;
}

/* Of an option whose value may be missing. */
static bool asks(int argc, char *const *argv, const char *option)
{
	const size_t len = strlen(option);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], option, len) == 0 && (!argv[i][len] || argv[i][len] == '='))
			return true;
	return false;
}

/* The process of the command, if there is one. */
static int make_command(struct options *o, int argc, char **argv, char **command, struct err *e)
{
	if (command && !*command)
		return err_set(e, -EINVAL, "no command after --");
	if (opt_value(cpuperf_options(), "versus", argc, argv) ||
	    opt_value(cpuperf_options(), "sweep", argc, argv) || asks(argc, argv, "--causal")) {
		o->command_argv = command;
		return versus_runner_new(opt_value(cpuperf_options(), "input", argc, argv),
					 opt_value(cpuperf_options(), "progress", argc, argv),
					 &o->versus.runner, e);
	}
	o->command_argv = command;
	if (command && !asks(argc, argv, "--doctor")) /* which reads its files */
		return target_command_new(command, &o->command, e);
	if (!command && asks(argc, argv, "--run-spec-command"))
		return target_command_new_later("the command", &o->later, e);
	return 0;
}

/* Returns the exit status. part: NULL: the session is no part of a job. */
static int run_program(int argc, char **argv, const struct as_part *part)
{
	struct options o = {.output_format = "text", .is_bare = argc == 1};
	char **command;
	int nr_options = find_command(argc, argv, &command), rc, status;
	struct err e = {0};

	signals_ignore_early();
	spec_use_own_heap();
	/* first: the command inherits nothing that is opened, ignored or raised below, and all of
	 * the environment */
	rc = privilege_init(&e) ?: make_command(&o, nr_options, argv, command, &e);
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
	versus_runner_free(o.versus.runner);
	return status;
}

int main(int argc, char **argv)
{
	if (as_part_is_asked(argc, argv))
		return as_part_run(run_program);
	if (help_is_asked(argc, argv))
		return help_run(argc, argv);
	return run_program(argc, argv, NULL);
}
