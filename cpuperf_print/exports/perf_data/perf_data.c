/*
 * A perf.data file for perf script, perf report and other readers. Records are written in order of
 * time, in one layout (export/perf_record.h): each with its event's id and its CPU. Surveyed
 * processes and the kernel's ranges come first, without a time. The format cannot contain misc
 * events.
 */
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "elf/build_id.h"
#include "exports/exports.h"
#include "exports/perf_data/events.h"
#include "exports/perf_data/kernel.h"
#include "exports/perf_data/stacks.h"
#include "import/import.h"
#include "profile/choice.h"
#include "profile/merged.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "report/functions.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_PID = 1 << 22, /* PID_MAX_LIMIT; pids beyond are not marked */
	ROUND_BYTES = 1 << 20,
	ROUND_NS = 100000000,
	MAX_RELEASE_BYTES = 128,
	MAX_KINDS = 32,
};

struct perf_data {
	struct job *j;
	const struct input *opened;
	struct err *e;
	struct events events;
	struct kernel kernel;
	struct stacks stacks;
	struct profile_lookup *lookup; /* owned; used if tasks are selected by name */
	struct profile_choice choice;
	bool *within_region; /* owned; NULL: all are written */
	uint8_t *born;       /* owned; bits: pids whose fork or exec was written */
	uint64_t written;    /* bytes of records, without those in j->output->text */
	uint64_t round_at, round_ns;
	uint64_t start_ns, first_ns, last_ns; /* start of the session; of samples */
	uint64_t monotonic_ns, realtime_ns;
	uint32_t max_cpu;
	uint32_t *seen; /* owned; by trace number: the last iteration plus 1 */
	uint64_t nr_bad;
	uint64_t nr_omitted[MAX_KINDS + 1]; /* by kind; the last: of unknown kinds */
};

/* The first error wins. */
static int no_memory(const struct perf_data *x)
{
	return err_set(x->e, -ENOMEM, "out of memory");
}

static int flush(struct perf_data *x)
{
	size_t len = x->j->output->text.len;
	int rc = output_flush(x->j->output, x->e);

	x->written += len - x->j->output->text.len;
	return rc;
}

static bool is_exec(const struct profile_item *item)
{
	return item->ring == TRACE_RING_SIDE_BAND && item->record.kind == PERF_RECORD_COMM &&
	       item->record.misc & PERF_RECORD_MISC_COMM_EXEC;
}

/* Notes forks and execs. True: the record describes a process from before the session, so it is
 * written first. For later processes and programs the kernel recorded it in time. */
static bool is_before(struct perf_data *x, const struct profile_item *item)
{
	const struct trace_record *r = &item->record;
	bool is_fork = item->ring == TRACE_RING_SIDE_BAND && r->kind == PERF_RECORD_FORK &&
		       r->tid == r->pid && r->ppid != r->pid;

	if ((is_fork || is_exec(item)) && r->pid < MAX_PID)
		x->born[r->pid / 8] |= (uint8_t)(1u << r->pid % 8);
	return item->ring == TRACE_RING_MADE &&
	       !(r->pid < MAX_PID && x->born[r->pid / 8] >> r->pid % 8 & 1);
}

struct member_of {
	const struct profile_trace *trace;
	const struct profile_item *item;
	struct events *events;
	bool is_divided; /* each of the item's events has samples of its own */
};

static uint64_t member(void *arg, uint64_t i)
{
	const struct member_of *of = arg;
	const struct trace_id *id = profile_counted(of->trace->ids, of->trace->nr_ids, of->item, i);

	return id ? events_id(id) : 0;
}

static uint64_t written_count(void *arg, uint64_t id, uint64_t count)
{
	const struct member_of *of = arg;

	if (of->is_divided)
		return events_add(of->events, id,
				  id == events_id(of->item->id) ? of->item->record.period : 0);
	return events_count(of->events, id, count, false);
}

/* Subtracts the counts of a skipped sample, which readers would add to the next sample. */
static void skip_counts(struct perf_data *x, const struct profile_item *item, struct member_of *of)
{
	const struct trace_record *r = &item->record;

	for (uint64_t i = 0; i < r->nr_read && !of->is_divided; i++)
		events_count(&x->events, member(of, i),
			     trace_word(r->read_values, i * r->read_stride), true);
}

static void put(struct perf_data *x, const struct profile_item *item, const struct perf_origin *o)
{
	int rc = perf_record_add(&x->j->output->text, o, item->record.bytes, item->record.len);

	x->nr_bad += rc != 0;
}

