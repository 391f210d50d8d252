/*
 * From a running session to a table.
 */
#include "api/live.h"

#include "collect/collect.h"

static const struct event_group *const groups[] = {&event_arch_group, &event_fixed_group,
						   &collect_misc_group, &event_software_group};

const struct catalogue live_catalogue = {groups, sizeof(groups) / sizeof(groups[0])};

void live_columns(struct table *t, const struct plan *plan, const struct session *s)
{
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];
		const struct session_event *ev = session_event(s, i);

		t->columns[i] = (struct table_column){
		    .group = p->event.group->name,
		    .name = p->event.row->name,
		    .label = p->label,
		    .unit = p->event.row->unit,
		    .kind = p->event.row->kind,
		    .scope = p->event.row->scope,
		    .reason = ev->nr_cpus ? NULL : ev->support.reason,
		};
	}
}

void live_iteration(struct table *t, const struct session *s, const struct session_iteration *it)
{
	t->iteration = it->iteration;
	t->is_cut = it->is_cut;
	table_set_time(t, it->start_ns, it->end_ns, &it->clocks);
	for (size_t row = 0; row < t->nr_rows; row++) {
		t->row_cpu[row] = it->traces[row].cpu;
		for (size_t i = 0; i < t->nr_columns; i++)
			table_set(t, row, i, session_event(s, i)->support.state,
				  &it->traces[row].start[i], &it->traces[row].end[i]);
	}
	table_total(t);
}
