/*
 * From frames to samples. Frames before the records of a trace (events, ids) define their layout;
 * totals of samples and counts are stored. Each sample is decoded once, in place, for speed. Must
 * not trust an id, an event or a size from the file.
 */
#include "profile/samples.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/place.h"
#include "profile/ids.h"
#include "profile/load.h"
#include "profile/session_internal.h"
#include "profile/times.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdlib.h>

/* A report's time has at most 48 blocks; a file of few bytes must not cause endless work. */
enum { MAX_PARTS = 64, MAX_PLACES_BYTES = 4 << 20 };

/* Of `every` in a row the one of number `chosen`. */
struct choice {
	uint32_t every, chosen, nr;
};

struct profile_samples {
	struct trace_reader *reader;        /* owned */
	struct trace_events session_events; /* borrowed */
	struct profile_ids ids;
	bool has_ids; /* ids is up to date with the frames read */
	struct profile_faults faults;
	char name[NAME_MAX + 1];

	const uint8_t *at, *end; /* unread records, or stacks, of the current frame */
	bool is_added_up;        /* they are stacks */
	/* The current stack, while parts of it are not returned. */
	struct profile_sample whole;
	uint64_t part, nr_parts;
	/* Items for the next frame of stacks, or the current one, from places_at on. */
	struct buf places;
	size_t places_at;
	bool has_places;                       /* they are of the next frame */
	int16_t place_sums[PLACE_SUMS];        /* of the current stack */
	struct trace_interpreted *interpreted; /* owned; the last one; NULL: there was none */
	bool has_interpreted;                  /* it belongs to no sample yet */
	uint64_t time_ns, bytes;
	struct choice samples, frames; /* which are read */
	uint64_t random;
	uint64_t stands_for; /* samples for each that is returned; 0: all are returned */
	uint64_t nr_senseless, nr_foreign;
	uint64_t nr_told; /* of these, to what is learned */
	/* Times: where they are kept (NULL: nowhere), those that are being learned (owned; NULL:
	 * none), and which are needed. */
	struct profile_times **kept, *learned;
	uint64_t first_ns, last_ns;
	profile_omit_fn *omit; /* NULL: all times are needed */
	void *omit_arg;
	struct profile_load load;  /* the content except records */
	bool is_over, is_complete; /* load has all of it */
};

/* --- times ----------------------------------------------------------------------------------- */

/* What is not learned is read again as a whole. */
static void begin_times(struct profile_samples *s, struct profile_times **kept)
{
	s->kept = kept;
	if (kept && !*kept)
		s->learned = profile_times_new(s->session_events.nr);
}

static void forget_times(struct profile_samples *s)
{
	profile_times_free(s->learned);
	s->learned = NULL;
}

/* The records that were read last, as it is told at the next frame. */
static void learn_frame(struct profile_samples *s, uint64_t at, bool has_samples)
{
	if (!s->learned)
		return;
	if (s->nr_senseless + s->nr_foreign != s->nr_told)
		profile_times_need(s->learned);
	s->nr_told = s->nr_senseless + s->nr_foreign;
	if (!has_samples)
		profile_times_end(s->learned, at);
	else if (!profile_times_frame(s->learned, at))
		forget_times(s);
}

/* A sample without a time has that of the one before it, wherever that is. */
static void learn_sample(struct profile_samples *s, const struct profile_sample *sample)
{
	if (sample->record.has & TRACE_HAS_TIME)
		profile_times_add(s->learned, sample);
	else
		forget_times(s);
}

static void end_times(struct profile_samples *s)
{
	learn_frame(s, trace_reader_offset(s->reader), false);
	if (s->learned)
		*s->kept = s->learned;
	s->learned = NULL;
}

void profile_samples_within(struct profile_samples *s, uint64_t first_ns, uint64_t last_ns,
			    profile_omit_fn *omit, void *arg)
{
	s->first_ns = first_ns;
	s->last_ns = last_ns;
	s->omit = omit;
	s->omit_arg = arg;
}

/* The runs of frames that are not needed. */
static void pass_over_times(struct profile_samples *s)
{
	const struct profile_times_run *run;
	const struct profile_times *t;

	if (!s->omit || s->stands_for || !s->kept)
		return;
	t = *s->kept;
	while ((run = profile_times_pass(t, s->reader, s->first_ns, s->last_ns))) {
		const struct profile_times_sum *sums = profile_times_sums(t, run);

		for (uint32_t i = 0; i < s->session_events.nr; i++)
			if (sums[i].samples)
				s->omit(s->omit_arg, i, sums[i].samples, sums[i].weight);
	}
}

