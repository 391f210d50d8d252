/*
 * profile.proto in gzip, for `go tool pprof` and other readers. Samples with the same stack and
 * labels are one message, preceded by the tables' entries that it is the first to use; the rest
 * follows at the end. Fields may come in any order.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "export/gzip.h"
#include "export/proto.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/pprof/tables.h"
#include "exports/pushed.h"
#include "report/functions.h"
#include "samples.h"
#include "trace/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Fields of the messages in a Profile. */
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT };

enum {
	MAX_FRAMES = 2048,
	PACK_BYTES = 64 << 10,
	MAX_NAME_BYTES = 1024,
	MAX_LABELS_BYTES = 4096,
	NO_TYPE = UINT32_MAX
};

/* Labels of a sample, in this order. */
enum label { PID, TID, THREAD, CPU, ITERATION, COMM, REGION, SESSION, HOST, RANK, NR_LABELS };

static const struct {
	const char *key;
	unsigned part;
} labels[NR_LABELS] = {
    [PID] = {"pid", REPORT_BY_PID},
    [TID] = {"tid", REPORT_BY_TID},
    [THREAD] = {"thread", REPORT_BY_TID},
    [CPU] = {"cpu", REPORT_BY_CPU},
    [ITERATION] = {"iteration", REPORT_BY_ITERATION},
    [COMM] = {"comm", REPORT_BY_COMM},
    [REGION] = {"region", REPORT_BY_REGION},
    [SESSION] = {"session", REPORT_BY_SESSION},
    [HOST] = {"host", REPORT_BY_HOST},
    [RANK] = {"rank", REPORT_BY_HOST},
};

struct pprof {
	struct job *j;
	struct err *e;
	struct pprof_tables tables;
	struct gzip *gzip;
	struct profile_about *about; /* owned; by session */
	struct pushed_names comms;   /* of what is pushed */
	struct report_stats stats;
	uint32_t *type_of; /* owned; by event: its index among sample types, or NO_TYPE */
	uint64_t *values;  /* owned; values of a sample: two per type */
	size_t nr_types;
	uint64_t keys[NR_LABELS], unit; /* indices of texts */
	struct buf labels;              /* encoded labels of this key: */
	struct report_key labelled;
	uint64_t nr_left;         /* samples of events without a type */
	uint64_t ids[MAX_FRAMES]; /* ids of a sample's locations */
	/* The previous stack, outermost first, and the ids of locations whose innermost frame is
	 * there; 0: none. Consecutive stacks mostly have the same callers. */
	struct report_frame before[MAX_FRAMES];
	uint64_t ids_before[MAX_FRAMES];
	size_t nr_before;
};

static const struct profile_facts *facts_of(const struct pprof *p)
{
	return job_input(p->j)->facts;
}

/* Packs the written messages once there are at_least bytes, and writes them out. */
static int pack(struct pprof *p, size_t at_least)
{
	struct buf *out = &p->tables.out;
	int rc = p->tables.error ? p->tables.error : buf_error(out);

	if (rc)
		return rc;
	if (out->len < at_least)
		return 0;
	rc = gzip_add(p->gzip, out->data, out->len, &p->j->output->text);
	buf_reset(out);
	return rc ?: output_flush(p->j->output, p->e);
}

/* --- samples --------------------------------------------------------------------------------- */

static size_t nr_at_place(const struct report_frame *frames, size_t nr)
{
	size_t i = 0;

	while (frames[i].is_inlined && i + 1 < nr && i + 1 < PPROF_MAX_INLINED &&
	       frames[i + 1].address == frames[i].address &&
	       frames[i + 1].object == frames[i].object)
		i++;
	return i + 1;
}

static size_t nr_same_callers(const struct pprof *p, const struct report_frame *frames, size_t nr)
{
	size_t most = nr < p->nr_before ? nr : p->nr_before, same = 0;

	while (same < most && report_frame_is_same(&frames[nr - 1 - same], &p->before[same]))
		same++;
	return same;
}

