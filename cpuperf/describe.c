/*
 * --describe-event: everything known about one event.
 */
#include "base/log.h"
#include "events_text.h"
#include "pmu/probe.h"
#include "program.h"

#include <errno.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 16 << 20 };

int describe_event(const struct options *o, const struct catalogue *c)
{
	struct event_facts facts;
	struct pmu_probe *probe;
	struct err e = {0};
	struct event ev;
	struct buf out;
	int status, rc = catalogue_find_spelled(c, o->describe_event, &ev, &e);

	if (rc)
		return fail(rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED, &e);
	probe = pmu_probe_new(c->host, NULL);
	if (!probe) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	buf_init(&out, MAX_TEXT_BYTES);
	event_facts_init(&facts, &ev);
	event_works(c->host, probe, &ev, &facts.support);
	event_facts_complete(&facts, c);
	if (strcmp(o->output_format, "csv") == 0) {
		screen_write_csv_header(&out, event_fields, EVENT_NR_FIELDS);
		screen_write_csv(&out, event_fields, EVENT_NR_FIELDS, &facts);
	} else if (strcmp(o->output_format, "ndjson") == 0) {
		screen_write_json(&out, event_fields, EVENT_NR_FIELDS, &facts);
	} else {
		event_add_text(&facts, &out);
	}
	status = print_result(&out);
	event_facts_fini(&facts);
	buf_fini(&out);
	pmu_probe_free(probe);
	return status;
}
