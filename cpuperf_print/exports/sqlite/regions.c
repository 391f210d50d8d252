/*
 * Regions, their calls, and instants and values.
 */
#include "exports/regions.h"
#include "base/err.h"
#include "exports/sqlite/file.h"
#include "exports/sqlite/regions.h"
#include "report/region_sums.h"

#include <errno.h>
#include <math.h>

enum { TEXT_BYTES = 64 << 10 };

struct regions {
	struct sqlite_file *file;
	uint64_t before; /* numbers of other sessions */
	struct err *e;
};

/* 0: none. */
static struct sqlite_cell number_of(const struct regions *r, uint32_t region)
{
	return sqlite_maybe(region, r->before + region);
}

static int put_event(void *arg, const struct profile_region_event *e)
{
	struct regions *r = arg;
	const struct sqlite_cell value = e->has_value ? sqlite_i64(e->value) : sqlite_none();
	uint64_t wall_ns = e->time_ns - e->begin_ns;

	if (e->kind == PROFILE_REGION_END)
		SQLITE_PUT(r->file, SQLITE_REGION_CALLS, number_of(r, e->region),
			   sqlite_u64(e->pid), sqlite_u64(e->tid), sqlite_u64(e->begin_ns),
			   sqlite_u64(e->time_ns),
			   sqlite_u64(wall_ns > e->inner_ns ? wall_ns - e->inner_ns : 0), value,
			   sqlite_u64(e->is_closed), sqlite_u64(e->is_cut));
	else if (e->kind != PROFILE_REGION_BEGIN)
		SQLITE_PUT(r->file, SQLITE_MARKS, sqlite_u64(e->time_ns), sqlite_u64(e->pid),
			   sqlite_u64(e->tid), number_of(r, e->region), sqlite_text(e->name),
			   value);
	return sqlite_file_error(r->file, r->e);
}

static int put_region(const struct regions *r, const struct profile_processes *p, uint32_t number)
{
	const struct profile_region *of = profile_region(p, number);
	BUF_AUTO(path, TEXT_BYTES);

	profile_region_text(p, number, &path);
	if (buf_error(&path))
		return -ENOMEM;
	SQLITE_PUT(r->file, SQLITE_REGIONS, number_of(r, number), number_of(r, of->parent),
		   sqlite_u64(of->depth), sqlite_text(of->name), sqlite_text(buf_str(&path)));
	return 0;
}

/* NaN: too few calls were counted. Without chance all three are a number of events. */
static struct sqlite_cell of_estimate(const struct interval *i, double v)
{
	return !isfinite(v)        ? sqlite_none()
	       : i->low == i->high ? sqlite_u64((uint64_t)(v + 0.5))
				   : sqlite_real(v);
}

static void put_count(const struct regions *r, const struct report_region_sum *sum,
		      const char *event, const struct report_region_count *c)
{
	struct interval all = report_region_count_estimate(c, sum->whole);
	struct interval self = report_region_count_self(c, sum->whole);

	SQLITE_PUT(r->file, SQLITE_REGION_COUNTS, number_of(r, sum->region), sqlite_text(event),
		   sqlite_u64(c->calls), of_estimate(&all, all.share), of_estimate(&all, all.low),
		   of_estimate(&all, all.high), of_estimate(&self, self.share),
		   of_estimate(&self, self.low), of_estimate(&self, self.high));
}

static int put_counts(const struct regions *r, struct job *j, const struct input *o)
{
	struct report_region_sums sums;
	int rc =
	    report_region_sums_read(&sums, o->processes, &j->selection->filter, o->start_ns, false);

	for (uint32_t i = 0; i < sums.sums.nr && rc == 0; i++)
		for (uint32_t k = 0; k < sums.counts.names.nr; k++) {
			const struct report_region_count *c =
			    report_region_count_sums_find(&sums.counts, i, k);

			if (c)
				put_count(r, dict_at(&sums.sums, i),
					  dict_text(&sums.counts.names, k), c);
		}
	report_region_sums_fini(&sums);
	return rc;
}

int sqlite_put_regions(struct sqlite_file *f, struct job *j, const struct input *o, uint64_t before,
		       struct err *e)
{
	struct regions r = {.file = f, .before = before, .e = e};
	size_t nr = o->processes ? profile_nr_regions(o->processes) : 0;
	int rc = 0;

	for (uint32_t i = 1; i < nr && rc == 0; i++)
		if (!profile_region_is_trial(o->processes, i))
			rc = put_region(&r, o->processes, i);
	if (rc == 0 && nr && profile_regions_stats(o->processes)->has_counts)
		rc = put_counts(&r, j, o);
	return rc ?: export_regions(j, o, put_event, &r, e);
}