/* Replaces the part that differs from the previous stack. */
static void remember(struct pprof *p, const struct report_frame *frames, size_t nr, size_t same)
{
	for (size_t i = same; i < nr; i++) {
		p->before[i] = frames[nr - 1 - i];
		p->ids_before[i] = 0;
	}
	p->nr_before = nr;
}

static size_t find_locations(struct pprof *p, const struct report_entry *e)
{
	size_t frames = e->nr_frames < MAX_FRAMES ? e->nr_frames : MAX_FRAMES;
	size_t nr = 0, same = nr_same_callers(p, e->frames, frames);

	remember(p, e->frames, frames, same);
	for (size_t i = 0, here; i < frames; i += here) {
		uint64_t *id = &p->ids_before[frames - 1 - i];

		here = nr_at_place(e->frames + i, frames - i);
		if (!*id)
			*id = pprof_location(&p->tables, e->frames + i, here);
		p->ids[nr++] = *id;
	}
	pprof_count(&p->tables, p->ids[0], e->weight.samples);
	return nr;
}

/* Each number has a unit, because some readers treat a 0 without one as absent. */
static void put_number(struct pprof *p, enum label label, uint64_t number)
{
	struct buf *b = &p->labels;

	PROTO_MESSAGE(b, SAMPLE_LABEL) {
		proto_uint(b, LABEL_KEY, p->keys[label]);
		proto_uint(b, LABEL_NUMBER, number);
		proto_uint(b, LABEL_UNIT, p->unit);
	}
}

static void put_known(struct pprof *p, enum label label, uint32_t v)
{
	if (v != TRACE_UNKNOWN)
		put_number(p, label, v);
}

/* What is pushed has only labels of few values: each is another series there. */
static bool has_label(const struct pprof *p, enum label label)
{
	if (p->j->pushed)
		return label == COMM || label == REGION;
	if (label == HOST || label == RANK)
		return p->j->inputs->nr_jobs;
	return label != SESSION || p->j->nr > 1;
}

/* Omits a label with an empty text: the format cannot express it. */
static void put_text(struct pprof *p, enum label label, uint64_t text)
{
	struct buf *b = &p->labels;

	if (!text)
		return;
	PROTO_MESSAGE(b, SAMPLE_LABEL) {
		proto_uint(b, LABEL_KEY, p->keys[label]);
		proto_uint(b, LABEL_TEXT, text);
	}
}

static void put_numbers(struct pprof *p, const struct report_key *key)
{
	put_known(p, PID, key->pid);
	put_known(p, TID, key->tid);
	put_known(p, THREAD, key->thread);
	put_known(p, CPU, key->cpu);
	put_number(p, ITERATION, key->iteration);
}

/* Consecutive samples are mostly of one thread, so labels are reused. Writes new texts. */
static void make_labels(struct pprof *p, struct report_key key)
{
	const char *region, *comm = report_functions_text(p->j->inputs->functions, key.comm);
	struct pprof_tables *t = &p->tables;

	key.event = 0; /* has no label */
	if (p->labels.len && memcmp(&p->labelled, &key, sizeof(key)) == 0)
		return;
	p->labelled = key;
	buf_reset(&p->labels);
	if (!p->j->pushed)
		put_numbers(p, &key);
	put_text(p, COMM, pprof_text(t, p->j->pushed ? pushed_name(&p->comms, comm) : comm));
	region = report_functions_text(p->j->inputs->functions, key.region);
	if (strcmp(region, "[none]") != 0)
		put_text(p, REGION, pprof_text(t, region));
	if (has_label(p, SESSION))
		put_text(p, SESSION, pprof_text(t, p->j->inputs->item[key.session].path));
	if (!has_label(p, HOST))
		return;
	put_text(p, HOST, pprof_text(t, report_functions_text(p->j->inputs->functions, key.host)));
	put_known(p, RANK, key.rank);
}

static void put_values(struct pprof *p, const struct report_entry *e)
{
	uint64_t *own = &p->values[2 * p->type_of[e->key.event]];

	own[0] = export_amount(e->weight.samples, 1);
	own[1] = export_amount(e->weight.weight, export_scale(&facts_of(p)->events[e->key.event]));
	proto_packed(&p->tables.out, SAMPLE_VALUE, p->values, 2 * p->nr_types);
	own[0] = own[1] = 0;
}

