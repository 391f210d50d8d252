/*
 * Opening, reading and writing of one run. Here the rooms of the reading side meet.
 */
#include "job.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "elf/finder.h"
#include "elf/vdso.h"
#include "import/import.h"
#include "missing.h"
#include "perf_data.h"
#include "profile/merged.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "report/functions.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_OUT_BYTES = 1 << 30,
	FLUSH_BYTES = 64 << 10,
	MAX_THREADS = 64,
	MAX_MISSING_BYTES = 4096,
	MAX_UNREAD = 32,
	MAX_UNREAD_BYTES = 256 << 10,
	MAX_COLUMNS_BYTES = 64 << 20,
	MAX_KALLSYMS_BYTES = 256 << 20,
	PROGRESS_AFTER_NS = 1000000000,
};

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *out,
			struct err *e)
{
	uint64_t n;

	if (!text)
		return 0;
	if (str_parse_u64(text, &n) || n > max) {
		err_set(e, -EINVAL, "--%s=%s: not a number from 0 to %llu", option, text,
			(unsigned long long)max);
		return -EINVAL;
	}
	*out = n;
	return 0;
}

/* Digits, and a dot: whatever the locale. */
static int parse_percent(const char *option, const char *text, double *out, struct err *e)
{
	locale_t c;
	char *end;
	double x;

	if (!text)
		return 0;
	c = newlocale(LC_ALL_MASK, "C", NULL);
	x = c ? strtod_l(text, &end, c) : NAN;
	if (c)
		freelocale(c);
	if (!(x >= 0 && x <= 1e6) || end == text || *end)
		return err_set(e, -EINVAL, "--%s=%s: not a percentage", option, text);
	*out = x;
	return 0;
}

static int parse_time(const char *option, const char *text, uint64_t *out, struct err *e)
{
	if (!text || str_parse_duration_ns(text, out) == 0)
		return 0;
	err_set(e, -EINVAL, "--%s=%s: not a time", option, text);
	err_hint(e, "since the session's start: 500ms, 2s, 1.5s, 3m");
	return -EINVAL;
}

static int parse_ranges(const char *option, const char *text, struct profile_ranges *out,
			struct err *e)
{
	return text ? profile_ranges_parse(out, option, text, e) : 0;
}

static int add_globs(struct profile_globs *to, const char *option, const struct opt_strings *list,
		     struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < list->nr && rc == 0; i++)
		rc = profile_globs_add(to, option, list->item[i], e);
	return rc;
}

static int make_filter(struct job *j, struct err *e)
{
	const struct options *o = j->options;
	struct profile_filter *f = &j->filter;
	int rc = add_globs(&f->events, "--event", &o->events, e);

	if (rc == 0)
		rc = add_globs(&f->comms, "--comm", &o->comms, e);
	if (rc == 0)
		rc = parse_ranges("--pid", o->pids, &f->pids, e);
	if (rc == 0)
		rc = parse_ranges("--cpu", o->cpus, &f->cpus, e);
	if (rc == 0)
		rc = parse_ranges("--iteration", o->iterations, &f->iterations, e);
	if (rc == 0)
		rc = parse_time("from", o->from, &f->from_ns, e);
	if (rc == 0)
		rc = parse_time("to", o->to, &f->to_ns, e);
	return rc;
}

typedef int add_rule_fn(struct report_rules *r, const char *text, struct err *e);

static int add_rules(struct job *j, const struct opt_strings *list, add_rule_fn *add, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < list->nr && rc == 0; i++)
		rc = add(&j->rules, list->item[i], e);
	return rc;
}

static int make_rules(struct job *j, struct err *e)
{
	const struct options *o = j->options;
	int rc = add_rules(j, &o->merge, report_rules_add_merge, e);

	j->rules.merge_object = o->merge_object;
	if (rc == 0)
		rc = add_rules(j, &o->split, report_rules_add_split, e);
	if (rc == 0)
		rc = add_rules(j, &o->hide, report_rules_add_hide, e);
	if (rc == 0)
		rc = add_rules(j, &o->only, report_rules_add_only, e);
	return rc;
}

