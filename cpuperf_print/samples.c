/*
 * Reading of samples, with progress on the terminal.
 */
#include "samples.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "numbers.h"
#include "pool.h"
#include "profile/samples.h"
#include "registry.h"
#include "report/functions.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CLEARLY_SHORT_PERCENT = 98,
	NOTABLY_SHORT_PERCENT = 90,
	CLEARLY_LONG_PERCENT = 110,
	MAX_MISSING_BYTES = 4096,
	MAX_STACKS_BYTES = 4096,
	PROGRESS_AFTER_NS = 1000000000
};

/* Records that a ring reports as lost, less those that the kernel counted for an event: they may be
 * of any event. */
static uint64_t nr_lost_of_unknown(const struct report_stats *stats)
{
	uint64_t nr = stats->nr_lost;

	for (uint32_t i = 0; i < stats->nr_events; i++) {
		uint64_t known = stats->event[i].sampled.n.lost;

		if (known != SAMPLED_UNKNOWN)
			nr -= known < nr ? known : nr;
	}
	return nr;
}

/* With a frequency, the kernel may store with a sample a period that is not the number of its
 * events, and the sum exceeds the count. Two periods may be chance. expected has whole periods
 * only, of each iteration: of a long period most of the count may be missing from it. */
static bool is_overstated(const struct sampled *s)
{
	uint64_t more = s->received > s->expected ? s->received - s->expected : 0,
		 beyond = s->residual < 0 ? -(uint64_t)s->residual : 0;

	more = beyond < more ? beyond : more;
	return sampled_coverage(s) >= 0 && s->n.samples &&
	       more > 2 * (s->n.weight / s->n.samples) &&
	       100 * (double)s->received > CLEARLY_LONG_PERCENT * (double)s->expected;
}

bool samples_are_selected(const struct job *j, uint32_t event)
{
	const struct trace_event *ev = job_event(j, event);
	struct trace_layout layout;

	return ev->attr && trace_layout_init(&layout, ev->attr, ev->attr_bytes) &&
	       layout.is_selected;
}

bool samples_is_wait(const struct trace_event *e)
{
	return strcmp(e->group, "sched") == 0 && strcmp(e->unit, "ns") == 0;
}

bool samples_are_added_up(const struct trace_event *e)
{
	struct trace_layout layout;

	return trace_layout_init(&layout, e->attr, e->attr_bytes) && layout.is_heap;
}

/* Nanoseconds. 0 if chance explains it, or if they are little of the event. */
static double notable_rest(const struct report_rest *r, const struct sampled *of, double rate)
{
	double rest = (double)r->ns, all = (double)r->weight + rest;

	return rest > 0.02 * ((double)of->n.weight + rest) && rest > 4 * sqrt(all * rate) ? rest
											  : 0;
}

/* Of waits that last beyond the end: they are counted, but sampled when they end. Where states are
 * added up, stats has the sums of all under one event. */
static double lasting_ns(const struct job *j, const struct report_stats *stats, uint32_t event)
{
	const struct profile_facts *f = job_input(j)->facts;
	const struct report_event_stats *s = &stats->event[event];
	double rate = 0;

	for (uint32_t i = 0; i < f->nr_events; i++)
		if (samples_is_wait(&f->events[i]) &&
		    report_states_event(f, &j->selection->filter, i, j->sum) == event)
			rate = fmax(rate, (double)f->events[i].rate);
	if (rate > 0 && s->counted.weight) /* where samples stand for others, too */
		rate = fmax(rate, s->counted.squares / (double)s->counted.weight);
	return rate > 0 ? notable_rest(&s->lasting, &s->sampled, rate) : 0;
}

/* A sum of states lacks the time on CPU in a mode that the user may not sample, or did not ask
 * for. */
