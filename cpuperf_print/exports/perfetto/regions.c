/*
 * Regions as slices on the tracks of their threads, instants as marks there, values as counters in
 * tracks below. Events of a thread are in order of time, so that slices that end and begin at the
 * same time nest; a track is described before its first event.
 */
#include "exports/regions.h"
#include "base/dict.h"
#include "export/proto.h"
#include "exports/perfetto/perfetto.h"

#include <errno.h>
#include <stdio.h>

enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_INTEGER = 30,
};
enum { ANNOTATION_BOOL = 2, ANNOTATION_INT = 4, ANNOTATION_NAME = 10 };
enum { MAX_NAMES = 1 << 20, MAX_NAME_BYTES = 64 << 20 };

/* A thread (name 0), or a value of it. */
struct track {
	uint32_t pid, tid, name; /* key */
};

struct regions {
	const struct perfetto_out *out;
	struct err *e;
	struct dict names;  /* const char *, of values */
	struct dict tracks; /* struct track, of values */
};

/* A thread's track is described with those of the samples. */
static uint64_t uuid_of(const struct perfetto_out *out, const struct track *t)
{
	return t->name
		   ? perfetto_uuid(out, UUID_REGION_VALUE, (uint64_t)t->pid << 32 | t->tid, t->name)
		   : perfetto_uuid(out, UUID_THREAD, t->pid, t->tid);
}

/* 0 or -ENOMEM. */
static int describe(struct regions *r, const struct track *t, const char *name)
{
	struct buf *b = r->out->text;
	size_t nr = r->tracks.nr;

	if (dict_add(&r->tracks, t) == DICT_NONE)
		return -ENOMEM;
	if (r->tracks.nr == nr)
		return 0;
	PERFETTO_PACKET(r->out, SEQUENCE_REGIONS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, uuid_of(r->out, t));
			proto_text(b, TRACK_NAME, name);
			proto_uint(b, TRACK_PARENT,
				   perfetto_uuid(r->out, UUID_THREAD, t->pid, t->tid));
			PROTO_MESSAGE(b, TRACK_COUNTER) {
			}
		}
	}
	return 0;
}

static void put_annotations(struct buf *b, const struct profile_region_event *e)
{
	const struct {
		const char *name;
		bool is_set;
	} flags[] = {{"closed without an end of its own", e->is_closed},
		     {"only partly in the time selected", e->is_cut}};

	if (e->has_value && e->kind == PROFILE_REGION_BEGIN) {
		PROTO_MESSAGE(b, EVENT_ANNOTATION) {
			proto_int(b, ANNOTATION_INT, e->value);
			proto_text(b, ANNOTATION_NAME, "number");
		}
	}
	for (size_t i = 0; e->kind == PROFILE_REGION_END && i < 2; i++) {
		if (!flags[i].is_set)
			continue;
		PROTO_MESSAGE(b, EVENT_ANNOTATION) {
			proto_bool(b, ANNOTATION_BOOL, true);
			proto_text(b, ANNOTATION_NAME, flags[i].name);
		}
	}
}

static void put_event(const struct perfetto_out *out, const struct track *t,
		      const struct profile_region_event *e)
{
	static const unsigned types[] = {[PROFILE_REGION_BEGIN] = 1,
					 [PROFILE_REGION_END] = 2,
					 [PROFILE_REGION_INSTANT] = 3,
					 [PROFILE_REGION_VALUE] = 4};
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_REGIONS, SEQUENCE_NEEDS_STATE, e->time_ns) {
		PROTO_MESSAGE(b, PACKET_TRACK_EVENT) {
			put_annotations(b, e);
			proto_uint(b, EVENT_TYPE, types[e->kind]);
			proto_uint(b, EVENT_TRACK, uuid_of(out, t));
			if (e->kind == PROFILE_REGION_VALUE)
				proto_int(b, EVENT_INTEGER, e->value);
			if (e->kind == PROFILE_REGION_BEGIN || e->kind == PROFILE_REGION_INSTANT) {
				proto_text(b, EVENT_CATEGORY, "region");
				proto_text(b, EVENT_NAME, e->name);
			}
		}
	}
}

static int add_event(void *arg, const struct profile_region_event *e)
{
	struct regions *r = arg;
	struct track track = {.pid = e->pid, .tid = e->tid};

	if (e->kind == PROFILE_REGION_VALUE) {
		track.name = dict_add(&r->names, e->name) + 1;
		if (!track.name || describe(r, &track, e->name))
			return -ENOMEM;
	}
	put_event(r->out, &track, e);
	r->out->lane->j.output->nr_records++;
	return output_flush(r->out->lane->j.output, r->e);
}

int perfetto_put_regions(const struct perfetto_out *out, struct err *e)
{
	struct job *j = &out->lane->j;
	struct regions r = {.out = out, .e = e};
	int rc;

	dict_init_texts(&r.names, sizeof(const char *), MAX_NAMES, MAX_NAME_BYTES);
	dict_init(&r.tracks, sizeof(struct track), sizeof(struct track), DICT_MAX);
	rc = export_regions(j, job_input(j), add_event, &r, e);
	dict_fini(&r.names);
	dict_fini(&r.tracks);
	return rc;
}
