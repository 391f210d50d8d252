/*
 * What to do about functions without names: code made at run time, interpreters, stripped files.
 * Runtimes are recognised by their files.
 *
 * In the answer, frames of code made at run time that neither a jitdump nor a map names become one
 * function for each program: a sink replaces them, by what the process has mapped.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define INTERPRETER "_PyEval_EvalFrameDefault"
#define PYTHON      "python3 -X perf (3.12 or later)"
#define OLD_PYTHON  "Python 3.12 or later, with -X perf (this one has no such option)"

#define PHP  "functions of PHP 7.4, 8.2 and 8.4 without threads are named where root records"
#define PERL "functions of Perl 5.32 to 5.40 are named where root records"
#define RUBY "functions of Ruby 2.7 to 3.3 are named where root records"

/* object: how its name begins. program: what people call it. interpreter: the function that runs a
 * program's functions, which then have no frames; NULL: they are compiled. shown: how the names of
 * such functions begin. since: the first minor version that has the remedy; before: that of older
 * ones. */
static const struct runtime {
	const char *object, *program, *interpreter, *shown, *remedy;
	unsigned since;
	const char *before;
} runtimes[] = {
    {"node", "node", NULL, NULL, "node --perf-basic-prof"},
    {"libnode.so", "node", NULL, NULL, "node --perf-basic-prof"},
    {"libjvm.so", "java", NULL, NULL,
     "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"},
    {"libcoreclr.so", "dotnet", NULL, NULL, "DOTNET_PerfMapEnabled=1"},
    {"python3", "python", INTERPRETER, "py::", PYTHON, 12, OLD_PYTHON},
    {"libpython3", "python", INTERPRETER, "py::", PYTHON, 12, OLD_PYTHON},
    {"perl", "perl", "Perl_runops_standard", NULL, PERL},
    {"libperl.so", "perl", "Perl_runops_standard", NULL, PERL},
    {"ruby", "ruby", "rb_vm_exec", NULL, RUBY},
    {"libruby-", "ruby", "rb_vm_exec", NULL, RUBY},
    {"php", "php", "execute_ex", NULL, PHP},
    {"php-fpm", "php", "execute_ex", NULL, PHP},
    {"libphp", "php", "execute_ex", NULL, PHP},
};
enum { NR_RUNTIMES = ARRAY_NR(runtimes) };

/* The function that stands for them in the answer; its object is the program. */
#define MADE "[code without names]"

/* What a program ran in functions made at run time, without names. */
struct made {
	const char *program; /* "": not known */
	struct report_weight weight;
};

/* Sums of an event's rows, of what ran on a CPU. */
struct nameless {
	struct report_weight all;
	struct made *made; /* owned; by program */
	size_t nr_made, made_room;
	uint64_t of_runtime[NR_RUNTIMES]; /* samples in files of it */
	struct report_weight stripped;    /* functions of files without names */
	uint64_t *of_object;              /* samples of stripped, by the number of the object */
	uint32_t most;                    /* the object with the most of them */
	struct report_weight interpreted[NR_RUNTIMES];
	bool is_shown[NR_RUNTIMES], is_old[NR_RUNTIMES];
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

/* By the name of its file: "python3.11". */
static bool is_old(const struct runtime *r, const char *object)
{
	const char *minor = object + strlen(r->object);
	const unsigned long nr = *minor == '.' ? strtoul(minor + 1, NULL, 10) : 0;

	return nr && nr < r->since;
}

bool reports_is_made_at_run_time(const char *object)
{
	static const char *const kinds[] = {"//", "memfd:", "[anon", "[heap]", "[JIT]"};

	return ARRAY_ANY(x, kinds, ARRAY_NR(kinds), begins_with(object, *x));
}

static bool is_made(const struct report_function *f)
{
	return !f->is_known && !f->is_kernel && reports_is_made_at_run_time(f->object);
}

const char *reports_function_name(const struct report_function *f)
{
	return is_made(f) ? MADE : f->name;
}

static bool ran(uint32_t state)
{
	return state == REPORT_NO_STATE || state == REPORT_ON_CPU;
}

/* If there is memory for it. */
static void add_made(struct nameless *n, const char *program, const struct report_weight *w)
{
	struct made *m = ARRAY_FIND(x, n->made, n->nr_made, strcmp(x->program, program) == 0);

	if (!m && (m = MEM_ADD(n->made, n->nr_made, n->made_room)))
		*m = (struct made){.program = program};
	if (m)
		report_weight_add(&m->weight, w);
}

static void add_stripped(struct nameless *n, uint32_t object, const struct report_weight *w)
{
	report_weight_add(&n->stripped, w);
	n->of_object[object] += w->samples;
	if (n->of_object[object] > n->of_object[n->most])
		n->most = object;
}

static void add_runtime(struct nameless *n, const struct report_function *f,
			const struct report_flat_row *row)
{
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (r->shown)
			n->is_shown[i] |= begins_with(f->name, r->shown);
		if (!is_file_of(r, f->object))
			continue;
		n->of_runtime[i] += row->total.samples;
		if (!r->interpreter || strcmp(f->name, r->interpreter) != 0)
			continue;
		report_weight_add(&n->interpreted[i], &row->total);
		n->is_old[i] |= is_old(r, f->object);
	}
}