static double excluded_ns(const struct job *j, const struct report_stats *stats, uint32_t event,
			  const char **mode)
{
	const struct profile_facts *f = job_input(j)->facts;
	const struct report_event_stats *s = &stats->event[event];
	struct trace_layout layout;
	double rate = 0;

	*mode = "";
	for (uint32_t i = 0; i < f->nr_events && j->sum; i++) {
		const struct trace_event *e = &f->events[i];

		if (samples_is_wait(e) || strcmp(e->unit, "ns") != 0 || (!e->rate && !e->frequency))
			continue;
		rate = fmax(rate, e->rate ? (double)e->rate : 1e9 / (double)e->frequency);
		if (trace_layout_init(&layout, e->attr, e->attr_bytes))
			*mode = layout.excludes_kernel ? "the kernel" : "modes not asked for";
	}
	rate *= stats->divisor > 1 ? stats->divisor : 1;
	return rate > 0 ? notable_rest(&s->excluded, &s->sampled, rate) : 0;
}

/* Of a sum of states the clock's samples are compared alone: what they miss may be little of it, if
 * it is not much of the time on CPU. */
static bool is_little(const struct job *j, const struct report_event_stats *s)
{
	double missing = (double)s->sampled.expected - (double)s->sampled.received;
	double all = (double)s->counted.weight + (double)s->omitted.weight + missing;

	return j->sum == REPORT_SUM_STATES &&
	       100 * (all - missing) >= CLEARLY_SHORT_PERCENT * all &&
	       100 * sampled_coverage(&s->sampled) >= NOTABLY_SHORT_PERCENT;
}

bool samples_lack_places(const struct report_event_stats *s)
{
	return 100 * (double)s->unsampled_ns >
	       (100 - CLEARLY_SHORT_PERCENT) *
		   ((double)s->counted.weight + (double)s->omitted.weight);
}

uint64_t samples_nr(const struct report_event_stats *s, const struct report_weight *w)
{
	return s->unsampled_ns ? w->random : w->samples;
}

bool samples_are_of_states(const struct job *j, uint32_t event)
{
	const struct profile_facts *f = job_input(j)->facts;

	for (uint32_t i = 0; i < f->nr_events && j->sum == REPORT_SUM_STATES; i++)
		if (i != event && report_states_event(f, &j->selection->filter, i, j->sum) == event)
			return true;
	return false;
}

static uint64_t nr_of_all(const struct report_event_stats *s)
{
	return s->counted.samples + s->omitted.samples + s->idle.samples;
}

bool samples_add_missing(const struct job *j, struct buf *b, const char *before,
			 const struct report_stats *stats, uint32_t event)
{
	const struct report_event_stats *s = &stats->event[event];
	double coverage = sampled_coverage(&s->sampled);
	const char *separator = before, *mode;
	const double lasting = lasting_ns(j, stats, event),
		     excluded = excluded_ns(j, stats, event, &mode);
	size_t start = b->len, first = start;
	const struct {
		uint64_t nr;
		const char *what;
	} lost[] = {{s->sampled.n.lost == SAMPLED_UNKNOWN ? 0 : s->sampled.n.lost, "sample"},
		    {nr_lost_of_unknown(stats), "record"}};

	if (stats->held_ns && nr_of_all(s)) {
		buf_printf(b, "%sof the last %s before a snapshot", separator,
			   HUMAN((double)stats->held_ns, "ns"));
		separator = ", ";
		start = b->len;
	}
	if (samples_lack_places(s)) {
		buf_printf(b, "%s%s on CPU without a sample", separator,
			   HUMAN((double)s->unsampled_ns, "ns"));
		separator = ", ";
		start = b->len; /* it is among the rows */
	}
	if (!s->unsampled_ns && s->is_short && coverage >= 0 &&
	    100 * coverage < CLEARLY_SHORT_PERCENT && !is_little(j, s)) {
		buf_printf(b, "%s%s %% of the expected samples%s", separator,
			   DECIMAL(100 * coverage, 1),
			   j->sum == REPORT_SUM_STATES ? " on CPU" : "");
		separator = ", ";
	}
	if (is_overstated(&s->sampled) && !samples_are_selected(j, event)) {
		buf_printf(
		    b, "%speriods add up to %s %% of the count", separator,
		    DECIMAL(100 * (double)s->sampled.received / (double)s->sampled.expected, 1));
		separator = ", ";
	}
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		if (!lost[i].nr)
			continue;
		buf_printf(b, "%s%s %s%s lost", separator, COMMAS(lost[i].nr), lost[i].what,
			   lost[i].nr == 1 ? " was" : "s were");
		separator = ", ";
	}
	if (lasting > 0) {
		buf_printf(b, "%s%s of waits%s have no sample", separator, HUMAN(lasting, "ns"),
			   lost[0].nr ? " that had not ended, or whose samples were lost,"
				      : " that had not ended");
		separator = ", ";
	}
	if (excluded > 0 && !s->unsampled_ns) {
		buf_printf(b, "%s%s on CPU in %s were not sampled", separator,
			   HUMAN(excluded, "ns"), mode);
		separator = ", ";
	}
	if (s->sampled.n.throttled) {
		buf_printf(b, "%spaused %" PRIu64 " %s by the kernel", separator,
			   s->sampled.n.throttled,
			   str_plural(s->sampled.n.throttled, "time", "times"));
	}
	if (b->len == start)
		return start != first;
	buf_adds(b, ": shares may be wrong");
	return true;
}