/* --- opening --------------------------------------------------------------------------------- */

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
	buf_init(&r->places, MAX_PLACES_BYTES);
	rc = profile_load_init(&r->load, &r->session_events, &r->faults)
		 ?: profile_session_open_file(s, i, &r->faults, r->name, &r->reader);
	if (rc == 1) {
		profile_load_begin(&r->load, trace_reader_head(r->reader), r->name);
		begin_times(r, profile_session_times(s, i));
		*out = r;
	} else
		profile_samples_close(r);
	return rc;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* To read a frame costs as much as a few dozen of its samples. */
void profile_samples_thin(struct profile_samples *s, uint32_t every)
{
	enum { MOST_OF_FRAME = 64 };
	const struct trace_head *head = trace_reader_head(s->reader);

	if (every < 2)
		return;
	forget_times(s);
	s->frames.every = (every - 1) / MOST_OF_FRAME + 1;
	s->samples.every = every / s->frames.every;
	s->stands_for = (uint64_t)s->frames.every * s->samples.every;
	s->random = (uint64_t)head->iteration << 32 | head->trace;
}

/* A fixed one of each row would fall into step with events that take turns in the ring. */
static bool is_chosen(struct profile_samples *s, struct choice *c)
{
	bool is_it;

	if (!c->nr)
		c->chosen = (uint32_t)(next_random(&s->random) % c->every);
	is_it = c->nr == c->chosen;
	c->nr = c->nr + 1 == c->every ? 0 : c->nr + 1;
	return is_it;
}

/* Each frame has its turn, whatever is in it. */
static void pass_over_frames(struct profile_samples *s)
{
	while (s->frames.every > 1 && !is_chosen(s, &s->frames) &&
	       trace_reader_pass_over(s->reader, TRACE_FRAME_RECORDS))
		;
}

void profile_samples_close(struct profile_samples *s)
{
	if (!s)
		return;
	trace_reader_close(s->reader);
	profile_times_free(s->learned);
	profile_ids_fini(&s->ids);
	profile_load_fini(&s->load);
	buf_fini(&s->places);
	mem_free(s->interpreted);
	mem_free(s);
}

/* Events and ids define the layouts of the records after them. */
static int read_layouts(struct profile_samples *s, const struct trace_frame *f)
{
	profile_ids_fini(&s->ids);
	s->has_ids = false;
	return profile_load_frame(&s->load, f);
}

static void begin(struct profile_samples *s, const uint8_t *at, size_t len, bool is_added_up)
{
	s->at = at;
	s->end = at + len;
	s->is_added_up = is_added_up;
}

static int make_ids(struct profile_samples *s)
{
	int rc = 0;

	if (!s->has_ids)
		rc = profile_ids_init(&s->ids, s->load.trace.events, s->session_events.nr,
				      s->load.trace.ids, s->load.trace.nr_ids);
	s->has_ids = rc == 0;
	return rc;
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
	begin(s, records, len, false);
	return make_ids(s);
}

/* They are of no other frame than the next one. */
static void forget_places(struct profile_samples *s)
{
	buf_reset(&s->places);
	s->places_at = 0;
}

/* Of the frame of stacks that follows: copied, since reading that one may overwrite it. */
static int read_places(struct profile_samples *s, const struct trace_frame *f)
{
	const uint8_t *items;
	size_t len;
	int rc = trace_decode_places(f, &items, &len);

	if (rc)
		return rc;
	buf_add(&s->places, items, len);
	if (buf_error(&s->places) == -ENOMEM)
		return -ENOMEM;
	return buf_error(&s->places) ? -EINVAL : 0;
}

static int read_stacks(struct profile_samples *s, const struct trace_frame *f)
{
	const uint8_t *items;
	uint32_t cpu;
	size_t len;
	int rc = trace_decode_stacks(f, &cpu, &items, &len);

	if (rc)
		return rc;
	begin(s, items, len, true);
	return make_ids(s);
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
    [TRACE_FRAME_HELD] = load_frame,      [TRACE_FRAME_STACKS] = read_stacks,
    [TRACE_FRAME_DIVISOR] = load_frame,   [TRACE_FRAME_PLACES] = read_places,
};

