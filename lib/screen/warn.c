/*
 * Warnings about the samples of an iteration: samples that are missing, with the likely cause, lost
 * records, and limits that the kernel changed.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/sum.h"
#include "screen/format.h"

#include <errno.h>
#include <inttypes.h>

enum { MAX_NUMBER_BYTES = 64, MAX_TEXT_BYTES = 480, MIN_IDLE_PERCENT = 5 };

/* The missing samples of an event, over the CPUs on which some are missing. */
struct shortfall {
	uint64_t nr_cpus, nr_compared;
	uint64_t nr_idle; /* of nr_cpus: were partly idle */
	uint64_t missing, expected, throttled;
	uint64_t lost;      /* as the kernel counts for the event */
	uint64_t ring_lost; /* of all events, if the kernel does not count per event */
	uint32_t worst_cpu;
	double worst;
};

static void add_cpu(struct shortfall *f, const struct table *t, size_t row, size_t i)
{
	const struct sampled_event ev = table_sampling(t, row, i);
	const struct sampled *s = table_sampled(t, row, i);

	f->nr_idle += s->idle_percent >= MIN_IDLE_PERCENT;
	sum_add(&f->missing, sampled_nr_missing(&ev, s));
	sum_add(&f->expected, sampled_nr_expected(&ev, s));
	sum_add(&f->throttled, s->n.throttled);
	if (s->n.lost == SAMPLED_UNKNOWN)
		sum_add(&f->ring_lost, t->row_sampling[row].lost);
	else
		sum_add(&f->lost, s->n.lost);
	if (f->nr_cpus++ && sampled_coverage(s) >= f->worst)
		return;
	f->worst = sampled_coverage(s);
	f->worst_cpu = t->row_cpu[row];
}

static void find(const struct table *t, size_t i, struct shortfall *f)
{
	*f = (struct shortfall){0};
	for (size_t row = 0; row < t->nr_rows; row++) {
		const struct sampled *s = table_sampled(t, row, i);
		const struct sampled_event ev = table_sampling(t, row, i);

		f->nr_compared += s->claim == SAMPLED_COMPARED;
		if (sampled_is_short(&ev, s))
			add_cpu(f, t, row, i);
	}
}

/* "4,012 of 10,000 samples"; with a frequency the expected number is not known. */
static void add_missing(struct buf *out, const struct shortfall *f)
{
	buf_adds(out, f->expected ? "" : "some ");
	buf_u64_commas(out, f->missing);
	if (f->expected) {
		buf_adds(out, " of ");
		buf_u64_commas(out, f->expected);
	}
	buf_adds(out, " samples are missing");
}

static void add_place(struct buf *out, const struct shortfall *f, bool is_clock)
{
	buf_printf(out, ", on %" PRIu64 " of %" PRIu64 " %sCPUs (CPU %" PRIu32 " has %u %%)",
		   f->nr_cpus, f->nr_compared, is_clock ? "busy " : "", f->worst_cpu,
		   (unsigned)(f->worst * 100));
}

static void add_cause(struct buf *out, const struct shortfall *f)
{
	if (f->throttled) {
		buf_adds(out, "; throttled by the kernel: ");
		buf_u64_commas(out, f->throttled);
	}
	if (f->lost) {
		buf_adds(out, "; lost: ");
		buf_u64_commas(out, f->lost);
	}
	if (f->ring_lost)
		buf_adds(out, "; a ring was full");
	if (!f->throttled && !f->lost && !f->ring_lost)
		buf_adds(out, "; the kernel reported nothing");
}

static void add_hint(struct err *e, const struct shortfall *f)
{
	if (f->throttled)
		err_hint(e,
			 "sample less often, or raise the kernel's limits: sysctl "
			 "kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent");
	else if (f->lost || f->ring_lost) /* warn_lost has the hint */
		return;
	else if (f->nr_idle == f->nr_cpus)
		err_hint(e,
			 "these CPUs were idle at times: a clock may then stop and restart late; "
			 "a hardware event does not");
	else
		err_hint(e, "likely causes: a virtual machine whose host is busy, or a rate above "
			    "about 50 kHz");
}

static void warn_short(const struct table *t, size_t i, screen_warn_fn *fn, void *arg)
{
	struct shortfall f;
	struct err e = {0};
	BUF_AUTO(text, MAX_TEXT_BYTES);

	find(t, i, &f);
	if (!f.nr_cpus)
		return;
	add_missing(&text, &f);
	add_place(&text, &f, t->columns[i].sampling.is_clock);
	add_cause(&text, &f);
	err_set(&e, -ENODATA, "%s: %s", t->columns[i].label, buf_str(&text));
	add_hint(&e, &f);
	fn(arg, &e);
}

/* The rings' count; if that is 0, the events'. */
static uint64_t nr_lost(const struct table *t)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < t->nr_columns; i++)
		if (t->sampled_totals[i].n.lost != SAMPLED_UNKNOWN)
			sum_add(&lost, t->sampled_totals[i].n.lost);
	return table_lost(t) ? table_lost(t) : lost;
}

static void warn_lost(const struct table *t, screen_warn_fn *fn, void *arg)
{
	uint64_t lost = nr_lost(t);
	struct err e = {0};
	BUF_AUTO(number, MAX_NUMBER_BYTES);

	if (!lost)
		return;
	buf_u64_commas(&number, lost);
	err_set(&e, -ENOBUFS, "records were lost because a ring was full: %s", buf_str(&number));
	err_hint(&e, "use a larger buffer_size_in_mb or a lower rate");
	fn(arg, &e);
}

static void warn_of_limit(uint64_t start, uint64_t end, screen_warn_fn *fn, void *arg)
{
	struct err e = {0};
	BUF_AUTO(text, MAX_NUMBER_BYTES);

	buf_u64_commas(&text, start);
	buf_adds(&text, " to ");
	buf_u64_commas(&text, end);
	err_set(&e, -EAGAIN, "kernel.perf_event_max_sample_rate was %s from %s",
		end < start ? "lowered by the kernel" : "raised", buf_str(&text));
	if (end < start)
		err_hint(&e, "sampling took more time than kernel.perf_cpu_time_max_percent "
			     "allows: sample less often, or raise both");
	fn(arg, &e);
}

/* The limit is the machine's: the first row that has both values. */
static void warn_limit(const struct table *t, screen_warn_fn *fn, void *arg)
{
	for (size_t row = 0; row < t->nr_rows; row++) {
		uint64_t start = t->row_sampling[row].max_rate_start;
		uint64_t end = t->row_sampling[row].max_rate_end;

		if (!start || !end || start == end)
			continue;
		warn_of_limit(start, end, fn, arg);
		return;
	}
}

void screen_warn_samples(const struct table *t, screen_warn_fn *fn, void *arg)
{
	if (!t->sampled)
		return;
	for (size_t i = 0; i < t->nr_columns; i++)
		warn_short(t, i, fn, arg);
	warn_lost(t, fn, arg);
	warn_limit(t, fn, arg);
}