static int make_limits(struct job *j, struct err *e)
{
	const struct options *o = j->options;
	uint64_t depth = UINT32_MAX;
	int rc = parse_number("top", o->top, UINT32_MAX, &j->top, e);

	if (rc == 0)
		rc = parse_number("max-depth", o->max_depth, UINT32_MAX, &depth, e);
	if (rc == 0)
		rc = parse_number("threads", o->threads, MAX_THREADS, &j->nr_threads, e);
	if (rc == 0)
		rc = parse_percent("min-percent", o->min_percent, &j->min_percent, e);
	if (rc == 0)
		rc = parse_percent("fail-over", o->fail_over, &j->fail_over, e);
	j->max_depth = (uint32_t)depth;
	return rc;
}

int job_init(struct job *j, const struct options *options, struct err *e)
{
	int rc;

	*j = (struct job){.options = options,
			  .top = UINT64_MAX,
			  .min_percent = -1,
			  .fail_over = -1,
			  .out_fd = -1};
	buf_init(&j->out, MAX_OUT_BYTES);
	buf_init(&j->kallsyms, MAX_KALLSYMS_BYTES);
	buf_init(&j->unread, MAX_UNREAD_BYTES);
	arena_init(&j->columns, MAX_COLUMNS_BYTES);
	rc = make_filter(j, e);
	if (rc == 0)
		rc = make_rules(j, e);
	return rc ? rc : make_limits(j, e);
}

static void opened_fini(struct opened *o)
{
	symbols_free(o->symbols);
	profile_processes_free(o->processes);
	profile_session_close(o->session);
	import_close(o->import);
	cpsession_fini(&o->manifest);
	spec_fini(&o->spec);
	mem_free(o->config_name);
}

void job_fini(struct job *j)
{
	for (size_t i = 0; i < j->nr_sessions + j->nr_diff; i++)
		opened_fini(&j->sessions[i]);
	mem_free(j->sessions);
	elf_finder_free(j->finder);
	elf_file_close(j->vdso);
	report_functions_free(j->functions);
	report_rules_fini(&j->rules);
	buf_fini(&j->out);
	perf_data_end_reading(j);
	buf_fini(&j->kallsyms);
	buf_fini(&j->unread);
	index_fini(&j->told);
	arena_fini(&j->columns);
}

static bool is_same_problem(const void *arg, const void *key, uint32_t number)
{
	(void)arg;
	(void)key;
	(void)number;
	return true; /* as far as a hash tells */
}

/* Files are read once for each report, and are as damaged as before. */
static bool was_told(struct job *j, const struct err *problem)
{
	uint32_t hash = index_hash(index_hash(0, problem->source, strlen(problem->source)),
				   problem->msg, strlen(problem->msg));

	if (index_find(&j->told, hash, is_same_problem, NULL, NULL) != INDEX_NONE)
		return true;
	(void)index_add(&j->told, hash, 0); /* without memory it is told again */
	return false;
}

static void note_unread(struct job *j, const struct err *problem)
{
	if (j->nr_unread++ < MAX_UNREAD) {
		buf_printf(&j->unread, "not all could be read: %s%s%s", problem->source,
			   *problem->source ? ": " : "", problem->msg);
		buf_addc(&j->unread, '\0');
	} else if (j->nr_unread == MAX_UNREAD + 1) {
		buf_adds(&j->unread, "not all could be read: there is more than is told here");
		buf_addc(&j->unread, '\0');
	}
}

void job_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct job *j = arg;

	j->lost |= is_loss;
	if (was_told(j, problem))
		return;
	if (is_loss)
		note_unread(j, problem);
	if (j->tell)
		j->tell(j->tell_arg, problem);
	else
		log_err(is_loss ? LOG_ERROR : LOG_WARNING, problem);
}

