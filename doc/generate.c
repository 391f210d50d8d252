/*
 * A developer's tool: prints the texts that are made from the tables of keys, options and events,
 * for scripts/generate to put into the tree. One row per text. Not installed; knows nothing of
 * where the texts go.
 */
#include "../cpuperf/events_text.h"
#include "../cpuperf/topics.h"
#include "api/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "event/generic.h"
#include "host/host.h"
#include "hosts/part.h"
#include "spec/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1 << 20 };

/* A folder that no machine has: what is made from sysfs is not there, whoever generates. */
#define NO_MACHINE "/nonexistent/cpuperf"

/* As the programs' options.h declare them. Not included: each has a struct options of its own. */
const struct opt_table *cpuperf_options(void);
extern const struct opt_table cpuperf_print_options; /* of cpuperf_print */

static void add_cpspec_schema(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_schema(KEY_SPEC, out);
}

static void add_cpsession_schema(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_schema(KEY_SESSION, out);
}

static void add_host_schema(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	hosts_part_schema(out);
}

static void add_man_keys(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_man(out);
}

static void add_topics(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	topics_to_man(out);
}

static const char events_head[] =
    "<!-- made from the tables of events by scripts/generate -->\n"
    "# Events\n\n"
    "Every event is `group:name`. `cpuperf --list-events` lists those of a machine and marks what\n"
    "does not work there; `cpuperf --describe-event=group:name` says what one counts, how it is\n"
    "opened, and what to do if it does not work. Both take `--model-name=skl` for another CPU.\n\n"
    "Below are the events that every machine lists (those marked ARM: every ARM one), and what\n"
    "they need where they need something. The rest are made on each machine:\n\n"
    "| group | spelled | from |\n"
    "|---|---|---|\n"
    "| model | `EVENT`, `EVENT:UMASK` in the vendor's names, any case | libpfm4 |\n"
    "| model | the kernel's own names, such as `cpu-cycles` | sysfs, the core PMU |\n"
    "| model | `r01c2`, `cpu/event=0xc0,umask=0x1/` | raw encodings |\n"
    "| misc | `energy_cores`, `msr_tsc`, `cstate_pkg_c6_residency` | sysfs, the PMUs power, msr, "
    "cstate |\n"
    "| misc | `pmu/event/`, such as `uncore_imc_0/cas_count_read/` | sysfs, other PMUs |\n"
    "| misc | `hwmon/...`, `thermal/...` | hwmon, thermal |\n"
    "| tracepoint | `sched:sched_switch` | tracefs |\n\n"
    "A flag `os` or `user` that stands alone counts the kernel's or the programs' side only; the\n"
    "column *alone* says which of them an event knows. Both together, or neither, mean all.\n";

/* In a cell of a table a bar would end it, and so would the end of a line. */
static void add_cell_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			buf_adds(out, "<br>");
		else
			buf_printf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static void add_cell(struct buf *out, const char *text)
{
	buf_adds(out, " ");
	add_cell_text(out, text);
	buf_adds(out, " |");
}

struct events_text {
	struct buf *out;
	const struct event_group *group; /* the last one */
	const struct catalogue *x86;     /* what it lacks is ARM's */
};

/* What the event counts, then what CPUs make of it and what it needs, a line each. */
static void add_meaning(const struct events_text *t, const struct event *ev)
{
	const struct event_row *row = ev->row;
	struct event found;
	struct err e = {0};

	buf_adds(t->out,
		 catalogue_find(t->x86, ev->group->name, row->name, &found, &e) ? " ARM: " : " ");
	add_cell_text(t->out, row->description);
	if (row->detail) {
		buf_adds(t->out, "<br>");
		add_cell_text(t->out, row->detail);
	}
	if (row->missing) {
		buf_adds(t->out, "<br>");
		add_cell_text(t->out, row->missing);
	}
	buf_adds(t->out, " |");
}