bool samples_miss_short_tasks(const struct job *j, const struct report_stats *stats, uint32_t event)
{
	enum { MANY_PERCENT = 90, SHORTEST_NS = 100000, MAX_HZ = 1000000000 / SHORTEST_NS };
	const struct report_event_stats *s = &stats->event[event];
	const struct trace_event *ev = job_event(j, event);
	/* hardly a task is shorter than such a period: the kernel's timers are late */
	bool is_fast = ev->frequency > MAX_HZ ||
		       (strcmp(ev->unit, "ns") == 0 && ev->rate && ev->rate < SHORTEST_NS);
	double coverage = sampled_coverage(&s->sampled);
	struct trace_layout layout;

	return !job_input(j)->import && !is_fast && s->is_short && !s->unsampled_ns &&
	       coverage >= 0 && 100 * coverage < MANY_PERCENT && !s->sampled.n.throttled &&
	       !stats->nr_lost && (!s->sampled.n.lost || s->sampled.n.lost == SAMPLED_UNKNOWN) &&
	       trace_layout_init(&layout, ev->attr, ev->attr_bytes) && layout.is_inherited &&
	       !layout.is_selected;
}

/* What brings more if the remedy was applied already: stack bytes, or as many as there can be. */
static const char *const second_remedies[REPORT_NR_ENDS] = {
    [REPORT_END_POINTERS] = "programs and libraries built with -fno-omit-frame-pointer",
    [REPORT_END_BYTES] = ("programs and libraries built with -fno-omit-frame-pointer, "
			  "sysctl kernel.perf_event_max_stack=1024 before recording"),
};
/* What to record instead, of sessions and of perf.data. NULL: nothing helps. */
static const struct {
	const char *session, *import;
} remedies[REPORT_NR_ENDS] = {
    [REPORT_END_LIMIT] = {"sysctl kernel.perf_event_max_stack=1024 before recording",
			  "sysctl kernel.perf_event_max_stack=1024 before recording"},
    [REPORT_END_POINTERS] = {"-g, or programs and libraries built with -fno-omit-frame-pointer",
			     "perf record --call-graph=dwarf, or programs and libraries built with "
			     "-fno-omit-frame-pointer"},
    [REPORT_END_PIECE] = {"-g, or \"stack_bytes\": 16384", "perf record --call-graph=dwarf"},
    [REPORT_END_BYTES] = {"\"stack_bytes\": 65528 in the spec",
			  "perf record --call-graph=dwarf,65528"},
    [REPORT_END_TABLE] = {"programs built with -fasynchronous-unwind-tables",
			  "programs built with -fasynchronous-unwind-tables"},
};

/* Of programs whose functions are made at run time: they are built by nobody. comm: how the name of
 * the process begins. */
