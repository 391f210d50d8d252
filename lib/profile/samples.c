/*
 * From frames to samples. Frames before the records of a trace (events, ids) define their layout;
 * totals of samples and counts are stored. Each sample is decoded once, in place, for speed. Must
 * not trust an id, an event or a size from the file.
 */
#include "profile/samples.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/ids.h"
#include "profile/load.h"
#include "profile/session_internal.h"
#include "trace/reader.h"

#include <errno.h>

struct profile_samples {
	struct trace_reader *reader;        /* owned */
	struct trace_events session_events; /* borrowed */
	struct profile_ids ids;
	bool has_ids; /* ids is up to date with the frames read */
	struct profile_faults faults;
	char name[NAME_MAX + 1];

	const uint8_t *at, *end; /* unread records of the current frame */
	uint64_t time_ns, bytes;
	uint64_t nr_senseless, nr_foreign;
	struct profile_load load;  /* the content except records */
	bool is_over, is_complete; /* load has all of it */
};

int profile_samples_open(const struct profile_session *s, size_t i, profile_problem_fn *problem,
			 void *arg, struct profile_samples **out)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct profile_samples *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->faults = profile_session_faults(s, r->name);
	r->faults.problem = problem;
	r->faults.arg = arg;
	r->session_events.item = (struct trace_event *)facts->events;
	r->session_events.nr = facts->nr_events;
	rc = profile_load_init(&r->load, &r->session_events, &r->faults)
		 ?: profile_session_open_file(s, i, &r->faults, r->name, &r->reader);
	if (rc == 1) {
		profile_load_begin(&r->load, trace_reader_head(r->reader), r->name);
		*out = r;
	} else
		profile_samples_close(r);
	return rc;
}

void profile_samples_close(struct profile_samples *s)
{
	if (!s)
		return;
	trace_reader_close(s->reader);
	profile_ids_fini(&s->ids);
	profile_load_fini(&s->load);
	mem_free(s);
}

/* Events and ids define the layouts of the records after them. */
static int read_layouts(struct profile_samples *s, const struct trace_frame *f)
{
	profile_ids_fini(&s->ids);
	s->has_ids = false;
	return profile_load_frame(&s->load, f);
}

static int read_records(struct profile_samples *s, const struct trace_frame *f)
{
	enum trace_ring ring;
	const uint8_t *records;
	uint32_t cpu;
	size_t len;
	int rc = trace_decode_records(f, &ring, &cpu, &records, &len);

	if (rc || ring != TRACE_RING_SAMPLES)
		return rc;
	s->at = records;
	s->end = records + len;
	if (!s->has_ids)
		rc = profile_ids_init(&s->ids, s->load.trace.events, s->session_events.nr,
				      s->load.trace.ids, s->load.trace.nr_ids);
	s->has_ids = rc == 0;
	return rc;
}

/* Invalid frames are reported by profile_iterator_next. */
static int load_frame(struct profile_samples *s, const struct trace_frame *f)
{
	return profile_load_frame(&s->load, f) == -ENOMEM ? -ENOMEM : 0;
}

static int (*const readers[])(struct profile_samples *s, const struct trace_frame *f) = {
    [TRACE_FRAME_EVENTS] = read_layouts,  [TRACE_FRAME_IDS] = read_layouts,
    [TRACE_FRAME_RECORDS] = read_records, [TRACE_FRAME_READINGS] = load_frame,
    [TRACE_FRAME_SAMPLING] = load_frame,  [TRACE_FRAME_END] = load_frame,
    [TRACE_FRAME_HELD] = load_frame,
};

static int read_frame(struct profile_samples *s, const struct trace_frame *f)
{
	int rc = 0;

	if (f->kind < sizeof(readers) / sizeof(readers[0]) && readers[f->kind])
		rc = readers[f->kind](s, f);
	if (rc == -EINVAL)
		profile_faults_add_frame(&s->faults, f);
	else if (rc == -EPROTO)
		profile_faults_lose(&s->faults, rc,
				    "its events are not those of the session: ignored");
	return rc == -EINVAL ? 0 : rc;
}

static int end(struct profile_samples *s)
{
	int rc;

	s->is_over = true;
	profile_faults_end(&s->faults, trace_reader_is_whole(s->reader));
	profile_faults_records(&s->faults, s->nr_senseless, s->nr_foreign);
	rc = profile_load_end(&s->load);
	s->is_complete = rc == 0;
	return rc;
}

/* 1: there may be more; 0: the end, and problems are reported; -ENOMEM. */
static int next_frame(struct profile_samples *s)
{
	struct trace_frame f;
	struct err e = {0};
	int rc = trace_reader_next(s->reader, &f, &e);

	s->bytes = trace_reader_bytes(s->reader);
	if (rc == 1) {
		rc = read_frame(s, &f);
		if (rc == 0 || rc == -ENOMEM)
			return rc ? rc : 1;
		s->is_over = true; /* another session's: report nothing more */
		return 0;
	}
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		profile_faults_add(&s->faults, &e);
	if (rc == -EILSEQ)
		return 1;
	return end(s);
}

/* Reads the current record: true if it is a sample. */
static bool read_record(struct profile_samples *s, struct profile_sample *out)
{
	const struct trace_record *r = &out->record;
	const struct profile_known_id *k;
	const uint8_t *p = s->at;
	uint32_t kind;
	size_t size = trace_record_size(p, (size_t)(s->end - p), &kind);

	s->at = size ? p + size : s->end;
	s->nr_senseless += !size;
	if (!size || kind != PERF_RECORD_SAMPLE)
		return false;
	k = profile_ids_of_record(&s->ids, p, size) ?: s->ids.sharing;
	if (!k || !k->has_layout) {
		s->nr_foreign++;
		return false;
	}
	if (trace_record_decode(&k->layout, p, size, &out->record)) {
		s->nr_senseless++;
		return false;
	}
	if (r->has & TRACE_HAS_TIME)
		s->time_ns = r->time_ns;
	out->id = k->what;
	out->layout = &k->layout;
	out->cpu = r->has & TRACE_HAS_CPU ? r->cpu : s->load.trace.head.cpu;
	out->time_ns = s->time_ns;
	out->weight = r->period ? r->period : 1; /* the sample's, else its layout's */
	out->unit =
	    k->layout.is_wait && k->layout.period < out->weight ? k->layout.period : out->weight;
	return true;
}

int profile_samples_next(struct profile_samples *s, struct profile_sample *out)
{
	int rc = 1;

	while (rc == 1) {
		while (s->at < s->end)
			if (read_record(s, out))
				return 1;
		rc = s->is_over ? 0 : next_frame(s);
	}
	return rc;
}

const struct trace_head *profile_samples_head(const struct profile_samples *s)
{
	return trace_reader_head(s->reader);
}

const struct profile_trace *profile_samples_trace(const struct profile_samples *s)
{
	return s->is_complete ? &s->load.trace : NULL;
}

uint64_t profile_samples_bytes(const struct profile_samples *s)
{
	return s->bytes;
}