static int read_frame(struct profile_samples *s, const struct trace_frame *f)
{
	int rc = 0;

	if (f->kind != TRACE_FRAME_STACKS || !s->has_places)
		forget_places(s);
	s->has_places = f->kind == TRACE_FRAME_PLACES;

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
	end_times(s);
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
	int rc;

	pass_over_frames(s);
	pass_over_times(s);
	rc = trace_reader_next(s->reader, &f, &e);
	s->bytes = trace_reader_bytes(s->reader);
	if (rc == 1) {
		learn_frame(s, f.offset, f.kind == TRACE_FRAME_RECORDS);
		rc = read_frame(s, &f);
		if (rc == 0 || rc == -ENOMEM)
			return rc ? rc : 1;
		s->is_over = true; /* another session's: report nothing more */
		return 0;
	}
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		forget_times(s);
		forget_places(s);
		profile_faults_add(&s->faults, &e);
	}
	if (rc == -EILSEQ)
		return 1;
	return end(s);
}

/* Sampled the more surely the more they weigh: each sample weighs at least the period. */
static bool is_by_weight(const struct trace_layout *l)
{
	return l->is_wait || l->is_heap;
}

/* Of which each is a sample. */
static bool is_exact(const struct trace_layout *l)
{
	return l->is_by_switches || (is_by_weight(l) && l->period == 1);
}

bool profile_samples_is_rest(const struct trace_layout *layout, uint64_t id)
{
	return layout->is_completed && id & TRACE_MADE_ID;
}

/* The record is of what was interpreted: it is kept for the sample that follows. */
static void keep_interpreted(struct profile_samples *s, const uint8_t *p, size_t size)
{
	if (!s->interpreted)
		s->interpreted = mem_zalloc(sizeof(*s->interpreted));
	s->has_interpreted =
	    s->interpreted && trace_interpreted_decode(p, size, s->interpreted) == 0;
}

/* Of one sample: a later one without a record of its own has none. */
static void take_interpreted(struct profile_samples *s, struct profile_sample *sample)
{
	const struct trace_interpreted *i = s->interpreted;

	sample->interpreted = NULL;
	sample->labels = 0;
	if (s->is_added_up || !s->has_interpreted ||
	    !trace_interpreted_is_of(i, sample->record.pid, sample->record.tid, sample->time_ns))
		return;
	s->has_interpreted = false;
	if (i->language == TRACE_LANGUAGE_GO)
		sample->labels = trace_interpreted_labels(i);
	else
		sample->interpreted = i;
}

/* Reads the current record: true if it is a sample. */
static bool read_record(struct profile_samples *s, struct profile_sample *out)
{
	const struct trace_record *r = &out->record;
	const struct profile_known_id *k;
	const uint8_t *p = s->at;
	uint32_t kind;
	size_t size = trace_record_size(p, (size_t)(s->end - p), &kind);
	uint64_t sure;

	s->at = size ? p + size : s->end;
	s->nr_senseless += !size;
	if (kind == PERF_RECORD_LOST) /* the sample of the last record may be among them */
		s->has_interpreted = false;
	if (!size || kind != PERF_RECORD_SAMPLE)
		return false;
	k = profile_ids_of_record(&s->ids, p, size) ?: s->ids.sharing;
	if (k && k->what->event == TRACE_INTERPRETED) {
		keep_interpreted(s, p, size);
		return false;
	}
	if (s->stands_for && !s->is_added_up && !is_chosen(s, &s->samples))
		return false;
	if (!k || !k->has_layout) {
		s->nr_foreign++;
		return false;
	}
	if (trace_record_decode(&k->layout, p, size, &out->record)) {
		s->nr_senseless++;
		return false;
	}
	if (r->wait == TRACE_WAIT_IS_SEEN) /* profile/switches.h made samples of it */
		return false;
	if (r->has & TRACE_HAS_TIME)
		s->time_ns = r->time_ns;
	out->id = k->what;
	out->layout = &k->layout;
	out->cpu = r->has & TRACE_HAS_CPU ? r->cpu : s->load.trace.head.cpu;
	out->time_ns = s->time_ns;
	out->samples = 1;
	take_interpreted(s, out);
	out->end_ns = out->time_ns;
	out->weight = r->period ? r->period : 1; /* the sample's, else its layout's */
	/* A wait counts as itself and as others that were not sampled (base/wait_weight.h). Only
	 * these are left to chance: sampled with the probability p, it varies by (1 - p) weight².
	 */
	sure = r->wait_ns < out->weight ? r->wait_ns : out->weight;
	out->is_rest = profile_samples_is_rest(&k->layout, k->id);
	out->unit = is_exact(&k->layout) || out->is_rest ? 0 : out->weight - sure;
	out->is_in_row =
	    !s->stands_for && !s->is_added_up && !is_by_weight(&k->layout) && !out->is_rest;
	if (s->stands_for && !s->is_added_up) {
		out->weight *= s->stands_for;
		out->unit *= s->stands_for;
	}
	return true;
}