/* Who reads another's numbers should know it. */
static void tell_owner(struct job *j, const struct opened *o, uint32_t uid)
{
	struct err e = {0};

	if (uid == geteuid() || uid == 0)
		return;
	err_set_at(&e, -EPERM, o->path, 0, 0,
		   "belongs to another user (uid %u), who could write anything there", uid);
	job_problem(j, false, &e);
}

static int open_manifest(struct job *j, const struct opened *o)
{
	struct err e = {0};
	struct stat st;
	int fd = io_open_input(o->path, &e);

	if (fd < 0)
		log_err(LOG_ERROR, &e);
	else if (sys()->fstatat(fd, "", &st, AT_EMPTY_PATH) == 0)
		tell_owner(j, o, st.st_uid);
	return fd;
}

static int load_manifest(struct job *j, struct opened *o)
{
	static struct err_list errs; /* too large for a stack */
	IO_AUTO_FD int fd = open_manifest(j, o);
	int rc;

	if (fd < 0)
		return fd;
	errs.nr = errs.dropped = 0;
	rc = cpsession_load_fd(fd, o->path, &o->manifest, &errs);
	for (size_t i = 0; i < errs.nr; i++)
		log_err(LOG_ERROR, &errs.item[i]);
	if (rc)
		return rc;
	o->config_name = mem_strdup(o->manifest.config_name);
	if (!o->config_name) {
		log_error("out of memory");
		return -ENOMEM;
	}
	str_disarm(o->config_name);
	return 0;
}

/* Those of the spec that the traces hold; without them the events are printed all the same. */
static void load_metrics(struct job *j, struct opened *o)
{
	static struct err_list errs; /* too large for a stack */

	errs.nr = errs.dropped = 0;
	if (!o->facts->info ||
	    !spec_parse_metrics(o->facts->info->spec_json, o->facts->nr_events, &o->spec, &errs))
		return;
	for (size_t i = 0; i < errs.nr; i++)
		job_problem(j, true, &errs.item[i]);
}

static int open_session(struct job *j, struct opened *o, struct err *e)
{
	struct profile_manifest m;
	int rc;

	if (o->is_perf_data) {
		rc = perf_data_open(j, o, e);
		if (rc == 0)
			tell_owner(j, o, import_facts(o->import)->uid);
		return rc;
	}
	rc = load_manifest(j, o);
	if (rc)
		return rc;
	m = (struct profile_manifest){
	    .path = o->path,
	    .output_path_prefix = o->manifest.output_path_prefix,
	    .num_iterations = o->manifest.num_iterations,
	    .num_traces = o->manifest.num_traces,
	    .session_id = o->manifest.session_id,
	    .is_recording = *o->manifest.state != '\0',
	};
	rc = profile_session_open(&m, job_problem, j, &o->session, e);
	if (rc)
		return rc;
	o->facts = profile_session_facts(o->session);
	load_metrics(j, o);
	return 0;
}

/* What is there twice is no more evidence than once, and no difference. */
static int check_is_new(const struct job *j, size_t i, struct err *e)
{
	const struct opened *o = &j->sessions[i];
	const struct trace_head *head = &o->facts->head;

	for (size_t k = 0; k < i; k++) {
		const struct opened *other = &j->sessions[k];

		if (memcmp(other->facts->head.session_id, head->session_id,
			   sizeof(head->session_id)) != 0)
			continue;
		err_set_at(e, -EINVAL, o->path, 0, 0, "is the same session as %s", other->path);
		err_hint(e, "give each session once: runs that are added up or compared are "
			    "recorded by themselves");
		return -EINVAL;
	}
	return 0;
}

/* Those to print, then those to compare with, which may be either. */
static void name_inputs(struct job *j)
{
	const struct options *o = j->options;
	const struct opt_strings *lists[] = {&o->sessions, &o->perf_data, &o->diff};
	size_t nr = 0;

	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		for (size_t i = 0; i < lists[k]->nr; i++) {
			struct opened *s = &j->sessions[nr++];

			s->path = lists[k]->item[i];
			s->is_perf_data = lists[k] == &o->perf_data ||
					  (lists[k] == &o->diff && import_is_perf_data(s->path));
			cpsession_init(&s->manifest);
			spec_init(&s->spec);
		}
	}
	j->nr_sessions = o->sessions.nr + o->perf_data.nr;
	j->nr_diff = o->diff.nr;
}

