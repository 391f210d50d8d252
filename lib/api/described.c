/*
 * From an event to its public description.
 */
#include "api/described.h"

void api_described(const struct event *ev, const char *label, const struct event_support *support,
		   struct cpuperf_event *out)
{
	const struct event_row *row = ev->row;

	*out = (struct cpuperf_event){
	    .size = sizeof(*out),
	    .group = ev->group->name,
	    .name = row->name,
	    .label = label ? label : row->name,
	    .unit = row->unit,
	    .description = row->description ? row->description : "",
	    .kind = (enum cpuperf_kind)row->kind,
	    .works = support->state == READING_OK,
	    .reason = support->reason[0] ? support->reason : NULL,
	    .hint = support->hint[0] ? support->hint : NULL,
	};
}
