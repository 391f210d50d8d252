/*
 * --describe-event: all that there is to say of one event.
 */
#include "base/log.h"
#include "events_text.h"
#include "program.h"

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

int describe_event(const struct options *o, const struct catalogue *c)
{
	struct event_facts facts;
	struct err e = {0};
	struct event ev;
	struct buf out;
	int status, rc = catalogue_find_spelled(c, o->describe_event, &ev, &e);

	if (rc) {
		log_err(LOG_ERROR, &e);
		return rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	buf_init(&out, MAX_TEXT_BYTES);
	event_facts_init(&facts, c->host, &ev);
	event_facts_complete(&facts);
	add_as_asked(o->output_format, &facts, &out);
	event_facts_fini(&facts);
	status = print_result(&out);
	buf_fini(&out);
	return status;
}
