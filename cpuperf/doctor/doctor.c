/*
 * Runs the checks, and prints what they found.
 */
#include "doctor/doctor.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/opt_std.h"
#include "base/root.h"
#include "base/str.h"
#include "options.h"
#include "program.h"
#include "screen/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT_BYTES = 1 << 20, NAME_COLUMNS = 20, CANNOT_BE_TRIED = 2 };

int doctor_init(struct doctor *d, struct err *e)
{
	int rc;

	*d = (struct doctor){.program = {.name = NULL}};
	rc = machine_init(&d->m, "default", e);
	if (rc)
		return rc;
	rc = api_works_init(&d->works, &d->m.host);
	if (rc) {
		machine_fini(&d->m);
		return err_set(e, rc, "out of memory");
	}
	return 0;
}

void doctor_fini(struct doctor *d)
{
	api_works_fini(&d->works);
	machine_fini(&d->m);
}

void doctor_set(struct doctor_finding *out, enum doctor_state state, const char *found,
		const char *get)
{
	out->state = state;
	snprintf(out->found, sizeof(out->found), "%s", found);
	snprintf(out->get, sizeof(out->get), "%s", get);
}

void doctor_set_libraries(struct doctor_finding *out, const struct doctor_program *p,
			  const char *whose, const char *get)
{
	doctor_set(out, p->nr_without ? DOCTOR_NO : DOCTOR_YES, "", p->nr_without ? get : "");
	snprintf(out->found, sizeof(out->found), "%u of %u%s have frame pointers%s%s",
		 p->nr_libraries - p->nr_without, p->nr_libraries, whose,
		 p->nr_without ? "; not: " : "", p->without);
}

/* --- what the machine is, for who reads a report of a fault */

struct facts {
	char distribution[96];
	char paranoid[24]; /* of kernel.perf_event_paranoid */
	char kptr[24];     /* of kernel.kptr_restrict */
	const char *user;
};

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void load_distribution(const struct root *root, char out[96])
{
	static const char key[] = "PRETTY_NAME=";
	BUF_AUTO(text, 64 << 10);
	const char *line;

	snprintf(out, 96, "an unknown distribution");
	if (root_load(root, "/etc/os-release", &text))
		return;
	for (line = buf_str(&text); line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		line += sizeof(key) - 1;
		line += *line == '"';
		snprintf(out, 96, "%.*s", (int)strcspn(line, "\"\n"), line);
		str_disarm(out);
		return;
	}
}

static void load_facts(const struct doctor *d, struct facts *out)
{
	const struct root *root = &d->m.host.root;

	load_distribution(root, out->distribution);
	if (root_load_line(root, "/proc/sys/kernel/perf_event_paranoid", out->paranoid,
			   sizeof(out->paranoid)))
		snprintf(out->paranoid, sizeof(out->paranoid), "none");
	if (root_load_line(root, "/proc/sys/kernel/kptr_restrict", out->kptr, sizeof(out->kptr)))
		snprintf(out->kptr, sizeof(out->kptr), "none");
	out->user = d->m.host.may_perfmon ? geteuid() == 0 ? "root" : "a user with capabilities"
		    : geteuid() == 0      ? "root without CAP_PERFMON"
					  : "an ordinary user";
}

/* --- text */

static const struct {
	const char *sign, *plain, *word;
} states[] = {
    [DOCTOR_YES] = {"✓", "+", "yes"},
    [DOCTOR_PARTLY] = {"~", "~", "partly"},
    [DOCTOR_NO] = {"✗", "-", "no"},
    [DOCTOR_UNKNOWN] = {"?", "?", "unknown"},
};

const char *doctor_sign(enum doctor_state state)
{
	return opt_std_has_utf8() ? states[state].sign : states[state].plain;
}

/* One that is a line of its own is broken where the terminal ends. */
static void add_text_check(struct buf *out, const struct doctor_check *c,
			   const struct doctor_finding *f)
{
	const bool is_missing = f->state == DOCTOR_NO || f->state == DOCTOR_PARTLY;

	buf_printf(out, "%s %-*s %s\n", doctor_sign(f->state), NAME_COLUMNS, c->name, f->found);
	if (is_missing)
		buf_printf(out, "    %s %s\n",
			   c->is_extra ? "costs no answer:" : "costs:", c->costs);
	if (f->state != DOCTOR_YES && *f->get)
		buf_printf(out, "    to have it: %s\n", f->get);
}

static void add_text_head(struct buf *out, const struct doctor *d)
{
	const struct host *h = &d->m.host;
	struct facts facts;

	load_facts(d, &facts);
	buf_printf(out,
		   "cpuperf %s on Linux %s, %s, %s, %zu CPU(s), %s; as %s; perf_event_paranoid %s, "
		   "kptr_restrict %s\n\n",
		   CPUPERF_VERSION, h->kernel, h->machine, facts.distribution,
		   cpuset_count(&h->online), *h->cpu_model ? h->cpu_model : "an unknown CPU",
		   facts.user, facts.paranoid, facts.kptr);
}

/* --- a run of checks */

struct run {
	struct doctor d;
	struct buf out;
	struct json_writer json;
	bool is_json;
	unsigned nr, nr_missing; /* missing: what costs answers */
};

