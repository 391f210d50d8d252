/*
 * What to do about functions without names: code made at run time, interpreters, stripped files.
 * Runtimes are recognised by their files.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "numbers.h"
#include "profile/processes.h"
#include "report/flat.h"
#include "report/functions.h"
#include "report/states.h"
#include "reports/reports.h"
#include "screen/number.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* What a process, or a program, ran on a CPU: code has names, waits have none to miss. */
struct made {
	uint32_t event, pid; /* the key; pid 0: of all rows of the event */
	uint32_t comm;       /* number of its text */
	bool has_comm;
	uint64_t samples[NR_RUNTIMES]; /* in files of the runtime */
	struct report_weight weight;   /* of functions made at run time, without names */
};

/* The same, by process. */
struct reports_programs {
	const struct report_sink *to;
	struct report_sink sink;
	struct dict made;
	unsigned char
	    *class_of; /* owned; by number of an object: 0: not known yet, or its class plus 1 */
	size_t nr_classes, classes_room;
};

/* Sums of an event's rows, of what ran on a CPU. */
struct nameless {
	struct report_weight all;
	struct made made;
	struct report_weight stripped; /* functions of files without names */
	uint64_t *of_object;           /* samples of stripped, by the number of the object */
	uint32_t most;                 /* the object with the most of them */
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

static bool ran(uint32_t state)
{
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
		n->made.samples[i] += row->total.samples;
		if (r->interpreter && strcmp(f->name, r->interpreter) == 0)
			report_weight_add(&n->interpreted[i], &row->total);
	}
	if (f->is_known || f->is_kernel || !row->self.samples)
		return;
	if (is_made_at_run_time(f->object)) {
		report_weight_add(&n->made.weight, &row->self);
		return;
	}
	report_weight_add(&n->stripped, &row->self);
	n->of_object[f->object_number] += row->self.samples;
	if (n->of_object[f->object_number] > n->of_object[n->most])
		n->most = f->object_number;
}

/* Where the hints are printed: behind the rows, or above them, in the answer. */
static void put_text(struct job *j, struct grid *g, struct buf *b)
{
	const unsigned width = j->output->width ? j->output->width : UINT_MAX;

	if (j->selection->rows)
		screen_shorten(b, 0, job_columns(j));
	if (!j->is_brief) {
		grid_line(g, buf_str(b));
		return;
	}
	screen_wrap(&j->output->text, buf_str(b), b->len, width);
	buf_addc(&j->output->text, '\n');
}

static void put_hint(struct job *j, struct grid *g, const struct nameless *n,
		     const struct report_weight *part, double min, const struct hint *h)
{
	double share = reports_share_of(part, &n->all).share;
	BUF_AUTO(b, 1024);

	if (share < min)
		return;
	buf_printf(&b, "%s%s%s %% %s%s%s: %s", h->program, *h->program ? ": " : "",
		   DECIMAL(100 * share, 1), n->has_states ? "of the CPU time " : "", h->what,
		   h->object, h->remedy);
	put_text(j, g, &b);
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

/* NULL: no file of one was sampled. */
static const struct runtime *runtime_of(const struct made *m)
{
	const struct runtime *most = NULL;
	uint64_t samples = 0;

	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (!runtimes[i].interpreter && m->samples[i] > samples) {
			most = &runtimes[i];
			samples = m->samples[i];
		}
	return most;
}

/* A program, of one process or several. */
struct named {
	const char *program;
	const struct runtime *runtime;
	struct report_weight weight;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return order_u64(y->weight.weight, x->weight.weight) ?: strcmp(x->program, y->program);
}

static void add_named(struct named *list, size_t *nr, const struct made *m, const char *comm)
{
	const struct runtime *r = runtime_of(m);
	const char *program = r ? r->program : comm;
	size_t i = 0;

	while (i < *nr && (list[i].runtime != r || strcmp(list[i].program, program) != 0))
		i++;
	if (i == *nr)
		list[(*nr)++] = (struct named){.program = program, .runtime = r};
	report_weight_add(&list[i].weight, &m->weight);
}

/* Code made at run time, by program: those with the most time first. */
static void put_made(struct job *j, const struct nameless *n,
		     const struct reports_programs *programs, struct grid *g)
{
	const size_t nr_all = programs ? programs->made.nr : 1;
	struct named *list = mem_calloc(nr_all, sizeof(*list));
	size_t nr = 0;

	for (uint32_t i = 0; list && i < nr_all; i++) {
		const struct made *m = programs ? dict_at(&programs->made, i) : &n->made;

		if (m->event == n->made.event && m->weight.samples)
			add_named(list, &nr, m,
				  m->has_comm ? report_functions_text(j->inputs->functions, m->comm)
					      : "");
	}
	if (nr)
		qsort(list, nr, sizeof(*list), compare_named);
	for (size_t i = 0; i < nr; i++)
		put_hint(
		    j, g, n, &list[i].weight, 0.05,
		    &(struct hint){list[i].program, "in code made at run time, without names", "",
				   list[i].runtime ? list[i].runtime->remedy
						   : "needs a jitdump or a /tmp/perf-PID.map"});
	mem_free(list);
}

static void put_hints(struct job *j, const struct nameless *n,
		      const struct reports_programs *programs,
		      const struct report_functions *functions, struct grid *g)
{
	put_made(j, n, programs, g);
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (r->interpreter && !n->is_shown[i])
			put_hint(j, g, n, &n->interpreted[i], 0.2,
				 &(struct hint){r->program, "below the interpreter ",
						r->interpreter, r->remedy});
	}
	put_hint(j, g, n, &n->stripped, 0.2,
		 &(struct hint){"", "in functions without names, most of ",
				report_functions_text(functions, n->most),
				remedy_of(j, report_functions_text(functions, n->most))});
}

