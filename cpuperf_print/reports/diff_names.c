/*
 * Which functions can be compared by name: an object with names on one side only is compared as a
 * whole.
 */
#include "base/err.h"
#include "base/str.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "reports/diff.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REPORTED = 8 };

static int add_files(struct report_comparable *c, const struct input *o)
{
	size_t nr = profile_nr_objects(o->processes);
	int rc = 0;

	for (uint32_t i = 0; i < nr && rc == 0; i++) {
		const struct profile_object *object = profile_object(o->processes, i);
		enum symbol_names names = symbols_names_of(o->symbols, i);
		const struct report_object_facts facts = {
		    .name = object->name,
		    .bytes_id = object->build_id,
		    .bytes_id_len = object->build_id_len,
		    .names = names - SYMBOL_NAMES_NONE,
		};

		if (object->kind == PROFILE_OBJECT_FILE && names != SYMBOL_NAMES_NOT_ASKED)
			rc = report_comparable_add(c, &facts);
	}
	return rc;
}

static bool is_of_vdso(const struct report_function *f)
{
	return strcmp(f->object, "[vdso]") == 0;
}

static bool is_of_kernel(const struct report_function *f)
{
	return f->is_kernel;
}

/* An object without a file has names if any of its functions has one. */
static int add_other(struct report_comparable *c, const struct job *j, size_t session,
		     const struct report_flat_row *rows, size_t nr, const char *name,
		     bool (*is_of)(const struct report_function *f))
{
	struct report_object_facts facts = {
	    .name = name, .bytes_id = name, .bytes_id_len = strlen(name)};
	bool is_there = false;

	for (size_t i = 0; i < nr; i++) {
		const struct report_function *f =
		    report_functions_at(j->inputs->functions, rows[i].column[REPORT_FUNCTION]);

		if (rows[i].column[REPORT_SESSION] != session || !is_of(f))
			continue;
		is_there = true;
		facts.names |= f->is_known;
	}
	return is_there ? report_comparable_add(c, &facts) : 0;
}

int diff_names_add(struct report_comparable *c, const struct job *j, size_t session,
		   const struct report_flat_row *rows, size_t nr)
{
	return add_files(c, &j->inputs->item[session]) ?:
	       add_other(c, j, session, rows, nr, "[kernel]", is_of_kernel) ?:
	       add_other(c, j, session, rows, nr, "[vdso]", is_of_vdso);
}

static void report_whole(struct job *j, const char *name, enum report_comparable_why why)
{
	bool differ = why == REPORT_NAMES_DIFFER, is_file = name[0] != '[';
	const char *what = differ ? "names are missing on one side"
				  : "the two builds differ, and neither has names";
	const char *hint = is_file ? "keep the old program: --debug-dir=FOLDER"
				   : "record as root, or use --kallsyms=";
	struct err e = {0};

	if (j->output->form == GRID_PEOPLE) {
		buf_printf(&j->output->text, "%s: %s: compared as a whole; %s\n", name, what, hint);
		return;
	}
	err_set(&e, -ENODATA, "%s: %s: compared as a whole", name, what);
	err_hint(&e, "%s", hint);
	problems_add(&j->output->problems, false, &e);
}

void diff_names_report(const struct report_comparable *c, struct job *j)
{
	size_t nr_reported = 0, nr_more;

	if (j->output->form == GRID_PEOPLE && report_comparable_nr_whole(c))
		buf_addc(&j->output->text, '\n');
	for (size_t i = 0; i < report_comparable_nr(c) && nr_reported < MAX_REPORTED; i++) {
		enum report_comparable_why why = report_comparable_why(c, i);

		if (why == REPORT_COMPARABLE)
			continue;
		report_whole(j, report_comparable_name(c, i), why);
		nr_reported++;
	}
	nr_more = report_comparable_nr_whole(c) - nr_reported;
	if (j->output->form == GRID_PEOPLE && nr_more)
		buf_printf(&j->output->text, "… and %zu more %s compared as a whole\n", nr_more,
			   str_plural(nr_more, "object is", "objects are"));
}