/* Kinds of records that readers process without further data. */
static bool is_kept(uint32_t kind)
{
	static const bool kinds[] = {
	    [PERF_RECORD_SAMPLE] = true,
	    [PERF_RECORD_THROTTLE] = true,
	    [PERF_RECORD_UNTHROTTLE] = true,
	    [PERF_RECORD_LOST_SAMPLES] = true,
	    [PERF_RECORD_READ] = true,
	    [PERF_RECORD_MMAP] = true,
	    [PERF_RECORD_LOST] = true,
	    [PERF_RECORD_COMM] = true,
	    [PERF_RECORD_EXIT] = true,
	    [PERF_RECORD_FORK] = true,
	    [PERF_RECORD_MMAP2] = true,
	    [PERF_RECORD_KSYMBOL] = true,
	    [PERF_RECORD_BPF_EVENT] = true,
	    [PERF_RECORD_NAMESPACES] = true,
	    [PERF_RECORD_CGROUP] = true,
	    [PERF_RECORD_SWITCH] = true,
	    [PERF_RECORD_SWITCH_CPU_WIDE] = true,
	};

	return kind < sizeof(kinds) && kinds[kind];
}

/* A deferred callchain was added to its samples when it was read. */
static void omit(struct perf_data *x, uint32_t kind)
{
	if (kind != PERF_ABI_RECORD_CALLCHAIN_DEFERRED)
		x->nr_omitted[kind < MAX_KINDS ? kind : MAX_KINDS]++;
}

static void report_omitted(struct perf_data *x)
{
	for (uint32_t kind = 0; kind <= MAX_KINDS; kind++) {
		const char *name = trace_record_kind_name(kind);
		struct err e = {0};

		if (!x->nr_omitted[kind])
			continue;
		err_set(&e, -ENOTSUP, "records of kind %s are not exported: %" PRIu64,
			name ? name : "unknown", x->nr_omitted[kind]);
		problems_add(&x->j->output->problems, false, &e);
	}
}

static void put_side_band(struct perf_data *x, const struct profile_item *item, bool before)
{
	const struct perf_origin o = {
	    .layout = events_layout(&x->events, item->layout),
	    .id = EVENTS_SIDE_BAND_ID,
	    .cpu = item->cpu == UINT32_MAX ? 0 : item->cpu,
	    .is_before = before,
	};

	if (!is_kept(item->record.kind)) {
		omit(x, item->record.kind);
		return;
	}
	if (x->stacks.has_dumps && is_exec(item))
		perf_record_forget(&x->j->output->text, item->record.pid, item->time_ns, o.cpu,
				   o.id);
	stacks_put_data(&x->stacks, &x->j->output->text, item, &o);
	put(x, item, &o);
}

static int put_before(struct perf_data *x)
{
	struct profile_records *records;
	struct profile_item item;
	int rc = profile_session_common(x->opened->session, true, &records);

	if (rc != 1)
		return rc ? no_memory(x) : 0;
	while ((rc = profile_records_next(records, &item)) == 1) {
		rc = 0;
		if (item.kind == PROFILE_KALLSYMS)
			rc = kernel_take(&x->kernel, item.text, item.text_len);
		else if (item.kind == PROFILE_RECORD && is_before(x, &item))
			put_side_band(x, &item, true);
		rc = rc ?: flush(x);
		if (rc)
			break;
	}
	profile_records_close(records);
	kernel_put(&x->kernel, &x->j->output->text, EVENTS_SIDE_BAND_ID);
	return rc == -ENOMEM ? no_memory(x) : rc;
}

/* The record's CPU, or else its trace's. */
static uint32_t cpu_of(const struct profile_item *item, const struct profile_trace *t)
{
	return item->cpu == UINT32_MAX ? t->head.cpu : item->cpu;
}

static bool is_in_region(const struct perf_data *x, const struct profile_item *item)
{
	const struct profile_processes *p = x->opened->processes;

	return !x->within_region || x->within_region[profile_region_of(
					p, item->record.tid, item->time_ns, item->labels)];
}