static int add_event_line(const struct event *ev, void *arg)
{
	const struct event_row *row = ev->row;
	struct events_text *t = arg;
	struct buf *out = t->out;

	if (t->group != ev->group)
		buf_printf(out,
			   "\n## %s\n\n%s\n\n| name | unit | kind | scope | alone | source | "
			   "counts |\n|---|---|---|---|---|---|---|\n",
			   ev->group->name, ev->group->description);
	t->group = ev->group;
	buf_printf(out, "| `%s`%s%s%s |", row->name, row->alias ? ", `" : "",
		   row->alias ? row->alias : "", row->alias ? "`" : "");
	add_cell(out, row->unit);
	add_cell(out, event_kind_name(row->kind));
	add_cell(out, event_scope_name(row->scope));
	add_cell(out, event_alone_name(row->alone));
	add_cell(out, row->source);
	add_meaning(t, ev);
	buf_addc(out, '\n');
	return buf_error(out);
}

static struct host no_machine(const char *machine)
{
	struct host host = {0};

	(void)root_init(&host.root, NO_MACHINE);
	snprintf(host.machine, sizeof(host.machine), "%s", machine);
	return host;
}

static const char generic_head[] =
    "\n## What generic events count\n\n"
    "The kernel chooses the counter of the events below, and of those of the same name in the "
    "group\n"
    "fixed. By the tables of Linux 6.12; those of the running kernel decide. `none`: the kernel\n"
    "refuses the event. `cpuperf --describe-event` prints the row of a machine or a model.\n";

static int add_generic_event(const struct event *ev, void *arg)
{
	struct buf *out = arg;
	struct buf rows;

	buf_init(&rows, MAX_TEXT_BYTES);
	if (ev->group->id == EVENT_GROUP_ARCH)
		generic_table(ev, &rows);
	if (rows.len)
		buf_printf(
		    out, "\n### `%s`\n\n| counter | code | counts | CPUs |\n|---|---|---|---|\n%s",
		    ev->row->name, buf_str(&rows));
	buf_fini(&rows);
	return buf_error(out);
}

/* An ARM machine lists all that others do. */
static void add_events(const struct opt_table *unused, struct buf *out)
{
	struct host arm = no_machine("aarch64"), x86 = no_machine("x86_64");
	struct api_catalogue all, fewer;
	struct events_text t = {.out = out, .x86 = &fewer.catalogue};

	(void)unused;
	unsetenv("LIBPFM_FORCE_PMU"); /* a CPU for libpfm4, and so rows of the group model */
	buf_adds(out, events_head);
	api_catalogue_init(&all, &arm, NULL);
	api_catalogue_init(&fewer, &x86, NULL);
	catalogue_each(&all.catalogue, add_event_line, &t); /* its errors are the buffer's */
	buf_adds(out, generic_head);
	catalogue_each(&fewer.catalogue, add_generic_event, out);
	api_catalogue_fini(&fewer);
	api_catalogue_fini(&all);
}

/* what NAME; a NULL name stands for each program. */
static const struct text {
	const char *what, *name;
	void (*add)(const struct opt_table *program, struct buf *out);
} texts[] = {
    {"schema", "cpspec", add_cpspec_schema}, {"schema", "cpsession", add_cpsession_schema},
    {"schema", "host", add_host_schema},     {"man-keys", "cpspec", add_man_keys},
    {"man-options", NULL, opt_man_section},  {"bash", NULL, opt_complete_bash},
    {"zsh", NULL, opt_complete_zsh},         {"events", "md", add_events},
    {"man-topics", "cpuperf", add_topics},
};

static const struct opt_table *find_program(const char *name)
{
	const struct opt_table *const programs[] = {cpuperf_options(), &cpuperf_print_options};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i]->program, name) == 0)
			return programs[i];
	return NULL;
}

static int print_text(const struct text *t, const struct opt_table *program)
{
	struct buf out;
	int rc;

	buf_init(&out, MAX_TEXT_BYTES);
	t->add(program, &out);
	rc = buf_error(&out);
	if (rc == 0 && (fputs(buf_str(&out), stdout) == EOF || fflush(stdout) == EOF))
		rc = -1;
	buf_fini(&out);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct opt_table *program = find_program(argv[2]);

		if (strcmp(texts[i].what, argv[1]) == 0 &&
		    (texts[i].name ? strcmp(texts[i].name, argv[2]) == 0 : program != NULL))
			return print_text(&texts[i], program);
	}
	fputs("usage: cpuperf_generate schema cpspec|cpsession|host, man-keys cpspec, man-topics\n"
	      "       cpuperf, events md, or "
	      ""
	      "       man-options|bash|zsh cpuperf|cpuperf_print\n",
	      stderr);
	return 2;
}
