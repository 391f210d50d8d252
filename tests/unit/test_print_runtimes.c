/*
 * Code without names: whose it is in the answer, and what is said of it.
 */
#include "kit.h"
#include "test_processes.h"
#include "test_report.h"

#include "options.h"
#include "output.h"
#include "registry.h"
#include "report/flat.h"
#include "report/states.h"
#include "reports/reports.h"
#include "selection.h"

#include <stdlib.h>
#include <string.h>

#define FORKED(t, child, parent)                                                                   \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = child, .tid = child, .ppid = parent,              \
		.ptid = parent                                                                     \
	}
#define EXECED(t, p, name)                                                                         \
	{                                                                                          \
		.op = EXEC, .time_ns = t, .pid = p, .tid = p, .text = name                         \
	}
#define NAMED(t, p, th, name)                                                                      \
	{                                                                                          \
		.op = COMM, .time_ns = t, .pid = p, .tid = th, .text = name                        \
	}
#define MAPPED(t, p, from, path)                                                                   \
	{                                                                                          \
		.op = MAP, .time_ns = t, .pid = p, .tid = p, .start = from,                        \
		.end = (from) + 0x1000, .text = path, .inode = 7                                   \
	}

enum { MAX_STEPS = 24 };

static const struct report_rules no_rules;

/* What a job reads: inputs with these processes. */
struct setup {
	struct input item[2];
	struct inputs inputs;
	struct options options;
	struct selection selection;
	struct output output;
	struct job job;
};

static const struct registry_row format = {.name = "text"};

static void set_up(struct setup *s, const struct step *steps[2])
{
	*s = (struct setup){.selection = {.nr_threads = 1}};
	for (size_t i = 0; i < 2; i++)
		s->item[i].processes = steps[i] ? steps_read(steps[i], MAX_STEPS) : NULL;
	s->inputs = (struct inputs){.options = &s->options,
				    .item = s->item,
				    .nr = 2,
				    .functions = report_functions_new(&no_rules)};
	s->job = (struct job){.inputs = &s->inputs,
			      .selection = &s->selection,
			      .output = &s->output,
			      .nr = 2,
			      .is_brief = true};
	assert_non_null(s->inputs.functions);
	buf_init(&s->output.text, 4096);
	s->output.format = &format;
	s->output.width = 1000;
}

static void tear_down(struct setup *s)
{
	for (size_t i = 0; i < 2; i++)
		profile_processes_free(s->item[i].processes);
	report_functions_free(s->inputs.functions);
	buf_fini(&s->output.text);
}

static const struct report_function *nameless(struct setup *s, const char *object)
{
	const struct symbol_function f = {
	    .name = "[unknown]", .linkage_name = "[unknown]", .object = object};

	return report_functions_get(s->inputs.functions, &f);
}

/* The names of an entry's frames, with their objects. */
struct seen {
	char text[256];
	uint32_t pid, session;
	size_t nr;
};

static int see(void *arg, const struct report_entry *e)
{
	struct seen *s = arg;
	size_t len = 0;

	for (size_t i = 0; i < e->nr_frames; i++)
		len +=
		    (size_t)snprintf(s->text + len, sizeof(s->text) - len, "%s%s:%s", i ? " " : "",
				     e->frames[i].function->object, e->frames[i].function->name);
	s->pid = e->key.pid;
	s->session = e->key.session;
	s->nr++;
	return 0;
}

static int pass(struct setup *s, struct reports_programs *p, uint32_t session, uint32_t pid,
		const char *object)
{
	const struct report_sink *sink = reports_programs_sink(p);
	const struct report_frame frames[] = {{.function = nameless(s, object)},
					      {.function = test_letter(s->inputs.functions, 'a')},
					      {.function = nameless(s, object)}};
	const struct report_entry e = {
	    .key = {.session = session, .pid = pid}, .frames = frames, .nr_frames = NR(frames)};

	assert_int_equal(sink->parts, REPORT_BY_STACK | REPORT_BY_PID | REPORT_BY_SESSION);
	return frames[0].function && frames[1].function ? sink->entry(sink->arg, &e) : -ENOMEM;
}

