/*
 * Points become values of counters. A track is an event on a CPU, of a thing or of the machine. A
 * value holds from its time to the next, so a point is written at the start of its interval. A
 * track must be described before its first value. Must not do any arithmetic.
 */
#include "base/dict.h"
#include "base/err.h"
#include "export/proto.h"
#include "exports/lines.h"
#include "exports/perfetto/perfetto.h"
#include "tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { COUNTER_UNIT_NAME = 6 };
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_VALUE_REAL = 44, TYPE_COUNTER = 4 };
enum { MAX_NAME_BYTES = 1024 };

/* The key of a track. Column alone: the track of an event, the parent of those of its CPUs or
 * things. */
struct track {
	uint32_t column, cpu, thing; /* COUNTS_NO_CPU, NO_THING */
};
enum { NO_THING = UINT32_MAX };

struct counters {
	const struct perfetto_out *out;
	struct job *j;
	struct err *e;
	struct dict tracks; /* struct track */
};

/* 1: it is new; 0; -ENOMEM. */
static int add(struct counters *c, const struct track *t)
{
	size_t before = c->tracks.nr;

	return dict_add(&c->tracks, t) == DICT_NONE ? -ENOMEM : c->tracks.nr > before;
}

static uint64_t uuid_of(const struct counters *c, const struct track *t)
{
	return perfetto_uuid(c->out, UUID_COUNTER, (uint64_t)t->column << 32 | t->cpu, t->thing);
}

static uint64_t column_uuid(const struct counters *c, uint32_t column)
{
	return perfetto_uuid(c->out, UUID_COLUMN, column, 0);
}

/* The name of a value's track. */
static void make_name(const struct counts_series_point *p, char name[MAX_NAME_BYTES])
{
	if (p->thing)
		snprintf(name, MAX_NAME_BYTES, "%s %s", p->of->label, p->thing->name);
	else if (p->cpu != COUNTS_NO_CPU)
		snprintf(name, MAX_NAME_BYTES, "%s CPU %u", p->of->label, p->cpu);
	else
		snprintf(name, MAX_NAME_BYTES, "%s", p->of->label);
}

static void put_column(struct counters *c, const struct counts_series_point *p)
{
	struct buf *b = c->out->text;

	PERFETTO_PACKET(c->out, SEQUENCE_COUNTERS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, column_uuid(c, p->column));
			proto_text(b, TRACK_NAME, p->of->label);
			perfetto_put_parent(c->out);
		}
	}
}

static void put_track(struct counters *c, const struct track *t,
		      const struct counts_series_point *p, bool has_column)
{
	struct buf *b = c->out->text;
	char name[MAX_NAME_BYTES], unit[COUNTS_SERIES_UNIT_BYTES];

	make_name(p, name);
	PERFETTO_PACKET(c->out, SEQUENCE_COUNTERS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, uuid_of(c, t));
			if (has_column)
				proto_uint(b, TRACK_PARENT, column_uuid(c, p->column));
			else
				perfetto_put_parent(c->out);
			proto_text(b, TRACK_NAME, name);
			PROTO_MESSAGE(b, TRACK_COUNTER) {
				proto_text(b, COUNTER_UNIT_NAME, counts_series_unit(p, unit));
			}
		}
	}
}

/* Writes the description of the track's parent, then its own. */
static int describe_track(struct counters *c, const struct track *t,
			  const struct counts_series_point *p)
{
	const struct track column = {p->column, COUNTS_NO_CPU, NO_THING};
	bool has_column = memcmp(t, &column, sizeof(column)) != 0;
	int rc;

	if (has_column) {
		struct track parent = column;

		parent.cpu = COUNTS_NO_CPU - 1; /* not the track of the event's own values */
		rc = add(c, &parent);
		if (rc < 0)
			return rc;
		if (rc)
			put_column(c, p);
	}
	rc = add(c, t);
	if (rc > 0)
		put_track(c, t, p, has_column);
	return rc < 0 ? rc : 0;
}

static void put_value(struct counters *c, const struct track *t, uint64_t time_ns, double value)
{
	struct buf *b = c->out->text;

	PERFETTO_PACKET(c->out, SEQUENCE_COUNTERS, SEQUENCE_NEEDS_STATE, time_ns) {
		PROTO_MESSAGE(b, PACKET_TRACK_EVENT) {
			proto_uint(b, EVENT_TYPE, TYPE_COUNTER);
			proto_uint(b, EVENT_TRACK, uuid_of(c, t));
			proto_double(b, EVENT_VALUE_REAL, value);
		}
	}
}

/* Skips samples, which have packets of their own, and totals, which are sums of the CPUs. */
static int put_point(void *arg, const struct counts_series_point *p)
{
	const struct track t = {p->column, p->cpu, p->thing ? p->thing->number : NO_THING};
	struct counters *c = arg;
	double value;
	int rc;

	if (p->is_samples || (p->is_total && !p->of->metric) || !counts_series_value(p, &value))
		return 0;
	rc = describe_track(c, &t, p);
	if (rc)
		return err_set(c->e, rc, "out of memory");
	put_value(c, &t, p->of->kind == EVENT_VALUE && !p->of->metric ? p->end_ns : p->start_ns,
		  value);
	c->j->output->nr_records++;
	return output_flush(c->j->output, c->e);
}

int perfetto_put_counters(const struct perfetto_out *out, struct err *e)
{
	struct job *j = &out->lane->j;
	const struct input *o = job_input(j);
	struct counters c = {.out = out, .j = j, .e = e};
	int rc;

	dict_init(&c.tracks, sizeof(struct track), sizeof(struct track), DICT_MAX);
	rc = export_has_counters(j, o) ? tables_series(j, o, put_point, &c, e) : 0;
	dict_fini(&c.tracks);
	return rc;
}
