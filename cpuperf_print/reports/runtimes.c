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
#include "report/states.h"
#include "reports/reports.h"
#include "symbol/symbols.h"

#include <stdio.h>
#include <string.h>

/* object: how its name begins. program: what people call it. interpreter: the function that runs a
 * program's functions, which then have no frames; NULL: they are compiled. shown: how the names of
 * such functions begin. */
static const struct runtime {
	const char *object, *program, *interpreter, *shown, *remedy;
} runtimes[] = {
    {"node", "node", NULL, NULL, "node --perf-basic-prof"},
    {"libnode.so", "node", NULL, NULL, "node --perf-basic-prof"},
    {"libjvm.so", "java", NULL, NULL,
     "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"},
    {"libcoreclr.so", "dotnet", NULL, NULL, "DOTNET_PerfMapEnabled=1"},
    {"python3", "python", "_PyEval_EvalFrameDefault", "py::", "python3 -X perf (3.12 or later)"},
    {"libpython3", "python", "_PyEval_EvalFrameDefault", "py::", "python3 -X perf (3.12 or later)"},
};
enum { NR_RUNTIMES = ARRAY_NR(runtimes) };

/* Sums of an event's rows, of what ran on a CPU: code has names, waits have none to miss. */
struct nameless {
	struct report_weight all;
	struct report_weight made,
	    stripped;                  /* functions without names: made at run time, in files */
	uint64_t *of_object;           /* samples of stripped, by the number of the object */
	uint32_t most;                 /* the object with the most of them */
	uint64_t samples[NR_RUNTIMES]; /* in files of the runtime */
	struct report_weight interpreted[NR_RUNTIMES];
	bool is_shown[NR_RUNTIMES];
	bool has_states; /* the time of waits has rows, too */
};

/* "PROGRAM: 79.0 % of the CPU time WHATOBJECT: REMEDY" */
struct hint {
	const char *program, *what, *object, *remedy;
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

static bool ran(const struct report_flat_row *row)
{
	uint32_t state = row->column[REPORT_STATE];

	return state == REPORT_NO_STATE || state == REPORT_ON_CPU;
}

static void add_row(struct nameless *n, const struct report_function *f,
		    const struct report_flat_row *row)
{
	report_weight_add(&n->all, &row->self);
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

static void put_hint(const struct job *j, struct grid *g, const struct nameless *n,
		     const struct report_weight *part, double min, const struct hint *h)
{
	double share = reports_share_of(part, &n->all).share;
	BUF_AUTO(b, 1024);

	if (share < min)
		return;
	buf_printf(&b, "%s%s%s %% %s%s%s: %s", h->program, *h->program ? ": " : "",
		   DECIMAL(100 * share, 1), n->has_states ? "of the CPU time " : "", h->what,
		   h->object, h->remedy);
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
		   ? "its file was not found (print while it runs, or use --sysroot or "
		     "--debuginfod)"
		   : "needs its debug symbols (a -dbgsym package, --debug-dir or --debuginfod)";
}

static void put_hints(const struct job *j, const struct nameless *n,
		      const struct report_functions *functions, struct grid *g)
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
			put_hint(j, g, n, &n->interpreted[i], 0.2,
				 &(struct hint){r->program, "below the interpreter ",
						r->interpreter, r->remedy});
	}
	put_hint(j, g, n, &n->made, 0.05,
		 &(struct hint){most ? most->program : "",
				"in code made at run time, without names", "",
				most ? most->remedy : "needs a jitdump or a /tmp/perf-PID.map"});
	put_hint(j, g, n, &n->stripped, 0.2,
		 &(struct hint){"", "in functions without names, most of ",
				report_functions_text(functions, n->most),
				remedy_of(j, report_functions_text(functions, n->most))});
}

void reports_nameless(struct job *j, const struct report_flat_row *rows, size_t nr, struct grid *g)
{
	const struct report_functions *functions = j->inputs->functions;
	struct nameless n = {.most = 0};

	n.of_object = mem_calloc(report_functions_nr_texts(functions) + 1, sizeof(*n.of_object));
	for (size_t i = 0; i < nr && n.of_object; i++) {
		n.has_states |= rows[i].column[REPORT_STATE] != REPORT_NO_STATE;
		if (ran(&rows[i]))
			add_row(&n, report_functions_at(functions, rows[i].column[REPORT_FUNCTION]),
				&rows[i]);
	}
	if (n.of_object)
		put_hints(j, &n, functions, g);
	mem_free(n.of_object);
}
