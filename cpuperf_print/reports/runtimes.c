/*
 * What to do about functions without names: code made at run time, interpreters, stripped files.
 * Runtimes are recognised by their files.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "numbers.h"
#include "profile/processes.h"
#include "report/flat.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "symbol/symbols.h"

#include <stdio.h>
#include <string.h>

/* object: how its name begins. interpreter: the function that runs a program's functions, which
 * then have no frames; NULL: they are compiled. shown: how the names of such functions begin. */
static const struct runtime {
	const char *object, *interpreter, *shown, *remedy;
} runtimes[] = {
    {"node", NULL, NULL, "node --perf-basic-prof"},
    {"libnode.so", NULL, NULL, "node --perf-basic-prof"},
    {"libjvm.so", NULL, NULL,
     "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"},
    {"libcoreclr.so", NULL, NULL, "DOTNET_PerfMapEnabled=1"},
    {"python3", "_PyEval_EvalFrameDefault", "py::", "python3 -X perf (3.12 or later)"},
    {"libpython3", "_PyEval_EvalFrameDefault", "py::", "python3 -X perf (3.12 or later)"},
};
enum { NR_RUNTIMES = ARRAY_NR(runtimes) };

/* Sums of an event's rows. */
struct nameless {
	struct report_weight made,
	    stripped;                  /* functions without names: made at run time, in files */
	uint64_t *of_object;           /* samples of stripped, by the number of the object */
	uint32_t most;                 /* the object with the most of them */
	uint64_t samples[NR_RUNTIMES]; /* in files of the runtime */
	struct report_weight interpreted[NR_RUNTIMES];
	bool is_shown[NR_RUNTIMES];
};

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The name, or with a version: "python3.11", "libnode.so.108", but not "node_exporter". */
static bool is_file_of(const struct runtime *r, const char *object)
{
	return begins_with(object, r->object) && strchr(".0123456789", object[strlen(r->object)]);
}

static bool is_made_at_run_time(const char *object)
{
	static const char *const kinds[] = {"//", "memfd:", "[anon", "[heap]", "[JIT]"};

	return ARRAY_ANY(x, kinds, ARRAY_NR(kinds), begins_with(object, *x));
}

static void add_row(struct nameless *n, const struct report_function *f,
		    const struct report_flat_row *row)
{
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (r->shown)
			n->is_shown[i] |= begins_with(f->name, r->shown);
		if (!is_file_of(r, f->object))
			continue;
		n->samples[i] += row->total.samples;
		if (r->interpreter && strcmp(f->name, r->interpreter) == 0)
			report_weight_add(&n->interpreted[i], &row->total);
	}
	if (f->is_known || f->is_kernel || !row->self.samples)
		return;
	if (is_made_at_run_time(f->object)) {
		report_weight_add(&n->made, &row->self);
		return;
	}
	report_weight_add(&n->stripped, &row->self);
	n->of_object[f->object_number] += row->self.samples;
	if (n->of_object[f->object_number] > n->of_object[n->most])
		n->most = f->object_number;
}

static void put_hint(const struct job *j, struct grid *g, const struct report_weight *part,
		     const struct report_weight *all, double min, const char *what,
		     const char *object, const char *remedy)
{
	double share = reports_share_of(part, all).share;
	BUF_AUTO(b, 1024);

	if (share < min)
		return;
	buf_printf(&b, "%s %% %s%s: %s", DECIMAL(100 * share, 1), what, object, remedy);
	if (j->selection->rows)
		screen_shorten(&b, 0, job_columns(j));
	grid_line(g, buf_str(&b));
}

static bool is_missing(const struct input *o, const char *name)
{
	const size_t nr = o->symbols && o->processes ? profile_nr_objects(o->processes) : 0;

	for (uint32_t i = 0; i < nr; i++)
		if (strcmp(profile_object(o->processes, i)->name, name) == 0 &&
		    symbols_is_missing(o->symbols, i))
			return true;
	return false;
}

/* A file that is not found is another matter than one without symbols. */
static const char *remedy_of(const struct job *j, const char *name)
{
	return ARRAY_ANY(o, j->inputs->item, j->inputs->nr, is_missing(o, name))
		   ? "its file was not found (print while it runs, or name a tree that has it: "
		     "--sysroot)"
		   : "needs its debug symbols (a -dbgsym package, --debug-dir or --debuginfod)";
}

static void put_hints(const struct job *j, const struct nameless *n,
		      const struct report_functions *functions, const struct report_weight *all,
		      struct grid *g)
{
	const struct runtime *most = NULL;
	uint64_t samples = 0;

	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (!r->interpreter && n->samples[i] > samples) {
			most = r;
			samples = n->samples[i];
		}
		if (r->interpreter && !n->is_shown[i])
			put_hint(j, g, &n->interpreted[i], all, 0.2, "below the interpreter ",
				 r->interpreter, r->remedy);
	}
	put_hint(j, g, &n->made, all, 0.05, "in code made at run time, without names", "",
		 most ? most->remedy : "needs a jitdump or a /tmp/perf-PID.map");
	put_hint(j, g, &n->stripped, all, 0.2, "in functions without names, most of ",
		 report_functions_text(functions, n->most),
		 remedy_of(j, report_functions_text(functions, n->most)));
}

void reports_nameless(struct job *j, const struct report_weight *all,
		      const struct report_flat_row *rows, size_t nr, struct grid *g)
{
	const struct report_functions *functions = j->inputs->functions;
	struct nameless n = {.most = 0};

	n.of_object = mem_calloc(report_functions_nr_texts(functions) + 1, sizeof(*n.of_object));
	for (size_t i = 0; i < nr && n.of_object; i++)
		add_row(&n, report_functions_at(functions, rows[i].column[REPORT_FUNCTION]),
			&rows[i]);
	if (n.of_object)
		put_hints(j, &n, functions, all, g);
	mem_free(n.of_object);
}