/* Of what is allocated: what a sample stands for by chance, which samples of a program that adapts
 * say themselves. */
static uint64_t unit_of_heap(const struct profile_sample *w)
{
	const struct trace_record *r = &w->record;

	return trace_layout_has_units(w->layout) && r->raw_len >= sizeof(uint64_t)
		   ? trace_word(r->raw, 0)
		   : w->layout->period;
}

/* An invalid item ends all of the frame. No sum is larger than the number of samples. */
static void next_places(struct profile_samples *s, struct profile_sample *w, uint64_t samples)
{
	const size_t left = s->places.len - s->places_at;
	const uint8_t *p = left ? (const uint8_t *)s->places.data + s->places_at : NULL;
	bool is_known = false;
	size_t size = left ? trace_next_places(p, left, s->place_sums, &is_known) : 0;
	uint64_t nr = 0;

	s->nr_senseless += left && !size;
	s->places_at = size ? s->places_at + size : s->places.len;
	for (int i = 0; i < PLACE_SUMS && is_known; i++)
		nr += (uint64_t)abs(s->place_sums[i]);
	s->nr_senseless += nr > samples;
	w->nr_places = samples;
	w->places = is_known && nr <= samples ? s->place_sums : NULL;
}

/* Reads the current stack: true if it is a sample. */
static bool read_stack(struct profile_samples *s)
{
	struct profile_sample *w = &s->whole;
	struct trace_added added;
	size_t head = trace_next_stack(s->at, (size_t)(s->end - s->at), &added);

	s->at = head ? s->at + head : s->end;
	s->nr_senseless += !head;
	if (!head)
		return false;
	next_places(s, w, added.samples);
	if (!read_record(s, w))
		return false;
	w->samples = added.samples;
	w->weight = added.weight;
	w->end_ns = added.end_ns > w->time_ns ? added.end_ns : w->time_ns;
	if (is_by_weight(w->layout) || w->layout->is_maximum)
		w->places = NULL;
	if (w->layout->is_maximum)
		w->unit = 0;
	else if (w->layout->is_heap && !w->layout->is_sampled_time && !is_exact(w->layout))
		w->unit = unit_of_heap(w);
	else if (!is_by_weight(w->layout) || w->layout->is_sampled_time)
		w->unit = added.weight / added.samples;
	s->part = 0;
	s->nr_parts = added.samples < MAX_PARTS ? added.samples : MAX_PARTS;
	if (w->layout->is_maximum) /* one amount, however many blocks it is of */
		s->nr_parts = 1;
	return true;
}

/* How much of nr lies before part i of n, for i <= n. */
static uint64_t before(uint64_t nr, uint64_t i, uint64_t n)
{
	return nr / n * i + nr % n * i / n;
}

/* The parts have samples of equal weight, except the first, which has the rest. */
static void return_part(struct profile_samples *s, struct profile_sample *out)
{
	const struct profile_sample *w = &s->whole;
	uint64_t i = s->part++, span_ns = w->end_ns - w->time_ns;
	uint64_t each = w->weight / w->samples;

	*out = *w;
	out->samples = before(w->samples, i + 1, s->nr_parts) - before(w->samples, i, s->nr_parts);
	out->weight = out->samples * each + (i ? 0 : w->weight % w->samples);
	if (i)
		out->places = NULL;
	out->end_ns = w->time_ns + before(span_ns, i + 1, s->nr_parts);
	out->time_ns = w->time_ns + before(span_ns, i, s->nr_parts);
	if (out->samples == 1)
		out->end_ns = out->time_ns;
}

static bool next_of_frame(struct profile_samples *s, struct profile_sample *out)
{
	if (!s->is_added_up) {
		if (!read_record(s, out))
			return false;
		out->places = NULL;
		if (s->learned)
			learn_sample(s, out);
		return true;
	}
	if (s->part == s->nr_parts && !read_stack(s))
		return false;
	return_part(s, out);
	return true;
}

int profile_samples_next(struct profile_samples *s, struct profile_sample *out)
{
	int rc = 1;

	while (rc == 1) {
		while (s->at < s->end || s->part < s->nr_parts)
			if (next_of_frame(s, out))
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