static const struct {
	const char *comm, *remedy;
	enum report_end end;
} of_runtimes[] = {
    {"java", "java -XX:+PreserveFramePointer", REPORT_END_POINTERS},
    {"java", "java -XX:+PreserveFramePointer, and -g=fp", REPORT_END_TABLE},
    {"java", "java -XX:+PreserveFramePointer, and -g=fp", REPORT_END_UNPROVEN},
    {"node", "-g=fp: code that node makes has frame pointers", REPORT_END_TABLE},
    {"dotnet", "-g=fp: code that dotnet makes has frame pointers", REPORT_END_TABLE},
    {"python", "a Python built with -fno-omit-frame-pointer", REPORT_END_POINTERS},
    {"python", "a Python built with -fno-omit-frame-pointer", REPORT_END_TABLE},
};

/* At least 1 %. */
static bool is_notable(uint64_t nr, uint64_t all)
{
	return nr && 100 * nr >= all;
}

/* Most incomplete stacks first. */
static int compare_programs(const void *a, const void *b)
{
	const struct report_program *const *x = a, *const *y = b;

	return order_u64(report_program_incomplete(*y), report_program_incomplete(*x))
		   ?: order_u64((*x)->comm, (*y)->comm);
}

static void add_ends(struct buf *b, const struct report_program *p)
{
	uint64_t all = report_program_all(p);
	const char *separator = "";

	for (enum report_end end = REPORT_END_WHOLE + 1; end < REPORT_NR_ENDS; end++) {
		if (!is_notable(p->nr[end], report_program_incomplete(p)))
			continue;
		buf_printf(b, "%s%s %% %s", separator,
			   DECIMAL(100 * (double)p->nr[end] / (double)all, 1),
			   report_end_name(end));
		separator = ", ";
	}
	buf_printf(b, " (of %s)", COMMAS(all));
}

static void put_programs(const struct job *j, const struct report_program **list, size_t nr,
			 samples_line_fn *line, void *arg)
{
	const size_t nr_shown = j->selection->rows ? 1 : 5;
	struct report_program rest = {0};
	BUF_AUTO(b, MAX_STACKS_BYTES);

	for (size_t i = 0; i < nr; i++) {
		if (i >= nr_shown) {
			for (int end = 0; end < REPORT_NR_ENDS; end++)
				rest.nr[end] += list[i]->nr[end];
			continue;
		}
		buf_reset(&b);
		buf_printf(&b, "incomplete stacks of %s: ",
			   report_functions_text(j->inputs->functions, list[i]->comm));
		add_ends(&b, list[i]);
		line(arg, buf_str(&b));
	}
	if (nr > nr_shown && !job_is_tight(j)) { /* there the tables need the lines */
		buf_reset(&b);
		buf_printf(&b, "incomplete stacks of %zu more %s: ", nr - nr_shown,
			   str_plural(nr - nr_shown, "program", "programs"));
		add_ends(&b, &rest);
		line(arg, buf_str(&b));
	}
}

/* Of the program with the most of such stacks; NULL: it is one that is built. */
static const char *remedy_of_runtime(const struct job *j, const struct report_program **list,
				     size_t nr, enum report_end end)
{
	const struct report_program *most = list[0];
	const char *comm;

	for (size_t i = 1; i < nr; i++)
		most = list[i]->nr[end] > most->nr[end] ? list[i] : most;
	comm = report_functions_text(j->inputs->functions, most->comm);
	for (size_t i = 0; i < ARRAY_NR(of_runtimes); i++)
		if (of_runtimes[i].end == end &&
		    strncmp(comm, of_runtimes[i].comm, strlen(of_runtimes[i].comm)) == 0)
			return of_runtimes[i].remedy;
	return NULL;
}

/* Whether an event copies as much of stacks as the kernel can. */
static bool has_all_bytes(const struct trace_event *ev)
{
	enum { MOST = 65528 };
	struct perf_event_attr attr = {.size = 0};

	if (ev->attr_bytes) /* an event of perf_event */
		memcpy(&attr, ev->attr,
		       ev->attr_bytes < sizeof(attr) ? ev->attr_bytes : sizeof(attr));
	return attr.sample_type & PERF_SAMPLE_STACK_USER && attr.sample_stack_user >= MOST;
}

