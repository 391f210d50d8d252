/*
 * Calls, times and counts of regions, a line for each path.
 */
#include "exports/openmetrics/regions.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/region_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

enum { TEXT_BYTES = 64 << 10, NS_PER_S = 1000000000 };

static const struct family {
	const char *name, *unit, *help;
	size_t offset; /* in struct report_region_sum */
} families[] = {
    {"cpuperf_region_calls", "", "Calls of a region that the program marks, closed ones included.",
     offsetof(struct report_region_sum, calls)},
    {"cpuperf_region_closed", "", "Of these, without an end of their own.",
     offsetof(struct report_region_sum, closed)},
    {"cpuperf_region_seconds", "seconds", "Wall time of all calls, with the regions inside.",
     offsetof(struct report_region_sum, wall_ns)},
    {"cpuperf_region_self_seconds", "seconds", "Wall time without the regions inside.",
     offsetof(struct report_region_sum, self_ns)},
};

/* Of each event that counted in regions. */
static const struct count_family {
	const char *name, *help;
	size_t offset; /* in struct report_region_count */
} count_families[] = {
    {"cpuperf_region_counted_calls", "Calls of a region in which the event was counted.",
     offsetof(struct report_region_count, calls)},
    {"cpuperf_region_counts", "What the event counted in these, with the regions inside.",
     offsetof(struct report_region_count, total)},
    {"cpuperf_region_self_counted_calls", "Of these, with all regions inside counted, too.",
     offsetof(struct report_region_count, self_calls)},
    {"cpuperf_region_self_counts", "What the event counted in these, without the regions inside.",
     offsetof(struct report_region_count, self)},
};

static void put_number(struct buf *out, const struct family *f, uint64_t n)
{
	if (*f->unit)
		buf_printf(out, "%" PRIu64 ".%09" PRIu64, n / NS_PER_S, n % NS_PER_S);
	else
		buf_u64(out, n);
}

static int put_count(struct openmetrics *m, const struct count_family *f, const struct input *o,
		     const struct report_region_sums *sums, uint32_t sum, uint32_t name,
		     uint64_t time_ns)
{
	const struct report_region_sum *s = dict_at(&sums->sums, sum);
	const struct report_region_count *c =
	    report_region_count_sums_find(&sums->counts, sum, name);
	BUF_AUTO(path, TEXT_BYTES);

	if (!c)
		return 0;
	profile_region_text(o->processes, s->region, &path);
	if (buf_error(&path))
		return -ENOMEM;
	openmetrics_begin(m);
	openmetrics_label(m, "region", buf_str(&path));
	openmetrics_label(m, "event", dict_text(&sums->counts.names, name));
	openmetrics_value(m);
	buf_u64(m->out, *(const uint64_t *)((const char *)c + f->offset));
	openmetrics_end(m, time_ns);
	return 0;
}

static int put_counts(struct openmetrics *m, struct job *j, const struct input *o,
		      const struct report_region_sums *sums, uint64_t time_ns, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(count_families) && sums->counts.names.nr && rc == 0; i++) {
		const struct count_family *f = &count_families[i];

		openmetrics_family(m, OPENMETRICS_COUNTER, f->name, "", f->help);
		for (uint32_t k = 0; k < sums->sums.nr && rc == 0; k++) {
			for (uint32_t n = 0; n < sums->counts.names.nr && rc == 0; n++)
				rc = put_count(m, f, o, sums, k, n, time_ns);
			rc = rc ?: output_flush(j->output, e);
		}
	}
	return rc;
}

static int put_sum(struct openmetrics *m, const struct family *f, const struct input *o,
		   const struct report_region_sum *s, uint64_t time_ns)
{
	BUF_AUTO(path, TEXT_BYTES);

	profile_region_text(o->processes, s->region, &path);
	if (buf_error(&path))
		return -ENOMEM;
	openmetrics_begin(m);
	openmetrics_label(m, "region", buf_str(&path));
	openmetrics_value(m);
	put_number(m->out, f, *(const uint64_t *)((const char *)s + f->offset));
	openmetrics_end(m, time_ns);
	return 0;
}

int openmetrics_put_regions(struct openmetrics *m, struct job *j, const struct input *o,
			    uint64_t time_ns, struct err *e)
{
	/* as of the events: nothing else is selected here */
	const struct profile_filter chosen = {.iterations = j->selection->filter.iterations};
	struct report_region_sums sums = {.by_thread = false};
	int rc = 0;

	if (o->processes)
		rc = report_region_sums_read(&sums, o->processes, &chosen, 0, false);
	for (size_t i = 0; i < ARRAY_NR(families) && rc == 0; i++) {
		const struct family *f = &families[i];

		openmetrics_family(m, OPENMETRICS_COUNTER, f->name, f->unit, f->help);
		for (uint32_t k = 0; k < sums.sums.nr && rc == 0; k++)
			rc = put_sum(m, f, o, dict_at(&sums.sums, k), time_ns)
				 ?: output_flush(j->output, e);
	}
	if (rc == 0 && o->processes)
		rc = put_counts(m, j, o, &sums, time_ns, e);
	report_region_sums_fini(&sums);
	return rc && !e->code ? err_set(e, rc, "out of memory") : rc;
}
