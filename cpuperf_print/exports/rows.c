#include "exports/rows.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/io.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "samples.h"

#include <errno.h>
#include <stdio.h>

const char *export_rows_scope(const struct table_column *c)
{
	static const char *const names[] = {[EVENT_SCOPE_CPU] = "cpu",
					    [EVENT_SCOPE_SYSTEM] = "system",
					    [EVENT_SCOPE_PACKAGE] = "package",
					    [EVENT_SCOPE_THINGS] = "each"};

	return c->scope >= EVENT_SCOPE_CPU && c->scope <= EVENT_SCOPE_THINGS && !c->metric
		   ? names[c->scope]
		   : NULL;
}

bool export_rows_has_raw(const struct table_column *c, const struct cell *cell)
{
	return cell_has_value(cell) && !c->metric;
}

bool export_rows_has_base(const struct table_column *c, const struct cell *cell)
{
	return export_rows_has_raw(c, cell) && c->kind == EVENT_SHARE;
}

uint32_t export_rows_divisor(const struct table *t)
{
	uint32_t divisor = 0;

	for (size_t row = 0; row < t->nr_rows && t->row_sampling; row++)
		if (t->row_sampling[row].divisor > divisor)
			divisor = t->row_sampling[row].divisor;
	return divisor;
}

int export_rows_part(const struct input *o, struct hosts_part *part, struct err *e)
{
	IO_AUTO_FD int dirfd = -1;
	const char *name;
	int rc;

	hosts_part_init(part);
	if (o->is_perf_data || io_named_descriptor(o->path) >= 0)
		return 0;
	rc = io_open_folder(o->path, &dirfd, &name, e) ?: hosts_part_read(dirfd, o->path, part, e);
	if (rc != -ENOENT)
		return rc;
	err_clear(e);
	return 0;
}

const char *export_rows_object_kind(const struct profile_object *o)
{
	static const char *const kinds[] = {[PROFILE_OBJECT_FILE] = "file",
					    [PROFILE_OBJECT_ANON] = "memory",
					    [PROFILE_OBJECT_VDSO] = "vdso",
					    [PROFILE_OBJECT_DELETED] = "memory"};

	return kinds[o->kind];
}

const char *export_rows_build_id(const struct profile_object *o,
				 char text[EXPORT_ROWS_BUILD_ID_BYTES])
{
	for (unsigned k = 0; k < o->build_id_len; k++)
		snprintf(text + 2 * k, 3, "%02x", o->build_id[k]);
	return o->build_id_len ? text : NULL;
}

struct losses {
	export_rows_loss_fn *put;
	void *arg;
};

static void put_loss(const struct losses *l, const char *what, uint32_t event, uint64_t nr)
{
	if (nr)
		l->put(l->arg, what, event, nr);
}

static void put_program(const struct losses *l, const struct job *j, const struct report_program *p)
{
	const char *comm = report_functions_text(j->inputs->functions, p->comm);
	char what[256];

	for (enum report_end end = REPORT_END_WHOLE + 1; end < REPORT_NR_ENDS; end++) {
		snprintf(what, sizeof(what), "incomplete stacks of %s: %s", comm,
			 report_end_name(end));
		put_loss(l, what, EXPORT_ROWS_NO_EVENT, p->nr[end]);
	}
}

void export_rows_losses(const struct job *j, const struct report_stats *stats,
			const struct report_stacks *stacks, export_rows_loss_fn *put, void *arg)
{
	const struct losses l = {put, arg};

	for (uint32_t i = 0; i < stats->nr_events; i++) {
		const struct report_event_stats *s = &stats->event[i];
		const struct trace_event *ev = &job_input(j)->facts->events[i];
		const struct sampled_event sampling =
		    sampled_event(ev->group, ev->name, ev->rate, ev->frequency, ev->flags);

		put_loss(&l, "samples omitted", i, samples_nr(s, &s->omitted));
		put_loss(&l, "samples missing", i,
			 s->is_short ? sampled_nr_missing(&sampling, &s->sampled) : 0);
		put_loss(&l, "pauses by the kernel", i, s->sampled.n.throttled);
	}
	put_loss(&l, "records lost", EXPORT_ROWS_NO_EVENT, stats->nr_lost);
	for (uint32_t i = 0; i < stats->programs.nr; i++)
		put_program(&l, j, dict_at(&stats->programs, i));
	put_loss(&l, "too many stacks: the rest are truncated", EXPORT_ROWS_NO_EVENT,
		 report_stacks_is_full(stacks));
}

void export_rows_warn_full(struct job *j, const struct report_stacks *stacks)
{
	struct err problem = {0};

	if (!report_stacks_is_full(stacks))
		return;
	err_set(&problem, -EFBIG, "more than %d stacks: the rest are truncated", REPORT_MAX_STACKS);
	problems_add(&j->output->problems, false, &problem);
}