static const struct step of_first[MAX_STEPS] = {
    EXECED(1, 1, "app"),
    MAPPED(2, 1, 0x1000, "/usr/lib/libjvm.so"),
    MAPPED(3, 1, 0x4000, "//anon"),
    NAMED(4, 1, 1, "GC thread"),
    FORKED(5, 2, 1),
    EXECED(6, 3, "luajit"),
    MAPPED(7, 3, 0x1000, "//anon"),
    NAMED(8, 3, 4, "worker"),
    FORKED(9, 5, 1),
    EXECED(10, 5, "sh"), /* what it ran before then is java's */
    MAPPED(11, 5, 0x1000, "/usr/bin/dash"),
    EXECED(12, 7, "sh"),
    MAPPED(13, 7, 0x1000, "/usr/bin/dash"),
    EXECED(12, 6, "data"),
    {.op = MAP,
     .time_ns = 13,
     .pid = 6,
     .tid = 6,
     .start = 0x1000,
     .end = 0x2000,
     .text = "//anon",
     .inode = 7,
     .prot = PROT_READ | PROT_WRITE},
};
static const struct step of_second[MAX_STEPS] = {
    EXECED(1, 1, "x"),
    MAPPED(2, 1, 0x1000, "/usr/bin/node"),
    MAPPED(3, 1, 0x4000, "/memfd:code (deleted)"),
};
static const struct step without[MAX_STEPS] = {
    EXECED(1, 1, "app"),
    MAPPED(2, 1, 0x1000, "/usr/lib/libjvm.so"),
    {.op = MAP,
     .time_ns = 3,
     .pid = 1,
     .tid = 1,
     .start = 0x4000,
     .end = 0x5000,
     .text = "//anon",
     .inode = 7,
     .prot = PROT_READ | PROT_WRITE},
};

/* The runtime that the process has, or that it was forked with; else the name of its main thread.
 * Nobody's code is not of a program, nor is what a file's functions without names are. */
TEST(code_is_of_programs)
{
	static const struct {
		uint32_t session, pid;
		const char *object, *expected;
	} cases[] = {
	    {0, 1, "//anon", "java:[code without names] prog:a java:[code without names]"},
	    {0, 2, "//anon", "java:[code without names] prog:a java:[code without names]"},
	    {0, 3, "//anon", "luajit:[code without names] prog:a luajit:[code without names]"},
	    {0, 3, "bare", "bare:[unknown] prog:a bare:[unknown]"},
	    {0, 5, "//anon", "java:[code without names] prog:a java:[code without names]"},
	    {0, 7, "//anon", "//anon:[unknown] prog:a //anon:[unknown]"},
	    {0, 6, "//anon", "//anon:[unknown] prog:a //anon:[unknown]"},
	    {0, 77, "//anon", "//anon:[unknown] prog:a //anon:[unknown]"},
	    {1, 1, "memfd:code", "node:[code without names] prog:a node:[code without names]"},
	    {1, 3, "//anon", "//anon:[unknown] prog:a //anon:[unknown]"},
	};
	const struct step *steps[] = {of_first, of_second};
	struct setup s;
	struct seen seen = {.nr = 0};
	const struct report_sink to = {.parts = REPORT_BY_STACK, .entry = see, .arg = &seen};
	struct reports_programs *p;

	set_up(&s, steps);
	p = reports_programs_new(&s.job, &to);
	assert_non_null(p);
	for (size_t i = 0; i < NR(cases); i++) {
		assert_int_equal(pass(&s, p, cases[i].session, cases[i].pid, cases[i].object), 0);
		assert_string_equal(seen.text, cases[i].expected);
		assert_int_equal(seen.pid, 0); /* not asked for */
		assert_int_equal(seen.session, 0);
	}
	assert_int_equal(seen.nr, NR(cases));
	reports_programs_free(p);
	reports_programs_free(NULL);
	tear_down(&s);
}

