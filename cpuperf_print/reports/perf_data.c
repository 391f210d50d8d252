/*
 * The summary of perf.data: its header, and the samples of each event. The file has no counts, so
 * the expected number of samples is unknown.
 */
#include "base/err.h"
#include "base/str.h"
#include "import/import.h"
#include "numbers.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct grid_column columns[] = {
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"period", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"frequency", "frequency (Hz)", NULL, GRID_COUNT, GRID_ALL},
    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"lost", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"throttled", NULL, NULL, GRID_COUNT, GRID_ALL},
};

static void put_text(struct buf *b, const char *name, const char *text)
{
	if (*text)
		buf_printf(b, "%-9s %s\n", name, text);
}

/* The header; what was lost, and what is unknown. */
static void put_head(struct buf *b, const struct import_facts *f)
{
	char duration[32];

	put_text(b, "File", f->path);
	buf_printf(b, "%-9s %s%s%s%s\n", "Form", f->is_pipe ? "of a pipe" : "of a file",
		   f->is_big_endian ? ", big-endian" : "", f->is_packed ? ", compressed" : "",
		   f->is_truncated ? ", truncated" : "");
	put_text(b, "Command", f->command);
	put_text(b, "Host", f->host);
	put_text(b, "Machine", f->machine);
	put_text(b, "CPU", *f->cpu_model ? f->cpu_model : f->cpu_id);
	if (f->nr_cpus_available)
		buf_printf(b, "%-9s %" PRIu32 " online of %" PRIu32 "\n", "CPUs", f->nr_cpus_online,
			   f->nr_cpus_available);
	if (f->memory_bytes)
		put_text(b, "Memory", HUMAN((double)f->memory_bytes, "B"));
	put_text(b, "Kernel", f->kernel);
	put_text(b, "Perf", f->perf_version);
	if (f->has_times && f->last_ns >= f->first_ns) {
		str_format_duration(f->last_ns - f->first_ns, duration, sizeof(duration));
		buf_printf(b, "%-9s %s from the first record to the last\n", "Time", duration);
	}
	buf_printf(b, "%-9s %s", "Records", COMMAS(f->nr_records));
	if (f->nr_unknown)
		buf_printf(b, "; of unknown kinds %s", COMMAS(f->nr_unknown));
	buf_printf(b, "; lost %s", COMMAS(f->nr_lost));
	if (f->nr_lost_samples)
		buf_printf(b, "; samples lost by the hardware %s", COMMAS(f->nr_lost_samples));
	buf_adds(b, "\n\n");
}

static void put_number(struct grid *g, uint64_t n, bool is_there)
{
	is_there ? grid_count(g, n) : grid_none(g);
}

int reports_perf_data(struct job *j, struct err *e)
{
	const struct import_facts *f = import_facts(job_input(j)->import);
	struct grid *g = reports_grid(j, columns, sizeof(columns) / sizeof(columns[0]));

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (j->output->form == GRID_PEOPLE)
		put_head(&j->output->text, f);
	for (size_t i = 0; i < f->nr_events; i++) {
		const struct import_event_facts *ev = &f->events[i];

		grid_row(g);
		grid_text(g, ev->name);
		put_number(g, ev->period, ev->period);
		put_number(g, ev->frequency, ev->frequency);
		grid_count(g, ev->nr_samples);
		put_number(g, ev->nr_lost, ev->nr_lost != UINT64_MAX);
		grid_count(g, ev->nr_throttled);
	}
	return reports_end(j, g, 0, e);
}