static void put_remedies(const struct job *j, const struct report_program **list, size_t nr,
			 uint64_t all, samples_line_fn *line, void *arg)
{
	bool has[REPORT_NR_ENDS] = {false}; /* what the remedy would bring */
	char text[256];

	for (uint32_t i = 0; i < job_input(j)->facts->nr_events; i++) {
		has[REPORT_END_POINTERS] |= !!(job_event(j, i)->flags & TRACE_EVENT_USER_STACK);
		has[REPORT_END_BYTES] |= has_all_bytes(job_event(j, i));
	}
	for (int end = 0; end < REPORT_NR_ENDS; end++) {
		const char *remedy = has[end]               ? second_remedies[end]
				     : job_input(j)->import ? remedies[end].import
							    : remedies[end].session;
		uint64_t nr_stacks = 0;

		remedy = remedy_of_runtime(j, list, nr, end) ?: remedy;
		for (size_t i = 0; i < nr; i++)
			nr_stacks += list[i]->nr[end];
		if (!is_notable(nr_stacks, all) || !remedy)
			continue;
		snprintf(text, sizeof(text), "remedy for stacks %s: %s", report_end_name(end),
			 remedy);
		if (j->selection->rows && screen_width(text) > job_columns(j))
			snprintf(text, sizeof(text), "remedy: %s", remedy);
		line(arg, text);
	}
}

void samples_stack_lines(const struct job *j, const struct report_stats *stats,
			 samples_line_fn *line, void *arg)
{
	const struct dict *programs = &stats->programs;
	const struct report_program **list = mem_calloc(programs->nr + 1, sizeof(*list));
	uint64_t all = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < programs->nr; i++)
		all += report_program_all(dict_at(programs, i));
	for (uint32_t i = 0; i < programs->nr && list; i++) {
		const struct report_program *p = dict_at(programs, i);

		if (is_notable(report_program_incomplete(p), all))
			list[nr++] = p;
	}
	if (nr) {
		qsort(list, nr, sizeof(const struct report_program *), compare_programs);
		put_programs(j, list, nr, line, arg);
		put_remedies(j, list, nr, all, line, arg);
	}
	mem_free(list);
}

/* Progress of reading the inputs. */
struct progress {
	const struct input *input;      /* that is read */
	uint64_t all_bytes, read_bytes; /* of all inputs, and of those read */
	uint64_t started_ns;
	bool is_shown; /* a line is on the terminal */
};

static void on_problem(void *arg, bool is_loss, const struct err *problem)
{
	const struct progress *p = arg;

	input_add_problem(p->input->report, is_loss, problem);
}

/* A line on standard error, after a second, if that is a terminal. */
static void show_progress(void *arg, uint64_t bytes)
{
	static const char bar[] = "########################################",
			  space[] = "                                        ";
	enum { BAR_WIDTH = sizeof(bar) - 1 };
	struct progress *p = arg;
	uint64_t now_ns = clock_monotonic_ns(), done = p->read_bytes + bytes;
	double part = p->all_bytes ? (double)done / (double)p->all_bytes : 1;
	char line[128];
	int len, full = (int)(BAR_WIDTH * (part < 1 ? part : 1));

	if (now_ns - p->started_ns < PROGRESS_AFTER_NS || !isatty(STDERR_FILENO))
		return;
	len = snprintf(line, sizeof(line), "\r[%.*s%.*s] %3.0f %% of %s\033[K", full, bar,
		       BAR_WIDTH - full, space, 100 * part, HUMAN((double)p->all_bytes, "B"));
	if (len > 0)
		io_write_full(STDERR_FILENO, line, (size_t)len);
	p->is_shown = true;
}

static void clear_progress(const struct progress *p)
{
	static const char clear[] = "\r\033[K";

	if (p->is_shown)
		io_write_full(STDERR_FILENO, clear, sizeof(clear) - 1);
}

/* Of a job, if the inputs are of one host: its name. */
static const char *whose(const struct job *j, size_t first, size_t nr, char text[PARTS_NAME_BYTES])
{
	const struct input *o = &j->inputs->item[first];

	if (!o->part || parts_of_host(j->inputs, first, first + nr) != nr)
		return "";
	return nr == 1 ? input_shown(o, text) : input_host(o);
}