static void add_row(struct nameless *n, const struct report_function *f,
		    const struct report_flat_row *row)
{
	report_weight_add(&n->all, &row->self);
	add_runtime(n, f, row);
	if (!row->self.samples)
		return;
	if (strcmp(f->name, MADE) == 0)
		add_made(n, f->object, &row->self);
	else if (is_made(f))
		add_made(n, "", &row->self);
	else if (!f->is_known && !f->is_kernel)
		add_stripped(n, f->object_number, &row->self);
}

/* Where the hints are printed: behind the rows, or above them, in the answer. */
static void put_text(struct job *j, struct grid *g, struct buf *b)
{
	if (j->selection->rows)
		screen_shorten(b, 0, job_columns(j));
	if (!j->is_brief) {
		grid_line(g, buf_str(b));
		return;
	}
	screen_wrap(&j->output->text, buf_str(b), b->len, output_columns(j->output));
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

/* Of a program, or of the files that were sampled. NULL: none. */
static const struct runtime *runtime_of(const struct nameless *n, const char *program)
{
	const struct runtime *found = NULL;
	uint64_t samples = 0;

	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (r->interpreter)
			continue;
		if (strcmp(r->program, program) == 0)
			return r;
		if (!*program && n->of_runtime[i] > samples) {
			found = r;
			samples = n->of_runtime[i];
		}
	}
	return found;
}

static int compare_made(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	return order_u64(y->weight.weight, x->weight.weight) ?: strcmp(x->program, y->program);
}

/* Code made at run time, by program: those with the most time first. */
static void put_made(struct job *j, const struct nameless *n, struct grid *g)
{
	if (n->nr_made)
		qsort(n->made, n->nr_made, sizeof(*n->made), compare_made);
	for (size_t i = 0; i < n->nr_made; i++) {
		const struct made *m = &n->made[i];
		const struct runtime *r = runtime_of(n, m->program);

		put_hint(j, g, n, &m->weight, 0.05,
			 &(struct hint){!*m->program && r ? r->program : m->program,
					"in code made at run time, without names", "",
					r ? r->remedy : "needs a jitdump or a /tmp/perf-PID.map"});
	}
}

static void put_hints(struct job *j, const struct nameless *n,
		      const struct report_functions *functions, struct grid *g)
{
	put_made(j, n, g);
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = &runtimes[i];

		if (r->interpreter && !n->is_shown[i])
			put_hint(j, g, n, &n->interpreted[i], 0.2,
				 &(struct hint){r->program, "below the interpreter ",
						r->interpreter,
						n->is_old[i] ? r->before : r->remedy});
	}
	put_hint(j, g, n, &n->stripped, 0.2,
		 &(struct hint){"", "in functions without names, most of ",
				report_functions_text(functions, n->most),
				remedy_of(j, report_functions_text(functions, n->most))});
}

void reports_nameless(struct job *j, const struct report_flat_row *rows, size_t nr, struct grid *g)
{
	const struct report_functions *functions = j->inputs->functions;
	struct nameless n = {.has_states = false};

	n.of_object = mem_calloc(report_functions_nr_texts(functions) + 1, sizeof(*n.of_object));
	for (size_t i = 0; i < nr && n.of_object; i++) {
		n.has_states |= rows[i].column[REPORT_STATE] != REPORT_NO_STATE;
		if (ran(rows[i].column[REPORT_STATE]))
			add_row(&n, report_functions_at(functions, rows[i].column[REPORT_FUNCTION]),
				&rows[i]);
	}
	if (n.of_object)
		put_hints(j, &n, functions, g);
	mem_free(n.made);
	mem_free(n.of_object);
}

/* --- the answer's rows ----------------------------------------------------------------------- */

/* What the code without names of a process is called. */
struct of_process {
	uint32_t pid; /* the key */
	const struct report_function *function;
};

struct reports_programs {
	const struct job *job;
	const struct report_sink *to;
	struct report_sink sink;
	struct dict of_processes;    /* of one input */
	size_t input;                /* its number plus 1; 0: none yet */
	struct report_frame *frames; /* owned; those of an entry */
	size_t room;
};

/* Of a mapping: a bit for each runtime, and one for code made at run time. */
enum { IS_MADE = 1 << NR_RUNTIMES };

static unsigned classify(const struct profile_mapping *m)
{
	const char *name = m->object->name;

	if (m->prot && !(m->prot & PROT_EXEC))
		return 0;
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (!runtimes[i].interpreter && is_file_of(&runtimes[i], name))
			return 1u << i;
	return reports_is_made_at_run_time(name) ? IS_MADE : 0;
}

