#include "exports/lanes.h"

#include "base/array.h"
#include "base/err.h"
#include "numbers.h"
#include "registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int export_lanes_check_tasks(const struct job *j, struct err *e)
{
	if (j->nr <= EXPORT_MAX_LANES)
		return 0;
	err_set(e, -E2BIG, "--output-format=%s has room for %d hosts or ranks, and there are %zu",
		j->row->name, EXPORT_MAX_LANES, j->nr);
	err_hint(e, "select some by --host and --rank");
	return -E2BIG;
}

static bool is_same_boot(const struct input *a, const struct input *b)
{
	static const uint8_t unknown[sizeof(a->facts->head.boot_id)];
	const uint8_t *id = a->facts->head.boot_id;

	return !a->part && !b->part && memcmp(id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(id, b->facts->head.boot_id, sizeof(unknown)) == 0;
}

/* Sessions of one boot have the same clock: what lies between them is exact, whatever became of the
 * time of day. */
static int read_clock(const struct job *j, size_t i, struct parts_clock *out, struct err *e)
{
	const struct input *item = j->inputs->item;
	int rc = parts_clock_read(&item[i], out, e);

	for (size_t k = j->first; k < i && rc == 0 && !out->is_same_boot; k++) {
		struct parts_clock other;

		if (!is_same_boot(&item[i], &item[k]))
			continue;
		rc = parts_clock_read(&item[k], &other, e);
		if (rc || !other.is_known)
			continue;
		out->to_starter_ns = other.to_starter_ns;
		out->is_known = out->is_same_boot = true;
	}
	return rc;
}

/* When the first one began. */
static int find_origin(const struct job *j, uint64_t *origin_ns, struct err *e)
{
	uint64_t first_ns = UINT64_MAX;
	int rc = 0;

	for (size_t i = j->first; i < j->first + j->nr && rc == 0; i++) {
		struct parts_clock clock;

		rc = read_clock(j, i, &clock, e);
		if (rc == 0 && clock.start_ns &&
		    clock.start_ns + (uint64_t)clock.to_starter_ns < first_ns)
			first_ns = clock.start_ns + (uint64_t)clock.to_starter_ns;
	}
	*origin_ns = first_ns == UINT64_MAX ? 0 : first_ns;
	return rc;
}

static int put_lane(struct job *j, size_t i, uint64_t origin_ns, export_lane_fn *each, void *arg,
		    struct err *e)
{
	struct input *o = &j->inputs->item[j->first + i];
	struct export_lane lane = {.j = *j, .origin_ns = origin_ns};
	/* one of counts alone has none */
	const bool has_names = j->inputs->functions != NULL && input_has_common(o);
	char name[PARTS_NAME_BYTES];
	int rc = 0;

	lane.j.first = j->first + i;
	lane.j.nr = 1;
	lane.j.is_followed = i + 1 < j->nr;
	if (j->nr > 1) {
		lane.name = input_shown(o, name);
		lane.number = (uint32_t)i + 1;
		rc = read_clock(j, j->first + i, &lane.clock, e);
	}
	if (rc == 0 && has_names)
		rc = inputs_begin_names(j->inputs, o, e);
	if (rc)
		return rc;
	rc = each(arg, &lane, e);
	if (has_names)
		inputs_end_names(j->inputs, o);
	return rc;
}

int export_lanes(struct job *j, export_lane_fn *each, void *arg, struct err *e)
{
	uint64_t origin_ns = 0;
	int rc = j->nr > 1 ? find_origin(j, &origin_ns, e) : 0;

	return rc ?: ARRAY_RUN(i, j->nr, put_lane(j, i, origin_ns, each, arg, e));
}

const char *export_lane_name(const struct export_lane *l, const char *of,
			     char text[EXPORT_LANE_NAME_BYTES])
{
	if (!l->name)
		return of;
	snprintf(text, EXPORT_LANE_NAME_BYTES, "%s: %s", l->name, of);
	return text;
}

const char *export_lane_clock(const struct export_lane *l, char text[EXPORT_LANE_NAME_BYTES])
{
	const struct hosts_part *part = job_input(&l->j)->part;

	if (!l->clock.is_known)
		snprintf(text, EXPORT_LANE_NAME_BYTES,
			 "its time of day was not recorded: its times cannot be compared with "
			 "those of others");
	else if (l->clock.is_same_boot)
		snprintf(text, EXPORT_LANE_NAME_BYTES,
			 "its times are by the clock of the same boot as those of another session "
			 "here");
	else if (!l->clock.is_compared)
		snprintf(text, EXPORT_LANE_NAME_BYTES,
			 "its clock was not compared: times are those of its own");
	else
		snprintf(text, EXPORT_LANE_NAME_BYTES,
			 "its clock was %s%s from that of the starter, which is corrected%s%s",
			 part->clock_offset_ns < 0 ? "-" : "+",
			 HUMAN(part->clock_offset_ns < 0 ? -(double)part->clock_offset_ns
							 : (double)part->clock_offset_ns,
			       "ns"),
			 part->clock_error_ns == HOSTS_ABSENT ? "" : ", to within ",
			 part->clock_error_ns == HOSTS_ABSENT
			     ? ""
			     : HUMAN((double)part->clock_error_ns, "ns"));
	return text;
}
