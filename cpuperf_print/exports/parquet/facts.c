/*
 * What a host says of itself is in its traces; of a job, also in host.json beside them.
 */
#include "exports/parquet/facts.h"

#include "base/err.h"
#include "base/str.h"
#include "exports/parquet/store.h"
#include "exports/rows.h"

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static struct parquet_cell number_of(int64_t v)
{
	return v == HOSTS_ABSENT ? parquet_none() : parquet_i64(v);
}

static struct parquet_cell time_of(const struct profile_about *about, uint64_t monotonic_ns)
{
	uint64_t realtime_ns = profile_about_realtime(about, monotonic_ns);

	return parquet_maybe(monotonic_ns, realtime_ns ? realtime_ns : monotonic_ns);
}

int store_put_facts(struct store *s, const struct input *o, const struct profile_about *about,
		    struct err *e)
{
	const struct profile_facts *f = o->facts;
	const struct trace_info none = {.tool = NULL}, *info = f->info ? f->info : &none;
	const struct clock_triple *clocks = &about->clocks;
	struct hosts_part part;
	char boot[33];
	int rc = export_rows_part(o, &part, e);

	if (rc)
		return rc;
	str_hex16(f->head.boot_id, boot);
	STORE_PUT(s, STORE_HOSTS, time_of(about, about->start_ns), parquet_text(boot),
		  parquet_text(f->head.machine), parquet_text(info->kernel),
		  parquet_text(info->cpu_model), parquet_text(text_or_null(part.job)),
		  parquet_text(text_or_null(part.step)), number_of(part.rank),
		  number_of(part.clock_offset_ns));
	STORE_PUT(
	    s, STORE_SESSIONS, time_of(about, about->start_ns), time_of(about, about->end_ns),
	    parquet_u64(about->measured_ns), parquet_u64(f->nr_iterations),
	    parquet_text(o->config_name), parquet_text(text_or_null(info->spec_json)),
	    parquet_text(info->tool), parquet_bool(f->is_sampling), parquet_bool(about->is_cut),
	    about->has_clocks ? parquet_i64((int64_t)(clocks->realtime_ns - clocks->monotonic_ns))
			      : parquet_none());
	return store_error(s, e);
}
