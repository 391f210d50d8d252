/*
 * --describe-event: all that there is to say of one event.
 */
#include "base/log.h"
#include "events_text.h"
#include "pmu/probe.h"
#include "program.h"
#include "works.h"

#include <errno.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 16 << 20 };

static void add_as_asked(const char *format, const struct event_facts *f, struct buf *out)
{
	if (strcmp(format, "csv") == 0) {
		screen_write_csv_header(out, event_fields, EVENT_NR_FIELDS);
		screen_write_csv(out, event_fields, EVENT_NR_FIELDS, f);
	} else if (strcmp(format, "ndjson") == 0) {
		screen_write_json(out, event_fields, EVENT_NR_FIELDS, f);
	} else {
		event_add_text(f, out);
	}
}

static int describe(const struct options *o, const struct catalogue *c, const struct event *ev,
		    struct pmu_probe *probe)
{
	struct event_facts facts;
	struct buf out;
	int status;

	buf_init(&out, MAX_TEXT_BYTES);
	event_facts_init(&facts, ev);
	event_works(c->host, probe, ev, &facts.support);
	event_facts_complete(&facts);
	add_as_asked(o->output_format, &facts, &out);
	event_facts_fini(&facts);
	status = print_result(&out);
	buf_fini(&out);
	return status;
}

int describe_event(const struct options *o, const struct catalogue *c)
{
	struct pmu_probe *probe;
	struct err e = {0};
	struct event ev;
	int status, rc = catalogue_find_spelled(c, o->describe_event, &ev, &e);

	if (rc) {
		log_err(LOG_ERROR, &e);
		return rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	probe = pmu_probe_new(c->host, NULL);
	if (!probe) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = describe(o, c, &ev, probe);
	pmu_probe_free(probe);
	return status;
}
