/*
 * Samples of programs: all of a session, looked up by the engine of the reports.
 */
#include "api/running.h"
#include "api/saved.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/vdso.h"
#include "profile/boot.h"
#include "profile/filter.h"
#include "profile/processes.h"
#include "report/engine.h"
#include "report/functions.h"
#include "report/rules.h"
#include "report/stacks.h"
#include "session/session.h"
#include "symbol/living.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 16 << 20, MAX_KALLSYMS_BYTES = 256 << 20 };

struct cpuperf_samples {
	struct api_saved saved;
	struct profile_processes *processes;
	struct elf_file *vdso;
	struct elf_finder *finder;
	struct symbols *symbols;
	struct symbol_living *living;
	struct report_functions *functions;
	struct report_stacks *stacks;
	struct cpuperf_event *events; /* owned */
	size_t nr_events;
	struct report_sample *rows; /* owned; by time */
	size_t nr, room, at;        /* at: the next one */
	uint64_t nr_lost;
	struct cpuperf_sample row; /* what next returned */
	uint32_t stack;            /* its */
	struct cpuperf_frame frame;
};

static const struct report_rules no_rules;

static int add_text(void *buf, const char *text, size_t len)
{
	buf_add(buf, text, len);
	return buf_error(buf);
}

/* Whose functions the addresses are. */
static int load_names(struct cpuperf_samples *s)
{
	const struct profile_facts *f = profile_session_facts(s->saved.session);
	const struct elf_finder_config finder = {.sysroot = NULL};
	struct symbols_config config = {.is_same_boot = profile_boot_is_current(&f->head)};
	BUF_AUTO(kallsyms, MAX_KALLSYMS_BYTES);
	int rc;

	s->vdso = elf_vdso_open();
	rc = elf_finder_new(&finder, &s->finder)
		 ?: profile_processes_load(s->saved.session, add_text, &kallsyms, &s->processes);
	if (rc)
		return rc;
	config.finder = s->finder;
	config.processes = s->processes;
	config.session = s->saved.session;
	config.vdso = config.is_same_boot ? s->vdso : NULL;
	config.with_inlined = true;
	if (!(s->living = symbol_living_new(s->finder, s->processes, config.is_same_boot)))
		return -ENOMEM;
	return symbols_new(&config, &s->symbols) ?: symbols_take_kallsyms(s->symbols, &kallsyms);
}

static int describe(struct cpuperf_samples *s)
{
	const struct profile_facts *f = profile_session_facts(s->saved.session);

	s->events = mem_calloc(f->nr_events + 1, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	s->nr_events = f->nr_events;
	for (size_t i = 0; i < f->nr_events; i++) {
		const struct trace_event *e = &f->events[i];

		s->events[i] =
		    (struct cpuperf_event){.size = sizeof(s->events[i]),
					   .group = e->group,
					   .name = e->name,
					   .label = e->label,
					   .unit = e->unit,
					   .description = "",
					   .kind = (enum cpuperf_kind)e->kind,
					   .works = e->state == READING_OK,
					   .reason = e->reason && *e->reason ? e->reason : NULL};
	}
	return 0;
}

static int add_rows(void *arg, const struct report_sample *rows, size_t nr)
{
	struct cpuperf_samples *s = arg;

	if (nr > MAX_ROWS - s->nr)
		return -EFBIG;
	for (size_t i = 0; i < nr; i++) {
		struct report_sample *new = MEM_ADD(s->rows, s->nr, s->room);

		if (!new)
			return -ENOMEM;
		*new = rows[i];
	}
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct report_sample *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns);
}

static int read_rows(struct cpuperf_samples *s, unsigned flags)
{
	static const struct profile_filter all;
	const struct report_sink sink = {.parts = REPORT_BY_ITERATION | REPORT_BY_CPU |
						  REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_COMM |
						  REPORT_BY_STACK | REPORT_BY_ADDRESS |
						  (flags & CPUPERF_LINES ? REPORT_BY_LINE : 0),
					 .samples = add_rows,
					 .stacks = s->stacks,
					 .arg = s};
	const struct report_run run = {.filter = &all,
				       .functions = s->functions,
				       .sink = &sink,
				       .nr_threads = 1,
				       .with_inlined = flags & CPUPERF_INLINED,
				       .problem = api_saved_problem,
				       .arg = &s->saved};
	const struct report_input input = {.session = s->saved.session,
					   .processes = s->processes,
					   .symbols = s->symbols,
					   .finder = s->finder,
					   .vdso = s->vdso,
					   .has_own_clocks = true};
	struct report_stats stats;
	int rc = report_stats_init(&stats, s->nr_events);

	if (rc)
		return rc;
	rc = report_engine_read(&run, &input, &stats);
	s->nr_lost = stats.nr_lost;
	report_stats_fini(&stats);
	if (rc == 0 && s->nr)
		qsort(s->rows, s->nr, sizeof(*s->rows), compare_times);
	return rc;
}

static int load(struct cpuperf_samples *s, unsigned flags)
{
	s->functions = report_functions_new(&no_rules);
	s->stacks = report_stacks_new();
	if (!s->functions || !s->stacks)
		return -ENOMEM;
	return load_names(s) ?: describe(s) ?: read_rows(s, flags);
}