TEST(keys_are_passed_where_wanted)
{
	const struct step *steps[] = {of_first, of_second};
	struct setup s;
	struct seen seen = {.nr = 0};
	const struct report_sink to = {.parts = REPORT_BY_STACK | REPORT_BY_PID | REPORT_BY_SESSION,
				       .entry = see,
				       .arg = &seen};
	struct reports_programs *p;

	set_up(&s, steps);
	p = reports_programs_new(&s.job, &to);
	assert_int_equal(pass(&s, p, 1, 1, "//anon"), 0);
	assert_int_equal(seen.pid, 1);
	assert_int_equal(seen.session, 1);
	reports_programs_free(p);
	tear_down(&s);
}

/* Then nothing is read by process: memory that is data is no code. */
TEST(sessions_without_such_code_need_no_programs)
{
	const struct step *steps[] = {without, without};
	struct setup s;
	const struct report_sink to = {.parts = REPORT_BY_STACK, .entry = see};

	set_up(&s, steps);
	assert_null(reports_programs_new(&s.job, &to));
	tear_down(&s);
}

static int try_pass(void *arg)
{
	struct setup *s = arg;
	struct seen seen = {.nr = 0};
	const struct report_sink to = {.parts = REPORT_BY_STACK, .entry = see, .arg = &seen};
	struct reports_programs *p;
	int rc;

	s->inputs.functions = report_functions_new(&no_rules);
	p = s->inputs.functions ? reports_programs_new(&s->job, &to) : NULL;
	rc = p ? pass(s, p, 0, 1, "//anon") : -ENOMEM;
	assert_int_equal(seen.nr, rc == 0);
	reports_programs_free(p);
	report_functions_free(s->inputs.functions);
	return rc;
}

TEST(failures)
{
	const struct step *steps[] = {of_first, of_second};
	struct setup s;

	set_up(&s, steps);
	report_functions_free(s.inputs.functions);
	inject_every(try_pass, &s, 5, 0);
	s.inputs.functions = NULL;
	tear_down(&s);
}

/* A row of what ran, of 100 samples or of fewer. */
struct row {
	const char *object, *name;
	uint64_t self, total;
	enum report_state state;
};

static const char *lines_of(struct setup *s, const struct row *list, size_t nr)
{
	struct report_flat_row rows[8] = {0};

	for (size_t i = 0; i < nr; i++) {
		const struct row *r = &list[i];
		const struct report_function *f =
		    strcmp(r->name, "[unknown]") == 0
			? nameless(s, r->object)
			: test_function_of(s->inputs.functions, r->name, r->object);

		assert_non_null(f);
		rows[i].column[REPORT_FUNCTION] = f->number;
		rows[i].column[REPORT_STATE] = r->state;
		rows[i].self = (struct report_weight){.samples = r->self, .weight = r->self};
		rows[i].total = (struct report_weight){.samples = r->total, .weight = r->total};
	}
	buf_reset(&s->output.text);
	reports_nameless(&s->job, rows, nr, NULL);
	return buf_str(&s->output.text);
}

#define MADE "in code made at run time, without names: "
#define JAVA                                                                                       \
	"java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer\n"
#define INSIDE "below the interpreter _PyEval_EvalFrameDefault: "
#define CODE   "[code without names]"