int job_open(struct job *j, struct err *e)
{
	const struct options *o = j->options;
	size_t nr = o->sessions.nr + o->perf_data.nr + o->diff.nr;
	int rc = 0;

	j->sessions = mem_calloc(nr, sizeof(*j->sessions));
	if (!j->sessions)
		return err_set(e, -ENOMEM, "out of memory");
	name_inputs(j);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		rc = open_session(j, &j->sessions[i], e);
		if (rc == 0)
			rc = check_is_new(j, i, e);
	}
	return rc;
}

static void take_warning(void *arg, const struct err *problem)
{
	(void)arg;
	log_err(LOG_WARNING, problem);
}

static int take_kallsyms(void *arg, const char *text, size_t len)
{
	buf_add(arg, text, len);
	return buf_error(arg);
}

/* True if the trace is of this machine since its last boot. */
static bool is_same_boot(const struct trace_head *head)
{
	char id[40], hex[33];
	size_t at = 0;

	if (root_load_line(&root_live, "/proc/sys/kernel/random/boot_id", id, sizeof(id)))
		return false;
	for (const char *p = id; *p; p++)
		if (*p != '-')
			id[at++] = *p;
	id[at] = '\0';
	str_hex16(head->boot_id, hex);
	return strcmp(id, hex) == 0;
}

static int make_symbols(struct job *j, struct opened *o, const struct buf *kallsyms, struct err *e)
{
	const struct symbols_config config = {
	    .finder = j->finder,
	    .processes = o->processes,
	    .with_inlined = j->options->inlined,
	    .is_same_boot = o->is_same_boot,
	    .vdso = o->vdso,
	    .problem = take_warning,
	    .arg = j,
	};
	int rc = symbols_new(&config, &o->symbols);

	if (rc == 0 && o->import && !j->options->kallsyms)
		return perf_data_add_kernel(j, o);
	if (rc == 0 && j->options->kallsyms)
		return symbols_load_kallsyms(o->symbols, j->options->kallsyms, e);
	return rc ? rc : symbols_add_kallsyms(o->symbols, buf_str(kallsyms), kallsyms->len);
}

/* What the filter's times, and those of exports, count from. */
static int know_start(struct job *j, struct opened *o)
{
	struct profile_merged *m;
	int rc;

	if (!j->filter.from_ns && !j->filter.to_ns && !j->is_export)
		return 0;
	rc = profile_merged_open(o->session, job_problem, j, &m);
	if (rc)
		return rc;
	o->start_ns = profile_merged_start_ns(m);
	profile_merged_close(m);
	return 0;
}

static int know_names_of(struct job *j, struct opened *o, struct err *e)
{
	struct buf kallsyms;
	int rc;

	o->is_same_boot = o->import ? perf_data_is_same_boot(j, o) : is_same_boot(&o->facts->head);
	o->vdso = o->is_same_boot ? j->vdso : NULL;
	buf_init(&kallsyms, MAX_KALLSYMS_BYTES);
	rc = profile_processes_load(o->session, take_kallsyms, &kallsyms, &o->processes);
	if (rc == 0)
		rc = make_symbols(j, o, &kallsyms, e);
	if (rc == 0)
		rc = know_start(j, o);
	buf_fini(&kallsyms);
	return rc;
}