static bool is_wanted(const struct perf_data *x, const struct profile_item *item,
		      const struct profile_trace *t)
{
	const struct profile_filter *f = &x->j->selection->filter;
	const struct trace_record *r = &item->record;
	struct profile_task task;

	if (!profile_filter_has_time(f, x->start_ns, item->time_ns) ||
	    !profile_ranges_has(&f->iterations, t->head.iteration) ||
	    !profile_ranges_has(&f->cpus, cpu_of(item, t)) ||
	    !profile_filter_has_event(f, &x->opened->facts->events[item->id->event]))
		return false;
	if (r->kind != PERF_RECORD_SAMPLE)
		return true;
	if (!profile_ranges_has(&f->pids, r->pid) || !profile_ranges_has(&f->tids, r->tid) ||
	    !is_in_region(x, item))
		return false;
	if (!f->comms.nr && !x->choice.has)
		return true;
	profile_lookup_task(x->lookup, r->pid, r->tid, item->time_ns, &task);
	return profile_globs_match(&f->comms, task.comm->name) &&
	       profile_choice_has(&x->choice, task.process);
}

/* perf.data has no groups here: their members are met by the ids beside their counts. */
static int meet_members(struct perf_data *x, const struct profile_item *item,
			const struct profile_trace *t)
{
	int rc = 0;

	for (uint64_t i = 0; x->opened->import && i < item->record.nr_read && rc == 0; i++) {
		const struct trace_id *id = profile_counted(t->ids, t->nr_ids, item, i);

		rc = id ? events_meet_counted(&x->events, id, item->layout) : 0;
	}
	return rc;
}

/* import/reads.c made a sample for each event of the group, whose period is what that one counted.
 */
static bool is_divided(const struct perf_data *x, const struct profile_item *item,
		       const struct profile_trace *t)
{
	const uint64_t last = item->record.nr_read - 1;
	const struct trace_id *id;

	if (!x->opened->import || !item->record.nr_read ||
	    !(item->layout->read_format & PERF_FORMAT_GROUP))
		return false;
	id = profile_counted(t->ids, t->nr_ids, item, last);
	return id && (x->opened->facts->events[id->event].rate ||
		      x->opened->facts->events[id->event].frequency);
}

/* Writes a record of the events' ring. */
static int put_event_record(struct perf_data *x, const struct profile_item *item,
			    const struct profile_trace *t)
{
	struct member_of of = {.trace = t, .item = item, .events = &x->events};
	struct perf_origin o = {.member = member, .count = written_count, .arg = &of};
	bool is_sample = item->record.kind == PERF_RECORD_SAMPLE;
	uint32_t cpu = cpu_of(item, t);

	/* samples of unknown events are reported by the reader */
	if (!item->id || !item->layout || item->id->event >= x->opened->facts->nr_events)
		return 0;
	if (!is_kept(item->record.kind)) {
		omit(x, item->record.kind);
		return 0;
	}
	if (events_meet(&x->events, t, item->id) || meet_members(x, item, t))
		return -ENOMEM;
	of.is_divided = is_divided(x, item, t);
	if (!is_wanted(x, item, t)) {
		skip_counts(x, item, &of);
		return 0;
	}
	o.layout = events_layout(&x->events, item->layout);
	o.id = events_id(item->id);
	o.cpu = cpu;
	o.weight = item->record.period;
	if (is_sample)
		stacks_set(&x->stacks, item, &o);
	put(x, item, &o);
	if (is_sample && !x->first_ns)
		x->first_ns = item->time_ns;
	if (is_sample)
		x->last_ns = item->time_ns;
	if (cpu != UINT32_MAX && cpu > x->max_cpu)
		x->max_cpu = cpu;
	x->j->output->nr_records++;
	return 0;
}

static int put_lost(struct perf_data *x, const struct profile_trace *t,
		    const struct trace_sampled *s, uint64_t time_ns)
{
	for (size_t i = 0; i < t->nr_ids; i++) {
		const struct trace_id *id = &t->ids[i];

		if (id->event != s->event || id->instance != s->instance)
			continue;
		perf_record_lost_samples(&x->j->output->text, s->lost, time_ns, t->head.cpu,
					 events_id(id));
		return events_meet(&x->events, t, id);
	}
	return 0;
}

/* Writes what the kernel counted as lost in a trace, at the trace's first record. */
static int put_all_lost(struct perf_data *x, const struct profile_trace *t, uint64_t time_ns)
{
	const struct profile_filter *f = &x->j->selection->filter;
	const struct profile_facts *facts = x->opened->facts;
	int rc = 0;

	for (size_t i = 0; t->sampling && i < t->sampling->nr && rc == 0; i++) {
		const struct trace_sampled *s = &t->sampling->item[i];

		if (s->lost && s->lost != UINT64_MAX && s->event < facts->nr_events &&
		    profile_ranges_has(&f->iterations, t->head.iteration) &&
		    profile_ranges_has(&f->cpus, t->head.cpu) &&
		    profile_filter_has_event(f, &facts->events[s->event]))
			rc = put_lost(x, t, s, time_ns);
	}
	return rc;
}