/* What lacks names, by the remedy of the runtime: the most first, and none of what waited. */
TEST(lines_say_where_the_time_is)
{
	static const struct {
		struct row rows[8];
		const char *expected;
	} cases[] = {
	    {{{"java", CODE, 79, 79}, {"lua", CODE, 15, 15}, {"app", "f", 6, 100}},
	     "java: 79.0 % " MADE JAVA "lua: 15.0 % " MADE
	     "needs a jitdump or a /tmp/perf-PID.map\n"},
	    {{{"lua", CODE, 10, 10},
	      {"java", CODE, 40, 40},
	      {"lua", CODE, 40, 40},
	      {"app", "f", 10, 10}},
	     "lua: 50.0 % " MADE "needs a jitdump or a /tmp/perf-PID.map\n"
	     "java: 40.0 % " MADE JAVA},
	    {{{"java", CODE, 4, 4}, {"app", "f", 96, 96}}, ""},
	    {{{"java", CODE, 20, 20, REPORT_ON_CPU},
	      {"app", "f", 5, 5, REPORT_ON_CPU},
	      {"java", CODE, 75, 75, REPORT_BLOCKED}},
	     "java: 80.0 % of the CPU time " MADE JAVA},
	    {{{"//anon", "[unknown]", 60, 60}, {"libjvm.so", "f", 40, 40}},
	     "java: 60.0 % " MADE JAVA},
	    {{{"//anon", "[unknown]", 60, 60}, {"node_exporter", "f", 40, 40}},
	     "60.0 % " MADE "needs a jitdump or a /tmp/perf-PID.map\n"},
	    {{{"python3.11", "_PyEval_EvalFrameDefault", 50, 98}, {"libc.so.6", "f", 50, 50}},
	     "python: 98.0 % " INSIDE
	     "Python 3.12 or later, with -X perf (this one has no such option)\n"},
	    {{{"libpython3.11.so.1.0", "_PyEval_EvalFrameDefault", 50, 98},
	      {"libc.so.6", "f", 50, 50}},
	     "python: 98.0 % " INSIDE
	     "Python 3.12 or later, with -X perf (this one has no such option)\n"},
	    {{{"python3.12", "_PyEval_EvalFrameDefault", 50, 98}, {"libc.so.6", "f", 50, 50}},
	     "python: 98.0 % " INSIDE "python3 -X perf (3.12 or later)\n"},
	    {{{"libpython3.so", "_PyEval_EvalFrameDefault", 50, 98}, {"libc.so.6", "f", 50, 50}},
	     "python: 98.0 % " INSIDE "python3 -X perf (3.12 or later)\n"},
	    {{{"python3.12", "_PyEval_EvalFrameDefault", 50, 98}, {"[JIT]", "py::f:f.py", 50, 50}},
	     ""},
	    {{{"perl", "Perl_runops_standard", 8, 97}, {"perl", "f", 92, 92}},
	     "perl: 97.0 % below the interpreter Perl_runops_standard: functions of Perl 5.32 to "
	     "5.40 are "
	     "named where root records\n"},
	    {{{"libruby-3.1.so.3.1.2", "rb_vm_exec", 14, 95}, {"libc.so.6", "f", 86, 86}},
	     "ruby: 95.0 % below the interpreter rb_vm_exec: functions of Ruby 2.7 to 3.3 are "
	     "named where root records\n"},
	    {{{"php8.2", "execute_ex", 15, 94}, {"libc.so.6", "f", 85, 85}},
	     "php: 94.0 % below the interpreter execute_ex: functions of PHP 7.4, 8.2 and 8.4 "
	     "without threads are named where root records\n"},
	    {{{"php8.2", "execute_ex", 5, 15}, {"libc.so.6", "f", 95, 95}}, ""},
	    {{{"phpize", "execute_ex", 15, 94}, {"libc.so.6", "f", 85, 85}}, ""},
	};
	struct setup s;
	const struct step *steps[2] = {NULL};

	set_up(&s, steps);
	for (size_t i = 0; i < NR(cases); i++) {
		size_t nr = 0;

		while (nr < NR(cases[i].rows) && cases[i].rows[nr].name)
			nr++;
		assert_string_equal(lines_of(&s, cases[i].rows, nr), cases[i].expected);
	}
	tear_down(&s);
}
