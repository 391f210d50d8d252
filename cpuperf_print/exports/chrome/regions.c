/*
 * Regions as slices of their threads, instants as marks on them, values as counters.
 */
#include "exports/chrome/regions.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/order.h"
#include "exports/regions.h"
#include "exports/sorted.h"
#include "profile/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct regions {
	struct export_lane *lane;
	struct json_writer *json;
	struct err *e;
	const struct export_sorted *sorted;
	uint32_t pid, tid; /* of the event before */
	struct dict named; /* uint32_t: pids of processes without samples, which have their name */
	struct profile_lookup *lookup;
};

/* The first group of the process from that thread on; NULL: it has none. */
static const struct export_group *find_group(const struct export_sorted *s, uint32_t pid,
					     uint32_t tid)
{
	const struct export_group *g = s->groups;
	size_t i = ORDER_FIRST(k, s->nr_groups,
			       g[k].key.pid > pid || (g[k].key.pid == pid && g[k].key.tid >= tid));

	return i < s->nr_groups && g[i].key.pid == pid ? &g[i] : NULL;
}

/* Of the thread, or of the first one of its process. */
static void put_name(struct regions *r, const struct profile_region_event *e, const char *what,
		     uint32_t tid, bool is_process)
{
	const char *name =
	    profile_lookup_last_name(r->lookup, e->pid, tid, e->time_ns) ?: e->task->comm->name;
	char text[EXPORT_LANE_NAME_BYTES];
	struct json_writer *j = r->json;

	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "ph", "M");
		jsonw_text(j, "name", what);
		jsonw_u64(j, "pid", export_lane_task(r->lane, e->pid));
		jsonw_u64(j, "tid", export_lane_task(r->lane, tid));
		JSONW_OBJECT(j, "args")
			jsonw_text(j, "name",
				   is_process ? export_lane_name(r->lane, name, text) : name);
	}
}

/* Of what has no samples; events are those of one thread after the other. 0 or -ENOMEM. */
static int put_names(struct regions *r, const struct profile_region_event *e)
{
	const struct export_group *g;
	uint32_t nr = r->named.nr;

	if (e->pid == r->pid && e->tid == r->tid)
		return 0;
	r->pid = e->pid;
	r->tid = e->tid;
	if (!find_group(r->sorted, e->pid, 0)) {
		if (!dict_get(&r->named, &e->pid))
			return -ENOMEM;
		if (r->named.nr > nr)
			put_name(r, e, "process_name", e->pid, true);
	}
	g = find_group(r->sorted, e->pid, e->tid);
	if (!g || g->key.tid != e->tid)
		put_name(r, e, "thread_name", e->tid, false);
	return 0;
}

static void put_args(struct json_writer *j, const struct profile_region_event *e)
{
	char number[24];

	JSONW_OBJECT(j, "args") {
		if (e->has_value) {
			snprintf(number, sizeof(number), "%" PRId64, e->value);
			jsonw_raw(j, e->kind == PROFILE_REGION_VALUE ? "value" : "number", number);
		}
		if (e->is_closed)
			jsonw_bool(j, "closed", true);
		if (e->is_cut)
			jsonw_bool(j, "cut", true);
	}
}

static int put_event(void *arg, const struct profile_region_event *e)
{
	static const char *const phases[] = {[PROFILE_REGION_BEGIN] = "B",
					     [PROFILE_REGION_END] = "E",
					     [PROFILE_REGION_INSTANT] = "i",
					     [PROFILE_REGION_VALUE] = "C"};
	struct regions *r = arg;
	struct json_writer *j = r->json;

	if (put_names(r, e))
		return -ENOMEM;
	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "ph", phases[e->kind]);
		jsonw_text(j, "name", e->name);
		jsonw_text(j, "cat", "region");
		jsonw_u64(j, "pid", export_lane_task(r->lane, e->pid));
		jsonw_u64(j, "tid", export_lane_task(r->lane, e->tid));
		chrome_put_time(j, r->lane, e->time_ns);
		if (e->kind == PROFILE_REGION_INSTANT)
			jsonw_text(j, "s", "t"); /* of the thread */
		if (e->has_value || e->is_closed || e->is_cut)
			put_args(j, e);
	}
	return output_flush(r->lane->j.output, r->e);
}

int chrome_put_regions(struct export_lane *lane, const struct export_sorted *sorted,
		       struct json_writer *json, struct err *e)
{
	const struct input *o = job_input(&lane->j);
	struct regions r = {.lane = lane, .json = json, .e = e, .sorted = sorted};
	int rc;

	if (!o->processes)
		return 0;
	r.lookup = profile_lookup_new(o->processes);
	if (!r.lookup)
		return err_set(e, -ENOMEM, "out of memory");
	dict_init(&r.named, sizeof(uint32_t), sizeof(uint32_t), DICT_MAX);
	rc = export_regions(&lane->j, o, put_event, &r, e);
	dict_fini(&r.named);
	profile_lookup_free(r.lookup);
	return rc;
}