/* At the first record of a trace. */
static int begin_trace(struct perf_data *x, const struct profile_trace *t, uint64_t time_ns)
{
	if (t->head.trace >= PROFILE_MAX_TRACES || x->seen[t->head.trace] == t->head.iteration + 1)
		return 0;
	x->seen[t->head.trace] = t->head.iteration + 1;
	if (!x->realtime_ns && t->has_clocks) {
		x->monotonic_ns = t->clocks.monotonic_ns;
		x->realtime_ns = t->clocks.realtime_ns;
	}
	return put_all_lost(x, t, time_ns);
}

static int put_merged(struct perf_data *x, const struct profile_merged_item *m)
{
	const struct profile_item *item = m->item;
	uint64_t at;
	int rc = m->trace ? begin_trace(x, m->trace, item->time_ns) : 0;

	if (rc == 0 && item->kind != PROFILE_RECORD)
		return 0;
	if (rc == 0 && m->trace)
		rc = put_event_record(x, item, m->trace);
	else if (rc == 0 && item->ring == TRACE_RING_SIDE_BAND)
		put_side_band(x, item, false);
	if (rc)
		return rc;
	at = x->written + x->j->output->text.len;
	if (at - x->round_at >= ROUND_BYTES && item->time_ns >= x->round_ns + ROUND_NS) {
		perf_record_round(&x->j->output->text);
		x->round_at = at;
		x->round_ns = item->time_ns;
	}
	return flush(x);
}

static int put_records(struct perf_data *x)
{
	struct profile_merged *m;
	struct profile_merged_item item;
	int rc = profile_merged_open(x->opened->session, problems_add, &x->j->output->problems, &m);

	if (rc)
		return no_memory(x);
	x->start_ns = profile_merged_start_ns(m);
	while ((rc = profile_merged_next(m, &item)) == 1) {
		rc = put_merged(x, &item);
		if (rc)
			break;
	}
	profile_merged_close(m);
	return rc == -ENOMEM ? no_memory(x) : rc;
}

/* The running kernel's build-id, if it is the recorded kernel: sessions do not contain it. */
static void read_kernel_id(const struct perf_data *x, struct elf_build_id *out)
{
	BUF_AUTO(notes, 64 << 10);

	if (x->opened->import || !x->opened->is_same_boot)
		return;
	if (root_load(&root_live, "/sys/kernel/notes", &notes) == 0)
		(void)elf_build_id_in_notes((const uint8_t *)buf_str(&notes), notes.len, 4, out);
}

static struct perf_data_build_id *list_build_ids(const struct perf_data *x,
						 const struct elf_build_id *kernel, size_t *nr)
{
	const struct profile_processes *p = x->opened->processes;
	const struct import_facts *f = x->opened->import ? import_facts(x->opened->import) : NULL;
	size_t nr_kernel_ids = f ? f->nr_kernel_ids : 0;
	struct perf_data_build_id *list =
	    mem_calloc(profile_nr_objects(p) + nr_kernel_ids + 1, sizeof(*list));

	for (size_t i = 0; list && i < nr_kernel_ids; i++)
		list[(*nr)++] = (struct perf_data_build_id){
		    true, f->kernel_ids[i].len, f->kernel_ids[i].bytes, f->kernel_ids[i].path};
	if (list && kernel->len)
		list[(*nr)++] = (struct perf_data_build_id){true, kernel->len, kernel->bytes,
							    "[kernel.kallsyms]"};
	for (uint32_t i = 0; list && i < profile_nr_objects(p); i++) {
		const struct profile_object *o = profile_object(p, i);

		if (o->build_id_len)
			list[(*nr)++] = (struct perf_data_build_id){false, o->build_id_len,
								    o->build_id, o->path};
	}
	return list;
}