/* Entries that a message refers to are written before it. */
static int add_entry(void *arg, const struct report_entry *e)
{
	struct pprof *p = arg;
	struct buf *out = &p->tables.out;
	size_t nr;

	if (p->type_of[e->key.event] == NO_TYPE) {
		p->nr_left += e->weight.samples;
		return 0;
	}
	p->j->nr_samples += e->weight.samples;
	nr = find_locations(p, e);
	make_labels(p, e->key);
	PROTO_MESSAGE(out, PPROF_SAMPLE) {
		proto_packed(out, SAMPLE_LOCATION, p->ids, nr);
		put_values(p, e);
		buf_add(out, p->labels.data, p->labels.len);
	}
	return buf_error(&p->labels) ? buf_error(&p->labels) : pack(p, PACK_BYTES);
}

/* --- about the profile ------------------------------------------------------------------------ */

/* As Go's heap profiles have them, which its tools know. */
static const struct {
	const char *event, *objects, *space;
} heap_types[] = {{"allocated", "alloc_objects", "alloc_space"},
		  {"live", "inuse_objects", "inuse_space"}};

static const char *heap_type(const struct pprof *p, uint32_t event, bool is_samples)
{
	const struct trace_event *ev = job_event(p->j, event);

	if (strcmp(ev->group, "heap") != 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_NR(heap_types); i++)
		if (strcmp(ev->name, heap_types[i].event) == 0)
			/* else a sample is no object */
			return !is_samples     ? heap_types[i].space
			       : ev->rate == 1 ? heap_types[i].objects
					       : NULL;
	return NULL;
}

static uint64_t type_name(struct pprof *p, uint32_t event, bool is_samples)
{
	const char *known = heap_type(p, event, is_samples);
	char name[EXPORT_TYPE_BYTES];

	export_type_name(p->j, event, is_samples ? "_samples" : "", name);
	return pprof_text(&p->tables, known && !strchr(name, '#') ? known : name);
}

static void put_type(struct pprof *p, uint32_t field, uint64_t name, const char *unit)
{
	uint64_t number = pprof_text(&p->tables, unit);

	PROTO_MESSAGE(&p->tables.out, field) {
		proto_uint(&p->tables.out, VALUE_TYPE, name);
		proto_uint(&p->tables.out, VALUE_UNIT, number);
	}
}

static void put_types(struct pprof *p)
{
	const struct profile_facts *facts = facts_of(p);
	uint32_t timebase = export_timebase(p->j);

	for (uint32_t i = 0; i < facts->nr_events; i++) {
		if (p->type_of[i] == NO_TYPE)
			continue;
		put_type(p, PPROF_SAMPLE_TYPE, type_name(p, i, true), "count");
		put_type(p, PPROF_SAMPLE_TYPE, type_name(p, i, false),
			 export_unit(job_event(p->j, i)));
	}
	if (timebase != UINT32_MAX)
		proto_uint(&p->tables.out, PPROF_DEFAULT_SAMPLE_TYPE,
			   type_name(p, timebase, false));
	for (int i = 0; i < NR_LABELS; i++)
		p->keys[i] = pprof_text(&p->tables, labels[i].key);
	p->unit = pprof_text(&p->tables, "id");
}

static void put_comment(void *arg, const char *line)
{
	struct pprof *p = arg;
	uint64_t text = pprof_text(&p->tables, line);

	proto_uint(&p->tables.out, PPROF_COMMENT, text);
}

/* Writes the earliest start, and the duration of all sessions. */
static void put_times(struct pprof *p)
{
	uint64_t start_ns = 0, measured_ns = 0;

	for (size_t i = 0; i < p->j->nr; i++) {
		uint64_t ns = profile_about_realtime(&p->about[i], p->about[i].start_ns);

		start_ns = ns && (!start_ns || ns < start_ns) ? ns : start_ns;
		measured_ns += p->about[i].measured_ns;
	}
	if (start_ns)
		proto_uint(&p->tables.out, PPROF_TIME_NANOS, start_ns);
	proto_uint(&p->tables.out, PPROF_DURATION_NANOS, measured_ns);
}

