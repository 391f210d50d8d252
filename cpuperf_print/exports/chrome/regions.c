/*
 * Regions as slices of their threads, instants as marks on them, values as counters.
 */
#include "exports/chrome/regions.h"

#include "base/json_writer.h"
#include "exports/regions.h"

#include <inttypes.h>
#include <stdio.h>

struct regions {
	struct job *j;
	const struct input *o;
	struct json_writer *json;
	struct err *e;
};

static void put_args(struct json_writer *j, const struct profile_region_event *e)
{
	char number[24];

	JSONW_OBJECT(j, "args") {
		if (e->has_value) {
			snprintf(number, sizeof(number), "%" PRId64, e->value);
			jsonw_raw(j, e->kind == PROFILE_REGION_VALUE ? "value" : "number", number);
		}
		if (e->is_closed)
			jsonw_raw(j, "closed", "true");
		if (e->is_cut)
			jsonw_raw(j, "cut", "true");
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

	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "ph", phases[e->kind]);
		jsonw_text(j, "name", e->name);
		jsonw_text(j, "cat", "region");
		jsonw_u64(j, "pid", e->pid);
		jsonw_u64(j, "tid", e->tid);
		jsonw_us(j, "ts", (int64_t)(e->time_ns - r->o->start_ns));
		if (e->kind == PROFILE_REGION_INSTANT)
			jsonw_text(j, "s", "t"); /* of the thread */
		if (e->has_value || e->is_closed || e->is_cut)
			put_args(j, e);
	}
	return output_flush(r->j->output, r->e);
}

int chrome_put_regions(struct job *j, const struct input *o, struct json_writer *json,
		       struct err *e)
{
	struct regions r = {.j = j, .o = o, .json = json, .e = e};

	return export_regions(j, o, put_event, &r, e);
}
