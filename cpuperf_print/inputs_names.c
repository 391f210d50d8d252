/*
 * Names of inputs: tasks, mappings and symbols, of sessions that are whole, in turn, or in
 * progress.
 */
#include "inputs.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "elf/finder.h"
#include "elf/vdso.h"
#include "import/import.h"
#include "options.h"
#include "problems.h"
#include "profile/about.h"
#include "profile/boot.h"
#include "profile/growth.h"
#include "profile/merged.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/states.h"
#include "symbol/living.h"
#include "symbol/symbols.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { MAX_KALLSYMS_BYTES = 256 << 20 };
static int append_text(void *buf, const char *text, size_t len)
{
	buf_add(buf, text, len);
	return buf_error(buf);
}

/* Only perf may have recorded by another clock, which all its events share. */
static bool has_other_clock(const struct input *o)
{
	struct perf_event_attr attr = {.size = 0};
	const struct trace_event *ev = o->import && o->facts->nr_events ? o->facts->events : NULL;

	if (!ev)
		return false;
	memcpy(&attr, ev->attr, ev->attr_bytes < sizeof(attr) ? ev->attr_bytes : sizeof(attr));
	return !attr.use_clockid || attr.clockid != CLOCK_MONOTONIC;
}

/* Again when the processes grew. */
static int load_living(struct inputs *in, struct input *o)
{
	symbol_living_free(o->living);
	o->living = symbol_living_new(in->finder, o->processes, o->is_same_boot);
	return o->living ? 0 : -ENOMEM;
}

static bool has_own_kallsyms(const struct inputs *in, const struct input *o)
{
	return !in->options->kallsyms && !o->import;
}

/* All but the text that the session has of kallsyms. */
static int load_symbols(struct inputs *in, struct input *o, struct err *e)
{
	const struct symbols_config config = {
	    .finder = in->finder,
	    .processes = o->processes,
	    .session = has_own_kallsyms(in, o) ? o->session : NULL,
	    .with_inlined = in->options->inlined,
	    .has_other_clock = has_other_clock(o),
	    .is_same_boot = o->is_same_boot,
	    .vdso = o->vdso,
	    .problem = problems_log,
	};
	int rc = symbols_new(&config, &o->symbols);

	if (rc)
		return rc;
	if (in->options->kallsyms)
		return symbols_load_kallsyms(o->symbols, in->options->kallsyms, e);
	return o->import ? perf_kernel_add_symbols(&in->kernel, o->import, o->path, in->finder,
						   o->symbols, in->problems)
			 : 0;
}

static int load_start(struct input *o)
{
	struct profile_merged *m;
	int rc = profile_merged_open(o->session, input_add_problem, o->report, &m);

	if (rc)
		return rc;
	o->start_ns = profile_merged_start_ns(m);
	profile_merged_close(m);
	return 0;
}

int inputs_load_processes(struct input *o)
{
	if (o->processes)
		return 0;
	buf_fini(&o->kallsyms); /* of a failed attempt */
	buf_init(&o->kallsyms, MAX_KALLSYMS_BYTES);
	return profile_processes_load(o->session, append_text, &o->kallsyms, &o->processes);
}

/* The first event of a state becomes the quantity of all. */
static int add_states(struct input *o, const struct profile_filter *filter, enum report_sum sum,
		      struct err *e)
{
	const struct profile_facts *f = o->facts;
	bool has_time = false;

	o->by_state = mem_calloc(f->nr_events + 1, sizeof(*o->by_state));
	if (!o->by_state)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < f->nr_events; i++) {
		const enum report_state state = report_states_of(f, filter, i);
		struct trace_event *to = &o->by_state[i];

		*to = f->events[i];
		if (report_states_event(f, filter, i, sum) != i) {
			to->rate = to->frequency = 0;
		} else if (state) {
			to->group = "sched";
			to->name = to->label = sum == REPORT_SUM_STATES ? "thread_time"
					       : state == REPORT_ON_CPU ? "on CPU"
									: "waiting";
			to->unit = "ns";
			to->scale = 1;
			has_time = true;
		}
	}
	if (has_time)
		return 0;
	err_set_at(e, -EINVAL, o->path, 0, 0,
		   "states need samples of cpu_clock, run_queue_time or off_cpu_time");
	err_hint(e, "cpuperf --spec-file=wall records them");
	return -EINVAL;
}

int inputs_add_states(struct inputs *in, const struct profile_filter *filter, enum report_sum sum,
		      struct err *e)
{
	if (in->item[0].by_state)
		return 0;
	return ARRAY_RUN(i, in->nr + in->nr_diff, add_states(&in->item[i], filter, sum, e));
}

void inputs_forget_states(struct inputs *in)
{
	for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
		mem_free(in->item[i].by_state);
		in->item[i].by_state = NULL;
	}
}

static int load_names(struct inputs *in, struct input *o, struct err *e)
{
	int rc;

	o->is_same_boot = o->import ? perf_kernel_is_same_boot(&in->kernel, import_facts(o->import))
				    : profile_boot_is_current(&o->facts->head);
	o->vdso = o->is_same_boot ? in->vdso : NULL;
	rc = inputs_load_processes(o) ?: load_living(in, o) ?: load_symbols(in, o, e);
	if (rc == 0 && has_own_kallsyms(in, o))
		rc = symbols_take_kallsyms(o->symbols, &o->kallsyms);
	buf_fini(&o->kallsyms);
	return rc;
}

