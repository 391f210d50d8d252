/*
 * Regions, their calls, and instants and values.
 */
#include "exports/regions.h"
#include "base/err.h"
#include "exports/sqlite/file.h"
#include "exports/sqlite/regions.h"

#include <errno.h>

enum { TEXT_BYTES = 64 << 10 };

struct regions {
	struct sqlite_file *file;
	struct err *e;
};

static int put_event(void *arg, const struct profile_region_event *e)
{
	struct regions *r = arg;
	const struct sqlite_cell value = e->has_value ? sqlite_i64(e->value) : sqlite_none();
	uint64_t wall_ns = e->time_ns - e->begin_ns;

	if (e->kind == PROFILE_REGION_END)
		SQLITE_PUT(r->file, SQLITE_REGION_CALLS, sqlite_u64(e->region), sqlite_u64(e->pid),
			   sqlite_u64(e->tid), sqlite_u64(e->begin_ns), sqlite_u64(e->time_ns),
			   sqlite_u64(wall_ns > e->inner_ns ? wall_ns - e->inner_ns : 0), value,
			   sqlite_u64(e->is_closed), sqlite_u64(e->is_cut));
	else if (e->kind != PROFILE_REGION_BEGIN)
		SQLITE_PUT(r->file, SQLITE_MARKS, sqlite_u64(e->time_ns), sqlite_u64(e->pid),
			   sqlite_u64(e->tid), sqlite_maybe(e->region, e->region),
			   sqlite_text(e->name), value);
	return sqlite_file_error(r->file, r->e);
}

static int put_region(struct sqlite_file *f, const struct profile_processes *p, uint32_t number)
{
	const struct profile_region *r = profile_region(p, number);
	BUF_AUTO(path, TEXT_BYTES);

	profile_region_text(p, number, &path);
	if (buf_error(&path))
		return -ENOMEM;
	SQLITE_PUT(f, SQLITE_REGIONS, sqlite_u64(number), sqlite_maybe(r->parent, r->parent),
		   sqlite_u64(r->depth), sqlite_text(r->name), sqlite_text(buf_str(&path)));
	return 0;
}

int sqlite_put_regions(struct sqlite_file *f, struct job *j, const struct input *o, struct err *e)
{
	struct regions r = {.file = f, .e = e};
	size_t nr = o->processes ? profile_nr_regions(o->processes) : 0;
	int rc = 0;

	for (uint32_t i = 1; i < nr && rc == 0; i++)
		if (!profile_region_is_trial(o->processes, i))
			rc = put_region(f, o->processes, i);
	return rc ?: export_regions(j, o, put_event, &r, e);
}