static void add_json_check(struct json_writer *j, const struct doctor_check *c,
			   const struct doctor_finding *f)
{
	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "check", c->name);
		jsonw_text(j, "state", states[f->state].word);
		jsonw_bool(j, "costs_answers", !c->is_extra);
		jsonw_text(j, "found", f->found);
		jsonw_text(j, "costs", c->costs);
		jsonw_text(j, "to_have_it", f->state == DOCTOR_YES ? "" : f->get);
	}
}

static void run_checks(struct run *r, const struct doctor_check *checks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct doctor_finding f = {.state = DOCTOR_UNKNOWN};

		doctor_try(&r->d, &checks[i], &f);
		if (r->is_json)
			add_json_check(&r->json, &checks[i], &f);
		else
			add_text_check(&r->out, &checks[i], &f);
		r->nr += !checks[i].is_extra;
		r->nr_missing +=
		    !checks[i].is_extra && (f.state == DOCTOR_NO || f.state == DOCTOR_PARTLY);
	}
}

/* What is looked at is its interpreter. */
static bool is_script(const struct doctor *d)
{
	return strncmp(str_base_name(d->program.name), d->program.judged.name,
		       sizeof(d->program.judged.name) - 1) != 0;
}

static void run_text(struct run *r)
{
	add_text_head(&r->out, &r->d);
	run_checks(r, doctor_checks, DOCTOR_NR);
	if (r->d.program.name) {
		buf_printf(&r->out, "\n%s%s%s, and the files that it loads at its start:\n",
			   str_base_name(r->d.program.name),
			   is_script(&r->d) ? ", which is run by " : "",
			   is_script(&r->d) ? r->d.program.judged.name : "");
		run_checks(r, doctor_program_checks, doctor_nr_program_checks);
	}
	if (r->nr_missing)
		buf_printf(&r->out,
			   "\n%u of %u checks found something missing that costs answers (exit "
			   "status 1). ",
			   r->nr_missing, r->nr);
	else
		buf_adds(&r->out, "\nNothing is missing that costs answers. ");
	buf_adds(&r->out, "The text above has no names of hosts, users or folders: paste it whole "
			  "into a report of a fault.\n");
	screen_wrap_lines(&r->out, 0,
			  screen_columns(isatty(STDOUT_FILENO) ? opt_std_terminal_width() : 0));
}

static void run_json(struct run *r)
{
	const struct host *h = &r->d.m.host;
	struct json_writer *j = &r->json;
	struct facts facts;

	load_facts(&r->d, &facts);
	jsonw_init(j, &r->out, true);
	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "cpuperf", CPUPERF_VERSION);
		jsonw_text(j, "kernel", h->kernel);
		jsonw_text(j, "machine", h->machine);
		jsonw_text(j, "distribution", facts.distribution);
		jsonw_u64(j, "cpus", cpuset_count(&h->online));
		jsonw_text(j, "cpu_model", h->cpu_model);
		jsonw_text(j, "user", facts.user);
		jsonw_text(j, "perf_event_paranoid", facts.paranoid);
		jsonw_text(j, "kptr_restrict", facts.kptr);
		JSONW_ARRAY(j, "checks") {
			run_checks(r, doctor_checks, DOCTOR_NR);
		}
		if (r->d.program.name) {
			jsonw_text(j, "program", str_base_name(r->d.program.name));
			jsonw_text(j, "run_by", is_script(&r->d) ? r->d.program.judged.name : NULL);
			JSONW_ARRAY(j, "program_checks") {
				run_checks(r, doctor_program_checks, doctor_nr_program_checks);
			}
		}
		jsonw_u64(j, "missing", r->nr_missing);
	}
	buf_addc(&r->out, '\n');
}

static int read_program(struct doctor *d, const char *name)
{
	struct err e = {0};
	int rc = doctor_read_program(d, name, &d->program);

	if (rc == 0 && !d->program.is_read && d->program.judged.answer != LOADABLE_STATIC)
		rc = -ENOENT;
	if (rc == 0 && d->program.is_truncated) {
		rc = err_set(
		    &e, -EINVAL,
		    "--doctor: %s: the file is truncated: it is shorter than its header says",
		    name);
		err_hint(&e, "copy or build it again");
		log_err(LOG_ERROR, &e);
	} else if (rc) {
		err_set(&e, rc, "--doctor: %s: %s", name,
			rc == -ENOENT ? "no such program, or its file is none that can be read"
				      : strerror(-rc));
		err_hint(&e, "name a program in PATH, or the path of its file");
		log_err(LOG_ERROR, &e);
	}
	return rc;
}

int doctor(const struct options *o)
{
	const char *name = o->doctor.value   ? o->doctor.value
			   : o->command_argv ? o->command_argv[0]
					     : NULL;
	struct run r = {.is_json = strcmp(o->output_format, OPTIONS_FORMAT_JSON) == 0};
	struct err e = {0};
	int status = CANNOT_BE_TRIED;

	if (!r.is_json && strcmp(o->output_format, "text") != 0) {
		log_error("--doctor: --output-format=%s is not text or json", o->output_format);
		return EXIT_USAGE;
	}
	if (doctor_init(&r.d, &e))
		return fail(CANNOT_BE_TRIED, &e);
	buf_init(&r.out, MAX_TEXT_BYTES);
	if (!name || read_program(&r.d, name) == 0) {
		if (r.is_json)
			run_json(&r);
		else
			run_text(&r);
		status = print_result(&r.out);
		status = status ? CANNOT_BE_TRIED : r.nr_missing ? EXIT_FAILED : EXIT_DONE;
	}
	buf_fini(&r.out);
	doctor_fini(&r.d);
	return status;
}