/* The classes of their mappings, by number of the process. NULL without memory. */
static unsigned *find_classes(const struct profile_processes *all)
{
	unsigned *classes = mem_calloc(profile_nr_processes(all) + 1, sizeof(*classes));

	for (size_t i = 0; classes && i < profile_nr_mappings(all); i++) {
		const struct profile_mapping *m = profile_mapping(all, i);
		const unsigned class = classify(m);
		const struct profile_process *process = class ? profile_process_of(all, m) : NULL;

		if (process)
			classes[process->number] |= class;
	}
	return classes;
}

/* A fork has the mappings of its parents. */
static unsigned classes_of(const struct profile_processes *all, const unsigned *classes,
			   const struct profile_process *process)
{
	unsigned class = 0;

	for (; process; process = profile_forked_from(all, process))
		class |= classes[process->number];
	return class;
}

/* The runtime, or the name of the main thread. NULL: not known. */
static const char *program_of(struct profile_lookup *l, const struct profile_process *process,
			      unsigned class)
{
	const struct runtime *r = ARRAY_FIND(x, runtimes, NR_RUNTIMES, class >> (x - runtimes) & 1);

	return r ? r->program
		 : profile_lookup_last_name(l, process->pid, process->pid, process->from_ns);
}

/* 0 or -ENOMEM. */
static int add_process(struct reports_programs *p, struct profile_lookup *l,
		       const struct profile_process *process, unsigned class)
{
	const char *program = class & IS_MADE ? program_of(l, process, class) : NULL;
	struct of_process *o = program ? dict_get(&p->of_processes, &process->pid) : NULL;

	if (o)
		o->function = report_functions_named(p->job->inputs->functions, MADE, program);
	return !program || (o && o->function) ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int find_programs(struct reports_programs *p, const struct profile_processes *all)
{
	unsigned *classes = find_classes(all);
	struct profile_lookup *l = profile_lookup_new(all);
	int rc = classes && l ? 0 : -ENOMEM;

	dict_fini(&p->of_processes);
	for (uint32_t i = 0; rc == 0 && i < profile_nr_processes(all); i++) {
		const struct profile_process *process = profile_process(all, i);

		rc = add_process(p, l, process, classes_of(all, classes, process));
	}
	profile_lookup_free(l);
	mem_free(classes);
	return rc;
}

/* The entry's frames, with the function of its process in place of code without names. NULL without
 * memory. */
static const struct report_frame *replace(struct reports_programs *p, const struct report_entry *e)
{
	const struct of_process *o =
	    ARRAY_ANY(x, e->frames, e->nr_frames, is_made(x->function))
		? dict_at(&p->of_processes, dict_find(&p->of_processes, &e->key.pid))
		: NULL;
	struct report_frame *frames =
	    o ? mem_grow(p->frames, e->nr_frames, &p->room, sizeof(*frames)) : NULL;

	if (!frames)
		return o ? NULL : e->frames;
	p->frames = frames;
	for (size_t i = 0; i < e->nr_frames; i++) {
		frames[i] = e->frames[i];
		if (is_made(frames[i].function))
			frames[i].function = o->function;
	}
	return frames;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct reports_programs *p = arg;
	struct report_entry named = *e;
	int rc = 0;

	if (p->input != e->key.session + 1u) {
		p->input = e->key.session + 1u;
		rc = find_programs(p, p->job->inputs->item[e->key.session].processes);
	}
	named.frames = rc ? NULL : replace(p, e);
	named.key.pid = p->to->parts & REPORT_BY_PID ? e->key.pid : 0;
	named.key.session = p->to->parts & REPORT_BY_SESSION ? e->key.session : 0;
	return named.frames ? p->to->entry(p->to->arg, &named) : -ENOMEM;
}

static bool has_made(const struct input *o)
{
	const size_t nr = o->processes ? profile_nr_mappings(o->processes) : 0;

	for (size_t i = 0; i < nr; i++)
		if (classify(profile_mapping(o->processes, i)) == IS_MADE)
			return true;
	return !o->processes; /* it is loaded later */
}

struct reports_programs *reports_programs_new(const struct job *j, const struct report_sink *to)
{
	const bool is_needed = ARRAY_ANY(o, &j->inputs->item[j->first], j->nr, has_made(o));
	struct reports_programs *p = is_needed ? mem_zalloc(sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->job = j;
	p->to = to;
	p->sink = *to;
	p->sink.parts |= REPORT_BY_PID | REPORT_BY_SESSION;
	p->sink.entry = add_entry;
	p->sink.arg = p;
	dict_init(&p->of_processes, sizeof(struct of_process), DICT_KEY(struct of_process, pid),
		  DICT_MAX);
	return p;
}

void reports_programs_free(struct reports_programs *p)
{
	if (!p)
		return;
	dict_fini(&p->of_processes);
	mem_free(p->frames);
	mem_free(p);
}

const struct report_sink *reports_programs_sink(const struct reports_programs *p)
{
	return &p->sink;
}