/* --- by process ------------------------------------------------------------------------------ */

enum { PLAIN, MADE, OF_RUNTIME }; /* and the number of the runtime */

static unsigned char find_class(const char *object)
{
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (!runtimes[i].interpreter && is_file_of(&runtimes[i], object))
			return (unsigned char)(OF_RUNTIME + i);
	return is_made_at_run_time(object) ? MADE : PLAIN;
}

/* Each object is looked at once. 0 or -ENOMEM. */
static int class_of(struct reports_programs *p, const struct report_function *f, unsigned char *out)
{
	while (p->nr_classes <= f->object_number) {
		unsigned char *class = MEM_ADD(p->class_of, p->nr_classes, p->classes_room);

		if (!class)
			return -ENOMEM;
		*class = 0;
	}
	if (!p->class_of[f->object_number])
		p->class_of[f->object_number] = (unsigned char)(find_class(f->object) + 1);
	*out = (unsigned char)(p->class_of[f->object_number] - 1);
	return 0;
}

static int add_frames(struct reports_programs *p, const struct report_entry *e)
{
	struct made *m = dict_get(&p->made, &(uint32_t[]){e->key.event, e->key.pid});
	int rc = m ? 0 : -ENOMEM;

	for (size_t i = 0; i < e->nr_frames && rc == 0; i++) {
		const struct report_function *f = e->frames[i].function;
		unsigned char class;

		rc = class_of(p, f, &class);
		if (rc == 0 && class >= OF_RUNTIME)
			m->samples[class - OF_RUNTIME] += e->weight.samples;
		if (rc || class != MADE || i || f->is_known || f->is_kernel)
			continue;
		report_weight_add(&m->weight, &e->weight);
		m->comm = m->has_comm ? m->comm : e->key.comm;
		m->has_comm = true;
	}
	return rc;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct reports_programs *p = arg;
	struct report_entry merged = *e;
	int rc = ran(e->key.state) ? add_frames(p, e) : 0;

	if (!(p->to->parts & REPORT_BY_PID))
		merged.key.pid = 0;
	if (!(p->to->parts & REPORT_BY_COMM))
		merged.key.comm = 0;
	return rc ?: p->to->entry(p->to->arg, &merged);
}

struct reports_programs *reports_programs_new(const struct report_sink *to)
{
	struct reports_programs *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->to = to;
	p->sink = *to;
	p->sink.parts |= REPORT_BY_PID | REPORT_BY_COMM;
	p->sink.entry = add_entry;
	p->sink.arg = p;
	dict_init(&p->made, sizeof(struct made), DICT_KEY(struct made, pid), DICT_MAX);
	return p;
}

void reports_programs_free(struct reports_programs *p)
{
	if (!p)
		return;
	dict_fini(&p->made);
	mem_free(p->class_of);
	mem_free(p);
}

const struct report_sink *reports_programs_sink(const struct reports_programs *p)
{
	return &p->sink;
}

void reports_nameless(struct job *j, const struct report_flat_row *rows, size_t nr,
		      const struct reports_programs *programs, struct grid *g)
{
	const struct report_functions *functions = j->inputs->functions;
	struct nameless n = {.made.event = nr ? rows[0].column[REPORT_EVENT] : 0};

	n.of_object = mem_calloc(report_functions_nr_texts(functions) + 1, sizeof(*n.of_object));
	for (size_t i = 0; i < nr && n.of_object; i++) {
		n.has_states |= rows[i].column[REPORT_STATE] != REPORT_NO_STATE;
		if (ran(rows[i].column[REPORT_STATE]))
			add_row(&n, report_functions_at(functions, rows[i].column[REPORT_FUNCTION]),
				&rows[i]);
	}
	if (n.of_object)
		put_hints(j, &n, programs, functions, g);
	mem_free(n.of_object);
}