static int put_tail(struct perf_data *x, uint8_t head[PERF_DATA_HEAD_BYTES])
{
	const struct profile_facts *facts = x->opened->facts;
	static const char *const command[] = {"cpuperf"};
	const char *version = facts->info ? facts->info->kernel : "";
	char release[MAX_RELEASE_BYTES];
	struct elf_build_id kernel = {0};
	struct perf_data_tail t = {
	    .data_bytes = x->written,
	    .events = x->events.list,
	    .nr_events = x->events.nr + 1,
	    .groups = x->events.group,
	    .nr_groups = x->events.nr_groups,
	    .host = facts->head.host,
	    .release = release,
	    .version = facts->info ? facts->info->tool : "",
	    .machine = facts->head.machine,
	    .cpu_model = facts->info ? facts->info->cpu_model : "",
	    .nr_cpus =
		x->max_cpu + 1 > facts->nr_traces ? x->max_cpu + 1 : (uint32_t)facts->nr_traces,
	    .nr_online = (uint32_t)facts->nr_traces,
	    .command = command,
	    .nr_command = 1,
	    .first_ns = x->first_ns,
	    .last_ns = x->last_ns,
	    .monotonic_ns = x->monotonic_ns,
	    .realtime_ns = x->realtime_ns,
	    .page_bytes = facts->info ? facts->info->page_bytes : 0,
	    .has_branches = x->events.has_branches,
	};
	struct perf_data_build_id *build_ids;
	int rc;

	/* "6.1.0 #1 SMP …": its first word */
	snprintf(release, sizeof(release), "%.*s", (int)strcspn(version, " "), version);
	read_kernel_id(x, &kernel);
	build_ids = list_build_ids(x, &kernel, &t.nr_build_ids);
	t.build_ids = build_ids;
	rc = build_ids ? perf_data_tail(&x->j->output->text, &t, head) : -ENOMEM;
	mem_free(build_ids);
	return rc ? err_set(x->e, rc, "the end of the file: %s", strerror(-rc)) : 0;
}

static int refuse_out(const struct job *j, struct err *e)
{
	err_set_at(e, -EINVAL, j->output->name, 0, 0,
		   "cannot hold a perf.data file, whose beginning is written last");
	err_hint(e, "use --output-file=PATH with a regular file");
	return -EINVAL;
}

static int write_head(struct perf_data *x, const uint8_t head[PERF_DATA_HEAD_BYTES])
{
	int rc = io_pwrite_full(x->j->output->fd, head, PERF_DATA_HEAD_BYTES, 0);

	if (rc == -ESPIPE)
		return refuse_out(x->j, x->e);
	return rc ? err_set_at(x->e, rc, x->j->output->name, 0, 0, "cannot be written: %s",
			       strerror(-rc))
		  : 0;
}

static void report_number(struct perf_data *x, uint64_t nr, const char *what)
{
	struct err problem = {0};

	if (!nr)
		return;
	err_set(&problem, -EINVAL, "%" PRIu64 " %s", nr, what);
	problems_add(&x->j->output->problems, true, &problem);
}

static int write_all(struct perf_data *x)
{
	uint8_t head[PERF_DATA_HEAD_BYTES];
	int rc;

	perf_data_head_init(head);
	rc = write_head(x, head);
	if (rc)
		return rc;
	buf_add(&x->j->output->text, head, sizeof(head));
	rc = put_before(x) ?: put_records(x);
	if (rc == 0 && events_finish(&x->events))
		rc = no_memory(x);
	x->written += x->j->output->text.len - sizeof(head);
	return rc ?:
	       output_write(x->j->output, x->e) ?:
	       put_tail(x, head) ?:
	       output_write(x->j->output, x->e) ?:
	       write_head(x, head);
}

int export_perf_data(struct job *j, struct err *e)
{
	struct perf_data x = {.j = j, .opened = job_input(j), .e = e};
	int rc = 0;

	/* the offset of a standard output may be non-zero (>>) */
	if (!output_is_file(j->output))
		return refuse_out(j, e);
	events_init(&x.events, x.opened->facts);
	kernel_init(&x.kernel);
	x.born = mem_zalloc(MAX_PID / 8);
	x.lookup = profile_lookup_new(x.opened->processes);
	x.seen = mem_calloc(PROFILE_MAX_TRACES, sizeof(*x.seen));
	x.within_region =
	    profile_regions_within(x.opened->processes, &j->selection->filter.regions);
	if (!x.born || !x.lookup || !x.seen ||
	    (j->selection->filter.regions.nr && !x.within_region) ||
	    profile_choice_make(&x.choice, &j->selection->filter, x.opened->processes) ||
	    stacks_init(&x.stacks, j, x.opened, x.lookup))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = write_all(&x);
	rc = rc ?: samples_warn_stacks(j, e);
	report_omitted(&x);
	report_number(&x, x.nr_bad,
		      str_plural(x.nr_bad, "record omitted: it does not fit into a perf.data file",
				 "records omitted: they do not fit into a perf.data file"));
	stacks_fini(&x.stacks);
	profile_choice_fini(&x.choice);
	mem_free(x.within_region);
	profile_lookup_free(x.lookup);
	mem_free(x.born);
	mem_free(x.seen);
	kernel_fini(&x.kernel);
	events_fini(&x.events);
	return rc;
}