static int fail_load(int rc, struct cpuperf_error *e)
{
	if (rc == -EFBIG)
		return api_fail_use(e, rc, "the session has more than 16,777,216 samples",
				    "print it with cpuperf_print");
	return rc == -ENOMEM ? api_fail_memory(e)
			     : api_fail_use(e, rc, "the samples cannot be read", NULL);
}

/* The caller's error is theirs again once this returns. */
static int open_path(struct cpuperf_samples *s, const char *path, unsigned flags,
		     struct cpuperf_error *e)
{
	int rc = api_saved_open(&s->saved, path, e);

	if (rc)
		return rc;
	if (!profile_session_facts(s->saved.session)->is_sampling)
		return api_fail_use(e, -ENODATA, "no event of the session is sampled",
				    "set a rate or a frequency on one: \"cpu_clock@997Hz\"");
	rc = load(s, flags);
	s->saved.e = NULL;
	if (rc)
		return fail_load(rc, e);
	if (s->saved.is_damaged)
		(void)api_fail_use(e, -EBADMSG, "a part of the session is missing", NULL);
	return 0;
}

int cpuperf_samples_open(struct cpuperf_samples **out, const char *path, unsigned flags,
			 struct cpuperf_error *e)
{
	struct cpuperf_samples *s;
	int rc;

	api_fail_clear(e);
	if (!out || !path || flags & ~(unsigned)(CPUPERF_LINES | CPUPERF_INLINED))
		return api_fail_use(e, -EINVAL, "a parameter is NULL, or flags are not valid",
				    NULL);
	*out = NULL;
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return api_fail_memory(e);
	rc = open_path(s, path, flags, e);
	if (rc)
		cpuperf_samples_close(s);
	else
		*out = s;
	return rc;
}

int cpuperf_samples_of(struct cpuperf_samples **out, struct cpuperf_session *session,
		       unsigned flags, struct cpuperf_error *e)
{
	const char *path;
	int rc;

	if (out)
		*out = NULL;
	rc = api_running_check_ended(session, e);
	if (rc)
		return rc;
	path = session_manifest(session->session);
	if (!*path)
		return api_fail_use(e, -ENODATA, "the session has no files",
				    "open it with CPUPERF_IN_MEMORY, or name files in its spec");
	return cpuperf_samples_open(out, path, flags, e);
}

void cpuperf_samples_close(struct cpuperf_samples *s)
{
	if (!s)
		return;
	symbols_free(s->symbols);
	symbol_living_free(s->living);
	profile_processes_free(s->processes);
	elf_finder_free(s->finder);
	if (s->vdso)
		elf_file_close(s->vdso);
	report_functions_free(s->functions);
	report_stacks_free(s->stacks);
	api_saved_close(&s->saved);
	mem_free(s->events);
	mem_free(s->rows);
	mem_free(s);
}

size_t cpuperf_samples_nr_events(const struct cpuperf_samples *s)
{
	return s ? s->nr_events : 0;
}

const struct cpuperf_event *cpuperf_samples_event(const struct cpuperf_samples *s, size_t i)
{
	return i < cpuperf_samples_nr_events(s) ? &s->events[i] : NULL;
}

uint64_t cpuperf_samples_nr(const struct cpuperf_samples *s)
{
	return s ? s->nr : 0;
}

uint64_t cpuperf_samples_lost(const struct cpuperf_samples *s)
{
	return s ? s->nr_lost : 0;
}

const struct cpuperf_sample *cpuperf_samples_next(struct cpuperf_samples *s)
{
	const struct report_sample *r = s && s->at < s->nr ? &s->rows[s->at] : NULL;

	if (!r)
		return NULL;
	s->at++;
	s->stack = r->stack;
	s->row = (struct cpuperf_sample){.size = sizeof(s->row),
					 .event = r->key.event,
					 .time_ns = r->time_ns,
					 .weight = r->weight,
					 .nr = r->samples,
					 .pid = r->key.pid,
					 .tid = r->key.tid,
					 .cpu = r->key.cpu,
					 .iteration = r->key.iteration,
					 .comm = report_functions_text(s->functions, r->key.comm)};
	if (s->stack != REPORT_NO_STACK)
		s->row.nr_frames = report_stacks_at(s->stacks, s->stack)->depth;
	return &s->row;
}

void cpuperf_samples_rewind(struct cpuperf_samples *s)
{
	if (!s)
		return;
	s->at = 0;
	s->row.nr_frames = 0;
}

const struct cpuperf_frame *cpuperf_samples_frame(struct cpuperf_samples *s, size_t i)
{
	const struct report_stack_node *node;

	if (!s || i >= s->row.nr_frames)
		return NULL;
	node = report_stacks_at(s->stacks, s->stack);
	while (i--)
		node = report_stacks_at(s->stacks, node->parent);
	s->frame = (struct cpuperf_frame){.size = sizeof(s->frame),
					  .function = node->frame.function->name,
					  .object = node->frame.function->object,
					  .file = node->frame.file,
					  .line = node->frame.line,
					  .is_kernel = node->frame.function->is_kernel,
					  .is_inlined = node->frame.is_inlined,
					  .address = node->frame.address};
	return &s->frame;
}