static int load_names_and_start(struct inputs *in, struct input *o, struct err *e)
{
	int rc = load_names(in, o, e);

	return rc == 0 && !o->start_ns ? load_start(o) : rc;
}

int inputs_begin_names(struct inputs *in, struct input *o, struct err *e)
{
	int rc = o->symbols ? 0 : load_names_and_start(in, o, e);

	if (rc)
		return err_set(e, rc, "names cannot be loaded: %s", strerror(-rc));
	o->nr_readers++;
	return 0;
}

void inputs_end_names(struct inputs *in, struct input *o)
{
	if (o->nr_readers)
		o->nr_readers--;
	if (!in->is_in_turn || o->nr_readers)
		return;
	symbols_free(o->symbols);
	symbol_living_free(o->living);
	profile_processes_free(o->processes);
	buf_fini(&o->kallsyms);
	o->symbols = NULL;
	o->living = NULL;
	o->processes = NULL;
}

/* All but what grows. */
static int begin_growth(struct inputs *in, struct input *o)
{
	in->growth = profile_growth_new();
	buf_init(&o->kallsyms, MAX_KALLSYMS_BYTES);
	o->is_same_boot = profile_boot_is_current(&o->facts->head);
	o->vdso = o->is_same_boot ? in->vdso : NULL;
	return in->growth ? 0 : -ENOMEM;
}

static int grow(struct inputs *in, struct input *o, uint64_t unused_ns, struct err *e)
{
	const size_t before = o->kallsyms.len;
	int rc = in->growth ? 0 : begin_growth(in, o);

	rc = rc
		 ?: profile_growth_read(in->growth, o->session, unused_ns, append_text,
					&o->kallsyms, &o->processes);
	if (rc < 0) {
		symbol_living_free(o->living);
		o->living = NULL;
		o->processes = NULL;
		return rc;
	}
	rc = load_living(in, o) ?: rc;
	if (rc == 0 && o->symbols && o->kallsyms.len == before)
		return symbols_renew(o->symbols);
	if (rc == 1 && before) /* it was read again */
		buf_drop(&o->kallsyms, before);
	symbols_free(o->symbols);
	o->symbols = NULL;
	rc = load_symbols(in, o, e);
	return rc != 0 || !has_own_kallsyms(in, o)
		   ? rc
		   : symbols_add_kallsyms(o->symbols, buf_str(&o->kallsyms), o->kallsyms.len);
}

int inputs_grow_names(struct inputs *in, uint64_t unused_ns, struct err *e)
{
	struct input *o = &in->item[0];
	int rc = grow(in, o, unused_ns, e);

	if (rc == 0 && !o->start_ns && o->facts->nr_events)
		rc = load_start(o);
	return rc && !e->code ? err_set(e, rc, "names cannot be loaded: %s", strerror(-rc)) : rc;
}

struct elf_finder_config inputs_finder_config(const struct inputs *in)
{
	const struct options *o = in->options;
	struct elf_finder_config config = {.sysroot = o->sysroot,
					   .debug_dirs = o->debug_dirs.item,
					   .nr_debug_dirs = o->debug_dirs.nr};

	for (size_t i = 0; i < in->nr + in->nr_diff; i++)
		config.rights =
		    elf_rights_of_both(config.rights, elf_rights_of_user(in->item[i].owner));
	return config;
}

static int end_at_first(void *arg, const struct profile_trace *trace)
{
	(void)arg;
	(void)trace;
	return 1;
}

/* CLOCK_REALTIME at which the first of the sessions began; 0: of one it is not known. */
static uint64_t begun_ns(const struct inputs *in)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
		const struct input *o = &in->item[i];
		struct profile_about about;
		uint64_t ns;

		if (!o->session || o->import)
			return 0;
		(void)profile_about_read(&about, o->session, end_at_first, NULL);
		ns = profile_about_realtime(&about, about.start_ns);
		profile_about_fini(&about);
		first_ns = ns < first_ns ? ns : first_ns;
	}
	return first_ns;
}

int inputs_load_names(struct inputs *in, const struct report_rules *rules, struct err *e)
{
	struct elf_finder_config config = inputs_finder_config(in);
	int rc;

	if (in->functions)
		return 0;
	config.use_debuginfod = in->options->debuginfod;
	config.problem = problems_log;
	config.begun_ns = begun_ns(in);
	rc = elf_finder_check(&config, e);
	if (rc)
		return rc;
	in->vdso = elf_vdso_open();
	rc = elf_finder_new(&config, &in->finder);
	for (size_t i = 0; i < in->nr + in->nr_diff && rc == 0 && !in->is_in_turn; i++)
		if (input_has_common(&in->item[i])) /* one of counts alone has no names */
			rc = load_names_and_start(in, &in->item[i], e);
	if (rc == 0)
		in->functions = report_functions_new(rules);
	if (rc == 0 && !in->functions)
		rc = -ENOMEM;
	return rc ? err_set(e, rc, "names cannot be loaded: %s", strerror(-rc)) : 0;
}