int job_know_names(struct job *j, struct err *e)
{
	const struct options *o = j->options;
	const struct elf_finder_config config = {
	    .sysroot = o->sysroot,
	    .debug_dirs = o->debug_dirs.item,
	    .nr_debug_dirs = o->debug_dirs.nr,
	    .use_debuginfod = o->debuginfod,
	    .problem = take_warning,
	    .arg = j,
	};
	int rc = 0;

	if (j->functions)
		return 0;
	rc = elf_finder_check(&config, e);
	if (rc)
		return rc;
	j->vdso = elf_vdso_open();
	rc = elf_finder_new(&config, &j->finder);
	for (size_t i = 0; i < j->nr_sessions + j->nr_diff && rc == 0; i++)
		rc = know_names_of(j, &j->sessions[i], e);
	if (rc == 0)
		j->functions = report_functions_new(&j->rules);
	if (rc == 0 && !j->functions)
		rc = -ENOMEM;
	return rc ? err_set(e, rc, "names cannot be had: %s", strerror(-rc)) : 0;
}

int job_write(struct job *j, struct err *e)
{
	int rc = buf_error(&j->out);

	if (rc == 0)
		rc = io_write_full(j->out_fd, j->out.data, j->out.len);
	buf_reset(&j->out);
	return rc ? err_set_at(e, rc, j->out_name, 0, 0, "cannot be written: %s", strerror(-rc))
		  : 0;
}

int job_flush(struct job *j, struct err *e)
{
	return j->out.len >= FLUSH_BYTES ? job_write(j, e) : 0;
}

/* A line on the terminal behind standard error, once it takes a second. */
static void show_progress(void *arg, uint64_t bytes)
{
	static const char bar[] = "########################################",
			  space[] = "                                        ";
	enum { BAR_WIDTH = sizeof(bar) - 1 };
	struct job *j = arg;
	uint64_t now_ns = clock_monotonic_ns(), done = j->read_bytes + bytes;
	double part = j->all_bytes ? (double)done / (double)j->all_bytes : 1;
	char line[128];
	int len, full = (int)(BAR_WIDTH * (part < 1 ? part : 1));

	if (now_ns - j->started_ns < PROGRESS_AFTER_NS || !isatty(STDERR_FILENO))
		return;
	len = snprintf(line, sizeof(line), "\r[%.*s%.*s] %3.0f %% of %.1f GB\033[K", full, bar,
		       BAR_WIDTH - full, space, 100 * part, (double)j->all_bytes / 1e9);
	if (len > 0)
		io_write_full(STDERR_FILENO, line, (size_t)len);
	j->has_progress = true;
}

static void end_progress(struct job *j)
{
	static const char clear[] = "\r\033[K";

	if (j->has_progress)
		io_write_full(STDERR_FILENO, clear, sizeof(clear) - 1);
	j->has_progress = false;
}

static uint64_t nr_samples(const struct report_event_stats *s)
{
	return s->taken.samples + s->left.samples;
}

/* For people it stands above the rows. */
static void warn_missing(struct job *j, const struct trace_event *events,
			 const struct report_stats *stats)
{
	struct buf b;

	buf_init(&b, MAX_MISSING_BYTES);
	for (uint32_t i = 0; i < stats->nr_events; i++) {
		struct err problem = {0};

		buf_reset(&b);
		missing_add(&b, stats, i);
		if (!b.len || !nr_samples(&stats->event[i]))
			continue;
		err_set(&problem, -EAGAIN, "%s: samples: %s", events[i].label,
			buf_str(&b) + sizeof("; ") - 1);
		job_problem(j, false, &problem);
	}
	buf_fini(&b);
}

static void end_reading(struct job *j, size_t first, const struct report_stats *stats)
{
	end_progress(j);
	for (size_t i = 0; i < stats->nr_events && stats->event; i++)
		j->nr_records += nr_samples(&stats->event[i]);
	if (stats->event && j->form != GRID_PEOPLE)
		warn_missing(j, j->sessions[first].facts->events, stats);
}

/* A report of nothing but [unknown] should not pass for one. */
static void tell_unmapped(struct job *j, const struct opened *o, uint64_t nr_user,
			  uint64_t nr_unmapped)
{
	enum { MIN_SAMPLES = 100 };
	struct err e = {0};

	if (nr_user < MIN_SAMPLES || nr_unmapped <= nr_user / 2)
		return;
	err_set_at(&e, -ENODATA, o->path, 0, 0,
		   "%" PRIu64 " of %" PRIu64 " samples of processes lie in no mapping that was "
		   "recorded: they have no name",
		   nr_unmapped, nr_user);
	err_hint(
	    &e, "%s",
	    o->import
		? "perf that ran beside a listener that asked for build-ids (cpuperf before "
		  "this was mended, perf record --buildid-mmap) lost its mappings: record again"
		: "what was mapped before the session was not surveyed, or records were "
		  "lost: the session's notes say so");
	job_problem(j, false, &e);
}