/* For csv, ndjson and exports; text has it in headings. */
static void warn_missing(const struct job *j, size_t first, size_t nr,
			 const struct report_stats *stats)
{
	char text[PARTS_NAME_BYTES];
	const char *host = whose(j, first, nr, text);
	BUF_AUTO(b, MAX_MISSING_BYTES);

	for (uint32_t i = 0; i < stats->nr_events; i++) {
		struct err problem = {0};

		buf_reset(&b);
		if (!nr_of_all(&stats->event[i]) || !samples_add_missing(j, &b, "", stats, i))
			continue;
		err_set(&problem, -EAGAIN, "%s%s%s: samples: %s", host, *host ? ": " : "",
			job_event(j, i)->label, buf_str(&b));
		problems_add(&j->output->problems, false, &problem);
	}
}

static void warn_stacks(void *arg, const char *line)
{
	struct err problem = {0};

	err_set(&problem, -EAGAIN, "%s", line);
	problems_add(arg, false, &problem);
}

/* Explains why a report has little but [unknown]. */
static void warn_unmapped(struct output *out, const struct input *o, uint64_t nr_user,
			  uint64_t nr_unmapped)
{
	enum { MIN_SAMPLES = 100 };
	struct err e = {0};

	if (nr_user < MIN_SAMPLES || nr_unmapped <= nr_user / 2)
		return;
	err_set_at(&e, -ENODATA, o->path, 0, 0,
		   "%" PRIu64 " of %" PRIu64 " samples of processes have no name: their mappings "
		   "were not recorded",
		   nr_unmapped, nr_user);
	err_hint(&e, "%s",
		 o->import ? "perf loses mappings while another recorder asks for build-ids (perf "
			     "record --buildid-mmap, older cpuperf): record again"
			   : "mappings from before the session were not surveyed, or records were "
			     "lost: see the session's notes");
	problems_add(&out->problems, false, &e);
}

static bool is_report_of_counts(const struct registry_row *row)
{
	return row->kind == REGISTRY_REPORT && row->samples != REGISTRY_SAMPLES &&
	       row->diff != REGISTRY_DIFF;
}

static bool is_export_of_counts(const struct registry_row *row)
{
	return row->kind == REGISTRY_EXPORT && row->samples != REGISTRY_SAMPLES &&
	       row->diff != REGISTRY_DIFF;
}

int samples_check(const struct job *j, struct err *e)
{
	const bool is_report = j->row->kind == REGISTRY_REPORT;
	char names[REGISTRY_NAMES_BYTES];

	for (size_t i = 0; i < j->inputs->nr + j->inputs->nr_diff; i++) {
		const struct input *o = &j->inputs->item[i];

		if (o->facts->is_sampling || !o->facts->nr_events)
			continue;
		err_set_at(e, -EINVAL, o->path, 0, 0, "has counts only: --%s=%s requires samples",
			   registry_option(j->row), j->row->name);
		err_hint(
		    e, "%s of counts: %s; events with a rate or a frequency are sampled",
		    is_report ? "reports" : "formats",
		    registry_names(names, is_report ? is_report_of_counts : is_export_of_counts));
		return -EINVAL;
	}
	return 0;
}

int samples_load_names(struct job *j, struct err *e)
{
	int rc = j->sum ? inputs_add_states(j->inputs, &j->selection->filter, j->sum, e) : 0;

	return rc ?: inputs_load_names(j->inputs, &j->selection->rules, e);
}

static bool has_callers(const struct trace_event *ev)
{
	struct trace_layout l;

	return ev->attr_bytes && trace_layout_init(&l, ev->attr, ev->attr_bytes) &&
	       l.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER);
}

int samples_warn_stacks(struct job *j, struct err *e)
{
	static const struct report_sink sink = {.parts = REPORT_BY_STACK};
	const struct profile_facts *f = job_input(j)->facts;
	const uint64_t nr_records = j->output->nr_records;
	struct report_stats stats;
	int rc;

	if (!ARRAY_ANY(ev, f->events, f->nr_events, has_callers(ev)))
		return 0;
	rc = samples_read(j, j->first, 1, &sink, &stats, e);
	if (j->output->form == GRID_PEOPLE)
		samples_stack_lines(j, &stats, warn_stacks, &j->output->problems);
	report_stats_fini(&stats);
	j->output->nr_records = nr_records;
	return rc;
}