static void put_period(struct pprof *p)
{
	uint32_t timebase = export_timebase(p->j);
	const struct trace_event *ev;
	uint64_t period;

	if (timebase == UINT32_MAX)
		return;
	ev = job_event(p->j, timebase);
	period = export_period(ev, &p->stats, timebase);
	put_type(p, PPROF_PERIOD_TYPE, type_name(p, timebase, false), export_unit(ev));
	proto_uint(&p->tables.out, PPROF_PERIOD, export_amount(period, export_scale(ev)));
}

static void put_comments(struct pprof *p)
{
	char line[MAX_NAME_BYTES];

	for (size_t i = 0; i < p->j->nr; i++)
		export_session_lines(p->j, p->j->first + i, &p->about[i], put_comment, p);
	export_samples_lines(p->j, &p->stats, put_comment, p);
	export_unread_lines(p->j, put_comment, p);
	if (p->tables.is_full)
		put_comment(p, "too many locations: some have no address");
	if (!p->nr_left)
		return;
	snprintf(line, sizeof(line), "%llu samples belong to no sampled event: omitted",
		 (unsigned long long)p->nr_left);
	put_comment(p, line);
}

static int finish(struct pprof *p)
{
	pprof_put_mappings(&p->tables, p->j->selection->with_inlined, p->j->pushed != NULL);
	put_times(p);
	put_period(p);
	put_comments(p);
	return pack(p, 0) ?: gzip_end(p->gzip, &p->j->output->text);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int load_traces(struct pprof *p)
{
	p->about = mem_calloc(p->j->nr, sizeof(*p->about));
	if (!p->about)
		return -ENOMEM;
	return ARRAY_RUN(i, p->j->nr, export_about_job(p->j, i, &p->about[i], p->e));
}

static int prepare(struct pprof *p)
{
	const struct profile_facts *facts = facts_of(p);

	pprof_tables_init(&p->tables, &pprof_fields);
	pushed_names_init(&p->comms);
	buf_init(&p->labels, MAX_LABELS_BYTES);
	p->tables.has_several = p->j->nr > 1;
	p->gzip = gzip_new(GZIP_FASTEST);
	p->type_of = mem_calloc(facts->nr_events + 1, sizeof(*p->type_of));
	p->values = mem_calloc(2 * facts->nr_events + 1, sizeof(*p->values));
	if (!p->gzip || !p->type_of || !p->values)
		return -ENOMEM;
	for (uint32_t i = 0; i < facts->nr_events; i++)
		p->type_of[i] =
		    export_is_sampled(job_event(p->j, i)) ? (uint32_t)p->nr_types++ : NO_TYPE;
	put_types(p);
	return load_traces(p);
}

static int read_all(struct pprof *p)
{
	struct report_sink sink = {
	    .parts = REPORT_BY_STACK | REPORT_BY_ADDRESS, .entry = add_entry, .arg = p};

	for (int i = 0; i < NR_LABELS; i++)
		sink.parts |= has_label(p, i) ? labels[i].part : 0;
	if (p->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	return samples_read(p->j, p->j->first, p->j->nr, &sink, &p->stats, p->e);
}

static void fini(struct pprof *p)
{
	for (size_t i = 0; i < p->j->nr && p->about; i++)
		profile_about_fini(&p->about[i]);
	mem_free(p->about);
	mem_free(p->type_of);
	mem_free(p->values);
	report_stats_fini(&p->stats);
	gzip_free(p->gzip);
	buf_fini(&p->labels);
	pprof_tables_fini(&p->tables);
	pushed_names_fini(&p->comms);
	mem_free(p);
}

int export_pprof(struct job *j, struct err *e)
{
	struct pprof *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->j = j;
	p->e = e;
	rc = prepare(p) ?: read_all(p) ?: finish(p);
	fini(p);
	return rc ? err_set(e, rc, "the profile cannot be written: %s", strerror(-rc)) : 0;
}
