/*
 * A table by hash, of records that lie one behind the other. A record whose hash another one has is
 * not added up.
 */
#include "whole/sums.h"

#include "base/buf.h"
#include "base/dict.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/place.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

enum {
	WORD = sizeof(uint64_t),
	MAX_IDS = 1 << 16,
	MAX_SUMS = 1 << 20,
	PLACES_BYTES = PLACE_SUMS * sizeof(int16_t),
};

struct id {
	uint64_t id; /* the key */
	struct trace_layout layout;
	size_t time_at, period_at; /* in the record; 0: it has none */
	uint64_t row;              /* 0: none */
	uint64_t place, time_ns;   /* of its last sample there */
};

struct sum {
	uint64_t hash; /* the key */
	size_t at, size;
	uint64_t samples, weight, begin_ns, end_ns;
	/* In rows: the places of up to PLACE_FEW samples; of more, the offset of their sums. */
	uint64_t places;
	bool is_in_row; /* all are */
};

struct whole_sums {
	struct dict ids;  /* struct id */
	struct dict sums; /* struct sum */
	struct buf records, places;
	const struct dict *names; /* borrowed, or NULL */
};

struct whole_sums *whole_sums_new(size_t max_bytes, const struct dict *names)
{
	struct whole_sums *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	dict_init(&s->ids, sizeof(struct id), DICT_KEY(struct id, id), MAX_IDS);
	dict_init(&s->sums, sizeof(struct sum), DICT_KEY(struct sum, hash), MAX_SUMS);
	buf_init(&s->records, max_bytes);
	buf_init(&s->places, max_bytes);
	s->names = names;
	return s;
}

void whole_sums_free(struct whole_sums *s)
{
	if (!s)
		return;
	dict_fini(&s->ids);
	dict_fini(&s->sums);
	buf_fini(&s->records);
	buf_fini(&s->places);
	mem_free(s);
}

/* Each of these fields is a word, and they stand in this order. */
static size_t offset_of(uint64_t sample_type, uint64_t field)
{
	static const uint64_t fields[] = {
	    PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
	    PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	    PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
	};
	size_t at = WORD; /* behind the header */

	if (!(sample_type & field))
		return 0;
	for (size_t i = 0; fields[i] != field; i++)
		at += sample_type & fields[i] ? WORD : 0;
	return at;
}

int whole_sums_add_id(struct whole_sums *s, uint64_t id, const struct perf_event_attr *attr,
		      uint64_t row)
{
	struct id *known;

	if (!(attr->sample_type & PERF_SAMPLE_IDENTIFIER))
		return 0;
	known = dict_get(&s->ids, &id);
	if (!known)
		return -ENOMEM;
	(void)trace_layout_init(&known->layout, attr, attr->size);
	known->time_at = offset_of(attr->sample_type, PERF_SAMPLE_TIME);
	known->period_at = offset_of(attr->sample_type, PERF_SAMPLE_PERIOD);
	known->row = known->time_at ? row : 0;
	return 0;
}

static struct id *id_of(const struct whole_sums *s, const uint8_t *p, size_t size)
{
	uint64_t id;
	uint32_t kind;

	if (size < 2 * WORD || trace_record_size(p, size, &kind) != size ||
	    kind != PERF_RECORD_SAMPLE)
		return NULL;
	id = trace_word(p, 1);
	return dict_at(&s->ids, dict_find(&s->ids, &id));
}

/* What differs between samples that are the same. */
static bool is_added_up(const struct id *id, size_t at)
{
	return at && (at == id->time_at || at == id->period_at);
}

static uint64_t hash_of(const struct id *id, uint64_t name_ns, const uint8_t *p, size_t size)
{
	uint64_t hash = hash_mix(size, name_ns);

	for (size_t at = 0; at < size; at += WORD)
		hash = hash_mix(hash, is_added_up(id, at) ? 0 : trace_word(p + at, 0));
	return hash;
}

static bool is_same(const struct whole_sums *s, const struct sum *sum, const struct id *id,
		    const uint8_t *p, size_t size)
{
	const char *first = s->records.data + sum->at;

	if (sum->size != size)
		return false;
	for (size_t at = 0; at < size; at += WORD)
		if (!is_added_up(id, at) && memcmp(first + at, p + at, WORD) != 0)
			return false;
	return true;
}

/* So many distances of samples, to the nearest. */
static uint64_t nr_steps(uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
	const uint64_t ns = to_ns - from_ns;

	return ns / step_ns + (ns % step_ns > step_ns / 2);
}

/* Moves from the last sample of a clock to another, which may be an earlier one. False: it is in no
 * row. */
static bool find_place(struct id *id, const struct trace_record *r)
{
	if (!id->row || !r->period)
		return false;
	if (r->time_ns < id->time_ns)
		id->place -= nr_steps(r->time_ns, id->time_ns, r->period);
	else
		id->place += nr_steps(id->time_ns, r->time_ns, r->period);
	id->time_ns = r->time_ns;
	return true;
}