/* What an export does not say: that options exclude all samples. */
static void warn_none(struct job *j, const struct report_stats *stats)
{
	uint64_t counted = 0, omitted = 0;
	struct err e = {0};

	for (size_t i = 0; i < stats->nr_events; i++) {
		counted += stats->event[i].counted.samples;
		omitted += stats->event[i].omitted.samples;
	}
	if (counted || !omitted)
		return;
	err_set(&e, -ENODATA, "--output-format=%s: no samples: options exclude all %s",
		j->row->name, COMMAS(omitted));
	problems_add(&j->output->problems, false, &e);
}

int samples_read(struct job *j, size_t first, size_t nr, const struct report_sink *sink,
		 struct report_stats *stats, struct err *e)
{
	const struct inputs *in = j->inputs;
	struct progress progress = {.started_ns = clock_monotonic_ns()};
	struct report_run run = {
	    .functions = in->functions,
	    .sink = sink,
	    .nr_threads = j->selection->nr_threads,
	    .with_inlined = j->selection->with_inlined && !j->row->ignores_inline,
	    .with_native = j->selection->with_native,
	    .without_idle = j->is_brief && j->row->omits_idle,
	    .with_wakers = j->selection->with_wakers,
	    .sum = j->sum,
	    .root = j->selection->root,
	    .problem = on_problem,
	    .progress = show_progress,
	    .arg = &progress,
	    .cancel = in->cancel,
	};
	int rc = 0;

	if (report_stats_init(stats, in->item[first].facts->nr_events))
		return err_set(e, -ENOMEM, "samples cannot be read: %s", strerror(ENOMEM));
	for (size_t i = first; i < first + nr; i++)
		progress.all_bytes += profile_session_bytes(in->item[i].session);
	for (size_t i = first; i < first + nr && rc == 0; i++) {
		struct input *o = &in->item[i];
		struct report_input input;
		const uint64_t nr_user = stats->nr_user, nr_unmapped = stats->nr_unmapped;

		progress.input = o;
		rc = inputs_begin_names(j->inputs, o, e);
		if (rc)
			break;
		input = (struct report_input){
		    .session = o->session,
		    .processes = o->processes,
		    .symbols = o->symbols,
		    .finder = in->finder,
		    .vdso = o->vdso,
		    .number = (uint32_t)i,
		    .host = report_functions_text_number(in->functions, input_host(o)),
		    .rank = input_rank(o),
		    .has_own_clocks = !o->import,
		    /* of several jobs only some may want it: the others print what they would alone
		     */
		    .start_ns = o->start_ns};
		run.filter = job_filter(j, o);
		/* waits at futexes are not held: each is an entry */
		rc = in->pool && !(sink->parts & REPORT_BY_FUTEX)
			 ? pool_read(in->pool, &run, &input, stats)
			 : report_engine_read(&run, &input, stats);
		progress.read_bytes = stats->bytes;
		inputs_end_names(j->inputs, o);
		warn_unmapped(j->output, o, stats->nr_user - nr_user,
			      stats->nr_unmapped - nr_unmapped);
	}
	clear_progress(&progress);
	for (size_t i = 0; i < stats->nr_events; i++)
		j->output->nr_records += nr_of_all(&stats->event[i]);
	if (j->row->kind == REGISTRY_EXPORT)
		warn_none(j, stats);
	if (j->output->form != GRID_PEOPLE) {
		warn_missing(j, first, nr, stats);
		samples_stack_lines(j, stats, warn_stacks, &j->output->problems);
	}
	return rc ? err_set(e, rc, "samples cannot be read: %s", strerror(-rc)) : 0;
}

const char *samples_cmdline(const struct job *j, uint32_t number)
{
	const char *text = report_functions_text(j->inputs->functions, number);

	return strcmp(text, "[unknown]") == 0 ? NULL : text;
}
