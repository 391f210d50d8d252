/*
 * The report records: every record in order of time.
 */
#include "report/records.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/choice.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "report/names.h"
#include "report/stack.h"
#include "reports/reports.h"
#include "samples.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

struct records {
	struct job *j;
	const struct input *input;
	uint64_t start_ns;
	struct unwinder *unwinder; /* NULL: not for that machine */
	struct profile_choice choice;
	bool *within_region; /* owned; NULL: all are shown */
	struct err *e;
};

static int flush(void *arg)
{
	struct records *r = arg;

	return output_write(r->j->output, r->e);
}

/* Records without an event match if no event is selected. */
static bool is_of_event(const struct records *r, const struct profile_item *item)
{
	const struct profile_filter *f = &r->j->selection->filter;
	uint32_t event = item->kind == PROFILE_READING ? item->reading.event
			 : item->id                    ? item->id->event
						       : UINT32_MAX;

	if (!f->events.nr)
		return true;
	return event < r->input->facts->nr_events &&
	       profile_filter_has_event(f, &r->input->facts->events[event]);
}

/* Readings have the CPU of their trace. */
static uint32_t cpu_of(const struct profile_merged_item *m)
{
	return m->item->kind == PROFILE_RECORD ? m->item->cpu : m->trace->head.cpu;
}

static bool is_in_region(const struct records *r, const struct profile_item *item)
{
	const struct profile_processes *p = r->input->processes;

	return !r->within_region || r->within_region[profile_region_of(
					p, item->record.tid, item->time_ns, item->labels)];
}

static bool is_shown(void *arg, const struct profile_merged_item *m,
		     const struct profile_task *task)
{
	const struct records *r = arg;
	const struct profile_filter *f = &r->j->selection->filter;
	const struct profile_item *item = m->item;
	bool is_record = item->kind == PROFILE_RECORD;

	if (!profile_filter_has_time(f, r->start_ns, item->time_ns) || !is_of_event(r, item))
		return false;
	if (m->trace ? !profile_ranges_has(&f->iterations, m->trace->head.iteration) ||
			   !profile_ranges_has(&f->cpus, cpu_of(m))
		     : f->iterations.nr || f->cpus.nr)
		return false;
	if (!f->pids.nr && !f->tids.nr && !f->comms.nr && !r->choice.has && !r->within_region)
		return true;
	return is_record && is_in_region(r, item) &&
	       profile_ranges_has(&f->pids, item->record.pid) &&
	       profile_ranges_has(&f->tids, item->record.tid) &&
	       (!f->comms.nr || (task && profile_globs_match(&f->comms, task->comm->name))) &&
	       (!r->choice.has || (task && profile_choice_has(&r->choice, task->process)));
}

static bool has_filter(const struct profile_filter *f)
{
	return f->events.nr || f->comms.nr || f->regions.nr || f->pids.nr || f->tids.nr ||
	       f->trees.nr || f->cmdlines.nr || f->cpus.nr || f->iterations.nr || f->from_ns ||
	       f->to_ns;
}

static int print(struct records *r, struct profile_lookup *lookup)
{
	static const enum report_records_form forms[] = {[GRID_PEOPLE] = REPORT_RECORDS_TEXT,
							 [GRID_CSV] = REPORT_RECORDS_CSV,
							 [GRID_NDJSON] = REPORT_RECORDS_NDJSON};
	struct report_names_of of = {.lookup = lookup, .symbols = r->input->symbols};
	struct report_names names;
	const struct report_records_config config = {
	    .session = r->input->session,
	    .names = &names,
	    .unwinder = r->unwinder,
	    .problem = problems_add,
	    .problem_arg = &r->j->output->problems,
	    .is_shown = has_filter(&r->j->selection->filter) ? is_shown : NULL,
	    .form = forms[r->j->output->form],
	    .session_shown = r->j->session,
	    .has_header = r->j->output->has_header,
	    .max_shown = reports_top(r->j, 0),
	    .out = &r->j->output->text,
	    .flush = flush,
	    .arg = r,
	};
	uint64_t nr = 0;
	int rc;

	report_names_init(&names, &of);
	r->j->output->has_header = true;
	rc = report_records(&config, &nr);
	r->j->output->nr_records += nr;
	return rc;
}

static int make_unwinder(struct records *r, struct profile_lookup *lookup)
{
	const struct unwinder_config config = {
	    .finder = r->j->inputs->finder,
	    .maps = report_stack_maps(lookup),
	    .machine = r->input->facts->head.machine,
	    .vdso = r->input->vdso,
	    .find_made = report_find_made,
	    .find_method = report_find_method,
	    .arg = r->input->symbols,
	};
	int rc = unwinder_new(&config, &r->unwinder);

	return rc == -ENOTSUP ? 0 : rc;
}

int reports_records(struct job *j, struct err *e)
{
	struct records r = {.j = j, .input = job_input(j), .e = e};
	struct profile_lookup *lookup;
	int rc;

	lookup = profile_lookup_new(r.input->processes);
	r.start_ns = r.input->start_ns;
	r.within_region = profile_regions_within(r.input->processes, &j->selection->filter.regions);
	rc = (lookup && (r.within_region || !j->selection->filter.regions.nr)
		  ? profile_choice_make(&r.choice, &j->selection->filter, r.input->processes)
		     : -ENOMEM)
		 ?: make_unwinder(&r, lookup)
		 ?: print(&r, lookup);
	profile_choice_fini(&r.choice);
	mem_free(r.within_region);
	unwinder_free(r.unwinder);
	profile_lookup_free(lookup);
	if (rc)
		return err_set(e, rc, "records cannot be printed: %s", strerror(-rc));
	return reports_top(j, UINT64_MAX) == UINT64_MAX ? samples_warn_stacks(j, e) : 0;
}