static int16_t *sums_at(const struct whole_sums *s, uint64_t at)
{
	return (int16_t *)(void *)(s->places.data + at);
}

/* Moves the places of the first ones from their word to sums. */
static void make_sums(struct whole_sums *s, struct sum *sum)
{
	const uint64_t places = sum->places;

	sum->places = s->places.len;
	buf_fill(&s->places, 0, PLACES_BYTES);
	if (buf_error(&s->places)) {
		s->places.error = 0;
		buf_cut(&s->places, sum->places);
		sum->is_in_row = false;
	} else
		place_count_few(sums_at(s, sum->places), places, PLACE_FEW);
}

/* Of the sample that the sum has just received. */
static void add_place(struct whole_sums *s, struct sum *sum, const struct id *id)
{
	const uint64_t place = place_in_sums(id->row, id->place);

	if (sum->samples <= PLACE_FEW)
		sum->places |= place << 8 * (sum->samples - 1);
	else if (sum->samples == PLACE_FEW + 1)
		make_sums(s, sum);
	if (sum->samples > PLACE_FEW && sum->is_in_row)
		place_count(sums_at(s, sum->places), place);
}

static struct sum *begin_sum(struct whole_sums *s, uint64_t hash, const struct trace_record *r)
{
	struct sum *sum;

	if (s->records.len + r->len > s->records.max_bytes)
		return NULL;
	sum = dict_get(&s->sums, &hash);
	if (!sum)
		return NULL;
	sum->at = s->records.len;
	buf_add(&s->records, r->bytes, r->len);
	if (buf_error(&s->records)) {
		s->records.error = 0; /* what it has is whole */
		buf_cut(&s->records, sum->at);
		return NULL; /* a sum without samples: the next one tries again */
	}
	sum->size = r->len;
	sum->places = 0;
	sum->is_in_row = true;
	sum->samples = 1;
	sum->weight = r->period;
	sum->begin_ns = sum->end_ns = r->time_ns;
	return sum;
}

/* The first one is that of the earliest time. */
static void set_begin(struct whole_sums *s, struct sum *sum, const struct id *id, uint64_t time_ns)
{
	sum->begin_ns = time_ns;
	if (id->time_at)
		memcpy(s->records.data + sum->at + id->time_at, &time_ns, WORD);
}

static void add_to_sum(struct whole_sums *s, struct sum *sum, const struct id *id,
		       const struct trace_record *r)
{
	sum->samples++;
	sum->weight += r->period;
	if (r->time_ns > sum->end_ns)
		sum->end_ns = r->time_ns;
	if (r->time_ns < sum->begin_ns)
		set_begin(s, sum, id, r->time_ns);
}

/* Since when the thread has had its last name; 0: since the sums began. */
static uint64_t name_ns(const struct whole_sums *s, uint32_t tid)
{
	const struct whole_name *name =
	    s->names ? dict_at(s->names, dict_find(s->names, &tid)) : NULL;

	return name ? name->from_ns : 0;
}

bool whole_sums_add(struct whole_sums *s, const void *record, size_t size)
{
	struct id *id = id_of(s, record, size);
	struct trace_record r;
	struct sum *sum;
	uint64_t hash, since_ns;
	bool is_in_row;

	if (!id || size % WORD || trace_record_decode(&id->layout, record, size, &r) ||
	    r.stack_len || r.len != size)
		return false;
	is_in_row = find_place(id, &r); /* also of one that is written alone */
	since_ns = name_ns(s, r.tid);
	if (r.time_ns < since_ns)
		return false;
	hash = hash_of(id, since_ns, record, size);
	sum = dict_at(&s->sums, dict_find(&s->sums, &hash));
	if (!sum || !sum->samples)
		sum = begin_sum(s, hash, &r);
	else if (is_same(s, sum, id, record, size))
		add_to_sum(s, sum, id, &r);
	else
		sum = NULL;
	if (sum)
		sum->is_in_row &= is_in_row;
	if (sum && sum->is_in_row)
		add_place(s, sum, id);
	return sum;
}

bool whole_sums_next(const struct whole_sums *s, uint32_t *at, struct whole_sum *out)
{
	const struct sum *sum = NULL;

	while (*at < s->sums.nr && (!sum || !sum->samples))
		sum = dict_at(&s->sums, (*at)++);
	if (!sum || !sum->samples)
		return false;
	*out = (struct whole_sum){.record = s->records.data + sum->at,
				  .size = sum->size,
				  .samples = sum->samples,
				  .weight = sum->weight,
				  .end_ns = sum->end_ns,
				  .has_places = sum->is_in_row};
	if (sum->is_in_row && sum->samples <= PLACE_FEW)
		place_count_few(out->places, sum->places, sum->samples);
	else if (sum->is_in_row)
		memcpy(out->places, sums_at(s, sum->places), PLACES_BYTES);
	return true;
}

void whole_sums_reset(struct whole_sums *s)
{
	dict_fini(&s->sums);
	buf_reset(&s->records);
	buf_reset(&s->places);
}