int job_read_samples(struct job *j, size_t first, size_t nr, const struct report_sink *sink,
		     struct report_stats *stats, struct err *e)
{
	const struct report_run run = {
	    .filter = &j->filter,
	    .functions = j->functions,
	    .sink = sink,
	    .nr_threads = (unsigned)j->nr_threads,
	    .with_inlined = j->options->inlined,
	    .problem = job_problem,
	    .progress = show_progress,
	    .arg = j,
	};
	int rc = 0;

	j->started_ns = clock_monotonic_ns();
	j->all_bytes = j->read_bytes = 0;
	for (size_t i = first; i < first + nr; i++)
		j->all_bytes += profile_session_bytes(j->sessions[i].session);
	*stats = (struct report_stats){.nr_events = j->sessions[first].facts->nr_events};
	stats->event = mem_calloc(stats->nr_events + 1, sizeof(*stats->event));
	if (!stats->event)
		rc = -ENOMEM;
	for (size_t i = first; i < first + nr && rc == 0; i++) {
		const struct opened *o = &j->sessions[i];
		const struct report_input input = {.session = o->session,
						   .processes = o->processes,
						   .symbols = o->symbols,
						   .finder = j->finder,
						   .vdso = o->vdso,
						   .number = (uint32_t)i,
						   .start_ns = o->start_ns};

		const uint64_t nr_user = stats->nr_user, nr_unmapped = stats->nr_unmapped;

		rc = report_engine_read(&run, &input, stats);
		j->read_bytes = stats->bytes;
		tell_unmapped(j, o, stats->nr_user - nr_user, stats->nr_unmapped - nr_unmapped);
	}
	end_reading(j, first, stats);
	return rc ? err_set(e, rc, "samples cannot be read: %s", strerror(-rc)) : 0;
}

int job_check_samples(const struct job *j, const char *report, struct err *e)
{
	for (size_t i = 0; i < j->nr_sessions + j->nr_diff; i++) {
		const struct profile_facts *f = j->sessions[i].facts;

		if (f->is_sampling || !f->nr_events)
			continue;
		err_set_at(e, -EINVAL, j->sessions[i].path, 0, 0,
			   "has counts only: nothing was sampled for --%s=%s",
			   j->is_export ? "output-format" : "report", report);
		err_hint(e, "%s; events with a rate or a frequency are sampled",
			 j->is_export ? "html, sqlite, perfetto, chrome and openmetrics take counts"
				      : "--report=summary and --report=series show counts");
		return -EINVAL;
	}
	return 0;
}

static bool is_same_event(const struct trace_event *a, const struct trace_event *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->label, b->label) == 0 && a->rate == b->rate &&
	       a->frequency == b->frequency;
}

int job_check_same_events(const struct job *j, struct err *e)
{
	const struct profile_facts *a = j->sessions[0].facts;

	for (size_t i = 1; i < j->nr_sessions + j->nr_diff; i++) {
		const struct profile_facts *b = j->sessions[i].facts;
		size_t same = 0;

		while (same < a->nr_events && same < b->nr_events &&
		       is_same_event(&a->events[same], &b->events[same]))
			same++;
		if (same == a->nr_events && same == b->nr_events)
			continue;
		err_set_at(e, -EINVAL, j->sessions[i].path, 0, 0,
			   "did not measure what %s did: event %zu is another, or has another rate",
			   j->sessions[0].path, same + 1);
		err_hint(e, "sessions are added up, and compared, if their specs are the same; "
			    "--by-session prints each by itself");
		return -EINVAL;
	}
	return 0;
}
